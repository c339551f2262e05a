//! What counts under the caps of rows: looked at when a call is frozen, reserved in the transaction that decides, given back
//! when the operation ends without its effect.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use vidimus_core::caps::{Charge, Used};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::table::Row;
use vidimus_core::time::Timestamp;

use crate::codec::count;
use crate::error::StoreError;
use crate::log::to_i64;
use crate::tx::{Attempt, Tx, find, list};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Whether one more call stays within its row's caps now.
///
/// *Errors*: `cap_reached`.
pub(crate) fn admit(tx: &Tx<'_>, row: &Row, frozen: &FrozenRequest) -> Attempt<Option<Charge>> {
    let Some(caps) = &row.caps else { return Ok(None) };
    let charge = caps.charge(&frozen.members().args)?;
    let used = used(tx.db, tx.now, frozen, charge.as_ref().map_or("", |charge| &charge.currency))?;
    caps.admit(charge.as_ref(), &used)?;
    Ok(charge)
}

/// Admits the call of an operation and counts it from now on.
pub(crate) fn reserve(tx: &Tx<'_>, row: &Row, frozen: &FrozenRequest, operation: &OperationKey) -> Attempt<()> {
    let charge = admit(tx, row, frozen)?;
    if row.caps.is_none() {
        return Ok(());
    }
    let members = frozen.members();
    let (currency, amount) = match &charge {
        Some(charge) => (Some(charge.currency.as_str()), Some(to_i64(charge.amount_minor)?)),
        None => (None, None),
    };
    tx.execute_one(
        "INSERT INTO reservations (operation, tool, agent, run, at_ms, currency, amount_minor, kept_minor, counts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1)",
        params![operation.to_string(), members.tool.as_str(), agent_of(frozen), members.run.to_string(), tx.now.as_ms(), currency, amount],
    )?;
    Ok(())
}

/// Gives back what an operation reserved, once it is final and nothing of it happened.
pub(crate) fn settle(tx: &Tx<'_>, operation: &OperationKey, state: OperationState) -> Result<(), StoreError> {
    if !is_given_back(state) {
        return Ok(());
    }
    tx.execute("UPDATE reservations SET counts = 0 WHERE operation = ?1 AND counts = 1", [operation.to_string()])?;
    Ok(())
}

/// Of an operation that happened in part, only that part counts on.
pub(crate) fn keep_part(tx: &Tx<'_>, operation: &OperationKey, happened_minor: u64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE reservations SET kept_minor = ?1 WHERE operation = ?2 AND kept_minor > ?1",
        params![to_i64(happened_minor)?, operation.to_string()],
    )?;
    Ok(())
}

/// Whether nothing of an operation in this state happened or will. An unknown outcome counts.
fn is_given_back(state: OperationState) -> bool {
    match state {
        OperationState::Failed | OperationState::NotStarted | OperationState::NotHappened => true,
        OperationState::Reserved
        | OperationState::Executing
        | OperationState::Unknown
        | OperationState::NeedsReconciliation
        | OperationState::Succeeded
        | OperationState::Partial => false,
    }
}

/// Caps count the agent that calls, whoever sent it.
fn agent_of(frozen: &FrozenRequest) -> String {
    frozen.members().agents.first().map(|link| link.agent.to_string()).unwrap_or_default()
}

fn used(db: &Connection, now: Timestamp, frozen: &FrozenRequest, currency: &str) -> Result<Used, StoreError> {
    let members = frozen.members();
    let (tool, agent, run) = (members.tool.as_str(), agent_of(frozen), members.run.to_string());
    let of_run = find(
        db,
        "SELECT count(*) AS calls, coalesce(sum(CASE WHEN currency = ?4 THEN kept_minor END), 0) AS moved
         FROM reservations WHERE tool = ?1 AND agent = ?2 AND run = ?3 AND counts = 1",
        params![tool, agent, run, currency],
        |row| Ok((count(row, "calls")?, count(row, "moved")?)),
    )?;
    let in_hour = find(
        db,
        "SELECT count(*) AS calls FROM reservations WHERE tool = ?1 AND agent = ?2 AND at_ms > ?3 AND counts = 1",
        params![tool, agent, now.as_ms() - HOUR_MS],
        |row| count(row, "calls"),
    )?;
    let midnight = now.as_ms() - now.as_ms().rem_euclid(DAY_MS);
    let today = find(
        db,
        "SELECT coalesce(sum(kept_minor), 0) AS moved FROM reservations WHERE tool = ?1 AND at_ms >= ?2 AND currency = ?3 AND counts = 1",
        params![tool, midnight, currency],
        |row| count(row, "moved"),
    )?;
    let (calls_in_run, amount_in_run) = of_run.unwrap_or_default();
    Ok(Used { calls_in_run, amount_in_run, calls_in_hour: in_hour.unwrap_or_default(), amount_today: today.unwrap_or_default() })
}

/// What the log says must be reserved: the operation with its call's agent, run, time and charge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    tool: String,
    agent: String,
    run: String,
    at_ms: i64,
    charge: Option<(String, i64)>,
    /// What of the charge counts still.
    kept: Option<i64>,
}

impl Expected {
    /// The reservation of an operation that was reserved at this time, under this row.
    pub(crate) fn of(row: &Row, frozen: &FrozenRequest, at: Timestamp) -> Option<Expected> {
        let charge = row.caps.as_ref()?.charge(&frozen.members().args).ok()?;
        let charge = charge.and_then(|charge| Some((charge.currency, i64::try_from(charge.amount_minor).ok()?)));
        let members = frozen.members();
        let kept = charge.as_ref().map(|(_, amount)| *amount);
        let (tool, agent, run) = (members.tool.to_string(), agent_of(frozen), members.run.to_string());
        Some(Expected { tool, agent, run, at_ms: at.as_ms(), charge, kept })
    }

    /// People signed that this much of it happened.
    pub(crate) fn happened(&mut self, amount_minor: i64) {
        self.kept = self.kept.map(|kept| kept.min(amount_minor));
    }
}

/// The operation whose reservation is not what the log says, if there is one.
pub(crate) fn contradicted(db: &Connection, expected: &BTreeMap<String, Expected>) -> Result<Option<String>, StoreError> {
    let found = list(db, "SELECT reservations.*, state FROM reservations JOIN operations USING (operation)", [], |row| {
        let charge = row.get::<_, Option<String>>("currency")?.zip(row.get::<_, Option<i64>>("amount_minor")?);
        let (tool, agent, run) = (row.get("tool")?, row.get("agent")?, row.get("run")?);
        let reserved = Expected { tool, agent, run, at_ms: row.get("at_ms")?, charge, kept: row.get("kept_minor")? };
        let state: OperationState = crate::codec::parsed(row, "state")?;
        // As a number: SQL and this program must not read it differently.
        let counts = row.get::<_, i64>("counts")? == i64::from(!is_given_back(state));
        Ok((row.get::<_, String>("operation")?, reserved, counts))
    })?;
    for (operation, reserved, counts) in &found {
        if !counts || expected.get(operation) != Some(reserved) {
            return Ok(Some(operation.clone()));
        }
    }
    Ok(expected.keys().find(|operation| !found.iter().any(|(known, ..)| known == *operation)).cloned())
}
