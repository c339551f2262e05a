//! The seal in the database: renewed by every commit that moves the log or the clock, compared by the first commit of a process
//! and, before that, by its verification.

use rusqlite::{Connection, params};
use vidimus_core::seal::{SealKey, Sealed};
use vidimus_core::time::Timestamp;

use crate::error::StoreError;
use crate::log::{Head, read_head};

/// The end of the log and the clock as the database has them, and the seal beside them.
pub(crate) struct Found {
    pub(crate) sealed: Sealed,
    pub(crate) seal: Option<Vec<u8>>,
}

impl Found {
    /// Whether this gate sealed it. Nothing has to be sealed before the first record.
    pub(crate) fn holds(&self, key: &SealKey) -> bool {
        match &self.seal {
            Some(seal) => key.holds(&self.sealed, seal),
            None => self.sealed.size == 0 && self.sealed.now == Timestamp::MIN,
        }
    }
}

/// What a transaction builds on, whose head is known already.
pub(crate) fn found(db: &Connection, head: Head) -> Result<Found, StoreError> {
    let (now_ms, seal): (i64, Option<Vec<u8>>) =
        db.prepare_cached("SELECT now_ms, seal FROM clock")?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let now = Timestamp::from_ms(now_ms).map_err(|_| StoreError::corrupt("clock.now_ms"))?;
    Ok(Found { sealed: Sealed { size: head.size, root: head.root, now }, seal })
}

/// The same in a reading.
pub(crate) fn read(db: &Connection) -> Result<Found, StoreError> {
    found(db, read_head(db)?)
}

/// Renews the seal, and the time with it: one row, which every commit writes anyway.
pub(crate) fn keep(db: &Connection, key: &SealKey, sealed: &Sealed) -> Result<(), StoreError> {
    let kept = db.prepare_cached("UPDATE clock SET now_ms = ?1, seal = ?2")?.execute(params![sealed.now.as_ms(), key.seal(sealed)])?;
    if kept == 1 { Ok(()) } else { Err(StoreError::corrupt(format!("{kept} clocks where one was read"))) }
}
