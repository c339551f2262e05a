//! What a person does about keys and the roster: stops, objections, proposals. Each is signed or sent here, with the verified
//! roster beside it.

use std::sync::Arc;

use vidimus_api::client::{ClientError, GateClient};
use vidimus_api::roster::{ProposalAnswer, RosterProposal, SignedStatement};
use vidimus_core::bytes::Digest;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::PersonId;
use vidimus_core::recovery::Veto;
use vidimus_core::sign::SecretKey;
use vidimus_core::stop::Stop;
use vidimus_core::time::Timestamp;

use crate::clock;
use crate::console::Console;
use crate::enrolment::Membership;
use crate::errors::Told;
use crate::keys::{self, KeyError};
use crate::signing::{self, Unlocking};
use crate::strings;

/// Stops keys of a person. One's own by this desktop's device key, without a PIN; another person's by the approval key.
pub async fn stop(
    console: &Arc<Console>,
    person: PersonId,
    keys: Vec<Digest>,
    unlocking: Unlocking,
    wait: impl Fn(String),
) -> Result<(), Told> {
    let membership = member(console)?;
    let signer = if person == membership.person {
        device_key(console, &membership, &wait).await?
    } else {
        SecretKey::from_seed(&*signing::unlock(console, unlocking, &wait).await?)
    };
    send_stop(console, &membership, person, keys, &signer).await
}

/// Signs a stop and hands it in, again where the answer was lost: the gate answers it once.
pub async fn send_stop(
    console: &Console,
    membership: &Membership,
    person: PersonId,
    mut keys: Vec<Digest>,
    signer: &SecretKey,
) -> Result<(), Told> {
    keys.sort();
    let Some(first) = keys.first().copied() else { return Ok(()) };
    let stop = Stop { gate: membership.gate, environment: membership.environment, person, keys, issued_at: now(console) };
    let body = statement(&stop.sign(signer).map_err(|refusal| Told::new("E-NET-3", refusal.message))?)?;
    let gate = GateClient::new(&membership.url).map_err(|error| Told::of_gate(&error))?;
    let answer = match gate.stop(&first, &body).await {
        Err(ClientError::Unreachable(_)) => gate.stop(&first, &body).await,
        answered => answered,
    };
    answer.map(|_| ()).map_err(|error| Told::of_gate(&error))
}

/// Objects to a recovery, with the approval key of an admin.
pub async fn veto(console: &Arc<Console>, recovery_sha256: Digest, unlocking: Unlocking, wait: impl Fn(String)) -> Result<(), Told> {
    let membership = member(console)?;
    let signer = SecretKey::from_seed(&*signing::unlock(console, unlocking, wait).await?);
    let veto = Veto { gate: membership.gate, environment: membership.environment, recovery_sha256, issued_at: now(console) };
    let body = statement(&veto.sign(&signer).map_err(|refusal| Told::new("E-NET-3", refusal.message))?)?;
    let gate = GateClient::new(&membership.url).map_err(|error| Told::of_gate(&error))?;
    gate.veto(&recovery_sha256, &body).await.map(|_| ()).map_err(|error| Told::of_gate(&error))
}

/// Proposes a change of the roster, for others to decide.
pub async fn propose(console: &Console, proposal: &RosterProposal) -> Result<ProposalAnswer, Told> {
    let client = console.shared().client.clone().ok_or_else(|| Told::new("E-NET-1", strings::GATE_UNREACHABLE))?;
    client.propose_roster_change(proposal).await.map_err(|error| Told::of_gate(&error))
}

/// The device key of this desktop.
pub async fn device_key(console: &Console, membership: &Membership, wait: impl Fn(String)) -> Result<SecretKey, Told> {
    let keyring = console.keyring.clone();
    let binding = membership.binding(&console.profile);
    let told = |error: KeyError| Told::of_key(&error, clock::now_ms());
    let locked = || wait(told(KeyError::Locked).line());
    let seed = keys::asked(move || keyring.device_key(&binding), locked).await.map_err(told)?;
    let key = SecretKey::from_seed(&seed);
    if key.public() == membership.device_key { Ok(key) } else { Err(told(KeyError::Foreign)) }
}

pub fn member(console: &Console) -> Result<Membership, Told> {
    console.membership().ok_or_else(|| Told::new("E-KEY-4", strings::NOT_ENROLLED))
}

fn now(console: &Console) -> Timestamp {
    Timestamp::from_ms(console.now_ms()).unwrap_or(Timestamp::MIN)
}

fn statement(envelope: &Envelope) -> Result<SignedStatement, Told> {
    Ok(SignedStatement { envelope: signing::raw_envelope(envelope)? })
}
