//! The one place where the gate reads the clock. Everything below takes `now`.
//!
//! The wall clock can be set back or stand still; what has passed since this process began cannot be taken back. So the
//! time here is never behind what the machine counts for itself (`CLOCK_BOOTTIME`, which goes on while it sleeps): a lease
//! and a deadline run out however the clock is set.
//!
//! A wall clock that is set forward is followed once that is on record: what protects people counts time that was seen to pass, and
//! whoever could set a clock could otherwise take it from them.

use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use vidimus_core::time::Timestamp;
use vidimus_store::limits::SKIPPED_MS_MIN;

use crate::seams::{Setting, setting};

/// How far the wall clock is ahead of the machine's own count, at the most so far.
struct Offset(AtomicI64);

static OFFSET: Offset = Offset(AtomicI64::new(i64::MIN));

/// How far ahead the wall clock may be followed without a further record. *Unit*: milliseconds; no bound before [`begin`].
static FOLLOWED: AtomicI64 = AtomicI64::new(i64::MAX);

impl Offset {
    /// The time at a reading of both clocks, as far as it may be followed. *Units*: milliseconds.
    ///
    /// *Invariant*: never less than an earlier result plus what the machine has counted since.
    fn now_ms(&self, wall_ms: i64, counted_ms: i64, followed_ms: i64) -> i64 {
        counted_ms + self.ahead_ms(wall_ms, counted_ms).min(followed_ms)
    }

    fn ahead_ms(&self, wall_ms: i64, counted_ms: i64) -> i64 {
        let ahead = wall_ms - counted_ms;
        self.0.fetch_max(ahead, Ordering::SeqCst).max(ahead)
    }
}

/// The time, now.
///
/// *Invariant*: a clock outside the years 1970 to 9999 reads as the nearer end; the store never lets time go back.
pub fn now() -> Timestamp {
    if let Some(stands_at_ms) = setting(Setting::ClockAtMs) {
        return at(stands_at_ms);
    }
    // The wall clock first: a process that is stopped between the two readings must not put itself ahead of it.
    let wall_ms = wall().as_ms();
    at(OFFSET.now_ms(wall_ms, counted_ms(), FOLLOWED.load(Ordering::SeqCst)))
}

/// How far the wall clock was set forward since [`begin`] beyond what is on record, if that is so much that it has to be.
/// *Unit*: milliseconds.
pub fn skipped_ms() -> Option<u64> {
    if setting(Setting::ClockAtMs).is_some() {
        return None;
    }
    let wall_ms = wall().as_ms();
    let beyond = OFFSET.ahead_ms(wall_ms, counted_ms()).saturating_sub(FOLLOWED.load(Ordering::SeqCst));
    // What was followed without a record is part of what is on record next.
    u64::try_from(beyond).ok().filter(|beyond| *beyond > 0).map(|beyond| beyond.saturating_add(SKIPPED_MS_MIN))
}

/// So much of a step is on record: from now on it is followed.
pub fn follow(skipped_ms: u64) {
    FOLLOWED.fetch_add(i64::try_from(skipped_ms).unwrap_or(i64::MAX), Ordering::SeqCst);
}

/// What the wall clock says by itself. To be compared with the last recorded time at a start, and for nothing else.
#[allow(clippy::disallowed_methods)] // This is the one file that may.
pub fn wall() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let moved_ms = setting(Setting::ClockMs).unwrap_or(0).saturating_add(setting(Setting::PassedMs).unwrap_or(0));
    at(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX).saturating_add(moved_ms))
}

/// Goes on from a time that was recorded before this process began, where the wall clock lies behind it. From here on a wall clock that
/// is set forward is followed only as far as that is on record.
pub fn begin(recorded: Timestamp) {
    let (wall_ms, counted_ms) = (wall().as_ms(), counted_ms());
    OFFSET.ahead_ms(recorded.as_ms(), counted_ms);
    let ahead_ms = OFFSET.ahead_ms(wall_ms, counted_ms);
    FOLLOWED.store(ahead_ms.saturating_add(i64::try_from(SKIPPED_MS_MIN).unwrap_or(i64::MAX)), Ordering::SeqCst);
}

fn counted_ms() -> i64 {
    let counted = clock_gettime(ClockId::Boottime);
    counted.tv_sec * 1000 + counted.tv_nsec / 1_000_000 + setting(Setting::PassedMs).unwrap_or(0)
}

fn at(ms: i64) -> Timestamp {
    if ms < 0 { Timestamp::MIN } else { Timestamp::from_ms(ms).unwrap_or(Timestamp::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_follows_the_wall_clock_and_never_what_sets_it_back() {
        // Wall clock, what the machine counted, the time.
        let steps = [
            (1_000_000, 500, 1_000_000),
            (1_000_010, 510, 1_000_010),
            // A step forward is followed.
            (1_003_600, 520, 1_003_600),
            // A step back is not: what has passed has passed.
            (1_000_030, 530, 1_003_610),
            (1_000_031, 531, 1_003_611),
            // A clock that stands still.
            (1_000_031, 10_531, 1_013_611),
            // Until the wall clock is ahead again.
            (2_000_000, 10_532, 2_000_000),
        ];
        let offset = Offset(AtomicI64::new(i64::MIN));
        for (wall_ms, counted_ms, expected) in steps {
            assert_eq!(offset.now_ms(wall_ms, counted_ms, i64::MAX), expected, "wall {wall_ms}, counted {counted_ms}");
        }
    }

    #[test]
    fn a_stop_between_the_readings_puts_nothing_ahead() {
        let offset = Offset(AtomicI64::new(i64::MIN));
        // Read at 1,000,000; stopped for a minute; then the count.
        assert_eq!(offset.now_ms(1_000_000, 60_500, i64::MAX), 1_000_000);
        assert_eq!(offset.now_ms(1_060_001, 60_501, i64::MAX), 1_060_001, "the next reading is right again");
    }

    #[test]
    fn a_step_forward_is_followed_as_far_as_it_is_on_record() {
        let offset = Offset(AtomicI64::new(i64::MIN));
        let followed = 999_500 + 1_000;
        assert_eq!(offset.now_ms(1_000_000, 500, followed), 1_000_000);
        assert_eq!(offset.now_ms(1_000_900, 510, followed), 1_000_900, "small steps are");
        assert_eq!(offset.now_ms(87_400_000, 520, followed), 1_001_020, "a day is not");
        assert_eq!(offset.now_ms(87_460_000, 60_520, followed), 1_061_020, "what the machine counts passes all the same");
        assert_eq!(offset.now_ms(87_460_000, 60_520, followed + 86_400_000), 87_460_000, "on record");
    }

    #[test]
    fn it_reads_the_wall_clock_of_this_machine() {
        let (wall, now) = (wall(), now());
        assert!(now >= wall && now < wall.plus_s(60), "{now} beside {wall}");
    }
}
