//! Where each value of the arguments stands in the bytes, so that another view of them opens at the same place.

use std::ops::Range;

use vidimus_core::render::NodeKind;

use crate::limits::{HEX_ROWS_PER_PAGE, RAW_PAGE_BYTES};
use crate::review::Review;
use crate::review::page::View;
use crate::review::parts::{Part, Shown};

/// Bytes of one row of the hex view.
pub const BYTES_PER_ROW: usize = 16;

/// The page of `to` that shows what the page of `from` shows first.
pub fn page_beside(review: &Review, from: View, page: usize, to: View) -> usize {
    if from == to {
        return page;
    }
    let offsets = of_arguments(review.card.listed.frozen.as_deref().unwrap_or_default());
    let offset = match from {
        View::Rendered => review.parts.on_page(page).find_map(|part| offset_of(part, &offsets)).unwrap_or(0),
        View::Raw | View::Hex => (page - 1) * bytes_of_page(from),
    };
    match to {
        View::Rendered => {
            review.parts.iter().filter(|part| offset_of(part, &offsets).is_some_and(|at| at <= offset)).last().map_or(1, |part| part.page)
        }
        View::Raw | View::Hex => offset / bytes_of_page(to) + 1,
    }
}

/// Where the bytes of what the schema keeps from sight stand.
pub fn hidden_in(review: &Review) -> Vec<Range<usize>> {
    let values = &review.card.values;
    if values.iter().all(|value| value.hidden.is_none()) {
        return Vec::new();
    }
    let offsets = of_arguments(review.card.listed.frozen.as_deref().unwrap_or_default());
    let places = values.iter().zip(offsets.iter().skip(1)).filter(|(value, _)| value.hidden.is_some());
    places
        .map(|(value, (from, to))| match value.node.kind {
            NodeKind::String => from + 1..to.saturating_sub(1),
            NodeKind::Number | NodeKind::True | NodeKind::False | NodeKind::Null | NodeKind::Object | NodeKind::Array => *from..*to,
        })
        .collect()
}

fn bytes_of_page(view: View) -> usize {
    match view {
        View::Rendered | View::Raw => RAW_PAGE_BYTES,
        View::Hex => HEX_ROWS_PER_PAGE * BYTES_PER_ROW,
    }
}

/// A block of a long text stands somewhere within it: told by its share.
fn offset_of(part: &Part, offsets: &[(usize, usize)]) -> Option<usize> {
    match part.shown {
        // The first one is of the arguments as a whole.
        Shown::Value { index } => offsets.get(index + 1).map(|(from, _)| *from),
        Shown::Block { index, number, of, .. } => offsets.get(index + 1).map(|(from, to)| from + (to - from) * (number - 1) / of),
        Shown::Warnings | Shown::Says => None,
    }
}

/// Where each value begins and ends, in the order of the nodes, which is that of the canonical text.
fn of_arguments(frozen: &str) -> Vec<(usize, usize)> {
    let mut scan = Scan { bytes: frozen.as_bytes(), at: 0, found: Vec::new(), kept: false };
    scan.value(0);
    scan.found
}

/// Walks a canonical text, which has no white space. Bytes that are none end the walk.
struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    found: Vec<(usize, usize)>,
    /// Whether the walk is inside the arguments.
    kept: bool,
}

impl Scan<'_> {
    /// The parser has bounded depth.
    fn value(&mut self, depth: usize) {
        let from = self.at;
        let number = self.kept.then(|| {
            self.found.push((from, from));
            self.found.len() - 1
        });
        match self.bytes.get(self.at) {
            Some(b'{') => self.inside(b'}', |scan| {
                let key = scan.at;
                scan.text();
                let is_args = depth == 0 && scan.bytes.get(key..scan.at) == Some(b"\"args\"".as_slice());
                scan.at += 1;
                let before = scan.kept;
                scan.kept |= is_args;
                scan.value(depth + 1);
                scan.kept = before;
            }),
            Some(b'[') => self.inside(b']', |scan| scan.value(depth + 1)),
            Some(b'"') => self.text(),
            Some(_) | None => {
                while self.bytes.get(self.at).is_some_and(|byte| !matches!(byte, b',' | b'}' | b']')) {
                    self.at += 1;
                }
            }
        }
        if let Some(place) = number.and_then(|number| self.found.get_mut(number)) {
            place.1 = self.at;
        }
    }

    fn inside(&mut self, end: u8, mut each: impl FnMut(&mut Self)) {
        self.at += 1;
        while self.bytes.get(self.at).is_some_and(|byte| *byte != end) {
            let before = self.at;
            each(self);
            if self.bytes.get(self.at) == Some(&b',') {
                self.at += 1;
            }
            if self.at <= before {
                return;
            }
        }
        self.at += 1;
    }

    fn text(&mut self) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_found_where_it_stands() {
        let text = r#"{"agents":[{"args":1}],"args":{"a":"x\"}","b":[1,{}],"c":null},"v":1}"#;
        let found: Vec<&str> = of_arguments(text).into_iter().map(|(from, to)| &text[from..to]).collect();
        assert_eq!(found, [r#"{"a":"x\"}","b":[1,{}],"c":null}"#, r#""x\"}""#, "[1,{}]", "1", "{}", "null"]);
    }

    #[test]
    fn anything_else_ends() {
        for text in ["", "{", "{\"args\"", "{\"args\":", "[[[", "\"\\", "}", "{,}", "[,", "{\"args\":{\"a\"}}"] {
            let found = of_arguments(text);
            assert!(found.iter().all(|(from, to)| from <= to), "{text}");
        }
    }
}
