//! What the enrolment and keys windows may ask.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tauri::{AppHandle, Manager, State, WebviewWindow};

use super::{Shared, windows};
use crate::errors::Told;
use crate::review::state::{TopLine, top_line};
use crate::sheets::enrolment::{self, Held, Sheet};
use crate::sheets::{Fields, Outcome, keys};
use crate::trusted::Document;

/// The open sheets.
#[derive(Default)]
pub struct Sheets {
    enrolment: Mutex<Option<Sheet>>,
    keys: KeysSheet,
}

/// The window for keys, while it is open.
#[derive(Default)]
pub struct KeysSheet(Mutex<Option<keys::Sheet>>);

impl keys::Held for KeysSheet {
    fn with<T>(&self, act: impl FnOnce(&mut keys::Sheet) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}

impl Held for Sheets {
    fn with<T>(&self, act: impl FnOnce(&mut Sheet) -> T) -> Option<T> {
        self.enrolment.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}

/// Whether a sheet is to be drawn anew, and the words of its top bar.
#[derive(Debug, Clone, Serialize)]
pub struct SheetState {
    version: String,
    gate: String,
    clock: String,
    key: String,
    /// Said while an act is under way.
    note: String,
}

fn state_of(console: &Shared, version: String, note: String) -> SheetState {
    let TopLine { gate, clock, key } = top_line(console);
    SheetState { version, gate, clock, key, note }
}

pub fn begin_enrolment(app: &AppHandle) {
    let sheets = app.state::<Sheets>();
    *sheets.enrolment.lock().unwrap_or_else(PoisonError::into_inner) = Some(Sheet::new());
}

pub fn begin_keys(app: &AppHandle) {
    let sheets = app.state::<Sheets>();
    *sheets.keys.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys::Sheet::new());
}

/// Turns the window for keys to the page that stops this computer's key.
pub fn turn_to_stop(app: &AppHandle) {
    let (console, sheets) = (app.state::<Shared>(), app.state::<Sheets>());
    if let Some(sheet) = sheets.keys.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        sheet.turn_to_stop(&console);
    }
}

pub fn draw_enrolment(app: &AppHandle) -> Document {
    let (console, sheets) = (app.state::<Shared>(), app.state::<Sheets>());
    let mut slot = sheets.enrolment.lock().unwrap_or_else(PoisonError::into_inner);
    let sheet = slot.get_or_insert_with(Sheet::new);
    enrolment::draw(&console, sheet).document()
}

pub fn draw_keys(app: &AppHandle) -> Document {
    let (console, sheets) = (app.state::<Shared>(), app.state::<Sheets>());
    let mut slot = sheets.keys.0.lock().unwrap_or_else(PoisonError::into_inner);
    keys::draw(&console, slot.get_or_insert_with(keys::Sheet::new)).document()
}

#[tauri::command]
pub async fn enrolment_state(console: State<'_, Shared>, sheets: State<'_, Sheets>) -> Result<SheetState, Told> {
    let (version, note) = sheets.with(|sheet| (enrolment::version(&console, sheet), sheet.note.clone())).unwrap_or_default();
    Ok(state_of(&console, version, note))
}

#[tauri::command]
pub async fn enrolment_act(
    window: WebviewWindow,
    console: State<'_, Shared>,
    sheets: State<'_, Sheets>,
    nonce: String,
    action: String,
    fields: Fields,
) -> Result<Outcome, Told> {
    let outcome = enrolment::perform(&console, sheets.inner(), &nonce, &action, fields).await;
    Ok(finish(window, outcome))
}

#[tauri::command]
pub async fn keys_state(console: State<'_, Shared>, sheets: State<'_, Sheets>) -> Result<SheetState, Told> {
    let found = keys::Held::with(&sheets.keys, |sheet| (keys::version(&console, sheet), sheet.note.clone()));
    let (version, note) = found.unwrap_or_default();
    Ok(state_of(&console, version, note))
}

#[tauri::command]
pub async fn keys_act(
    window: WebviewWindow,
    console: State<'_, Shared>,
    sheets: State<'_, Sheets>,
    nonce: String,
    action: String,
    fields: Fields,
) -> Result<Outcome, Told> {
    let outcome = keys::perform(&console, &sheets.keys, &nonce, &action, fields).await;
    Ok(finish(window, outcome))
}

fn finish(window: WebviewWindow, outcome: Outcome) -> Outcome {
    if outcome.close {
        windows::close_soon(window, || {});
    }
    outcome
}
