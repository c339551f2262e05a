//! An answer: checked again here, signed, handed in, and believed only with a verified receipt.

use std::sync::Arc;
use std::time::Duration;

use vidimus_api::client::{ApproverClient, ClientError};
use vidimus_api::operation::{ReconciliationReceipt, ReconciliationRequest};
use vidimus_api::request::ChallengeRequest;
use vidimus_core::bytes::Salt;
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::evidence_sha256;
use vidimus_core::ids::Reversibility;
use vidimus_core::limits::DECISION_TTL_S_MAX;
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::record::RecordType;
use vidimus_core::sign::SecretKey;

use crate::answer::Answering;
use crate::answer::form::{self, Form, Said};
use crate::answer::state;
use crate::clock;
use crate::console::{Change, Console};
use crate::desk::{self, Matter};
use crate::errors::Told;
use crate::keys::Pin;
use crate::limits::{DECISION_TRIES_MAX, HOLD_MS, RECONNECT_FIRST_MS};
use crate::random;
use crate::review::ShownReceipt;
use crate::review::decide::Outcome;
use crate::review::receipt::Proof;
use crate::review::sections::person_name;
use crate::signing::{self, Unlocking};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;

/// An answer that passed every check of this console.
struct Admitted {
    said: Said,
    unlocking: Unlocking,
}

/// Signs an answer. One at a time for an operation; the nonce serves once.
pub async fn sign(console: &Arc<Console>, operation: &str, form: Form) -> Outcome {
    let now_ms = console.now_ms();
    let matter = desk::matter(console, operation);
    let admitted = {
        let mut answerings = console.answerings();
        let Some(answering) = answerings.get_mut(operation) else { return Outcome::says(strings::NOT_OPEN) };
        if answering.reading.in_flight {
            return Outcome::says(strings::IN_FLIGHT);
        }
        if answering.reading.receipt.is_some() {
            return Outcome::says(strings::ANSWER_ALREADY_RECORDED);
        }
        if form.nonce != answering.reading.nonce {
            return Outcome::says(strings::PRESS_ANEW);
        }
        answering.reading.nonce = random::page_nonce();
        match admit(console, answering, matter.as_ref(), form, now_ms) {
            Ok(admitted) => {
                answering.reading.in_flight = true;
                answering.reading.progress = vec![strings::signing(&now_text(console))];
                admitted
            }
            Err(words) => return Outcome::says(words),
        }
    };
    let Some(matter) = matter else { return Outcome::says(strings::NOTHING_IN_DOUBT) };
    let result = sign_and_send(console, &matter, admitted).await;
    let mut answerings = console.answerings();
    let Some(answering) = answerings.get_mut(operation) else { return Outcome::says(strings::NOT_OPEN) };
    answering.reading.in_flight = false;
    match result {
        Ok(shown) => {
            answering.reading.progress.push(shown.heading.clone());
            answering.reading.receipt = Some(shown);
            drop(answerings);
            console.tell(Change::State);
            Outcome::says("")
        }
        Err(told) => {
            answering.reading.progress.clear();
            Outcome::told(&told)
        }
    }
}

fn admit(console: &Console, answering: &Answering, matter: Option<&Matter>, form: Form, now_ms: i64) -> Result<Admitted, String> {
    let locks = state::locks(console, answering, matter, now_ms);
    if !locks.hard.is_empty() {
        return Err(locks.hard.join(" "));
    }
    let said = form::read(console, answering, &form, now_ms)?;
    let moves = said.answer.input().is_some();
    if state::is_settled(matter) != (said.answer == Answer::Note) {
        return Err(strings::NOTHING_IN_DOUBT.to_owned());
    }
    if moves && !locks.soft.is_empty() {
        return Err(locks.soft.join(" "));
    }
    if !answering.form_open {
        return Err(strings::PRESS_ANEW.to_owned());
    }
    if moves && answering.card().friction() == Reversibility::Irreversible && form.held_ms < HOLD_MS {
        return Err(strings::HELD_TOO_SHORT.to_owned());
    }
    let pin = Pin::typed(form.pin);
    if pin.is_empty() && state::pin_needed(console, answering) {
        return Err(strings::PIN_NEEDED.to_owned());
    }
    Ok(Admitted { said, unlocking: Unlocking { pin, always_pin: answering.card().friction() == Reversibility::Irreversible } })
}

async fn sign_and_send(console: &Arc<Console>, matter: &Matter, admitted: Admitted) -> Result<ShownReceipt, Told> {
    let Admitted { said, unlocking } = admitted;
    let operation: OperationKey = matter.row.operation.parse().map_err(|_| Told::new("E-LINK-1", strings::NOTHING_IN_DOUBT))?;
    let seed = signing::unlock(console, unlocking, |line| progress(console, &matter.row.operation, line)).await?;
    let key = SecretKey::from_seed(&seed);
    let client = console.shared().client.clone().ok_or_else(|| Told::new("E-NET-1", strings::GATE_UNREACHABLE))?;
    let salt = Salt::from_bytes(random::bytes());
    let unsendable = |refusal: vidimus_core::code::Refusal| Told::new("E-NET-3", refusal.message);
    let evidence = said.evidence.to_text().map_err(unsendable)?;
    let statement = statement(console, &client, matter, operation, &said, &key, evidence_sha256(&salt, &evidence)).await?;
    let envelope = statement.sign(&key).map_err(unsendable)?;
    let body = ReconciliationRequest { envelope: signing::raw_envelope(&envelope)?, evidence, evidence_salt: salt };
    progress(console, &matter.row.operation, strings::sent(&now_text(console)));
    let received = hand_in(&client, &operation, &body).await?;
    verify(console, matter, &operation, &envelope, &received, &said)
}

