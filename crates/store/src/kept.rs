//! What was made of texts a moment ago. One decision reads its records and its signed approvals at every step of its way;
//! the same text leads to the same value, so each is made once. Where a text comes from does not matter: it is found again
//! by all of its bytes, and one that was altered is another text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::LocalKey;

use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::decision::{self, VerifiedDecision};
use vidimus_core::dsse::Envelope;
use vidimus_core::record::AuditRecord;

use crate::gate::RosterState;
use crate::limits::{TEXT_KEPT_BYTES_MAX, TEXTS_KEPT_MAX};

thread_local! {
    static LEAVES: RefCell<Kept<AuditRecord>> = RefCell::default();
    static DECISIONS: RefCell<(Option<Digest>, Kept<VerifiedDecision>)> = RefCell::default();
}

/// The record of this leaf.
pub(crate) fn record(leaf: &str) -> Result<Arc<AuditRecord>, Refusal> {
    read(&LEAVES, leaf, |leaves| leaves, || AuditRecord::parse(leaf.as_bytes()))
}

/// The decision of this envelope, verified under this roster. What was verified under another one is forgotten.
pub(crate) fn verified_decision(envelope: &str, roster: &RosterState) -> Result<Arc<VerifiedDecision>, Refusal> {
    let under = Some(roster.view.roster_sha256);
    DECISIONS.with_borrow_mut(|(known, kept)| {
        if *known != under {
            (*known, *kept) = (under, Kept::default());
        }
    });
    read(&DECISIONS, envelope, |(_, kept)| kept, || decision::verify(&Envelope::parse(envelope.as_bytes())?, &roster.roster))
}

fn read<S, T>(
    place: &'static LocalKey<RefCell<S>>,
    text: &str,
    kept: fn(&mut S) -> &mut Kept<T>,
    make: impl FnOnce() -> Result<T, Refusal>,
) -> Result<Arc<T>, Refusal> {
    if let Some(known) = place.with_borrow_mut(|state| kept(state).find(text)) {
        return Ok(known);
    }
    let made = Arc::new(make()?);
    if text.len() <= TEXT_KEPT_BYTES_MAX {
        place.with_borrow_mut(|state| kept(state).keep(text.into(), &made));
    }
    Ok(made)
}

/// Values by their texts: those met last, and those met before.
struct Kept<T> {
    last: HashMap<Box<str>, Arc<T>>,
    before: HashMap<Box<str>, Arc<T>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { last: HashMap::new(), before: HashMap::new() }
    }
}

impl<T> Kept<T> {
    fn find(&mut self, text: &str) -> Option<Arc<T>> {
        if let Some(known) = self.last.get(text) {
            return Some(Arc::clone(known));
        }
        let (text, known) = self.before.remove_entry(text)?;
        self.keep(text, &known);
        Some(known)
    }

    fn keep(&mut self, text: Box<str>, value: &Arc<T>) {
        if self.last.len() >= TEXTS_KEPT_MAX {
            self.before = std::mem::take(&mut self.last);
        }
        self.last.insert(text, Arc::clone(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_lately_is_found_by_all_of_its_text_and_the_rest_is_forgotten() {
        let mut kept = Kept::default();
        let text = |number: usize| number.to_string().into_boxed_str();
        for number in 0..10 * TEXTS_KEPT_MAX {
            kept.keep(text(number), &Arc::new(number));
            assert_eq!(kept.find("0").as_deref(), Some(&0), "met each time");
            assert!(kept.last.len() + kept.before.len() <= 2 * TEXTS_KEPT_MAX);
        }
        let newest = 10 * TEXTS_KEPT_MAX - 1;
        assert_eq!(kept.find(&text(newest)).as_deref(), Some(&newest));
        assert_eq!(kept.find(&format!("{newest} ")), None);
        assert_eq!(kept.find("1"), None);
    }

    #[test]
    fn a_leaf_that_is_none_is_refused_each_time() {
        for _ in 0..2 {
            assert!(record("{}").is_err());
        }
    }
}
