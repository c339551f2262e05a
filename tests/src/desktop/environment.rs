//! The directories and variables of one desktop.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DesktopError, Display};

/// Longest base path under which the sockets of the desktop still fit into the 108 bytes of a socket address.
const BASE_LENGTH_MAX: usize = 48;

/// Variables of the caller's own desktop that would lead a child away from this one.
const REMOVED: [&str; 12] = [
    "DBUS_STARTER_ADDRESS",
    "DBUS_STARTER_BUS_TYPE",
    "DESKTOP_STARTUP_ID",
    "GNOME_KEYRING_CONTROL",
    "GTK_MODULES",
    "NO_AT_BRIDGE",
    "SESSION_MANAGER",
    "SSH_AUTH_SOCK",
    "TAURI_WEBVIEW_AUTOMATION",
    "WEBKIT_INSPECTOR_HTTP_SERVER",
    "WEBKIT_INSPECTOR_SERVER",
    "XDG_ACTIVATION_TOKEN",
];

/// What a child on this desktop finds in its environment.
#[derive(Debug)]
pub(super) struct Environment {
    set: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
}

/// Makes the directory of a desktop with its parts.
pub(super) fn directory() -> Result<tempfile::TempDir, DesktopError> {
    let base = std::env::temp_dir();
    let base = if base.as_os_str().len() > BASE_LENGTH_MAX { PathBuf::from("/tmp") } else { base };
    let directory = tempfile::Builder::new()
        .prefix("vidimus-desktop-")
        .tempdir_in(&base)
        .map_err(|source| DesktopError::File { path: base, source })?;
    for part in ["home", "run", "log", "services"] {
        let path = directory.path().join(part);
        // The runtime directory is refused by its users unless it is private.
        fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o700)))
            .map_err(|source| DesktopError::File { path, source })?;
    }
    Ok(directory)
}

impl Environment {
    pub(super) fn new(directory: &Path, display: Display) -> Result<Self, DesktopError> {
        let home = directory.join("home");
        let runtime = directory.join("run");
        let mut set: Vec<(OsString, OsString)> = vec![
            ("DBUS_SESSION_BUS_ADDRESS".into(), bus_address(directory)),
            ("XDG_RUNTIME_DIR".into(), runtime.into()),
            ("XDG_DATA_HOME".into(), home.join(".local/share").into()),
            ("XDG_CONFIG_HOME".into(), home.join(".config").into()),
            ("XDG_CACHE_HOME".into(), home.join(".cache").into()),
            ("XDG_STATE_HOME".into(), home.join(".local/state").into()),
            ("HOME".into(), home.into()),
            // Names and digests must be drawn whatever the caller's locale is.
            ("LANG".into(), "C.UTF-8".into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
        ];
        let mut removed: Vec<OsString> = REMOVED.iter().map(OsString::from).collect();
        match display {
            Display::Virtual { .. } => {
                set.push(("GDK_BACKEND".into(), "x11".into()));
                // No GPU stands behind Xvfb; with one this would only slow the drawing.
                set.push(("WEBKIT_DISABLE_DMABUF_RENDERER".into(), "1".into()));
                removed.extend(["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "XDG_SESSION_TYPE", "DISPLAY"].map(OsString::from));
            }
            Display::Existing => set.extend(existing_display()?),
        }
        Ok(Self { set, removed })
    }

    pub(super) fn set(&mut self, name: &str, value: OsString) {
        self.removed.retain(|removed| removed != OsStr::new(name));
        self.set.push((name.into(), value));
    }

    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        self.set.clone()
    }

    pub(super) fn apply(&self, command: &mut Command) {
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }
}

/// The socket of the private bus.
pub(super) fn bus_socket(directory: &Path) -> PathBuf {
    directory.join("run/bus")
}

fn bus_address(directory: &Path) -> OsString {
    let mut address = OsString::from("unix:path=");
    address.push(bus_socket(directory));
    address
}

/// With another home and runtime directory, what the display needs from the old ones has to be named in full.
fn existing_display() -> Result<Vec<(OsString, OsString)>, DesktopError> {
    let mut set = Vec::new();
    let display = std::env::var_os("DISPLAY");
    let wayland = std::env::var_os("WAYLAND_DISPLAY");
    if display.is_none() && wayland.is_none() {
        return Err(DesktopError::NoDisplay);
    }
    if let Some(wayland) = wayland {
        let runtime = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_default());
        set.push(("WAYLAND_DISPLAY".into(), runtime.join(wayland).into()));
    }
    if display.is_some() && std::env::var_os("XAUTHORITY").is_none() {
        let file = PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".Xauthority");
        if file.is_file() {
            set.push(("XAUTHORITY".into(), file.into()));
        }
    }
    Ok(set)
}
