//! The command line.

use crate::setup::Consent;
use crate::{Stop, bench};

/// What was asked for.
#[derive(Debug, Eq, PartialEq)]
pub enum Task {
    /// A text to print.
    Help(&'static str),
    /// To set the machine up.
    SetUp(Consent),
    /// To run the demo.
    Demo(DemoOptions),
    /// To run the tests.
    Test(TestOptions),
    /// To run benches.
    Bench(BenchOptions),
    /// To make the packages for Debian.
    Package(PackageOptions),
    /// To break the accept conditions and see whether a test fails.
    Mutants(Consent),
}

/// How the demo runs.
#[derive(Debug, Eq, PartialEq)]
pub struct DemoOptions {
    /// Whether packages are installed without a question.
    pub consent: Consent,
    /// Whether it runs by itself on a virtual display.
    pub headless: bool,
    /// Where transcript and pictures go.
    pub out: String,
    /// `light` or `dark`; the console's own choice where it is not given.
    pub theme: Option<String>,
}

/// How the tests run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TestOptions {
    /// Whether packages are installed without a question.
    pub consent: Consent,
    /// Whether what takes longer is run as well.
    pub long: bool,
}

/// How packages are made.
#[derive(Debug, Eq, PartialEq)]
pub struct PackageOptions {
    /// Whether packages are installed without a question.
    pub consent: Consent,
    /// Where the programs are that were built before; they are built for release where it is not given.
    pub programs: Option<String>,
    /// Where the packages go.
    pub out: String,
}

/// How benches run.
#[derive(Debug, Eq, PartialEq)]
pub struct BenchOptions {
    /// Whether packages are installed without a question.
    pub consent: Consent,
    /// One of [`bench::NAMES`]; all where it is not given.
    pub name: Option<String>,
    /// Where the figures are written.
    pub json: Option<String>,
    /// Whether what takes longer is measured as well.
    pub long: bool,
}

const OUT_DEFAULT: &str = "target/demo";

const HELP: &str = "\
Usage: cargo xtask <TASK>

  setup   Install what is missing: packages of the system, Node, cargo-deny
  demo    Build everything and run it: an agent asks, a person signs, it runs once
  test    Set up, then test everything
  bench   Measure: money, route, console
  package Make the packages for Debian: the console, the gate
  mutants Break the accept conditions one by one; a test must fail each time

`cargo xtask <TASK> --help` says more.";

const SETUP_HELP: &str = "\
Usage: cargo xtask setup [--yes]

Names what is missing on this machine and installs it: packages through apt (Debian 12 and 13, Ubuntu 22.04 and 24.04),
Node and cargo-deny under target/tools. Elsewhere it says what to install and exits with 2.

  --yes   Install without asking (so does a set CI variable)";

const DEMO_HELP: &str = "\
Usage: cargo xtask demo [--headless] [--yes] [--out DIR] [--theme light|dark]

Sets up, builds, and starts a fixture company, the gate, an agent and the console under a profile of its own; nothing of
yours is touched and all of it is removed at the end. Expect about 10 minutes the first time, then less than one.

  --headless          Run by itself on a virtual display; so it does where there is no display
  --yes               Install without asking (so does a set CI variable)
  --out DIR           Where transcript.jsonl and the pictures go (default: target/demo)
  --theme light|dark  The console's appearance

Exits with 0 only if the provider's counts are exactly what was approved.";

const TEST_HELP: &str = "\
Usage: cargo xtask test [--long] [--yes]

Sets up, then checks and tests everything: sources, front end, format, lints, licences, and every test against real parts.
At most 25 minutes on two cores. The first step that fails ends the run; the last line is `N passed, N failed`.

  --long   Also what takes longer (VIDIMUS_LONG=1 for the tests), and `cargo xtask mutants`
  --yes    Install without asking (so does a set CI variable)";

const PACKAGE_HELP: &str = "\
Usage: cargo xtask package [--yes] [--programs DIR] [--out DIR]

Sets up, builds for release and makes two packages for Debian under target/package: the console with its desktop file, icons
and metainfo, and the gate with a hardened unit and a user of its own. Expect about 10 minutes the first time.

  --yes           Install without asking (so does a set CI variable)
  --programs DIR  Pack the programs that are there instead of building them
  --out DIR       Where the packages go (default: target/package)";

const MUTANTS_HELP: &str = "\
Usage: cargo xtask mutants [--yes]

Sets up, then breaks the rules by which the gate accepts something, one change at a time (mutants.toml), and runs the tests
that must notice. Expect hours; `cargo xtask test --long` ends with it. Exits with 0 only if no change went unnoticed; what
came of each is under target/mutants.

  --yes   Install without asking (so does a set CI variable)";

const BENCH_HELP: &str = "\
Usage: cargo xtask bench [NAME] [--long] [--json FILE] [--yes]

Sets up, builds for release, measures on the real parts and prints a table; docs/benchmarks.md says what each figure means.
NAME is money, route or console; without it all of them run. Expect about 12 minutes the first time, then 5.

  --long       Also what takes longer: money over 100,000 operations, for its memory
  --json FILE  Write the machine and the figures there as well
  --yes        Install without asking (so does a set CI variable)";

