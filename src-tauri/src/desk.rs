//! The reconcile desk of the main window: what is in doubt, and what is known of it. Strings only; nothing that answers.

mod known;
mod matter;

use serde::Serialize;
use vidimus_core::reconciliation::Answer;

pub use known::{amount_text, answer_words, answers, currency_of, known};
pub use matter::{Matter, matter, matters};

use crate::console::Console;
use crate::inbox::agent_of;
use crate::limits::SETTLED_MAX;
use crate::review::sections::person_name;
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;
use crate::wire::ReversibilityWord;
use matter::of_row;

/// Milliseconds after which what is in doubt is called late.
const LATE_MS: i64 = 86_400_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeskItem {
    pub operation: String,
    /// The request behind it; null for a write, which nobody approved.
    pub request: Option<String>,
    /// "unknown" while the gate still tries, "needs_reconciliation" once only people can tell, else its final state.
    pub state: String,
    pub reversibility: ReversibilityWord,
    pub headline: String,
    pub tool: String,
    pub agent: String,
    /// A whole phrase: "unknown since 14:27 (18 min)".
    pub since_text: String,
    pub age_text: String,
    /// For more than a day.
    pub late: bool,
    pub attempt_text: String,
    pub owner_text: String,
    pub opened_text: Option<String>,
    pub answers_text: Option<String>,
    pub conflict: bool,
    pub eligible: bool,
    pub not_eligible_text: Option<String>,
    pub accessible_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeskPage {
    pub items: Vec<DeskItem>,
    /// What people settled lately: a note can still be added.
    pub settled: Vec<DeskItem>,
    /// How many of them only people can settle.
    pub count: String,
    /// When the last one was settled, in words; nothing where none ever was.
    pub last_text: Option<String>,
    pub taken_at_text: String,
}

/// One line of what is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "DeskKnown"))]
pub struct Known {
    pub at_text: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "DeskAnswer"))]
