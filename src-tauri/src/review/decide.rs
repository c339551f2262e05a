//! A decision: checked again here, signed, handed in, and believed only with a verified receipt.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vidimus_api::client::{ApproverClient, ClientError};
use vidimus_api::request::{Challenge, ChallengeRequest, DecisionRequest, Denial};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::ids::{RequestId, Reversibility};
use vidimus_core::limits::DECISION_TTL_S_MAX;
use vidimus_core::sign::SecretKey;

use crate::clock;
use crate::console::{Change, Console, Standing};
use crate::errors::Told;
use crate::keys::Pin;
use crate::limits::{DECISION_TRIES_MAX, HOLD_MS, RECONNECT_FIRST_MS};
use crate::random;
use crate::review::question::Verdict;
use crate::review::{Panel, Review, ShownReceipt, acts, context, locks, reason, receipt, sections, signed_bytes, state};
use crate::seams::{self, Seam};
use crate::signing::{self, Unlocking};
use crate::strings;
use crate::text::time;

/// Sent, and nothing came back.
pub const UNCONFIRMED: &str = "E-NET-2";

/// Sent, and what came back is not the gate's word.
const UNVERIFIED: &str = "E-DEC-9";

/// What the page hands over. Rust believes none of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decision {
    pub kind: String,
    pub nonce: String,
    pub answer: String,
    pub reason_kind: String,
    pub reason: String,
    pub pin: String,
    pub held_ms: u64,
    pub two_presses: bool,
}

/// What the page shows beside the panel; the state tells the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub message: String,
}

