//! How a gate begins, and how people are asked in: `init`, invites, offers.

use std::collections::BTreeSet;

use rusqlite::params;
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{Environment, GateId, Name, PersonId};
use vidimus_core::json::Json;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::EVERYONE;
use vidimus_core::sign::PublicKey;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;

use crate::codec::{names_to_text, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::{GateIdentity, RosterView, TableView};
use crate::limits::INVITE_TTL_S_MAX;
use crate::on_record::LogView;
use crate::tx::{Attempt, Entry, Stop, Tx, find, refuse};
use crate::{Moment, Store};

/// What an invite is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InviteKind {
    /// The first admin; printed by `init`.
    Genesis,
    /// One more person.
    Person,
    /// One more desktop of a person in the roster.
    Device,
}

impl InviteKind {
    /// The word in the database and in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            InviteKind::Genesis => "genesis",
            InviteKind::Person => "person",
            InviteKind::Device => "device",
        }
    }
}

/// An invite: one person, once, until its time is over.
#[derive(Debug, Clone)]
pub struct Invite {
    /// Digest of the code; the code itself is never stored.
    pub code_sha256: Digest,
    /// What it is for.
    pub kind: InviteKind,
    /// The id that the person will have.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The roles to hold.
    pub roles: Vec<Name>,
    /// From when it is worth nothing.
    pub expires_at: Timestamp,
}

/// The identity of a gate and its first table.
#[derive(Debug, Clone)]
pub struct Init {
    /// Live or test; for ever.
    pub environment: Environment,
    /// Signs checkpoints; its digest is the gate's id.
    pub log_key: PublicKey,
    /// Signs execution tokens.
    pub token_key: PublicKey,
    /// Signs rosters when all else is lost.
    pub recovery_key: Option<PublicKey>,
    /// The first effect table, in TOML; not in force until the first admin signs its digest.
    pub table: String,
    /// For the first admin.
    pub invite: Invite,
}

/// What became of an `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitOutcome {
    /// The gate has its identity.
    Initialised(GateId),
    /// It has one already; nothing changed.
    AlreadyInitialised(GateId),
    /// The table or the invite is not valid; nothing changed.
    Refused(Refusal),
}

/// What became of an invite that was to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InviteOutcome {
    /// It can be used.
    Created,
    /// A rule says no; nothing changed.
    Refused(Refusal),
}

/// What an invite offers to whoever holds its code.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The gate, to be pinned.
    pub identity: GateIdentity,
    /// What it is for.
    pub kind: InviteKind,
    /// The id that the person will have.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The roles to hold.
    pub roles: Vec<Name>,
    /// The roster in force; none at genesis.
    pub roster: Option<RosterView>,
    /// The table to sign at genesis, or in force.
    pub table: TableView,
    /// The store's time.
    pub now: Timestamp,
    /// From when the invite is worth nothing.
    pub expires_at: Timestamp,
}

/// What a code gets.
#[derive(Debug, Clone)]
pub enum OfferOutcome {
    /// The invite stands.
    Offer(Box<Offer>),
    /// It does not; to be recorded by `refuse_enrolment`.
    Refused(Refusal),
}

impl Store {
    /// Makes the gate: its identity, its first table, the invite of its first admin.
    pub async fn init(&self, moment: Moment, init: Init) -> Result<InitOutcome, StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| init_gate(tx, init)).await
    }

    /// Makes an invite.
    pub async fn create_invite(&self, moment: Moment, invite: Invite) -> Result<InviteOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                Ok(match tx.attempt(|tx| create_invite(tx, &invite))? {
                    Ok(()) => InviteOutcome::Created,
                    Err(refusal) => InviteOutcome::Refused(refusal),
                })
            })
            .await
    }

    /// What the invite of this code offers.
    pub async fn offer(&self, moment: Moment, code_sha256: Digest) -> Result<OfferOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                Ok(match tx.attempt(|tx| offer(tx, &code_sha256))? {
                    Ok(offer) => OfferOutcome::Offer(Box::new(offer)),
                    Err(refusal) => OfferOutcome::Refused(refusal),
                })
            })
            .await
    }
}

