//! The local verified copy of the log: leaves, bodies, the frontier of the tree, the newest verified
//! checkpoint, and what is projected from them.
//!
//! Owns the SQLite file. It must not know the network, the keyring or a window. It refuses a log that
//! shrinks or forks, keeps the evidence, and stays broken. A head that the pinned key did not sign raises an alarm, which lasts until
//! a signed one extends what was verified.

mod accept;
mod chain;
mod outcomes;
mod payees;
mod projection;
mod read;
mod schema;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::str::FromStr as _;

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::sign::PublicKey;
use vidimus_core::tree::Frontier;

pub use accept::{Applied, Batch};
use schema::Projections;

pub use chain::KeyTimes;
pub use outcomes::{AnswerRow, Happening, OutcomeRow};
pub use payees::{Naming, stands_for};
pub use read::{DecisionRow, OperationRow, RequestRow};

/// The gate that this console is pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateIdentity {
    pub gate: GateId,
    pub environment: Environment,
    pub log_key: PublicKey,
    /// A roster that must stand in the chain: the one shown at enrolment.
    pub roster_sha256: Option<Digest>,
}

/// What keeps the mirror from going on.
#[derive(Debug, thiserror::Error)]
pub enum MirrorFault {
    /// The log does not continue what was verified before. It stays so until the mirror is rebuilt.
    #[error("the log does not verify at record {position}: {what}")]
    Broken { position: u64, what: String },
    /// A head that the pinned key did not sign: somebody else speaks. It is over once a signed head extends what was verified.
    #[error("a head of the log does not verify: {0}")]
    Unsigned(String),
    /// The copy cannot be written or read.
    #[error("the local copy of the log cannot be used")]
    Store(#[from] rusqlite::Error),
    /// The file is another gate's copy, or of a newer program.
    #[error("the local copy of the log belongs to {0}")]
    Other(String),
}

/// The copy of one gate's log.
pub struct Mirror {
    db: Connection,
    identity: GateIdentity,
    frontier: Frontier,
    checkpoint: Option<String>,
    broken: Option<(u64, String)>,
    alarm: Option<String>,
}

impl Mirror {
    /// Opens the copy, or begins one.
    pub fn open(file: &Path, identity: GateIdentity) -> Result<Self, MirrorFault> {
        Self::with(Connection::open(file)?, identity)
    }

    #[cfg(test)]
    pub(crate) fn in_memory(identity: GateIdentity) -> Self {
        Self::with(Connection::open_in_memory().expect("memory"), identity).expect("an empty mirror")
    }

    fn with(db: Connection, identity: GateIdentity) -> Result<Self, MirrorFault> {
        let projections = schema::prepare(&db)?;
        match schema::meta(&db, "gate")? {
            None => {
                schema::set_meta(&db, "gate", &identity.gate.to_string())?;
                schema::set_meta(&db, "environment", identity.environment.as_str())?;
            }
            Some(gate) if gate == identity.gate.to_string() => {}
            Some(gate) => return Err(MirrorFault::Other(format!("the gate `{gate}`"))),
        }
        let frontier = read_frontier(&db)?;
        let checkpoint = schema::meta(&db, "checkpoint")?;
        let broken = schema::meta(&db, "broken")?.and_then(|text| {
            let (position, what) = text.split_once(' ')?;
            Some((u64::from_str(position).ok()?, what.to_owned()))
        });
        let alarm = schema::meta(&db, "alarm")?;
        let mut mirror = Self { db, identity, frontier, checkpoint, broken, alarm };
        if projections == Projections::ToBeMade {
            mirror.project_anew()?;
        }
        Ok(mirror)
    }

    /// Records that are verified here.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over them.
    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    /// The newest verified checkpoint, as its signed note.
    pub fn checkpoint(&self) -> Option<&str> {
        self.checkpoint.as_deref()
    }

    /// Where and how the log broke, if it did.
    pub fn broken(&self) -> Option<(u64, &str)> {
        self.broken.as_ref().map(|(position, what)| (*position, what.as_str()))
    }

    /// What is wrong with a head that came, until a good one extends what was verified.
    pub fn alarm(&self) -> Option<&str> {
        self.alarm.as_deref()
    }

    pub fn identity(&self) -> &GateIdentity {
        &self.identity
    }
}

fn read_frontier(db: &Connection) -> Result<Frontier, MirrorFault> {
    let Some(text) = schema::meta(db, "frontier")? else {
        return Ok(Frontier::from_parts(0, Vec::new()).unwrap_or_default());
    };
    let mut words = text.split(' ');
    let size = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let hashes: Option<Vec<Digest>> = words.map(|word| word.parse().ok()).collect();
    hashes
        .and_then(|hashes| Frontier::from_parts(size, hashes).ok())
        .ok_or_else(|| MirrorFault::Other("nobody: its frontier cannot be read".to_owned()))
}

fn frontier_text(frontier: &Frontier) -> String {
    let mut text = frontier.size().to_string();
    for hash in frontier.hashes() {
        text.push(' ');
        text.push_str(&hash.to_string());
    }
    text
}
