//! The log on the wire: records in their order, each batch followed by its signed checkpoint.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Salt};

/// The data of an event `record`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordEvent {
    /// The record's position, from 0, without gaps.
    pub position: u64,
    /// The leaf: canonical bytes as text.
    pub leaf: String,
    /// The salt of the body's digest; none where this session may not see the body.
    pub salt: Option<Salt>,
    /// The body's bytes as text; none where this session may not see it.
    pub body: Option<String>,
}

/// The data of an event `checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointEvent {
    /// The signed note.
    pub note: String,
}

/// One event of `GET /v1/log/stream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// A record.
    Record(RecordEvent),
    /// The checkpoint after a batch.
    Checkpoint(CheckpointEvent),
}

/// The answer of `GET /v1/table`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableAnswer {
    /// The text of the table's file.
    pub table: String,
    /// The digest that was signed.
    pub table_sha256: Digest,
}

/// The answer of `GET /v1/roster`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterAnswer {
    /// The roster in force, in canonical form.
    pub roster: String,
    /// Its digest.
    pub roster_sha256: Digest,
}