impl Store {
    /// Records that a code got no offer or no enrolment. Apart from the refusal itself: who guesses without end leaves no record
    /// without end.
    pub async fn refuse_enrolment(&self, moment: Moment, refusal: Refusal) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                tx.stage(Entry::new(RecordType::EnrolmentRefused, Json::object([("code", text(refusal.code))])))?;
                Ok(())
            })
            .await
    }
}

fn init_gate(tx: &mut Tx<'_>, init: Init) -> Result<InitOutcome, StoreError> {
    match tx.gate() {
        Ok(gate) => return Ok(InitOutcome::AlreadyInitialised(gate.identity.gate)),
        Err(StoreError::NotInitialised) => {}
        Err(error) => return Err(error),
    }
    let Ok(table) = Table::parse(&init.table) else {
        return Ok(InitOutcome::Refused(Refusal::new(Code::FieldMalformed, "the table has faults; run `table check` and mend them")));
    };
    let table_sha256 = table.digest();
    let gate = GateId::of(&init.log_key);
    tx.execute_one("INSERT INTO effect_tables (table_sha256, toml) VALUES (?1, ?2)", params![table_sha256.to_string(), init.table])?;
    tx.execute_one(
        "INSERT INTO gate (one, gate, environment, log_key, token_key, recovery_key, table_sha256) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            gate.to_string(),
            init.environment.as_str(),
            init.log_key.to_string(),
            init.token_key.to_string(),
            init.recovery_key.map(|key| key.to_string()),
            table_sha256.to_string(),
        ],
    )?;
    let claims = Json::object([
        ("gate", text(gate)),
        ("environment", text(init.environment)),
        ("log_key", text(init.log_key)),
        ("token_key", text(init.token_key)),
    ]);
    tx.stage(Entry::new(RecordType::GateInitialised, claims))?;
    match create_invite(tx, &init.invite) {
        Ok(()) => Ok(InitOutcome::Initialised(gate)),
        // The caller makes this invite itself, so a refused one is a defect: nothing of the gate is kept.
        Err(Stop::Refused(refusal)) => Err(StoreError::Domain(refusal)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn create_invite(tx: &mut Tx<'_>, invite: &Invite) -> Attempt<()> {
    let gate = tx.gate()?;
    let genesis = invite.kind == InviteKind::Genesis;
    if genesis != gate.roster.is_none() {
        return refuse(Code::InviteInvalid, "the first admin is invited by `init`, everyone else after that admin enrolled");
    }
    let here = gate.roster.as_ref().and_then(|state| state.roster.person(&invite.person));
    if (invite.kind == InviteKind::Device) != here.is_some() || here.is_some_and(|person| person.name != invite.name) {
        return refuse(Code::InviteInvalid, "a desktop is added for a person in the roster, under their name; everyone else is invited");
    }
    if invite.expires_at <= tx.now || invite.expires_at > tx.now.plus_s(INVITE_TTL_S_MAX) {
        return refuse(Code::InviteInvalid, format!("an invite lives up to `{INVITE_TTL_S_MAX}` s; choose an earlier end"));
    }
    if invite.roles.is_empty() || invite.roles.iter().any(|role| role.as_str() == EVERYONE) {
        return refuse(Code::InviteInvalid, format!("an invite names one role or more, and never `{EVERYONE}`; name real roles"));
    }
    let known = tx.find(
        "SELECT 1 FROM invites WHERE code_sha256 = ?1 OR (person = ?2 AND kind <> 'device' AND ?3 <> 'device')",
        params![invite.code_sha256.to_string(), invite.person.to_string(), invite.kind.as_str()],
        |_| Ok(()),
    )?;
    if known.is_some() {
        return refuse(Code::InviteInvalid, "an invite with this code or person exists already; make fresh ones");
    }
    let roles: BTreeSet<Name> = invite.roles.iter().cloned().collect();
    let roles: Vec<Name> = roles.into_iter().collect();
    tx.execute_one(
        "INSERT INTO invites (code_sha256, kind, person, name, roles, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            invite.code_sha256.to_string(),
            invite.kind.as_str(),
            invite.person.to_string(),
            invite.name,
            names_to_text(&roles),
            tx.now.as_ms(),
            invite.expires_at.as_ms(),
        ],
    )?;
    let role_texts: Vec<&str> = roles.iter().map(Name::as_str).collect();
    let claims = Json::object([
        ("invite_sha256", text(invite.code_sha256)),
        ("kind", invite.kind.as_str().into()),
        ("person", text(invite.person)),
        ("name", invite.name.as_str().into()),
        ("roles", role_texts.into()),
        ("expires_at", text(invite.expires_at)),
    ]);
    tx.stage(Entry::new(RecordType::InviteCreated, claims))?;
    Ok(())
}

/// An invitation as its record has it.
pub(crate) struct InviteOnRecord {
    pub(crate) kind: InviteKind,
    pub(crate) person: PersonId,
    pub(crate) name: String,
    pub(crate) roles: Vec<Name>,
    expires_at: Timestamp,
}

impl InviteOnRecord {
    fn of(record: &AuditRecord) -> Result<InviteOnRecord, StoreError> {
        let lost = || StoreError::corrupt("an invitation whose record says too little");
        let kind = [InviteKind::Genesis, InviteKind::Person, InviteKind::Device];
        let kind = kind.into_iter().find(|kind| record.claim("kind") == Some(kind.as_str())).ok_or_else(lost)?;
        Ok(InviteOnRecord {
            kind,
            person: record.claim("person").ok_or_else(lost)?.parse()?,
            name: record.claim("name").ok_or_else(lost)?.to_owned(),
            roles: roles_on_record(record)?,
            expires_at: record.claim("expires_at").ok_or_else(lost)?.parse()?,
        })
    }
}

/// The roles that a record claims.
pub(crate) fn roles_on_record(record: &AuditRecord) -> Result<Vec<Name>, Refusal> {
    let roles = record.claims.member("roles").and_then(Json::as_array).unwrap_or_default();
    roles.iter().map(|role| Name::parse(role.as_str().unwrap_or_default())).collect()
}

impl LogView<'_> {
    /// The invitation of a code.
    fn invite(&self, code_sha256: &Digest) -> Result<Option<InviteOnRecord>, StoreError> {
        let code = code_sha256.to_string();
        // The words of the index, so that it serves.
        let sql = "SELECT leaf FROM records WHERE type = 'invite_created' AND json_extract(leaf, '$.claims.invite_sha256') = ?1";
        let Some(leaf) = find(self.db, sql, [&code], |row| row.get::<_, String>(0))? else { return Ok(None) };
        let record = AuditRecord::parse(leaf.as_bytes())?;
        if record.claim("invite_sha256") != Some(&code) {
            return Ok(None);
        }
        InviteOnRecord::of(&record).map(Some)
    }
}

