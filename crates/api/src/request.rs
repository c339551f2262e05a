//! Approval requests and decisions on the wire.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::Refusal;
pub use vidimus_core::denial::{Denial, DenialKind};
use vidimus_core::ids::RequestId;
use vidimus_core::json::Fields;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;

use crate::RawJson;
use crate::body::{bounded, members, parse_body, raw};
use crate::limits::{BODY_BYTES_MAX, CONTEXT_BYTES_MAX, NOTE_CHARS_MAX, REASON_CHARS_MAX};

/// One entry of `GET /v1/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// The request.
    pub request: RequestId,
    /// The request's state.
    pub state: RequestState,
    /// The tool.
    pub tool: String,
    /// The agent that asks; none for a person's proposal.
    pub agent: Option<String>,
    /// SHA-256 of the frozen request.
    pub request_sha256: Digest,
    /// Until when people may decide.
    pub waits_until: Timestamp,
    /// The position of its record in the log.
    pub position: Option<u64>,
}

/// The answer of `GET /v1/requests`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestList {
    /// The requests, newest first.
    pub requests: Vec<RequestSummary>,
    /// Where older ones go on, as `before` of the next question; none where there are no more. A page may be empty and go on.
    #[serde(default)]
    pub next_before: Option<u64>,
}

/// One decision that is on record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DecisionOnRecord {
    /// The signed envelope, byte for byte.
    pub envelope: RawJson,
    /// The position of its record in the log.
    pub position: Option<u64>,
}

/// An operation, as far as an approver sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperationView {
    /// The operation's key.
    pub operation: OperationKey,
    /// Where it stands.
    pub state: OperationState,
    /// The number of the attempt.
    pub attempt: u32,
    /// SHA-256 of the result, when there is one.
    pub result_sha256: Option<Digest>,
}

/// The answer of `GET /v1/requests/{id}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestDetail {
    /// The request.
    pub request: RequestId,
    /// The request's state.
    pub state: RequestState,
    /// Until when people may decide.
    pub waits_until: Timestamp,
    /// The frozen request: canonical bytes as text. Hash this, not a copy of it.
    pub frozen: String,
    /// The agent's own words.
    pub says: Option<String>,
    /// The decisions on record, in their order.
    pub decisions: Vec<DecisionOnRecord>,
    /// The operation, once the quorum is reached.
    pub operation: Option<OperationView>,
    /// The position of its record in the log.
    pub position: Option<u64>,
}

/// The body of `POST /v1/requests/{id}/challenge`.
#[derive(Debug, Clone, Serialize)]
pub struct ChallengeRequest {
    /// The approval key that will sign, by its digest.
    pub key_sha256: Digest,
}

impl ChallengeRequest {
    /// Reads a body from outside.
    pub fn parse(body: &[u8]) -> Result<ChallengeRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["key_sha256"], &[])?;
        Ok(ChallengeRequest { key_sha256: json.fields()?.digest("key_sha256")? })
    }
}

/// What a decision is signed over besides the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Challenge {
    /// Used once.
    pub challenge: Nonce,
    /// The statement's `issued_at` is copied from this.
    pub issued_at: Timestamp,
    /// The latest arrival of the decision.
    pub expires_at: Timestamp,
    /// The roster that the decision is judged by.
    pub roster_sha256: Digest,
    /// The newest checkpoint, as a signed note.
    pub checkpoint: String,
}

fn read_denial(fields: &Fields<'_>, name: &str) -> Result<Denial, Refusal> {
    let fields = fields.object(name, &["kind", "note"])?;
    let note = bounded(&fields, "note", 0, NOTE_CHARS_MAX)?.unwrap_or_default();
    Ok(Denial { kind: fields.parsed("kind")?, note })
}

/// The body of `POST /v1/requests/{id}/decisions`.
#[derive(Debug, Clone, Serialize)]
pub struct DecisionRequest {
    /// The signed decision.
    pub envelope: RawJson,
    /// The text that `reason_sha256` digests.
    pub reason: Option<String>,
    /// The salt of that digest.
    pub reason_salt: Option<Salt>,
    /// The text that `context_sha256` digests.
    pub context: Option<String>,
    /// For a denial: what the agent is told. The reason is its canonical form.
    pub denial: Option<Denial>,
}

impl DecisionRequest {
    /// Reads a body from outside. The envelope is judged by whoever verifies it: nothing else in the body decides.
    pub fn parse(body: &[u8]) -> Result<DecisionRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["envelope"], &["reason", "reason_salt", "context", "denial"])?;
        let fields = json.fields()?;
        Ok(DecisionRequest {
            envelope: raw(fields.value("envelope")?)?,
            reason: bounded(&fields, "reason", 0, REASON_CHARS_MAX)?,
            reason_salt: fields.optional_parsed("reason_salt")?,
            context: bounded(&fields, "context", 0, CONTEXT_BYTES_MAX)?,
            denial: fields.optional("denial", read_denial)?,
        })
    }
}

/// How far a request's quorum is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// Persons who approve.
    pub given: u32,
    /// Persons that are needed.
    pub needed: u32,
}

/// Proof that a decision is on record: its leaf, and the way from there to a signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The request.
    pub request: RequestId,
    /// The request's state after the decision.
    pub state: RequestState,
    /// The position of the decision's record.
    pub position: u64,
    /// The record's leaf: canonical bytes as text.
    pub leaf: String,
    /// A checkpoint that covers it, as a signed note.
    pub checkpoint: String,
    /// The inclusion proof, from the leaf up.
    pub proof: Vec<Digest>,
    /// How far the quorum is.
    pub quorum: Quorum,
    /// The operation's key, once the quorum is reached.
    pub operation: Option<OperationKey>,
}
