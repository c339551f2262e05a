//! Other programs: asked, run, and run with their output read on the way.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Stop;

/// What a program prints, if it is there and succeeds.
pub fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a command to its end, its output going where ours goes.
pub fn run(command: &mut Command) -> Result<(), Stop> {
    let words = words(command);
    let status = command.status().map_err(|error| Stop::Failed(format!("cannot run `{words}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Stop::Failed(format!("`{words}` ended with {status}"))) }
}

/// Runs a command to its end and hands each line of its standard output on, after printing it.
pub fn run_reading(command: &mut Command, mut line_read: impl FnMut(&str)) -> Result<(), Stop> {
    let words = words(command);
    let failed = |error: std::io::Error| Stop::Failed(format!("cannot run `{words}`: {error}"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
            // Tests may print what is not UTF-8, and a closed pipe of ours must not leave the child running.
            let _ = std::io::stdout().write_all(&bytes).and_then(|()| std::io::stdout().flush());
            line_read(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Stop::Failed(format!("`{words}` ended with {status}"))) }
}

/// Where a program is found, looking at `first` before the search path.
pub fn find(program: &str, first: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = first.iter().cloned().chain(std::env::split_paths(&path));
    directories.map(|directory| directory.join(format!("{program}{}", std::env::consts::EXE_SUFFIX))).find(|file| file.is_file())
}

/// The search path with a directory before all others.
pub fn path_with(first: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(first.to_owned()).chain(std::env::split_paths(&path));
    // A directory with a separator in its name cannot be in a search path at all.
    std::env::join_paths(all).unwrap_or(path)
}

/// The command as one would type it, for messages.
fn words(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(command.get_program().to_string_lossy()).chain(arguments).collect::<Vec<_>>().join(" ")
}
