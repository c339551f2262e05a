//! What a notification says. Pure.
//!
//! It knows only what the verified request says; the agent's own words have no place in [`Subject`]. Everything that comes from
//! an argument loses what cannot be seen, stands on a line of its own and is never cut inside a word.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use vidimus_core::ids::Reversibility;

use super::limits::HEADLINE_CHARS;
use super::plan::InDoubt;
use super::strings;
use crate::limits::{COMBINING_MARKS_MAX, NOTIFICATION_NAME_CHARS};
use crate::settings::Privacy;

/// Whether the request moves an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// One of its fields is an amount of money.
    Payment,
    /// Anything else that waits for approval.
    Action,
}

/// What may be said of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub matter: Matter,
    pub reversibility: Reversibility,
    /// The agent's name as the frozen request has it.
    pub agent: String,
    /// The row's summary filled with verified arguments, without a full stop.
    pub headline: String,
    /// The last moment to decide, as the person reads it: `14:32`.
    pub expires: String,
}

/// A title and a text, both without markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub summary: String,
    pub body: String,
}

/// The text for one request, where `waiting` requests wait in all.
pub fn one(subject: &Subject, waiting: usize, privacy: Privacy) -> Text {
    let agent_and_expiry =
        format!("{}. {}", shortened(&subject.agent, NOTIFICATION_NAME_CHARS), strings::expires(&clean(&subject.expires).text));
    let mut body = match privacy {
        Privacy::Count => return only_count(waiting),
        // On a line of its own, so that no argument can pass for the agent or the expiry.
        Privacy::Full => format!("{}\n{agent_and_expiry}", sentence(&subject.headline)),
        Privacy::Guarded => format!("{agent_and_expiry} {}", strings::OPEN_TO_SEE_IT),
    };
    if waiting > 1 {
        body.push(' ');
        body.push_str(&strings::waiting_in_all(waiting));
    }
    Text { summary: strings::approval_needed(subject.reversibility, subject.matter), body }
}

/// The text for several requests at a time.
pub fn several(waiting: usize, next_expires: &str, privacy: Privacy) -> Text {
    match privacy {
        Privacy::Count => only_count(waiting),
        Privacy::Full | Privacy::Guarded => {
            Text { summary: strings::waiting_next(waiting, &clean(next_expires).text), body: strings::OPEN_TO_SEE_THEM.to_owned() }
        }
    }
}

/// The text for several irreversible requests that expire within minutes.
pub fn several_urgent(urgent: usize, next_expires: &str, privacy: Privacy) -> Text {
    match privacy {
        Privacy::Count => only_count(urgent),
        Privacy::Full | Privacy::Guarded => {
            Text { summary: strings::irreversible_expire(urgent, &clean(next_expires).text), body: strings::OPEN_TO_SEE_THEM.to_owned() }
        }
    }
}

/// The text for one outcome in doubt.
pub fn one_in_doubt(in_doubt: &InDoubt, privacy: Privacy) -> Text {
    let agent_and_since =
        format!("{}. {}", shortened(&in_doubt.agent, NOTIFICATION_NAME_CHARS), strings::unknown_since(&clean(&in_doubt.since).text));
    let body = match privacy {
        Privacy::Count => return Text { summary: strings::outcomes_waiting(1), body: String::new() },
        Privacy::Full => format!("{}\n{agent_and_since}", sentence(&in_doubt.headline)),
        Privacy::Guarded => format!("{agent_and_since} {}", strings::OPEN_TO_SEE_IT),
    };
    Text { summary: strings::outcome_unknown(in_doubt.matter).to_owned(), body }
}

/// The text for several outcomes in doubt.
pub fn several_in_doubt(count: usize, privacy: Privacy) -> Text {
    match privacy {
        Privacy::Count => Text { summary: strings::outcomes_waiting(count), body: String::new() },
        Privacy::Full | Privacy::Guarded => Text { summary: strings::outcomes_unknown(count), body: strings::OPEN_TO_SEE_THEM.to_owned() },
    }
}

/// What takes its place once the last of them is answered.
pub fn outcome_answered() -> Text {
    Text { summary: strings::OUTCOME_ANSWERED.to_owned(), body: String::new() }
}

/// The text that takes the place of a request's own once another person has decided it.
pub fn decided(subject: &Subject, by: &str, privacy: Privacy) -> Text {
    let body = match privacy {
        Privacy::Count => return Text { summary: strings::DECIDED_BY_ANOTHER.to_owned(), body: String::new() },
        Privacy::Guarded => format!("{}.", shortened(&subject.agent, NOTIFICATION_NAME_CHARS)),
        Privacy::Full => sentence(&subject.headline),
    };
    Text { summary: strings::decided_by(&shortened(by, NOTIFICATION_NAME_CHARS)), body }
}

