//! What time does by itself: requests expire, leases run out, outcomes in doubt are tried again or handed to a person.

use std::sync::PoisonError;

use rusqlite::{Connection, params};
use vidimus_core::json::Json;
use vidimus_core::operation::{self, NextStep, OperationInput, OperationKey};
use vidimus_core::record::RecordType;
use vidimus_core::table::{Idempotency, Row};
use vidimus_core::time::Timestamp;

use crate::each::{self, Swept, Turns};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::escalations::{self, TO_ESCALATE};
use crate::gate::{GateInForce, GateState};
use crate::limits::SWEEP_ROWS_MAX;
use crate::on_record::LogView;
use crate::operations::{self, Change, in_force, look_again_at};
use crate::orphans::{self, OVER_ORPHANS};
use crate::pages_at_start;
use crate::passing;
use crate::recoveries;
use crate::requests;
use crate::roster_changes;
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::sessions;
use crate::tokens::{hand_over_contradicted, still_holds};
use crate::tx::{Attempt, Entry, Stop, Tx};
use crate::{Moment, Store, writes_again};

/// What the workers have to do next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Due {
    /// Operations that need a token: approved and due, or to be attempted again.
    pub to_mint: Vec<OperationKey>,
    /// Writes in doubt that are to be sent again under their key.
    pub to_send_again: Vec<OperationKey>,
    /// Payments whose provider is to be asked what became of them.
    pub to_ask: Vec<OperationKey>,
    /// Writes whose provider is to be asked what became of them.
    pub to_ask_of_writes: Vec<OperationKey>,
    /// Rows that this sweep moved.
    pub moved: usize,
    /// Rows that cannot be read back, by kind and key: the others go on, these need an operator.
    pub corrupt: Vec<String>,
}

impl Store {
    /// Ends what is over and tells what is due. Writes only where there is something to move.
    pub async fn due(&self, moment: Moment) -> Result<Due, StoreError> {
        let in_force = self.engine.gate_in_force();
        let known = in_force.clone();
        let turns = *self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let swept = if self.engine.read(move |db| anything_over(db, &known, moment.now, turns)).await? {
            self.engine.write(moment, Rank::Plain, move |tx| sweep(tx, turns)).await?
        } else {
            Swept::default()
        };
        let (mut due, turns) = self.engine.read(move |db| due(db, &in_force, moment.now, turns)).await?;
        *self.turns.lock().unwrap_or_else(PoisonError::into_inner) = turns;
        due.moved = swept.moved;
        due.corrupt.extend(swept.corrupt);
        due.corrupt.sort();
        due.corrupt.dedup();
        Ok(due)
    }

    /// To be called once before anything is executed: no attempt of an earlier process of this gate is at work any more,
    /// so every lease of its own executors is over, and whoever it had not told its call's id is gone. Tells how many outcomes
    /// are in doubt by that.
    ///
    /// A clock that lies behind the last recorded time says nothing about how long the gate was down, so nothing says that a
    /// provider still knows its key: those outcomes in doubt go to a person.
    ///
    /// *Errors*: `Corrupt` for a table or a roster that does not lead to the digest that was signed: nothing starts on it.
    pub async fn recover_at_start(&self, moment: Moment) -> Result<usize, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                passing::skip_until_start(tx)?;
                let gate = tx.gate()?;
                sessions::forget_challenges(tx)?;
                look_again_in_time(tx)?;
                orphans::orphan_untold(tx)?;
                certain(roster_changes::follow_from_the_start(tx))?;
                let ended = end_all_leases(tx)?;
                let behind = moment.now < tx.now;
                let handed = if behind { hand_over_keyed(tx, &gate)? } else { 0 };
                pages_at_start::follow_log(tx)?;
                Ok(ended + handed)
            })
            .await
    }

    /// The last recorded time.
    pub async fn last_recorded(&self) -> Result<Timestamp, StoreError> {
        self.engine.read(|db| Timestamp::from_ms(store_now(db, Timestamp::MIN)?).map_err(|_| StoreError::corrupt("clock.now_ms"))).await
    }

    /// Puts a sign of life into the log, with the size that it follows.
    pub async fn heartbeat(&self, moment: Moment) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, |tx| {
                let size = tx.size();
                tx.stage(Entry::new(RecordType::Heartbeat, Json::object([("size", Json::integer(size)?)])))?;
                Ok(())
            })
            .await
    }
}

const OVER_REQUESTS: &str = "SELECT request FROM requests WHERE state IN ('pending', 'approved') AND waits_until <= ?1 LIMIT ?2";
// The index of open operations serves whoever names all of its states: SQLite does not see that one is among them.
const OVER_LEASES: &str =
    "SELECT operation FROM operations WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'executing'
    AND (lease_until <= ?1 OR lease_until IS NULL) LIMIT ?2";
