//! The arguments: as values, as the bytes' text, as hexadecimal.

use jiff::tz::TimeZone;
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::render::{Node, NodeKind, Reading};
use vidimus_core::sign::PublicKey;
use vidimus_core::table::Format;

use crate::html::{Element, PageQuery, Tag, el};
use crate::limits::{HEX_ROWS_PER_PAGE, RAW_PAGE_BYTES};
use crate::review::Review;
use crate::review::card::Value;
use crate::review::offsets::{BYTES_PER_ROW, hidden_in, page_beside};
use crate::review::page::View;
use crate::review::parts::{Part, Shown};
use crate::strings;
use crate::text::literal::{Piece, one_line, pieces, right_to_left_letters};
use crate::text::money::grouped;
use crate::text::time;
use crate::trusted::literal;

/// Bytes of one line of the raw view.
const RAW_LINE_BYTES: usize = 80;

/// Stands for each character that the schema keeps from sight.
const HIDDEN_SIGN: char = '•';

/// How many pages a view has.
pub fn pages(review: &Review, view: View) -> usize {
    let bytes = review.card.listed.frozen.as_ref().map_or(0, String::len);
    match view {
        View::Rendered => review.parts.pages(),
        View::Raw => bytes.div_ceil(RAW_PAGE_BYTES).max(1),
        View::Hex => bytes.div_ceil(HEX_ROWS_PER_PAGE * BYTES_PER_ROW).max(1),
    }
}

pub fn arguments(review: &Review, view: View, page: usize, pages: usize, zone: &TimeZone, now_ms: i64) -> Element {
    let count = review.card.values.len();
    let hidden = |index: &usize| review.card.values.get(*index).is_some_and(|value| value.hidden.is_some());
    let shown = review.parts.values().iter().filter(|index| !hidden(index)).count();
    let mut views = el(Tag::Nav).class("views").attr("aria-label", strings::VIEWS);
    for (index, other) in View::ALL.into_iter().enumerate() {
        let mut link = el(Tag::A)
            .page(&PageQuery::new(other.as_str(), page_beside(review, view, page, other)))
            .attr("data-part", format!("view-{}", other.as_str()));
        if other == view {
            link = link.attr("aria-current", "page");
        }
        views = views.child(link.text(other.label()).child(el(Tag::Span).class("key").text((index + 1).to_string())));
    }
    let header = el(Tag::Header)
        .child(el(Tag::H2).attr("id", "arguments-title").text(strings::ARGUMENTS))
        .child(el(Tag::Span).class("count").attr("data-part", "argument-count").text(strings::values_shown(
            &grouped_count(shown),
            &grouped_count(count),
            &grouped_count(count - shown),
        )))
        .child(el(Tag::Span).class("count").attr("data-live", "seen").text(""))
        .child(views);
    let body = match view {
        View::Rendered => rendered(review, page, zone, now_ms),
        View::Raw => raw(review, page),
        View::Hex => hex(review, page),
    };
    el(Tag::Section)
        .class("block")
        .attr("data-part", "arguments")
        .attr("aria-labelledby", "arguments-title")
        .child(header)
        .child(body)
        .optional((pages > 1).then(|| page_links(view, page, pages)))
}

fn page_links(view: View, page: usize, pages: usize) -> Element {
    let mut links =
        el(Tag::Nav).class("pages").attr("data-part", "pages").attr("aria-label", strings::PAGES).text(strings::page_of(page, pages));
    for number in 1..=pages {
        let mut link = el(Tag::A).page(&PageQuery::new(view.as_str(), number));
        if number == page {
            link = link.attr("aria-current", "page");
        }
        links = links.child(link.text(number.to_string()));
    }
    links
}

fn rendered(review: &Review, page: usize, zone: &TimeZone, now_ms: i64) -> Element {
    let mut list = el(Tag::Div).class("arguments");
    for part in review.parts.on_page(page) {
        let row = match &part.shown {
            Shown::Warnings | Shown::Says => continue,
            Shown::Value { index } => review.card.values.get(*index).map(|value| {
                let drawn = el(Tag::Div).class("values").children(drawn(&review.card.listed.tool, value, zone, now_ms));
                (value, drawn, None)
            }),
            Shown::Block { index, number, of, pieces } => review.card.values.get(*index).map(|value| {
                let drawn = el(Tag::Div).class("values").child(literal::block(pieces.clone())).optional(letters(pieces));
                (value, drawn, Some(strings::block_of(*number, *of)))
            }),
        };
        if let Some((value, drawn, note)) = row {
            list = list.child(argument(part, value, drawn, note));
        }
    }
    if review.card.values.is_empty() {
        let text = if review.card.frozen.is_some() && review.card.row.is_some() { strings::NO_ARGUMENTS } else { strings::NOT_RENDERED };
        list = list.child(el(Tag::P).class("argument").text(text));
    }
    list
}

