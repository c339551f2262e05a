//! The states of an approval request. Owns the one transition function; knows neither who decides nor how time is told.

use crate::code::{Code, Refusal};
use crate::ids::words;

words!(
    /// Where an approval request stands.
    RequestState {
        /// Waits for people.
        Pending = "pending",
        /// The quorum is reached; nothing has been redeemed yet.
        Approved = "approved",
        /// Its first execution token was redeemed. Final: from here the operation tells what happened.
        Consumed = "consumed",
        /// A person said no. Final.
        Denied = "denied",
        /// Its time ran out. Final; nothing ran.
        Expired = "expired",
        /// Its agent took it back. Final; nothing ran.
        Withdrawn = "withdrawn",
        /// Its row, a role or a referent changed. Final; nothing ran.
        Stale = "stale",
        /// A person stopped it after the quorum. Final; nothing ran.
        Revoked = "revoked",
    }
);

/// What can happen to an approval request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestInput {
    /// An approval was recorded; whether the quorum is reached with it.
    Approve {
        /// All needs are met.
        quorum: bool,
    },
    /// A denial was recorded.
    Deny,
    /// An approver takes back their own approval.
    Retract,
    /// An eligible person stops an approved request.
    Revoke,
    /// An eligible person asks for more time.
    MoreTime,
    /// The agent takes the request back.
    Withdraw,
    /// The last moment has come.
    Expire,
    /// The row, a role or a referent is no longer what was frozen.
    MakeStale,
    /// An execution token for it is being redeemed.
    Redeem,
}

impl RequestInput {
    /// Every input, quorum told apart.
    pub const ALL: &'static [RequestInput] = &[
        RequestInput::Approve { quorum: false },
        RequestInput::Approve { quorum: true },
        RequestInput::Deny,
        RequestInput::Retract,
        RequestInput::Revoke,
        RequestInput::MoreTime,
        RequestInput::Withdraw,
        RequestInput::Expire,
        RequestInput::MakeStale,
        RequestInput::Redeem,
    ];
}

impl RequestState {
    /// Whether nothing can follow. `consumed` is final for the request; its operation goes on.
    pub const fn is_final(self) -> bool {
        match self {
            RequestState::Pending | RequestState::Approved => false,
            RequestState::Consumed
            | RequestState::Denied
            | RequestState::Expired
            | RequestState::Withdrawn
            | RequestState::Stale
            | RequestState::Revoked => true,
        }
    }
}

