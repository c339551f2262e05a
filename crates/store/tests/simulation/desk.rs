//! People who find out what became of an operation that only they can tell, and sign it: slowly, and never before they looked.

use std::rc::Rc;

use vidimus_core::bytes::{Nonce, Salt};
use vidimus_core::decision::CheckpointRef;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::ids::{Environment, PersonId};
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_store::{AskChallenge, OperationChallengeOutcome, ReconciliationOutcome, RecordReconciliation, ToSign};

use crate::house::{Approver, name};
use crate::tasks::Home;
use crate::witness::Told;
use crate::world::{Cut, Defect, World};

/// Nobody answers faster: whatever was under way has arrived, or never will. *Unit*: milliseconds.
const LOOKS_AFTER_MS: u64 = 100_000;

/// An operation waits for people: some of them are paged, and answer.
pub fn page(world: &Rc<World>, operation: OperationKey) {
    if world.is_calm() {
        return;
    }
    let persons: Vec<PersonId> = world.witness.borrow().roster.persons.keys().copied().collect();
    for person in persons {
        if world.dice.percent(60) {
            world.tasks.spawn(Home::Outside, find_out(Rc::clone(world), person, operation));
        }
    }
}

async fn find_out(world: Rc<World>, person: PersonId, operation: OperationKey) {
    world.tasks.sleep_ms(LOOKS_AFTER_MS + world.dice.throw(200_000)).await;
    for _ in 0..world.dice.between(1, 3) {
        if world.is_calm() {
            return;
        }
        let Some(desk) = world.desk_of(&person) else { return };
        if answer(&world, &desk, operation).await == Ok(true) {
            return;
        }
        world.tasks.sleep_ms(world.dice.throw(150_000)).await;
    }
}

/// Signs what the provider shows now. True when nothing more is to be said.
async fn answer(world: &Rc<World>, person: &Approver, operation: OperationKey) -> Result<bool, Cut> {
    let Some(subject) = Subject::of(world, person, operation) else { return Ok(true) };
    let roles: Vec<_> = subject.held.iter().map(|role| name(role)).collect();
    let (asked, key_sha256) = (roles.clone(), person.approval.public().digest());
    let looked = world.over_network(|store, moment| async move { store.open_operation(moment, operation, person.person, asked).await });
    looked.await?;
    let challenge = Nonce::from_bytes(world.dice.bytes());
    let ask = AskChallenge { operation, person: person.person, roles: roles.clone(), key_sha256, challenge };
    let outcome = world.over_network(|store, moment| async move { store.operation_challenge(moment, ask).await }).await?;
    let OperationChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) = outcome else { return Ok(true) };
    let (said, amount_minor) = what_they_say(world, person, &subject, operation);
    let evidence = match said {
        Answer::StillUnknown => Evidence { look_again_at: Some(issued_at.plus_s(600)), ..Evidence::default() },
        _ => Evidence { evidence: Some("looked at the provider's own list".to_owned()), ..Evidence::default() },
    };
    let (salt, evidence) = (Salt::from_bytes(world.dice.bytes()), evidence.to_text().expect("text"));
    let statement = ReconciliationStatement {
        gate: subject.frozen.members().gate,
        gate_key_sha256: world.house.log_key.public().digest(),
        environment: Environment::Test,
        operation,
        request: Some(subject.frozen.members().request),
        request_sha256: Some(subject.frozen.request_sha256()),
        attempt: subject.attempt,
        answer: said,
        amount_minor,
        approver: person.person,
        key_sha256,
        role: name(&subject.role),
        roster_sha256,
        shown_sha256: Some(world.house.shown_sha256(&subject.frozen)),
        evidence_sha256: evidence_sha256(&salt, &evidence),
        challenge,
        checkpoint: CheckpointRef { size: head.size, root: head.root },
        app_version: "simulated".to_owned(),
        issued_at,
        expires_at,
    };
    world.tasks.sleep_ms(world.dice.throw(10_000)).await;
    let envelope = statement.sign(&person.approval).expect("an answer is signed");
    let sent = RecordReconciliation { operation, roles, envelope, evidence, evidence_salt: salt, refusal_on_record: true };
    let outcome = world.over_network(|store, moment| async move { store.record_reconciliation(moment, sent).await }).await?;
    Ok(match outcome {
        ReconciliationOutcome::Recorded(receipt) | ReconciliationOutcome::Stored(receipt) => {
            world.reach(&format!("a person answers {said}"));
            world.witness.borrow_mut().told.push(Told::Answer(operation, receipt));
            said != Answer::StillUnknown
        }
        ReconciliationOutcome::Refused(_) => false,
        ReconciliationOutcome::NotFound => true,
    })
}

/// What the provider shows; but some look carelessly, where that settles nothing without another person.
fn what_they_say(world: &World, person: &Approver, subject: &Subject, operation: OperationKey) -> (Answer, Option<u64>) {
    if world.dice.throw(10) == 0 {
        return (Answer::StillUnknown, None);
    }
    let needed: u32 = subject.frozen.members().needs.iter().map(|need| need.quorum).sum();
    let careless = person.person == world.house.people[3].person && needed > 1 && world.dice.percent(50);
    let happened = world.provider.effects.borrow().contains_key(&operation);
    let mistaken = careless || (world.defect == Some(Defect::PeopleMistakeWhatHappened) && needed == 1 && happened);
    if let Some(part) = world.provider.parts.borrow().get(&operation) {
        return (Answer::Partly, Some(*part));
    }
    if mistaken {
        world.reach("a person is mistaken about what happened");
    }
    match happened != mistaken {
        true => (Answer::Happened, None),
        false => (Answer::NotHappened, None),
    }
}

/// What a person answers about.
struct Subject {
    frozen: vidimus_core::frozen::FrozenRequest,
    attempt: u32,
    role: String,
    /// All roles that the person holds.
    held: Vec<String>,
}

impl Subject {
    /// None where this person is not asked.
    fn of(world: &World, person: &Approver, operation: OperationKey) -> Option<Subject> {
        let witness = world.witness.borrow();
        let seen = witness.operations.get(&operation)?;
        let frozen = witness.requests.get(&seen.request?)?.frozen.clone();
        let held = &witness.roster.persons.get(&person.person)?.roles;
        let escalated = witness.requests[&seen.request?].escalated;
        let roles = frozen.members().needs.iter().flat_map(|need| [Some(&need.role), need.escalate_to.as_ref().filter(|_| escalated)]);
        let mut asked = roles.flatten().map(|role| role.to_string()).filter(|role| held.contains(role));
        let (first, second) = (asked.next()?, asked.next());
        let role = if world.dice.percent(50) { second.unwrap_or_else(|| first.clone()) } else { first };
        let held = held.iter().cloned().collect();
        Some(Subject { attempt: seen.attempts, role, held, frozen: frozen.clone() })
    }
}
