//! What the log says happened, read by somebody who knows neither the database nor the store's code: a small model of
//! requests and operations of its own, and what was told to whom.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::Digest;
use vidimus_core::decision::{DECISION_TYPE, DecisionKind, DecisionStatement};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, PersonId, RequestId};
use vidimus_core::json::{Limits, parse};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::{Answer, RECONCILIATION_TYPE, ReconciliationStatement};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::{Frontier, leaf_hash};
use vidimus_store::{DecisionReceipt, LogRecord, ReconciliationReceipt, RecordDecision};

use crate::house::auditor;
use crate::invariants;
use crate::world::{World, ready};

/// An approval request as the log has it.
pub struct RequestSeen {
    pub frozen: FrozenRequest,
    pub state: RequestState,
    /// Who approves, in which role; an approval that was taken back is gone.
    pub standing: BTreeMap<PersonId, String>,
    /// A quorum was reached at some time.
    pub approved: bool,
    pub stopped: bool,
    /// Its agent is gone without having had the call's id.
    pub orphaned: bool,
    pub decisions: BTreeSet<Digest>,
}

/// An operation as the log has it.
#[derive(Default)]
pub struct OperationSeen {
    pub request: Option<RequestId>,
    pub state: Option<OperationState>,
    /// Ids of tokens minted for it, by attempt, and those that were redeemed.
    pub minted: BTreeMap<Digest, u32>,
    pub redeemed: BTreeSet<Digest>,
    pub attempts: u32,
    /// The attempt that gave the result.
    pub succeeded_at: Option<u32>,
    pub result_sha256: Option<String>,
    /// What each person answered last, and in which role.
    pub answers: BTreeMap<PersonId, (Answer, String)>,
}

/// What somebody reacts to.
pub enum News {
    Request(RequestId),
    NeedsPeople(OperationKey),
    Table(Digest),
}

/// What somebody outside was told, and may rely on.
pub enum Told {
    /// A call was taken on, or joined.
    Call(CallId),
    /// A call has come to its end.
    End(CallId, RequestState, Option<OperationState>, Option<String>),
    /// A decision counts.
    Decision(Box<RecordDecision>, DecisionReceipt),
    /// A person's answer counts.
    Answer(OperationKey, ReconciliationReceipt),
}

pub struct Witness {
    leaves: Vec<Digest>,
    frontier: Frontier,
    pub requests: BTreeMap<RequestId, RequestSeen>,
    pub operations: BTreeMap<OperationKey, OperationSeen>,
    /// The payloads of calls, as their agents sent them.
    pub payloads: BTreeMap<CallId, (String, String)>,
    pub told: Vec<Told>,
    last_at: Option<Timestamp>,
}

impl From<Vec<Digest>> for Witness {
    fn from(leaves: Vec<Digest>) -> Witness {
        let mut frontier = Frontier::from_parts(0, Vec::new()).expect("an empty tree");
        for leaf in &leaves {
            frontier.append(*leaf);
        }
        Witness {
            leaves,
            frontier,
            requests: BTreeMap::new(),
            operations: BTreeMap::new(),
            payloads: BTreeMap::new(),
            told: Vec::new(),
            last_at: None,
        }
    }
}

impl Witness {
    pub fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    pub fn leaves(&self) -> &[Digest] {
        &self.leaves
    }

    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    /// Whether nothing is open any more that time or the gate could end.
    pub fn is_over(&self) -> bool {
        self.requests.values().all(|request| request.state.is_final()) && !self.operations.values().any(invariants::is_open)
    }

    /// Takes the next record in; tells of what somebody reacts to.
    pub fn take(&mut self, world: &World, record: &LogRecord) -> Option<News> {
        assert_eq!(record.position, self.size(), "the log has a gap");
        self.leaves.push(leaf_hash(record.leaf.as_bytes()));
        self.frontier.append(leaf_hash(record.leaf.as_bytes()));
        let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf of this gate");
        invariants::invariant_time_never_runs_back(self.last_at, leaf.at);
        self.last_at = Some(leaf.at);
        let code = leaf.claim("code");
        world.reach(&match code {
            Some(code) => format!("{}:{code}", leaf.record_type),
            None => leaf.record_type.to_string(),
        });
        self.apply(world, &leaf, record)
    }

