//! What changes under everybody's feet: an agent's credential is taken back, the effect table changes, a name means something else.

use std::rc::Rc;

use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::ids::{CallId, RequestId};
use vidimus_store::{AddAgent, ProposeTable, ProposeTableOutcome};

use crate::house::name;
use crate::tasks::Home;
use crate::world::{Cut, World};

pub fn begin(world: &Rc<World>) {
    if world.dice.percent(12) {
        world.tasks.spawn(Home::Outside, revoke(Rc::clone(world)));
    }
    if world.dice.percent(25) {
        world.tasks.spawn(Home::Outside, change_table(Rc::clone(world)));
    }
    if world.dice.percent(40) {
        world.tasks.spawn(Home::Outside, rename(Rc::clone(world)));
    }
}

/// A payee's account becomes another one: what was signed for the one before must not run.
async fn rename(world: Rc<World>) {
    for again in 0..world.dice.between(1, 4) {
        world.tasks.sleep_ms(world.dice.throw(200_000)).await;
        let payee = world.dice.throw(3).to_string();
        world.directory.borrow_mut().insert(payee, format!("FR{again}"));
        world.reach("a payee gets another account");
    }
}

async fn revoke(world: Rc<World>) {
    world.tasks.sleep_ms(world.dice.throw(500_000)).await;
    let (agent, owner) = if world.dice.percent(50) { ("billing", None) } else { ("support", Some(world.house.people[1].person)) };
    let revoked = world.over_network(|store, moment| async move { store.revoke_agent(moment, name(agent)).await }).await;
    if revoked == Err(Cut) || world.dice.percent(40) {
        return;
    }
    world.tasks.sleep_ms(world.dice.throw(100_000)).await;
    // The name is given out anew: another agent than the one before.
    let credential_sha256 = Digest::of(&world.dice.bytes());
    let add = AddAgent { agent: name(agent), owner, parent: None, credential_sha256 };
    let _ = world.over_network(|store, moment| async move { store.add_agent(moment, add).await }).await;
}

/// Proposes the other one of the house's two tables; people decide it like everything else.
async fn change_table(world: Rc<World>) {
    for _ in 0..2 {
        world.tasks.sleep_ms(world.dice.throw(400_000)).await;
        if world.is_calm() {
            return;
        }
        let text = world.house.other_text(&world.table().table);
        let persons: Vec<_> = world.witness.borrow().roster.persons.keys().copied().collect();
        let Some(proposer) = world.dice.pick(&persons).copied() else { return };
        let propose = ProposeTable {
            proposer,
            text,
            call: CallId::from_random(world.dice.id()),
            request: RequestId::from_random(world.dice.id()),
            salt: Salt::from_bytes(world.dice.bytes()),
        };
        let outcome = world.over_network(|store, moment| async move { store.propose_table(moment, propose).await }).await;
        match outcome {
            Ok(ProposeTableOutcome::Waiting(_)) => world.reach("a table is proposed"),
            Ok(ProposeTableOutcome::Refused(refusal)) => world.reach(&format!("a proposed table is refused: {}", refusal.code)),
            Ok(ProposeTableOutcome::Faulty(faults)) => panic!("{faults:?}"),
            Err(Cut) => {}
        }
    }
}
