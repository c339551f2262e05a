//! Reads the projections.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use vidimus_core::bytes::Digest;
use vidimus_core::roster::Roster;

use super::{Mirror, MirrorFault};
use crate::limits::{HISTORY_ROWS_MAX, INBOX_ROWS_MAX};

/// One approval request, as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    pub request: String,
    pub position: u64,
    pub at_ms: i64,
    pub state: String,
    pub tool: String,
    pub agent: String,
    /// The digest that the gate recorded. The one that counts is computed from `frozen`.
    pub request_sha256: String,
    pub roles: Vec<String>,
    pub waits_until_ms: i64,
    pub frozen: Option<String>,
    pub says: Option<String>,
    /// The body is not the one that the record names, or holds no request.
    pub body_fault: Option<String>,
    pub ended_at_ms: Option<i64>,
    pub given: u64,
    /// It waited so long that another role may decide too.
    pub escalated: bool,
    /// When its agent stopped waiting without having been told of it.
    pub orphaned_at_ms: Option<i64>,
}

/// One recorded decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    pub position: u64,
    pub at_ms: i64,
    pub decision: String,
    pub approver: String,
    pub role: String,
    pub key_sha256: String,
    pub reason: Option<String>,
    /// The value that the approver was asked.
    pub asked: Option<String>,
}

/// One state of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    pub at_ms: i64,
    pub state: String,
    pub attempt: Option<u64>,
    pub body: Option<String>,
}

const REQUEST_COLUMNS: &str = "request, position, at_ms, state, tool, agent, request_sha256, roles, waits_until_ms, frozen, says, body_fault, ended_at_ms, given, escalated, orphaned_at_ms";

impl Mirror {
    pub fn request(&self, request: &str) -> Result<Option<RequestRow>, MirrorFault> {
        let sql = format!("SELECT {REQUEST_COLUMNS} FROM request WHERE request = ?1");
        Ok(self.db.query_row(&sql, [request], request_row).optional()?)
    }

    /// Hands on every request of which something became known since the log had that size, or all that wait. One at a time: there
    /// may be more than memory should hold.
    pub fn touched(&self, since: Option<u64>, mut each: impl FnMut(RequestRow) -> Result<(), MirrorFault>) -> Result<(), MirrorFault> {
        let condition = match since {
            Some(_) => "touched > ?1",
            None => "state = 'pending' AND touched >= ?1",
        };
        let mut statement = self.db.prepare_cached(&format!("SELECT {REQUEST_COLUMNS} FROM request WHERE {condition}"))?;
        let mut rows = statement.query([since.unwrap_or(0)])?;
        while let Some(row) = rows.next()? {
            each(request_row(row)?)?;
        }
        Ok(())
    }

