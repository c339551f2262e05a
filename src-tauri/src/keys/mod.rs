//! This desktop's two keys: made here, kept in the system keyring, the approval key under a PIN.
//!
//! Owns key material. It must not know requests, windows or the gate's answers.

mod pin;
mod ring;
mod seal;
mod session;
mod waits;

pub use pin::{Pin, PinFault};
pub use ring::{Keyring, asked};
pub use seal::{Binding, DeviceBlob, SealedKey, Seed};
pub use session::PinSession;
pub use waits::{PinWaits, WaitState};

/// Why a key could not be used. Each has its own words on the screen, see `errors`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No keyring service answers.
    #[error("no system keyring is running")]
    NoService,
    /// The keyring is locked and was not unlocked.
    #[error("the keyring is locked")]
    Locked,
    /// The unlock dialog was closed, or nobody answered it in time.
    #[error("the unlock window was closed")]
    UnlockDismissed,
    /// There is no such key in the keyring any more.
    #[error("the key is not in the keyring")]
    Missing,
    /// What the keyring holds under this name was not made by this console for this gate.
    #[error("the keyring holds something else under the name of the key")]
    Foreign,
    /// A key is there already, and is never overwritten silently.
    #[error("the keyring holds a key for this gate already")]
    Present,
    /// Another PIN sealed this key. The next try is possible from `until_ms`.
    #[error("the PIN is wrong")]
    WrongPin { until_ms: i64 },
    /// Too early after a wrong PIN.
    #[error("the next try is not possible yet")]
    PinWait { until_ms: i64 },
    /// The wait after a wrong PIN cannot be written down, so no PIN is tried.
    #[error("the wait after a wrong PIN cannot be kept")]
    WaitsUnwritable,
}
