//! Answers of people to outcomes that nobody else can tell: the signed statement, judged by core inside the transaction that
//! records it. What people see before they answer is in `looking`.

mod challenges;
mod looking;
mod made;

use rusqlite::{Row, params};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::{self, Answer, Case, Judgement, Subject, VerifiedReconciliation, amount_minor};
use vidimus_core::record::RecordType;
use vidimus_core::render;
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use crate::caps;
use crate::codec::{count, parsed, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::foreign_heads::refuse_foreign;
use crate::limits::{ANSWERS_PER_PERSON_MAX, ANSWERS_S};
use crate::log::to_i64;
use crate::on_record::OperationOnRecord;
use crate::operations::{self, Change};
use crate::pages::{self, Matter};
use crate::rows::StoredOperation;
use crate::statements::{envelope_text, refused};
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::{Moment, Store};

pub use challenges::{AskChallenge, OperationChallengeOutcome};
use challenges::{issued_challenge, use_challenge};
pub use looking::{Opening, OperationAnswer, OperationDetail, OperationSeen};
use made::{Made, for_answerer, row_of, settles_after_s};

/// A signed answer with what it has a digest of.
#[derive(Debug, Clone)]
pub struct RecordReconciliation {
    /// The operation that it was sent for.
    pub operation: OperationKey,
    /// The roles of the person whose session sent it.
    pub roles: Vec<Name>,
    /// The signed statement.
    pub envelope: Envelope,
    /// The evidence, canonical.
    pub evidence: String,
    /// The salt of the evidence's digest.
    pub evidence_salt: Salt,
    /// Whether a refusal goes on record: each person has a part of the log for refusals, and no more.
    pub refusal_on_record: bool,
}

/// What an answer did: stored with it, and given again for the same envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconciliationReceipt {
    /// The operation.
    pub operation: OperationKey,
    /// Its state after the answer.
    pub state: OperationState,
    /// The place of the answer's record in the log.
    pub position: u64,
    /// Distinct persons who gave this answer.
    pub given: u32,
    /// Distinct persons needed.
    pub needed: u32,
    /// Persons contradict each other.
    pub conflict: bool,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconciliationOutcome {
    /// It counts.
    Recorded(ReconciliationReceipt),
    /// The same envelope was recorded before; this is its receipt.
    Stored(ReconciliationReceipt),
    /// There is no such operation for this person.
    NotFound,
    /// A rule says no; recorded, nothing else changed.
    Refused(Refusal),
}

/// An answer that was refused before it reached the rule: it could not be read, or its operation is not its sender's to see.
#[derive(Debug, Clone)]
pub struct ReconciliationRefused {
    /// The operation that it was sent for, where the key is one.
    pub operation: Option<OperationKey>,
    /// The person whose session sent it.
    pub sender: PersonId,
    /// Why.
    pub refusal: Refusal,
}

impl Store {
    /// Judges and records an answer; enough equal ones move the operation in the same transaction.
    pub async fn record_reconciliation(
        &self,
        moment: Moment,
        reconciliation: RecordReconciliation,
    ) -> Result<ReconciliationOutcome, StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| record(tx, &reconciliation)).await
    }

    /// Records an answer that was refused before it reached the rule.
    pub async fn refuse_reconciliation(&self, moment: Moment, sent: ReconciliationRefused) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let entry = refused(RecordType::ReconciliationRefused, Some(sent.sender), None, &sent.refusal);
                tx.stage(Entry { operation: sent.operation, ..entry })?;
                Ok(())
            })
            .await
    }
}

fn record(tx: &mut Tx<'_>, sent: &RecordReconciliation) -> Result<ReconciliationOutcome, StoreError> {
    let Some(stored) = for_answerer(tx, &sent.operation, &sent.roles)? else { return Ok(ReconciliationOutcome::NotFound) };
    let envelope = envelope_text(&sent.envelope)?;
    let digest = Digest::of(sent.envelope.danger_unverified_payload());
    let earlier = tx.find(
        "SELECT * FROM reconciliations WHERE reconciliation_sha256 = ?1 AND envelope = ?2 AND operation = ?3",
        params![digest.to_string(), envelope, sent.operation.to_string()],
        receipt,
    )?;
    if let Some(receipt) = earlier {
        return Ok(ReconciliationOutcome::Stored(receipt));
    }
    let mut approver = None;
    match tx.attempt(|tx| judge_and_record(tx, &stored, sent, &envelope, &mut approver))? {
        Ok(receipt) => Ok(ReconciliationOutcome::Recorded(receipt)),
        Err(refusal) => {
            if sent.refusal_on_record {
                let entry = refused(RecordType::ReconciliationRefused, approver, Some(sent.envelope.key_digest()), &refusal);
                tx.stage(entry.of_operation(sent.operation))?;
            }
            Ok(ReconciliationOutcome::Refused(refusal))
        }
    }
}

