//! Requests, calls and operations as they are stored, read strictly.

use std::sync::Arc;

use rusqlite::{Connection, Row};
use vidimus_core::bytes::Digest;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, Name, RequestId, RunId};
use vidimus_core::operation::{Operation, OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::standing::{Standing, standing};
use vidimus_core::time::Timestamp;

use crate::codec::{count, optional_parsed, optional_time, parsed, time};
use crate::error::StoreError;
use crate::frozen_texts;
use crate::tx::find;

/// An approval request.
#[derive(Debug)]
pub(crate) struct StoredRequest {
    pub(crate) request: RequestId,
    pub(crate) state: RequestState,
    pub(crate) frozen: Arc<FrozenRequest>,
    pub(crate) waits_until: Timestamp,
    pub(crate) quorum_at: Option<Timestamp>,
    /// It was passed on: the record is here.
    pub(crate) escalated_position: Option<u64>,
}

impl StoredRequest {
    pub(crate) fn load(db: &Connection, request: &RequestId) -> Result<Option<StoredRequest>, StoreError> {
        let row = find(db, "SELECT * FROM requests WHERE request = ?1", [request.to_string()], |row| {
            let frozen: String = row.get("frozen")?;
            let escalated_position = row.get::<_, Option<i64>>("escalated_position")?.and_then(|position| u64::try_from(position).ok());
            Ok((frozen, parsed(row, "state")?, time(row, "waits_until")?, optional_time(row, "quorum_at")?, escalated_position))
        })?;
        let Some((frozen, state, waits_until, quorum_at, escalated_position)) = row else { return Ok(None) };
        let frozen = frozen_texts::read(&frozen)?;
        // What people signed has a last moment of its own; the column only moves within it.
        let waits_until = waits_until.min(frozen.members().expires_max_at);
        Ok(Some(StoredRequest { request: *request, state, frozen, waits_until, quorum_at, escalated_position }))
    }

    /// The roles that may read what belongs to this request: those that it needs, and once it was passed on those too.
    pub(crate) fn roles(&self) -> Vec<Name> {
        let needs = &self.frozen.members().needs;
        let passed_on = needs.iter().filter(|_| self.escalated_position.is_some()).filter_map(|need| need.escalate_to.clone());
        let mut roles: Vec<Name> = needs.iter().map(|need| need.role.clone()).collect();
        for role in passed_on {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        roles
    }
}

/// A call that was kept: money, or a write.
#[derive(Debug)]
pub(crate) struct StoredCall {
    pub(crate) call: CallId,
    pub(crate) run: Option<RunId>,
    pub(crate) payload_sha256: Digest,
    pub(crate) request: Option<RequestId>,
    pub(crate) request_state: Option<RequestState>,
    pub(crate) operation_state: Option<OperationState>,
    /// When the request or the operation reached its final state; the later of the two.
    pub(crate) ended_at: Option<Timestamp>,
}

/// A call joined with what became of it. The statements that use it add their own conditions.
pub(crate) const CALL_COLUMNS: &str = "SELECT calls.call, calls.run, calls.payload_sha256,
    requests.request, requests.state AS request_state, operations.state AS operation_state,
    max(coalesce(requests.ended_at, 0), coalesce(operations.ended_at, 0)) AS ended_ms
    FROM calls LEFT JOIN requests USING (call) LEFT JOIN operations USING (call)";

impl StoredCall {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<StoredCall> {
        let ended_at = time(row, "ended_ms")?;
        Ok(StoredCall {
            call: parsed(row, "call")?,
            run: optional_parsed(row, "run")?,
            payload_sha256: parsed(row, "payload_sha256")?,
            request: optional_parsed(row, "request")?,
            request_state: optional_parsed(row, "request_state")?,
            operation_state: optional_parsed(row, "operation_state")?,
            ended_at: (ended_at > Timestamp::MIN).then_some(ended_at),
        })
    }

    pub(crate) fn standing(&self) -> Standing {
        standing(self.request_state, self.operation_state)
    }
}

/// Whether an operation is a person's decision or a write of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Money(RequestId),
    Write,
}

/// A row of the ledger.
#[derive(Debug)]
pub(crate) struct StoredOperation {
    pub(crate) operation: OperationKey,
    pub(crate) kind: Kind,
    pub(crate) call: CallId,
    pub(crate) tool: Name,
    pub(crate) row_sha256: Digest,
    pub(crate) now_at: Operation,
    pub(crate) mint_at: Option<Timestamp>,
    pub(crate) first_sent_at: Option<Timestamp>,
    pub(crate) args: Option<String>,
    pub(crate) before: Option<String>,
}

impl StoredOperation {
    pub(crate) fn load(db: &Connection, operation: &OperationKey) -> Result<Option<StoredOperation>, StoreError> {
        find(db, "SELECT * FROM operations WHERE operation = ?1", [operation.to_string()], StoredOperation::read)
    }

    /// Finds its records among those of its request, where it has one: a condition, and what it takes as `?1` and `?2`.
    pub(crate) fn records(&self) -> (&'static str, [Option<String>; 2]) {
        let operation = Some(self.operation.to_string());
        match self.kind {
            Kind::Money(request) => ("request = ?1 AND operation = ?2", [Some(request.to_string()), operation]),
            Kind::Write => ("?1 IS NULL AND request IS NULL AND operation = ?2", [None, operation]),
        }
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<StoredOperation> {
        let attempt = u32::try_from(count(row, "attempt")?).unwrap_or(u32::MAX);
        Ok(StoredOperation {
            operation: parsed(row, "operation")?,
            kind: optional_parsed(row, "request")?.map_or(Kind::Write, Kind::Money),
            call: parsed(row, "call")?,
            tool: parsed(row, "tool")?,
            row_sha256: parsed(row, "row_sha256")?,
            now_at: Operation { state: parsed(row, "state")?, attempt },
            mint_at: optional_time(row, "mint_at")?,
            first_sent_at: optional_time(row, "first_sent_at")?,
            args: row.get("args")?,
            before: row.get("before")?,
        })
    }
}
