//! Characters that pass for others: two values that differ must not look the same.
//!
//! Knows the tables of UTS 39 (what looks like what) and of normalization (what is another spelling of what). A word in an
//! alphabet of its own is left as it is; one that could be read as ASCII is not.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};
use unicode_security::GeneralSecurityProfile as _;
use unicode_security::confusable_detection::skeleton;

use crate::text::characters::{is_mark, unseen};
use crate::text::looks;

/// Indices, in characters, of what is to be drawn with its code point because it could be taken for something else.
pub fn found_in(value: &str) -> BTreeSet<usize> {
    if value.is_ascii() {
        return BTreeSet::new();
    }
    let characters: Vec<char> = value.chars().collect();
    let mut found = looks::foreign_letters(value);
    found.extend((0..characters.len()).filter(|at| is_another_form(&characters, *at) || passes_for_a_sign(&characters, *at)));
    found.extend(spelled_apart(&characters));
    for word in looks::words(&characters) {
        found.extend(passing_for_ascii(&characters[word.clone()]).into_iter().map(|at| word.start + at));
        found.extend(other_digits(&characters[word.clone()]).into_iter().map(|at| word.start + at));
    }
    found
}

/// Another form of characters that have their usual one, such as a full-width letter, a ligature or the sign for kelvin; or a
/// letter that no living language is written with.
fn is_another_form(characters: &[char], at: usize) -> bool {
    let character = characters[at];
    if character.is_ascii() || unseen(character).is_some() || is_mark(character) {
        return false;
    }
    // This console's own sign for a line break.
    if character == '\u{23CE}' {
        return true;
    }
    let is_letter = is_letter(character);
    if !is_letter && beside_east_asian(characters, at) {
        return false;
    }
    !std::iter::once(character).eq(std::iter::once(character).nfkc()) || (is_letter && !character.identifier_allowed())
}

/// Characters that follow another one and would be written together with it as one: an accent apart from its letter.
fn spelled_apart(characters: &[char]) -> BTreeSet<usize> {
    let follows = |character: char| is_mark(character) || matches!(character, '\u{1161}'..='\u{11FF}');
    let mut found = BTreeSet::new();
    let mut start = 0;
    while start < characters.len() {
        let length = 1 + characters[start + 1..].iter().take_while(|character| follows(**character)).count();
        let together = &characters[start..start + length];
        // The first one alone may have another form, which is told of it and not of what follows.
        if length > 1 && together.iter().copied().nfc().count() < length {
            found.extend(start + 1..start + length);
        }
        start += length;
    }
    found
}

/// In a word that could be read as written in ASCII throughout: what is not.
fn passing_for_ascii(word: &[char]) -> Vec<usize> {
    // What cannot be seen, and accents, change nothing of how the letters look.
    let stands_out = |character: char| !character.is_ascii() && !is_mark(character) && unseen(character).is_none();
    let others: Vec<usize> = (0..word.len()).filter(|at| stands_out(word[*at])).collect();
    if others.iter().all(|at| passes_for_latin(word[*at])) { others } else { Vec::new() }
}

/// Digits of another script beside ASCII ones.
fn other_digits(word: &[char]) -> Vec<usize> {
    let is_other = |character: char| !character.is_ascii() && character.general_category() == GeneralCategory::DecimalNumber;
    let others: Vec<usize> = (0..word.len()).filter(|at| is_other(word[*at])).collect();
    if word.iter().any(char::is_ascii_digit) { others } else { Vec::new() }
}

/// A sign that passes for an ASCII one: a slash that is none, a dot that is none. Quotation marks and dashes are told apart by
/// anybody, and stand in every letter.
fn passes_for_a_sign(characters: &[char], at: usize) -> bool {
    let character = characters[at];
    let told_apart = matches!(character, '\u{2013}' | '\u{2014}' | '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}');
    !character.is_ascii()
        && !told_apart
        && !is_letter(character)
        && !is_mark(character)
        && character.general_category() != GeneralCategory::DecimalNumber
        && !beside_east_asian(characters, at)
        && passes_for_one(character)
}

