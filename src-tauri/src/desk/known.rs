//! What is known of an operation in doubt, line by line, and what people answered about it.

use vidimus_core::evidence::Evidence;
use vidimus_core::json::Json;
use vidimus_core::money::format_minor;
use vidimus_core::record::RecordType;

use super::{AnswerText, Known, Matter, name_of};
use crate::console::Console;
use crate::inbox::agent_of;
use crate::mirror::{AnswerRow, Happening};
use crate::review::card::Card;
use crate::review::sections::person_name;
use crate::strings;
use crate::text::literal::one_line;
use crate::text::money::grouped;
use crate::text::time;

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
