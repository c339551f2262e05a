//! Frozen requests that were read a moment ago. One decision reads its request at every step of its way, and reading it
//! strictly means to write it anew and compare: the same text leads to the same request, so it is read once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use vidimus_core::code::Refusal;
use vidimus_core::frozen::FrozenRequest;

use crate::limits::{FROZEN_KEPT_BYTES_MAX, FROZEN_KEPT_MAX};

thread_local! {
    /// The newest first.
    static KEPT: RefCell<VecDeque<Arc<FrozenRequest>>> = const { RefCell::new(VecDeque::new()) };
}

/// The request of this text, whatever column it comes from: it is compared with what is kept, byte for byte.
pub(crate) fn read(text: &str) -> Result<Arc<FrozenRequest>, Refusal> {
    let bytes = text.as_bytes();
    let known = KEPT.with_borrow(|kept| kept.iter().find(|known| known.bytes() == bytes).cloned());
    match known {
        Some(known) => Ok(known),
        None => Ok(keep(FrozenRequest::parse(bytes)?)),
    }
}

/// Keeps a request for whoever reads its text next.
pub(crate) fn keep(frozen: FrozenRequest) -> Arc<FrozenRequest> {
    let frozen = Arc::new(frozen);
    if frozen.bytes().len() <= FROZEN_KEPT_BYTES_MAX {
        KEPT.with_borrow_mut(|kept| {
            kept.truncate(FROZEN_KEPT_MAX - 1);
            kept.push_front(Arc::clone(&frozen));
        });
    }
    frozen
}
