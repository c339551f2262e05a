//! What each record means for the console: requests, decisions, operations, rosters, tables.

use rusqlite::{Connection, OptionalExtension as _, params};
use vidimus_api::log::RecordEvent;
use vidimus_core::decision;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::{Json, Limits, parse_canonical};
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::roster::Roster;
use vidimus_core::statement::Genesis;
use vidimus_core::table::Table;

use super::{Applied, GateIdentity, chain, outcomes, read};

/// What is wrong with a record, in words; a record with a fault breaks the log.
pub type Checked = Result<(), String>;

#[derive(Default)]
pub struct Projection {
    applied: Applied,
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
        self.applied
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
            RecordType::RecoveryAnnounced | RecordType::RecoveryVetoed | RecordType::RecoveryRefused => self.recovery(db, audit),
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

    fn roster_changed(
        &mut self,
        db: &Connection,
        identity: &GateIdentity,
        audit: &AuditRecord,
        body: &BodyState,
    ) -> Result<Checked, rusqlite::Error> {
        let BodyState::Verified(body) = body else { return Ok(Err("a roster came without its text".to_owned())) };
        let Some(text) = body.member("roster").and_then(Json::as_str) else {
            return Ok(Err("a roster came without its text".to_owned()));
        };
        let roster = match Roster::parse(text.as_bytes()) {
            Ok(roster) => roster,
            Err(refusal) => return Ok(Err(format!("a roster is malformed ({})", refusal.message))),
        };
        if roster.gate != identity.gate || roster.environment != identity.environment || roster.log_key != identity.log_key {
            return Ok(Err("a roster is another gate's".to_owned()));
        }
        let frozen = body.member("frozen").and_then(Json::as_str).and_then(|text| FrozenRequest::parse(text.as_bytes()).ok());
        let mut rosters = chain::load(db)?;
        if let Err(refusal) = rosters.changed(audit, frozen.as_ref()) {
            return Ok(Err(format!("a roster is not the one that was signed ({})", refusal.message)));
        }
        if rosters.roster() != Some(&roster) {
            return Ok(Err("a roster is not the one that its signatures lead to".to_owned()));
        }
        let Ok(digest) = roster.digest() else { return Ok(Err("a roster has no digest".to_owned())) };
        chain::keep(db, &rosters)?;
        chain::note_keys(db, &roster, audit.at)?;
        db.execute("INSERT INTO roster (version, sha256, roster) VALUES (?1, ?2, ?3)", params![roster.version, digest.to_string(), text])?;
        self.applied.rules_changed = true;
        Ok(Ok(()))
    }

    /// A recovery is announced, vetoed or refused: each as the roster at this position allows.
    fn recovery(&mut self, db: &Connection, audit: &AuditRecord) -> Result<Checked, rusqlite::Error> {
        let mut rosters = chain::load(db)?;
        let taken = match audit.record_type {
            RecordType::RecoveryAnnounced => rosters.announced(audit),
            RecordType::RecoveryVetoed => rosters.vetoed(audit),
            _ => rosters.refused(audit),
        };
        if let Err(refusal) = taken {
            return Ok(Err(format!("a recovery is not as it was signed ({})", refusal.message)));
        }
        chain::keep(db, &rosters)?;
        self.applied.rules_changed = true;
        Ok(Ok(()))
    }

    fn table_changed(&mut self, db: &Connection, position: u64, audit: &AuditRecord, body: &BodyState) -> Result<Checked, rusqlite::Error> {
        let (BodyState::Verified(body), Some(digest)) = (body, audit.claim("table_sha256")) else {
            return Ok(Err("an effect table came without its text".to_owned()));
        };
        let Some(text) = body.member("table").and_then(Json::as_str) else {
            return Ok(Err("an effect table came without its text".to_owned()));
        };
        let previous = read::newest_table(db)?;
        let roster = read::newest_roster(db)?;
        let frozen = body.member("frozen").and_then(Json::as_str);
        if let Err(what) = table_follows(text, digest, previous.as_deref(), roster.as_ref(), frozen, audit) {
            return Ok(Err(what));
        }
        db.execute("INSERT INTO effect_table (position, sha256, effect_table) VALUES (?1, ?2, ?3)", params![position, digest, text])?;
        self.applied.rules_changed = true;
        Ok(Ok(()))
    }