    /// Requests of a tool that a quorum approved before a position, newest first.
    pub fn approved_before(&self, tool: &str, position: u64) -> Result<Vec<RequestRow>, MirrorFault> {
        let sql = format!(
            "SELECT {REQUEST_COLUMNS} FROM request WHERE tool = ?1 AND position < ?2 AND state IN ('approved', 'consumed') \
             ORDER BY position DESC LIMIT {HISTORY_ROWS_MAX}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![tool, position], request_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn decisions(&self, request: &str) -> Result<Vec<DecisionRow>, MirrorFault> {
        let mut statement = self.db.prepare_cached(
            "SELECT position, at_ms, decision, approver, role, key_sha256, reason, asked FROM decision WHERE request = ?1 ORDER BY position",
        )?;
        let rows = statement.query_map([request], |row| {
            Ok(DecisionRow {
                position: row.get(0)?,
                at_ms: row.get(1)?,
                decision: row.get(2)?,
                approver: row.get(3)?,
                role: row.get(4)?,
                key_sha256: row.get(5)?,
                reason: row.get(6)?,
                asked: row.get(7)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The requests that a person decided: the newest, in the order of their creation or of their last moment.
    pub fn decided_by(&self, approver: &str, newest_first: bool) -> Result<Vec<String>, MirrorFault> {
        let order = if newest_first { "position DESC" } else { "waits_until_ms, position" };
        let sql = format!(
            "SELECT request FROM (SELECT request, position, waits_until_ms FROM request \
             WHERE request IN (SELECT request FROM decision WHERE approver = ?1) ORDER BY position DESC LIMIT {INBOX_ROWS_MAX}) ORDER BY {order}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([approver], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many requests a person decided.
    pub fn decided_count(&self, approver: &str) -> Result<usize, MirrorFault> {
        let sql = "SELECT count(DISTINCT request) FROM decision WHERE approver = ?1";
        Ok(self.db.query_row(sql, [approver], |row| row.get(0))?)
    }

    /// Whether a person decided a request.
    pub fn has_decided(&self, request: &str, approver: &str) -> Result<bool, MirrorFault> {
        let sql = "SELECT EXISTS (SELECT 1 FROM decision WHERE request = ?1 AND approver = ?2)";
        Ok(self.db.prepare_cached(sql)?.query_row([request, approver], |row| row.get(0))?)
    }

    pub fn operations(&self, request: &str) -> Result<Vec<OperationRow>, MirrorFault> {
        let mut statement =
            self.db.prepare_cached("SELECT at_ms, state, attempt, body FROM operation WHERE request = ?1 ORDER BY position")?;
        let rows = statement.query_map([request], |row| {
            Ok(OperationRow { at_ms: row.get(0)?, state: row.get(1)?, attempt: row.get(2)?, body: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The roster in force.
    pub fn roster(&self) -> Result<Option<Roster>, MirrorFault> {
        Ok(newest_roster(&self.db)?)
    }

    /// Whether a roster of this digest stands in the verified chain.
    pub fn has_roster(&self, digest: &Digest) -> Result<bool, MirrorFault> {
        Ok(self.db.query_row("SELECT EXISTS (SELECT 1 FROM roster WHERE sha256 = ?1)", [digest.to_string()], |row| row.get(0))?)
    }

    /// The text of the effect table in force, with its digest.
    pub fn effect_table(&self) -> Result<Option<(String, String)>, MirrorFault> {
        let sql = "SELECT sha256, effect_table FROM effect_table ORDER BY position DESC LIMIT 1";
        Ok(self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// The text of the effect table of a digest.
    pub fn effect_table_of(&self, digest: &str) -> Result<Option<String>, MirrorFault> {
        let sql = "SELECT effect_table FROM effect_table WHERE sha256 = ?1 LIMIT 1";
        Ok(self.db.query_row(sql, [digest], |row| row.get(0)).optional()?)
    }

    /// The leaf at a position, for comparison with a receipt.
    pub fn leaf(&self, position: u64) -> Result<Option<String>, MirrorFault> {
        Ok(self.db.query_row("SELECT leaf FROM leaf WHERE position = ?1", [position], |row| row.get(0)).optional()?)
    }
}

pub fn newest_roster(db: &Connection) -> Result<Option<Roster>, rusqlite::Error> {
    let text: Option<String> = db.query_row("SELECT roster FROM roster ORDER BY version DESC LIMIT 1", [], |row| row.get(0)).optional()?;
    // It was parsed before it was stored.
    Ok(text.and_then(|text| Roster::parse(text.as_bytes()).ok()))
}

/// The text of the effect table in force.
pub fn newest_table(db: &Connection) -> Result<Option<String>, rusqlite::Error> {
    db.query_row("SELECT effect_table FROM effect_table ORDER BY position DESC LIMIT 1", [], |row| row.get(0)).optional()
}

fn request_row(row: &Row<'_>) -> Result<RequestRow, rusqlite::Error> {
    let roles: String = row.get(7)?;
    Ok(RequestRow {
        request: row.get(0)?,
        position: row.get(1)?,
        at_ms: row.get(2)?,
        state: row.get(3)?,
        tool: row.get(4)?,
        agent: row.get(5)?,
        request_sha256: row.get(6)?,
        roles: roles.split_whitespace().map(ToOwned::to_owned).collect(),
        waits_until_ms: row.get(8)?,
        frozen: row.get(9)?,
        says: row.get(10)?,
        body_fault: row.get(11)?,
        ended_at_ms: row.get(12)?,
        given: row.get(13)?,
        escalated: row.get(14)?,
        orphaned_at_ms: row.get(15)?,
    })
}
