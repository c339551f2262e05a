//! The real window, driven through WebKitWebDriver.
//!
//! The driver starts the application itself and passes its own environment on. The application can outlive the driver, so it is
//! found among the driver's children and ended by its own process id.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions, MouseActions, PointerAction};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::{Capabilities, WindowHandle};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Desktop, DesktopError, START_WITHIN};
use crate::processes::Process;

/// How long an element, a text or a window may take to appear.
pub const APPEAR_WITHIN: Duration = Duration::from_secs(20);

/// How long the application may take from its start to a session.
const SESSION_WITHIN: Duration = Duration::from_secs(90);

/// How long one command may take: some hang for ever in a driver whose application draws in a way it does not know.
const COMMAND_WITHIN: Duration = Duration::from_secs(30);

/// Between the end of a session and the end of the application: the driver still talks to it, and nothing says when it is done.
const SETTLE: Duration = Duration::from_millis(700);

/// The pause between two looks.
const POLL: Duration = Duration::from_millis(50);

/// Another process may take the port between choosing it and the driver's start.
const PORT_ATTEMPTS: u32 = 5;

/// A process that is not our child, with what tells it apart from a later one under the same id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Identity {
    id: i32,
    started_at: u64,
}

/// A session with an application under WebDriver.
#[derive(Debug)]
pub struct WebDriver {
    client: Option<Client>,
    driver: Process,
    application: Identity,
}

impl WebDriver {
    /// Starts the application on the desktop and opens a session with it.
    pub async fn start(
        desktop: &Desktop,
        application: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self, DesktopError> {
        let (mut driver, port) = start_driver(desktop, environment)?;
        let options = json!({ "binary": application, "args": arguments });
        let capabilities: Capabilities = [("webkitgtk:browserOptions".to_owned(), options)].into_iter().collect();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        let address = format!("http://127.0.0.1:{port}");
        let failed = |detail: String, driver: &Process| DesktopError::WebDriver {
            what: format!("no session with `{}`", application.display()),
            detail: format!("{detail}; the last lines:\n{}", driver.tail()),
        };
        let client = match timeout(SESSION_WITHIN, builder.connect(&address)).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(failed(error.to_string(), &driver)),
            Err(_) => return Err(failed(format!("nothing within {} s", SESSION_WITHIN.as_secs()), &driver)),
        };
        let application = match child_of(driver.id()) {
            Some(application) => application,
            None => {
                driver.end()?;
                return Err(failed("the driver has no child".to_owned(), &driver));
            }
        };
        Ok(Self { client: Some(client), driver, application })
    }

    /// The session itself, for what has no method here.
    pub fn client(&self) -> Result<&Client, DesktopError> {
        self.client.as_ref().ok_or_else(|| error("the session", "it is closed"))
    }

    /// The process id of the application.
    pub fn application_id(&self) -> u32 {
        self.application.id.unsigned_abs()
    }

    /// What the driver and the application have printed.
    pub fn output(&self) -> Result<String, DesktopError> {
        Ok(self.driver.text()?)
    }

    /// Waits for a window whose address begins so, and turns to it.
    pub async fn window_with_url(&self, prefix: &str) -> Result<WindowHandle, DesktopError> {
        let client = self.client()?;
        let deadline = Instant::now() + APPEAR_WITHIN;
        loop {
            let mut seen = Vec::new();
            for handle in command(client.windows()).await? {
                // A window may close between the list and the turn to it.
                if command(client.switch_to_window(handle.clone())).await.is_err() {
                    continue;
                }
                match command(client.current_url()).await {
                    Ok(url) if url.as_str().starts_with(prefix) => return Ok(handle),
                    Ok(url) => seen.push(url.to_string()),
                    Err(_) => {}
                }
            }
            if Instant::now() >= deadline {
                return Err(error(&format!("no window at `{prefix}`"), &format!("there are {seen:?}")));
            }
            sleep(POLL).await;
        }
    }

