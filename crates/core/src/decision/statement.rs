//! What an approver signs.

use crate::bytes::{Digest, Nonce, Salt, tagged};
use crate::code::{Code, Refusal};
use crate::ids::{Environment, GateId, Name, PersonId, RequestId, words};
use crate::json::{Fields, Json};
use crate::limits::APP_VERSION_BYTES_MAX;
use crate::members::{Member, member_as_text, statement};
use crate::time::Timestamp;

/// Payload type of a decision.
pub const DECISION_TYPE: &str = "application/vnd.vidimus.decision.v1+json";

words!(
    /// What an approver does.
    DecisionKind {
        /// Yes, to exactly these bytes.
        Approve = "approve",
        /// No; final.
        Deny = "deny",
        /// Takes back one's own approval before the quorum.
        Retract = "retract",
        /// Stops an approved request that nothing has used.
        Revoke = "revoke",
        /// Asks for more time.
        MoreTime = "more_time",
    }
);

member_as_text!(DecisionKind);

/// The head of the log that the approver's console had verified when it signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointRef {
    /// Records.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Digest,
}

impl Member for CheckpointRef {
    fn read(fields: &Fields<'_>, name: &str) -> Result<CheckpointRef, Refusal> {
        let checkpoint = fields.object(name, &["size", "root"])?;
        Ok(CheckpointRef { size: checkpoint.integer("size")?, root: checkpoint.parsed("root")? })
    }

    fn written(&self) -> Result<Json, Refusal> {
        Ok(Json::object([("size", Json::integer(self.size)?), ("root", self.root.into())]))
    }
}

/// The console's version in a statement: short, printable ASCII.
pub(crate) mod app_version {
    use super::*;

    pub(crate) fn read(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
        let app_version = fields.string(name)?;
        if app_version.len() > APP_VERSION_BYTES_MAX {
            let message = format!("the version has more than `{APP_VERSION_BYTES_MAX}` bytes; shorten it");
            return Err(Refusal::new(Code::FieldMalformed, message).at(fields.path_of(name)));
        }
        if !app_version.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            let message = "the version has something else than printable ASCII; leave it out";
            return Err(Refusal::new(Code::FieldMalformed, message).at(fields.path_of(name)));
        }
        Ok(app_version.to_owned())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as every member is written")]
    pub(crate) fn written(app_version: &str) -> Result<Json, Refusal> {
        Ok(app_version.into())
    }
}

statement!(
    /// The members of a decision, all but its version.
    DecisionStatement, signed as DECISION_TYPE {
        /// The gate.
        gate: GateId;
        /// Digest of the gate's log key.
        gate_key_sha256: Digest;
        /// The gate's environment.
        environment: Environment;
        /// The approval request.
        request: RequestId;
        /// Digest of the frozen bytes, computed by the console.
        request_sha256: Digest;
        /// Salted digest of the arguments, computed by the console.
        args_sha256: Digest;
        /// The tool.
        tool: Name;
        /// What is decided.
        decision: DecisionKind;
        /// Who decides.
        approver: PersonId;
        /// Digest of the approval key that signs.
        key_sha256: Digest;
        /// The role in which it is decided.
        role: Name;
        /// Digest of the row that the console showed.
        row_sha256: Digest;
        /// Digest of the roster that the console knew.
        roster_sha256: Digest;
        /// Digest of the nodes that the console showed.
        shown_sha256: Digest;
        /// Digest of what else stood on the screen.
        context_sha256: Option<Digest>;
        /// The gate's challenge, used once.
        challenge: Nonce;
        /// The head that the console had verified.
        checkpoint: CheckpointRef;
        /// Salted digest of the reason.
        reason_sha256: Option<Digest>;
        /// The console's version.
        app_version: String, in app_version;
        /// When the challenge was issued, copied from it.
        issued_at: Timestamp;
        /// Until when the decision may arrive.
        expires_at: Timestamp;
    }
);

/// Salted digest of a reason: SHA-256("vidimus.reason.v1" ‖ 0 ‖ salt ‖ text).
pub fn reason_sha256(salt: &Salt, reason: &str) -> Digest {
    tagged("vidimus.reason.v1", [salt.as_bytes(), reason.as_bytes()])
}
