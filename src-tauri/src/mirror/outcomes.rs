//! Operations whose outcome was in doubt, and everything that the log tells of them: what was sent, what came back, who looked,
//! who answered.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use vidimus_api::log::RecordEvent;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::reconciliation::{self, Answer, GivenAnswer, Subject, tally};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use super::projection::{BodyState, Checked, body_of, count_of};
use super::read::newest_roster;
use super::{Mirror, MirrorFault};
use crate::limits::{OUTCOME_RECORDS_MAX, OUTCOMES_MAX};

/// One operation whose outcome is or was in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeRow {
    pub operation: String,
    /// The approved request; none for a write.
    pub request: Option<String>,
    pub tool: String,
    pub agent: String,
    pub roles: Vec<String>,
    pub state: String,
    pub attempt: u64,
    /// Since when it is in doubt.
    pub since_ms: i64,
    /// When its state changed last.
    pub at_ms: i64,
    pub opened_by: Option<String>,
    pub opened_at_ms: Option<i64>,
    /// How often people were told of it.
    pub pages: u64,
    /// Persons contradict each other.
    pub conflict: bool,
    pub look_again_at_ms: Option<i64>,
}

/// One recorded answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    pub position: u64,
    pub at_ms: i64,
    pub given: GivenAnswer,
    /// The canonical evidence, where this person may read it.
    pub evidence: Option<String>,
}

/// One record about an operation.
#[derive(Debug, Clone)]
pub struct Happening {
    pub position: u64,
    pub audit: AuditRecord,
    /// Its body, where this person may read it.
    pub body: Option<Json>,
}

const COLUMNS: &str = "operation, request, tool, agent, roles, state, attempt, since_ms, at_ms, opened_by, opened_at_ms, pages, conflict, \
                       look_again_at_ms";

