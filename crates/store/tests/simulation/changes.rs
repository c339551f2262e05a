//! What changes about people and their keys while everything else goes on: somebody comes, goes, holds other roles, gets a second
//! desktop, replaces a lost one, stops a key; the recovery key is used, and objected to.

use std::collections::BTreeSet;
use std::rc::Rc;

use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::ids::{CallId, Environment, Name, PersonId, RequestId};
use vidimus_core::record::RecordType;
use vidimus_core::recovery::{Recovery, Veto};
use vidimus_core::roster::{Admission, KeyUse};
use vidimus_core::sign::SecretKey;
use vidimus_core::stop::Stop;
use vidimus_store::{
    EnrolOutcome, Invite, InviteKind, InviteOutcome, ProposeAdmission, ProposeChange, ProposedChange, ProposedOutcome, RecoveryOutcome,
    StatementRefused, StopKeys, StopOutcome, VetoOutcome,
};

use crate::house::{ADMIN, Approver, BILLING, DESK, LEAD, TREASURY, name};
use crate::tasks::Home;
use crate::witness::Told;
use crate::world::{Cut, World};

const ROLES: &[&str] = &[BILLING, TREASURY, LEAD, ADMIN];

pub fn begin(world: &Rc<World>) {
    let stories = match world.dice.throw(100) {
        0..45 => 0,
        45..80 => 1,
        _ => 3,
    };
    for _ in 0..stories {
        world.tasks.spawn(Home::Outside, story(Rc::clone(world)));
    }
}

async fn story(world: Rc<World>) {
    world.tasks.sleep_ms(world.dice.throw(350_000)).await;
    if world.is_calm() {
        return;
    }
    let _ = match world.dice.throw(100) {
        0..30 => stop(&world).await,
        30..35 => leave_one(&world).await,
        35..47 => admit(&world).await,
        47..60 => second_desktop(&world).await,
        60..72 => rotate(&world).await,
        72..82 => set_roles(&world).await,
        82..90 => remove(&world).await,
        _ => recover(&world).await,
    };
}

/// Anybody of the roster, as a console knows it.
pub fn somebody(world: &World) -> Option<PersonId> {
    let persons: Vec<PersonId> = world.witness.borrow().roster.persons.keys().copied().collect();
    world.dice.pick(&persons).copied()
}

fn admin(world: &World) -> Option<Rc<Approver>> {
    let admins = world.witness.borrow().roster.able(ADMIN);
    world.dice.pick(&admins).and_then(|person| world.desk_of(person))
}

pub fn some_roles(world: &World) -> Vec<Name> {
    let mut roles = BTreeSet::from([name(ROLES[world.dice.throw(4) as usize])]);
    if world.dice.percent(40) {
        roles.insert(name(ROLES[world.dice.throw(3) as usize]));
    }
    roles.into_iter().collect()
}

fn called(world: &World, person: &PersonId) -> String {
    let witness = world.witness.borrow();
    witness.roster.persons.get(person).map_or_else(|| "Nobody Example".to_owned(), |seen| seen.name.clone())
}

/// An invite, and the proposal of whoever uses it.
async fn invited(world: &Rc<World>, desk: Rc<Approver>, kind: InviteKind, roles: Vec<Name>) -> Result<(), Cut> {
    let code_sha256 = Digest::of(&world.dice.bytes());
    let expires_at = world.now().plus_s(3600);
    let invite = Invite { code_sha256, kind, person: desk.person, name: desk.name.clone(), roles, expires_at };
    let outcome = world.over_network(|store, moment| async move { store.create_invite(moment, invite).await }).await?;
    if let InviteOutcome::Refused(refusal) = outcome {
        world.reach(&format!("an invite is refused: {}", refusal.code));
        return Ok(());
    }
    world.tasks.sleep_ms(world.dice.throw(60_000)).await;
    let proof = |key_use| world.house.enrolment(&desk, key_use, Some(code_sha256), world.now());
    let propose = ProposeAdmission {
        code_sha256,
        label: DESK.to_owned(),
        approval: proof(KeyUse::Approval),
        device: proof(KeyUse::Device),
        call: CallId::from_random(world.dice.id()),
        request: RequestId::from_random(world.dice.id()),
        salt: Salt::from_bytes(world.dice.bytes()),
    };
    // Its keys are there, and worth nothing yet.
    world.desks.borrow_mut().push(Rc::clone(&desk));
    let outcome = world.over_network(|store, moment| async move { store.propose_admission(moment, propose).await }).await?;
    match outcome {
        EnrolOutcome::Waiting { .. } => world.reach("a desktop waits for an admin"),
        EnrolOutcome::Refused(refusal) => world.reach(&format!("an enrolment is refused: {}", refusal.code)),
        EnrolOutcome::Active { .. } => panic!("a second first admin"),
    }
    Ok(())
}

