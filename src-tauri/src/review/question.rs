//! The value question: what an approver of something irreversible must answer from this request.

use vidimus_core::render::{NodeKind, Reading};
use vidimus_core::table::Format;

use crate::review::card::{Card, Value};
use crate::strings;
use crate::text::literal::{has_chips, one_line};
use crate::text::money::{Typed, typed};

/// What is asked of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The amount, in a currency that is named.
    Amount { currency: String },
    /// The last characters of an account number.
    Tail,
    /// The whole text.
    Whole,
}

/// A question that was put, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Tells questions of one window apart.
    pub id: String,
    pub prompt: String,
    pub unit: String,
    /// One right answer among close ones, for those who cannot type it.
    pub options: Vec<String>,
    pub answered: bool,
    path: String,
    kind: Kind,
    expected: String,
}

/// What an answer was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Right,
    Wrong,
    /// It could mean two values: asked again, not counted.
    Ambiguous,
}

/// Characters of the tail of an account number that is asked for.
const TAIL_CHARS: usize = 6;

/// A question about this request, a different one than `before` where the row names more than one
/// value; and different ones than those `others` were asked, as far as the row names enough. Nothing when the row names
/// no value that can be asked.
pub fn ask(card: &Card, before: Option<&Asked>, others: &[String], random: [u8; 16]) -> Option<Asked> {
    let row = card.row.as_ref()?;
    let frozen = card.frozen.as_ref()?;
    let mut candidates: Vec<(&Value, Kind)> = row
        .salient
        .iter()
        .filter_map(|path| card.value_at(&path.pointer()))
        .filter_map(|value| kind_of(value, frozen).map(|kind| (value, kind)))
        .collect();
    if candidates.is_empty() {
        candidates.extend(card.texts().filter(|(_, text)| !text.is_empty()).map(|(value, _)| (value, Kind::Whole)).take(1));
    }
    if candidates.len() > 1
        && let Some(before) = before
    {
        candidates.retain(|(value, _)| value.node.path != before.path);
    }
    if candidates.iter().any(|(value, _)| !others.contains(&value.node.path)) {
        candidates.retain(|(value, _)| !others.contains(&value.node.path));
    }
    let at = usize::from(random[0]) % candidates.len().max(1);
    let (value, kind) = candidates.into_iter().nth(at)?;
    let expected = expected_of(value, &kind);
    let name = value.name();
    let (prompt, unit) = match &kind {
        Kind::Amount { currency } => (strings::ask_amount(&name), currency.clone()),
        Kind::Tail => (strings::ask_tail(&name, TAIL_CHARS), String::new()),
        Kind::Whole => (strings::ask_whole(&name), String::new()),
    };
    let options = options_of(&kind, &expected, random);
    let id: String = random[8..].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Asked { id, prompt, unit, options, answered: false, path: value.node.path.clone(), kind, expected })
}

impl Asked {
    /// Judges what was typed or picked.
    pub fn judge(&self, answer: &str) -> Verdict {
        let right = match &self.kind {
            Kind::Amount { currency } => match typed(answer, currency) {
                Typed::Ambiguous => return Verdict::Ambiguous,
                Typed::Minor(minor) => minor == self.expected,
                Typed::NotAnAmount => false,
            },
            Kind::Tail => {
                let plain: String = answer.chars().filter(|c| !c.is_whitespace()).collect();
                plain.to_uppercase() == self.expected.to_uppercase()
            }
            Kind::Whole => answer.trim() == self.expected.trim() || answer == one_line(&self.expected),
        };
        if right { Verdict::Right } else { Verdict::Wrong }
    }

    /// Where the asked value stands, for the record of what was on the screen.
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn kind_of(value: &Value, frozen: &vidimus_core::frozen::FrozenRequest) -> Option<Kind> {
    match (&value.node.format, value.node.kind) {
        (Some(Format::Money { currency }), NodeKind::Number) => {
            let currency = currency.find(&frozen.members().args)?.as_str()?.to_owned();
            matches!(value.reading, Some(Reading::Money(_))).then_some(Kind::Amount { currency })
        }
        // An alias is short and has no groups: it is asked for whole.
        (Some(Format::Account), NodeKind::String) if matches!(value.reading, Some(Reading::Account { checked: Some(_), .. })) => {
            Some(Kind::Tail)
        }
        (_, _) if value.hidden.is_some() => None,
        (_, NodeKind::String | NodeKind::Number) if !value.node.literal.trim().is_empty() => Some(Kind::Whole),
        _ => None,
    }
}

fn expected_of(value: &Value, kind: &Kind) -> String {
    match kind {
        Kind::Amount { .. } | Kind::Whole => value.node.literal.clone(),
        Kind::Tail => {
            let count = value.node.literal.chars().count();
            value.node.literal.chars().skip(count.saturating_sub(TAIL_CHARS)).collect()
        }
    }
}

/// One right answer and three close ones, in an order that the random bytes give.
fn options_of(kind: &Kind, expected: &str, random: [u8; 16]) -> Vec<String> {
    // A value with hidden characters is picked by what it looks like with them made visible.
    let drawn = |text: &str| if has_chips(text) { one_line(text) } else { text.to_owned() };
    let mut options: Vec<String> = match kind {
        Kind::Amount { currency } => {
            let close = [expected.to_owned(), format!("{expected}0"), swapped(expected), nudged(expected), nudged(&nudged(expected))];
            let mut shown: Vec<String> = close.iter().filter_map(|minor| vidimus_core::money::format_minor(minor, currency)).collect();
            shown.dedup();
            shown
        }
        Kind::Tail | Kind::Whole => {
            [expected.to_owned(), swapped(expected), nudged(expected), nudged(&swapped(expected)), nudged(&nudged(expected))]
                .iter()
                .map(|text| drawn(text))
                .collect()
        }
    };
    let mut unique: Vec<String> = Vec::new();
    for option in options.drain(..) {
        if !unique.contains(&option) && unique.len() < 4 {
            unique.push(option);
        }
    }
    for at in (1..unique.len()).rev() {
        unique.swap(at, usize::from(random[at]) % (at + 1));
    }
    unique
}

/// Two neighbouring characters exchanged, the last pair that differs.
fn swapped(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for at in (1..characters.len()).rev() {
        let alike = characters[at] == characters[at - 1];
        if !alike && characters[at].is_alphanumeric() && characters[at - 1].is_alphanumeric() && !(at == 1 && characters[at] == '0') {
            characters.swap(at, at - 1);
            return characters.into_iter().collect();
        }
    }
    nudged(text)
}

/// The middle letter or digit moved by one.
fn nudged(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let middle = characters.len() / 2;
    let order = (middle..characters.len()).chain(0..middle).collect::<Vec<_>>();
    for at in order {
        let next = match characters[at] {
            '9' => '2',
            'z' => 'a',
            'Z' => 'A',
            other if other.is_ascii_alphanumeric() => char::from_u32(u32::from(other) + 1).unwrap_or(other),
            _ => continue,
        };
        characters[at] = next;
        return characters.into_iter().collect();
    }
    format!("{text}1")
}
