//! The tables of the mirror and their version.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::MirrorFault;

const VERSION: i64 = 6;

/// What was verified: it is never changed.
const COPY: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE leaf (position INTEGER PRIMARY KEY, leaf TEXT NOT NULL, salt TEXT, body TEXT) STRICT;
";

/// The projections, each made of the leaves alone.
const PROJECTIONS: [&str; 12] = [
    "roster",
    "effect_table",
    "request",
    "decision",
    "operation",
    "outcome",
    "happening",
    "answer",
    "recovery",
    "key_times",
    "payee_place",
    "payee",
];

const TABLES: &str = "
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
  needed INTEGER NOT NULL DEFAULT 0,
  escalated INTEGER NOT NULL DEFAULT 0,
  orphaned_at_ms INTEGER,
  touched INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX request_state ON request (state, expires_at_ms);
CREATE INDEX request_touched ON request (touched);
CREATE TABLE decision (
  position INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  decision TEXT NOT NULL,
  approver TEXT NOT NULL,
  role TEXT NOT NULL,
  key_sha256 TEXT NOT NULL,
  reason TEXT,
  asked TEXT
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
CREATE TABLE outcome (
  operation TEXT PRIMARY KEY,
  request TEXT,
  tool TEXT NOT NULL,
  agent TEXT NOT NULL,
  roles TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  opened_by TEXT,
  opened_at_ms INTEGER,
  pages INTEGER NOT NULL DEFAULT 0,
  conflict INTEGER NOT NULL DEFAULT 0,
  look_again_at_ms INTEGER
) STRICT;
CREATE INDEX outcome_state ON outcome (state, since_ms);
CREATE TABLE happening (position INTEGER PRIMARY KEY, operation TEXT NOT NULL) STRICT;
CREATE INDEX happening_operation ON happening (operation, position);
CREATE TABLE answer (
  position INTEGER PRIMARY KEY,
  operation TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  answer TEXT NOT NULL,
  amount_minor TEXT,
  approver TEXT NOT NULL,
  role TEXT NOT NULL,
  key_sha256 TEXT NOT NULL,
  evidence TEXT
) STRICT;
CREATE INDEX answer_operation ON answer (operation, position);
CREATE TABLE recovery (
  sha256 TEXT PRIMARY KEY,
  announced_at_ms INTEGER NOT NULL,
  effective_at_ms INTEGER NOT NULL,
  admission TEXT NOT NULL,
  waiting INTEGER NOT NULL DEFAULT 1 CHECK (waiting IN (0, 1))
) STRICT;
CREATE INDEX request_hidden ON request (position) WHERE frozen IS NULL;
CREATE TABLE key_times (key_sha256 TEXT PRIMARY KEY, since_ms INTEGER, last_ms INTEGER) STRICT;
CREATE TABLE payee_place (table_sha256 TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (table_sha256, tool, path)) STRICT;
CREATE TABLE payee (
  position INTEGER NOT NULL,
  request TEXT NOT NULL,
  path TEXT NOT NULL,
  value TEXT NOT NULL,
  alike TEXT NOT NULL,
  stands_for TEXT,
  PRIMARY KEY (position, path)
) STRICT;
CREATE INDEX payee_value ON payee (value, position);
CREATE INDEX payee_alike ON payee (alike, position);
";

/// Whether the projections are those of this version, or have to be made of the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projections {
    Current,
    ToBeMade,
}

/// Creates the tables, or checks their version: those of an older console keep their leaves and lose their projections.
pub fn prepare(db: &Connection) -> Result<Projections, MirrorFault> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "secure_delete", "ON")?;
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => {
            db.execute_batch(&format!("BEGIN; {COPY} {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            Ok(Projections::Current)
        }
        VERSION => Ok(Projections::Current),
        older if older < VERSION => Ok(Projections::ToBeMade),
        newer => Err(MirrorFault::Other(format!("a console that writes version {newer}; this one writes {VERSION}"))),
    }
}

/// Empty projections of this version. Within the transaction that fills them, so that an end between leaves the older ones.
pub fn renew(db: &Connection) -> Result<(), rusqlite::Error> {
    for table in PROJECTIONS {
        db.execute_batch(&format!("DROP TABLE IF EXISTS {table};"))?;
    }
    db.execute_batch(&format!("{TABLES} PRAGMA user_version = {VERSION};"))
}

pub fn meta(db: &Connection, name: &str) -> Result<Option<String>, rusqlite::Error> {
    db.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}

pub fn set_meta(db: &Connection, name: &str, value: &str) -> Result<(), rusqlite::Error> {
    db.execute("INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", params![name, value])?;
    Ok(())
}
