//! A sweep takes each row by itself: one that cannot be read back is named, and the others are swept all the same.

use rusqlite::{Connection, params};
use vidimus_core::ids::RequestId;

use crate::error::StoreError;
use crate::limits::SWEEP_ROWS_MAX;
use crate::operations::load_request;
use crate::rows::{StoredOperation, StoredRequest};
use crate::tx::{Tx, list};

/// What a sweep has moved, and what it could not read.
#[derive(Default)]
pub(crate) struct Swept {
    pub(crate) moved: usize,
    pub(crate) corrupt: Vec<String>,
}

impl Swept {
    /// Takes each row by itself, named by the kind of thing that it holds and by its key.
    ///
    /// *Errors*: what is no fault of one row: the database failed.
    pub(crate) fn each<'b>(
        &mut self,
        tx: &mut Tx<'b>,
        kind: &str,
        keys: &[String],
        mut one: impl FnMut(&mut Tx<'b>, &str) -> Result<usize, StoreError>,
    ) -> Result<(), StoreError> {
        for key in keys {
            match tx.aside(|tx| one(tx, key))? {
                Ok(moved) => self.moved += moved,
                Err(error) => self.corrupt.push(named(kind, key, &error)),
            }
        }
        Ok(())
    }
}

/// A row that cannot be read back, for an operator.
pub(crate) fn named(kind: &str, key: &str, error: &StoreError) -> String {
    tracing::debug!(error = error as &dyn std::error::Error, "the {kind} `{key}` cannot be swept");
    format!("{kind} `{key}`")
}

/// The keys of the rows that a statement finds by a time, as the database spells them.
pub(crate) fn keys(db: &Connection, sql: &str, before_ms: i64) -> Result<Vec<String>, StoreError> {
    list(db, sql, params![before_ms, SWEEP_ROWS_MAX as i64], |row| row.get::<_, String>(0))
}

/// How far the rounds have come in what stays where it is when a round has looked at it. Each round goes on behind the one before
/// it and begins again at the end, so that no number of rows that nobody can move keeps the others from their turn.
#[derive(Clone, Copy, Default)]
pub(crate) struct Turns {
    /// Behind this row: approved payments that need a token.
    pub(crate) to_mint: i64,
    /// Behind this row: payments in doubt.
    pub(crate) payments: i64,
    /// Behind this row: writes in doubt. Agents make them without anybody's approval, so they never share a turn with payments.
    pub(crate) writes: i64,
}

/// The keys of the rows whose turn it is, and the row behind which the next turn begins. The statement gives key and row number of
/// what lies behind `?3`, in the order of the row numbers.
pub(crate) fn keys_in_turn(db: &Connection, sql: &str, before_ms: i64, after: i64) -> Result<(Vec<String>, i64), StoreError> {
    let read = |after: i64, limit: usize| {
        list(db, sql, params![before_ms, limit as i64, after], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
    };
    let mut found = read(after, SWEEP_ROWS_MAX)?;
    if found.len() < SWEEP_ROWS_MAX && after > 0 {
        let from_the_start = read(0, SWEEP_ROWS_MAX - found.len())?;
        found.extend(from_the_start.into_iter().filter(|(_, row)| *row <= after));
    }
    // Where a turn takes everything, the next one has no need to go on anywhere.
    let next = found.get(SWEEP_ROWS_MAX - 1).map_or(0, |(_, row)| *row);
    Ok((found.into_iter().map(|(key, _)| key).collect(), next))
}

/// The operation of a key.
pub(crate) fn operation(db: &Connection, key: &str) -> Result<StoredOperation, StoreError> {
    let parsed = key.parse().map_err(|_| StoreError::corrupt("operations.operation"))?;
    StoredOperation::load(db, &parsed)?.ok_or_else(|| StoreError::corrupt("an operation that vanished"))
}

/// The request of a key.
pub(crate) fn request(tx: &mut Tx<'_>, key: &str) -> Result<StoredRequest, StoreError> {
    let parsed: RequestId = key.parse().map_err(|_| StoreError::corrupt("requests.request"))?;
    load_request(tx, &parsed)
}
