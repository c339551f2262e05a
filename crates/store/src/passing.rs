//! Time that nobody saw pass is put on record, and whatever protects people goes on that much longer: a recovery, the rest between a quorum
//! and its permission. Deadlines do not: what ends early has done nothing.

use rusqlite::{Connection, params};
use vidimus_core::passing::Skipped;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::time::Timestamp;

use crate::engine::Rank;
use crate::enrolments::everyone;
use crate::error::StoreError;
use crate::limits::SKIPPED_MS_MIN;
use crate::sweeps::store_now;
use crate::tx::{Entry, Tx, list};
use crate::{Moment, Store};

impl Store {
    /// Puts on record that the clock is about to go on by so much at once. `moment` is still the time before: whoever keeps the clock
    /// lets it go on when this is durable.
    pub async fn skip_time(&self, moment: Moment, ms: u64) -> Result<(), StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| skip(tx, Skipped { from: tx.now, ms })).await
    }
}

/// To be called first at a start: since the last commit of the process before nobody was there who saw time pass.
pub(crate) fn skip_until_start(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let last = Timestamp::from_ms(store_now(tx.db, Timestamp::MIN)?).map_err(|_| StoreError::corrupt("clock.now_ms"))?;
    // What is on record already, where the process ended before anything else was.
    let from = last.max(on_record(tx.db)?.last().map_or(Timestamp::MIN, |last| last.from.plus_ms(last.ms)));
    let ms = u64::try_from(tx.now.as_ms() - from.as_ms()).unwrap_or(0);
    if ms < SKIPPED_MS_MIN { Ok(()) } else { skip(tx, Skipped { from, ms }) }
}

fn skip(tx: &mut Tx<'_>, skipped: Skipped) -> Result<(), StoreError> {
    tx.stage(Entry::new(RecordType::TimeSkipped, skipped.claims()?).readable_by(vec![everyone()?]))?;
    let (ms, from) = (i64::try_from(skipped.ms).unwrap_or(i64::MAX), skipped.from.as_ms());
    // Columns that only find what is due. Past the end of time they stay there.
    let latest = Timestamp::MAX.as_ms();
    tx.execute(
        "UPDATE recoveries SET effective_at = min(effective_at + ?1, ?3) WHERE waiting = 1 AND effective_at > ?2",
        params![ms, from, latest],
    )?;
    tx.execute(
        "UPDATE operations SET mint_at = min(mint_at + ?1, ?3)
         WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'reserved' AND mint_at > ?2",
        params![ms, from, latest],
    )?;
    Ok(())
}

/// Every stretch on record, in the order of the log.
pub(crate) fn on_record(db: &Connection) -> Result<Vec<Skipped>, StoreError> {
    let leaves = list(db, "SELECT leaf FROM records WHERE type = 'time_skipped' ORDER BY position", [], |row| row.get::<_, String>(0))?;
    leaves.iter().map(|leaf| Ok(Skipped::of(&AuditRecord::parse(leaf.as_bytes())?)?)).collect()
}
