//! Names and ids: what the other documents point with. Owns their spellings; makes none by itself, since
//! randomness is an argument.

use std::fmt;
use std::str::FromStr;

use crate::bytes::{Digest, serde_as_text};
use crate::code::{Code, Refusal};
use crate::limits::NAME_BYTES_MAX;
use crate::sign::PublicKey;
use crate::time::Timestamp;

/// Crockford's alphabet: no I, L, O, U, so that a read-out id is heard one way.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

fn crockford_encode(bits: u128) -> String {
    (0..26).rev().map(|digit| char::from(CROCKFORD[(bits >> (digit * 5)) as usize & 31])).collect()
}

fn crockford_decode(text: &str) -> Option<u128> {
    if text.len() != 26 || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0_u128, |bits, byte| {
        let digit = CROCKFORD.iter().position(|known| *known == byte)?;
        Some(bits << 5 | digit as u128)
    })
}

/// Implements one kind of id: a prefix and 128 bits.
macro_rules! random_id {
    ($(#[doc = $doc:literal])+ $name:ident, $prefix:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The id of 128 random bits, which the caller took from the system's random source.
            pub const fn from_random(bits: [u8; 16]) -> $name {
                $name(u128::from_be_bytes(bits))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), crockford_encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Refusal;

            fn from_str(text: &str) -> Result<$name, Refusal> {
                text.strip_prefix($prefix).and_then(crockford_decode).map($name).ok_or_else(|| {
                    Refusal::new(Code::IdMalformed, concat!("an id is not `", $prefix, "` and 26 Crockford characters; copy it whole"))
                })
            }
        }

        serde_as_text!($name);
    };
}

random_id!(
    /// An approval request.
    RequestId, "req_"
);
random_id!(
    /// A call of an agent.
    CallId, "call_"
);

/// Implements ids that ascend with the time at which they were made, so that a ledger adds them where it added the last ones.
macro_rules! ascending_id {
    ($($name:ident),+) => {
        $(impl $name {
            /// The id of 48 bits of time (Unix milliseconds) and 80 random bits, which the caller took from the system's random
            /// source: the layout of a ULID.
            pub fn ascending(now: Timestamp, bits: [u8; 10]) -> $name {
                let random = bits.iter().fold(0, |random: u128, byte| random << 8 | u128::from(*byte));
                // A time is at least 0, and even the year 9999 takes 48 bits only.
                $name(u128::from(now.as_ms().unsigned_abs()) << 80 | random)
            }
        })+
    };
}

ascending_id!(RequestId, CallId);

random_id!(
    /// A run: what an agent does in one go.
    RunId, "run_"
);
random_id!(
    /// A person in the roster.
    PersonId, "psn_"
);
random_id!(
    /// A remote executor.
    ExecutorId, "exe_"
);

/// A gate: SHA-256 of its log key, so that the name itself pins the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateId(Digest);

impl GateId {
    /// The id of the gate that signs its log with this key.
    pub fn of(log_key: &PublicKey) -> GateId {
        GateId(log_key.digest())
    }

    /// SHA-256 of the gate's log key.
    pub const fn digest(&self) -> Digest {
        self.0
    }
}

impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gate_{}", self.0)
    }
}

impl fmt::Debug for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for GateId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<GateId, Refusal> {
        text.strip_prefix("gate_")
            .and_then(|digest| digest.parse().ok())
            .map(GateId)
            .ok_or_else(|| Refusal::new(Code::IdMalformed, "a gate id is not `gate_` and 64 hexadecimal digits; copy it whole"))
    }
}

serde_as_text!(GateId);

/// The name of a tool, an agent, a role or an upstream: ASCII letters, digits, `.`, `_`, `-`, at most 128 bytes.
///
/// Names compare by byte: no case folding, no trimming, no Unicode, so a look-alike is another name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Reads a name.
    ///
    /// *Errors*: `name_malformed`.
    pub fn parse(text: &str) -> Result<Name, Refusal> {
        let named = (1..=NAME_BYTES_MAX).contains(&text.len());
        if named && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
            Ok(Name(text.to_owned()))
        } else {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            Err(Refusal::new(
                Code::NameMalformed,
                format!("`{shown}` is not a name; use 1 to {NAME_BYTES_MAX} of the ASCII letters, digits and `._-`"),
            ))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({})", self.0)
    }
}

