//! What an answer window may ask. The window's own label says which operation it is about.

use tauri::{AppHandle, State, WebviewWindow};

use super::{Shared, windows};
use crate::answer::form::Form;
use crate::answer::state::{self, AnswerState};
use crate::answer::{Answering, attach, sign};
use crate::errors::Told;
use crate::review::decide::Outcome;
use crate::strings;

fn closed() -> Told {
    Told::new("E-REQ-11", strings::NOT_OPEN)
}

/// Does something to this window's answer and tells its state.
fn with_answer(console: &Shared, window: &WebviewWindow, act: impl FnOnce(&mut Answering)) -> Result<AnswerState, Told> {
    let operation = windows::operation_of(window.label()).ok_or_else(closed)?;
    let mut answerings = console.answerings();
    let answering = answerings.get_mut(operation).ok_or_else(closed)?;
    act(answering);
    Ok(state::of(console, answering, console.now_ms()))
}

#[tauri::command]
pub async fn answer_state(window: WebviewWindow, console: State<'_, Shared>, focused: bool) -> Result<AnswerState, Told> {
    // The page's word can only take focus away; that it has it is the window system's to say.
    let focused = focused && window.is_focused().unwrap_or(false);
    let now_ms = console.now_ms();
    with_answer(&console, &window, |answering| windows::set_focus(&mut answering.reading, focused, now_ms))
}

#[tauri::command]
pub async fn answer_seen(window: WebviewWindow, console: State<'_, Shared>, nonce: String, parts: Vec<usize>) -> Result<AnswerState, Told> {
    with_answer(&console, &window, |answering| {
        if answering.reading.nonce == nonce && answering.reading.focused_since_ms.is_some() {
            answering.reading.mark_seen(&parts);
        }
    })
}

#[tauri::command]
pub async fn answer_form(window: WebviewWindow, console: State<'_, Shared>, nonce: String, open: bool) -> Result<AnswerState, Told> {
    let now_ms = console.now_ms();
    with_answer(&console, &window, |answering| {
        if answering.reading.nonce == nonce {
            answering.form_open = open;
            answering.reading.panel_since_ms = now_ms;
        }
    })
}

#[tauri::command]
pub async fn answer_attach(
    window: WebviewWindow,
    console: State<'_, Shared>,
    nonce: String,
    name: String,
    content: String,
) -> Result<Outcome, Told> {
    let mut message = strings::FILE_ATTACHED;
    with_answer(&console, &window, |answering| {
        if answering.reading.nonce != nonce {
            message = strings::PRESS_ANEW;
        } else if let Err(words) = attach::attach(answering, &console.profile, &name, &content) {
            message = words;
        }
    })?;
    Ok(Outcome::says(message))
}

#[tauri::command]
pub async fn answer_sign(window: WebviewWindow, console: State<'_, Shared>, form: Form) -> Result<Outcome, Told> {
    let operation = windows::operation_of(window.label()).ok_or_else(closed)?;
    Ok(sign::sign(&console, operation, form).await)
}

#[tauri::command]
pub async fn answer_original(app: AppHandle, window: WebviewWindow, console: State<'_, Shared>, nonce: String) -> Result<(), Told> {
    let state = with_answer(&console, &window, |_| {})?;
    if state.nonce != nonce {
        return Ok(());
    }
    let operation = windows::operation_of(window.label()).ok_or_else(closed)?;
    let request = crate::desk::matter(&console, operation).and_then(|matter| matter.row.request).ok_or_else(closed)?;
    windows::open_review(&app, &console, &request)
}

#[tauri::command]
pub async fn answer_close(window: WebviewWindow) -> Result<(), Told> {
    windows::operation_of(window.label()).ok_or_else(closed)?;
    windows::close_soon(window, || {});
    Ok(())
}

/// Asks the gate from when on nothing can arrive any more.
pub fn begin(console: &Shared, operation: String) {
    let console = console.clone();
    tauri::async_runtime::spawn(async move {
        let Some(client) = console.shared().client.clone() else { return };
        let Ok(key) = operation.parse() else { return };
        let Ok(detail) = client.operation(&key).await else { return };
        if let Some(answering) = console.answerings().get_mut(&operation) {
            answering.settles_at_ms = detail.settles_at.map(vidimus_core::time::Timestamp::as_ms);
        }
    });
}

/// Says at the gate that the person here looks at it, so that nobody is told again meanwhile.
pub fn say_opened(console: &Shared, operation: String) {
    let console = console.clone();
    tauri::async_runtime::spawn(async move {
        let Some(matter) = crate::desk::matter(&console, &operation) else { return };
        let me = console.standing().map(|standing| standing.person.person.to_string());
        let looked = matter.row.opened_by.is_some() && matter.row.opened_by == me && matter.row.opened_at_ms >= Some(matter.row.at_ms);
        let waits = matter.row.state == "needs_reconciliation" && matter.eligible(&console).is_ok();
        let Some(client) = console.shared().client.clone().filter(|_| waits && !looked) else { return };
        let Ok(key) = operation.parse() else { return };
        // Not heard by the gate: people are told again, which is the lesser harm.
        let _ = client.opened(&key).await;
    });
}
