//! What the log says of one request and one operation. Where money may move, the log is believed and not the columns
//! beside it: a head that was signed outside the database stands behind the log, nothing stands behind a column.

use std::sync::Arc;

use rusqlite::{Connection, params};
use vidimus_core::bytes::Nonce;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{Approval, DecisionKind, VerifiedDecision};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::{Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationState;
use vidimus_core::reconciliation::{self, GivenAnswer, Subject};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use crate::error::StoreError;
use crate::kept;
use crate::limits::LEASE_S_MAX;
use crate::rows::StoredOperation;
use crate::tx::{Attempt, list, refuse};

/// The log as one use case sees it, what its batch has staged included.
#[derive(Clone, Copy)]
pub(crate) struct LogView<'a> {
    pub(crate) db: &'a Connection,
}

/// How far an operation came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OperationOnRecord {
    /// Tokens redeemed: attempts that may have sent.
    pub(crate) attempts: u32,
    /// When the first of them was.
    pub(crate) first_redeemed_at: Option<Timestamp>,
    /// When the last of them was.
    pub(crate) last_redeemed_at: Option<Timestamp>,
    /// When the last attempt was over: it had answered, or its lease had run out. None while it is at work.
    pub(crate) attempt_over_at: Option<Timestamp>,
    /// The state of its last change; none for an operation that the log does not know.
    pub(crate) state: Option<OperationState>,
    /// Who sent a write, and who answers for it, as it was first intended.
    pub(crate) write: Option<WriteOnRecord>,
}

/// A write as its intent is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteOnRecord {
    /// The agent and the ones that sent it, with who answered for each: whatever is revoked later, and whoever is given their
    /// names. *Invariant*: never empty.
    pub(crate) agents: Vec<ChainLink>,
    /// The owner of the tool's row, when it was sent.
    pub(crate) roles: Vec<Name>,
}

impl WriteOnRecord {
    /// Reads the record of an intent. One that does not say who sent the write is none.
    pub(crate) fn of(record: &AuditRecord) -> Result<WriteOnRecord, Refusal> {
        let nobody = || Refusal::new(Code::FieldMissing, "the record of a write does not say which agents sent it").at("/agents");
        let agents = record.claims.member("agents").and_then(Json::as_array).ok_or_else(nobody)?;
        let agents = agents.iter().map(ChainLink::from_json).collect::<Result<Vec<_>, _>>()?;
        match agents.first() {
            Some(first) if record.claim("agent") == Some(first.agent.as_str()) => Ok(WriteOnRecord { agents, roles: record.roles.clone() }),
            Some(_) | None => Err(nobody()),
        }
    }
}

/// What people signed about a request, and what else became of it.
#[derive(Default)]
pub(crate) struct DecisionsOnRecord {
    standing: Vec<(PersonId, Approval, Envelope)>,
    /// A denial or a revocation: after it nothing runs, whatever state the request is in.
    stopped: Option<DecisionKind>,
    /// The record that ended it without a decision: after it nothing runs either.
    ended: Option<RecordType>,
    /// Its agent is gone without having had the call's id.
    pub(crate) orphaned: bool,
    /// It was passed on.
    pub(crate) escalated: bool,
    /// When its quorum was reached: from then on the row's delay is counted.
    pub(crate) approved_at: Option<Timestamp>,
    /// What was signed over, by whatever decision.
    challenges: Vec<Nonce>,
    /// Every decision, and whose it is.
    made: Vec<(PersonId, DecisionKind)>,
}

/// What can happen to a request before its operation runs.
const DECIDED: &str =
    "'decision_recorded', 'request_orphaned', 'request_escalated', 'request_expired', 'request_withdrawn', 'request_stale'";

