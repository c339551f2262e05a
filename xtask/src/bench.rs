//! The benches: builds for release and hands over to the program that measures on the real parts.

use std::path::Path;
use std::process::Command;

use crate::arguments::BenchOptions;
use crate::progress::Progress;
use crate::setup::{self, Purpose};
use crate::{Stop, command, demo, test};

/// The benches that there are, in the order in which all of them run.
pub const NAMES: [&str; 3] = ["money", "route", "console"];

/// Runs one bench, or all.
pub fn run(root: &Path, options: &BenchOptions) -> Result<(), Stop> {
    let with_console = options.name.as_deref().is_none_or(|name| name == "console");
    let mut progress = Progress::new(if with_console { 5 } else { 3 });
    let node =
        progress.step("set up", "seconds, or 2 minutes where packages are missing", || setup::all(root, options.consent, Purpose::Demo))?;
    if with_console {
        progress.step("front end: packages", "15 s the first time", || test::front_end_packages(root, &node))?;
        progress.step("front end: build", "5 s", || command::run(node.npm(&root.join("ui")).args(["run", "build"])))?;
    }
    progress.step("build for release", "10 minutes the first time on two cores, half of that without the console", || {
        let mut cargo = test::cargo(root);
        cargo.args(["build", "--release", "--package", "vidimus-gate", "--package", "vidimus-tests", "--bins"]);
        if with_console {
            cargo.args(["--package", "vidimus", "--features", test::FEATURES]);
        }
        command::run(&mut cargo)
    })?;
    progress.step("bench", "half a minute, 4 minutes for `console`, and 3 more with `--long`", || {
        let mut bench = Command::new(demo::target_directory(root).join("release/vidimus-bench"));
        bench.args(&options.name);
        bench.args(options.long.then_some("--long"));
        if let Some(file) = &options.json {
            bench.arg("--json").arg(file);
        }
        command::run(&mut bench)
    })
}
