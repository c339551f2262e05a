//! The words that cross to the main window as one of a few, each a type of its own: the page has a case for every one.
//!
//! `ui/src/backend/types.ts` is made of these types and of those of the answers, and a test keeps it so.

use serde::Serialize;
use vidimus_core::ids::{Effect, Environment, Reversibility};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Environment"))]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentWord {
    Live,
    Test,
}

impl From<Environment> for EnvironmentWord {
    fn from(environment: Environment) -> Self {
        match environment {
            Environment::Live => Self::Live,
            Environment::Test => Self::Test,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "GateState"))]
#[serde(rename_all = "snake_case")]
pub enum GateWord {
    Connected,
    Connecting,
    Offline,
    Refused,
    IdentityChanged,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "ClockState"))]
#[serde(rename_all = "snake_case")]
pub enum ClockWord {
    Ok,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "KeyState"))]
#[serde(rename_all = "snake_case")]
pub enum KeyWord {
    None,
    Waiting,
    Active,
    RotationDue,
    Rotating,
    Stopped,
    Removed,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "MirrorState"))]
#[serde(rename_all = "snake_case")]
pub enum MirrorWord {
    Empty,
    Verified,
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Effect"))]
#[serde(rename_all = "snake_case")]
pub enum EffectWord {
    Read,
    Write,
    Money,
}

impl EffectWord {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Money => "money",
        }
    }
}

impl From<Effect> for EffectWord {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Read => Self::Read,
            Effect::Write => Self::Write,
            Effect::Money => Self::Money,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Reversibility"))]
#[serde(rename_all = "snake_case")]
pub enum ReversibilityWord {
    Reversible,
    Compensable,
    Irreversible,
}

impl ReversibilityWord {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reversible => "reversible",
            Self::Compensable => "compensable",
            Self::Irreversible => "irreversible",
        }
    }
}

impl From<Reversibility> for ReversibilityWord {
    fn from(reversibility: Reversibility) -> Self {
        match reversibility {
            Reversibility::Reversible => Self::Reversible,
            Reversibility::Compensable => Self::Compensable,
            Reversibility::Irreversible => Self::Irreversible,
        }
    }
}

#[cfg(test)]
mod tests {
    use ts_rs::{Config, TS};

    use super::*;
    use crate::desk::{AnswerText, DeskDetail, DeskItem, DeskPage, Known};
    use crate::errors::Told;
    use crate::frame::*;
    use crate::inbox::*;
    use crate::recoveries::RecoveryText;
    use crate::settings::{Privacy, QuietText, Theme};
    use crate::shell::InboxChanged;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/src/backend/types.ts");
    const HEAD: &str = "/**
 * What the console's core sends to the main window, and nothing else. Made of the core's own types; a test of the core compares it
 * and, under `VIDIMUS_WRITE_TYPES=1`, writes it.
 *
 * Every amount, count, id, hash and time is a string made by the core: the page shows them and computes none of them.
 * A `..._text` is ready to be shown; one that names a duration or a time holds only that, the words around it come from the
 * catalogue.
 */
";

    fn of<T: TS + ?Sized>(config: &Config) -> String {
        let docs = T::docs().map(|docs| format!("{}\n", docs.trim_end())).unwrap_or_default();
        format!("\n{docs}export {}\n", T::decl(config))
    }

    /// The page's types are the core's: a member that is added, renamed or taken away here is so there, or this fails.
    #[test]
    fn the_page_has_the_types_of_the_core() {
        let config = Config::default();
        macro_rules! all { ($($name:ty),* $(,)?) => { [$(of::<$name>(&config)),*].concat() } }
        let types = all![
            EnvironmentWord,
            GateWord,
            ClockWord,
            KeyWord,
            MirrorWord,
            Theme,
            Privacy,
            StateText,
            ClockState,
            KeyText,
            PersonText,
            MirrorText,
            NoticesText,
            ReconcileText,
            RecoveryText,
            ConsoleState,
            PausedText,
            QuietText,
            SettingsText,
            View,
            Sort,
            InboxQuery,
            EffectWord,
            ReversibilityWord,
            Flag,
            InboxRow,
            InboxCounts,
            FreshText,
            InboxPage,
            InboxList,
            InboxChanged,
            DeskItem,
            DeskPage,
            Known,
            AnswerText,
            DeskDetail,
            Told,
        ];
        let expected = format!("{HEAD}{types}");
        if std::env::var_os("VIDIMUS_WRITE_TYPES").is_some() {
            std::fs::write(FILE, &expected).unwrap();
        }
        let kept = std::fs::read_to_string(FILE).unwrap();
        assert!(kept == expected, "ui/src/backend/types.ts is not of the core's types; VIDIMUS_WRITE_TYPES=1 writes it anew");
    }
}
