//! The docked row and its panels: approve by level, deny, and the receipt.

use vidimus_api::request::DenialKind;
use vidimus_core::ids::Reversibility;

use crate::html::{Element, Tag, el};
use crate::review::Review;
use crate::review::card::Card;
use crate::strings;
use crate::trusted::literal;

/// Everything under the request. The row is always there; one panel at a time takes its place.
pub fn decision(review: &Review, others: &[String]) -> Element {
    el(Tag::Section)
        .class("decision")
        .attr("data-part", "decision")
        .attr("aria-label", strings::DECISION)
        .child(bar())
        .child(approve(&review.card, others))
        .child(deny())
        .children(ACTS.iter().map(act))
        .child(receipt())
        .child(discard())
        .child(kept())
}

/// A panel of one press: what it does in words, the PIN where it is due, the press.
struct Act {
    panel: &'static str,
    heading: &'static str,
    /// Fixed words, or the name under which the core tells them.
    words: Result<&'static str, &'static str>,
    pin: &'static str,
    commit: &'static str,
    /// How the decision is named.
    kind: &'static str,
    label: &'static str,
}

const ACTS: [Act; 3] = [
    Act {
        panel: "retract",
        heading: strings::WITHDRAW_HEADING,
        words: Ok(strings::WITHDRAW_WORDS),
        pin: "retract-pin",
        commit: "retract-commit",
        kind: "retract",
        label: strings::WITHDRAW_MINE,
    },
    Act {
        panel: "revoke",
        heading: strings::STOP_HEADING,
        words: Ok(strings::STOP_WORDS),
        pin: "revoke-pin",
        commit: "revoke-commit",
        kind: "revoke",
        label: strings::STOP_IT,
    },
    Act {
        panel: "more-time",
        heading: strings::MORE_TIME,
        words: Err("more_time"),
        pin: "more-time-pin",
        commit: "more-time-commit",
        kind: "more_time",
        label: strings::GIVE_MORE_TIME,
    },
];

fn act(act: &Act) -> Element {
    let words = match act.words {
        Ok(words) => el(Tag::P).text(words),
        Err(name) => el(Tag::P).child(live(name)),
    };
    let commit = button(act.commit, act.label).class("primary").attr("data-act", act.kind).attr("aria-disabled", "true");
    panel(act.panel)
        .child(heading(act.heading))
        .child(words)
        .child(el(Tag::P).attr("data-live", "standing"))
        .child(el(Tag::Div).class("row").child(pin(act.pin)).child(commit).child(cancel()))
        .child(message())
}

/// What was typed about a request that ended meanwhile.
fn kept() -> Element {
    el(Tag::Section)
        .class("kept")
        .attr("id", "kept")
        .attr("data-part", "kept")
        .attr("aria-label", strings::KEPT)
        .flag("hidden", true)
        .child(el(Tag::P).attr("data-live", "kept").attr("role", "status"))
        .child(el(Tag::Div).class("value").attr("id", "kept-text"))
        .child(button("copy-kept", strings::COPY_TYPED))
}

pub fn button(id: &'static str, text: impl Into<String>) -> Element {
    el(Tag::Button).attr("type", "button").attr("id", id).text(text)
}

pub fn key(text: &'static str) -> Element {
    el(Tag::Span).class("key").attr("aria-hidden", "true").text(text)
}

pub fn live(name: &'static str) -> Element {
    el(Tag::Span).attr("data-live", name)
}

