//! The windows: who may open, where they may go, and that none comes forward by itself.

use tauri::webview::{Color, NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Emitter, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use super::window_state::{SIZE_MIN, WindowState};
use super::{Shared, answer_commands, review_commands, sheet_commands};
use crate::answer::Answering;
use crate::console::Change;
use crate::errors::Told;
use crate::limits::REVIEW_WINDOWS_MAX;
use crate::random;
use crate::review::Review;
use crate::review::card::Card;
use crate::settings::Theme;
use crate::strings;

pub const MAIN: &str = "main";
pub const ENROLMENT: &str = "enrolment";
pub const KEYS: &str = "keys";
const REVIEW_PREFIX: &str = "review-";
const ANSWER_PREFIX: &str = "answer-";

/// Where a page's connections to the network would go: a port that only the system may open, and that nobody serves. The policies
/// let no page send anything; this also stops what they do not govern, a connection opened ahead of a request, and its name lookup.
const NOWHERE: &str = "http://127.0.0.1:1";

/// Milliseconds after which a window is shown even if its page is not painted.
const SHOWN_AFTER_MS: u64 = 3_000;

/// The request of a review window, by its label.
pub fn request_of(label: &str) -> Option<&str> {
    label.strip_prefix(REVIEW_PREFIX)
}

/// The operation of an answer window, by its label.
pub fn operation_of(label: &str) -> Option<&str> {
    label.strip_prefix(ANSWER_PREFIX)
}

pub fn open_main(app: &AppHandle, console: &Shared, hidden: bool) -> tauri::Result<()> {
    let title = crate::frame::console_state(console).window_title;
    let kept = WindowState::load(&console.profile);
    let window = builder(app, MAIN, WebviewUrl::App("index.html".into()), |url| {
        url.scheme() == "tauri" || url.host_str() == Some("tauri.localhost")
    })
    .title(title)
    .inner_size(kept.width, kept.height)
    .min_inner_size(SIZE_MIN.0, SIZE_MIN.1)
    .maximized(kept.maximised);
    let window = match kept.place.filter(|_| kept.is_on(&screens(app))) {
        Some((x, y)) => window.position(x, y),
        None => window,
    };
    let theme = console.shared().settings.theme;
    let window = window.theme(window_theme(theme));
    let window = match canvas(theme) {
        Some(colour) => window.background_color(colour),
        None => window,
    };
    // Before the page has asked the core for anything: a dark one must not begin light.
    let window = match theme.mark() {
        Some(mark) => window.initialization_script(format!("document.documentElement.dataset.theme = \"{mark}\";")),
        None => window,
    };
    let window = if hidden { window } else { shown_when_painted(window) }.build()?;
    if !hidden {
        show_late(&window);
    }
    Ok(())
}

/// Where the screens are, in pixels of the page: left, top, width, height.
fn screens(app: &AppHandle) -> Vec<(f64, f64, f64, f64)> {
    let monitors = app.available_monitors().unwrap_or_default();
    let screen = |monitor: &tauri::Monitor| {
        let (place, size) =
            (monitor.position().to_logical::<f64>(monitor.scale_factor()), monitor.size().to_logical::<f64>(monitor.scale_factor()));
        (place.x, place.y, size.width, size.height)
    };
    monitors.iter().map(screen).collect()
}

/// Keeps the main window's size and place for the next run.
pub fn keep_state(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN) {
        let profile = &app.state::<Shared>().profile;
        WindowState::of(&window, WindowState::load(profile)).save(profile);
    }
}

/// The colour behind a page that is not painted yet: that of its canvas.
fn canvas(theme: Theme) -> Option<Color> {
    match theme {
        // What the system wears is the web view's to know.
        Theme::System => None,
        Theme::Light => Some(Color(0xf4, 0xf6, 0xf8, 0xff)),
        Theme::Dark => Some(Color(0x0e, 0x11, 0x16, 0xff)),
    }
}

/// What the toolkit wears around and behind a page, so that it does not shine through before the page is painted.
fn window_theme(theme: Theme) -> Option<tauri::Theme> {
    match theme {
        Theme::System => None,
        Theme::Light => Some(tauri::Theme::Light),
        Theme::Dark => Some(tauri::Theme::Dark),
    }
}

/// Puts a theme on every window that is open.
pub fn wear(app: &AppHandle, theme: Theme) {
    app.set_theme(window_theme(theme));
}