/// The state after an input.
///
/// *Errors*: `request_already_decided`, `request_expired`, `request_withdrawn`, `request_stale`, `request_revoked`,
/// `request_not_approved`, `request_not_pending`: the state stays as it is.
pub fn apply(state: RequestState, input: RequestInput) -> Result<RequestState, Refusal> {
    use RequestInput as I;
    use RequestState as S;
    match (state, input) {
        (S::Pending, I::Approve { quorum: true }) => Ok(S::Approved),
        (S::Pending, I::Approve { quorum: false } | I::Retract | I::MoreTime) => Ok(S::Pending),
        (S::Pending, I::Deny) => Ok(S::Denied),
        (S::Pending, I::Withdraw) => Ok(S::Withdrawn),
        (S::Pending, I::Expire) => Ok(S::Expired),
        (S::Pending, I::MakeStale) => Ok(S::Stale),
        (S::Pending, I::Revoke) => Err(refuse(Code::RequestNotApproved, "is not approved yet; deny it instead")),
        (S::Pending, I::Redeem) => Err(refuse(Code::RequestNotApproved, "is not approved; wait for the quorum")),

        (S::Approved, I::Revoke) => Ok(S::Revoked),
        (S::Approved, I::Expire) => Ok(S::Expired),
        (S::Approved, I::MakeStale) => Ok(S::Stale),
        (S::Approved, I::Redeem) => Ok(S::Consumed),
        (S::Approved, I::Approve { .. } | I::Deny) => Err(refuse(Code::RequestAlreadyDecided, "is approved already; revoke it to stop it")),
        (S::Approved, I::Retract) => Err(refuse(Code::RequestAlreadyDecided, "has its quorum; revoke it instead")),
        (S::Approved, I::MoreTime | I::Withdraw) => Err(refuse(Code::RequestNotPending, "no longer waits; nothing changes")),

        // A later attempt of the same operation redeems a token of its own.
        (S::Consumed, I::Redeem) => Ok(S::Consumed),
        (
            S::Consumed | S::Denied,
            I::Approve { .. } | I::Deny | I::Retract | I::Revoke | I::MoreTime | I::Withdraw | I::Expire | I::MakeStale,
        ) => Err(refuse(Code::RequestAlreadyDecided, "is decided already; read its outcome")),
        (S::Denied, I::Redeem) => Err(refuse(Code::RequestAlreadyDecided, "was denied; nothing runs")),
        (
            S::Expired,
            I::Approve { .. } | I::Deny | I::Retract | I::Revoke | I::MoreTime | I::Withdraw | I::Expire | I::MakeStale | I::Redeem,
        ) => Err(refuse(Code::RequestExpired, "has expired; nothing runs, the agent may ask again")),
        (
            S::Withdrawn,
            I::Approve { .. } | I::Deny | I::Retract | I::Revoke | I::MoreTime | I::Withdraw | I::Expire | I::MakeStale | I::Redeem,
        ) => Err(refuse(Code::RequestWithdrawn, "was withdrawn by its agent; nothing runs")),
        (
            S::Stale,
            I::Approve { .. } | I::Deny | I::Retract | I::Revoke | I::MoreTime | I::Withdraw | I::Expire | I::MakeStale | I::Redeem,
        ) => Err(refuse(Code::RequestStale, "is stale: what it was frozen on has changed; the agent must ask again")),
        (
            S::Revoked,
            I::Approve { .. } | I::Deny | I::Retract | I::Revoke | I::MoreTime | I::Withdraw | I::Expire | I::MakeStale | I::Redeem,
        ) => Err(refuse(Code::RequestRevoked, "was stopped by a person; nothing runs")),
    }
}

fn refuse(code: Code, clause: &str) -> Refusal {
    Refusal::new(code, format!("the request {clause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are states, columns the inputs of `RequestInput::ALL`; a dot is a refusal.
    const TABLE: &str = "
        pending    pending approved denied  pending .       pending withdrawn expired stale .
        approved   .       .        .       .       revoked .       .         expired stale consumed
        consumed   .       .        .       .       .       .       .         .       .     consumed
        denied     .       .        .       .       .       .       .         .       .     .
        expired    .       .        .       .       .       .       .         .       .     .
        withdrawn  .       .        .       .       .       .       .         .       .     .
        stale      .       .        .       .       .       .       .         .       .     .
        revoked    .       .        .       .       .       .       .         .       .     .
    ";

    #[test]
    fn every_pair_is_as_in_the_table() {
        let mut pairs = 0;
        for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let state: RequestState = words.next().expect("a state").parse().expect("a known state");
            for (input, expected) in RequestInput::ALL.iter().zip(words) {
                let found = apply(state, *input);
                match expected {
                    "." => assert!(found.is_err(), "{state} {input:?}"),
                    next => assert_eq!(found.expect(next).as_str(), next, "{state} {input:?}"),
                }
                pairs += 1;
            }
        }
        assert_eq!(pairs, RequestState::ALL.len() * RequestInput::ALL.len());
    }

    #[test]
    fn a_final_state_never_becomes_another() {
        for state in RequestState::ALL.iter().filter(|state| state.is_final()) {
            for input in RequestInput::ALL {
                assert!(matches!(apply(*state, *input), Err(_) | Ok(RequestState::Consumed)), "{state} {input:?}");
            }
        }
    }
}
