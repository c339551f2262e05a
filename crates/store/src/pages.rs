//! Who is told of what waits for people: raised in the transaction in which it begins to wait, repeated until somebody
//! looks. The queue is in the database, so that a page survives a crash; sending it is the gate's.

use rusqlite::{Connection, Row, params};
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::page::{PageChannel, PageOutcome, PageReason};
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;

use crate::codec::{names, names_to_text, optional_parsed, optional_time, parsed, text, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::limits::PAGES_PER_ROUND_MAX;
use crate::rows::Kind;
use crate::tx::{Entry, Tx, find, list};
use crate::{Moment, Store};

/// A page that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its number in the queue.
    pub page: i64,
    /// Why it is sent.
    pub reason: PageReason,
    /// The approval request that it is about.
    pub request: Option<RequestId>,
    /// The operation that it is about.
    pub operation: Option<OperationKey>,
    /// The tool.
    pub tool: Option<Name>,
    /// Where the request or the operation stands.
    pub state: Option<String>,
    /// The roles that are asked.
    pub roles: Vec<Name>,
    /// Since when it waits.
    pub since: Timestamp,
    /// How often it was sent before.
    pub count: u32,
}

/// A page that was sent.
#[derive(Debug, Clone)]
pub struct PageSent {
    /// The page, as it was due.
    pub page: Page,
    /// What became of it on each way.
    pub deliveries: Vec<(PageChannel, PageOutcome)>,
    /// When it is sent again, unless somebody looks before.
    pub repeat_s: u64,
}

impl Store {
    /// The pages that are to be sent now.
    pub async fn due_pages(&self, moment: Moment) -> Result<Vec<Page>, StoreError> {
        let (due, over): (Vec<Page>, Vec<Page>) = self.engine.read(move |db| due_pages(db, moment.now)).await?.into_iter().partition(waits);
        if !over.is_empty() {
            self.engine.write(moment, Rank::Plain, move |tx| over.iter().try_for_each(|page| rest(tx, page))).await?;
        }
        Ok(due)
    }

    /// Puts on record that a page was sent, and when it is sent again. A page that was sent meanwhile counts once.
    pub async fn page_sent(&self, moment: Moment, sent: PageSent) -> Result<(), StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| page_sent(tx, &sent)).await
    }
}

/// What a page is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matter {
    pub(crate) request: Option<RequestId>,
    pub(crate) operation: Option<OperationKey>,
    pub(crate) tool: Option<Name>,
    /// The roles that are asked; `everyone` for all enrolled persons.
    pub(crate) roles: Vec<Name>,
}

/// Why people are told of an operation that only they can settle.
pub(crate) fn reason_of(kind: Kind) -> PageReason {
    match kind {
        Kind::Money(_) => PageReason::NeedsReconciliation,
        Kind::Write => PageReason::WriteUnknown,
    }
}

/// Has people told, from now on and again until somebody looks or the matter is over.
///
/// To be called in the transaction in which the matter begins to wait; raising it again tells anew.
pub(crate) fn raise(tx: &Tx<'_>, reason: PageReason, matter: &Matter) -> Result<(), StoreError> {
    tx.execute_one(
        "INSERT INTO pages (reason, request, operation, tool, roles, since, armed_at, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6)
         ON CONFLICT DO UPDATE SET armed_at = excluded.armed_at, due_at = excluded.due_at, look_again_at = NULL",
        params![
            reason.as_str(),
            matter.request.map(|request| request.to_string()),
            matter.operation.map(|operation| operation.to_string()),
            matter.tool.as_ref().map(Name::as_str),
            names_to_text(&matter.roles),
            tx.now.as_ms(),
        ],
    )
}

/// Whether people are told about a request for this reason.
pub(crate) fn is_told(tx: &Tx<'_>, reason: PageReason, request: &RequestId) -> Result<bool, StoreError> {
    let sql =
        "SELECT 1 FROM pages WHERE reason = ?1 AND coalesce(request, '') = ?2 AND coalesce(operation, '') = '' AND due_at IS NOT NULL";
    Ok(tx.find(sql, params![reason.as_str(), request.to_string()], |_| Ok(()))?.is_some())
}

/// Nobody is told any more. Pages about requests and operations end by themselves with what they are about.
pub(crate) fn end(tx: &Tx<'_>, reason: PageReason, matter: &Matter) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE pages SET due_at = NULL, look_again_at = NULL
         WHERE reason = ?1 AND coalesce(request, '') = coalesce(?2, '') AND coalesce(operation, '') = coalesce(?3, '')",
        params![
            reason.as_str(),
            matter.request.map(|request| request.to_string()),
            matter.operation.map(|operation| operation.to_string()),
        ],
    )?;
    Ok(())
}

