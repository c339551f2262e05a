//! What people do once a recovery has come into force, a day after it was announced: whoever came in stops the keys that were lost,
//! and proposes and decides like every other admin.

use std::rc::Rc;

use vidimus_core::ids::{Environment, PersonId};
use vidimus_core::stop::Stop;
use vidimus_store::{ProposedChange, StopKeys, StopOutcome};

use crate::approvers;
use crate::changes::{propose, some_roles, somebody};
use crate::house::{ADMIN, Approver};
use crate::invariants;
use crate::tasks::Home;
use crate::world::{Cut, World};

/// A recovery is in force: its person acts, whatever else has come to rest meanwhile.
pub fn begin(world: &Rc<World>, person: PersonId) {
    world.acting.set(world.acting.get() + 1);
    let world = Rc::clone(world);
    world.tasks.clone().spawn(Home::Outside, async move {
        let _ = act(&world, person).await;
        world.acting.set(world.acting.get() - 1);
    });
}

async fn act(world: &Rc<World>, person: PersonId) -> Result<(), Cut> {
    world.tasks.sleep_ms(world.dice.throw(60_000)).await;
    let desk = world.desks.borrow().iter().find(|desk| desk.person == person).cloned().expect("the desktop that was announced");
    decide_what_waits(world);
    if world.dice.percent(80) {
        stop_the_lost_one(world, &desk).await?;
    }
    let Some(other) = somebody(world) else { return Ok(()) };
    let roles = some_roles(world);
    if let Some(request) = propose(world, person, ProposedChange::SetRoles { person: other, roles }).await? {
        world.reach("somebody proposes after their recovery");
        // The record that it waits has to be seen before anybody can look at it.
        while !world.witness.borrow().requests.contains_key(&request) {
            world.tasks.sleep_ms(100).await;
        }
        approvers::ask(world, request);
    }
    Ok(())
}

/// What waited for admins waits for one more by now.
fn decide_what_waits(world: &Rc<World>) {
    let waiting: Vec<_> = {
        let witness = world.witness.borrow();
        witness.requests.iter().filter(|(_, seen)| !seen.state.is_final()).map(|(request, _)| *request).collect()
    };
    for request in waiting {
        world.reach("a request from before a recovery waits on");
        approvers::ask(world, request);
    }
}

/// A recovery stops no key: whoever came in does.
async fn stop_the_lost_one(world: &Rc<World>, desk: &Approver) -> Result<(), Cut> {
    let others: Vec<PersonId> = world.witness.borrow().roster.able(ADMIN).into_iter().filter(|other| *other != desk.person).collect();
    let Some(lost) = world.dice.pick(&others).and_then(|other| world.desk_of(other)) else { return Ok(()) };
    let key_sha256 = lost.approval.public().digest();
    let gate = world.house.gate();
    let stop = Stop { gate, environment: Environment::Test, person: lost.person, keys: vec![key_sha256], issued_at: world.now() };
    let stop = StopKeys { key_sha256, envelope: stop.sign(&desk.approval).expect("a stop is signed") };
    let before = world.witness.borrow().roster.clone();
    let outcome = world.over_network(|store, moment| async move { store.stop_keys(moment, stop).await }).await?;
    let refused = match outcome {
        StopOutcome::Stopped { .. } => None,
        StopOutcome::Refused(refusal) => Some(refusal.code),
    };
    let signer = desk.approval.public().digest();
    invariants::invariant_whoever_is_recovered_can_stop_a_lost_key(&before, &world.witness.borrow().roster, &signer, &key_sha256, refused);
    if refused.is_none() {
        world.reach("a lost key is stopped after a recovery");
    }
    Ok(())
}
