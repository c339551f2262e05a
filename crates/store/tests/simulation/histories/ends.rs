//! What was told and is gone, what waits for ever, and what comes too early.

use std::rc::Rc;

use vidimus_core::bytes::Digest;
use vidimus_core::ids::{CallId, Effect};
use vidimus_core::operation::OperationState;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_store::{CallView, DecisionOutcome, DecisionReceipt, Head, VerifyError};

use super::History;
use super::making::{REFUND, at, operation_of, request, witness};
use crate::house::{House, name};
use crate::invariants::*;
use crate::witness::{Told, Witness};
use crate::world::World;

pub const HISTORIES: &[History] = &[
    ("invariant_a_joined_call_has_an_equal_payload", joined_with_other_arguments),
    ("invariant_an_operation_moves_as_it_may", a_final_state_moves),
    ("invariant_an_operation_moves_as_it_may", a_later_attempt_fails),
    ("invariant_a_result_is_of_its_operation", the_result_of_another),
    ("invariant_what_was_told_is_durable", a_call_that_was_told_of_is_gone),
    ("invariant_what_was_told_of_keys_is_on_record", a_stop_that_was_told_of_is_gone),
    ("invariant_whoever_was_told_is_not_given_up", given_up_after_it_was_told),
    ("invariant_a_receipt_never_changes", two_receipts_of_one_decision),
    ("invariant_the_log_only_grows", a_shorter_log),
    ("invariant_the_log_only_grows", another_log),
    ("invariant_time_never_runs_back", an_older_record),
    ("invariant_a_start_needs_nobody", a_ledger_that_contradicts_its_log),
    ("invariant_the_same_seed_gives_the_same_trace", two_traces),
    ("invariant_nothing_waits_forever", a_request_that_waits),
    ("invariant_nothing_waits_forever", an_operation_in_doubt),
    ("invariant_what_only_people_can_tell_has_been_told_to_them", nobody_is_told),
    ("invariant_a_request_is_passed_on_once_and_not_early", passed_on_too_early),
    ("invariant_a_request_is_passed_on_once_and_not_early", passed_on_twice),
    ("invariant_nothing_expires_early", expired_too_early),
];

