//! Operations on the wire: where one stands, what its provider says, and the answers of people to an unknown outcome.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::code::Refusal;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::time::Timestamp;

use crate::RawJson;
use crate::body::{bounded, members, parse_body, raw};
use crate::limits::{BODY_BYTES_MAX, EVIDENCE_TEXT_CHARS_MAX};
use crate::request::Quorum;

/// The answer of `GET /v1/operations/{operation}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationDetail {
    /// The operation's key.
    pub operation: OperationKey,
    /// The approval request behind it; none for a write.
    pub request: Option<RequestId>,
    /// The tool.
    pub tool: String,
    /// Where it stands.
    pub state: OperationState,
    /// Attempts begun.
    pub attempt: u32,
    /// From when on it can be said that it did not happen; none before an attempt has ended.
    pub settles_at: Option<Timestamp>,
    /// Whether its provider can be asked.
    pub status_available: bool,
    /// Answers on record, in their order.
    pub answers: Vec<AnswerOnRecord>,
}

/// One signed answer that is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerOnRecord {
    /// Who gave it.
    pub approver: String,
    /// What it says.
    pub answer: String,
    /// The position of its record in the log.
    pub position: u64,
}

/// The body of `POST /v1/operations/{operation}/reconciliations`.
#[derive(Debug, Clone, Serialize)]
pub struct ReconciliationRequest {
    /// The signed answer.
    pub envelope: RawJson,
    /// The evidence: canonical text whose salted digest is in the answer.
    pub evidence: String,
    /// The salt of that digest.
    pub evidence_salt: Salt,
}

impl ReconciliationRequest {
    /// Reads a body from outside. Whether the evidence is the one that was signed is not known here.
    pub fn parse(body: &[u8]) -> Result<ReconciliationRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["envelope", "evidence", "evidence_salt"], &[])?;
        let fields = json.fields()?;
        fields.string("evidence")?;
        Ok(ReconciliationRequest {
            envelope: raw(fields.value("envelope")?)?,
            evidence: bounded(&fields, "evidence", 1, EVIDENCE_TEXT_CHARS_MAX)?.unwrap_or_default(),
            evidence_salt: fields.parsed("evidence_salt")?,
        })
    }
}

/// Proof that an answer is on record: its leaf, and the way from there to a signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconciliationReceipt {
    /// The operation.
    pub operation: OperationKey,
    /// Its state after the answer.
    pub state: OperationState,
    /// The position of the answer's record.
    pub position: u64,
    /// The record's leaf: canonical bytes as text.
    pub leaf: String,
    /// A checkpoint that covers it, as a signed note.
    pub checkpoint: String,
    /// The inclusion proof, from the leaf up.
    pub proof: Vec<Digest>,
    /// How many persons gave this answer, and how many are needed.
    pub quorum: Quorum,
    /// Persons contradict each other: nothing moves until enough of them agree.
    pub conflict: bool,
}

/// What a provider said about an operation when a person asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The operation.
    pub operation: OperationKey,
    /// Its state after the question.
    pub state: OperationState,
    /// `found`, `foreign` (found, with something else than was sent), `not_found` or `unclear`.
    pub answer: String,
    /// One line about the provider's answer, without any value of the call.
    pub detail: String,
}

/// The answer of `POST /v1/operations/{operation}/opened`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The operation.
    pub operation: OperationKey,
    /// Until when nobody is paged about it again; none while it stays open and known.
    pub look_again_at: Option<Timestamp>,
}
