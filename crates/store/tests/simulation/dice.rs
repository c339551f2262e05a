//! Numbers from a seed: the same seed gives the same numbers everywhere.

use std::cell::Cell;

/// SplitMix64.
pub struct Dice(Cell<u64>);

impl Dice {
    pub fn of(seed: u64) -> Dice {
        // Neighbouring seeds must not give neighbouring courses.
        Dice(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D))
    }

    pub fn bits(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub fn throw(&self, sides: u64) -> u64 {
        self.bits() % sides
    }

    /// A number in `from..=to`.
    pub fn between(&self, from: u64, to: u64) -> u64 {
        from + self.throw(to - from + 1)
    }

    /// True in `parts` of a hundred.
    pub fn percent(&self, parts: u64) -> bool {
        self.throw(100) < parts
    }

    pub fn pick<'a, T>(&self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(usize::try_from(self.throw(of.len() as u64)).ok()?) }
    }

    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.as_chunks_mut::<8>().0 {
            *part = self.bits().to_be_bytes();
        }
        bytes
    }

    pub fn id(&self) -> [u8; 16] {
        let mut bits = [0; 16];
        bits.copy_from_slice(&self.bytes()[..16]);
        bits
    }
}
