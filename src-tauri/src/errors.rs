//! What went wrong, as a person reads it: a stable id and a whole sentence.

use serde::Serialize;
use vidimus_api::client::ClientError;

use crate::keys::KeyError;
use crate::strings;
use crate::text::time;

/// A refusal to be shown: what happened, what it means, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "BackendError"))]
pub struct Told {
    pub id: &'static str,
    pub text: String,
}

impl Told {
    pub fn new(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, text: text.into() }
    }

    /// The sentence with the id in small print.
    pub fn line(&self) -> String {
        format!("{} ({})", self.text, self.id)
    }

    pub fn of_key(error: &KeyError, now_ms: i64) -> Self {
        let wait = |until_ms: i64| time::left(until_ms, now_ms);
        match error {
            KeyError::NoService => Self::new("E-KEY-1", strings::KEY_NO_SERVICE),
            KeyError::Locked => Self::new("E-KEY-2", strings::KEY_LOCKED),
            KeyError::UnlockDismissed => Self::new("E-KEY-3", strings::KEY_DISMISSED),
            KeyError::Missing => Self::new("E-KEY-4", strings::KEY_MISSING),
            KeyError::Foreign => Self::new("E-KEY-4", strings::KEY_FOREIGN),
            KeyError::Present => Self::new("E-KEY-4", strings::KEY_PRESENT),
            KeyError::WrongPin { until_ms } => Self::new("E-KEY-8", strings::key_wrong_pin(&wait(*until_ms))),
            KeyError::PinWait { until_ms } => Self::new("E-KEY-8", strings::key_pin_wait(&wait(*until_ms))),
            KeyError::WaitsUnwritable => Self::new("E-AUD-3", strings::PIN_WAIT_UNWRITABLE),
        }
    }

    /// An answer of the gate that could not be had or was a refusal.
    pub fn of_gate(error: &ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => Self::of_code(&problem.code, &problem.detail),
            ClientError::Unreachable(_) => Self::new("E-NET-1", strings::GATE_UNREACHABLE),
            ClientError::Unreadable { .. } => Self::new("E-NET-1", strings::GATE_UNREADABLE),
            ClientError::AddressMalformed { url } => Self::new("E-NET-1", strings::gate_address(url)),
        }
    }

    /// A refusal of the gate by its stable code.
    pub fn of_code(code: &str, detail: &str) -> Self {
        let text = strings::refusal(code).map_or_else(|| strings::gate_refused(detail), ToOwned::to_owned);
        let id = match code {
            "request_already_decided" => "E-DEC-1",
            "role_not_held" | "role_not_needed" => "E-DEC-2",
            "self_approval" => "E-DEC-3",
            "already_approved" => "E-DEC-4",
            "request_expired" => "E-EXP-2",
            "request_withdrawn" => "E-REQ-10",
            "cap_reached" => "E-DEC-8",
            "request_stale" | "row_stale" | "roster_stale" | "table_stale" => "E-REQ-9",
            "request_orphaned" => "E-REQ-12",
            "bytes_differ" | "shown_differs" => "E-REQ-1",
            "key_stopped" | "key_unknown" => "E-KEY-5",
            "key_removed" => "E-KEY-10",
            "key_waiting" => "E-KEY-6",
            "not_found" => "E-REQ-11",
            _ => "E-NET-3",
        };
        Self::new(id, text)
    }
}