/// The text for a server that interprets markup in the body.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// One line without anything that cannot be seen, for places outside a window. What was left out is said.
pub fn shortened(value: &str, characters_max: usize) -> String {
    let clean = clean(value);
    let (text, is_cut) = cut(&clean.text, characters_max);
    match (text.is_empty(), is_cut || clean.needs_reading) {
        (_, false) => text.to_owned(),
        (true, true) => strings::READ_ALL.to_owned(),
        (false, true) => format!("{text} {}", strings::READ_ALL),
    }
}

fn only_count(waiting: usize) -> Text {
    Text { summary: strings::requests_waiting(waiting), body: String::new() }
}

fn sentence(headline: &str) -> String {
    let text = shortened(headline, HEADLINE_CHARS);
    if text.ends_with(strings::READ_ALL) { text } else { format!("{text}.") }
}

struct Clean {
    text: String,
    /// What is drawn is not all, or may be drawn in another order.
    needs_reading: bool,
}

fn clean(value: &str) -> Clean {
    let mut text = String::with_capacity(value.len());
    let mut needs_reading = false;
    let mut marks = 0;
    for character in value.chars() {
        marks = if is_mark(character) { marks + 1 } else { 0 };
        match character {
            '\n' => {
                needs_reading = true;
                text.push('⏎');
            }
            _ if character.is_whitespace() => {
                needs_reading |= character != ' ' || text.ends_with(' ');
                if !text.ends_with(' ') {
                    text.push(' ');
                }
            }
            _ if is_invisible(character) || marks > COMBINING_MARKS_MAX => needs_reading = true,
            _ => {
                needs_reading |= is_right_to_left(character);
                text.push(character);
            }
        }
    }
    let trimmed = text.trim();
    Clean { needs_reading: needs_reading || trimmed.len() < text.len(), text: trimmed.to_owned() }
}

