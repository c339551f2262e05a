//! Heads that people name when they sign. Every console keeps a copy of the log and signs over the newest head that it has
//! verified; one that is not of this log says that this gate has lost records, or is not alone. Whoever has lost records may
//! have lost what was paid, so once two persons have said so nothing with an effect begins, until somebody has looked and starts the gate
//! again. What one person signs can be invented: it counts for nothing that they give, is on record, and stops nobody else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::CheckpointRef;
use vidimus_core::ids::PersonId;
use vidimus_core::tree::{Frontier, Node};

use crate::error::StoreError;
use crate::limits::FOREIGN_HEAD_PERSONS;
use crate::log::{Head, read_node};
use crate::tx::{Attempt, Tx, refuse};

/// Who has named such a head since the start. Once said, it stays.
#[derive(Clone, Default)]
pub(crate) struct ForeignHead(Arc<Mutex<BTreeSet<PersonId>>>);

impl ForeignHead {
    /// Whether so many persons have that nobody can have invented it alone.
    pub(crate) fn is_seen(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() >= FOREIGN_HEAD_PERSONS
    }

    pub(crate) fn see(&self, checkpoint: &CheckpointRef, person: PersonId) {
        let mut persons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !persons.insert(person) {
            return;
        }
        let (size, root) = (checkpoint.size, checkpoint.root);
        if persons.len() < FOREIGN_HEAD_PERSONS {
            tracing::warn!(code = "checkpoint_foreign", %person, size, %root, "somebody signed over a head that is not of this log; compare both");
        } else {
            tracing::error!(
                code = "head_foreign",
                %person,
                size,
                %root,
                "another person signed over a head that is not of this log; nothing with an effect begins any more"
            );
        }
    }
}

/// The head under a statement must be one of this log. Whoever takes permission away is heard all the same.
///
/// *Errors*: `checkpoint_foreign` where `gives` is true.
pub(crate) fn refuse_foreign(tx: &Tx<'_>, checkpoint: &CheckpointRef, person: PersonId, gives: bool) -> Attempt<()> {
    if is_of_log(tx.db, tx.head_before(), checkpoint)? {
        return Ok(());
    }
    tx.see_foreign_head(checkpoint, person);
    if !gives {
        return Ok(());
    }
    refuse(
        Code::CheckpointForeign,
        format!(
            "the head that was signed over, of `{}` records, is not one of this gate's log; compare both before anything is approved",
            checkpoint.size
        ),
    )
}

/// Whether a log that is this long has, or had, this head.
fn is_of_log(db: &Connection, newest: Head, named: &CheckpointRef) -> Result<bool, StoreError> {
    if named.size >= newest.size {
        return Ok(named.size == newest.size && named.root == newest.root);
    }
    Ok(root_at(named.size, |node| read_node(db, node))? == named.root)
}

/// The root of the first records, from the full subtrees that they make.
fn root_at(size: u64, node: impl Fn(Node) -> Result<Digest, StoreError>) -> Result<Digest, StoreError> {
    let mut hashes = Vec::with_capacity(size.count_ones() as usize);
    let mut before = 0_u64;
    for level in (0..64_u8).rev().filter(|level| size >> level & 1 == 1) {
        hashes.push(node(Node { level, index: before >> level })?);
        before += 1 << level;
    }
    Ok(Frontier::from_parts(size, hashes)?.root())
}

#[cfg(test)]
mod tests {
    use vidimus_core::tree::{leaf_hash, nodes_of, root_of};

    use super::*;

    #[test]
    fn every_head_that_a_log_had_is_found_again() {
        let leaves: Vec<Digest> = (0..70_u32).map(|leaf| leaf_hash(&leaf.to_be_bytes())).collect();
        for size in 0..=leaves.len() {
            let root = root_at(size as u64, |node| nodes_of(&leaves)(node).map_err(StoreError::from)).expect("a root");
            assert_eq!(root, root_of(&leaves[..size]), "{size}");
        }
    }
}
