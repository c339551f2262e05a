//! One PIN entry serves for some minutes, for anything that is not irreversible.

use super::Seed;
use crate::limits::PIN_SESSION_S;

/// The approval key while a PIN entry serves. Wiped at its end, at screen lock and at exit.
#[derive(Default)]
pub struct PinSession {
    held: Option<(Seed, i64)>,
}

impl PinSession {
    /// Begins a session with a key that a PIN has just unlocked.
    pub fn begin(&mut self, seed: Seed, now_ms: i64) {
        self.held = Some((seed, now_ms));
    }

    /// Ends the session: the screen was locked, the key was stopped, or the time is over.
    pub fn end(&mut self) {
        self.held = None;
    }

    /// The key, while the session lasts. A clock that was set back ends it.
    pub fn seed(&mut self, now_ms: i64) -> Option<&Seed> {
        let lasts_ms = i64::try_from(PIN_SESSION_S * 1000).unwrap_or(0);
        if let Some((_, begun_ms)) = self.held
            && !(0..lasts_ms).contains(&(now_ms - begun_ms))
        {
            self.held = None;
        }
        self.held.as_ref().map(|(seed, _)| seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    #[test]
    fn a_session_ends_after_its_minutes_or_when_told() {
        let mut session = PinSession::default();
        assert!(session.seed(0).is_none());
        session.begin(Zeroizing::new([1; 32]), 1_000);
        assert!(session.seed(1_000 + 899_999).is_some());
        assert!(session.seed(1_000 + 900_000).is_none());
        assert!(session.seed(1_001).is_none(), "an ended session does not come back");
        session.begin(Zeroizing::new([1; 32]), 1_000);
        assert!(session.seed(999).is_none(), "the clock went back");
        session.begin(Zeroizing::new([1; 32]), 1_000);
        session.end();
        assert!(session.seed(1_001).is_none());
    }
}
