//! Ed25519 keys and signatures, in strict form only.
//!
//! Plain verification accepts low-order keys and signatures that verify for every message; nothing here offers it.
//! No randomness: a seed is an argument.
//!
//! *Source*: RFC 8032 section 5.1, with the stricter rules of `verify_strict`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};

use crate::bytes::{Digest, base64_decode, base64_encode, base64url_decode, base64url_encode, hex_decode, hex_encode, serde_as_text};
use crate::code::{Code, Refusal};

/// A public key that is a canonical point of full order, written as base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// The key of these 32 bytes.
    ///
    /// *Errors*: `key_malformed` for bytes that are no point or not its canonical encoding, `key_weak` for a point of low
    /// order, for which anyone can make signatures.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<PublicKey, Refusal> {
        let malformed = || Refusal::new(Code::KeyMalformed, "a public key is not a canonical Ed25519 point; make a new key");
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| malformed())?;
        if key.is_weak() {
            return Err(Refusal::new(Code::KeyWeak, "a public key has low order, anyone can sign for it; make a new key"));
        }
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err(malformed());
        }
        Ok(PublicKey(key))
    }

    /// The 32 bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// SHA-256 of the 32 bytes: how other documents name the key.
    pub fn digest(&self) -> Digest {
        Digest::of(self.as_bytes())
    }

    /// Whether this key signed this message.
    ///
    /// *Errors*: `signature_invalid`.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Refusal> {
        self.0.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature.0)).map_err(|_| {
            Refusal::new(
                Code::SignatureInvalid,
                format!("a signature is not by the key `{}`; sign these bytes with that key", self.digest()),
            )
        })
    }
}

impl Hash for PublicKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialOrd for PublicKey {
    fn partial_cmp(&self, other: &PublicKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PublicKey {
    fn cmp(&self, other: &PublicKey) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url_encode(self.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<PublicKey, Refusal> {
        let bytes: [u8; 32] = base64url_decode(text)
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Refusal::new(Code::KeyMalformed, "a public key is not 32 bytes of unpadded base64url; copy it whole"))?;
        PublicKey::from_bytes(&bytes)
    }
}

serde_as_text!(PublicKey);

/// A secret key. It has no spelling, and its memory is wiped when it is dropped.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key of a 32-byte seed, which the caller took from the system's random source and wipes itself.
    pub fn from_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(seed))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        // A key made from a seed is the base point times a clamped scalar: canonical and of full order by construction.
        PublicKey(self.0.verifying_key())
    }

    /// Signs the message.
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

/// A signature, not verified yet. Written as padded base64 (DSSE) or as lowercase hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature([u8; 64]);

impl Signature {
    /// The signature of these bytes.
    pub const fn from_bytes(bytes: [u8; 64]) -> Signature {
        Signature(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// The signature in padded base64.
    pub fn to_base64(&self) -> String {
        base64_encode(self.0)
    }

    /// Reads padded base64.
    ///
    /// *Errors*: `signature_malformed`.
    pub fn from_base64(text: &str) -> Result<Signature, Refusal> {
        Signature::from_decoded(base64_decode(text).ok())
    }

    /// The signature in lowercase hexadecimal.
    pub fn to_hex(&self) -> String {
        hex_encode(self.0)
    }

    /// Reads lowercase hexadecimal.
    ///
    /// *Errors*: `signature_malformed`.
    pub fn from_hex(text: &str) -> Result<Signature, Refusal> {
        Signature::from_decoded(hex_decode(text))
    }

    fn from_decoded(bytes: Option<Vec<u8>>) -> Result<Signature, Refusal> {
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Signature)
            .ok_or_else(|| Refusal::new(Code::SignatureMalformed, "a signature is not 64 bytes in its strict spelling; copy it whole"))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base64())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

impl FromStr for Signature {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Signature, Refusal> {
        Signature::from_base64(text)
    }
}

serde_as_text!(Signature);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_verifies_for_its_own_message_and_key_only() {
        let secret = SecretKey::from_seed(&[7; 32]);
        let signature = secret.sign(b"message");
        assert_eq!(secret.public().verify(b"message", &signature), Ok(()));
        let other = SecretKey::from_seed(&[8; 32]).public();
        for refused in [secret.public().verify(b"messagf", &signature), other.verify(b"message", &signature)] {
            assert_eq!(refused.expect_err("another message or key").code, Code::SignatureInvalid);
        }
        assert_eq!(Signature::from_hex(&signature.to_hex()), Ok(signature));
        assert_eq!(Signature::from_base64(&signature.to_base64()), Ok(signature));
        assert_eq!(Signature::from_base64("aaaa").expect_err("too short").code, Code::SignatureMalformed);
    }

    #[test]
    fn a_key_has_one_spelling_and_never_low_order() {
        let key = SecretKey::from_seed(&[7; 32]).public();
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(format!("{key}=").parse::<PublicKey>().expect_err("padded").code, Code::KeyMalformed);

        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert_eq!(PublicKey::from_bytes(&neutral).expect_err("the neutral element").code, Code::KeyWeak);

        // y = p + 3 is the same point as y = 3, written a second way.
        let mut second_spelling = [0xff; 32];
        second_spelling[0] = 0xf0;
        second_spelling[31] = 0x7f;
        assert_eq!(PublicKey::from_bytes(&second_spelling).expect_err("not canonical").code, Code::KeyMalformed);
        let mut first_spelling = [0; 32];
        first_spelling[0] = 3;
        assert!(PublicKey::from_bytes(&first_spelling).is_ok());
    }
}
