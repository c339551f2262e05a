//! The one place where the gate reads the clock. Everything below takes `now`.

use vidimus_core::time::Timestamp;

use crate::seams::{Setting, setting};

/// The system's clock, now.
///
/// *Invariant*: a clock outside the years 1970 to 9999 reads as the nearer end; the store never lets time go back.
#[allow(clippy::disallowed_methods)] // This is the one file that may.
pub fn now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let moved_ms = setting(Setting::ClockMs).unwrap_or(0);
    i64::try_from(since_epoch.as_millis()).ok().and_then(|ms| Timestamp::from_ms(ms.checked_add(moved_ms)?).ok()).unwrap_or(Timestamp::MAX)
}
