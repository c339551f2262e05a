//! The whole page of an answer window: what is known, what was sent, and the form.

use vidimus_core::ids::Environment;
use vidimus_core::reconciliation::Answer;

use crate::answer::state::{self, is_settled};
use crate::answer::{Answering, form};
use crate::console::Console;
use crate::desk::{self, Matter};
use crate::html::{Element, Tag, el};
use crate::review::card::Card;
use crate::review::page::{View, top};
use crate::review::panels::{button, cancel, heading, key, live, message, panel, pin};
use crate::review::sections::{self, header, inner};
use crate::review::views;
use crate::strings;
use crate::trusted::literal;
use crate::trusted::page::{Frame, WindowKind};

/// Draws one page, and notes that its parts were served.
pub fn draw(console: &Console, answering: &mut Answering, view: View, page: usize) -> Frame {
    let pages = views::pages(&answering.reading, view);
    let page = page.clamp(1, pages);
    if view == View::Rendered {
        answering.reading.served_pages.insert(page);
    }
    let answering = &*answering;
    let matter = desk::matter(console, &answering.operation);
    let card = answering.card();
    let column = el(Tag::Div)
        .class("column")
        .child(lead(answering, matter.as_ref()))
        .optional((page == 1).then(|| sections::warnings(&answering.reading, view == View::Rendered)).flatten())
        .optional(matter.as_ref().map(|matter| known(console, matter)))
        .optional(matter.as_ref().and_then(|matter| answers(console, matter)))
        .child(views::arguments(&answering.reading, view, page, pages, &console.zone, console.now_ms()))
        .optional(sections::says(&answering.reading, view == View::Rendered && page == 1))
        .child(sections::facts(console, card))
        .optional(card.frozen.as_ref().map(|_| sections::identity(&answering.reading)));
    let state = state::of(console, answering, console.now_ms());
    let first = |name: &str| state.text(name).map(ToOwned::to_owned);
    let environment = environment_of(console, card);
    Frame {
        kind: WindowKind::Answer,
        title: strings::in_doubt_title(environment, console.automated),
        theme: console.theme_mark(),
        nonce: answering.reading.nonce.clone(),
        version: state.content_version.clone(),
        data: vec![
            ("hash", card.local_sha256().unwrap_or_default()),
            ("too-large", strings::FILE_TOO_LARGE.to_owned()),
            ("file-bytes", crate::limits::ATTACHMENT_BYTES_MAX.to_string()),
        ],
        top: top(console, environment),
        content: column.filled("data-live", &first),
        footer: Some(dock(answering, matter.as_ref()).filled("data-live", &first)),
    }
}

/// The environment of what was sent: that of the frozen bytes, and of the gate where a write has none.
pub fn environment_of(console: &Console, card: &Card) -> Option<&'static str> {
    let frozen = card.frozen.as_ref().map(|frozen| frozen.members().environment);
    frozen.or_else(|| console.membership().map(|membership| membership.environment)).map(Environment::as_str)
}

fn lead(answering: &Answering, matter: Option<&Matter>) -> Element {
    let card = answering.card();
    let chip = match matter.map(|matter| matter.row.state.as_str()) {
        Some("needs_reconciliation") => strings::CHIP_IN_DOUBT,
        Some("unknown" | "executing") => strings::CHIP_TRYING,
        Some(_) | None => strings::CHIP_SETTLED,
    };
    let attempt = matter.map_or(1, |matter| matter.row.attempt);
    let mut chips = el(Tag::Div)
        .class("chips")
        .child(el(Tag::Span).class("chip unknown").attr("data-part", "in-doubt").child(icon("?")).child(el(Tag::Span).text(chip)))
        .child(sections::friction_chip(card.friction()));
    chips = chips.child(el(Tag::Span).class("quiet").text(strings::attempt(attempt)));
    el(Tag::Div)
        .class("lead")
        .attr("data-part", "lead")
        .child(sections::sentence(card))
        .child(chips)
        .child(el(Tag::P).class("deadline").child(el(Tag::B).attr("data-live", "age").attr("data-part", "age")))
}

