//! Execution tokens: minted for one attempt after every check, redeemed once by compare-and-swap together with the
//! operation's move. The database keeps digests of their ids only.

mod asked;

use std::sync::Arc;

use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{Approval, VerifiedDecision, approval_of, still_approved};
use vidimus_core::ids::RequestId;
use vidimus_core::json::Json;
use vidimus_core::limits::TOKEN_TTL_S_MAX;
use vidimus_core::operation::{NextStep, Operation, OperationInput, OperationKey, OperationState};
use vidimus_core::passing::ends_at;
use vidimus_core::record::RecordType;
use vidimus_core::request::{RequestInput, RequestState, apply};
use vidimus_core::time::Timestamp;

use crate::agents::agents_hold;
use crate::codec::{optional_text, parsed, text, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::{GateState, RosterState};
use crate::kept;
use crate::on_record::{LogView, OperationOnRecord};
use crate::operations::{self, Change, in_force, kill_tokens, lease_end, load_request};
use crate::own_tools::OwnTool;
use crate::passing;
use crate::requests;
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::sweeps::{attempts_end_at, next_step};
use crate::tx::{Attempt, Entry, Stop, Tx, list, refuse};
use crate::{Moment, Store};

pub use asked::{Mint, MintOutcome, Minted, Redeem, RedeemOutcome, Redeemed, TokenRefused};

impl Store {
    /// Checks everything again and makes room for one token.
    pub async fn mint(&self, moment: Moment, mint: Mint) -> Result<MintOutcome, StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| mint_token(tx, &mint)).await
    }

    /// Redeems a token: exactly one caller ever gets the permission to send.
    pub async fn redeem(&self, moment: Moment, redeem: Redeem) -> Result<RedeemOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| redeem_to_send(tx, &redeem))? {
                Ok(redeemed) => Ok(RedeemOutcome::Redeemed(redeemed)),
                Err(refusal) => {
                    stage_refused_token(tx, &redeem, &refusal)?;
                    if OwnTool::of(&redeem.token.claims().tool).is_none() {
                        end_fallen(tx, &redeem, &refusal)?;
                    }
                    Ok(RedeemOutcome::Refused(refusal))
                }
            })
            .await
    }

    /// Records a token that was refused before it reached the store: forged, for other arguments, for another executor.
    pub async fn refuse_token(&self, moment: Moment, refused: TokenRefused) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| stage_refused(tx, refused.operation, refused.request, &refused.refusal, None))
            .await
    }
}

pub(crate) fn stage_refused(
    tx: &mut Tx<'_>,
    operation: Option<OperationKey>,
    request: Option<RequestId>,
    refusal: &Refusal,
    jti_sha256: Option<Digest>,
) -> Result<(), StoreError> {
    let claims = Json::object([("code", text(refusal.code)), ("jti_sha256", optional_text(jti_sha256))]);
    let entry = Entry { operation, request, ..Entry::new(RecordType::TokenRefused, claims) };
    tx.stage(entry)?;
    Ok(())
}

/// The refusal of a token that was presented.
pub(crate) fn stage_refused_token(tx: &mut Tx<'_>, redeem: &Redeem, refusal: &Refusal) -> Result<(), StoreError> {
    let claims = redeem.token.claims();
    stage_refused(tx, Some(claims.operation), Some(claims.request), refusal, Some(redeem.token.jti_sha256()))
}

/// What a refusal ends that is not the token's own fault: what people decided no longer holds, so the request ends in the
/// transaction that finds it, and its agent may ask again at once. An orphan is waited for.
pub(crate) fn end_fallen(tx: &mut Tx<'_>, redeem: &Redeem, refusal: &Refusal) -> Result<(), StoreError> {
    if refusal.code == Code::RequestOrphaned {
        return Ok(());
    }
    match tx.attempt(|tx| presented(tx, redeem))? {
        Ok(Presented { stored, request }) => give_up(tx, &stored, &request, refusal),
        Err(_) => Ok(()),
    }
}

