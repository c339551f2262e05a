//! The inbox of the main window: rows and counts. Strings only; nothing that decides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vidimus_core::render::NodeKind;

use crate::console::Console;
use crate::errors::Told;
use crate::limits::{INBOX_ROWS_MAX, TOMBSTONE_S};
use crate::mirror::RequestRow;
use crate::review::card::Card;
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    Waiting,
    Mine,
    Decided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    Expires,
    Newest,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InboxQuery {
    pub view: View,
    pub search: String,
    pub sort: Sort,
}

#[derive(Debug, Clone, Serialize)]
pub struct Flag {
    pub id: &'static str,
    pub text: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub struct InboxRow {
    pub request: String,
    pub state: String,
    pub effect: String,
    pub reversibility: String,
    pub headline: Option<String>,
    pub argument_count: String,
    pub tool: String,
    pub agent: String,
    pub on_behalf_of: Option<String>,
    pub flags: Vec<Flag>,
    pub expires_in_text: String,
    pub expires_soon: bool,
    pub expires_at_text: String,
    pub received_at_text: String,
    pub approvals_text: String,
    pub eligible: bool,
    pub not_eligible_text: Option<String>,
    pub tombstone_text: Option<String>,
    pub accessible_name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InboxCounts {
    pub waiting: String,
    pub mine: String,
    pub decided: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct InboxPage {
    pub rows: Vec<InboxRow>,
    pub total: String,
    pub counts: InboxCounts,
    pub taken_at_text: String,
}

/// A request with what the inbox needs of it.
struct Entry {
    card: Arc<Card>,
    eligible: Result<(), Told>,
    decided_by_me: bool,
}

/// One view of the inbox now.
pub fn page(console: &Console, query: &InboxQuery) -> InboxPage {
    let now_ms = console.now_ms();
    let entries = entries(console);
    let in_view = |entry: &Entry, view: View| match view {
        View::Waiting => is_waiting(entry),
        View::Mine => is_waiting(entry) && entry.eligible.is_ok(),
        View::Decided => entry.decided_by_me,
    };
    let count = |view: View| grouped(&entries.iter().filter(|entry| in_view(entry, view)).count().to_string());
    let counts = InboxCounts { waiting: count(View::Waiting), mine: count(View::Mine), decided: count(View::Decided) };
    let mut shown: Vec<&Entry> = entries.iter().filter(|entry| in_view(entry, query.view)).collect();
    match query.sort {
        Sort::Expires => shown.sort_by_key(|entry| (entry.card.listed.waits_until_ms, entry.card.listed.position)),
        Sort::Newest => shown.sort_by_key(|entry| std::cmp::Reverse(entry.card.listed.position)),
    }
    let rows = |shown: Vec<&Entry>| -> Vec<InboxRow> {
        shown.into_iter().map(|entry| row(console, entry, now_ms)).filter(|row| matches(row, &query.search)).take(INBOX_ROWS_MAX).collect()
    };
    // A row that ended while a list shows it becomes a tombstone there; it counts in no total.
    let ended = match query.view {
        View::Waiting | View::Mine => entries.iter().filter(|entry| ended_lately(entry, now_ms)).collect(),
        View::Decided => Vec::new(),
    };
    let mut listed = rows(shown);
    let total = grouped(&listed.len().to_string());
    listed.extend(rows(ended));
    InboxPage { rows: listed, total, counts, taken_at_text: time::hour_minute_second(now_ms, &console.zone) }
}

/// Requests that wait and that this person can decide, soonest expiry first.
pub fn decidable(console: &Console) -> Vec<Arc<Card>> {
    entries(console).into_iter().filter(|entry| is_waiting(entry) && entry.eligible.is_ok()).map(|entry| entry.card).collect()
}

/// Requests that wait: whether this person can decide, and whether they gave their answer already.
pub fn waiting(console: &Console) -> Vec<(Arc<Card>, Result<(), Told>, bool)> {
    entries(console).into_iter().filter(is_waiting).map(|entry| (entry.card, entry.eligible, entry.decided_by_me)).collect()
}

/// The request to go on with after another.
pub fn next_after(console: &Console, request: &str) -> Option<String> {
    decidable(console).into_iter().map(|card| card.listed.request.clone()).find(|other| other != request)
}

fn ended_lately(entry: &Entry, now_ms: i64) -> bool {
    let kept_ms = i64::try_from(TOMBSTONE_S * 1000).unwrap_or(0);
    let listed = &entry.card.listed;
    listed.state != "pending" && now_ms - listed.ended_at_ms.unwrap_or(listed.waits_until_ms) < kept_ms
}

fn is_waiting(entry: &Entry) -> bool {
    entry.card.listed.state == "pending"
}

fn entries(console: &Console) -> Vec<Entry> {
    let standing = console.standing();
    let me = standing.as_ref().map(|standing| standing.person.person.to_string());
    let cards = console.read(|mirror| {
        let mut rows: Vec<RequestRow> = mirror.waiting()?;
        rows.extend(mirror.ended()?);
        let mine = me.as_ref().map(|me| mirror.decided_by(me)).transpose()?.unwrap_or_default();
        Ok((console.cards.of(mirror, &console.tables, rows)?, mine))
    });
    let (cards, mine) = cards.unwrap_or_default();
    cards
        .into_iter()
        // Another role's request: its arguments are not for this person.
        .filter(|card| card.frozen.is_some() || card.listed.body_fault.is_some())
        .map(|card| {
            let eligible = match &standing {
                Some(standing) => card.role_of(standing).map(|_| ()),
                None => Err(Told::new("E-KEY-6", strings::KEY_WAITING)),
            };
            let decided_by_me = mine.contains(&card.listed.request);
            Entry { card, eligible, decided_by_me }
        })
        .collect()
}

fn row(console: &Console, entry: &Entry, now_ms: i64) -> InboxRow {
    let card = &entry.card;
    let listed = &card.listed;
    let members = card.frozen.as_ref().map(vidimus_core::frozen::FrozenRequest::members);
    let left_ms = listed.waits_until_ms - now_ms;
    let waiting = listed.state == "pending";
    let needed = members.map_or(1, |members| members.needs.iter().map(|need| need.quorum).sum::<u32>());
    let mut flags: Vec<Flag> = Vec::new();
    for warning in &card.warnings {
        if !flags.iter().any(|flag| flag.text == warning.flag) {
            flags.push(Flag { id: warning.id, text: warning.flag });
        }
    }
    if card.fault.is_some() {
        flags.insert(0, Flag { id: "fault", text: strings::FLAG_FAULT });
    }
    if waiting && listed.orphaned_at_ms.is_some() {
        flags.insert(0, Flag { id: "orphaned", text: strings::FLAG_ORPHANED });
    }
    if waiting && listed.escalated {
        flags.insert(0, Flag { id: "escalated", text: strings::FLAG_ESCALATED });
    }
    let tombstone_text = (!waiting).then(|| tombstone(console, listed));
    let mut row = InboxRow {
        request: listed.request.clone(),
        state: listed.state.clone(),
        effect: members.map_or("money", |members| members.effect.as_str()).to_owned(),
        reversibility: card.friction().as_str().to_owned(),
        headline: card.headline(),
        argument_count: grouped(
            &card.values.iter().filter(|value| !matches!(value.node.kind, NodeKind::Object | NodeKind::Array)).count().to_string(),
        ),
        tool: listed.tool.clone(),
        agent: agent_of(&listed.agent),
        on_behalf_of: members.and_then(|members| members.on_behalf_of.clone()),
        flags,
        expires_in_text: time::left(listed.waits_until_ms, now_ms),
        expires_soon: waiting && left_ms < 60_000,
        expires_at_text: time::day_and_time(listed.waits_until_ms, now_ms, &console.zone),
        received_at_text: time::day_and_time(listed.at_ms, now_ms, &console.zone),
        approvals_text: strings::approvals_short(needed, listed.given),
        eligible: entry.eligible.is_ok(),
        not_eligible_text: entry.eligible.as_ref().err().map(|told| told.text.clone()),
        tombstone_text,
        accessible_name: String::new(),
    };
    row.accessible_name = accessible_name(&row);
    row
}

/// The agent's name; a person's proposal came through none.
pub fn agent_of(agent: &str) -> String {
    if agent.is_empty() { strings::NO_AGENT.to_owned() } else { agent.to_owned() }
}

fn tombstone(console: &Console, listed: &RequestRow) -> String {
    let decisions = console.read(|mirror| mirror.decisions(&listed.request)).unwrap_or_default();
    let by = decisions.last().and_then(|decision| {
        let roster = console.read(crate::mirror::Mirror::roster).flatten()?;
        let id = decision.approver.parse().ok()?;
        roster.person(&id).map(|person| person.name.clone())
    });
    let at = time::hour_minute(
        listed.ended_at_ms.or_else(|| decisions.last().map(|decision| decision.at_ms)).unwrap_or(listed.at_ms),
        &console.zone,
    );
    strings::tombstone(&listed.state, by.as_deref(), &at)
}

fn accessible_name(row: &InboxRow) -> String {
    let what = row.headline.clone().unwrap_or_else(|| strings::no_template(&row.argument_count));
    let flags: Vec<&str> = row.flags.iter().map(|flag| flag.text).collect();
    let state = row.tombstone_text.clone().unwrap_or_else(|| strings::expires_in(&row.expires_in_text));
    [row.reversibility.as_str(), row.effect.as_str(), &state, &what, &row.tool, &row.agent, &flags.join(", "), &row.approvals_text]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Every word of the search is somewhere in the row; amounts also without their grouping.
fn matches(row: &InboxRow, search: &str) -> bool {
    let headline = row.headline.clone().unwrap_or_default();
    let hay =
        [&row.request, &row.tool, &row.agent, &headline, &headline.replace(',', ""), &row.reversibility, &row.effect, &row.approvals_text]
            .map(|part| part.to_lowercase())
            .join(" ");
    search.to_lowercase().split_whitespace().all(|word| hay.contains(word))
}
