//! The words of notifications and of the tray menu.

use vidimus_core::ids::Reversibility;

use super::text::Matter;

/// The name under which the desktop lists our notifications.
pub const APPLICATION: &str = "Vidimus";
pub const OPEN: &str = "Open";
pub const LATER: &str = "Later";
/// Stands where something was left out.
pub const READ_ALL: &str = "(open to read all)";
pub const OPEN_TO_SEE_IT: &str = "Open the console to see it.";
pub const OPEN_TO_SEE_THEM: &str = "Open the console to see them.";
pub const DECIDED_BY_ANOTHER: &str = "A request was decided by someone else.";
/// E-NOT-1.
pub const NO_SERVICE: &str = "This desktop shows no notifications. Keep the window or the tray icon in view.";

pub const TRAY_NOTHING: &str = "Nothing waiting";
pub const OUTCOME_ANSWERED: &str = "An unknown outcome was answered.";
pub const TRAY_NONE_IN_DOUBT: &str = "Nothing to reconcile";
pub const TRAY_OPEN: &str = "Open console";
pub const TRAY_PAUSE: &str = "Pause notifications";
pub const TRAY_PAUSE_HALF_HOUR: &str = "For 30 minutes";
pub const TRAY_PAUSE_HOUR: &str = "For 1 hour";
pub const TRAY_PAUSE_TOMORROW: &str = "Until tomorrow";
pub const TRAY_RESUME: &str = "Resume";
pub const TRAY_QUIT: &str = "Quit...";
/// E-TRAY-1.
pub const NO_TRAY: &str = "There is no tray here. Closing the window will quit unless you keep it open.";

pub fn approval_needed(reversibility: Reversibility, matter: Matter) -> String {
    let matter = match matter {
        Matter::Payment => "payment",
        Matter::Action => "action",
    };
    format!("Approval needed: {} {matter}", reversibility.as_str())
}

pub fn expires(at: &str) -> String {
    format!("Expires {at}.")
}

pub fn waiting_in_all(count: usize) -> String {
    format!("{count} waiting in all.")
}

/// The first line of the tray menu and the title of an update.
pub fn waiting_next(count: usize, next_expires: &str) -> String {
    format!("{count} waiting, next expires {next_expires}")
}

pub fn waiting(count: usize) -> String {
    format!("{count} waiting")
}

pub fn requests_waiting(count: usize) -> String {
    if count == 1 { "1 request is waiting.".to_owned() } else { format!("{count} requests are waiting.") }
}

pub fn irreversible_expire(count: usize, next_expires: &str) -> String {
    format!("{count} irreversible requests expire soon, the next at {next_expires}")
}

/// The second line of the tray menu.
pub fn need_reconciliation(count: usize) -> String {
    if count == 1 { "1 needs reconciliation".to_owned() } else { format!("{count} need reconciliation") }
}

/// An outcome that nobody knows.
pub fn outcome_unknown(matter: Matter) -> &'static str {
    match matter {
        Matter::Payment => "Outcome unknown: a payment was sent and nobody knows what became of it",
        Matter::Action => "Outcome unknown: an action was sent and nobody knows what became of it",
    }
}

pub fn outcomes_unknown(count: usize) -> String {
    format!("{count} outcomes are unknown")
}

pub fn unknown_since(at: &str) -> String {
    format!("Unknown since {at}.")
}

pub fn outcomes_waiting(count: usize) -> String {
    if count == 1 { "1 outcome needs reconciliation.".to_owned() } else { format!("{count} outcomes need reconciliation.") }
}

pub fn decided_by(name: &str) -> String {
    format!("Decided by {name}")
}

/// The entry that ends a pause, with what there is to end.
pub fn resume(paused: &str) -> String {
    format!("{TRAY_RESUME}: {paused}")
}

pub fn paused_until(at: &str) -> String {
    format!("Notifications paused until {at}")
}

pub fn quiet_until(at: &str) -> String {
    format!("Quiet hours until {at}")
}

/// Said when a pause is chosen.
pub fn may_expire_while_paused(count: usize) -> String {
    if count == 1 {
        "1 irreversible request may expire while paused".to_owned()
    } else {
        format!("{count} irreversible requests may expire while paused")
    }
}
