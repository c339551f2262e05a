//! Which step runs, and how long each took.

use std::time::{Duration, Instant};

use crate::Stop;

/// The steps of one run.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    started: Instant,
    taken: Vec<(String, Duration)>,
}

impl Progress {
    /// Begins a run of so many steps.
    pub fn new(total: usize) -> Self {
        Self { total, started: Instant::now(), taken: Vec::new() }
    }

    /// Runs one step; `expected` says in words how long it may take.
    pub fn step<T>(&mut self, name: &str, expected: &str, work: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
        let number = self.taken.len() + 1;
        println!("\n[{number}/{}] {name} (expect {expected})", self.total);
        let began = Instant::now();
        let outcome = work();
        let took = began.elapsed();
        self.taken.push((name.to_owned(), took));
        match &outcome {
            Ok(_) => println!("[{number}/{}] {name}: done in {}, {} so far", self.total, words(took), words(self.started.elapsed())),
            Err(_) => println!("[{number}/{}] {name}: FAILED after {}", self.total, words(took)),
        }
        outcome.map_err(|stop| match stop {
            Stop::Unmet(message) => Stop::Unmet(message),
            Stop::Failed(message) => Stop::Failed(format!("step `{name}` failed: {message}")),
        })
    }

    /// Prints the time of each step.
    pub fn summary(&self) {
        println!();
        for (name, took) in &self.taken {
            println!("{:>12}  {name}", words(*took));
        }
        println!("{:>12}  in all", words(self.started.elapsed()));
    }
}

/// A duration in words.
fn words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, _) => format!("{:.1} s", duration.as_secs_f32()),
        (minutes, rest) => format!("{minutes} min {rest:02} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, words};
    use crate::Stop;
    use std::time::Duration;

    #[test]
    fn a_failing_step_is_named() {
        let mut progress = Progress::new(1);
        let outcome: Result<(), Stop> = progress.step("lint", "a second", || Err(Stop::Failed("no".to_owned())));
        assert!(matches!(outcome, Err(Stop::Failed(message)) if message == "step `lint` failed: no"));
    }

    #[test]
    fn durations_are_read_at_a_glance() {
        assert_eq!(words(Duration::from_millis(1200)), "1.2 s");
        assert_eq!(words(Duration::from_secs(125)), "2 min 05 s");
    }
}