pub(crate) fn mint_token(tx: &mut Tx<'_>, mint: &Mint) -> Result<MintOutcome, StoreError> {
    let Some(stored) = StoredOperation::load(tx.db, &mint.operation)? else {
        return Ok(MintOutcome::Refused(Refusal::new(Code::NotFound, "there is no such operation; look at its key")));
    };
    let Kind::Money(request) = stored.kind else {
        return Ok(MintOutcome::Refused(Refusal::new(Code::OperationStateWrong, "a write needs no token; send it by its intent")));
    };
    let request = load_request(tx, &request)?;
    // What was stopped while its delay lasts is refused for that, and not told to come back later.
    if request.state == RequestState::Approved {
        let gate = tx.gate()?;
        let on_record = tx.log().decisions(&request.request)?;
        // The column finds what is due; the delay is counted from the record of the quorum.
        let delay_s = in_force(&gate, &stored).map_or(0, |row| row.delay_s);
        let skipped = if delay_s == 0 { Vec::new() } else { passing::on_record(tx.db)? };
        let due_at = stored.mint_at.max(on_record.approved_at.map(|at| ends_at(at, delay_s, &skipped)));
        if let Some(due_at) = due_at.filter(|due_at| tx.now < *due_at) {
            return Ok(MintOutcome::NotDue(due_at));
        }
        if on_record.orphaned {
            return Ok(MintOutcome::NotDue(request.waits_until));
        }
    }
    let checked = tx.attempt(|tx| check_mint(tx, mint, &stored, &request))?;
    let outcome = match checked {
        Ok(approvals) => tx.attempt(|tx| insert_token(tx, mint, &stored, &request, &approvals))?,
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(minted) => Ok(MintOutcome::Minted(Box::new(minted))),
        Err(refusal) => {
            stage_refused(tx, Some(stored.operation), Some(request.request), &refusal, None)?;
            give_up(tx, &stored, &request, &refusal)?;
            Ok(MintOutcome::Refused(refusal))
        }
    }
}

/// Whether an operation may have a token now: its own state, and everything that was decided still holds.
fn check_mint(tx: &mut Tx<'_>, mint: &Mint, stored: &StoredOperation, request: &StoredRequest) -> Attempt<Vec<Digest>> {
    let gate = tx.gate()?;
    match stored.now_at.state {
        OperationState::Reserved => {}
        OperationState::Unknown if attempts_denied(tx, stored)?.is_some() => tx.log().operation(stored)?.agrees(stored)?,
        OperationState::Unknown => match next_step(tx.log(), tx.now, &gate, stored)? {
            NextStep::AttemptAgain => {}
            NextStep::AskStatus | NextStep::GiveUp => {
                return refuse(Code::OperationStateWrong, "no further attempt is safe; ask the provider or a person");
            }
        },
        OperationState::NotStarted => {
            apply(request.state, RequestInput::Redeem)?;
            return refuse(Code::OperationStateWrong, "the operation is `not_started`; it gets no token");
        }
        OperationState::Executing
        | OperationState::Succeeded
        | OperationState::Failed
        | OperationState::NeedsReconciliation
        | OperationState::Partial
        | OperationState::NotHappened => {
            return refuse(Code::OperationStateWrong, format!("the operation is `{}`; it gets no token", stored.now_at.state));
        }
    }
    let decisions = still_holds(tx.log(), tx.now, &gate, stored, request)?;
    referents_hold(request, &mint.referents)?;
    Ok(decisions)
}

/// Whether the arguments still name what was frozen, shown and signed.
///
/// *Errors*: `referent_changed`.
fn referents_hold(request: &StoredRequest, read_now: &Json) -> Attempt<()> {
    if request.frozen.members().referents.canonical()? == read_now.canonical()? {
        return Ok(());
    }
    refuse(Code::ReferentChanged, "what an argument names has changed since people were asked; nothing runs, the agent must ask again")
}

/// Everything that was decided, checked again: time, row, roster, quorum, and whether the log says the same. Returns the digests of the decisions.
///
/// *Errors*: the code of the check that no longer holds.
pub(crate) fn still_holds(
    log: LogView<'_>,
    now: Timestamp,
    gate: &GateState,
    stored: &StoredOperation,
    request: &StoredRequest,
) -> Attempt<Vec<Digest>> {
    match request.state {
        // The request's time binds the first redeem only.
        RequestState::Approved if now >= request.waits_until => {
            return refuse(Code::RequestExpired, "the request expired before its first redeem; nothing runs");
        }
        RequestState::Approved | RequestState::Consumed => {}
        RequestState::Pending
        | RequestState::Denied
        | RequestState::Expired
        | RequestState::Withdrawn
        | RequestState::Stale
        | RequestState::Revoked => {
            return refuse(Code::RequestNotApproved, format!("the request is `{}`; nothing runs", request.state));
        }
    }
    // The row that people signed, not the one that a column names.
    let signed_row = &request.frozen.members().row_sha256;
    if in_force(gate, stored).is_none_or(|row| row.digest() != *signed_row) {
        return refuse(Code::RowStale, "the tool's row has changed since the call was frozen; nothing runs");
    }
    let roster = gate.roster()?;
    if let Some(own) = OwnTool::of(&stored.tool) {
        own.still_leads_on(log.db, gate, request)?;
    }
    // From the signed bytes alone: an edited row, or edited arguments under a good approval, end here.
    let members = request.frozen.members();
    let decisions = standing_decisions(log.db, roster, &request.request)?;
    let signed = decisions.iter().map(|decision| approval_of(decision, &request.frozen)).collect::<Result<Vec<_>, _>>()?;
    let (approvals, digests): (Vec<Approval>, Vec<Digest>) = signed.into_iter().unzip();
    let on_record = log.decisions(&request.request)?;
    on_record.agree(&decisions)?;
    still_approved(&request.frozen, on_record.escalated, &approvals, &roster.roster)?;
    agents_hold(log, gate, request)?;
    if stored.operation != OperationKey::money(&members.tool, &members.request, &request.frozen.args_sha256()) {
        return refuse(Code::BytesDiffer, "the operation was reserved for another tool, request or other arguments; nothing runs");
    }
    log.operation(stored)?.agrees(stored)?;
    Ok(digests)
}

