//! The reconcile desk of the main window: what is in doubt, and what is known of it. Strings only; nothing that answers.

use std::sync::Arc;

use serde::Serialize;
use vidimus_core::evidence::Evidence;
use vidimus_core::ids::Name;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::money::format_minor;
use vidimus_core::reconciliation::{Answer, Subject, tally};
use vidimus_core::record::RecordType;
use vidimus_core::table::Idempotency;

use crate::console::{Console, Standing};
use crate::errors::Told;
use crate::inbox::agent_of;
use crate::limits::SETTLED_MAX;
use crate::mirror::{AnswerRow, Happening, OutcomeRow, RequestRow};
use crate::review::card::Card;
use crate::review::sections::person_name;
use crate::strings;
use crate::text::literal::one_line;
use crate::text::money::grouped;
use crate::text::time;

/// Milliseconds after which what is in doubt is called late.
const LATE_MS: i64 = 86_400_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeskItem {
    pub operation: String,
    pub request: Option<String>,
    /// `unknown`, `needs_reconciliation`, or the final state.
    pub state: String,
    pub reversibility: &'static str,
    pub headline: String,
    pub tool: String,
    pub agent: String,
    pub since_text: String,
    pub age_text: String,
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
pub struct Known {
    pub at_text: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerText {
    pub at_text: String,
    pub text: String,
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// An operation with the request behind it.
pub struct Matter {
    pub row: OutcomeRow,
    pub card: Arc<Card>,
    pub answers: Vec<AnswerRow>,
    /// The role that owns the system behind a write; none where a request was approved.
    pub owner: Option<Name>,
}

impl Matter {
    /// What the operation was made for. Which agents sent a write is the gate's to know.
    fn subject(&self) -> Option<Subject<'_>> {
        match (&self.card.frozen, &self.owner) {
            (Some(frozen), _) => Some(Subject::Request { frozen, escalated: self.card.listed.escalated }),
            (None, Some(owner)) => Some(Subject::Write { owner, agents: &[] }),
            (None, None) => None,
        }
    }

    /// The role in which the person here answers, or why they cannot.
    pub fn role_of(&self, standing: &Standing) -> Result<Name, Told> {
        if let Some(role) = self.card.answering_role_of(standing)? {
            return Ok(role);
        }
        let owner = self.owner.as_ref().ok_or_else(|| Told::new("E-REQ-2", strings::BYTES_MISSING))?;
        if standing.person.roles.contains(owner) {
            return Ok(owner.clone());
        }
        let held: Vec<&str> = standing.person.roles.iter().map(Name::as_str).collect();
        Err(Told::new("E-DEC-2", strings::role_missing(owner.as_str(), &held.join(", "))))
    }

    /// How many persons have to say the same, and the roles they hold.
    fn needs(&self) -> (u32, String) {
        let needs = self.subject().map(|subject| subject.needs()).unwrap_or_default();
        let roles: Vec<&str> = needs.iter().map(|need| need.role.as_str()).collect();
        (needs.iter().map(|need| need.quorum).sum(), roles.join(", "))
    }

    /// How far the newest answer reaches, by the rule that the gate asks.
    pub fn tally(&self, console: &Console) -> Option<vidimus_core::reconciliation::Tally> {
        let roster = console.read(crate::mirror::Mirror::roster).flatten()?;
        let given: Vec<_> = self.answers.iter().map(|row| row.given.clone()).collect();
        Some(tally(&self.subject()?, &given, &roster))
    }

    /// Whether the person here may answer, or why not.
    pub fn eligible(&self, console: &Console) -> Result<(), Told> {
        match console.standing() {
            Some(standing) => self.role_of(&standing).map(|_| ()),
            None => Err(Told::new("E-KEY-6", strings::KEY_WAITING)),
        }
    }

    /// Whether the provider can be asked by the rule of the tool.
    pub fn is_askable(&self) -> bool {
        let row = self.card.row.as_ref();
        row.is_some_and(|row| matches!(row.idempotency, Idempotency::Status(_)))
            && matches!(self.row.state.as_str(), "unknown" | "needs_reconciliation")
    }

    /// The newest answer of the person here that is no note.
    pub fn own_answer(&self, console: &Console) -> Option<Answer> {
        let me = console.standing()?.person.person;
        self.answers.iter().rfind(|row| row.given.approver == me && row.given.answer != Answer::Note).map(|row| row.given.answer)
    }
}

/// Reads one operation; nothing where the log holds none, or it is another role's.
pub fn matter(console: &Console, operation: &str) -> Option<Matter> {
    let row = console.read(|mirror| mirror.outcome(operation)).flatten()?;
    of_row(console, row)
}

fn of_row(console: &Console, row: OutcomeRow) -> Option<Matter> {
    let card = card_of(console, &row)?;
    let answers = console.read(|mirror| mirror.answers(&row.operation)).unwrap_or_default();
    let owner = if row.request.is_none() { row.roles.first().and_then(|role| Name::parse(role).ok()) } else { None };
    Some(Matter { row, card: Arc::new(card), answers, owner })
}

fn card_of(console: &Console, row: &OutcomeRow) -> Option<Card> {
    let Some(request) = row.request.as_deref() else { return write_card(console, row) };
    let card = console.read(|mirror| Card::read(mirror, &console.tables, request)).flatten()?;
    // Another role's request: its arguments are not for this person.
    (card.frozen.is_some() || card.listed.body_fault.is_some()).then_some(card)
}

/// A write's arguments stand in its own records, for those who own the system behind it.
fn write_card(console: &Console, row: &OutcomeRow) -> Option<Card> {
    let happenings = console.read(|mirror| mirror.happenings(&row.operation))?;
    let args = happenings.iter().find_map(|happening| match happening.body.as_ref()?.member("args")? {
        Json::String(text) => parse(text.as_bytes(), &Limits::FROZEN).ok(),
        Json::Null => None,
        other => Some(other.clone()),
    })?;
    let listed = RequestRow {
        request: row.operation.clone(),
        position: happenings.first()?.position,
        at_ms: happenings.first()?.audit.at.as_ms(),
        state: row.state.clone(),
        tool: row.tool.clone(),
        agent: row.agent.clone(),
        request_sha256: String::new(),
        roles: row.roles.clone(),
        waits_until_ms: row.since_ms,
        frozen: None,
        says: None,
        body_fault: None,
        ended_at_ms: None,
        given: 0,
        escalated: false,
        orphaned_at_ms: None,
    };
    console.read(|mirror| Card::of_write(mirror, &console.tables, listed, &args))
}

/// Everything in doubt that this person may see, the oldest first.
pub fn matters(console: &Console) -> Vec<Matter> {
    let rows = console.read(crate::mirror::Mirror::in_doubt).unwrap_or_default();
    rows.into_iter().filter_map(|row| of_row(console, row)).collect()
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
        reversibility: card.friction().as_str(),
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

/// An answer with its amount.
pub fn answer_words(matter: &Matter, row: &AnswerRow) -> String {
    let words = strings::answer(row.given.answer);
    let amount = row.given.amount_minor.map(|amount| amount_text(&matter.card, amount));
    amount.map_or_else(|| words.to_owned(), |amount| format!("{words} ({amount})"))
}

/// An amount in the currency of the request.
pub fn amount_text(card: &Card, amount_minor: u64) -> String {
    let plain = amount_minor.to_string();
    currency_of(card).and_then(|currency| format_minor(&plain, &currency)).unwrap_or(plain)
}

/// The currency of the first money field that the arguments hold: the one whose amount can be answered in part.
pub fn currency_of(card: &Card) -> Option<String> {
    let (row, frozen) = (card.row.as_ref()?, card.frozen.as_ref()?);
    row.fields.iter().find_map(|field| match &field.format {
        vidimus_core::table::Format::Money { currency } if field.path.find(&frozen.members().args).is_some() => {
            currency.find(&frozen.members().args)?.as_str().map(ToOwned::to_owned)
        }
        _ => None,
    })
}

fn name_of(console: &Console, person: Option<&str>) -> String {
    let person = person.unwrap_or_default();
    person.parse().map_or_else(|_| person.to_owned(), |id| person_name(console, &id))
}

/// The answers with their evidence, each value on its own line.
pub fn answers(console: &Console, matter: &Matter) -> Vec<AnswerText> {
    let now_ms = console.now_ms();
    let of = |row: &AnswerRow| AnswerText {
        at_text: time::day_and_time(row.at_ms, now_ms, &console.zone),
        text: strings::known_answer(&person_name(console, &row.given.approver), row.given.role.as_str(), &answer_words(matter, row)),
        evidence: row.evidence.as_deref().map(evidence_lines).unwrap_or_default(),
    };
    matter.answers.iter().map(of).collect()
}

fn evidence_lines(text: &str) -> Vec<String> {
    let Ok(evidence) = Evidence::parse(text) else { return Vec::new() };
    let reference = evidence.reference.iter().map(|reference| format!("{}: {}", strings::REFERENCE, one_line(reference)));
    let words = evidence.evidence.iter().map(|words| one_line(words));
    let files = evidence.files.iter().map(|file| {
        strings::file_line(&one_line(&file.name), &grouped(&file.bytes.to_string()), &strings::hash_groups(&file.sha256.to_string()))
    });
    reference.chain(words).chain(files).collect()
}

/// Every line of what is known, in the order in which it happened.
pub fn known(console: &Console, matter: &Matter) -> Vec<Known> {
    let now_ms = console.now_ms();
    let mut lines: Vec<(i64, u64, String)> = Vec::new();
    let listed = &matter.card.listed;
    if matter.row.request.is_some() {
        lines.push((listed.at_ms, listed.position, strings::known_asked(&agent_of(&listed.agent))));
        for decision in console.read(|mirror| mirror.decisions(&listed.request)).unwrap_or_default() {
            let words = strings::history_decision(&decision.decision, &name_of(console, Some(&decision.approver)), &decision.role);
            lines.push((decision.at_ms, decision.position, strings::known_decision(&words, &grouped(&decision.position.to_string()))));
        }
    }
    for happening in console.read(|mirror| mirror.happenings(&matter.row.operation)).unwrap_or_default() {
        if let Some(text) = line_of(console, matter, &happening) {
            lines.push((happening.audit.at.as_ms(), happening.position, text));
        }
    }
    lines.sort_by_key(|(_, position, _)| *position);
    let known = |(at_ms, _, text): (i64, u64, String)| Known { at_text: at_text(at_ms, now_ms, console), text };
    lines.into_iter().map(known).collect()
}

fn at_text(at_ms: i64, now_ms: i64, console: &Console) -> String {
    let seconds = time::hour_minute_second(at_ms, &console.zone);
    let (day, minute) = (time::day_and_time(at_ms, now_ms, &console.zone), time::hour_minute(at_ms, &console.zone));
    day.strip_suffix(&minute).map_or_else(|| seconds.clone(), |day| format!("{day}{seconds}"))
}

fn line_of(console: &Console, matter: &Matter, happening: &Happening) -> Option<String> {
    let audit = &happening.audit;
    let claim = |name: &str| audit.claim(name).unwrap_or_default();
    let number = |name: &str| match audit.claims.member(name) {
        Some(Json::Number(number)) => number.as_u64().unwrap_or(0),
        _ => 0,
    };
    let text = |name: &str| happening.body.as_ref().and_then(|body| body.member(name)).and_then(Json::as_str).map(one_line);
    let detail = text("detail").unwrap_or_default();
    Some(match audit.record_type {
        RecordType::TokenRedeemed => strings::known_sent(number("attempt"), &matter.row.operation),
        RecordType::OperationChanged => match claim("state") {
            "reserved" | "executing" => return None,
            state => strings::known_state(state, &detail),
        },
        RecordType::EvidenceRecorded => strings::known_evidence(claim("source"), number("attempt"), claim("answer"), &detail),
        RecordType::ReconciliationRecorded => {
            let row = matter.answers.iter().find(|row| row.position == happening.position)?;
            strings::known_answer(&person_name(console, &row.given.approver), row.given.role.as_str(), &answer_words(matter, row))
        }
        RecordType::ReconciliationRefused => strings::known_refused(claim("code")),
        RecordType::OperationOpened => strings::known_opened(&name_of(console, audit.claim("by"))),
        RecordType::PageSent => strings::known_page(claim("channel"), claim("outcome")),
        RecordType::WriteIntended | RecordType::WriteExecuted | RecordType::WriteFailed | RecordType::WriteUnknown => {
            strings::known_write(audit.record_type.as_str())
        }
        _ => return None,
    })
}
