//! What a person types to unlock the approval key.

use zeroize::Zeroizing;

use crate::limits::{PIN_CHARS_MAX, PIN_CHARS_MIN};

/// A PIN. It has neither Debug nor Display and is wiped when dropped.
pub struct Pin(Zeroizing<String>);

/// Why a text is not accepted as a new PIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinFault {
    TooShort,
    TooLong,
    /// One repeated character, or a run such as 123456.
    TooSimple,
}

impl Pin {
    /// What a person typed to unlock: any text, since only the seal can tell whether it is right.
    pub fn typed(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// A PIN for a new key.
    pub fn chosen(text: String) -> Result<Self, PinFault> {
        let pin = Self::typed(text);
        let characters: Vec<u32> = pin.0.chars().map(u32::from).collect();
        if characters.len() < PIN_CHARS_MIN {
            return Err(PinFault::TooShort);
        }
        if characters.len() > PIN_CHARS_MAX {
            return Err(PinFault::TooLong);
        }
        let step = i64::from(characters[1]) - i64::from(characters[0]);
        let is_run = characters.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == step);
        if is_run && (-1..=1).contains(&step) {
            return Err(PinFault::TooSimple);
        }
        Ok(pin)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_pins_are_refused() {
        let cases = [
            ("12345", Some(PinFault::TooShort)),
            ("123456", Some(PinFault::TooSimple)),
            ("987654", Some(PinFault::TooSimple)),
            ("111111", Some(PinFault::TooSimple)),
            ("abcdef", Some(PinFault::TooSimple)),
            ("271828", None),
            ("correct horse", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Pin::chosen(text.to_owned()).err(), expected, "{text}");
        }
        assert_eq!(Pin::chosen("12".repeat(PIN_CHARS_MAX)).err(), Some(PinFault::TooLong));
    }
}
