//! What was made of texts a moment ago. One decision reads its records and its signed approvals at every step of its way;
//! the same text leads to the same value, so each is made once. Where a text comes from does not matter: it is found again
//! by all of its bytes, and one that was altered is another text.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::decision::{self, DecisionStatement, VerifiedDecision};
use vidimus_core::dsse::Envelope;
use vidimus_core::record::AuditRecord;

use crate::gate::RosterState;
use crate::limits::{TEXT_KEPT_BYTES_MAX, TEXTS_KEPT_MAX};

/// Of all threads: a call goes through several of them, and what one has read the next one asks for.
static LEAVES: LazyLock<Mutex<Kept<AuditRecord>>> = LazyLock::new(|| Mutex::new(Kept::of(TEXTS_KEPT_MAX, TEXT_KEPT_BYTES_MAX)));
static STATEMENTS: LazyLock<Mutex<Kept<DecisionStatement>>> = LazyLock::new(|| Mutex::new(Kept::of(TEXTS_KEPT_MAX, TEXT_KEPT_BYTES_MAX)));
static DECISIONS: LazyLock<Mutex<Decisions>> = LazyLock::new(|| {
    let decisions = Kept::of(TEXTS_KEPT_MAX, TEXT_KEPT_BYTES_MAX);
    Mutex::new(Decisions { under: None, decisions })
});

/// Verified decisions, and the roster that they were verified under.
struct Decisions {
    under: Option<Digest>,
    decisions: Kept<VerifiedDecision>,
}

/// The record of this leaf.
pub(crate) fn record(leaf: &str) -> Result<Arc<AuditRecord>, Refusal> {
    read(&LEAVES, leaf, || AuditRecord::parse(leaf.as_bytes()))
}

/// What this decision says, whoever signed it.
pub(crate) fn unverified_statement(envelope: &Envelope) -> Result<Arc<DecisionStatement>, Refusal> {
    let payload = envelope.danger_unverified_payload();
    match std::str::from_utf8(payload) {
        Ok(text) => read(&STATEMENTS, text, || DecisionStatement::parse(payload)),
        Err(_) => DecisionStatement::parse(payload).map(Arc::new),
    }
}

/// What this text leads to, made once.
pub(crate) fn read<T>(kept: &Mutex<Kept<T>>, text: &str, make: impl FnOnce() -> Result<T, Refusal>) -> Result<Arc<T>, Refusal> {
    if let Some(known) = locked(kept).find(text) {
        return Ok(known);
    }
    let made = Arc::new(make()?);
    locked(kept).keep(text, &made);
    Ok(made)
}

/// The decision of this envelope, verified under this roster. What was verified under another one is forgotten.
pub(crate) fn verified_decision(envelope: &str, roster: &RosterState) -> Result<Arc<VerifiedDecision>, Refusal> {
    let under = roster.view.roster_sha256;
    if let Some(known) = verified_under(under).decisions.find(envelope) {
        return Ok(known);
    }
    let verified = Arc::new(decision::verify(&Envelope::parse(envelope.as_bytes())?, &roster.roster)?);
    // Asked anew: another thread may have come with another roster meanwhile.
    verified_under(under).decisions.keep(envelope, &verified);
    Ok(verified)
}

/// What was verified under this roster and no other.
fn verified_under(roster: Digest) -> MutexGuard<'static, Decisions> {
    let mut known = locked(&DECISIONS);
    if known.under != Some(roster) {
        known.under = Some(roster);
        known.decisions.forget();
    }
    known
}

/// Nothing that is kept is half made: each is put in place whole.
pub(crate) fn locked<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Values by their texts: those met last, and those met before.
pub(crate) struct Kept<T> {
    last: HashMap<Box<str>, Arc<T>>,
    before: HashMap<Box<str>, Arc<T>>,
    max: usize,
    bytes_max: usize,
}

impl<T> Kept<T> {
    /// Keeps this many texts, up to twice as many for a while, of at most so many bytes each.
    pub(crate) fn of(max: usize, bytes_max: usize) -> Kept<T> {
        Kept { last: HashMap::new(), before: HashMap::new(), max, bytes_max }
    }

    pub(crate) fn find(&mut self, text: &str) -> Option<Arc<T>> {
        if let Some(known) = self.last.get(text) {
            return Some(Arc::clone(known));
        }
        let (text, known) = self.before.remove_entry(text)?;
        self.put(text, &known);
        Some(known)
    }

    pub(crate) fn keep(&mut self, text: &str, value: &Arc<T>) {
        if text.len() <= self.bytes_max {
            self.put(text.into(), value);
        }
    }

    fn put(&mut self, text: Box<str>, value: &Arc<T>) {
        if self.last.len() >= self.max {
            self.before = std::mem::take(&mut self.last);
        }
        self.last.insert(text, Arc::clone(value));
    }

    fn forget(&mut self) {
        self.last.clear();
        self.before.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_lately_is_found_by_all_of_its_text_and_the_rest_is_forgotten() {
        let mut kept = Kept::of(TEXTS_KEPT_MAX, TEXT_KEPT_BYTES_MAX);
        for number in 0..10 * TEXTS_KEPT_MAX {
            kept.keep(&number.to_string(), &Arc::new(number));
            assert_eq!(kept.find("0").as_deref(), Some(&0), "met each time");
            assert!(kept.last.len() + kept.before.len() <= 2 * TEXTS_KEPT_MAX);
        }
        let newest = 10 * TEXTS_KEPT_MAX - 1;
        assert_eq!(kept.find(&newest.to_string()).as_deref(), Some(&newest));
        assert_eq!(kept.find(&format!("{newest} ")), None);
        assert_eq!(kept.find("1"), None);
        let large = "1".repeat(TEXT_KEPT_BYTES_MAX + 1);
        kept.keep(&large, &Arc::new(1));
        assert_eq!(kept.find(&large), None, "too large to be kept");
        kept.forget();
        assert_eq!(kept.find("0"), None);
    }

    #[test]
    fn one_thread_finds_what_another_has_read() {
        let leaf = "a leaf that only this test knows";
        let record = Arc::new(1);
        let kept = Arc::new(Mutex::new(Kept::of(1, TEXT_KEPT_BYTES_MAX)));
        let elsewhere = Arc::clone(&kept);
        let kept_there = Arc::clone(&record);
        std::thread::spawn(move || locked(&elsewhere).keep(leaf, &kept_there)).join().expect("the other thread ends");
        assert!(locked(&kept).find(leaf).is_some_and(|found| Arc::ptr_eq(&found, &record)));
    }

    #[test]
    fn a_leaf_that_is_none_is_refused_each_time() {
        for _ in 0..2 {
            assert!(record("{}").is_err());
        }
    }
}
