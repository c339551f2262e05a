//! The stable codes of everything that is refused, and the refusal that carries one.
//!
//! A code is named after the broken rule; there is one for each distinct reaction of a caller. Codes are never
//! renamed. This module knows no status numbers: those belong to the faces that speak HTTP.

use std::fmt;
use std::str::FromStr;

/// Writes the enum, its spelling and its list from one table.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)+) => {
        /// The stable name of a broken rule, spelled in snake case wherever it leaves the process.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The code as it is written in answers, records and logs.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Code::$variant => $text,)+
                }
            }
        }
    };
}

codes! {
    // Documents.
    /// The bytes are not one JSON document.
    JsonSyntax = "json_syntax",
    /// An object names a member twice.
    JsonDuplicateKey = "json_duplicate_key",
    /// A string escapes half of a surrogate pair.
    JsonLoneSurrogate = "json_lone_surrogate",
    /// A string is not UTF-8.
    JsonInvalidUtf8 = "json_invalid_utf8",
    /// Containers lie deeper inside each other than the limit.
    JsonTooDeep = "json_too_deep",
    /// The document has more bytes than the limit, or arguments would be longer to show than any approver could read.
    JsonTooLarge = "json_too_large",
    /// The document has more values than the limit.
    JsonTooManyNodes = "json_too_many_nodes",
    /// A number would change its decimal value in canonical form.
    JsonNumberInexact = "json_number_inexact",
    /// A number is beyond what canonical form can write.
    JsonNumberOutOfRange = "json_number_out_of_range",
    /// Something follows the end of the document.
    JsonTrailingBytes = "json_trailing_bytes",
    /// The bytes are a valid document, but not its canonical form.
    NotCanonical = "not_canonical",
    /// A statement lacks a member.
    FieldMissing = "field_missing",
    /// A statement has a member that its version does not know.
    FieldUnknown = "field_unknown",
    /// A member has another type or form than its version says.
    FieldMalformed = "field_malformed",
    // Values with one spelling.
    /// A digest is not 64 lowercase hexadecimal digits.
    DigestMalformed = "digest_malformed",
    /// A value is not strict base64 of the expected length.
    Base64Malformed = "base64_malformed",
    /// A time is not `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    TimestampMalformed = "timestamp_malformed",
    // Keys, signatures, proofs.
    /// A public key is not a canonical point.
    KeyMalformed = "key_malformed",
    /// A public key has low order: anyone can sign for it.
    KeyWeak = "key_weak",
    /// A signature is not 64 bytes in its spelling.
    SignatureMalformed = "signature_malformed",
    /// A signature does not verify.
    SignatureInvalid = "signature_invalid",
    /// A signed envelope has another shape than one payload with one signature.
    EnvelopeMalformed = "envelope_malformed",
    /// A signed envelope holds another type of statement.
    EnvelopeTypeWrong = "envelope_type_wrong",
    /// A signed envelope names another key.
    EnvelopeKeyWrong = "envelope_key_wrong",
    /// An execution token is not a token of this version.
    TokenMalformed = "token_malformed",
    /// A checkpoint is not a signed note of the expected form.
    CheckpointMalformed = "checkpoint_malformed",
    /// A checkpoint is of another log.
    CheckpointOriginWrong = "checkpoint_origin_wrong",
    /// A proof has another shape than its sizes ask for.
    ProofMalformed = "proof_malformed",
    /// A proof does not lead to the root.
    ProofInvalid = "proof_invalid",
    // The domain.
    /// An id has another form than its kind's.
    IdMalformed = "id_malformed",
    /// A name has characters or a length that no name has.
    NameMalformed = "name_malformed",
    /// A statement is for another gate.
    GateWrong = "gate_wrong",
    /// A statement is for the other environment.
    EnvironmentWrong = "environment_wrong",
    /// A key is not enrolled.
    KeyUnknown = "key_unknown",
    /// A key was stopped.
    KeyStopped = "key_stopped",
    /// A key was in the roster once, and its person or the key is no longer there.
    KeyRemoved = "key_removed",
    /// A key signed what only the other key may sign.
    KeyUseWrong = "key_use_wrong",
    /// A key waits for an administrator's confirmation.
    KeyWaiting = "key_waiting",
    /// A roster change cannot be made.
    RosterChangeInvalid = "roster_change_invalid",
    /// The roster has changed since.
    RosterStale = "roster_stale",
    /// A change of the effect table does not lead to the table that it names.
    TableChangeInvalid = "table_change_invalid",
    /// Rows of several owners change at once.
    TableChangeOwners = "table_change_owners",
    /// A proposed effect table has faults.
    TableFaulty = "table_faulty",
    /// The effect table has changed since.
    TableStale = "table_stale",
    /// A proposed effect table says what the one in force says.
    TableUnchanged = "table_unchanged",
    /// No admin would be left who can sign.
    LastAdmin = "last_admin",
    /// A recovery was vetoed.
    RecoveryVetoed = "recovery_vetoed",
    /// No such recovery waits.
    RecoveryNotWaiting = "recovery_not_waiting",
    /// A recovery took effect before everybody had the time to object.
    RecoveryTooEarly = "recovery_too_early",
    /// So many decisions of a person were refused that the others are counted only.
    PersonRateLimited = "person_rate_limited",
    /// A recovery was to be signed for other keys or roles than the waiting admission has.
    RecoveryUnconfirmed = "recovery_unconfirmed",
    /// A genesis statement does not hold a first roster.
    GenesisMalformed = "genesis_malformed",
    /// An invitation is unknown, used or expired.
    InviteInvalid = "invite_invalid",
    /// An enrolment contradicts its invitation.
    EnrolmentWrong = "enrolment_wrong",
    /// A frozen request contradicts itself.
    FrozenMalformed = "frozen_malformed",
    /// A record is too large for a leaf.
    LeafTooLarge = "leaf_too_large",
    // Calls.
    /// A tool has no row.
    ToolUnknown = "tool_unknown",
    /// A tool is not on this agent's list.
    ToolNotListed = "tool_not_listed",
    /// Arguments are not valid under the row's schema.
    ArgumentsInvalid = "arguments_invalid",
    /// A credential is missing, unknown or of another actor.
    CredentialInvalid = "credential_invalid",
    /// A call key was used for other arguments or another tool.
    OperationKeyConflict = "operation_key_conflict",
    /// The provider may have forgotten an operation's key, so no attempt rests on it any more.
    OperationKeyExpired = "operation_key_expired",
    /// An agent behind a request was revoked, or is not the one that was frozen.
    AgentRevoked = "agent_revoked",
    /// The person who answers for an agent is not in the roster any more.
    AgentOwnerGone = "agent_owner_gone",
    /// What an argument names is not what was approved any more.
    ReferentChanged = "referent_changed",
    /// What an argument names cannot be read now.
    ReferentUnreadable = "referent_unreadable",
    /// The same business effect is still open.
    BusinessEffectOpen = "business_effect_open",
    /// The agent has as many requests waiting as it may.
    PendingLimitReached = "pending_limit_reached",
    /// The agent was refused so often that its refusals are counted only.
    AgentRateLimited = "agent_rate_limited",
    /// The agent's calls have left as many bytes as they may for now.
    AgentBytesLimited = "agent_bytes_limited",
    /// A limit of the tool's row is reached.
    CapReached = "cap_reached",
    /// Nobody in the roster could decide.
    NoEligibleApprover = "no_eligible_approver",
    /// The thing named is not here, or not for this caller.
    NotFound = "not_found",
    /// A tool's provider was not reached, or its credential is not there; nothing was sent.
    ToolUnreachable = "tool_unreachable",
    /// A tool's provider answered that it failed, or cannot be understood; nothing was changed.
    ToolFailed = "tool_failed",
    // Requests and decisions.
    /// A request is decided already.
    RequestAlreadyDecided = "request_already_decided",
    /// A request has no quorum.
    RequestNotApproved = "request_not_approved",
    /// A request no longer waits.
    RequestNotPending = "request_not_pending",
    /// A request's time ran out.
    RequestExpired = "request_expired",
    /// A request was withdrawn by its agent.
    RequestWithdrawn = "request_withdrawn",
    /// What a request was frozen on has changed.
    RequestStale = "request_stale",
    /// A request was stopped after its quorum.
    RequestRevoked = "request_revoked",
    /// A request's agent is gone and was never told.
    RequestOrphaned = "request_orphaned",
    /// A decision is on another request.
    RequestWrong = "request_wrong",
    /// A decision or token is for another tool.
    ToolWrong = "tool_wrong",
    /// A decision is on other bytes than the gate would run.
    BytesDiffer = "bytes_differ",
    /// The console showed something else than the gate renders.
    ShownDiffers = "shown_differs",
    /// The tool's row is not the one that was frozen.
    RowStale = "row_stale",
    /// A decision is worth nothing any more, or was valid for too long.
    DecisionExpired = "decision_expired",
    /// A challenge was not issued for this.
    ChallengeInvalid = "challenge_invalid",
    /// A challenge was used before.
    ChallengeReplayed = "challenge_replayed",
    /// A person named is not the key's holder, or not in the roster.
    ApproverWrong = "approver_wrong",
    /// A request does not wait for this role.
    RoleNotNeeded = "role_not_needed",
    /// An approver does not hold the role.
    RoleNotHeld = "role_not_held",
    /// A request comes from the approver or an agent of theirs, brings them a role or keys, or leaves them the only admin.
    SelfApproval = "self_approval",
    /// A person has decided so often on this request that they may do so no more, but for saying no.
    DecisionsLimitReached = "decisions_limit_reached",
    /// A person has answered so often about this operation that they must wait.
    AnswersLimitReached = "answers_limit_reached",
    /// A person has approved already.
    AlreadyApproved = "already_approved",
    /// A person has no approval to take back.
    ApprovalMissing = "approval_missing",
    /// Too few approvals stand.
    QuorumMissing = "quorum_missing",
    /// A reason is missing, too short, or not what was signed.
    ReasonInvalid = "reason_invalid",
    // Tokens and operations.
    /// An execution token's time ran out.
    TokenExpired = "token_expired",
    /// An execution token was redeemed before.
    TokenAlreadyRedeemed = "token_already_redeemed",
    /// An execution token is not known here, or a newer one replaced it.
    TokenUnknown = "token_unknown",
    /// An operation's state does not allow this.
    OperationStateWrong = "operation_state_wrong",
    /// An answer about an outcome is on another operation or another attempt.
    OperationWrong = "operation_wrong",
    /// It is too early to say that something did not happen.
    ReconciliationTooEarly = "reconciliation_too_early",
    /// What stands behind an answer is missing, too short, or not what was signed.
    EvidenceInvalid = "evidence_invalid",
    /// The part that happened is missing, or no part of the whole.
    AmountInvalid = "amount_invalid",
    /// The provider cannot be asked about an operation.
    StatusUnavailable = "status_unavailable",
    /// The ledger says something else than the log.
    LedgerContradicted = "ledger_contradicted",
    /// A head that was signed over is not one of this gate's log.
    CheckpointForeign = "checkpoint_foreign",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no code that this version knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown code; compare the versions of the two sides")]
pub struct UnknownCode;

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Code, UnknownCode> {
        Code::ALL.iter().copied().find(|code| code.as_str() == text).ok_or(UnknownCode)
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Why something was refused: a code to react to, words to read, and where in the document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What a caller reacts to.
    pub code: Code,
    /// A lowercase clause: the offending value in backticks, then what the reader can do.
    pub message: String,
    /// JSON pointer (RFC 6901) of the offending value; the empty pointer is the whole document.
    pub path: Option<String>,
}

impl Refusal {
    /// A refusal that points nowhere yet.
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), path: None }
    }

    /// The refusal, pointing at `path` unless it already points somewhere more exact.
    pub fn at(mut self, path: impl Into<String>) -> Refusal {
        if self.path.is_none() {
            self.path = Some(path.into());
        }
        self
    }

    /// The refusal of a value seen from its container: `prefix` goes before its path.
    pub fn under(mut self, prefix: &str) -> Refusal {
        self.path = Some(format!("{prefix}{}", self.path.unwrap_or_default()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_snake_case_and_parse_back() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let text = code.as_str();
            assert!(seen.insert(text), "`{text}` stands twice in the table");
            assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "`{text}`");
            assert_eq!(text.parse(), Ok(*code));
        }
        assert_eq!("no_such_code".parse::<Code>(), Err(UnknownCode));
    }
}
