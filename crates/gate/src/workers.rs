//! What the gate does by itself: executes what is approved, asks about what is unknown, ends what has run out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::table::{Executor, HttpExecutor, Row};
use vidimus_core::token::{self, TokenClaims, VerifiedToken};
use vidimus_store::{
    LeaseOutcome, Mint, MintOutcome, Minted, OwnToolOutcome, RecordAnswer, Redeem as RedeemToken, RedeemOutcome, RequestView, StatusAsked,
    TokenRefused,
};

use crate::entropy;
use crate::executions::provider_of;
use crate::executor::Reply;
use crate::executor::money::{Attempted, Order, Permit, Redeem, attempt};
use crate::gate::Gate;
use crate::http::Rejection;
use crate::limits::{HEARTBEAT_S, LEASE_RENEWAL_S, LEASE_S, REFUSED_REST_S, SWEEP_MS, TOKEN_TTL_S};
use crate::seams::{Seam, Setting, keep_token, pass, seconds};

/// Runs until the gate ends; executions that have begun are finished by whoever waits for `in_flight`.
pub async fn run(gate: Arc<Gate>) {
    let busy = Arc::new(Busy::default());
    let mut heartbeat = interval(Duration::from_secs(HEARTBEAT_S));
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut sweep_at = Instant::now();
    let mut providers = HashMap::new();
    loop {
        tokio::select! {
            () = gate.ending.cancelled() => return,
            () = gate.nudge.notified() => {}
            () = tokio::time::sleep_until(sweep_at) => {}
            _ = heartbeat.tick() => {
                if let Err(rejection) = beat(&gate).await {
                    report("a heartbeat was not recorded", rejection);
                }
                continue;
            }
        }
        sweep_at = Instant::now() + Duration::from_millis(SWEEP_MS);
        if let Err(rejection) = follow_clock(&gate).await {
            report("the clock was set forward and that is not on record; it is not followed", rejection);
        }
        if let Err(rejection) = gate.record_counted(gate.refusals.due(std::time::Instant::now())).await {
            report("refusals that were counted are not on record", rejection);
        }
        if let Err(rejection) = gate.record_counted_of_persons(gate.refusals_of_persons.due(std::time::Instant::now())).await {
            report("refusals of persons that were counted are not on record", rejection);
        }
        if let Err(rejection) = round(&gate, &busy, &mut providers).await {
            report("a round of the workers failed; the next one follows", rejection);
        }
    }
}

/// Puts on record that the clock was set forward, and only then goes by it.
async fn follow_clock(gate: &Gate) -> Result<(), Rejection> {
    let Some(skipped_ms) = crate::clock::skipped_ms() else { return Ok(()) };
    gate.store.skip_time(gate.moment()?, skipped_ms).await?;
    crate::clock::follow(skipped_ms);
    tracing::warn!(skipped_ms, "the clock was set forward; recoveries and rests after approvals go on that much longer");
    Ok(())
}

async fn beat(gate: &Gate) -> Result<(), Rejection> {
    gate.store.heartbeat(gate.moment()?).await?;
    Ok(())
}

/// The operations that a task of this process works on, one task each, and those that rest after a refusal.
#[derive(Default)]
struct Busy(Mutex<HashMap<OperationKey, Option<Instant>>>);

impl Busy {
    /// Takes an operation on; false while another task has it or it rests.
    fn begin(&self, operation: OperationKey) -> bool {
        let mut operations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        operations.retain(|_, rests_until| rests_until.is_none_or(|until| until > Instant::now()));
        let free = !operations.contains_key(&operation);
        if free {
            operations.insert(operation, None);
        }
        free
    }

    /// Gives it back. After a refusal it rests, so that a row without its credential does not fill the log.
    fn end(&self, operation: OperationKey, done: Done) {
        let mut operations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Done::Carried => operations.remove(&operation),
            Done::Refused => operations.insert(operation, Some(Instant::now() + Duration::from_secs(REFUSED_REST_S))),
        };
    }
}

/// How a task left an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It did what was due, or nothing was.
    Carried,
    /// A rule or a missing part stood in the way.
    Refused,
}

/// What a task is to do about an operation.
#[derive(Clone, Copy)]
enum Duty {
    Execute,
    Ask,
    SendAgain,
    AskOfWrite,
}

