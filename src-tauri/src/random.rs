//! The one place that asks the system for random bytes.

use zeroize::Zeroizing;

use crate::keys::Seed;

/// Random bytes from the system.
///
/// # Panics
/// When the system has none: nothing here may go on with a guessable key or nonce.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    assert!(filled.is_ok(), "the system gives no random bytes");
    bytes
}

/// The bytes of a new key.
pub fn seed() -> Seed {
    Zeroizing::new(bytes())
}

/// A word that a page proves itself with, once.
pub fn page_nonce() -> String {
    bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}
