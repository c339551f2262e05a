//! Follows the gate: a session by the device key, the log as a stream, and again after each loss.
//!
//! Owns the connection. What a record means is the mirror's.

use std::sync::Arc;
use std::time::Duration;

use vidimus_api::client::{ApproverClient, ClientError, GateClient};
use vidimus_api::log::LogEvent;
use vidimus_api::raw_json;
use vidimus_api::session::{SessionChallenge, SessionChallengeRequest, SessionRequest};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::SessionStatement;

use crate::clock;
use crate::console::{Change, Console, GateState, KeyState};
use crate::enrolment::{self, Kept, Membership};
use crate::errors::Told;
use crate::keys::{self, KeyError};
use crate::limits::{LOG_AGAIN_S, RECONNECT_FIRST_MS, RECONNECT_MAX_MS};
use crate::mirror::{Batch, Mirror, MirrorFault};
use crate::recoveries;
use crate::rotation;
use crate::strings;

/// Why following ended.
enum Ended {
    /// The connection was lost, or there was none.
    Lost,
    /// The gate refused this console.
    Refused(String, Told),
    /// The log or its copy cannot be followed any further.
    Mirror(MirrorFault),
    /// The gate at this address is not the pinned one.
    Foreign,
    /// The keyring did not give the device key.
    Key(Told),
}

impl From<ClientError> for Ended {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Refused(problem) => Self::Refused(problem.code.clone(), Told::of_gate(&error)),
            ClientError::Unreachable(_) | ClientError::Unreadable { .. } | ClientError::AddressMalformed { .. } => Self::Lost,
        }
    }
}

/// Follows the gate for as long as the program runs.
pub async fn follow(console: Arc<Console>) {
    let mut generation = console.generation();
    loop {
        generation.mark_unchanged();
        tokio::select! {
            () = follow_enrolment(&console) => {}
            _ = generation.changed() => {}
        }
        console.shared().client = None;
    }
}

/// Follows one enrolment; returns only to begin anew.
async fn follow_enrolment(console: &Arc<Console>) {
    let kept = console.shared().kept.clone();
    let Some(membership) = kept.as_ref().filter(|kept| kept.is_followed()).and_then(Kept::membership).cloned() else {
        console.set_gate(GateState::None);
        console.set_key(KeyState::None);
        return std::future::pending().await;
    };
    if let Err(fault) = open_mirror(console, &membership) {
        console.shared().mirror_fault = Some(mirror_told(&fault));
    }
    console.set_gate(GateState::Connecting);
    let mut wait_ms = RECONNECT_FIRST_MS;
    loop {
        let begun = clock::now_ms();
        let ended = match attempt(console, &membership).await {
            Ok(()) => Ended::Lost,
            Err(ended) => ended,
        };
        {
            let mut shared = console.shared();
            shared.client = None;
            shared.level = false;
        }
        if !say(console, ended) {
            return std::future::pending().await;
        }
        // A connection that stood for a while was no failed attempt.
        let stood = clock::now_ms().saturating_sub(begun) > 10_000;
        wait_ms = if stood { RECONNECT_FIRST_MS } else { (wait_ms * 2).min(RECONNECT_MAX_MS) };
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    }
}

/// Tells what ended. False when trying again cannot help.
fn say(console: &Console, ended: Ended) -> bool {
    match ended {
        Ended::Lost => console.set_gate(GateState::Offline),
        Ended::Foreign => console.set_gate(GateState::IdentityChanged),
        Ended::Key(told) => {
            console.set_key(KeyState::Error(told));
            console.set_gate(GateState::Offline);
        }
        Ended::Refused(code, told) => match code.as_str() {
            "key_waiting" => {
                keep_waiting(console);
                console.set_key(KeyState::Waiting);
                console.set_gate(GateState::Connected);
            }
            "key_removed" => removed(console),
            "key_stopped" | "key_unknown" => {
                console.set_key(KeyState::Stopped);
                console.set_gate(GateState::Refused(told));
            }
            _ => console.set_gate(GateState::Refused(told)),
        },
        Ended::Mirror(fault) => {
            let told = mirror_told(&fault);
            keep_evidence(console);
            let broken = matches!(fault, MirrorFault::Broken { .. } | MirrorFault::Other(_));
            console.shared().mirror_fault = Some(told);
            console.set_gate(if matches!(fault, MirrorFault::Unsigned(_)) { GateState::IdentityChanged } else { GateState::Offline });
            console.tell(Change::State);
            return !broken;
        }
    }
    true
}

/// The person was taken off the roster: why nothing is possible any more, and who can be asked. By the last verified roster, since
/// the gate sends this console nothing newer.
pub fn removed(console: &Console) {
    let words = format!("{} {}", strings::KEY_REMOVED, strings::ask_admins(&recoveries::other_admins(console)));
    console.set_key(KeyState::Removed);
    console.set_gate(GateState::Refused(Told::new("E-KEY-10", words)));
}

