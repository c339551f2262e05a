//! What the main window may ask: reads, its settings, and that a trusted window be opened.

use serde::Serialize;
use tauri::{AppHandle, Emitter, Manager, State, WebviewWindow};

use super::{Shared, answer_commands, notices, windows};
use crate::autostart::Autostart;
use crate::console::Change;
use crate::desk::{self, DeskDetail, DeskPage};
use crate::errors::Told;
use crate::frame::{self, ConsoleState, SettingsText};
use crate::inbox::{self, InboxList, InboxPage, InboxQuery};
use crate::notify::plan::Pause;
use crate::settings::Settings;
use crate::strings;

/// Sent when the list may have changed. No payee, no amount.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InboxChanged {
    waiting: String,
    added: String,
    /// A sentence for the live region, free of what the privacy level hides; empty where nothing is to be said.
    announcement: String,
}

#[tauri::command]
pub async fn console_state(console: State<'_, Shared>) -> Result<ConsoleState, Told> {
    Ok(frame::console_state(&console))
}

#[tauri::command]
pub async fn inbox_open(console: State<'_, Shared>, query: InboxQuery) -> Result<InboxList, Told> {
    Ok(inbox::open(&console, query))
}

#[tauri::command]
pub async fn inbox_page(console: State<'_, Shared>, list: String, requests: Vec<String>) -> Result<InboxPage, Told> {
    inbox::page(&console, &list, &requests)
}

#[tauri::command]
pub async fn settings(console: State<'_, Shared>) -> Result<SettingsText, Told> {
    let settings = console.shared().settings.clone();
    Ok(SettingsText {
        theme: settings.theme,
        notification_privacy: settings.notification_privacy,
        quiet_hours: settings.quiet_hours,
        autostart: Autostart::of(&console.profile).is_on(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: if cfg!(debug_assertions) { "debug".to_owned() } else { "release".to_owned() },
    })
}

#[tauri::command]
pub async fn save_settings(app: AppHandle, console: State<'_, Shared>, settings: SettingsText) -> Result<(), Told> {
    let quiet_hours = settings.quiet_hours.filter(|hours| hours.hours(&console.zone).is_some());
    let kept = Settings { theme: settings.theme, notification_privacy: settings.notification_privacy, quiet_hours };
    let autostart = Autostart::of(&console.profile);
    if settings.autostart != autostart.is_on() {
        autostart.set(settings.autostart).map_err(|_| Told::new("E-AUD-3", strings::SETTINGS_UNWRITABLE))?;
    }
    kept.save(&console.profile).map_err(|_| Told::new("E-AUD-3", strings::SETTINGS_UNWRITABLE))?;
    windows::wear(&app, kept.theme);
    console.shared().settings = kept;
    notices::settings_changed(&app, &console);
    console.tell(Change::State);
    Ok(())
}

/// Pauses what pops up: "half_hour", "hour", "until_tomorrow"; anything else ends a pause.
#[tauri::command]
pub async fn pause_notices(app: AppHandle, length: String) -> Result<(), Told> {
    let length = match length.as_str() {
        "half_hour" => Some(Pause::HalfHour),
        "hour" => Some(Pause::Hour),
        "until_tomorrow" => Some(Pause::UntilTomorrow),
        _ => None,
    };
    notices::pause(&app, length);
    Ok(())
}

#[tauri::command]
pub async fn open_review(app: AppHandle, console: State<'_, Shared>, request: String) -> Result<(), Told> {
    windows::open_review(&app, &console, &request)
}

#[tauri::command]
pub async fn desk(console: State<'_, Shared>) -> Result<DeskPage, Told> {
    Ok(desk::page(&console))
}

#[tauri::command]
pub async fn desk_item(console: State<'_, Shared>, operation: String) -> Result<Option<DeskDetail>, Told> {
    Ok(desk::detail(&console, &operation))
}

/// Whether a notification, the tray or another window asked for the reconcile desk; it is told once.
#[tauri::command]
pub async fn desk_wanted(console: State<'_, Shared>) -> Result<bool, Told> {
    Ok(std::mem::take(&mut console.shared().desk_wanted))
}

#[tauri::command]
pub async fn outcome_opened(window: WebviewWindow, console: State<'_, Shared>, operation: String) -> Result<(), Told> {
    // Nobody looks at a window that is not in front: people are told until somebody does.
    if window.is_focused().unwrap_or(false) {
        answer_commands::say_opened(&console, operation);
    }
    Ok(())
}

#[tauri::command]
pub async fn ask_provider(console: State<'_, Shared>, operation: String) -> Result<String, Told> {
    let unknown = || Told::new("E-LINK-1", strings::NOTHING_IN_DOUBT);
    let key = operation.parse().map_err(|_| unknown())?;
    // A made-up operation would be refused by the gate as well, and leave a record in this person's name.
    desk::matter(&console, &operation).ok_or_else(unknown)?;
    let client = console.shared().client.clone().ok_or_else(|| Told::new("E-NET-1", strings::GATE_UNREACHABLE))?;
    let report = client.ask_status(&key).await.map_err(|error| Told::of_gate(&error))?;
    Ok(strings::provider_says(&report.answer, &crate::text::literal::one_line(&report.detail)))
}

#[tauri::command]
pub async fn open_answer(app: AppHandle, console: State<'_, Shared>, operation: String) -> Result<(), Told> {
    windows::open_answer(&app, &console, &operation)
}

#[tauri::command]
pub async fn open_enrolment(app: AppHandle, console: State<'_, Shared>) -> Result<(), Told> {
    windows::open_enrolment(&app, &console)
}

#[tauri::command]
pub async fn open_keys(app: AppHandle, console: State<'_, Shared>, stop: bool) -> Result<(), Told> {
    windows::open_keys(&app, &console, stop)
}

/// Tells the main window that something changed, never what.
pub fn forward_changes(app: &AppHandle, console: &Shared) {
    let (app, console) = (app.clone(), console.clone());
    let mut changes = console.changes();
    tauri::async_runtime::spawn(async move {
        loop {
            let created = match changes.recv().await {
                Ok(Change::Log(applied)) => {
                    if applied.created.is_empty() && applied.changed.is_empty() && !applied.rules_changed && !applied.outcomes_changed {
                        continue;
                    }
                    applied.created
                }
                Ok(Change::State | Change::Opened(_)) => Vec::new(),
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => Vec::new(),
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            };
            let waiting = inbox::counts(&console).waiting;
            // What somebody else has to decide is no news here.
            let added = inbox::decidable_of(&console, &created);
            let announcement = if added == 0 { String::new() } else { strings::announcement(added, waiting) };
            let changed = InboxChanged { waiting: waiting.to_string(), added: added.to_string(), announcement };
            // A main window that is gone is told nothing.
            let _ = app.emit_to(windows::MAIN, "inbox_changed", changed);
            let _ = app.emit_to(windows::MAIN, "console_state_changed", ());
            if let Some(window) = app.get_webview_window(windows::MAIN) {
                let _ = window.set_title(&frame::console_state(&console).window_title);
            }
        }
    });
}
