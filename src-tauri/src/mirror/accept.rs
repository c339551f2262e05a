//! Takes records and a checkpoint: verifies them against what is here, then writes all or nothing.

use std::path::Path;

use rusqlite::params;
use vidimus_api::log::RecordEvent;
use vidimus_core::checkpoint::parse_verify;
use vidimus_core::record::AuditRecord;
use vidimus_core::tree::leaf_hash;

use super::projection::Projection;
use super::{Mirror, MirrorFault, frontier_text, schema};
use crate::limits::BATCH_RECORDS_MAX;

/// Records that came after one another, not covered by a checkpoint yet.
#[derive(Debug, Default)]
pub struct Batch {
    records: Vec<RecordEvent>,
}

/// What a verified batch brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Requests that were created.
    pub created: Vec<String>,
    /// Requests of which something else became known.
    pub changed: Vec<String>,
    /// Whether the roster or the table is another one now.
    pub rules_changed: bool,
    /// Whether something became known about an operation.
    pub outcomes_changed: bool,
    pub records: u64,
}

impl Batch {
    pub fn push(&mut self, record: RecordEvent) {
        self.records.push(record);
    }

    /// No more is held without a checkpoint.
    pub fn is_full(&self) -> bool {
        self.records.len() >= BATCH_RECORDS_MAX
    }

    /// Takes the records that the checkpoint covers into the mirror. Records beyond it stay for the
    /// next one.
    pub fn settle(&mut self, mirror: &mut Mirror, note: &str) -> Result<Applied, MirrorFault> {
        let from = mirror.size();
        let origin = mirror.identity.gate.to_string();
        let verified = parse_verify(note, &origin, &mirror.identity.log_key)
            .map_err(|refusal| mirror.alarms(&refusal.message, note, &self.records))?;
        let size = verified.checkpoint().size();
        if size < from {
            return Err(mirror.breaks(from, &format!("the log shrank from {from} to {size} records"), note, &self.records));
        }
        let covered = usize::try_from(size - from).unwrap_or(usize::MAX);
        if covered > self.records.len() {
            // The stream has not brought them yet: a later checkpoint covers them too.
            return Ok(Applied::default());
        }
        let mut frontier = mirror.frontier.clone();
        let mut parsed = Vec::with_capacity(covered);
        for (record, position) in self.records.iter().take(covered).zip(from..) {
            let leaf = record.leaf.as_bytes();
            if record.position != position {
                return Err(mirror.breaks(position, "a record is missing or comes twice", note, &self.records));
            }
            let audit = AuditRecord::parse(leaf).map_err(|refusal| {
                mirror.breaks(position, &format!("the record is malformed ({})", refusal.message), note, &self.records)
            })?;
            frontier.append(leaf_hash(leaf));
            parsed.push(audit);
        }
        if frontier.root() != *verified.checkpoint().root() {
            return Err(mirror.breaks(from, "the signed root is not the root of these records", note, &self.records));
        }
        let mut projection = Projection::default();
        let transaction = mirror.db.transaction()?;
        for (record, audit) in self.records.iter().zip(&parsed) {
            transaction.execute(
                "INSERT INTO leaf (position, leaf, salt, body) VALUES (?1, ?2, ?3, ?4)",
                params![record.position, record.leaf, record.salt.as_ref().map(ToString::to_string), record.body],
            )?;
            if let Err(what) = projection.take(&transaction, &mirror.identity, record, audit)? {
                drop(transaction);
                return Err(mirror.breaks(record.position, &what, note, &self.records));
            }
        }
        projection.note_touched(&transaction, size)?;
        schema::set_meta(&transaction, "frontier", &frontier_text(&frontier))?;
        schema::set_meta(&transaction, "checkpoint", note)?;
        transaction.execute("DELETE FROM meta WHERE name = 'alarm'", [])?;
        transaction.commit()?;
        mirror.alarm = None;
        mirror.frontier = frontier;
        mirror.checkpoint = Some(note.to_owned());
        self.records.drain(..covered);
        Ok(projection.applied(covered))
    }
}