/// `providers`: of the operations that were due in the round before, whom each goes to.
async fn round(gate: &Arc<Gate>, busy: &Arc<Busy>, providers: &mut HashMap<OperationKey, String>) -> Result<(), Rejection> {
    let due = gate.store.due(gate.moment()?).await?;
    if gate.metrics.found_corrupt(due.corrupt.clone()) {
        let rows = due.corrupt.join(", ");
        tracing::error!(code = "row_corrupt", %rows, "rows of the ledger that cannot be read back; the others go on; check the disk");
    }
    if due.moved > 0 {
        gate.bell.ring_all();
    }
    let all = [
        (Duty::Execute, due.to_mint),
        (Duty::Ask, due.to_ask),
        (Duty::SendAgain, due.to_send_again),
        (Duty::AskOfWrite, due.to_ask_of_writes),
    ];
    // Nothing that has an effect begins without signed heads of this log. What is approved waits; what has run out still ends.
    let may_begin = gate.may_begin();
    let mut known = std::mem::take(providers);
    for (operation, duty) in all.into_iter().flat_map(|(duty, operations)| operations.into_iter().map(move |operation| (operation, duty))) {
        let places = match duty {
            Duty::Execute | Duty::SendAgain if !may_begin => continue,
            Duty::Execute => &gate.executions.payments,
            Duty::Ask => &gate.executions.questions,
            Duty::SendAgain | Duty::AskOfWrite => &gate.executions.repeats,
        };
        if !places.has_room() || !busy.begin(operation) {
            continue;
        }
        let provider = match known.remove(&operation) {
            Some(provider) => provider,
            // What cannot be read fails where it is carried out, which says so.
            None => provider(gate, operation).await.unwrap_or_default(),
        };
        let place = places.take(&provider);
        providers.insert(operation, provider);
        let Some(place) = place else {
            busy.end(operation, Done::Carried);
            continue;
        };
        let (gate, busy) = (gate.clone(), busy.clone());
        gate.in_flight.clone().spawn(async move {
            let done = match duty {
                Duty::Execute => execute(&gate, operation).await,
                Duty::SendAgain => send_again(&gate, operation).await,
                Duty::Ask | Duty::AskOfWrite => ask(&gate, operation).await,
            };
            let done = done.unwrap_or_else(|rejection| {
                report("an operation was not carried on; a later round looks again", rejection);
                Done::Refused
            });
            busy.end(operation, done);
            drop(place);
        });
    }
    Ok(())
}

pub(crate) fn report(what: &str, rejection: Rejection) {
    let problem = rejection.into_problem();
    tracing::error!(code = problem.code, detail = problem.detail, "{what}");
}

/// Mints a token for the next attempt, executes it, records what came of it.
async fn execute(gate: &Arc<Gate>, operation: OperationKey) -> Result<Done, Rejection> {
    let Some((request, row)) = subject(gate, operation).await? else { return Ok(Done::Refused) };
    let referents = match gate.referents_of(&request.frozen, &row).await {
        Ok(referents) => referents,
        Err(refusal) => {
            // Nothing runs yet. It rests and is tried again, until the request ends.
            let refused = TokenRefused { operation: Some(operation), request: Some(request.request), refusal };
            gate.store.refuse_token(gate.moment()?, refused).await?;
            return Ok(Done::Refused);
        }
    };
    pass(Seam::BeforeMint);
    let Some(token) = mint(gate, operation, referents).await? else {
        // The refusal may have ended the request: whoever waits for it is told now.
        gate.bell.ring(request.call);
        return Ok(Done::Refused);
    };
    pass(Seam::AfterMint);
    let order = Order {
        frozen: request.frozen.as_bytes(),
        token: &token,
        row: &row,
        audience: &gate.audience,
        token_key: gate.keys.token.public(),
    };
    let redeemer = Redeemer::new(gate.clone(), &row, &request.frozen);
    let attempted = match attempt(order, crate::clock::now, &gate.outbound, &redeemer).await {
        Ok(attempted) => attempted,
        Err(refusal) => {
            tracing::warn!(code = %refusal.code, operation = %operation, "an attempt was refused before anything was sent");
            if !redeemer.asked() {
                // The store has recorded its own refusals; this one it has not seen.
                let refused = TokenRefused { operation: Some(operation), request: Some(request.request), refusal };
                gate.store.refuse_token(gate.moment()?, refused).await?;
            }
            gate.bell.ring(request.call);
            return Ok(Done::Refused);
        }
    };
    match attempted {
        Attempted::Sent { operation, attempt, reply } => {
            record(gate, &row, operation, attempt, reply).await?;
            gate.bell.ring(request.call);
        }
        // Whatever waited for the version before has its answer now.
        Attempted::CarriedOut => {
            gate.metrics.changed(row.tool.as_str());
            gate.bell.ring_all();
        }
    }
    drop(redeemer);
    pass(Seam::AfterRecord);
    gate.nudge.notify_one();
    Ok(Done::Carried)
}