impl<'a> LogView<'a> {
    pub(crate) const fn of(db: &'a Connection) -> LogView<'a> {
        LogView { db }
    }

    pub(crate) fn operation(&self, stored: &StoredOperation) -> Result<OperationOnRecord, StoreError> {
        let (its, [request, operation]) = stored.records();
        let leaves = list(
            self.db,
            &format!("SELECT leaf FROM records WHERE {its} AND type IN (?3, ?4, ?5, ?6, ?7, ?8) ORDER BY position"),
            params![
                request,
                operation,
                RecordType::TokenRedeemed.as_str(),
                RecordType::OperationChanged.as_str(),
                RecordType::WriteIntended.as_str(),
                RecordType::WriteExecuted.as_str(),
                RecordType::WriteFailed.as_str(),
                RecordType::WriteUnknown.as_str(),
            ],
            |row| row.get::<_, String>(0),
        )?;
        let mut found = OperationOnRecord::default();
        for leaf in &leaves {
            found.take(&*kept::record(leaf)?)?;
        }
        Ok(found)
    }

    /// The answers of people to an operation's unknown outcome, in the order of the log, as core's rule takes them.
    pub(crate) fn answers(&self, stored: &StoredOperation, subject: &Subject<'_>, roster: &Roster) -> Result<Vec<GivenAnswer>, StoreError> {
        let (its, [request, operation]) = stored.records();
        let leaves = list(
            self.db,
            &format!("SELECT leaf FROM records WHERE {its} AND type = ?3 ORDER BY position"),
            params![request, operation, RecordType::ReconciliationRecorded.as_str()],
            |row| row.get::<_, String>(0),
        )?;
        let mut envelopes = Vec::new();
        for leaf in &leaves {
            envelopes.extend(AuditRecord::parse(leaf.as_bytes())?.envelopes);
        }
        Ok(reconciliation::given_on_record(&envelopes, &stored.operation, subject, roster)?)
    }

    /// How many answers and notes a person has given about an operation since then.
    pub(crate) fn answers_since(&self, stored: &StoredOperation, person: &PersonId, since: Timestamp) -> Result<usize, StoreError> {
        let (its, [request, operation]) = stored.records();
        let leaves = list(
            self.db,
            &format!("SELECT leaf FROM records WHERE {its} AND type = ?3 AND at_ms > ?4"),
            params![request, operation, RecordType::ReconciliationRecorded.as_str(), since.as_ms()],
            |row| row.get::<_, String>(0),
        )?;
        let person = person.to_string();
        let mut given = 0;
        for leaf in &leaves {
            given += usize::from(AuditRecord::parse(leaf.as_bytes())?.claim("approver") == Some(&person));
        }
        Ok(given)
    }

    pub(crate) fn decisions(&self, request: &RequestId) -> Result<DecisionsOnRecord, StoreError> {
        let key = request.to_string();
        let sql = format!("SELECT leaf FROM records WHERE request = ?1 AND type IN ({DECIDED}) ORDER BY position");
        let leaves = list(self.db, &sql, [&key], |row| row.get::<_, String>(0))?;
        let mut found = DecisionsOnRecord::default();
        for leaf in &leaves {
            let record = kept::record(leaf)?;
            match record.record_type {
                RecordType::RequestOrphaned => found.orphaned = record.claims.member("orphaned") == Some(&true.into()),
                RecordType::RequestEscalated => found.escalated = true,
                RecordType::RequestExpired | RecordType::RequestWithdrawn | RecordType::RequestStale => {
                    found.ended = Some(record.record_type);
                }
                _ => {
                    if record.claim("state") == Some(RequestState::Approved.as_str()) {
                        found.approved_at = Some(record.at);
                    }
                    for envelope in &record.envelopes {
                        found.take(envelope)?;
                    }
                }
            }
        }
        Ok(found)
    }
}

impl DecisionsOnRecord {
    /// Whether the log lets the request go on, whatever state the ledger says it is in.
    ///
    /// *Errors*: `request_not_approved`, `ledger_contradicted`.
    pub(crate) fn goes_on(&self) -> Attempt<()> {
        if let Some(stopped) = self.stopped {
            return refuse(Code::RequestNotApproved, format!("the log holds a signed `{stopped}` of this request; nothing runs"));
        }
        if let Some(ended) = self.ended {
            return refuse(Code::LedgerContradicted, format!("the log holds a `{ended}` of this request; nothing runs, compare both"));
        }
        Ok(())
    }

