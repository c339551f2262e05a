//! The log inside the database: records get gapless positions as they are staged, and at the end of their batch the tree
//! grows over them and the head moves by compare-and-swap.
//!
//! Must not know keys: a checkpoint is signed outside, after the commit, and comes back as a note.

use rusqlite::{Connection, params};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::record::RecordType;
use vidimus_core::tree::{Frontier, Node, leaf_hash};

use crate::error::StoreError;

/// How far the log reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Records in the log.
    pub size: u64,
    /// The root of their tree.
    pub root: Digest,
}

/// One record as a reader gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Its place in the log, from 0.
    pub position: u64,
    /// The canonical leaf.
    pub leaf: String,
    /// The salt of the body's digest; with the body or not at all.
    pub salt: Option<Salt>,
    /// The body, where this reader may see it.
    pub body: Option<String>,
}

/// A signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// Records under it.
    pub size: u64,
    /// The signed note.
    pub note: String,
}

/// A record on its way into the log.
pub(crate) struct Staged {
    pub(crate) leaf: String,
    pub(crate) record_type: RecordType,
    pub(crate) at_ms: i64,
    pub(crate) request: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) roles: String,
    pub(crate) salt: Option<Salt>,
    pub(crate) body: Option<String>,
}

/// The records of one batch, in the order of their positions.
pub(crate) struct Staging {
    before: Head,
    frontier: Frontier,
    leaves: Vec<Digest>,
}

impl Staging {
    pub(crate) fn begin(db: &Connection) -> Result<Staging, StoreError> {
        let (before, frontier) = db
            .prepare_cached("SELECT size, root, frontier FROM log_head")?
            .query_row([], |row| Ok((head_of(row.get(0)?, &row.get::<_, String>(1)?), row.get::<_, Vec<u8>>(2)?)))?;
        let before = before?;
        let hashes: Vec<Digest> = frontier.as_chunks::<32>().0.iter().copied().map(Digest::from_bytes).collect();
        let frontier = Frontier::from_parts(before.size, hashes).map_err(|_| StoreError::corrupt("log_head.frontier"))?;
        if frontier.root() != before.root {
            return Err(StoreError::corrupt("log_head.root"));
        }
        Ok(Staging { before, frontier, leaves: Vec::new() })
    }

    /// Stages a record and tells the position that it gets: the writer is alone, and [`sequence`] proves it was.
    ///
    /// It is in the database at once, before whatever refers to its position: a reference that waits for its record makes
    /// SQLite look through every table that refers to anything, at each insert.
    pub(crate) fn push(&mut self, db: &Connection, record: &Staged) -> Result<u64, StoreError> {
        let position = self.before.size + self.leaves.len() as u64;
        insert_record(db, position, record)?;
        self.leaves.push(leaf_hash(record.leaf.as_bytes()));
        Ok(position)
    }

    pub(crate) fn mark(&self) -> usize {
        self.leaves.len()
    }

    /// Forgets what was staged since the mark; the rows go with the savepoint that is rolled back beside it.
    pub(crate) fn take_back(&mut self, mark: usize) {
        self.leaves.truncate(mark);
    }

    /// The head before this batch: the newest that anybody outside can know of.
    pub(crate) fn head_before(&self) -> Head {
        self.before
    }
}

/// Grows the tree over the staged records and moves the head, if it is still where the batch began.
pub(crate) fn sequence(db: &Connection, staging: Staging) -> Result<Head, StoreError> {
    let Staging { before, mut frontier, leaves } = staging;
    if leaves.is_empty() {
        return Ok(before);
    }
    for leaf in &leaves {
        // Every complete subtree is kept when it becomes complete, so that proofs read few hashes.
        for (node, hash) in frontier.append(*leaf) {
            db.prepare_cached("INSERT INTO log_nodes (node, hash) VALUES (?1, ?2)")?.execute(params![number_of(node)?, hash.as_bytes()])?;
        }
    }
    let head = Head { size: before.size + leaves.len() as u64, root: frontier.root() };
    let blob: Vec<u8> = frontier.hashes().iter().flat_map(|hash| *hash.as_bytes()).collect();
    let moved = db
        .prepare_cached("UPDATE log_head SET size = ?1, root = ?2, frontier = ?3 WHERE size = ?4 AND root = ?5")?
        .execute(params![to_i64(head.size)?, head.root.to_string(), blob, to_i64(before.size)?, before.root.to_string()])?;
    if moved != 1 {
        return Err(StoreError::corrupt("log_head moved under the writer"));
    }
    Ok(head)
}

fn insert_record(db: &Connection, position: u64, record: &Staged) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO records (position, leaf, type, at_ms, request, operation, roles, salt, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        to_i64(position)?,
        record.leaf,
        record.record_type.as_str(),
        record.at_ms,
        record.request,
        record.operation,
        record.roles,
        record.salt.map(|salt| salt.to_string()),
        record.body,
    ])?;
    Ok(())
}

/// A node's place in the order in which nodes become complete. The leaf `i` completes itself and, from the bottom up, the subtrees
/// that it is the last leaf of; before it, `i` leaves have completed `2i - ones(i)` nodes.
fn number_of(node: Node) -> Result<i64, StoreError> {
    let beyond = || StoreError::corrupt("a node beyond 2^63");
    if u32::from(node.level) >= u64::BITS {
        return Err(beyond());
    }
    let leaves = (u128::from(node.index) + 1) << node.level;
    let last = u64::try_from(leaves - 1).map_err(|_| beyond())?;
    let before = (u128::from(last) * 2 - u128::from(last.count_ones())) + u128::from(node.level);
    i64::try_from(before).map_err(|_| beyond())
}

/// The hash of a full node.
pub(crate) fn read_node(db: &Connection, node: Node) -> Result<Digest, StoreError> {
    let hash: [u8; 32] =
        db.prepare_cached("SELECT hash FROM log_nodes WHERE node = ?1")?.query_row([number_of(node)?], |row| row.get(0))?;
    Ok(Digest::from_bytes(hash))
}

pub(crate) fn read_head(db: &Connection) -> Result<Head, StoreError> {
    db.prepare_cached("SELECT size, root FROM log_head")?.query_row([], |row| Ok(head_of(row.get(0)?, &row.get::<_, String>(1)?)))?
}

fn head_of(size: i64, root: &str) -> Result<Head, StoreError> {
    match (u64::try_from(size), root.parse()) {
        (Ok(size), Ok(root)) => Ok(Head { size, root }),
        _ => Err(StoreError::corrupt("log_head")),
    }
}

/// A count as SQLite keeps it.
pub(crate) fn to_i64(count: u64) -> Result<i64, StoreError> {
    i64::try_from(count).map_err(|_| StoreError::corrupt("a count above 2^63"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_as_they_become_complete() {
        let mut frontier = Frontier::default();
        let mut next = 0;
        for leaf in 0..300_u32 {
            for (node, _) in frontier.append(Digest::of(&leaf.to_be_bytes())) {
                assert_eq!(number_of(node).expect("a number"), next, "{node:?}");
                next += 1;
            }
        }
        for beyond in [Node { level: 63, index: u64::MAX }, Node { level: 0, index: u64::MAX }, Node { level: 200, index: 0 }] {
            assert!(matches!(number_of(beyond), Err(StoreError::Corrupt(_))), "{beyond:?}");
        }
    }
}
