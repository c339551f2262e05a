//! The frame of the main window: gate, clock, key, person, mirror. Strings only; nothing that decides.

use serde::{Deserialize, Serialize};

use crate::console::{Console, GateState, KeyState};
use crate::errors::Told;
use crate::mirror::Mirror;
use crate::notify::plan::Standstill;
use crate::recoveries::{self, RecoveryText};
use crate::review::state::{KeyByRoster, clock_text, renewal};
use crate::settings::{Privacy, QuietText, Theme};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;
use crate::wire::{ClockWord, EnvironmentWord, GateWord, KeyWord, MirrorWord};

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Gate"))]
pub struct StateText {
    pub state: GateWord,
    /// Time of day at which this state began: "14:20".
    pub since_text: String,
    /// A sentence about a refusal, else empty.
    pub detail: String,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Clock"))]
pub struct ClockState {
    pub state: ClockWord,
    /// "ok", or the difference in words: "42 s behind".
    pub text: String,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Key"))]
pub struct KeyText {
    pub state: KeyWord,
    /// The key's own name on this computer: "laptop-7".
    pub label: String,
    /// A whole sentence when the key cannot sign, else empty.
    pub text: String,
    pub error_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Person"))]
pub struct PersonText {
    pub name: String,
    pub roles: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Mirror"))]
pub struct MirrorText {
    pub state: MirrorWord,
    /// Number of records, grouped for reading.
    pub size: String,
    /// A sentence when the copy is broken, else empty.
    pub text: String,
    pub error_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Notifications"))]
pub struct NoticesText {
    pub available: bool,
    pub error_id: Option<&'static str>,
}

/// Nothing pops up for now.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Paused"))]
pub struct PausedText {
    /// "Notifications paused until 15:30", or what is said of the quiet hours.
    pub text: String,
    /// What may expire before it ends; empty where nothing does.
    pub warning: String,
    /// The person paused; else these are the quiet hours.
    pub chosen: bool,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Reconcile"))]
pub struct ReconcileText {
    pub count: String,
    /// Whether one of them waits for more than a day.
    pub late: bool,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConsoleState {
    pub environment: Option<EnvironmentWord>,
    pub gate: StateText,
    pub clock: ClockState,
    pub key: KeyText,
    pub person: Option<PersonText>,
    pub automated: bool,
    pub mirror: MirrorText,
    pub notifications: NoticesText,
    /// Null while notifications pop up.
    pub paused: Option<PausedText>,
    /// How many outcomes wait for people; nothing where none does.
    pub reconcile: ReconcileText,
    /// Recoveries that run, the one that takes effect first before the others.
    pub recoveries: Vec<RecoveryText>,
    pub theme: Theme,
    /// How many requests wait that this person may see.
    pub waiting: String,
    pub window_title: String,
}

/// The settings that cross to the page, with what it says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Settings"))]
pub struct SettingsText {
    pub theme: Theme,
    pub notification_privacy: Privacy,
    pub quiet_hours: Option<QuietText>,
    /// Whether the console starts with the desktop, in the tray.
    pub autostart: bool,
    pub version: String,
    pub build: String,
}

pub fn console_state(console: &Console) -> ConsoleState {
    let membership = console.membership();
    let standing = console.standing();
    let waiting = crate::inbox::counts(console).waiting;
    let mirror = mirror_text(console);
    let (in_doubt, late) = crate::desk::counts(console);
    let label = membership.as_ref().map(|membership| membership.label.clone()).unwrap_or_default();
    let environment = membership.as_ref().map(|membership| membership.environment);
    let person = match (&standing, &membership) {
        (Some(standing), _) => {
            Some(PersonText { name: standing.person.name.clone(), roles: standing.person.roles.iter().map(ToString::to_string).collect() })
        }
        (None, Some(membership)) => Some(PersonText { name: membership.name.clone(), roles: membership.roles.clone() }),
        (None, None) => None,
    };
    let by_roster = KeyByRoster::of(console);
    let due = if let KeyByRoster::RenewalDue(until_ms) = by_roster { renewal(console, until_ms) } else { String::new() };
    let recoveries = recoveries::of(console);
    let ask = strings::ask_admins(&recoveries::other_admins(console));
    let shared = console.shared();
    let (gate_state, detail) = match &shared.gate {
        GateState::None => (GateWord::None, String::new()),
        GateState::Connecting => (GateWord::Connecting, String::new()),
        GateState::Connected => (GateWord::Connected, String::new()),
        GateState::Offline => (GateWord::Offline, String::new()),
        GateState::Refused(told) => (GateWord::Refused, told.text.clone()),
        GateState::IdentityChanged => (GateWord::IdentityChanged, strings::IDENTITY_CHANGED.to_owned()),
    };
    let (key_state, key_text, error_id) = match &shared.key {
        KeyState::None => (KeyWord::None, String::new(), None),
        KeyState::Waiting => (KeyWord::Waiting, strings::KEY_WAITING.to_owned(), Some("E-KEY-6")),
        KeyState::Active => match by_roster {
            KeyByRoster::Active => (KeyWord::Active, String::new(), None),
            KeyByRoster::RenewalDue(_) => (KeyWord::RotationDue, due, Some("E-KEY-7")),
            KeyByRoster::Rotating => match &shared.rotation_fault {
                Some(told) => (KeyWord::Rotating, told.text.clone(), Some(told.id)),
                None => (KeyWord::Rotating, String::new(), None),
            },
            KeyByRoster::Stopped => (KeyWord::Stopped, format!("{} {ask}", strings::KEY_STOPPED), Some("E-KEY-5")),
        },
        KeyState::Stopped => (KeyWord::Stopped, format!("{} {ask}", strings::KEY_STOPPED), Some("E-KEY-5")),
        KeyState::Removed => (KeyWord::Removed, format!("{} {ask}", strings::KEY_REMOVED), Some("E-KEY-10")),
        KeyState::Error(told) => (KeyWord::Error, told.text.clone(), Some(told.id)),
    };
    let offset = shared.clock_offset_ms;
    ConsoleState {
        environment: environment.map(EnvironmentWord::from),
        gate: StateText { state: gate_state, since_text: time::hour_minute(shared.gate_since_ms, &console.zone), detail },
        clock: ClockState {
            state: if offset.abs() < crate::limits::CLOCK_SMALL_MS { ClockWord::Ok } else { ClockWord::Off },
            text: clock_text(offset),
        },
        key: KeyText { state: key_state, label, text: key_text, error_id },
        person,
        automated: console.automated,
        mirror,
        notifications: NoticesText {
            available: shared.notices_fault.is_none(),
            error_id: shared.notices_fault.as_ref().map(|told| told.id),
        },
        paused: shared.paused.map(|pause| paused_text(console, pause)),
        recoveries,
        reconcile: ReconcileText { count: grouped(&in_doubt.to_string()), late: late > 0 },
        theme: shared.settings.theme,
        waiting: grouped(&waiting.to_string()),
        window_title: strings::window_title(environment.map(|environment| environment.as_str()), waiting, console.automated),
    }
}

/// What is said of a pause.
pub fn paused_text(console: &Console, pause: Standstill) -> PausedText {
    use crate::notify::strings::{may_expire_while_paused, paused_until, quiet_until};
    // By this computer's own clock: the console's state is held by whoever asks.
    let at = time::day_and_time(pause.until_ms, crate::clock::now_ms(), &console.zone);
    PausedText {
        text: if pause.chosen { paused_until(&at) } else { quiet_until(&at) },
        warning: if pause.expiring == 0 { String::new() } else { may_expire_while_paused(pause.expiring) },
        chosen: pause.chosen,
    }
}

fn mirror_text(console: &Console) -> MirrorText {
    let fault = console.shared().mirror_fault.clone();
    let slot = console.mirror();
    let size = slot.as_ref().map_or(0, Mirror::size);
    let broken = slot.as_ref().and_then(Mirror::broken).map(|(position, _)| Told::new("E-AUD-1", strings::log_broken(position)));
    let alarm = slot.as_ref().and_then(Mirror::alarm).map(|_| Told::new("E-NET-4", strings::HEAD_UNSIGNED));
    let (state, told) = match (broken.or(alarm).or(fault), size) {
        (Some(told), _) => (MirrorWord::Broken, Some(told)),
        (None, 0) => (MirrorWord::Empty, None),
        (None, _) => (MirrorWord::Verified, None),
    };
    MirrorText {
        state,
        size: grouped(&size.to_string()),
        error_id: told.as_ref().map(|told| told.id),
        text: told.map(|told| told.text).unwrap_or_default(),
    }
}
