//! Challenges for approval keys: who may have one, and whether one was used. Issuing one writes nothing: it proves itself.

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::challenge::OwnChallenge;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{DecisionStatement, IssuedChallenge};
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_core::limits::DECISION_TTL_S_MAX;
use vidimus_core::request::{self, RequestInput};
use vidimus_core::roster::KeyUse;
use vidimus_core::time::Timestamp;

use crate::error::StoreError;
use crate::gate::GateState;
use crate::log::{Head, read_head};
use crate::on_record::DecisionsOnRecord;
use crate::rows::StoredRequest;
use crate::sweeps::store_now;
use crate::tx::{Attempt, Stop, refuse};
use crate::{Moment, Store};

/// A challenge that an approval key wants to sign over.
#[derive(Debug, Clone, Copy)]
pub struct DecisionChallenge {
    /// The request.
    pub request: RequestId,
    /// The person of the session that asks.
    pub person: PersonId,
    /// Digest of the person's approval key.
    pub key_sha256: Digest,
}

/// What goes into a statement of an approval key, from the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToSign {
    /// To be copied into the statement.
    pub issued_at: Timestamp,
    /// Until when it may arrive at most.
    pub expires_at: Timestamp,
    /// The roster in force.
    pub roster_sha256: Digest,
    /// The newest head that is durable.
    pub head: Head,
}

/// What an approver who wants to decide gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionChallengeOutcome {
    /// A challenge for this request, this key and this time may be made and signed.
    Issued(ToSign),
    /// There is no such request.
    NotFound,
    /// The key may not sign, or the request no longer waits.
    Refused(Refusal),
}

impl Store {
    /// Whether an approval key may have a challenge for a request, and what goes into it.
    pub async fn decision_challenge(&self, moment: Moment, challenge: DecisionChallenge) -> Result<DecisionChallengeOutcome, StoreError> {
        let known = self.engine.gate_in_force();
        self.engine
            .look(move |db| {
                let Some(request) = StoredRequest::load(db, &challenge.request)? else { return Ok(DecisionChallengeOutcome::NotFound) };
                let gate = known.gate(db)?.ok_or(StoreError::NotInitialised)?;
                let now = Timestamp::from_ms(store_now(db, moment.now)?).map_err(|_| StoreError::corrupt("clock.now_ms"))?;
                match issue(db, now, &gate, &request, challenge) {
                    Ok(outcome) => Ok(outcome),
                    Err(Stop::Refused(refusal)) => Ok(DecisionChallengeOutcome::Refused(refusal)),
                    Err(Stop::Failed(error)) => Err(error),
                }
            })
            .await
    }
}

fn issue(
    db: &Connection,
    now: Timestamp,
    gate: &GateState,
    stored: &StoredRequest,
    challenge: DecisionChallenge,
) -> Attempt<DecisionChallengeOutcome> {
    let to_sign = to_sign(gate, &challenge.person, &challenge.key_sha256, now, read_head(db)?)?;
    if stored.state.is_final() {
        // The input that is allowed longest: its refusal names why nothing can be decided any more.
        request::apply(stored.state, RequestInput::Revoke)?;
    }
    Ok(DecisionChallengeOutcome::Issued(to_sign))
}

/// What the holder of an approval key may sign now.
///
/// *Errors*: those of the key; `approver_wrong` for another person's.
pub(crate) fn to_sign(gate: &GateState, person: &PersonId, key_sha256: &Digest, now: Timestamp, head: Head) -> Attempt<ToSign> {
    let roster = gate.roster()?;
    let holder = roster.roster.active_key(key_sha256, KeyUse::Approval)?;
    if holder.person.person != *person {
        return refuse(Code::ApproverWrong, "the key belongs to another person than the session; use your own");
    }
    Ok(ToSign { issued_at: now, expires_at: now.plus_s(DECISION_TTL_S_MAX), roster_sha256: roster.view.roster_sha256, head })
}

/// The challenge that a statement names, if this gate issued it; used, if a decision on record names it too.
pub(crate) fn issued_challenge(
    own: Option<&OwnChallenge>,
    statement: &DecisionStatement,
    on_record: &DecisionsOnRecord,
) -> Option<IssuedChallenge> {
    let own = own.filter(|own| *own.challenge() == statement.challenge && own.subject() == statement.request.to_string())?;
    Some(IssuedChallenge {
        request: statement.request,
        key_sha256: *own.key_sha256(),
        issued_at: own.issued_at(),
        used: on_record.names_challenge(own.challenge()),
    })
}
