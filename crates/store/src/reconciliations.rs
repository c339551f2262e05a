//! Answers of people to outcomes that nobody else can tell: the signed statement, judged by core inside the transaction that
//! records it.

use rusqlite::{Connection, Row, params};
use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::frozen::{ChainLink, FrozenRequest};
use vidimus_core::ids::{CallId, Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::limits::{DECISION_TTL_S_MAX, SETTLE_S_DEFAULT};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::page::PageReason;
use vidimus_core::reconciliation::{
    self, Answer, Case, Judgement, OperationChallenge, ReconciliationStatement, Subject, VerifiedReconciliation, amount_minor,
};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::render;
use vidimus_core::roster::{AUDITOR, KeyUse, Roster};
use vidimus_core::table::{Idempotency, Row as TableRow, Table};
use vidimus_core::time::Timestamp;

use crate::agents;
use crate::caps;
use crate::codec::{count, optional_text, parsed, text, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::{GateInForce, GateState};
use crate::limits::{CHALLENGES_PER_KEY_MAX, TIMEOUT_S_UNKNOWN};
use crate::log::{Head, to_i64};
use crate::on_record::{LogView, OperationOnRecord};
use crate::operations::{self, Change, in_force};
use crate::pages::{self, Matter};
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::tx::{Attempt, Entry, Tx, challenge_sha256, find, list, refuse};
use crate::{Moment, Store};

/// A challenge for an answer that an approval key is to sign.
#[derive(Debug, Clone)]
pub struct AskChallenge {
    /// The operation.
    pub operation: OperationKey,
    /// The person of the session that asks.
    pub person: PersonId,
    /// The roles of that person.
    pub roles: Vec<Name>,
    /// Digest of the person's approval key.
    pub key_sha256: Digest,
    /// Fresh random bytes; only their digest is stored.
    pub challenge: Nonce,
}

/// What a person who wants to answer gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationChallengeOutcome {
    /// The challenge may be signed.
    Issued {
        /// To be copied into the statement.
        issued_at: Timestamp,
        /// Until when the answer may arrive at most.
        expires_at: Timestamp,
        /// The roster in force.
        roster_sha256: Digest,
        /// The newest head that is durable.
        head: Head,
    },
    /// There is no such operation for this person.
    NotFound,
    /// The key may not sign, or the operation takes no answer.
    Refused(Refusal),
}

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

/// What became of a person's look at an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// Nobody is paged about it until then; none while it stays known.
    Opened {
        /// When people are told again.
        look_again_at: Option<Timestamp>,
    },
    /// There is no such operation for this person.
    NotFound,
    /// It waits for nobody.
    Refused(Refusal),
}

/// One answer on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationAnswer {
    /// Who gave it.
    pub approver: PersonId,
    /// What it says.
    pub answer: Answer,
    /// The place of its record in the log.
    pub position: u64,
}

/// An operation as those who answer for it see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationDetail {
    /// Its key.
    pub operation: OperationKey,
    /// The call behind it.
    pub call: CallId,
    /// The request behind it; none for a write.
    pub request: Option<RequestId>,
    /// The tool.
    pub tool: Name,
    /// Where it stands.
    pub state: OperationState,
    /// Attempts begun.
    pub attempt: u32,
    /// From when on it can be said that it did not happen; none before an attempt has ended.
    pub settles_at: Option<Timestamp>,
    /// Whether the row in force says how its provider is asked.
    pub status_available: bool,
    /// Answers on record.
    pub answers: Vec<OperationAnswer>,
}

/// Who looks at an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationSeen {
    /// Those who answer for it, and auditors.
    ToRead,
    /// Those who answer for it.
    ToAnswer,
}

impl Store {
    /// An operation, for a reader who holds one of these roles; absent and foreign are the same answer.
    pub async fn operation_detail(
        &self,
        operation: OperationKey,
        reader: Vec<Name>,
        seen: OperationSeen,
    ) -> Result<Option<OperationDetail>, StoreError> {
        let in_force = self.engine.gate_in_force();
        self.engine.read(move |db| detail(db, &in_force, &operation, &reader, seen)).await
    }

