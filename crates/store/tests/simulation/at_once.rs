//! The short way: the last approval, the token and its redemption in one commit, and the executor that is at hand meanwhile.

use std::rc::Rc;
use std::sync::Arc;

use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::request::RequestState;
use vidimus_core::sign::SecretKey;
use vidimus_core::token;
use vidimus_store::{DecisionOutcome, Executor, Mint, Minted, RecordDecision, Redeem};

use crate::house::sign_token;
use crate::tasks::Home;
use crate::workers::{self, AUDIENCE, LEASE_S, TOKEN_TTL_S, referents_now};
use crate::world::{Cut, Defect, World};

/// What the executor does when the token is minted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hands {
    Honest,
    /// Fails to sign, or to verify what it signed.
    Empty,
}

struct AtHand {
    hands: Hands,
    jti: Nonce,
    key: Arc<SecretKey>,
    referents: Json,
}

impl Executor for AtHand {
    fn order(&self, operation: OperationKey) -> Mint {
        Mint {
            operation,
            jti_sha256: Digest::of(self.jti.as_bytes()),
            audience: AUDIENCE.to_owned(),
            ttl_s: TOKEN_TTL_S,
            referents: self.referents.clone(),
        }
    }

    fn present(&self, minted: &Minted) -> Result<Redeem, Refusal> {
        if self.hands == Hands::Empty {
            return Err(Refusal::new(Code::SignatureInvalid, "nothing to present"));
        }
        let frozen = FrozenRequest::parse(minted.frozen.as_bytes())?;
        let text = sign_token(&self.key, minted, self.jti);
        let verified = token::verify(&text, &self.key.public(), AUDIENCE, &minted.tool, &frozen.args_sha256(), minted.issued_at)?;
        Ok(Redeem { token: verified, lease_s: LEASE_S, referents: self.referents.clone() })
    }
}

/// Sends a decision the short way; what begins by it goes on in the gate, unless that dies first.
pub async fn decide(world: &Rc<World>, decision: RecordDecision) -> Result<DecisionOutcome, Cut> {
    world.travel().await?;
    let frozen = world.witness.borrow().requests[&decision.request].frozen.clone();
    // What an argument names is read before, and may be another by the time of the commit.
    let (read, jti) = (referents_now(world, &frozen), Nonce::from_bytes(world.dice.bytes()));
    world.pause("before a decision is recorded").await;
    let referents = if world.defect == Some(Defect::WorkerReadsNoNames) { frozen.members().referents.clone() } else { read.clone() };
    world.presented.borrow_mut().insert(Digest::of(jti.as_bytes()), read);
    let hands = if world.dice.percent(95) { Hands::Honest } else { Hands::Empty };
    let executor = Box::new(AtHand { hands, jti, key: Arc::clone(&world.house.token_key), referents });
    let sent = world.at_gate(|store, moment| async move { store.decide_and_begin(moment, decision, executor).await }).await;
    let request = frozen.members().request;
    let Ok((outcome, begun)) = sent else {
        notice_the_end(world, request);
        return Err(Cut);
    };
    match (begun, &outcome) {
        (Some(begun), _) => {
            world.reach("begun in the commit of the last approval");
            workers::go_on(world, begun);
        }
        (None, DecisionOutcome::Recorded(receipt)) if receipt.operation.is_some() => world.reach("decided at once, begun later"),
        (None, _) => {}
    }
    world.travel().await?;
    Ok(outcome)
}

/// Nobody knows whether the one commit was made: once the gate is back, its log tells.
fn notice_the_end(world: &Rc<World>, request: RequestId) {
    let (world, tasks) = (Rc::clone(world), Rc::clone(&world.tasks));
    tasks.spawn(Home::Outside, async move {
        world.tasks.sleep_ms(45_000).await;
        let consumed = world.witness.borrow().requests[&request].state == RequestState::Consumed;
        world.reach(if consumed { "no answer to a decision, and it has begun" } else { "no answer to a decision, and nothing has begun" });
    });
}
