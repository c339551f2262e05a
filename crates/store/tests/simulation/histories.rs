//! The invariants can fail: for each of them a history that holds, made by hand, and the one change that breaks it.

mod bytes;
mod effects;
mod ends;
mod making;
mod people;
mod roster;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::house::House;

/// An invariant's name, and a history that breaks it where it is told to.
type History = (&'static str, fn(&Rc<House>, bool));

fn all() -> Vec<History> {
    [effects::HISTORIES, people::HISTORIES, roster::HISTORIES, bytes::HISTORIES, ends::HISTORIES].concat()
}

const SOURCES: &[&str] = &[
    include_str!("invariants/bytes.rs"),
    include_str!("invariants/effects.rs"),
    include_str!("invariants/ends.rs"),
    include_str!("invariants/people.rs"),
    include_str!("invariants/roster.rs"),
    include_str!("invariants/told.rs"),
];

/// The names that stand in a text after this.
fn names_after<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let name_of = |rest: &'a str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    text.match_indices(before).map(|(at, _)| name_of(&text[at + before.len() - "invariant_".len()..])).collect()
}

#[test]
fn every_invariant_holds_in_a_good_history_and_is_broken_by_a_bad_one() {
    let house = Rc::new(House::build());
    for (name, history) in all() {
        history(&house, false);
        let broken = catch_unwind(AssertUnwindSafe(|| history(&house, true)));
        let words = broken.expect_err(&format!("{name} holds in a history that breaks it"));
        let words = words.downcast_ref::<String>().expect("words");
        assert!(words.starts_with(&format!("{name}:")), "{name} is not what is broken: {words}");
    }
}

#[test]
fn every_invariant_is_listed_under_its_promise_and_has_a_bad_history() {
    let defined: BTreeSet<&str> = SOURCES.iter().flat_map(|source| names_after(source, "pub fn invariant_")).collect();
    let listed = names_after(include_str!("invariants.rs"), "`invariant_");
    let broken: BTreeSet<&str> = all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(defined, listed, "the list at the head of `invariants`");
    assert_eq!(defined, broken, "the histories");
    assert!(defined.len() > 30, "{}", defined.len());
}