/// Whether it looks like one ASCII character.
fn passes_for_one(character: char) -> bool {
    let mut looks_like = looks_like(character).into_iter();
    looks_like.next().is_some_and(|first| first.is_ascii()) && looks_like.next().is_none()
}

/// The same for a letter of another alphabet that looks like a Latin one with an accent.
fn passes_for_latin(character: char) -> bool {
    let looks_like = looks_like(character);
    let accented = character.script() != Script::Latin && looks_like.iter().skip(1).all(|mark| is_mark(*mark));
    looks_like.first().is_some_and(char::is_ascii) && (looks_like.len() == 1 || accented)
}

fn looks_like(character: char) -> Vec<char> {
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    skeleton(text).collect()
}

fn is_letter(character: char) -> bool {
    matches!(
        character.general_category(),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::LetterNumber
    )
}

/// Wide signs belong beside the scripts that are written with them.
fn beside_east_asian(characters: &[char], at: usize) -> bool {
    let is_east_asian = |character: &char| {
        matches!(character.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
    };
    let before = at.checked_sub(1).and_then(|before| characters.get(before));
    before.is_some_and(is_east_asian) || characters.get(at + 1).is_some_and(is_east_asian)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: &str) -> Vec<usize> {
        found_in(value).into_iter().collect()
    }

    #[test]
    fn what_passes_for_something_else_is_found() {
        let cases = [
            ("A\u{421}ME", vec![1], "one letter of another alphabet"),
            ("\u{420}\u{410}\u{423}", vec![0, 1, 2], "a whole word of them"),
            ("\u{440}\u{430}\u{443}\u{440}\u{430}l", vec![0, 1, 2, 3, 4, 5], "and one letter that is not of it"),
            ("273 \u{212A}", vec![4], "the sign for kelvin"),
            ("\u{FF21}CME", vec![0], "a full-width letter"),
            ("\u{1D400}CME", vec![0], "a letter of mathematics"),
            ("\u{FB01}nal", vec![0], "a ligature"),
            ("cafe\u{301}", vec![4], "an accent apart from its letter"),
            ("o\u{323}\u{302}", vec![1, 2], "two of them"),
            ("k\u{131}l", vec![1], "an i without its dot"),
            ("safe.com\u{2215}data", vec![8], "a slash that is none"),
            ("INV\u{2010}1001", vec![3], "a hyphen that is none"),
            ("INV\u{2212}1001", vec![3], "a minus that is none"),
            ("a\u{2024}b", vec![1], "a dot that is none"),
            ("1\u{662}3", vec![1], "a digit of another script"),
            ("10\u{00B2}", vec![2], "a digit above the line"),
            ("\u{16A0}\u{16B1}", vec![0, 1], "letters that nobody writes with"),
            ("\u{420}\u{200B}\u{410}", vec![0, 2], "with something unseen between"),
            ("\u{435}\u{451}", vec![0, 1], "with an accent that Latin has too"),
        ];
        for (value, expected, why) in cases {
            assert_eq!(at(value), expected, "{why}: {value:?}");
        }
    }

    #[test]
    fn what_languages_are_written_in_is_left_as_it_is() {
        for value in [
            "",
            "ACME GmbH, INV-1001 / 42.00",
            "Café Zürich, straße, Łódź, Gävle, Ærø, Þór, Đà Nẵng",
            "it\u{2019}s \u{201C}fine\u{201D} \u{2013} and so on",
            "Привет, мир",
            "Καλημέρα κόσμε",
            "東京タワー、大阪。（支払い）",
            "你好，世界！",
            "한국어 문장",
            "שלום עולם",
            "مرحبا ١٢٣",
            "नमस्ते १२३",
            "สวัสดี",
            "€ 4.200,00 – 19 % §",
            "ok \u{1F600}",
        ] {
            assert_eq!(at(value), Vec::<usize>::new(), "{value}");
        }
    }
}
