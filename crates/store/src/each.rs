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
