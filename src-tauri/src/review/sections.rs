//! The sections of a review page around the arguments.

use vidimus_core::ids::{Effect, Reversibility};
use vidimus_core::json::Json;
use vidimus_core::template::Piece;

use crate::console::Console;
use crate::html::{Element, Tag, el};
use crate::mirror::DecisionRow;
use crate::review::card::{BytesFault, Card};
use crate::review::compare::{Comparison, Difference};
use crate::review::parts::Shown;
use crate::review::{GateSays, Review};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;
use crate::trusted::literal;

/// The sentence, the chips and the deadline.
pub fn lead(card: &Card) -> Element {
    let mut lead = el(Tag::Div).class("lead").attr("data-part", "lead").child(sentence(card));
    if let Some(row) = &card.row
        && let Some(summary) = &row.summary
    {
        let paths: Vec<String> = summary.paths().map(|path| format!("args.{path}")).collect();
        lead = lead.child(el(Tag::P).class("quiet").attr("data-part", "sentence-source").text(strings::sentence_from(&paths)));
    }
    lead.child(chips(card)).child(deadline())
}

/// The row's sentence as the heading of the page.
pub fn sentence(card: &Card) -> Element {
    let heading = el(Tag::H1).class("sentence").attr("id", "title").attr("tabindex", "-1").attr("data-part", "sentence");
    match &card.sentence {
        Some(pieces) => heading.children(pieces.iter().map(piece)),
        None => heading.text(strings::no_template_title(&card.listed.tool, card.values.len())),
    }
}

fn piece(piece: &Piece) -> Element {
    match piece {
        Piece::Text(text) => el(Tag::Span).text(text.clone()),
        Piece::Value { text, .. } => literal::inline(text),
        Piece::Absent { .. } => el(Tag::Em).text(strings::NOT_GIVEN),
    }
}

fn chips(card: &Card) -> Element {
    let mut chips = el(Tag::Div).class("chips").attr("data-part", "chips").child(friction_chip(card.friction()));
    if let Some(frozen) = &card.frozen {
        let members = frozen.members();
        chips = chips.child(effect_chip(members.effect));
        if members.friction != members.reversibility {
            chips = chips.child(el(Tag::Span).class("chip warn").text(strings::FRICTION_RAISED));
        }
    }
    if !card.warnings.is_empty() {
        chips = chips.child(el(Tag::Span).class("chip warn").attr("data-part", "risk").text(strings::checks(card.warnings.len())));
    }
    chips
}

pub fn friction_chip(friction: Reversibility) -> Element {
    let (class, icon) = match friction {
        Reversibility::Reversible => ("chip reversible", "↺"),
        Reversibility::Compensable => ("chip compensable", "≈"),
        Reversibility::Irreversible => ("chip irreversible", "⬣"),
    };
    chip(class, icon, &friction.as_str().to_uppercase()).attr("data-part", "reversibility")
}

fn effect_chip(effect: Effect) -> Element {
    let (class, icon) = match effect {
        Effect::Read => ("chip read", "◉"),
        Effect::Write => ("chip write", "✎"),
        Effect::Money => ("chip money", "⌂"),
    };
    chip(class, icon, &effect.as_str().to_uppercase()).attr("data-part", "effect")
}

fn chip(class: &'static str, icon: &str, word: &str) -> Element {
    el(Tag::Span).class(class).child(el(Tag::Span).class("icon").attr("aria-hidden", "true").text(icon)).text(word)
}

/// When it ends; once it has ended, how.
fn deadline() -> Element {
    el(Tag::P)
        .class("deadline")
        .attr("data-part", "deadline")
        .child(el(Tag::B).attr("data-live", "left").text(""))
        .child(el(Tag::Span).class("quiet").attr("data-live", "expires").text(""))
        .child(el(Tag::Span).class("quiet").attr("data-live", "approvals").text(""))
}

/// The checks above the arguments.
pub fn warnings(review: &Review, counts: bool) -> Option<Element> {
    let card = &review.card;
    if card.warnings.is_empty() {
        return None;
    }
    let number = review.parts.on_page(1).find(|part| part.shown == Shown::Warnings).map(|part| part.number);
    let mut notice = el(Tag::Section).class("notice warn").attr("data-part", "warnings").attr("aria-label", strings::CHECKS);
    if let Some(number) = number
        && counts
    {
        notice = notice.attr("data-part-number", number.to_string());
    }
    for warning in &card.warnings {
        let mut text = el(Tag::Div).child(el(Tag::P).child(literal::inline(&warning.text)));
        if let Some((known, here)) = &warning.compared {
            text = text
                .child(el(Tag::P).class("value").text(format!("{} ", strings::KNOWN)).child(literal::inline(known)))
                .child(el(Tag::P).class("value").text(format!("{} ", strings::HERE)).child(literal::inline(here)));
        }
        notice = notice.child(
            el(Tag::Div)
                .class("line")
                .attr("data-warning", warning.id)
                .child(el(Tag::Span).attr("aria-hidden", "true").text("▲"))
                .child(text),
        );
    }
    Some(notice)
}

