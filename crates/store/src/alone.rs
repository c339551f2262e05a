//! Nobody but this gate writes into the database while it runs. A commit of somebody else is found before anything is believed:
//! by the writer inside each transaction, when its lock shuts everybody else out, and by each reading before its answer leaves.
//!
//! SQLite counts for each connection whether others have changed the database since (`PRAGMA data_version`). Reading, backing up
//! and moving the write-ahead log into the database change nothing of that; the gate's own other connections only read.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::error::StoreError;
use crate::limits::{BUSY_PAUSE_MS, BUSY_TIMEOUT_MS};
use crate::tx::prepared;

/// How far the writer is with a batch. It holds the connection from [`BEGINS`] on, and SQLite's lock on the database from
/// [`HOLDS`] on, when it has looked that nobody else had written.
const RESTS: u8 = 0;
const BEGINS: u8 = 1;
const HOLDS: u8 = 2;

/// The connection that writes, and what it knows of others.
pub(crate) struct Alone {
    writer: Mutex<Connection>,
    /// SQLite's count when the database was opened. The connection's own commits do not move it.
    version: i64,
    phase: AtomicU8,
    disturbed: AtomicBool,
}

impl Alone {
    pub(crate) fn begin(writer: Connection) -> Result<Arc<Alone>, StoreError> {
        // The wait for somebody else's lock is `batch`'s: SQLite would wait with the connection in its hand.
        writer.busy_timeout(Duration::ZERO)?;
        let version = data_version(&writer)?;
        Ok(Arc::new(Alone { writer: Mutex::new(writer), version, phase: AtomicU8::new(RESTS), disturbed: AtomicBool::new(false) }))
    }

    /// The connection, for one batch, with SQLite's lock on the database. While somebody else has that, it is tried again and again, and
    /// the connection is free for whoever looks in between.
    pub(crate) fn batch(&self) -> Batch<'_> {
        let mut left = BUSY_TIMEOUT_MS / BUSY_PAUSE_MS;
        loop {
            let db = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            self.phase.store(BEGINS, Ordering::SeqCst);
            let begun = prepared(&db, "BEGIN IMMEDIATE");
            let is_held = begun.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::DatabaseBusy);
            if !is_held || left == 0 {
                let begun = if is_held { Err(StoreError::Held) } else { begun.map_err(StoreError::from) };
                return Batch { alone: self, db, begun: Some(begun) };
            }
            left -= 1;
            self.phase.store(RESTS, Ordering::SeqCst);
            drop(db);
            std::thread::sleep(Duration::from_millis(BUSY_PAUSE_MS));
        }
    }

    /// Gives the connection back; nobody else knows of it any more.
    pub(crate) fn into_writer(self) -> Connection {
        self.writer.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody else was found to have written.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.disturbed.load(Ordering::SeqCst)
    }

    /// Whether nobody else had written when this was called.
    ///
    /// While the writer holds the database nobody else can, and it has looked; else the look is made here. Where the writer is
    /// between its commit and its rest, that is as long as a function takes to return, the next look finds what this one does not.
    ///
    /// *Errors*: `Disturbed`.
    pub(crate) fn look(&self) -> Result<(), StoreError> {
        loop {
            if self.is_disturbed() {
                return Err(StoreError::Disturbed);
            }
            match self.writer.try_lock() {
                Ok(db) => return self.compare(&db),
                Err(TryLockError::Poisoned(poisoned)) => return self.compare(&poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if self.phase.load(Ordering::SeqCst) == HOLDS => return Ok(()),
                // Another reading that looks, or a writer that begins: both take microseconds.
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }

    fn compare(&self, db: &Connection) -> Result<(), StoreError> {
        if data_version(db)? == self.version {
            return Ok(());
        }
        Err(self.disturb())
    }

    fn disturb(&self) -> StoreError {
        self.disturbed.store(true, Ordering::SeqCst);
        StoreError::Disturbed
    }
}

/// The connection that writes while one batch has it.
pub(crate) struct Batch<'a> {
    alone: &'a Alone,
    db: MutexGuard<'a, Connection>,
    /// Whether the transaction has begun, until that was asked.
    begun: Option<Result<(), StoreError>>,
}

impl Batch<'_> {
    pub(crate) fn db(&self) -> &Connection {
        &self.db
    }

    /// To be called before anything else: whether the transaction has SQLite's lock, and nobody else had written.
    ///
    /// *Errors*: `Held`, `Disturbed`, those of the database.
    pub(crate) fn holds(&mut self) -> Result<(), StoreError> {
        self.begun.take().unwrap_or(Ok(()))?;
        self.alone.compare(&self.db)?;
        self.alone.phase.store(HOLDS, Ordering::SeqCst);
        Ok(())
    }

    /// Somebody else wrote, as the database itself shows.
    pub(crate) fn disturbed(&self) -> StoreError {
        self.alone.disturb()
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.alone.phase.store(RESTS, Ordering::SeqCst);
    }
}

fn data_version(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
