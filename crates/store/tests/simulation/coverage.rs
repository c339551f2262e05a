//! What was reached, and how often: a simulation in which nothing happens would prove nothing.

use std::collections::BTreeMap;

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

    /// Those of these events that never happened.
    pub fn missing<'a>(&self, events: &'a str) -> Vec<&'a str> {
        events.lines().map(str::trim).filter(|event| !event.is_empty() && self.of(event) == 0).collect()
    }
}
