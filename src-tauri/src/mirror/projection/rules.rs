//! Rosters, recoveries and effect tables: each follows from the one before by signatures, or breaks the log.

use rusqlite::{Connection, params};
use vidimus_core::decision;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::record::AuditRecord;
use vidimus_core::roster::Roster;
use vidimus_core::statement::Genesis;
use vidimus_core::table::Table;

use super::{BodyState, Checked, Projection};
use crate::mirror::{GateIdentity, chain, read};

impl Projection {
    pub(super) fn roster_changed(
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

    /// A recovery is announced, vetoed or refused, each as the roster at this position allows, or put off by time that nobody saw pass.
    pub(super) fn recovery(&mut self, db: &Connection, audit: &AuditRecord) -> Result<Checked, rusqlite::Error> {
        let mut rosters = chain::load(db)?;
        let taken = rosters.take_recovery(audit);
        if let Err(refusal) = taken {
            return Ok(Err(format!("a recovery is not as it was signed ({})", refusal.message)));
        }
        chain::keep(db, &rosters)?;
        self.applied.rules_changed = true;
        Ok(Ok(()))
    }

    pub(super) fn table_changed(
        &mut self,
        db: &Connection,
        position: u64,
        audit: &AuditRecord,
        body: &BodyState,
    ) -> Result<Checked, rusqlite::Error> {
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
