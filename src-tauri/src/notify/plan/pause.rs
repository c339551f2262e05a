//! The lengths of a pause.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use crate::notify::limits::TOMORROW_HOUR;

/// A pause as it can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    HalfHour,
    Hour,
    UntilTomorrow,
}

impl Pause {
    /// When the pause ends, on this computer's calendar.
    pub fn until_ms(self, now_ms: i64, zone: &TimeZone) -> i64 {
        match self {
            Self::HalfHour => now_ms + 30 * 60_000,
            Self::Hour => now_ms + 60 * 60_000,
            Self::UntilTomorrow => tomorrow_ms(now_ms, zone).unwrap_or(now_ms + 24 * 60 * 60_000),
        }
    }
}

/// Nothing only at the end of the calendar.
fn tomorrow_ms(now_ms: i64, zone: &TimeZone) -> Option<i64> {
    let today = Timestamp::from_millisecond(now_ms).ok()?.to_zoned_datetime(zone.clone()).date();
    let morning = today.tomorrow().ok()?.to_datetime(Time::constant(TOMORROW_HOUR, 0, 0, 0));
    zone.to_timestamp(morning).ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_when_it_says() {
        // 2026-11-30T14:30:00Z
        let now_ms = 1_796_049_000_000;
        let berlin = TimeZone::fixed(jiff::tz::offset(1));
        let cases = [
            (Pause::HalfHour, TimeZone::UTC, 30 * 60_000),
            (Pause::Hour, TimeZone::UTC, 60 * 60_000),
            (Pause::UntilTomorrow, TimeZone::UTC, (17 * 60 + 30) * 60_000),
            (Pause::UntilTomorrow, berlin, (16 * 60 + 30) * 60_000),
        ];
        for (pause, zone, expected) in cases {
            assert_eq!(pause.until_ms(now_ms, &zone) - now_ms, expected, "{pause:?}");
        }
    }
}
