//! What a review window may ask. The window's own label says which request it is about.

use tauri::{AppHandle, State, WebviewWindow};
use vidimus_core::bytes::Digest;

use super::{Shared, windows};
use crate::errors::Told;
use crate::limits::{WRONG_ANSWER_WAIT_S, WRONG_ANSWERS_MAX, WRONG_ANSWERS_PAUSE_S};
use crate::random;
use crate::review::decide::{self, Decision, Outcome};
use crate::review::question::{self, Verdict};
use crate::review::state::{self, ReviewState};
use crate::review::{GateSays, Panel, Review};
use crate::strings;

fn closed() -> Told {
    Told::new("E-REQ-11", strings::NOT_OPEN)
}

/// Does something to this window's review and tells its state.
fn with_review(console: &Shared, window: &WebviewWindow, act: impl FnOnce(&mut Review)) -> Result<ReviewState, Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?;
    let mut reviews = console.reviews();
    let review = reviews.get_mut(request).ok_or_else(closed)?;
    act(review);
    Ok(state::of(console, review, console.now_ms()))
}

#[tauri::command]
pub async fn review_state(window: WebviewWindow, console: State<'_, Shared>, focused: bool) -> Result<ReviewState, Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?;
    // The page's word can only take focus away; that it has it is the window system's to say.
    windows::note_focus(&console, request, focused && window.is_focused().unwrap_or(false));
    with_review(&console, &window, |_| {})
}

#[tauri::command]
pub async fn review_seen(window: WebviewWindow, console: State<'_, Shared>, nonce: String, parts: Vec<usize>) -> Result<ReviewState, Told> {
    with_review(&console, &window, |review| {
        if review.nonce == nonce && review.focused_since_ms.is_some() {
            review.mark_seen(&parts);
        }
    })
}

#[tauri::command]
pub async fn review_panel(window: WebviewWindow, console: State<'_, Shared>, nonce: String, panel: String) -> Result<ReviewState, Told> {
    let now_ms = console.now_ms();
    with_review(&console, &window, |review| {
        if review.nonce != nonce {
            return;
        }
        review.panel = Panel::named(&panel);
        review.panel_since_ms = now_ms;
        if review.panel == Panel::Approve && review.question.is_none() {
            review.question = question::ask(&review.card, None, &others_asked(&console, review), random::bytes());
        }
        // More time is given from within the panel, and what was answered there stays answered.
        if let Some(asked) = review.question.as_mut().filter(|_| !matches!(review.panel, Panel::Approve | Panel::MoreTime)) {
            asked.answered = false;
        }
    })
}

#[tauri::command]
pub async fn review_answer(window: WebviewWindow, console: State<'_, Shared>, nonce: String, answer: String) -> Result<Outcome, Told> {
    let now_ms = console.now_ms();
    let mut message = String::new();
    with_review(&console, &window, |review| {
        if review.nonce != nonce || now_ms < review.answer_wait_until_ms {
            return;
        }
        let Some(asked) = review.question.as_mut().filter(|asked| !asked.answered) else { return };
        match asked.judge(&answer) {
            Verdict::Right => asked.answered = true,
            Verdict::Ambiguous => strings::AMBIGUOUS.clone_into(&mut message),
            Verdict::Wrong => {
                message = Told::new("E-DEC-5", strings::WRONG_VALUE).line();
                wrong_answer(&console, review, now_ms);
            }
        }
    })?;
    Ok(Outcome::says(message))
}

/// Which values were asked of those who approved before: a second person looks at another one.
fn others_asked(console: &Shared, review: &Review) -> Vec<String> {
    let decisions = console.read(|mirror| mirror.decisions(&review.card.listed.request)).unwrap_or_default();
    decisions.into_iter().filter(|decision| decision.decision == "approve").filter_map(|decision| decision.asked).collect()
}

fn wrong_answer(console: &Shared, review: &mut Review, now_ms: i64) {
    review.wrong_answers += 1;
    let paused = review.wrong_answers >= WRONG_ANSWERS_MAX;
    let wait_s = if paused { WRONG_ANSWERS_PAUSE_S } else { WRONG_ANSWER_WAIT_S };
    review.answer_wait_until_ms = now_ms.saturating_add(i64::try_from(wait_s * 1000).unwrap_or(i64::MAX));
    review.question = question::ask(&review.card, review.question.as_ref(), &others_asked(console, review), random::bytes());
}

#[tauri::command]
pub async fn review_decide(window: WebviewWindow, console: State<'_, Shared>, decision: Decision) -> Result<Outcome, Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?;
    Ok(decide::decide(&console, request, decision).await)
}

