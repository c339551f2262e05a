//! The provider: acts on the world when a message reaches it, and remembers keys for as long as it promises.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::time::Timestamp;
use vidimus_store::StatusAnswer;

use crate::invariants;
use crate::tasks::Slot;
use crate::world::{Defect, World};

/// How much longer a provider remembers a key than the row relies on. *Unit*: seconds. The row's time has room for an attempt that takes
/// its whole timeout; here a worker may also be held up after its last look, which no look can see.
const KEY_GRACE_S: i64 = 240;

/// One attempt on its way to the provider.
pub struct Message {
    pub tool: String,
    pub args: String,
    pub operation: OperationKey,
    pub attempt: u32,
    /// Until when the attempt may be sent, and when the worker looked at that for the last time.
    pub lease_until: Timestamp,
    pub looked_at: Timestamp,
}

/// What the worker makes of a reply.
pub struct Reply {
    pub answer: Answer,
    pub result: Option<String>,
}

impl Reply {
    pub fn of(answer: Answer) -> Reply {
        Reply { answer, result: None }
    }
}

#[derive(Default)]
pub struct Provider {
    /// What happened in the world, by operation.
    pub effects: RefCell<invariants::Effects>,
    /// Where only part of what was asked for happened, how much. *Unit*: minor units.
    pub parts: RefCell<BTreeMap<OperationKey, u64>>,
    /// Keys, when they were first seen, and their answers.
    keys: RefCell<BTreeMap<OperationKey, (i64, String)>>,
}

/// What the provider does with a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    ActAndAnswer,
    ActAndSayNothing,
    ActAndFail,
    ActInPart,
    Fail,
    Refuse,
    SayNothing,
}

impl Provider {
    /// Takes a message in, which may have been under way for long, and answers into the slot, or does not.
    pub async fn take(world: Rc<World>, message: Message, reply: Slot<Reply>) {
        if world.travel().await.is_err() {
            return;
        }
        let course = match world.dice.throw(100) {
            _ if world.is_calm() => Course::ActAndAnswer,
            0..25 if message.tool == "voucher" => Course::ActInPart,
            0..56 => Course::ActAndAnswer,
            56..70 => Course::ActAndSayNothing,
            70..78 => Course::ActAndFail,
            78..86 => Course::Fail,
            86..93 => Course::Refuse,
            _ => Course::SayNothing,
        };
        match course {
            Course::ActAndAnswer => {
                let result = Provider::act(&world, &message);
                world.reach("provider acts and answers");
                if world.travel().await.is_ok() {
                    reply.put(Reply { answer: Answer::Done, result: Some(result) });
                }
            }
            Course::ActAndSayNothing => {
                Provider::act(&world, &message);
                world.reach("provider acts and drops its answer");
            }
            Course::ActAndFail => {
                Provider::act(&world, &message);
                world.reach("provider acts and says 500");
                reply.put(Reply::of(Answer::Unclear));
            }
            Course::ActInPart => {
                Provider::act(&world, &message);
                world.provider.parts.borrow_mut().insert(message.operation, 600);
                world.reach("provider acts in part");
                reply.put(Reply::of(Answer::Unclear));
            }
            Course::Fail => {
                world.reach("provider says 503 without acting");
                reply.put(Reply::of(Answer::Unclear));
            }
            Course::Refuse => {
                let known = world.provider.effects.borrow().contains_key(&message.operation);
                world.reach("provider refuses");
                // It has done it before: a second message of a keyless tool is refused for that very reason.
                reply.put(Reply::of(if known && message.tool == "refund" { Answer::Unclear } else { Answer::NoEffect }));
            }
            Course::SayNothing => world.reach("provider says nothing"),
        }
    }

    fn act(world: &World, message: &Message) -> String {
        let memory_s = match message.tool.as_str() {
            "refund" => Some(400 + KEY_GRACE_S),
            "payout" => Some(200 + KEY_GRACE_S),
            "pay" | "label" => Some(300 + KEY_GRACE_S),
            _ => None,
        };
        let now_ms = world.tasks.now_ms();
        if let Some(memory_s) = memory_s.filter(|_| world.defect != Some(Defect::ProviderIgnoresKeys)) {
            let keys = world.provider.keys.borrow();
            match keys.get(&message.operation) {
                Some((seen_ms, answer)) if now_ms < seen_ms + memory_s * 1000 => {
                    world.reach("provider knows the key");
                    return answer.clone();
                }
                Some(_) => world.reach("provider has forgotten the key"),
                None => {}
            }
        }
        let result = format!(r#"{{"id":"{}"}}"#, message.operation);
        world.provider.keys.borrow_mut().insert(message.operation, (now_ms, result.clone()));
        *world.provider.effects.borrow_mut().entry(message.operation).or_default() += 1;
        world.say(|| format!("an effect: {} attempt {}", message.tool, message.attempt));
        let (witness, effects) = (world.witness.borrow(), world.provider.effects.borrow());
        invariants::invariant_an_effect_implies_a_redeemed_token(&witness, message);
        invariants::invariant_nothing_is_sent_after_its_lease(message);
        invariants::invariant_the_executed_bytes_are_the_frozen_ones(&witness, message);
        invariants::invariant_a_write_is_sent_as_it_was_first_intended(&witness, message);
        invariants::invariant_an_executor_with_its_own_roster_accepts(&witness, message);
        invariants::invariant_one_effect_for_each_operation(&effects, &message.operation);
        invariants::invariant_effects_never_exceed_approvals(&effects, &witness);
        if let Some(state) = witness.operations.get(&message.operation).and_then(|seen| seen.state) {
            invariants::invariant_what_did_not_happen_has_no_effect(&effects, &message.operation, state);
        }
        result
    }

    /// What became of an operation, for the tools that can say; what is said need not be of any use.
    pub async fn status(world: &World, operation: OperationKey) -> StatusAnswer {
        let detail = |words: &str| words.to_owned();
        if world.travel().await.is_err() {
            return StatusAnswer::Unclear { detail: detail("no answer") };
        }
        let found = world.provider.effects.borrow().contains_key(&operation);
        match world.dice.throw(100) {
            _ if world.is_calm() => {}
            0..6 => {
                world.reach("status is not answered");
                return StatusAnswer::Unclear { detail: detail("503") };
            }
            6..10 => {
                world.reach("status of something else");
                return StatusAnswer::Foreign { detail: detail("another payload") };
            }
            // It does not know yet what it has done: absence is no proof.
            10..14 if found => {
                world.reach("status contradicts what happened");
                return StatusAnswer::NotFound { detail: detail("404") };
            }
            _ => {}
        }
        world.reach(if found { "status found" } else { "status not found" });
        match found {
            true => StatusAnswer::Found { result: format!(r#"{{"id":"{operation}"}}"#) },
            false => StatusAnswer::NotFound { detail: detail("404") },
        }
    }
}
