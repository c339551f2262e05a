//! Splits a value into what may be drawn as itself and what must be drawn as a labelled chip.

use crate::limits::COMBINING_MARKS_MAX;
use crate::text::characters::{code_point, is_mark, is_right_to_left, unseen};
use crate::text::disguise;

/// Why a chip is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It cannot be seen, or changes how what follows is read.
    Unseen,
    /// It could be taken for another character.
    PassesForAnother,
    /// Spaces that could not be counted inside or at the end of a line.
    Spaces,
}

/// One piece of a value, in order. The pieces together lose nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Characters drawn as themselves.
    Plain(String),
    /// Right-to-left characters drawn in a box of their own.
    RightToLeft(String),
    /// A character that cannot be seen or could mislead, drawn as its name and code point.
    Chip { label: String, code_points: String, why: Why },
    /// A line break of the value: drawn as a sign, then the next line.
    LineBreak,
}

/// The pieces of `value`, with every character accounted for.
pub fn pieces(value: &str) -> Vec<Piece> {
    let characters: Vec<char> = value.chars().collect();
    let disguised = disguise::found_in(value);
    let mut out = Writer::default();
    let mut at = 0;
    while at < characters.len() {
        let spaces = characters[at..].iter().take_while(|character| **character == ' ').count();
        if spaces > 0 {
            out.spaces(spaces, at == 0, characters.get(at + spaces).copied());
            at += spaces;
        } else {
            out.push(characters[at], disguised.contains(&at));
            at += 1;
        }
    }
    out.pieces
}

/// The pieces in blocks of at most `characters`, so that each block can be on screen whole.
pub fn blocks(value: &str, characters: usize) -> Vec<Vec<Piece>> {
    let mut blocks = vec![Vec::new()];
    let mut room = characters;
    for piece in pieces(value) {
        for part in split(piece, characters) {
            let length = length_of(&part);
            if length > room {
                blocks.push(Vec::new());
                room = characters;
            }
            room -= length.min(room);
            if let Some(block) = blocks.last_mut() {
                block.push(part);
            }
        }
    }
    blocks
}

fn length_of(piece: &Piece) -> usize {
    match piece {
        Piece::Plain(text) | Piece::RightToLeft(text) => text.chars().count(),
        Piece::Chip { .. } => 12,
        // The rest of the line stays empty.
        Piece::LineBreak => 40,
    }
}

fn split(piece: Piece, characters: usize) -> Vec<Piece> {
    match piece {
        Piece::Plain(text) => at_words(&text, characters).into_iter().map(Piece::Plain).collect(),
        Piece::RightToLeft(text) => at_words(&text, characters).into_iter().map(Piece::RightToLeft).collect(),
        Piece::Chip { .. } | Piece::LineBreak => vec![piece],
    }
}

/// Cuts after a space where there is one, else anywhere.
fn at_words(text: &str, characters: usize) -> Vec<String> {
    let mut rest: Vec<char> = text.chars().collect();
    let mut parts = Vec::new();
    while rest.len() > characters {
        let cut = rest[..characters].iter().rposition(|character| *character == ' ').map_or(characters, |at| at + 1);
        let tail = rest.split_off(cut);
        parts.push(rest.into_iter().collect());
        rest = tail;
    }
    parts.push(rest.into_iter().collect());
    parts
}

/// Whether some of the value is drawn as a chip for this reason.
pub fn has(value: &str, reason: Why) -> bool {
    pieces(value).iter().any(|piece| matches!(piece, Piece::Chip { why, .. } if *why == reason))
}

/// Whether some of the value is not drawn as itself.
pub fn has_chips(value: &str) -> bool {
    pieces(value).iter().any(|piece| matches!(piece, Piece::Chip { .. }))
}

/// The value on one line, chips in brackets: for sentences, rows and buttons.
pub fn one_line(value: &str) -> String {
    let mut line = String::new();
    for piece in pieces(value) {
        match piece {
            Piece::Plain(text) | Piece::RightToLeft(text) => line.push_str(&text),
            Piece::Chip { label, code_points, .. } => {
                line.push('[');
                line.push_str(&chip_text(&label, &code_points));
                line.push(']');
            }
            Piece::LineBreak => line.push('⏎'),
        }
    }
    line
}

/// The right-to-left letters of some pieces, each with its code point, in the order in which they stand in the value.
pub fn right_to_left_letters(pieces: &[Piece]) -> Vec<(char, String)> {
    let runs = pieces.iter().filter_map(|piece| match piece {
        Piece::RightToLeft(text) => Some(text),
        Piece::Plain(_) | Piece::Chip { .. } | Piece::LineBreak => None,
    });
    runs.flat_map(|text| text.chars()).map(|letter| (letter, code_point(letter))).collect()
}

/// The words on a chip.
pub fn chip_text(label: &str, code_points: &str) -> String {
    if label.starts_with("space x") { label.to_owned() } else { format!("{label} {code_points}") }
}

fn space_label(count: usize) -> String {
    format!("space x{count}")
}

#[derive(Default)]
struct Writer {
    pieces: Vec<Piece>,
    marks: usize,
}

