//! Frozen requests that were read a moment ago. One decision reads its request at every step of its way, and reading it
//! strictly means to write it anew and compare: the same text leads to the same request, so it is read once.

use std::sync::{Arc, LazyLock, Mutex};

use vidimus_core::code::Refusal;
use vidimus_core::frozen::FrozenRequest;

use crate::kept::{self, Kept, locked};
use crate::limits::{FROZEN_KEPT_BYTES_MAX, FROZEN_KEPT_MAX};

static KEPT: LazyLock<Mutex<Kept<FrozenRequest>>> = LazyLock::new(|| Mutex::new(Kept::of(FROZEN_KEPT_MAX, FROZEN_KEPT_BYTES_MAX)));

/// The request of this text, whatever column it comes from: it is found again by all of its bytes.
///
/// *Errors*: those of [`FrozenRequest::parse`].
pub fn read(text: &str) -> Result<Arc<FrozenRequest>, Refusal> {
    kept::read(&KEPT, text, || FrozenRequest::parse(text.as_bytes()))
}

/// Keeps a request under its text for whoever reads that next.
pub(crate) fn keep(text: &str, frozen: FrozenRequest) -> Arc<FrozenRequest> {
    let frozen = Arc::new(frozen);
    locked(&KEPT).keep(text, &frozen);
    frozen
}