async fn statement(
    console: &Console,
    client: &ApproverClient,
    matter: &Matter,
    operation: OperationKey,
    said: &Said,
    key: &SecretKey,
    evidence_sha256: vidimus_core::bytes::Digest,
) -> Result<ReconciliationStatement, Told> {
    let standing = console.standing().ok_or_else(|| Told::new("E-KEY-5", strings::KEY_NOT_IN_ROSTER))?;
    let role = matter.role_of(&standing)?;
    let key_sha256 = key.public().digest();
    let challenge =
        client.operation_challenge(&operation, &ChallengeRequest { key_sha256 }).await.map_err(|error| Told::of_gate(&error))?;
    let roster_sha256 = standing.roster.digest().map_err(|refusal| Told::new("E-REQ-9", refusal.message))?;
    if challenge.roster_sha256 != roster_sha256 {
        return Err(Told::new("E-REQ-9", strings::ROSTER_MOVES));
    }
    let frozen = matter.card.frozen.as_ref();
    Ok(ReconciliationStatement {
        gate: standing.roster.gate,
        gate_key_sha256: standing.roster.log_key.digest(),
        environment: standing.roster.environment,
        operation,
        request: frozen.map(|frozen| frozen.members().request),
        request_sha256: frozen.map(vidimus_core::frozen::FrozenRequest::request_sha256),
        attempt: u32::try_from(matter.row.attempt).unwrap_or(u32::MAX),
        answer: said.answer,
        amount_minor: said.amount_minor,
        approver: standing.person.person,
        key_sha256,
        role,
        roster_sha256,
        shown_sha256: frozen.and(matter.card.shown_sha256),
        evidence_sha256,
        challenge: challenge.challenge,
        checkpoint: signing::verified_head(console)?,
        app_version: env!("CARGO_PKG_VERSION").to_owned(),
        issued_at: challenge.issued_at,
        expires_at: challenge.expires_at.min(challenge.issued_at.plus_s(DECISION_TTL_S_MAX)),
    })
}

/// Sends, and sends the same envelope again where the answer was lost: the gate answers it once.
async fn hand_in(client: &ApproverClient, operation: &OperationKey, body: &ReconciliationRequest) -> Result<ReconciliationReceipt, Told> {
    let mut wait_ms = RECONNECT_FIRST_MS;
    for _ in 1..DECISION_TRIES_MAX {
        match client.reconcile(operation, body).await {
            Err(ClientError::Unreachable(_)) => {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                wait_ms *= 2;
            }
            Err(error) => return Err(Told::of_gate(&error)),
            Ok(receipt) => return Ok(receipt),
        }
    }
    client.reconcile(operation, body).await.map_err(|error| match error {
        ClientError::Unreachable(_) => Told::new("E-NET-2", strings::NOT_CONFIRMED),
        other => Told::of_gate(&other),
    })
}

fn verify(
    console: &Console,
    matter: &Matter,
    operation: &OperationKey,
    envelope: &Envelope,
    receipt: &ReconciliationReceipt,
    said: &Said,
) -> Result<ShownReceipt, Told> {
    let bad = || Told::new("E-DEC-9", strings::RECEIPT_BAD);
    let proof = Proof { leaf: &receipt.leaf, position: receipt.position, proof: &receipt.proof, checkpoint: &receipt.checkpoint };
    let (record, size) = proof.verify(console)?;
    let ours = record.record_type == RecordType::ReconciliationRecorded
        && record.operation == Some(*operation)
        && receipt.operation == *operation
        && record.claim("answer") == Some(said.answer.as_str())
        && record.envelopes.contains(envelope);
    if !ours {
        return Err(bad());
    }
    let position = grouped(&receipt.position.to_string());
    let mut lines = vec![
        strings::answer_lines(&answer_text(matter, said)),
        strings::signed_by(&console.membership().map(|membership| membership.label).unwrap_or_default()),
        strings::receipt_proof(&position, &grouped(&size.to_string())),
    ];
    if said.answer != Answer::Note {
        if receipt.conflict {
            lines.push(conflict_line(console, matter, said));
        } else if receipt.state.is_final() {
            lines.push(strings::answer_reached(receipt.state.as_str()));
        } else if said.answer.input().is_some() {
            lines.push(strings::answer_counts(receipt.quorum.given, receipt.quorum.needed));
        }
    }
    Ok(ShownReceipt { heading: strings::recorded_answer(&position, &time::hour_minute_second(record.at.as_ms(), &console.zone)), lines })
}

fn answer_text(matter: &Matter, said: &Said) -> String {
    let words = strings::answer(said.answer);
    match said.amount_minor {
        Some(amount) => format!("{words} ({})", desk::amount_text(&matter.card, amount)),
        None => words.to_owned(),
    }
}

/// Who said something else, and when.
fn conflict_line(console: &Console, matter: &Matter, said: &Said) -> String {
    let me = console.standing().map(|standing| standing.person.person);
    let other = matter.answers.iter().rfind(|row| {
        let given = &row.given;
        Some(given.approver) != me
            && given.answer.input().is_some()
            && (given.answer, given.amount_minor) != (said.answer, said.amount_minor)
    });
    let words = match other {
        Some(row) => strings::answered_conflict(
            &person_name(console, &row.given.approver),
            &desk::answer_words(matter, row),
            &time::hour_minute(row.at_ms, &console.zone),
        ),
        None => strings::conflicting().to_owned(),
    };
    format!("{words} (E-REC-1)")
}

fn progress(console: &Console, operation: &str, line: String) {
    if let Some(answering) = console.answerings().get_mut(operation) {
        answering.reading.progress.push(line);
    }
}

fn now_text(console: &Console) -> String {
    time::hour_minute_second(clock::now_ms().saturating_add(console.shared().clock_offset_ms), &console.zone)
}