    fn apply(&mut self, world: &World, leaf: &AuditRecord, record: &LogRecord) -> Option<News> {
        match leaf.record_type {
            RecordType::RequestCreated => return Some(News::Request(self.request_created(leaf, record))),
            RecordType::DecisionRecorded => self.decision_recorded(world, leaf),
            RecordType::RequestExpired => self.request_ended(leaf, RequestState::Expired),
            RecordType::RequestWithdrawn => self.request_ended(leaf, RequestState::Withdrawn),
            RecordType::RequestStale => self.request_ended(leaf, RequestState::Stale),
            RecordType::TokenMinted => self.token_minted(leaf),
            RecordType::TokenRedeemed => self.token_redeemed(leaf),
            RecordType::OperationChanged => return self.operation_changed(world, leaf),
            RecordType::RequestOrphaned => self.request_orphaned(leaf),
            RecordType::ReconciliationRecorded => self.reconciliation_recorded(world, leaf),
            RecordType::TableChanged => return Some(News::Table(leaf.claim("table_sha256").expect("a digest").parse().expect("a digest"))),
            RecordType::WriteIntended | RecordType::WriteExecuted | RecordType::WriteFailed | RecordType::WriteUnknown => {
                self.write_moved(leaf);
            }
            _ => {}
        }
        None
    }

    fn request_created(&mut self, leaf: &AuditRecord, record: &LogRecord) -> RequestId {
        let request = leaf.request.expect("a request");
        let body = parse(record.body.as_deref().expect("a body").as_bytes(), &Limits::CALL).expect("a body of JSON");
        let text = body.member("frozen").and_then(|frozen| frozen.as_str()).expect("the frozen bytes");
        let frozen = FrozenRequest::parse(text.as_bytes()).expect("a frozen request");
        assert_eq!(leaf.claim("request_sha256"), Some(Digest::of(text.as_bytes()).to_string().as_str()), "the record names other bytes");
        invariants::invariant_one_open_business_effect(self, &frozen);
        let seen = RequestSeen {
            frozen,
            state: RequestState::Pending,
            standing: BTreeMap::new(),
            approved: false,
            stopped: false,
            orphaned: false,
            decisions: BTreeSet::new(),
        };
        assert!(self.requests.insert(request, seen).is_none(), "a request is made twice");
        request
    }

    fn decision_recorded(&mut self, world: &World, leaf: &AuditRecord) {
        let [envelope] = leaf.envelopes.as_slice() else { panic!("a decision without its envelope") };
        let statement = DecisionStatement::parse(envelope.danger_unverified_payload()).expect("a statement");
        let approver = world.house.approver(&statement.approver).expect("somebody of the house");
        envelope.clone().verify(DECISION_TYPE, &approver.approval.public()).expect("signed by whom it names");
        let seen = self.requests.get_mut(&statement.request).expect("a decision on a known request");
        invariants::invariant_shown_and_signed_are_the_frozen_bytes(&world.house, &statement, &seen.frozen);
        invariants::invariant_nobody_decides_on_their_own(&statement, &seen.frozen);
        assert!(approver.roles.contains(&statement.role.as_str()), "{} decides in a role that they do not hold", approver.name);
        assert!(seen.decisions.insert(Digest::of(envelope.danger_unverified_payload())), "a decision counts twice");
        let from = seen.state;
        match statement.decision {
            DecisionKind::Approve => {
                assert!(!seen.orphaned, "an approval counts although the agent is gone");
                assert!(seen.standing.insert(statement.approver, statement.role.to_string()).is_none(), "a person counts twice");
                if invariants::has_quorum(seen) {
                    (seen.state, seen.approved) = (RequestState::Approved, true);
                }
            }
            DecisionKind::Retract => assert!(seen.standing.remove(&statement.approver).is_some(), "nothing to take back"),
            DecisionKind::Deny => (seen.state, seen.stopped) = (RequestState::Denied, true),
            DecisionKind::Revoke => (seen.state, seen.stopped) = (RequestState::Revoked, true),
            DecisionKind::MoreTime => {}
        }
        let expected_from = if statement.decision == DecisionKind::Revoke { RequestState::Approved } else { RequestState::Pending };
        assert_eq!(from, expected_from, "`{}` counts in a wrong state", statement.decision);
        assert_eq!(leaf.claim("state"), Some(seen.state.as_str()), "the record of a decision has another state");
        world.reach(&format!("{} leads to {}", statement.decision, seen.state));
    }

    fn request_ended(&mut self, leaf: &AuditRecord, state: RequestState) {
        let seen = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        let may_end = match state {
            RequestState::Withdrawn => seen.state == RequestState::Pending,
            _ => matches!(seen.state, RequestState::Pending | RequestState::Approved),
        };
        assert!(may_end, "a request that is {} becomes {state}", seen.state);
        seen.state = state;
    }

