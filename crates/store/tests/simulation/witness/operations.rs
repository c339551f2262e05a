//! Operations as the log has them: reserved, minted, redeemed, answered, settled by people; and writes.

use vidimus_core::bytes::Digest;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::OperationState;
use vidimus_core::reconciliation::{RECONCILIATION_TYPE, ReconciliationStatement};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;
use vidimus_store::LogRecord;

use super::{News, RequestSeen, ReservedSeen, Witness, WriteSeen};
use crate::house::name;
use crate::invariants;
use crate::world::World;

impl ReservedSeen {
    /// What a request's operation takes of its row's caps from this time on; none where no amount is asked for.
    pub fn of(seen: &RequestSeen, at: Timestamp) -> Option<ReservedSeen> {
        let members = seen.frozen.members();
        Some(ReservedSeen {
            operation: vidimus_core::operation::OperationKey::money(&members.tool, &members.request, &seen.frozen.args_sha256()),
            tool: members.tool.to_string(),
            agent: seen.agent()?.to_owned(),
            run: members.run.to_string(),
            at,
            amount: members.args.member("amount_minor")?.as_number()?.as_u64()?,
            counts: true,
        })
    }
}

impl Witness {
    pub(super) fn token_minted(&mut self, world: &World, leaf: &AuditRecord) {
        let key = leaf.operation.expect("an operation");
        let operation = self.operations.get_mut(&key).expect("a known operation");
        let jti: Digest = leaf.claim("jti_sha256").expect("a token's digest").parse().expect("a digest");
        let request = &self.requests[&leaf.request.expect("a request")];
        invariants::invariant_nobody_works_for_an_agent_that_is_gone(request, &self.revoked);
        let row = world.table().table.row(&request.frozen.members().tool).map(|row| row.delay_s);
        invariants::invariant_a_token_waits_for_the_delay(request, row.expect("a row"), &self.roster.skipped, leaf.at);
        assert!(operation.minted.insert(jti, operation.attempts + 1).is_none(), "a token is minted twice");
    }

    pub(super) fn token_redeemed(&mut self, world: &World, leaf: &AuditRecord) {
        let key = leaf.operation.expect("an operation");
        let operation = self.operations.get_mut(&key).expect("a known operation");
        let jti: Digest = leaf.claim("jti_sha256").expect("a token's digest").parse().expect("a digest");
        assert_eq!(operation.minted.get(&jti), Some(&(operation.attempts + 1)), "a token of another attempt, or none, is redeemed");
        assert!(operation.redeemed.insert(jti), "a token is redeemed twice");
        operation.attempts += 1;
        let request = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        assert!(matches!(request.state, RequestState::Approved | RequestState::Consumed), "a request that is {} runs", request.state);
        if request.state == RequestState::Approved {
            invariants::invariant_nothing_counts_after_its_time(request, leaf.at);
        }
        invariants::invariant_nobody_works_for_an_agent_that_is_gone(request, &self.revoked);
        request.state = RequestState::Consumed;
        invariants::invariant_a_redeemed_token_implies_a_quorum(&self.roster, request);
        invariants::invariant_what_runs_rests_on_the_row_that_was_signed(&world.table().rows, &request.frozen);
        let presented = world.presented.borrow().get(&jti).cloned();
        invariants::invariant_what_an_argument_names_is_what_was_signed(&request.frozen, presented.as_ref());
    }

    pub(super) fn reconciliation_recorded(&mut self, leaf: &AuditRecord) {
        let [envelope] = leaf.envelopes.as_slice() else { panic!("an answer without its envelope") };
        let statement = ReconciliationStatement::parse(envelope.danger_unverified_payload()).expect("a statement");
        invariants::invariant_an_answer_counts_only_from_who_may_answer(&self.roster, &statement, envelope, RECONCILIATION_TYPE);
        let seen = self.operations.get_mut(&statement.operation).expect("an answer about a known operation");
        assert_eq!(seen.state, Some(OperationState::NeedsReconciliation), "an answer that nobody waits for counts");
        seen.answers.insert(statement.approver, (statement.answer, statement.role.to_string()));
        seen.happened_minor = statement.amount_minor.or(seen.happened_minor);
    }

