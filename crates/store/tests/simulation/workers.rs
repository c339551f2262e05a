//! What the gate's process does by itself, as `vidimus_gate::workers` does it, with the seams at which it may be held up or die.

use std::rc::Rc;

use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::page::{PageChannel, PageOutcome};
use vidimus_core::table::TABLE_CHANGE;
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, VerifiedToken};
use vidimus_store::{
    AnswerOutcome, Begun, LeaseOutcome, Mint, MintOutcome, Minted, Moment, OwnToolOutcome, PageSent, RecordAnswer, Redeem, RedeemOutcome,
    Redeemed, StatusAsked, TokenRefused,
};

use crate::invariants;
use crate::provider::{Message, Provider, Reply};
use crate::tasks::{Home, Slot};
use crate::world::{Cut, Defect, World, ready};
use crate::writes_again;

pub const LEASE_S: u64 = 30;
const LEASE_RENEWAL_MS: u64 = 10_000;
pub const TOKEN_TTL_S: u64 = 10;
/// How long a worker waits for the provider.
const TIMEOUT_MS: u64 = 20_000;
/// After a refusal, an operation rests.
const REFUSED_REST_MS: u64 = 60_000;
const HEARTBEAT_S: u64 = 60;
pub const AUDIENCE: &str = "gate";

/// How soon somebody is told again, unless somebody looks. *Unit*: seconds.
const PAGE_AGAIN_S: u64 = 300;

/// Reading the whole log takes long, so one start in twenty stands for the others.
fn look_at_the_ledger(world: &World) {
    if world.dice.percent(95) {
        return;
    }
    let store = world.store().expect("a gate that starts");
    let head = ready(store.head()).expect("a reading");
    invariants::invariant_a_start_needs_nobody(&ready(store.verify(Some(head))));
}

/// From the start to the end of the process.
pub async fn serve(world: Rc<World>) {
    look_at_the_ledger(&world);
    // What the wall clock says by itself: only so it is seen that it lies behind what was recorded.
    let wall = world.wall();
    world.begin_clock();
    if world.at_gate(|store, moment| async move { store.recover_at_start(Moment { now: wall, ..moment }).await }).await.is_err() {
        return;
    }
    if wall < world.now() {
        world.reach("a start with the clock behind");
    }
    loop {
        let nudge = Slot::default();
        *world.nudge.borrow_mut() = nudge.clone();
        if sweep(&world).await.is_err() {
            return;
        }
        // A sweep comes when it comes: long after what is due, or at its very millisecond.
        let rest_ms = match world.dice.throw(4) {
            // A proposal of a person, and a recovery, wait for days.
            _ if world.is_calm() && !world.witness.borrow().operations.values().any(invariants::is_open) => 12 * 3_600_000,
            0 => world.dice.throw(1_000),
            1 | 2 => world.dice.throw(20_000),
            _ => 30_000,
        };
        world.tasks.within_ms(rest_ms, &nudge).await;
    }
}

