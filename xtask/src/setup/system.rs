//! Which system this is.

use std::fmt;
use std::fs;

/// The systems that differ in how they are set up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum System {
    /// A Debian or Ubuntu whose package names are known, by its name.
    Apt(String),
    /// Another Linux, by its name.
    OtherLinux(String),
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Something else.
    Unknown,
}

impl System {
    /// The system that we run on.
    pub fn detect() -> Self {
        match std::env::consts::OS {
            "linux" => Self::from_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Unknown,
        }
    }

    /// Reads `/etc/os-release`.
    fn from_release(text: &str) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
        };
        let name = field("PRETTY_NAME");
        match (field("ID").as_str(), field("VERSION_ID").as_str()) {
            ("debian", "12" | "13") | ("ubuntu", "22.04" | "24.04") => Self::Apt(name),
            _ => Self::OtherLinux(if name.is_empty() { "this Linux".to_owned() } else { name }),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Apt(name) | Self::OtherLinux(name) => name,
            Self::MacOs => "macOS",
            Self::Windows => "Windows",
            Self::Unknown => "this system",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::System;

    #[test]
    fn the_four_systems_are_known_and_their_neighbours_are_not() {
        let cases = [
            ("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n", true),
            ("ID=debian\nVERSION_ID=\"13\"\n", true),
            ("ID=debian\nVERSION_ID=\"11\"\n", false),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n", true),
            ("ID=ubuntu\nVERSION_ID='24.04'\n", true),
            ("ID=ubuntu\nVERSION_ID=\"20.04\"\n", false),
            ("ID=fedora\nVERSION_ID=43\n", false),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22.04\"\n", false),
            ("", false),
        ];
        for (text, known) in cases {
            assert_eq!(matches!(System::from_release(text), System::Apt(_)), known, "{text}");
        }
    }
}
