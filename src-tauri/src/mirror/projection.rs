//! What each record means for the console: requests, decisions, operations, rosters, tables.

mod requests;
mod rules;

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, params};
use vidimus_api::log::RecordEvent;
use vidimus_core::json::{Json, Limits, parse_canonical};
use vidimus_core::record::{AuditRecord, Body, RecordType};

use super::{Applied, GateIdentity, chain, outcomes, read};

/// What is wrong with a record, in words; a record with a fault breaks the log.
pub type Checked = Result<(), String>;

#[derive(Default)]
pub struct Projection {
    applied: Applied,
    changed: BTreeSet<String>,
}

/// The body of a record as far as it is here.
pub enum BodyState {
    Absent,
    Verified(Json),
    Differs,
}

impl Projection {
    pub fn applied(mut self, records: usize) -> Applied {
        self.applied.records = u64::try_from(records).unwrap_or(u64::MAX);
        self.applied.changed = self.changed.into_iter().collect();
        self.applied
    }

    /// Notes on each request of which something became known how large the log was then.
    pub fn note_touched(&self, db: &Connection, size: u64) -> Result<(), rusqlite::Error> {
        let mut statement = db.prepare("UPDATE request SET touched = ?2 WHERE request = ?1")?;
        for request in self.applied.created.iter().chain(&self.changed) {
            statement.execute(params![request, size])?;
        }
        Ok(())
    }

    pub fn take(
        &mut self,
        db: &Connection,
        identity: &GateIdentity,
        record: &RecordEvent,
        audit: &AuditRecord,
    ) -> Result<Checked, rusqlite::Error> {
        let body = body_of(record, audit);
        outcomes::note(db, record.position, audit)?;
        match audit.record_type {
            RecordType::GateInitialised => {
                let same = audit.claim("gate") == Some(&identity.gate.to_string())
                    && audit.claim("environment") == Some(identity.environment.as_str());
                Ok(if same { Ok(()) } else { Err("the log is another gate's".to_owned()) })
            }
            RecordType::RosterChanged => self.roster_changed(db, identity, audit, &body),
            RecordType::TableChanged => self.table_changed(db, record.position, audit, &body),
            RecordType::RequestCreated => self.request_created(db, record, audit, body),
            RecordType::DecisionRecorded => self.decision_recorded(db, record.position, audit, &body),
            RecordType::RequestExpired | RecordType::RequestWithdrawn | RecordType::RequestStale => {
                let state = match audit.record_type {
                    RecordType::RequestExpired => "expired",
                    RecordType::RequestWithdrawn => "withdrawn",
                    _ => "stale",
                };
                self.request_state(db, audit, audit.claim("state").unwrap_or(state)).map(Ok)
            }
            RecordType::RequestOrphaned => self.request_orphaned(db, audit).map(Ok),
            RecordType::RequestEscalated => self.request_escalated(db, audit, &body).map(Ok),
            RecordType::TokenRedeemed => self.request_state(db, audit, "consumed").map(Ok),
            RecordType::OperationChanged => self.operation_changed(db, record, audit),
            RecordType::WriteExecuted => self.write_ended(db, audit, "succeeded").map(Ok),
            RecordType::WriteFailed => self.write_ended(db, audit, "failed").map(Ok),
            RecordType::WriteUnknown => self.write_ended(db, audit, "unknown").map(Ok),
            RecordType::ReconciliationRecorded => self.answered(db, record.position, audit, &body),
            RecordType::OperationOpened | RecordType::PageSent => self.looked_at(db, audit).map(Ok),
            RecordType::EvidenceRecorded | RecordType::ReconciliationRefused => {
                self.touch_outcome(audit);
                Ok(Ok(()))
            }
            RecordType::RecoveryAnnounced | RecordType::RecoveryVetoed | RecordType::RecoveryRefused | RecordType::TimeSkipped => {
                self.recovery(db, audit)
            }
            RecordType::SessionOpened => chain::note_use(db, audit).map(Ok),
            RecordType::WriteIntended
            | RecordType::InviteCreated
            | RecordType::EnrolmentRefused
            | RecordType::StatementRefused
            | RecordType::RequestUnanswerable
            | RecordType::AgentAdded
            | RecordType::AgentRevoked
            | RecordType::SessionRefused
            | RecordType::CallRefused
            | RecordType::ReadExecuted
            | RecordType::DecisionRefused
            | RecordType::TokenMinted
            | RecordType::TokenRefused
            | RecordType::Heartbeat => Ok(Ok(())),
        }
    }

    fn operation_changed(&mut self, db: &Connection, record: &RecordEvent, audit: &AuditRecord) -> Result<Checked, rusqlite::Error> {
        let Some(state) = audit.claim("state") else { return Ok(Ok(())) };
        if audit.claim("from") == Some("needs_reconciliation") && !outcomes::is_answered(db, audit, state)? {
            return Ok(Err("an outcome that only people can tell has no signed answer".to_owned()));
        }
        let operation = audit.operation.map(|operation| operation.to_string());
        let named = audit.request.map(|request| request.to_string());
        let known: Option<String> = match (&named, &operation) {
            (Some(request), _) => Some(request.clone()),
            (None, Some(operation)) => {
                db.query_row("SELECT request FROM operation WHERE operation = ?1 LIMIT 1", [operation], |row| row.get(0)).optional()?
            }
            (None, None) => None,
        };
        outcomes::changed(db, audit, known.as_deref(), state)?;
        self.touch_outcome(audit);
        let Some(request) = known else { return Ok(Ok(())) };
        let attempt = count_of(audit, "attempt");
        db.execute(
            "INSERT INTO operation (position, request, operation, at_ms, state, attempt, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![record.position, request, operation, audit.at.as_ms(), state, attempt, record.body],
        )?;
        self.touch(request);
        Ok(Ok(()))
    }

    fn write_ended(&mut self, db: &Connection, audit: &AuditRecord, state: &str) -> Result<(), rusqlite::Error> {
        outcomes::changed(db, audit, None, state)?;
        self.touch_outcome(audit);
        Ok(())
    }

    fn answered(&mut self, db: &Connection, position: u64, audit: &AuditRecord, body: &BodyState) -> Result<Checked, rusqlite::Error> {
        let Some(roster) = read::newest_roster(db)? else { return Ok(Err("an answer came before any roster".to_owned())) };
        self.touch_outcome(audit);
        outcomes::answered(db, position, audit, body, &roster)
    }

    fn looked_at(&mut self, db: &Connection, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
        self.touch_outcome(audit);
        outcomes::looked_at(db, audit)
    }

    fn touch_outcome(&mut self, audit: &AuditRecord) {
        self.applied.outcomes_changed |= audit.operation.is_some();
    }

    fn touch(&mut self, request: String) {
        self.changed.insert(request);
    }
}

pub fn count_of(audit: &AuditRecord, name: &str) -> Option<u64> {
    match audit.claims.member(name)? {
        Json::Number(number) => number.as_u64(),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

pub fn body_of(record: &RecordEvent, audit: &AuditRecord) -> BodyState {
    let (Some(text), Some(expected)) = (&record.body, audit.body_sha256) else { return BodyState::Absent };
    let Some(salt) = record.salt else { return BodyState::Differs };
    let body = Body { text: text.clone(), salt };
    if body.digest() != expected {
        return BodyState::Differs;
    }
    parse_canonical(text.as_bytes(), &Limits::FROZEN).map_or(BodyState::Differs, BodyState::Verified)
}
