//! `cargo xtask`: sets a machine up, then runs the demo, all tests or the benches of Vidimus.
//!
//! Owns the order of the steps and their reports. It depends on nothing but the standard library, since it is compiled before
//! anything else is there.

mod arguments;
mod bench;
mod command;
mod counts;
mod demo;
mod mutants;
mod package;
mod progress;
mod runner;
mod setup;
mod sources;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code for what the user has to do first.
const EXIT_UNMET: u8 = 2;

/// Why a run ends early.
#[derive(Debug)]
pub enum Stop {
    /// Something is missing that only the user can bring.
    Unmet(String),
    /// A step failed.
    Failed(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [runner::NAME, program, rest @ ..] = arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        return runner::run(program, rest);
    }
    let outcome = match arguments::parse(&arguments) {
        Ok(arguments::Task::Help(text)) => {
            println!("{text}");
            Ok(())
        }
        Ok(arguments::Task::SetUp(consent)) => setup::run(&root(), consent),
        Ok(arguments::Task::Demo(options)) => demo::run(&root(), &options),
        Ok(arguments::Task::Bench(options)) => bench::run(&root(), &options),
        Ok(arguments::Task::Package(options)) => package::run(&root(), &options),
        Ok(arguments::Task::Mutants(consent)) => mutants::run(&root(), consent),
        Ok(arguments::Task::Test(options)) => return test::run(&root(), options),
        Err(stop) => Err(stop),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Unmet(message)) => {
            eprintln!("{message}");
            ExitCode::from(EXIT_UNMET)
        }
        Err(Stop::Failed(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