fn argument(part: &Part, value: &Value, drawn: Element, note: Option<String>) -> Element {
    const DEPTHS: [&str; 7] = [
        "argument",
        "argument depth-1",
        "argument depth-2",
        "argument depth-3",
        "argument depth-4",
        "argument depth-5",
        "argument depth-6",
    ];
    let mut name = el(Tag::Div).class("name");
    if let Some(label) = &value.node.label {
        name = name.child(el(Tag::Span).class("label").child(literal::inline(label)));
    }
    name = name.child(el(Tag::Span).class("path").child(literal::inline(&value.path_text())));
    name = name.optional(note.map(|note| el(Tag::Span).class("note").text(note)));
    el(Tag::Div)
        .class(DEPTHS[value.depth.min(DEPTHS.len() - 1)])
        .attr("data-part", "argument")
        .attr("data-part-number", part.number.to_string())
        .attr("data-path", one_line(&value.node.path))
        .child(name)
        .child(drawn)
}

/// The literal first, then its readings; both always shown.
fn drawn(tool: &str, value: &Value, zone: &TimeZone, now_ms: i64) -> Vec<Element> {
    let node = &value.node;
    let word = |text: &str| el(Tag::Div).class("value").child(literal::word(text));
    let note = |text: String| el(Tag::Div).class("note").text(text);
    if let Some(fingerprint) = &value.hidden {
        let characters = grouped_count(node.literal.chars().count());
        return vec![word(strings::HIDDEN_BY_SCHEMA), note(strings::hidden_value(&characters, fingerprint))];
    }
    match node.kind {
        NodeKind::Null | NodeKind::True | NodeKind::False => vec![word(&node.literal)],
        NodeKind::Object => vec![container("{}", strings::EMPTY_OBJECT, strings::members(node.count.unwrap_or(0)), node.count)],
        NodeKind::Array => vec![container("[ ]", strings::EMPTY_LIST, strings::elements(node.count.unwrap_or(0)), node.count)],
        NodeKind::Number => {
            let mut drawn = vec![el(Tag::Div).class("value").text(node.literal.clone())];
            if let Some(Reading::Money(reading)) = &value.reading {
                drawn.push(el(Tag::Div).class("reading strong").text(format!("= {}", one_line(reading))));
                drawn.push(note(strings::MINOR_UNITS.to_owned()));
            } else if matches!(node.format, Some(Format::Money { .. })) {
                drawn.push(no_amount());
            }
            drawn
        }
        NodeKind::String => {
            let mut drawn = vec![literal::value(&node.literal)];
            drawn.extend(letters(&pieces(&node.literal)));
            if matches!(node.format, Some(Format::Money { .. })) {
                drawn.push(no_amount());
            }
            if let Some(digest) = key_fingerprint(tool, node) {
                drawn.push(el(Tag::Div).class("reading").text(strings::fingerprint(&strings::hash_groups(&digest))));
            }
            match (&value.reading, &node.format) {
                (Some(Reading::Account { grouped, checked }), _) => {
                    // Another kind of name has no groups to be read in.
                    if checked.is_some() {
                        drawn.push(el(Tag::Div).class("reading").text(format!("= {}", one_line(grouped))));
                    }
                    drawn.push(checksum(*checked));
                }
                (_, Some(Format::Date)) => {
                    if let Some(reading) = time::reading(&node.literal, now_ms, zone) {
                        drawn.push(el(Tag::Div).class("reading").text(format!("= {reading}")));
                    }
                }
                _ => {}
            }
            let lines = node.literal.matches('\n').count();
            let characters = node.literal.chars().count();
            if lines > 0 {
                drawn.push(note(strings::lines(lines + 1)));
            } else if characters > 60 {
                drawn.push(note(strings::characters(&grouped_count(characters))));
            }
            drawn
        }
    }
}

fn no_amount() -> Element {
    el(Tag::Div).class("note bad").attr("data-part", "no-amount").text(strings::NO_AMOUNT)
}

