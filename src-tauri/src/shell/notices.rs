//! Feeds the notices and the tray from what changes, and carries out what they ask: opening, and no more.

use std::sync::{Mutex, PoisonError};

use tauri::{AppHandle, Manager};
use vidimus_core::ids::RequestId;

use super::{Shared, windows};
use crate::console::{Change, Console, GateState};
use crate::errors::Told;
use crate::mirror::Mirror;
use crate::notify::plan::{Ended, Input, Notified, Pause, Target, View};
use crate::notify::{self, Event, Notices, Service};
use crate::profile::write_whole;
use crate::text::time;
use crate::tray::{self, GateLine, Tray, TrayAction, TrayState};
use crate::waiting;

/// What was started, as far as the desktop has it.
#[derive(Default)]
pub struct Desk {
    notices: Mutex<Option<Notices>>,
    tray: Mutex<Option<Tray>>,
}

/// Starts both. Without a notification service or a tray host everything else works.
pub fn start(app: &AppHandle, console: &Shared) {
    let desk = Desk::default();
    match start_notices(app, console) {
        Ok(notices) => *lock(&desk.notices) = Some(notices),
        Err(_) => console.shared().notices_fault = Some(Told::new("E-NOT-1", notify::strings::NO_SERVICE)),
    }
    if let Ok(tray) = Tray::build(app, &console.profile.tray_directory(), act) {
        *lock(&desk.tray) = Some(tray);
    }
    app.manage(desk);
    follow(app, console);
}

