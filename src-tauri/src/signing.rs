//! What every signature by the approval key takes: the key, unlocked by its PIN, and the envelope as it is sent.

use vidimus_api::{RawJson, raw_json};
use vidimus_core::decision::CheckpointRef;
use vidimus_core::dsse::Envelope;
use vidimus_core::sign::SecretKey;

use crate::clock;
use crate::console::Console;
use crate::errors::Told;
use crate::keys::{self, KeyError, Pin, Seed};
use crate::strings;

/// How the key is had.
pub struct Unlocking {
    pub pin: Pin,
    /// Whether the PIN is asked for this signature, whenever it was given last.
    pub always_pin: bool,
}

/// The approval key: from the session of an earlier PIN where that is enough, else from the keyring. `wait` is told when the
/// keyring waits for its person.
pub async fn unlock(console: &Console, unlocking: Unlocking, wait: impl Fn(String)) -> Result<Seed, Told> {
    let Unlocking { pin, always_pin } = unlocking;
    let now_ms = clock::now_ms();
    let told = |error: &KeyError| Told::of_key(error, now_ms);
    if !always_pin
        && pin.is_empty()
        && let Some(seed) = console.pin().seed(now_ms)
    {
        return Ok(seed.clone());
    }
    let membership = console.membership().ok_or_else(|| Told::new("E-KEY-4", strings::NOT_ENROLLED))?;
    let (keyring, waits) = (console.keyring.clone(), console.waits.clone());
    let binding = membership.binding(&console.profile);
    let unlock = move || {
        let sealed = keyring.approval_key(&binding)?;
        waits.attempt(now_ms, || sealed.open(&pin, &binding))
    };
    let locked = || wait(told(&KeyError::Locked).line());
    let seed = keys::asked(unlock, locked).await.map_err(|error| told(&error))?;
    if SecretKey::from_seed(&seed).public() != membership.approval_key {
        return Err(told(&KeyError::Foreign));
    }
    console.pin().begin(seed.clone(), now_ms);
    Ok(seed)
}

/// The head of the log that was verified here.
pub fn verified_head(console: &Console) -> Result<CheckpointRef, Told> {
    console
        .read(|mirror| Ok(CheckpointRef { size: mirror.size(), root: mirror.root() }))
        .ok_or_else(|| Told::new("E-AUD-3", strings::MIRROR_UNWRITABLE))
}

/// An envelope as it stands in a body.
pub fn raw_envelope(envelope: &Envelope) -> Result<RawJson, Told> {
    let malformed = || Told::new("E-NET-3", strings::GATE_UNREADABLE);
    let bytes = envelope.to_json().canonical().map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    raw_json(text).map_err(|_| malformed())
}
