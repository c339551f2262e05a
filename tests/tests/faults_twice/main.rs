//! Faults seen elsewhere: what ran twice, who lost a race and was told otherwise, what was lost on the way. Crashes at every
//! point, orphaned rows and wedged ones among them, are in the torture.

mod changed;
mod delivery;
mod execution;
#[path = "../faults/mod.rs"]
mod faults;
mod moments;
mod races;
mod recovery;
mod rush;
mod writes;

const ROLE: &str = "billing-approver";

/// Rounds of a race: as many as the fault was seen in, where time was given.
fn rounds(few: usize, all: usize) -> usize {
    if std::env::var_os("VIDIMUS_LONG").is_some() { all } else { few }
}
