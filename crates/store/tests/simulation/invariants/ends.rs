//! That everything comes to an end, and every start to work.

use std::collections::BTreeSet;

use vidimus_core::bytes::Digest;
use vidimus_core::operation::OperationState;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::root_of;
use vidimus_store::{RequestView, Store, VerifyError};

use crate::house::auditor;
use crate::invariants::{
    invariant_a_result_is_of_its_operation, invariant_effects_never_exceed_approvals, invariant_what_succeeded_has_happened,
};
use crate::witness::{OperationSeen, RequestSeen, Witness};
use crate::world::{World, ready};

/// Neither final nor in the hands of a person.
pub fn is_open(seen: &OperationSeen) -> bool {
    match seen.state {
        None | Some(OperationState::NeedsReconciliation) => false,
        Some(state) => !state.is_final(),
    }
}

/// The ledger is what its log says, to whoever starts on it.
pub fn invariant_a_start_needs_nobody(verified: &Result<(), VerifyError>) {
    must!(verified.is_ok(), "the ledger is not what its log says: {verified:?}");
}

pub fn invariant_the_same_seed_gives_the_same_trace(one: &Digest, other: &Digest) {
    must!(one == other, "one seed has two traces");
}

pub fn invariant_nothing_expires_early(seen: &RequestSeen, at: Timestamp) {
    must!(seen.waits_until <= at, "a request expires at {at}, and waits until {}", seen.waits_until);
}

pub fn invariant_a_request_is_passed_on_once_and_not_early(seen: &RequestSeen, after_s: Option<u64>, at: Timestamp) {
    must!(!seen.state.is_final() && !seen.escalated, "a request that is over, or was passed on, is passed on");
    let due = after_s.map(|after_s| seen.frozen.members().created_at.plus_s(after_s));
    must!(due.is_some_and(|due| due <= at), "a request is passed on at {at}, before its time");
}

/// What waits for people has been told to some of them.
pub fn invariant_what_only_people_can_tell_has_been_told_to_them(witness: &Witness) {
    for (operation, seen) in &witness.operations {
        let waits = seen.request.is_some() && seen.state == Some(OperationState::NeedsReconciliation);
        must!(!waits || seen.paged, "{operation} waits for people, and nobody was told");
    }
}

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
    invariant_what_only_people_can_tell_has_been_told_to_them(&witness);
    invariant_effects_never_exceed_approvals(&world.provider.effects.borrow(), &witness);
    let store = world.store().expect("a gate that runs");
    must!(ready(store.head()).expect("a reading").root == root_of(witness.leaves()), "the head is not the root of all leaves");
    let views = every_request(&store);
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
        if operation.state == OperationState::Partial {
            world.reach("part of it happened, and people said how much");
            let part = world.provider.parts.borrow().get(&operation.operation).copied();
            must!(part.is_some() && part == known.happened_minor, "another part is on record than happened");
        }
        if operation.state == OperationState::Succeeded {
            invariant_what_succeeded_has_happened(&world.provider.effects.borrow(), &operation.operation);
        }
    }
    must!(shown.len() == witness.requests.len(), "the store does not show every request of the log");
}

/// Every request as the store shows it, page by page.
fn every_request(store: &Store) -> Vec<RequestView> {
    let (mut views, mut before) = (Vec::new(), None);
    loop {
        let page = ready(store.requests(None, before, auditor())).expect("a reading");
        for listed in page.requests {
            let view = ready(store.request(listed.request, auditor())).expect("a reading").expect("a request that is listed");
            must!(view.state == listed.state && view.request_sha256 == listed.request_sha256, "a list shows another request than there is");
            views.push(view);
        }
        before = page.next_before;
        if before.is_none() {
            return views;
        }
    }
}
