//! The packages for Debian: made, looked over by the tools of their formats, installed below a folder, run from there, and removed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use vidimus_tests::processes::Binary;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The worst that `systemd-analyze security` may say of the unit, on its scale from 0 to 100.
const EXPOSURE_MAX: &str = "15";

/// Runs a program to its end and gives what it said.
fn run(program: &str, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("`{program}`: {error}"))?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(said)
    } else {
        Err(format!("`{program} {}` ended with {}: {said}", arguments.join(" "), output.status).into())
    }
}

/// dpkg on a system of its own below a folder; files belong to root, so that who is not root says that they are.
struct System {
    folder: PathBuf,
}

impl System {
    fn below(folder: &Path) -> Outcome<System> {
        for part in ["var/lib/dpkg/updates", "var/lib/dpkg/info", "var/log", "etc"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        std::fs::write(folder.join("var/lib/dpkg/status"), "")?;
        std::fs::write(folder.join("var/lib/dpkg/available"), "")?;
        Ok(System { folder: folder.to_owned() })
    }

    fn dpkg(&self, arguments: &[&str]) -> Outcome<String> {
        let root = format!("--root={}", self.folder.display());
        let log = format!("--log={}", self.folder.join("var/log/dpkg.log").display());
        // Nothing that the packages depend on is there: this is their files and their scripts, not a whole system.
        let mut words = vec!["dpkg", &root, &log, "--force-script-chrootless", "--force-depends", "--force-not-root", "--force-bad-path"];
        words.extend(arguments);
        let is_root = run("id", &["-u"])?.trim() == "0";
        if is_root { run("env", &words) } else { run("unshare", &[&["--map-root-user", "env"], words.as_slice()].concat()) }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }
}

fn made() -> Outcome<(tempfile::TempDir, PathBuf, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let programs = Binary::path("vidimus-gate")?.parent().map(Path::to_owned).ok_or("no folder of programs")?;
    let xtask = Binary::path("xtask")?;
    let out = folder.path().join("packages");
    // Programs with their debug information are large, and how small they pack is not asked here.
    let xtask = format!("{}", xtask.display());
    run(
        "env",
        &["DPKG_DEB_COMPRESSOR_TYPE=none", &xtask, "package", "--programs", &programs.to_string_lossy(), "--out", &out.to_string_lossy()],
    )?;
    let mut found: Vec<PathBuf> = std::fs::read_dir(&out)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    found.sort();
    let [gate, console] = <[PathBuf; 2]>::try_from(found).map_err(|found| format!("the packages are {found:?}"))?;
    Ok((folder, console, gate))
}

#[test]
fn both_packages_are_made_installed_run_and_removed() -> Outcome {
    let (folder, console, gate) = made()?;
    let system = System::below(&folder.path().join("system"))?;
    for package in [&console, &gate] {
        system.dpkg(&["--install", &package.to_string_lossy()])?;
    }
    the_console_is_known_to_a_desktop(&system)?;
    the_unit_holds(&system)?;
    the_installed_gate_runs(&system, folder.path())?;

    system.dpkg(&["--remove", "vidimus", "vidimus-gate"])?;
    for gone in [
        "usr/bin/vidimus",
        "usr/bin/vidimus-gate",
        "usr/lib/systemd/system/vidimus-gate.service",
        "usr/share/applications/dev.vidimus.console.desktop",
    ] {
        assert!(!system.file(gone).exists(), "`{gone}` is left");
    }
    assert!(system.file("etc/vidimus-gate/environment").exists(), "what the administrator wrote is gone");
    system.dpkg(&["--purge", "vidimus-gate"])?;
    assert!(!system.file("etc/vidimus-gate/environment").exists(), "the settings are left after a purge");
    Ok(())
}

fn the_console_is_known_to_a_desktop(system: &System) -> Outcome {
    let entry = system.file("usr/share/applications/dev.vidimus.console.desktop");
    run("desktop-file-validate", &[&entry.to_string_lossy()])?;
    let text = std::fs::read_to_string(&entry)?;
    assert!(text.contains("MimeType=x-scheme-handler/vidimus;"), "{text}");
    let metainfo = system.file("usr/share/metainfo/dev.vidimus.console.metainfo.xml");
    run("appstreamcli", &["validate", "--no-net", &metainfo.to_string_lossy()])?;
    for size in ["32x32", "128x128", "256x256", "512x512"] {
        let icon = system.file(&format!("usr/share/icons/hicolor/{size}/apps/dev.vidimus.console.png"));
        let said = run("file", &[&icon.to_string_lossy()])?;
        assert!(said.contains(&size.replace('x', " x ")), "{said}");
    }
    let help = run(&system.file("usr/bin/vidimus").to_string_lossy(), &["--help"])?;
    assert!(help.contains("vidimus://request/ID"), "{help}");
    Ok(())
}

/// The unit is read as a service manager reads it, and its user is there.
fn the_unit_holds(system: &System) -> Outcome {
    let users = std::fs::read_to_string(system.file("etc/passwd"))?;
    let user = users.lines().find(|line| line.starts_with("vidimus-gate:")).ok_or("the gate has no user")?;
    assert!(user.ends_with(":/var/lib/vidimus-gate:/usr/sbin/nologin"), "{user}");
    let unit = system.file("usr/lib/systemd/system/vidimus-gate.service");
    let root = format!("--root={}", system.folder.display());
    let said = run(
        "systemd-analyze",
        &["security", "--offline=yes", &format!("--threshold={EXPOSURE_MAX}"), "--no-pager", &root, "vidimus-gate.service"],
    )?;
    let overall = said.lines().find(|line| line.contains("Overall exposure level")).ok_or_else(|| format!("no level: {said}"))?;
    println!("{}", overall.trim());
    // The unit alone, with its own program beside it: what it names has to be there, and every line has to be understood.
    let said = run("systemd-analyze", &["verify", "--recursive-errors=no", "--man=no", &root, &unit.to_string_lossy()])?;
    assert!(!said.contains("vidimus-gate.service"), "{said}");
    Ok(())
}

/// The program that was installed makes a gate and serves it, as its unit has it serve.
fn the_installed_gate_runs(system: &System, folder: &Path) -> Outcome {
    let program = system.file("usr/bin/vidimus-gate");
    let table = vidimus_tests::company::effect_table("http://127.0.0.1:9");
    let (home, _invite) = vidimus_tests::gate::GateHome::init(&program, &folder.join("gate"), &table, "test", "Robin Example", &[])?;
    // It is given back once the gate says where it listens.
    drop(home.serve(&[])?);
    Ok(())
}