/// What differs from the last approved request of the kind.
pub fn compared(console: &Console, card: &Card, comparison: Option<&Comparison>) -> Element {
    let block = el(Tag::Section).class("block").attr("data-part", "compared").child(header(strings::COMPARED));
    let Some(comparison) = comparison else {
        let (size, hidden) = console.read(|mirror| Ok((mirror.size(), mirror.hidden_requests(mirror.size())?))).unwrap_or_default();
        let words = strings::nothing_to_compare(&card.listed.tool, &grouped(&size.to_string()), hidden);
        return block.child(inner().child(el(Tag::P).class("quiet").text(words)));
    };
    let at = time::day_and_time(comparison.at_ms, console.now_ms(), &console.zone);
    let mut list = el(Tag::Ul).class("changes");
    for difference in &comparison.differences {
        list = list.child(difference_line(difference));
    }
    let mut body =
        inner().child(el(Tag::P).class("quiet").text(strings::compared_with(&at, &comparison.request, comparison.basis))).child(list);
    if comparison.differences.is_empty() {
        body = body.child(el(Tag::P).text(strings::NO_DIFFERENCE));
    }
    if !comparison.same.is_empty() {
        body = body.child(el(Tag::P).class("quiet").child(literal::inline(&strings::same_values(&comparison.same))));
    }
    block.child(body)
}

fn difference_line(difference: &Difference) -> Element {
    let line = |sign: &'static str, word: &'static str, path: &str, values: Element| {
        el(Tag::Li)
            .child(el(Tag::B).attr("aria-label", word).text(sign))
            .child(el(Tag::Span).class("mono").child(literal::inline(path)))
            .child(values)
    };
    let old = |text: &str| el(Tag::Div).class("value old").child(literal::inline(text));
    let new = |text: &str| el(Tag::Div).class("value").child(literal::inline(text));
    match difference {
        Difference::Added { path, here } => line("+", strings::ADDED, path, el(Tag::Div).child(new(here))),
        Difference::Removed { path, there } => line("−", strings::REMOVED, path, el(Tag::Div).child(old(there))),
        Difference::Changed { path, there, here, times } => {
            let times = times.map(|times| el(Tag::Div).class("note").attr("data-part", "times").text(strings::times(times)));
            line("~", strings::CHANGED, path, el(Tag::Div).child(old(&format!("{there} →"))).child(new(here)).optional(times))
        }
    }
}

/// What arguments stand for: read when the call was frozen, part of the bytes that are signed, read again before it runs.
pub fn referents(card: &Card) -> Option<Element> {
    let named = card.frozen.as_ref()?.members().referents.as_object().filter(|named| !named.is_empty())?;
    let mut list = el(Tag::Dl).class("facts");
    for (pointer, value) in named {
        let text = match value {
            Json::String(text) => text.clone(),
            other => other.canonical().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default(),
        };
        let label = card.row.as_ref().and_then(|row| row.fields.iter().find(|field| field.path.pointer() == *pointer));
        let label = label.map_or_else(|| pointer.trim_start_matches('/').to_owned(), |field| field.label.clone());
        list = list.child(el(Tag::Dt).child(literal::inline(&label))).child(el(Tag::Dd).child(literal::value(&text)));
    }
    let section = el(Tag::Section).class("block").attr("data-part", "referents");
    Some(section.child(header(strings::STANDS_FOR)).child(inner().child(list)))
}

/// What the agent wrote about its own call, apart and marked.
pub fn says(review: &Review, counts: bool) -> Option<Element> {
    let text = review.card.listed.says.as_ref()?;
    let number = review.parts.on_page(1).find(|part| part.shown == Shown::Says).map(|part| part.number);
    let mut block = el(Tag::Section).class("block").attr("data-part", "says");
    if let Some(number) = number
        && counts
    {
        block = block.attr("data-part-number", number.to_string());
    }
    Some(block.child(header(strings::AGENT_SAYS)).child(inner().child(el(Tag::Div).class("said").child(literal::value(text)))))
}

