//! Enrolment on the wire: an invite is looked at, then used once.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::Refusal;
use vidimus_core::ids::{Environment, GateId, PersonId, RequestId};
use vidimus_core::sign::PublicKey;
use vidimus_core::time::Timestamp;

use crate::RawJson;
use crate::body::{bounded, members, parse_body, raw};
use crate::invite::InviteKind;
use crate::limits::{BODY_BYTES_MAX, LABEL_CHARS_MAX};

/// The body of `POST /v1/enrolments/offer`.
#[derive(Debug, Clone, Serialize)]
pub struct OfferRequest {
    /// The invite's code.
    pub code: Nonce,
}

impl OfferRequest {
    /// Reads a body from outside.
    pub fn parse(body: &[u8]) -> Result<OfferRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["code"], &[])?;
        Ok(OfferRequest { code: json.fields()?.nonce("code")? })
    }
}

/// What an invite offers. The console shows it and pins the gate's keys before any key of its own is made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Offer {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// The key that signs checkpoints; the gate's id is its digest.
    pub log_key: PublicKey,
    /// The key that signs execution tokens.
    pub token_key: PublicKey,
    /// The offline key that may sign roster versions; none where `init` made none.
    pub recovery_key: Option<PublicKey>,
    /// Whether the invited person founds the roster or joins it.
    pub kind: InviteKind,
    /// The id that the person will have.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The roles offered.
    pub roles: Vec<String>,
    /// The roster in force, in canonical form; none before genesis.
    pub roster: Option<String>,
    /// The effect table, as the text of its file.
    pub table: String,
    /// The digest that the first admin signs.
    pub table_sha256: Digest,
    /// The gate's clock.
    pub now: Timestamp,
    /// When the invite ends.
    pub expires_at: Timestamp,
}

/// The body of `POST /v1/enrolments`. Each key signs the proof of its own possession.
#[derive(Debug, Clone, Serialize)]
pub struct EnrolmentRequest {
    /// The invite's code; used up by this.
    pub code: Nonce,
    /// What the person calls this desktop.
    pub label: String,
    /// The `enrolment` statement of the approval key.
    pub approval: RawJson,
    /// The `enrolment` statement of the device key.
    pub device: RawJson,
    /// The `genesis` statement; for the founder only.
    pub genesis: Option<RawJson>,
}

impl EnrolmentRequest {
    /// Reads a body from outside. The envelopes are judged by whoever verifies them.
    pub fn parse(body: &[u8]) -> Result<EnrolmentRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["code", "label", "approval", "device"], &["genesis"])?;
        let fields = json.fields()?;
        let label = bounded(&fields, "label", 1, LABEL_CHARS_MAX)?.unwrap_or_default();
        Ok(EnrolmentRequest {
            code: fields.nonce("code")?,
            label,
            approval: raw(fields.value("approval")?)?,
            device: raw(fields.value("device")?)?,
            genesis: fields.optional("genesis", |fields, name| raw(fields.value(name)?))?,
        })
    }
}

/// Whether an enrolled person may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnrolmentState {
    /// The keys are in the roster.
    Active,
    /// An admin has to sign the admission first.
    Waiting,
}

/// The answer to an enrolment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnrolmentAnswer {
    /// Whether the person may act.
    pub state: EnrolmentState,
    /// The person's id.
    pub person: PersonId,
    /// The request that an admin signs to admit the person.
    pub request: Option<RequestId>,
}
