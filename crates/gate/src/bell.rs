//! Tells those who wait for a call that something happened to it.

use std::time::Duration;

use tokio::sync::broadcast;
use vidimus_core::ids::CallId;

use crate::limits::{BELLS_MAX, WAIT_LOOK_MS};

/// Rings once for each call that may have changed.
pub struct Bell {
    rings: broadcast::Sender<Option<CallId>>,
}

impl Bell {
    /// A bell that nobody hears yet.
    pub fn new() -> Bell {
        Bell { rings: broadcast::Sender::new(BELLS_MAX) }
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