    /// Issues a challenge for one operation and one approval key.
    pub async fn operation_challenge(&self, moment: Moment, asked: AskChallenge) -> Result<OperationChallengeOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = for_answerer(tx, &asked.operation, &asked.roles)? else {
                    return Ok(OperationChallengeOutcome::NotFound);
                };
                Ok(match tx.attempt(|tx| issue(tx, &stored, &asked))? {
                    Ok(outcome) => outcome,
                    Err(refusal) => OperationChallengeOutcome::Refused(refusal),
                })
            })
            .await
    }

    /// Judges and records an answer; enough equal ones move the operation in the same transaction.
    pub async fn record_reconciliation(
        &self,
        moment: Moment,
        reconciliation: RecordReconciliation,
    ) -> Result<ReconciliationOutcome, StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| record(tx, &reconciliation)).await
    }

    /// Records an answer that was refused before it reached the rule.
    pub async fn refuse_reconciliation(&self, moment: Moment, refused: ReconciliationRefused) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| stage_refused(tx, refused.operation, Some(refused.sender), None, &refused.refusal))
            .await
    }

    /// Records that a person who can still settle an operation looks at it: nobody is paged about it any more. A look of anybody
    /// else changes nothing.
    pub async fn open_operation(
        &self,
        moment: Moment,
        operation: OperationKey,
        person: PersonId,
        roles: Vec<Name>,
    ) -> Result<Opening, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = for_answerer(tx, &operation, &roles)? else { return Ok(Opening::NotFound) };
                Ok(match tx.attempt(|tx| open(tx, &stored, person))? {
                    Ok(look_again_at) => Opening::Opened { look_again_at },
                    Err(refusal) => Opening::Refused(refusal),
                })
            })
            .await
    }
}

/// The operation, where one of these roles answers for it.
fn for_answerer(tx: &mut Tx<'_>, operation: &OperationKey, roles: &[Name]) -> Result<Option<StoredOperation>, StoreError> {
    let Some(stored) = StoredOperation::load(tx.db, operation)? else { return Ok(None) };
    let (_, needed) = operations::readers(tx.log(), &stored)?;
    Ok(needed.iter().any(|role| roles.contains(role)).then_some(stored))
}

fn detail(
    db: &Connection,
    in_force: &GateInForce,
    operation: &OperationKey,
    reader: &[Name],
    seen: OperationSeen,
) -> Result<Option<OperationDetail>, StoreError> {
    let Some(stored) = StoredOperation::load(db, operation)? else { return Ok(None) };
    let log = LogView::of(db);
    let (request, needed) = operations::readers(log, &stored)?;
    let auditor = seen == OperationSeen::ToRead && reader.iter().any(|role| role.as_str() == AUDITOR);
    if !auditor && !needed.iter().any(|role| reader.contains(role)) {
        return Ok(None);
    }
    let Some(gate) = in_force.gate(db)? else { return Ok(None) };
    let frozen = request.map(|request| StoredRequest::load(db, &request)).transpose()?.flatten().map(|request| request.frozen);
    let row = row_of(db, &gate, &stored, frozen.as_deref())?;
    let on_record = log.operation(&stored)?;
    let (its, [of_request, of_operation]) = stored.records();
    let leaves = list(
        db,
        &format!("SELECT position, leaf FROM records WHERE {its} AND type = ?3 ORDER BY position"),
        params![of_request, of_operation, RecordType::ReconciliationRecorded.as_str()],
        |row| Ok((count(row, "position")?, row.get::<_, String>("leaf")?)),
    )?;
    let mut answers = Vec::new();
    for (position, leaf) in &leaves {
        for envelope in AuditRecord::parse(leaf.as_bytes())?.envelopes {
            let statement = ReconciliationStatement::parse(envelope.danger_unverified_payload())?;
            answers.push(OperationAnswer { approver: statement.approver, answer: statement.answer, position: *position });
        }
    }
    Ok(Some(OperationDetail {
        operation: *operation,
        call: stored.call,
        request,
        tool: stored.tool.clone(),
        state: stored.now_at.state,
        attempt: stored.now_at.attempt,
        settles_at: on_record.over_at().map(|over| over.plus_s(settles_after_s(row.as_ref()))),
        status_available: operations::in_force(&gate, &stored).is_some_and(|row| matches!(row.idempotency, Idempotency::Status(_))),
        answers,
    }))
}