fn is_mark(character: char) -> bool {
    matches!(character.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

fn is_invisible(character: char) -> bool {
    let by_category = matches!(
        character.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
            | GeneralCategory::Surrogate
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    );
    // Letters and marks by category, and yet blank.
    let by_name = matches!(
        character,
        '\u{34F}'
            | '\u{115F}'
            | '\u{1160}'
            | '\u{180B}'..='\u{180F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
            | '\u{FFFC}'
            | '\u{E0100}'..='\u{E01EF}'
    );
    by_category || by_name
}

/// Letters that turn the order of what stands beside them.
fn is_right_to_left(character: char) -> bool {
    matches!(u32::from(character), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF)
}

/// The whole words that fit, and whether something was left out.
fn cut(text: &str, characters_max: usize) -> (&str, bool) {
    let Some((end, next)) = text.char_indices().nth(characters_max) else { return (text, false) };
    let fitting = &text[..end];
    let whole = if next == ' ' { fitting } else { fitting.rfind(' ').map_or("", |space| &fitting[..space]) };
    (whole.trim_end(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            matter: Matter::Payment,
            reversibility: Reversibility::Irreversible,
            agent: "billing-bot".to_owned(),
            headline: "EUR 4,200.00 to ACME GmbH".to_owned(),
            expires: "14:32".to_owned(),
        }
    }

    fn text(summary: &str, body: &str) -> Text {
        Text { summary: summary.to_owned(), body: body.to_owned() }
    }

    #[test]
    fn each_level_says_what_it_may() {
        let heading = "Approval needed: irreversible payment";
        let cases = [
            (Privacy::Full, 1, text(heading, "EUR 4,200.00 to ACME GmbH.\nbilling-bot. Expires 14:32.")),
            (Privacy::Full, 3, text(heading, "EUR 4,200.00 to ACME GmbH.\nbilling-bot. Expires 14:32. 3 waiting in all.")),
            (Privacy::Guarded, 1, text(heading, "billing-bot. Expires 14:32. Open the console to see it.")),
            (Privacy::Guarded, 2, text(heading, "billing-bot. Expires 14:32. Open the console to see it. 2 waiting in all.")),
            (Privacy::Count, 1, text("1 request is waiting.", "")),
            (Privacy::Count, 3, text("3 requests are waiting.", "")),
        ];
        for (privacy, waiting, expected) in cases {
            assert_eq!(one(&subject(), waiting, privacy), expected, "{privacy:?} {waiting}");
        }
    }

    #[test]
    fn several_are_counted_and_not_named() {
        assert_eq!(several(4, "14:32", Privacy::Full), text("4 waiting, next expires 14:32", "Open the console to see them."));
        assert_eq!(several(4, "14:32", Privacy::Guarded), several(4, "14:32", Privacy::Full));
        assert_eq!(several(4, "14:32", Privacy::Count), text("4 requests are waiting.", ""));
        let urgent = several_urgent(2, "14:32", Privacy::Guarded);
        assert_eq!(urgent.summary, "2 irreversible requests expire soon, the next at 14:32");
        assert_eq!(several_urgent(2, "14:32", Privacy::Count), text("2 requests are waiting.", ""));
    }

    #[test]
    fn a_decision_of_another_person_is_told_by_level() {
        let cases = [
            (Privacy::Full, text("Decided by Mara Quill", "EUR 4,200.00 to ACME GmbH.")),
            (Privacy::Guarded, text("Decided by Mara Quill", "billing-bot.")),
            (Privacy::Count, text("A request was decided by someone else.", "")),
        ];
        for (privacy, expected) in cases {
            assert_eq!(decided(&subject(), "Mara Quill", privacy), expected);
        }
    }

    #[test]
    fn only_the_full_text_holds_a_payee_or_an_amount() {
        let says = |text: &Text| format!("{} {}", text.summary, text.body);
        for privacy in [Privacy::Guarded, Privacy::Count] {
            for text in [one(&subject(), 1, privacy), one(&subject(), 5, privacy), decided(&subject(), "Mara Quill", privacy)] {
                assert!(!says(&text).contains("ACME") && !says(&text).contains("4,200"), "{text:?}");
            }
        }
        assert!(says(&one(&subject(), 1, Privacy::Full)).contains("ACME"));
    }

    #[test]
    fn something_else_than_a_payment_is_not_called_one() {
        let mail = Subject { matter: Matter::Action, ..subject() };
        assert_eq!(one(&mail, 1, Privacy::Guarded).summary, "Approval needed: irreversible action");
    }

    #[test]
    fn what_cannot_be_seen_is_left_out_and_that_is_said() {
        let cases = [
            ("AC\u{200b}ME", "ACME (open to read all)"),
            ("ME\u{2066} Ltd\u{2069}", "ME Ltd (open to read all)"),
            ("invoice \u{202e}0051 RUE\u{202c}", "invoice 0051 RUE (open to read all)"),
            ("\u{1b}[2K ok", "[2K ok (open to read all)"),
            ("ok\nAmount: 1.00 EUR", "ok⏎Amount: 1.00 EUR (open to read all)"),
            ("a\u{2028}b", "a b (open to read all)"),
            ("a\u{e0041}b\u{3164}c\u{fe0f}", "abc (open to read all)"),
            ("a\u{a0}b", "a b (open to read all)"),
            ("a\tb\r\nc", "a b ⏎c (open to read all)"),
            (" x ", "x (open to read all)"),
            ("wide     gap", "wide gap (open to read all)"),
            ("\u{200b}", "(open to read all)"),
            ("to שלום", "to שלום (open to read all)"),
            ("a\u{301}\u{301}\u{301}\u{301}\u{301}", "a\u{301}\u{301}\u{301} (open to read all)"),
            ("Ünïcode 東京 <b>&", "Ünïcode 東京 <b>&"),
            ("", ""),
        ];
        for (value, expected) in cases {
            assert_eq!(shortened(value, 60), expected, "{value:?}");
        }
    }

    #[test]
    fn an_argument_cannot_forge_a_line() {
        let forged = Subject { headline: "EUR 1.00 to ACME\nother-bot. Expires 23:59".to_owned(), ..subject() };
        let text = one(&forged, 1, Privacy::Full);
        let lines: Vec<&str> = text.body.lines().collect();
        assert_eq!(lines, ["EUR 1.00 to ACME⏎other-bot. Expires 23:59 (open to read all)", "billing-bot. Expires 14:32."]);
    }

    #[test]
    fn text_is_cut_at_a_word_only() {
        let cases = [
            ("one two three", 13, "one two three"),
            ("one two three", 12, "one two (open to read all)"),
            ("one two three", 7, "one two (open to read all)"),
            ("one two three", 6, "one (open to read all)"),
            ("one two three", 2, "(open to read all)"),
            ("äöü ßßß", 4, "äöü (open to read all)"),
            ("oneword", 7, "oneword"),
            ("oneword", 6, "(open to read all)"),
        ];
        for (value, characters_max, expected) in cases {
            assert_eq!(shortened(value, characters_max), expected, "{value} {characters_max}");
        }
    }

    #[test]
    fn markup_is_escaped_for_servers_that_read_it() {
        assert_eq!(escaped("<b>A & B</b> &lt;"), "&lt;b&gt;A &amp; B&lt;/b&gt; &amp;lt;");
        assert_eq!(escaped("plain \"text\""), "plain \"text\"");
    }
}