/// The invite of a code, if it can be used now: its record says whom it invites, its row only whether it was used. Used, expired
/// and unknown are one answer: a guess learns nothing.
pub(crate) fn usable_invite(tx: &Tx<'_>, code_sha256: &Digest) -> Attempt<InviteOnRecord> {
    let sql = "SELECT 1 FROM invites WHERE code_sha256 = ?1 AND used_at IS NULL";
    let unused = tx.find(sql, [code_sha256.to_string()], |_| Ok(()))?.is_some();
    match tx.log().invite(code_sha256)? {
        Some(invite) if unused && tx.now < invite.expires_at => Ok(invite),
        Some(_) | None => refuse(Code::InviteInvalid, "the invite is unknown, used or expired; ask for a new one"),
    }
}

fn offer(tx: &mut Tx<'_>, code_sha256: &Digest) -> Attempt<Offer> {
    let gate = tx.gate()?;
    let invite = usable_invite(tx, code_sha256)?;
    Ok(Offer {
        identity: gate.identity.clone(),
        kind: invite.kind,
        person: invite.person,
        name: invite.name,
        roles: invite.roles,
        roster: gate.roster.as_ref().map(|roster| roster.view.clone()),
        table: gate.table_view.clone(),
        now: tx.now,
        expires_at: invite.expires_at,
    })
}
