//! Recovery: when nobody is left who could decide, the offline key admits a person, a day after everybody was told, unless an
//! admin objects. Owns the two statements and who may sign them.

use std::collections::BTreeSet;

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::dsse::Envelope;
use crate::ids::{Environment, GateId, Name};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::roster::{ADMIN, Admission, KeyUse, Roster};
use crate::sign::SecretKey;
use crate::statement::same_gate;
use crate::time::Timestamp;

/// Payload type of a recovery.
pub const RECOVERY_TYPE: &str = "application/vnd.vidimus.recovery.v1+json";
/// Payload type of a veto.
pub const VETO_TYPE: &str = "application/vnd.vidimus.veto.v1+json";

/// An admission by the recovery key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Who is admitted.
    pub admission: Admission,
    /// When it was signed, by the signer's clock; it decides nothing.
    pub issued_at: Timestamp,
}

impl Recovery {
    /// Signs the statement with the recovery key.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("admission", admission_to_json(&self.admission)),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(RECOVERY_TYPE, &payload.canonical()?, key))
    }

    /// The statement and its digest, signed by the recovery key of this roster, and possible on it.
    ///
    /// *Errors*: `key_unknown` for a roster without a recovery key, `gate_wrong`, `environment_wrong`, those of the envelope and
    /// of [`Roster::with_admission`].
    pub fn verify(envelope: &Envelope, roster: &Roster) -> Result<(Recovery, Digest), Refusal> {
        let payload = envelope.danger_unverified_payload();
        let json = parse_canonical(payload, &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["v", "gate", "environment", "admission", "issued_at"])?;
        fields.version(1)?;
        let recovery = Recovery {
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            admission: admission_from_json(fields.value("admission")?).map_err(|refusal| refusal.under("/admission"))?,
            issued_at: fields.parsed("issued_at")?,
        };
        let key = roster
            .recovery_key
            .ok_or_else(|| Refusal::new(Code::KeyUnknown, "the gate was made without a recovery key; nobody can recover it"))?;
        envelope.clone().verify(RECOVERY_TYPE, &key)?;
        same_gate(&recovery.gate, recovery.environment, roster)?;
        roster.with_admission(&recovery.admission)?;
        Ok((recovery, Digest::of(payload)))
    }
}

/// An admin's objection to a recovery that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Veto {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Digest of the recovery's signed payload.
    pub recovery_sha256: Digest,
    /// When it was signed, by the signer's clock; it decides nothing.
    pub issued_at: Timestamp,
}

impl Veto {
    /// Signs the statement with an admin's approval key.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("recovery_sha256", self.recovery_sha256.to_string().into()),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(VETO_TYPE, &payload.canonical()?, key))
    }

    /// The statement, signed by the approval key of an admin.
    ///
    /// *Errors*: `key_unknown`, `key_stopped`, `key_use_wrong`, `role_not_held`, `gate_wrong`, `environment_wrong`, those of the
    /// envelope.
    pub fn verify(envelope: &Envelope, roster: &Roster) -> Result<Veto, Refusal> {
        let json = parse_canonical(envelope.danger_unverified_payload(), &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["v", "gate", "environment", "recovery_sha256", "issued_at"])?;
        fields.version(1)?;
        let veto = Veto {
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            recovery_sha256: fields.parsed("recovery_sha256")?,
            issued_at: fields.parsed("issued_at")?,
        };
        let holder = roster.active_key(&envelope.key_digest(), KeyUse::Approval)?;
        envelope.clone().verify(VETO_TYPE, &holder.key.key)?;
        same_gate(&veto.gate, veto.environment, roster)?;
        if !holder.person.roles.iter().any(|role| role.as_str() == ADMIN) {
            return Err(Refusal::new(Code::RoleNotHeld, format!("only an `{ADMIN}` objects to a recovery; ask one")));
        }
        Ok(veto)
    }
}

/// An admission as the recovery statement holds it.
pub fn admission_to_json(admission: &Admission) -> Json {
    let roles: Vec<&str> = admission.roles.iter().map(Name::as_str).collect();
    Json::object([
        ("person", admission.person.to_string().into()),
        ("name", admission.name.as_str().into()),
        ("roles", roles.into()),
        ("approval_key", admission.approval_key.to_string().into()),
        ("device_key", admission.device_key.to_string().into()),
        ("label", admission.label.as_str().into()),
    ])
}

/// Reads [`admission_to_json`].
///
/// *Errors*: those of a strict document.
pub fn admission_from_json(json: &Json) -> Result<Admission, Refusal> {
    let fields = Fields::exactly(json, &["person", "name", "roles", "approval_key", "device_key", "label"])?;
    let roles: Vec<Name> = fields.strings("roles")?.into_iter().map(Name::parse).collect::<Result<_, _>>()?;
    if !roles.is_sorted_by(|one, next| one < next) {
        return Err(Refusal::new(Code::FieldMalformed, "roles are not distinct names in order; sort them").at("/roles"));
    }
    Ok(Admission {
        person: fields.parsed("person")?,
        name: fields.string("name")?.to_owned(),
        roles: BTreeSet::from_iter(roles),
        approval_key: fields.parsed("approval_key")?,
        device_key: fields.parsed("device_key")?,
        label: fields.string("label")?.to_owned(),
    })
}
