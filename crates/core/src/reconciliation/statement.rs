//! What a person signs about an outcome.

use crate::bytes::{Digest, Nonce};
use crate::code::{Code, Refusal};
use crate::decision::{CheckpointRef, app_version};
use crate::ids::{Environment, GateId, Name, PersonId, RequestId, words};
use crate::json::{Fields, Json};
use crate::members::{member_as_text, statement};
use crate::operation::{OperationInput, OperationKey};
use crate::time::Timestamp;

/// Payload type of a reconciliation.
pub const RECONCILIATION_TYPE: &str = "application/vnd.vidimus.reconciliation.v1+json";

words!(
    /// What a person says became of an operation.
    Answer {
        /// It happened, all of it.
        Happened = "happened",
        /// A part of it happened.
        Partly = "partly",
        /// It did not happen: the agent may ask again.
        NotHappened = "not_happened",
        /// Nobody can tell yet; somebody looks again.
        StillUnknown = "still_unknown",
        /// A note to an operation that has its final state; it changes the record and never the state.
        Note = "note",
    }
);

impl Answer {
    /// What the answer does to the operation once enough persons gave it; nothing for the other two.
    pub const fn input(self) -> Option<OperationInput> {
        match self {
            Answer::Happened => Some(OperationInput::Happened),
            Answer::Partly => Some(OperationInput::HappenedInPart),
            Answer::NotHappened => Some(OperationInput::DidNotHappen),
            Answer::StillUnknown | Answer::Note => None,
        }
    }
}

member_as_text!(Answer);

statement!(
    /// The members of a reconciliation, all but its version.
    ReconciliationStatement, signed as RECONCILIATION_TYPE {
        /// The gate.
        gate: GateId;
        /// Digest of the gate's log key.
        gate_key_sha256: Digest;
        /// The gate's environment.
        environment: Environment;
        /// The operation.
        operation: OperationKey;
        /// The approval request behind it; none for a write.
        request: Option<RequestId>;
        /// Digest of the frozen bytes, computed by the console; none for a write.
        request_sha256: Option<Digest>;
        /// The attempt that the answer is about: the last one.
        attempt: u32, in attempt;
        /// What became of it.
        answer: Answer;
        /// How much of it happened, in minor units, where only a part did.
        amount_minor: Option<u64>, in minor_units;
        /// Who says so.
        approver: PersonId;
        /// Digest of the approval key that signs.
        key_sha256: Digest;
        /// The role in which it is said.
        role: Name;
        /// Digest of the roster that the console knew.
        roster_sha256: Digest;
        /// Digest of the nodes that the console showed; none for a write.
        shown_sha256: Option<Digest>;
        /// Salted digest of the evidence.
        evidence_sha256: Digest;
        /// The gate's challenge, used once.
        challenge: Nonce;
        /// The head that the console had verified.
        checkpoint: CheckpointRef;
        /// The console's version.
        app_version: String, in app_version;
        /// When the challenge was issued, copied from it.
        issued_at: Timestamp;
        /// Until when the answer may arrive.
        expires_at: Timestamp;
    }
);

/// An attempt, as a number.
mod attempt {
    use super::*;

    pub(super) fn read(fields: &Fields<'_>, name: &str) -> Result<u32, Refusal> {
        u32::try_from(fields.integer(name)?)
            .map_err(|_| Refusal::new(Code::FieldMalformed, "the attempt is beyond any that this gate makes").at(fields.path_of(name)))
    }

    #[allow(clippy::unnecessary_wraps, reason = "as every member is written")]
    pub(super) fn written(attempt: &u32) -> Result<Json, Refusal> {
        Ok((*attempt).into())
    }
}

/// Decimal digits as text, in their one spelling, or nothing.
mod minor_units {
    use super::*;

    pub(super) fn read(fields: &Fields<'_>, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(text) = fields.optional_string(name)? else { return Ok(None) };
        text.parse::<u64>().ok().filter(|amount| amount.to_string() == text).map(Some).ok_or_else(|| {
            Refusal::new(Code::FieldMalformed, "an amount is not decimal digits of minor units; write 42 euros as `4200`")
                .at(fields.path_of(name))
        })
    }

    #[allow(clippy::unnecessary_wraps, reason = "as every member is written")]
    pub(super) fn written(amount: &Option<u64>) -> Result<Json, Refusal> {
        Ok(amount.map(|amount| amount.to_string()).into())
    }
}
