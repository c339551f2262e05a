//! The tables of the mirror and their version.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::MirrorFault;

const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE leaf (position INTEGER PRIMARY KEY, leaf TEXT NOT NULL, salt TEXT, body TEXT) STRICT;
CREATE TABLE roster (version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, roster TEXT NOT NULL) STRICT;
CREATE TABLE effect_table (position INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, effect_table TEXT NOT NULL) STRICT;
CREATE TABLE request (
  request TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  tool TEXT NOT NULL,
  agent TEXT NOT NULL,
  request_sha256 TEXT NOT NULL,
  roles TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  waits_until_ms INTEGER NOT NULL,
  frozen TEXT,
  says TEXT,
  body_fault TEXT CHECK (body_fault IN ('differs', 'malformed')),
  ended_at_ms INTEGER,
  given INTEGER NOT NULL DEFAULT 0,
  needed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX request_state ON request (state, expires_at_ms);
CREATE TABLE decision (
  position INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  decision TEXT NOT NULL,
  approver TEXT NOT NULL,
  role TEXT NOT NULL,
  key_sha256 TEXT NOT NULL,
  reason TEXT
) STRICT;
CREATE INDEX decision_request ON decision (request);
CREATE INDEX decision_approver ON decision (approver);
CREATE TABLE operation (
  position INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  operation TEXT,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER,
  body TEXT
) STRICT;
CREATE INDEX operation_request ON operation (request);
";

/// Creates the tables, or checks that they are of this version.
pub fn prepare(db: &Connection) -> Result<(), MirrorFault> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "secure_delete", "ON")?;
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => {
            db.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            Ok(())
        }
        VERSION => Ok(()),
        newer => Err(MirrorFault::Other(format!("a console that writes version {newer}; this one writes {VERSION}"))),
    }
}

pub fn meta(db: &Connection, name: &str) -> Result<Option<String>, rusqlite::Error> {
    db.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}

pub fn set_meta(db: &Connection, name: &str, value: &str) -> Result<(), rusqlite::Error> {
    db.execute("INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", params![name, value])?;
    Ok(())
}
