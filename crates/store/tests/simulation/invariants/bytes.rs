//! That the same is shown, signed and executed.

use std::collections::BTreeMap;

use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionStatement;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;
use vidimus_core::json::Json;

use crate::house::House;
use crate::provider::Message;
use crate::witness::Witness;

pub fn invariant_shown_and_signed_are_the_frozen_bytes(house: &House, statement: &DecisionStatement, frozen: &FrozenRequest) {
    must!(statement.request_sha256 == frozen.request_sha256(), "other bytes were signed than were frozen");
    must!(statement.args_sha256 == frozen.args_sha256(), "other arguments were signed than were frozen");
    must!(statement.shown_sha256 == house.shown_sha256(frozen), "something else was shown than was frozen");
}

pub fn invariant_the_executed_bytes_are_the_frozen_ones(witness: &Witness, message: &Message) {
    let Some(request) = witness.operations.get(&message.operation).and_then(|seen| seen.request) else { return };
    must!(witness.requests[&request].frozen.canonical_args() == message.args.as_bytes(), "other bytes are executed than were frozen");
}

/// A write goes out with the bytes of its first intent, at every attempt.
pub fn invariant_a_write_is_sent_as_it_was_first_intended(witness: &Witness, message: &Message) {
    let Some(write) = witness.operations.get(&message.operation).and_then(|seen| seen.write.as_ref()) else { return };
    must!(write.tool == message.tool, "a write of `{}` goes to `{}`", write.tool, message.tool);
    must!(write.args == message.args, "attempt {} of a write has other bytes than the first", message.attempt);
}

/// The arguments name today what they named when people signed.
pub fn invariant_what_an_argument_names_is_what_was_signed(frozen: &FrozenRequest, presented: Option<&Json>) {
    must!(presented == Some(&frozen.members().referents), "it runs, and the arguments name {presented:?} by now");
}

pub fn invariant_what_runs_rests_on_the_row_that_was_signed(rows: &BTreeMap<Name, Digest>, frozen: &FrozenRequest) {
    let members = frozen.members();
    must!(rows.get(&members.tool) == Some(&members.row_sha256), "`{}` runs by another row than was signed", members.tool);
}

/// A change of the table and what it makes stale are one transaction.
pub fn invariant_nothing_waits_on_a_row_that_changed(witness: &Witness, rows: &BTreeMap<Name, Digest>) {
    for (request, seen) in witness.requests.iter().filter(|(_, seen)| !seen.state.is_final()) {
        let members = seen.frozen.members();
        must!(rows.get(&members.tool) == Some(&members.row_sha256), "{request} waits on a row that changed");
    }
}
