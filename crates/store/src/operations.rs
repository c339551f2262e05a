//! The ledger's rows: reserved by the deciding transaction, moved only by core's transition function, fenced by the attempt.

use rusqlite::params;
use vidimus_core::bytes::Digest;
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::{self, Answer, Operation, OperationInput, OperationKey, OperationState};
use vidimus_core::record::RecordType;
use vidimus_core::table::{Idempotency, Row};
use vidimus_core::time::Timestamp;

use crate::caps;
use crate::codec::text;
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateState;
use crate::limits::{LEASE_S_MAX, RETRY_AFTER_S};
use crate::on_record::LogView;
use crate::pages::{self, Matter};
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::status::{Evidence, stage_evidence};
use crate::tx::{Attempt, Entry, Stop, Tx};
use crate::{Moment, Store};

/// What an executor brings back of one attempt.
#[derive(Debug, Clone)]
pub struct RecordAnswer {
    /// The operation.
    pub operation: OperationKey,
    /// The attempt that the answer belongs to: the fence.
    pub attempt: u32,
    /// What the answer says.
    pub answer: Answer,
    /// The result's text, where there is one.
    pub result: Option<String>,
    /// One line about how it went, without secrets or arguments.
    pub detail: String,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It moved the operation.
    Applied(OperationState),
    /// It came too late or from an older attempt: kept as evidence, the operation stays as it is.
    Evidence(OperationState),
    /// There is no such operation.
    NotFound,
}

/// Whether a lease still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It holds until then.
    Renewed(Timestamp),
    /// It ran out or a newer attempt began: nothing more may be sent.
    Lost,
}

impl Store {
    /// Records what an attempt brought back; an answer of an older attempt never overwrites a newer one.
    pub async fn record_answer(&self, moment: Moment, answer: RecordAnswer) -> Result<AnswerOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = StoredOperation::load(tx.db, &answer.operation)? else { return Ok(AnswerOutcome::NotFound) };
                let change = Change { result: answer.result, ..Change::of(answer.detail) };
                settle(tx, &stored, answer.attempt, answer.answer, change)
            })
            .await
    }

    /// Prolongs the lease of an attempt that is still at work.
    pub async fn renew_lease(
        &self,
        moment: Moment,
        operation: OperationKey,
        attempt: u32,
        lease_s: u64,
    ) -> Result<LeaseOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let until = lease_end(tx.now, lease_s);
                let renewed = tx.execute(
                    "UPDATE operations SET lease_until = max(lease_until, ?1)
                     WHERE operation = ?2 AND attempt = ?3 AND state = 'executing' AND lease_until > ?4",
                    params![until.as_ms(), operation.to_string(), attempt, tx.now.as_ms()],
                )?;
                Ok(if renewed == 1 { LeaseOutcome::Renewed(until) } else { LeaseOutcome::Lost })
            })
            .await
    }
}

pub(crate) fn lease_end(now: Timestamp, lease_s: u64) -> Timestamp {
    now.plus_s(lease_s.clamp(1, LEASE_S_MAX))
}

/// Applies an answer if its attempt is the one at work; otherwise keeps it as evidence.
pub(crate) fn settle(
    tx: &mut Tx<'_>,
    stored: &StoredOperation,
    attempt: u32,
    answer: Answer,
    change: Change,
) -> Result<AnswerOutcome, StoreError> {
    let at_work = stored.now_at.attempt == attempt && stored.now_at.state == OperationState::Executing;
    if at_work {
        return match advance(tx, stored, OperationInput::Answer(answer), change) {
            Ok(next) => Ok(AnswerOutcome::Applied(next.state)),
            Err(Stop::Refused(refusal)) => Err(StoreError::Domain(refusal)),
            Err(Stop::Failed(error)) => Err(error),
        };
    }
    let word = match answer {
        Answer::Done => "done",
        Answer::NothingSent => "nothing_sent",
        Answer::NoEffect => "no_effect",
        Answer::Unclear => "unclear",
    };
    stage_evidence(tx, stored, &Evidence { attempt, source: "executor", answer: word, result: change.result, detail: &change.detail })?;
    Ok(AnswerOutcome::Evidence(stored.now_at.state))
}