/// The approvals on record that were not retracted, their signatures verified under the roster in force.
fn standing_decisions(db: &Connection, roster: &RosterState, request: &RequestId) -> Attempt<Vec<Arc<VerifiedDecision>>> {
    // All of the request's, and which of them stand is told by their rows: the index of the standing ones is not asked.
    let rows = list(db, "SELECT standing, envelope FROM decisions WHERE request = ?1 ORDER BY position", [request.to_string()], |row| {
        Ok((row.get::<_, i64>("standing")?, row.get::<_, String>("envelope")?))
    })?;
    let standing = rows.iter().filter(|(standing, _)| *standing == 1);
    Ok(standing.map(|(_, text)| kept::verified_decision(text, roster)).collect::<Result<_, _>>()?)
}

/// What a check that no longer holds does: an unused approval is stale, an outcome in doubt goes to a person.
pub(crate) fn give_up(tx: &mut Tx<'_>, stored: &StoredOperation, request: &StoredRequest, refusal: &Refusal) -> Result<(), StoreError> {
    if let Some(on_record) = attempts_denied(tx, stored)? {
        return hand_to_person(tx, stored, request, &on_record, refusal);
    }
    let ended = match (request.state, stored.now_at.state) {
        (RequestState::Approved, OperationState::Reserved) if refusal.code == Code::RequestExpired => {
            tx.attempt(|tx| requests::expire(tx, request))?
        }
        (RequestState::Approved, OperationState::Reserved) => tx.attempt(|tx| requests::make_stale(tx, request, refusal))?,
        (RequestState::Consumed, OperationState::Unknown) if refusal.code != Code::OperationStateWrong => {
            tx.attempt(|tx| operations::advance(tx, stored, OperationInput::GiveUp, Change::of(refusal.message.clone())).map(|_| ()))?
        }
        (_, _) => Ok(()),
    };
    ended.map_err(StoreError::Domain)
}

/// What the log has of an open operation whose attempts or outcome the ledger denies.
fn attempts_denied(tx: &Tx<'_>, stored: &StoredOperation) -> Result<Option<OperationOnRecord>, StoreError> {
    let on_record = tx.log().operation(stored)?;
    let open = matches!(stored.now_at.state, OperationState::Reserved | OperationState::Unknown);
    Ok((open && on_record.attempts > 0 && on_record.agrees(stored).is_err()).then_some(on_record))
}

/// Hands an unknown outcome to a person if the log has another one. Tells whether it did.
pub(crate) fn hand_over_contradicted(tx: &mut Tx<'_>, stored: &StoredOperation, request: &RequestId) -> Result<bool, StoreError> {
    let Some(on_record) = attempts_denied(tx, stored)? else { return Ok(false) };
    let Err(Stop::Refused(refusal)) = on_record.agrees(stored) else { return Ok(false) };
    let request = load_request(tx, request)?;
    stage_refused(tx, Some(stored.operation), Some(request.request), &refusal, None)?;
    hand_to_person(tx, stored, &request, &on_record, &refusal)?;
    Ok(true)
}

