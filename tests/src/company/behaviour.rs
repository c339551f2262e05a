//! How a tool misbehaves on request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::{AWAY_MS_DEFAULT, DELAY_MS_MAX};
use super::tool::Tool;

/// What happens to a call, after its credential was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Normal,
    /// Waits, then acts, even if the caller has gone.
    Delay,
    /// Acts at once, and waits before it answers.
    DelayAfterEffect,
    /// Acts, then closes the connection without a byte.
    DropAfterEffect,
    /// Answers 500 and does not act.
    ErrorBefore,
    /// Acts and answers 500, as when something in front of the provider fails.
    ErrorAfterEffect,
    /// Acts, then is gone: every connection is cut and new ones are refused, until it comes back with its state.
    DieAfterEffect,
    /// Forgets the tool's keys, then acts.
    ForgetKeys,
    /// Answers 422 and does not act.
    Refuse,
    /// Answers 307 to `/elsewhere` and does not act.
    Redirect,
    /// Acts and answers with more bytes than a caller should read.
    Huge,
    /// Acts and answers 200 with bytes that are not JSON.
    Garbage,
}

/// What the provider does with an `Idempotency-Key`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keys {
    /// The first answer again for the same bytes, 422 for other bytes.
    Honour,
    /// Each call acts.
    Ignore,
}

/// Whether an operation can be asked for by its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusQuery {
    Answer,
    Absent,
}

/// Body of `POST /control/behaviour`. A member that is absent leaves what it governs as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub tool: Tool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Calls that the mode is for; without it, all until the next order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusQuery>,
}

impl Order {
    /// An order that changes nothing yet.
    pub fn of(tool: Tool) -> Order {
        Order { tool, mode: None, times: None, delay_ms: None, keys: None, status: None }
    }

    pub fn mode(self, mode: Mode) -> Order {
        Order { mode: Some(mode), ..self }
    }

    pub fn times(self, times: u32) -> Order {
        Order { times: Some(times), ..self }
    }

    pub fn delay_ms(self, delay_ms: u64) -> Order {
        Order { delay_ms: Some(delay_ms), ..self }
    }

    pub fn keys(self, keys: Keys) -> Order {
        Order { keys: Some(keys), ..self }
    }

    pub fn status(self, status: StatusQuery) -> Order {
        Order { status: Some(status), ..self }
    }
}

/// What one call meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub mode: Mode,
    pub delay: Duration,
}

/// The standing orders for one tool.
#[derive(Clone, Debug)]
pub struct Behaviour {
    mode: Mode,
    times_left: Option<u32>,
    delay_ms: Option<u64>,
    pub keys: Keys,
    pub status: StatusQuery,
}

impl Behaviour {
    /// How the company treats the tool when nobody has asked for anything else.
    pub fn usual(tool: Tool) -> Behaviour {
        let keys = match tool {
            Tool::Refund | Tool::IssueCredit => Keys::Honour,
            _ => Keys::Ignore,
        };
        let status = match tool {
            Tool::Refund | Tool::IssueCredit | Tool::CancelSubscription => StatusQuery::Answer,
            _ => StatusQuery::Absent,
        };
        Behaviour { mode: Mode::Normal, times_left: None, delay_ms: None, keys, status }
    }

    /// Takes an order.
    ///
    /// # Errors
    /// A clause, when the delay is beyond its bound.
    pub fn take(&mut self, order: &Order) -> Result<(), String> {
        if order.delay_ms.is_some_and(|delay_ms| delay_ms > DELAY_MS_MAX) {
            return Err(format!("`delay_ms` must be at most {DELAY_MS_MAX}"));
        }
        if let Some(mode) = order.mode {
            self.mode = mode;
            self.times_left = order.times;
            self.delay_ms = order.delay_ms;
        }
        self.keys = order.keys.unwrap_or(self.keys);
        self.status = order.status.unwrap_or(self.status);
        Ok(())
    }

    /// The plan for the call at hand, which uses up one of its times.
    pub fn next(&mut self) -> Plan {
        match &mut self.times_left {
            Some(0) => return Plan { mode: Mode::Normal, delay: Duration::ZERO },
            Some(left) => *left -= 1,
            None => {}
        }
        let delay_ms = match self.mode {
            Mode::DieAfterEffect => self.delay_ms.unwrap_or(AWAY_MS_DEFAULT),
            _ => self.delay_ms.unwrap_or(0),
        };
        Plan { mode: self.mode, delay: Duration::from_millis(delay_ms) }
    }
}