    fn take(&mut self, envelope: &Envelope) -> Result<(), Refusal> {
        let statement = kept::unverified_statement(envelope)?;
        let approver = statement.approver;
        self.challenges.push(statement.challenge);
        self.made.push((approver, statement.decision));
        match statement.decision {
            DecisionKind::Approve => {
                let approval = Approval { approver, role: statement.role.clone(), key_sha256: statement.key_sha256 };
                self.standing.push((approver, approval, envelope.clone()));
            }
            DecisionKind::Retract => self.standing.retain(|(person, ..)| *person != approver),
            DecisionKind::Deny | DecisionKind::Revoke => self.stopped = Some(statement.decision),
            DecisionKind::MoreTime => {}
        }
        Ok(())
    }

    /// How often this person has decided so, whatever became of it.
    pub(crate) fn times(&self, approver: &PersonId, decision: DecisionKind) -> usize {
        self.made.iter().filter(|made| **made == (*approver, decision)).count()
    }

    /// Whether a decision was signed over this challenge: a second one would be a replay.
    pub(crate) fn names_challenge(&self, challenge: &Nonce) -> bool {
        self.challenges.contains(challenge)
    }

    /// The approvals that were not retracted later.
    pub(crate) fn approvals(&self) -> Vec<Approval> {
        self.standing.iter().map(|(_, approval, _)| approval.clone()).collect()
    }

    /// Whether these decisions of the ledger are the approvals that the log knows, and nothing stopped the request.
    ///
    /// *Errors*: `request_not_approved`, `ledger_contradicted`.
    pub(crate) fn agree(&self, decisions: &[Arc<VerifiedDecision>]) -> Attempt<()> {
        self.goes_on()?;
        let is_one = |known: &Envelope| decisions.iter().any(|decision| decision.envelope() == known);
        if self.standing.len() == decisions.len() && self.standing.iter().all(|(_, _, known)| is_one(known)) {
            return Ok(());
        }
        refuse(Code::LedgerContradicted, "the approvals in the ledger are not the standing ones of the log; nothing runs, compare both")
    }
}

impl OperationOnRecord {
    fn take(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        match record.record_type {
            RecordType::TokenRedeemed | RecordType::WriteIntended => {
                self.attempts += 1;
                self.first_redeemed_at.get_or_insert(record.at);
                self.last_redeemed_at = Some(record.at);
                self.attempt_over_at = None;
                if record.record_type == RecordType::WriteIntended {
                    self.state = Some(OperationState::Executing);
                    if self.write.is_none() {
                        self.write = Some(WriteOnRecord::of(record)?);
                    }
                }
            }
            RecordType::OperationChanged => {
                let state = record.claim("state").ok_or_else(|| StoreError::corrupt("an operation's change without its state"))?;
                self.state = Some(state.parse()?);
                if record.claim("from") == Some(OperationState::Executing.as_str()) {
                    self.attempt_over_at = Some(record.at);
                }
            }
            RecordType::WriteExecuted => self.write_over(OperationState::Succeeded, record.at),
            RecordType::WriteFailed => self.write_over(OperationState::Failed, record.at),
            RecordType::WriteUnknown => self.write_over(OperationState::Unknown, record.at),
            // No other type says how far an operation came.
            _ => {}
        }
        Ok(())
    }

    fn write_over(&mut self, state: OperationState, at: Timestamp) {
        self.state = Some(state);
        self.attempt_over_at = Some(at);
    }

    /// When no attempt can be on its way any more. One that was redeemed and has no end on record had a lease at most.
    pub(crate) fn over_at(&self) -> Option<Timestamp> {
        self.attempt_over_at.or_else(|| self.last_redeemed_at.map(|redeemed| redeemed.plus_s(LEASE_S_MAX)))
    }

    /// Whether the ledger's row says what the log says.
    ///
    /// *Errors*: `ledger_contradicted`.
    pub(crate) fn agrees(&self, stored: &StoredOperation) -> Attempt<()> {
        if self.state == Some(stored.now_at.state) && self.attempts == stored.now_at.attempt {
            return Ok(());
        }
        let known = self.state.map_or("nothing", OperationState::as_str);
        refuse(
            Code::LedgerContradicted,
            format!(
                "the ledger has the operation `{}` at attempt {}, the log `{known}` after {}; nothing runs, a person must look",
                stored.now_at.state, stored.now_at.attempt, self.attempts
            ),
        )
    }
}