    fn request_created(
        &mut self,
        db: &Connection,
        record: &RecordEvent,
        audit: &AuditRecord,
        body: BodyState,
    ) -> Result<Checked, rusqlite::Error> {
        let (Some(request), Some(tool), Some(digest)) = (audit.request, audit.claim("tool"), audit.claim("request_sha256")) else {
            return Ok(Err("a request came without its claims".to_owned()));
        };
        // The gate's own tools are proposed by a person, through no agent.
        let agent = audit.claim("agent").unwrap_or_default();
        let expires_at = audit.claim("expires_at").and_then(|text| text.parse::<vidimus_core::time::Timestamp>().ok());
        let Some(expires_at) = expires_at else { return Ok(Err("a request came without its last moment".to_owned())) };
        let (frozen, says, fault) = match body {
            BodyState::Absent => (None, None, None),
            BodyState::Verified(body) => {
                let text = |name: &str| body.member(name).and_then(Json::as_str).map(ToOwned::to_owned);
                let frozen = text("frozen");
                let fault = frozen.is_none().then_some("malformed");
                (frozen, text("says"), fault)
            }
            // Kept to be looked at; approving it is locked.
            BodyState::Differs => {
                let text = record.body.as_deref().and_then(frozen_of_unverified);
                (text, None, Some("differs"))
            }
        };
        let roles: Vec<&str> = audit.roles.iter().map(vidimus_core::ids::Name::as_str).collect();
        db.execute(
            "INSERT INTO request (request, position, at_ms, state, tool, agent, request_sha256, roles, expires_at_ms, waits_until_ms, \
             frozen, says, body_fault) VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11)",
            params![
                request.to_string(),
                record.position,
                audit.at.as_ms(),
                tool,
                agent,
                digest,
                roles.join(" "),
                expires_at.as_ms(),
                frozen,
                says,
                fault
            ],
        )?;
        self.applied.created.push(request.to_string());
        Ok(Ok(()))
    }