/// The row that an operation was made under, from a table that people signed; none where that table can no longer be read.
fn row_of(
    db: &Connection,
    gate: &GateState,
    stored: &StoredOperation,
    frozen: Option<&FrozenRequest>,
) -> Result<Option<TableRow>, StoreError> {
    if let Some(row) = in_force(gate, stored) {
        return Ok(Some(row.clone()));
    }
    let Some(frozen) = frozen else { return Ok(None) };
    let members = frozen.members();
    let digest = members.table_sha256.to_string();
    let toml: Option<String> = find(db, "SELECT toml FROM effect_tables WHERE table_sha256 = ?1", [digest], |row| row.get(0))?;
    let table = toml.and_then(|toml| Table::parse(&toml).ok()).filter(|table| table.digest() == members.table_sha256);
    Ok(table.as_ref().and_then(|table| table.row(&members.tool)).filter(|row| row.digest() == members.row_sha256).cloned())
}

/// How long after the end of the last attempt nothing can arrive any more, and the world has settled.
fn settles_after_s(row: Option<&TableRow>) -> u64 {
    row.map_or(TIMEOUT_S_UNKNOWN + SETTLE_S_DEFAULT, |row| row.executor.timeout_s() + row.settle_s)
}

fn issue(tx: &mut Tx<'_>, stored: &StoredOperation, asked: &AskChallenge) -> Attempt<OperationChallengeOutcome> {
    let gate = tx.gate()?;
    let roster = gate.roster()?;
    let holder = roster.roster.active_key(&asked.key_sha256, KeyUse::Approval)?;
    if holder.person.person != asked.person {
        return refuse(Code::ApproverWrong, "the key belongs to another person than the session; use your own");
    }
    let state = stored.now_at.state;
    if state != OperationState::NeedsReconciliation && !state.is_final() {
        return refuse(Code::OperationStateWrong, format!("the operation is `{state}`, which takes no answer of a person; wait"));
    }
    tx.execute(
        "DELETE FROM operation_challenges WHERE challenge_sha256 IN
           (SELECT challenge_sha256 FROM operation_challenges WHERE key_sha256 = ?1 AND used_at IS NULL ORDER BY issued_at DESC LIMIT -1 OFFSET ?2)",
        params![asked.key_sha256.to_string(), CHALLENGES_PER_KEY_MAX as i64 - 1],
    )?;
    tx.execute_one(
        "INSERT INTO operation_challenges (challenge_sha256, operation, key_sha256, issued_at) VALUES (?1, ?2, ?3, ?4)",
        params![challenge_sha256(&asked.challenge).to_string(), asked.operation.to_string(), asked.key_sha256.to_string(), tx.now.as_ms(),],
    )?;
    Ok(OperationChallengeOutcome::Issued {
        issued_at: tx.now,
        expires_at: tx.now.plus_s(DECISION_TTL_S_MAX),
        roster_sha256: roster.view.roster_sha256,
        head: tx.head_before(),
    })
}

fn issued_challenge(tx: &Tx<'_>, challenge: &Nonce) -> Result<Option<OperationChallenge>, StoreError> {
    tx.find(
        "SELECT operation, key_sha256, issued_at, used_at IS NOT NULL AS used FROM operation_challenges WHERE challenge_sha256 = ?1",
        [challenge_sha256(challenge).to_string()],
        |row| {
            Ok(OperationChallenge {
                operation: parsed(row, "operation")?,
                key_sha256: parsed(row, "key_sha256")?,
                issued_at: time(row, "issued_at")?,
                used: row.get("used")?,
            })
        },
    )
}

