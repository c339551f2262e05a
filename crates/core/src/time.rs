//! Moments with one spelling. Owns the calendar arithmetic; knows no clock: `now` is always an argument.

use std::fmt;
use std::str::FromStr;

use crate::bytes::serde_as_text;
use crate::code::{Code, Refusal};

const MS_PER_S: i64 = 1_000;
const MS_PER_DAY: i64 = 86_400_000;

/// A moment in UTC to the millisecond, from 1970 to the end of 9999, written `YYYY-MM-DDTHH:MM:SS.mmmZ`.
///
/// *Source*: RFC 3339 section 5.6, one of its spellings; no leap second has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first moment, 1970-01-01T00:00:00.000Z.
    pub const MIN: Timestamp = Timestamp(0);
    /// The last moment, 9999-12-31T23:59:59.999Z.
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999);

    /// The moment `ms` milliseconds after the epoch.
    ///
    /// *Errors*: `timestamp_malformed` before [`Timestamp::MIN`] and after [`Timestamp::MAX`].
    pub fn from_ms(ms: i64) -> Result<Timestamp, Refusal> {
        if (Timestamp::MIN.0..=Timestamp::MAX.0).contains(&ms) {
            Ok(Timestamp(ms))
        } else {
            Err(Refusal::new(Code::TimestampMalformed, format!("`{ms}` ms is outside the years 1970 to 9999; check the clock")))
        }
    }

    /// Milliseconds since the epoch.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_s(self) -> i64 {
        self.0 / MS_PER_S
    }

    /// The moment `seconds` later; [`Timestamp::MAX`] where that lies beyond it, so a deadline never wraps into the past.
    #[must_use]
    pub fn plus_s(self, seconds: u64) -> Timestamp {
        self.plus_ms(seconds.saturating_mul(MS_PER_S.unsigned_abs()))
    }

    /// The moment `ms` milliseconds later; [`Timestamp::MAX`] where that lies beyond it.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add_unsigned(ms).min(Timestamp::MAX.0))
    }

    /// Whole seconds from here to `later`, rounded down; 0 when `later` has passed.
    pub fn seconds_until(self, later: Timestamp) -> u64 {
        u64::try_from((later.0 - self.0) / MS_PER_S).unwrap_or(0)
    }
}

/// Year, month and day of a day counted from 1970-01-01.
///
/// Years begin in March here, so that the leap day is the last of its year; 400 of them make one era of a fixed length.
fn civil_of_day(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_month)
}

/// The inverse of [`civil_of_day`]; a day that its month does not have runs on into the next.
fn day_of_civil(year: i64, month: i64, day_of_month: i64) -> i64 {
    let march_year = year - i64::from(month <= 2);
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * march_month + 2) / 5 + day_of_month - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_of_day(self.0 / MS_PER_DAY);
        let ms = self.0 % MS_PER_DAY;
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / MS_PER_S % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % MS_PER_S)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({self})")
    }
}

/// The milliseconds that the digits of `text` name, whether or not such a moment exists.
fn read_ms(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let digits = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0_i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
    };
    let day = day_of_civil(digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let second_of_day = (digits(11, 13)? * 60 + digits(14, 16)?) * 60 + digits(17, 19)?;
    Some(day * MS_PER_DAY + second_of_day * MS_PER_S + digits(20, 23)?)
}

impl FromStr for Timestamp {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Timestamp, Refusal> {
        // Writing the moment back proves every field and every separator at once: 02-30 or 24:00 come back as another text.
        read_ms(text.as_bytes()).and_then(|ms| Timestamp::from_ms(ms).ok()).filter(|timestamp| timestamp.to_string() == text).ok_or_else(
            || {
                Refusal::new(
                    Code::TimestampMalformed,
                    "a time is not a moment of the form `YYYY-MM-DDTHH:MM:SS.mmmZ`; write it in UTC with milliseconds",
                )
            },
        )
    }
}

serde_as_text!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_read_and_write() {
        let known = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
            (1_796_040_000_123, "2026-11-30T12:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ];
        for (ms, text) in known {
            let timestamp = Timestamp::from_ms(ms).expect(text);
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(text.parse(), Ok(timestamp));
        }
    }

    #[test]
    fn every_day_to_the_year_9999_comes_back() {
        let mut expected = (1970, 1, 1);
        for day in 0..=Timestamp::MAX.0 / MS_PER_DAY {
            let civil = civil_of_day(day);
            assert_eq!(civil, expected, "day {day}");
            assert_eq!(day_of_civil(civil.0, civil.1, civil.2), day);
            expected = following(civil);
        }
    }

    fn following((year, month, day): (i64, i64, i64)) -> (i64, i64, i64) {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        match (day < length, month < 12) {
            (true, _) => (year, month, day + 1),
            (false, true) => (year, month + 1, 1),
            (false, false) => (year + 1, 1, 1),
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        let refused = [
            "1969-12-31T23:59:59.999Z",
            "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-00-01T00:00:00.000Z",
            "2026-01-00T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T23:60:00.000Z",
            "2026-06-30T23:59:60.000Z",
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.0000Z",
            "2026-01-01t00:00:00.000z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00.000+00:00",
            "2026-01-01T00:00:00.000Z ",
            "+026-01-01T00:00:00.000Z",
            "2026-01-01T00:00:00,000Z",
            "2026-01-01T00:00:0é.00Z",
            "",
        ];
        for text in refused {
            assert_eq!(text.parse::<Timestamp>().expect_err(text).code, Code::TimestampMalformed, "`{text}`");
        }
        assert!(Timestamp::from_ms(-1).is_err());
        assert!(Timestamp::from_ms(Timestamp::MAX.0 + 1).is_err());
    }

    #[test]
    fn arithmetic_never_leaves_the_calendar() {
        let start = Timestamp::from_ms(1_500).expect("in range");
        assert_eq!(start.plus_s(2).as_ms(), 3_500);
        assert_eq!(start.plus_ms(1).as_ms(), 1_501);
        assert_eq!(start.plus_s(u64::MAX), Timestamp::MAX);
        assert_eq!(start.plus_ms(u64::MAX), Timestamp::MAX);
        assert_eq!(start.seconds_until(start.plus_ms(1_999)), 1);
        assert_eq!(start.plus_s(5).seconds_until(start), 0);
        assert_eq!(start.as_s(), 1);
    }
}
