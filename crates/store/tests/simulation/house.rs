//! The company that every course of events begins with: its people and their keys, its table, its gate, made once.

mod building;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use vidimus_core::bytes::{Digest, Nonce, tagged};
use vidimus_core::challenge::{ChallengeKey, OwnChallenge};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Environment, GateId, Name, PersonId};
use vidimus_core::record::AuditRecord;
use vidimus_core::render;
use vidimus_core::roster::KeyUse;
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::Enrolment;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, TokenClaims};
use vidimus_core::tree::leaf_hash;
use vidimus_store::Minted;
use vidimus_store::stepped::Memory;

use crate::dice::Dice;
use crate::roster_seen::RosterSeen;
use building::Building;

const TABLE: &str = include_str!("effects.toml");

/// When every course of events begins, by every clock. *Unit*: milliseconds since 1970.
pub const BEGINNING_MS: i64 = 1_700_000_000_000;

pub fn name(text: &str) -> Name {
    Name::parse(text).expect(text)
}

pub fn auditor() -> Vec<Name> {
    vec![name("auditor")]
}

/// A person with both keys of one desktop.
pub struct Approver {
    pub person: PersonId,
    pub name: String,
    pub approval: SecretKey,
    pub device: SecretKey,
}

impl Approver {
    /// Another desktop of somebody, or the first one of somebody new.
    pub fn fresh(person: PersonId, name: &str, dice: &Dice) -> Approver {
        let key = || SecretKey::from_seed(&dice.bytes());
        Approver { person, name: name.to_owned(), approval: key(), device: key() }
    }

    pub fn keys(&self) -> [Digest; 2] {
        [self.approval.public().digest(), self.device.public().digest()]
    }
}

pub const BILLING: &str = "billing-approver";
pub const TREASURY: &str = "treasury";
pub const LEAD: &str = "finance-lead";
pub const ADMIN: &str = "admin";

/// What every desktop is called.
pub const DESK: &str = "desk";

/// The first is the admin who begins; the second owns the agent `support`, so they may not decide for it.
const PEOPLE: &[(&str, &[&str])] = &[
    ("Ada Example", &[ADMIN]),
    ("Cem Example", &[BILLING, TREASURY]),
    ("Bea Example", &[BILLING, TREASURY]),
    ("Dov Example", &[TREASURY]),
    ("Eva Example", &[BILLING, TREASURY]),
    ("Fay Example", &[ADMIN, LEAD]),
    ("Gus Example", &[LEAD]),
];

/// A table with what is asked of it after every step.
pub struct KnownTable {
    pub table: Table,
    pub rows: BTreeMap<Name, Digest>,
}

impl KnownTable {
    fn of(text: &str) -> Rc<KnownTable> {
        let table = Table::parse(text).unwrap_or_else(|faults| panic!("{faults:?}"));
        let rows = table.rows().map(|row| (row.tool.clone(), row.digest())).collect();
        Rc::new(KnownTable { table, rows })
    }
}

pub struct House {
    pub people: Vec<Rc<Approver>>,
    /// The first table, and one that differs from it in the row of `refund`.
    pub tables: [Rc<KnownTable>; 2],
    pub log_key: SecretKey,
    pub token_key: Arc<SecretKey>,
    pub recovery_key: SecretKey,
    pub challenge_key: ChallengeKey,
    pub memory: Memory,
    /// The leaves of its log so far, and who is in its roster by them.
    pub leaves: Vec<Digest>,
    pub roster: RosterSeen,
}

fn secret(seed: &str) -> SecretKey {
    SecretKey::from_seed(tagged("vidimus.test.key", [seed.as_bytes()]).as_bytes())
}

fn first_bits(digest: &Digest) -> [u8; 16] {
    let mut bits = [0; 16];
    bits.copy_from_slice(&digest.as_bytes()[..16]);
    bits
}

