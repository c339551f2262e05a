//! What the figures were measured on: without it they say nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The machine, as far as it can be read; what cannot is left out.
pub fn describe(folder: &Path) -> BTreeMap<&'static str, String> {
    let mut machine = BTreeMap::from([("arch", std::env::consts::ARCH.to_owned()), ("os", system())]);
    machine.insert("build", if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned());
    machine.insert("version", env!("CARGO_PKG_VERSION").to_owned());
    if let Ok(cores) = std::thread::available_parallelism() {
        machine.insert("cores", cores.to_string());
    }
    let read = |path: &str| fs::read_to_string(path).ok();
    let found = [
        ("cpu", read("/proc/cpuinfo").and_then(|text| field(&text, "model name"))),
        ("memory", read("/proc/meminfo").and_then(|text| field(&text, "MemTotal"))),
        ("kernel", read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned())),
        ("file_system", read("/proc/mounts").and_then(|text| file_system(&text, folder))),
        // What else ran in the minute before: a machine that was busy says so.
        ("load_before", read("/proc/loadavg").and_then(|text| text.split_whitespace().next().map(str::to_owned))),
        ("commit", answer("git", &["rev-parse", "--short=12", "HEAD"])),
        ("at", answer("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
    ];
    machine.extend(found.into_iter().filter_map(|(name, value)| Some((name, value?))));
    machine
}

fn system() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned())
}

/// The value after the colon of the first line that begins so.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The kind of the file system that a folder is on: of the mounts above it, the innermost.
fn file_system(mounts: &str, folder: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        Some((Path::new(words.next()?), words.next()?))
    });
    let above = mounts.filter(|(point, _)| folder.starts_with(point));
    above.max_by_key(|(point, _)| point.components().count()).map(|(_, kind)| kind.to_owned())
}

fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::file_system;
    use std::path::Path;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "a / ext4 rw 0 0\nb /invented tmpfs rw 0 0\nc /inventedly xfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/invented/place")).unwrap(), "tmpfs");
        assert_eq!(file_system(mounts, Path::new("/elsewhere")).unwrap(), "ext4");
    }
}
