//! Statements about keys: enrolment, genesis, session. Owns their members and types; each is signed by the key it speaks
//! of, and a key signs only its own types. Who may enrol, and when a session opens, is not known here.

use crate::bytes::{Digest, Nonce};
use crate::code::{Code, Refusal};
use crate::dsse::Envelope;
use crate::ids::{Environment, GateId, PersonId};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::roster::{KeyHolder, KeyUse, Roster};
use crate::sign::{PublicKey, SecretKey};
use crate::time::Timestamp;

/// Payload type of an enrolment statement.
pub const ENROLMENT_TYPE: &str = "application/vnd.vidimus.enrolment.v1+json";
/// Payload type of a genesis statement.
pub const GENESIS_TYPE: &str = "application/vnd.vidimus.genesis.v1+json";
/// Payload type of a session statement.
pub const SESSION_TYPE: &str = "application/vnd.vidimus.session.v1+json";

/// "This key is mine": signed by the key itself, one statement for each of the two keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enrolment {
    /// The gate to enrol at.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Digest of the invitation's code; none where the person's own session asks.
    pub invite_sha256: Option<Digest>,
    /// What the key is for.
    pub key_use: KeyUse,
    /// The key.
    pub key: PublicKey,
    /// The person that the invitation names.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The desktop's name.
    pub label: String,
    /// When it was signed, by the gate's clock.
    pub issued_at: Timestamp,
}

impl Enrolment {
    /// Signs the statement with the key that it names.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("invite_sha256", self.invite_sha256.into()),
            ("use", self.key_use.as_str().into()),
            ("key", self.key.to_string().into()),
            ("person", self.person.to_string().into()),
            ("name", self.name.as_str().into()),
            ("label", self.label.as_str().into()),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(ENROLMENT_TYPE, &payload.canonical()?, key))
    }

    /// The statement of an envelope that proves possession of the key it names.
    ///
    /// *Errors*: those of the envelope, of the key (`key_weak`) and of a strict document.
    pub fn verify(envelope: &Envelope) -> Result<Enrolment, Refusal> {
        let json = parse_canonical(envelope.danger_unverified_payload(), &Limits::STATEMENT)?;
        let fields =
            Fields::exactly(&json, &["v", "gate", "environment", "invite_sha256", "use", "key", "person", "name", "label", "issued_at"])?;
        fields.version(1)?;
        let key: PublicKey = fields.parsed("key")?;
        envelope.clone().verify(ENROLMENT_TYPE, &key)?;
        Ok(Enrolment {
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            invite_sha256: fields.optional_parsed("invite_sha256")?,
            key_use: fields.parsed("use")?,
            key,
            person: fields.parsed("person")?,
            name: fields.string("name")?.to_owned(),
            label: fields.string("label")?.to_owned(),
            issued_at: fields.parsed("issued_at")?,
        })
    }
}

/// The first admin's signature under the first roster and the first table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Genesis {
    /// The first roster.
    pub roster: Roster,
    /// Digest of the first table.
    pub table_sha256: Digest,
    /// Digest of the invitation's code.
    pub invite_sha256: Digest,
    /// When it was signed, by the gate's clock.
    pub issued_at: Timestamp,
}

impl Genesis {
    /// Signs the statement with the first admin's approval key.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("roster", self.roster.to_json()),
            ("table_sha256", self.table_sha256.to_string().into()),
            ("invite_sha256", self.invite_sha256.to_string().into()),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(GENESIS_TYPE, &payload.canonical()?, key))
    }

    /// The statement of an envelope signed by the approval key of the one person in the roster it holds.
    ///
    /// *Errors*: `genesis_malformed` for a roster that is not a first version with one person; those of the envelope.
    pub fn verify(envelope: &Envelope) -> Result<Genesis, Refusal> {
        let json = parse_canonical(envelope.danger_unverified_payload(), &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["v", "roster", "table_sha256", "invite_sha256", "issued_at"])?;
        fields.version(1)?;
        let roster = json.member("roster").map_or_else(|| Err(genesis_malformed()), Roster::from_json)?;
        let [person] = roster.persons.as_slice() else { return Err(genesis_malformed()) };
        if roster.version != 1 || roster.previous_sha256.is_some() || !roster.is_sole_admin(&person.person) {
            return Err(genesis_malformed());
        }
        let [approval, _device] = person.keys.as_slice() else { return Err(genesis_malformed()) };
        envelope.clone().verify(GENESIS_TYPE, &approval.key)?;
        let genesis = Genesis {
            table_sha256: fields.parsed("table_sha256")?,
            invite_sha256: fields.parsed("invite_sha256")?,
            issued_at: fields.parsed("issued_at")?,
            roster,
        };
        Ok(genesis)
    }
}

fn genesis_malformed() -> Refusal {
    Refusal::new(Code::GenesisMalformed, "the statement does not hold a first roster with one admin and two keys; enrol again")
}

/// "I am here": opens a session for the holder of a device key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionStatement {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Digest of the device key.
    pub key_sha256: Digest,
    /// The gate's challenge, used once.
    pub challenge: Nonce,
    /// When the challenge was issued, copied from it.
    pub issued_at: Timestamp,
}

impl SessionStatement {
    /// Signs the statement with the device key.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("key_sha256", self.key_sha256.to_string().into()),
            ("challenge", self.challenge.to_string().into()),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(SESSION_TYPE, &payload.canonical()?, key))
    }

    /// The statement and its signer, a device key of the roster that is not stopped.
    ///
    /// *Errors*: `key_unknown`, `key_stopped`, `key_use_wrong`, `gate_wrong`, `environment_wrong`, those of the envelope.
    pub fn verify<'a>(envelope: &Envelope, roster: &'a Roster) -> Result<(SessionStatement, KeyHolder<'a>), Refusal> {
        let json = parse_canonical(envelope.danger_unverified_payload(), &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["v", "gate", "environment", "key_sha256", "challenge", "issued_at"])?;
        fields.version(1)?;
        let statement = SessionStatement {
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            key_sha256: fields.parsed("key_sha256")?,
            challenge: fields.parsed("challenge")?,
            issued_at: fields.parsed("issued_at")?,
        };
        let holder = roster.active_key(&statement.key_sha256, KeyUse::Device)?;
        envelope.clone().verify(SESSION_TYPE, &holder.key.key)?;
        same_gate(&statement.gate, statement.environment, roster)?;
        Ok((statement, holder))
    }
}

/// A statement made for this gate in this environment.
///
/// *Errors*: `gate_wrong`, `environment_wrong`.
pub fn same_gate(gate: &GateId, environment: Environment, roster: &Roster) -> Result<(), Refusal> {
    if *gate != roster.gate {
        return Err(Refusal::new(Code::GateWrong, format!("the statement is for `{gate}`; this is `{}`", roster.gate)).at("/gate"));
    }
    if environment != roster.environment {
        return Err(Refusal::new(
            Code::EnvironmentWrong,
            format!("the statement is for `{environment}`; this gate is `{}`", roster.environment),
        )
        .at("/environment"));
    }
    Ok(())
}
