//! The states of an operation: one intended effect on the world, however often it is attempted. Owns the operation key
//! and the one transition function; knows no provider and no clock.

use std::fmt;
use std::str::FromStr;

use crate::bytes::{Digest, serde_as_text};
use crate::code::{Code, Refusal};
use crate::ids::{CallId, Name, RequestId, RunId, words};
use crate::json::Json;
use crate::table::Idempotency;

/// What makes an operation the same one at every attempt: SHA-256 of a canonical array.
///
/// It goes to the provider as the idempotency key. No attempt, trace id or time is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationKey(Digest);

/// What identifies a write that has no approval request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteCaller {
    /// The caller's own operation key: the same on every retry, for ever.
    CallKey(String),
    /// Without one, each call is its own operation.
    Call(RunId, CallId),
}

impl OperationKey {
    /// The key of a money operation.
    pub fn money(tool: &Name, request: &RequestId, args_sha256: &Digest) -> OperationKey {
        OperationKey::of(vec!["money".into(), tool.as_str().into(), request.to_string().into(), args_sha256.to_string().into()])
    }

    /// The key of a write.
    pub fn write(agent: &Name, tool: &Name, caller: &WriteCaller) -> OperationKey {
        let mut parts: Vec<Json> = vec!["write".into(), agent.as_str().into(), tool.as_str().into()];
        match caller {
            WriteCaller::CallKey(key) => parts.push(key.as_str().into()),
            WriteCaller::Call(run, call) => parts.extend([run.to_string().into(), call.to_string().into()]),
        }
        OperationKey::of(parts)
    }

    fn of(parts: Vec<Json>) -> OperationKey {
        // An array of strings always has a canonical form.
        OperationKey(Digest::of(&Json::Array(parts).canonical().unwrap_or_default()))
    }

    /// The digest itself.
    pub const fn digest(&self) -> Digest {
        self.0
    }
}

impl fmt::Display for OperationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for OperationKey {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<OperationKey, Refusal> {
        text.parse().map(OperationKey)
    }
}

serde_as_text!(OperationKey);

words!(
    /// Where an operation stands.
    OperationState {
        /// Approved; nothing has been sent.
        Reserved = "reserved",
        /// An attempt holds the lease.
        Executing = "executing",
        /// Done, with a result.
        Succeeded = "succeeded",
        /// Nothing happened, and nothing can have happened.
        Failed = "failed",
        /// It may have happened.
        Unknown = "unknown",
        /// Only a person can tell.
        NeedsReconciliation = "needs_reconciliation",
        /// A person signed that part of it happened. Final.
        Partial = "partial",
        /// A person signed that it did not happen. Final.
        NotHappened = "not_happened",
        /// Its request ended before anything was sent. Final.
        NotStarted = "not_started",
    }
);

/// What an attempt brought back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// An answer that says done.
    Done,
    /// Not one byte was sent: the connection was refused, or the name not found.
    NothingSent,
    /// A status that the row says means no effect.
    NoEffect,
    /// Anything else: time-out, 5xx, redirect, cut, unreadable or oversized.
    Unclear,
}

/// What can happen to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationInput {
    /// A token for the next attempt is redeemed.
    Redeem,
    /// An answer of this attempt; older ones are evidence and never come here.
    Answer(Answer),
    /// The lease ran out without an answer.
    LeaseExpire,
    /// The request became stale, revoked or expired before anything was sent.
    End,
    /// A status query found it, with our payload.
    StatusFound,
    /// A status query did not find it or failed; a key is used up; a check no longer holds.
    GiveUp,
    /// A person signed that it happened.
    Happened,
    /// A person signed that part of it happened.
    HappenedInPart,
    /// A person signed that it did not happen.
    DidNotHappen,
}

