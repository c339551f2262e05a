//! A tool call on the wire: what an agent sends, and what it is told.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, Effect, RequestId, Reversibility, RunId};
use vidimus_core::operation::OperationKey;
use vidimus_core::standing::Standing;
use vidimus_core::time::Timestamp;

use crate::RawJson;
use crate::body::{bounded, members, parse_body};
use crate::limits::{CALL_BODY_BYTES_MAX, CALL_KEY_CHARS_MAX, CALL_KEY_CHARS_MIN, SAYS_CHARS_MAX};

/// The body of `POST /v1/calls`.
#[derive(Debug, Clone, Serialize)]
pub struct CallRequest {
    /// The tool's name, exactly as in the effect table.
    pub tool: String,
    /// The arguments, passed on as these bytes.
    pub args: RawJson,
    /// The run that the call belongs to; without one, the credential's fixed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The caller's own operation key: made when its workflow decides, the same on every retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_key: Option<String>,
    /// The agent's own words on why; shown apart, trusted by nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

impl CallRequest {
    /// A call of a tool with these arguments and nothing else.
    pub fn new(tool: impl Into<String>, args: RawJson) -> CallRequest {
        CallRequest { tool: tool.into(), args, run: None, call_key: None, says: None }
    }

    /// The call under the caller's own operation key.
    pub fn with_call_key(mut self, call_key: impl Into<String>) -> CallRequest {
        self.call_key = Some(call_key.into());
        self
    }

    /// Reads a body from outside.
    ///
    /// *Errors*: the `json_…` codes of our parser for every class of document that two readers could read differently,
    /// `field_missing`, `field_unknown`, `field_malformed` with the path.
    /// *Invariant*: `args` are the bytes that came; the document around them holds no name twice.
    pub fn parse(body: &[u8]) -> Result<CallRequest, Refusal> {
        /// Finds the span of the arguments in a document that our own parser has judged.
        #[derive(Deserialize)]
        struct Span {
            args: RawJson,
        }
        let json = parse_body(body, CALL_BODY_BYTES_MAX)?;
        let json = members(&json, &["tool", "args"], &["run", "call_key", "says"])?;
        let fields = json.fields()?;
        let span: Span = serde_json::from_slice(body)
            .map_err(|_| Refusal::new(Code::JsonSyntax, "the body is not one JSON document; send one object"))?;
        if fields.value("args")?.as_object().is_none() {
            return Err(Refusal::new(Code::FieldMalformed, "the arguments are not an object; send them by name").at("/args"));
        }
        Ok(CallRequest {
            tool: fields.string("tool")?.to_owned(),
            args: span.args,
            run: fields.optional_parsed("run")?,
            call_key: bounded(&fields, "call_key", CALL_KEY_CHARS_MIN, CALL_KEY_CHARS_MAX)?,
            says: bounded(&fields, "says", 0, SAYS_CHARS_MAX)?,
        })
    }

    /// The call as part of a run.
    pub fn in_run(mut self, run: RunId) -> CallRequest {
        self.run = Some(run);
        self
    }

    /// The call with the agent's own words.
    pub fn saying(mut self, says: impl Into<String>) -> CallRequest {
        self.says = Some(says.into());
        self
    }
}

/// Writes the statuses, their spelling, their HTTP status, what the same call gets, when to ask again, and their words from
/// one table. `docs/http.md` prints it.
macro_rules! statuses {
    ($($(#[doc = $doc:literal])+ $variant:ident, $text:literal, $ended:literal, $http:literal, $standing:ident, $retry:expr, $words:literal;)+) => {
        /// Where a call stands. A refused call has none: it is answered with a problem document.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum CallStatus {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl CallStatus {
            /// Every status, in the order of the table.
            pub const ALL: &'static [CallStatus] = &[$(CallStatus::$variant),+];

            /// The status as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(CallStatus::$variant => $text,)+ }
            }

            /// Whether nothing will change any more without a person's doing.
            pub const fn has_ended(self) -> bool {
                match self { $(CallStatus::$variant => $ended,)+ }
            }

            /// The HTTP status of an answer that says it.
            pub const fn http_status(self) -> u16 {
                match self { $(CallStatus::$variant => $http,)+ }
            }

            /// What the same call gets when it is sent again.
            pub const fn standing(self) -> Standing {
                match self { $(CallStatus::$variant => Standing::$standing,)+ }
            }

            /// When asking again may tell more. *Unit*: seconds. None where nothing more will come.
            pub const fn retry_after_s(self) -> Option<u64> {
                match self { $(CallStatus::$variant => $retry,)+ }
            }

            /// The verdict in words that cannot be read as another's.
            pub const fn words(self) -> &'static str {
                match self { $(CallStatus::$variant => $words,)+ }
            }
        }
    };
}