/// The request behind an operation, and the roles that may read what belongs to it: those that decide, or the owner of a write.
pub(crate) fn readers(log: LogView<'_>, stored: &StoredOperation) -> Result<(Option<RequestId>, Vec<Name>), StoreError> {
    match stored.kind {
        Kind::Money(request) => {
            let stored = StoredRequest::load(log.db, &request)?.ok_or_else(|| StoreError::corrupt("an operation without its request"))?;
            Ok((Some(request), stored.roles()))
        }
        Kind::Write => {
            let on_record = log.operation(stored)?.write;
            Ok((None, on_record.map(|write| write.roles).unwrap_or_default()))
        }
    }
}

/// What comes along with a change of state.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) detail: String,
    pub(crate) result: Option<String>,
    pub(crate) receipt: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) lease_until: Option<Timestamp>,
}

impl Change {
    pub(crate) fn of(detail: impl Into<String>) -> Change {
        Change { detail: detail.into(), ..Change::default() }
    }
}

/// Makes the operation of a request whose quorum was reached.
pub(crate) fn reserve(tx: &mut Tx<'_>, stored: &StoredRequest, mint_at: Timestamp) -> Result<OperationKey, StoreError> {
    let members = stored.frozen.members();
    let operation = OperationKey::money(&members.tool, &members.request, &stored.frozen.args_sha256());
    tx.execute_one(
        "INSERT INTO operations (operation, kind, call, request, tool, row_sha256, payload_sha256, state, attempt, mint_at)
         VALUES (?1, 'money', ?2, ?3, ?4, ?5, ?6, 'reserved', 0, ?7)",
        params![
            operation.to_string(),
            members.call.to_string(),
            members.request.to_string(),
            members.tool.as_str(),
            members.row_sha256.to_string(),
            Digest::of(stored.frozen.canonical_args()).to_string(),
            mint_at.as_ms(),
        ],
    )?;
    let reserved = Operation { state: OperationState::Reserved, attempt: 0 };
    stage_change(tx, (Some(stored.request), stored.roles()), operation, None, reserved, &Change::of("the quorum is reached"))?;
    Ok(operation)
}

/// Moves an operation, if core allows it and nobody moved it meanwhile, and says so in the log.
pub(crate) fn advance(tx: &mut Tx<'_>, stored: &StoredOperation, input: OperationInput, change: Change) -> Attempt<Operation> {
    let next = operation::apply(stored.now_at, input)?;
    let gate = tx.gate()?;
    let lease_until = match next.state {
        OperationState::Executing => Some(change.lease_until.ok_or_else(|| StoreError::corrupt("an attempt without a lease"))?),
        OperationState::Reserved
        | OperationState::Succeeded
        | OperationState::Failed
        | OperationState::Unknown
        | OperationState::NeedsReconciliation
        | OperationState::Partial
        | OperationState::NotHappened
        | OperationState::NotStarted => None,
    };
    let next_at = (next.state == OperationState::Unknown).then(|| look_again_at(tx.now, in_force(&gate, stored), next.attempt));
    let first_sent_at = stored.first_sent_at.or((next.attempt > 0).then_some(tx.now));
    tx.execute_one(
        "UPDATE operations SET state = ?1, attempt = ?2, lease_until = ?3, next_at = ?4, first_sent_at = ?5,
                result = coalesce(?6, result), result_sha256 = coalesce(?7, result_sha256), detail = ?8, ended_at = ?9
         WHERE operation = ?10 AND state = ?11 AND attempt = ?12",
        params![
            next.state.as_str(),
            next.attempt,
            lease_until.map(|at| at.as_ms()),
            next_at.map(|at| at.as_ms()),
            first_sent_at.map(|at| at.as_ms()),
            change.result,
            change.result.as_ref().map(|result| Digest::of(result.as_bytes()).to_string()),
            change.detail,
            next.state.is_final().then(|| tx.now.as_ms()),
            stored.operation.to_string(),
            stored.now_at.state.as_str(),
            stored.now_at.attempt,
        ],
    )?;
    if let Kind::Money(request) = stored.kind
        && next.state != OperationState::Executing
    {
        kill_tokens(tx, &request, &stored.operation)?;
    }
    match stored.kind {
        Kind::Money(request) => {
            if next.state.is_final() {
                close_effect(tx, &request)?;
                caps::settle(tx, &stored.operation, next.state)?;
            }
            let (request, roles) = (Some(request), load_request(tx, &request)?.roles());
            page_of_change(tx, stored, next, request, &roles)?;
            stage_change(tx, (request, roles), stored.operation, Some(stored.now_at.state), next, &change)?;
        }
        // What its own sending brought is the record of a write; what comes after is a change like any other.
        Kind::Write => match input {
            OperationInput::Redeem | OperationInput::Answer(_) | OperationInput::LeaseExpire | OperationInput::End => {
                stage_write_end(tx, &gate, stored, next.state, change)?;
            }
            OperationInput::StatusFound
            | OperationInput::GiveUp
            | OperationInput::Happened
            | OperationInput::HappenedInPart
            | OperationInput::DidNotHappen => {
                let (request, roles) = readers(tx.log(), stored)?;
                page_of_change(tx, stored, next, request, &roles)?;
                stage_change(tx, (request, roles), stored.operation, Some(stored.now_at.state), next, &change)?;
            }
        },
    }
    Ok(next)
}

