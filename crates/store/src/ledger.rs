//! Writes of agents: the intent is durable before anything is sent, and a write with a call key happens once.

use rusqlite::params;
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{Effect, Name, RunId};
use vidimus_core::json::{Limits, parse};
use vidimus_core::operation::{Answer, Operation, OperationKey, OperationState, WriteCaller};
use vidimus_core::standing::Standing;
use vidimus_core::time::Timestamp;

use crate::agents::AgentIdentity;
use crate::calls::{CallReceived, Joined, count_join, insert_call, permitted, record_call_refusal};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::operations::{self, AnswerOutcome, Change, Written, lease_end};
use crate::proposals::payload_sha256;
use crate::rows::{CALL_COLUMNS, Kind, StoredCall, StoredOperation};
use crate::tx::{Attempt, Tx, refuse};
use crate::{Moment, Store};

/// A write that is about to be sent.
#[derive(Debug, Clone)]
pub struct WriteIntent {
    /// The call.
    pub received: CallReceived,
    /// The row that the arguments were judged under.
    pub row_sha256: Digest,
    /// The arguments, byte for byte as they came.
    pub args: String,
    /// The state before, where the row says how it is read.
    pub before: Option<String>,
    /// How long the sender has until the outcome is unknown.
    pub lease_s: u64,
}

/// What a write may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentOutcome {
    /// It may be sent, once, now.
    Send {
        /// The key for the provider.
        operation: OperationKey,
        /// The attempt to answer for.
        attempt: u32,
        /// Until when it may be sent: from then on its outcome is somebody else's to find out.
        lease_until: Timestamp,
    },
    /// It is an earlier one again, which has its state.
    Joined(Joined),
    /// A rule says no; recorded, nothing else changed.
    Refused(Refusal),
}

/// How a write ended.
#[derive(Debug, Clone)]
pub struct WriteEnd {
    /// The operation.
    pub operation: OperationKey,
    /// The attempt.
    pub attempt: u32,
    /// What the answer says.
    pub answer: Answer,
    /// The result's text.
    pub result: Option<String>,
    /// The receipt in the result, where the row says where it is.
    pub receipt: Option<String>,
    /// The state after, where the row says how it is read.
    pub after: Option<String>,
    /// One line about how it went, without secrets or arguments.
    pub detail: String,
}

impl Store {
    /// Records that a write is about to be sent, or joins it to the earlier one with its call key.
    pub async fn write_intent(&self, moment: Moment, intent: WriteIntent) -> Result<IntentOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| write_intent(tx, &intent))? {
                Ok(outcome) => Ok(outcome),
                Err(refusal) => Ok(IntentOutcome::Refused(record_call_refusal(tx, &intent.received, refusal)?)),
            })
            .await
    }

    /// Records how a write ended; too late, it is evidence only.
    pub async fn write_end(&self, moment: Moment, end: WriteEnd) -> Result<AnswerOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = StoredOperation::load(tx.db, &end.operation)? else { return Ok(AnswerOutcome::NotFound) };
                let change = Change { detail: end.detail, result: end.result, receipt: end.receipt, after: end.after, lease_until: None };
                operations::settle(tx, &stored, end.attempt, end.answer, change)
            })
            .await
    }
}

fn write_intent(tx: &mut Tx<'_>, intent: &WriteIntent) -> Attempt<IntentOutcome> {
    let received = &intent.received;
    let identity = permitted(tx, received, &intent.row_sha256)?;
    let payload = payload_of_write(&received.tool, &intent.args)?;
    let run = received.run.unwrap_or(identity.run);
    let operation = match write_key(tx, &identity, received, run, &payload)? {
        Ok(operation) => operation,
        Err(joined) => return Ok(IntentOutcome::Joined(joined)),
    };
    insert_call(tx, &identity, received, run, Effect::Write, &payload)?;
    let lease_until = lease_end(tx.now, intent.lease_s);
    tx.execute_one(
        "INSERT INTO operations (operation, kind, call, tool, row_sha256, payload_sha256, args, state, attempt, lease_until, first_sent_at, before)
         VALUES (?1, 'write', ?2, ?3, ?4, ?5, ?6, 'executing', 1, ?7, ?8, ?9)",
        params![
            operation.to_string(),
            received.call.to_string(),
            received.tool.as_str(),
            intent.row_sha256.to_string(),
            payload.to_string(),
            intent.args,
            lease_until.as_ms(),
            tx.now.as_ms(),
            intent.before,
        ],
    )?;
    let stored = StoredOperation {
        operation,
        kind: Kind::Write,
        call: received.call,
        tool: received.tool.clone(),
        row_sha256: intent.row_sha256,
        now_at: Operation { state: OperationState::Executing, attempt: 1 },
        mint_at: None,
        first_sent_at: Some(tx.now),
        args: Some(intent.args.clone()),
        before: intent.before.clone(),
    };
    let gate = tx.gate()?;
    operations::stage_write(tx, &gate, &stored, Written::Intended(&identity.chain), &Change::default())?;
    Ok(IntentOutcome::Send { operation, attempt: 1, lease_until })
}

/// What two writes are compared by. Arguments without a canonical form are compared as they came.
pub(crate) fn payload_of_write(tool: &Name, args: &str) -> Result<Digest, Refusal> {
    let canonical = parse(args.as_bytes(), &Limits::CALL)?.canonical();
    Ok(payload_sha256(tool, &canonical.unwrap_or_else(|_| args.as_bytes().to_vec())))
}

/// The operation key of a new write, or the earlier write that it repeats. Without a call key, every write is new.
fn write_key(
    tx: &mut Tx<'_>,
    identity: &AgentIdentity,
    received: &CallReceived,
    run: RunId,
    payload: &Digest,
) -> Attempt<Result<OperationKey, Joined>> {
    let fresh = OperationKey::write(&identity.agent, &received.tool, &WriteCaller::Call(run, received.call));
    let Some(call_key) = &received.call_key else { return Ok(Ok(fresh)) };
    let sql = format!("{CALL_COLUMNS} WHERE calls.agent = ?1 AND calls.call_key = ?2 ORDER BY calls.rowid DESC LIMIT 1");
    let Some(earlier) = tx.find(&sql, params![identity.agent.as_str(), call_key], StoredCall::read)? else {
        return Ok(Ok(OperationKey::write(&identity.agent, &received.tool, &WriteCaller::CallKey(call_key.clone()))));
    };
    if earlier.payload_sha256 != *payload {
        return refuse(
            Code::OperationKeyConflict,
            "the `call_key` was used for another tool or other arguments; use a fresh key for a new call",
        );
    }
    match earlier.standing() {
        Standing::Open | Standing::Answered => Ok(Err(count_join(tx, earlier.call)?)),
        // Nothing happened under the caller's key, so trying again is a new operation, with a key of its own.
        Standing::Over => Ok(Ok(fresh)),
    }
}
