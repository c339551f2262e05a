//! A desktop of its own for each test or demo: display, session bus, keyring, notification server, home.
//!
//! Every part is the real program, under a home, runtime directory and bus that nothing else uses, so that no test touches the
//! user's own keyring or data and several run side by side. What it must not know: what Vidimus does on this desktop.
//! Everything that was started is ended, by its process id and in reverse order, when the [`Desktop`] goes.

mod environment;
mod keyring;
mod notifications;
mod pictures;
mod session;
mod webdriver;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::processes::{Process, ProcessError};

pub use keyring::KEYRING_PASSWORD;
pub use notifications::{ClosedNotification, Notification, Urgency};
pub use pictures::Frames;
pub use webdriver::WebDriver;

/// How long a part of the desktop may take to stand.
pub const START_WITHIN: Duration = Duration::from_secs(20);

/// Where windows are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Display {
    /// An own Xvfb of this size.
    Virtual {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// The display that the caller's environment names.
    Existing,
}

/// The Secret Service of the desktop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keyring {
    /// gnome-keyring with an unlocked login collection.
    Unlocked,
    /// gnome-keyring with a login collection that exists and is locked.
    Locked,
    /// No Secret Service, and none that the bus could start.
    Absent,
}

/// The notification server of the desktop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotificationServer {
    /// dunst, which can be asked to invoke actions.
    Dunst,
    /// notification-daemon, which draws buttons.
    NotificationDaemon,
    /// No server, and none that the bus could start.
    Absent,
}

/// What the desktop consists of.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where windows are drawn.
    pub display: Display,
    /// The Secret Service.
    pub keyring: Keyring,
    /// The notification server.
    pub notification_server: NotificationServer,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            display: Display::Virtual { width: 1280, height: 800 },
            keyring: Keyring::Unlocked,
            notification_server: NotificationServer::Dunst,
        }
    }
}

/// Why the desktop could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DesktopError {
    /// A program of the desktop failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file or directory of the desktop.
    #[error("cannot use `{path}`: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// A program answered with an error.
    #[error("`{program}` failed: {detail}")]
    Program { program: String, detail: String },
    /// There is no display to use.
    #[error("neither DISPLAY nor WAYLAND_DISPLAY is set, ask for a virtual display")]
    NoDisplay,
    /// A bound was reached.
    #[error("waited {seconds} s in vain for {what}")]
    Deadline { what: String, seconds: u64 },
    /// An answer that cannot be read.
    #[error("`{program}` gave an answer that cannot be read: {detail}")]
    Answer { program: String, detail: String },
    /// The WebDriver session.
    #[error("{what}: {detail}")]
    WebDriver { what: String, detail: String },
}

/// A running desktop.
#[derive(Debug)]
pub struct Desktop {
    processes: Vec<Process>,
    environment: environment::Environment,
    monitor_output: PathBuf,
    // Last: the programs above write into it until they end.
    directory: tempfile::TempDir,
    starts: AtomicU32,
}

impl Desktop {
    /// Starts the parts one after the other, each only when the one before answers.
    pub fn start(options: Options) -> Result<Self, DesktopError> {
        let directory = environment::directory()?;
        let environment = environment::Environment::new(directory.path(), options.display)?;
        let mut desktop = Self {
            processes: Vec::new(),
            environment,
            monitor_output: directory.path().join("log/bus-monitor.json"),
            directory,
            starts: AtomicU32::new(0),
        };
        if let Display::Virtual { width, height } = options.display {
            desktop.start_display(width, height)?;
        }
        desktop.start_bus()?;
        desktop.start_monitor()?;
        desktop.start_keyring(options.keyring)?;
        desktop.start_notification_server(options.notification_server)?;
        Ok(desktop)
    }

    /// The variables that put a child onto this desktop.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        self.environment.variables()
    }

    /// The home directory of this desktop.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// The directory with the outputs of everything that ran here.
    pub fn logs(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// A command that will run on this desktop.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        self.environment.apply(&mut command);
        command
    }

    /// Starts a program on this desktop, its output in a file of its own.
    pub fn spawn<A: AsRef<std::ffi::OsStr>>(
        &self,
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Process, DesktopError> {
        let program = program.as_ref();
        let mut command = self.command(program);
        command.args(arguments);
        let name = program.file_name().map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned());
        Ok(Process::start(&name, &mut command, &self.output_file(&name))?)
    }

    /// Runs a program on this desktop to its end and returns what it printed.
    ///
    /// *Errors*: the program's own words when it exits with another code than 0.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String, DesktopError> {
        let mut command = self.command(program);
        command.args(arguments);
        run(program, &mut command)
    }

    /// Takes the focus from every window, as a person does who turns to something else.
    pub fn look_away(&self) -> Result<(), DesktopError> {
        let root = self.run("xdotool", &["search", "--maxdepth", "0", "--class", ".*"])?;
        self.run("xdotool", &["windowfocus", root.trim()]).map(drop)
    }

    /// A new file for the output of the program of this name.
    fn output_file(&self, name: &str) -> PathBuf {
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        self.logs().join(format!("{number:03}-{name}.log"))
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        while let Some(mut process) = self.processes.pop() {
            // A part that cannot be ended must not keep the ones below it alive.
            let _ = process.end();
        }
        if std::env::var_os("VIDIMUS_KEEP_DESKTOP").is_some() {
            self.directory.disable_cleanup(true);
            eprintln!("desktop kept at {}", self.directory.path().display());
        }
    }
}

/// Runs a command to its end and returns what it printed.
fn run(program: &str, command: &mut Command) -> Result<String, DesktopError> {
    let failed = |detail: String| DesktopError::Program { program: program.to_owned(), detail };
    let Output { status, stdout, stderr } = command.output().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        String::from_utf8(stdout).map_err(|error| failed(error.to_string()))
    } else {
        Err(failed(format!("{status}, {}", String::from_utf8_lossy(&stderr).trim())))
    }
}
