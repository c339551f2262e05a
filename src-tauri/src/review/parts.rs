//! The parts of a request that must each have been on screen, and the pages they are on.

use std::collections::BTreeSet;

use crate::limits::{PART_CHARS, PARTS_PER_PAGE, VALUE_PAGE_CHARS};
use crate::review::card::Card;
use crate::text::literal::{Piece, blocks};

use vidimus_core::render::NodeKind;

/// What a part shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The warnings above the arguments.
    Warnings,
    /// A value that fits into one part.
    Value { index: usize },
    /// A block of a long text.
    Block { index: usize, number: usize, of: usize, pieces: Vec<Piece> },
    /// The agent's own words.
    Says,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub number: usize,
    pub page: usize,
    pub shown: Shown,
}

/// All parts of a request, in the order of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    parts: Vec<Part>,
    pages: usize,
}

impl Parts {
    pub fn of(card: &Card) -> Self {
        let mut parts = Vec::new();
        let (mut page, mut on_page, mut characters) = (1, 0, 0);
        if !card.warnings.is_empty() {
            parts.push(Part { number: 0, page: 1, shown: Shown::Warnings });
        }
        for (index, value) in card.values.iter().enumerate() {
            let mut shown = Vec::new();
            let long = value.hidden.is_none() && value.node.kind == NodeKind::String && value.node.literal.chars().count() > PART_CHARS;
            if long {
                let all = blocks(&value.node.literal, PART_CHARS);
                let of = all.len();
                shown.extend(all.into_iter().enumerate().map(|(at, pieces)| Shown::Block { index, number: at + 1, of, pieces }));
            } else {
                shown.push(Shown::Value { index });
            }
            for shown in shown {
                let length = if long { PART_CHARS } else { value.node.literal.chars().count().min(PART_CHARS) };
                if on_page >= PARTS_PER_PAGE || characters + length > VALUE_PAGE_CHARS {
                    page += 1;
                    (on_page, characters) = (0, 0);
                }
                on_page += 1;
                characters += length;
                parts.push(Part { number: parts.len(), page, shown });
            }
        }
        if card.listed.says.is_some() {
            parts.push(Part { number: parts.len(), page: 1, shown: Shown::Says });
        }
        Self { parts, pages: page }
    }

    /// Part numbers with their pages.
    pub fn all(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.parts.iter().map(|part| (part.number, part.page))
    }

    /// The values that stand on some page.
    pub fn values(&self) -> BTreeSet<usize> {
        self.parts
            .iter()
            .filter_map(|part| match part.shown {
                Shown::Value { index } | Shown::Block { index, .. } => Some(index),
                Shown::Warnings | Shown::Says => None,
            })
            .collect()
    }

    pub fn count(&self) -> usize {
        self.parts.len()
    }

    pub fn pages(&self) -> usize {
        self.pages
    }

    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    pub fn on_page(&self, page: usize) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.page == page)
    }

    pub fn page_of(&self, number: usize) -> Option<usize> {
        self.parts.get(number).map(|part| part.page)
    }
}