/// Right-to-left letters one by one, since the box shows them in the order in which they are read.
fn letters(pieces: &[Piece]) -> Option<Element> {
    let letters = right_to_left_letters(pieces);
    let each = letters.iter().map(|(letter, code_point)| {
        el(Tag::Span).class("letter").child(el(Tag::Span).class("rtl").text(letter.to_string())).text(format!(" {code_point}"))
    });
    let line = el(Tag::Div).class("note letters").attr("data-part", "letters");
    (!letters.is_empty()).then(|| line.text(strings::LETTERS_IN_ORDER).children(each))
}

/// The fingerprint of a key that a roster change admits: the enrolling console shows the same.
fn key_fingerprint(tool: &str, node: &Node) -> Option<String> {
    let is_key = tool == ROSTER_CHANGE && matches!(node.path.as_str(), "/approval_key" | "/device_key");
    let key: PublicKey = node.literal.parse().ok().filter(|_| is_key)?;
    Some(key.digest().to_string())
}

fn grouped_count(count: usize) -> String {
    grouped(&count.to_string())
}

fn container(empty: &str, empty_words: &str, words: String, count: Option<u32>) -> Element {
    if count == Some(0) {
        el(Tag::Div).class("value").text(format!("{empty} ")).child(literal::word(empty_words))
    } else {
        el(Tag::Div).class("note").text(words)
    }
}

fn checksum(checked: Option<bool>) -> Element {
    let (class, text) = match checked {
        Some(true) => ("note good", strings::CHECKSUM_RIGHT),
        Some(false) => ("note bad", strings::CHECKSUM_WRONG),
        None => ("note", strings::NOT_AN_IBAN),
    };
    el(Tag::Div).class(class).text(text)
}

/// The canonical text, each line with the offset of its first byte.
fn raw(review: &Review, page: usize) -> Element {
    let text = review.card.listed.frozen.as_deref().unwrap_or_default();
    let mut block = el(Tag::Pre).class("bytes").attr("data-part", "raw").attr("tabindex", "0");
    let (from, to) = (page.saturating_sub(1) * RAW_PAGE_BYTES, page * RAW_PAGE_BYTES);
    let hidden = hidden_in(review);
    let mut offset = 0;
    let mut line = String::new();
    let mut line_at = 0;
    let mut lines = Vec::new();
    for character in text.chars() {
        if offset >= from && offset < to {
            if line.is_empty() {
                line_at = offset;
            }
            line.push(if hidden.iter().any(|range| range.contains(&offset)) { HIDDEN_SIGN } else { character });
            if line.len() >= RAW_LINE_BYTES {
                lines.push((line_at, std::mem::take(&mut line)));
            }
        }
        offset += character.len_utf8();
    }
    if !line.is_empty() {
        lines.push((line_at, line));
    }
    for (at, line) in lines {
        block = block.child(el(Tag::Span).class("offset").text(format!("{at:>7}  "))).child(literal::inline(&line)).child(el(Tag::Br));
    }
    block
}

fn hex(review: &Review, page: usize) -> Element {
    let bytes = review.card.listed.frozen.as_deref().unwrap_or_default().as_bytes();
    let mut block = el(Tag::Pre).class("bytes hex").attr("data-part", "hex").attr("tabindex", "0");
    let rows = bytes.chunks(BYTES_PER_ROW).enumerate().skip(page.saturating_sub(1) * HEX_ROWS_PER_PAGE).take(HEX_ROWS_PER_PAGE);
    let hidden = hidden_in(review);
    for (index, row) in rows {
        let is_hidden = |at: usize| hidden.iter().any(|range| range.contains(&(index * BYTES_PER_ROW + at)));
        let hex: Vec<String> =
            row.iter().enumerate().map(|(at, byte)| if is_hidden(at) { "••".to_owned() } else { format!("{byte:02x}") }).collect();
        let drawn = |(at, byte): (usize, &u8)| match byte {
            _ if is_hidden(at) => HIDDEN_SIGN,
            b' '..=b'~' => char::from(*byte),
            _ => '·',
        };
        let printable: String = row.iter().enumerate().map(drawn).collect();
        let width = BYTES_PER_ROW * 3;
        block = block
            .child(el(Tag::Span).class("offset").text(format!("{:08x}  ", index * BYTES_PER_ROW)))
            .text(format!("{:<width$} {printable}\n", hex.join(" ")));
    }
    block
}
