//! People at their desks: look at a request, think, sign what they saw, send it over a network that loses and delays.

use std::rc::Rc;

use vidimus_core::bytes::Salt;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_store::{DecisionChallenge, DecisionChallengeOutcome, DecisionOutcome, RecordDecision};

use crate::house::{Approver, recognise};
use crate::invariants;
use crate::tasks::Home;
use crate::witness::Told;
use crate::world::{Cut, World};

pub const DENIAL: &str = r#"{"kind":"wrong_amount","note":"too much for this one"}"#;

/// A request stands in the inboxes: some of those who may decide will look at it.
pub fn look_at(world: &Rc<World>, request: RequestId) {
    if world.is_calm() {
        return;
    }
    let frozen = Rc::new(world.witness.borrow().requests[&request].frozen.clone());
    for (who, approver) in world.house.people.iter().enumerate() {
        let Some(need) = frozen.members().needs.iter().find(|need| approver.roles.contains(&need.role.as_str())) else { continue };
        // Who holds two of the roles chooses one.
        let needs = &frozen.members().needs;
        let role = world.dice.pick(needs).filter(|need| approver.roles.contains(&need.role.as_str())).unwrap_or(need).role.to_string();
        if world.dice.percent(70) {
            let task = decide(Rc::clone(world), who, Rc::clone(&frozen), role);
            world.tasks.spawn(Home::Outside, task);
        }
    }
}

async fn decide(world: Rc<World>, who: usize, frozen: Rc<FrozenRequest>, role: String) {
    let later_ms = match world.dice.throw(10) {
        0..7 => world.dice.throw(60_000),
        7 | 8 => world.dice.throw(280_000),
        _ => world.dice.throw(700_000),
    };
    world.tasks.sleep_ms(later_ms).await;
    let kind = match world.dice.throw(100) {
        0..72 => DecisionKind::Approve,
        72..80 => DecisionKind::Deny,
        80..90 => DecisionKind::MoreTime,
        90..95 => DecisionKind::Revoke,
        _ => DecisionKind::Retract,
    };
    let counted = sign_and_send(&world, who, &frozen, &role, kind).await;
    if kind == DecisionKind::MoreTime {
        world.tasks.sleep_ms(world.dice.throw(200_000)).await;
        let _ = sign_and_send(&world, who, &frozen, &role, DecisionKind::Approve).await;
    } else if counted == Ok(true) && kind == DecisionKind::Approve && world.dice.percent(15) {
        world.tasks.sleep_ms(world.dice.throw(40_000)).await;
        let second = if world.dice.percent(50) { DecisionKind::Retract } else { DecisionKind::Revoke };
        let _ = sign_and_send(&world, who, &frozen, &role, second).await;
    }
}

async fn sign_and_send(world: &Rc<World>, who: usize, frozen: &FrozenRequest, role: &str, kind: DecisionKind) -> Result<bool, Cut> {
    let approver = &world.house.people[who];
    let Some(statement) = challenged(world, approver, frozen, role, kind).await? else { return Ok(false) };
    // Thinking may take longer than a decision lives.
    let thinks_ms = if world.dice.percent(92) { world.dice.throw(20_000) } else { world.dice.throw(400_000) };
    world.tasks.sleep_ms(thinks_ms).await;
    let decision = signed(world, approver, statement);
    let sent = decision.clone();
    let mut first = world.over_network(|store, moment| async move { store.record_decision(moment, sent).await }).await;
    if first.is_err() || world.dice.percent(12) {
        // Without an answer the console sends the very same envelope again; sometimes the network does.
        world.tasks.sleep_ms(world.dice.throw(30_000)).await;
        let sent = decision.clone();
        let again = world.over_network(|store, moment| async move { store.record_decision(moment, sent).await }).await;
        if let (Ok(first), Ok(again)) = (&first, &again) {
            world.reach("a decision is sent twice");
            invariants::invariant_a_receipt_never_changes(again, first);
        }
        first = first.or(again);
    }
    match first? {
        DecisionOutcome::Recorded(receipt) | DecisionOutcome::Stored(receipt) => {
            world.witness.borrow_mut().told.push(Told::Decision(Box::new(decision), receipt));
            Ok(true)
        }
        DecisionOutcome::Refused(_) | DecisionOutcome::NotFound => Ok(false),
    }
}

/// The statement, once the gate has given a challenge for it.
async fn challenged(
    world: &Rc<World>,
    approver: &Approver,
    frozen: &FrozenRequest,
    role: &str,
    kind: DecisionKind,
) -> Result<Option<DecisionStatement>, Cut> {
    let (request, key_sha256) = (frozen.members().request, approver.approval.public().digest());
    let ask = DecisionChallenge { request, person: approver.person, key_sha256 };
    let outcome = world.over_network(|store, moment| async move { store.decision_challenge(moment, ask).await }).await?;
    Ok(match outcome {
        DecisionChallengeOutcome::Issued { issued_at, expires_at, roster_sha256, head } => Some(DecisionStatement {
            roster_sha256,
            challenge: world.house.challenge_key.issue(world.dice.id(), &request.to_string(), &key_sha256, issued_at),
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..world.house.statement(approver, frozen, kind, role)
        }),
        DecisionChallengeOutcome::Refused(refusal) => {
            world.reach(&format!("challenge refused: {}", refusal.code));
            None
        }
        DecisionChallengeOutcome::NotFound => None,
    })
}

fn signed(world: &Rc<World>, approver: &Approver, mut statement: DecisionStatement) -> RecordDecision {
    let (mut reason, mut reason_salt) = (None, None);
    if statement.decision == DecisionKind::Deny {
        let salt = Salt::from_bytes(world.dice.bytes());
        statement.reason_sha256 = Some(reason_sha256(&salt, DENIAL));
        (reason, reason_salt) = (Some(DENIAL.to_owned()), Some(salt));
    }
    let mut key = &approver.approval;
    if world.dice.percent(3) {
        // Somebody else's key, or other bytes than were shown.
        match world.dice.throw(3) {
            0 => key = &world.house.people[0].approval,
            1 => statement.args_sha256 = statement.request_sha256,
            _ => statement.shown_sha256 = statement.request_sha256,
        }
        world.reach("a decision is forged");
    }
    let request = statement.request;
    let challenge = recognise(&world.house.challenge_key, &statement);
    RecordDecision { request, envelope: statement.sign(key).expect("a decision is signed"), challenge, reason, reason_salt, context: None }
}