/// The log knows of attempts that the ledger denies. The row goes back to the attempt that was redeemed and to an open
/// outcome, from where only a person leads on: nothing is minted, and nothing is called not started.
fn hand_to_person(
    tx: &mut Tx<'_>,
    stored: &StoredOperation,
    request: &StoredRequest,
    on_record: &OperationOnRecord,
    refusal: &Refusal,
) -> Result<(), StoreError> {
    kill_tokens(tx, &request.request, &stored.operation)?;
    let in_doubt = Operation { state: OperationState::Unknown, attempt: on_record.attempts.max(stored.now_at.attempt) };
    let first_sent_at = on_record.first_redeemed_at.or(stored.first_sent_at);
    tx.execute_one(
        "UPDATE operations SET state = ?1, attempt = ?2, first_sent_at = ?3, lease_until = NULL, next_at = ?4, ended_at = NULL
         WHERE operation = ?5 AND state = ?6 AND attempt = ?7",
        params![
            in_doubt.state.as_str(),
            in_doubt.attempt,
            first_sent_at.map(|at| at.as_ms()),
            tx.now.as_ms(),
            stored.operation.to_string(),
            stored.now_at.state.as_str(),
            stored.now_at.attempt,
        ],
    )?;
    let handed = tx.attempt(|tx| {
        if request.state == RequestState::Approved {
            requests::advance(tx, request, RequestInput::Redeem)?;
        }
        let stored = StoredOperation::load(tx.db, &stored.operation)?.ok_or_else(|| StoreError::corrupt("an operation that vanished"))?;
        operations::advance(tx, &stored, OperationInput::GiveUp, Change::of(refusal.message.clone())).map(|_| ())
    })?;
    handed.map_err(StoreError::Domain)
}

fn insert_token(tx: &mut Tx<'_>, mint: &Mint, stored: &StoredOperation, request: &StoredRequest, decisions: &[Digest]) -> Attempt<Minted> {
    kill_tokens(tx, &request.request, &stored.operation)?;
    let members = request.frozen.members();
    let minted = Minted {
        audience: mint.audience.clone(),
        issued_at: tx.now,
        expires_at: tx.now.plus_s(mint.ttl_s.clamp(1, TOKEN_TTL_S_MAX)),
        request: request.request,
        args_sha256: request.frozen.args_sha256(),
        tool: members.tool.clone(),
        operation: stored.operation,
        attempt: stored.now_at.attempt + 1,
        decisions: decisions.to_vec(),
        frozen: String::from_utf8(request.frozen.bytes().to_vec()).map_err(|_| StoreError::corrupt("a frozen request that is not text"))?,
    };
    tx.execute_one(
        "INSERT INTO tokens (request, jti_sha256, operation, attempt, audience, args_sha256, issued_at, expires_at, state)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'minted')",
        params![
            minted.request.to_string(),
            mint.jti_sha256.to_string(),
            minted.operation.to_string(),
            minted.attempt,
            minted.audience,
            minted.args_sha256.to_string(),
            minted.issued_at.as_ms(),
            minted.expires_at.as_ms(),
        ],
    )?;
    let claims = Json::object([
        ("jti_sha256", mint.jti_sha256.into()),
        ("attempt", minted.attempt.into()),
        ("args_sha256", minted.args_sha256.into()),
        ("audience", minted.audience.as_str().into()),
        ("expires_at", minted.expires_at.into()),
    ]);
    tx.stage(Entry::new(RecordType::TokenMinted, claims).of_request(minted.request).of_operation(minted.operation))?;
    Ok(minted)
}

struct StoredToken {
    operation: OperationKey,
    attempt: u32,
    audience: String,
    args_sha256: Digest,
    expires_at: Timestamp,
    state: String,
}

/// Redeems a token for whoever sends: not for the gate's own tools, where nothing may stand between the two.
pub(crate) fn redeem_to_send(tx: &mut Tx<'_>, redeem: &Redeem) -> Attempt<Redeemed> {
    if OwnTool::of(&redeem.token.claims().tool).is_some() {
        return refuse(Code::ToolWrong, "a tool of the gate's own is carried out with its redemption, never sent; carry it out");
    }
    redeem_token(tx, redeem)
}

/// What a token that is good in itself permits, if everything that was decided still holds.
struct Presented {
    stored: StoredOperation,
    request: StoredRequest,
}