impl OperationInput {
    /// Every input.
    pub const ALL: &'static [OperationInput] = &[
        OperationInput::Redeem,
        OperationInput::Answer(Answer::Done),
        OperationInput::Answer(Answer::NothingSent),
        OperationInput::Answer(Answer::NoEffect),
        OperationInput::Answer(Answer::Unclear),
        OperationInput::LeaseExpire,
        OperationInput::End,
        OperationInput::StatusFound,
        OperationInput::GiveUp,
        OperationInput::Happened,
        OperationInput::HappenedInPart,
        OperationInput::DidNotHappen,
    ];
}

/// The state of an operation and how often it was attempted. The attempt is the fence: an answer names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Where it stands.
    pub state: OperationState,
    /// Attempts begun; 0 before the first.
    pub attempt: u32,
}

impl OperationState {
    /// Whether nothing can follow.
    pub const fn is_final(self) -> bool {
        match self {
            OperationState::Reserved | OperationState::Executing | OperationState::Unknown | OperationState::NeedsReconciliation => false,
            OperationState::Succeeded
            | OperationState::Failed
            | OperationState::Partial
            | OperationState::NotHappened
            | OperationState::NotStarted => true,
        }
    }
}

/// The operation after an input.
///
/// A redeem from `unknown` begins the next attempt; whether the row allows one is [`next_step`]'s to say.
/// *Errors*: `operation_state_wrong`: the operation stays as it is.
pub fn apply(operation: Operation, input: OperationInput) -> Result<Operation, Refusal> {
    use OperationInput as I;
    use OperationState as S;
    let Operation { state, attempt } = operation;
    let to = |state| Ok(Operation { state, attempt });
    let refused = || {
        Err(Refusal::new(
            Code::OperationStateWrong,
            format!("the operation is `{state}` at attempt {attempt}; read its outcome, this changes nothing"),
        ))
    };
    match (state, input) {
        (S::Reserved | S::Unknown, I::Redeem) => Ok(Operation { state: S::Executing, attempt: attempt + 1 }),
        (S::Reserved, I::End) => to(S::NotStarted),
        (S::Reserved, I::Answer(_) | I::LeaseExpire | I::StatusFound | I::GiveUp | I::Happened | I::HappenedInPart | I::DidNotHappen) => {
            refused()
        }

        (S::Executing, I::Answer(Answer::Done)) => to(S::Succeeded),
        // Only the first attempt can prove that nothing happened: an earlier one may have acted.
        (S::Executing, I::Answer(Answer::NothingSent | Answer::NoEffect)) => to(if attempt == 1 { S::Failed } else { S::Unknown }),
        (S::Executing, I::Answer(Answer::Unclear) | I::LeaseExpire) => to(S::Unknown),
        (S::Executing, I::Redeem | I::End | I::StatusFound | I::GiveUp | I::Happened | I::HappenedInPart | I::DidNotHappen) => refused(),

        (S::Unknown, I::StatusFound) => to(S::Succeeded),
        (S::Unknown, I::GiveUp) => to(S::NeedsReconciliation),
        (S::Unknown, I::Answer(_) | I::LeaseExpire | I::End | I::Happened | I::HappenedInPart | I::DidNotHappen) => refused(),

        (S::NeedsReconciliation, I::Happened) => to(S::Succeeded),
        (S::NeedsReconciliation, I::HappenedInPart) => to(S::Partial),
        (S::NeedsReconciliation, I::DidNotHappen) => to(S::NotHappened),
        (S::NeedsReconciliation, I::Redeem | I::Answer(_) | I::LeaseExpire | I::End | I::StatusFound | I::GiveUp) => refused(),

        (
            S::Succeeded | S::Failed | S::Partial | S::NotHappened | S::NotStarted,
            I::Redeem
            | I::Answer(_)
            | I::LeaseExpire
            | I::End
            | I::StatusFound
            | I::GiveUp
            | I::Happened
            | I::HappenedInPart
            | I::DidNotHappen,
        ) => refused(),
    }
}

/// What the gate does about an operation whose outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Send again with the same key.
    AttemptAgain,
    /// Ask the provider what became of it.
    AskStatus,
    /// Hand it to a person.
    GiveUp,
}