fn receipt(row: &Row<'_>) -> rusqlite::Result<ReconciliationReceipt> {
    Ok(ReconciliationReceipt {
        operation: parsed(row, "operation")?,
        state: parsed(row, "state_after")?,
        position: count(row, "position")?,
        given: row.get("given")?,
        needed: row.get("needed")?,
        conflict: row.get("conflict")?,
    })
}

fn judge_and_record(
    tx: &mut Tx<'_>,
    stored: &StoredOperation,
    sent: &RecordReconciliation,
    envelope: &str,
    approver: &mut Option<PersonId>,
) -> Attempt<ReconciliationReceipt> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    let verified = reconciliation::verify(&sent.envelope, roster)?;
    *approver = Some(verified.statement().approver);
    let on_record = tx.log().operation(stored)?;
    if on_record.state != Some(stored.now_at.state) {
        let known = on_record.state.map_or("nothing", OperationState::as_str);
        let message = format!("the ledger has the operation as `{}`, the log as `{known}`; compare both", stored.now_at.state);
        return refuse(Code::LedgerContradicted, message);
    }
    let made = Made::load(tx, stored, &on_record)?;
    let subject = made.subject()?;
    let judgement = judge(tx, stored, &on_record, &subject, &verified, roster)?;
    not_without_end(tx, stored, &verified.statement().approver)?;
    refuse_foreign(tx, &verified.statement().checkpoint, verified.statement().approver, true)?;
    let evidence = check_evidence(&verified, sent)?;
    use_challenge(tx, &verified.statement().challenge)?;
    // Whoever answers for it reads the answers of the others.
    let (_, roles) = operations::readers(tx.log(), stored)?;
    let matter =
        Matter { request: verified.statement().request, operation: Some(stored.operation), tool: Some(stored.tool.clone()), roles };
    let position = stage_answer(tx, &matter, &verified, sent, judgement)?;
    insert_answer(tx, &verified, envelope, position, judgement)?;
    follow(tx, stored, verified.statement().answer, &evidence, judgement, &matter)?;
    if let (OperationState::Partial, Some(happened)) = (judgement.state, verified.statement().amount_minor) {
        caps::keep_part(tx, &stored.operation, happened)?;
    }
    let tally = judgement.tally;
    Ok(ReconciliationReceipt {
        operation: stored.operation,
        state: judgement.state,
        position,
        given: tally.given,
        needed: tally.needed,
        conflict: tally.conflict,
    })
}

fn judge(
    tx: &mut Tx<'_>,
    stored: &StoredOperation,
    on_record: &OperationOnRecord,
    subject: &Subject<'_>,
    verified: &VerifiedReconciliation,
    roster: &Roster,
) -> Attempt<Judgement> {
    let gate = tx.gate()?;
    let frozen = match subject {
        Subject::Request { frozen, .. } => Some(*frozen),
        Subject::Write { .. } => None,
    };
    let row = row_of(tx.db, &gate, stored, frozen)?;
    let (shown_sha256, whole) = match (frozen, &row) {
        (Some(frozen), Some(row)) => (Some(render::frozen_shown_sha256(frozen, row)?), amount_minor(row, &frozen.members().args)),
        // Nothing can be rendered any more; an answer must stay possible, and it names the frozen bytes all the same.
        (Some(_), None) => (verified.statement().shown_sha256, None),
        (None, _) => (None, None),
    };
    let answers = tx.log().answers(stored, subject, roster)?;
    let case = Case {
        operation: stored.operation,
        subject: *subject,
        now_at: stored.now_at,
        settles_at: on_record.over_at().unwrap_or(tx.now).plus_s(settles_after_s(row.as_ref())),
        amount_minor: whole,
        shown_sha256,
        roster,
        challenge: issued_challenge(tx, &verified.statement().challenge)?,
        answers: &answers,
        now: tx.now,
    };
    Ok(reconciliation::judge(verified, &case)?)
}

