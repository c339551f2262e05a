//! `vidimus-gate`: the daemon and its command line.

use std::process::ExitCode;

use clap::Parser as _;
use vidimus_gate::{cli, commands};

fn main() -> ExitCode {
    commands::run(cli::Arguments::parse())
}
