//! What a caller gets instead of an answer: a problem document with a stable code.
//!
//! *Source*: RFC 9457.

use serde::{Deserialize, Serialize};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, RequestId};

/// The media type of a problem document.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

const TYPE_PREFIX: &str = "urn:vidimus:problem:";

/// Codes of the HTTP face itself, beside those of the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaceCode {
    /// The path knows no such method.
    MethodNotAllowed,
    /// The body came too slowly.
    BodyTooSlow,
    /// Too many failed authentications from this address.
    RateLimited,
    /// The gate is ending; nothing was begun.
    ShuttingDown,
    /// The gate failed at something that the caller cannot mend.
    GateFailed,
    /// The record stands, but its checkpoint is not signed yet.
    CheckpointLate,
    /// The gate's log is behind a head that it signed.
    LogBehindHead,
    /// No head is signed over the newest records now, so nothing with an effect begins.
    HeadNotSigned,
    /// Somebody who may decide signed over a head that is not of this log, so nothing with an effect begins.
    HeadForeign,
    /// This sender has as many connections as it may.
    ConnectionsLimitReached,
}

impl FaceCode {
    /// Every code of the face.
    pub const ALL: &'static [FaceCode] = &[
        FaceCode::MethodNotAllowed,
        FaceCode::BodyTooSlow,
        FaceCode::RateLimited,
        FaceCode::ShuttingDown,
        FaceCode::GateFailed,
        FaceCode::CheckpointLate,
        FaceCode::LogBehindHead,
        FaceCode::HeadNotSigned,
        FaceCode::HeadForeign,
        FaceCode::ConnectionsLimitReached,
    ];

    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaceCode::MethodNotAllowed => "method_not_allowed",
            FaceCode::BodyTooSlow => "body_too_slow",
            FaceCode::RateLimited => "rate_limited",
            FaceCode::ShuttingDown => "shutting_down",
            FaceCode::GateFailed => "gate_failed",
            FaceCode::CheckpointLate => "checkpoint_late",
            FaceCode::LogBehindHead => "log_behind_head",
            FaceCode::HeadNotSigned => "head_not_signed",
            FaceCode::HeadForeign => "head_foreign",
            FaceCode::ConnectionsLimitReached => "connections_limit_reached",
        }
    }

    /// The HTTP status number.
    pub const fn status(self) -> u16 {
        match self {
            FaceCode::MethodNotAllowed => 405,
            FaceCode::BodyTooSlow => 408,
            FaceCode::RateLimited | FaceCode::ConnectionsLimitReached => 429,
            FaceCode::GateFailed => 500,
            FaceCode::ShuttingDown
            | FaceCode::CheckpointLate
            | FaceCode::LogBehindHead
            | FaceCode::HeadNotSigned
            | FaceCode::HeadForeign => 503,
        }
    }
}

/// One fault in arguments or in a proposed table, so that whoever wrote them can correct them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// JSON pointer of the value; of a table, the dotted key: `row[2].needs[0].quorum`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
    /// The line of a proposed table, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The rule of the effect table that is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// A problem document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The code as a URN.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words, the same for each occurrence.
    pub title: String,
    /// The HTTP status number.
    pub status: u16,
    /// What a program reacts to.
    pub code: String,
    /// What is wrong here, and what the reader can do.
    pub detail: String,
    /// JSON pointer of the offending value.
    pub path: Option<String>,
    /// The id under which the gate's own log has more; filled in by the face that answers.
    pub request_id: String,
    /// Each fault in the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// The call that stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The approval request that stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Where that request stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Problem {
    /// The problem document of a refusal.
    pub fn of(refusal: &Refusal) -> Problem {
        let problem = Problem::new(refusal.code.as_str(), status(refusal.code), &refusal.message);
        Problem { path: refusal.path.clone(), ..problem }
    }

    /// The problem document of one of the face's own codes.
    pub fn of_face(code: FaceCode, detail: &str) -> Problem {
        Problem::new(code.as_str(), code.status(), detail)
    }

    fn new(code: &str, status: u16, detail: &str) -> Problem {
        Problem {
            kind: format!("{TYPE_PREFIX}{code}"),
            title: code.replace('_', " "),
            status,
            code: code.to_owned(),
            detail: detail.to_owned(),
            path: None,
            request_id: String::new(),
            errors: Vec::new(),
            call: None,
            request: None,
            state: None,
        }
    }

    /// When the same may be sent again, where that is known. *Unit*: seconds.
    pub fn retry_after_s(&self) -> Option<u64> {
        let face = FaceCode::ALL.iter().find(|code| code.as_str() == self.code);
        match (face, self.known_code()) {
            (Some(FaceCode::RateLimited), _) => Some(60),
            (Some(FaceCode::ConnectionsLimitReached | FaceCode::HeadNotSigned), _) => Some(5),
            (Some(FaceCode::CheckpointLate | FaceCode::ShuttingDown), _) => Some(1),
            (None, Some(Code::AgentRateLimited | Code::AgentBytesLimited)) => Some(10),
            (None, Some(Code::AnswersLimitReached)) => Some(3600),
            (
                Some(
                    FaceCode::MethodNotAllowed
                    | FaceCode::BodyTooSlow
                    | FaceCode::GateFailed
                    | FaceCode::LogBehindHead
                    | FaceCode::HeadForeign,
                )
                | None,
                _,
            ) => None,
        }
    }

    /// The code, if this version knows it.
    pub fn known_code(&self) -> Option<Code> {
        self.code.parse().ok()
    }
}