pub struct AnswerText {
    pub at_text: String,
    pub text: String,
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeskDetail {
    pub item: DeskItem,
    pub known: Vec<Known>,
    pub answers: Vec<AnswerText>,
    pub effects: Vec<String>,
    pub needs_text: String,
    pub can_ask: bool,
    /// Why the provider cannot be asked.
    pub ask_note: Option<String>,
    pub can_answer: bool,
    /// Why nothing can be answered now; also said where one's own answer stands.
    pub answer_note: Option<String>,
}

/// How many wait for people, and how many of those for more than a day.
pub fn counts(console: &Console) -> (usize, usize) {
    let now_ms = console.now_ms();
    let waiting: Vec<Matter> = matters(console).into_iter().filter(|matter| matter.row.state == "needs_reconciliation").collect();
    let late = waiting.iter().filter(|matter| now_ms - matter.row.since_ms > LATE_MS).count();
    (waiting.len(), late)
}

pub fn page(console: &Console) -> DeskPage {
    let now_ms = console.now_ms();
    let items: Vec<DeskItem> = matters(console).iter().map(|matter| item(console, matter, now_ms)).collect();
    let count = items.iter().filter(|item| item.state == "needs_reconciliation").count();
    let settled = console.read(crate::mirror::Mirror::settled_outcomes).unwrap_or_default();
    let last = settled.first().cloned();
    // Those of others are not counted, so that a list of other roles' outcomes does not hide one's own.
    let settled = settled.into_iter().filter_map(|row| of_row(console, row)).take(SETTLED_MAX);
    let settled = settled.map(|matter| item(console, &matter, now_ms)).collect();
    DeskPage {
        items,
        settled,
        count: grouped(&count.to_string()),
        last_text: last.map(|row| strings::settled_last(&time::day_and_time(row.at_ms, now_ms, &console.zone))),
        taken_at_text: time::hour_minute_second(now_ms, &console.zone),
    }
}

pub fn detail(console: &Console, operation: &str) -> Option<DeskDetail> {
    let now_ms = console.now_ms();
    let matter = matter(console, operation)?;
    let item = item(console, &matter, now_ms);
    let (needed, roles) = matter.needs();
    let answer_note = answer_note(console, &matter);
    let is_askable = matter.is_askable();
    Some(DeskDetail {
        known: known(console, &matter),
        answers: answers(console, &matter),
        effects: [Answer::Happened, Answer::NotHappened, Answer::Partly, Answer::StillUnknown]
            .into_iter()
            .map(|answer| strings::effect_of(answer).to_owned())
            .collect(),
        needs_text: strings::needs_people(needed, &roles),
        can_ask: is_askable && item.eligible,
        ask_note: (!is_askable).then(|| strings::NOT_ASKABLE.to_owned()),
        can_answer: item.eligible && !matches!(matter.row.state.as_str(), "unknown" | "executing"),
        answer_note,
        item,
    })
}

fn answer_note(console: &Console, matter: &Matter) -> Option<String> {
    if let Err(told) = matter.eligible(console) {
        return Some(told.line());
    }
    match matter.row.state.as_str() {
        "unknown" | "executing" => Some(strings::STILL_TRYING.to_owned()),
        "needs_reconciliation" if matter.row.conflict => Some(strings::conflicting().to_owned()),
        "needs_reconciliation" => matter.own_answer(console).map(|_| strings::ANSWERED_ALREADY.to_owned()),
        _ => None,
    }
}

fn item(console: &Console, matter: &Matter, now_ms: i64) -> DeskItem {
    let (row, card) = (&matter.row, &matter.card);
    let at = time::day_and_time(row.since_ms, now_ms, &console.zone);
    let age_text = time::span(now_ms - row.since_ms);
    let eligible = matter.eligible(console);
    let waits = row.state == "needs_reconciliation";
    let settled = !matches!(row.state.as_str(), "unknown" | "needs_reconciliation" | "executing");
    let opened_text = row
        .opened_at_ms
        .filter(|_| !settled)
        .map(|at_ms| strings::opened_by(&name_of(console, row.opened_by.as_deref()), &time::day_and_time(at_ms, now_ms, &console.zone)));
    let mut item = DeskItem {
        operation: row.operation.clone(),
        request: row.request.clone(),
        state: row.state.clone(),
        reversibility: card.friction().into(),
        headline: card.headline().unwrap_or_else(|| strings::call_of(&row.tool)),
        tool: row.tool.clone(),
        agent: agent_of(&row.agent),
        since_text: if settled {
            strings::settled_at(&row.state, &time::day_and_time(row.at_ms, now_ms, &console.zone))
        } else {
            strings::in_doubt_since(&at, &age_text)
        },
        late: waits && now_ms - row.since_ms > LATE_MS,
        age_text,
        attempt_text: strings::attempt(row.attempt),
        owner_text: card.row.as_ref().map(|row| strings::owned_by(row.owner.as_str())).unwrap_or_default(),
        opened_text,
        answers_text: answers_text(console, matter),
        conflict: row.conflict && !settled,
        eligible: eligible.is_ok(),
        not_eligible_text: eligible.err().map(|told| told.text),
        accessible_name: String::new(),
    };
    item.accessible_name = [item.headline.as_str(), &item.since_text, &item.tool, &item.attempt_text, &item.owner_text]
        .iter()
        .copied()
        .chain(item.answers_text.as_deref())
        .chain(item.opened_text.as_deref())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ");
    item
}

fn answers_text(console: &Console, matter: &Matter) -> Option<String> {
    let newest = matter.answers.iter().rfind(|row| row.given.answer != Answer::Note)?;
    let tally = matter.tally(console)?;
    Some(strings::answers_given(&answer_words(matter, newest), tally.given, tally.needed))
}

fn name_of(console: &Console, person: Option<&str>) -> String {
    let person = person.unwrap_or_default();
    person.parse().map_or_else(|_| person.to_owned(), |id| person_name(console, &id))
}
