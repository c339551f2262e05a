//! The schema's versions. A file of an older version is brought forward, one of a newer version is refused.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{OpenError, StoreError};
use crate::open::APPLICATION_ID;

/// The first text makes the schema of [`FIRST_VERSION`], each further one brings it to the next version. Texts of a release are never edited.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// The version that the first text makes. Those below it were never released, and no release reads them.
const FIRST_VERSION: i64 = 12;

/// A thing of the schema as the database describes it.
type Described = (String, String, String, Option<String>);

/// Whether the schema is the one that the migrations make, its keys, checks and triggers included, and nothing else.
pub(crate) fn is_untouched(db: &Connection) -> Result<bool, StoreError> {
    let fresh = fresh()?;
    let described = |db: &Connection| -> Result<Vec<Described>, StoreError> {
        let sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name, sql";
        crate::tx::list(db, sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
    };
    Ok(described(db)? == described(&fresh)?)
}

fn fresh() -> Result<Connection, StoreError> {
    let fresh = Connection::open_in_memory()?;
    for text in MIGRATIONS {
        fresh.execute_batch(text)?;
    }
    Ok(fresh)
}

/// The indices over a part of their table: the table, the index, and the condition that a row of that part meets.
pub(crate) fn partial_indices() -> Result<Vec<(String, String, String)>, StoreError> {
    let sql = "SELECT tbl_name, name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?));
    let indices = crate::tx::list(&fresh()?, sql, [], read)?;
    let of_part = |(table, index, text): (String, String, String)| Some((table, index, text.split_once("WHERE")?.1.to_owned()));
    Ok(indices.into_iter().filter_map(of_part).collect())
}

/// The version of a file that has every migration.
pub(crate) const SCHEMA_VERSION: i64 = FIRST_VERSION + MIGRATIONS.len() as i64 - 1;

/// Brings the file to [`SCHEMA_VERSION`], each step in a transaction of its own.
pub(crate) fn migrate(db: &mut Connection) -> Result<(), OpenError> {
    let found: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > SCHEMA_VERSION {
        return Err(OpenError::SchemaNewer { found, known: SCHEMA_VERSION });
    }
    if found != 0 && found < FIRST_VERSION {
        return Err(OpenError::SchemaOlder { found, first: FIRST_VERSION });
    }
    for (version, text) in (FIRST_VERSION..).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(text)?;
        tx.pragma_update(None, "user_version", version)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.commit()?;
    }
    Ok(())
}