impl Mirror {
    /// What is in doubt now, the oldest first: nothing of it is ever left out for being old.
    pub fn in_doubt(&self) -> Result<Vec<OutcomeRow>, MirrorFault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outcome WHERE state IN ('unknown', 'needs_reconciliation') ORDER BY since_ms, operation LIMIT {OUTCOMES_MAX}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([], outcome_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What was in doubt and has its final state, the newest first.
    pub fn settled_outcomes(&self) -> Result<Vec<OutcomeRow>, MirrorFault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM outcome WHERE state NOT IN ('unknown', 'needs_reconciliation', 'executing') ORDER BY at_ms DESC, operation \
             LIMIT {OUTCOMES_MAX}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([], outcome_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn outcome(&self, operation: &str) -> Result<Option<OutcomeRow>, MirrorFault> {
        let sql = format!("SELECT {COLUMNS} FROM outcome WHERE operation = ?1");
        Ok(self.db.query_row(&sql, [operation], outcome_row).optional()?)
    }

    /// The operation of a request that is in doubt.
    pub fn outcome_of_request(&self, request: &str) -> Result<Option<OutcomeRow>, MirrorFault> {
        let sql = format!("SELECT {COLUMNS} FROM outcome WHERE request = ?1");
        Ok(self.db.query_row(&sql, [request], outcome_row).optional()?)
    }

    /// The answers of people in the order of the log.
    pub fn answers(&self, operation: &str) -> Result<Vec<AnswerRow>, MirrorFault> {
        Ok(answers_of(&self.db, operation)?)
    }

    /// Everything on record about an operation, in the order of the log.
    pub fn happenings(&self, operation: &str) -> Result<Vec<Happening>, MirrorFault> {
        let sql = format!(
            "SELECT leaf.position, leaf.leaf, leaf.salt, leaf.body FROM happening JOIN leaf USING (position) WHERE operation = ?1 \
             ORDER BY leaf.position LIMIT {OUTCOME_RECORDS_MAX}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([operation], |row| {
            let salt: Option<String> = row.get(2)?;
            Ok(RecordEvent { position: row.get(0)?, leaf: row.get(1)?, salt: salt.and_then(|salt| salt.parse().ok()), body: row.get(3)? })
        })?;
        let mut found = Vec::new();
        for record in rows {
            let record = record?;
            // It was parsed before it was stored.
            let Ok(audit) = AuditRecord::parse(record.leaf.as_bytes()) else { continue };
            let body = match body_of(&record, &audit) {
                BodyState::Verified(body) => Some(body),
                BodyState::Absent | BodyState::Differs => None,
            };
            found.push(Happening { position: record.position, audit, body });
        }
        Ok(found)
    }
}

/// Notes a record that is about an operation.
pub fn note(db: &Connection, position: u64, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
    if let Some(operation) = audit.operation {
        db.execute("INSERT INTO happening (position, operation) VALUES (?1, ?2)", params![position, operation.to_string()])?;
    }
    Ok(())
}

/// A new state of an operation: from the first doubt on it stands at the desk.
pub fn changed(db: &Connection, audit: &AuditRecord, request: Option<&str>, state: &str) -> Result<(), rusqlite::Error> {
    let Some(operation) = audit.operation.map(|operation| operation.to_string()) else { return Ok(()) };
    let attempt = count_of(audit, "attempt").unwrap_or(1);
    let at_ms = audit.at.as_ms();
    let known = db.execute(
        "UPDATE outcome SET state = ?2, attempt = ?3, at_ms = ?4 WHERE operation = ?1",
        params![operation, state, attempt, at_ms],
    )?;
    if known > 0 || !matches!(state, "unknown" | "needs_reconciliation") {
        return Ok(());
    }
    let of_request: Option<(String, String)> = match request {
        Some(request) => db
            .query_row("SELECT tool, agent FROM request WHERE request = ?1", [request], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?,
        None => None,
    };
    let claim = |name: &str| audit.claim(name).unwrap_or_default().to_owned();
    let (tool, agent) = of_request.unwrap_or_else(|| (claim("tool"), claim("agent")));
    let roles: Vec<&str> = audit.roles.iter().map(vidimus_core::ids::Name::as_str).collect();
    db.execute(
        "INSERT INTO outcome (operation, request, tool, agent, roles, state, attempt, since_ms, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        params![operation, request, tool, agent, roles.join(" "), state, attempt, at_ms],
    )?;
    Ok(())
}

/// A person's answer: it is on record only as it was signed.
pub fn answered(
    db: &Connection,
    position: u64,
    audit: &AuditRecord,
    body: &BodyState,
    roster: &Roster,
) -> Result<Checked, rusqlite::Error> {
    let Some(operation) = audit.operation else { return Ok(Err("an answer came without its operation".to_owned())) };
    let given = audit.envelopes.iter().find_map(|envelope| {
        let verified = reconciliation::verify(envelope, roster).ok()?;
        let statement = verified.statement();
        let same = statement.operation == operation
            && audit.claim("answer") == Some(statement.answer.as_str())
            && audit.claim("approver") == Some(&statement.approver.to_string())
            && audit.claim("role") == Some(statement.role.as_str());
        same.then(|| verified.given())
    });
    let Some(given) = given else { return Ok(Err("an answer is not signed by a key of the roster".to_owned())) };
    let evidence = match body {
        BodyState::Verified(body) => body.member("evidence").and_then(Json::as_str).map(ToOwned::to_owned),
        BodyState::Absent | BodyState::Differs => None,
    };
    let look_again_at = evidence
        .as_deref()
        .and_then(|text| vidimus_core::evidence::Evidence::parse(text).ok())
        .and_then(|evidence| evidence.look_again_at)
        .map(Timestamp::as_ms);
    db.execute(
        "INSERT INTO answer (position, operation, at_ms, answer, amount_minor, approver, role, key_sha256, evidence) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            position,
            operation.to_string(),
            audit.at.as_ms(),
            given.answer.as_str(),
            given.amount_minor.map(|amount| amount.to_string()),
            given.approver.to_string(),
            given.role.as_str(),
            given.key_sha256.to_string(),
            evidence
        ],
    )?;
    if given.answer != Answer::Note {
        let conflict = matches!(audit.claims.member("conflict"), Some(Json::Bool(true)));
        db.execute(
            "UPDATE outcome SET conflict = ?2, look_again_at_ms = ?3 WHERE operation = ?1",
            params![operation.to_string(), conflict, look_again_at],
        )?;
    }
    Ok(Ok(()))
}

/// Somebody looks, or people were told.
pub fn looked_at(db: &Connection, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
    let Some(operation) = audit.operation.map(|operation| operation.to_string()) else { return Ok(()) };
    match audit.record_type {
        RecordType::OperationOpened => db.execute(
            "UPDATE outcome SET opened_by = ?2, opened_at_ms = ?3 WHERE operation = ?1",
            params![operation, audit.claim("by"), audit.at.as_ms()],
        )?,
        // One page may go out by more than one channel; the console's own record stands for it.
        RecordType::PageSent if audit.claim("channel").is_none_or(|channel| channel == "console") => {
            db.execute("UPDATE outcome SET pages = pages + 1 WHERE operation = ?1", [operation])?
        }
        _ => 0,
    };
    Ok(())
}

/// Whether a state that only people can give has their signed answers before it: as many as the request says, where this
/// person may read the request, else at least one.
pub fn is_answered(db: &Connection, audit: &AuditRecord, state: &str) -> Result<bool, rusqlite::Error> {
    let Some(operation) = audit.operation else { return Ok(false) };
    let answer = match state {
        "succeeded" => Answer::Happened,
        "partial" => Answer::Partly,
        "not_happened" => Answer::NotHappened,
        _ => return Ok(true),
    };
    let given: Vec<GivenAnswer> = answers_of(db, &operation.to_string())?.into_iter().map(|row| row.given).collect();
    if given.last().is_none_or(|newest| newest.answer != answer) {
        return Ok(false);
    }
    let request: Option<(Option<String>, bool)> = match audit.request {
        Some(request) => {
            let sql = "SELECT frozen, escalated FROM request WHERE request = ?1";
            db.query_row(sql, [request.to_string()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?
        }
        None => None,
    };
    let (text, escalated) = request.unwrap_or_default();
    let frozen = text.and_then(|text| FrozenRequest::parse(text.as_bytes()).ok());
    let (Some(frozen), Some(roster)) = (frozen, newest_roster(db)?) else { return Ok(true) };
    Ok(tally(&Subject::Request { frozen: &frozen, escalated }, &given, &roster).reached)
}

fn answers_of(db: &Connection, operation: &str) -> Result<Vec<AnswerRow>, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "SELECT position, at_ms, answer, amount_minor, approver, role, key_sha256, evidence FROM answer WHERE operation = ?1 ORDER BY position",
    )?;
    let rows = statement.query_map([operation], |row| {
        let text = |column: usize| row.get::<_, String>(column);
        let read = || {
            Some(GivenAnswer {
                answer: text(2).ok()?.parse().ok()?,
                amount_minor: row.get::<_, Option<String>>(3).ok()?.map(|amount| amount.parse()).transpose().ok()?,
                approver: text(4).ok()?.parse().ok()?,
                role: vidimus_core::ids::Name::parse(&text(5).ok()?).ok()?,
                key_sha256: text(6).ok()?.parse().ok()?,
                // The mirror takes in nothing whose signature it has not verified.
                signed: true,
            })
        };
        let given = read().ok_or(rusqlite::Error::InvalidQuery)?;
        Ok(AnswerRow { position: row.get(0)?, at_ms: row.get(1)?, given, evidence: row.get(7)? })
    })?;
    rows.collect()
}

fn outcome_row(row: &Row<'_>) -> Result<OutcomeRow, rusqlite::Error> {
    let roles: String = row.get(4)?;
    Ok(OutcomeRow {
        operation: row.get(0)?,
        request: row.get(1)?,
        tool: row.get(2)?,
        agent: row.get(3)?,
        roles: roles.split_whitespace().map(ToOwned::to_owned).collect(),
        state: row.get(5)?,
        attempt: row.get(6)?,
        since_ms: row.get(7)?,
        at_ms: row.get(8)?,
        opened_by: row.get(9)?,
        opened_at_ms: row.get(10)?,
        pages: row.get(11)?,
        conflict: row.get(12)?,
        look_again_at_ms: row.get(13)?,
    })
}
