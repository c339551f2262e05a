//! What the main window may ask: reads, its settings, and that a trusted window be opened.

use serde::Serialize;
use tauri::{AppHandle, Emitter, Manager, State};

use super::{Shared, notices, windows};
use crate::console::Change;
use crate::errors::Told;
use crate::frame::{self, ConsoleState, SettingsText};
use crate::inbox::{self, InboxPage, InboxQuery};
use crate::settings::Settings;
use crate::strings;

/// Sent when the list may have changed. No payee, no amount.
#[derive(Debug, Clone, Serialize)]
struct InboxChanged {
    waiting: String,
    added: String,
    announcement: String,
}

#[tauri::command]
pub async fn console_state(console: State<'_, Shared>) -> Result<ConsoleState, Told> {
    Ok(frame::console_state(&console))
}

#[tauri::command(rename = "inbox")]
pub async fn inbox(console: State<'_, Shared>, query: InboxQuery) -> Result<InboxPage, Told> {
    Ok(inbox::page(&console, &query))
}

#[tauri::command]
pub async fn settings(console: State<'_, Shared>) -> Result<SettingsText, Told> {
    let settings = console.shared().settings.clone();
    Ok(SettingsText {
        theme: settings.theme,
        notification_privacy: settings.notification_privacy,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: if cfg!(debug_assertions) { "debug".to_owned() } else { "release".to_owned() },
    })
}

#[tauri::command]
pub async fn save_settings(app: AppHandle, console: State<'_, Shared>, settings: SettingsText) -> Result<(), Told> {
    let kept = Settings { theme: settings.theme, notification_privacy: settings.notification_privacy };
    kept.save(&console.profile).map_err(|_| Told::new("E-AUD-3", strings::SETTINGS_UNWRITABLE))?;
    console.shared().settings = kept;
    notices::settings_changed(&app, &console);
    console.tell(Change::State);
    Ok(())
}

#[tauri::command]
pub async fn open_review(app: AppHandle, console: State<'_, Shared>, request: String) -> Result<(), Told> {
    windows::open_review(&app, &console, &request)
}

#[tauri::command]
pub async fn open_enrolment(app: AppHandle, console: State<'_, Shared>) -> Result<(), Told> {
    windows::open_enrolment(&app, &console)
}

#[tauri::command]
pub async fn open_keys(app: AppHandle, console: State<'_, Shared>) -> Result<(), Told> {
    windows::open_keys(&app, &console)
}

/// Tells the main window that something changed, never what.
pub fn forward_changes(app: &AppHandle, console: &Shared) {
    let (app, console) = (app.clone(), console.clone());
    let mut changes = console.changes();
    tauri::async_runtime::spawn(async move {
        loop {
            let added = match changes.recv().await {
                Ok(Change::Log(applied)) => {
                    if applied.created.is_empty() && applied.changed.is_empty() && !applied.rules_changed && !applied.outcomes_changed {
                        continue;
                    }
                    applied.created.len()
                }
                Ok(Change::State | Change::Opened(_)) => 0,
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => 0,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            };
            let waiting = inbox::decidable(&console).len();
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
