//! Challenges of the gate for approval keys: each proves by itself that this gate issued it, for what, to which key and when.
//! So issuing one writes nothing; which ones were used, the statements on record say.
//!
//! Owns the bytes and the key; knows no randomness and no clock: both are arguments.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::bytes::{Digest, Nonce};
use crate::time::Timestamp;

/// The random bytes of a challenge, and those that authenticate it: half and half of its 32.
const HALF: usize = 16;

/// The gate's secret for its challenges. It has no spelling.
pub struct ChallengeKey([u8; 32]);

/// A challenge that this gate issued. Only [`ChallengeKey::recognise`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnChallenge {
    challenge: Nonce,
    subject: String,
    key_sha256: Digest,
    issued_at: Timestamp,
}

impl OwnChallenge {
    /// The challenge itself.
    pub const fn challenge(&self) -> &Nonce {
        &self.challenge
    }

    /// What it is for: the id of a request, the key of an operation.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The approval key that it was given to.
    pub const fn key_sha256(&self) -> &Digest {
        &self.key_sha256
    }

    /// When it was issued.
    pub const fn issued_at(&self) -> Timestamp {
        self.issued_at
    }
}

impl ChallengeKey {
    /// The key that belongs to a secret seed of the gate: another one for another seed, the same after every start.
    pub fn derive(seed: &[u8; 32]) -> ChallengeKey {
        let tag = mac(seed).chain_update(b"vidimus.challenge.key.v1").finalize();
        ChallengeKey(tag.into_bytes().into())
    }

    /// A challenge for one subject and one key: 16 bytes that were never used before, then the first 16 of
    /// HMAC-SHA-256 over `vidimus.challenge.v1`, them, the subject, the key's digest and the time.
    ///
    /// *Source*: RFC 2104 section 5 on truncation.
    pub fn issue(&self, unique: [u8; HALF], subject: &str, key_sha256: &Digest, issued_at: Timestamp) -> Nonce {
        let tag = self.over(&unique, subject, key_sha256, issued_at).finalize().into_bytes();
        let mut bytes = [0; 2 * HALF];
        bytes[..HALF].copy_from_slice(&unique);
        bytes[HALF..].copy_from_slice(&tag[..HALF]);
        Nonce::from_bytes(bytes)
    }

    /// The challenge, if this gate issued it for this subject, to this key, at this time.
    pub fn recognise(&self, challenge: &Nonce, subject: &str, key_sha256: &Digest, issued_at: Timestamp) -> Option<OwnChallenge> {
        let (unique, tag) = challenge.as_bytes().split_first_chunk::<HALF>()?;
        // Compared in constant time.
        self.over(unique, subject, key_sha256, issued_at).verify_truncated_left(tag).ok()?;
        Some(OwnChallenge { challenge: *challenge, subject: subject.to_owned(), key_sha256: *key_sha256, issued_at })
    }

    fn over(&self, unique: &[u8; HALF], subject: &str, key_sha256: &Digest, issued_at: Timestamp) -> Hmac<Sha256> {
        // Only the subject has no fixed length, so its length stands before it.
        let length = (subject.len() as u64).to_be_bytes();
        mac(&self.0)
            .chain_update(b"vidimus.challenge.v1\0")
            .chain_update(unique)
            .chain_update(length)
            .chain_update(subject)
            .chain_update(key_sha256.as_bytes())
            .chain_update(issued_at.as_ms().to_be_bytes())
    }
}

/// HMAC-SHA256 under a key of 32 bytes (RFC 2104).
pub(crate) fn mac(key: &[u8; 32]) -> Hmac<Sha256> {
    // HMAC fills a short key up with zeros to a block.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    Hmac::new(&block.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_recognised_for_what_it_was_issued_and_nothing_else() {
        let key = ChallengeKey::derive(&[7; 32]);
        let (holder, at) = (Digest::of(b"key"), Timestamp::MIN.plus_s(1));
        let challenge = key.issue([1; 16], "req_1", &holder, at);
        let own = key.recognise(&challenge, "req_1", &holder, at).expect("our own");
        assert_eq!((own.challenge(), own.subject(), own.key_sha256(), own.issued_at()), (&challenge, "req_1", &holder, at));
        assert_ne!(key.issue([2; 16], "req_1", &holder, at), challenge);
        assert_eq!(key.recognise(&challenge, "req_2", &holder, at), None);
        assert_eq!(key.recognise(&challenge, "req_1", &Digest::of(b"other"), at), None);
        assert_eq!(key.recognise(&challenge, "req_1", &holder, at.plus_ms(1)), None);
        assert_eq!(ChallengeKey::derive(&[8; 32]).recognise(&challenge, "req_1", &holder, at), None);
        for position in 0..32 {
            let mut bytes = *challenge.as_bytes();
            bytes[position] ^= 1;
            assert_eq!(key.recognise(&Nonce::from_bytes(bytes), "req_1", &holder, at), None, "byte {position}");
        }
    }

    /// The vector of docs/protocol.md.
    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let request = "req_00000000000000000000000000";
        let challenge = ChallengeKey::derive(&[1; 32]).issue([2; 16], request, &Digest::of(b"key"), Timestamp::MIN);
        assert_eq!(challenge.to_string(), "AgICAgICAgICAgICAgICAl82OuhJUddvfQODP2PXHUg");
    }
}