/// The next step for an unknown outcome, from the row's facts.
///
/// `key_valid` says that the provider still remembers the key, `checks_hold` that quorum, keys, roles, row and referents
/// are still what they were at the decision.
pub const fn next_step(idempotency: &Idempotency, attempt: u32, key_valid: bool, checks_hold: bool) -> NextStep {
    match idempotency {
        Idempotency::Key { attempts_max, .. } if key_valid && checks_hold && attempt < *attempts_max => NextStep::AttemptAgain,
        Idempotency::Key { .. } | Idempotency::None => NextStep::GiveUp,
        Idempotency::Status(_) => NextStep::AskStatus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are states at attempt 1 and 2, columns the inputs of `OperationInput::ALL`; a dot is a refusal.
    const TABLE: &str = "
        reserved             0 executing . . . . . not_started . . . . .
        executing            1 . succeeded failed  failed  unknown unknown . . . . . .
        executing            2 . succeeded unknown unknown unknown unknown . . . . . .
        unknown              1 executing . . . . . . succeeded needs_reconciliation . . .
        needs_reconciliation 1 . . . . . . . . . succeeded partial not_happened
        succeeded            1 . . . . . . . . . . . .
        failed               1 . . . . . . . . . . . .
        partial              1 . . . . . . . . . . . .
        not_happened         1 . . . . . . . . . . . .
        not_started          0 . . . . . . . . . . . .
    ";

    #[test]
    fn every_pair_is_as_in_the_table() {
        let mut states = std::collections::BTreeSet::new();
        for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let state: OperationState = words.next().expect("a state").parse().expect("a known state");
            let attempt = words.next().expect("an attempt").parse().expect("a number");
            states.insert(state);
            let expectations: Vec<&str> = words.collect();
            assert_eq!(expectations.len(), OperationInput::ALL.len());
            for (input, expected) in OperationInput::ALL.iter().zip(expectations) {
                let found = apply(Operation { state, attempt }, *input);
                match expected {
                    "." => assert_eq!(found.expect_err("a refusal").code, Code::OperationStateWrong, "{state} {input:?}"),
                    next => {
                        let found = found.expect(next);
                        assert_eq!(found.state.as_str(), next, "{state} {input:?}");
                        assert_eq!(found.attempt, attempt + u32::from(*input == OperationInput::Redeem));
                    }
                }
            }
        }
        assert_eq!(states.len(), OperationState::ALL.len());
    }

    #[test]
    fn an_unknown_outcome_is_attempted_again_only_with_a_key() {
        let key = Idempotency::Key { key_valid_s: 60, attempts_max: 3 };
        let cases = [
            (&key, 1, true, true, NextStep::AttemptAgain),
            (&key, 3, true, true, NextStep::GiveUp),
            (&key, 1, false, true, NextStep::GiveUp),
            (&key, 1, true, false, NextStep::GiveUp),
            (&Idempotency::None, 1, true, true, NextStep::GiveUp),
        ];
        for (idempotency, attempt, key_valid, checks_hold, expected) in cases {
            assert_eq!(next_step(idempotency, attempt, key_valid, checks_hold), expected);
        }
    }

    #[test]
    fn keys_differ_where_an_operation_differs() {
        let tool = Name::parse("refund").expect("a name");
        let other = Name::parse("refund2").expect("a name");
        let request = RequestId::from_random([1; 16]);
        let args = Digest::of(b"args");
        let key = OperationKey::money(&tool, &request, &args);
        assert_eq!(key, OperationKey::money(&tool, &request, &args));
        assert_ne!(key, OperationKey::money(&other, &request, &args));
        assert_ne!(key, OperationKey::money(&tool, &RequestId::from_random([2; 16]), &args));
        assert_ne!(key, OperationKey::money(&tool, &request, &Digest::of(b"other")));
        assert_ne!(
            OperationKey::write(&tool, &tool, &WriteCaller::CallKey("k".repeat(16))),
            OperationKey::write(&tool, &other, &WriteCaller::CallKey("k".repeat(16)))
        );
    }
}