async fn admit(world: &Rc<World>) -> Result<(), Cut> {
    let person = PersonId::from_random(world.dice.id());
    let desk = Rc::new(Approver::fresh(person, "Nia Example", &world.dice));
    world.reach("somebody new is invited");
    let roles = some_roles(world);
    invited(world, desk, InviteKind::Person, roles).await
}

async fn second_desktop(world: &Rc<World>) -> Result<(), Cut> {
    let Some(person) = somebody(world) else { return Ok(()) };
    let desk = Rc::new(Approver::fresh(person, &called(world, &person), &world.dice));
    let roles: Vec<Name> = world.witness.borrow().roster.persons[&person].roles.iter().map(|role| name(role)).collect();
    world.reach("somebody is invited to a second desktop");
    invited(world, desk, InviteKind::Device, roles).await
}

pub async fn propose(world: &Rc<World>, proposer: PersonId, change: ProposedChange) -> Result<Option<RequestId>, Cut> {
    let ids = (CallId::from_random(world.dice.id()), RequestId::from_random(world.dice.id()));
    let asked = ProposeChange { proposer, change, call: ids.0, request: ids.1, salt: Salt::from_bytes(world.dice.bytes()) };
    let outcome = world.over_network(|store, moment| async move { store.propose_roster_change(moment, asked).await }).await?;
    Ok(match outcome {
        ProposedOutcome::Waiting(request) => {
            world.reach("a change of the roster is proposed");
            Some(request)
        }
        ProposedOutcome::Refused(refusal) => {
            world.reach(&format!("a change of the roster is refused: {}", refusal.code));
            None
        }
    })
}

/// New keys first, and the old ones stopped once those count.
async fn rotate(world: &Rc<World>) -> Result<(), Cut> {
    let Some(person) = somebody(world) else { return Ok(()) };
    let Some(old) = world.desk_of(&person) else { return Ok(()) };
    let new = Rc::new(Approver::fresh(person, &called(world, &person), &world.dice));
    let proof = |key_use| Box::new(world.house.enrolment(&new, key_use, None, world.now()));
    let change = ProposedChange::AddKeys { label: DESK.to_owned(), approval: proof(KeyUse::Approval), device: proof(KeyUse::Device) };
    world.desks.borrow_mut().push(Rc::clone(&new));
    propose(world, person, change).await?;
    for _ in 0..10 {
        world.tasks.sleep_ms(30_000).await;
        let key = new.approval.public().digest();
        if world.is_calm() || world.witness.borrow().roster.active(&person, &key, KeyUse::Approval) {
            break;
        }
    }
    if world.witness.borrow().roster.active(&person, &new.approval.public().digest(), KeyUse::Approval) {
        world.reach("keys are rotated");
        send_stop(world, &old, old.keys().to_vec(), &new.device).await?;
    }
    Ok(())
}

async fn set_roles(world: &Rc<World>) -> Result<(), Cut> {
    let (Some(proposer), Some(person)) = (somebody(world), somebody(world)) else { return Ok(()) };
    let roles = some_roles(world);
    propose(world, proposer, ProposedChange::SetRoles { person, roles }).await.map(|_| ())
}

async fn remove(world: &Rc<World>) -> Result<(), Cut> {
    let (Some(proposer), Some(person)) = (somebody(world), somebody(world)) else { return Ok(()) };
    propose(world, proposer, ProposedChange::Remove { person }).await.map(|_| ())
}

/// Somebody stops a key: of their own, another's as an admin, or another's without being one.
async fn stop(world: &Rc<World>) -> Result<(), Cut> {
    let Some(person) = somebody(world) else { return Ok(()) };
    let Some(lost) = world.desk_of(&person) else { return Ok(()) };
    let mut keys = lost.keys().to_vec();
    if world.dice.percent(40) {
        keys.truncate(1);
    }
    match world.dice.throw(10) {
        0..5 => {
            let signer = if world.dice.percent(60) { &lost.device } else { &lost.approval };
            send_stop(world, &lost, keys, signer).await
        }
        5..8 => match admin(world) {
            Some(admin) => send_stop(world, &lost, keys, &admin.approval).await,
            None => Ok(()),
        },
        _ => {
            let other = somebody(world).and_then(|other| world.desk_of(&other));
            match other {
                Some(other) => send_stop(world, &lost, keys, if world.dice.percent(50) { &other.approval } else { &other.device }).await,
                None => Ok(()),
            }
        }
    }
}

