//! Writes in doubt that the gate sends again under their key, as `vidimus_gate` does it.

use std::rc::Rc;

use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_store::{AnswerOutcome, WriteEnd};

use crate::provider::{Message, Provider, Reply};
use crate::tasks::{Home, Slot};
use crate::witness::Told;
use crate::workers::LEASE_S;
use crate::world::{Cut, Defect, World};

/// How long the gate waits for the provider. *Unit*: milliseconds.
const TIMEOUT_MS: u64 = 20_000;

/// Makes the next intent durable, sends, records. True when it did what was due.
pub async fn send(world: &Rc<World>, operation: OperationKey) -> Result<bool, Cut> {
    world.pause("before a write is intended again").await;
    let again = world.at_gate(|store, moment| async move { store.write_again(moment, operation, LEASE_S).await }).await?;
    let Some(again) = again else {
        world.reach("a write in doubt is not sent again");
        return Ok(false);
    };
    world.reach(&format!("a write is sent again at attempt {}", again.attempt));
    world.pause("before a write is sent again").await;
    let looked_at = world.now();
    let reply = if looked_at < again.lease_until {
        let mut args = again.args.clone();
        if world.defect == Some(Defect::WorkerSendsAnotherWriteAgain) {
            args = args.replace("label\":\"", "label\":\"other ");
        }
        let message = Message {
            tool: world.witness.borrow().operations[&operation].write.as_ref().expect("a write").tool.clone(),
            args,
            operation,
            attempt: again.attempt,
            lease_until: again.lease_until,
            looked_at,
        };
        let reply = Slot::default();
        world.tasks.spawn(Home::Outside, Provider::take(Rc::clone(world), message, reply.clone()));
        world.tasks.within_ms(TIMEOUT_MS, &reply).await.unwrap_or_else(|| Reply::of(Answer::Unclear))
    } else {
        world.reach("the time of a further write was over before it was sent");
        Reply::of(Answer::NothingSent)
    };
    let Reply { answer, result } = reply;
    let end =
        WriteEnd { operation, attempt: again.attempt, answer, result, receipt: None, after: None, detail: "simulated again".to_owned() };
    let outcome = world.at_gate(|store, moment| async move { store.write_end(moment, end).await }).await?;
    if let AnswerOutcome::Applied(OperationState::Succeeded) = outcome {
        world.reach("a write that was sent again succeeds");
        world.witness.borrow_mut().told.push(Told::Call(again.call));
    }
    Ok(true)
}
