//! The window in which a person answers what became of an operation: what is shown, what was seen, what is typed, and the
//! signed answer.
//!
//! It must not know a window system: `shell` serves its pages and forwards its commands.

pub mod attach;
pub mod form;
pub mod page;
pub mod sign;
pub mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use vidimus_core::evidence::EvidenceFile;

use crate::desk::Matter;
use crate::review::Review;
use crate::review::card::Card;

/// One open window. Its reading is that of a review window: the same parts, each on screen once.
pub struct Answering {
    pub reading: Review,
    pub operation: String,
    pub form_open: bool,
    pub files: Vec<EvidenceFile>,
    /// From when on it can be said that nothing happened, as the gate says.
    pub settles_at_ms: Option<i64>,
}

impl Answering {
    pub fn new(matter: &Matter, nonce: String, now_ms: i64) -> Self {
        let card: Card = (*matter.card).clone();
        Self {
            reading: Review::new(card, nonce, now_ms),
            operation: matter.row.operation.clone(),
            form_open: false,
            files: Vec::new(),
            settles_at_ms: None,
        }
    }

    pub fn card(&self) -> &Arc<Card> {
        &self.reading.card
    }
}