/// Whether a token is one that was minted, for what it says, and neither used nor over.
///
/// *Errors*: those of the token itself; none of them changes anything.
fn presented(tx: &Tx<'_>, redeem: &Redeem) -> Attempt<Presented> {
    let claims = redeem.token.claims();
    let jti_sha256 = redeem.token.jti_sha256();
    let named = params![claims.request.to_string(), jti_sha256.to_string()];
    let token = tx.find("SELECT * FROM tokens WHERE request = ?1 AND jti_sha256 = ?2", named, |row| {
        Ok(StoredToken {
            operation: parsed(row, "operation")?,
            attempt: row.get("attempt")?,
            audience: row.get("audience")?,
            args_sha256: parsed(row, "args_sha256")?,
            expires_at: time(row, "expires_at")?,
            state: row.get("state")?,
        })
    })?;
    let Some(token) = token else { return refuse(Code::TokenUnknown, "the token is not one that this gate minted; nothing runs") };
    match token.state.as_str() {
        "minted" => {}
        "redeemed" => return refuse(Code::TokenAlreadyRedeemed, "the token was redeemed before; read the operation's outcome"),
        _ => return refuse(Code::TokenUnknown, "a newer token replaced this one, or its request ended; nothing runs"),
    }
    let same = token.operation == claims.operation
        && token.attempt == claims.attempt
        && token.audience == claims.audience
        && token.args_sha256 == claims.args_sha256;
    if !same {
        return refuse(Code::TokenUnknown, "the token says something else than what was minted; nothing runs");
    }
    if tx.now >= token.expires_at || tx.now >= claims.expires_at {
        return refuse(Code::TokenExpired, format!("the token expired at {}; a new one must be minted", token.expires_at));
    }
    let stored = StoredOperation::load(tx.db, &token.operation)?.ok_or_else(|| StoreError::corrupt("a token without its operation"))?;
    let Kind::Money(request) = stored.kind else { return Err(StoreError::corrupt("a token of a write").into()) };
    let request = load_request(tx, &request)?;
    if claims.request != request.request || claims.tool != stored.tool || claims.args_sha256 != request.frozen.args_sha256() {
        return refuse(Code::BytesDiffer, "the token is for another request, tool or other arguments than the operation; nothing runs");
    }
    if token.attempt != stored.now_at.attempt + 1 {
        return refuse(
            Code::OperationStateWrong,
            format!("the operation is at attempt {}; this token is for another", stored.now_at.attempt),
        );
    }
    Ok(Presented { stored, request })
}

/// Until when this attempt may begin to send. A further attempt rests on the provider's remembering what an earlier one may have
/// done: it must end while that is sure, and whoever is paused before must find the lease over.
fn lease_within_the_key(tx: &Tx<'_>, gate: &GateState, stored: &StoredOperation, lease_s: u64) -> Attempt<Timestamp> {
    let lease_until = lease_end(tx.now, lease_s);
    let first = tx.log().operation(stored)?.first_redeemed_at;
    let Some(end) = first.zip(in_force(gate, stored)).and_then(|(first, row)| attempts_end_at(row, first)) else { return Ok(lease_until) };
    if tx.now >= end {
        let message =
            format!("an attempt begun after {end} could outlive the provider's memory of its key; a person must find out what happened");
        return refuse(Code::OperationKeyExpired, message);
    }
    Ok(lease_until.min(end))
}

pub(crate) fn redeem_token(tx: &mut Tx<'_>, redeem: &Redeem) -> Attempt<Redeemed> {
    let jti_sha256 = redeem.token.jti_sha256();
    let Presented { stored, request } = presented(tx, redeem)?;
    let gate = tx.gate()?;
    still_holds(tx.log(), tx.now, &gate, &stored, &request)?;
    if request.state == RequestState::Approved && tx.log().decisions(&request.request)?.orphaned {
        return refuse(Code::RequestOrphaned, "the agent is gone and was never told; nothing runs until it asks again");
    }
    referents_hold(&request, &redeem.referents)?;
    let lease_until = lease_within_the_key(tx, &gate, &stored, redeem.lease_s)?;
    let swapped = tx.execute(
        "UPDATE tokens SET state = 'redeemed', redeemed_at = ?1 WHERE request = ?2 AND jti_sha256 = ?3 AND state = 'minted'",
        params![tx.now.as_ms(), request.request.to_string(), jti_sha256.to_string()],
    )?;
    if swapped != 1 {
        return refuse(Code::TokenAlreadyRedeemed, "the token was redeemed before; read the operation's outcome");
    }
    let claims_of_record = Json::object([("jti_sha256", jti_sha256.into()), ("attempt", redeem.token.claims().attempt.into())]);
    tx.stage(Entry::new(RecordType::TokenRedeemed, claims_of_record).of_request(request.request).of_operation(stored.operation))?;
    requests::advance(tx, &request, RequestInput::Redeem)?;
    let change = Change { lease_until: Some(lease_until), ..Change::of("the token was redeemed") };
    let next = operations::advance(tx, &stored, OperationInput::Redeem, change)?;
    Ok(Redeemed { operation: stored.operation, attempt: next.attempt, lease_until })
}
