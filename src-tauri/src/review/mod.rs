//! The request as an approver reviews it: what is shown, what was seen, what locks approving, the
//! value question, and the decision.
//!
//! It must not know a window system: `shell` serves its pages and forwards its commands.

pub mod acts;
pub mod card;
pub mod compare;
pub mod context;
pub mod decide;
#[cfg(test)]
mod exact_tests;
pub mod locks;
#[cfg(test)]
mod never_tests;
pub mod offsets;
pub mod page;
pub mod panels;
pub mod parts;
pub mod payee;
#[cfg(test)]
mod payee_tests;
pub mod permission;
pub mod question;
pub mod reason;
pub mod receipt;
pub mod roster_change;
pub mod sections;
pub mod signed_bytes;
pub mod state;
pub mod table_change;
#[cfg(test)]
mod tests;
pub mod views;
pub mod warnings;

use std::collections::BTreeSet;
use std::sync::Arc;

use card::Card;
use parts::Parts;
use question::Asked;

/// Which panel is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Panel {
    #[default]
    None,
    Approve,
    Deny,
    Retract,
    Revoke,
    MoreTime,
}

impl Panel {
    /// The panel that a page names; none for any other word.
    pub fn named(name: &str) -> Self {
        match name {
            "approve" => Self::Approve,
            "deny" => Self::Deny,
            "retract" => Self::Retract,
            "revoke" => Self::Revoke,
            "more-time" => Self::MoreTime,
            _ => Self::None,
        }
    }
}

/// What the gate says of the request's bytes when it is asked apart from the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GateSays {
    #[default]
    NotAsked,
    Same,
    /// It holds bytes of another digest.
    Differs(String),
}

/// A decision that is recorded, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownReceipt {
    pub heading: String,
    pub lines: Vec<String>,
}

/// One review window. What was seen belongs to the window; wrong answers belong to the request.
pub struct Review {
    pub card: Arc<Card>,
    pub parts: Parts,
    pub nonce: String,
    pub open: bool,
    pub served_pages: BTreeSet<usize>,
    pub seen: BTreeSet<usize>,
    pub focused_since_ms: Option<i64>,
    pub panel_since_ms: i64,
    pub panel: Panel,
    pub question: Option<Asked>,
    pub wrong_answers: u32,
    pub answer_wait_until_ms: i64,
    pub gate_says: GateSays,
    pub in_flight: bool,
    /// Until when a decision that was sent and never answered may still arrive.
    pub unconfirmed_until_ms: Option<i64>,
    pub progress: Vec<String>,
    pub receipt: Option<ShownReceipt>,
    /// What was recorded last and leaves the request open.
    pub notice: String,
}

impl Review {
    pub fn new(card: Card, nonce: String, now_ms: i64) -> Self {
        let card = Arc::new(card);
        let parts = Parts::of(&card);
        Self {
            parts,
            card,
            nonce,
            open: true,
            served_pages: BTreeSet::new(),
            seen: BTreeSet::new(),
            focused_since_ms: None,
            panel_since_ms: now_ms,
            panel: Panel::None,
            question: None,
            wrong_answers: 0,
            answer_wait_until_ms: 0,
            gate_says: GateSays::NotAsked,
            in_flight: false,
            unconfirmed_until_ms: None,
            progress: Vec::new(),
            receipt: None,
            notice: String::new(),
        }
    }

    /// Opened again: nothing was seen in the new window; wrong answers, and what was sent, are not forgotten.
    pub fn reopen(&mut self, card: Card, nonce: String, now_ms: i64) {
        let (wrong_answers, answer_wait_until_ms) = (self.wrong_answers, self.answer_wait_until_ms);
        let gate_says = self.gate_says.clone();
        let unconfirmed_until_ms = self.unconfirmed_until_ms;
        *self = Self { wrong_answers, answer_wait_until_ms, gate_says, unconfirmed_until_ms, ..Self::new(card, nonce, now_ms) };
    }

    /// Marks parts as seen. Only parts of pages that were served count.
    pub fn mark_seen(&mut self, parts: &[usize]) {
        for &number in parts {
            if self.parts.page_of(number).is_some_and(|page| self.served_pages.contains(&page)) {
                self.seen.insert(number);
            }
        }
    }

    /// Parts not seen yet, with the page each is on.
    pub fn unseen(&self) -> Vec<(usize, usize)> {
        self.parts.all().filter(|(number, _)| !self.seen.contains(number)).collect()
    }
}
