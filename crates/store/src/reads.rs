//! What the gate's faces show: the gate itself, calls, requests and operations as they stand.

use std::sync::Arc;

use rusqlite::{Connection, Row};
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::denial::Denial;
use vidimus_core::ids::{CallId, Effect, Name, RequestId, RunId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::roster::{AUDITOR, EVERYONE};
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;

use crate::Store;
use crate::agents::{self, AgentIdentity};
use crate::codec::{count, optional_parsed, optional_time, parsed, time};
use crate::error::StoreError;
use crate::gate::{GateIdentity, GateState, RosterView, TableView};
use crate::tx::{find, list};

/// A decision on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionView {
    /// The signed envelope, canonical.
    pub envelope: String,
    /// The place of its record in the log.
    pub position: u64,
    /// Whether it is an approval that counts.
    pub standing: bool,
}

/// An operation as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationView {
    /// Its key.
    pub operation: OperationKey,
    /// The call behind it.
    pub call: CallId,
    /// The request behind it; none for a write.
    pub request: Option<RequestId>,
    /// The tool.
    pub tool: Name,
    /// The row that it was made under.
    pub row_sha256: Digest,
    /// The arguments of a write, as they were sent; money's are its request's.
    pub args: Option<String>,
    /// Where it stands.
    pub state: OperationState,
    /// Attempts begun.
    pub attempt: u32,
    /// From when it may be minted; none for a write.
    pub mint_at: Option<Timestamp>,
    /// Until when the attempt at work may send.
    pub lease_until: Option<Timestamp>,
    /// The result's text.
    pub result: Option<String>,
    /// Digest of the result's text.
    pub result_sha256: Option<Digest>,
    /// One line about how it went.
    pub detail: Option<String>,
}

/// An approval request as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestView {
    /// The request.
    pub request: RequestId,
    /// The call behind it.
    pub call: CallId,
    /// The agent that asked; none for a person's proposal.
    pub agent: Option<Name>,
    /// The tool.
    pub tool: Name,
    /// Where it stands.
    pub state: RequestState,
    /// The frozen bytes.
    pub frozen: String,
    /// SHA-256 of the frozen bytes.
    pub request_sha256: Digest,
    /// Salted digest of the arguments.
    pub args_sha256: Digest,
    /// The agent's own words.
    pub says: Option<String>,
    /// How often the call came again.
    pub joins: u32,
    /// Until when it waits.
    pub waits_until: Timestamp,
    /// The place of its record in the log.
    pub position: u64,
    /// Its agent is gone without having had the call's id.
    pub orphaned: bool,
    /// It waited so long that it was passed on.
    pub escalated: bool,
    /// The rule by which it ended without a decision: `request_expired`, `row_stale` and others.
    pub end_code: Option<Code>,
    /// Why it was denied, and in which role.
    pub denial: Option<(Denial, Name)>,
    /// Decisions, in the order of the log.
    pub decisions: Vec<DecisionView>,
    /// Its operation, once the quorum was reached.
    pub operation: Option<OperationView>,
}

/// A call as it stands. Exactly one of its request and its operation tells its state for a write; for money, both do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallView {
    /// The call.
    pub call: CallId,
    /// Its agent; none for a person's proposal.
    pub agent: Option<Name>,
    /// Its run.
    pub run: Option<RunId>,
    /// The tool.
    pub tool: Name,
    /// Money or write.
    pub effect: Effect,
    /// Its request; none for a write.
    pub request: Option<RequestView>,
    /// Its operation.
    pub operation: Option<OperationView>,
}

impl Store {
    /// The gate in force; `None` before `init`.
    async fn gate(&self) -> Result<Option<Arc<GateState>>, StoreError> {
        let in_force = self.engine.gate_in_force();
        // From memory, nothing is read that somebody else could have written.
        if let Some(known) = in_force.known() {
            return Ok(Some(known));
        }
        self.engine.look(move |db| in_force.gate(db)).await
    }

    /// The gate's identity; `None` before `init`.
    pub async fn identity(&self) -> Result<Option<GateIdentity>, StoreError> {
        Ok(self.gate().await?.map(|gate| gate.identity.clone()))
    }

    /// The effect table, in force or waiting for the first admin's signature; `None` before `init`.
    pub async fn table(&self) -> Result<Option<TableView>, StoreError> {
        Ok(self.gate().await?.map(|gate| gate.table_view.clone()))
    }

    /// The effect table in force, parsed; `None` before the first admin signed it.
    ///
    /// *Errors*: `Corrupt` for a text that does not lead to the digest that was signed.
    pub async fn table_in_force(&self) -> Result<Option<Arc<Table>>, StoreError> {
        Ok(self.gate().await?.filter(|gate| gate.table_view.signed).map(|gate| Arc::clone(&gate.table)))
    }

    /// The roster in force; `None` before the first admin enrolled.
    pub async fn roster(&self) -> Result<Option<RosterView>, StoreError> {
        Ok(self.gate().await?.and_then(|gate| gate.roster.as_ref().map(|roster| roster.view.clone())))
    }

    /// Why an agent calls nothing although its credential stands: who answers for it has left.
    pub async fn unanswered_for(&self, agent: &AgentIdentity) -> Result<Option<Refusal>, StoreError> {
        let gate = self.gate().await?;
        let roster = gate.as_ref().and_then(|gate| gate.roster.as_ref());
        Ok(roster.and_then(|roster| agents::owners_are_here(&agent.chain, &roster.roster).err()))
    }

