//! Who was named in requests before: accounts and other values that an effect table calls salient, with what they stood for.
//!
//! Noted when a request arrives, by the row that it was frozen on, so that a value in a note or a reference makes nobody known.

use rusqlite::{Connection, OptionalExtension as _, params};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::table::{Format, Table};

use super::{Mirror, MirrorFault};
use crate::limits::HISTORY_ROWS_MAX;
use crate::text::looks::look_alike_key;

/// One earlier request that named a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    pub request: String,
    pub position: u64,
    pub at_ms: i64,
    pub state: String,
    pub tool: String,
    pub agent: String,
    pub value: String,
    /// What the value stood for then, where the row reads that.
    pub stands_for: Option<String>,
    /// The frozen request, where this person may read it.
    pub frozen: Option<String>,
}

/// Notes which arguments of each tool name somebody, once for each table: when the first request on it comes, so that nobody who
/// enrols waits for it. The text was believed before.
fn note_table(db: &Connection, digest: &str) -> Result<(), rusqlite::Error> {
    let known = "SELECT EXISTS (SELECT 1 FROM payee_place WHERE table_sha256 = ?1)";
    if db.query_row(known, [digest], |row| row.get(0))? {
        return Ok(());
    }
    let sql = "SELECT effect_table FROM effect_table WHERE sha256 = ?1 LIMIT 1";
    let text: Option<String> = db.query_row(sql, [digest], |row| row.get(0)).optional()?;
    let Some(Ok(table)) = text.map(|text| Table::parse(&text)) else { return Ok(()) };
    // A table in which nobody is named is known too.
    db.execute("INSERT INTO payee_place (table_sha256, tool, path) VALUES (?1, '', '')", [digest])?;
    for row in table.rows() {
        let accounts = row.fields.iter().filter(|field| matches!(field.format, Format::Account)).map(|field| &field.path);
        for path in accounts.chain(&row.salient) {
            db.execute(
                "INSERT OR IGNORE INTO payee_place (table_sha256, tool, path) VALUES (?1, ?2, ?3)",
                params![digest, row.tool.as_str(), path.pointer()],
            )?;
        }
    }
    Ok(())
}

/// Notes whom a request names.
pub fn note_request(db: &Connection, position: u64, frozen: &str) -> Result<(), rusqlite::Error> {
    let Ok(frozen) = FrozenRequest::parse(frozen.as_bytes()) else { return Ok(()) };
    let members = frozen.members();
    note_table(db, &members.table_sha256.to_string())?;
    let mut places = db.prepare_cached("SELECT path FROM payee_place WHERE table_sha256 = ?1 AND tool = ?2")?;
    let paths = places.query_map(params![members.table_sha256.to_string(), members.tool.as_str()], |row| row.get(0))?;
    for path in paths.collect::<Result<Vec<String>, _>>()? {
        let Some(value) = members.args.pointer(&path).and_then(Json::as_str) else { continue };
        db.execute(
            "INSERT OR IGNORE INTO payee (position, request, path, value, alike, stands_for) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![position, members.request.to_string(), path, value, look_alike_key(value), stands_for(&members.referents, &path)],
        )?;
    }
    Ok(())
}

/// What the referent of an argument was, as text.
pub fn stands_for(referents: &Json, path: &str) -> Option<String> {
    match referents.member(path)? {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => other.canonical().ok().and_then(|bytes| String::from_utf8(bytes).ok()),
    }
}

const NAMED: &str = "SELECT r.request, r.position, r.at_ms, r.state, r.tool, r.agent, p.value, p.stands_for, r.frozen \
                     FROM payee p JOIN request r ON r.request = p.request";

impl Mirror {
    /// Requests before a position that named exactly this value and had an effect or may have one, newest first, each once.
    pub fn named(&self, value: &str, before: u64) -> Result<Vec<Naming>, MirrorFault> {
        let sql = format!(
            "{NAMED} WHERE p.value = ?1 AND r.position < ?2 AND r.state IN ('pending', 'approved', 'consumed') \
             GROUP BY r.request ORDER BY r.position DESC LIMIT {HISTORY_ROWS_MAX}"
        );
        self.namings(&sql, value, before)
    }

    /// Approved requests before a position that named another value which looks like this one, newest first.
    pub fn named_alike(&self, value: &str, before: u64) -> Result<Option<Naming>, MirrorFault> {
        let sql = format!(
            "{NAMED} WHERE p.alike = ?1 AND r.position < ?2 AND r.state IN ('approved', 'consumed') ORDER BY r.position DESC \
             LIMIT {HISTORY_ROWS_MAX}"
        );
        let alike = self.namings(&sql, &look_alike_key(value), before)?;
        Ok(alike.into_iter().find(|naming| naming.value != value))
    }

    /// How many approved requests before a position named exactly this value.
    pub fn times_approved(&self, value: &str, before: u64) -> Result<u64, MirrorFault> {
        let mut statement = self.db.prepare_cached(
            "SELECT count(DISTINCT p.request) FROM payee p JOIN request r ON r.request = p.request \
             WHERE p.value = ?1 AND r.position < ?2 AND r.state IN ('approved', 'consumed')",
        )?;
        Ok(statement.query_row(params![value, before], |row| row.get(0))?)
    }

    /// Requests before a position whose contents this person may not read.
    pub fn hidden_requests(&self, before: u64) -> Result<u64, MirrorFault> {
        let mut statement = self.db.prepare_cached("SELECT count(*) FROM request WHERE frozen IS NULL AND position < ?1")?;
        Ok(statement.query_row([before], |row| row.get(0))?)
    }

    /// The last state of what a request set off.
    pub fn last_operation(&self, request: &str) -> Result<Option<String>, MirrorFault> {
        let mut statement = self.db.prepare_cached("SELECT state FROM operation WHERE request = ?1 ORDER BY position DESC LIMIT 1")?;
        Ok(statement.query_row([request], |row| row.get(0)).optional()?)
    }

    fn namings(&self, sql: &str, key: &str, before: u64) -> Result<Vec<Naming>, MirrorFault> {
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![key, before], |row| {
            Ok(Naming {
                request: row.get(0)?,
                position: row.get(1)?,
                at_ms: row.get(2)?,
                state: row.get(3)?,
                tool: row.get(4)?,
                agent: row.get(5)?,
                value: row.get(6)?,
                stands_for: row.get(7)?,
                frozen: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