    fn decision_recorded(
        &mut self,
        db: &Connection,
        position: u64,
        audit: &AuditRecord,
        body: &BodyState,
    ) -> Result<Checked, rusqlite::Error> {
        let (Some(request), Some(kind), Some(approver)) = (audit.request, audit.claim("decision"), audit.claim("approver")) else {
            return Ok(Err("a decision came without its claims".to_owned()));
        };
        let Some(roster) = read::newest_roster(db)? else { return Ok(Err("a decision came before any roster".to_owned())) };
        // The record says what the signature says, or it counts for nothing.
        let signed = audit.envelopes.iter().any(|envelope| {
            decision::verify(envelope, &roster).is_ok_and(|verified| {
                let statement = verified.statement();
                statement.request == request
                    && statement.decision.as_str() == kind
                    && statement.approver.to_string() == approver
                    && audit.claim("request_sha256").is_none_or(|digest| digest == statement.request_sha256.to_string())
            })
        });
        if !signed {
            return Ok(Err("a decision is not signed by a key of the roster".to_owned()));
        }
        let text = |name: &str| match body {
            BodyState::Verified(body) => body.member(name).and_then(Json::as_str),
            BodyState::Absent | BodyState::Differs => None,
        };
        let (reason, asked) = (text("reason"), text("context").and_then(asked_of));
        db.execute(
            "INSERT INTO decision (position, request, at_ms, decision, approver, role, key_sha256, reason, asked) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                position,
                request.to_string(),
                audit.at.as_ms(),
                kind,
                approver,
                audit.claim("role").unwrap_or_default(),
                audit.claim("key_sha256").unwrap_or_default(),
                reason,
                asked
            ],
        )?;
        let number = |name: &str| count_of(audit, name).unwrap_or(0);
        db.execute(
            "UPDATE request SET given = ?2, needed = ?3 WHERE request = ?1",
            params![request.to_string(), number("given"), number("needed")],
        )?;
        if let Some(until) = audit.claim("waits_until").and_then(|text| text.parse::<vidimus_core::time::Timestamp>().ok()) {
            db.execute("UPDATE request SET waits_until_ms = ?2 WHERE request = ?1", params![request.to_string(), until.as_ms()])?;
        }
        self.request_state(db, audit, audit.claim("state").unwrap_or("pending"))?;
        Ok(Ok(()))
    }

    /// Its agent is gone and was never told of it, or is back.
    fn request_orphaned(&mut self, db: &Connection, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
        let Some(request) = audit.request.map(|request| request.to_string()) else { return Ok(()) };
        let gone = matches!(audit.claims.member("orphaned"), Some(Json::Bool(true)));
        db.execute("UPDATE request SET orphaned_at_ms = ?2 WHERE request = ?1", params![request, gone.then(|| audit.at.as_ms())])?;
        self.touch(request);
        Ok(())
    }

    /// It waited so long that another role decides too; the record brings that role what it needs to see.
    fn request_escalated(&mut self, db: &Connection, audit: &AuditRecord, body: &BodyState) -> Result<(), rusqlite::Error> {
        let Some(request) = audit.request.map(|request| request.to_string()) else { return Ok(()) };
        let text = |name: &str| match body {
            BodyState::Verified(body) => body.member(name).and_then(Json::as_str),
            BodyState::Absent | BodyState::Differs => None,
        };
        let roles: Vec<&str> = audit.roles.iter().map(vidimus_core::ids::Name::as_str).collect();
        db.execute(
            "UPDATE request SET escalated = 1, roles = roles || ' ' || ?2, frozen = coalesce(frozen, ?3), says = coalesce(says, ?4) WHERE request = ?1",
            params![request, roles.join(" "), text("frozen"), text("says")],
        )?;
        self.touch(request);
        Ok(())
    }

    fn request_state(&mut self, db: &Connection, audit: &AuditRecord, state: &str) -> Result<(), rusqlite::Error> {
        let Some(request) = audit.request.map(|request| request.to_string()) else { return Ok(()) };
        let ended = !matches!(state, "pending" | "approved");
        db.execute(
            "UPDATE request SET state = ?2, ended_at_ms = CASE WHEN ?3 THEN coalesce(ended_at_ms, ?4) END WHERE request = ?1",
            params![request, state, ended, audit.at.as_ms()],
        )?;
        self.touch(request);
        Ok(())
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
        if !self.applied.changed.contains(&request) {
            self.applied.changed.push(request);
        }
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

/// Which value an approver was asked, by the context of the decision.
fn asked_of(context: &str) -> Option<String> {
    let context = vidimus_core::json::parse(context.as_bytes(), &Limits::STATEMENT).ok()?;
    context.member("asked").and_then(Json::as_str).map(ToOwned::to_owned)
}

fn frozen_of_unverified(body: &str) -> Option<String> {
    let body = vidimus_core::json::parse(body.as_bytes(), &Limits::FROZEN).ok()?;
    body.member("frozen").and_then(Json::as_str).map(ToOwned::to_owned)
}

/// Whether a table is the first one, signed by the first admin, or follows from the one before by signed decisions.
fn table_follows(
    text: &str,
    digest: &str,
    previous: Option<&str>,
    roster: Option<&Roster>,
    change: Option<&str>,
    audit: &AuditRecord,
) -> Checked {
    let Some(previous) = previous else {
        let founded = audit
            .envelopes
            .iter()
            .any(|envelope| Genesis::verify(envelope).is_ok_and(|genesis| genesis.table_sha256.to_string() == digest));
        return if founded { Ok(()) } else { Err("an effect table is not signed".to_owned()) };
    };
    let approved =
        change.and_then(|frozen| FrozenRequest::parse(frozen.as_bytes()).ok()).zip(roster).zip(Table::parse(previous).ok()).is_some_and(
            |((frozen, roster), previous)| {
                decision::approved_table(&frozen, &audit.envelopes, roster, &previous, text)
                    .is_ok_and(|next| next.digest().to_string() == digest)
            },
        );
    if approved { Ok(()) } else { Err("an effect table is not the one that was approved".to_owned()) }
}
