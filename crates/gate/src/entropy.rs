//! The one place where the gate takes random bytes from the system. Everything below takes them as arguments.

use vidimus_core::bytes::{Digest, Nonce, Salt, base64url_encode};
use vidimus_core::ids::{CallId, PersonId, RequestId};
use vidimus_core::time::Timestamp;

/// The system's random source does not answer: nothing safe can follow.
#[derive(Debug, thiserror::Error)]
#[error("the system's random source does not answer; repair the machine")]
pub struct NoEntropy(#[source] getrandom::Error);

/// Fresh random bytes.
///
/// *Errors*: `NoEntropy`.
pub fn bytes<const N: usize>() -> Result<[u8; N], NoEntropy> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(NoEntropy)?;
    Ok(bytes)
}

/// A fresh salt.
pub fn salt() -> Result<Salt, NoEntropy> {
    bytes().map(Salt::from_bytes)
}

/// A fresh value to use once.
pub fn nonce() -> Result<Nonce, NoEntropy> {
    bytes().map(Nonce::from_bytes)
}

/// A fresh id of a call.
pub fn call_id(now: Timestamp) -> Result<CallId, NoEntropy> {
    bytes().map(|bits| CallId::ascending(now, bits))
}

/// A fresh id of an approval request.
pub fn request_id(now: Timestamp) -> Result<RequestId, NoEntropy> {
    bytes().map(|bits| RequestId::ascending(now, bits))
}

/// A fresh id of a person.
pub fn person_id() -> Result<PersonId, NoEntropy> {
    bytes().map(PersonId::from_random)
}

/// A bearer secret: shown once, of which the gate keeps the digest only.
pub struct Bearer(String);

impl Bearer {
    /// A fresh secret of an agent.
    pub fn of_agent() -> Result<Bearer, NoEntropy> {
        bytes::<32>().map(|secret| Bearer(format!("vda_{}", base64url_encode(secret))))
    }

    /// A fresh secret of a session.
    pub fn of_session() -> Result<Bearer, NoEntropy> {
        bytes::<32>().map(|secret| Bearer(format!("vds_{}", base64url_encode(secret))))
    }

    /// What the gate keeps.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }

    /// The secret, to hand over once.
    pub fn reveal(self) -> String {
        self.0
    }
}
