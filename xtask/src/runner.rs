//! What cargo starts in place of each test binary: it bounds the time and gives the desktop tests the machine for themselves.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

/// The task's name on the command line; not for people, so not in the help.
pub const NAME: &str = "run-test-binary";

/// Set for the tests that take longer.
pub const LONG: &str = "VIDIMUS_LONG";

/// How long one test binary may run: a test that hangs would else hold the whole run for ever.
const RUN_MAX: Duration = Duration::from_secs(10 * 60);

/// The same for tests of windows, which run one after the other.
const DESKTOP_RUN_MAX: Duration = Duration::from_secs(20 * 60);

/// The same with the longer tests.
const LONG_RUN_MAX: Duration = Duration::from_secs(90 * 60);

/// The pause between two looks at the binary.
const POLL: Duration = Duration::from_millis(10);

/// Runs a test binary.
pub fn run(program: &str, arguments: &[&str]) -> ExitCode {
    let mut command = Command::new(program);
    command.args(arguments);
    if is_desktop_test(program) && !arguments.iter().any(|argument| argument.starts_with("--test-threads")) {
        // Windows of two tests at a time would wait for each other's drawing.
        command.arg("--test-threads=1");
    }
    let limit = match std::env::var_os(LONG) {
        Some(_) => LONG_RUN_MAX,
        None if is_desktop_test(program) => DESKTOP_RUN_MAX,
        None => RUN_MAX,
    };
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot run `{program}`: {error}");
            return ExitCode::FAILURE;
        }
    };
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return ExitCode::SUCCESS,
            Ok(Some(status)) => {
                eprintln!("`{program}` ended with {status}");
                return ExitCode::FAILURE;
            }
            Ok(None) if began.elapsed() < limit => thread::sleep(POLL),
            late_or_lost => {
                // Nothing is left to do for a child that cannot even be killed.
                let _ = child.kill().and_then(|()| child.wait());
                match late_or_lost {
                    Err(error) => eprintln!("cannot watch `{program}`: {error}"),
                    Ok(_) => eprintln!("`{program}` took longer than {} s and was killed", limit.as_secs()),
                }
                return ExitCode::FAILURE;
            }
        }
    }
}

fn is_desktop_test(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name.to_string_lossy().starts_with("desktop_"))
}

#[cfg(test)]
mod tests {
    use super::is_desktop_test;

    #[test]
    fn desktop_tests_are_known_by_their_name() {
        assert!(is_desktop_test("/somewhere/target/debug/deps/desktop_harness-cd5aa21d8708dbcd"));
        assert!(!is_desktop_test("/desktop_tests/target/debug/deps/company-cd5aa21d8708dbcd"));
    }
}
