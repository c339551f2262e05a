//! Draws a value with its chips, line breaks and boxes.

use crate::html::{Element, Node, Tag, el};
use crate::strings;
use crate::text::literal::{Piece, chip_text, pieces};

/// A text value as it stands in the request, every character accounted for.
pub fn value(text: &str) -> Element {
    let box_ = el(Tag::Div).class("value").attr("dir", "ltr");
    if text.is_empty() {
        return box_.text("\"\" ").child(word(strings::EMPTY_TEXT));
    }
    box_.children(nodes(pieces(text)))
}

/// A block of a long value.
pub fn block(pieces: Vec<Piece>) -> Element {
    el(Tag::Div).class("value").attr("dir", "ltr").children(nodes(pieces))
}

/// The same inside a line of text.
pub fn inline(text: &str) -> Element {
    el(Tag::Span).children(nodes(pieces(text)))
}

/// A word of this console about a value, such as `(empty)`.
pub fn word(text: &str) -> Element {
    el(Tag::Span).class("word").text(text)
}

fn nodes(pieces: Vec<Piece>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) => nodes.push(text.into()),
            Piece::RightToLeft(text) => {
                nodes.push(el(Tag::Span).class("rtl").text(text).into());
                nodes.push(chip(strings::RIGHT_TO_LEFT).into());
            }
            Piece::Chip { label, code_points, .. } => nodes.push(chip(&chip_text(&label, &code_points)).into()),
            Piece::LineBreak => {
                nodes.push(el(Tag::Span).class("line-break").text("⏎").into());
                nodes.push(el(Tag::Br).into());
            }
        }
    }
    nodes
}

fn chip(text: &str) -> Element {
    el(Tag::Span).class("hidden-character").attr("data-part", "hidden-character").text(text)
}
