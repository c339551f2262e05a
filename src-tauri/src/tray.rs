//! The tray icon and its menu: how much waits, and the way to the window. Nothing can be decided from here.
//!
//! Owns the icon, the menu and whether there is a place for them. It must not know what a request is: counts and lines come ready.

mod host;
mod icon;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tauri::menu::{Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Wry};

use crate::limits::NOTIFICATION_NAME_CHARS;
use crate::notify::plan::Pause;
use crate::notify::{strings, text};

pub use host::has_host;

const ID: &str = "vidimus";
const ITEM_INBOX: &str = "tray-inbox";
const ITEM_DESK: &str = "tray-reconcile";
const ITEM_OPEN: &str = "tray-open";
const ITEM_GATE: &str = "tray-gate";
const ITEM_HALF_HOUR: &str = "tray-pause-half-hour";
const ITEM_HOUR: &str = "tray-pause-hour";
const ITEM_TOMORROW: &str = "tray-pause-tomorrow";
const ITEM_RESUME: &str = "tray-resume";
const ITEM_QUIT: &str = "tray-quit";

/// What the tray tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrayState {
    pub waiting: usize,
    /// The soonest end of what waits, as the person reads it: `14:32`.
    pub next_expires: Option<String>,
    /// Outcomes that only people can settle.
    pub in_doubt: usize,
    pub gate: GateLine,
    /// What is said of a pause, while nothing pops up.
    pub paused: Option<String>,
}

/// The connection to the gate in words: `Connected to gate-eu 14:28`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateLine {
    Connected(String),
    /// Anything else: there may be requests that nobody here sees.
    NotConnected(String),
}

/// What the menu can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrayAction {
    OpenInbox,
    OpenDesk,
    OpenConsole,
    Pause(Pause),
    Resume,
    Quit,
}

/// There is no tray here (E-TRAY-1). Nothing else depends on one.
#[derive(Debug, thiserror::Error)]
pub enum NoTray {
    #[error("the system's tray library is not installed")]
    NoLibrary,
    #[error("the tray cannot be made")]
    Refused(#[from] tauri::Error),
}

/// Our icon in the tray; it goes when this is dropped.
pub struct Tray {
    icon: TrayIcon<Wry>,
    first_line: MenuItem<Wry>,
    desk_line: MenuItem<Wry>,
    gate_line: MenuItem<Wry>,
    resume_line: MenuItem<Wry>,
    shown: Mutex<Option<TrayState>>,
}

impl Tray {
    /// Puts the icon into the tray. To be called on the main thread. Without a host it stays unseen and comes up with the host.
    ///
    /// `directory` is where the system finds the drawn icons; it belongs to this console alone.
    pub fn build(app: &AppHandle, directory: &Path, act: impl Fn(&AppHandle, TrayAction) + Send + Sync + 'static) -> Result<Self, NoTray> {
        let first_line = MenuItem::with_id(app, ITEM_INBOX, strings::TRAY_NOTHING, true, None::<&str>)?;
        let desk_line = MenuItem::with_id(app, ITEM_DESK, strings::TRAY_NONE_IN_DOUBT, true, None::<&str>)?;
        let gate_line = MenuItem::with_id(app, ITEM_GATE, "", false, None::<&str>)?;
        let open = MenuItem::with_id(app, ITEM_OPEN, strings::TRAY_OPEN, true, None::<&str>)?;
        let quit = MenuItem::with_id(app, ITEM_QUIT, strings::TRAY_QUIT, true, None::<&str>)?;
        let (above, below) = (PredefinedMenuItem::separator(app)?, PredefinedMenuItem::separator(app)?);
        let entry = |id, text| MenuItem::with_id(app, id, text, true, None::<&str>);
        let lengths = [
            entry(ITEM_HALF_HOUR, strings::TRAY_PAUSE_HALF_HOUR)?,
            entry(ITEM_HOUR, strings::TRAY_PAUSE_HOUR)?,
            entry(ITEM_TOMORROW, strings::TRAY_PAUSE_TOMORROW)?,
            entry(ITEM_RESUME, strings::TRAY_RESUME)?,
        ];
        let [half_hour, hour, tomorrow, resume] = &lengths;
        let pause_menu = Submenu::with_items(app, strings::TRAY_PAUSE, true, &[half_hour, hour, tomorrow, resume])?;
        let menu = Menu::with_items(app, &[&first_line, &desk_line, &above, &open, &pause_menu, &below, &gate_line, &quit])?;
        let builder =
            TrayIconBuilder::with_id(ID).menu(&menu).icon(icon::drawn(icon::Variant::Offline, 0)?).temp_dir_path(directory).on_menu_event(
                move |app, event| {
                    if let Some(action) = action(event.id().as_ref()) {
                        act(app, action);
                    }
                },
            );
        // The library is loaded on first use, and its absence is a panic there, not an error.
        let icon = catch_unwind(AssertUnwindSafe(|| builder.build(app))).map_err(|_| NoTray::NoLibrary)??;
        Ok(Self { icon, first_line, desk_line, gate_line, resume_line: resume.clone(), shown: Mutex::new(None) })
    }

