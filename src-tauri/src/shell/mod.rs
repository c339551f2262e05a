//! The thin layer between the console and Tauri: windows, schemes, commands, tray.
//!
//! No rule lives here: each function forwards to a plain module.

mod answer_commands;
pub mod environment;
mod main_commands;
mod notices;
#[cfg(feature = "automation")]
mod pages;
mod review_commands;
mod schemes;
mod sheet_commands;
mod window_state;
mod windows;

use std::process::ExitCode;
use std::sync::Arc;

use tauri::{AppHandle, Manager, WindowEvent};

use crate::args::{self, Arguments};
use crate::console::Console;
use crate::link;
use crate::profile::{Homes, Profile, ProfileError, ProfileLock};
use crate::propose;
use crate::review::page::View;

#[cfg(test)]
pub(crate) use main_commands::InboxChanged;

pub(crate) type Shared = Arc<Console>;

/// Runs the console until it is quit.
pub fn run() -> ExitCode {
    let arguments = match args::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("vidimus: {error}");
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        println!("{}", args::USAGE);
        return ExitCode::SUCCESS;
    }
    let profile = match profile_of(&arguments) {
        Ok(profile) => profile,
        Err(error) => return refused(&error),
    };
    if let Some(file) = &arguments.propose_table {
        return propose(&profile, file);
    }
    match start(arguments, profile) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vidimus: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Beside a running console: it takes no lock, and writes nothing here.
