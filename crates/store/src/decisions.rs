//! Decisions of people: the signed statement, judged by core inside the transaction that records it.

use rusqlite::{Row, params};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::challenge::OwnChallenge;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{self, Case, DecisionKind, DecisionStatement, Judgement, VerifiedDecision, reason_sha256};
use vidimus_core::denial::Denial;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::limits::REASON_CHARS_MAX;
use vidimus_core::operation::OperationKey;
use vidimus_core::record::RecordType;
use vidimus_core::render;
use vidimus_core::request::RequestState;
use vidimus_core::table::Row as TableRow;
use vidimus_core::time::Timestamp;

use crate::caps;
use crate::challenges::issued_challenge;
use crate::codec::{count, optional_parsed, parsed, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::foreign_heads::refuse_foreign;
use crate::gate::RosterState;
use crate::kept;
use crate::limits::{APPROVALS_PER_PERSON_MAX, CONTEXT_BYTES_MAX, MORE_TIME_PER_PERSON_MAX};
use crate::log::to_i64;
use crate::on_record::DecisionsOnRecord;
use crate::operations;
use crate::requests;
use crate::rows::StoredRequest;
use crate::statements::{envelope_text, refused};
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::{Moment, Store};

/// A signed decision with what it has digests of.
#[derive(Debug, Clone)]
pub struct RecordDecision {
    /// The request that it was sent for.
    pub request: RequestId,
    /// The signed statement.
    pub envelope: Envelope,
    /// The challenge that the statement names, if this gate issued it.
    pub challenge: Option<OwnChallenge>,
    /// The reason's text; a denial's is the canonical `{kind, note}`.
    pub reason: Option<String>,
    /// The salt of the reason's digest.
    pub reason_salt: Option<Salt>,
    /// What else stood on the screen.
    pub context: Option<String>,
    /// Whether a refusal goes on record: each person has a part of the log for refusals, and no more.
    pub refusal_on_record: bool,
}

/// What a decision did: stored with it, and given again for the same envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionReceipt {
    /// The request.
    pub request: RequestId,
    /// Its state after the decision.
    pub state: RequestState,
    /// The place of the decision's record in the log.
    pub position: u64,
    /// Distinct persons who had approved.
    pub given: u32,
    /// Distinct persons needed.
    pub needed: u32,
    /// The operation, if the quorum was reached with it.
    pub operation: Option<OperationKey>,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// It counts.
    Recorded(DecisionReceipt),
    /// The same envelope was recorded before; this is its receipt.
    Stored(DecisionReceipt),
    /// There is no such request.
    NotFound,
    /// A rule says no; recorded where it was to be, nothing else changed.
    Refused(Refusal),
}

/// A decision that was refused before it reached the rule: it could not be read, or its request is not its sender's to see.
#[derive(Debug, Clone)]
pub struct DecisionRefused {
    /// The request that it was sent for, where the id is one.
    pub request: Option<RequestId>,
    /// The person whose session sent it.
    pub sender: PersonId,
    /// Why.
    pub refusal: Refusal,
}

impl Store {
    /// Records a decision that was refused before it reached the rule.
    pub async fn refuse_decision(&self, moment: Moment, sent: DecisionRefused) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let entry = refused(RecordType::DecisionRefused, Some(sent.sender), None, &sent.refusal);
                tx.stage(Entry { request: sent.request, ..entry })?;
                Ok(())
            })
            .await
    }

    /// Judges and records a decision; a quorum makes the operation in the same transaction.
    pub async fn record_decision(&self, moment: Moment, decision: RecordDecision) -> Result<DecisionOutcome, StoreError> {
        let rank = rank_of(&decision.envelope);
        self.engine.write(moment, rank, move |tx| record_decision(tx, &decision)).await
    }
}

/// Whoever stops a request goes first in its batch. The signature is not checked here: a forged one is merely refused first.
pub(crate) fn rank_of(envelope: &Envelope) -> Rank {
    let statement = decision::DecisionStatement::parse(envelope.danger_unverified_payload());
    match statement.map(|statement| statement.decision) {
        Ok(DecisionKind::Deny | DecisionKind::Revoke | DecisionKind::Retract) => Rank::Stop,
        Ok(DecisionKind::Approve | DecisionKind::MoreTime) | Err(_) => Rank::Plain,
    }
}

