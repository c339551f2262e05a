//! `vidimus-gate`: the daemon and its command line.

use std::process::ExitCode;

use clap::Parser as _;
use vidimus_gate::{cli, commands};

/// A money call allocates some thousands of small values, on one thread what another frees: see `docs/performance.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    commands::run(cli::Arguments::parse())
}