async fn sweep(world: &Rc<World>) -> Result<(), Cut> {
    if world.defect == Some(Defect::GateNeverSweeps) {
        return Ok(());
    }
    if let Some(skipped_ms) = world.skipped_ms() {
        world.at_gate(|store, moment| async move { store.skip_time(moment, skipped_ms).await }).await?;
        world.follow_clock(skipped_ms);
    }
    let due = world.at_gate(|store, moment| async move { store.due(moment).await }).await?;
    let Some(store) = world.store() else { return Err(Cut) };
    if ready(store.last_recorded()).expect("a reading").plus_s(HEARTBEAT_S) <= world.now() {
        world.at_gate(|store, moment| async move { store.heartbeat(moment).await }).await?;
    }
    page(world).await?;
    for operation in due.to_mint {
        if world.busy.borrow_mut().insert(operation) {
            let world = Rc::clone(world);
            world.tasks.clone().spawn(Home::Gate, async move {
                let done = execute(&world, operation).await;
                if done != Ok(true) {
                    world.tasks.sleep_ms(REFUSED_REST_MS).await;
                }
                world.busy.borrow_mut().remove(&operation);
            });
        }
    }
    for operation in due.to_send_again {
        if world.busy.borrow_mut().insert(operation) {
            let world = Rc::clone(world);
            world.tasks.clone().spawn(Home::Gate, async move {
                if writes_again::send(&world, operation).await != Ok(true) {
                    world.tasks.sleep_ms(REFUSED_REST_MS).await;
                }
                world.busy.borrow_mut().remove(&operation);
            });
        }
    }
    for operation in due.to_ask.into_iter().chain(due.to_ask_of_writes) {
        if world.busy.borrow_mut().insert(operation) {
            let world = Rc::clone(world);
            world.tasks.clone().spawn(Home::Gate, async move {
                let _ = ask(&world, operation).await;
                world.busy.borrow_mut().remove(&operation);
            });
        }
    }
    Ok(())
}

/// Has people told of what waits for them.
async fn page(world: &Rc<World>) -> Result<(), Cut> {
    if world.defect == Some(Defect::GatePagesNobody) {
        return Ok(());
    }
    let pages = world.at_gate(|store, moment| async move { store.due_pages(moment).await }).await?;
    for page in pages {
        let sent = PageSent { page, deliveries: vec![(PageChannel::Console, PageOutcome::Delivered)], repeat_s: PAGE_AGAIN_S };
        world.at_gate(|store, moment| async move { store.page_sent(moment, sent).await }).await?;
    }
    Ok(())
}

/// What a call's arguments name at this moment.
pub fn referents_now(world: &World, frozen: &FrozenRequest) -> Json {
    let payee = frozen.members().args.member("payee").and_then(Json::as_str);
    match payee {
        Some(payee) => Json::object([("/payee", world.directory.borrow()[payee].as_str().into())]),
        None => Json::object([]),
    }
}

/// What a worker says the arguments name, after it has read that.
fn named(world: &World, operation: &OperationKey, jti: Option<&Nonce>) -> Json {
    let witness = world.witness.borrow();
    let request = witness.operations.get(operation).and_then(|seen| seen.request).expect("an operation with a request");
    let frozen = &witness.requests[&request].frozen;
    let read = referents_now(world, frozen);
    if let Some(jti) = jti {
        world.presented.borrow_mut().insert(Digest::of(jti.as_bytes()), read.clone());
    }
    if world.defect == Some(Defect::WorkerReadsNoNames) { frozen.members().referents.clone() } else { read }
}

async fn ask(world: &Rc<World>, operation: OperationKey) -> Result<(), Cut> {
    let answer = Provider::status(world, operation).await;
    world.pause("before a status answer is recorded").await;
    world.at_gate(|store, moment| async move { store.record_status(moment, operation, StatusAsked::InTurn, answer).await }).await?;
    Ok(())
}

