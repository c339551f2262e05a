//! Every sentence and word that the native side shows, in one place.
//!
//! Form of an error: what happened, what it means for this request, what to do.

macro_rules! texts {
    ($($name:ident = $text:literal;)*) => { $(pub const $name: &str = $text;)* };
}

mod deciding;
mod enrolment;
mod errors;
mod keys;
mod reconcile;
mod request;
mod second_thoughts;
mod tables;

pub use deciding::*;
pub use enrolment::*;
pub use errors::*;
pub use keys::*;
pub use reconcile::*;
pub use request::*;
pub use second_thoughts::*;
pub use tables::*;

// The frame of every window.
texts! {
    AUTOMATED = "AUTOMATED";
    TOP_GATE = "Gate:";
    TOP_CLOCK = "Clock:";
    TOP_KEY = "Key:";
    GATE_NONE = "none";
    GATE_CONNECTING = "connecting";
    GATE_CONNECTED = "connected";
    GATE_REFUSED = "refused";
    GATE_CHANGED = "identity changed";
    CLOCK_OK = "ok";
    KEY_NONE = "none";
    WAITING = "waiting for confirmation";
    ACTIVE = "active";
    STOPPED = "stopped";
    TAKEN_OFF = "removed";
    UNUSABLE = "not usable";
    CORE_SILENT = "The console's core does not answer. Decisions are not possible until it does. (E-UI-2)";
    WORKING = "Working...";
    COPIED = "Copied.";
    CANCEL = "Cancel";
    CLOSE = "Close";
    COPY = "Copy";
}

pub fn gate_offline(since: &str) -> String {
    format!("offline since {since}")
}

pub fn key_state(label: &str, state: &str) -> String {
    format!("{label} ({state})")
}

pub fn clock_behind(seconds: i64) -> String {
    format!("{seconds} s behind")
}

pub fn clock_ahead(seconds: i64) -> String {
    format!("{seconds} s ahead")
}

pub fn window_title(environment: Option<&str>, waiting: usize, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - {waiting} waiting - Vidimus{mark}", environment.to_uppercase()),
        None => format!("Vidimus{mark}"),
    }
}

/// Never a payee, an amount or the agent's words.
pub fn review_title(environment: Option<&str>, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - Request - Vidimus{mark}", environment.to_uppercase()),
        None => format!("Request - Vidimus{mark}"),
    }
}

// Windows and the inbox.
texts! {
    TOO_MANY_WINDOWS = "Three requests are open already. Close one of them first.";
    WINDOW_FAILED = "The window could not be opened. Nothing was decided. The request is untouched.";
    SETTINGS_UNWRITABLE = "That could not be written to this disk.";
    AMBIGUOUS = "That could mean two amounts. Type it with both decimal places, such as 4200.00.";
    WRONG_VALUE = "That is not the value in this request. Look again; a different question follows.";
}

/// Said by a screen reader: how many, never what.
pub fn announcement(added: usize, waiting: usize) -> String {
    if added == 1 { format!("1 new request. {waiting} waiting.") } else { format!("{added} new requests. {waiting} waiting.") }
}

pub fn bytes_saved(file: &str) -> String {
    format!("Saved. sha256sum {file}")
}

pub fn evidence_saved(file: &str) -> String {
    format!("Evidence saved to {file}")
}
