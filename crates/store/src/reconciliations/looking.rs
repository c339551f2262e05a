//! Operations as people look at them who may have to tell what became of them.

use rusqlite::{Connection, params};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::AUDITOR;
use vidimus_core::table::Idempotency;
use vidimus_core::time::Timestamp;

use super::made::{Made, for_answerer, row_of, settles_after_s};
use crate::codec::count;
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateInForce;
use crate::on_record::LogView;
use crate::operations;
use crate::pages;
use crate::rows::{StoredOperation, StoredRequest};
use crate::tx::{Attempt, Entry, Tx, list, refuse};
use crate::{Moment, Store};

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