/// The gate has the keys, whatever became of its answer to them.
fn keep_waiting(console: &Console) {
    let mut shared = console.shared();
    if let Some(Kept::Made { membership, .. }) = &shared.kept {
        let kept = Kept::Waiting { membership: membership.clone(), request: None };
        // Should this not be kept, the next start asks the gate again.
        let _ = kept.save(&console.profile);
        shared.kept = Some(kept);
    }
}

/// Writes what shows a broken log where an administrator can take it.
fn keep_evidence(console: &Console) {
    if let Some(mirror) = console.mirror().as_ref() {
        // What cannot be written stays in the mirror itself.
        let _ = mirror.save_evidence(&console.profile.evidence_directory());
    }
}

fn mirror_told(fault: &MirrorFault) -> Told {
    match fault {
        MirrorFault::Broken { position, .. } => Told::new("E-AUD-1", strings::log_broken(*position)),
        MirrorFault::Unsigned(_) => Told::new("E-NET-4", strings::HEAD_UNSIGNED),
        MirrorFault::Store(_) => Told::new("E-AUD-3", strings::MIRROR_UNWRITABLE),
        MirrorFault::Other(whose) => Told::new("E-AUD-3", strings::mirror_of_another(whose)),
    }
}

fn open_mirror(console: &Console, membership: &Membership) -> Result<(), MirrorFault> {
    let mut slot = console.mirror();
    let opened = slot.as_ref().is_some_and(|mirror| *mirror.identity() == membership.identity());
    if !opened {
        *slot = None;
        *slot = Some(Mirror::open(&console.profile.mirror_file(), membership.identity())?);
    }
    Ok(())
}

async fn attempt(console: &Arc<Console>, membership: &Membership) -> Result<(), Ended> {
    let kept = console.shared().kept.clone();
    if let Some(Kept::Made { hand_in, sent: true, .. }) = kept {
        hand_in_again(console, membership, &hand_in).await?;
    }
    open_mirror(console, membership).map_err(Ended::Mirror)?;
    mend_rotation(console, membership).await?;
    let device = device_key(console, membership).await?;
    let gate = GateClient::new(&membership.url)?;
    let (client, session) = open_session(&gate, membership, &device).await.map_err(|ended| as_enrolled(console, ended))?;
    {
        let mut shared = console.shared();
        shared.clock_offset_ms = session.now.as_ms().saturating_sub(clock::now_ms());
        shared.mirror_fault = None;
        if matches!(shared.kept, Some(Kept::Waiting { .. } | Kept::Made { .. })) {
            let kept = Kept::Active { membership: membership.clone() };
            // Should this not be kept, the next start asks the gate again.
            let _ = kept.save(&console.profile);
            shared.kept = Some(kept);
        }
    }
    let head = client.checkpoint().await?;
    // What this finds wrong is on record in the mirror, and keeps approving locked from here on.
    let level_at = match console.mirror().as_mut().map(|mirror| mirror.check_head(&head)) {
        Some(Err(fault @ MirrorFault::Unsigned(_))) => return Err(Ended::Mirror(fault)),
        Some(Ok(size)) => size,
        Some(Err(_)) | None => 0,
    };
    rotation::clear_unfinished(console, membership).await;
    console.shared().client = Some(client.clone());
    console.set_key(KeyState::Active);
    go_on_rotating(console, &client).await;
    follow_log(console, &client, level_at).await
}

/// Carries on what a rotation of the keys has to do now. What fails is tried again at the next session.
async fn go_on_rotating(console: &Arc<Console>, client: &ApproverClient) {
    let Some(membership) = console.membership() else { return };
    let fault = rotation::go_on(console, &membership, client).await.err();
    let changed = console.shared().rotation_fault != fault;
    console.shared().rotation_fault = fault;
    if changed {
        console.tell(Change::State);
    }
}

/// A rotation that was cut after the keyring had the new keys: the membership follows.
async fn mend_rotation(console: &Arc<Console>, membership: &Membership) -> Result<(), Ended> {
    let (of, with) = (console.clone(), membership.clone());
    let mended = tokio::task::spawn_blocking(move || rotation::mended(&of, &with)).await.unwrap_or(None);
    let Some(membership) = mended else { return Ok(()) };
    let kept = Kept::Active { membership };
    kept.save(&console.profile).map_err(|_| Ended::Lost)?;
    console.set_kept(Some(kept));
    Err(Ended::Lost)
}

/// The pinned gate forgets no key that it has admitted: one that does not know it is another.
fn as_enrolled(console: &Console, ended: Ended) -> Ended {
    let admitted = matches!(console.shared().kept, Some(Kept::Active { .. }));
    match ended {
        Ended::Refused(code, _) if admitted && code == "key_unknown" => Ended::Foreign,
        other => other,
    }
}

