//! Programs that extend cargo: the one on the search path, or one that is built under `target/tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Consent, ask};
use crate::{Stop, command};

/// A program that extends cargo, in the one version that is used.
#[derive(Debug)]
pub struct CargoTool {
    name: &'static str,
    version: &'static str,
    /// How it is built.
    arguments: &'static [&'static str],
}

/// Looks at licences and sources of crates. Without its defaults it needs no TLS library to build; nothing is fetched with it.
pub const DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2", arguments: &["--no-default-features"] };

/// Plants defects and sees whether a test fails.
pub const MUTANTS: CargoTool = CargoTool { name: "cargo-mutants", version: "27.1.0", arguments: &[] };

/// Runs the tests against each planted defect and stops at the first that fails.
pub const NEXTEST: CargoTool = CargoTool { name: "cargo-nextest", version: "0.9.143", arguments: &[] };

impl CargoTool {
    /// The program of this version, if it is there.
    pub fn find(&self, root: &Path) -> Option<PathBuf> {
        let own = tools(root).join("bin");
        let name = format!("{}{}", self.name, std::env::consts::EXE_SUFFIX);
        let on_path = command::find(self.name, &[]);
        std::iter::once(own.join(name)).chain(on_path).find(|program| {
            // As cargo itself calls it, its own name before everything else: not every one of them answers without.
            let version = command::answer(&program.to_string_lossy(), &[self.name.trim_start_matches("cargo-"), "--version"]);
            // Its name, the version, and for some of them a commit and a day.
            version.is_some_and(|version| version.split_whitespace().nth(1) == Some(self.version))
        })
    }

    /// Makes sure that the program is there.
    pub fn ready(&self, root: &Path, consent: Consent) -> Result<(), Stop> {
        if let Some(program) = self.find(root) {
            println!("{}: {}", self.name, program.display());
            return Ok(());
        }
        println!("{} {} is missing", self.name, self.version);
        ask(consent, "Build it under target/tools? About 4 minutes")?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["install", self.name, "--version", self.version, "--locked"]).args(self.arguments);
        cargo.arg("--root").arg(tools(root));
        command::run(&mut cargo)
    }
}

fn tools(root: &Path) -> PathBuf {
    root.join("target").join("tools")
}