fn record(tx: &mut Tx<'_>, sent: &RecordReconciliation) -> Result<ReconciliationOutcome, StoreError> {
    let Some(stored) = for_answerer(tx, &sent.operation, &sent.roles)? else { return Ok(ReconciliationOutcome::NotFound) };
    let envelope =
        String::from_utf8(sent.envelope.to_json().canonical()?).map_err(|_| StoreError::corrupt("an envelope that is not text"))?;
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
            stage_refused(tx, Some(sent.operation), approver, Some(sent.envelope.key_digest()), &refusal)?;
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

fn stage_refused(
    tx: &mut Tx<'_>,
    operation: Option<OperationKey>,
    approver: Option<PersonId>,
    key_sha256: Option<Digest>,
    refusal: &Refusal,
) -> Result<(), StoreError> {
    let claims =
        Json::object([("code", text(refusal.code)), ("approver", optional_text(approver)), ("key_sha256", optional_text(key_sha256))]);
    tx.stage(Entry { operation, ..Entry::new(RecordType::ReconciliationRefused, claims) })?;
    Ok(())
}

/// What an operation was made for, read from the log and the frozen bytes.
struct Made {
    request: Option<StoredRequest>,
    owner: Option<Name>,
    agents: Vec<ChainLink>,
    /// The request was passed on, as the log says.
    escalated: bool,
}

impl Made {
    fn load(tx: &mut Tx<'_>, stored: &StoredOperation, on_record: &OperationOnRecord) -> Attempt<Made> {
        if let Kind::Money(request) = stored.kind {
            let escalated = tx.log().decisions(&request)?.escalated;
            let request = operations::load_request(tx, &request)?;
            return Ok(Made { request: Some(request), owner: None, agents: Vec::new(), escalated });
        }
        let write = on_record.write.as_ref().ok_or_else(|| StoreError::corrupt("a write whose intent is not on record"))?;
        let agents = match &write.agent {
            Some(agent) => agents::identity(tx.log(), agent)?.map(|identity| identity.chain).unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Made { request: None, owner: write.roles.first().cloned(), agents, escalated: false })
    }

    fn subject(&self) -> Result<Subject<'_>, StoreError> {
        match (&self.request, &self.owner) {
            (Some(request), _) => Ok(Subject::Request { frozen: &request.frozen, escalated: self.escalated }),
            (None, Some(owner)) => Ok(Subject::Write { owner, agents: &self.agents }),
            (None, None) => Err(StoreError::corrupt("a write whose owner is not on record")),
        }
    }
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
    let evidence = check_evidence(&verified, sent)?;
    use_challenge(tx, &verified)?;
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

fn use_challenge(tx: &Tx<'_>, verified: &VerifiedReconciliation) -> Result<(), StoreError> {
    tx.execute_one(
        "UPDATE operation_challenges SET used_at = ?1 WHERE challenge_sha256 = ?2 AND used_at IS NULL",
        params![tx.now.as_ms(), challenge_sha256(&verified.statement().challenge).to_string()],
    )
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
            let reason = match stored.kind {
                Kind::Money(_) => PageReason::NeedsReconciliation,
                Kind::Write => PageReason::WriteUnknown,
            };
            pages::raise(tx, reason, matter)?;
        }
    }
    Ok(())
}

fn open(tx: &mut Tx<'_>, stored: &StoredOperation, person: PersonId) -> Attempt<Option<Timestamp>> {
    if stored.now_at.state != OperationState::NeedsReconciliation {
        return refuse(Code::OperationStateWrong, format!("the operation is `{}` and waits for nobody", stored.now_at.state));
    }
    // Whoever has no say left must not silence what calls for somebody who has.
    if !can_settle(tx, stored, &person)? {
        return Ok(pages::standing(tx, &stored.operation)?.and_then(|(_, look_again_at)| look_again_at));
    }
    let Some((since, look_again_at)) = pages::opened(tx, &stored.operation)? else { return Ok(None) };
    let (its, [of_request, of_operation]) = stored.records();
    let leaves = tx.list(
        &format!("SELECT leaf FROM records WHERE {its} AND type = ?3 AND at_ms >= ?4"),
        params![of_request, of_operation, RecordType::OperationOpened.as_str(), since.as_ms()],
        |row| row.get::<_, String>(0),
    )?;
    let by = person.to_string();
    for leaf in &leaves {
        // Looking twice is one look: the log must not grow with every click.
        if AuditRecord::parse(leaf.as_bytes())?.claim("by") == Some(&by) {
            return Ok(look_again_at);
        }
    }
    let (request, roles) = operations::readers(tx.log(), stored)?;
    let entry = Entry::new(RecordType::OperationOpened, Json::object([("by", by.into())])).of_operation(stored.operation);
    tx.stage(Entry { request, ..entry.readable_by(roles) })?;
    Ok(look_again_at)
}

/// Whether this person may answer for the operation and has not said yet what happened.
fn can_settle(tx: &mut Tx<'_>, stored: &StoredOperation, person: &PersonId) -> Attempt<bool> {
    let on_record = tx.log().operation(stored)?;
    let made = Made::load(tx, stored, &on_record)?;
    let subject = made.subject()?;
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    let Some(holder) = roster.person(person) else { return Ok(false) };
    if !holder.roles.iter().any(|role| subject.eligible(person, role, roster).is_ok()) {
        return Ok(false);
    }
    let answers = tx.log().answers(stored, &subject, roster)?;
    let last = answers.iter().rfind(|given| given.approver == *person && given.answer != Answer::Note);
    Ok(last.is_none_or(|given| given.answer == Answer::StillUnknown))
}
