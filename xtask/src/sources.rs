//! What no tracked file may be or hold.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Stop;

/// A file with more lines is more than one idea.
const LINES_MAX: usize = 800;

/// What counts as source; lock files and generated tables are as long as they are.
const SOURCE_SUFFIXES: [&str; 10] = ["rs", "ts", "js", "mjs", "svelte", "css", "html", "py", "sh", "toml"];

/// Where every crate comes from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks all tracked files.
pub fn check(root: &Path) -> Result<(), Stop> {
    let names = tracked(root)?;
    let needles = machine_paths(root);
    let mut findings = Vec::new();
    for name in &names {
        // A tracked file that is deleted but not yet committed has nothing to check.
        let Ok(bytes) = fs::read(root.join(name)) else { continue };
        findings.extend(file_findings(name, &bytes, &needles));
    }
    if findings.is_empty() {
        println!("{} files", names.len());
        Ok(())
    } else {
        Err(Stop::Failed(format!("\n  {}", findings.join("\n  "))))
    }
}

/// Everything wrong with one file.
fn file_findings(name: &str, bytes: &[u8], machine_paths: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for path in machine_paths {
        if contains(bytes, path.as_bytes()) {
            findings.push(format!("{name}: holds `{path}`, a path of this machine"));
        }
    }
    let text = String::from_utf8_lossy(bytes);
    let file_name = name.rsplit('/').next().unwrap_or(name);
    match file_name {
        "Cargo.lock" => findings.extend(cargo_lock_findings(name, &text)),
        "package-lock.json" => findings.extend(npm_lock_findings(name, &text)),
        _ => {
            let is_source = file_name.rsplit_once('.').is_some_and(|(_, suffix)| SOURCE_SUFFIXES.contains(&suffix));
            let lines = text.lines().count();
            if is_source && lines > LINES_MAX {
                findings.push(format!("{name}: {lines} lines, the limit is {LINES_MAX}"));
            }
        }
    }
    findings
}

fn cargo_lock_findings(name: &str, text: &str) -> Vec<String> {
    let sources = text.lines().filter_map(|line| line.strip_prefix("source = "));
    let foreign = sources.map(|source| source.trim_matches('"')).filter(|source| *source != CRATES_IO);
    foreign.map(|source| format!("{name}: a crate comes from `{source}`")).collect()
}

fn npm_lock_findings(name: &str, text: &str) -> Vec<String> {
    let resolved = text.lines().map(str::trim).filter(|line| line.starts_with("\"resolved\":") && line.contains("://"));
    resolved.map(|line| format!("{name}: a download address: `{line}`")).collect()
}

/// The paths that only this machine has.
fn machine_paths(root: &Path) -> Vec<String> {
    let directories = ["HOME", "CARGO_HOME", "RUSTUP_HOME"].iter().filter_map(std::env::var_os).map(std::path::PathBuf::from);
    let directories = directories.chain([root.to_owned()]);
    // The root of all paths is nobody's.
    let own = directories.filter(|directory| directory.components().count() > 1).map(|directory| format!("{}/", directory.display()));
    own.collect()
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && bytes.windows(needle.len()).any(|window| window == needle)
}

fn tracked(root: &Path) -> Result<Vec<String>, Stop> {
    let failed = |why: String| Stop::Failed(format!("`git ls-files`: {why}"));
    let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<String> = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.is_empty() { Err(failed("no file is tracked here".to_owned())) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, file_findings};

    fn findings(name: &str, text: &str) -> usize {
        file_findings(name, text.as_bytes(), &["/invented/place/".to_owned()]).len()
    }

    #[test]
    fn each_rule_has_what_passes_and_what_does_not() {
        let long = "\n".repeat(LINES_MAX + 1);
        let full = "\n".repeat(LINES_MAX);
        let cases = [
            ("a.rs", full.as_str(), 0),
            ("a.rs", long.as_str(), 1),
            ("a.md", long.as_str(), 0),
            ("a.md", "see /invented/place/file", 1),
            ("a.png", "\u{0}/invented/place/", 1),
            ("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n", 0),
            ("fuzz/Cargo.lock", "source = \"git+https://example.org/it\"\n", 1),
            ("ui/package-lock.json", "  \"integrity\": \"sha512-aa\",\n  \"funding\": \"https://example.org\"\n", 0),
            ("ui/package-lock.json", "  \"resolved\": \"https://example.org/a.tgz\",\n", 1),
        ];
        for (name, text, expected) in cases {
            assert_eq!(findings(name, text), expected, "{name}");
        }
    }
}
