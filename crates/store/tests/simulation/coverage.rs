//! What was reached, and how often: a simulation in which nothing happens would prove nothing. `expected.txt` has a quarter of what
//! a run reaches, and less of what is rare, so that whoever makes something rarer by far, or impossible, hears of it.

use std::collections::BTreeMap;

/// What the numbers of `expected.txt` are for. *Unit*: seeds.
const SEEDS: u64 = 10_000;

#[derive(Default, Clone)]
pub struct Coverage(BTreeMap<String, u64>);

impl Coverage {
    pub fn reach(&mut self, event: &str) {
        match self.0.get_mut(event) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(event.to_owned(), 1)),
        }
    }

    pub fn add(&mut self, other: &Coverage) {
        for (event, count) in &other.0 {
            *self.0.entry(event.clone()).or_default() += count;
        }
    }

    pub fn of(&self, event: &str) -> u64 {
        self.0.get(event).copied().unwrap_or_default()
    }

    pub fn print(&self) {
        for (event, count) in &self.0 {
            println!("{count:>10}  {event}");
        }
    }

    /// Those of these events that happened too seldom in so many seeds: less than it says before each, for [`SEEDS`] of them.
    pub fn too_seldom(&self, events: &str, seeds: u64) -> Vec<String> {
        let lines = events.lines().map(str::trim).filter(|line| !line.is_empty());
        let seldom = lines.filter_map(|line| {
            let (times, event) = line.split_once("  ").expect("a number, two spaces and an event");
            let times: u64 = times.parse().expect("a number");
            let (least, found) = ((times * seeds / SEEDS).max(1), self.of(event));
            (found < least).then(|| format!("{event}: {found} times, {least} at least"))
        });
        seldom.collect()
    }
}