/// Deny and Start approving have equal weight.
fn bar() -> Element {
    el(Tag::Div)
        .class("bar")
        .attr("id", "bar")
        .child(button("start-denying", strings::DENY).child(key("D")))
        .child(button("start-approving", strings::START_APPROVING).child(key("A")))
        .child(button("start-retracting", strings::WITHDRAW_MINE).flag("hidden", true))
        .child(button("start-more-time", strings::MORE_TIME).child(key("E")))
        .child(
            el(Tag::Div)
                .class("why")
                .child(el(Tag::P).class("closing").attr("data-part", "closing").child(live("closing")))
                .child(el(Tag::P).attr("data-part", "notice").child(live("notice")))
                .child(el(Tag::P).attr("data-part", "standing").child(live("standing")))
                .child(el(Tag::P).attr("id", "why").attr("data-part", "why").attr("role", "status").child(live("why"))),
        )
        .child(button("start-revoking", strings::STOP_IT).flag("hidden", true))
        .child(button("desk", strings::OPEN_RECONCILE).flag("hidden", true))
}

pub fn panel(id: &'static str) -> Element {
    el(Tag::Section).class("panel").attr("id", id).attr("data-part", id).flag("hidden", true)
}

pub fn heading(text: impl Into<String>) -> Element {
    el(Tag::H2).attr("tabindex", "-1").text(text)
}

fn approve(card: &Card, others: &[String]) -> Element {
    let friction = card.friction();
    let title = match friction {
        Reversibility::Reversible | Reversibility::Compensable => strings::APPROVE,
        Reversibility::Irreversible => strings::APPROVE_IRREVERSIBLE,
    };
    let form = match friction {
        Reversibility::Reversible => reversible(card),
        Reversibility::Compensable => compensable(card),
        Reversibility::Irreversible => irreversible(card),
    };
    panel("approve")
        .child(heading(title))
        .optional((!others.is_empty()).then(|| {
            let lines = others.iter().map(|line| el(Tag::Li).child(literal::inline(line)));
            el(Tag::Ul).class("quiet").attr("data-part", "others").children(lines)
        }))
        .child(el(Tag::Ul).attr("id", "hard-locks").class("notice bad").flag("hidden", true))
        .child(el(Tag::Div).class("panel-form").attr("id", "approve-form").children(form))
        .child(el(Tag::Ul).attr("id", "locks").class("quiet").attr("data-part", "locks"))
        .child(message())
        .child(
            el(Tag::Div)
                .class("row")
                .attr("id", "closing-row")
                .flag("hidden", true)
                .child(el(Tag::P).class("closing").attr("data-live", "closing"))
                .child(button("more-time-here", strings::MORE_TIME)),
        )
        .child(el(Tag::Ul).class("steps").attr("id", "progress").attr("data-part", "progress"))
}

pub fn message() -> Element {
    el(Tag::P).class("message bad").attr("data-part", "message").attr("data-live", "message").attr("role", "status")
}

/// Asked before typed text goes.
pub fn discard() -> Element {
    el(Tag::Div)
        .class("row asked")
        .attr("id", "discard")
        .flag("hidden", true)
        .child(el(Tag::Span).text(strings::DISCARD_TYPED))
        .child(button("discard-yes", strings::DISCARD))
        .child(button("keep", strings::KEEP))
}

fn statement(card: &Card) -> Element {
    let act = card.headline().unwrap_or_else(|| strings::call_of(&card.listed.tool));
    el(Tag::P).class("statement").attr("data-part", "statement").text(strings::YOU_APPROVE).child(el(Tag::B).text(act))
}

fn undo(card: &Card) -> Element {
    let words = card.row.as_ref().and_then(|row| row.undo.as_deref()).unwrap_or(strings::NO_UNDO);
    el(Tag::P).attr("data-part", "undo").text(strings::UNDO).child(literal::inline(words))
}

pub fn pin(id: &'static str) -> Element {
    el(Tag::Div)
        .class("field")
        .attr("data-pin", if id == "pin" { "approve" } else { "other" })
        .child(el(Tag::Label).attr("for", id).text(strings::PIN))
        .child(
            el(Tag::Input)
                .attr("type", "password")
                .class("pin")
                .attr("id", id)
                .attr("name", id)
                .attr("autocomplete", "off")
                .attr("inputmode", "text")
                .attr("maxlength", crate::limits::PIN_CHARS_MAX.to_string()),
        )
}