pub(crate) fn record_decision(tx: &mut Tx<'_>, decision: &RecordDecision) -> Result<DecisionOutcome, StoreError> {
    let Some(stored) = StoredRequest::load(tx.db, &decision.request)? else { return Ok(DecisionOutcome::NotFound) };
    let envelope = envelope_text(&decision.envelope)?;
    let decision_sha256 = Digest::of(decision.envelope.danger_unverified_payload());
    let earlier = tx.find(
        "SELECT decisions.*, operation FROM decisions LEFT JOIN operations ON operations.request = decisions.request AND state_after = 'approved'
         WHERE decision_sha256 = ?1 AND envelope = ?2 AND decisions.request = ?3",
        params![decision_sha256.to_string(), envelope, decision.request.to_string()],
        receipt,
    )?;
    if let Some(receipt) = earlier {
        return Ok(DecisionOutcome::Stored(receipt));
    }
    let mut approver = None;
    match tx.attempt(|tx| judge_and_record(tx, &stored, decision, &envelope, &mut approver))? {
        Ok(receipt) => Ok(DecisionOutcome::Recorded(receipt)),
        Err(refusal) => {
            if decision.refusal_on_record {
                let entry = refused(RecordType::DecisionRefused, approver, Some(decision.envelope.key_digest()), &refusal);
                tx.stage(entry.of_request(stored.request))?;
            }
            Ok(DecisionOutcome::Refused(refusal))
        }
    }
}

fn receipt(row: &Row<'_>) -> rusqlite::Result<DecisionReceipt> {
    Ok(DecisionReceipt {
        request: parsed(row, "request")?,
        state: parsed(row, "state_after")?,
        position: count(row, "position")?,
        given: row.get("given")?,
        needed: row.get("needed")?,
        operation: optional_parsed(row, "operation")?,
    })
}

fn judge_and_record(
    tx: &mut Tx<'_>,
    stored: &StoredRequest,
    decision: &RecordDecision,
    envelope: &str,
    approver: &mut Option<PersonId>,
) -> Attempt<DecisionReceipt> {
    let gate = tx.gate()?;
    let roster = gate.roster()?;
    let verified = kept::verified_decision(envelope, roster)?;
    *approver = Some(verified.statement().approver);
    let row = gate.table.row(&stored.frozen.members().tool);
    let on_record = tx.log().decisions(&stored.request)?;
    if !stored.state.is_final() {
        on_record.goes_on()?;
    }
    let challenge = issued_challenge(decision.challenge.as_ref(), verified.statement(), &on_record);
    let approvals = on_record.approvals();
    let case = Case {
        frozen: &stored.frozen,
        state: stored.state,
        waits_until: stored.waits_until,
        orphaned: on_record.orphaned,
        escalated: on_record.escalated,
        row_sha256: row.map(|row| row.digest()),
        shown_sha256: shown_sha256(stored, row, &verified, roster)?,
        roster: &roster.roster,
        challenge,
        approvals: &approvals,
        now: tx.now,
    };
    let judgement = decision::judge(&verified, &case)?;
    let statement = verified.statement();
    not_without_end(statement, &on_record)?;
    refuse_foreign(
        tx,
        &statement.checkpoint,
        statement.approver,
        matches!(statement.decision, DecisionKind::Approve | DecisionKind::MoreTime),
    )?;
    let denial = check_attachments(&verified, decision)?;
    apply(tx, stored, &verified, decision, envelope, judgement, denial)
}

/// What a person may say without end would fill the log, and every later decision reads it. A no is never refused for its number: it
/// ends the request, or takes back an approval, of which there are only so many.
fn not_without_end(statement: &DecisionStatement, on_record: &DecisionsOnRecord) -> Result<(), Refusal> {
    let most = match statement.decision {
        DecisionKind::Approve => APPROVALS_PER_PERSON_MAX,
        DecisionKind::MoreTime => MORE_TIME_PER_PERSON_MAX,
        DecisionKind::Deny | DecisionKind::Retract | DecisionKind::Revoke => return Ok(()),
    };
    if on_record.times(&statement.approver, statement.decision) < most {
        return Ok(());
    }
    let message =
        format!("this person has signed `{}` on this request `{most}` times; leave it to somebody else, or deny", statement.decision);
    Err(Refusal::new(Code::DecisionsLimitReached, message).at("/decision"))
}

