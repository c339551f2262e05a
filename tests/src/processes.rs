//! Programs under test as child processes: found, started, watched through a file, ended and reaped.
//!
//! Owns the life of a child. Knows nothing of what the programs do.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a child may take to end after it was asked to, before it is killed: longer than a gate finishes what is in flight.
pub const GRACE: Duration = Duration::from_secs(15);

/// The pause between two looks at something that is being waited for.
const POLL: Duration = Duration::from_millis(20);

/// How much of a child's output stands in an error.
const TAIL_LINES: usize = 15;

/// Why a child could not be found, started or watched.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program was not built, or is elsewhere.
    #[error("no binary `{name}` in `{directory}`, build it first or set VIDIMUS_BIN_DIR")]
    Missing { name: String, directory: PathBuf },
    /// The system could not start it.
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    /// Its output file or its state could not be read.
    #[error("cannot watch `{name}`: {source}")]
    Watch { name: String, source: io::Error },
    /// It ended while something was still expected of it.
    #[error("`{name}` ended ({status}) before {what}; its last lines:\n{tail}")]
    Ended { name: String, status: ExitStatus, what: String, tail: String },
    /// The deadline passed.
    #[error("`{name}` took longer than {seconds} s for {what}; its last lines:\n{tail}")]
    Deadline { name: String, seconds: u64, what: String, tail: String },
}

/// The programs that this workspace builds.
#[derive(Debug)]
pub struct Binary;

impl Binary {
    /// The path of a built program: `VIDIMUS_BIN_DIR` if set, else the directory of the build that the caller belongs to.
    ///
    /// *Errors*: [`ProcessError::Missing`] when it is not there, so that a test never runs a stale one from elsewhere.
    pub fn path(name: &str) -> Result<PathBuf, ProcessError> {
        let directory = Self::directory()?;
        let path = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        if path.is_file() { Ok(path) } else { Err(ProcessError::Missing { name: name.to_owned(), directory }) }
    }

    fn directory() -> Result<PathBuf, ProcessError> {
        if let Some(directory) = std::env::var_os("VIDIMUS_BIN_DIR") {
            return Ok(PathBuf::from(directory));
        }
        let own = std::env::current_exe().map_err(|source| ProcessError::Watch { name: "the running test".to_owned(), source })?;
        let parent = own.parent().unwrap_or(Path::new("."));
        // A test's own executable is one level below the programs.
        let directory = if parent.file_name() == Some(OsStr::new("deps")) { parent.parent().unwrap_or(parent) } else { parent };
        Ok(directory.to_owned())
    }
}

/// A child whose output goes to a file; it is ended and reaped when this value goes.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    output: PathBuf,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts the command with nothing on its standard input, and both outputs appended to `output`.
    ///
    /// A file and not a pipe: a child that outlives its reader would stop at a full pipe.
    pub fn start(name: &str, command: &mut Command, output: &Path) -> Result<Self, ProcessError> {
        command.stdin(Stdio::null());
        Self::start_with_input(name, command, output)
    }

    /// Starts the command with the standard input that it has been given already.
    pub fn start_with_input(name: &str, command: &mut Command, output: &Path) -> Result<Self, ProcessError> {
        let start_error = |source| ProcessError::Start { program: name.to_owned(), source };
        let file = File::options().create(true).append(true).open(output).map_err(start_error)?;
        let second = file.try_clone().map_err(start_error)?;
        let child = command.stdout(file).stderr(second).spawn().map_err(start_error)?;
        Ok(Self { name: name.to_owned(), child, output: output.to_owned(), status: None })
    }

    /// The child's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child, for its standard input.
    pub fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The file with what the child has printed.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// What the child has printed until now.
    pub fn text(&self) -> Result<String, ProcessError> {
        let bytes = std::fs::read(&self.output).map_err(|source| self.watch_error(source))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The child's exit status, `None` while it runs.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(|source| ProcessError::Watch { name: self.name.clone(), source })?;
        }
        Ok(self.status)
    }

    /// Waits for a whole line that `matches`, and returns it.
    pub fn wait_for_line(&mut self, what: &str, within: Duration, matches: impl Fn(&str) -> bool) -> Result<String, ProcessError> {
        self.wait_until(what, within, |process| {
            let text = process.text()?;
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            Ok(whole.lines().find(|line| matches(line)).map(str::to_owned))
        })
    }

    /// Waits until `ready` gives a value, as long as the child runs.
    pub fn wait_until<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut ready: impl FnMut(&Self) -> Result<Option<T>, ProcessError>,
    ) -> Result<T, ProcessError> {
        let deadline = Instant::now() + within;
        loop {
            // The state is read before the output, so that the last line of a child that has just ended still counts.
            let status = self.status()?;
            if let Some(value) = ready(self)? {
                return Ok(value);
            }
            if let Some(status) = status {
                return Err(ProcessError::Ended { name: self.name.clone(), status, what: what.to_owned(), tail: self.tail() });
            }
            if Instant::now() >= deadline {
                return Err(self.deadline_error(what, within));
            }
            thread::sleep(POLL);
        }
    }

    /// Waits for the child to end by itself.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus, ProcessError> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(self.deadline_error("its end", within));
            }
            thread::sleep(POLL);
        }
    }

    /// Asks the child to end (SIGTERM), kills it after [`GRACE`], and reaps it.
    pub fn end(&mut self) -> Result<ExitStatus, ProcessError> {
        self.signal(Signal::TERM)?;
        match self.wait(GRACE) {
            Err(ProcessError::Deadline { .. }) => self.kill(),
            ended => ended,
        }
    }

    /// Kills the child at once (SIGKILL), as a crash would, and reaps it.
    pub fn kill(&mut self) -> Result<ExitStatus, ProcessError> {
        self.signal(Signal::KILL)?;
        let status = self.child.wait().map_err(|source| ProcessError::Watch { name: self.name.clone(), source })?;
        self.status = Some(status);
        Ok(status)
    }

    /// Sends a signal; a child that has ended already gets none, since its id may be another's by now.
    pub fn signal(&mut self, signal: Signal) -> Result<(), ProcessError> {
        if self.status()?.is_some() {
            return Ok(());
        }
        kill_process(Pid::from_child(&self.child), signal).map_err(|errno| self.watch_error(errno.into()))
    }

    /// The last lines of the output, for messages.
    pub fn tail(&self) -> String {
        let text = self.text().unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }

    fn watch_error(&self, source: io::Error) -> ProcessError {
        ProcessError::Watch { name: self.name.clone(), source }
    }

    fn deadline_error(&self, what: &str, within: Duration) -> ProcessError {
        ProcessError::Deadline { name: self.name.clone(), seconds: within.as_secs(), what: what.to_owned(), tail: self.tail() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and a panic would hide the test's own.
        let _ = self.end();
    }
}

/// Waits until `ready` gives a value; `None` when the deadline passes first.
pub fn poll<T>(within: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = ready() {
            return Some(value);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(POLL);
    }
}
