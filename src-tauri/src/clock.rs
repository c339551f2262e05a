//! The one place that reads this computer's clock. Everything else takes `now` as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch on this computer's clock. For display and waits only: the gate's
/// time decides what is expired.
#[allow(clippy::disallowed_methods)]
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}
