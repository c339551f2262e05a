//! Times in words. The caller gives the time zone and, where it matters, the gate's now.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `14:32` on this computer.
pub fn hour_minute(at_ms: i64, zone: &TimeZone) -> String {
    zoned(at_ms, zone).strftime("%H:%M").to_string()
}

/// `14:32:05` on this computer.
pub fn hour_minute_second(at_ms: i64, zone: &TimeZone) -> String {
    zoned(at_ms, zone).strftime("%H:%M:%S").to_string()
}

/// `14:32` today, `28 Nov 14:32` on another day, with the year when it is another one.
pub fn day_and_time(at_ms: i64, now_ms: i64, zone: &TimeZone) -> String {
    let (at, now) = (zoned(at_ms, zone), zoned(now_ms, zone));
    let pattern = if at.date() == now.date() {
        "%H:%M"
    } else if at.year() == now.year() {
        "%-d %b %H:%M"
    } else {
        "%-d %b %Y %H:%M"
    };
    at.strftime(pattern).to_string()
}

/// `30 Nov 2026 15:35:00 +01:00`: whole, for the places where nothing is left out.
pub fn whole(at_ms: i64, zone: &TimeZone) -> String {
    zoned(at_ms, zone).strftime("%-d %b %Y %H:%M:%S %:z").to_string()
}

/// The reading of an RFC 3339 time: `today 15:35 here (Europe/Berlin), in 7 min`. Nothing when it is
/// no such time: then only the literal is shown.
pub fn reading(literal: &str, now_ms: i64, zone: &TimeZone) -> Option<String> {
    let at: Timestamp = literal.parse().ok()?;
    let at_ms = at.as_millisecond();
    let name = zone.iana_name().unwrap_or("this computer's zone");
    let today = zoned(at_ms, zone).date() == zoned(now_ms, zone).date();
    let day = if today { format!("today {}", hour_minute(at_ms, zone)) } else { day_and_time(at_ms, now_ms, zone) };
    let distance = if at_ms >= now_ms { format!("in {}", span(at_ms - now_ms)) } else { format!("{} ago", span(now_ms - at_ms)) };
    Some(format!("{day} here ({name}), {distance}"))
}

/// What is left until a deadline: `4 min 12 s`, `22 min`, `1 h 03 min`, `2 days`. Seconds are told
/// under five minutes only.
pub fn left(until_ms: i64, now_ms: i64) -> String {
    let left_s = (until_ms - now_ms).max(0) / 1000;
    match left_s {
        0..60 => format!("{left_s} s"),
        60..300 => format!("{} min {:02} s", left_s / 60, left_s % 60),
        _ => span(left_s * 1000),
    }
}

/// A length of time, rounded down, in its two largest units.
pub fn span(length_ms: i64) -> String {
    let minutes = length_ms / 60_000;
    match minutes {
        ..1 => format!("{} s", (length_ms / 1000).max(0)),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h {:02} min", minutes / 60, minutes % 60),
        1440..2880 => "1 day".to_owned(),
        _ => format!("{} days", minutes / 1440),
    }
}

fn zoned(at_ms: i64, zone: &TimeZone) -> jiff::ZonedDateTime {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned_datetime(zone.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_049_000_000;

    #[test]
    fn spans_are_told_in_words() {
        let cases = [
            (0, "0 s"),
            (58_000, "58 s"),
            (252_000, "4 min 12 s"),
            (1_360_000, "22 min"),
            (3_780_000, "1 h 03 min"),
            (90_000_000, "1 day"),
            (200_000_000, "2 days"),
            (-5, "0 s"),
        ];
        for (left_ms, expected) in cases {
            assert_eq!(left(NOW + left_ms, NOW), expected);
        }
    }

    #[test]
    fn a_time_is_read_and_something_else_is_not() {
        let zone = TimeZone::UTC;
        assert_eq!(reading("2026-11-30T14:35:00Z", 1_796_049_000_000, &zone).as_deref(), Some("today 14:35 here (UTC), in 5 min"));
        assert_eq!(reading("2026-11-29T14:35:00Z", 1_796_049_000_000, &zone).as_deref(), Some("29 Nov 14:35 here (UTC), 23 h 55 min ago"));
        assert_eq!(reading("2500", NOW, &zone), None);
        assert_eq!(reading("ACME Ltd 7", NOW, &zone), None);
    }
}
