//! Too often, or too much.

use std::rc::Rc;

use vidimus_core::bytes::Digest;
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;

use super::History;
use super::making::{REFUND, at, operation_of, request, reserved, witness, write_seen};
use crate::house::{House, name};
use crate::invariants::*;
use crate::witness::{RequestSeen, WriteSeen};

pub const HISTORIES: &[History] = &[
    ("invariant_effects_never_exceed_approvals", two_effects_of_one_approval),
    ("invariant_one_effect_for_each_operation", twice_for_one_operation),
    ("invariant_what_did_not_happen_has_no_effect", failed_and_done),
    ("invariant_what_succeeded_has_happened", succeeded_and_nothing_there),
    ("invariant_one_open_business_effect", asked_twice_at_once),
    ("invariant_caps_are_never_exceeded", more_than_a_run_may_move),
    ("invariant_caps_are_never_exceeded", more_than_a_day_may_move),
    ("invariant_caps_are_never_exceeded", more_calls_than_an_hour_has),
    ("invariant_a_write_is_sent_again_only_under_its_key", sent_again_without_a_key),
    ("invariant_a_write_is_sent_again_only_under_its_key", sent_again_by_another_row),
    ("invariant_a_write_is_sent_again_only_under_its_key", sent_again_too_often),
    ("invariant_a_write_is_sent_again_only_under_its_key", sent_again_after_its_key),
    ("invariant_a_write_is_sent_again_only_under_its_key", sent_again_for_an_agent_that_is_gone),
    ("invariant_a_cap_refuses_only_what_is_too_much", refused_with_room_left),
    ("invariant_no_agent_has_more_waiting_than_it_may", a_fifth_that_waits),
];

fn two_effects_of_one_approval(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, REFUND);
    seen.approved_at = (!broken).then(|| at(1));
    let (witness, operation) = witness(house, seen, |_| {});
    invariant_effects_never_exceed_approvals(&Effects::from([(operation, 1)]), &witness);
}

fn twice_for_one_operation(house: &Rc<House>, broken: bool) {
    let operation = operation_of(&request(house, REFUND));
    invariant_one_effect_for_each_operation(&Effects::from([(operation, 1 + u32::from(broken))]), &operation);
}

fn failed_and_done(house: &Rc<House>, broken: bool) {
    let operation = operation_of(&request(house, REFUND));
    let effects = Effects::from([(operation, u32::from(broken))]);
    for state in [OperationState::Failed, OperationState::NotHappened, OperationState::NotStarted] {
        invariant_what_did_not_happen_has_no_effect(&effects, &operation, state);
    }
}

fn succeeded_and_nothing_there(house: &Rc<House>, broken: bool) {
    let operation = operation_of(&request(house, REFUND));
    let effects = if broken { Effects::new() } else { Effects::from([(operation, 1)]) };
    invariant_what_succeeded_has_happened(&effects, &operation);
}

/// A write is sent again: of this tool, after so many attempts, so many seconds after the first, its agent revoked at this place.
fn sent_again(house: &Rc<House>, write: &WriteSeen, attempts: u32, after_s: u64, revoked_at: u64) {
    let row = house.tables[0].table.row(&name(&write.tool));
    let revoked = [("billing".to_owned(), revoked_at)].into();
    invariant_a_write_is_sent_again_only_under_its_key(row, write, attempts, &revoked, at(after_s));
}

fn sent_again_without_a_key(house: &Rc<House>, broken: bool) {
    sent_again(house, &write_seen(house, if broken { "tag" } else { "label" }), 1, 10, 0);
}

fn sent_again_by_another_row(house: &Rc<House>, broken: bool) {
    let write = write_seen(house, "label");
    let row_sha256 = if broken { Digest::of(b"another row") } else { write.row_sha256 };
    sent_again(house, &WriteSeen { row_sha256, ..write }, 1, 10, 0);
}

fn sent_again_too_often(house: &Rc<House>, broken: bool) {
    sent_again(house, &write_seen(house, "label"), if broken { 3 } else { 2 }, 10, 0);
}

fn sent_again_after_its_key(house: &Rc<House>, broken: bool) {
    sent_again(house, &write_seen(house, "label"), 1, if broken { 290 } else { 289 }, 0);
}

fn sent_again_for_an_agent_that_is_gone(house: &Rc<House>, broken: bool) {
    sent_again(house, &write_seen(house, "label"), 1, 10, if broken { 51 } else { 49 });
}

fn asked_twice_at_once(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, REFUND);
    seen.state = RequestState::Consumed;
    let again = request(house, REFUND).frozen;
    let ended = if broken { OperationState::Unknown } else { OperationState::Succeeded };
    let (witness, _) = witness(house, seen, |operation| operation.state = Some(ended));
    invariant_one_open_business_effect(&witness, &again);
}

fn more_than_a_run_may_move(house: &Rc<House>, broken: bool) {
    let more = reserved("voucher", if broken { 1_501 } else { 1_500 });
    invariant_caps_are_never_exceeded(&house.tables[0].table, &[reserved("voucher", 2_000)], &more);
}

fn more_than_a_day_may_move(house: &Rc<House>, broken: bool) {
    let mut before = [reserved("voucher", 2_000), reserved("voucher", 1_400)];
    before[0].agent = "support".to_owned();
    before[1].run = "another".to_owned();
    // What did not happen, and what belongs to another day, leaves room.
    before[0].counts = broken;
    invariant_caps_are_never_exceeded(&house.tables[0].table, &before, &reserved("voucher", 1_200));
}

fn more_calls_than_an_hour_has(house: &Rc<House>, broken: bool) {
    let mut before = [reserved("voucher", 1), reserved("voucher", 2), reserved("voucher", 3)];
    for (index, made) in before.iter_mut().enumerate() {
        made.run = format!("run {index}");
    }
    let mut more = reserved("voucher", 4);
    more.at = at(if broken { 3_599 } else { 3_600 });
    invariant_caps_are_never_exceeded(&house.tables[0].table, &before, &more);
}

fn refused_with_room_left(house: &Rc<House>, broken: bool) {
    let would = reserved("voucher", if broken { 1_500 } else { 1_501 });
    invariant_a_cap_refuses_only_what_is_too_much(&house.tables[0].table, &[reserved("voucher", 2_000)], &would);
}

fn a_fifth_that_waits(house: &Rc<House>, broken: bool) {
    let (mut witness, _) = witness(house, request(house, REFUND), |_| {});
    for number in 0..if broken { 3 } else { 2 } {
        let request = vidimus_core::ids::RequestId::from_random([100 + number; 16]);
        let frozen = super::making::frozen(house, REFUND, |draft| draft.business_sha256 = Digest::of(&[number]));
        witness.requests.insert(request, RequestSeen::of(frozen, 60));
    }
    invariant_no_agent_has_more_waiting_than_it_may(&house.tables[0].table, &witness, &request(house, REFUND));
}
