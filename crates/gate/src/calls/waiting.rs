//! Where a call stands, and waiting for its end.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use vidimus_api::call::CallAnswer;
use vidimus_core::ids::CallId;
use vidimus_store::{AgentIdentity, Withdrawal};

use super::CallFault;
use super::answers::answer_of;
use crate::gate::Gate;
use crate::limits::TAKEN_BACK_KEPT_BYTES;

impl Gate {
    /// Where a call of this agent stands, after waiting at most `wait` for its end; none for another's or no call. An agent that
    /// waits in too many places already is answered at once.
    ///
    /// *Errors*: those of the store.
    pub async fn outcome(&self, agent: &AgentIdentity, call: CallId, wait: Duration) -> Result<Option<CallAnswer>, CallFault> {
        let seat = if wait.is_zero() { None } else { self.bell.seat(&agent.agent) };
        let deadline = Instant::now() + if seat.is_some() { wait } else { Duration::ZERO };
        let mut listener = self.bell.listen(call);
        loop {
            let Some(view) = self.store.call(agent.agent.clone(), call).await? else {
                return Ok(None);
            };
            if view.request.as_ref().is_some_and(|request| request.orphaned && !request.state.is_final()) {
                // Whoever asks by the id has it.
                self.store.hear_of_call(self.moment()?, agent.agent.clone(), call).await?;
            }
            let answer = answer_of(view)?;
            if answer.status.has_ended() || Instant::now() >= deadline || self.ending.is_cancelled() {
                return Ok(Some(answer));
            }
            let rung = async {
                tokio::select! {
                    () = listener.wait() => {}
                    () = self.ending.cancelled() => {}
                }
            };
            // Late or rung, the next look decides.
            let _ = timeout_at(deadline, rung).await;
        }
    }

    /// Takes a pending call back.
    ///
    /// *Errors*: the refusal: only what waits can be withdrawn.
    pub async fn withdraw(&self, agent: &AgentIdentity, call: CallId) -> Result<Option<CallAnswer>, CallFault> {
        match self.store.withdraw(self.moment()?, agent.agent.clone(), call).await? {
            // Never refused: what is taken back counts against the calls that come after it.
            Withdrawal::Withdrawn => self.kept_bytes.charge(&agent.agent, TAKEN_BACK_KEPT_BYTES, std::time::Instant::now()),
            Withdrawal::NotFound => return Ok(None),
            Withdrawal::Refused(refusal) => return Err(refusal.into()),
        }
        self.bell.ring(call);
        self.outcome(agent, call, Duration::ZERO).await
    }
}
