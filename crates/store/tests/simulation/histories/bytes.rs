//! Other bytes than were signed.

use std::rc::Rc;

use vidimus_core::json::Json;

use super::History;
use super::making::{REFUND, bea, frozen, message, request, rows_without, statement, witness, write_seen};
use crate::house::{BILLING, House};
use crate::invariants::*;
use crate::provider::Message;

pub const HISTORIES: &[History] = &[
    ("invariant_shown_and_signed_are_the_frozen_bytes", other_bytes_are_signed),
    ("invariant_shown_and_signed_are_the_frozen_bytes", other_arguments_are_signed),
    ("invariant_shown_and_signed_are_the_frozen_bytes", something_else_is_shown),
    ("invariant_the_executed_bytes_are_the_frozen_ones", a_cent_more_is_executed),
    ("invariant_a_write_is_sent_as_it_was_first_intended", another_label_is_sent_again),
    ("invariant_a_write_is_sent_as_it_was_first_intended", a_write_goes_to_another_tool),
    ("invariant_what_an_argument_names_is_what_was_signed", a_name_means_another_account),
    ("invariant_what_runs_rests_on_the_row_that_was_signed", it_runs_by_another_row),
    ("invariant_nothing_waits_on_a_row_that_changed", it_waits_on_another_row),
];

fn other_bytes_are_signed(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let mut statement = statement(house, bea(house), &seen, BILLING);
    if broken {
        statement.request_sha256 = statement.args_sha256;
    }
    invariant_shown_and_signed_are_the_frozen_bytes(house, &statement, &seen.frozen);
}

fn other_arguments_are_signed(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let mut statement = statement(house, bea(house), &seen, BILLING);
    if broken {
        statement.args_sha256 = statement.request_sha256;
    }
    invariant_shown_and_signed_are_the_frozen_bytes(house, &statement, &seen.frozen);
}

fn something_else_is_shown(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let mut statement = statement(house, bea(house), &seen, BILLING);
    if broken {
        statement.shown_sha256 = statement.request_sha256;
    }
    invariant_shown_and_signed_are_the_frozen_bytes(house, &statement, &seen.frozen);
}

fn a_cent_more_is_executed(house: &Rc<House>, broken: bool) {
    let mut sent = message(&request(house, REFUND), 1);
    if broken {
        sent.args = sent.args.replace("1500", "1501");
    }
    invariant_the_executed_bytes_are_the_frozen_ones(&witness(house, request(house, REFUND), |_| {}).0, &sent);
}

/// A write of the house, and what its second attempt sends.
fn sent_again(house: &Rc<House>, change: impl FnOnce(&mut Message)) {
    let write = write_seen(house, "label");
    let mut sent = Message { tool: write.tool.clone(), args: write.args.clone(), ..message(&request(house, REFUND), 2) };
    let (witness, _) = witness(house, request(house, REFUND), |seen| (seen.request, seen.write) = (None, Some(write)));
    change(&mut sent);
    invariant_a_write_is_sent_as_it_was_first_intended(&witness, &sent);
}

fn another_label_is_sent_again(house: &Rc<House>, broken: bool) {
    sent_again(house, |sent| sent.args = sent.args.replace('1', if broken { "2" } else { "1" }));
}

fn a_write_goes_to_another_tool(house: &Rc<House>, broken: bool) {
    sent_again(house, |sent| sent.tool = if broken { "tag" } else { "label" }.to_owned());
}

fn a_name_means_another_account(house: &Rc<House>, broken: bool) {
    let named = |account: &str| Json::object([("/payee", account.into())]);
    let frozen = frozen(house, REFUND, |draft| draft.referents = named("DE1"));
    invariant_what_an_argument_names_is_what_was_signed(&frozen, Some(&named(if broken { "FR1" } else { "DE1" })));
}

fn it_runs_by_another_row(house: &Rc<House>, broken: bool) {
    let rows = rows_without(house, if broken { "refund" } else { "wire" });
    invariant_what_runs_rests_on_the_row_that_was_signed(&rows, &request(house, REFUND).frozen);
}

fn it_waits_on_another_row(house: &Rc<House>, broken: bool) {
    let rows = rows_without(house, if broken { "refund" } else { "wire" });
    invariant_nothing_waits_on_a_row_that_changed(&witness(house, request(house, REFUND), |_| {}).0, &rows);
}
