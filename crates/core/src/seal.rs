//! The seal of the ledger: what the gate says of the end of its log and of its clock whenever it commits. Whoever can write the
//! database cannot make one, so nothing that was put behind the last signed head is taken for the gate's own.
//!
//! Owns the bytes and the key; the head and the time are arguments.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::bytes::Digest;
use crate::challenge::mac;
use crate::time::Timestamp;

/// The gate's secret for its seals. It has no spelling.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

/// What a seal is over: how far the log reaches, and the time that the ledger has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    /// Records in the log.
    pub size: u64,
    /// The root of their tree.
    pub root: Digest,
    /// The last recorded time.
    pub now: Timestamp,
}

impl SealKey {
    /// The key that belongs to a secret seed of the gate: another one for another seed, the same after every start.
    pub fn derive(seed: &[u8; 32]) -> SealKey {
        SealKey(mac(seed).chain_update(b"vidimus.ledger.seal.key.v1").finalize().into_bytes().into())
    }

    /// HMAC-SHA-256 over `vidimus.ledger.seal.v1`, the size, the root and the time.
    pub fn seal(&self, sealed: &Sealed) -> [u8; 32] {
        self.over(sealed).finalize().into_bytes().into()
    }

    /// Whether this gate made the seal over exactly this. Compared in constant time.
    pub fn holds(&self, sealed: &Sealed, seal: &[u8]) -> bool {
        self.over(sealed).verify_slice(seal).is_ok()
    }

    fn over(&self, sealed: &Sealed) -> Hmac<Sha256> {
        // Each part has a fixed length.
        mac(&self.0)
            .chain_update(b"vidimus.ledger.seal.v1\0")
            .chain_update(sealed.size.to_be_bytes())
            .chain_update(sealed.root.as_bytes())
            .chain_update(sealed.now.as_ms().to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_holds_for_what_it_was_made_over_and_nothing_else() {
        let key = SealKey::derive(&[7; 32]);
        let sealed = Sealed { size: 3, root: Digest::of(b"root"), now: Timestamp::MIN.plus_s(1) };
        let seal = key.seal(&sealed);
        assert!(key.holds(&sealed, &seal));
        for other in [
            Sealed { size: 4, ..sealed },
            Sealed { root: Digest::of(b"another root"), ..sealed },
            Sealed { now: sealed.now.plus_ms(1), ..sealed },
        ] {
            assert!(!key.holds(&other, &seal), "{other:?}");
        }
        assert!(!SealKey::derive(&[8; 32]).holds(&sealed, &seal));
        assert!(!key.holds(&sealed, &seal[..31]) && !key.holds(&sealed, &[]));
        for position in 0..32 {
            let mut flipped = seal;
            flipped[position] ^= 1;
            assert!(!key.holds(&sealed, &flipped), "byte {position}");
        }
    }

    /// The vector of docs/protocol.md.
    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let sealed = Sealed { size: 1, root: Digest::of(b"root"), now: Timestamp::MIN };
        let seal = SealKey::derive(&[1; 32]).seal(&sealed);
        assert_eq!(crate::bytes::hex_encode(seal), "bbb4b947e1d25ce197d720a65cd551e4f8a88e2b66eb44bd0650295f4b23ec8e");
    }
}