/// The request behind an operation, and its row; none when the row is gone: the store then ends the operation by itself.
async fn subject(gate: &Gate, operation: OperationKey) -> Result<Option<(RequestView, Row)>, Rejection> {
    let Some(view) = gate.store.operation(operation).await? else { return Ok(None) };
    let Some(request) = gate.store.any_call(view.call).await?.and_then(|call| call.request) else { return Ok(None) };
    let table = gate.table().await?;
    let row = table.as_ref().and_then(|table| table.row(&request.tool)).cloned();
    Ok(row.map(|row| (request, row)))
}

/// Whom an operation goes to, by the row of its tool; nobody where that is gone.
async fn provider(gate: &Gate, operation: OperationKey) -> Result<String, Rejection> {
    let (view, table) = (gate.store.operation(operation).await?, gate.table().await?);
    let row = view.as_ref().zip(table.as_ref()).and_then(|(view, table)| table.row(&view.tool));
    Ok(row.map(provider_of).unwrap_or_default())
}

/// A token for the next attempt; none when it is not due, or no longer allowed.
async fn mint(gate: &Gate, operation: OperationKey, referents: Json) -> Result<Option<String>, Rejection> {
    let jti = entropy::nonce()?;
    let order = mint_order(gate, operation, &jti, referents);
    let minted = match gate.store.mint(gate.moment()?, order).await? {
        MintOutcome::Minted(minted) => *minted,
        MintOutcome::NotDue(_) => return Ok(None),
        MintOutcome::Refused(refusal) => {
            tracing::warn!(code = %refusal.code, operation = %operation, "no token was minted");
            return Ok(None);
        }
    };
    Ok(Some(sign(gate, jti, &minted)?))
}

/// The token that the in-gate executor asks for.
pub(crate) fn mint_order(gate: &Gate, operation: OperationKey, jti: &Nonce, referents: Json) -> Mint {
    Mint {
        operation,
        jti_sha256: Digest::of(jti.as_bytes()),
        audience: gate.audience.to_string(),
        ttl_s: seconds(Setting::TokenTtlS, TOKEN_TTL_S),
        referents,
    }
}

/// The token that says what was minted.
///
/// *Errors*: those of the token rule.
pub(crate) fn sign(gate: &Gate, jti: Nonce, minted: &Minted) -> Result<String, Refusal> {
    let claims = TokenClaims {
        jti,
        audience: minted.audience.clone(),
        issued_at: minted.issued_at,
        expires_at: minted.expires_at,
        request: minted.request,
        args_sha256: minted.args_sha256,
        tool: minted.tool.clone(),
        operation: minted.operation,
        attempt: minted.attempt,
        decisions: minted.decisions.clone(),
    };
    let token = token::mint(&claims, &gate.keys.token)?;
    keep_token(&token);
    Ok(token)
}

/// Redeems in the store, finds the credential, and keeps the lease while the attempt runs.
struct Redeemer<'a> {
    gate: Arc<Gate>,
    row: &'a Row,
    frozen: &'a str,
    renewal: OnceLock<Renewal>,
    asked: AtomicBool,
}

