//! Pieces of sheets.

use crate::html::{Element, Tag, el};
use crate::strings;
use crate::trusted::literal;

pub fn text_field(id: &'static str, label: &'static str, value: &str, kind: &'static str) -> Element {
    el(Tag::Div).class("field").child(el(Tag::Label).attr("for", id).text(label)).child(
        el(Tag::Input)
            .attr("type", kind)
            .attr("id", id)
            .attr("name", id)
            .attr("value", value)
            .attr("autocomplete", "off")
            .attr("spellcheck", "false"),
    )
}

/// Enter in a field presses the first submit button of its form.
pub fn submit(id: &'static str, text: &'static str) -> Element {
    el(Tag::Button).attr("type", "submit").class("primary").attr("id", id).text(text)
}

pub fn act(id: &'static str, action: &'static str, text: &'static str) -> Element {
    el(Tag::Button).attr("type", "button").attr("id", id).attr("data-action", action).text(text)
}

pub fn form(action: &'static str) -> Element {
    el(Tag::Form).attr("data-action", action)
}

pub fn message() -> Element {
    el(Tag::P).class("message bad").attr("id", "message").attr("data-part", "message").attr("role", "status")
}

pub fn title(text: impl Into<String>) -> Element {
    el(Tag::H1).attr("id", "title").attr("tabindex", "-1").text(text)
}

pub fn fact(list: Element, name: &'static str, value: &str) -> Element {
    list.child(el(Tag::Dt).text(name)).child(el(Tag::Dd).child(literal::inline(value)))
}

/// A digest in eight groups, four to a line, with a way to copy it.
pub fn fingerprint(name: &'static str, digest: &str) -> Element {
    let groups: Vec<String> = strings::hash_groups(digest).split(' ').map(ToOwned::to_owned).collect();
    el(Tag::Div)
        .class("field")
        .child(el(Tag::Span).text(name))
        .child(el(Tag::Div).class("fingerprint").children(groups.into_iter().map(|group| el(Tag::Span).text(group))))
        .child(el(Tag::Div).child(el(Tag::Button).attr("type", "button").attr("data-copy", digest).text(strings::COPY)))
}
