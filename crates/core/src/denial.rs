//! The reason of a denial: one word of a closed list and a note, in canonical form. What a person signs, the agent reads.

use serde::{Deserialize, Serialize};

use crate::code::{Code, Refusal};
use crate::ids::words;
use crate::json::{Fields, Json, Limits, parse};
use crate::limits::REASON_CHARS_MAX;

words!(
    /// The kinds of reason for a denial.
    DenialKind {
        /// The amount is wrong.
        WrongAmount = "wrong_amount",
        /// The recipient of the effect is wrong.
        WrongPayee = "wrong_payee",
        /// Nobody expected this call.
        NotExpected = "not_expected",
        /// It has been done already.
        Duplicate = "duplicate",
        /// A person has to do this, not an agent.
        NeedsPerson = "needs_person",
        /// Something else; the note says what.
        Other = "other",
    }
);

/// The reason of a denial, as the agent will read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The kind.
    pub kind: DenialKind,
    /// The note to the agent; may be empty.
    pub note: String,
}

impl Denial {
    /// The reason that a denial's `reason_sha256` digests: the canonical form of kind and note.
    ///
    /// *Errors*: none for a note that is text; those of canonical form else.
    pub fn reason(&self) -> Result<String, Refusal> {
        let json = Json::object([("kind", self.kind.as_str().into()), ("note", self.note.as_str().into())]);
        String::from_utf8(json.canonical()?).map_err(|_| Refusal::new(Code::JsonInvalidUtf8, "the note is not text; send UTF-8"))
    }

    /// Reads a reason. The limit is the note's: escaping must not make a person's legal "no" illegal.
    ///
    /// *Errors*: those of the members; `reason_invalid` for a note that is too long.
    pub fn parse(reason: &str) -> Result<Denial, Refusal> {
        let json = parse(reason.as_bytes(), &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["kind", "note"])?;
        let note = fields.string("note")?;
        if note.chars().count() > REASON_CHARS_MAX {
            let message = format!("the note has more than `{REASON_CHARS_MAX}` characters; shorten it");
            return Err(Refusal::new(Code::ReasonInvalid, message).at("/note"));
        }
        Ok(Denial { kind: fields.parsed("kind")?, note: note.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_legal_note_survives_its_canonical_form() {
        for letter in ["n", "\u{1}", "\"", "\u{10348}"] {
            for kind in DenialKind::ALL.iter().copied() {
                let denial = Denial { kind, note: letter.repeat(REASON_CHARS_MAX) };
                assert_eq!(Denial::parse(&denial.reason().expect("a reason")).expect("the same denial"), denial);
            }
        }
        let long = Denial { kind: DenialKind::Other, note: "n".repeat(REASON_CHARS_MAX + 1) };
        let refused = Denial::parse(&long.reason().expect("a reason")).expect_err("too long");
        assert_eq!((refused.code, refused.path.as_deref()), (Code::ReasonInvalid, Some("/note")));
    }

    #[test]
    fn a_kind_is_of_the_list() {
        for reason in [r#"{"kind":"made up <b>","note":""}"#, r#"{"kind":"Other","note":""}"#, r#"{"kind":"","note":""}"#] {
            assert_eq!(Denial::parse(reason).expect_err("no kind").code, Code::FieldMalformed, "{reason}");
        }
    }
}
