//! Whether something on this desktop shows tray icons.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const WATCHER_PATH: &str = "/StatusNotifierWatcher";
/// Seconds that the desktop may take to say whether it has a tray: it is asked where a window is about to close.
const ANSWER_S: u64 = 2;

/// Whether a host for tray icons is registered on the session bus. Blocks for at most two seconds: not for the main thread.
///
/// An older tray that takes windows instead (XEmbed) is not seen: the icon is drawn there, but counts as absent, so that closing
/// the window never leaves a console that cannot be reached.
pub fn has_host() -> bool {
    let (done, answer) = sync_channel(1);
    let asked = thread::Builder::new().name("tray-host".to_owned()).spawn(move || {
        // Nobody listens any more after the deadline.
        let _ = done.send(ask().unwrap_or(false));
    });
    asked.is_ok() && answer.recv_timeout(Duration::from_secs(ANSWER_S)).unwrap_or(false)
}

fn ask() -> zbus::Result<bool> {
    let bus = zbus::blocking::Connection::session()?;
    let watcher = zbus::blocking::Proxy::new(&bus, WATCHER, WATCHER_PATH, WATCHER)?;
    watcher.get_property("IsStatusNotifierHostRegistered")
}