fn icon(text: &'static str) -> Element {
    el(Tag::Span).class("icon").attr("aria-hidden", "true").text(text)
}

/// Line by line with its time.
fn known(console: &Console, matter: &Matter) -> Element {
    let lines = desk::known(console, matter)
        .into_iter()
        .map(|known| el(Tag::Li).child(el(Tag::Span).text(known.at_text)).child(el(Tag::Span).child(literal::inline(&known.text))));
    let list = el(Tag::Ul).class("history").children(lines);
    el(Tag::Section).class("block").attr("data-part", "known").child(header(strings::WHAT_WE_KNOW)).child(inner().child(list))
}

fn answers(console: &Console, matter: &Matter) -> Option<Element> {
    let answers = desk::answers(console, matter);
    if answers.is_empty() {
        return None;
    }
    let lines = answers.into_iter().map(|answer| {
        let evidence = answer.evidence.into_iter().map(|line| el(Tag::Div).class("said").child(literal::inline(&line)));
        el(Tag::Li).child(el(Tag::Span).text(answer.at_text)).child(el(Tag::Div).child(literal::inline(&answer.text)).children(evidence))
    });
    let list = el(Tag::Ul).class("history").children(lines);
    Some(el(Tag::Section).class("block").attr("data-part", "answers").child(header(strings::EVIDENCE_SO_FAR)).child(inner().child(list)))
}

/// The docked row, the form that takes its place, and the receipt.
fn dock(answering: &Answering, matter: Option<&Matter>) -> Element {
    el(Tag::Section)
        .class("decision")
        .attr("data-part", "decision")
        .attr("aria-label", strings::ANSWER_TITLE)
        .child(bar(matter.is_some_and(|matter| matter.row.request.is_some())))
        .child(form_panel(answering, matter))
        .child(receipt())
        .child(crate::review::panels::discard())
}

/// Behind a write there is no request that could be opened.
fn bar(has_original: bool) -> Element {
    el(Tag::Div)
        .class("bar")
        .attr("id", "bar")
        .child(button("start-answering", strings::START_ANSWERING).child(key("A")))
        .optional(has_original.then(|| button("original", strings::OPEN_ORIGINAL).child(key("O"))))
        .child(
            el(Tag::Div)
                .class("why")
                .child(el(Tag::P).class("closing").attr("data-part", "warning").child(live("warning")))
                .child(el(Tag::P).attr("id", "why").attr("data-part", "why").attr("role", "status").child(live("why"))),
        )
}

fn form_panel(answering: &Answering, matter: Option<&Matter>) -> Element {
    let settled = is_settled(matter);
    let title = if settled { strings::NOTE_INSTEAD } else { strings::WHAT_HAPPENED };
    let choices: Vec<Element> = if settled {
        vec![choice("answer-note", Answer::Note, None)]
    } else {
        vec![
            choice("answer-happened", Answer::Happened, None),
            choice("answer-not-happened", Answer::NotHappened, Some("too_early")),
            choice("answer-partly", Answer::Partly, None),
            choice("answer-still-unknown", Answer::StillUnknown, None),
        ]
    };
    let whole = form::whole_of(answering.card());
    let amount = whole.map(|(_, currency)| {
        field("amount-field", "amount", strings::PART_AMOUNT).child(el(Tag::Span).text(strings::amount_in(&currency)))
    });
    panel("answer-panel")
        .child(heading(title))
        .child(el(Tag::Ul).attr("id", "hard-locks").class("notice bad").flag("hidden", true))
        .child(
            el(Tag::Div)
                .class("panel-form")
                .attr("id", "answer-form")
                .child(el(Tag::Fieldset).child(el(Tag::Legend).class("out-of-sight").text(title)).children(choices))
                .optional((!settled).then(|| field("reference-field", "reference", strings::REFERENCE)))
                .optional(amount)
                .child(field("evidence-field", "evidence", strings::HOW_KNOWN))
                .optional((!settled).then(|| field("look-again-field", "look-again", strings::LOOK_AGAIN)))
                .child(attachments())
                .children(commits()),
        )
        .child(el(Tag::Ul).attr("id", "locks").class("quiet").attr("data-part", "locks"))
        .child(message())
        .child(el(Tag::Ul).class("steps").attr("id", "progress").attr("data-part", "progress"))
}

