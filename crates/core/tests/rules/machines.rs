//! The two state machines against models that remember what happened instead of naming states: any course of inputs, and after
//! each the same state, attempt and code on both sides.

use proptest::prelude::*;
use vidimus_core::code::Code;
use vidimus_core::operation::{self, Answer, NextStep, Operation, OperationInput, OperationState, next_step};
use vidimus_core::request::{self, RequestInput, RequestState};
use vidimus_core::table::Idempotency;

/// What has happened to an operation so far.
#[derive(Default, Clone, PartialEq, Debug)]
struct Deed {
    begun: u32,
    at_work: bool,
    /// People must find out.
    handed_over: bool,
    ended: Option<OperationState>,
}

impl Deed {
    /// Takes an input in; false where nothing of the kind may happen now.
    fn take(&mut self, input: OperationInput) -> bool {
        let idle = !self.at_work && !self.handed_over && self.ended.is_none();
        let in_doubt = idle && self.begun > 0;
        let person = self.handed_over && self.ended.is_none();
        match input {
            OperationInput::Redeem if idle => (self.begun, self.at_work) = (self.begun + 1, true),
            OperationInput::Answer(Answer::Done) if self.at_work => self.end(OperationState::Succeeded),
            // Who began once and did nothing has done nothing; who began before may have.
            OperationInput::Answer(Answer::NothingSent | Answer::NoEffect) if self.at_work && self.begun == 1 => {
                self.end(OperationState::Failed);
            }
            OperationInput::Answer(_) | OperationInput::LeaseExpire if self.at_work => self.at_work = false,
            OperationInput::End if idle && self.begun == 0 => self.end(OperationState::NotStarted),
            OperationInput::StatusFound if in_doubt => self.end(OperationState::Succeeded),
            OperationInput::GiveUp if in_doubt => self.handed_over = true,
            OperationInput::Happened if person => self.end(OperationState::Succeeded),
            OperationInput::HappenedInPart if person => self.end(OperationState::Partial),
            OperationInput::DidNotHappen if person => self.end(OperationState::NotHappened),
            _ => return false,
        }
        true
    }

    fn end(&mut self, state: OperationState) {
        (self.at_work, self.ended) = (false, Some(state));
    }

    fn state(&self) -> OperationState {
        match (self.ended, self.at_work, self.handed_over, self.begun) {
            (Some(state), ..) => state,
            (None, true, ..) => OperationState::Executing,
            (None, false, true, _) => OperationState::NeedsReconciliation,
            (None, false, false, 0) => OperationState::Reserved,
            (None, false, false, _) => OperationState::Unknown,
        }
    }
}

/// What has happened to a request so far.
#[derive(Default, Clone, PartialEq, Debug)]
struct Ask {
    approved: bool,
    used: bool,
    ended: Option<RequestState>,
}

impl Ask {
    /// The code with which an input is refused, or none.
    fn take(&mut self, input: RequestInput) -> Option<Code> {
        if self.used {
            return (input != RequestInput::Redeem).then_some(Code::RequestAlreadyDecided);
        }
        match self.ended {
            Some(RequestState::Denied) => return Some(Code::RequestAlreadyDecided),
            Some(RequestState::Expired) => return Some(Code::RequestExpired),
            Some(RequestState::Withdrawn) => return Some(Code::RequestWithdrawn),
            Some(RequestState::Stale) => return Some(Code::RequestStale),
            Some(_) => return Some(Code::RequestRevoked),
            None => {}
        }
        match (self.approved, input) {
            (false, RequestInput::Approve { quorum }) => self.approved = quorum,
            (false, RequestInput::Retract | RequestInput::MoreTime) => {}
            (false, RequestInput::Deny) => self.ended = Some(RequestState::Denied),
            (false, RequestInput::Withdraw) => self.ended = Some(RequestState::Withdrawn),
            (false, RequestInput::Revoke | RequestInput::Redeem) => return Some(Code::RequestNotApproved),
            (true, RequestInput::Revoke) => self.ended = Some(RequestState::Revoked),
            (true, RequestInput::Redeem) => self.used = true,
            (true, RequestInput::Approve { .. } | RequestInput::Deny | RequestInput::Retract) => return Some(Code::RequestAlreadyDecided),
            (true, RequestInput::MoreTime | RequestInput::Withdraw) => return Some(Code::RequestNotPending),
            (_, RequestInput::Expire) => self.ended = Some(RequestState::Expired),
            (_, RequestInput::MakeStale) => self.ended = Some(RequestState::Stale),
        }
        None
    }

    fn state(&self) -> RequestState {
        match (self.ended, self.used, self.approved) {
            (Some(state), ..) => state,
            (None, true, _) => RequestState::Consumed,
            (None, false, true) => RequestState::Approved,
            (None, false, false) => RequestState::Pending,
        }
    }
}

