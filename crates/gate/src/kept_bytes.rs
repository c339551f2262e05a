//! How much each agent may leave on the disk: a burst, and so many bytes a second after it.
//!
//! Calls that are good are recorded for ever. What people decide about is bounded by those who decide; reads and writes, and requests
//! that their agent takes back, are nobody's to stop, so an agent that goes wrong would fill the disk, and then no payment moves.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::Name;

use crate::limits::{AGENT_BYTES_BURST_MAX, AGENT_BYTES_PER_S};

/// What a call leaves of its own text: its operation or request, and the bodies of the records that it came and how a write ended.
const COPIES: u64 = 3;

/// After which one more byte may be left. *Unit*: nanoseconds.
const NS_PER_BYTE: u64 = 1_000_000_000 / AGENT_BYTES_PER_S;

struct Allowance {
    /// What may still be left. *Unit*: bytes; below zero by what answers left that nobody could know before.
    left: i64,
    /// Up to when it was filled up again.
    filled: Instant,
}

/// What each agent may still leave, by its name.
#[derive(Default)]
pub struct KeptBytes(Mutex<HashMap<Name, Allowance>>);

/// What a call of this length may leave, to be taken before it is looked at.
pub fn of_call(body_bytes: usize) -> u64 {
    COPIES * length(body_bytes)
}

/// What a text leaves that an answer brought: in its operation, and in the body of its record.
pub fn of_answer(text: Option<&str>) -> u64 {
    COPIES * text.map_or(0, |text| length(text.len()))
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl KeptBytes {
    /// Takes what a call may leave; false, and nothing is taken, when it is more than the agent has.
    pub fn take(&self, agent: &Name, bytes: u64, now: Instant) -> bool {
        self.of(agent, now, |left| {
            let has_room = *left >= signed(bytes);
            if has_room {
                *left -= signed(bytes);
            }
            has_room
        })
    }

    /// Takes what was left already, whether or not the agent has it.
    pub fn charge(&self, agent: &Name, bytes: u64, now: Instant) {
        self.of(agent, now, |left| *left = left.saturating_sub(signed(bytes)));
    }

    /// Gives back what was taken and not left.
    pub fn give_back(&self, agent: &Name, bytes: u64, now: Instant) {
        self.of(agent, now, |left| *left = left.saturating_add(signed(bytes)).min(signed(AGENT_BYTES_BURST_MAX)));
    }

    fn of<T>(&self, agent: &Name, now: Instant, look: impl FnOnce(&mut i64) -> T) -> T {
        let mut allowances = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = signed(AGENT_BYTES_BURST_MAX);
        let allowance = allowances.entry(agent.clone()).or_insert(Allowance { left: full, filled: now });
        let passed_ns = u64::try_from(now.saturating_duration_since(allowance.filled).as_nanos()).unwrap_or(u64::MAX);
        // Only whole bytes, and only the time that they took: looks that follow each other closely lose nothing.
        let more = passed_ns / NS_PER_BYTE;
        allowance.left = allowance.left.saturating_add(signed(more)).min(full);
        allowance.filled += Duration::from_nanos(more * NS_PER_BYTE);
        look(&mut allowance.left)
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// What an agent is told that has left as much as it may for now.
pub fn limited() -> Refusal {
    let message =
        "the calls of this agent have left as many bytes as they may for now; this one was not looked at: send it again later, as it is";
    Refusal::new(Code::AgentBytesLimited, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        Name::parse(name).expect("a name")
    }

    #[test]
    fn an_agent_leaves_its_burst_and_then_so_much_a_second() {
        let kept = KeptBytes::default();
        let (billing, began) = (name("billing"), Instant::now());
        assert!(kept.take(&billing, AGENT_BYTES_BURST_MAX, began));
        assert!(!kept.take(&billing, 1, began));
        assert!(kept.take(&name("support"), AGENT_BYTES_BURST_MAX, began), "another agent's are its own");
        let later = began + Duration::from_secs(10);
        assert!(!kept.take(&billing, 11 * AGENT_BYTES_PER_S, later));
        assert!(kept.take(&billing, 10 * AGENT_BYTES_PER_S, later), "what is refused takes nothing");
        let much_later = later + Duration::from_secs(1_000_000);
        assert!(!kept.take(&billing, AGENT_BYTES_BURST_MAX + 1, much_later), "more than the burst never gathers");
        assert!(kept.take(&billing, AGENT_BYTES_BURST_MAX, much_later));
    }

    #[test]
    fn time_that_passes_in_small_steps_passes_all_the_same() {
        let kept = KeptBytes::default();
        let (billing, began) = (name("billing"), Instant::now());
        kept.charge(&billing, AGENT_BYTES_BURST_MAX, began);
        for us in 0..100_000 {
            kept.charge(&billing, 0, began + Duration::from_micros(10 * us));
        }
        let after = began + Duration::from_secs(1);
        assert!(kept.take(&billing, AGENT_BYTES_PER_S * 9 / 10, after), "a second of looks a hundredth of a millisecond apart");
        assert!(!kept.take(&billing, AGENT_BYTES_PER_S / 5, after));
    }

    #[test]
    fn what_an_answer_left_is_owed_and_what_was_not_left_comes_back() {
        let kept = KeptBytes::default();
        let (billing, began) = (name("billing"), Instant::now());
        kept.charge(&billing, AGENT_BYTES_BURST_MAX + AGENT_BYTES_PER_S, began);
        assert!(!kept.take(&billing, 1, began + Duration::from_secs(1)), "a second pays what was owed");
        assert!(kept.take(&billing, AGENT_BYTES_PER_S, began + Duration::from_secs(2)));
        kept.give_back(&billing, AGENT_BYTES_PER_S, began + Duration::from_secs(2));
        assert!(kept.take(&billing, AGENT_BYTES_PER_S, began + Duration::from_secs(2)));
        kept.give_back(&billing, u64::MAX, began + Duration::from_secs(2));
        assert!(!kept.take(&billing, AGENT_BYTES_BURST_MAX + 1, began + Duration::from_secs(2)), "no more than the burst");
    }
}
