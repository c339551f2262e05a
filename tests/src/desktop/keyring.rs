//! The Secret Service: gnome-keyring under a password of this desktop.

use std::io::Write;
use std::process::Stdio;

use super::{Desktop, DesktopError, Keyring, START_WITHIN};
use crate::processes::Process;

const SERVICE: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const COLLECTION_PATH: &str = "/org/freedesktop/secrets/collection/login";

/// The password of the login collection: it protects nothing that outlives the desktop.
pub const KEYRING_PASSWORD: &str = "fixture keyring password";

impl Desktop {
    pub(super) fn start_keyring(&mut self, keyring: Keyring) -> Result<(), DesktopError> {
        match keyring {
            Keyring::Absent => Ok(()),
            Keyring::Unlocked => self.start_secret_service(),
            Keyring::Locked => {
                self.start_secret_service()?;
                self.lock_keyring()
            }
        }
    }

    /// Locks the login collection, as the end of the user's session would.
    pub fn lock_keyring(&self) -> Result<(), DesktopError> {
        let collections = format!("['{COLLECTION_PATH}']");
        self.secret_service_call(SERVICE_PATH, "org.freedesktop.Secret.Service.Lock", &[&collections])?;
        self.wait_until("the locked keyring", START_WITHIN, || self.keyring_is_locked().ok().filter(|locked| *locked))?;
        Ok(())
    }

    /// Whether the login collection is locked.
    pub fn keyring_is_locked(&self) -> Result<bool, DesktopError> {
        let arguments = ["org.freedesktop.Secret.Collection", "Locked"];
        let answer = self.secret_service_call(COLLECTION_PATH, "org.freedesktop.DBus.Properties.Get", &arguments)?;
        match answer.trim() {
            "(<true>,)" => Ok(true),
            "(<false>,)" => Ok(false),
            other => Err(DesktopError::Answer { program: "gnome-keyring".to_owned(), detail: other.to_owned() }),
        }
    }

    fn start_secret_service(&mut self) -> Result<(), DesktopError> {
        let mut command = self.command("gnome-keyring-daemon");
        command.args(["--unlock", "--components=secrets", "--foreground"]).stdin(Stdio::piped());
        let mut daemon = Process::start_with_input("gnome-keyring-daemon", &mut command, &self.output_file("gnome-keyring-daemon"))?;
        // Taken, so that the daemon sees the end of its input; it goes on only then.
        if let Some(mut input) = daemon.child_mut().stdin.take() {
            input
                .write_all(KEYRING_PASSWORD.as_bytes())
                .map_err(|error| DesktopError::Program { program: "gnome-keyring-daemon".to_owned(), detail: error.to_string() })?;
        }
        self.processes.push(daemon);
        self.wait_for_name(SERVICE, START_WITHIN)?;
        let unlocked = || self.keyring_is_locked().ok().filter(|locked| !locked);
        self.wait_until("the unlocked keyring", START_WITHIN, unlocked)?;
        Ok(())
    }

    fn secret_service_call(&self, path: &str, method: &str, arguments: &[&str]) -> Result<String, DesktopError> {
        let mut all = vec!["call", "--session", "--dest", SERVICE, "--object-path", path, "--method", method];
        all.extend(arguments);
        self.run("gdbus", &all)
    }
}