pub fn show_main(app: &AppHandle, console: &Shared) {
    match app.get_webview_window(MAIN) {
        Some(window) => raise(&window),
        // A desktop that gives no window leaves what is open.
        None => drop(open_main(app, console, false)),
    }
}

/// Shows the main window with the reconcile desk.
pub fn show_desk(app: &AppHandle, console: &Shared) {
    console.shared().desk_wanted = true;
    show_main(app, console);
    // A window that is only being made asks by itself.
    let _ = app.emit_to(MAIN, "desk_wanted", ());
}

/// The main window goes; the program ends with the last window.
pub fn remove_main(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN) {
        let _ = window.destroy();
    }
}

pub fn hide_main(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN) {
        // A window that cannot be hidden stays: nothing is lost.
        let _ = window.hide();
    }
}

/// Opens the review window of a request, or raises it.
pub fn open_review(app: &AppHandle, console: &Shared, request: &str) -> Result<(), Told> {
    let unknown = || Told::new("E-LINK-1", strings::NO_SUCH_REQUEST);
    let request = crate::args::request_id(request).map_err(|_| unknown())?;
    let label = format!("{REVIEW_PREFIX}{request}");
    if let Some(window) = app.get_webview_window(&label) {
        raise(&window);
        return Ok(());
    }
    let open = app.webview_windows().keys().filter(|label| request_of(label).is_some()).count();
    if open >= REVIEW_WINDOWS_MAX {
        return Err(Told::new("E-UI-3", strings::TOO_MANY_WINDOWS));
    }
    let card = console.read(|mirror| Card::read(mirror, &console.tables, &request)).flatten().ok_or_else(unknown)?;
    let now_ms = console.now_ms();
    let environment = card.frozen.as_ref().map(|frozen| frozen.members().environment.as_str());
    let title = strings::review_title(environment, console.automated);
    {
        let mut reviews = console.reviews();
        match reviews.get_mut(&request) {
            Some(review) => review.reopen(card, random::page_nonce(), now_ms),
            None => {
                reviews.insert(request.clone(), Review::new(card, random::page_nonce(), now_ms));
            }
        }
    }
    let window = trusted(app, &label, super::schemes::REVIEW, &request).title(title).inner_size(900.0, 800.0).min_inner_size(320.0, 400.0);
    let window = window.build().map_err(|_| Told::new("E-UI-1", strings::WINDOW_FAILED))?;
    show_late(&window);
    console.tell(Change::Opened(request.clone()));
    review_commands::ask_gate(console, request);
    Ok(())
}

/// Opens the window in which an operation's outcome is answered, or raises it.
pub fn open_answer(app: &AppHandle, console: &Shared, operation: &str) -> Result<(), Told> {
    let unknown = || Told::new("E-LINK-1", strings::NOTHING_IN_DOUBT);
    let key: vidimus_core::operation::OperationKey = operation.parse().map_err(|_| unknown())?;
    let operation = key.to_string();
    let label = format!("{ANSWER_PREFIX}{operation}");
    if let Some(window) = app.get_webview_window(&label) {
        raise(&window);
        return Ok(());
    }
    let open = app.webview_windows().keys().filter(|label| operation_of(label).is_some()).count();
    if open >= REVIEW_WINDOWS_MAX {
        return Err(Told::new("E-UI-3", strings::TOO_MANY_ANSWERS));
    }
    let matter = crate::desk::matter(console, &operation).ok_or_else(unknown)?;
    let environment = crate::answer::page::environment_of(console, &matter.card);
    let title = strings::in_doubt_title(environment, console.automated);
    console.answerings().insert(operation.clone(), Answering::new(&matter, random::page_nonce(), console.now_ms()));
    let window =
        trusted(app, &label, super::schemes::ANSWER, &operation).title(title).inner_size(900.0, 860.0).min_inner_size(320.0, 400.0);
    let window = window.build().map_err(|_| Told::new("E-UI-1", strings::WINDOW_FAILED))?;
    show_late(&window);
    answer_commands::begin(console, operation.clone());
    answer_commands::say_opened(console, operation);
    Ok(())
}

pub fn open_enrolment(app: &AppHandle, console: &Shared) -> Result<(), Told> {
    open_sheet(app, ENROLMENT, super::schemes::ENROLMENT, strings::sheet_title(strings::ENROLMENT, None, console.automated), 860.0, || {
        sheet_commands::begin_enrolment(app);
    })
}

