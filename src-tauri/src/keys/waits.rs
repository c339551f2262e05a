//! The wait after a wrong PIN: kept on disk before a PIN is tried, so that ending the program does
//! not give a free try.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::KeyError;
use crate::limits::{PIN_WAIT_FIRST_S, PIN_WAIT_MAX_S};
use crate::profile::write_whole;

/// Wrong PINs in a row, and when the next try is possible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitState {
    failures: u32,
    until_ms: i64,
}

impl WaitState {
    /// When the next try is possible, if it is not possible now. A clock that was set back does not
    /// make the wait longer than the longest one.
    pub fn waiting_until(self, now_ms: i64) -> Option<i64> {
        let latest = now_ms.saturating_add(milliseconds(PIN_WAIT_MAX_S));
        let until = self.until_ms.min(latest);
        (now_ms < until).then_some(until)
    }

    /// The state after one more wrong PIN.
    #[must_use]
    pub fn after_failure(self, now_ms: i64) -> Self {
        let doubled = PIN_WAIT_FIRST_S.saturating_mul(1_u64.checked_shl(self.failures).unwrap_or(u64::MAX));
        let wait_s = doubled.min(PIN_WAIT_MAX_S);
        Self { failures: self.failures.saturating_add(1), until_ms: now_ms.saturating_add(milliseconds(wait_s)) }
    }
}

fn milliseconds(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// The waits of one profile.
#[derive(Debug, Clone)]
pub struct PinWaits {
    file: PathBuf,
}

impl PinWaits {
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Runs one try of a PIN: refused while a wait lasts, counted as wrong before it is made, and
    /// forgiven when it was right.
    pub fn attempt<T>(&self, now_ms: i64, unlock: impl FnOnce() -> Option<T>) -> Result<T, KeyError> {
        let state = self.load();
        if let Some(until_ms) = state.waiting_until(now_ms) {
            return Err(KeyError::PinWait { until_ms });
        }
        let failed = state.after_failure(now_ms);
        self.store(failed)?;
        match unlock() {
            Some(unlocked) => {
                self.store(WaitState::default())?;
                Ok(unlocked)
            }
            None => Err(KeyError::WrongPin { until_ms: failed.until_ms }),
        }
    }

    /// A file that cannot be read as written by us counts as one failure, not as none.
    fn load(&self) -> WaitState {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(WaitState { failures: 1, until_ms: 0 }),
            Err(_) => WaitState::default(),
        }
    }

    fn store(&self, state: WaitState) -> Result<(), KeyError> {
        let bytes = serde_json::to_vec(&state).map_err(|_| KeyError::WaitsUnwritable)?;
        write_whole(&self.file, &bytes).map_err(|_| KeyError::WaitsUnwritable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut state = WaitState::default();
        let mut waits = Vec::new();
        for _ in 0..12 {
            state = state.after_failure(0);
            waits.push(state.until_ms / 1000);
        }
        assert_eq!(waits[..4], [10, 20, 40, 80]);
        assert_eq!(waits[11], 3600);
        assert_eq!(WaitState { failures: 200, until_ms: 0 }.after_failure(0).until_ms, 3_600_000);
    }

    #[test]
    fn a_wait_survives_a_restart_and_a_right_pin_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let waits = || PinWaits::at(directory.path().join("pin-waits.json"));
        assert_eq!(waits().attempt(0, || None::<()>), Err(KeyError::WrongPin { until_ms: 10_000 }));
        assert_eq!(waits().attempt(9_999, || Some(())), Err(KeyError::PinWait { until_ms: 10_000 }));
        assert_eq!(waits().attempt(10_000, || None::<()>), Err(KeyError::WrongPin { until_ms: 30_000 }));
        assert_eq!(waits().attempt(30_000, || Some(1)), Ok(1));
        assert_eq!(waits().attempt(30_001, || None::<()>), Err(KeyError::WrongPin { until_ms: 40_001 }));
    }

    #[test]
    fn a_try_that_does_not_end_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let waits = PinWaits::at(directory.path().join("pin-waits.json"));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waits.attempt(0, || -> Option<()> { panic!("killed") })));
        assert!(ended.is_err());
        assert_eq!(waits.attempt(1, || Some(())), Err(KeyError::PinWait { until_ms: 10_000 }));
    }

    #[test]
    fn a_clock_set_back_does_not_lock_out_for_longer_than_the_longest_wait() {
        let state = WaitState { failures: 1, until_ms: 1_000_000_000 };
        assert_eq!(state.waiting_until(0), Some(3_600_000));
    }

    #[test]
    fn no_pin_is_tried_when_the_wait_cannot_be_kept() {
        let waits = PinWaits::at(PathBuf::from("/nonexistent/pin-waits.json"));
        assert_eq!(waits.attempt(0, || -> Option<()> { panic!("tried") }), Err(KeyError::WaitsUnwritable));
    }
}
