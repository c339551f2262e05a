//! What a person set for this console.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::notify::plan::QuietHours;
use crate::profile::{Profile, write_whole};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// The value of a page's theme mark; nothing to follow the system.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
        }
    }
}

/// How much a notification says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "NotificationPrivacy"))]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// The request's sentence.
    Full,
    /// What kind of request, and the agent's name.
    #[default]
    Guarded,
    /// How many wait.
    Count,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub theme: Theme,
    pub notification_privacy: Privacy,
    #[serde(default)]
    pub quiet_hours: Option<QuietText>,
}

/// Hours of every day in which nothing pops up: "22:00" to "07:00".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "QuietHours"))]
#[serde(deny_unknown_fields)]
pub struct QuietText {
    pub from: String,
    pub until: String,
}

impl QuietText {
    /// Nothing where one of them is no time of day.
    pub fn hours(&self, zone: &TimeZone) -> Option<QuietHours> {
        let time = |text: &str| Time::strptime("%H:%M", text).ok();
        Some(QuietHours { from: time(&self.from)?, until: time(&self.until)?, zone: zone.clone() })
    }
}

impl Settings {
    /// The kept settings; the defaults where there are none or they cannot be read.
    pub fn load(profile: &Profile) -> Self {
        std::fs::read(profile.settings_file()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub fn save(&self, profile: &Profile) -> std::io::Result<()> {
        write_whole(&profile.settings_file(), &serde_json::to_vec_pretty(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_and_broken_ones_become_the_defaults() {
        let base = tempfile::tempdir().unwrap();
        let profile = Profile::at(base.path()).unwrap();
        assert_eq!(Settings::load(&profile).notification_privacy, Privacy::Guarded);
        let quiet = |from: &str, until: &str| QuietText { from: from.to_owned(), until: until.to_owned() };
        let settings = Settings { theme: Theme::Dark, notification_privacy: Privacy::Count, quiet_hours: Some(quiet("22:00", "07:00")) };
        settings.save(&profile).unwrap();
        assert_eq!(Settings::load(&profile), settings);
        for (from, until) in [("", "07:00"), ("22:00", "24:00"), ("22:00", "7"), ("22:00:00", "07:00")] {
            assert_eq!(quiet(from, until).hours(&TimeZone::UTC), None, "{from} {until}");
        }
        assert!(quiet("22:00", "07:00").hours(&TimeZone::UTC).is_some());
        std::fs::write(profile.settings_file(), br#"{"theme":"dark","notification_privacy":"count"}"#).unwrap();
        assert_eq!(Settings::load(&profile), Settings { quiet_hours: None, ..settings });
        std::fs::write(profile.settings_file(), b"{").unwrap();
        assert_eq!(Settings::load(&profile), Settings::default());
    }
}