/// Somebody looks at an operation: nobody is told until it is time to look again. Since when people are told, and that time.
pub(crate) fn opened(tx: &Tx<'_>, operation: &OperationKey) -> Result<Option<(Timestamp, Option<Timestamp>)>, StoreError> {
    let key = operation.to_string();
    tx.execute(
        "UPDATE pages SET due_at = CASE WHEN look_again_at > ?1 THEN look_again_at END WHERE operation = ?2",
        params![tx.now.as_ms(), key],
    )?;
    standing(tx, operation)
}

/// Since when people are told about an operation, and when they are told again.
pub(crate) fn standing(tx: &Tx<'_>, operation: &OperationKey) -> Result<Option<(Timestamp, Option<Timestamp>)>, StoreError> {
    let newest = "SELECT armed_at, due_at FROM pages WHERE operation = ?1 ORDER BY armed_at DESC LIMIT 1";
    tx.find(newest, [operation.to_string()], |row| Ok((time(row, "armed_at")?, optional_time(row, "due_at")?)))
}

/// It is still unknown: people are told again at this time.
pub(crate) fn look_again(tx: &Tx<'_>, operation: &OperationKey, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE pages SET armed_at = ?1, due_at = ?2, look_again_at = ?2 WHERE operation = ?3",
        params![tx.now.as_ms(), at.as_ms(), operation.to_string()],
    )?;
    Ok(())
}

fn due_pages(db: &Connection, now: Timestamp) -> Result<Vec<Page>, StoreError> {
    let now: i64 = db.prepare_cached("SELECT max(now_ms, ?1) FROM clock")?.query_row([now.as_ms()], |row| row.get(0))?;
    // Agents make writes in doubt without anybody's approval: those wait behind whatever is about payments.
    let sql = "SELECT * FROM pages WHERE due_at <= ?1 ORDER BY reason = 'write_unknown', due_at LIMIT ?2";
    let due = list(db, sql, params![now, PAGES_PER_ROUND_MAX], read_page)?;
    due.into_iter().map(|page| Ok(Page { state: state_of(db, &page)?, ..page })).collect()
}

fn read_page(row: &Row<'_>) -> rusqlite::Result<Page> {
    Ok(Page {
        page: row.get("page")?,
        reason: parsed(row, "reason")?,
        request: optional_parsed(row, "request")?,
        operation: optional_parsed(row, "operation")?,
        tool: optional_parsed(row, "tool")?,
        state: None,
        roles: names(row, "roles")?,
        since: time(row, "since")?,
        count: row.get("count")?,
    })
}

fn state_of(db: &Connection, page: &Page) -> Result<Option<String>, StoreError> {
    let (sql, key) = match (&page.operation, &page.request) {
        (Some(operation), _) => ("SELECT state FROM operations WHERE operation = ?1", operation.to_string()),
        (None, Some(request)) => ("SELECT state FROM requests WHERE request = ?1", request.to_string()),
        (None, None) => return Ok(None),
    };
    find(db, sql, [key], |row| row.get(0))
}

/// Whether what a page is about still waits for people.
fn waits(page: &Page) -> bool {
    match page.reason {
        PageReason::NeedsReconciliation | PageReason::WriteUnknown => {
            page.state.as_deref() == Some(OperationState::NeedsReconciliation.as_str())
        }
        PageReason::RequestEscalated | PageReason::RequestUnanswerable => page.state.as_deref() == Some(RequestState::Pending.as_str()),
        PageReason::RecoveryAnnounced => true,
    }
}

/// What a page was about is over: it leaves the queue, unless it was raised again meanwhile.
fn rest(tx: &mut Tx<'_>, page: &Page) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE pages SET due_at = NULL, look_again_at = NULL WHERE page = ?1 AND count = ?2 AND due_at <= ?3",
        params![page.page, page.count, tx.now.as_ms()],
    )?;
    Ok(())
}

fn page_sent(tx: &mut Tx<'_>, sent: &PageSent) -> Result<(), StoreError> {
    let page = &sent.page;
    let repeat_at = tx.now.plus_s(sent.repeat_s);
    // Whoever opened it while it was on its way, or put off the next look, wins over the repetition.
    let counted = tx.execute(
        "UPDATE pages SET count = count + 1,
                armed_at = CASE WHEN look_again_at <= ?1 THEN ?1 ELSE armed_at END,
                look_again_at = CASE WHEN look_again_at > ?1 THEN look_again_at END,
                due_at = CASE WHEN due_at <= ?1 THEN ?2 ELSE due_at END
         WHERE page = ?3 AND count = ?4",
        params![tx.now.as_ms(), repeat_at.as_ms(), page.page, page.count],
    )?;
    if counted != 1 {
        return Ok(());
    }
    for (channel, outcome) in &sent.deliveries {
        let claims = Json::object([
            ("reason", text(page.reason)),
            ("channel", text(*channel)),
            ("outcome", text(*outcome)),
            ("count", (page.count + 1).into()),
        ]);
        let entry = Entry::new(RecordType::PageSent, claims).readable_by(page.roles.clone());
        tx.stage(Entry { request: page.request, operation: page.operation, ..entry })?;
    }
    Ok(())
}
