//! The trusted windows that are sheets with forms: enrolment and keys.
//!
//! Pure but for the steps that ask the gate or the keyring. They must not know a window system.

pub mod enrolment;
pub mod keys;
pub mod parts;

use serde::{Deserialize, Serialize};

/// What a form of a sheet sends: only the fields that sheets have.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fields {
    pub invite: String,
    pub label: String,
    pub pin: String,
    #[serde(rename = "pin-again")]
    pub pin_again: String,
    pub roles: String,
}

/// What an act led to: another page, words, or the end of the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub reload: bool,
    pub message: String,
    #[serde(skip)]
    pub close: bool,
}

impl Outcome {
    pub fn next_page() -> Self {
        Self { reload: true, ..Self::default() }
    }

    pub fn says(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub fn close() -> Self {
        Self { close: true, ..Self::default() }
    }
}