fn start_notices(app: &AppHandle, console: &Shared) -> std::io::Result<Notices> {
    let notified: Notified =
        std::fs::read(console.profile.notified_file()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let (privacy, quiet) = {
        let settings = &console.shared().settings;
        (settings.notification_privacy, settings.quiet_hours.as_ref().and_then(|hours| hours.hours(&console.zone)))
    };
    let (clock, console, app) = (console.clone(), console.clone(), app.clone());
    let notices = Notices::start(notified, privacy, move || clock.now_ms(), move |event| hear(&app, &console, event))?;
    notices.apply(Input::Quiet(quiet));
    Ok(notices)
}

fn hear(app: &AppHandle, console: &Shared, event: Event) {
    match event {
        // Where it opens, its page has everything that the notification left out.
        Event::Open(Target::Request(request)) => {
            if windows::open_review(app, console, &request.to_string()).is_err() {
                windows::show_main(app, console);
            }
        }
        Event::Open(Target::Desk) => windows::show_desk(app, console),
        Event::Open(Target::Inbox) => windows::show_main(app, console),
        Event::Service(service) => {
            let fault = match service {
                Service::Present => None,
                Service::Absent => Some(Told::new("E-NOT-1", notify::strings::NO_SERVICE)),
            };
            console.shared().notices_fault = fault;
            console.tell(Change::State);
        }
        Event::Paused(paused) => {
            console.shared().paused = paused;
            console.tell(Change::State);
        }
        Event::Remember(notified) => {
            if let Ok(bytes) = serde_json::to_vec(&notified) {
                // Not kept, it would be told again after a restart: that is the lesser harm.
                let _ = write_whole(&console.profile.notified_file(), &bytes);
            }
        }
    }
}

fn act(app: &AppHandle, action: TrayAction) {
    match action {
        TrayAction::OpenInbox | TrayAction::OpenConsole => windows::show_main(app, &app.state::<Shared>()),
        TrayAction::OpenDesk => windows::show_desk(app, &app.state::<Shared>()),
        TrayAction::Pause(length) => pause(app, Some(length)),
        TrayAction::Resume => pause(app, None),
        TrayAction::Quit => {
            windows::keep_state(app);
            app.exit(0);
        }
    }
}

fn follow(app: &AppHandle, console: &Shared) {
    let (app, console) = (app.clone(), console.clone());
    let mut changes = console.changes();
    tauri::async_runtime::spawn(async move {
        loop {
            let ended = match changes.recv().await {
                Ok(Change::Log(applied)) => ended_ones(&console, &applied.changed),
                Ok(Change::Opened(request)) => {
                    if let Ok(request) = request.parse() {
                        apply(&app, Input::Opened(request));
                    }
                    Vec::new()
                }
                Ok(Change::State) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => Vec::new(),
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            };
            for (request, ended) in ended {
                apply(&app, Input::Ended(request, ended));
            }
            // An older state of the log may still hold as waiting what was decided long since.
            if console.shared().level {
                apply(&app, Input::Requests(waiting::all(&console)));
                apply(&app, Input::Outcomes(waiting::in_doubt(&console)));
            }
            update_tray(&app, &console);
        }
    });
}

/// How requests that changed ended, if they did.
fn ended_ones(console: &Console, changed: &[String]) -> Vec<(RequestId, Ended)> {
    let me = console.standing().map(|standing| standing.person.person);
    let roster = console.read(Mirror::roster).flatten();
    let mut found = Vec::new();
    for request in changed {
        let Some(row) = console.read(|mirror| mirror.request(request)).flatten() else { continue };
        let Ok(id) = request.parse() else { continue };
        let last = console.read(|mirror| mirror.decisions(request)).unwrap_or_default().pop();
        let approver = last.and_then(|decision| decision.approver.parse().ok());
        let ended = match (row.state.as_str(), approver) {
            ("pending", _) => continue,
            ("approved" | "consumed" | "denied" | "revoked", Some(approver)) if Some(approver) == me => Ended::DecidedHere,
            ("approved" | "consumed" | "denied" | "revoked", Some(approver)) => {
                let name = roster.as_ref().and_then(|roster| roster.person(&approver)).map(|person| person.name.clone());
                Ended::DecidedBy(name.unwrap_or_default())
            }
            _ => Ended::Otherwise,
        };
        found.push((id, ended));
    }
    found
}

fn update_tray(app: &AppHandle, console: &Console) {
    let decidable = crate::inbox::decidable(console);
    let next = decidable.iter().map(|summary| summary.waits_until_ms).min();
    let now_ms = console.now_ms();
    let words = format!("{} {}", crate::strings::TOP_GATE, crate::review::state::top_line(console).gate);
    let connected = console.shared().gate == GateState::Connected;
    let paused = console.shared().paused;
    let state = TrayState {
        paused: paused.map(|paused| crate::frame::paused_text(console, paused).text),
        waiting: decidable.len(),
        next_expires: next.map(|at_ms| time::day_and_time(at_ms, now_ms, &console.zone)),
        in_doubt: crate::desk::counts(console).0,
        gate: if connected { GateLine::Connected(words) } else { GateLine::NotConnected(words) },
    };
    if let Some(tray) = lock(&app.state::<Desk>().tray).as_ref() {
        // The main thread is ending: nobody looks any more.
        let _ = tray.update(&state);
    }
}

fn apply(app: &AppHandle, input: Input) {
    if let Some(notices) = lock(&app.state::<Desk>().notices).as_ref() {
        notices.apply(input);
    }
}

/// Pauses what pops up for so long, or ends a pause.
pub fn pause(app: &AppHandle, length: Option<Pause>) {
    let console = app.state::<Shared>();
    let input = match length {
        Some(length) => Input::PauseUntil(length.until_ms(console.now_ms(), &console.zone)),
        None => Input::Resume,
    };
    apply(app, input);
}

/// Whether closing the main window leaves the console running: only where a tray shows that it does.
pub fn keeps_running(app: &AppHandle) -> bool {
    lock(&app.state::<Desk>().tray).is_some() && tray::has_host()
}

/// While the inbox is looked at, its live region tells what arrives.
pub fn main_focused(app: &AppHandle, focused: bool) {
    apply(app, Input::View(if focused { View::Inbox } else { View::Elsewhere }));
}

pub fn settings_changed(app: &AppHandle, console: &Shared) {
    let settings = console.shared().settings.clone();
    apply(app, Input::Privacy(settings.notification_privacy));
    apply(app, Input::Quiet(settings.quiet_hours.and_then(|hours| hours.hours(&console.zone))));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