impl House {
    pub fn build() -> House {
        let people = PEOPLE.iter().map(|(who, _)| {
            let person = PersonId::from_random(first_bits(&tagged("vidimus.test.person", [who.as_bytes()])));
            let key = |key_use: &str| secret(&format!("{who} {key_use}"));
            Rc::new(Approver { person, name: (*who).to_owned(), approval: key("approval"), device: key("device") })
        });
        let tables = [KnownTable::of(TABLE), KnownTable::of(&other_text())];
        let mut building = Building::begin(people.collect(), Rc::clone(&tables[0]));
        building.furnish();
        let records = building.records();
        let mut roster = RosterSeen::default();
        for record in &records {
            roster.take(record, &AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf of this gate"));
        }
        House {
            tables,
            log_key: secret("log"),
            token_key: Arc::new(secret("token")),
            recovery_key: secret("recovery"),
            challenge_key: challenge_key(),
            leaves: records.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect(),
            roster,
            people: building.people.clone(),
            memory: building.end(),
        }
    }

    pub fn gate(&self) -> GateId {
        GateId::of(&self.log_key.public())
    }

    /// The proof that a key is held by whom it is to belong to.
    pub fn enrolment(&self, of: &Approver, key_use: KeyUse, invite_sha256: Option<Digest>, issued_at: Timestamp) -> Envelope {
        enrolment(self.gate(), of, key_use, invite_sha256, issued_at)
    }

    /// A decision as a console makes it: over what it computed itself from the frozen bytes.
    pub fn statement(&self, approver: &Approver, frozen: &FrozenRequest, decision: DecisionKind, role: &str) -> DecisionStatement {
        statement(&self.table_of(frozen).table, &self.log_key, approver, frozen, decision, role)
    }

    pub fn shown_sha256(&self, frozen: &FrozenRequest) -> Digest {
        shown_sha256(&self.table_of(frozen).table, frozen)
    }

    /// The table that a request was frozen on, which a console keeps.
    fn table_of(&self, frozen: &FrozenRequest) -> Rc<KnownTable> {
        let members = frozen.members();
        let found = self.tables.iter().find(|known| known.table.digest() == members.table_sha256);
        Rc::clone(found.expect("a table of the house"))
    }

    /// The text of the table that is not this one.
    pub fn other_text(&self, table: &Table) -> String {
        if table.digest() == self.tables[0].table.digest() { other_text() } else { TABLE.to_owned() }
    }

    pub fn sign_token(&self, minted: &Minted, jti: Nonce) -> String {
        sign_token(&self.token_key, minted, jti)
    }
}

fn shown_sha256(table: &Table, frozen: &FrozenRequest) -> Digest {
    let row = table.row(&frozen.members().tool).expect("a row of the table");
    render::frozen_shown_sha256(frozen, row).expect("frozen arguments are rendered")
}

/// What only a challenge brings is left open.
fn statement(
    table: &Table,
    log_key: &SecretKey,
    approver: &Approver,
    frozen: &FrozenRequest,
    decision: DecisionKind,
    role: &str,
) -> DecisionStatement {
    let members = frozen.members();
    DecisionStatement {
        gate: members.gate,
        gate_key_sha256: log_key.public().digest(),
        environment: Environment::Test,
        request: members.request,
        request_sha256: frozen.request_sha256(),
        args_sha256: frozen.args_sha256(),
        tool: members.tool.clone(),
        decision,
        approver: approver.person,
        key_sha256: approver.approval.public().digest(),
        role: name(role),
        row_sha256: members.row_sha256,
        roster_sha256: Digest::of(b"comes with the challenge"),
        shown_sha256: shown_sha256(table, frozen),
        context_sha256: None,
        challenge: Nonce::from_bytes([0; 32]),
        checkpoint: CheckpointRef { size: 0, root: Digest::of(b"") },
        reason_sha256: None,
        app_version: "simulated".to_owned(),
        issued_at: members.created_at,
        expires_at: members.created_at,
    }
}

fn challenge_key() -> ChallengeKey {
    ChallengeKey::derive(&[3; 32])
}

/// What the gate makes of the challenge that a statement names.
pub fn recognise(key: &ChallengeKey, statement: &DecisionStatement) -> Option<OwnChallenge> {
    key.recognise(&statement.challenge, &statement.request.to_string(), &statement.key_sha256, statement.issued_at)
}

pub fn sign_token(token_key: &SecretKey, minted: &Minted, jti: Nonce) -> String {
    let claims = TokenClaims {
        jti,
        audience: minted.audience.clone(),
        issued_at: minted.issued_at,
        expires_at: minted.expires_at,
        request: minted.request,
        args_sha256: minted.args_sha256,
        tool: minted.tool.clone(),
        operation: minted.operation,
        attempt: minted.attempt,
        decisions: minted.decisions.clone(),
    };
    token::mint(&claims, token_key).expect("a token is signed")
}

fn enrolment(gate: GateId, of: &Approver, key_use: KeyUse, invite_sha256: Option<Digest>, issued_at: Timestamp) -> Envelope {
    let key = match key_use {
        KeyUse::Approval => &of.approval,
        KeyUse::Device => &of.device,
    };
    let statement = Enrolment {
        gate,
        environment: Environment::Test,
        invite_sha256,
        key_use,
        key: key.public(),
        person: of.person,
        name: of.name.clone(),
        label: DESK.to_owned(),
        issued_at,
    };
    statement.sign(key).expect("an enrolment is signed")
}

fn other_text() -> String {
    TABLE.replacen("charge the card again", "ask for the money back", 1)
}

pub fn code_of(name: &str) -> Digest {
    Digest::of(format!("code of {name}").as_bytes())
}
