//! What the log says happened, read by somebody who knows neither the database nor the store's code: a small model of
//! requests, operations and people of its own, and what was told to whom.

mod operations;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::Digest;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, PersonId, RequestId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::Answer;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::{Frontier, leaf_hash};
use vidimus_store::{DecisionReceipt, LogRecord, ReconciliationReceipt, RecordDecision};

use crate::house::{House, auditor};
use crate::invariants;
use crate::roster_seen::RosterSeen;
use crate::world::{World, ready};

/// An approval that counts.
#[derive(Clone)]
pub struct ApprovalSeen {
    pub role: String,
    pub key: Digest,
    pub envelope: Envelope,
}

/// An approval request as the log has it.
pub struct RequestSeen {
    pub frozen: FrozenRequest,
    /// Where its own record is.
    pub position: u64,
    pub state: RequestState,
    /// Who approves; an approval that was taken back is gone.
    pub standing: BTreeMap<PersonId, ApprovalSeen>,
    /// When a quorum was reached, if it ever was.
    pub approved_at: Option<Timestamp>,
    pub waits_until: Timestamp,
    pub stopped: bool,
    /// Its agent is gone without having had the call's id.
    pub orphaned: bool,
    /// It was passed on to the next role.
    pub escalated: bool,
    pub decisions: BTreeSet<Digest>,
}

impl RequestSeen {
    pub fn of(frozen: FrozenRequest, position: u64) -> RequestSeen {
        RequestSeen {
            waits_until: frozen.members().expires_at,
            frozen,
            position,
            state: RequestState::Pending,
            standing: BTreeMap::new(),
            approved_at: None,
            stopped: false,
            orphaned: false,
            escalated: false,
            decisions: BTreeSet::new(),
        }
    }

    pub fn agent(&self) -> Option<&str> {
        self.frozen.members().agents.first().map(|link| link.agent.as_str())
    }
}

/// An operation as the log has it.
#[derive(Default)]
pub struct OperationSeen {
    pub request: Option<RequestId>,
    pub state: Option<OperationState>,
    /// Where it is a write and nobody's decision.
    pub write: Option<WriteSeen>,
    /// Ids of tokens minted for it, by attempt, and those that were redeemed.
    pub minted: BTreeMap<Digest, u32>,
    pub redeemed: BTreeSet<Digest>,
    pub attempts: u32,
    /// The attempt that gave the result.
    pub succeeded_at: Option<u32>,
    pub result_sha256: Option<String>,
    /// What each person answered last, and in which role.
    pub answers: BTreeMap<PersonId, (Answer, String)>,
    /// How much of it happened, as people signed. *Unit*: minor units.
    pub happened_minor: Option<u64>,
    /// Somebody was told that it waits for people, or has looked by themself.
    pub paged: bool,
}

/// A write, as it was intended for the first time.
#[derive(Clone)]
pub struct WriteSeen {
    pub agent: String,
    pub tool: String,
    pub args: String,
    /// The row in force by then.
    pub row_sha256: Digest,
    pub at: Timestamp,
    pub position: u64,
}

/// What an operation counts under its row's caps.
#[derive(Clone, Debug)]
pub struct ReservedSeen {
    pub operation: OperationKey,
    pub tool: String,
    pub agent: String,
    pub run: String,
    pub at: Timestamp,
    /// Minor units of euros.
    pub amount: u64,
    pub counts: bool,
}

/// What somebody reacts to.
pub enum News {
    Request(RequestId),
    PassedOn(RequestId),
    NeedsPeople(OperationKey),
    Table(Digest),
    Roster,
    Recovered(PersonId),
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
    /// Something about keys is on record: what, and where.
    Keys(RecordType, u64),
}

pub struct Witness {
    leaves: Vec<Digest>,
    /// What each record that it has read itself is about, by position.
    types: BTreeMap<u64, RecordType>,
    frontier: Frontier,
    pub roster: RosterSeen,
    /// Where agents were revoked, for the last time each.
    pub revoked: BTreeMap<String, u64>,
    pub requests: BTreeMap<RequestId, RequestSeen>,
    pub operations: BTreeMap<OperationKey, OperationSeen>,
    pub reserved: Vec<ReservedSeen>,
    /// The payloads of calls, as their agents sent them.
    pub payloads: BTreeMap<CallId, (String, String)>,
    pub told: Vec<Told>,
    /// Calls whose ids this process of the gate has told: no later one knows that for certain.
    pub told_here: BTreeSet<CallId>,
    last_at: Option<Timestamp>,
}

