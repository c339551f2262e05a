//! What must always hold: DESIGN.md, section 10. Each function asks for one promise, and the course ends where it is broken.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::decision::DecisionStatement;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::Answer;
use vidimus_core::request::RequestState;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::root_of;
use vidimus_store::{CallView, DecisionOutcome, Head, Store};

use crate::house::{House, auditor};
use crate::provider::Message;
use crate::witness::{OperationSeen, RequestSeen, Told, Witness};
use crate::world::{World, ready};

/// Like `assert!`, and the words begin with the name of the invariant that is broken.
macro_rules! must {
    ($holds:expr, $($words:tt)+) => {{
        fn here() {}
        if !$holds {
            let name = std::any::type_name_of_val(&here);
            let name = name.trim_end_matches("::here").rsplit("::").next().unwrap_or(name);
            panic!("{name}: {}", format!($($words)+));
        }
    }};
}

/// Neither final nor in the hands of a person. Nobody can settle the unknown outcome of a write but its agent's own people.
pub fn is_open(seen: &OperationSeen) -> bool {
    match seen.state {
        None | Some(OperationState::NeedsReconciliation) => false,
        Some(OperationState::Unknown) => seen.request.is_some(),
        Some(state) => !state.is_final(),
    }
}

/// Counted here from the frozen needs: distinct persons, each for one role.
pub fn has_quorum(seen: &RequestSeen) -> bool {
    let needs = &seen.frozen.members().needs;
    !needs.is_empty()
        && needs.iter().all(|need| seen.standing.values().filter(|role| **role == *need.role.as_str()).count() >= need.quorum as usize)
}

// 1. The provider's count of effects per business effect is at most what was approved.

pub fn invariant_effects_never_exceed_approvals(world: &World, witness: &Witness) {
    let mut approved: BTreeMap<_, u32> = BTreeMap::new();
    for seen in witness.requests.values().filter(|seen| seen.approved) {
        *approved.entry(seen.frozen.members().business_sha256).or_default() += 1;
    }
    let mut effects: BTreeMap<_, u32> = BTreeMap::new();
    for (operation, count) in world.provider.effects.borrow().iter() {
        let request = witness.operations.get(operation).and_then(|seen| seen.request);
        if let Some(seen) = request.and_then(|request| witness.requests.get(&request)) {
            *effects.entry(seen.frozen.members().business_sha256).or_default() += count;
        }
    }
    for (business, count) in effects {
        must!(count <= approved.get(&business).copied().unwrap_or_default(), "{count} effects of {business} where fewer were approved");
    }
}

pub fn invariant_one_effect_for_each_operation(world: &World, operation: &OperationKey) {
    let count = world.provider.effects.borrow().get(operation).copied().unwrap_or_default();
    must!(count <= 1, "{count} effects of one operation");
}

