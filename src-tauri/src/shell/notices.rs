//! Notifications and the tray, fed from what changes.

use tauri::AppHandle;

use super::Shared;

pub fn start(_app: &AppHandle, _console: &Shared) {}

pub fn keeps_running(_app: &AppHandle) -> bool {
    false
}

pub fn main_focused(_app: &AppHandle, _focused: bool) {}

pub fn settings_changed(_app: &AppHandle) {}