#[tauri::command]
pub async fn review_next(app: AppHandle, window: WebviewWindow, console: State<'_, Shared>, nonce: String) -> Result<(), Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?;
    let state = with_review(&console, &window, |_| {})?;
    if state.nonce != nonce {
        return Ok(());
    }
    let next = crate::inbox::next_after(&console, request);
    let console = console.inner().clone();
    // Closed first: it counts among the open ones.
    windows::close_soon(window, move || {
        if let Some(next) = next
            && windows::open_review(&app, &console, &next).is_err()
        {
            windows::show_main(&app, &console);
        }
    });
    Ok(())
}

/// Leads to the reconcile desk: an outcome in doubt is not this window's.
#[tauri::command]
pub async fn review_desk(app: AppHandle, window: WebviewWindow, console: State<'_, Shared>) -> Result<(), Told> {
    windows::request_of(window.label()).ok_or_else(closed)?;
    windows::show_desk(&app, &console);
    Ok(())
}

#[tauri::command]
pub async fn review_close(window: WebviewWindow) -> Result<(), Told> {
    windows::request_of(window.label()).ok_or_else(closed)?;
    windows::close_soon(window, || {});
    Ok(())
}

/// Writes exactly the bytes that are shown and hashed, for another program to look at.
#[tauri::command]
pub async fn review_save_bytes(window: WebviewWindow, console: State<'_, Shared>, nonce: String) -> Result<String, Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?.to_owned();
    let bytes = {
        let reviews = console.reviews();
        let review = reviews.get(&request).filter(|review| review.nonce == nonce).ok_or_else(closed)?;
        review.card.listed.frozen.clone().ok_or_else(|| Told::new("E-REQ-2", strings::BYTES_MISSING))?
    };
    let unwritable = |_| Told::new("E-AUD-3", strings::SETTINGS_UNWRITABLE);
    let directory = console.profile.evidence_directory();
    std::fs::create_dir_all(&directory).map_err(unwritable)?;
    let file = directory.join(format!("{request}.json"));
    crate::profile::write_whole(&file, bytes.as_bytes()).map_err(unwritable)?;
    Ok(strings::bytes_saved(&file.display().to_string()))
}

#[tauri::command]
pub async fn review_save_evidence(window: WebviewWindow, console: State<'_, Shared>, nonce: String) -> Result<String, Told> {
    let request = windows::request_of(window.label()).ok_or_else(closed)?.to_owned();
    let state = with_review(&console, &window, |_| {})?;
    if state.nonce != nonce {
        return Err(closed());
    }
    let unwritable = |_| Told::new("E-AUD-3", strings::SETTINGS_UNWRITABLE);
    let directory = console.profile.evidence_directory();
    let (evidence, differs) = {
        let reviews = console.reviews();
        let review = reviews.get(&request).ok_or_else(closed)?;
        (review.card.listed.clone(), review.gate_says.clone())
    };
    let leaf = console.read(|mirror| mirror.leaf(evidence.position)).flatten().unwrap_or_default();
    let head = console.read(|mirror| Ok(mirror.checkpoint().unwrap_or_default().to_owned())).unwrap_or_default();
    let text = format!(
        "request {request}\nnamed by the log {}\nsaid when asked {differs:?}\nbytes as they came:\n{}\nrecord:\n{leaf}\nsigned head:\n{head}\n",
        evidence.request_sha256,
        evidence.frozen.unwrap_or_default(),
    );
    std::fs::create_dir_all(&directory).map_err(unwritable)?;
    let file = directory.join(format!("{request}.txt"));
    crate::profile::write_whole(&file, text.as_bytes()).map_err(unwritable)?;
    console.read(|mirror| Ok(mirror.save_evidence(&directory).map(|_| ()))).transpose().map_err(unwritable)?;
    Ok(strings::evidence_saved(&file.display().to_string()))
}

/// Asks the gate for the request apart from the log, and compares.
pub fn ask_gate(console: &Shared, request: String) {
    let console = console.clone();
    tauri::async_runtime::spawn(async move {
        let Some(client) = console.shared().client.clone() else { return };
        let Ok(id) = request.parse() else { return };
        let Ok(detail) = client.request_detail(&id).await else { return };
        let theirs = Digest::of(detail.frozen.as_bytes()).to_string();
        if let Some(review) = console.reviews().get_mut(&request) {
            let same = review.card.local_sha256().as_deref() == Some(&theirs);
            review.gate_says = if same { GateSays::Same } else { GateSays::Differs(theirs) };
        }
    });
}