/// Opens the window for keys, or raises it; on the page that stops this computer's key where `stop` says so.
pub fn open_keys(app: &AppHandle, console: &Shared, stop: bool) -> Result<(), Told> {
    open_sheet(app, KEYS, super::schemes::KEYS, strings::sheet_title(strings::YOUR_KEYS, None, console.automated), 720.0, || {
        sheet_commands::begin_keys(app);
    })?;
    if stop {
        sheet_commands::turn_to_stop(app);
    }
    Ok(())
}

fn open_sheet(app: &AppHandle, label: &str, scheme: &str, title: String, height: f64, begin: impl FnOnce()) -> Result<(), Told> {
    if let Some(window) = app.get_webview_window(label) {
        raise(&window);
        return Ok(());
    }
    begin();
    let window = trusted(app, label, scheme, "").title(title).inner_size(760.0, height).min_inner_size(320.0, 400.0);
    let window = window.build().map_err(|_| Told::new("E-UI-1", strings::WINDOW_FAILED))?;
    show_late(&window);
    Ok(())
}

type Builder<'a> = WebviewWindowBuilder<'a, tauri::Wry, AppHandle>;

/// A window of a scheme of its own, that can go nowhere else.
fn trusted<'a>(app: &'a AppHandle, label: &str, scheme: &str, path: &str) -> Builder<'a> {
    let address = format!("{scheme}://localhost/{path}");
    let url: Url = address.parse().unwrap_or_else(|_| unreachable!("a fixed scheme and the spelling of a request id"));
    let (scheme, path) = (scheme.to_owned(), url.path().to_owned());
    let builder = builder(app, label, WebviewUrl::CustomProtocol(url), move |url| url.scheme() == scheme && url.path() == path);
    let theme = app.state::<Shared>().shared().settings.theme;
    let builder = builder.theme(window_theme(theme));
    shown_when_painted(match canvas(theme) {
        Some(colour) => builder.background_color(colour),
        None => builder,
    })
}

fn builder<'a>(app: &'a AppHandle, label: &str, url: WebviewUrl, may_go: impl Fn(&Url) -> bool + Send + 'static) -> Builder<'a> {
    let nowhere: Url = NOWHERE.parse().unwrap_or_else(|_| unreachable!("a fixed address"));
    WebviewWindowBuilder::new(app, label, url)
        .proxy_url(nowhere)
        .visible(false)
        .on_navigation(may_go)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .disable_drag_drop_handler()
}

fn shown_when_painted(builder: Builder<'_>) -> Builder<'_> {
    builder.on_page_load(|window, load| {
        if load.event() == PageLoadEvent::Finished {
            show(&window);
        }
    })
}

/// Shown at the latest after some seconds, painted or not.
fn show_late(window: &WebviewWindow) {
    let window = window.clone();
    tauri::async_runtime::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(SHOWN_AFTER_MS)).await;
        show(&window);
    });
}

/// A window that its person opened. Windows of a hidden start are not shown by this.
fn show(window: &WebviewWindow) {
    if !window.is_visible().unwrap_or(false) {
        // A window system that refuses leaves it to the person to raise it.
        let _ = window.show();
        let _ = window.set_focus();
    }
}

fn raise(window: &WebviewWindow) {
    // Where the system does not let a window come forward, it demands attention instead.
    let _ = window.show();
    let _ = window.unminimize();
    if window.set_focus().is_err() {
        let _ = window.request_user_attention(Some(tauri::UserAttentionType::Informational));
    }
}

/// Milliseconds for the answer to reach a page that asked to be closed.
const CLOSED_AFTER_MS: u64 = 120;

/// Closes a window that asked for it, once it has its answer; then does what follows.
pub fn close_soon(window: WebviewWindow, then: impl FnOnce() + Send + 'static) {
    tauri::async_runtime::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(CLOSED_AFTER_MS)).await;
        // A window that is gone already is what was asked for.
        let _ = window.destroy();
        then();
    });
}

pub fn note_focus(console: &Shared, request: &str, focused: bool) {
    let now_ms = console.now_ms();
    if let Some(review) = console.reviews().get_mut(request) {
        set_focus(review, focused, now_ms);
    }
}

/// Notes that a window has the focus, and since when.
pub fn set_focus(reading: &mut Review, focused: bool, now_ms: i64) {
    reading.focused_since_ms = match (focused, reading.focused_since_ms) {
        (false, _) => None,
        (true, Some(since)) => Some(since),
        (true, None) => Some(now_ms),
    };
}
