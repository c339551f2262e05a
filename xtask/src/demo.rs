//! The demo: builds everything and hands over to the gate, which plays it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::DemoOptions;
use crate::progress::Progress;
use crate::setup::{self, Purpose};
use crate::{Stop, command, test};

/// Runs the demo.
pub fn run(root: &Path, options: &DemoOptions) -> Result<(), Stop> {
    let mut progress = Progress::new(5);
    let node =
        progress.step("set up", "seconds, or 2 minutes where packages are missing", || setup::all(root, options.consent, Purpose::Demo))?;
    progress.step("front end: packages", "15 s the first time", || test::front_end_packages(root, &node))?;
    progress.step("front end: build", "5 s", || command::run(node.npm(&root.join("ui")).args(["run", "build"])))?;
    progress.step("build", "8 minutes the first time on two cores", || {
        let mut cargo = test::cargo(root);
        cargo.args(["build", "--package", "vidimus-gate", "--package", "vidimus", "--bins", "--features", test::FEATURES]);
        command::run(&mut cargo)
    })?;
    progress.step("demo", "a minute by itself; as long as you like with you", || play(root, options))
}

fn play(root: &Path, options: &DemoOptions) -> Result<(), Stop> {
    let programs = target_directory(root).join("debug");
    let mut gate = Command::new(programs.join("vidimus-gate"));
    gate.current_dir(root).arg("demo").arg("--console").arg(programs.join("vidimus")).arg("--out").arg(&options.out);
    if options.headless || !has_display() {
        gate.arg("--headless");
    }
    if let Some(theme) = &options.theme {
        gate.arg("--theme").arg(theme);
    }
    command::run(&mut gate)
}

/// Where cargo puts what it builds.
pub fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |directory| root.join(directory))
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