const PAYMENTS_IN_DOUBT: &str = "SELECT operation, rowid FROM operations
    WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'unknown' AND kind = 'money'
      AND next_at <= ?1 AND rowid > ?3 ORDER BY rowid LIMIT ?2";
const WRITES_IN_DOUBT: &str = "SELECT operation, rowid FROM operations
    WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'unknown' AND kind = 'write'
      AND next_at <= ?1 AND rowid > ?3 ORDER BY rowid LIMIT ?2";
const ALL_UNKNOWN: &str =
    "SELECT * FROM operations WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'unknown'";
/// A token that is still good belongs to an executor that has it; only its end makes the operation due again.
const TO_MINT: &str = "SELECT operation, operations.rowid FROM operations JOIN requests USING (request)
    WHERE operations.state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND operations.state = 'reserved'
      AND requests.state = 'approved' AND mint_at <= ?1 AND orphaned_until IS NULL AND NOT EXISTS
        (SELECT 1 FROM tokens WHERE tokens.request = operations.request AND tokens.state = 'minted' AND tokens.expires_at > ?1)
      AND operations.rowid > ?3 ORDER BY operations.rowid LIMIT ?2";

/// An outcome in doubt is looked at no later than its row says, counted from this start: no column lets it wait for ever.
fn look_again_in_time(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let gate = tx.gate()?;
    let unknown = tx.list(ALL_UNKNOWN, [], StoredOperation::read)?;
    for stored in &unknown {
        let latest = look_again_at(tx.now, in_force(&gate, stored), stored.now_at.attempt);
        tx.execute(
            "UPDATE operations SET next_at = ?1 WHERE operation = ?2 AND (next_at IS NULL OR next_at > ?1)",
            params![latest.as_ms(), stored.operation.to_string()],
        )?;
    }
    Ok(())
}

/// The store's time for a reading: no earlier than the last recorded one.
pub(crate) fn store_now(db: &Connection, now: Timestamp) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("SELECT max(now_ms, ?1) FROM clock")?.query_row([now.as_ms()], |row| row.get(0))?)
}

fn anything_over(db: &Connection, in_force: &GateInForce, now: Timestamp, turns: Turns) -> Result<bool, StoreError> {
    let now = store_now(db, now)?;
    if recoveries::any_due(db, now)? || in_force.known().is_some_and(|gate| gate.unfollowed.is_some()) {
        return Ok(true);
    }
    for sql in [OVER_REQUESTS, OVER_LEASES, OVER_ORPHANS, TO_ESCALATE] {
        if db.prepare_cached(sql)?.exists(params![now, 1])? {
            return Ok(true);
        }
    }
    gives_up(db, in_force, now, turns)
}

/// The outcomes in doubt whose turn it is, payments first, and the turns after it. Whether they may be attempted again is a matter of
/// their rows, so they are looked at in every round.
fn in_doubt(db: &Connection, now: i64, turns: Turns) -> Result<(Vec<String>, Turns), StoreError> {
    let (mut keys, payments) = each::keys_in_turn(db, PAYMENTS_IN_DOUBT, now, turns.payments)?;
    let (of_writes, writes) = each::keys_in_turn(db, WRITES_IN_DOUBT, now, turns.writes)?;
    keys.extend(of_writes);
    Ok((keys, Turns { payments, writes, ..turns }))
}

