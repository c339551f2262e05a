//! A write in doubt whose row says that its provider knows a key: sent again under the same key, as often and as long as the row
//! allows, while the agent that asked for it may still do so. Nobody approved it, so nothing but the row gives leave.
//!
//! What is sent is what its first intent has on record, whatever stands in the columns beside it.

use rusqlite::params;
use vidimus_core::code::Code;
use vidimus_core::ids::CallId;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::{NextStep, OperationInput, OperationKey, OperationState};
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::time::Timestamp;

use crate::Moment;
use crate::Store;
use crate::agents;
use crate::codec::parsed;
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateState;
use crate::on_record::{LogView, OperationOnRecord};
use crate::operations::{self, Change, in_force, lease_end};
use crate::rows::{Kind, StoredOperation};
use crate::sweeps::{attempts_end_at, next_step};
use crate::tx::{Attempt, Tx, find, refuse};

/// A write that may be sent again, once, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteAgain {
    /// The call that asked for it.
    pub call: CallId,
    /// The attempt to answer for.
    pub attempt: u32,
    /// The arguments, as they were sent the first time.
    pub args: String,
    /// Until when it may be sent: never past the key that it rests on.
    pub lease_until: Timestamp,
}

impl Store {
    /// Makes durable that a write in doubt is about to be sent again under its key; none where its row, its agent or the log
    /// does not allow it any more.
    pub async fn write_again(&self, moment: Moment, operation: OperationKey, lease_s: u64) -> Result<Option<WriteAgain>, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| intend(tx, &operation, lease_s))? {
                Ok(again) => Ok(Some(again)),
                Err(refusal) => {
                    tracing::warn!(code = %refusal.code, %operation, "a write in doubt was not sent again");
                    Ok(None)
                }
            })
            .await
    }
}

fn intend(tx: &mut Tx<'_>, operation: &OperationKey, lease_s: u64) -> Attempt<WriteAgain> {
    let Some(mut stored) = StoredOperation::load(tx.db, operation)? else { return refuse(Code::NotFound, "there is no such operation") };
    let gate = tx.gate()?;
    let may = stored.kind == Kind::Write
        && stored.now_at.state == OperationState::Unknown
        && next_step(tx.log(), tx.now, &gate, &stored)? == NextStep::AttemptAgain;
    if !may {
        return refuse(Code::OperationStateWrong, "no further attempt is safe; ask the provider or a person");
    }
    let args = args_on_record(tx.log(), operation)?;
    let first = tx.log().operation(&stored)?.first_redeemed_at;
    let attempts_end_at = first.zip(in_force(&gate, &stored)).and_then(|(first, row)| attempts_end_at(row, first));
    let lease_until = attempts_end_at.map_or(lease_end(tx.now, lease_s), |end| end.min(lease_end(tx.now, lease_s)));
    stored.args = Some(args.clone());
    let change = Change { lease_until: Some(lease_until), ..Change::of("sent again under the same key") };
    let next = operations::advance(tx, &stored, OperationInput::Redeem, change)?;
    Ok(WriteAgain { call: stored.call, attempt: next.attempt, args, lease_until })
}

/// Whether the agents that sent a write are the same still and may ask for it, by the log and the table in force.
pub(crate) fn still_holds(
    log: LogView<'_>,
    gate: &GateState,
    stored: &StoredOperation,
    on_record: &OperationOnRecord,
) -> Result<bool, StoreError> {
    let (Some(write), Some(asked_at)) = (&on_record.write, on_record.first_redeemed_at) else { return Ok(false) };
    let same = agents::other_than_frozen(log, &write.agents, asked_at)?.is_none();
    let listed = write.agents.first().and_then(|first| gate.table.agent(&first.agent)).is_some_and(|list| list.may_call(&stored.tool));
    let agrees = on_record.state == Some(stored.now_at.state) && on_record.attempts == stored.now_at.attempt;
    let answered_for = gate.roster.as_ref().is_some_and(|roster| agents::owners_are_here(&write.agents, &roster.roster).is_ok());
    Ok(same && listed && agrees && in_force(gate, stored).is_some() && answered_for)
}

/// The arguments that a write was first sent with, from the body of its record, whose digest the log holds.
fn args_on_record(log: LogView<'_>, operation: &OperationKey) -> Result<String, StoreError> {
    let found = find(
        log.db,
        "SELECT leaf, salt, body FROM records WHERE operation = ?1 AND request IS NULL AND type = ?2 ORDER BY position LIMIT 1",
        params![operation.to_string(), RecordType::WriteIntended.as_str()],
        |row| Ok((row.get::<_, String>("leaf")?, Body { salt: parsed(row, "salt")?, text: row.get("body")? })),
    )?;
    let lost = || StoreError::corrupt("a write whose arguments are not on record");
    let (leaf, body) = found.ok_or_else(lost)?;
    if AuditRecord::parse(leaf.as_bytes())?.body_sha256 != Some(body.digest()) {
        return Err(lost());
    }
    let body = parse(body.text.as_bytes(), &Limits::FROZEN)?;
    body.member("args").and_then(Json::as_str).map(str::to_owned).ok_or_else(lost)
}
