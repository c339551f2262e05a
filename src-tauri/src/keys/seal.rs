//! The blobs that the keyring holds: the approval key sealed under a PIN, and the device key.
//!
//! Both are versioned and bound to the profile, the gate and the use, so that a blob of another
//! profile, gate or use is refused instead of used.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{KeyError, Pin};
use crate::limits::{ARGON_MEMORY_KIB, ARGON_PASSES};

/// The 32 bytes of a signing key. Neither Debug nor Display; wiped when dropped.
pub type Seed = Zeroizing<[u8; 32]>;

const SEALED_MAGIC: &[u8; 8] = b"VDMKEY\0\x01";
const DEVICE_MAGIC: &[u8; 8] = b"VDMDEV\0\x01";
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const SEALED_BYTES: usize = 8 + SALT_BYTES + NONCE_BYTES + 32 + 16;
const DEVICE_BYTES: usize = 8 + 32 + 32;

/// What a blob is bound to besides the PIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    profile: [u8; 32],
    gate: String,
}

impl Binding {
    pub fn new(profile: &[u8; 32], gate: &str) -> Self {
        Self { profile: *profile, gate: gate.to_owned() }
    }

    /// The account name of a use of a key in the keyring.
    pub(super) fn account(&self, use_: &str) -> String {
        format!("{use_} key for {}", self.gate)
    }

    fn associated(&self, magic: &[u8; 8]) -> Vec<u8> {
        let mut bytes = magic.to_vec();
        bytes.extend_from_slice(&self.profile);
        bytes.extend_from_slice(self.gate.as_bytes());
        bytes
    }
}

/// The approval key under the PIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedKey(Vec<u8>);

impl SealedKey {
    /// Seals a key. `salt` and `nonce` are fresh random bytes.
    pub fn seal(seed: &Seed, pin: &Pin, binding: &Binding, salt: [u8; SALT_BYTES], nonce: [u8; NONCE_BYTES]) -> Self {
        let cipher = cipher_under(pin, &salt);
        let associated = binding.associated(SEALED_MAGIC);
        let payload = Payload { msg: seed.as_slice(), aad: &associated };
        // Encryption of 32 bytes in memory has no failing case.
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        let mut blob = SEALED_MAGIC.to_vec();
        blob.extend_from_slice(&salt);
        blob.extend_from_slice(&nonce);
        blob.extend_from_slice(&sealed);
        Self(blob)
    }

    /// Reads what the keyring returned.
    pub fn from_blob(blob: Vec<u8>) -> Result<Self, KeyError> {
        if blob.len() == SEALED_BYTES && blob.starts_with(SEALED_MAGIC) { Ok(Self(blob)) } else { Err(KeyError::Foreign) }
    }

    pub fn as_blob(&self) -> &[u8] {
        &self.0
    }

    /// The key, if the PIN is the one that sealed it for this profile and gate; nothing otherwise.
    pub fn open(&self, pin: &Pin, binding: &Binding) -> Option<Seed> {
        let (salt, rest) = self.0[8..].split_at(SALT_BYTES);
        let (nonce, sealed) = rest.split_at(NONCE_BYTES);
        let salt: [u8; SALT_BYTES] = salt.try_into().ok()?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        let associated = binding.associated(SEALED_MAGIC);
        let payload = Payload { msg: sealed, aad: &associated };
        let opened = Zeroizing::new(cipher_under(pin, &salt).decrypt(&XNonce::from(nonce), payload).ok()?);
        let mut seed = Zeroizing::new([0; 32]);
        if opened.len() != seed.len() {
            return None;
        }
        seed.copy_from_slice(&opened);
        Some(seed)
    }
}

fn cipher_under(pin: &Pin, salt: &[u8; SALT_BYTES]) -> XChaCha20Poly1305 {
    let mut key = Zeroizing::new([0; 32]);
    // The parameters are constants within the permitted ranges, so neither step can fail.
    if let Ok(params) = Params::new(ARGON_MEMORY_KIB, ARGON_PASSES, 1, Some(32)) {
        let derived = Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(pin.as_bytes(), salt, key.as_mut_slice());
        assert!(derived.is_ok(), "argon2id refused its constant parameters");
    }
    XChaCha20Poly1305::new(&Key::from(*key))
}