    /// Shows a new state. May be called on any thread while the main thread runs.
    ///
    /// *Errors*: the main thread is ending.
    pub fn update(&self, state: &TrayState) -> Result<(), NoTray> {
        let before = self.shown.lock().unwrap_or_else(PoisonError::into_inner).replace(state.clone());
        if before.as_ref() == Some(state) {
            return Ok(());
        }
        self.first_line.set_text(menu_text(&first_line(state)))?;
        self.desk_line.set_text(menu_text(&desk_line(state)))?;
        self.gate_line.set_text(menu_text(&gate_line(state)))?;
        // The text of a menu that holds others is not told over the bus again; that of an entry is.
        self.resume_line.set_text(state.paused.as_deref().map_or(strings::TRAY_RESUME.to_owned(), strings::resume))?;
        let (variant, count) = (variant(state), state.waiting);
        if before.is_none_or(|before| (self::variant(&before), before.waiting) != (variant, count)) {
            self.icon.set_icon(Some(icon::drawn(variant, count)?))?;
        }
        self.icon.set_tooltip(Some(format!("{}: {}", strings::APPLICATION, strings::waiting(state.waiting))))?;
        Ok(())
    }
}

fn action(item: &str) -> Option<TrayAction> {
    match item {
        ITEM_INBOX => Some(TrayAction::OpenInbox),
        ITEM_DESK => Some(TrayAction::OpenDesk),
        ITEM_OPEN => Some(TrayAction::OpenConsole),
        ITEM_HALF_HOUR => Some(TrayAction::Pause(Pause::HalfHour)),
        ITEM_HOUR => Some(TrayAction::Pause(Pause::Hour)),
        ITEM_TOMORROW => Some(TrayAction::Pause(Pause::UntilTomorrow)),
        ITEM_RESUME => Some(TrayAction::Resume),
        ITEM_QUIT => Some(TrayAction::Quit),
        _ => None,
    }
}

fn first_line(state: &TrayState) -> String {
    match (state.waiting, &state.next_expires) {
        (0, _) => strings::TRAY_NOTHING.to_owned(),
        (count, Some(next)) => strings::waiting_next(count, next),
        (count, None) => strings::waiting(count),
    }
}

fn desk_line(state: &TrayState) -> String {
    if state.in_doubt == 0 { strings::TRAY_NONE_IN_DOUBT.to_owned() } else { strings::need_reconciliation(state.in_doubt) }
}

fn gate_line(state: &TrayState) -> String {
    let (GateLine::Connected(line) | GateLine::NotConnected(line)) = &state.gate;
    text::shortened(line, NOTIFICATION_NAME_CHARS)
}

fn variant(state: &TrayState) -> icon::Variant {
    match (&state.gate, state.waiting) {
        (GateLine::NotConnected(_), _) => icon::Variant::Offline,
        (GateLine::Connected(_), _) if state.paused.is_some() => icon::Variant::Paused,
        (GateLine::Connected(_), 0) => icon::Variant::Idle,
        (GateLine::Connected(_), _) => icon::Variant::Waiting,
    }
}

/// A menu takes a single `&` for the mark of a key.
fn menu_text(line: &str) -> String {
    line.replace('&', "&&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(waiting: usize, next_expires: Option<&str>) -> TrayState {
        TrayState {
            waiting,
            next_expires: next_expires.map(ToOwned::to_owned),
            in_doubt: 0,
            gate: GateLine::Connected("Connected".to_owned()),
            paused: None,
        }
    }

    #[test]
    fn the_first_line_counts() {
        let cases = [
            (state(0, None), "Nothing waiting"),
            (state(7, Some("14:32")), "7 waiting, next expires 14:32"),
            (state(1, None), "1 waiting"),
        ];
        for (state, expected) in cases {
            assert_eq!(first_line(&state), expected);
        }
    }

    #[test]
    fn the_second_line_counts_what_people_have_to_settle() {
        for (in_doubt, expected) in [(0, "Nothing to reconcile"), (1, "1 needs reconciliation"), (2, "2 need reconciliation")] {
            assert_eq!(desk_line(&TrayState { in_doubt, ..state(0, None) }), expected);
        }
    }

    #[test]
    fn the_icon_follows_the_gate_and_the_count() {
        let offline = TrayState { gate: GateLine::NotConnected("Offline since 14:20".to_owned()), ..state(3, None) };
        assert_eq!(variant(&offline), icon::Variant::Offline);
        assert_eq!(variant(&state(0, None)), icon::Variant::Idle);
        assert_eq!(variant(&state(3, None)), icon::Variant::Waiting);
        let paused = Some("Notifications paused until 15:30".to_owned());
        assert_eq!(variant(&TrayState { paused: paused.clone(), ..state(3, None) }), icon::Variant::Paused);
        assert_eq!(variant(&TrayState { paused, ..offline }), icon::Variant::Offline, "that nothing is heard weighs more");
    }

    #[test]
    fn the_menu_opens_pauses_and_quits_and_decides_nothing() {
        assert_eq!(action(ITEM_HALF_HOUR), Some(TrayAction::Pause(Pause::HalfHour)));
        assert_eq!(action(ITEM_RESUME), Some(TrayAction::Resume));
        assert_eq!(action(ITEM_INBOX), Some(TrayAction::OpenInbox));
        assert_eq!(action(ITEM_DESK), Some(TrayAction::OpenDesk));
        assert_eq!(action(ITEM_OPEN), Some(TrayAction::OpenConsole));
        assert_eq!(action(ITEM_QUIT), Some(TrayAction::Quit));
        for other in [ITEM_GATE, "approve", "deny", ""] {
            assert_eq!(action(other), None);
        }
    }

    #[test]
    fn a_name_in_the_menu_is_plain_text() {
        let named = TrayState { gate: GateLine::Connected("Connected to R&D\u{202e}".to_owned()), ..state(0, None) };
        assert_eq!(menu_text(&gate_line(&named)), "Connected to R&&D (open to read all)");
    }
}
