//! The queue of pages after a start: who is told of what waits, and when at the latest, follows from the log. Whoever wrote into
//! the queue could otherwise keep an outcome in doubt from everybody, or call people without end.

use std::collections::BTreeSet;

use rusqlite::params;
use vidimus_core::evidence::Evidence;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::OperationState;
use vidimus_core::page::PageReason;
use vidimus_core::reconciliation::Answer;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::time::Timestamp;

use crate::codec::{names_to_text, parsed};
use crate::error::StoreError;
use crate::escalations;
use crate::limits::{PAGE_COUNT_MAX, PAGE_REPEAT_S_MAX};
use crate::operations::{self, load_request};
use crate::pages::{Matter, reason_of};
use crate::recoveries;
use crate::rows::StoredOperation;
use crate::tx::Tx;
use crate::unanswerable;
use crate::verification_calls::BodyOnRecord;

/// What a page is told apart by.
type PageKey = (String, Option<String>, Option<String>);

/// What the log says of one page.
#[derive(Default)]
struct Told {
    /// Since when the matter waits.
    since: Option<Timestamp>,
    /// When people are told at the latest; none while somebody has looked.
    due_at: Option<Timestamp>,
    /// When people wanted to look again.
    look_again_at: Option<Timestamp>,
}

/// Sets the queue right: whatever waits is told of no later than the log says, and nothing else is.
pub(crate) fn follow_log(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let mut waiting = BTreeSet::new();
    let sql = "SELECT * FROM operations WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') AND state = 'needs_reconciliation'";
    for stored in tx.list(sql, [], StoredOperation::read)? {
        let (request, roles) = operations::readers(tx.log(), &stored)?;
        let (its, [of_request, of_operation]) = stored.records();
        let leaves =
            tx.list(&format!("SELECT leaf, body FROM records WHERE {its} ORDER BY position"), [of_request, of_operation], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let matter = Matter { request, operation: Some(stored.operation), tool: Some(stored.tool.clone()), roles };
        waiting.insert(set_right(tx, reason_of(stored.kind), &matter, &leaves)?);
    }
    let pending: Vec<RequestId> =
        tx.list("SELECT request FROM requests WHERE state = 'pending' ORDER BY position", [], |row| parsed(row, "request"))?;
    for request in &pending {
        let stored = load_request(tx, request)?;
        let of_escalation = stored.escalated_position.map(|_| (PageReason::RequestEscalated, escalations::matter(&stored)));
        let unmet = unanswerable::matter(tx, &stored)?.map(|matter| (PageReason::RequestUnanswerable, matter));
        for (reason, matter) in of_escalation.into_iter().chain(unmet) {
            let sql = "SELECT leaf, body FROM records WHERE request = ?1 AND operation IS NULL ORDER BY position";
            let leaves = tx.list(sql, [request.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))?;
            waiting.insert(set_right(tx, reason, &matter, &leaves)?);
        }
    }
    if recoveries::any_waits(tx.log())? {
        // No index has them, and there is a recovery once in years.
        let sql =
            "SELECT leaf, body FROM records WHERE type IN ('recovery_announced', 'page_sent') AND request IS NULL AND operation IS NULL
                   ORDER BY position";
        let leaves = tx.list(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        waiting.insert(set_right(tx, PageReason::RecoveryAnnounced, &recoveries::matter()?, &leaves)?);
    }
    let due = tx.list("SELECT page, reason, request, operation FROM pages WHERE due_at IS NOT NULL", [], |row| {
        Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
    })?;
    for (page, key) in due.iter().filter(|(_, key)| !waiting.contains(key)) {
        tracing::debug!(page, reason = key.0, "a page about nothing that waits leaves the queue");
        tx.execute("UPDATE pages SET due_at = NULL, look_again_at = NULL WHERE page = ?1", [page])?;
    }
    Ok(())
}

/// One page, as the log has it: it may be due earlier, never later.
fn set_right(tx: &Tx<'_>, reason: PageReason, matter: &Matter, records: &[(String, Option<String>)]) -> Result<PageKey, StoreError> {
    let mut told = Told::default();
    for (leaf, body) in records {
        told.take(reason, &AuditRecord::parse(leaf.as_bytes())?, body.as_deref());
    }
    let key: PageKey =
        (reason.to_string(), matter.request.map(|request| request.to_string()), matter.operation.map(|operation| operation.to_string()));
    tx.execute_one(
        "INSERT INTO pages (reason, request, operation, tool, roles, since, armed_at, due_at, look_again_at)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET tool = excluded.tool, roles = excluded.roles, since = excluded.since, armed_at = min(armed_at, ?9),
           due_at = min(coalesce(due_at, excluded.due_at), coalesce(excluded.due_at, due_at)), look_again_at = excluded.look_again_at,
           count = min(count, ?10)",
        params![
            key.0,
            key.1,
            key.2,
            matter.tool.as_ref().map(|tool| tool.as_str().to_owned()),
            names_to_text(&matter.roles),
            told.since.unwrap_or(tx.now).as_ms(),
            told.due_at.map(|at| at.as_ms()),
            told.look_again_at.map(|at| at.as_ms()),
            tx.now.as_ms(),
            PAGE_COUNT_MAX,
        ],
    )?;
    Ok(key)
}

impl Told {
    fn take(&mut self, reason: PageReason, record: &AuditRecord, body: Option<&str>) {
        let at = record.at;
        match record.record_type {
            RecordType::OperationChanged if record.claim("state") == Some(OperationState::NeedsReconciliation.as_str()) => self.raise(at),
            RecordType::RequestEscalated if reason == PageReason::RequestEscalated => self.raise(at),
            RecordType::RequestUnanswerable if reason == PageReason::RequestUnanswerable => self.raise(at),
            RecordType::RecoveryAnnounced if reason == PageReason::RecoveryAnnounced => self.raise(at),
            RecordType::PageSent if record.claim("reason") == Some(reason.as_str()) => {
                self.look_again_at = self.look_again_at.filter(|look_again_at| *look_again_at > at);
                self.due_at = self.due_at.map(|due_at| if due_at <= at { at.plus_s(PAGE_REPEAT_S_MAX) } else { due_at });
            }
            RecordType::OperationOpened => self.due_at = self.look_again_at.filter(|look_again_at| *look_again_at > at),
            RecordType::ReconciliationRecorded => self.answered(record, body),
            // No other record calls anybody.
            _ => {}
        }
    }

    fn raise(&mut self, at: Timestamp) {
        self.since.get_or_insert(at);
        (self.due_at, self.look_again_at) = (Some(at), None);
    }

    fn answered(&mut self, record: &AuditRecord, body: Option<&str>) {
        let answer = record.claim("answer").and_then(|answer| answer.parse::<Answer>().ok());
        let evidence = BodyOnRecord::of(0, body).ok().and_then(|body| Evidence::parse(body.text("evidence")?).ok());
        match (answer, evidence.and_then(|evidence| evidence.look_again_at)) {
            (Some(Answer::Note), _) => {}
            (Some(Answer::StillUnknown), Some(at)) => (self.due_at, self.look_again_at) = (Some(at), Some(at)),
            (_, _) => self.raise(record.at),
        }
    }
}
