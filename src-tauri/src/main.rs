//! The console's program. Everything is in the library.

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything reads them: each of these lets another program drive or inspect the windows.
    if let Some(code) = vidimus_console::shell::environment::without_remote_control() {
        return code;
    }
    vidimus_console::shell::run()
}
