//! Ends the PIN's session when the screen is locked. Where no desktop tells of it, the session's minutes end it.

use std::sync::Arc;

use zbus::blocking::{Connection, MessageIterator};
use zbus::{MatchRule, message};

use crate::console::Console;

/// The interfaces under which desktops tell that their screen is locked.
const LOCKERS: [&str; 4] = ["org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver", "org.mate.ScreenSaver"];

/// Listens on a thread of its own, for as long as the session bus lives.
pub fn watch(console: Arc<Console>) {
    // Without a thread or a bus nobody tells of a locked screen: then the minutes count.
    let _ = std::thread::Builder::new().name("screen-lock".to_owned()).spawn(move || listen(&console));
}

fn listen(console: &Console) -> Option<()> {
    let bus = Connection::session().ok()?;
    let rule = MatchRule::builder().msg_type(message::Type::Signal).member("ActiveChanged").ok()?.build();
    for signal in MessageIterator::for_match_rule(rule, &bus, None).ok()? {
        let Ok(signal) = signal else { continue };
        let from_locker = signal.header().interface().is_some_and(|interface| LOCKERS.contains(&interface.as_str()));
        if from_locker && signal.body().deserialize::<bool>().unwrap_or(false) {
            console.pin().end();
        }
    }
    Some(())
}
