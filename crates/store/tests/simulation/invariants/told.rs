//! What somebody outside was told, and may rely on.

use std::collections::BTreeSet;

use vidimus_core::ids::CallId;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::record::RecordType;
use vidimus_core::time::Timestamp;
use vidimus_store::{CallView, DecisionOutcome, Head, Store};

use crate::house::auditor;
use crate::witness::{RequestSeen, Told, Witness};
use crate::world::{World, ready};

pub fn invariant_a_joined_call_has_an_equal_payload(witness: &Witness, joined: &CallView, payload: &(String, String)) {
    let earlier = witness.payloads.get(&joined.call);
    // A call whose answer was lost is known by its request's frozen arguments.
    let frozen = joined.request.as_ref().and_then(|request| witness.requests.get(&request.request));
    if let Some(seen) = frozen {
        must!(seen.frozen.members().tool.as_str() == payload.0, "a call joins one of another tool");
        must!(seen.frozen.canonical_args() == payload.1.as_bytes(), "a call joins one with other arguments");
    }
    if let Some(earlier) = earlier {
        must!(earlier == payload, "a call joins one with another payload");
    }
}

/// The operation as it may move, by somebody who has not read the code: from, to, and at which attempt.
pub fn invariant_an_operation_moves_as_it_may(from: Option<OperationState>, to: OperationState, attempts: u32) {
    use OperationState as S;
    let may = match (from, to) {
        (None, S::Reserved) | (Some(S::Reserved), S::NotStarted) => attempts == 0,
        (Some(S::Reserved), S::Executing) => attempts == 1,
        (Some(S::Unknown), S::Executing) => attempts >= 2,
        (Some(S::Executing), S::Failed) => attempts == 1,
        (Some(S::Executing), S::Succeeded | S::Unknown) | (Some(S::Unknown), S::Succeeded | S::NeedsReconciliation) => attempts >= 1,
        (Some(S::NeedsReconciliation), S::Succeeded | S::Partial | S::NotHappened) => attempts >= 1,
        _ => false,
    };
    must!(may, "an operation goes from {from:?} to {to} after {attempts} attempts");
}

/// A result is the provider's own answer about this operation.
pub fn invariant_a_result_is_of_its_operation(operation: &OperationKey, result: &str) {
    must!(result.contains(&operation.to_string()), "the result of another operation");
}

pub fn invariant_what_was_told_is_durable(world: &World, witness: &Witness, store: &Store, told: &Told) {
    match told {
        Told::Call(call) => must!(ready(store.any_call(*call)).expect("a reading").is_some(), "a call that was told of is gone"),
        Told::End(call, request, operation, result) => {
            let view = ready(store.any_call(*call)).expect("a reading").expect("a call that was told of");
            let now = (view.request.map(|request| request.state), view.operation.map(|operation| (operation.state, operation.result)));
            must!(now.0 == Some(*request), "a request has another end than was told");
            must!(now.1.as_ref().map(|operation| operation.0) == *operation, "an operation has another end than was told");
            must!(&now.1.and_then(|operation| operation.1) == result, "a result is another one than was told");
        }
        Told::Decision(decision, receipt) => {
            let view = ready(store.request(decision.request, auditor())).expect("a reading").expect("a request that was told of");
            must!(view.decisions.iter().any(|known| known.position == receipt.position), "a decision that was told of is gone");
            world.reach("told and durable");
        }
        Told::Answer(operation, receipt) => {
            let seen = vidimus_store::OperationSeen::ToRead;
            let detail =
                ready(store.operation_detail(*operation, auditor(), seen)).expect("a reading").expect("an operation that was told of");
            let known = detail.answers.iter().any(|answer| answer.position == receipt.position);
            must!(known, "an answer that was told of is gone");
        }
        // The log was read again: what is to be asked is whether it has what was told.
        Told::Keys(record_type, position) => invariant_what_was_told_of_keys_is_on_record(witness, *record_type, *position),
    }
}

/// An agent that has its call's id is there, whichever of its connections is lost and however late that is noticed.
pub fn invariant_whoever_was_told_is_not_given_up(told_here: &BTreeSet<CallId>, seen: &RequestSeen) {
    let call = seen.frozen.members().call;
    must!(!told_here.contains(&call), "{call} was told, and is orphaned");
}

/// The same envelope again has the same receipt.
pub fn invariant_a_receipt_never_changes(outcome: &DecisionOutcome, told: &DecisionOutcome) {
    let (DecisionOutcome::Recorded(first) | DecisionOutcome::Stored(first)) = told else { return };
    let (DecisionOutcome::Recorded(again) | DecisionOutcome::Stored(again)) = outcome else {
        panic!("a decision that counted: {outcome:?}")
    };
    must!(again == first, "the same decision has two receipts");
}

pub fn invariant_the_log_only_grows(witness: &Witness, head: Head) {
    must!(head.size == witness.size(), "the head is not at the end of the log");
    must!(head.root == witness.root(), "the head's root is not that of the records that were read");
}

pub fn invariant_time_never_runs_back(last: Option<Timestamp>, at: Timestamp) {
    must!(last.is_none_or(|last| last <= at), "a record is older than the one before it");
}

pub fn invariant_what_was_told_of_keys_is_on_record(witness: &Witness, record_type: RecordType, position: u64) {
    must!(witness.record_type(position) == Some(record_type), "a `{record_type}` was told of, and is not on record at {position}");
}