    /// The addresses of all windows; the session turns to the last of them.
    pub async fn urls(&self) -> Result<Vec<String>, DesktopError> {
        let client = self.client()?;
        let mut urls = Vec::new();
        for handle in command(client.windows()).await? {
            command(client.switch_to_window(handle)).await?;
            urls.push(command(client.current_url()).await?.to_string());
        }
        Ok(urls)
    }

    /// Waits for an element in the current window.
    pub async fn wait_for(&self, css: &str) -> Result<Element, DesktopError> {
        let deadline = Instant::now() + APPEAR_WITHIN;
        loop {
            match command(self.client()?.find(Locator::Css(css))).await {
                Ok(element) => return Ok(element),
                Err(reason) if Instant::now() >= deadline => return Err(error(&format!("no element `{css}`"), &reason.to_string())),
                Err(_) => sleep(POLL).await,
            }
        }
    }

    /// Waits until an element's visible text contains `needle`, and returns the text.
    pub async fn wait_for_text(&self, css: &str, needle: &str) -> Result<String, DesktopError> {
        let deadline = Instant::now() + APPEAR_WITHIN;
        let mut last = String::new();
        loop {
            // The element may be replaced between finding and reading.
            if let Ok(element) = command(self.client()?.find(Locator::Css(css))).await
                && let Ok(text) = command(element.text()).await
            {
                if text.contains(needle) {
                    return Ok(text);
                }
                last = text;
            }
            if Instant::now() >= deadline {
                return Err(error(&format!("`{css}` never said `{needle}`"), &format!("its last text is `{last}`")));
            }
            sleep(POLL).await;
        }
    }

    /// Whether the current window has such an element at this moment.
    pub async fn exists(&self, css: &str) -> Result<bool, DesktopError> {
        Ok(!command(self.client()?.find_all(Locator::Css(css))).await?.is_empty())
    }

    /// The visible text of an element.
    pub async fn text(&self, css: &str) -> Result<String, DesktopError> {
        named(css, command(self.wait_for(css).await?.text()).await)
    }

    /// An attribute of an element.
    pub async fn attribute(&self, css: &str, name: &str) -> Result<Option<String>, DesktopError> {
        command(self.wait_for(css).await?.attr(name)).await
    }

    /// Waits until an element stays where it is: the pointer goes to a place, and whatever is there then gets the press.
    async fn still(&self, css: &str) -> Result<Element, DesktopError> {
        let deadline = Instant::now() + APPEAR_WITHIN;
        let mut last = Err("nowhere yet".to_owned());
        loop {
            let element = self.wait_for(css).await?;
            // What lies beyond the edge of what scrolls has no place that the driver would tell.
            self.execute("document.querySelector(arguments[0])?.scrollIntoView({ block: 'nearest' })", vec![css.into()]).await?;
            // It may be replaced between finding and measuring.
            let place = command(element.rectangle()).await.map_err(|error| error.to_string());
            if place.is_ok() && place == last {
                return Ok(element);
            }
            if Instant::now() >= deadline {
                return Err(error(
                    &format!("the element `{css}`"),
                    &format!("it never stands still: it was at {last:?}, then at {place:?}"),
                ));
            }
            last = place;
            sleep(POLL).await;
        }
    }

    /// Clicks an element, as a trusted event.
    pub async fn click(&self, css: &str) -> Result<(), DesktopError> {
        named(css, command(self.still(css).await?.click()).await)
    }