/// The HTTP status number of a code.
pub const fn status(code: Code) -> u16 {
    match code {
        Code::JsonSyntax
        | Code::JsonDuplicateKey
        | Code::JsonLoneSurrogate
        | Code::JsonInvalidUtf8
        | Code::JsonTooDeep
        | Code::JsonTooManyNodes
        | Code::JsonNumberInexact
        | Code::JsonNumberOutOfRange
        | Code::JsonTrailingBytes
        | Code::NotCanonical
        | Code::FieldMissing
        | Code::FieldUnknown
        | Code::FieldMalformed
        | Code::DigestMalformed
        | Code::Base64Malformed
        | Code::TimestampMalformed
        | Code::IdMalformed
        | Code::KeyMalformed
        | Code::SignatureMalformed
        | Code::EnvelopeMalformed
        | Code::TokenMalformed
        | Code::CheckpointMalformed
        | Code::ProofMalformed => 400,
        Code::CredentialInvalid | Code::KeyUnknown | Code::KeyWaiting | Code::KeyStopped | Code::KeyRemoved => 401,
        Code::ToolUnknown
        | Code::ToolNotListed
        | Code::NameMalformed
        | Code::RoleNotHeld
        | Code::RoleNotNeeded
        | Code::SelfApproval
        | Code::ApproverWrong
        | Code::KeyUseWrong => 403,
        Code::NotFound => 404,
        Code::RequestAlreadyDecided
        | Code::RequestNotApproved
        | Code::RequestNotPending
        | Code::RequestExpired
        | Code::RequestWithdrawn
        | Code::RequestStale
        | Code::RequestRevoked
        | Code::RequestOrphaned
        | Code::RosterStale
        | Code::LastAdmin
        | Code::RecoveryVetoed
        | Code::RecoveryNotWaiting
        | Code::RecoveryTooEarly
        | Code::RecoveryUnconfirmed
        | Code::TableStale
        | Code::TableUnchanged
        | Code::RowStale
        | Code::AlreadyApproved
        | Code::ApprovalMissing
        | Code::QuorumMissing
        | Code::ChallengeReplayed
        | Code::OperationKeyConflict
        | Code::OperationKeyExpired
        | Code::BusinessEffectOpen
        | Code::AgentRevoked
        | Code::AgentOwnerGone
        | Code::ReferentChanged
        | Code::NoEligibleApprover
        | Code::CapReached
        | Code::TokenAlreadyRedeemed
        | Code::OperationStateWrong
        | Code::ReconciliationTooEarly
        | Code::StatusUnavailable
        | Code::LedgerContradicted
        | Code::CheckpointForeign => 409,
        Code::JsonTooLarge | Code::LeafTooLarge => 413,
        Code::PendingLimitReached
        | Code::AgentRateLimited
        | Code::AgentBytesLimited
        | Code::PersonRateLimited
        | Code::DecisionsLimitReached
        | Code::AnswersLimitReached => 429,
        Code::ToolUnreachable | Code::ToolFailed | Code::ReferentUnreadable => 502,
        Code::KeyWeak
        | Code::SignatureInvalid
        | Code::EnvelopeTypeWrong
        | Code::EnvelopeKeyWrong
        | Code::CheckpointOriginWrong
        | Code::ProofInvalid
        | Code::GateWrong
        | Code::EnvironmentWrong
        | Code::RosterChangeInvalid
        | Code::TableChangeInvalid
        | Code::TableChangeOwners
        | Code::TableFaulty
        | Code::GenesisMalformed
        | Code::InviteInvalid
        | Code::EnrolmentWrong
        | Code::FrozenMalformed
        | Code::ArgumentsInvalid
        | Code::RequestWrong
        | Code::ToolWrong
        | Code::BytesDiffer
        | Code::ShownDiffers
        | Code::DecisionExpired
        | Code::ChallengeInvalid
        | Code::ReasonInvalid
        | Code::EvidenceInvalid
        | Code::OperationWrong
        | Code::AmountInvalid
        | Code::TokenExpired
        | Code::TokenUnknown => 422,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_of_the_face_is_one_of_the_domain() {
        for code in FaceCode::ALL {
            assert!(code.as_str().parse::<Code>().is_err(), "`{}`", code.as_str());
        }
    }

    #[test]
    fn a_refusal_is_never_the_gates_own_failure() {
        for code in Code::ALL {
            let providers = matches!(code, Code::ToolUnreachable | Code::ToolFailed | Code::ReferentUnreadable);
            assert_eq!(status(*code) == 502, providers, "`{code}`");
            assert!(providers || (400..500).contains(&status(*code)), "`{code}`");
        }
    }
}
