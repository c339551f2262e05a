//! The packages of the system that building, running and testing need.

use std::process::Command;

use super::system::System;
use crate::{Stop, command};

/// How it shows that a package is there on a system whose package names we do not know.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// This program is on the search path.
    Program(&'static str),
    /// pkg-config knows this library.
    Library(&'static str),
    /// Nothing that is the same everywhere; the package is named all the same.
    Nothing,
}

/// A package of Debian and Ubuntu.
#[derive(Clone, Copy, Debug)]
struct Package {
    name: &'static str,
    shown: Shown,
}

const fn program(name: &'static str, program: &'static str) -> Package {
    Package { name, shown: Shown::Program(program) }
}

const fn library(name: &'static str, library: &'static str) -> Package {
    Package { name, shown: Shown::Library(library) }
}

const fn package(name: &'static str) -> Package {
    Package { name, shown: Shown::Nothing }
}

const PACKAGES: [Package; 36] = [
    // Building.
    program("build-essential", "cc"),
    program("pkg-config", "pkg-config"),
    library("libwebkit2gtk-4.1-dev", "webkit2gtk-4.1"),
    library("librsvg2-dev", "librsvg-2.0"),
    library("libayatana-appindicator3-dev", "ayatana-appindicator3-0.1"),
    package("libxdo-dev"),
    library("libssl-dev", "openssl"),
    program("curl", "curl"),
    program("file", "file"),
    program("git", "git"),
    package("ca-certificates"),
    // A desktop of its own for the demo and the tests.
    program("webkit2gtk-driver", "WebKitWebDriver"),
    program("xvfb", "Xvfb"),
    program("xauth", "xauth"),
    program("xdotool", "xdotool"),
    program("imagemagick", "import"),
    program("dunst", "dunst"),
    package("notification-daemon"),
    program("libnotify-bin", "notify-send"),
    program("gnome-keyring", "gnome-keyring-daemon"),
    package("gcr"),
    program("dbus", "dbus-daemon"),
    program("libglib2.0-bin", "gdbus"),
    program("systemd", "busctl"),
    package("at-spi2-core"),
    program("python3", "python3"),
    package("python3-pyatspi"),
    package("python3-gi"),
    package("gir1.2-atspi-2.0"),
    package("fonts-dejavu-core"),
    package("shared-mime-info"),
    package("adwaita-icon-theme"),
    program("procps", "ps"),
    // The packages for Debian, and what looks them over.
    program("dpkg-dev", "dpkg-shlibdeps"),
    program("desktop-file-utils", "desktop-file-validate"),
    program("appstream", "appstreamcli"),
];

/// The packages that are not there.
pub fn missing(system: &System) -> Vec<&'static str> {
    match system {
        System::Apt(_) => PACKAGES.iter().filter(|package| !is_installed(package.name)).map(|package| package.name).collect(),
        System::OtherLinux(_) => PACKAGES.iter().filter(|package| !package.shown.is_there()).map(|package| package.name).collect(),
        // Tauri's own prerequisites there bring their own installers; the compiler and Node are what can be looked for.
        System::MacOs => absent_programs(&["cc", "git", "node", "npm"]),
        System::Windows => absent_programs(&["git", "node", "npm"]),
        System::Unknown => PACKAGES.iter().map(|package| package.name).collect(),
    }
}

/// What to do on a system where nothing is installed for the user.
pub fn advice(system: &System, missing: &[&str]) -> String {
    let named = missing.join(" ");
    match system {
        System::MacOs => format!(
            "On macOS, install what is missing ({named}): the command line tools with `xcode-select --install`, Node 20.19 or newer from \
             nodejs.org or `brew install node`. The virtual desktop of the tests exists on Linux only."
        ),
        System::Windows => format!(
            "On Windows, install what is missing ({named}): the Build Tools for Visual Studio with \"Desktop development with C++\", \
             WebView2, Git and Node 20.19 or newer. The virtual desktop of the tests exists on Linux only."
        ),
        System::Apt(_) | System::OtherLinux(_) | System::Unknown => {
            format!(
                "On {system}, install what these packages of Debian hold, under the names they have there, and run this again:\n  {named}"
            )
        }
    }
}

/// Installs packages, as root or through sudo.
pub fn install(packages: &[&str]) -> Result<(), Stop> {
    command::run(apt_get().arg("update"))?;
    command::run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(packages))?;
    match packages.iter().find(|package| !is_installed(package)) {
        None => Ok(()),
        Some(package) => Err(Stop::Failed(format!("apt-get succeeded, but `{package}` is not installed"))),
    }
}

fn apt_get() -> Command {
    let is_root = command::answer("id", &["-u"]).is_some_and(|id| id == "0");
    // Given to env and not set for sudo, which drops variables.
    let words: &[&str] = if is_root { &["env"] } else { &["sudo", "env"] };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
    command
}

fn is_installed(package: &str) -> bool {
    command::answer("dpkg-query", &["--show", "--showformat=${db:Status-Status}", package]).is_some_and(|status| status == "installed")
}

fn absent_programs(programs: &[&'static str]) -> Vec<&'static str> {
    programs.iter().copied().filter(|program| command::find(program, &[]).is_none()).collect()
}

impl Shown {
    fn is_there(self) -> bool {
        match self {
            Self::Program(program) => command::find(program, &[]).is_some(),
            Self::Library(library) => command::answer("pkg-config", &["--exists", library]).is_some(),
            Self::Nothing => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKAGES, advice};
    use crate::setup::system::System;

    #[test]
    fn no_package_is_named_twice() {
        let mut names: Vec<&str> = PACKAGES.iter().map(|package| package.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PACKAGES.len());
    }

    #[test]
    fn each_other_system_is_told_what_to_install() {
        for system in [System::MacOs, System::Windows, System::OtherLinux("Fedora Linux 43".to_owned())] {
            let text = advice(&system, &["xvfb"]);
            assert!(text.contains("xvfb") && text.contains(&system.to_string()), "{text}");
        }
    }
}
