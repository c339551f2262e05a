//! Takes away what would let another program drive the windows.

use std::process::{Command, ExitCode};

/// Variables that WebKitGTK reads in release builds too.
const REMOTE_CONTROL: [&str; 3] = ["TAURI_WEBVIEW_AUTOMATION", "WEBKIT_INSPECTOR_SERVER", "WEBKIT_INSPECTOR_HTTP_SERVER"];

/// Starts this program again without these variables if any is set, and gives the code to end with.
/// A build with the feature `automation` keeps them, and says so in every window.
pub fn without_remote_control() -> Option<ExitCode> {
    if cfg!(feature = "automation") || REMOTE_CONTROL.iter().all(|name| std::env::var_os(name).is_none()) {
        return None;
    }
    let Ok(program) = std::env::current_exe() else { return Some(ExitCode::FAILURE) };
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    for name in REMOTE_CONTROL {
        command.env_remove(name);
    }
    Some(replaced_by(command))
}

#[cfg(unix)]
fn replaced_by(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    // Returns only when the program could not be replaced.
    let error = command.exec();
    eprintln!("vidimus: cannot start without remote control: {error}");
    ExitCode::FAILURE
}

#[cfg(not(unix))]
fn replaced_by(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
