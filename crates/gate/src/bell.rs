//! Tells those who wait for a call that something happened to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use vidimus_core::ids::{CallId, Name};

use crate::limits::{BELLS_MAX, WAIT_LOOK_MS, WAITS_MAX, WAITS_PER_AGENT_MAX};

/// Rings once for each call that may have changed.
pub struct Bell {
    rings: broadcast::Sender<Option<CallId>>,
    seated: Seated,
}

/// How many of each agent's long polls wait.
type Seated = Arc<Mutex<HashMap<Name, usize>>>;

impl Bell {
    /// A bell that nobody hears yet.
    pub fn new() -> Bell {
        Bell { rings: broadcast::Sender::new(BELLS_MAX), seated: Seated::default() }
    }

    /// Wakes those who wait for this call.
    pub fn ring(&self, call: CallId) {
        // An error says that nobody listens, which is no fault.
        let _ = self.rings.send(Some(call));
    }

    /// Wakes all who wait, where it is not known which calls have changed.
    pub fn ring_all(&self) {
        let _ = self.rings.send(None);
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
    pub fn listen(&self) -> Listener {
        Listener { rings: self.rings.subscribe() }
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

/// One who waits.
pub struct Listener {
    rings: broadcast::Receiver<Option<CallId>>,
}

impl Listener {
    /// Returns when it is time to look at the call again: at its ring, when rings were missed, and now and then.
    pub async fn wait(&mut self, call: CallId) {
        let rung = async {
            loop {
                match self.rings.recv().await {
                    Ok(rung) if rung.is_none_or(|rung| rung == call) => return,
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => return,
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(WAIT_LOOK_MS), rung).await;
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
}
