//! The reason of a decision: what was typed, whether it is one, and what is signed of it.

use vidimus_api::request::{Denial, DenialKind};
use vidimus_core::code::Refusal;
use vidimus_core::ids::Reversibility;
use vidimus_core::json::Json;

use crate::limits::{REASON_CHARS_MAX, REASON_CHARS_MIN};
use crate::strings;

/// The reason of an approval, as it is signed; nothing where the level asks for none.
pub fn of_approval(friction: Reversibility, kind: &str, text: &str) -> Result<Option<String>, &'static str> {
    let text = text.trim();
    if text.chars().count() > REASON_CHARS_MAX {
        return Err(strings::REASON_TOO_LONG);
    }
    match friction {
        Reversibility::Reversible => Ok((!text.is_empty()).then(|| text.to_owned())),
        Reversibility::Compensable => match kind {
            "ticket" if says_something(text, 1) => Ok(Some(format!("matches ticket: {text}"))),
            "person" if says_something(text, 2) => Ok(Some(format!("checked with: {text}"))),
            "other" if says_something(text, REASON_CHARS_MIN) => Ok(Some(text.to_owned())),
            "ticket" => Err(strings::REASON_TICKET),
            "person" => Err(strings::REASON_PERSON),
            "other" => Err(strings::REASON_SHORT),
            _ => Err(strings::REASON_NONE),
        },
        Reversibility::Irreversible if says_something(text, REASON_CHARS_MIN) => Ok(Some(text.to_owned())),
        Reversibility::Irreversible => Err(strings::REASON_SHORT),
    }
}

/// Enough characters, and not the same few again and again.
fn says_something(text: &str, characters: usize) -> bool {
    let letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut distinct = letters.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let varied = characters < 4 || distinct.len() >= 4;
    text.chars().count() >= characters && !letters.is_empty() && varied
}

/// A denial from what was picked and typed.
pub fn denial(kind: &str, note: &str) -> Result<Denial, &'static str> {
    let kind = DenialKind::ALL.iter().copied().find(|known| known.as_str() == kind).ok_or(strings::DENIAL_NONE)?;
    let note = note.trim();
    if note.chars().count() > REASON_CHARS_MAX {
        return Err(strings::REASON_TOO_LONG);
    }
    Ok(Denial { kind, note: note.to_owned() })
}

/// The reason of a denial as it is signed: the canonical form of its kind and note.
pub fn of_denial(denial: &Denial) -> Result<String, Refusal> {
    let bytes = Json::object([("kind", denial.kind.as_str().into()), ("note", denial.note.as_str().into())]).canonical()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_says_nothing_is_refused() {
        let compensable = |kind, text| of_approval(Reversibility::Compensable, kind, text);
        for (kind, text) in [
            ("other", "."),
            ("other", ". . . . . . . . . ."),
            ("other", "aaaaaaaaaaaaaaaaaaaa"),
            ("other", "too short"),
            ("ticket", " "),
            ("", "matches the ticket"),
            ("person", "..."),
        ] {
            assert!(compensable(kind, text).is_err(), "{kind} {text}");
        }
        assert_eq!(compensable("ticket", "T-17"), Ok(Some("matches ticket: T-17".to_owned())));
        assert_eq!(compensable("other", "the invoice was paid twice"), Ok(Some("the invoice was paid twice".to_owned())));
        assert_eq!(of_approval(Reversibility::Reversible, "", ""), Ok(None));
        assert!(of_approval(Reversibility::Irreversible, "ticket", "T-17").is_err());
    }

    #[test]
    fn a_denial_needs_a_kind_and_signs_it() {
        assert!(denial("", "x").is_err());
        let denial = denial("duplicate", " paid \"twice\" ").unwrap();
        assert_eq!(of_denial(&denial).unwrap(), r#"{"kind":"duplicate","note":"paid \"twice\""}"#);
    }
}