impl Witness {
    /// Of a house in which nothing has happened since it was built.
    pub fn of(house: &House) -> Witness {
        let mut frontier = Frontier::from_parts(0, Vec::new()).expect("an empty tree");
        for leaf in &house.leaves {
            frontier.append(*leaf);
        }
        Witness {
            leaves: house.leaves.clone(),
            types: BTreeMap::new(),
            frontier,
            roster: house.roster.clone(),
            revoked: BTreeMap::new(),
            requests: BTreeMap::new(),
            operations: BTreeMap::new(),
            reserved: Vec::new(),
            payloads: BTreeMap::new(),
            told: Vec::new(),
            told_here: BTreeSet::new(),
            last_at: None,
        }
    }

    pub fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    pub fn leaves(&self) -> &[Digest] {
        &self.leaves
    }

    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    /// What the record at a position is about.
    pub fn record_type(&self, position: u64) -> Option<RecordType> {
        self.types.get(&position).copied()
    }

    /// Whether nothing is open any more that time or the gate could end.
    pub fn is_over(&self) -> bool {
        self.requests.values().all(|request| request.state.is_final())
            && !self.operations.values().any(invariants::is_open)
            && self.roster.waiting.is_empty()
    }

    /// Takes the next record in; tells of what somebody reacts to.
    pub fn take(&mut self, world: &World, record: &LogRecord) -> Option<News> {
        assert_eq!(record.position, self.size(), "the log has a gap");
        self.leaves.push(leaf_hash(record.leaf.as_bytes()));
        self.frontier.append(leaf_hash(record.leaf.as_bytes()));
        let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf of this gate");
        self.types.insert(record.position, leaf.record_type);
        invariants::invariant_time_never_runs_back(self.last_at, leaf.at);
        self.last_at = Some(leaf.at);
        let word = leaf.claim("code").or_else(|| match leaf.record_type {
            RecordType::RosterChanged => leaf.claim("by"),
            RecordType::PageSent => leaf.claim("reason"),
            _ => None,
        });
        world.reach(&match word {
            Some(word) => format!("{}:{word}", leaf.record_type),
            None => leaf.record_type.to_string(),
        });
        self.apply(world, &leaf, record)
    }

    fn apply(&mut self, world: &World, leaf: &AuditRecord, record: &LogRecord) -> Option<News> {
        if self.roster.take(record, leaf) {
            let recovered = self.roster.recovered.filter(|_| leaf.claim("by") == Some("recovery"));
            return Some(recovered.map_or(News::Roster, News::Recovered));
        }
        match leaf.record_type {
            RecordType::RequestCreated => return Some(News::Request(self.request_created(world, leaf, record))),
            RecordType::DecisionRecorded => self.decision_recorded(world, leaf),
            RecordType::RequestExpired => self.request_ended(leaf, RequestState::Expired),
            RecordType::RequestWithdrawn => self.request_ended(leaf, RequestState::Withdrawn),
            RecordType::RequestStale => self.request_ended(leaf, RequestState::Stale),
            RecordType::RequestEscalated => return Some(News::PassedOn(self.request_escalated(world, leaf))),
            RecordType::RequestOrphaned => self.request_orphaned(leaf),
            RecordType::DecisionRefused if leaf.claim("code") == Some("cap_reached") => self.cap_refused(world, leaf),
            RecordType::TokenMinted => self.token_minted(world, leaf),
            RecordType::TokenRedeemed => self.token_redeemed(world, leaf),
            RecordType::OperationChanged => return self.operation_changed(world, leaf),
            RecordType::ReconciliationRecorded => self.reconciliation_recorded(leaf),
            RecordType::PageSent | RecordType::OperationOpened => {
                if let Some(seen) = leaf.operation.and_then(|operation| self.operations.get_mut(&operation)) {
                    seen.paged = true;
                }
            }
            RecordType::AgentRevoked => drop(self.revoked.insert(leaf.claim("agent").expect("an agent").to_owned(), record.position)),
            RecordType::TableChanged => return Some(News::Table(leaf.claim("table_sha256").expect("a digest").parse().expect("a digest"))),
            RecordType::WriteIntended | RecordType::WriteExecuted | RecordType::WriteFailed | RecordType::WriteUnknown => {
                self.write_moved(world, leaf, record);
            }
            _ => {}
        }
        None
    }

    /// After a start: the log is the one that was there, and what was told still holds.
    pub fn reread(&mut self, world: &World) {
        self.told_here.clear();
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
            invariants::invariant_what_was_told_is_durable(world, self, &store, told);
        }
    }
}