/// Who asks for whom, where, under which rule, and when.
pub fn facts(console: &Console, card: &Card) -> Element {
    let mut list = el(Tag::Dl).class("facts");
    let mut add = |name: &'static str, value: Element| {
        let taken = std::mem::replace(&mut list, el(Tag::Dl));
        list = taken.child(el(Tag::Dt).text(name)).child(el(Tag::Dd).child(value));
    };
    let plain = |text: &str| el(Tag::Span).child(literal::inline(text));
    let mono = |text: &str| el(Tag::Span).class("mono").child(literal::inline(text));
    // A write was never a request: what names it is its operation, and it waited for nobody.
    let is_write = card.listed.request.parse::<vidimus_core::ids::RequestId>().is_err();
    add(if is_write { strings::FACT_OPERATION } else { strings::FACT_REQUEST }, mono(&card.listed.request));
    add(strings::FACT_TOOL, mono(&card.listed.tool));
    if let Some(frozen) = &card.frozen {
        let members = frozen.members();
        let chain: Vec<String> = members.agents.iter().map(|link| link.agent.to_string()).collect();
        if !chain.is_empty() {
            add(strings::FACT_AGENT, plain(&chain.join(" ← ")));
        }
        let owners: Vec<String> = members.agents.iter().filter_map(|link| link.owner).map(|owner| person_name(console, &owner)).collect();
        if !owners.is_empty() {
            add(strings::FACT_OWNER, plain(&owners.join(", ")));
        }
        add(strings::FACT_BEHALF, members.on_behalf_of.as_deref().map_or_else(|| plain(strings::NOBODY_NAMED), plain));
        if let Some(proposer) = members.proposer {
            add(strings::FACT_PROPOSER, plain(&person_name(console, &proposer)));
        }
        if let Some(upstream) = &members.upstream {
            add(strings::FACT_UPSTREAM, plain(upstream.as_str()));
        }
        let needs: Vec<String> = members.needs.iter().map(|need| strings::need(need.quorum, need.role.as_str())).collect();
        add(strings::FACT_NEEDS, plain(&needs.join("; ")));
        add(strings::FACT_RUN, mono(&members.run.to_string()));
        add(strings::FACT_ROW, mono(&members.row_sha256.to_string()));
    } else {
        add(strings::FACT_AGENT, plain(&card.listed.agent));
    }
    if let Some(row) = &card.row {
        add(strings::FACT_UNDO, plain(row.undo.as_deref().unwrap_or(strings::NO_UNDO)));
        add(strings::FACT_ROW_OWNER, plain(row.owner.as_str()));
    }
    let asked = time::whole(card.listed.at_ms, &console.zone);
    add(strings::FACT_ASKED, plain(&asked));
    if !is_write {
        add(strings::FACT_UNTIL, plain(&time::whole(card.listed.waits_until_ms, &console.zone)));
    }
    el(Tag::Section).class("block").attr("data-part", "facts").child(header(strings::WHO_WHERE_WHEN)).child(inner().child(list))
}

pub fn person_name(console: &Console, id: &vidimus_core::ids::PersonId) -> String {
    let roster = console.read(crate::mirror::Mirror::roster).flatten();
    roster.and_then(|roster| roster.person(id).map(|person| person.name.clone())).unwrap_or_else(|| id.to_string())
}

/// The digest computed here, and what the gate says.
pub fn identity(review: &Review) -> Element {
    let card = &review.card;
    let local = card.local_sha256();
    let hash = local.as_deref().map_or_else(|| strings::NO_BYTES.to_owned(), strings::hash_groups);
    let differs = matches!(card.fault, Some(BytesFault::Differ));
    let (class, says) = match &review.gate_says {
        _ if differs => ("note bad", strings::gate_says_other(&strings::hash_groups(&card.listed.request_sha256))),
        GateSays::Differs(digest) => ("note bad", strings::gate_says_other(&strings::hash_groups(digest))),
        GateSays::Same | GateSays::NotAsked => ("note good", strings::GATE_SAYS_SAME.to_owned()),
    };
    let bytes = card.listed.frozen.as_ref().map_or(0, String::len);
    let (position, size) = card.proven_at;
    let mut row = el(Tag::Div).class("row").child(
        el(Tag::Button).attr("type", "button").attr("id", "copy-hash").text(strings::COPY).child(el(Tag::Span).class("key").text("C")),
    );
    if bytes > 0 {
        row = row.child(el(Tag::Button).attr("type", "button").attr("id", "save-bytes").text(strings::SAVE_BYTES));
    }
    if card.fault.is_some() || matches!(review.gate_says, GateSays::Differs(_)) {
        row = row.child(el(Tag::Button).attr("type", "button").attr("id", "save-evidence").text(strings::SAVE_EVIDENCE));
    }
    el(Tag::Section).class("block").attr("data-part", "identity").child(header(strings::IDENTITY)).child(
        inner()
            .child(el(Tag::P).class("hash").attr("data-part", "hash").text(hash))
            .child(el(Tag::P).class(class).attr("data-part", "gate-says").text(says))
            .child(el(Tag::P).class("note").text(strings::bytes_and_place(
                &grouped(&bytes.to_string()),
                &grouped(&position.to_string()),
                &grouped(&size.to_string()),
            )))
            .child(row)
            .child(el(Tag::P).class("note").attr("data-part", "how-to-check").text(strings::HOW_TO_CHECK))
            .child(el(Tag::P).class("note mono").attr("data-part", "saved").attr("data-live", "saved")),
    )
}

