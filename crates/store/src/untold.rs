//! Which calls of this process nobody has been told the id of, and how many connections wait to be told it. Kept beside the
//! database, since a mark in it comes with a later commit than the telling, and a connection that is lost may be noticed in
//! between. Connections do not outlive the process, so nothing here has to.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vidimus_core::ids::CallId;

/// The calls whose telling is not in the database yet.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    calls: Mutex<HashMap<CallId, Telling>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// So many connections wait for the answer.
    Awaited(u32),
    /// One of them has it; the mark is on its way.
    Done,
}

impl Untold {
    /// One more connection is to be told this call's id, which the database does not say to be told. Tells whether it is the
    /// first to be told, or may be: false once one of them was.
    pub(crate) fn awaits(&self, call: CallId) -> bool {
        let mut calls = self.calls();
        let telling = calls.entry(call).or_insert(Telling::Awaited(0));
        match telling {
            Telling::Awaited(connections) => *connections += 1,
            Telling::Done => return false,
        }
        true
    }

    /// A connection has the id: whoever leaves from here on leaves nothing behind.
    pub(crate) fn tell(&self, call: CallId) {
        self.calls().insert(call, Telling::Done);
    }

    /// The database says so too, for whoever comes next.
    pub(crate) fn noted(&self, call: &CallId) {
        let mut calls = self.calls();
        if calls.get(call) == Some(&Telling::Done) {
            calls.remove(call);
        }
    }

    /// A connection is gone without the id. Tells whether the agent still has it, or may get it, by another.
    pub(crate) fn leave(&self, call: &CallId) -> bool {
        let mut calls = self.calls();
        match calls.get_mut(call) {
            Some(Telling::Done) => true,
            Some(Telling::Awaited(connections)) if *connections > 1 => {
                *connections -= 1;
                true
            }
            Some(Telling::Awaited(_)) => {
                calls.remove(call);
                false
            }
            None => false,
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, Telling>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_connection_that_leaves_untold_leaves_an_orphan() {
        let (untold, call) = (Untold::default(), CallId::from_random([1; 16]));
        assert!(untold.awaits(call) && untold.awaits(call));
        assert!(untold.leave(&call), "the other one waits");
        assert!(!untold.leave(&call));
        assert!(!untold.leave(&call), "what is not known here is for the database to say");
        assert!(untold.calls().is_empty());
    }

    #[test]
    fn who_was_told_is_told_whoever_leaves() {
        let (untold, call) = (Untold::default(), CallId::from_random([1; 16]));
        assert!(untold.awaits(call) && untold.awaits(call));
        untold.tell(call);
        assert!(untold.leave(&call));
        assert!(!untold.awaits(call), "whoever joins now needs not be told");
        untold.noted(&call);
        assert!(untold.calls().is_empty());
    }

    #[test]
    fn a_mark_of_an_earlier_telling_takes_nobody_away_who_waits() {
        let (untold, call) = (Untold::default(), CallId::from_random([1; 16]));
        assert!(untold.awaits(call) && untold.awaits(call));
        untold.noted(&call);
        assert!(untold.leave(&call));
    }
}
