//! Sets a machine up: names what is missing, asks, installs.

pub mod cargo_tools;
pub mod node;
mod packages;
mod system;

use std::io::{IsTerminal, Write};
use std::path::Path;

use crate::Stop;
use crate::progress::Progress;
use node::Node;
use system::System;

/// Whether the user lets us install without a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Consent {
    /// Install without asking.
    Given,
    /// Ask first.
    Asked,
}

impl Consent {
    /// Given where `CI` is set: nobody could answer there.
    pub fn from_environment() -> Self {
        if std::env::var_os("CI").is_some_and(|value| !value.is_empty()) { Self::Given } else { Self::Asked }
    }
}

/// What the machine is set up for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Building and running.
    Demo,
    /// The checks as well.
    Test,
    /// And those that take longer.
    LongTest,
}

/// The task `setup`: everything, step by step.
pub fn run(root: &Path, consent: Consent) -> Result<(), Stop> {
    let mut progress = Progress::new(3);
    progress.step("packages of the system", "seconds, or 2 minutes where some are missing", || packages_of_the_system(consent))?;
    progress.step("Node", "seconds", || node::ready(root, consent))?;
    progress.step("cargo-deny", "seconds, or 4 minutes to build it", || cargo_tools::DENY.ready(root, consent))?;
    println!("\neverything is there");
    Ok(())
}

/// Everything that the purpose needs, as one step of another task.
pub fn all(root: &Path, consent: Consent, purpose: Purpose) -> Result<Node, Stop> {
    packages_of_the_system(consent)?;
    let node = node::ready(root, consent)?;
    match purpose {
        Purpose::Demo => {}
        Purpose::Test => cargo_tools::DENY.ready(root, consent)?,
        Purpose::LongTest => {
            cargo_tools::DENY.ready(root, consent)?;
            cargo_tools::MUTANTS.ready(root, consent)?;
            cargo_tools::NEXTEST.ready(root, consent)?;
        }
    }
    Ok(node)
}

fn packages_of_the_system(consent: Consent) -> Result<(), Stop> {
    let system = System::detect();
    let missing = packages::missing(&system);
    if missing.is_empty() {
        println!("packages: nothing is missing on {system}");
        return Ok(());
    }
    match &system {
        System::Apt(name) => {
            println!("{name} lacks: {}", missing.join(" "));
            ask(consent, "Install them with apt-get? About 2 minutes")?;
            packages::install(&missing)
        }
        System::OtherLinux(_) | System::MacOs | System::Windows | System::Unknown => Err(Stop::Unmet(packages::advice(&system, &missing))),
    }
}

/// Asks for a yes; nobody at a terminal is a no.
fn ask(consent: Consent, question: &str) -> Result<(), Stop> {
    let refused = |why: &str| Stop::Unmet(format!("{why}: run again with --yes, or install it yourself"));
    match consent {
        Consent::Given => Ok(()),
        Consent::Asked if !std::io::stdin().is_terminal() => Err(refused("nobody is here to answer")),
        Consent::Asked => {
            print!("{question} [y/N] ");
            let mut answer = String::new();
            std::io::stdout()
                .flush()
                .and_then(|()| std::io::stdin().read_line(&mut answer))
                .map_err(|error| refused(&error.to_string()))?;
            if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused("nothing was installed")) }
        }
    }
}