fn propose(profile: &Profile, file: &std::path::Path) -> ExitCode {
    match tauri::async_runtime::block_on(propose::table(profile, file)) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("vidimus: {}", propose::chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn refused(error: &ProfileError) -> ExitCode {
    eprintln!("vidimus: {error}");
    ExitCode::FAILURE
}

fn profile_of(arguments: &Arguments) -> Result<Profile, ProfileError> {
    match &arguments.profile {
        Some(directory) => Profile::at(directory),
        None => Profile::default_of(&Homes::of_environment()),
    }
}

fn start(arguments: Arguments, profile: Profile) -> Result<(), Box<dyn std::error::Error>> {
    let console: Shared = Arc::new(Console::new(profile, cfg!(feature = "automation")));
    if let Some(theme) = arguments.theme {
        console.shared().settings.theme = theme;
    }
    let bus_name = format!("dev.vidimus.console.{}", console.profile.keyring_service().replace('-', "_"));
    let single =
        tauri_plugin_single_instance::Builder::new().dbus_id(bus_name).callback(|app, words, _directory| second_start(app, words)).build();
    let app = schemes::register(tauri::Builder::default())
        .plugin(single)
        .manage(console.clone())
        .manage(sheet_commands::Sheets::default())
        .invoke_handler(tauri::generate_handler![
            main_commands::console_state,
            main_commands::inbox_open,
            main_commands::inbox_page,
            main_commands::settings,
            main_commands::save_settings,
            main_commands::pause_notices,
            main_commands::open_review,
            main_commands::desk,
            main_commands::desk_item,
            main_commands::desk_wanted,
            main_commands::outcome_opened,
            main_commands::ask_provider,
            main_commands::open_answer,
            main_commands::open_enrolment,
            main_commands::open_keys,
            review_commands::review_state,
            review_commands::review_seen,
            review_commands::review_panel,
            review_commands::review_answer,
            review_commands::review_decide,
            review_commands::review_next,
            review_commands::review_close,
            review_commands::review_save_evidence,
            review_commands::review_save_bytes,
            review_commands::review_desk,
            answer_commands::answer_state,
            answer_commands::answer_seen,
            answer_commands::answer_form,
            answer_commands::answer_attach,
            answer_commands::answer_sign,
            answer_commands::answer_original,
            answer_commands::answer_close,
            sheet_commands::enrolment_state,
            sheet_commands::enrolment_act,
            sheet_commands::keys_state,
            sheet_commands::keys_act,
        ])
        .setup(move |app| set_up(app.handle(), &console, &arguments))
        .on_window_event(|window, event| on_window_event(window.app_handle(), window.label(), event))
        .build(context())?;
    app.run(|_app, _event| {});
    Ok(())
}

/// What was made at build time: configuration, pages, icons.
fn context() -> tauri::Context<tauri::Wry> {
    #[cfg_attr(not(feature = "automation"), expect(unused_mut, reason = "only the automated build changes it"))]
    let mut context = tauri::generate_context!();
    #[cfg(feature = "automation")]
    pages::replace(&mut context);
    context
}

fn set_up(app: &AppHandle, console: &Shared, arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    // After the single-instance plugin, which hands this start over to a running console first.
    let lock: ProfileLock = console.profile.lock()?;
    app.manage(lock);
    windows::open_main(app, console, arguments.hidden)?;
    main_commands::forward_changes(app, console);
    notices::start(app, console);
    crate::screen_lock::watch(console.clone());
    tauri::async_runtime::spawn(link::follow(console.clone()));
    if let Some(request) = arguments.request.clone() {
        open_when_known(app, console, request);
    }
    Ok(())
}

/// Another start of the program on the same profile: it may open, and nothing else.
fn second_start(app: &AppHandle, words: Vec<String>) {
    let arguments = args::parse(words.into_iter().skip(1).map(Into::into)).unwrap_or_default();
    let console = app.state::<Shared>().inner().clone();
    match arguments.request {
        Some(request) => {
            // What is not here yet, or never will be, is waited for beside the list.
            if windows::open_review(app, &console, &request).is_err() {
                windows::show_main(app, &console);
                open_when_known(app, &console, request);
            }
        }
        // A link that names no request leads to the list, and to nothing else.
        None => windows::show_main(app, &console),
    }
}

/// Opens a request as soon as the verified log holds it.
fn open_when_known(app: &AppHandle, console: &Shared, request: String) {
    let (app, console) = (app.clone(), console.clone());
    let mut changes = console.changes();
    tauri::async_runtime::spawn(async move {
        while windows::open_review(&app, &console, &request).is_err() {
            if matches!(changes.recv().await, Err(tokio::sync::broadcast::error::RecvError::Closed)) {
                return;
            }
        }
    });
}

fn on_window_event(app: &AppHandle, label: &str, event: &WindowEvent) {
    let console = app.state::<Shared>().inner().clone();
    match event {
        WindowEvent::CloseRequested { api, .. } if label == windows::MAIN => {
            api.prevent_close();
            windows::keep_state(app);
            close_main(app.clone());
        }
        WindowEvent::Destroyed => {
            if let Some(request) = windows::request_of(label)
                && let Some(review) = console.reviews().get_mut(request)
            {
                review.open = false;
                review.focused_since_ms = None;
            }
            if let Some(operation) = windows::operation_of(label) {
                console.answerings().remove(operation);
            }
        }
        WindowEvent::Focused(focused) => {
            if label == windows::MAIN {
                notices::main_focused(app, *focused);
            }
            if let Some(request) = windows::request_of(label) {
                windows::note_focus(&console, request, *focused);
            }
            if let Some(operation) = windows::operation_of(label)
                && let Some(answering) = console.answerings().get_mut(operation)
            {
                windows::set_focus(&mut answering.reading, *focused, console.now_ms());
            }
        }
        _ => {}
    }
}

/// Hides the window where a tray shows that the console runs on; else it goes, and the program with the last window, so
/// that an open request is not lost. Asked on a thread of its own: a desktop may take seconds to say whether it has a tray.
fn close_main(app: AppHandle) {
    tauri::async_runtime::spawn_blocking(move || {
        if notices::keeps_running(&app) {
            windows::hide_main(&app);
        } else {
            windows::remove_main(&app);
        }
    });
}

/// The page of a review window, drawn now.
fn draw_review(console: &Shared, request: &str, query: &str) -> Option<crate::trusted::Document> {
    let (view, page) = View::of_query(query);
    let mut reviews = console.reviews();
    let review = reviews.get_mut(request)?;
    Some(crate::review::page::draw(console, review, view, page).document())
}

/// The page of an answer window, drawn now.
fn draw_answer(console: &Shared, operation: &str, query: &str) -> Option<crate::trusted::Document> {
    let (view, page) = View::of_query(query);
    let mut answerings = console.answerings();
    let answering = answerings.get_mut(operation)?;
    Some(crate::answer::page::draw(console, answering, view, page).document())
}
