//! The display and the private session bus.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment::bus_socket;
use super::{Desktop, DesktopError, START_WITHIN};
use crate::processes::{Process, poll};

/// Services that the bus may start by itself: the accessibility bus, and the dialog of a locked keyring.
///
/// Everything else is left out, so that an absent keyring or notification server is truly absent.
const ACTIVATABLE: [&str; 3] =
    ["org.a11y.Bus.service", "org.gnome.keyring.SystemPrompter.service", "org.gnome.keyring.PrivatePrompter.service"];

const SERVICES: &str = "/usr/share/dbus-1/services";

impl Desktop {
    /// Starts Xvfb, which chooses a free display by itself and so cannot race with another.
    pub(super) fn start_display(&mut self, width: u32, height: u32) -> Result<(), DesktopError> {
        let mut command = self.command("Xvfb");
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0"]).arg(format!("{width}x{height}x24"));
        // What is on the screen is in a file there, so that a frame can be read that no picture would be in time for.
        let frames = self.frames_directory();
        std::fs::create_dir_all(&frames).map_err(|source| DesktopError::File { path: frames.clone(), source })?;
        command.arg("-fbdir").arg(frames);
        let mut display = Process::start("Xvfb", &mut command, &self.output_file("Xvfb"))?;
        let number = display.wait_for_line("its display number", START_WITHIN, |line| line.trim().parse::<u32>().is_ok())?;
        self.environment.set("DISPLAY", format!(":{}", number.trim()).into());
        self.processes.push(display);
        Ok(())
    }

    /// Starts the bus with an own configuration; it inherits the display, for the helpers that it starts itself.
    pub(super) fn start_bus(&mut self) -> Result<(), DesktopError> {
        let configuration = self.write_bus_configuration()?;
        let mut command = self.command("dbus-daemon");
        command.arg("--nofork").arg("--config-file").arg(configuration);
        let mut bus = Process::start("dbus-daemon", &mut command, &self.output_file("dbus-daemon"))?;
        let socket = bus_socket(self.directory.path());
        bus.wait_until("its socket", START_WITHIN, |_| Ok(UnixStream::connect(&socket).ok()))?;
        self.processes.push(bus);
        Ok(())
    }

    /// Waits until somebody on the bus has this name.
    pub fn wait_for_name(&self, name: &str, within: Duration) -> Result<(), DesktopError> {
        let seconds = within.as_secs().max(1);
        self.run("gdbus", &["wait", "--session", "--timeout", &seconds.to_string(), name])
            .map(drop)
            .map_err(|_| DesktopError::Deadline { what: format!("`{name}` on the bus"), seconds })
    }

    /// Waits until `ready` gives a value.
    pub fn wait_until<T>(&self, what: &str, within: Duration, ready: impl FnMut() -> Option<T>) -> Result<T, DesktopError> {
        poll(within, ready).ok_or_else(|| DesktopError::Deadline { what: what.to_owned(), seconds: within.as_secs() })
    }

    fn write_bus_configuration(&self) -> Result<PathBuf, DesktopError> {
        let services = self.directory.path().join("services");
        for name in ACTIVATABLE {
            let from = Path::new(SERVICES).join(name);
            if from.is_file() {
                fs::copy(&from, services.join(name)).map_err(|source| DesktopError::File { path: from, source })?;
            }
        }
        let path = self.directory.path().join("bus.conf");
        let text = format!(
            r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <servicedir>{services}</servicedir>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#,
            socket = bus_socket(self.directory.path()).display(),
            services = services.display(),
        );
        fs::write(&path, text).map_err(|source| DesktopError::File { path: path.clone(), source })?;
        Ok(path)
    }
}