/// Mints, redeems, sends, records. True when it did what was due.
async fn execute(world: &Rc<World>, operation: OperationKey) -> Result<bool, Cut> {
    world.pause("before mint").await;
    let jti = Nonce::from_bytes(world.dice.bytes());
    let mint = Mint {
        operation,
        jti_sha256: Digest::of(jti.as_bytes()),
        audience: AUDIENCE.to_owned(),
        ttl_s: TOKEN_TTL_S,
        referents: named(world, &operation, None),
    };
    let minted = match world.at_gate(|store, moment| async move { store.mint(moment, mint).await }).await? {
        MintOutcome::Minted(minted) => minted,
        MintOutcome::NotDue(_) => return Ok(false),
        MintOutcome::Refused(refusal) => {
            world.reach(&format!("mint refused: {}", refusal.code));
            return Ok(false);
        }
    };
    world.pause("after mint").await;
    let Some(token) = verified(world, &minted, jti, operation).await? else { return Ok(false) };
    let referents = named(world, &operation, Some(&jti));
    if [ROSTER_CHANGE, TABLE_CHANGE].contains(&minted.tool.as_str()) {
        let redeem = Redeem { token, lease_s: LEASE_S, referents };
        let outcome = world.at_gate(|store, moment| async move { store.carry_out(moment, redeem).await }).await?;
        match &outcome {
            OwnToolOutcome::Applied(_) => world.reach("a tool of the gate's own acts"),
            OwnToolOutcome::Refused(refusal) => world.reach(&format!("a tool of the gate's own is refused: {}", refusal.code)),
        }
        return Ok(matches!(outcome, OwnToolOutcome::Applied(_)));
    }
    let redeem = Redeem { token, lease_s: LEASE_S, referents };
    let again = redeem.clone();
    let redeemed = if world.defect == Some(Defect::WorkerSendsWithoutRedeeming) {
        Redeemed { operation, attempt: minted.attempt, lease_until: world.now().plus_s(LEASE_S) }
    } else {
        match world.at_gate(|store, moment| async move { store.redeem(moment, redeem).await }).await? {
            RedeemOutcome::Redeemed(redeemed) => redeemed,
            RedeemOutcome::Refused(refusal) => {
                world.reach(&format!("redeem refused: {}", refusal.code));
                return Ok(false);
            }
        }
    };
    if !world.is_calm() && world.dice.percent(10) {
        // Somebody presents the token once more.
        let outcome = world.at_gate(|store, moment| async move { store.redeem(moment, again).await }).await?;
        assert!(matches!(outcome, RedeemOutcome::Refused(_)) || world.defect.is_some(), "a token is redeemed twice: {outcome:?}");
        world.reach("a token is presented twice");
    }
    send(world, &minted.frozen, &redeemed).await?;
    Ok(true)
}

/// What was decided, minted and redeemed in one commit is sent by a task of its own.
pub fn go_on(world: &Rc<World>, begun: Begun) {
    let operation = begun.redeemed.operation;
    world.busy.borrow_mut().insert(operation);
    let world = Rc::clone(world);
    world.tasks.clone().spawn(Home::Gate, async move {
        let _ = send(&world, &begun.frozen, &begun.redeemed).await;
        world.busy.borrow_mut().remove(&operation);
    });
}

/// One attempt under its lease, and the record of what came of it.
async fn send(world: &Rc<World>, frozen: &str, redeemed: &Redeemed) -> Result<(), Cut> {
    let ended = Slot::default();
    renew(world, redeemed, ended.clone());
    let reply = attempt(world, frozen, redeemed).await;
    world.pause("before an answer is recorded").await;
    ended.put(());
    record(world, redeemed, reply).await?;
    world.nudge.borrow().put(());
    Ok(())
}

/// Signs the token, and verifies it as the executor does: over the arguments' digest that it computes itself.
async fn verified(world: &Rc<World>, minted: &Minted, jti: Nonce, operation: OperationKey) -> Result<Option<VerifiedToken>, Cut> {
    let text = world.house.sign_token(minted, jti);
    let frozen = FrozenRequest::parse(minted.frozen.as_bytes()).expect("frozen bytes");
    let key = world.house.token_key.public();
    match token::verify(&text, &key, AUDIENCE, &frozen.members().tool, &frozen.args_sha256(), world.now()) {
        Ok(token) => Ok(Some(token)),
        Err(refusal) => {
            world.reach(&format!("executor refuses: {}", refusal.code));
            let refused = TokenRefused { operation: Some(operation), request: Some(minted.request), refusal };
            world.at_gate(|store, moment| async move { store.refuse_token(moment, refused).await }).await?;
            Ok(None)
        }
    }
}

