//! What the demo leaves behind: one object a line, and what it says to whoever watches.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::clock;

/// The transcript. Every line has `kind` and `at`.
pub struct Transcript {
    file: Mutex<File>,
    began: Instant,
}

impl Transcript {
    /// Begins a transcript in this file.
    ///
    /// *Errors*: the file cannot be made.
    pub fn begin(path: &Path) -> io::Result<Transcript> {
        Ok(Transcript { file: Mutex::new(File::create(path)?), began: Instant::now() })
    }

    /// Writes a line: `details` is an object, to which kind and time are added.
    ///
    /// *Errors*: the file cannot be written.
    pub fn line(&self, kind: &str, details: Value) -> io::Result<()> {
        self.line_at(kind, &clock::now().to_string(), details)
    }

    /// Writes a line about something that happened at a time on record.
    ///
    /// *Errors*: the file cannot be written.
    pub fn line_at(&self, kind: &str, at: &str, details: Value) -> io::Result<()> {
        let mut line = json!({ "kind": kind, "at": at });
        if let (Value::Object(line), Value::Object(details)) = (&mut line, details) {
            line.extend(details);
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{line}")
    }

    /// Says a sentence to whoever watches, with the seconds since the start.
    pub fn say(&self, sentence: &str) {
        println!("[{:>6.1} s] {sentence}", self.began.elapsed().as_secs_f64());
    }
}