fn joined_with_other_arguments(house: &Rc<House>, broken: bool) {
    let call = CallId::from_random([9; 16]);
    let mut witness = Witness::of(house);
    let payload = |amount: &str| ("tag".to_owned(), format!(r#"{{"tag":"{amount}"}}"#));
    witness.payloads.insert(call, payload("1"));
    let joined = CallView {
        call,
        agent: Some(name("billing")),
        run: None,
        tool: name("tag"),
        effect: Effect::Write,
        request: None,
        operation: None,
    };
    invariant_a_joined_call_has_an_equal_payload(&witness, &joined, &payload(if broken { "2" } else { "1" }));
}

fn given_up_after_it_was_told(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let told = if broken { seen.frozen.members().call } else { CallId::from_random([9; 16]) };
    invariant_whoever_was_told_is_not_given_up(&[told].into(), &seen);
}

fn a_final_state_moves(_: &Rc<House>, broken: bool) {
    let from = if broken { OperationState::Succeeded } else { OperationState::Executing };
    invariant_an_operation_moves_as_it_may(Some(from), OperationState::Unknown, 1);
}

/// Only who began once and did nothing has done nothing.
fn a_later_attempt_fails(_: &Rc<House>, broken: bool) {
    invariant_an_operation_moves_as_it_may(Some(OperationState::Executing), OperationState::Failed, 1 + u32::from(broken));
}

fn the_result_of_another(house: &Rc<House>, broken: bool) {
    let operation = operation_of(&request(house, REFUND));
    let result = if broken { r#"{"id":"another"}"#.to_owned() } else { format!(r#"{{"id":"{operation}"}}"#) };
    invariant_a_result_is_of_its_operation(&operation, &result);
}

/// A course of events to its end, in which somebody was told something.
fn lived(house: &Rc<House>) -> Rc<World> {
    let world = World::begin(house, 7, None, false);
    world.run();
    world
}

fn a_call_that_was_told_of_is_gone(house: &Rc<House>, broken: bool) {
    let world = lived(house);
    let store = world.store().expect("a gate that runs");
    let witness = world.witness.borrow();
    assert!(!witness.told.is_empty(), "nobody was told anything");
    for told in &witness.told {
        invariant_what_was_told_is_durable(&world, &witness, &store, told);
    }
    if broken {
        invariant_what_was_told_is_durable(&world, &witness, &store, &Told::Call(CallId::from_random([9; 16])));
    }
}

fn a_stop_that_was_told_of_is_gone(house: &Rc<House>, broken: bool) {
    let world = lived(house);
    let witness = world.witness.borrow();
    let last = witness.size() - 1;
    let kind = witness.record_type(last).expect("a record");
    invariant_what_was_told_of_keys_is_on_record(&witness, if broken { RecordType::GateInitialised } else { kind }, last);
}

fn two_receipts_of_one_decision(house: &Rc<House>, broken: bool) {
    let receipt = |position| DecisionReceipt {
        request: request(house, REFUND).frozen.members().request,
        state: RequestState::Pending,
        position,
        given: 1,
        needed: 2,
        operation: None,
    };
    let told = DecisionOutcome::Recorded(receipt(70));
    invariant_a_receipt_never_changes(&DecisionOutcome::Stored(receipt(70 + u64::from(broken))), &told);
}

fn a_shorter_log(house: &Rc<House>, broken: bool) {
    let witness = Witness::of(house);
    let head = Head { size: witness.size() - u64::from(broken), root: witness.root() };
    invariant_the_log_only_grows(&witness, head);
}

fn another_log(house: &Rc<House>, broken: bool) {
    let witness = Witness::of(house);
    let root = if broken { Digest::of(b"another log") } else { witness.root() };
    invariant_the_log_only_grows(&witness, Head { size: witness.size(), root });
}

fn an_older_record(_: &Rc<House>, broken: bool) {
    invariant_time_never_runs_back(Some(at(1)), at(u64::from(!broken)));
}

fn a_ledger_that_contradicts_its_log(_: &Rc<House>, broken: bool) {
    invariant_a_start_needs_nobody(&if broken { Err(VerifyError::Contradicted("a column".to_owned())) } else { Ok(()) });
}

fn two_traces(_: &Rc<House>, broken: bool) {
    let other: &[u8] = if broken { b"another" } else { b"one" };
    invariant_the_same_seed_gives_the_same_trace(&Digest::of(b"one"), &Digest::of(other));
}

fn a_request_that_waits(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, REFUND);
    seen.state = if broken { RequestState::Pending } else { RequestState::Expired };
    invariant_nothing_waits_forever(&witness(house, seen, |_| {}).0);
}

fn an_operation_in_doubt(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, REFUND);
    seen.state = RequestState::Consumed;
    let state = if broken { OperationState::Unknown } else { OperationState::NeedsReconciliation };
    invariant_nothing_waits_forever(&witness(house, seen, |operation| operation.state = Some(state)).0);
}

fn nobody_is_told(house: &Rc<House>, broken: bool) {
    let (witness, _) = witness(house, request(house, REFUND), |operation| {
        (operation.state, operation.paged) = (Some(OperationState::NeedsReconciliation), !broken);
    });
    invariant_what_only_people_can_tell_has_been_told_to_them(&witness);
}

fn passed_on_too_early(house: &Rc<House>, broken: bool) {
    invariant_a_request_is_passed_on_once_and_not_early(&request(house, REFUND), Some(90), at(if broken { 89 } else { 90 }));
}

fn passed_on_twice(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, REFUND);
    seen.escalated = broken;
    invariant_a_request_is_passed_on_once_and_not_early(&seen, Some(90), at(100));
}

fn expired_too_early(house: &Rc<House>, broken: bool) {
    invariant_nothing_expires_early(&request(house, REFUND), at(if broken { 299 } else { 300 }));
}