impl<'a> Redeemer<'a> {
    fn new(gate: Arc<Gate>, row: &'a Row, frozen: &'a str) -> Redeemer<'a> {
        Redeemer { gate, row, frozen, renewal: OnceLock::new(), asked: AtomicBool::new(false) }
    }

    /// Whether the store was asked to redeem.
    fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Redeem for Redeemer<'_> {
    async fn redeem(&self, token: VerifiedToken) -> Result<Permit, Refusal> {
        // Before the token is used up: a gate without the credential would burn an attempt for nothing.
        let credential = match &self.row.executor {
            Executor::Http(HttpExecutor { credential: Some(named), .. }) => Some(self.gate.credentials.find(named).map_err(|error| {
                crate::logging::failure("a provider's credential was not found", &error);
                Refusal::new(Code::ToolUnreachable, "the gate has no credential for the tool; its operator has to set it")
            })?),
            Executor::Http(_) | Executor::Mcp { .. } | Executor::Remote { .. } | Executor::Gate => None,
        };
        let failed = |_| Refusal::new(Code::TokenUnknown, "the token could not be redeemed, the gate failed; nothing runs");
        // The token's own record is the first that a disk which failed while nothing happened cannot cover: the attempt is not begun.
        if !self.covered().await {
            return Err(Refusal::new(Code::TokenUnknown, "no signed head covers the token; nothing runs until heads are written again"));
        }
        let referents = self.gate.referents_of(self.frozen, self.row).await?;
        let redeem = RedeemToken { token, lease_s: seconds(Setting::LeaseS, LEASE_S), referents };
        self.asked.store(true, Ordering::Relaxed);
        pass(Seam::BeforeRedeem);
        let moment = self.gate.moment().map_err(|_| failed(()))?;
        let redeemed = match self.gate.store.redeem(moment, redeem).await {
            Ok(RedeemOutcome::Redeemed(redeemed)) => redeemed,
            Ok(RedeemOutcome::Refused(refusal)) => return Err(refusal),
            Err(error) => {
                crate::logging::failure("a token was not redeemed", &error);
                return Err(failed(()));
            }
        };
        self.renewal.get_or_init(|| Renewal::begin(self.gate.clone(), redeemed.operation, redeemed.attempt));
        Ok(Permit {
            operation: redeemed.operation,
            attempt: redeemed.attempt,
            lease_until: redeemed.lease_until,
            credential,
            ledger: Some(self.gate.store.clone()),
        })
    }

    async fn covered(&self) -> bool {
        self.gate.checkpoints.cover_now().await
    }

    async fn carry_out(&self, token: VerifiedToken) -> Result<(), Refusal> {
        let failed = |_| Refusal::new(Code::TokenUnknown, "the change was not carried out, the gate failed; nothing of it happened");
        let moment = self.gate.moment().map_err(|_| failed(()))?;
        self.asked.store(true, Ordering::Relaxed);
        match self.gate.store.carry_out(moment, RedeemToken { token, lease_s: LEASE_S, referents: Json::object([]) }).await {
            Ok(OwnToolOutcome::Applied(_)) => Ok(()),
            Ok(OwnToolOutcome::Refused(refusal)) => Err(refusal),
            Err(error) => {
                crate::logging::failure("a change of the gate itself was not carried out", &error);
                Err(failed(()))
            }
        }
    }
}

/// Keeps a lease until it is dropped or the lease is lost. A lost lease stops nothing that is on its way: its answer becomes
/// evidence.
pub(crate) struct Renewal(CancellationToken);

impl Renewal {
    pub(crate) fn begin(gate: Arc<Gate>, operation: OperationKey, attempt: u32) -> Renewal {
        let stop = CancellationToken::new();
        renew(gate, operation, attempt, stop.clone());
        Renewal(stop)
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn renew(gate: Arc<Gate>, operation: OperationKey, attempt: u32, stop: CancellationToken) {
    tokio::spawn(async move {
        while timeout(Duration::from_secs(LEASE_RENEWAL_S), stop.cancelled()).await.is_err() {
            let Ok(moment) = gate.moment() else { return };
            match gate.store.renew_lease(moment, operation, attempt, seconds(Setting::LeaseS, LEASE_S)).await {
                Ok(LeaseOutcome::Renewed(_)) => {}
                Ok(LeaseOutcome::Lost) | Err(_) => return,
            }
        }
    });
}

/// Records what an attempt brought.
pub(crate) async fn record(gate: &Gate, row: &Row, operation: OperationKey, attempt: u32, reply: Reply) -> Result<(), Rejection> {
    pass(Seam::BeforeRecord);
    let answer = reply.judge(&row.no_effect_statuses);
    gate.metrics.attempted(answer);
    let (result, detail) = (reply.result(), reply.detail());
    gate.store.record_answer(gate.moment()?, RecordAnswer { operation, attempt, answer, result, detail }).await?;
    Ok(())
}

/// Sends a write in doubt again under its key.
async fn send_again(gate: &Gate, operation: OperationKey) -> Result<Done, Rejection> {
    match gate.send_write_again(operation).await {
        Ok(true) => Ok(Done::Carried),
        Ok(false) => Ok(Done::Refused),
        Err(fault) => Err(fault.into()),
    }
}

/// Asks the provider what became of an operation whose outcome is unknown.
async fn ask(gate: &Gate, operation: OperationKey) -> Result<Done, Rejection> {
    let Some((call, answer)) = gate.ask_provider(operation).await? else { return Ok(Done::Refused) };
    gate.store.record_status(gate.moment()?, operation, StatusAsked::InTurn, answer).await?;
    gate.bell.ring(call);
    Ok(Done::Carried)
}
