//! The inbox of the main window: rows and counts. Strings only; nothing that decides.

mod index;
mod row;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use index::Counts;
pub use summary::Summary;

use crate::console::Console;
use crate::errors::Told;
use crate::limits::{INBOX_PAGE_ROWS, INBOX_WAIT_MS};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;
use crate::wire::{EffectWord, ReversibilityWord};
use index::{Index, List};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "InboxView"))]
#[serde(rename_all = "snake_case")]
pub enum View {
    Waiting,
    Mine,
    Decided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "InboxSort"))]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    Expires,
    Newest,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct InboxQuery {
    pub view: View,
    pub search: String,
    pub sort: Sort,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Flag {
    pub id: &'static str,
    pub text: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InboxRow {
    pub request: String,
    /// The request's state in the gate's words; one the page does not know is shown as it is.
    pub state: String,
    pub effect: EffectWord,
    pub reversibility: ReversibilityWord,
    /// The summary made from the row's template; null where the row has none.
    pub headline: Option<String>,
    pub argument_count: String,
    pub tool: String,
    pub agent: String,
    pub on_behalf_of: Option<String>,
    pub flags: Vec<Flag>,
    /// Changes once a second under five minutes and once a minute above.
    pub expires_in_text: String,
    /// Under 60 seconds.
    pub expires_soon: bool,
    /// Time of day: "14:32".
    pub expires_at_text: String,
    pub received_at_text: String,
    /// "0 of 1".
    pub approvals_text: String,
    pub eligible: bool,
    /// A whole sentence that says why this person cannot decide.
    pub not_eligible_text: Option<String>,
    /// Who ended it and when: "approved by approver B 14:21"; null while it waits.
    pub tombstone_text: Option<String>,
    /// The whole row in reading order, with the tombstone where it has ended.
    pub accessible_name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InboxCounts {
    pub waiting: String,
    pub mine: String,
    pub decided: String,
}

/// What came since a list was opened, and is not on it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FreshText {
    pub count: String,
    /// When the first of them expires.
    pub expires_in_text: String,
}

/// Rows of a list as they read now, and what is to be said beside them.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InboxPage {
    pub rows: Vec<InboxRow>,
    /// Nothing where the list has everything.
    pub fresh: Option<FreshText>,
    pub counts: InboxCounts,
    /// Time of day with seconds: "14:28:03".
    pub taken_at_text: String,
    /// Milliseconds for which these words stay true by the clock alone.
    pub stays_ms: u32,
}

/// An order of requests that stays as it is, with its first rows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InboxList {
    pub list: String,
    /// Every request in it, in its order.
    pub requests: Vec<String>,
    /// How many match, listed or not.
    pub total: String,
    pub page: InboxPage,
}

/// The inbox of a console: see [`index`].
#[derive(Default)]
pub struct Inbox {
    index: Mutex<Index>,
}

/// The index as of now.
fn index(console: &Console) -> MutexGuard<'_, Index> {
    let mut index = console.inbox.index.lock().unwrap_or_else(PoisonError::into_inner);
    index.bring_up_to_date(console);
    index
}

/// Opens a list: its order is that of now and stays.
pub fn open(console: &Console, query: InboxQuery) -> InboxList {
    let (list, requests, total) = {
        let mut index = index(console);
        let List { id, requests, total, .. } = index.open(console, query);
        (*id, requests.iter().map(ToString::to_string).collect::<Vec<_>>(), *total)
    };
    let page = page_of(console, list, &requests[..requests.len().min(INBOX_PAGE_ROWS)]);
    InboxList { list: list.to_string(), requests, total: grouped(&total.to_string()), page }
}

/// Rows of a list as they read now.
///
/// *Errors*: the list was opened too long ago, or by another run of the program.
pub fn page(console: &Console, list: &str, requests: &[String]) -> Result<InboxPage, Told> {
    let gone = || Told::new("E-REQ-11", strings::LIST_GONE);
    let list = list.parse().map_err(|_| gone())?;
    if index(console).list(list).is_none() {
        return Err(gone());
    }
    Ok(page_of(console, list, &requests[..requests.len().min(INBOX_PAGE_ROWS)]))
}

fn page_of(console: &Console, list: u64, requests: &[String]) -> InboxPage {
    let now_ms = console.now_ms();
    let (fresh, counts) = {
        let mut index = index(console);
        (index.fresh(list).unwrap_or_default(), index.counts())
    };
    let standing = console.standing();
    let rows: Vec<(InboxRow, Option<i64>)> =
        requests.iter().filter_map(|request| row::of(console, standing.as_ref(), request, now_ms)).collect();
    let counted = rows.iter().filter_map(|(_, waits_until_ms)| *waits_until_ms).chain(fresh.first_expires_ms);
    let stays_ms = counted.map(|until_ms| stays_ms(until_ms - now_ms)).min().unwrap_or(INBOX_WAIT_MS).min(INBOX_WAIT_MS);
    let text = |count: usize| grouped(&count.to_string());
    InboxPage {
        rows: rows.into_iter().map(|(row, _)| row).collect(),
        fresh: (fresh.count > 0).then(|| FreshText {
            count: text(fresh.count),
            expires_in_text: fresh.first_expires_ms.map(|until_ms| time::left(until_ms, now_ms)).unwrap_or_default(),
        }),
        counts: InboxCounts { waiting: text(counts.waiting), mine: text(counts.mine), decided: text(counts.decided) },
        taken_at_text: time::hour_minute_second(now_ms, &console.zone),
        stays_ms,
    }
}

/// How long a countdown reads the same: it is told in seconds under five minutes, in minutes above.
fn stays_ms(left_ms: i64) -> u32 {
    let unit_ms = if left_ms < 300_000 { 1_000 } else { 60_000 };
    // What is rounded down changes just after it was whole.
    u32::try_from(left_ms.rem_euclid(unit_ms) + 1).unwrap_or(INBOX_WAIT_MS)
}

/// How many wait, are this person's to decide, and were decided by them.
pub fn counts(console: &Console) -> Counts {
    index(console).counts()
}

/// Requests that wait and that this person can decide.
pub fn decidable(console: &Console) -> Vec<Arc<Summary>> {
    index(console).decidable().cloned().collect()
}

/// Requests that wait.
pub fn waiting(console: &Console) -> Vec<Arc<Summary>> {
    index(console).waiting().cloned().collect()
}

/// How many of these wait and are this person's to decide.
pub fn decidable_of(console: &Console, requests: &[String]) -> usize {
    let index = index(console);
    requests.iter().filter(|request| index.is_decidable(request)).count()
}

/// The request to go on with after another: the one that expires first.
pub fn next_after(console: &Console, request: &str) -> Option<String> {
    let index = index(console);
    let others = index.decidable().filter(|summary| &*summary.request != request);
    others.min_by_key(|summary| (summary.waits_until_ms, summary.position)).map(|summary| summary.request.to_string())
}

/// The agent's name; a person's proposal came through none.
pub fn agent_of(agent: &str) -> String {
    if agent.is_empty() { strings::NO_AGENT.to_owned() } else { agent.to_owned() }
}