pub fn cancel() -> Element {
    el(Tag::Button).attr("type", "button").attr("data-cancel", "").text(strings::CANCEL).child(key("Esc"))
}

fn commit() -> Element {
    el(Tag::Button)
        .attr("type", "button")
        .class("approve")
        .attr("id", "approve-commit")
        .attr("data-approve", "")
        .attr("aria-disabled", "true")
        .attr("data-live", "approve_label")
        .attr("aria-disabled", "true")
        .attr("aria-describedby", "locks")
}

/// Cancel stands first in the order of Tab.
fn reversible(card: &Card) -> Vec<Element> {
    vec![
        statement(card),
        undo(card),
        el(Tag::Div).class("row").child(pin("pin")).child(cancel()).child(commit()).child(key(strings::CONTROL_ENTER)),
    ]
}

fn compensable(card: &Card) -> Vec<Element> {
    let choice = |value: &'static str, radio: &'static str, field: &'static str, label: &'static str, help: &'static str| {
        el(Tag::Div)
            .class("choice")
            .child(el(Tag::Input).attr("type", "radio").attr("name", "reason-kind").attr("value", value).attr("id", radio))
            .child(el(Tag::Label).attr("for", radio).text(label))
            .child(
                el(Tag::Input)
                    .attr("type", "text")
                    .attr("id", field)
                    .attr("aria-label", help)
                    .attr("autocomplete", "off")
                    .attr("maxlength", crate::limits::REASON_CHARS_MAX.to_string()),
            )
    };
    let reasons = el(Tag::Fieldset)
        .attr("data-part", "reason")
        .child(el(Tag::Legend).text(strings::WHY_RIGHT))
        .child(choice("ticket", "reason-kind-ticket", "reason-ticket", strings::REASON_KIND_TICKET, strings::REASON_HELP_TICKET))
        .child(choice("person", "reason-kind-person", "reason-person", strings::REASON_KIND_PERSON, strings::REASON_HELP_PERSON))
        .child(choice("other", "reason-kind-other", "reason-other", strings::REASON_KIND_OTHER, strings::REASON_HELP_OTHER));
    vec![statement(card), undo(card), reasons, el(Tag::Div).class("row").child(pin("pin")).child(cancel()).child(commit())]
}

/// The value asked for stands neither in a statement nor on the control until it was given.
fn irreversible(card: &Card) -> Vec<Element> {
    let question = el(Tag::Fieldset)
        .attr("id", "question")
        .attr("data-part", "question")
        .child(el(Tag::Legend).text("1. ").child(live("question")))
        .child(
            el(Tag::Div)
                .class("row")
                .attr("id", "answer-field")
                .child(
                    el(Tag::Input)
                        .attr("type", "text")
                        .attr("id", "answer")
                        .class("short")
                        .attr("autocomplete", "off")
                        .attr("spellcheck", "false")
                        .attr("aria-label", strings::ANSWER),
                )
                .child(live("unit")),
        )
        .child(el(Tag::Div).attr("id", "options").attr("role", "radiogroup").attr("aria-label", strings::ANSWER).flag("hidden", true))
        .child(button("pick", strings::PICK_INSTEAD).class("plain"));
    let reason = el(Tag::Div).class("field grow").child(el(Tag::Label).attr("for", "reason").text(strings::REASON_LABEL)).child(
        el(Tag::Input)
            .attr("type", "text")
            .attr("id", "reason")
            .attr("autocomplete", "off")
            .attr("maxlength", crate::limits::REASON_CHARS_MAX.to_string()),
    );
    let hold = el(Tag::Button)
        .attr("type", "button")
        .class("approve irreversible hold")
        .attr("id", "hold")
        .attr("data-approve", "")
        .attr("aria-disabled", "true")
        .attr("aria-disabled", "true")
        .attr("aria-describedby", "locks")
        .child(live("approve_label"))
        .child(el(Tag::Progress).attr("max", "1").attr("value", "0").attr("aria-hidden", "true"));
    let two = el(Tag::Button)
        .attr("type", "button")
        .class("approve irreversible two")
        .attr("id", "two-commit")
        .attr("data-approve", "")
        .attr("aria-disabled", "true")
        .attr("aria-disabled", "true")
        .attr("aria-describedby", "locks")
        .child(live("approve_label"));
    vec![
        el(Tag::P).child(literal::inline(card.row.as_ref().and_then(|row| row.undo.as_deref()).unwrap_or(strings::NO_UNDO_TOOL))),
        question,
        el(Tag::Div).class("row").child(reason).child(pin("pin")),
        // A whole row each, so that a longer label moves nothing beside it.
        el(Tag::Div).attr("id", "hold-row").child(hold).child(
            el(Tag::Div)
                .class("under")
                .child(cancel())
                .child(button("two-presses", strings::TWO_PRESSES).class("plain"))
                .child(live("hold_note").class("quiet")),
        ),
        el(Tag::Div)
            .attr("id", "two-row")
            .flag("hidden", true)
            .child(two)
            .child(el(Tag::Div).class("under").child(cancel()).child(live("two_note").class("quiet"))),
        el(Tag::P).class("quiet").text(strings::HOLD_HELP),
    ]
}