/// A radio with what follows from it.
fn choice(id: &'static str, answer: Answer, note: Option<&'static str>) -> Element {
    el(Tag::Div)
        .class("choice tall")
        .child(el(Tag::Input).attr("type", "radio").attr("name", "answer").attr("id", id).attr("value", answer.as_str()))
        .child(
            el(Tag::Label)
                .attr("for", id)
                .child(el(Tag::B).text(strings::answer(answer)))
                .child(el(Tag::Span).class("quiet").text(format!(" {}", strings::effect_of(answer))))
                .optional(note.map(|name| el(Tag::Span).class("closing").text(" ").child(live(name)))),
        )
}

fn field(field: &'static str, id: &'static str, label: &'static str) -> Element {
    el(Tag::Div).class("field").attr("id", field).child(el(Tag::Label).attr("for", id).text(label)).child(
        el(Tag::Input)
            .attr("type", "text")
            .attr("id", id)
            .attr("autocomplete", "off")
            .attr("maxlength", vidimus_core::limits::EVIDENCE_CHARS_MAX.to_string()),
    )
}

fn attachments() -> Element {
    el(Tag::Div)
        .class("field")
        .attr("id", "files-field")
        .child(el(Tag::Label).attr("for", "file").text(strings::ATTACH))
        .child(el(Tag::Input).attr("type", "file").attr("id", "file"))
        .child(el(Tag::Ul).attr("id", "files").attr("data-part", "files"))
        .child(el(Tag::P).class("quiet").text(strings::ATTACH_WORDS))
}

/// Pressed where nothing moves or it can be undone; held, or pressed twice, where it cannot.
fn commits() -> Vec<Element> {
    let hold = el(Tag::Button)
        .attr("type", "button")
        .class("approve irreversible hold")
        .attr("id", "hold")
        .attr("data-moves", "")
        .attr("aria-disabled", "true")
        .attr("aria-describedby", "locks")
        .text(strings::ANSWER_BY_HOLD)
        .child(el(Tag::Progress).attr("max", "1").attr("value", "0").attr("aria-hidden", "true"));
    let two = el(Tag::Button)
        .attr("type", "button")
        .class("approve irreversible two")
        .attr("id", "two-commit")
        .attr("data-moves", "")
        .attr("aria-disabled", "true")
        .attr("aria-describedby", "locks")
        .text(strings::ANSWER_BY_HOLD);
    vec![
        el(Tag::Div)
            .class("row")
            .attr("id", "press-row")
            .child(pin("pin"))
            .child(button("sign", strings::SIGN_ANSWER).class("primary").attr("data-signs", "").attr("aria-disabled", "true"))
            .child(cancel()),
        el(Tag::Div).attr("id", "hold-row").flag("hidden", true).child(hold).child(
            el(Tag::Div)
                .class("under")
                .child(button("two-presses", strings::TWO_PRESSES).class("plain"))
                .child(live("hold_note").class("quiet")),
        ),
        el(Tag::Div)
            .attr("id", "two-row")
            .flag("hidden", true)
            .child(two)
            .child(el(Tag::Div).class("under").child(live("two_note").class("quiet"))),
    ]
}

fn receipt() -> Element {
    panel("receipt")
        .child(el(Tag::H2).attr("tabindex", "-1").attr("data-live", "receipt_heading").attr("data-part", "receipt-heading"))
        .child(el(Tag::Ul).attr("id", "receipt-lines").attr("data-part", "receipt-lines"))
        .child(el(Tag::Div).class("row").child(button("close", strings::CLOSE).child(key("Esc"))))
}
