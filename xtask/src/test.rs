//! The tests: every check in one order, the quick ones first, and one closing line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::arguments::TestOptions;
use crate::counts::Counts;
use crate::progress::Progress;
use crate::setup::node::Node;
use crate::setup::{self, Purpose};
use crate::{EXIT_UNMET, Stop, command, mutants, runner, sources};

/// One choice of features for all builds, so that nothing is built twice.
pub const FEATURES: &str = "vidimus/custom-protocol,vidimus/automation,vidimus-gate/demo";

/// Where a test that cannot run without third-party files appends a line that says so.
const NOT_RUN: &str = "VIDIMUS_NOT_RUN";

const STEPS: usize = 14;

/// Runs all tests and prints the counts as the very last line.
pub fn run(root: &Path, options: TestOptions) -> ExitCode {
    println!("Expect 10 to 25 minutes on two cores, and a little more the first time.");
    let mut counts = Counts::default();
    let mut progress = Progress::new(if options.long { STEPS + mutants::STEPS } else { STEPS });
    let outcome = all_steps(root, options, &mut progress, &mut counts);
    progress.summary();
    let code = match outcome {
        Ok(()) if counts.failed == 0 => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(Stop::Unmet(message)) => {
            println!("{message}");
            counts.failed = counts.failed.max(1);
            ExitCode::from(EXIT_UNMET)
        }
        Err(Stop::Failed(message)) => {
            println!("{message}");
            // A step that is not a test has failed all the same, and the last line must not read as green.
            counts.failed = counts.failed.max(1);
            ExitCode::FAILURE
        }
    };
    println!("{}", counts.line());
    code
}

fn all_steps(root: &Path, options: TestOptions, progress: &mut Progress, counts: &mut Counts) -> Result<(), Stop> {
    let purpose = if options.long { Purpose::LongTest } else { Purpose::Test };
    let node = progress.step("set up", "seconds, or 6 minutes on a new machine", || setup::all(root, options.consent, purpose))?;
    progress.step("sources", "a second", || sources::check(root))?;
    progress.step("format", "a second", || command::run(cargo(root).args(["fmt", "--all", "--check"])))?;

    let ui = root.join("ui");
    progress.step("front end: packages", "15 s", || front_end_packages(root, &node))?;
    progress.step("front end: lint", "10 s", || command::run(node.npm(&ui).args(["run", "lint"])))?;
    progress.step("front end: types", "10 s", || command::run(node.npm(&ui).args(["run", "check"])))?;
    progress
        .step("front end: tests", "20 s", || command::run_reading(node.npm(&ui).args(["run", "test"]), |line| counts.add_line(line)))?;
    progress.step("front end: build", "5 s", || command::run(node.npm(&ui).args(["run", "build"])))?;
    // The main window with hostile code in it: what a test of the windows opens in place of the real one.
    progress.step("front end: hostile build", "5 s", || command::run(node.npm(&ui).args(["run", "build:hostile"])))?;

    progress.step("licences and sources of crates", "5 s", || check_dependencies(root))?;
    progress.step("lints", "4 minutes the first time", || {
        let mut clippy = cargo(root);
        clippy.args(["clippy", "--workspace", "--all-targets", "--features", FEATURES, "--", "-D", "warnings"]);
        command::run(&mut clippy)
    })?;
    progress.step("build", "6 minutes the first time", || {
        // With the tests, since they share the features of what they depend on: the programs alone would be built once more.
        let mut build = cargo(root);
        build.args(["build", "--workspace", "--bins", "--tests", "--features", FEATURES]);
        command::run(&mut build)
    })?;
    progress.step("tests", if options.long { "an hour" } else { "8 minutes" }, || run_tests(root, options, counts))?;
    progress.step("simulation", if options.long { "20 minutes" } else { "4 minutes, and 3 more the first time" }, || {
        let mut simulation = cargo(root);
        simulation.args(["test", "--profile", "simulation", "--package", "vidimus-store", "--test", "simulation"]);
        simulation.env("VIDIMUS_SEEDS", if options.long { "100000" } else { "10000" });
        if options.long {
            simulation.env(runner::LONG, "1");
        }
        command::run_reading(&mut simulation, |line| counts.add_line(line))
    })?;
    if options.long { mutants::all(root, progress) } else { Ok(()) }
}

fn run_tests(root: &Path, options: TestOptions, counts: &mut Counts) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::Failed(error.to_string());
    let not_run = root.join("target").join("not-run.txt");
    fs::write(&not_run, "").map_err(failed)?;
    let mut tests = cargo(root);
    tests.args(["test", "--workspace", "--no-fail-fast", "--features", FEATURES]).args(runner_arguments()?);
    tests.env(NOT_RUN, &not_run);
    if options.long {
        tests.env(runner::LONG, "1");
    } else {
        tests.env_remove(runner::LONG);
    }
    let outcome = command::run_reading(&mut tests, |line| counts.add_line(line));
    for line in fs::read_to_string(&not_run).map_err(failed)?.lines() {
        println!("not run: {line}");
        counts.skipped += 1;
    }
    outcome
}

/// Makes cargo start each test binary through [`runner`].
fn runner_arguments() -> Result<[String; 2], Stop> {
    let version = command::answer("rustc", &["-vV"]).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Stop::Failed("`rustc -vV` names no host".to_owned()))?;
    let own = std::env::current_exe().map_err(|error| Stop::Failed(error.to_string()))?;
    // A literal string of TOML, so that no character of the path means anything.
    Ok(["--config".to_owned(), format!("target.{host}.runner=['{}','{}']", own.display(), runner::NAME)])
}

fn check_dependencies(root: &Path) -> Result<(), Stop> {
    let deny = setup::cargo_tools::DENY.find(root).ok_or_else(|| Stop::Failed("cargo-deny is gone".to_owned()))?;
    let mut checks = vec!["bans", "licenses", "sources"];
    if advisory_database().is_some_and(|directory| directory.is_dir()) {
        checks.insert(0, "advisories");
    } else {
        println!("no database of advisories on this machine: they are not checked");
    }
    let mut command = Command::new(deny);
    command.current_dir(root).args(["--locked", "check", "--hide-inclusion-graph"]).args(checks);
    command::run(&mut command)
}

/// Where cargo-deny keeps the database.
fn advisory_database() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).map(|home| home.join("advisory-dbs"))
}

/// Installs the front end's packages, unless those of this lock file are there.
pub fn front_end_packages(root: &Path, node: &Node) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::Failed(format!("the front end's lock file: {error}"));
    let ui = root.join("ui");
    let lock = fs::read(ui.join("package-lock.json")).map_err(failed)?;
    let installed = ui.join("node_modules/.installed-lock");
    if fs::read(&installed).is_ok_and(|bytes| bytes == lock) {
        println!("they are there");
        return Ok(());
    }
    command::run(node.npm(&ui).args(["ci", "--no-audit", "--no-fund"]))?;
    fs::write(installed, lock).map_err(failed)
}

/// The cargo that runs us.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // Set by the outer cargo for us: they are not the inner one's.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" || name == "CARGO_MANIFEST_PATH" {
            command.env_remove(name);
        }
    }
    command
}