fn deny() -> Element {
    const IDS: [&str; 6] = ["denial-1", "denial-2", "denial-3", "denial-4", "denial-5", "denial-6"];
    let mut kinds = el(Tag::Fieldset).attr("data-part", "denial").child(el(Tag::Legend).text(strings::WHY_DENY));
    let mut choices = el(Tag::Div).class("choices");
    for ((kind, id), number) in DenialKind::ALL.iter().zip(IDS).zip(1..) {
        choices = choices.child(
            el(Tag::Div)
                .class("choice")
                .child(el(Tag::Input).attr("type", "radio").attr("name", "denial").attr("id", id).attr("value", kind.as_str()))
                .child(el(Tag::Label).attr("for", id).text(format!("{number} {}", strings::denial_kind(*kind)))),
        );
    }
    kinds = kinds.child(choices);
    let note = el(Tag::Div).class("field grow").child(el(Tag::Label).attr("for", "note").text(strings::NOTE)).child(
        el(Tag::Input)
            .attr("type", "text")
            .attr("id", "note")
            .attr("autocomplete", "off")
            .attr("maxlength", crate::limits::REASON_CHARS_MAX.to_string()),
    );
    let commit =
        button("deny-commit", strings::DENY).class("primary").attr("data-deny", "").attr("aria-disabled", "true").child(key("Enter"));
    panel("deny")
        .child(heading(strings::DENY))
        .child(kinds)
        .child(el(Tag::Div).class("row").child(note).child(pin("deny-pin")))
        .child(el(Tag::Div).class("row").child(commit).child(cancel()))
        .child(el(Tag::P).class("quiet").text(strings::DENY_FINAL))
        .child(el(Tag::P).class("quiet").child(live("deny_note")))
        .child(message())
}

fn receipt() -> Element {
    el(Tag::Section)
        .class("panel")
        .attr("id", "receipt")
        .attr("data-part", "receipt")
        .flag("hidden", true)
        .child(el(Tag::H2).attr("tabindex", "-1").attr("data-live", "receipt_heading").attr("data-part", "receipt-heading"))
        .child(el(Tag::Ul).attr("id", "receipt-lines").attr("data-part", "receipt-lines"))
        .child(el(Tag::P).attr("data-part", "receipt-standing").attr("data-live", "standing"))
        .child(
            el(Tag::Div)
                .class("row")
                .child(button("retract-mine", strings::WITHDRAW_MINE).flag("hidden", true))
                .child(button("stop-it", strings::STOP_IT).flag("hidden", true))
                .child(button("to-desk", strings::OPEN_RECONCILE).flag("hidden", true))
                .child(button("next", strings::NEXT).child(key("J")))
                .child(button("close", strings::CLOSE).child(key("Esc"))),
        )
}
