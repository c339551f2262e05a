//! New keys in place of this desktop's old ones: made beside them, proposed in a session, taken when the verified roster has
//! them, and only then are the old ones stopped. The old keys count until then.
//!
//! Owns the rotation's file and its steps, each of which can be cut and goes on at the next look.

use serde::{Deserialize, Serialize};
use vidimus_api::client::{ApproverClient, ClientError};
use vidimus_api::raw_json;
use vidimus_api::roster::RosterProposal;
use vidimus_core::dsse::Envelope;
use vidimus_core::roster::KeyUse;
use vidimus_core::sign::{PublicKey, SecretKey};
use vidimus_core::statement::Enrolment;
use vidimus_core::time::Timestamp;

use crate::console::{Change, Console};
use crate::enrolment::{Kept, Membership, Randomness};
use crate::errors::Told;
use crate::key_acts;
use crate::keys::{DeviceBlob, KeyError, Pin, SealedKey};
use crate::mirror::Mirror;
use crate::profile::{Profile, write_whole};
use crate::seams::{self, Seam};
use crate::strings;

/// What is kept of a rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    pub new_approval: PublicKey,
    pub new_device: PublicKey,
    pub old_approval: PublicKey,
    pub old_device: PublicKey,
    label: String,
    approval: String,
    device: String,
    /// Once the gate has the proposal.
    pub request: Option<String>,
}

impl Rotation {
    /// What is kept in the profile, if a rotation is under way.
    pub fn load(profile: &Profile) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(profile.rotation_file()).ok()?).ok()
    }

    fn save(&self, profile: &Profile) -> std::io::Result<()> {
        write_whole(&profile.rotation_file(), &serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?)
    }

    fn proposal(&self) -> Result<RosterProposal, Told> {
        let raw = |text: &String| raw_json(text.clone()).map_err(|_| unwritable());
        Ok(RosterProposal::AddKeys { label: self.label.clone(), approval: raw(&self.approval)?, device: raw(&self.device)? })
    }
}

fn unwritable() -> Told {
    Told::new("E-AUD-3", strings::PROFILE_UNWRITABLE)
}

/// Makes the new keys, keeps them in the keyring beside the old ones, and signs what proves that they are here. Blocks on the
/// keyring.
pub fn make(
    console: &Console,
    membership: &Membership,
    pin: &Pin,
    random: &Randomness,
    now: Timestamp,
) -> Result<Result<(), Told>, KeyError> {
    let binding = membership.binding(&console.profile);
    let (approval, device) = (SecretKey::from_seed(&random.approval), SecretKey::from_seed(&random.device));
    let proof = |key_use: KeyUse, key: &SecretKey| -> Option<String> {
        let statement = Enrolment {
            gate: membership.gate,
            environment: membership.environment,
            invite_sha256: None,
            key_use,
            key: key.public(),
            person: membership.person,
            name: membership.name.clone(),
            label: membership.label.clone(),
            issued_at: now,
        };
        text_of(&statement.sign(key).ok()?)
    };
    let (Some(approval_proof), Some(device_proof)) = (proof(KeyUse::Approval, &approval), proof(KeyUse::Device, &device)) else {
        return Ok(Err(unwritable()));
    };
    let sealed = SealedKey::seal(&random.approval, pin, &binding, random.salt, random.nonce);
    console.keyring.store_next(&binding, &sealed, &DeviceBlob::new(&random.device, &binding))?;
    seams::pass(Seam::RotationKeysStored);
    let rotation = Rotation {
        new_approval: approval.public(),
        new_device: device.public(),
        old_approval: membership.approval_key,
        old_device: membership.device_key,
        label: membership.label.clone(),
        approval: approval_proof,
        device: device_proof,
        request: None,
    };
    let kept = rotation.save(&console.profile).map_err(|_| unwritable());
    seams::pass(Seam::RotationKept);
    Ok(kept)
}

fn text_of(envelope: &Envelope) -> Option<String> {
    String::from_utf8(envelope.to_json().canonical().ok()?).ok()
}

/// Carries a rotation on as far as it goes now, with a session. Tells where it stands still.
pub async fn go_on(console: &Console, membership: &Membership, client: &ApproverClient) -> Result<(), Told> {
    let Some(mut rotation) = Rotation::load(&console.profile) else { return Ok(()) };
    if rotation.request.is_none() {
        let request = match client.propose_roster_change(&rotation.proposal()?).await {
            Ok(answer) => answer.request.to_string(),
            // It had arrived, and its answer was lost: the keys are known.
            Err(ClientError::Refused(problem)) if problem.code == "roster_change_invalid" => String::new(),
            Err(error) => return Err(Told::of_gate(&error)),
        };
        seams::pass(Seam::RotationProposed);
        rotation.request = Some(request);
        rotation.save(&console.profile).map_err(|_| unwritable())?;
    }
    if membership.device_key == rotation.new_device {
        return finish(console, membership, &rotation).await;
    }
    let admitted = console.read(Mirror::roster).flatten().is_some_and(|roster| {
        roster.active_key(&rotation.new_approval.digest(), KeyUse::Approval).is_ok()
            && roster.active_key(&rotation.new_device.digest(), KeyUse::Device).is_ok()
    });
    if admitted { take(console, membership, &rotation).await } else { refused(console, &rotation) }
}