/// Whether an unknown outcome is to be handed to a person now.
fn gives_up(db: &Connection, in_force: &GateInForce, now: i64, turns: Turns) -> Result<bool, StoreError> {
    let (keys, _) = in_doubt(db, now, turns)?;
    if keys.is_empty() {
        return Ok(false);
    }
    let Some(gate) = in_force.gate(db)? else { return Ok(false) };
    let now_at = Timestamp::from_ms(now).map_err(|_| StoreError::corrupt("clock.now_ms"))?;
    for key in keys {
        let next = each::operation(db, &key).and_then(|stored| next_step(LogView::of(db), now_at, &gate, &stored));
        match next {
            Ok(NextStep::GiveUp) => return Ok(true),
            Ok(NextStep::AttemptAgain | NextStep::AskStatus) => {}
            // `due` names it.
            Err(error) if error.is_of_one_row() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn sweep(tx: &mut Tx<'_>, turns: Turns) -> Result<Swept, StoreError> {
    let mut swept = Swept::default();
    expire_requests(tx, &mut swept)?;
    orphans::end(tx, &mut swept)?;
    escalations::pass_on(tx, &mut swept)?;
    let over = each::keys(tx.db, OVER_LEASES, tx.now.as_ms())?;
    swept.each(tx, "operation", &over, |tx, key| {
        let stored = each::operation(tx.db, key)?;
        end_lease(tx, &stored, "the lease ran out before an answer came")?;
        Ok(1)
    })?;
    hand_over(tx, &mut swept, turns)?;
    swept.each(tx, "the recoveries after", &["their announcements".to_owned()], |tx, _| recoveries::take_effect(tx))?;
    swept.each(tx, "what waits under", &["the roster in force".to_owned()], |tx, _| certain(roster_changes::go_on_following(tx)))?;
    Ok(swept)
}

fn expire_requests(tx: &mut Tx<'_>, swept: &mut Swept) -> Result<(), StoreError> {
    let over = each::keys(tx.db, OVER_REQUESTS, tx.now.as_ms())?;
    swept.each(tx, "request", &over, |tx, key| {
        let stored = each::request(tx, key)?;
        certain(requests::expire(tx, &stored))?;
        Ok(1)
    })
}

/// A move that core's table allows in the state that was just read: a refusal would be a defect.
pub(crate) fn certain<T>(attempt: Attempt<T>) -> Result<T, StoreError> {
    attempt.map_err(|stop| match stop {
        Stop::Refused(refusal) => StoreError::Domain(refusal),
        Stop::Failed(error) => error,
    })
}

/// At a start: no attempt of an earlier process is at work any more.
fn end_all_leases(tx: &mut Tx<'_>) -> Result<usize, StoreError> {
    let mut ended = 0;
    loop {
        let over = each::keys(tx.db, OVER_LEASES, i64::MAX)?;
        for key in &over {
            let stored = each::operation(tx.db, key)?;
            end_lease(tx, &stored, "the gate stopped before an answer came")?;
        }
        ended += over.len();
        if over.len() < SWEEP_ROWS_MAX {
            return Ok(ended);
        }
    }
}

fn end_lease(tx: &mut Tx<'_>, stored: &StoredOperation, why: &str) -> Result<(), StoreError> {
    certain(operations::advance(tx, stored, OperationInput::LeaseExpire, Change::of(why))).map(drop)
}

/// Outcomes that neither an attempt nor a question can settle go to a person.
fn hand_over(tx: &mut Tx<'_>, swept: &mut Swept, turns: Turns) -> Result<(), StoreError> {
    let gate = tx.gate()?;
    let (unknown, _) = in_doubt(tx.db, tx.now.as_ms(), turns)?;
    swept.each(tx, "operation", &unknown, |tx, key| {
        let stored = each::operation(tx.db, key)?;
        if let Kind::Money(request) = stored.kind
            && hand_over_contradicted(tx, &stored, &request)?
        {
            return Ok(1);
        }
        if next_step(tx.log(), tx.now, &gate, &stored)? != NextStep::GiveUp {
            return Ok(0);
        }
        let change = Change::of("no further attempt is safe, so a person must find out what happened");
        certain(operations::advance(tx, &stored, OperationInput::GiveUp, change))?;
        Ok(1)
    })
}

/// Outcomes in doubt whose next attempt rests on how much time has passed.
fn hand_over_keyed(tx: &mut Tx<'_>, gate: &GateState) -> Result<usize, StoreError> {
    let unknown = tx.list(ALL_UNKNOWN, [], StoredOperation::read)?;
    let mut handed = 0;
    for stored in &unknown {
        let keyed = in_force(gate, stored).is_some_and(|row| matches!(row.idempotency, Idempotency::Key { .. }));
        if keyed && !gate_owned(stored) {
            let why = "the clock lay behind the last recorded time at a start, so a person must find out what happened";
            certain(operations::advance(tx, stored, OperationInput::GiveUp, Change::of(why)))?;
            handed += 1;
        }
    }
    Ok(handed)
}

/// The gate's own tools act in the transaction that records them: a new attempt is safe whatever the time.
fn gate_owned(stored: &StoredOperation) -> bool {
    stored.tool.as_str().starts_with("gate.")
}

/// What is safe for an operation whose outcome is unknown, from today's row and everything that was decided.
pub(crate) fn next_step(log: LogView<'_>, now: Timestamp, gate: &GateState, stored: &StoredOperation) -> Result<NextStep, StoreError> {
    let Some(row) = in_force(gate, stored) else { return Ok(NextStep::GiveUp) };
    let on_record = log.operation(stored)?;
    let checks_hold = match stored.kind {
        Kind::Money(request) => {
            let request = StoredRequest::load(log.db, &request)?;
            let request = request.ok_or_else(|| StoreError::corrupt("an operation without its request"))?;
            match still_holds(log, now, gate, stored, &request) {
                Ok(_) => true,
                Err(Stop::Refused(_)) => false,
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Kind::Write => writes_again::still_holds(log, gate, stored, &on_record)?,
    };
    let key_valid = match &row.idempotency {
        Idempotency::Key { .. } => on_record.first_redeemed_at.and_then(|at| attempts_end_at(row, at)).is_some_and(|end| now < end),
        Idempotency::Status(_) | Idempotency::None => false,
    };
    Ok(operation::next_step(&row.idempotency, on_record.attempts, key_valid, checks_hold))
}

/// Operations that need a token or are to be sent again, and operations that are to be asked about.
fn due(db: &Connection, in_force: &GateInForce, now: Timestamp, turns: Turns) -> Result<(Due, Turns), StoreError> {
    let now = store_now(db, now)?;
    let mut due = Due::default();
    let (approved, to_mint) = each::keys_in_turn(db, TO_MINT, now, turns.to_mint)?;
    for key in approved {
        match key.parse() {
            Ok(operation) => due.to_mint.push(operation),
            Err(_) => due.corrupt.push(each::named("operation", &key, &StoreError::corrupt("operations.operation"))),
        }
    }
    let (unknown, next) = in_doubt(db, now, turns)?;
    let next = Turns { to_mint, ..next };
    if unknown.is_empty() {
        return Ok((due, next));
    }
    let Some(gate) = in_force.gate(db)? else { return Ok((due, next)) };
    let now_at = Timestamp::from_ms(now).map_err(|_| StoreError::corrupt("clock.now_ms"))?;
    for key in unknown {
        match next_of(db, now_at, &gate, &key) {
            Ok((stored, NextStep::AttemptAgain)) if stored.kind == Kind::Write => due.to_send_again.push(stored.operation),
            Ok((stored, NextStep::AttemptAgain)) => due.to_mint.push(stored.operation),
            Ok((stored, NextStep::AskStatus)) if stored.kind == Kind::Write => due.to_ask_of_writes.push(stored.operation),
            Ok((stored, NextStep::AskStatus)) => due.to_ask.push(stored.operation),
            Ok((_, NextStep::GiveUp)) => {}
            Err(error) if error.is_of_one_row() => due.corrupt.push(each::named("operation", &key, &error)),
            Err(error) => return Err(error),
        }
    }
    Ok((due, next))
}

/// What is to be done now about an operation in doubt; nothing while a token for its next attempt is out.
fn next_of(db: &Connection, now: Timestamp, gate: &GateState, key: &str) -> Result<(StoredOperation, NextStep), StoreError> {
    let stored = each::operation(db, key)?;
    let next = next_step(LogView::of(db), now, gate, &stored)?;
    let waits = next == NextStep::AttemptAgain && has_live_token(db, &stored, now.as_ms())?;
    Ok((stored, if waits { NextStep::GiveUp } else { next }))
}

fn has_live_token(db: &Connection, stored: &StoredOperation, now: i64) -> Result<bool, StoreError> {
    let Kind::Money(request) = stored.kind else { return Ok(false) };
    let sql = "SELECT 1 FROM tokens WHERE request = ?1 AND state = 'minted' AND expires_at > ?2";
    Ok(db.prepare_cached(sql)?.exists(params![request.to_string(), now])?)
}

/// Before when a further attempt of an operation that was first redeemed at `first` must begin: the provider remembers the key for
/// as long as that attempt can take. `None` where no attempt rests on that.
pub(crate) fn attempts_end_at(row: &Row, first: Timestamp) -> Option<Timestamp> {
    match &row.idempotency {
        Idempotency::Key { key_valid_s, .. } => Some(first.plus_s(key_valid_s.saturating_sub(row.executor.timeout_s()))),
        Idempotency::Status(_) | Idempotency::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::WAITING_OF_AGENT;
    use crate::migrations;

    #[test]
    fn what_is_asked_all_the_time_looks_through_no_table() {
        let mut db = Connection::open_in_memory().expect("a database");
        migrations::migrate(&mut db).expect("the schema");
        for sql in [
            OVER_REQUESTS,
            OVER_LEASES,
            OVER_ORPHANS,
            TO_ESCALATE,
            PAYMENTS_IN_DOUBT,
            WRITES_IN_DOUBT,
            ALL_UNKNOWN,
            TO_MINT,
            WAITING_OF_AGENT,
        ] {
            let plan = format!("EXPLAIN QUERY PLAN {sql}");
            let mut statement = db.prepare(&plan).expect(sql);
            let values = vec![0_i64; statement.parameter_count()];
            let steps: Vec<String> = statement
                .query_map(rusqlite::params_from_iter(values), |row| row.get("detail"))
                .expect(sql)
                .collect::<Result<_, _>>()
                .expect(sql);
            assert!(!steps.is_empty() && steps.iter().all(|step| !step.starts_with("SCAN")), "{sql}: {steps:?}");
        }
    }
}
