//! Whether the pages of a database hold together: every index has what its table has, every row is where a search finds it,
//! every reference leads to a row. A statement reads by whichever index SQLite chooses, so a row that one index does not
//! have is there for one use case and gone for another, and no comparison of tables with the log finds that.
//!
//! A failing disk does this by itself; whoever may write the file does it with SQL alone.

use std::collections::BTreeMap;

use rusqlite::{Connection, ErrorCode};

use crate::error::StoreError;
use crate::migrations;
use crate::tx::find;
use crate::verification::{VerifyError, contradicted};

/// What `ANALYZE` leaves: it steers which index a statement reads, and no gate ever counts anything for itself.
const STATISTICS: &[&str] = &["sqlite_stat1", "sqlite_stat3", "sqlite_stat4"];

/// Removes the statistics that somebody left, before any statement is prepared by them.
pub(crate) fn drop_statistics(db: &Connection) -> rusqlite::Result<()> {
    for table in STATISTICS {
        if db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([table])? {
            tracing::warn!(table, "somebody counted the database's rows; what was counted is dropped");
            db.execute_batch(&format!("DROP TABLE {table}"))?;
        }
    }
    Ok(())
}

/// Reads every page once.
///
/// *Errors*: `Contradicted`.
pub(crate) fn holds_together(db: &Connection) -> Result<(), VerifyError> {
    // One fault is enough not to serve.
    match find(db, "PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(Some(told)) if told == "ok" => {}
        Ok(told) => return broken(told.as_deref().unwrap_or("no answer")),
        Err(StoreError::Database(source)) => match source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => return broken(&source.to_string()),
            Some(_) | None => return Err(StoreError::Database(source).into()),
        },
        Err(error) => return Err(error.into()),
    }
    partial_indices_have_no_more(db)
}

/// An index over a part of its table has as many entries as that part has rows. SQLite's own check finds the entry of each
/// row there; the entry of a row that has left that part, or was deleted, it does not look for.
fn partial_indices_have_no_more(db: &Connection) -> Result<(), VerifyError> {
    let mut of_tables: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (table, index, condition) in migrations::partial_indices()? {
        of_tables.entry(table).or_default().push((index, condition));
    }
    for (table, indices) in of_tables {
        let counts: Vec<String> = indices.iter().map(|(_, condition)| format!("count(*) FILTER (WHERE {condition})")).collect();
        let sql = format!("SELECT {} FROM {table} NOT INDEXED", counts.join(", "));
        let rows = find(db, &sql, [], |row| (0..indices.len()).map(|column| row.get::<_, i64>(column)).collect::<Result<Vec<_>, _>>())?;
        for ((index, _), rows) in indices.iter().zip(rows.unwrap_or_default()) {
            let entries = find(db, "SELECT sum(ncell) FROM dbstat WHERE name = ?1", [index], |row| row.get::<_, Option<i64>>(0))?.flatten();
            // One that is not there is missed by whoever compares the schema.
            if entries.is_some_and(|entries| entries != rows) {
                return broken(&format!("the index `{index}` has other rows than its table"));
            }
        }
    }
    Ok(())
}

fn broken<T>(what: &str) -> Result<T, VerifyError> {
    contradicted(format!("the pages of the database do not hold together, which a failing disk does as well ({what})"))
}

/// Every reference leads to a row. What the log tells of a row that is gone says more than this, so it is asked first.
///
/// *Errors*: `Contradicted`.
pub(crate) fn refers_to_rows(db: &Connection) -> Result<(), VerifyError> {
    match find(db, "PRAGMA foreign_key_check", [], |row| row.get::<_, String>(0))? {
        None => Ok(()),
        Some(table) => contradicted(format!("a row of `{table}` refers to none")),
    }
}