/// For more than one approver: how many are needed and who gave theirs. Never their reasons.
pub fn others(console: &Console, card: &Card) -> Vec<String> {
    let needed = card.needed();
    if needed < 2 {
        return Vec::new();
    }
    let decisions = console.read(|mirror| mirror.decisions(&card.listed.request)).unwrap_or_default();
    let approvals = standing_approvals(&decisions);
    let given = approvals.iter().zip(1..).map(|(decision, number)| {
        strings::approved_by(number, &approver_name(console, decision), &time::hour_minute(decision.at_ms, &console.zone))
    });
    let own = crate::review::acts::stands(console, &decisions);
    let has_reasons = approvals.iter().any(|decision| decision.reason.is_some());
    let later = (has_reasons && !own).then(|| strings::REASONS_LATER.to_owned());
    std::iter::once(strings::different_people(needed)).chain(given).chain(later).collect()
}

/// What others gave as their reasons: only after the own approval is on record.
pub fn reasons_of_others(console: &Console, card: &Card) -> Vec<String> {
    let decisions = console.read(|mirror| mirror.decisions(&card.listed.request)).unwrap_or_default();
    let Some(me) = console.standing().map(|standing| standing.person.person.to_string()) else { return Vec::new() };
    let approvals = standing_approvals(&decisions);
    if !approvals.iter().any(|decision| decision.approver == me) {
        return Vec::new();
    }
    let others = approvals.iter().filter(|decision| decision.approver != me);
    others
        .filter_map(|decision| {
            let reason = decision.reason.as_deref()?;
            Some(strings::reason_of_another(&approver_name(console, decision), &crate::text::literal::one_line(reason)))
        })
        .collect()
}

/// The roles in which approvals of a request stand.
pub fn roles_given(console: &Console, request: &str) -> Vec<String> {
    let decisions = console.read(|mirror| mirror.decisions(request)).unwrap_or_default();
    standing_approvals(&decisions).into_iter().map(|decision| decision.role.clone()).collect()
}

/// Approvals that were not taken back, in their order.
fn standing_approvals(decisions: &[DecisionRow]) -> Vec<&DecisionRow> {
    let taken_back = |approval: &DecisionRow| {
        decisions
            .iter()
            .any(|later| later.decision == "retract" && later.approver == approval.approver && later.position > approval.position)
    };
    decisions.iter().filter(|decision| decision.decision == "approve" && !taken_back(decision)).collect()
}

fn approver_name(console: &Console, decision: &DecisionRow) -> String {
    decision.approver.parse().map_or_else(|_| decision.approver.clone(), |id| person_name(console, &id))
}

/// What happened to the request so far.
pub fn history(console: &Console, card: &Card) -> Element {
    let mut lines: Vec<(i64, String)> = vec![(card.listed.at_ms, strings::HISTORY_ASKED.to_owned())];
    let decisions = console.read(|mirror| mirror.decisions(&card.listed.request)).unwrap_or_default();
    for decision in decisions {
        let who = approver_name(console, &decision);
        lines.push((decision.at_ms, strings::history_decision(&decision.decision, &who, &decision.role)));
    }
    let mut list = el(Tag::Ul).class("history");
    for (at_ms, text) in lines {
        list = list.child(
            el(Tag::Li)
                .child(el(Tag::Span).text(time::hour_minute_second(at_ms, &console.zone)))
                .child(el(Tag::Span).child(literal::inline(&text))),
        );
    }
    el(Tag::Section).class("block").attr("data-part", "history").child(header(strings::HISTORY)).child(inner().child(list))
}

pub fn header(title: &'static str) -> Element {
    el(Tag::Header).child(el(Tag::H2).text(title))
}

pub fn inner() -> Element {
    el(Tag::Div).class("inner")
}