/// Every answer reads the ones before it, and an operation can be in doubt, or take notes, for ever.
fn not_without_end(tx: &Tx<'_>, stored: &StoredOperation, approver: &PersonId) -> Attempt<()> {
    let since = Timestamp::from_ms(tx.now.as_ms() - i64::try_from(ANSWERS_S * 1000).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MIN);
    if tx.log().answers_since(stored, approver, since)? < ANSWERS_PER_PERSON_MAX {
        return Ok(());
    }
    let message = format!("this person has answered about this operation `{ANSWERS_PER_PERSON_MAX}` times within a day; look again later");
    refuse(Code::AnswersLimitReached, message)
}

/// The evidence beside the answer must be what was signed, and say enough for it.
fn check_evidence(verified: &VerifiedReconciliation, sent: &RecordReconciliation) -> Result<Evidence, Refusal> {
    let statement = verified.statement();
    if evidence_sha256(&sent.evidence_salt, &sent.evidence) != statement.evidence_sha256 {
        let message = "the evidence beside the answer is not the one that was signed; send it as it was, with its salt";
        return Err(Refusal::new(Code::EvidenceInvalid, message).at("/evidence"));
    }
    let evidence = Evidence::parse(&sent.evidence).map_err(|refusal| refusal.under("/evidence"))?;
    evidence.suits(statement.answer, statement.issued_at).map_err(|refusal| refusal.under("/evidence"))?;
    Ok(evidence)
}

fn stage_answer(
    tx: &mut Tx<'_>,
    matter: &Matter,
    verified: &VerifiedReconciliation,
    sent: &RecordReconciliation,
    judgement: Judgement,
) -> Result<u64, StoreError> {
    let statement = verified.statement();
    let claims = Json::object([
        ("answer", text(statement.answer)),
        ("amount_minor", statement.amount_minor.map(|amount| amount.to_string()).into()),
        ("approver", text(statement.approver)),
        ("role", text(&statement.role)),
        ("key_sha256", statement.key_sha256.into()),
        ("state", text(judgement.state)),
        ("given", judgement.tally.given.into()),
        ("needed", judgement.tally.needed.into()),
        ("conflict", judgement.tally.conflict.into()),
    ]);
    let body = Json::object([("evidence", sent.evidence.as_str().into()), ("evidence_salt", sent.evidence_salt.into())]);
    let entry = Entry::new(RecordType::ReconciliationRecorded, claims)
        .of_operation(statement.operation)
        .readable_by(matter.roles.clone())
        .with_envelopes(vec![sent.envelope.clone()])
        .with_body(body);
    tx.stage(Entry { request: matter.request, ..entry })
}

fn insert_answer(
    tx: &Tx<'_>,
    verified: &VerifiedReconciliation,
    envelope: &str,
    position: u64,
    judgement: Judgement,
) -> Result<(), StoreError> {
    tx.execute_one(
        "INSERT INTO reconciliations (reconciliation_sha256, operation, envelope, position, state_after, given, needed, conflict)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            verified.digest().to_string(),
            verified.statement().operation.to_string(),
            envelope,
            to_i64(position)?,
            judgement.state.as_str(),
            judgement.tally.given,
            judgement.tally.needed,
            judgement.tally.conflict,
        ],
    )
}

/// What follows from an answer: the operation's final state, a later look, or a call for the next person.
fn follow(
    tx: &mut Tx<'_>,
    stored: &StoredOperation,
    answer: Answer,
    evidence: &Evidence,
    judgement: Judgement,
    matter: &Matter,
) -> Attempt<()> {
    if let Some(input) = judgement.input {
        let words = match answer {
            Answer::Happened => "people signed that it happened",
            Answer::Partly => "people signed that a part of it happened",
            Answer::NotHappened => "people signed that it did not happen",
            Answer::StillUnknown | Answer::Note => "people signed what is known",
        };
        operations::advance(tx, stored, input, Change::of(words))?;
        return Ok(());
    }
    match (answer, evidence.look_again_at) {
        (Answer::StillUnknown, Some(at)) => pages::look_again(tx, &stored.operation, at)?,
        (Answer::Note, _) => {}
        (Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::StillUnknown, _) => {
            pages::raise(tx, pages::reason_of(stored.kind), matter)?;
        }
    }
    Ok(())
}