/// Attempts beyond which nothing differs any more.
const ATTEMPTS: u32 = 4;

#[test]
fn an_operation_is_what_has_happened_to_it_in_every_state_that_can_be_reached() {
    let mut reached = vec![(Operation { state: OperationState::Reserved, attempt: 0 }, Deed::default())];
    let mut pairs = Vec::new();
    let mut next = 0;
    while let Some((operation, deed)) = reached.get(next).cloned() {
        next += 1;
        for input in OperationInput::ALL {
            let mut after = deed.clone();
            let taken = after.take(*input);
            pairs.push((operation.state, *input));
            let Ok(moved) = operation::apply(operation, *input) else {
                assert!(!taken && after == deed, "{operation:?} refuses {input:?}");
                continue;
            };
            assert!(taken, "{operation:?} takes {input:?}");
            assert_eq!((moved.state, moved.attempt), (after.state(), after.begun), "after {input:?} in {operation:?}");
            if moved.attempt <= ATTEMPTS && !reached.contains(&(moved, after.clone())) {
                reached.push((moved, after));
            }
        }
    }
    for state in OperationState::ALL {
        for input in OperationInput::ALL {
            assert!(pairs.contains(&(*state, *input)), "`{state}` was never met by {input:?}");
        }
    }
}

#[test]
fn a_request_is_what_has_happened_to_it_in_every_state_that_can_be_reached() {
    let mut reached = vec![(RequestState::Pending, Ask::default())];
    let mut pairs = Vec::new();
    let mut next = 0;
    while let Some((state, ask)) = reached.get(next).cloned() {
        next += 1;
        for input in RequestInput::ALL {
            let mut after = ask.clone();
            let refused = after.take(*input);
            pairs.push((state, *input));
            match request::apply(state, *input) {
                Err(refusal) => {
                    assert_eq!(Some(refusal.code), refused, "{state} and {input:?}");
                    assert_eq!(after, ask, "a refusal changes nothing");
                }
                Ok(moved) => {
                    assert_eq!(refused, None, "{state} takes {input:?}");
                    assert_eq!(moved, after.state(), "after {input:?} in {state}");
                    if !reached.contains(&(moved, after.clone())) {
                        reached.push((moved, after));
                    }
                }
            }
        }
    }
    for state in RequestState::ALL {
        for input in RequestInput::ALL {
            assert!(pairs.contains(&(*state, *input)), "`{state}` was never met by {input:?}");
        }
    }
}

fn course<T: Clone + std::fmt::Debug + 'static>(inputs: &'static [T]) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(prop::sample::select(inputs), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_operation_is_what_has_happened_to_it(inputs in course(OperationInput::ALL)) {
        let mut operation = Operation { state: OperationState::Reserved, attempt: 0 };
        let mut deed = Deed::default();
        for input in inputs {
            let before = operation;
            match operation::apply(operation, input) {
                Ok(next) => {
                    prop_assert!(deed.take(input), "{before:?} took {input:?}");
                    operation = next;
                }
                Err(refusal) => {
                    prop_assert!(!deed.take(input), "{before:?} refused {input:?}");
                    prop_assert_eq!(refusal.code, Code::OperationStateWrong);
                }
            }
            prop_assert_eq!((operation.state, operation.attempt), (deed.state(), deed.begun), "after {:?} in {:?}", input, before);
            prop_assert_eq!(operation.state.is_final(), deed.ended.is_some());
        }
    }

    #[test]
    fn a_request_is_what_has_happened_to_it(inputs in course(RequestInput::ALL)) {
        let mut state = RequestState::Pending;
        let mut ask = Ask::default();
        for input in inputs {
            let before = state;
            let refused = match request::apply(state, input) {
                Ok(next) => {
                    state = next;
                    None
                }
                Err(refusal) => Some(refusal.code),
            };
            prop_assert_eq!(refused, ask.take(input), "{} and {:?}", before, input);
            prop_assert_eq!(state, ask.state(), "after {:?} in {}", input, before);
            prop_assert_eq!(state.is_final(), ask.ended.is_some() || ask.used);
        }
    }

    #[test]
    fn an_outcome_in_doubt_is_attempted_again_only_where_every_reason_holds(
        attempts_max in 1_u32..5, attempt in 1_u32..6, key_valid: bool, checks_hold: bool,
    ) {
        let key = Idempotency::Key { key_valid_s: 60, attempts_max };
        let again = next_step(&key, attempt, key_valid, checks_hold) == NextStep::AttemptAgain;
        prop_assert_eq!(again, attempt < attempts_max && key_valid && checks_hold);
        prop_assert_eq!(next_step(&Idempotency::None, attempt, key_valid, checks_hold), NextStep::GiveUp);
    }
}