/// What the approver was shown. Rendering takes longer than anything else that is judged, and nothing else happens meanwhile:
/// where the rule refuses for what costs nothing to see, the statement's own word stands in.
fn shown_sha256(
    stored: &StoredRequest,
    row: Option<&TableRow>,
    verified: &VerifiedDecision,
    roster: &RosterState,
) -> Result<Digest, Refusal> {
    let statement = verified.statement();
    match row.filter(|row| row.digest() == stored.frozen.members().row_sha256) {
        Some(row) if !stored.state.is_final() && statement.roster_sha256 == roster.view.roster_sha256 => {
            render::frozen_shown_sha256(&stored.frozen, row)
        }
        _ => Ok(statement.shown_sha256),
    }
}

/// What came beside the envelope must be what was signed; a denial must say why.
fn check_attachments(verified: &VerifiedDecision, decision: &RecordDecision) -> Result<Option<Denial>, Refusal> {
    let statement = verified.statement();
    let reason_of = decision.reason.as_ref().zip(decision.reason_salt.as_ref()).map(|(reason, salt)| reason_sha256(salt, reason));
    let whole = decision.reason.is_some() == decision.reason_salt.is_some();
    if !whole || reason_of != statement.reason_sha256 {
        return Err(Refusal::new(
            Code::ReasonInvalid,
            "the reason beside the decision is not the one that was signed; send it with its salt",
        )
        .at("/reason"));
    }
    if decision.context.as_ref().is_some_and(|context| context.len() > CONTEXT_BYTES_MAX) {
        let message = format!("the context beside the decision is larger than `{CONTEXT_BYTES_MAX}` bytes; send what the console showed");
        return Err(Refusal::new(Code::FieldMalformed, message).at("/context"));
    }
    if decision.context.as_ref().map(|context| Digest::of(context.as_bytes())) != statement.context_sha256 {
        return Err(Refusal::new(Code::BytesDiffer, "the context beside the decision is not the one that was signed; send it as it was")
            .at("/context"));
    }
    match statement.decision {
        DecisionKind::Deny => {
            let reason = decision
                .reason
                .as_deref()
                .ok_or_else(|| Refusal::new(Code::ReasonInvalid, "a denial says why; sign a reason").at("/reason"))?;
            Denial::parse(reason).map(Some).map_err(|refusal| refusal.under("/reason"))
        }
        DecisionKind::Approve | DecisionKind::Retract | DecisionKind::Revoke | DecisionKind::MoreTime => {
            if decision.reason.as_ref().is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
                return Err(Refusal::new(
                    Code::ReasonInvalid,
                    format!("the reason has more than `{REASON_CHARS_MAX}` characters; shorten it"),
                )
                .at("/reason"));
            }
            Ok(None)
        }
    }
}

