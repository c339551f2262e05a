//! What an operation was made for: who is asked about it, who may not answer, and by which row it is judged.

use rusqlite::Connection;
use vidimus_core::frozen::{ChainLink, FrozenRequest};
use vidimus_core::ids::Name;
use vidimus_core::limits::SETTLE_S_DEFAULT;
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::Subject;
use vidimus_core::table::Row as TableRow;

use crate::error::StoreError;
use crate::gate::{GateState, parsed_table};
use crate::limits::TIMEOUT_S_UNKNOWN;
use crate::on_record::OperationOnRecord;
use crate::operations::{self, in_force};
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::tx::{Attempt, Tx, find};

/// The operation, where one of these roles answers for it.
pub(super) fn for_answerer(tx: &mut Tx<'_>, operation: &OperationKey, roles: &[Name]) -> Result<Option<StoredOperation>, StoreError> {
    let Some(stored) = StoredOperation::load(tx.db, operation)? else { return Ok(None) };
    let (_, needed) = operations::readers(tx.log(), &stored)?;
    Ok(needed.iter().any(|role| roles.contains(role)).then_some(stored))
}

/// What an operation was made for, read from the log and the frozen bytes.
pub(super) struct Made {
    request: Option<StoredRequest>,
    owner: Option<Name>,
    agents: Vec<ChainLink>,
    /// The request was passed on, as the log says.
    escalated: bool,
}

impl Made {
    pub(super) fn load(tx: &mut Tx<'_>, stored: &StoredOperation, on_record: &OperationOnRecord) -> Attempt<Made> {
        if let Kind::Money(request) = stored.kind {
            let escalated = tx.log().decisions(&request)?.escalated;
            let request = operations::load_request(tx, &request)?;
            return Ok(Made { request: Some(request), owner: None, agents: Vec::new(), escalated });
        }
        let write = on_record.write.as_ref().ok_or_else(|| StoreError::corrupt("a write whose intent is not on record"))?;
        Ok(Made { request: None, owner: write.roles.first().cloned(), agents: write.agents.clone(), escalated: false })
    }

    pub(super) fn subject(&self) -> Result<Subject<'_>, StoreError> {
        match (&self.request, &self.owner) {
            (Some(request), _) => Ok(Subject::Request { frozen: &request.frozen, escalated: self.escalated }),
            (None, Some(owner)) => Ok(Subject::Write { owner, agents: &self.agents }),
            (None, None) => Err(StoreError::corrupt("a write whose owner is not on record")),
        }
    }
}

/// The row that an operation was made under, from a table that people signed; none where that table can no longer be read.
pub(super) fn row_of(
    db: &Connection,
    gate: &GateState,
    stored: &StoredOperation,
    frozen: Option<&FrozenRequest>,
) -> Result<Option<TableRow>, StoreError> {
    if let Some(row) = in_force(gate, stored) {
        return Ok(Some(row.clone()));
    }
    let Some(frozen) = frozen else { return Ok(None) };
    let members = frozen.members();
    let digest = members.table_sha256.to_string();
    let toml: Option<String> = find(db, "SELECT toml FROM effect_tables WHERE table_sha256 = ?1", [digest], |row| row.get(0))?;
    // Kept as it was read: an earlier table is asked for again and again, by every look and every answer.
    let table = toml.and_then(|toml| parsed_table(&toml).ok()).filter(|table| table.digest() == members.table_sha256);
    Ok(table.as_ref().and_then(|table| table.row(&members.tool)).filter(|row| row.digest() == members.row_sha256).cloned())
}

/// How long after the end of the last attempt nothing can arrive any more, and the world has settled.
pub(super) fn settles_after_s(row: Option<&TableRow>) -> u64 {
    row.map_or(TIMEOUT_S_UNKNOWN + SETTLE_S_DEFAULT, |row| row.executor.timeout_s() + row.settle_s)
}