/// The device key as the keyring holds it: the seed and a check that binds it.
pub struct DeviceBlob(Zeroizing<Vec<u8>>);

impl DeviceBlob {
    pub fn new(seed: &Seed, binding: &Binding) -> Self {
        let mut blob = Zeroizing::new(DEVICE_MAGIC.to_vec());
        blob.extend_from_slice(seed.as_slice());
        blob.extend_from_slice(&device_check(seed.as_slice(), binding));
        Self(blob)
    }

    pub fn as_blob(&self) -> &[u8] {
        &self.0
    }

    /// The key in what the keyring returned.
    pub fn open(blob: Vec<u8>, binding: &Binding) -> Result<Seed, KeyError> {
        let blob = Zeroizing::new(blob);
        if blob.len() != DEVICE_BYTES || !blob.starts_with(DEVICE_MAGIC) {
            return Err(KeyError::Foreign);
        }
        let (bytes, check) = blob[8..].split_at(32);
        if device_check(bytes, binding) != check {
            return Err(KeyError::Foreign);
        }
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(bytes);
        Ok(seed)
    }
}

fn device_check(seed: &[u8], binding: &Binding) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(binding.associated(DEVICE_MAGIC));
    hash.update([0]);
    hash.update(seed);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        Binding::new(&[7; 32], "gate_one")
    }

    fn pin(text: &str) -> Pin {
        Pin::typed(text.to_owned())
    }

    fn sealed() -> SealedKey {
        SealedKey::seal(&Zeroizing::new([9; 32]), &pin("271828"), &binding(), [1; 16], [2; 24])
    }

    #[test]
    fn the_right_pin_opens_and_nothing_else_does() {
        let sealed = SealedKey::from_blob(sealed().as_blob().to_vec()).unwrap();
        assert_eq!(sealed.open(&pin("271828"), &binding()).map(|seed| *seed), Some([9; 32]));
        assert!(sealed.open(&pin("271829"), &binding()).is_none());
        assert!(sealed.open(&pin(""), &binding()).is_none());
        assert!(sealed.open(&pin("271828"), &Binding::new(&[7; 32], "gate_two")).is_none());
        assert!(sealed.open(&pin("271828"), &Binding::new(&[8; 32], "gate_one")).is_none());
    }

    #[test]
    fn a_changed_blob_does_not_open() {
        let blob = sealed().as_blob().to_vec();
        for at in [8, 24, 48, blob.len() - 1] {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert!(SealedKey::from_blob(changed).unwrap().open(&pin("271828"), &binding()).is_none(), "byte {at}");
        }
    }

    #[test]
    fn something_else_under_the_name_is_foreign() {
        let device = DeviceBlob::new(&Zeroizing::new([3; 32]), &binding());
        for blob in [vec![], vec![0; 32], sealed().as_blob()[1..].to_vec(), device.as_blob().to_vec()] {
            assert_eq!(SealedKey::from_blob(blob).unwrap_err(), KeyError::Foreign);
        }
    }

    #[test]
    fn a_device_key_belongs_to_one_profile_and_gate() {
        let blob = DeviceBlob::new(&Zeroizing::new([3; 32]), &binding()).as_blob().to_vec();
        assert_eq!(DeviceBlob::open(blob.clone(), &binding()).map(|seed| *seed), Ok([3; 32]));
        let other = Binding::new(&[7; 32], "gate_two");
        assert_eq!(DeviceBlob::open(blob.clone(), &other).err(), Some(KeyError::Foreign));
        assert_eq!(DeviceBlob::open(blob[..71].to_vec(), &binding()).err(), Some(KeyError::Foreign));
        assert_eq!(DeviceBlob::open(sealed().as_blob().to_vec(), &binding()).err(), Some(KeyError::Foreign));
    }
}