/// A role is down to one person: what needs two of it waits for nobody who exists.
async fn leave_one(world: &Rc<World>) -> Result<(), Cut> {
    let holders = world.witness.borrow().roster.able(if world.dice.percent(70) { TREASURY } else { BILLING });
    for person in holders.iter().skip(1) {
        let Some(admin) = admin(world) else { return Ok(()) };
        let Some(lost) = world.desk_of(person) else { continue };
        send_stop(world, &lost, lost.keys().to_vec(), &admin.approval).await?;
    }
    world.reach("a role is left to one person");
    Ok(())
}

pub async fn send_stop(world: &Rc<World>, of: &Approver, mut keys: Vec<Digest>, signer: &SecretKey) -> Result<(), Cut> {
    keys.sort();
    let (key_sha256, gate) = (keys[0], world.house.gate());
    let stop = Stop { gate, environment: Environment::Test, person: of.person, keys, issued_at: world.now() };
    let stop = StopKeys { key_sha256, envelope: stop.sign(signer).expect("a stop is signed") };
    let mut told = None;
    // Whoever has no answer says it again; and a network says everything twice.
    for _ in 0..world.dice.between(1, 3) {
        let sent = stop.clone();
        match world.over_network(|store, moment| async move { store.stop_keys(moment, sent).await }).await {
            Err(Cut) => continue,
            Ok(StopOutcome::Refused(refusal)) => {
                world.reach(&format!("a stop is refused: {}", refusal.code));
                let refused = StatementRefused { statement: "stop", key_sha256: Some(signer.public().digest()), refusal };
                return world.at_gate(|store, moment| async move { store.refuse_statement(moment, refused).await }).await;
            }
            Ok(StopOutcome::Stopped { roster_version, position }) => {
                let again = told.replace((roster_version, position));
                assert!(again.is_none_or(|again| again == (roster_version, position)), "the same stop has two answers");
                world.reach("a key is stopped");
                let known = world.witness.borrow().record_type(position).is_some();
                if known {
                    world.witness.borrow_mut().told.push(Told::Keys(RecordType::RosterChanged, position));
                }
            }
        }
    }
    Ok(())
}

/// The offline key admits somebody, unless an admin objects within a day.
async fn recover(world: &Rc<World>) -> Result<(), Cut> {
    let new = Rc::new(Approver::fresh(PersonId::from_random(world.dice.id()), "Rae Example", &world.dice));
    let admission = Admission {
        person: new.person,
        name: new.name.clone(),
        roles: BTreeSet::from([name(ADMIN)]),
        approval_key: new.approval.public(),
        device_key: new.device.public(),
        label: DESK.to_owned(),
    };
    let recovery = Recovery { gate: world.house.gate(), environment: Environment::Test, admission, issued_at: world.now() };
    let hostile = world.dice.percent(15);
    let key = if hostile { &new.approval } else { &world.house.recovery_key };
    let envelope = recovery.sign(key).expect("a recovery is signed");
    if !hostile {
        // Whether it was announced or not is not known to whoever gets no answer.
        world.desks.borrow_mut().push(Rc::clone(&new));
    }
    let outcome = world.over_network(|store, moment| async move { store.announce_recovery(moment, envelope).await }).await?;
    let recovery_sha256 = match outcome {
        RecoveryOutcome::Announced { recovery_sha256, .. } => recovery_sha256,
        RecoveryOutcome::Refused(refusal) => {
            world.reach(&format!("a recovery is refused: {}", refusal.code));
            return Ok(());
        }
    };
    assert!(!hostile, "a recovery that the recovery key did not sign is announced");
    if world.dice.percent(20)
        && let Some(lost) = admin(world)
    {
        world.reach("somebody acts before their recovery is in force");
        send_stop(world, &lost, lost.keys().to_vec(), &new.approval).await?;
    }
    if world.dice.percent(50) {
        return Ok(());
    }
    world.tasks.sleep_ms(world.dice.throw(200_000)).await;
    let objector = if world.dice.percent(75) { admin(world) } else { somebody(world).and_then(|person| world.desk_of(&person)) };
    let Some(objector) = objector else { return Ok(()) };
    let veto = Veto { gate: world.house.gate(), environment: Environment::Test, recovery_sha256, issued_at: world.now() };
    let envelope = veto.sign(&objector.approval).expect("a veto is signed");
    let outcome = world.over_network(|store, moment| async move { store.veto_recovery(moment, recovery_sha256, envelope).await }).await?;
    match outcome {
        VetoOutcome::Vetoed(position) => world.witness.borrow_mut().told.push(Told::Keys(RecordType::RecoveryVetoed, position)),
        VetoOutcome::Refused(refusal) => world.reach(&format!("a veto is refused: {}", refusal.code)),
    }
    Ok(())
}