/// Keeps the lease while the attempt runs; held up like everything else.
fn renew(world: &Rc<World>, redeemed: &Redeemed, ended: Slot<()>) {
    let (world, operation, attempt) = (Rc::clone(world), redeemed.operation, redeemed.attempt);
    world.tasks.clone().spawn(Home::Gate, async move {
        while world.tasks.within_ms(LEASE_RENEWAL_MS, &ended).await.is_none() {
            world.pause("before a lease is renewed").await;
            let outcome = world.at_gate(|store, moment| async move { store.renew_lease(moment, operation, attempt, LEASE_S).await }).await;
            match outcome {
                Ok(LeaseOutcome::Renewed(_)) => world.reach("lease renewed"),
                Ok(LeaseOutcome::Lost) => return world.reach("lease lost"),
                Err(Cut) => return,
            }
        }
    });
}

async fn attempt(world: &Rc<World>, frozen: &str, redeemed: &Redeemed) -> Reply {
    world.pause("after redeem").await;
    let looked_at = last_look(world);
    if looked_at >= redeemed.lease_until && world.defect != Some(Defect::WorkerLooksAtNoLease) {
        world.reach("the lease ran out before anything was sent");
        return Reply::of(Answer::NothingSent);
    }
    if !world.is_calm() && world.dice.percent(6) {
        world.reach("connection refused");
        return Reply::of(Answer::NothingSent);
    }
    world.pause("after the last look at the lease").await;
    let frozen = FrozenRequest::parse(frozen.as_bytes()).expect("frozen bytes");
    let mut args = String::from_utf8(frozen.canonical_args().to_vec()).expect("text");
    if world.defect == Some(Defect::WorkerSendsOtherArguments) {
        args = args.replace("1500", "1501");
    }
    let message = Message {
        tool: frozen.members().tool.to_string(),
        args,
        operation: redeemed.operation,
        attempt: redeemed.attempt,
        lease_until: redeemed.lease_until,
        looked_at,
    };
    let reply = Slot::default();
    world.tasks.spawn(Home::Outside, Provider::take(Rc::clone(world), message, reply.clone()));
    match world.tasks.within_ms(TIMEOUT_MS, &reply).await {
        Some(reply) => reply,
        None => {
            world.reach("the provider is not waited for any longer");
            let known = world.defect == Some(Defect::WorkerCallsATimeOutFailed);
            Reply::of(if known { Answer::NoEffect } else { Answer::Unclear })
        }
    }
}

fn last_look(world: &World) -> Timestamp {
    world.now()
}

async fn record(world: &Rc<World>, redeemed: &Redeemed, reply: Reply) -> Result<(), Cut> {
    let Redeemed { operation, attempt, .. } = *redeemed;
    let answer = RecordAnswer { operation, attempt, answer: reply.answer, result: reply.result, detail: "simulated".to_owned() };
    let first = answer.clone();
    match world.at_gate(|store, moment| async move { store.record_answer(moment, first).await }).await? {
        AnswerOutcome::Applied(_) => {}
        AnswerOutcome::Evidence(state) => world.reach(&format!("a late answer is evidence, the operation stays {state}")),
        AnswerOutcome::NotFound => panic!("an operation that was redeemed is not found"),
    }
    if world.is_calm() || world.dice.percent(94) {
        return Ok(());
    }
    // The provider answers once more, and otherwise.
    let otherwise = if answer.answer == Answer::Done { Answer::NoEffect } else { Answer::Done };
    let result = (otherwise == Answer::Done).then(|| "{}".to_owned());
    let contradiction = RecordAnswer { answer: otherwise, result, ..answer };
    world.pause("before a second answer is recorded").await;
    let outcome = world.at_gate(|store, moment| async move { store.record_answer(moment, contradiction).await }).await?;
    assert!(matches!(outcome, AnswerOutcome::Evidence(_)), "a second answer of an attempt counts: {outcome:?}");
    world.reach("a second answer contradicts the first");
    Ok(())
}
