//! Requests as the log has them: created, decided, passed on, ended.

use vidimus_core::bytes::Digest;
use vidimus_core::decision::{DECISION_TYPE, DecisionKind, DecisionStatement};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_core::json::{Limits, parse};
use vidimus_core::record::AuditRecord;
use vidimus_core::request::RequestState;
use vidimus_store::LogRecord;

use super::{ApprovalSeen, RequestSeen, ReservedSeen, Witness};
use crate::invariants;
use crate::world::World;

impl Witness {
    pub(super) fn request_created(&mut self, world: &World, leaf: &AuditRecord, record: &LogRecord) -> RequestId {
        let request = leaf.request.expect("a request");
        let body = parse(record.body.as_deref().expect("a body").as_bytes(), &Limits::CALL).expect("a body of JSON");
        let text = body.member("frozen").and_then(|frozen| frozen.as_str()).expect("the frozen bytes");
        let frozen = FrozenRequest::parse(text.as_bytes()).expect("a frozen request");
        assert_eq!(leaf.claim("request_sha256"), Some(Digest::of(text.as_bytes()).to_string().as_str()), "the record names other bytes");
        invariants::invariant_one_open_business_effect(self, &frozen);
        invariants::invariant_somebody_can_decide(&self.roster, &frozen);
        let seen = RequestSeen::of(frozen, record.position);
        invariants::invariant_no_agent_has_more_waiting_than_it_may(&world.table().table, self, &seen);
        assert!(self.requests.insert(request, seen).is_none(), "a request is made twice");
        request
    }

    pub(super) fn decision_recorded(&mut self, world: &World, leaf: &AuditRecord) {
        let [envelope] = leaf.envelopes.as_slice() else { panic!("a decision without its envelope") };
        let statement = DecisionStatement::parse(envelope.danger_unverified_payload()).expect("a statement");
        let seen = self.requests.get_mut(&statement.request).expect("a decision on a known request");
        invariants::invariant_a_decision_counts_only_from_who_may_decide(&self.roster, &statement, envelope, DECISION_TYPE, seen);
        invariants::invariant_shown_and_signed_are_the_frozen_bytes(&world.house, &statement, &seen.frozen);
        invariants::invariant_nobody_decides_on_their_own(&self.roster, &statement, &seen.frozen);
        invariants::invariant_nothing_counts_after_its_time(seen, leaf.at);
        if invariants::is_own(&self.roster, &statement.approver, &seen.frozen) {
            world.reach("the only admin decides on their own proposal");
            assert_eq!(leaf.claims.member("sole_admin").and_then(|sole| sole.as_bool()), Some(true), "the record hides it");
        }
        assert!(seen.decisions.insert(Digest::of(envelope.danger_unverified_payload())), "a decision counts twice");
        let from = seen.state;
        match statement.decision {
            DecisionKind::Approve => {
                assert!(!seen.orphaned, "an approval counts although the agent is gone");
                let approval = ApprovalSeen { role: statement.role.to_string(), key: statement.key_sha256, envelope: envelope.clone() };
                assert!(seen.standing.insert(statement.approver, approval).is_none(), "a person counts twice");
                if invariants::has_quorum(seen) {
                    (seen.state, seen.approved_at) = (RequestState::Approved, Some(leaf.at));
                }
            }
            DecisionKind::Retract => assert!(seen.standing.remove(&statement.approver).is_some(), "nothing to take back"),
            DecisionKind::Deny => (seen.state, seen.stopped) = (RequestState::Denied, true),
            DecisionKind::Revoke => (seen.state, seen.stopped) = (RequestState::Revoked, true),
            DecisionKind::MoreTime => {
                let members = seen.frozen.members();
                let once = u64::try_from(members.expires_at.as_ms() - members.created_at.as_ms()).expect("a while") / 1000;
                seen.waits_until = seen.waits_until.plus_s(once).min(members.expires_max_at);
            }
        }
        let expected_from = if statement.decision == DecisionKind::Revoke { RequestState::Approved } else { RequestState::Pending };
        assert_eq!(from, expected_from, "`{}` counts in a wrong state", statement.decision);
        assert_eq!(leaf.claim("state"), Some(seen.state.as_str()), "the record of a decision has another state");
        world.reach(&format!("{} leads to {}", statement.decision, seen.state));
        if seen.escalated && seen.standing.values().any(|approval| approval.role == "finance-lead") && seen.approved_at.is_some() {
            world.reach("the next role completes a quorum");
        }
    }

    pub(super) fn request_ended(&mut self, leaf: &AuditRecord, state: RequestState) {
        let seen = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        let may_end = match state {
            RequestState::Withdrawn => seen.state == RequestState::Pending,
            _ => matches!(seen.state, RequestState::Pending | RequestState::Approved),
        };
        assert!(may_end, "a request that is {} becomes {state}", seen.state);
        if state == RequestState::Expired {
            invariants::invariant_nothing_expires_early(seen, leaf.at);
        }
        seen.state = state;
    }

    pub(super) fn request_escalated(&mut self, world: &World, leaf: &AuditRecord) -> RequestId {
        let request = leaf.request.expect("a request");
        let seen = self.requests.get_mut(&request).expect("a known request");
        let row = world.table().table.row(&seen.frozen.members().tool).expect("a row").escalate_after_s;
        invariants::invariant_a_request_is_passed_on_once_and_not_early(seen, row, leaf.at);
        seen.escalated = true;
        request
    }

    pub(super) fn request_orphaned(&mut self, leaf: &AuditRecord) {
        let orphaned = leaf.claims.member("orphaned").and_then(|orphaned| orphaned.as_bool()).expect("whether it is");
        let seen = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        assert!(!seen.state.is_final() && seen.orphaned != orphaned, "a request that is {} is orphaned", seen.state);
        if orphaned {
            invariants::invariant_whoever_was_told_is_not_given_up(&self.told_here, seen);
        }
        seen.orphaned = orphaned;
    }

    /// An approval that was refused for a cap would have gone beyond it.
    pub(super) fn cap_refused(&mut self, world: &World, leaf: &AuditRecord) {
        let seen = &self.requests[&leaf.request.expect("a request")];
        let would = ReservedSeen::of(seen, leaf.at).expect("an amount");
        invariants::invariant_a_cap_refuses_only_what_is_too_much(&world.table().table, &self.reserved, &would);
    }
}
