//! Changes of the roster on the wire: stops, vetoes, proposals. Stops and vetoes prove themselves; a proposal needs a session.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{Name, PersonId, RequestId};
use vidimus_core::json::Json;

use crate::RawJson;
use crate::body::{bounded, members, parse_body, raw};
use crate::limits::{BODY_BYTES_MAX, LABEL_CHARS_MAX};

/// A statement that proves itself: the body of `POST /v1/keys/{key_sha256}/stop` and of
/// `POST /v1/recoveries/{recovery_sha256}/veto`.
#[derive(Debug, Clone, Serialize)]
pub struct SignedStatement {
    /// The `stop` or the `veto`.
    pub envelope: RawJson,
}

impl SignedStatement {
    /// Reads a body from outside. The envelope is judged by whoever verifies it.
    pub fn parse(body: &[u8]) -> Result<SignedStatement, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["envelope"], &[])?;
        Ok(SignedStatement { envelope: raw(json.fields()?.value("envelope")?)? })
    }
}

/// The answer to a stop: since when the keys count for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopAnswer {
    /// The version of the roster.
    pub roster_version: u32,
    /// The record's place in the log.
    pub position: u64,
}

/// The answer to a veto.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VetoAnswer {
    /// The recovery that never takes effect.
    pub recovery_sha256: Digest,
    /// The record's place in the log.
    pub position: u64,
}

/// The body of `POST /v1/roster/proposals`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum RosterProposal {
    /// Two more keys of the session's person: a rotation. Each key signs the proof of its own possession.
    AddKeys {
        /// What the person calls the desktop.
        label: String,
        /// The `enrolment` statement of the approval key, without an invite.
        approval: RawJson,
        /// The `enrolment` statement of the device key, without an invite.
        device: RawJson,
    },
    /// Other roles for a person.
    SetRoles {
        /// Who.
        person: PersonId,
        /// All roles held afterwards.
        roles: Vec<Name>,
    },
    /// A person goes.
    Remove {
        /// Who.
        person: PersonId,
    },
}

impl RosterProposal {
    /// Reads a body from outside. The envelopes are judged by whoever verifies them.
    pub fn parse(body: &[u8]) -> Result<RosterProposal, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        match json.member("change").and_then(Json::as_str) {
            Some("add_keys") => {
                let json = members(&json, &["change", "label", "approval", "device"], &[])?;
                let fields = json.fields()?;
                Ok(RosterProposal::AddKeys {
                    label: bounded(&fields, "label", 1, LABEL_CHARS_MAX)?.unwrap_or_default(),
                    approval: raw(fields.value("approval")?)?,
                    device: raw(fields.value("device")?)?,
                })
            }
            Some("set_roles") => {
                let json = members(&json, &["change", "person", "roles"], &[])?;
                let fields = json.fields()?;
                let roles = fields.strings("roles")?.into_iter().map(Name::parse).collect::<Result<_, _>>()?;
                Ok(RosterProposal::SetRoles { person: fields.parsed("person")?, roles })
            }
            Some("remove") => {
                let json = members(&json, &["change", "person"], &[])?;
                Ok(RosterProposal::Remove { person: json.fields()?.parsed("person")? })
            }
            Some(_) | None => {
                let message = "`change` is one of `add_keys`, `set_roles`, `remove`; admit a person by an invite";
                Err(Refusal::new(Code::FieldMalformed, message).at("/change"))
            }
        }
    }
}

/// The answer to a proposal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProposalAnswer {
    /// The request that waits for an admin.
    pub request: RequestId,
}
