//! Splits a value into what may be drawn as itself and what must be drawn as a labelled chip.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use crate::limits::COMBINING_MARKS_MAX;
use crate::text::looks;

/// One piece of a value, in order. The pieces together lose nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Characters drawn as themselves.
    Plain(String),
    /// Right-to-left characters drawn in a box of their own.
    RightToLeft(String),
    /// A character that cannot be seen or could mislead, drawn as its name and code point.
    Chip { label: String, code_points: String },
    /// A line break of the value: drawn as a sign, then the next line.
    LineBreak,
}

/// The pieces of `value`, with every character accounted for.
pub fn pieces(value: &str) -> Vec<Piece> {
    let characters: Vec<char> = value.chars().collect();
    let foreign = looks::foreign_letters(value);
    let leading = run_of_spaces(characters.iter());
    let trailing = if leading == characters.len() { 0 } else { run_of_spaces(characters.iter().rev()) };
    let mut out = Writer::default();
    if leading > 0 {
        out.chip(space_label(leading), "U+0020");
    }
    let end = characters.len() - trailing;
    for (index, &character) in characters.iter().enumerate().take(end).skip(leading) {
        out.push(character, foreign.contains(&index));
    }
    if trailing > 0 {
        out.chip(space_label(trailing), "U+0020");
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

/// Whether some of the value is drawn as a chip because it could not be seen or could mislead.
pub fn has_hidden(value: &str) -> bool {
    pieces(value).iter().any(|piece| matches!(piece, Piece::Chip { .. }))
}

/// The value on one line, chips in brackets: for sentences, rows and buttons.
pub fn one_line(value: &str) -> String {
    let mut line = String::new();
    for piece in pieces(value) {
        match piece {
            Piece::Plain(text) | Piece::RightToLeft(text) => line.push_str(&text),
            Piece::Chip { label, code_points } => {
                line.push('[');
                line.push_str(&chip_text(&label, &code_points));
                line.push(']');
            }
            Piece::LineBreak => line.push('⏎'),
        }
    }
    line
}

/// The words on a chip.
pub fn chip_text(label: &str, code_points: &str) -> String {
    if label.starts_with("space x") { label.to_owned() } else { format!("{label} {code_points}") }
}

fn space_label(count: usize) -> String {
    format!("space x{count}")
}

fn run_of_spaces<'a>(characters: impl Iterator<Item = &'a char>) -> usize {
    characters.take_while(|character| **character == ' ').count()
}

#[derive(Default)]
struct Writer {
    pieces: Vec<Piece>,
    marks: usize,
}

impl Writer {
    fn push(&mut self, character: char, foreign: bool) {
        if character == '\n' {
            self.marks = 0;
            self.pieces.push(Piece::LineBreak);
            return;
        }
        self.marks = if is_mark(character) { self.marks + 1 } else { 0 };
        let alone = self.marks > 0 && !matches!(self.pieces.last(), Some(Piece::Plain(_) | Piece::RightToLeft(_)));
        if let Some(name) = chip_name(character) {
            self.chip(name, &code_point(character));
        } else if foreign {
            self.chip(character.to_string(), &code_point(character));
        } else if self.marks > COMBINING_MARKS_MAX || alone {
            self.chip("combining mark".to_owned(), &code_point(character));
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

    fn chip(&mut self, label: String, code_points: &str) {
        self.pieces.push(Piece::Chip { label, code_points: code_points.to_owned() });
    }
}

fn code_point(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

fn is_mark(character: char) -> bool {
    matches!(character.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::SpacingMark)
}

/// Why a character is not drawn as itself, or nothing if it is.
fn chip_name(character: char) -> Option<String> {
    let named = match character {
        ' ' => return None,
        '\t' => "tab",
        '\r' => "CR",
        '\u{A0}' => "no-break space",
        '\u{AD}' => "soft hyphen",
        '\u{34F}' => "grapheme joiner",
        '\u{61C}' | '\u{200E}' | '\u{200F}' => "direction mark",
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => "blank letter",
        '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => "variation selector",
        '\u{200B}' => "zero-width space",
        '\u{200C}' | '\u{200D}' => "zero-width joiner",
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => "direction override",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{2060}'..='\u{2064}' | '\u{206A}'..='\u{206F}' => "invisible",
        '\u{2800}' => "blank braille",
        '\u{FEFF}' => "zero-width no-break space",
        '\u{FFF9}'..='\u{FFFB}' => "annotation",
        '\u{FFFC}' => "object replacement",
        '\u{FFFD}' => "replacement character",
        '\u{E0000}'..='\u{E007F}' => "tag character",
        _ => return category_name(character).map(ToOwned::to_owned),
    };
    Some(named.to_owned())
}

fn category_name(character: char) -> Option<&'static str> {
    match character.general_category() {
        GeneralCategory::Control => Some("control"),
        GeneralCategory::Format => Some("format"),
        GeneralCategory::PrivateUse => Some("private use"),
        GeneralCategory::Unassigned => Some("unassigned"),
        GeneralCategory::Surrogate => Some("surrogate"),
        GeneralCategory::SpaceSeparator => Some("unusual space"),
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => Some("line separator"),
        _ => None,
    }
}

fn is_right_to_left(character: char) -> bool {
    matches!(
        u32::from(character),
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF
    )
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn stacked_marks_become_chips() {
        let value = format!("a{}", "\u{301}".repeat(6));
        let chips = pieces(&value).iter().filter(|piece| matches!(piece, Piece::Chip { .. })).count();
        assert_eq!(chips, 6 - COMBINING_MARKS_MAX);
    }

    #[test]
    fn a_mark_without_a_base_is_a_chip() {
        assert_eq!(drawn("\u{301}x"), "[combining mark U+0301]x");
    }

    #[test]
    fn different_values_are_drawn_differently() {
        let values = ["", " ", "  ", "a", "a ", " a", "a\u{200b}", "a\u{200c}", "a\n", "a\r", "\u{0430}", "aа", "a\u{feff}", "⏎", "\n"];
        for (index, one) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                assert_ne!(pieces(one), pieces(other), "{one:?} and {other:?}");
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
