//! The bench's clock: the one place of this program that reads it. The page and the bus stamp by the same clock of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the epoch.
#[allow(clippy::disallowed_methods)]
pub fn now_us() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
}
