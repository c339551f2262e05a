//! The benches on real parts: `vidimus-bench [money|route|console] [--long] [--json FILE]`, normally by way of `cargo xtask bench`.
//!
//! Prints a table and writes the figures under ids that do not change. What each id means stands in `docs/benchmarks.md`.

mod clock;
mod console;
mod desk;
mod figures;
mod house;
mod inbox;
mod load;
mod machine;
mod money;
mod provider;
mod route;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use figures::{Figure, Report};
use house::Bench;

/// The client shares the machine with what it measures, so it takes as little of it as it can.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A bench by its name on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Money,
    Route,
    Console,
}

const NAMES: [(&str, Name); 3] = [("money", Name::Money), ("route", Name::Route), ("console", Name::Console)];

/// Why a bench ended without its figures.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    /// A file or directory.
    #[error("the bench could not use a file or directory: {0}")]
    Io(#[from] std::io::Error),
    /// A program that was not built, or did not start.
    #[error(transparent)]
    Process(#[from] vidimus_tests::processes::ProcessError),
    /// The gate's program.
    #[error(transparent)]
    Gate(#[from] vidimus_tests::gate::GateError),
    /// The person who signs the table.
    #[error(transparent)]
    Approver(#[from] vidimus_tests::approver::ApproverError),
    /// The desktop or the window.
    #[error(transparent)]
    Desktop(#[from] vidimus_tests::desktop::DesktopError),
    /// A call.
    #[error("a call was not answered: {0}")]
    Http(#[from] reqwest::Error),
    /// An answer that is no figure's.
    #[error("{0}")]
    Unexpected(String),
}

struct Arguments {
    benches: Vec<Name>,
    long: bool,
    json: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vidimus-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { benches: Vec::new(), long: false, json: None };
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if word == "--json" {
            arguments.json = Some(words.next().ok_or("`--json` needs a file")?.into());
        } else if word == "--long" {
            arguments.long = true;
        } else if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == word) {
            arguments.benches.push(*name);
        } else {
            return Err(format!("`{word}` is no bench; there are money, route, console, `--long` and `--json FILE`"));
        }
    }
    if arguments.benches.is_empty() {
        arguments.benches = NAMES.iter().map(|(_, name)| *name).collect();
    }
    Ok(arguments)
}

async fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let bench = Bench::open().await?;
    let machine = machine::describe(bench.folder());
    let mut figures: Vec<Figure> = Vec::new();
    for name in &arguments.benches {
        figures.extend(match name {
            Name::Money => money::run(&bench, arguments.long).await?,
            Name::Route => route::run(&bench).await?,
            Name::Console => console::run(&bench).await?,
        });
    }
    let report = Report { machine, figures };
    print!("{report}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, report.json()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Name, parse};

    fn parsed(line: &str) -> Result<super::Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn no_name_means_all_and_nothing_else_is_understood() {
        assert_eq!(parsed("").unwrap().benches, [Name::Money, Name::Route, Name::Console]);
        let one = parsed("route --long --json figures.json").unwrap();
        assert_eq!((one.benches, one.long, one.json), (vec![Name::Route], true, Some("figures.json".into())));
        for line in ["audit", "--json", "money --quick"] {
            assert!(parsed(line).is_err(), "`{line}` was taken");
        }
    }
}
