//! The frame of the main window: gate, clock, key, person, mirror. Strings only; nothing that decides.

use serde::{Deserialize, Serialize};

use crate::console::{Console, GateState, KeyState};
use crate::errors::Told;
use crate::mirror::Mirror;
use crate::recoveries::{self, RecoveryText};
use crate::review::state::{KeyByRoster, clock_text, renewal};
use crate::settings::{Privacy, Theme};
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;

#[derive(Debug, Clone, Serialize)]
pub struct StateText {
    pub state: &'static str,
    pub since_text: String,
    pub detail: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct ClockState {
    pub state: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct KeyText {
    pub state: &'static str,
    pub label: String,
    pub text: String,
    pub error_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PersonText {
    pub name: String,
    pub roles: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct MirrorText {
    pub state: &'static str,
    pub size: String,
    pub text: String,
    pub error_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct NoticesText {
    pub available: bool,
    pub error_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ReconcileText {
    pub count: String,
    /// Whether one of them waits for more than a day.
    pub late: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct ConsoleState {
    pub environment: Option<&'static str>,
    pub gate: StateText,
    pub clock: ClockState,
    pub key: KeyText,
    pub person: Option<PersonText>,
    pub automated: bool,
    pub mirror: MirrorText,
    pub notifications: NoticesText,
    /// How many outcomes wait for people; nothing where none does.
    pub reconcile: ReconcileText,
    /// Recoveries that run.
    pub recoveries: Vec<RecoveryText>,
    pub theme: Theme,
    /// How many requests wait that this person may see.
    pub waiting: String,
    pub window_title: String,
}

/// The settings that cross to the page, with what it says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SettingsText {
    pub theme: Theme,
    pub notification_privacy: Privacy,
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
    let environment = membership.as_ref().map(|membership| membership.environment.as_str());
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
        GateState::None => ("none", String::new()),
        GateState::Connecting => ("connecting", String::new()),
        GateState::Connected => ("connected", String::new()),
        GateState::Offline => ("offline", String::new()),
        GateState::Refused(told) => ("refused", told.text.clone()),
        GateState::IdentityChanged => ("identity_changed", strings::IDENTITY_CHANGED.to_owned()),
    };
    let (key_state, key_text, error_id) = match &shared.key {
        KeyState::None => ("none", String::new(), None),
        KeyState::Waiting => ("waiting", strings::KEY_WAITING.to_owned(), Some("E-KEY-6")),
        KeyState::Active => match by_roster {
            KeyByRoster::Active => ("active", String::new(), None),
            KeyByRoster::RenewalDue(_) => ("rotation_due", due, Some("E-KEY-7")),
            KeyByRoster::Rotating => match &shared.rotation_fault {
                Some(told) => ("rotating", told.text.clone(), Some(told.id)),
                None => ("rotating", String::new(), None),
            },
            KeyByRoster::Stopped => ("stopped", format!("{} {ask}", strings::KEY_STOPPED), Some("E-KEY-5")),
        },
        KeyState::Stopped => ("stopped", format!("{} {ask}", strings::KEY_STOPPED), Some("E-KEY-5")),
        KeyState::Removed => ("removed", format!("{} {ask}", strings::KEY_REMOVED), Some("E-KEY-10")),
        KeyState::Error(told) => ("error", told.text.clone(), Some(told.id)),
    };
    let offset = shared.clock_offset_ms;
    ConsoleState {
        environment,
        gate: StateText { state: gate_state, since_text: time::hour_minute(shared.gate_since_ms, &console.zone), detail },
        clock: ClockState { state: if offset.abs() < crate::limits::CLOCK_SMALL_MS { "ok" } else { "off" }, text: clock_text(offset) },
        key: KeyText { state: key_state, label, text: key_text, error_id },
        person,
        automated: console.automated,
        mirror,
        notifications: NoticesText {
            available: shared.notices_fault.is_none(),
            error_id: shared.notices_fault.as_ref().map(|told| told.id),
        },
        recoveries,
        reconcile: ReconcileText { count: grouped(&in_doubt.to_string()), late: late > 0 },
        theme: shared.settings.theme,
        waiting: grouped(&waiting.to_string()),
        window_title: strings::window_title(environment, waiting, console.automated),
    }
}

fn mirror_text(console: &Console) -> MirrorText {
    let fault = console.shared().mirror_fault.clone();
    let slot = console.mirror();
    let size = slot.as_ref().map_or(0, Mirror::size);
    let broken = slot.as_ref().and_then(Mirror::broken).map(|(position, _)| Told::new("E-AUD-1", strings::log_broken(position)));
    let alarm = slot.as_ref().and_then(Mirror::alarm).map(|_| Told::new("E-NET-4", strings::HEAD_UNSIGNED));
    let (state, told) = match (broken.or(alarm).or(fault), size) {
        (Some(told), _) => ("broken", Some(told)),
        (None, 0) => ("empty", None),
        (None, _) => ("verified", None),
    };
    MirrorText {
        state,
        size: grouped(&size.to_string()),
        error_id: told.as_ref().map(|told| told.id),
        text: told.map(|told| told.text).unwrap_or_default(),
    }
}
