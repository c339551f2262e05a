//! Tells those who wait for a call that something happened to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use vidimus_core::ids::{CallId, Name};

use crate::limits::{WAIT_LOOK_MS, WAITS_MAX, WAITS_PER_AGENT_MAX};

/// Rings for each call that may have changed; only those who wait for that call hear it.
pub struct Bell {
    waiting: Waiting,
    seated: Seated,
}

/// The calls that somebody waits for. The number is how often their bell was rung.
type Waiting = Arc<Mutex<HashMap<CallId, watch::Sender<u64>>>>;

/// How many of each agent's long polls wait.
type Seated = Arc<Mutex<HashMap<Name, usize>>>;

impl Bell {
    /// A bell that nobody hears yet.
    pub fn new() -> Bell {
        Bell { waiting: Waiting::default(), seated: Seated::default() }
    }

    /// Wakes those who wait for this call.
    pub fn ring(&self, call: CallId) {
        if let Some(rung) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get(&call) {
            rung.send_modify(|times| *times += 1);
        }
    }

    /// Wakes all who wait, where it is not known which calls have changed.
    pub fn ring_all(&self) {
        for rung in self.waiting.lock().unwrap_or_else(PoisonError::into_inner).values() {
            rung.send_modify(|times| *times += 1);
        }
    }

    /// A place to wait in; none when the agent, or all of them together, have as many as they may.
    pub fn seat(&self, agent: &Name) -> Option<Seat> {
        let mut seated = self.seated.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = seated.values().sum();
        let own = seated.get(agent).copied().unwrap_or(0);
        if own >= WAITS_PER_AGENT_MAX || all >= WAITS_MAX {
            return None;
        }
        seated.insert(agent.clone(), own + 1);
        Some(Seat { seated: self.seated.clone(), agent: agent.clone() })
    }

    /// Begins to listen. Listen first, then look: a ring in between is not lost.
    pub fn listen(&self, call: CallId) -> Listener {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let rings = waiting.entry(call).or_insert_with(|| watch::Sender::new(0)).subscribe();
        Listener { waiting: self.waiting.clone(), call, rings }
    }
}

impl Default for Bell {
    fn default() -> Bell {
        Bell::new()
    }
}

/// A place of one long poll, until it is dropped.
pub struct Seat {
    seated: Seated,
    agent: Name,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seated = self.seated.lock().unwrap_or_else(PoisonError::into_inner);
        match seated.get_mut(&self.agent) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) | None => drop(seated.remove(&self.agent)),
        }
    }
}

/// One who waits for a call, until it is dropped.
pub struct Listener {
    waiting: Waiting,
    call: CallId,
    rings: watch::Receiver<u64>,
}

impl Listener {
    /// Returns when it is time to look at the call again: at its ring, and now and then.
    pub async fn wait(&mut self) {
        let _ = tokio::time::timeout(Duration::from_millis(WAIT_LOOK_MS), self.rings.changed()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // This one's own receiver still counts.
        if waiting.get(&self.call).is_some_and(|rung| rung.receiver_count() <= 1) {
            waiting.remove(&self.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_agent_takes_its_share_and_all_together_half_of_the_connections() {
        let bell = Bell::new();
        let agent = |number: usize| Name::parse(&format!("agent{number}")).expect("a name");
        let mut seats: Vec<Seat> = (0..WAITS_PER_AGENT_MAX).map(|_| bell.seat(&agent(0)).expect("a seat")).collect();
        assert!(bell.seat(&agent(0)).is_none());
        for number in 1.. {
            let Some(seat) = bell.seat(&agent(number)) else { break };
            seats.push(seat);
        }
        assert_eq!(seats.len(), WAITS_MAX);
        seats.clear();
        assert!(bell.seated.lock().expect("unpoisoned").is_empty());
    }

    #[tokio::test]
    async fn a_ring_is_heard_by_those_who_wait_for_its_call_and_is_not_lost_before_they_do() {
        let bell = Bell::new();
        let (one, other) = (CallId::from_random([1; 16]), CallId::from_random([2; 16]));
        let (mut first, mut second, mut elsewhere) = (bell.listen(one), bell.listen(one), bell.listen(other));
        bell.ring(one);
        for listener in [&mut first, &mut second] {
            assert!(listener.rings.has_changed().expect("a bell"));
            listener.wait().await;
        }
        assert!(!elsewhere.rings.has_changed().expect("a bell"));
        bell.ring_all();
        elsewhere.wait().await;
        drop(first);
        assert_eq!(bell.waiting.lock().expect("unpoisoned").len(), 2, "one listener is left for each");
        drop((second, elsewhere));
        assert!(bell.waiting.lock().expect("unpoisoned").is_empty());
    }
}
