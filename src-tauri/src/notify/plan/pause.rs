//! The lengths of a pause, and the hours that are quiet every day.

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

/// Hours of every day in which nothing pops up, on this computer's calendar. They may go over midnight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    pub from: Time,
    pub until: Time,
    pub zone: TimeZone,
}

impl QuietHours {
    /// When the quiet that a moment lies in ends. Nothing outside it, and where both ends are one.
    pub fn until_ms(&self, now_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(now_ms).ok()?.to_zoned_datetime(self.zone.clone());
        let time = now.time();
        let over_midnight = self.until < self.from;
        let within = if over_midnight { time >= self.from || time < self.until } else { time >= self.from && time < self.until };
        if !within {
            return None;
        }
        let day = if over_midnight && time >= self.from { now.date().tomorrow().ok()? } else { now.date() };
        self.zone.to_timestamp(day.to_datetime(self.until)).ok().map(Timestamp::as_millisecond).filter(|until_ms| *until_ms > now_ms)
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
    fn quiet_hours_go_over_midnight_and_end_on_the_right_day() {
        // 2026-11-30T14:30:00Z
        let now_ms = 1_796_049_000_000;
        const HOUR: i64 = 3_600_000;
        let time = |hour: i8| Time::constant(hour, 0, 0, 0);
        let cases = [
            (22, 7, 0, None),
            (22, 7, 7 * HOUR + HOUR / 2, Some(16 * HOUR + HOUR / 2)),
            (22, 7, 12 * HOUR, Some(16 * HOUR + HOUR / 2)),
            (22, 7, 16 * HOUR + HOUR / 2, None),
            (12, 16, 0, Some(HOUR + HOUR / 2)),
            (12, 12, 0, None),
            (0, 0, 0, None),
        ];
        for (from, until, later, expected) in cases {
            let hours = QuietHours { from: time(from), until: time(until), zone: TimeZone::UTC };
            assert_eq!(hours.until_ms(now_ms + later), expected.map(|until| now_ms + until), "{from} to {until} at {later}");
        }
    }

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
