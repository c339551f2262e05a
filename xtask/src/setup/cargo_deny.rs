//! cargo-deny: the one on the search path, or one that is built under `target/tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Consent, ask};
use crate::{Stop, command};

const VERSION: &str = "0.20.2";

/// The cargo-deny of this version, if it is there.
pub fn find(root: &Path) -> Option<PathBuf> {
    let own = tools(root).join("bin");
    let name = format!("cargo-deny{}", std::env::consts::EXE_SUFFIX);
    let on_path = command::find("cargo-deny", &[]);
    std::iter::once(own.join(name)).chain(on_path).find(|program| {
        let version = command::answer(&program.to_string_lossy(), &["--version"]);
        version.is_some_and(|version| version.split_whitespace().last() == Some(VERSION))
    })
}

/// Makes sure that cargo-deny is there.
pub fn ready(root: &Path, consent: Consent) -> Result<(), Stop> {
    if let Some(program) = find(root) {
        println!("cargo-deny: {}", program.display());
        return Ok(());
    }
    println!("cargo-deny {VERSION} is missing");
    ask(consent, "Build it under target/tools? About 4 minutes")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Without its defaults it needs no TLS library to build; nothing is fetched with it.
    cargo.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--no-default-features", "--root"]).arg(tools(root));
    command::run(&mut cargo)
}

fn tools(root: &Path) -> PathBuf {
    root.join("target").join("tools")
}