/// Whether one of these requests is the rotation's own.
pub fn concerns(console: &Console, requests: &[String]) -> bool {
    !requests.is_empty()
        && Rotation::load(&console.profile).and_then(|rotation| rotation.request).is_some_and(|request| requests.contains(&request))
}

/// What was proposed and ended without a confirmation is said; the person gives it up, or proposes anew.
fn refused(console: &Console, rotation: &Rotation) -> Result<(), Told> {
    let listed = rotation.request.as_deref().and_then(|request| console.read(|mirror| mirror.request(request)).flatten());
    match listed.as_ref().map(|listed| listed.state.as_str()) {
        Some("denied" | "expired" | "withdrawn" | "stale" | "revoked") => Err(Told::new("E-KEY-12", strings::NEW_KEYS_REFUSED)),
        Some(_) | None => Ok(()),
    }
}

/// The new keys become this desktop's. From here on the link opens its sessions with them.
async fn take(console: &Console, membership: &Membership, rotation: &Rotation) -> Result<(), Told> {
    seams::pass(Seam::RotationConfirmed);
    let (keyring, binding) = (console.keyring.clone(), membership.binding(&console.profile));
    let promoted = tokio::task::spawn_blocking(move || keyring.promote_next(&binding)).await.unwrap_or(Err(KeyError::NoService));
    promoted.map_err(|error| Told::of_key(&error, crate::clock::now_ms()))?;
    seams::pass(Seam::RotationPromoted);
    let membership = Membership { approval_key: rotation.new_approval, device_key: rotation.new_device, ..membership.clone() };
    let kept = Kept::Active { membership };
    kept.save(&console.profile).map_err(|_| unwritable())?;
    seams::pass(Seam::RotationTaken);
    console.pin().end();
    console.set_kept(Some(kept));
    Ok(())
}

/// The old keys are stopped, by the new device key.
async fn finish(console: &Console, membership: &Membership, rotation: &Rotation) -> Result<(), Told> {
    let device = key_acts::device_key(console, membership, |_| {}).await?;
    let old = vec![rotation.old_approval.digest(), rotation.old_device.digest()];
    key_acts::send_stop(console, membership, membership.person, old, &device).await?;
    seams::pass(Seam::RotationOldStopped);
    discard(console, membership).await
}

/// What was begun and not admitted is given up: the old keys count on.
pub async fn discard(console: &Console, membership: &Membership) -> Result<(), Told> {
    // The file first: keys that no file names are cleared at the next start, a file without its keys would wait for them.
    match std::fs::remove_file(console.profile.rotation_file()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unwritable()),
        _ => {}
    }
    console.shared().rotation_fault = None;
    console.tell(Change::State);
    clear_next(console, membership).await
}

/// Removes new keys from the keyring that no rotation names.
async fn clear_next(console: &Console, membership: &Membership) -> Result<(), Told> {
    let (keyring, binding) = (console.keyring.clone(), membership.binding(&console.profile));
    let removed = tokio::task::spawn_blocking(move || keyring.remove_next(&binding)).await.unwrap_or(Err(KeyError::NoService));
    removed.map_err(|error| Told::of_key(&error, crate::clock::now_ms()))
}

/// Once after a start, before anybody can make new keys: what a making that was cut left in the keyring goes.
pub async fn clear_unfinished(console: &Console, membership: &Membership) {
    let first = !std::mem::replace(&mut console.shared().rotation_looked_at, true);
    if first && Rotation::load(&console.profile).is_none() {
        // What cannot be removed now is overwritten by the next new keys, or removed at the next start.
        let _ = clear_next(console, membership).await;
    }
}

/// A rotation that was cut between the keyring and the profile: the keyring has the new keys already. Gives the membership that
/// goes with them. Blocks on the keyring.
pub fn mended(console: &Console, membership: &Membership) -> Option<Membership> {
    let rotation = Rotation::load(&console.profile).filter(|rotation| rotation.new_device != membership.device_key)?;
    let binding = membership.binding(&console.profile);
    let seed = console.keyring.device_key(&binding).ok()?;
    let has_new = SecretKey::from_seed(&seed).public() == rotation.new_device;
    has_new.then(|| Membership { approval_key: rotation.new_approval, device_key: rotation.new_device, ..membership.clone() })
}
