//! What the page of an answer window is told, twice a second and after each act.

use serde::Serialize;
use vidimus_core::ids::Reversibility;

use crate::answer::Answering;
use crate::clock;
use crate::console::Console;
use crate::desk::{self, Matter};
use crate::limits::ARM_MS;
use crate::review::locks;
use crate::review::state::{Unseen, top_line};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;

/// Everything on the page that changes. Only strings and yes or no.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerState {
    pub nonce: String,
    pub content_version: String,
    pub gate: String,
    pub clock: String,
    pub key: String,
    pub age: String,
    pub seen: String,
    pub why: String,
    pub why_is_hard: bool,
    pub pin_needed: bool,
    /// Whether what moves the outcome is held, not pressed.
    pub holds: bool,
    pub hard_locks: Vec<String>,
    pub soft_locks: Vec<String>,
    /// Answers that move the outcome may be signed.
    pub can_move: bool,
    /// Answers that move nothing may be signed.
    pub can_note: bool,
    pub ended: bool,
    pub unseen: Vec<Unseen>,
    pub files: Vec<String>,
    pub too_early: String,
    pub warning: String,
    pub progress: Vec<String>,
    pub receipt: Option<Receipt>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Receipt {
    pub heading: String,
    pub lines: Vec<String>,
}

impl AnswerState {
    /// A text by the name that the page has for its place.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(match name {
            "age" => &self.age,
            "seen" => &self.seen,
            "why" => &self.why,
            "too_early" => &self.too_early,
            "warning" => &self.warning,
            _ => return None,
        })
    }
}

/// What keeps an answer from being signed.
#[derive(Debug, Clone, Default)]
pub struct Locks {
    pub hard: Vec<String>,
    pub soft: Vec<String>,
}

/// Looks at everything that an answer depends on. Reading all of it is asked before what moves the outcome.
pub fn locks(console: &Console, answering: &Answering, matter: Option<&Matter>, now_ms: i64) -> Locks {
    let mut hard: Vec<String> = locks::connection_locks(console).iter().map(crate::errors::Told::line).collect();
    hard.extend(matter.and_then(|matter| matter.eligible(console).err()).map(|told| told.line()));
    hard.extend(locks::log_locks(console).iter().map(crate::errors::Told::line));
    hard.extend(answering.card().fault_told().map(|told| told.line()));
    match matter.map(|matter| matter.row.state.as_str()) {
        Some("unknown" | "executing") => hard.push(strings::STILL_TRYING.to_owned()),
        Some(_) => {}
        None => hard.push(strings::NOTHING_IN_DOUBT.to_owned()),
    }
    let reading = &answering.reading;
    let mut soft = Vec::new();
    let unseen = reading.unseen();
    if !unseen.is_empty() {
        soft.push(strings::unseen(unseen.len(), reading.parts.count(), reading.parts.pages(), &locks::pages_of(&unseen)));
    }
    let arm_ms = i64::try_from(ARM_MS).unwrap_or(0);
    match reading.focused_since_ms {
        None => soft.push(strings::NOT_FOCUSED.to_owned()),
        Some(since) if now_ms - since < arm_ms || now_ms - reading.panel_since_ms < arm_ms => soft.push(strings::ARMING.to_owned()),
        Some(_) => {}
    }
    Locks { hard, soft }
}

/// Whether the outcome has its final state: then only a note can be added.
pub fn is_settled(matter: Option<&Matter>) -> bool {
    matter.is_some_and(|matter| !matches!(matter.row.state.as_str(), "unknown" | "needs_reconciliation" | "executing"))
}

pub fn of(console: &Console, answering: &Answering, now_ms: i64) -> AnswerState {
    let matter = desk::matter(console, &answering.operation);
    let Locks { hard, soft } = locks(console, answering, matter.as_ref(), now_ms);
    let reading = &answering.reading;
    let unseen = reading.unseen();
    let top = top_line(console);
    let free = hard.is_empty() && !reading.in_flight;
    let why = hard.first().or_else(|| soft.first()).cloned();
    AnswerState {
        nonce: reading.nonce.clone(),
        content_version: version(console, matter.as_ref()),
        gate: top.gate,
        clock: top.clock,
        key: top.key,
        age: matter.as_ref().map(|matter| age(console, matter, now_ms)).unwrap_or_default(),
        seen: strings::seen(reading.parts.count() - unseen.len(), reading.parts.count()),
        why: why.filter(|_| reading.receipt.is_none()).unwrap_or_default(),
        why_is_hard: !hard.is_empty() && reading.receipt.is_none(),
        pin_needed: pin_needed(console, answering),
        holds: answering.card().friction() == Reversibility::Irreversible,
        can_move: free && soft.is_empty(),
        can_note: free,
        hard_locks: hard,
        soft_locks: soft,
        ended: reading.receipt.is_some(),
        unseen: unseen.into_iter().map(|(number, page)| Unseen { number, page }).collect(),
        files: files(answering),
        too_early: too_early(console, answering, now_ms),
        warning: matter.as_ref().map(|matter| warning(console, matter)).unwrap_or_default(),
        progress: reading.progress.clone(),
        receipt: reading.receipt.as_ref().map(|receipt| Receipt { heading: receipt.heading.clone(), lines: receipt.lines.clone() }),
    }
}

fn age(console: &Console, matter: &Matter, now_ms: i64) -> String {
    let at = time::day_and_time(matter.row.since_ms, now_ms, &console.zone);
    strings::in_doubt_since(&at, &time::span(now_ms - matter.row.since_ms))
}

/// Every time for irreversible; else once per session.
pub fn pin_needed(console: &Console, answering: &Answering) -> bool {
    answering.card().friction() == Reversibility::Irreversible || console.pin().seed(clock::now_ms()).is_none()
}

/// Changes when something else is known: the page is drawn anew, unless something is typed.
pub fn version(console: &Console, matter: Option<&Matter>) -> String {
    let Some(matter) = matter else { return "0".to_owned() };
    let last = console.read(|mirror| mirror.happenings(&matter.row.operation)).unwrap_or_default().last().map_or(0, |last| last.position);
    format!("{} {last}", matter.row.state)
}

fn files(answering: &Answering) -> Vec<String> {
    let line = |file: &vidimus_core::evidence::EvidenceFile| {
        let name = crate::text::literal::one_line(&file.name);
        strings::file_line(&name, &grouped(&file.bytes.to_string()), &strings::hash_groups(&file.sha256.to_string()))
    };
    answering.files.iter().map(line).collect()
}

fn too_early(console: &Console, answering: &Answering, now_ms: i64) -> String {
    let settles = answering.settles_at_ms.filter(|at_ms| now_ms < *at_ms);
    settles.map(|at_ms| strings::too_early(&time::hour_minute_second(at_ms, &console.zone))).unwrap_or_default()
}

/// That people contradict each other, or that one's own answer stands already.
fn warning(console: &Console, matter: &Matter) -> String {
    if matter.row.state != "needs_reconciliation" {
        return String::new();
    }
    if matter.row.conflict {
        return format!("{} (E-REC-1)", strings::conflicting());
    }
    matter.own_answer(console).map(|_| strings::ANSWERED_ALREADY.to_owned()).unwrap_or_default()
}
