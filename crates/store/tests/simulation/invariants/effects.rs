//! How often anything happens, and how much of it.

use std::collections::BTreeMap;

use vidimus_core::frozen::FrozenRequest;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::table::{Idempotency, Row, Table};
use vidimus_core::time::Timestamp;

use crate::house::name;
use crate::witness::{RequestSeen, ReservedSeen, Witness, WriteSeen};

/// What happened in the world, by operation: the provider's own ledger.
pub type Effects = BTreeMap<OperationKey, u32>;

pub fn invariant_effects_never_exceed_approvals(effects: &Effects, witness: &Witness) {
    let mut approved: BTreeMap<_, u32> = BTreeMap::new();
    for seen in witness.requests.values().filter(|seen| seen.approved_at.is_some()) {
        *approved.entry(seen.frozen.members().business_sha256).or_default() += 1;
    }
    let mut happened: BTreeMap<_, u32> = BTreeMap::new();
    for (operation, count) in effects {
        let request = witness.operations.get(operation).and_then(|seen| seen.request);
        if let Some(seen) = request.and_then(|request| witness.requests.get(&request)) {
            *happened.entry(seen.frozen.members().business_sha256).or_default() += count;
        }
    }
    for (business, count) in happened {
        must!(count <= approved.get(&business).copied().unwrap_or_default(), "{count} effects of {business} where fewer were approved");
    }
}

pub fn invariant_one_effect_for_each_operation(effects: &Effects, operation: &OperationKey) {
    let count = effects.get(operation).copied().unwrap_or_default();
    must!(count <= 1, "{count} effects of one operation");
}

pub fn invariant_what_did_not_happen_has_no_effect(effects: &Effects, operation: &OperationKey, state: OperationState) {
    if matches!(state, OperationState::Failed | OperationState::NotHappened | OperationState::NotStarted) {
        let count = effects.get(operation).copied().unwrap_or_default();
        must!(count == 0, "an operation is `{state}`, and has an effect");
    }
}

pub fn invariant_what_succeeded_has_happened(effects: &Effects, operation: &OperationKey) {
    must!(effects.get(operation) == Some(&1), "an operation succeeded without an effect");
}

pub fn invariant_one_open_business_effect(witness: &Witness, frozen: &FrozenRequest) {
    let business = frozen.members().business_sha256;
    for (request, seen) in witness.requests.iter().filter(|(_, seen)| seen.frozen.members().business_sha256 == business) {
        let runs = seen.state == RequestState::Consumed && {
            let operation = witness.operations.values().find(|operation| operation.request == Some(*request));
            operation.and_then(|operation| operation.state).is_some_and(|state| !state.is_final())
        };
        let open = matches!(seen.state, RequestState::Pending | RequestState::Approved) || runs;
        must!(!open, "two requests for one business effect are open");
    }
}

/// Nobody approves a write: that it may be sent again is what its row says, for the agent that asked, while the key is known.
pub fn invariant_a_write_is_sent_again_only_under_its_key(
    row: Option<&Row>,
    write: &WriteSeen,
    attempts: u32,
    revoked: &BTreeMap<String, u64>,
    at: Timestamp,
) {
    let row = row.filter(|row| row.digest() == write.row_sha256);
    let timeout_s = row.map_or(0, |row| row.executor.timeout_s());
    let Some(Idempotency::Key { key_valid_s, attempts_max }) = row.map(|row| &row.idempotency) else {
        must!(row.is_some(), "a write of `{}` is sent again, and its row is another one by now", write.tool);
        must!(false, "a write of `{}` is sent again, which knows no key", write.tool);
        return;
    };
    must!(attempts < *attempts_max, "a write is sent again after {attempts} attempts");
    let end = write.at.plus_s(key_valid_s.saturating_sub(timeout_s));
    must!(at < end, "a write of {} is sent again at {at}, which may outlive its key", write.at);
    let gone = revoked.get(&write.agent).is_some_and(|revoked_at| *revoked_at > write.position);
    must!(!gone, "a write is sent again for `{}`, which was revoked since", write.agent);
}

/// *Unit*: milliseconds.
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The limit that one more of it would break, counted here from what the log has reserved; the currency is always the euro.
fn broken_cap(table: &Table, reserved: &[ReservedSeen], more: &ReservedSeen) -> Option<String> {
    let caps = table.row(&name(&more.tool))?.caps.as_ref()?;
    let counted = || reserved.iter().filter(|other| other.counts && other.tool == more.tool);
    let mine = || counted().filter(|other| other.agent == more.agent);
    let day = |at: Timestamp| at.as_ms().div_euclid(DAY_MS);
    let calls = [
        (caps.calls_per_run, mine().filter(|other| other.run == more.run).count(), "run"),
        (caps.calls_per_hour, mine().filter(|other| other.at.as_ms() > more.at.as_ms() - HOUR_MS).count(), "hour"),
    ];
    for (limit, made, span) in calls {
        if limit.is_some_and(|limit| made as u64 >= limit) {
            return Some(format!("{made} calls in one {span}"));
        }
    }
    let amounts = caps.amounts.as_ref()?;
    let sums = [
        (&amounts.per_call, 0, "call"),
        (&amounts.per_run, mine().filter(|other| other.run == more.run).map(|other| other.amount).sum(), "run"),
        (&amounts.per_day, counted().filter(|other| day(other.at) == day(more.at)).map(|other| other.amount).sum::<u64>(), "day"),
    ];
    sums.into_iter().find_map(|(limits, moved, span)| {
        let limit = limits.as_ref()?.get("EUR").copied().unwrap_or_default();
        (moved + more.amount > limit).then(|| format!("{moved} of one {span} and {} more", more.amount))
    })
}

pub fn invariant_caps_are_never_exceeded(table: &Table, reserved: &[ReservedSeen], more: &ReservedSeen) {
    let broken = broken_cap(table, reserved, more);
    must!(broken.is_none(), "beyond a cap: {broken:?}");
}

pub fn invariant_a_cap_refuses_only_what_is_too_much(table: &Table, reserved: &[ReservedSeen], would: &ReservedSeen) {
    must!(broken_cap(table, reserved, would).is_some(), "{would:?} is refused for a cap that has room for it");
}

/// Where nothing is said of an agent, none may wait.
pub fn invariant_no_agent_has_more_waiting_than_it_may(table: &Table, witness: &Witness, more: &RequestSeen) {
    let Some(agent) = more.agent() else { return };
    let may = table.agent(&name(agent)).map_or(0, |list| list.pending_max as usize);
    let waiting = witness.requests.values().filter(|seen| seen.state == RequestState::Pending && seen.agent() == Some(agent)).count();
    must!(waiting < may, "{waiting} requests of `{agent}` wait, and one more is made");
}
