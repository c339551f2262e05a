//! What a caller gets instead of an answer: a problem document with a stable code.
//!
//! *Source*: RFC 9457.

use serde::{Deserialize, Serialize};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, RequestId};

/// The media type of a problem document.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

const TYPE_PREFIX: &str = "urn:vidimus:problem:";

/// One fault in the arguments, so that a model can correct itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// JSON pointer of the value.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
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
    /// The id under which the gate's own log has more.
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
    pub fn of(refusal: &Refusal, request_id: &str) -> Problem {
        Problem {
            kind: format!("{TYPE_PREFIX}{}", refusal.code),
            title: refusal.code.as_str().replace('_', " "),
            status: status(refusal.code),
            code: refusal.code.as_str().to_owned(),
            detail: refusal.message.clone(),
            path: refusal.path.clone(),
            request_id: request_id.to_owned(),
            errors: Vec::new(),
            call: None,
            request: None,
            state: None,
        }
    }

    /// The code, if this version knows it.
    pub fn known_code(&self) -> Option<Code> {
        self.code.parse().ok()
    }
}

/// The HTTP status number of a code.
pub fn status(code: Code) -> u16 {
    match code.as_str() {
        "json_syntax" | "json_duplicate_key" => 400,
        _ => 422,
    }
}
