//! The accept conditions, each of them broken in every way that cargo-mutants knows: a test must fail each time. What is
//! broken, and what is accepted as meaning the same, stands in `mutants.toml`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::progress::Progress;
use crate::setup::cargo_tools::{CargoTool, MUTANTS, NEXTEST};
use crate::setup::{self, Consent, Purpose};
use crate::{Stop, command};

/// What is broken in one run, and the tests that must notice: the quick ones of the crates in which the rules are asked.
struct Scope {
    name: &'static str,
    files: &'static [&'static str],
    packages: &'static [&'static str],
    tests: &'static [&'static str],
}

const SCOPES: &[Scope] = &[
    Scope {
        name: "core",
        files: &[
            "crates/core/src/challenge.rs",
            "crates/core/src/decision.rs",
            "crates/core/src/decision/statement.rs",
            "crates/core/src/dsse.rs",
            "crates/core/src/members.rs",
            "crates/core/src/operation.rs",
            "crates/core/src/reconciliation.rs",
            "crates/core/src/reconciliation/statement.rs",
            "crates/core/src/recovery.rs",
            "crates/core/src/request.rs",
            "crates/core/src/roster/steps.rs",
            "crates/core/src/standing.rs",
            "crates/core/src/statement.rs",
            "crates/core/src/stop.rs",
            "crates/core/src/token.rs",
        ],
        packages: &["vidimus-core"],
        tests: &["--lib", "--test=rules", "--test=protocol"],
    },
    Scope {
        name: "store",
        files: &["crates/store/src/on_record.rs", "crates/store/src/tokens.rs"],
        packages: &["vidimus-store"],
        tests: &["--test=store"],
    },
];

/// The task `mutants`, by itself.
pub fn run(root: &Path, consent: Consent) -> Result<(), Stop> {
    let mut progress = Progress::new(1 + SCOPES.len());
    progress.step("set up", "seconds, or 8 minutes on a new machine", || setup::all(root, consent, Purpose::LongTest).map(|_| ()))?;
    all(root, &mut progress)
}

/// How many steps [`all`] takes.
pub const STEPS: usize = SCOPES.len();

/// Every scope, one step each: what goes unnoticed in one says nothing about the next. The first that failed is told.
pub fn all(root: &Path, progress: &mut Progress) -> Result<(), Stop> {
    let mut outcome = Ok(());
    for scope in SCOPES {
        let this = progress.step(&format!("mutants: {}", scope.name), "an hour or more", || one(root, scope));
        outcome = outcome.and(this);
    }
    outcome
}

fn one(root: &Path, scope: &Scope) -> Result<(), Stop> {
    let program = |tool: &CargoTool| tool.find(root).ok_or_else(|| Stop::Failed("a tool for mutants is gone; run again".to_owned()));
    let mut mutants = Command::new(program(&MUTANTS)?);
    mutants.current_dir(root).args(["mutants", "--config", "mutants.toml", "--no-shuffle", "--colors=never"]);
    let output = root.join("target/mutants").join(scope.name);
    std::fs::create_dir_all(&output).map_err(|error| Stop::Failed(format!("cannot make `{}`: {error}", output.display())))?;
    mutants.arg("--output").arg(output);
    for file in scope.files {
        mutants.args(["--file", file]);
    }
    for package in scope.packages {
        // Without its name, only the console's package would be looked at: it is the one of the root.
        mutants.args(["--package", package, "--test-package", package]);
    }
    mutants.args(scope.tests.iter().map(|test| format!("--cargo-test-arg={test}")));
    // The first test that fails has shown what is asked: the runner that stops there takes a fraction of the time.
    mutants.arg("--test-tool=nextest").env("PATH", path_with(&program(&NEXTEST)?)?);
    // Nobody reads where a planted defect failed.
    mutants.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // A wrong rule shows in the first cases or in none: 256 of each course are for the tests of the right ones.
    mutants.env("PROPTEST_CASES", "32");
    // Its own copy of the tree is built in the folder of the system for what is temporary; ours stays as it is.
    command::run(&mut mutants)
}

/// The search path with the folder of `program` before everything else.
fn path_with(program: &Path) -> Result<OsString, Stop> {
    let folder = program.parent().map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(folder.into_iter().chain(std::env::split_paths(&path))).map_err(|error| Stop::Failed(error.to_string()))
}
