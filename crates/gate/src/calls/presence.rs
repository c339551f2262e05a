//! Whether somebody is still there to be told a call's id. A money call whose agent went away before its answer was written
//! is orphaned: an approval would have an effect that nobody learns of.

use std::sync::Arc;
use std::time::Instant;

use vidimus_core::ids::{CallId, Name};
use vidimus_store::AgentIdentity;

use super::Begun;
use crate::gate::Gate;
use crate::limits::TAKEN_BACK_KEPT_BYTES;

/// A call that was begun, on its way to whoever sent it. Dropped before it was told, it is orphaned, unless it is on its way by
/// another connection as well.
pub struct Told {
    begun: Option<Begun>,
    untold: Option<Untold>,
}

struct Untold {
    gate: Arc<Gate>,
    agent: Name,
    call: CallId,
}

impl Told {
    /// Watches over what was begun.
    pub fn of(gate: &Arc<Gate>, agent: &AgentIdentity, begun: Begun) -> Told {
        let untold = match &begun {
            Begun::Stored { call, untold: true, .. } => Some(Untold { gate: gate.clone(), agent: agent.agent.clone(), call: *call }),
            Begun::Stored { untold: false, .. } | Begun::Answered(_) => None,
        };
        Told { begun: Some(begun), untold }
    }

    /// What was begun; none when it was taken before.
    pub fn take(&mut self) -> Option<Begun> {
        self.begun.take()
    }

    /// The answer is written.
    pub fn written(&mut self) {
        let Some(Untold { gate, call, .. }) = self.untold.take() else { return };
        let moment = match gate.moment() {
            Ok(moment) => moment,
            Err(error) => return crate::logging::failure("that an agent was told is not noted", &error),
        };
        // Here and not in the task: no loss that is noticed after this may come before it.
        let noted = gate.store.tell_call(moment, call);
        // Nobody waits for it, and it waits for others: it is one more row of the next commit.
        gate.in_flight.spawn(async move {
            if let Err(error) = noted.await {
                crate::logging::failure("that an agent was told is not noted", &error);
            }
        });
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let Some(Untold { gate, agent, call }) = self.untold.take() else { return };
        gate.kept_bytes.charge(&agent, TAKEN_BACK_KEPT_BYTES, Instant::now());
        gate.in_flight.clone().spawn(async move {
            let orphaned = match gate.moment() {
                Ok(moment) => gate.store.orphan_call(moment, agent, call).await,
                Err(error) => return crate::logging::failure("an orphaned call was not recorded", &error),
            };
            match orphaned {
                Ok(_) => gate.bell.ring(call),
                Err(error) => crate::logging::failure("an orphaned call was not recorded", &error),
            }
        });
    }
}