    /// Clicks an element that closes its own window, and waits until the window is gone.
    pub async fn click_closing(&self, css: &str) -> Result<(), DesktopError> {
        let client = self.client()?;
        let window = command(client.window()).await?;
        let element = self.still(css).await?;
        // The window can be gone before the driver has its answer to the click.
        match client_click(element).await {
            Ok(()) | Err(CmdError::Standard(_)) => {}
            Err(reason) => return named(css, Err(error("WebDriver", &described(&reason)))),
        }
        let deadline = Instant::now() + APPEAR_WITHIN;
        while command(client.windows()).await?.contains(&window) {
            if Instant::now() >= deadline {
                return Err(error(&format!("the element `{css}`"), "its window stays open"));
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Types into an element.
    pub async fn type_text(&self, css: &str, text: &str) -> Result<(), DesktopError> {
        named(css, command(self.wait_for(css).await?.send_keys(text)).await)
    }

    /// Presses and releases keys one after the other, wherever the focus is.
    pub async fn keys(&self, keys: &str) -> Result<(), DesktopError> {
        let mut actions = KeyActions::new("keyboard".to_owned());
        for value in keys.chars() {
            actions = actions.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        }
        command(self.client()?.perform_actions(actions)).await
    }

    /// Holds the pointer down on an element for so long.
    pub async fn hold(&self, css: &str, duration: Duration) -> Result<(), DesktopError> {
        let element = self.still(css).await?;
        let button = fantoccini::actions::MOUSE_BUTTON_LEFT;
        let actions = MouseActions::new("mouse".to_owned())
            .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
            .then(PointerAction::Down { button })
            .then(PointerAction::Pause { duration })
            .then(PointerAction::Up { button });
        command(self.client()?.perform_actions(actions)).await
    }

    /// Runs a script as the body of a function in the current window.
    pub async fn execute(&self, script: &str, arguments: Vec<Value>) -> Result<Value, DesktopError> {
        command(self.client()?.execute(script, arguments)).await
    }

    /// Runs a script that calls its last argument when it is done, and gives what it was called with.
    pub async fn execute_async(&self, script: &str, arguments: Vec<Value>) -> Result<Value, DesktopError> {
        command(self.client()?.execute_async(script, arguments)).await
    }

    /// How many windows are open.
    pub async fn windows(&self) -> Result<usize, DesktopError> {
        Ok(command(self.client()?.windows()).await?.len())
    }

    /// Empties a field.
    pub async fn clear(&self, css: &str) -> Result<(), DesktopError> {
        named(css, command(self.wait_for(css).await?.clear()).await)
    }

    /// The address of the current window.
    pub async fn url(&self) -> Result<String, DesktopError> {
        Ok(command(self.client()?.current_url()).await?.to_string())
    }

    /// Writes a picture of the current window's page; right after a change it can still show the old frame.
    pub async fn screenshot_png(&self, path: &Path) -> Result<(), DesktopError> {
        let picture = command(self.client()?.screenshot()).await?;
        fs::write(path, picture).map_err(|source| DesktopError::File { path: path.to_owned(), source })
    }

    /// Waits until the application has ended by itself.
    pub fn ended(&self) -> Result<(), DesktopError> {
        let gone = || (!self.application.is_running()).then_some(());
        crate::processes::poll(APPEAR_WITHIN, gone).ok_or_else(|| error("the application", "it does not end"))
    }

    /// Kills the application at once, as a crash would.
    pub fn kill_application(&self) -> Result<(), DesktopError> {
        self.application.signal(Signal::KILL);
        self.wait_for_application_end()
    }

    /// Closes the session, then ends the application and the driver.
    pub async fn close(mut self) -> Result<(), DesktopError> {
        if let Some(client) = self.client.take() {
            // The application may be gone already, and its session with it.
            let _ = timeout(START_WITHIN, client.close()).await;
        }
        sleep(SETTLE).await;
        self.application.signal(Signal::TERM);
        if self.wait_for_application_end().is_err() {
            self.application.signal(Signal::KILL);
            self.wait_for_application_end()?;
        }
        self.driver.end()?;
        Ok(())
    }

    fn wait_for_application_end(&self) -> Result<(), DesktopError> {
        let gone = || (!self.application.is_running()).then_some(());
        crate::processes::poll(crate::processes::GRACE, gone).ok_or_else(|| error("the application", "it does not end"))
    }
}

impl Drop for WebDriver {
    fn drop(&mut self) {
        self.application.signal(Signal::KILL);
        // The driver goes with its own drop.
    }
}

impl Identity {
    fn is_running(self) -> bool {
        Status::read(self.id).is_some_and(|status| status.started_at == self.started_at && !status.is_zombie)
    }

    /// Sends a signal unless the process has ended.
    fn signal(self, signal: Signal) {
        if self.is_running()
            && let Some(id) = Pid::from_raw(self.id)
        {
            // It may end between the look and the signal, which is what was wanted.
            let _ = kill_process(id, signal);
        }
    }
}

/// What `/proc/ID/stat` says.
struct Status {
    parent: i32,
    started_at: u64,
    is_zombie: bool,
}

impl Status {
    /// *Source*: proc(5): state, parent and start time are fields 3, 4 and 22; the name before them may hold blanks and brackets.
    fn read(id: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self { is_zombie: *fields.first()? == "Z", parent: fields.get(1)?.parse().ok()?, started_at: fields.get(19)?.parse().ok()? })
    }
}

/// The first process that the driver started: the application.
fn child_of(driver: u32) -> Option<Identity> {
    let processes = fs::read_dir("/proc").ok()?;
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|id| Some((id, Status::read(id)?)))
        .filter(|(_, status)| status.parent.unsigned_abs() == driver && !status.is_zombie)
        .map(|(id, status)| Identity { id, started_at: status.started_at })
        .min_by_key(|identity| identity.started_at)
}

fn start_driver(desktop: &Desktop, environment: &[(&str, &str)]) -> Result<(Process, u16), DesktopError> {
    let mut last = error("WebKitWebDriver", "no attempt was made");
    for _ in 0..PORT_ATTEMPTS {
        let port = free_port()?;
        let mut command = desktop.command("WebKitWebDriver");
        command.arg(format!("--port={port}")).arg("--host=127.0.0.1").env("TAURI_WEBVIEW_AUTOMATION", "true");
        // Without this renderer the driver never answers a screenshot.
        command.env_remove("WEBKIT_DISABLE_DMABUF_RENDERER");
        command.envs(environment.iter().copied());
        let mut driver = Process::start("WebKitWebDriver", &mut command, &desktop.output_file("webdriver"))?;
        let listens = driver.wait_until("its port", START_WITHIN, |_| Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()));
        // Without this second look, another's driver on the same port would be taken for ours.
        match (listens, driver.status()?) {
            (Ok(_), None) => return Ok((driver, port)),
            (Ok(_), Some(status)) => last = error("WebKitWebDriver", &format!("it ended with {status}")),
            (Err(reason), _) => last = reason.into(),
        }
    }
    Err(last)
}

