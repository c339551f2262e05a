//! Reading the log: records by position with the bodies that a reader may see, proofs, checkpoints.

use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;
use vidimus_core::ids::Name;
use vidimus_core::tree::{consistency_proof, inclusion_proof};

use crate::codec::{count, optional_parsed};
use crate::engine::Engine;
use crate::error::StoreError;
use crate::limits::{ALONG_MS, RECORD_BYTES_PER_READ_MAX, RECORDS_PER_LOOK_MAX, RECORDS_PER_READ_MAX};
use crate::log::{Head, LogRecord, StoredCheckpoint, read_head, read_node, to_i64};
use crate::reads::may_read;
use crate::tx::find;
use crate::{Moment, Store};

/// That a record is in the log, for whoever has the log's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordProof {
    /// The record's leaf.
    pub leaf: String,
    /// The first signed head that covers it: always the same one, so that a receipt stays the same.
    pub checkpoint: StoredCheckpoint,
    /// From the leaf to that head.
    pub path: Vec<Digest>,
}

impl Store {
    /// How far the log reaches.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.engine.read(read_head).await
    }

    /// Records from a position on, in order; at least one if there is one, and no more than the bounds of one read.
    /// Bodies come along where the reader's roles allow it.
    pub async fn records(&self, from: u64, limit: usize, reader: Vec<Name>) -> Result<Vec<LogRecord>, StoreError> {
        let limit = limit.min(RECORDS_PER_READ_MAX);
        let reading = move |db: &Connection| records(db, from, limit, &reader);
        if limit <= RECORDS_PER_LOOK_MAX { self.engine.look(reading).await } else { self.engine.read(reading).await }
    }

    /// Proves that the record at a position is in the tree of `size`.
    pub async fn inclusion(&self, position: u64, size: u64) -> Result<Vec<Digest>, StoreError> {
        self.engine.look(move |db| inclusion_proof(position, size, |node| read_node(db, node))).await
    }

    /// The leaf of a record, the first checkpoint that covers it and the way from one to the other, in one reading: what a receipt
    /// consists of. None where no checkpoint covers it yet.
    ///
    /// *Errors*: `Corrupt` for a position under a checkpoint without a record.
    pub async fn proof(&self, position: u64) -> Result<Option<RecordProof>, StoreError> {
        self.engine
            .look(move |db| {
                let Some(checkpoint) = covering(db, position)? else { return Ok(None) };
                let record = records(db, position, 1, &[])?.into_iter().next().filter(|record| record.position == position);
                let leaf = record.ok_or_else(|| StoreError::corrupt("a position without a record"))?.leaf;
                let path = inclusion_proof(position, checkpoint.size, |node| read_node(db, node))?;
                Ok(Some(RecordProof { leaf, checkpoint, path }))
            })
            .await
    }

    /// Proves that the tree of `first` records is the beginning of that of `second`.
    pub async fn consistency(&self, first: u64, second: u64) -> Result<Vec<Digest>, StoreError> {
        self.engine.read(move |db| consistency_proof(first, second, |node| read_node(db, node))).await
    }

    /// Keeps a signed checkpoint of a head that was announced; one kept before for the same size stays. It goes along with
    /// the next commit, in the order of these calls, instead of having one of its own.
    pub fn store_checkpoint(
        &self,
        moment: Moment,
        checkpoint: StoredCheckpoint,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        Engine::write_along(&self.engine, moment, ALONG_MS, move |tx| {
            tx.execute(
                "INSERT INTO checkpoints (size, note) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![to_i64(checkpoint.size)?, checkpoint.note],
            )?;
            Ok(())
        })
    }

    /// The checkpoint of the largest size.
    pub async fn newest_checkpoint(&self) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.engine.read(|db| checkpoint(db, "SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1", [])).await
    }
}

fn covering(db: &Connection, position: u64) -> Result<Option<StoredCheckpoint>, StoreError> {
    checkpoint(db, "SELECT size, note FROM checkpoints WHERE size > ?1 ORDER BY size LIMIT 1", [to_i64(position)?])
}

fn checkpoint(db: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Option<StoredCheckpoint>, StoreError> {
    find(db, sql, params, |row| Ok(StoredCheckpoint { size: count(row, "size")?, note: row.get("note")? }))
}

fn records(db: &Connection, from: u64, limit: usize, reader: &[Name]) -> Result<Vec<LogRecord>, StoreError> {
    // A position beyond what the database can number has no records.
    let Ok(from) = to_i64(from) else { return Ok(Vec::new()) };
    let mut statement =
        db.prepare_cached("SELECT position, leaf, roles, salt, body FROM records WHERE position >= ?1 ORDER BY position LIMIT ?2")?;
    let mut rows = statement.query(params![from, to_i64(limit as u64)?])?;
    let (mut records, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let readers: String = row.get("roles")?;
        let mut record = LogRecord { position: count(row, "position")?, leaf: row.get("leaf")?, salt: None, body: None };
        if may_read(&readers, reader) {
            record.salt = optional_parsed(row, "salt")?;
            record.body = row.get("body")?;
        }
        bytes += record.leaf.len() + record.body.as_ref().map_or(0, String::len);
        if bytes > RECORD_BYTES_PER_READ_MAX && !records.is_empty() {
            break;
        }
        records.push(record);
    }
    Ok(records)
}
