//! What a console does with a decision before it sends it.

use std::rc::Rc;

use vidimus_core::bytes::Salt;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_store::{DecisionChallenge, DecisionChallengeOutcome, RecordDecision, ToSign};

use super::DENIAL;
use crate::house::{Approver, recognise};
use crate::world::{Cut, World};

/// The statement, once the gate has given a challenge for it.
pub async fn challenged(
    world: &Rc<World>,
    desk: &Approver,
    frozen: &FrozenRequest,
    role: &str,
    kind: DecisionKind,
) -> Result<Option<DecisionStatement>, Cut> {
    let (request, key_sha256) = (frozen.members().request, desk.approval.public().digest());
    let ask = DecisionChallenge { request, person: desk.person, key_sha256 };
    let outcome = world.over_network(|store, moment| async move { store.decision_challenge(moment, ask).await }).await?;
    Ok(match outcome {
        DecisionChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) => Some(DecisionStatement {
            roster_sha256,
            challenge: world.house.challenge_key.issue(world.dice.id(), &request.to_string(), &key_sha256, issued_at),
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..world.house.statement(desk, frozen, kind, role)
        }),
        DecisionChallengeOutcome::Refused(refusal) => {
            world.reach(&format!("challenge refused: {}", refusal.code));
            None
        }
        DecisionChallengeOutcome::NotFound => None,
    })
}

pub fn signed(world: &Rc<World>, desk: &Approver, mut statement: DecisionStatement) -> RecordDecision {
    let (mut reason, mut reason_salt) = (None, None);
    if statement.decision == DecisionKind::Deny {
        let salt = Salt::from_bytes(world.dice.bytes());
        statement.reason_sha256 = Some(reason_sha256(&salt, DENIAL));
        (reason, reason_salt) = (Some(DENIAL.to_owned()), Some(salt));
    }
    let mut key = &desk.approval;
    if world.dice.percent(5) {
        // Somebody else's key, the gate's own, or other bytes than were shown.
        match world.dice.throw(6) {
            0 => key = &world.house.people[0].approval,
            1 => key = &world.house.log_key,
            2 => key = &desk.device,
            3 => statement.args_sha256 = statement.request_sha256,
            4 => statement.request_sha256 = statement.args_sha256,
            _ => statement.shown_sha256 = statement.request_sha256,
        }
        world.reach("a decision is forged");
    }
    let request = statement.request;
    let challenge = recognise(&world.house.challenge_key, &statement);
    RecordDecision {
        request,
        envelope: statement.sign(key).expect("a decision is signed"),
        challenge,
        reason,
        reason_salt,
        context: None,
        refusal_on_record: true,
    }
}