impl FromStr for Name {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Name, Refusal> {
        Name::parse(text)
    }
}

serde_as_text!(Name);

/// Implements a closed list of words.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
        }

        impl $name {
            /// Every word of the list.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::code::Refusal;

            fn from_str(text: &str) -> Result<$name, $crate::code::Refusal> {
                $name::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    let known: Vec<&str> = $name::ALL.iter().map(|word| word.as_str()).collect();
                    $crate::code::Refusal::new(
                        $crate::code::Code::FieldMalformed,
                        format!("an unknown word stands where one of {} is due; use one of these", known.join(", ")),
                    )
                })
            }
        }

        $crate::bytes::serde_as_text!($name);
    };
}
pub(crate) use words;

words!(
    /// Whether what a gate's tools touch is the real world. Fixed by `init`, part of the gate's identity.
    Environment {
        /// Real money, real mail.
        Live = "live",
        /// A rehearsal.
        Test = "test",
    }
);

words!(
    /// What a tool can do to the world, in the order of harm.
    Effect {
        /// Changes nothing.
        Read = "read",
        /// Changes the world.
        Write = "write",
        /// Spends or commits; waits for a person.
        Money = "money",
    }
);

words!(
    /// How far an effect can be taken back, in the order of harm.
    Reversibility {
        /// Taken back without cost.
        Reversible = "reversible",
        /// Made good by another effect, which may cost or fail.
        Compensable = "compensable",
        /// Not taken back by anything.
        Irreversible = "irreversible",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_have_one_spelling() {
        for bits in [[0; 16], [0xff; 16], *b"0123456789abcdef"] {
            let id = RequestId::from_random(bits);
            assert_eq!(id.to_string().len(), "req_".len() + 26);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        let text = RequestId::from_random([7; 16]).to_string();
        let beyond = format!("req_8{}", &text[5..]);
        for refused in
            [&text.to_lowercase(), &text[4..].to_owned(), &format!("{text}0"), &text.replace("req_", "call_"), &beyond, &String::new()]
        {
            assert_eq!(refused.parse::<RequestId>().expect_err(refused).code, Code::IdMalformed);
        }
    }

    #[test]
    fn what_is_made_later_sorts_behind_and_the_rest_is_random() {
        let at = |ms, bits| RequestId::ascending(Timestamp::from_ms(ms).expect("a time"), bits);
        // The example of the ULID specification: this time, and random bits that are all zero or all one.
        assert_eq!(at(1_469_918_176_385, [0; 10]).to_string(), "req_01ARYZ6S410000000000000000");
        assert_eq!(at(1_469_918_176_385, [0xff; 10]).to_string(), "req_01ARYZ6S41ZZZZZZZZZZZZZZZZ");
        assert!(at(1_469_918_176_385, [0xff; 10]).to_string() < at(1_469_918_176_386, [0; 10]).to_string(), "as text, as in the ledger");
        assert_eq!(RequestId::ascending(Timestamp::MAX, [1; 10]).to_string().parse(), Ok(RequestId::ascending(Timestamp::MAX, [1; 10])));
        assert_ne!(at(7, *b"0123456789"), at(7, *b"0123456788"));
    }

    #[test]
    fn a_look_alike_is_no_name_or_another_name() {
        for refused in [
            "",
            "payments.transfer ",
            " refund",
            "payments.transfer\0",
            "payments\u{2024}transfer",
            "r\u{0435}fund",
            "a/b",
            &"x".repeat(129),
        ] {
            assert_eq!(Name::parse(refused).expect_err(refused).code, Code::NameMalformed, "`{refused}`");
        }
        assert_ne!(Name::parse("Refund"), Name::parse("refund"));
    }

    #[test]
    fn words_are_ordered_by_harm() {
        assert!(Effect::Read < Effect::Write && Effect::Write < Effect::Money);
        assert!(Reversibility::Reversible < Reversibility::Irreversible);
        assert_eq!("money".parse(), Ok(Effect::Money));
        assert_eq!("Money".parse::<Effect>().expect_err("another case").code, Code::FieldMalformed);
    }
}