    fn token_minted(&mut self, leaf: &AuditRecord) {
        let operation = self.operations.get_mut(&leaf.operation.expect("an operation")).expect("a known operation");
        let jti: Digest = leaf.claim("jti_sha256").expect("a token's digest").parse().expect("a digest");
        let orphaned = operation.request.is_some_and(|request| self.requests[&request].orphaned);
        assert!(!orphaned, "a token is minted although the agent is gone");
        assert!(operation.minted.insert(jti, operation.attempts + 1).is_none(), "a token is minted twice");
    }

    fn token_redeemed(&mut self, leaf: &AuditRecord) {
        let key = leaf.operation.expect("an operation");
        let operation = self.operations.get_mut(&key).expect("a known operation");
        let jti: Digest = leaf.claim("jti_sha256").expect("a token's digest").parse().expect("a digest");
        assert_eq!(operation.minted.get(&jti), Some(&(operation.attempts + 1)), "a token of another attempt, or none, is redeemed");
        assert!(operation.redeemed.insert(jti), "a token is redeemed twice");
        operation.attempts += 1;
        let request = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        assert!(matches!(request.state, RequestState::Approved | RequestState::Consumed), "a request that is {} runs", request.state);
        request.state = RequestState::Consumed;
        invariants::invariant_a_redeemed_token_implies_a_quorum(request);
    }

    fn request_orphaned(&mut self, leaf: &AuditRecord) {
        let orphaned = leaf.claims.member("orphaned").and_then(|orphaned| orphaned.as_bool()).expect("whether it is");
        let seen = self.requests.get_mut(&leaf.request.expect("a request")).expect("a known request");
        assert!(!seen.state.is_final() && seen.orphaned != orphaned, "a request that is {} is orphaned", seen.state);
        seen.orphaned = orphaned;
    }

    fn reconciliation_recorded(&mut self, world: &World, leaf: &AuditRecord) {
        let [envelope] = leaf.envelopes.as_slice() else { panic!("an answer without its envelope") };
        let statement = ReconciliationStatement::parse(envelope.danger_unverified_payload()).expect("a statement");
        let person = world.house.approver(&statement.approver).expect("somebody of the house");
        envelope.clone().verify(RECONCILIATION_TYPE, &person.approval.public()).expect("signed by whom it names");
        assert!(person.roles.contains(&statement.role.as_str()), "{} answers in a role that they do not hold", person.name);
        let seen = self.operations.get_mut(&statement.operation).expect("an answer about a known operation");
        assert_eq!(seen.state, Some(OperationState::NeedsReconciliation), "an answer that nobody waits for counts");
        seen.answers.insert(statement.approver, (statement.answer, statement.role.to_string()));
    }

    fn operation_changed(&mut self, world: &World, leaf: &AuditRecord) -> Option<News> {
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
        if to == OperationState::Reserved {
            assert!(self.requests[&leaf.request.expect("a request")].approved, "an operation without a quorum");
        }
        if to == OperationState::NotStarted {
            // The request's own record may follow; a revocation has said it before.
            assert_eq!(seen.attempts, 0, "an operation that began is called not started");
        }
        if from == Some(OperationState::NeedsReconciliation) {
            let request = &self.requests[&leaf.request.expect("a request")];
            invariants::invariant_people_settle_only_what_enough_of_them_signed(request, &self.operations[&key], to);
        }
        invariants::invariant_what_did_not_happen_has_no_effect(world, key, to);
        (to == OperationState::NeedsReconciliation).then_some(News::NeedsPeople(key))
    }

    fn write_moved(&mut self, leaf: &AuditRecord) {
        let seen = self.operations.entry(leaf.operation.expect("an operation")).or_default();
        let to = match leaf.record_type {
            RecordType::WriteIntended => OperationState::Executing,
            RecordType::WriteExecuted => OperationState::Succeeded,
            RecordType::WriteFailed => OperationState::Failed,
            _ => OperationState::Unknown,
        };
        let may = match seen.state {
            None => to == OperationState::Executing,
            Some(state) => state == OperationState::Executing && to != OperationState::Executing,
        };
        assert!(may, "a write that is {:?} becomes {to}", seen.state);
        (seen.state, seen.attempts) = (Some(to), 1);
    }

    /// After a start: the log is the one that was there, and what was told still holds.
    pub fn reread(&mut self, world: &World) {
        let store = world.store().expect("a gate that runs");
        let mut position = 0;
        while position < self.leaves.len() {
            let records = ready(store.records(position as u64, 1000, auditor())).expect("a reading");
            assert!(!records.is_empty(), "the log has lost its end");
            for record in &records {
                assert_eq!(leaf_hash(record.leaf.as_bytes()), self.leaves[position], "record {position} is another one");
                position += 1;
            }
        }
        for told in &self.told {
            invariants::invariant_what_was_told_is_durable(world, &store, told);
        }
    }
}