/// Reads the arguments after `cargo xtask`.
pub fn parse(arguments: &[String]) -> Result<Task, Stop> {
    let Some((task, rest)) = arguments.split_first() else {
        return Ok(Task::Help(HELP));
    };
    let wants_help = rest.iter().any(|argument| argument == "--help" || argument == "-h");
    match (task.as_str(), wants_help) {
        ("--help" | "-h" | "help", _) => Ok(Task::Help(HELP)),
        ("setup", true) => Ok(Task::Help(SETUP_HELP)),
        ("demo", true) => Ok(Task::Help(DEMO_HELP)),
        ("test", true) => Ok(Task::Help(TEST_HELP)),
        ("bench", true) => Ok(Task::Help(BENCH_HELP)),
        ("setup", false) => parse_consent(rest, SETUP_HELP).map(Task::SetUp),
        ("demo", false) => parse_demo(rest).map(Task::Demo),
        ("test", false) => parse_test(rest).map(Task::Test),
        ("bench", false) => parse_bench(rest).map(Task::Bench),
        ("package", true) => Ok(Task::Help(PACKAGE_HELP)),
        ("package", false) => parse_package(rest).map(Task::Package),
        ("mutants", true) => Ok(Task::Help(MUTANTS_HELP)),
        ("mutants", false) => parse_consent(rest, MUTANTS_HELP).map(Task::Mutants),
        (other, _) => Err(Stop::Unmet(format!("no task `{other}`\n\n{HELP}"))),
    }
}

fn parse_consent(arguments: &[String], help: &str) -> Result<Consent, Stop> {
    let mut consent = Consent::from_environment();
    for argument in arguments {
        match argument.as_str() {
            "--yes" => consent = Consent::Given,
            other => return Err(unknown(other, help)),
        }
    }
    Ok(consent)
}

fn parse_test(arguments: &[String]) -> Result<TestOptions, Stop> {
    let mut options = TestOptions { consent: Consent::from_environment(), long: false };
    for argument in arguments {
        match argument.as_str() {
            "--yes" => options.consent = Consent::Given,
            "--long" => options.long = true,
            other => return Err(unknown(other, TEST_HELP)),
        }
    }
    Ok(options)
}

fn parse_demo(arguments: &[String]) -> Result<DemoOptions, Stop> {
    let mut options = DemoOptions { consent: Consent::from_environment(), headless: false, out: OUT_DEFAULT.to_owned(), theme: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--yes" => options.consent = Consent::Given,
            "--headless" => options.headless = true,
            "--out" => options.out = rest.next().ok_or_else(|| missing("--out", DEMO_HELP))?.clone(),
            "--theme" => match rest.next().map(String::as_str) {
                Some(theme @ ("light" | "dark")) => options.theme = Some(theme.to_owned()),
                Some(other) => return Err(unknown(other, DEMO_HELP)),
                None => return Err(missing("--theme", DEMO_HELP)),
            },
            other => return Err(unknown(other, DEMO_HELP)),
        }
    }
    Ok(options)
}

fn parse_package(arguments: &[String]) -> Result<PackageOptions, Stop> {
    let mut options = PackageOptions { consent: Consent::from_environment(), programs: None, out: "target/package".to_owned() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--yes" => options.consent = Consent::Given,
            "--programs" => options.programs = Some(rest.next().ok_or_else(|| missing("--programs", PACKAGE_HELP))?.clone()),
            "--out" => options.out = rest.next().ok_or_else(|| missing("--out", PACKAGE_HELP))?.clone(),
            other => return Err(unknown(other, PACKAGE_HELP)),
        }
    }
    Ok(options)
}

fn parse_bench(arguments: &[String]) -> Result<BenchOptions, Stop> {
    let mut options = BenchOptions { consent: Consent::from_environment(), name: None, json: None, long: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--yes" => options.consent = Consent::Given,
            "--long" => options.long = true,
            "--json" => options.json = Some(rest.next().ok_or_else(|| missing("--json", BENCH_HELP))?.clone()),
            name if bench::NAMES.contains(&name) && options.name.is_none() => options.name = Some(name.to_owned()),
            other => return Err(unknown(other, BENCH_HELP)),
        }
    }
    Ok(options)
}

fn unknown(argument: &str, help: &str) -> Stop {
    Stop::Unmet(format!("`{argument}` is not understood\n\n{help}"))
}

fn missing(option: &str, help: &str) -> Stop {
    Stop::Unmet(format!("`{option}` needs a value\n\n{help}"))
}

#[cfg(test)]
mod tests {
    use super::{BenchOptions, DemoOptions, Task, TestOptions, parse};
    use crate::setup::Consent;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read() {
        let demo = parse(&words("demo --headless --yes --out elsewhere --theme dark")).unwrap();
        let expected = DemoOptions { consent: Consent::Given, headless: true, out: "elsewhere".to_owned(), theme: Some("dark".to_owned()) };
        assert_eq!(demo, Task::Demo(expected));
        let test = parse(&words("test --yes --long")).unwrap();
        assert_eq!(test, Task::Test(TestOptions { consent: Consent::Given, long: true }));
        let bench = parse(&words("bench console --json figures.json --long --yes")).unwrap();
        let (name, json) = (Some("console".to_owned()), Some("figures.json".to_owned()));
        let expected = BenchOptions { consent: Consent::Given, name, json, long: true };
        assert_eq!(bench, Task::Bench(expected));
        assert_eq!(parse(&words("setup --yes")).unwrap(), Task::SetUp(Consent::Given));
    }

    #[test]
    fn every_task_explains_itself() {
        for task in ["setup", "demo", "test", "bench", "package", "mutants"] {
            let Task::Help(text) = parse(&words(&format!("{task} --help"))).unwrap() else { panic!("`{task}` gives no help") };
            assert!(text.contains(&format!("cargo xtask {task}")), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in [
            "bench audit",
            "bench money route",
            "bench --json",
            "demo --theme blue",
            "demo --theme",
            "demo --out",
            "test --quick",
            "setup now",
            "mutants core",
            "package --out",
            "package console",
        ] {
            assert!(parse(&words(line)).is_err(), "`{line}` was taken");
        }
    }
}
