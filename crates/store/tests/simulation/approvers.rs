//! People at their desks: look at a request, think, sign what they saw, send it over a network that loses and delays. Some are
//! mistaken, and some are hostile.

mod signing;

use std::rc::Rc;

use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_store::{DecisionOutcome, RecordDecision};

use crate::at_once;
use crate::house::Approver;
use crate::invariants;
use crate::tasks::Home;
use crate::witness::Told;
use crate::world::{Cut, World};
use signing::{challenged, signed};

pub const DENIAL: &str = r#"{"kind":"wrong_amount","note":"too much for this one"}"#;

/// A request stands in the inboxes: some of those who may decide will look at it.
pub fn look_at(world: &Rc<World>, request: RequestId) {
    if !world.is_calm() {
        ask(world, request);
    }
}

/// Whoever may decide may look at it, whether it is calm or not.
pub fn ask(world: &Rc<World>, request: RequestId) {
    for (person, roles) in asked(world, request) {
        if !world.dice.percent(70) {
            continue;
        }
        // Who holds two of the roles chooses one.
        let Some(role) = world.dice.pick(&roles).cloned() else { continue };
        let Some(desk) = world.desk_of(&person) else { continue };
        let task = decide(Rc::clone(world), desk, request, role);
        world.tasks.spawn(Home::Outside, task);
    }
}

/// Who is asked, by the console's copy of the log, and in which roles.
fn asked(world: &World, request: RequestId) -> Vec<(PersonId, Vec<String>)> {
    let witness = world.witness.borrow();
    let seen = &witness.requests[&request];
    let next = |need: &vidimus_core::table::Need| need.escalate_to.clone().filter(|_| seen.escalated);
    let needs = &seen.frozen.members().needs;
    let roles: Vec<String> =
        needs.iter().flat_map(|need| [Some(need.role.clone()), next(need)]).flatten().map(|role| role.to_string()).collect();
    let held = |person: &PersonId| roles.iter().filter(|role| witness.roster.holds(person, role)).cloned().collect::<Vec<_>>();
    witness.roster.persons.keys().map(|person| (*person, held(person))).filter(|(_, roles)| !roles.is_empty()).collect()
}

async fn decide(world: Rc<World>, desk: Rc<Approver>, request: RequestId, role: String) {
    let later_ms = match world.dice.throw(10) {
        0..7 => world.dice.throw(60_000),
        7 | 8 => world.dice.throw(280_000),
        _ => world.dice.throw(700_000),
    };
    world.tasks.sleep_ms(later_ms).await;
    let frozen = world.witness.borrow().requests[&request].frozen.clone();
    // What changes the gate itself is rarely denied: much else follows from it.
    let own_tool = frozen.members().tool.as_str().starts_with("gate.");
    let kind = match world.dice.throw(100) {
        0..72 => DecisionKind::Approve,
        _ if own_tool && world.dice.percent(70) => DecisionKind::Approve,
        72..80 => DecisionKind::Deny,
        80..90 => DecisionKind::MoreTime,
        90..95 => DecisionKind::Revoke,
        _ => DecisionKind::Retract,
    };
    let counted = sign_and_send(&world, &desk, &frozen, &role, kind).await;
    if kind == DecisionKind::MoreTime {
        world.tasks.sleep_ms(world.dice.throw(200_000)).await;
        let _ = sign_and_send(&world, &desk, &frozen, &role, DecisionKind::Approve).await;
        return;
    }
    if counted != Ok(true) || kind != DecisionKind::Approve || !world.dice.percent(20) {
        return;
    }
    world.tasks.sleep_ms(world.dice.throw(40_000)).await;
    // Somebody thinks better of it, or forgets that they have said so already.
    let second = match world.dice.throw(6) {
        0 | 1 => DecisionKind::Retract,
        2 | 3 => DecisionKind::Revoke,
        4 => DecisionKind::Deny,
        _ => DecisionKind::Approve,
    };
    let _ = sign_and_send(&world, &desk, &frozen, &role, second).await;
}

async fn send(world: &Rc<World>, decision: RecordDecision) -> Result<DecisionOutcome, Cut> {
    if world.dice.percent(60) {
        return at_once::decide(world, decision).await;
    }
    world.over_network(|store, moment| async move { store.record_decision(moment, decision).await }).await
}

async fn sign_and_send(world: &Rc<World>, desk: &Approver, frozen: &FrozenRequest, role: &str, kind: DecisionKind) -> Result<bool, Cut> {
    let Some(statement) = challenged(world, desk, frozen, role, kind).await? else { return Ok(false) };
    // Thinking may take longer than a decision lives.
    let thinks_ms = if world.dice.percent(92) { world.dice.throw(20_000) } else { world.dice.throw(400_000) };
    world.tasks.sleep_ms(thinks_ms).await;
    let decision = signed(world, desk, statement.clone());
    let mut first = send(world, decision.clone()).await;
    if first.is_err() || world.dice.percent(12) {
        // Without an answer the console sends the very same envelope again; sometimes the network does.
        world.tasks.sleep_ms(world.dice.throw(30_000)).await;
        let again = send(world, decision.clone()).await;
        if let (Ok(first), Ok(again)) = (&first, &again) {
            world.reach("a decision is sent twice");
            invariants::invariant_a_receipt_never_changes(again, first);
        }
        first = first.or(again);
    }
    match first? {
        DecisionOutcome::Recorded(receipt) | DecisionOutcome::Stored(receipt) => {
            world.reach("a person is told that it counts");
            world.witness.borrow_mut().told.push(Told::Decision(Box::new(decision), receipt));
            if world.dice.percent(6) {
                use_the_challenge_again(world, desk, statement).await?;
            }
            Ok(true)
        }
        DecisionOutcome::Refused(_) | DecisionOutcome::NotFound => Ok(false),
    }
}

/// Somebody signs something else over a challenge that was good for one decision.
async fn use_the_challenge_again(world: &Rc<World>, desk: &Approver, mut statement: DecisionStatement) -> Result<(), Cut> {
    statement.decision = if world.dice.percent(50) { DecisionKind::Revoke } else { DecisionKind::MoreTime };
    "simulated again".clone_into(&mut statement.app_version);
    let outcome = send(world, signed(world, desk, statement)).await?;
    assert!(matches!(outcome, DecisionOutcome::Refused(_)), "a challenge is good for two decisions: {outcome:?}");
    world.reach("a challenge is used again");
    Ok(())
}