    /// A request, for a reader who holds one of these roles; absent and foreign are the same answer.
    pub async fn request(&self, request: RequestId, reader: Vec<Name>) -> Result<Option<RequestView>, StoreError> {
        self.engine
            .look(move |db| {
                let found = find(db, &format!("{REQUESTS} WHERE requests.request = ?1"), [request.to_string()], |row| {
                    let readers: String = row.get("readers")?;
                    may_read(&readers, &reader).then(|| read_request(row)).transpose()
                })?;
                found.flatten().map(|view| complete(db, view)).transpose()
            })
            .await
    }

    /// A call of this agent; absent and foreign are the same answer.
    pub async fn call(&self, agent: Name, call: CallId) -> Result<Option<CallView>, StoreError> {
        self.engine.look(move |db| Ok(read_call(db, &call)?.filter(|view| view.agent.as_ref() == Some(&agent)))).await
    }

    /// The call behind a request or operation, whoever made it: for the gate's own use.
    pub async fn any_call(&self, call: CallId) -> Result<Option<CallView>, StoreError> {
        self.engine.look(move |db| read_call(db, &call)).await
    }

    /// How many operations are in each state that is not final.
    pub async fn operations_open(&self) -> Result<Vec<(OperationState, u64)>, StoreError> {
        self.engine
            .read(|db| {
                let open = "SELECT state, count(*) AS found FROM operations
                    WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation') GROUP BY state";
                list(db, open, [], |row| Ok((parsed(row, "state")?, count(row, "found")?)))
            })
            .await
    }

    /// An operation: for the gate's own use.
    pub async fn operation(&self, operation: OperationKey) -> Result<Option<OperationView>, StoreError> {
        self.engine.look(move |db| find(db, "SELECT * FROM operations WHERE operation = ?1", [operation.to_string()], read_operation)).await
    }
}

const REQUESTS: &str = "SELECT requests.*, calls.agent, calls.says, calls.joins, records.roles || coalesce(escalation.roles, '') AS readers
    FROM requests JOIN calls USING (call) JOIN records USING (position)
    LEFT JOIN records AS escalation ON escalation.position = requests.escalated_position
    AND escalation.request = requests.request AND escalation.type = 'request_escalated'";

/// Whether a reader with these roles may see what is for `readers`, a column of names.
pub(crate) fn may_read(readers: &str, reader: &[Name]) -> bool {
    readers.contains(&format!(" {EVERYONE} "))
        || reader.iter().any(|role| role.as_str() == AUDITOR || readers.contains(&format!(" {role} ")))
}

fn read_request(row: &Row<'_>) -> rusqlite::Result<RequestView> {
    let denial = match (optional_parsed(row, "denial_kind")?, row.get("denial_note")?, optional_parsed(row, "denial_role")?) {
        (Some(kind), Some(note), Some(role)) => Some((Denial { kind, note }, role)),
        (_, _, _) => None,
    };
    Ok(RequestView {
        request: parsed(row, "request")?,
        call: parsed(row, "call")?,
        agent: optional_parsed(row, "agent")?,
        tool: parsed(row, "tool")?,
        state: parsed(row, "state")?,
        frozen: row.get("frozen")?,
        request_sha256: parsed(row, "request_sha256")?,
        args_sha256: parsed(row, "args_sha256")?,
        says: row.get("says")?,
        joins: row.get("joins")?,
        waits_until: time(row, "waits_until")?,
        position: count(row, "position")?,
        orphaned: row.get::<_, Option<i64>>("orphaned_until")?.is_some(),
        escalated: row.get::<_, Option<i64>>("escalated_position")?.is_some(),
        end_code: optional_parsed(row, "end_code")?,
        denial,
        decisions: Vec::new(),
        operation: None,
    })
}

fn complete(db: &Connection, view: RequestView) -> Result<RequestView, StoreError> {
    let request = view.request.to_string();
    let decisions =
        list(db, "SELECT envelope, position, standing FROM decisions WHERE request = ?1 ORDER BY position", [&request], |row| {
            Ok(DecisionView { envelope: row.get("envelope")?, position: count(row, "position")?, standing: row.get("standing")? })
        })?;
    let operation = find(db, "SELECT * FROM operations WHERE request = ?1", [&request], read_operation)?;
    Ok(RequestView { decisions, operation, ..view })
}

fn read_operation(row: &Row<'_>) -> rusqlite::Result<OperationView> {
    Ok(OperationView {
        operation: parsed(row, "operation")?,
        call: parsed(row, "call")?,
        request: optional_parsed(row, "request")?,
        tool: parsed(row, "tool")?,
        row_sha256: parsed(row, "row_sha256")?,
        args: row.get("args")?,
        state: parsed(row, "state")?,
        attempt: row.get("attempt")?,
        mint_at: optional_time(row, "mint_at")?,
        lease_until: optional_time(row, "lease_until")?,
        result: row.get("result")?,
        result_sha256: optional_parsed(row, "result_sha256")?,
        detail: row.get("detail")?,
    })
}

fn read_call(db: &Connection, call: &CallId) -> Result<Option<CallView>, StoreError> {
    let view = find(db, "SELECT call, agent, run, tool, effect FROM calls WHERE call = ?1", [call.to_string()], |row| {
        Ok(CallView {
            call: parsed(row, "call")?,
            agent: optional_parsed(row, "agent")?,
            run: optional_parsed(row, "run")?,
            tool: parsed(row, "tool")?,
            effect: parsed(row, "effect")?,
            request: None,
            operation: None,
        })
    })?;
    let Some(view) = view else { return Ok(None) };
    let request = find(db, &format!("{REQUESTS} WHERE requests.call = ?1"), [call.to_string()], read_request)?;
    let request = request.map(|request| complete(db, request)).transpose()?;
    let operation = match &request {
        Some(request) => request.operation.clone(),
        None => find(db, "SELECT * FROM operations WHERE call = ?1", [call.to_string()], read_operation)?,
    };
    Ok(Some(CallView { request, operation, ..view }))
}