impl Mirror {
    /// Makes the projections of the leaves that were verified before.
    pub(super) fn project_anew(&mut self) -> Result<(), MirrorFault> {
        let transaction = self.db.transaction()?;
        schema::renew(&transaction)?;
        {
            let mut projection = Projection::default();
            let mut leaves = transaction.prepare("SELECT position, leaf, salt, body FROM leaf ORDER BY position")?;
            let mut rows = leaves.query([])?;
            while let Some(row) = rows.next()? {
                let salt: Option<String> = row.get(2)?;
                let record = RecordEvent {
                    position: row.get(0)?,
                    leaf: row.get(1)?,
                    salt: salt.and_then(|salt| salt.parse().ok()),
                    body: row.get(3)?,
                };
                let damaged = || MirrorFault::Other(format!("nobody: its record {} cannot be read", record.position));
                let audit = AuditRecord::parse(record.leaf.as_bytes()).map_err(|_| damaged())?;
                projection.take(&transaction, &self.identity, &record, &audit)?.map_err(|_| damaged())?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Checks a checkpoint that was fetched apart from the stream against what is here.
    /// Gives its size.
    pub fn check_head(&mut self, note: &str) -> Result<u64, MirrorFault> {
        let size = self.size();
        let origin = self.identity.gate.to_string();
        let verified = parse_verify(note, &origin, &self.identity.log_key).map_err(|refusal| self.alarms(&refusal.message, note, &[]))?;
        let head = verified.checkpoint();
        if head.size() < size {
            return Err(self.breaks(size, &format!("the log shrank from {size} to {} records", head.size()), note, &[]));
        }
        if head.size() == size && *head.root() != self.root() {
            return Err(self.breaks(size, "the signed root is not the root that was verified here", note, &[]));
        }
        if head.size() == size && self.alarm.take().is_some() {
            self.db.execute("DELETE FROM meta WHERE name = 'alarm'", [])?;
        }
        Ok(head.size())
    }

    /// Raises the alarm, and keeps what shows its reason.
    fn alarms(&mut self, what: &str, note: &str, records: &[RecordEvent]) -> MirrorFault {
        self.keep_evidence(what, note, records);
        // An alarm that cannot even be written is told all the same.
        let _ = schema::set_meta(&self.db, "alarm", what);
        self.alarm = Some(what.to_owned());
        MirrorFault::Unsigned(what.to_owned())
    }

    fn keep_evidence(&self, what: &str, note: &str, records: &[RecordEvent]) {
        let records = serde_json::to_string(records).unwrap_or_default();
        let ours = self.checkpoint.clone().unwrap_or_default();
        let evidence = format!("{what}\n\nverified before:\n{ours}\npresented now:\n{note}\nrecords:\n{records}\n");
        // A mirror that cannot even write this is unusable, and says so at its next use.
        let _ = schema::set_meta(&self.db, "evidence", &evidence);
    }

    /// Marks the mirror broken, for good, and keeps what shows it.
    fn breaks(&mut self, position: u64, what: &str, note: &str, records: &[RecordEvent]) -> MirrorFault {
        self.keep_evidence(what, note, records);
        let _ = schema::set_meta(&self.db, "broken", &format!("{position} {what}"));
        self.broken = Some((position, what.to_owned()));
        MirrorFault::Broken { position, what: what.to_owned() }
    }

    /// Writes the evidence of the break where an administrator can take it.
    pub fn save_evidence(&self, directory: &Path) -> std::io::Result<Option<std::path::PathBuf>> {
        let Ok(Some(evidence)) = schema::meta(&self.db, "evidence") else { return Ok(None) };
        std::fs::create_dir_all(directory)?;
        let file = directory.join(format!("log-broken-at-{}.txt", self.size()));
        crate::profile::write_whole(&file, evidence.as_bytes())?;
        Ok(Some(file))
    }
}
