//! Requests and the decisions about them.

use rusqlite::{Connection, params};
use vidimus_api::log::RecordEvent;
use vidimus_core::decision;
use vidimus_core::json::{Json, Limits};
use vidimus_core::record::AuditRecord;

use super::{BodyState, Checked, Projection, count_of};
use crate::mirror::{payees, read};

impl Projection {
    pub(super) fn request_created(
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
        if let (Some(frozen), None) = (&frozen, fault) {
            payees::note_request(db, record.position, frozen)?;
        }
        self.applied.created.push(request.to_string());
        Ok(Ok(()))
    }

    pub(super) fn decision_recorded(
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
    pub(super) fn request_orphaned(&mut self, db: &Connection, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
        let Some(request) = audit.request.map(|request| request.to_string()) else { return Ok(()) };
        let gone = matches!(audit.claims.member("orphaned"), Some(Json::Bool(true)));
        db.execute("UPDATE request SET orphaned_at_ms = ?2 WHERE request = ?1", params![request, gone.then(|| audit.at.as_ms())])?;
        self.touch(request);
        Ok(())
    }

    /// It waited so long that another role decides too; the record brings that role what it needs to see.
    pub(super) fn request_escalated(&mut self, db: &Connection, audit: &AuditRecord, body: &BodyState) -> Result<(), rusqlite::Error> {
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

    pub(super) fn request_state(&mut self, db: &Connection, audit: &AuditRecord, state: &str) -> Result<(), rusqlite::Error> {
        let Some(request) = audit.request.map(|request| request.to_string()) else { return Ok(()) };
        let ended = !matches!(state, "pending" | "approved");
        db.execute(
            "UPDATE request SET state = ?2, ended_at_ms = CASE WHEN ?3 THEN coalesce(ended_at_ms, ?4) END WHERE request = ?1",
            params![request, state, ended, audit.at.as_ms()],
        )?;
        self.touch(request);
        Ok(())
    }
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