impl Writer {
    fn push(&mut self, character: char, disguised: bool) {
        if character == '\n' {
            self.marks = 0;
            self.pieces.push(Piece::LineBreak);
            return;
        }
        self.marks = if is_mark(character) { self.marks + 1 } else { 0 };
        let alone = self.marks > 0 && !matches!(self.pieces.last(), Some(Piece::Plain(_) | Piece::RightToLeft(_)));
        if let Some(name) = unseen(character) {
            self.chip(name.to_owned(), &code_point(character), Why::Unseen);
        } else if self.marks > 0 && (disguised || alone || self.marks > COMBINING_MARKS_MAX) {
            let why = if disguised { Why::PassesForAnother } else { Why::Unseen };
            self.chip("combining mark".to_owned(), &code_point(character), why);
        } else if disguised {
            self.chip(character.to_string(), &code_point(character), Why::PassesForAnother);
        } else if is_right_to_left(character) {
            match self.pieces.last_mut() {
                Some(Piece::RightToLeft(text)) => text.push(character),
                _ => self.pieces.push(Piece::RightToLeft(character.to_string())),
            }
        } else {
            match self.pieces.last_mut() {
                Some(Piece::Plain(text)) => text.push(character),
                Some(Piece::RightToLeft(text)) if self.marks > 0 => text.push(character),
                _ => self.pieces.push(Piece::Plain(character.to_string())),
            }
        }
    }

    /// A run of spaces before `next`: one between two words is drawn as itself, and what could not be counted is told.
    fn spaces(&mut self, count: usize, first: bool, next: Option<char>) {
        let outside = first || next.is_none();
        if count > 1 || outside || next == Some('\n') {
            let why = if outside { Why::Unseen } else { Why::Spaces };
            self.marks = 0;
            self.chip(space_label(count), "U+0020", why);
        } else {
            self.push(' ', false);
        }
    }

    fn chip(&mut self, label: String, code_points: &str, why: Why) {
        self.pieces.push(Piece::Chip { label, code_points: code_points.to_owned(), why });
    }
}

#[cfg(test)]
mod tests {
    use unicode_security::confusable_detection::skeleton;

    use super::*;

    fn drawn(value: &str) -> String {
        one_line(value)
    }

    #[test]
    fn what_cannot_be_seen_is_named() {
        let cases = [
            ("invoice \u{202e}0051 RUE\u{202c}", "invoice [direction override U+202E]0051 RUE[direction override U+202C]"),
            ("AC\u{200b}ME", "AC[zero-width space U+200B]ME"),
            ("ME\u{2066} Ltd\u{2069}", "ME[direction override U+2066] Ltd[direction override U+2069]"),
            ("\u{1b}[2K ok", "[control U+001B][2K ok"),
            ("  x ", "[space x2]x[space x1]"),
            ("   ", "[space x3]"),
            ("a\tb\r\nc", "a[tab U+0009]b[CR U+000D]⏎c"),
            ("a\u{a0}b", "a[no-break space U+00A0]b"),
            ("x\u{e0041}", "x[tag character U+E0041]"),
            ("\u{e000}", "[private use U+E000]"),
            ("\u{378}", "[unassigned U+0378]"),
            ("a\u{2003}b", "a[unusual space U+2003]b"),
            ("\u{1780}\u{17B4}", "\u{1780}[invisible vowel U+17B4]"),
            ("a  b", "a[space x2]b"),
            ("a \n b", "a[space x1]⏎ b"),
            ("plain Ünïcode", "plain Ünïcode"),
            ("", ""),
        ];
        for (value, expected) in cases {
            assert_eq!(drawn(value), expected);
        }
    }

    #[test]
    fn a_foreign_letter_inside_a_word_is_a_chip() {
        assert_eq!(drawn("A\u{421}ME GmbH"), "A[\u{421} U+0421]ME GmbH");
        assert_eq!(drawn("\u{410}cme"), "[\u{410} U+0410]cme");
        assert_eq!(drawn("273 \u{212A}"), "273 [\u{212A} U+212A]");
        assert_eq!(drawn("cafe\u{301}"), "cafe[combining mark U+0301]");
    }

    #[test]
    fn stacked_marks_become_chips() {
        let value = format!("x{}", "\u{301}".repeat(6));
        let chips = pieces(&value).iter().filter(|piece| matches!(piece, Piece::Chip { .. })).count();
        assert_eq!(chips, 6 - COMBINING_MARKS_MAX);
    }

    #[test]
    fn a_mark_without_a_base_is_a_chip() {
        assert_eq!(drawn("\u{301}x"), "[combining mark U+0301]x");
    }

    #[test]
    fn different_values_are_drawn_differently() {
        let values = [
            "",
            " ",
            "  ",
            "a",
            "a ",
            " a",
            "a\u{200b}",
            "a\u{200c}",
            "a\n",
            "a\r",
            "\u{0430}",
            "aа",
            "a\u{feff}",
            "⏎",
            "\n",
            "é",
            "e\u{301}",
            "K",
            "\u{212A}",
            "a  b",
            "a b",
            "a   b",
            "a \n",
            "РАУ",
            "PAY",
            "ﬁ",
            "fi",
            "a/b",
            "a\u{2215}b",
            "a-b",
            "a\u{2010}b",
        ];
        for (index, one) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                let look = |value: &str| skeleton(&one_line(value)).collect::<String>();
                assert_ne!(look(one), look(other), "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn blocks_lose_nothing() {
        let value = format!(" {}\u{200b}\n{} ", "word ".repeat(500), "x".repeat(2_000));
        let whole: Vec<Piece> = pieces(&value);
        let text = |pieces: &[Piece]| -> String {
            pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Plain(text) | Piece::RightToLeft(text) => text.clone(),
                    Piece::Chip { code_points, .. } => code_points.clone(),
                    Piece::LineBreak => "\n".to_owned(),
                })
                .collect()
        };
        let blocks = blocks(&value, 400);
        assert!(blocks.len() > 10);
        assert_eq!(text(&blocks.concat()), text(&whole));
        assert!(blocks.iter().all(|block| text(block).chars().count() <= 420));
    }

    #[test]
    fn right_to_left_text_stands_apart() {
        assert_eq!(
            pieces("pay שלום now"),
            vec![Piece::Plain("pay ".into()), Piece::RightToLeft("שלום".into()), Piece::Plain(" now".into())]
        );
    }
}