impl Outcome {
    pub fn says(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    pub fn told(told: &Told) -> Self {
        Self { message: told.line() }
    }
}

/// A decision that passed every check of this console.
struct Admitted {
    kind: DecisionKind,
    reason: Option<String>,
    denial: Option<Denial>,
    context: String,
    unlocking: Unlocking,
}

/// Decides. One at a time for a request; the nonce serves once.
pub async fn decide(console: &Arc<Console>, request: &str, decision: Decision) -> Outcome {
    let admitted = {
        let mut reviews = console.reviews();
        let Some(review) = reviews.get_mut(request) else { return Outcome::says(strings::NOT_OPEN) };
        if review.in_flight {
            return Outcome::says(strings::IN_FLIGHT);
        }
        if review.receipt.is_some() && matches!(decision.kind.as_str(), "approve" | "deny") {
            return Outcome::says(strings::ALREADY_RECORDED);
        }
        if decision.nonce != review.nonce {
            return Outcome::says(strings::PRESS_ANEW);
        }
        review.nonce = random::page_nonce();
        match admit(console, review, decision) {
            Ok(admitted) => {
                review.in_flight = true;
                review.progress = vec![strings::signing(&now_text(console))];
                admitted
            }
            Err(outcome) => return outcome,
        }
    };
    let kind = admitted.kind;
    let result = sign_and_send(console, request, admitted).await;
    let mut reviews = console.reviews();
    let Some(review) = reviews.get_mut(request) else { return Outcome::says(strings::NOT_OPEN) };
    review.in_flight = false;
    // What a bad receipt leaves is as unknown as what no receipt leaves.
    if !matches!(&result, Err(told) if [UNCONFIRMED, UNVERIFIED].contains(&told.id)) {
        review.unconfirmed_until_ms = None;
    }
    match result {
        Ok(shown) => {
            review.progress.push(shown.heading.clone());
            keep_receipt(review, kind, shown);
            drop(reviews);
            console.tell(Change::Opened(request.to_owned()));
            Outcome::says("")
        }
        Err(told) => {
            review.progress.clear();
            Outcome::told(&told)
        }
    }
}

/// What leaves the request open is a notice; what decides it takes the place of the panel.
fn keep_receipt(review: &mut Review, kind: DecisionKind, shown: ShownReceipt) {
    match kind {
        DecisionKind::Approve | DecisionKind::Deny | DecisionKind::Revoke => review.receipt = Some(shown),
        DecisionKind::Retract => {
            review.receipt = None;
            review.question = None;
            review.notice = shown.heading;
        }
        DecisionKind::MoreTime => review.notice = shown.heading,
    }
    if matches!(kind, DecisionKind::Retract | DecisionKind::MoreTime) {
        review.panel = Panel::None;
        review.progress.clear();
    }
}

fn admit(console: &Console, review: &mut Review, decision: Decision) -> Result<Admitted, Outcome> {
    let now_ms = console.now_ms();
    let found = locks::of(console, review, now_ms);
    let friction = review.card.friction();
    let pin = Pin::typed(decision.pin);
    match decision.kind.as_str() {
        "approve" => {
            if !found.can_approve() {
                return Err(Outcome::says(found.hard.iter().chain(&found.soft).cloned().collect::<Vec<_>>().join(" ")));
            }
            if review.panel != Panel::Approve {
                return Err(Outcome::says(strings::PRESS_ANEW));
            }
            let reason = reason::of_approval(friction, &decision.reason_kind, &decision.reason).map_err(Outcome::says)?;
            if friction == Reversibility::Irreversible {
                if review.question.as_ref().is_none_or(|asked| asked.judge(&decision.answer) != Verdict::Right) {
                    return Err(Outcome::says(strings::ANSWER_FIRST));
                }
                if decision.held_ms < HOLD_MS {
                    return Err(Outcome::says(strings::HELD_TOO_SHORT));
                }
            }
            if pin.is_empty() && state::pin_needed(console, review) {
                return Err(Outcome::says(strings::PIN_NEEDED));
            }
            let context = context::of(review, decision.held_ms, decision.two_presses);
            let unlocking = Unlocking { pin, always_pin: friction == Reversibility::Irreversible };
            Ok(Admitted { kind: DecisionKind::Approve, reason, denial: None, context, unlocking })
        }
        "deny" => {
            if !found.can_deny() {
                return Err(Outcome::says(found.deny.join(" ")));
            }
            let denial = reason::denial(&decision.reason_kind, &decision.reason).map_err(Outcome::says)?;
            let reason = reason::of_denial(&denial).map_err(|_| Outcome::says(strings::DENIAL_NONE))?;
            if pin.is_empty() && console.pin().seed(clock::now_ms()).is_none() {
                return Err(Outcome::says(strings::PIN_NEEDED));
            }
            let context = context::of(review, 0, false);
            let unlocking = Unlocking { pin, always_pin: false };
            Ok(Admitted { kind: DecisionKind::Deny, reason: Some(reason), denial: Some(denial), context, unlocking })
        }
        "retract" => admit_act(console, review, DecisionKind::Retract, pin, now_ms),
        "revoke" => admit_act(console, review, DecisionKind::Revoke, pin, now_ms),
        "more_time" => admit_act(console, review, DecisionKind::MoreTime, pin, now_ms),
        _ => Err(Outcome::says(strings::PRESS_ANEW)),
    }
}

/// What needs no reason: it undoes, stops or waits.
fn admit_act(console: &Console, review: &Review, kind: DecisionKind, pin: Pin, now_ms: i64) -> Result<Admitted, Outcome> {
    let acts = acts::of(console, &review.card, now_ms);
    let (panel, barred) = match kind {
        DecisionKind::Retract => (Panel::Retract, (!acts.retract).then(|| strings::NOT_TO_WITHDRAW.to_owned())),
        DecisionKind::Revoke => (Panel::Revoke, (!acts.revoke).then(|| strings::NOT_TO_STOP.to_owned())),
        DecisionKind::MoreTime => {
            let barred = match acts.more_time {
                Some(Ok(_)) => None,
                Some(Err(told)) => Some(told.line()),
                None => Some(strings::MORE_TIME_ENDED.to_owned()),
            };
            (Panel::MoreTime, barred)
        }
        DecisionKind::Approve | DecisionKind::Deny => return Err(Outcome::says(strings::PRESS_ANEW)),
    };
    if let Some(words) = barred {
        return Err(Outcome::says(words));
    }
    if review.panel != panel {
        return Err(Outcome::says(strings::PRESS_ANEW));
    }
    if pin.is_empty() && console.pin().seed(clock::now_ms()).is_none() {
        return Err(Outcome::says(strings::PIN_NEEDED));
    }
    let context = context::of(review, 0, false);
    Ok(Admitted { kind, reason: None, denial: None, context, unlocking: Unlocking { pin, always_pin: false } })
}

async fn sign_and_send(console: &Arc<Console>, request: &str, admitted: Admitted) -> Result<ShownReceipt, Told> {
    let Admitted { kind, reason, denial, context, unlocking } = admitted;
    let seed = signing::unlock(console, unlocking, |line| progress(console, request, line)).await?;
    let key = SecretKey::from_seed(&seed);
    let client = console.shared().client.clone().ok_or_else(|| Told::new("E-NET-1", strings::GATE_UNREACHABLE))?;
    let standing = console.standing().ok_or_else(|| Told::new("E-KEY-5", strings::KEY_NOT_IN_ROSTER))?;
    let id: RequestId = request.parse().map_err(|_| Told::new("E-LINK-1", strings::NO_SUCH_REQUEST))?;
    let signed = signed_bytes::of(console, request, &client, kind == DecisionKind::Approve).await?;
    let given = sections::roles_given(console, request);
    let role = signed_bytes::role(&signed, &standing, kind == DecisionKind::Approve, &given)?;
    let reason_salt = reason.as_ref().map(|_| Salt::from_bytes(random::bytes()));
    let reason_digest = reason_salt.as_ref().zip(reason.as_deref()).map(|(salt, reason)| reason_sha256(salt, reason));
    let key_sha256 = key.public().digest();
    let Tie { challenge, roster_sha256, head } = tie(console, &client, &id, &standing, key_sha256).await?;
    let statement = DecisionStatement {
        gate: standing.roster.gate,
        gate_key_sha256: standing.roster.log_key.digest(),
        environment: standing.roster.environment,
        request: id,
        request_sha256: signed.request_sha256,
        args_sha256: signed.args_sha256,
        tool: signed.tool.clone(),
        decision: kind,
        approver: standing.person.person,
        key_sha256,
        role,
        row_sha256: signed.row_sha256,
        roster_sha256,
        shown_sha256: signed.shown_sha256,
        context_sha256: Some(Digest::of(context.as_bytes())),
        challenge: challenge.challenge,
        checkpoint: head,
        reason_sha256: reason_digest,
        app_version: env!("CARGO_PKG_VERSION").to_owned(),
        issued_at: challenge.issued_at,
        expires_at: challenge.expires_at.min(challenge.issued_at.plus_s(DECISION_TTL_S_MAX)),
    };
    let envelope = statement.sign(&key).map_err(|refusal| Told::new("E-NET-3", refusal.message))?;
    let body = DecisionRequest { envelope: signing::raw_envelope(&envelope)?, reason, reason_salt, context: Some(context), denial };
    seams::pass(Seam::DecisionSigned);
    note_sent(console, request, statement.expires_at.as_ms());
    let received = hand_in(&client, &id, &body).await?;
    seams::pass(Seam::DecisionAnswered);
    receipt::verify(console, &id, &envelope, &received, kind)
}

/// From here on the decision may be on record, whatever comes back.
fn note_sent(console: &Console, request: &str, until_ms: i64) {
    progress(console, request, strings::sent(&now_text(console)));
    if let Some(review) = console.reviews().get_mut(request) {
        review.unconfirmed_until_ms = Some(until_ms);
    }
}

fn progress(console: &Console, request: &str, line: String) {
    if let Some(review) = console.reviews().get_mut(request) {
        review.progress.push(line);
    }
}

/// What a signature is tied to besides the request.
struct Tie {
    challenge: Challenge,
    roster_sha256: Digest,
    head: CheckpointRef,
}

async fn tie(console: &Console, client: &ApproverClient, id: &RequestId, standing: &Standing, key_sha256: Digest) -> Result<Tie, Told> {
    let challenge = client.challenge(id, &ChallengeRequest { key_sha256 }).await.map_err(|error| Told::of_gate(&error))?;
    let roster_sha256 = standing.roster.digest().map_err(|refusal| Told::new("E-REQ-9", refusal.message))?;
    if challenge.roster_sha256 != roster_sha256 {
        return Err(Told::new("E-REQ-9", strings::ROSTER_MOVES));
    }
    let head = signing::verified_head(console)?;
    Ok(Tie { challenge, roster_sha256, head })
}

/// Sends, and sends the same envelope again where the answer was lost: the gate answers it once.
async fn hand_in(client: &ApproverClient, id: &RequestId, body: &DecisionRequest) -> Result<vidimus_api::request::Receipt, Told> {
    let mut wait_ms = RECONNECT_FIRST_MS;
    for _ in 1..DECISION_TRIES_MAX {
        match client.decide(id, body).await {
            Err(ClientError::Unreachable(_)) => {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                wait_ms *= 2;
            }
            Err(error) => return Err(Told::of_gate(&error)),
            Ok(receipt) => return Ok(receipt),
        }
    }
    client.decide(id, body).await.map_err(|error| match error {
        ClientError::Unreachable(_) => Told::new(UNCONFIRMED, strings::NOT_CONFIRMED),
        other => Told::of_gate(&other),
    })
}

fn now_text(console: &Console) -> String {
    time::hour_minute_second(console.now_ms(), &console.zone)
}

/// What became of the operation, as the verified log tells it.
pub fn execution_lines(console: &Console, request: &str) -> Vec<String> {
    let operations = console.read(|mirror| mirror.operations(request)).unwrap_or_default();
    operations
        .iter()
        .filter(|operation| operation.state != "reserved")
        .map(|operation| {
            let at = time::hour_minute_second(operation.at_ms, &console.zone);
            strings::operation(&operation.state, &at, operation.attempt)
        })
        .collect()
}
