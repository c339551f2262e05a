//! Agents: decide to do something, ask for it, and ask again when they get no answer; some of them badly.

use std::rc::Rc;

use vidimus_core::bytes::Salt;
use vidimus_core::code::Code;
use vidimus_core::ids::{CallId, Name, RequestId, RunId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::{Answer, OperationState};
use vidimus_store::{AnswerOutcome, CallReceived, FreezeCall, FreezeOutcome, IntentOutcome, Joined, Withdrawal, WriteEnd, WriteIntent};

use crate::house::name;
use crate::invariants;
use crate::provider::{Message, Provider};
use crate::tasks::{Home, Slot};
use crate::witness::Told;
use crate::world::{Cut, Defect, World};

/// What an agent has decided to do: the same at every try.
#[derive(Clone)]
struct Intent {
    agent: &'static str,
    tool: &'static str,
    args: String,
    call_key: Option<String>,
    run: Option<RunId>,
}

pub fn begin(world: &Rc<World>) {
    for _ in 0..world.dice.between(4, 8) {
        let begins_ms = world.dice.throw(400_000);
        let agent = agent(Rc::clone(world), begins_ms);
        world.tasks.spawn(Home::Outside, agent);
    }
}

fn intent(world: &World) -> Intent {
    // Few things to ask for, so that they meet each other.
    let which = world.dice.throw(3);
    let (tool, args) = match world.dice.throw(15) {
        0..3 => ("refund", format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"{which}"}}"#)),
        3..5 => ("payout", format!(r#"{{"account":"{which}","amount_minor":1500,"currency":"EUR"}}"#)),
        5..7 => ("cancel", format!(r#"{{"subscription":"{which}"}}"#)),
        7..9 => ("wire", format!(r#"{{"account":"{which}","amount_minor":1500,"currency":"EUR"}}"#)),
        9 => ("tag", format!(r#"{{"tag":"{which}"}}"#)),
        14 => ("label", format!(r#"{{"label":"{which}"}}"#)),
        10 | 11 => {
            let amount = if world.dice.percent(50) { 2_000 } else { 1_200 + world.dice.throw(2) * 300 };
            ("voucher", format!(r#"{{"amount_minor":{amount},"currency":"EUR","customer":"{which}"}}"#))
        }
        _ => ("pay", format!(r#"{{"amount_minor":1500,"currency":"EUR","payee":"{which}"}}"#)),
    };
    let agent = if world.dice.percent(70) { "billing" } else { "support" };
    let call_key = world.dice.percent(50).then(|| format!("a-call-key-of-{tool}-{which}-{}", world.dice.throw(2)));
    let run = world.dice.percent(40).then(|| RunId::from_random([u8::try_from(world.dice.throw(2)).unwrap_or_default(); 16]));
    Intent { agent, tool, args, call_key, run }
}

async fn agent(world: Rc<World>, begins_ms: u64) {
    world.tasks.sleep_ms(begins_ms).await;
    let intent = intent(&world);
    for again in 0..world.dice.between(1, 4) {
        if world.is_calm() {
            return;
        }
        let mut intent = intent.clone();
        if again > 0 && intent.call_key.is_some() && world.dice.percent(15) {
            intent.args = intent.args.replacen("15", "16", 1).replace(r#"g":"0""#, r#"g":"7""#);
            world.reach("other arguments under the same call key");
        }
        let outcome = if matches!(intent.tool, "tag" | "label") { write(&world, &intent).await } else { money(&world, &intent).await };
        match outcome {
            // No answer: the same call again.
            Err(Cut) => world.tasks.sleep_ms(world.dice.throw(20_000)).await,
            Ok(None) => world.tasks.sleep_ms(world.dice.throw(200_000)).await,
            Ok(Some(call)) => {
                world.tasks.sleep_ms(world.dice.throw(300_000)).await;
                if world.dice.percent(12) {
                    let _ = withdraw(&world, &intent, call).await;
                }
                let _ = look(&world, &intent, call).await;
            }
        }
    }
}

fn received(world: &World, intent: &Intent) -> CallReceived {
    CallReceived {
        call: CallId::from_random(world.dice.id()),
        agent: name(intent.agent),
        run: intent.run,
        call_key: intent.call_key.clone(),
        tool: name(intent.tool),
        says: None,
        refusal_on_record: true,
    }
}

/// What the arguments name now; nothing where that cannot be read.
fn read_names(world: &World, args: &Json) -> Option<Json> {
    let Some(payee) = args.member("payee").and_then(Json::as_str) else { return Some(Json::object([])) };
    let account = world.directory.borrow()[payee].clone();
    (world.is_calm() || world.dice.percent(92)).then(|| Json::object([("/payee", account.into())]))
}

fn payload(intent: &Intent) -> (String, String) {
    (intent.tool.to_owned(), intent.args.clone())
}

async fn money(world: &Rc<World>, intent: &Intent) -> Result<Option<CallId>, Cut> {
    let row_sha256 = world.table().rows[&name(intent.tool)];
    let args = parse(intent.args.as_bytes(), &Limits::MONEY).expect("arguments");
    let freeze = FreezeCall {
        received: received(world, intent),
        request: RequestId::from_random(world.dice.id()),
        salt: Salt::from_bytes(world.dice.bytes()),
        row_sha256,
        referents: read_names(world, &args),
        args,
    };
    if world.defect == Some(Defect::GateTellsBeforeTheCommit) {
        world.witness.borrow_mut().told.push(Told::Call(freeze.received.call));
    }
    let agent = freeze.received.agent.clone();
    world.travel().await?;
    let outcome = world.at_gate(|store, moment| async move { store.freeze_call(moment, freeze).await }).await?;
    if let FreezeOutcome::Created { call, .. } | FreezeOutcome::Joined(Joined { call, untold: true }) = &outcome {
        // The connection is gone before the answer could be written to it.
        if !world.is_calm() && world.dice.percent(8) {
            lose(world, agent, *call);
            return Err(Cut);
        }
        tell(world, *call);
    }
    world.travel().await?;
    let mut witness = world.witness.borrow_mut();
    match outcome {
        FreezeOutcome::Created { call, .. } => {
            witness.payloads.insert(call, payload(intent));
            witness.told.push(Told::Call(call));
            Ok(Some(call))
        }
        FreezeOutcome::Joined(Joined { call, .. }) => {
            witness.told.push(Told::Call(call));
            drop(witness);
            joined(world, intent, call);
            Ok(Some(call))
        }
        FreezeOutcome::Refused(refusal) => {
            let known = [
                Code::OperationKeyConflict,
                Code::BusinessEffectOpen,
                Code::PendingLimitReached,
                Code::NoEligibleApprover,
                Code::CapReached,
                Code::ReferentUnreadable,
                Code::ToolNotListed,
                Code::RowStale,
                Code::CredentialInvalid,
                Code::AgentOwnerGone,
            ];
            assert!(known.contains(&refusal.code), "a call is refused for `{}`: {refusal}", refusal.code);
            // The gate that remembers keys alone would have answered with the earlier call.
            if world.defect == Some(Defect::GateAnswersForAnyPayload) && refusal.code == Code::OperationKeyConflict {
                let earlier = witness.payloads.iter().find(|(_, payload)| payload.0 == intent.tool).map(|(call, _)| *call);
                drop(witness);
                earlier.into_iter().for_each(|call| joined(world, intent, call));
            }
            Ok(None)
        }
    }
}

/// The gate hands its answer to the connection, and notes that beside what else it does.
fn tell(world: &Rc<World>, call: CallId) {
    let Some(store) = world.store() else { return };
    let noted = store.tell_call(world.moment(), call);
    world.witness.borrow_mut().told_here.insert(call);
    world.tasks.spawn(Home::Gate, async move {
        let _ = noted.await;
    });
}

/// The gate notices that nobody reads its answer any more: soon, or long after the agent has come by another connection.
fn lose(world: &Rc<World>, agent: Name, call: CallId) {
    let noticing = Rc::clone(world);
    world.tasks.spawn(Home::Gate, async move {
        let later_ms = if noticing.dice.percent(50) { 0 } else { noticing.dice.throw(60_000) };
        noticing.tasks.sleep_ms(later_ms).await;
        let orphaned = noticing.at_gate(|store, moment| async move { store.orphan_call(moment, agent, call).await }).await;
        match orphaned {
            Ok(true) => noticing.reach("a call is orphaned"),
            Ok(false) if noticing.witness.borrow().told_here.contains(&call) => {
                noticing.reach("a loss is noticed after the agent was told")
            }
            Ok(false) | Err(Cut) => {}
        }
    });
}

/// A call that joins an earlier one is the same call.
fn joined(world: &Rc<World>, intent: &Intent, call: CallId) {
    world.reach("a call joins");
    let Some(store) = world.store() else { return };
    let view = crate::world::ready(store.any_call(call)).expect("a reading").expect("a call that was joined");
    invariants::invariant_a_joined_call_has_an_equal_payload(&world.witness.borrow(), &view, &payload(intent));
}

async fn withdraw(world: &Rc<World>, intent: &Intent, call: CallId) -> Result<(), Cut> {
    let agent = name(intent.agent);
    let outcome = world.over_network(|store, moment| async move { store.withdraw(moment, agent, call).await }).await?;
    match outcome {
        Withdrawal::Withdrawn => world.reach("withdrawn"),
        Withdrawal::Refused(refusal) => world.reach(&format!("withdrawal refused: {}", refusal.code)),
        Withdrawal::NotFound => world.reach("withdrawal of a call that is not there"),
    }
    Ok(())
}

/// The agent asks how its call stands, and may rely on an end that it is told.
async fn look(world: &Rc<World>, intent: &Intent, call: CallId) -> Result<(), Cut> {
    let agent = name(intent.agent);
    if world.dice.percent(30) {
        // Whoever asks by its id has had it.
        let asking = agent.clone();
        if world.over_network(|store, moment| async move { store.hear_of_call(moment, asking, call).await }).await? {
            world.reach("an agent that was given up is heard of");
        }
    }
    let view = world.over_network(|store, _| async move { store.call(agent, call).await }).await?;
    let Some(view) = view else { return Ok(()) };
    let Some(request) = view.request else { return Ok(()) };
    let operation = view.operation.map(|operation| (operation.state, operation.result));
    let ended = request.state.is_final() && operation.as_ref().is_none_or(|(state, _)| state.is_final());
    if ended {
        let (state, result) = operation.unzip();
        world.reach("an agent is told an end");
        world.witness.borrow_mut().told.push(Told::End(call, request.state, state, result.flatten()));
    }
    Ok(())
}

/// A write: the gate records the intent, sends, records the end; its process may die anywhere between.
async fn write(world: &Rc<World>, intent: &Intent) -> Result<Option<CallId>, Cut> {
    world.travel().await?;
    let told = Slot::default();
    let task = carry_out_write(Rc::clone(world), intent.clone(), told.clone());
    world.tasks.spawn(Home::Gate, async move {
        let _ = task.await;
    });
    let call = world.tasks.within_ms(60_000, &told).await.ok_or(Cut)?;
    world.travel().await?;
    Ok(call)
}

async fn carry_out_write(world: Rc<World>, intent: Intent, told: Slot<Option<CallId>>) -> Result<(), Cut> {
    let received = received(&world, &intent);
    let call = received.call;
    let row_sha256 = world.table().rows[&name(intent.tool)];
    let lease_s = 30;
    let write = WriteIntent { received, row_sha256, args: intent.args.clone(), before: None, lease_s };
    let outcome = world.at_gate(|store, moment| async move { store.write_intent(moment, write).await }).await?;
    let (operation, attempt) = match outcome {
        IntentOutcome::Send { operation, attempt, .. } => (operation, attempt),
        IntentOutcome::Joined(Joined { call, .. }) => {
            world.reach("a write joins");
            world.witness.borrow_mut().told.push(Told::Call(call));
            told.put(None);
            return Ok(());
        }
        IntentOutcome::Refused(refusal) => {
            world.reach(&format!("write refused: {}", refusal.code));
            told.put(None);
            return Ok(());
        }
    };
    world.pause("after the intent of a write").await;
    let message = Message {
        tool: intent.tool.to_owned(),
        args: intent.args,
        operation,
        attempt,
        lease_until: world.now().plus_s(lease_s),
        looked_at: world.now(),
    };
    let reply = Slot::default();
    world.tasks.spawn(Home::Outside, Provider::take(Rc::clone(&world), message, reply.clone()));
    let reply = world.tasks.within_ms(20_000, &reply).await;
    let (answer, result) = reply.map_or((Answer::Unclear, None), |reply| (reply.answer, reply.result));
    let end = WriteEnd { operation, attempt, answer, result, receipt: None, after: None, detail: "simulated".to_owned() };
    let outcome = world.at_gate(|store, moment| async move { store.write_end(moment, end).await }).await?;
    if let AnswerOutcome::Applied(OperationState::Succeeded) = outcome {
        world.witness.borrow_mut().told.push(Told::Call(call));
    }
    told.put(Some(call));
    Ok(())
}