statuses! {
    /// It ran, and this is its result.
    Executed, "executed", true, 200, Answered, None, "the call ran and this is its result";
    /// A person is asked.
    Pending, "pending", false, 202, Open, Some(10), "the call waits for a person to decide; it has not run";
    /// The quorum is reached, nothing has been sent.
    Approved, "approved", false, 202, Open, Some(2), "people signed the call; it has not run yet";
    /// An attempt is under way.
    Executing, "executing", false, 202, Open, Some(1), "the call is being sent; its outcome is not known yet";
    /// A person refused it.
    Denied, "denied", true, 200, Answered, None, "a person refused the call; it did not run and will not run";
    /// The permission was taken back unused.
    Revoked, "revoked", true, 200, Answered, None, "the permission was taken back before the call ran; it did not run and will not run";
    /// Nobody decided in time.
    Expired, "expired", true, 200, Over, None, "nobody decided in time; the call did not run and will not run";
    /// It was taken back, or its agent was gone for too long.
    Withdrawn, "withdrawn", true, 200, Over, None, "the call was withdrawn; it did not run and will not run";
    /// What it rests on changed under it.
    Stale, "stale", true, 200, Over, None, "what the call rests on changed while it waited; it did not run and will not run";
    /// The one attempt provably had no effect.
    Failed, "failed", true, 200, Over, None, "the call was tried and had no effect";
    /// It was decided and never sent.
    NotStarted, "not_started", true, 200, Over, None, "the call was never sent; it had no effect";
    /// It was sent, and what happened is being looked for.
    Unknown, "unknown", false, 202, Open, Some(5), "the call was sent and its outcome is not known; do not send it again";
    /// It was sent, and a person has to say what happened.
    NeedsReconciliation, "needs_reconciliation", true, 202, Open, Some(300), "the call was sent and its outcome could not be established; a person looks into it; do not send it again";
    /// A person said that a part of it happened.
    Partial, "partial", true, 200, Answered, None, "a person established that a part of the call took effect";
    /// A person said that it did not happen.
    NotHappened, "not_happened", true, 200, Over, None, "a person established that the call had no effect";
}

/// Why a person refused, as the agent may know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialNotice {
    /// The kind of reason: one of [`crate::request::DenialKind`].
    pub kind: String,
    /// The person's note to the agent.
    pub note: String,
    /// The role that the person decided in; never the person.
    pub role: String,
}

/// What an agent is told about a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Where it stands.
    pub status: CallStatus,
    /// The stable code: the status, or more exactly why.
    pub code: String,
    /// The same in words.
    pub words: String,
    /// The approval request, for money.
    pub request: Option<RequestId>,
    /// What people sign.
    pub request_sha256: Option<Digest>,
    /// The salted digest of the arguments.
    pub args_sha256: Option<Digest>,
    /// The operation's key, for writes and money.
    pub operation: Option<OperationKey>,
    /// The effect of the tool.
    pub effect: Effect,
    /// The result, byte for byte.
    pub result: Option<RawJson>,
    /// Whether the result is of an earlier equal call, not of this one.
    pub stored: bool,
    /// Why it was refused, when a person did.
    pub denial: Option<DenialNotice>,
    /// Earlier requests of an equal business effect.
    pub earlier: Vec<RequestId>,
    /// Until when people may decide.
    pub waits_until: Option<Timestamp>,
    /// The number of the attempt that the outcome is of.
    pub attempt: Option<u32>,
}

/// One tool that an agent may use: an entry of `GET /v1/tools`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolDescription {
    /// The tool.
    pub tool: String,
    /// What a call can do to the world.
    pub effect: Effect,
    /// Whether it can be undone; none for a read.
    pub reversibility: Option<Reversibility>,
    /// How a repeated call is made safe.
    pub retry: RetryRule,
    /// The same in words, for a model to read.
    pub retry_words: String,
    /// The JSON Schema of the arguments.
    pub schema: RawJson,
}

/// What may be repeated, and by whom. The label decides it, not the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryRule {
    /// It changes nothing: the gate repeats it on timeout, and so may the agent.
    Repeat,
    /// The gate alone repeats it; the agent may send it again under the same `call_key`.
    SameKey,
    /// Sent once; after a lost answer the gate asks the provider.
    Ask,
    /// Sent once; after a lost answer a person finds out.
    Never,
}