fn free_port() -> Result<u16, DesktopError> {
    let failed = |reason: std::io::Error| error("no free port", &reason.to_string());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

fn error(what: &str, detail: &str) -> DesktopError {
    DesktopError::WebDriver { what: what.to_owned(), detail: detail.to_owned() }
}

/// Waits for the answer to one command.
async fn client_click(element: Element) -> Result<(), CmdError> {
    match timeout(COMMAND_WITHIN, element.click()).await {
        Ok(clicked) => clicked.map(|_| ()),
        // No answer is no proof that it was not clicked: whether the window goes tells.
        Err(_) => Ok(()),
    }
}

/// Says which element a command was for.
fn named<T>(css: &str, answer: Result<T, DesktopError>) -> Result<T, DesktopError> {
    answer.map_err(|reason| error(&format!("the element `{css}`"), &reason.to_string()))
}

/// The driver often leaves the message empty, and then the status is all there is.
fn described(reason: &CmdError) -> String {
    match reason {
        CmdError::Standard(standard) => format!("{} ({})", standard.error, standard.message),
        other => other.to_string(),
    }
}

async fn command<T>(answer: impl Future<Output = Result<T, CmdError>>) -> Result<T, DesktopError> {
    match timeout(COMMAND_WITHIN, answer).await {
        Ok(answer) => answer.map_err(|reason| error("WebDriver", &described(&reason))),
        Err(_) => Err(error("WebDriver", &format!("no answer to a command within {} s", COMMAND_WITHIN.as_secs()))),
    }
}