fn apply(
    tx: &mut Tx<'_>,
    stored: &StoredRequest,
    verified: &VerifiedDecision,
    decision: &RecordDecision,
    envelope: &str,
    judgement: Judgement,
    denial: Option<Denial>,
) -> Attempt<DecisionReceipt> {
    let statement = verified.statement();
    let position = stage_decision(tx, stored, verified, decision, judgement)?;
    if statement.decision == DecisionKind::Retract {
        tx.execute_one(
            "UPDATE decisions SET standing = 0 WHERE request = ?1 AND approver = ?2 AND standing = 1",
            params![stored.request.to_string(), statement.approver.to_string()],
        )?;
    }
    tx.execute_one(
        "INSERT INTO decisions (decision_sha256, request, decision, approver, role, key_sha256, envelope, standing, position, state_after, given, needed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            verified.digest().to_string(),
            stored.request.to_string(),
            statement.decision.as_str(),
            statement.approver.to_string(),
            statement.role.as_str(),
            statement.key_sha256.to_string(),
            envelope,
            statement.decision == DecisionKind::Approve,
            to_i64(position)?,
            judgement.state.as_str(),
            judgement.given,
            judgement.needed,
        ],
    )?;
    let state = requests::advance(tx, stored, judgement.input)?;
    let mut operation = None;
    match statement.decision {
        DecisionKind::Approve if state == RequestState::Approved => operation = Some(reserve(tx, stored)?),
        DecisionKind::Deny => {
            let Denial { kind, note } = denial.ok_or_else(|| StoreError::corrupt("a denial without its reason"))?;
            tx.execute_one(
                "UPDATE requests SET denial_kind = ?1, denial_note = ?2, denial_role = ?3 WHERE request = ?4 AND state = 'denied'",
                params![kind.as_str(), note, statement.role.as_str(), stored.request.to_string()],
            )?;
        }
        DecisionKind::MoreTime => more_time(tx, stored)?,
        DecisionKind::Approve | DecisionKind::Retract | DecisionKind::Revoke => {}
    }
    Ok(DecisionReceipt { request: stored.request, state, position, given: judgement.given, needed: judgement.needed, operation })
}

fn stage_decision(
    tx: &mut Tx<'_>,
    stored: &StoredRequest,
    verified: &VerifiedDecision,
    decision: &RecordDecision,
    judgement: Judgement,
) -> Result<u64, StoreError> {
    let statement = verified.statement();
    let claims = Json::object([
        ("decision", text(statement.decision)),
        ("approver", text(statement.approver)),
        ("role", text(&statement.role)),
        ("key_sha256", statement.key_sha256.into()),
        ("request_sha256", statement.request_sha256.into()),
        ("state", text(judgement.state)),
        ("given", judgement.given.into()),
        ("needed", judgement.needed.into()),
        ("sole_admin", judgement.sole_admin.into()),
        ("waits_until", text(if statement.decision == DecisionKind::MoreTime { later(stored) } else { stored.waits_until })),
    ]);
    let body = Json::object([
        ("reason", decision.reason.clone().into()),
        ("reason_salt", decision.reason_salt.into()),
        ("context", decision.context.clone().into()),
    ]);
    let entry = Entry::new(RecordType::DecisionRecorded, claims)
        .of_request(stored.request)
        .readable_by(stored.roles())
        .with_envelopes(vec![decision.envelope.clone()])
        .with_body(body);
    tx.stage(entry)
}

/// The quorum is reached: the operation exists from this transaction on, and is minted when the row's delay is over.
fn reserve(tx: &mut Tx<'_>, stored: &StoredRequest) -> Attempt<OperationKey> {
    let gate = tx.gate()?;
    let row = gate.table.row(&stored.frozen.members().tool).ok_or_else(|| StoreError::corrupt("an approved tool without its row"))?;
    let mint_at = tx.now.plus_s(row.delay_s);
    if mint_at >= stored.waits_until {
        return refuse(Code::RequestExpired, "the delay after the quorum would pass the request's end; ask for more time first");
    }
    let operation = operations::reserve(tx, stored, mint_at)?;
    caps::reserve(tx, row, &stored.frozen, &operation)?;
    Ok(operation)
}

/// More time is as much again as the row gives, and never beyond the frozen last moment.
fn later(stored: &StoredRequest) -> Timestamp {
    let members = stored.frozen.members();
    after_more_time(members.created_at, members.expires_at, stored.waits_until, members.expires_max_at)
}

/// The rule of [`later`], also for whoever recomputes it from the log.
pub(crate) fn after_more_time(
    created_at: Timestamp,
    expires_at: Timestamp,
    waits_until: Timestamp,
    expires_max_at: Timestamp,
) -> Timestamp {
    waits_until.plus_s(created_at.seconds_until(expires_at)).min(expires_max_at)
}

fn more_time(tx: &Tx<'_>, stored: &StoredRequest) -> Result<(), StoreError> {
    let waits_until = later(stored);
    tx.execute_one(
        "UPDATE requests SET waits_until = ?1 WHERE request = ?2 AND state = 'pending'",
        params![waits_until.as_ms(), stored.request.to_string()],
    )
}