/// What only people can tell pages them, in the transaction in which it becomes theirs, until they have told it.
fn page_of_change(
    tx: &Tx<'_>,
    stored: &StoredOperation,
    next: Operation,
    request: Option<RequestId>,
    roles: &[Name],
) -> Result<(), StoreError> {
    let waits = OperationState::NeedsReconciliation;
    if next.state != waits && stored.now_at.state != waits {
        return Ok(());
    }
    let reason = pages::reason_of(stored.kind);
    let matter = Matter { request, operation: Some(stored.operation), tool: Some(stored.tool.clone()), roles: roles.to_vec() };
    if next.state == waits { pages::raise(tx, reason, &matter) } else { pages::end(tx, reason, &matter) }
}

pub(crate) fn load_request(tx: &Tx<'_>, request: &RequestId) -> Result<StoredRequest, StoreError> {
    StoredRequest::load(tx.db, request)?.ok_or_else(|| StoreError::corrupt("an operation without its request"))
}

/// A token that nothing may redeem any more.
pub(crate) fn kill_tokens(tx: &Tx<'_>, request: &RequestId, operation: &OperationKey) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tokens SET state = 'dead' WHERE request = ?1 AND operation = ?2 AND state = 'minted'",
        [request.to_string(), operation.to_string()],
    )?;
    Ok(())
}

/// The effect is finished: an equal one may be asked for again.
fn close_effect(tx: &Tx<'_>, request: &RequestId) -> Result<(), StoreError> {
    tx.execute("UPDATE requests SET effect_open = 0 WHERE request = ?1 AND state = 'consumed'", [request.to_string()])?;
    Ok(())
}

/// The row in force, if it is still the one that the operation was made under.
pub(crate) fn in_force<'g>(gate: &'g GateState, stored: &StoredOperation) -> Option<&'g Row> {
    gate.table.row(&stored.tool).filter(|row| row.digest() == stored.row_sha256)
}

/// When an unknown outcome is looked at: at once where only a person can tell, later where the world may still settle.
pub(crate) fn look_again_at(now: Timestamp, row: Option<&Row>, attempt: u32) -> Timestamp {
    match row.map(|row| (&row.idempotency, row.settle_s)) {
        Some((Idempotency::Key { .. }, _)) => now.plus_s(RETRY_AFTER_S * u64::from(attempt)),
        Some((Idempotency::Status(_), settle_s)) => now.plus_s(settle_s),
        Some((Idempotency::None, _)) | None => now,
    }
}

