//! One use case's view of the transaction: the time, the gate's identity, roster and table, and the log it stages in.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Params, Row};
use vidimus_core::bytes::{Digest, Nonce, Salt, tagged};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::CheckpointRef;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::time::Timestamp;

use crate::codec;
use crate::error::StoreError;
use crate::foreign_heads::ForeignHead;
use crate::gate::{GateInForce, GateState};
use crate::log::{Staged, Staging};
use crate::on_record::LogView;

/// Why an attempt at a use case ends early.
pub(crate) enum Stop {
    /// A rule says no: an outcome.
    Refused(Refusal),
    /// The database failed: an error.
    Failed(StoreError),
}

/// The result of an attempt: rules and failures of the database leave it the same way.
pub(crate) type Attempt<T> = Result<T, Stop>;

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

/// A refusal as the end of an attempt.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Attempt<T> {
    Err(Stop::Refused(Refusal::new(code, message)))
}

/// What the writer keeps between use cases. Never newer than the database: whoever takes something back sets it back.
pub(crate) struct Cache {
    in_force: GateInForce,
    /// The gate as the batch's use cases have left it, once one of them has asked for it.
    gate: Option<Arc<GateState>>,
    foreign_head: ForeignHead,
}

impl Cache {
    pub(crate) fn of(in_force: GateInForce, foreign_head: ForeignHead) -> Cache {
        Cache { in_force, gate: None, foreign_head }
    }

    /// What to go back to if a use case is taken back.
    pub(crate) fn mark(&self) -> Option<Arc<GateState>> {
        self.gate.clone()
    }

    /// The database is back where the mark was made.
    pub(crate) fn take_back(&mut self, mark: Option<Arc<GateState>>) {
        self.gate = mark;
    }

    /// What the batch brought into force is durable, so everybody may know it.
    pub(crate) fn durable(&self) {
        if let Some(gate) = &self.gate {
            self.in_force.follow(gate);
        }
    }

    /// Nothing of the batch is in force.
    pub(crate) fn forget(&mut self) {
        self.gate = None;
    }
}

/// An audit record on its way into the log.
pub(crate) struct Entry {
    pub(crate) record_type: RecordType,
    pub(crate) request: Option<RequestId>,
    pub(crate) operation: Option<OperationKey>,
    pub(crate) roles: Vec<Name>,
    pub(crate) claims: Json,
    pub(crate) envelopes: Vec<Envelope>,
    pub(crate) body: Option<Json>,
}

impl Entry {
    /// A record of these claims and nothing else.
    pub(crate) fn new(record_type: RecordType, claims: Json) -> Entry {
        Entry { record_type, request: None, operation: None, roles: Vec::new(), claims, envelopes: Vec::new(), body: None }
    }

    pub(crate) fn of_request(self, request: RequestId) -> Entry {
        Entry { request: Some(request), ..self }
    }

    pub(crate) fn of_operation(self, operation: OperationKey) -> Entry {
        Entry { operation: Some(operation), ..self }
    }

    pub(crate) fn readable_by(self, roles: Vec<Name>) -> Entry {
        Entry { roles, ..self }
    }

    pub(crate) fn with_envelopes(self, envelopes: Vec<Envelope>) -> Entry {
        Entry { envelopes, ..self }
    }

    pub(crate) fn with_body(self, body: Json) -> Entry {
        Entry { body: Some(body), ..self }
    }
}

/// One use case inside the batch's transaction.
pub(crate) struct Tx<'b> {
    pub(crate) db: &'b Connection,
    /// The transaction's one time.
    pub(crate) now: Timestamp,
    entropy: Nonce,
    derived: u32,
    staging: &'b mut Staging,
    cache: &'b mut Cache,
}

