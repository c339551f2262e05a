//! How many refusals of each agent, and of each person, go on record one by one; the others are counted, and their number
//! is recorded.
//!
//! Only what is refused is bounded: a call that is good passes, however many of the same agent were refused before it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use vidimus_core::code::{Code, Refusal};

use crate::limits::{REFUSAL_REFILL_S, REFUSAL_REPORT_S, REFUSALS_BURST_MAX};

struct Bucket {
    /// Refusals that may still go on record.
    left: u32,
    refilled: Instant,
    /// Refusals that were only counted.
    counted: u64,
    reported: Instant,
}

/// The refusals of each agent, by its name, or of each person, by their id.
pub struct Refusals<K>(Mutex<HashMap<K, Bucket>>);

impl<K> Default for Refusals<K> {
    fn default() -> Refusals<K> {
        Refusals(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone> Refusals<K> {
    /// Whether one more refusal would go on record now.
    pub fn has_room(&self, whose: &K, now: Instant) -> bool {
        self.of(whose, now, |bucket| bucket.left > 0)
    }

    /// Takes the place of a refusal that goes on record; false when it is counted only.
    pub fn take(&self, whose: &K, now: Instant) -> bool {
        self.of(whose, now, |bucket| {
            let room = bucket.left > 0;
            if room {
                bucket.left -= 1;
            } else {
                bucket.counted += 1;
            }
            room
        })
    }

    /// Counts a refusal that has no record.
    pub fn count(&self, whose: &K, now: Instant) {
        self.of(whose, now, |bucket| bucket.counted += 1);
    }

    /// The agents whose counted refusals are due for a record, and their numbers, which begin anew.
    pub fn due(&self, now: Instant) -> Vec<(K, u64)> {
        let rest = Duration::from_secs(REFUSAL_REPORT_S);
        self.drain(|bucket| bucket.reported + rest <= now, now)
    }

    /// All that were counted, at the end.
    pub fn rest(&self, now: Instant) -> Vec<(K, u64)> {
        self.drain(|_| true, now)
    }

    fn drain(&self, due: impl Fn(&Bucket) -> bool, now: Instant) -> Vec<(K, u64)> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = buckets.iter_mut().filter(|(_, bucket)| bucket.counted > 0 && due(bucket));
        counted
            .map(|(whose, bucket)| {
                bucket.reported = now;
                (whose.clone(), std::mem::take(&mut bucket.counted))
            })
            .collect()
    }

    fn of<T>(&self, whose: &K, now: Instant, look: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Bucket { left: REFUSALS_BURST_MAX, refilled: now, counted: 0, reported: now };
        let bucket = buckets.entry(whose.clone()).or_insert(fresh);
        let refills = now.saturating_duration_since(bucket.refilled).as_secs() / REFUSAL_REFILL_S;
        if refills > 0 {
            bucket.refilled += Duration::from_secs(refills * REFUSAL_REFILL_S);
            let more = u32::try_from(refills).unwrap_or(u32::MAX);
            bucket.left = bucket.left.saturating_add(more).min(REFUSALS_BURST_MAX);
        }
        look(bucket)
    }
}

/// What an agent is told whose refusal is counted only.
pub fn limited() -> Refusal {
    let message = "so many calls of this agent were refused that this one is only counted; correct what the earlier refusals name";
    Refusal::new(Code::AgentRateLimited, message)
}

/// The one record of a person's refusals that were counted.
pub fn counted_of_person(count: u64) -> Refusal {
    Refusal::new(
        Code::PersonRateLimited,
        format!("`{count}` refused decisions and answers of this person were counted and have no record each"),
    )
}

/// The one record of refusals that were counted.
pub fn counted(count: u64) -> Refusal {
    Refusal::new(Code::AgentRateLimited, format!("`{count}` refusals of this agent were counted and have no record each"))
}

#[cfg(test)]
mod tests {
    use vidimus_core::ids::Name;

    use super::*;

    #[test]
    fn beyond_its_burst_an_agents_refusals_are_counted_and_told_once_in_a_while() {
        let refusals = Refusals::default();
        let (billing, support) = (Name::parse("billing").expect("a name"), Name::parse("support").expect("a name"));
        let began = Instant::now();
        for _ in 0..REFUSALS_BURST_MAX {
            assert!(refusals.take(&billing, began));
        }
        assert!(!refusals.has_room(&billing, began));
        for _ in 0..500 {
            assert!(!refusals.take(&billing, began));
        }
        assert!(refusals.take(&support, began), "another agent's are its own");
        assert_eq!(refusals.due(began), []);
        let later = began + Duration::from_secs(REFUSAL_REPORT_S);
        assert_eq!(refusals.due(later), [(billing.clone(), 500)]);
        assert_eq!(refusals.due(later), [], "they are told once");
        let again = u32::try_from(REFUSAL_REPORT_S / REFUSAL_REFILL_S).expect("small");
        let passed = (0..REFUSALS_BURST_MAX).filter(|_| refusals.take(&billing, later)).count();
        assert_eq!(passed, usize::try_from(again).expect("small"), "one comes back each {REFUSAL_REFILL_S} s");
        assert_eq!(refusals.due(later), [], "not before its time");
        assert_eq!(refusals.rest(later), [(billing, u64::from(REFUSALS_BURST_MAX - again))]);
    }
}