fn stage_change(
    tx: &mut Tx<'_>,
    (request, roles): (Option<RequestId>, Vec<Name>),
    operation: OperationKey,
    from: Option<OperationState>,
    next: Operation,
    change: &Change,
) -> Result<(), StoreError> {
    let claims = Json::object([
        ("from", from.map(OperationState::as_str).into()),
        ("state", text(next.state)),
        ("attempt", next.attempt.into()),
        ("result_sha256", change.result.as_ref().map(|result| Digest::of(result.as_bytes())).into()),
    ]);
    let body = Json::object([("result", change.result.clone().into()), ("detail", change.detail.as_str().into())]);
    let entry = Entry::new(RecordType::OperationChanged, claims).of_operation(operation).readable_by(roles).with_body(body);
    tx.stage(Entry { request, ..entry })?;
    Ok(())
}

fn stage_write_end(
    tx: &mut Tx<'_>,
    gate: &GateState,
    stored: &StoredOperation,
    state: OperationState,
    change: Change,
) -> Result<(), StoreError> {
    let on_record;
    let written = match state {
        OperationState::Succeeded => Written::Ended(RecordType::WriteExecuted),
        OperationState::Failed | OperationState::NotHappened | OperationState::NotStarted => Written::Ended(RecordType::WriteFailed),
        // Sent again under its key, for those who sent it first.
        OperationState::Executing => {
            on_record = tx.log().operation(stored)?.write.ok_or_else(|| StoreError::corrupt("a write whose intent is not on record"))?;
            Written::Intended(&on_record.agents)
        }
        OperationState::Reserved | OperationState::Unknown | OperationState::NeedsReconciliation | OperationState::Partial => {
            Written::Ended(RecordType::WriteUnknown)
        }
    };
    stage_write(tx, gate, stored, written, &change)
}

/// What is recorded of a write.
pub(crate) enum Written<'a> {
    /// It is about to be sent, for this agent and those that sent it: who may not answer for it is frozen here, as a request's is.
    Intended(&'a [ChainLink]),
    /// What its sending brought.
    Ended(RecordType),
}

/// Stages the record of a write: its arguments, the state before and after, its receipt and result. That of its end has all of them, so
/// that one record tells whether the world changed.
pub(crate) fn stage_write(
    tx: &mut Tx<'_>,
    gate: &GateState,
    stored: &StoredOperation,
    written: Written<'_>,
    change: &Change,
) -> Result<(), StoreError> {
    let call = tx.find("SELECT agent, run, on_behalf_of, call_key, says FROM calls WHERE call = ?1", [stored.call.to_string()], |row| {
        let column = |name: &str| row.get::<_, Option<String>>(name).map(Json::from);
        Ok([column("agent")?, column("run")?, column("on_behalf_of")?, column("call_key")?, column("says")?])
    })?;
    let [agent, run, on_behalf_of, call_key, says] = call.ok_or_else(|| StoreError::corrupt("a write without its call"))?;
    let owner: Vec<Name> = gate.table.row(&stored.tool).map(|row| row.owner.clone()).into_iter().collect();
    let (record_type, agents) = match written {
        Written::Intended(agents) => (RecordType::WriteIntended, Some(agents)),
        Written::Ended(record_type) => (record_type, None),
    };
    let mut claims = vec![
        ("agent", agent),
        ("tool", text(&stored.tool)),
        ("operation", text(stored.operation)),
        ("call", text(stored.call)),
        ("row_sha256", stored.row_sha256.into()),
    ];
    claims.extend(agents.map(|agents| ("agents", agents.iter().map(ChainLink::to_json).collect::<Vec<_>>().into())));
    let claims = Json::Object(claims.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let body = Json::object([
        ("args", stored.args.clone().into()),
        ("before", stored.before.clone().into()),
        ("after", change.after.clone().into()),
        ("receipt", change.receipt.clone().into()),
        ("result", change.result.clone().into()),
        ("detail", change.detail.as_str().into()),
        ("run", run),
        ("on_behalf_of", on_behalf_of),
        ("call_key", call_key),
        ("says", says),
    ]);
    tx.stage(Entry::new(record_type, claims).of_operation(stored.operation).readable_by(owner).with_body(body))?;
    Ok(())
}