/// What broke the copy of the log, if something did.
fn broken(console: &Console) -> Option<MirrorFault> {
    let slot = console.mirror();
    let (position, what) = slot.as_ref()?.broken()?;
    Some(MirrorFault::Broken { position, what: what.to_owned() })
}

/// Follows the log. Where its copy is broken or cannot be written the session stays: approving is locked, denying works.
async fn follow_log(console: &Arc<Console>, client: &ApproverClient, level_at: u64) -> Result<(), Ended> {
    loop {
        let fault = match broken(console) {
            Some(fault) => fault,
            None => match read_log(console, client, level_at).await {
                Err(Ended::Mirror(fault)) => fault,
                ended => return ended,
            },
        };
        if matches!(fault, MirrorFault::Unsigned(_)) {
            return Err(Ended::Mirror(fault));
        }
        keep_evidence(console);
        console.shared().mirror_fault = Some(mirror_told(&fault));
        console.set_gate(GateState::Connected);
        console.tell(Change::State);
        tokio::time::sleep(Duration::from_secs(LOG_AGAIN_S)).await;
        // A gate that went away, or a session that ended, shows here.
        client.roster().await?;
    }
}

async fn hand_in_again(console: &Console, membership: &Membership, hand_in: &enrolment::HandIn) -> Result<(), Ended> {
    match enrolment::send(&console.profile, membership, hand_in).await {
        Ok(kept) => {
            console.shared().kept = Some(kept);
            console.tell(Change::State);
            Ok(())
        }
        // The first hand-in may have arrived without its answer: then a session opens.
        Err(enrolment::EnrolmentFault::Gate(ClientError::Refused(_))) => Ok(()),
        Err(_) => Err(Ended::Lost),
    }
}

async fn device_key(console: &Arc<Console>, membership: &Membership) -> Result<SecretKey, Ended> {
    let keyring = console.keyring.clone();
    let binding = membership.binding(&console.profile);
    let expected = membership.device_key;
    let told = |error| Ended::Key(Told::of_key(&error, clock::now_ms()));
    let locked = || console.set_key(KeyState::Error(Told::of_key(&KeyError::Locked, clock::now_ms())));
    let loaded = keys::asked(move || keyring.device_key(&binding), locked).await;
    let seed = loaded.map_err(told)?;
    let key = SecretKey::from_seed(&seed);
    if key.public() == expected { Ok(key) } else { Err(told(KeyError::Foreign)) }
}

async fn open_session(
    gate: &GateClient,
    membership: &Membership,
    device: &SecretKey,
) -> Result<(ApproverClient, vidimus_api::session::SessionAnswer), Ended> {
    let challenge = gate.session_challenge(&SessionChallengeRequest { key_sha256: device.public().digest() }).await?;
    let request = session_request(membership, device, &challenge).ok_or(Ended::Lost)?;
    let session = gate.open_session(&request).await?;
    Ok((gate.with_session(session.session.clone()), session))
}

/// What opens a session: the gate's challenge, signed by the device key.
pub fn session_request(membership: &Membership, device: &SecretKey, challenge: &SessionChallenge) -> Option<SessionRequest> {
    let statement = SessionStatement {
        gate: membership.gate,
        environment: membership.environment,
        key_sha256: device.public().digest(),
        challenge: challenge.challenge,
        issued_at: challenge.issued_at,
    };
    let bytes = statement.sign(device).and_then(|envelope| envelope.to_json().canonical()).ok()?;
    let envelope = raw_json(String::from_utf8(bytes).ok()?).ok()?;
    Some(SessionRequest { envelope })
}

async fn read_log(console: &Arc<Console>, client: &ApproverClient, level_at: u64) -> Result<(), Ended> {
    let from = console.mirror().as_ref().map_or(0, Mirror::size);
    console.shared().level = from >= level_at;
    let mut stream = client.log_stream(from).await?;
    let mut batch = Batch::default();
    // After an alarm only a head that verifies makes this the gate again.
    if console.mirror().as_ref().is_none_or(|mirror| mirror.alarm().is_none()) {
        console.set_gate(GateState::Connected);
    }
    while let Some(event) = stream.next().await? {
        match event {
            LogEvent::Record(_) if batch.is_full() => return Err(Ended::Lost),
            LogEvent::Record(record) => batch.push(record),
            LogEvent::Checkpoint(checkpoint) => {
                let (applied, size) = {
                    let mut slot = console.mirror();
                    let Some(mirror) = slot.as_mut() else { return Ok(()) };
                    (batch.settle(mirror, &checkpoint.note).map_err(Ended::Mirror)?, mirror.size())
                };
                console.shared().level = size >= level_at;
                console.set_gate(GateState::Connected);
                if applied.records > 0 {
                    console.shared().mirror_fault = None;
                    let concerns_keys = applied.rules_changed || rotation::concerns(console, &applied.changed);
                    console.tell(Change::Log(applied));
                    if concerns_keys {
                        go_on_rotating(console, client).await;
                    }
                }
            }
        }
    }
    Ok(())
}