    pub(super) fn operation_changed(&mut self, world: &World, leaf: &AuditRecord) -> Option<News> {
        let key = leaf.operation.expect("an operation");
        let to: OperationState = leaf.claim("state").expect("a state").parse().expect("a known state");
        let from = leaf.claim("from").map(|state| state.parse().expect("a known state"));
        let seen = self.operations.entry(key).or_default();
        assert_eq!(seen.state, from, "the operation was in another state");
        invariants::invariant_an_operation_moves_as_it_may(from, to, seen.attempts);
        seen.request = leaf.request;
        seen.state = Some(to);
        world.reach(&format!("operation {} at attempt {}", to, seen.attempts));
        if to == OperationState::Succeeded {
            seen.succeeded_at = Some(seen.attempts);
            seen.result_sha256 = leaf.claim("result_sha256").map(str::to_owned);
        }
        if to == OperationState::NotStarted {
            // The request's own record may follow; a revocation has said it before.
            assert_eq!(seen.attempts, 0, "an operation that began is called not started");
        }
        if to == OperationState::Reserved {
            self.reserve(world, leaf);
        }
        self.give_back(leaf, to);
        if from == Some(OperationState::NeedsReconciliation) {
            let request = &self.requests[&leaf.request.expect("a request")];
            invariants::invariant_people_settle_only_what_enough_of_them_signed(request, &self.operations[&key], to);
        }
        invariants::invariant_what_did_not_happen_has_no_effect(&world.provider.effects.borrow(), &key, to);
        (to == OperationState::NeedsReconciliation).then_some(News::NeedsPeople(key))
    }

    fn reserve(&mut self, world: &World, leaf: &AuditRecord) {
        let request = &self.requests[&leaf.request.expect("a request")];
        assert!(request.approved_at.is_some(), "an operation without a quorum");
        let table = world.table();
        let capped = table.table.row(&request.frozen.members().tool).is_some_and(|row| row.caps.is_some());
        if let Some(reserved) = ReservedSeen::of(request, leaf.at).filter(|_| capped) {
            invariants::invariant_caps_are_never_exceeded(&table.table, &self.reserved, &reserved);
            world.reach("reserved under a cap");
            self.reserved.push(reserved);
        }
    }

    /// What did not happen counts no more, and of a part only the part.
    fn give_back(&mut self, leaf: &AuditRecord, to: OperationState) {
        let key = leaf.operation.expect("an operation");
        let Some(reserved) = self.reserved.iter_mut().find(|reserved| reserved.operation == key) else { return };
        match to {
            OperationState::Failed | OperationState::NotStarted | OperationState::NotHappened => reserved.counts = false,
            OperationState::Partial => {
                reserved.amount = reserved.amount.min(self.operations[&key].happened_minor.expect("how much happened"));
            }
            OperationState::Reserved
            | OperationState::Executing
            | OperationState::Succeeded
            | OperationState::Unknown
            | OperationState::NeedsReconciliation => {}
        }
    }

    pub(super) fn write_moved(&mut self, world: &World, leaf: &AuditRecord, record: &LogRecord) {
        let seen = self.operations.entry(leaf.operation.expect("an operation")).or_default();
        let to = match leaf.record_type {
            RecordType::WriteIntended => OperationState::Executing,
            RecordType::WriteExecuted => OperationState::Succeeded,
            RecordType::WriteFailed => OperationState::Failed,
            _ => OperationState::Unknown,
        };
        match (seen.state, to) {
            (None, OperationState::Executing) => {
                let table = world.table();
                let write = first_intent(leaf, record);
                let row_sha256 = table.rows[&name(&write.tool)];
                (seen.write, seen.attempts) = (Some(WriteSeen { row_sha256, ..write }), 1);
            }
            (Some(OperationState::Unknown), OperationState::Executing) => {
                let table = world.table();
                let write = seen.write.as_ref().expect("a write that was intended");
                let row = table.table.row(&name(&write.tool));
                invariants::invariant_a_write_is_sent_again_only_under_its_key(row, write, seen.attempts, &self.revoked, leaf.at);
                seen.attempts += 1;
            }
            (Some(OperationState::Executing), OperationState::Succeeded | OperationState::Failed | OperationState::Unknown) => {
                invariants::invariant_an_operation_moves_as_it_may(seen.state, to, seen.attempts);
            }
            (state, _) => panic!("a write that is {state:?} becomes {to}"),
        }
        seen.state = Some(to);
    }
}

/// What a write's first intent has on record.
fn first_intent(leaf: &AuditRecord, record: &LogRecord) -> WriteSeen {
    let body = parse(record.body.as_deref().expect("a body").as_bytes(), &Limits::FROZEN).expect("a body of JSON");
    let claim = |name: &str| leaf.claim(name).expect("a claim of a write").to_owned();
    WriteSeen {
        agent: claim("agent"),
        tool: claim("tool"),
        args: body.member("args").and_then(Json::as_str).expect("the arguments").to_owned(),
        row_sha256: Digest::of(b""),
        at: leaf.at,
        position: record.position,
    }
}
