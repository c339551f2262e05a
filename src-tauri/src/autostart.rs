//! Whether the console starts with the desktop: an entry among those that the session starts, by the XDG autostart specification.
//!
//! The entry is the setting: whoever takes it away elsewhere has switched it off here too.

use std::io;
use std::path::{Path, PathBuf};

use crate::profile::{Profile, write_whole};

/// The entry's name, which is that of the console's desktop file.
const ENTRY: &str = "dev.vidimus.console.desktop";

/// The entry of one console.
#[derive(Debug, Clone)]
pub struct Autostart {
    file: PathBuf,
    line: String,
}

impl Autostart {
    /// Of the console of this profile, as this program starts it.
    pub fn of(profile: &Profile) -> Self {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("vidimus"));
        Self::at(&profile.autostart_directory(), &program, profile.named())
    }

    fn at(directory: &Path, program: &Path, profile: Option<&Path>) -> Self {
        let mut line = quoted(&program.to_string_lossy());
        line.push_str(" --hidden");
        if let Some(profile) = profile {
            line.push_str(" --profile ");
            line.push_str(&quoted(&profile.to_string_lossy()));
        }
        Self { file: directory.join(ENTRY), line }
    }

    pub fn is_on(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|text| !text.lines().any(|line| line.trim() == "Hidden=true"))
    }

    /// *Errors*: the entry cannot be written or taken away.
    pub fn set(&self, on: bool) -> io::Result<()> {
        if on {
            if let Some(directory) = self.file.parent() {
                std::fs::create_dir_all(directory)?;
            }
            return write_whole(&self.file, self.entry().as_bytes());
        }
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn entry(&self) -> String {
        format!(
            "[Desktop Entry]\nType=Application\nName=Vidimus\nComment=Tells when a request waits for you\nExec={}\nIcon=dev.vidimus.console\n\
             Terminal=false\nX-GNOME-Autostart-enabled=true\n",
            self.line
        )
    }
}

/// One word of an `Exec` line: in quotes, with what is special in them escaped, once for the quotes and once for the file; a percent
/// sign twice.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '`' | '$' => text.extend(["\\\\", &c.to_string()]),
            '\\' => text.push_str("\\\\\\\\"),
            '%' => text.push_str("%%"),
            '\n' => text.push_str("\\n"),
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_while_the_entry_is_there_and_starts_hidden() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("config/autostart");
        let autostart = Autostart::at(&directory, Path::new("/opt/my tools/vidimus"), Some(Path::new("/home/ada/50% $HOME")));
        assert!(!autostart.is_on());
        autostart.set(false).unwrap();
        autostart.set(true).unwrap();
        assert!(autostart.is_on());
        let entry = std::fs::read_to_string(directory.join(ENTRY)).unwrap();
        let exec = "Exec=\"/opt/my tools/vidimus\" --hidden --profile \"/home/ada/50%% \\\\$HOME\"\n";
        assert!(entry.contains(exec), "{entry}");
        // A desktop's own settings switch an entry off by this line.
        std::fs::write(directory.join(ENTRY), entry + "Hidden=true\n").unwrap();
        assert!(!autostart.is_on());
        autostart.set(true).unwrap();
        assert!(autostart.is_on());
        autostart.set(false).unwrap();
        assert!(!autostart.is_on());
    }
}