pub fn invariant_what_did_not_happen_has_no_effect(world: &World, operation: OperationKey, state: OperationState) {
    if matches!(state, OperationState::Failed | OperationState::NotHappened | OperationState::NotStarted) {
        let count = world.provider.effects.borrow().get(&operation).copied().unwrap_or_default();
        must!(count == 0, "an operation is `{state}`, and has an effect");
    }
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

// 2. An effect implies a redeemed token, which implies a quorum of valid, unrevoked, distinct persons over the same digest.

pub fn invariant_an_effect_implies_a_redeemed_token(witness: &Witness, message: &Message) {
    let Some(seen) = witness.operations.get(&message.operation) else { panic!("an effect of an operation that the log does not know") };
    let permitted = match seen.request {
        Some(_) => u32::try_from(seen.redeemed.len()).unwrap_or(u32::MAX),
        None => seen.attempts,
    };
    must!(message.attempt >= 1 && message.attempt <= permitted, "attempt {} was sent, {permitted} were permitted", message.attempt);
}

pub fn invariant_a_redeemed_token_implies_a_quorum(seen: &RequestSeen) {
    must!(has_quorum(seen) && !seen.stopped, "a token is redeemed without a quorum, or after somebody stopped the request");
}

pub fn invariant_nobody_decides_on_their_own(statement: &DecisionStatement, frozen: &FrozenRequest) {
    let members = frozen.members();
    let own = members.agents.iter().any(|link| link.owner == Some(statement.approver)) || members.proposer == Some(statement.approver);
    must!(!own, "somebody decides on their own request");
}

/// Counted here from the frozen needs: distinct persons who last said the same.
pub fn invariant_people_settle_only_what_enough_of_them_signed(request: &RequestSeen, seen: &OperationSeen, to: OperationState) {
    let said = |answer: Answer| match to {
        OperationState::Succeeded => answer == Answer::Happened,
        OperationState::Partial => answer == Answer::Partly,
        _ => answer == Answer::NotHappened,
    };
    let enough = request.frozen.members().needs.iter().all(|need| {
        let persons = seen.answers.values().filter(|(answer, role)| said(*answer) && *role == *need.role.as_str()).count();
        persons >= need.quorum as usize
    });
    must!(enough, "an operation is `{to}` without enough persons who said so: {:?}", seen.answers);
}

/// A change of the table and what it makes stale are one transaction.
pub fn invariant_nothing_waits_on_a_row_that_changed(witness: &Witness, table: &Table) {
    for (request, seen) in witness.requests.iter().filter(|(_, seen)| !seen.state.is_final()) {
        let members = seen.frozen.members();
        let row = table.row(&members.tool).map(|row| row.digest());
        must!(row == Some(members.row_sha256), "{request} waits on a row that changed");
    }
}

/// Nothing leaves but under a lease that holds when it is looked at for the last time.
pub fn invariant_nothing_is_sent_after_its_lease(message: &Message) {
    must!(message.looked_at < message.lease_until, "attempt {} is sent after its lease", message.attempt);
}

// 3. A stored result is returned only for an equal payload. An older attempt never overwrites a newer one.

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

// 4. What a client was told about money or a write is durable. All published checkpoints are consistent with each other.

pub fn invariant_what_was_told_is_durable(world: &World, store: &Store, told: &Told) {
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
    }
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

// 5. What was shown, what was signed and what was executed are the same bytes.

pub fn invariant_shown_and_signed_are_the_frozen_bytes(house: &House, statement: &DecisionStatement, frozen: &FrozenRequest) {
    must!(statement.request_sha256 == frozen.request_sha256(), "other bytes were signed than were frozen");
    must!(statement.args_sha256 == frozen.args_sha256(), "other arguments were signed than were frozen");
    must!(statement.shown_sha256 == house.shown_sha256(frozen), "something else was shown than was frozen");
}

pub fn invariant_the_executed_bytes_are_the_frozen_ones(witness: &Witness, message: &Message) {
    let Some(request) = witness.operations.get(&message.operation).and_then(|seen| seen.request) else { return };
    must!(witness.requests[&request].frozen.canonical_args() == message.args.as_bytes(), "other bytes are executed than were frozen");
}

// 6. After any crash, restart needs no manual SQL. The same seed gives the same trace.

/// Reading the whole log takes long, so one start in four stands for the others.
pub fn invariant_a_start_needs_nobody(world: &World) {
    if world.dice.percent(75) {
        return;
    }
    let store = world.store().expect("a gate that starts");
    let head = ready(store.head()).expect("a reading");
    let verified = ready(store.verify(Some(head)));
    must!(verified.is_ok(), "the ledger is not what its log says: {verified:?}");
}

// 8. Nothing waits forever.

pub fn invariant_nothing_waits_forever(witness: &Witness) {
    let requests: Vec<_> =
        witness.requests.iter().filter(|(_, seen)| !seen.state.is_final()).map(|(request, seen)| (request, seen.state)).collect();
    let operations: Vec<_> =
        witness.operations.iter().filter(|(_, seen)| is_open(seen)).map(|(operation, seen)| (operation, seen.state)).collect();
    must!(requests.is_empty() && operations.is_empty(), "still open: {requests:?} {operations:?}");
}

/// Everything once more, against what the store shows.
pub fn at_the_end(world: &World) {
    let witness = world.witness.borrow();
    invariant_nothing_waits_forever(&witness);
    invariant_effects_never_exceed_approvals(world, &witness);
    let store = world.store().expect("a gate that runs");
    must!(ready(store.head()).expect("a reading").root == root_of(witness.leaves()), "the head is not the root of all leaves");
    let views = ready(store.requests(None, auditor())).expect("a reading");
    let mut shown = BTreeSet::new();
    for view in views.iter().filter(|view| witness.requests.contains_key(&view.request)) {
        shown.insert(view.request);
        let seen = &witness.requests[&view.request];
        must!(view.state == seen.state, "the store shows another state of a request than the log has");
        world.reach(&format!("request ended {}", view.state));
        let Some(operation) = &view.operation else { continue };
        let known = &witness.operations[&operation.operation];
        must!(
            (Some(operation.state), operation.attempt) == (known.state, known.attempts),
            "the store shows another operation than the log"
        );
        world.reach(&format!("operation ended {}", operation.state));
        // What a tool of the gate's own did is no provider's to tell.
        let Some(_) = &view.agent else { continue };
        if let Some(result) = &operation.result {
            invariant_a_result_is_of_its_operation(&operation.operation, result);
        }
        if operation.state == OperationState::Succeeded {
            let count = world.provider.effects.borrow().get(&operation.operation).copied();
            must!(count == Some(1), "an operation succeeded without an effect");
        }
    }
    must!(shown.len() == witness.requests.len(), "the store does not show every request of the log");
}