impl<'b> Tx<'b> {
    pub(crate) fn new(db: &'b Connection, now: Timestamp, entropy: Nonce, staging: &'b mut Staging, cache: &'b mut Cache) -> Tx<'b> {
        Tx { db, now, entropy, derived: 0, staging, cache }
    }

    /// Runs an attempt; when a rule refuses it, everything it wrote and staged is taken back.
    pub(crate) fn attempt<T>(&mut self, attempt: impl FnOnce(&mut Tx<'b>) -> Attempt<T>) -> Result<Result<T, Refusal>, StoreError> {
        prepared(self.db, "SAVEPOINT attempt")?;
        let mark = self.staging.mark();
        let gate = self.cache.mark();
        match attempt(self) {
            Ok(value) => {
                prepared(self.db, "RELEASE attempt")?;
                Ok(Ok(value))
            }
            Err(Stop::Refused(refusal)) => {
                self.db.execute_batch("ROLLBACK TO attempt; RELEASE attempt")?;
                self.staging.take_back(mark);
                // The database is back where the attempt began, so what was known then is known again.
                self.cache.take_back(gate);
                Ok(Err(refusal))
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Does something about one row; when that row is at fault, everything that was written and staged about it is taken back.
    ///
    /// *Errors*: the outer one where the database failed.
    pub(crate) fn aside<T>(&mut self, one: impl FnOnce(&mut Tx<'b>) -> Result<T, StoreError>) -> Result<Result<T, StoreError>, StoreError> {
        prepared(self.db, "SAVEPOINT one_row")?;
        let mark = self.staging.mark();
        let gate = self.cache.mark();
        match one(self) {
            Ok(value) => {
                prepared(self.db, "RELEASE one_row")?;
                Ok(Ok(value))
            }
            Err(error) if error.is_of_one_row() => {
                self.db.execute_batch("ROLLBACK TO one_row; RELEASE one_row")?;
                self.staging.take_back(mark);
                self.cache.take_back(gate);
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Stages a record and tells the position that it gets.
    ///
    /// *Invariant*: the first record of a log is the gate's own beginning, so nothing is staged before `init`.
    pub(crate) fn stage(&mut self, entry: Entry) -> Result<u64, StoreError> {
        self.gate()?;
        let body = entry.body.map(|body| Body::new(&body, self.next_salt())).transpose()?;
        let record = AuditRecord {
            record_type: entry.record_type,
            at: self.now,
            request: entry.request,
            operation: entry.operation,
            roles: entry.roles,
            claims: entry.claims,
            envelopes: entry.envelopes,
            body_sha256: body.as_ref().map(Body::digest),
        };
        let leaf = String::from_utf8(record.leaf()?).map_err(|_| StoreError::corrupt("a leaf that is not text"))?;
        let (salt, body) = body.map(|body| (body.salt, body.text)).unzip();
        let staged = Staged {
            leaf,
            record_type: record.record_type,
            at_ms: self.now.as_ms(),
            request: record.request.map(|request| request.to_string()),
            operation: record.operation.map(|operation| operation.to_string()),
            roles: codec::names_to_text(&record.roles),
            salt,
            body,
        };
        self.staging.push(self.db, &staged)
    }

    /// The head that this batch builds on.
    pub(crate) fn head_before(&self) -> crate::log::Head {
        self.staging.head_before()
    }

    /// Records in the log, the staged ones included.
    pub(crate) fn size(&self) -> u64 {
        self.staging.head_before().size + self.staging.mark() as u64
    }

    /// The log as this use case sees it.
    pub(crate) fn log(&self) -> LogView<'_> {
        LogView::of(self.db)
    }

    /// A salt that only this use case has: derived, so that a use case may stage any number of records.
    pub(crate) fn next_salt(&mut self) -> Salt {
        Salt::from_bytes(*self.derive("vidimus.store.salt.v1").as_bytes())
    }

    /// The random part of an id that a use case needs beside those it was given.
    pub(crate) fn random_bits(&mut self) -> [u8; 10] {
        let mut bits = [0; 10];
        bits.copy_from_slice(&self.derive("vidimus.store.id.v1").as_bytes()[..10]);
        bits
    }

    fn derive(&mut self, tag: &str) -> Digest {
        self.derived += 1;
        tagged(tag, [self.entropy.as_bytes(), &self.derived.to_be_bytes()])
    }

    /// The gate as the last committed or staged change left it.
    pub(crate) fn gate(&mut self) -> Result<Arc<GateState>, StoreError> {
        if let Some(gate) = &self.cache.gate {
            return Ok(Arc::clone(gate));
        }
        let gate = match self.cache.in_force.known() {
            Some(gate) => gate,
            None => Arc::new(GateState::load(self.db)?.ok_or(StoreError::NotInitialised)?),
        };
        self.cache.gate = Some(Arc::clone(&gate));
        Ok(gate)
    }

    /// Brings a change of the gate into force for what follows in this batch, and for everybody once it is durable. Its row
    /// is not read again: whoever wrote into that brings nothing into force with it.
    pub(crate) fn change_gate(&mut self, change: impl FnOnce(&mut GateState)) -> Result<(), StoreError> {
        let mut gate = GateState::clone(&*self.gate()?);
        change(&mut gate);
        self.cache.gate = Some(Arc::new(gate));
        Ok(())
    }

    /// Nothing with an effect begins any more.
    pub(crate) fn see_foreign_head(&self, checkpoint: &CheckpointRef, person: PersonId) {
        self.cache.foreign_head.see(checkpoint, person);
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.db.prepare_cached(sql)?.execute(params)?)
    }

    /// Runs a statement that must change exactly one row, guarded in its WHERE clause.
    pub(crate) fn execute_one(&self, sql: &str, params: impl Params) -> Result<(), StoreError> {
        match self.execute(sql, params)? {
            1 => Ok(()),
            changed => Err(StoreError::corrupt(format!("{changed} rows where one was read"))),
        }
    }

    /// The one row of a query, if there is one.
    pub(crate) fn find<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        find(self.db, sql, params, read)
    }

    /// All rows of a query, which bounds them itself.
    pub(crate) fn list<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        list(self.db, sql, params, read)
    }
}

/// Begins or ends a transaction or a savepoint. Kept prepared: there are several in each use case.
pub(crate) fn prepared(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(drop)
}

/// The one row of a query, if there is one.
pub(crate) fn find<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    Ok(db.prepare_cached(sql)?.query_row(params, read).optional()?)
}

/// All rows of a query, which bounds them itself.
pub(crate) fn list<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(db.prepare_cached(sql)?.query_map(params, read)?.collect::<Result<_, _>>()?)
}

/// Digest of a bearer or challenge: what is stored in its place.
pub(crate) fn challenge_sha256(challenge: &Nonce) -> Digest {
    Digest::of(challenge.as_bytes())
}
