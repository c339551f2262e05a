//! The gate's own tool `gate.table.change`: proposed as a text, decided by what differs, in force in one transaction with
//! everything that rests on the rows it changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, params};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::roster::EVERYONE;
use vidimus_core::table::{TABLE_CHANGE, Table, TableChange, TableFault};

use crate::codec::{count, parsed, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::{GateState, TableView};
use crate::own_tools::approvals;
use crate::proposals::{Proposal, propose, refuse_too_many};
use crate::requests;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Entry, Stop, Tx, find, refuse};
use crate::{Moment, Store};

/// A whole effect table that a person proposes in place of the one in force.
#[derive(Debug, Clone)]
pub struct ProposeTable {
    /// Who proposes, and so decides nothing of it.
    pub proposer: PersonId,
    /// The table, in TOML.
    pub text: String,
    /// A fresh id for the call.
    pub call: CallId,
    /// A fresh id for the request.
    pub request: RequestId,
    /// A fresh salt for the arguments' digest.
    pub salt: Salt,
}

/// A change of the table that waits for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProposed {
    /// The request to decide.
    pub request: RequestId,
    /// The position of its record in the log.
    pub position: u64,
    /// Digest of the table that it leads to.
    pub table_sha256: Digest,
    /// The tools whose rows differ.
    pub tools: Vec<Name>,
    /// The agents whose lists differ.
    pub agents: Vec<Name>,
    /// The roles that must approve, each with how many persons.
    pub needs: Vec<(Name, u32)>,
}

/// What became of a proposed table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposeTableOutcome {
    /// People must decide.
    Waiting(TableProposed),
    /// The text is no table.
    Faulty(Vec<TableFault>),
    /// A rule says no; nothing changed.
    Refused(Refusal),
}

impl Store {
    /// Proposes a table: what differs from the one in force becomes a `gate.table.change` that others decide.
    pub async fn propose_table(&self, moment: Moment, propose: ProposeTable) -> Result<ProposeTableOutcome, StoreError> {
        // A long text must keep nobody waiting but whoever brings another one: each person has one read at a time, and the gate has.
        let Some(_turn) = self.tables.begin(propose.proposer) else {
            let refusal = Refusal::new(Code::PendingLimitReached, "a table of this person is being read; wait for its answer first");
            return Ok(ProposeTableOutcome::Refused(refusal));
        };
        if let Some(refusal) = self.engine.read(move |db| told(refuse_too_many(db, &propose.proposer))).await? {
            return Ok(ProposeTableOutcome::Refused(refusal));
        }
        let read = {
            let _alone = self.tables.alone.lock().await;
            self.engine
                .work_out(move || match Table::parse(&propose.text) {
                    Ok(next) => Ok((propose, next)),
                    Err(faults) => Err(faults),
                })
                .await?
        };
        let (propose, next) = match read {
            Ok(read) => read,
            Err(faults) => return Ok(ProposeTableOutcome::Faulty(faults)),
        };
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                Ok(match tx.attempt(|tx| propose_table(tx, &propose, &next))? {
                    Ok(proposed) => ProposeTableOutcome::Waiting(proposed),
                    Err(refusal) => ProposeTableOutcome::Refused(refusal),
                })
            })
            .await
    }
}

/// The refusal of a rule that only looks, if it refuses.
fn told(looked: Attempt<()>) -> Result<Option<Refusal>, StoreError> {
    match looked {
        Ok(()) => Ok(None),
        Err(Stop::Refused(refusal)) => Ok(Some(refusal)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Who has a proposed table that is being read, or waits for its turn. Reading one is the longest that a person can have done.
#[derive(Default)]
pub(crate) struct TablesRead {
    of: Mutex<BTreeSet<PersonId>>,
    alone: tokio::sync::Mutex<()>,
}

impl TablesRead {
    /// The one turn of a person; none while they have it.
    fn begin(self: &Arc<Self>, person: PersonId) -> Option<Turn> {
        let free = self.of.lock().unwrap_or_else(PoisonError::into_inner).insert(person);
        free.then(|| Turn { tables: Arc::clone(self), person })
    }
}

/// Ends with whoever holds it, also where its caller goes away.
struct Turn {
    tables: Arc<TablesRead>,
    person: PersonId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.tables.of.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.person);
    }
}

fn propose_table(tx: &mut Tx<'_>, proposed: &ProposeTable, next: &Table) -> Attempt<TableProposed> {
    let gate = tx.gate()?;
    if gate.roster()?.roster.person(&proposed.proposer).is_none() {
        return refuse(Code::ApproverWrong, "the proposer is not in the roster; a person of this gate must propose");
    }
    refuse_too_many(tx.db, &proposed.proposer)?;
    let change = TableChange::between(&gate.table, next)?;
    let args = change.bounded_args()?;
    // The last text of a digest stays: another one with the same meaning differs in comments and order only, and one that is not of
    // this digest was put there by somebody else.
    tx.execute(
        "INSERT INTO effect_tables (table_sha256, toml) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET toml = excluded.toml",
        params![change.next_sha256.to_string(), proposed.text],
    )?;
    let proposal = Proposal {
        tool: TABLE_CHANGE,
        call: proposed.call,
        request: proposed.request,
        salt: proposed.salt,
        proposer: proposed.proposer,
        args,
        needs: Some(change.needs().to_vec()),
        invite_sha256: None,
    };
    propose(tx, &gate, proposal)?;
    let position =
        tx.find("SELECT position FROM requests WHERE request = ?1", [proposed.request.to_string()], |row| count(row, "position"))?;
    Ok(TableProposed {
        request: proposed.request,
        position: position.ok_or_else(|| StoreError::corrupt("a proposal that vanished"))?,
        table_sha256: change.next_sha256,
        tools: change.tools().cloned().collect(),
        agents: change.agents.iter().map(|agent| agent.name.clone()).collect(),
        needs: change.needs().iter().map(|need| (need.role.clone(), need.quorum)).collect(),
    })
}

/// The table that a request leads to from the one in force, with its text.
///
/// *Errors*: `table_stale`, `table_change_invalid`.
pub(crate) fn leads_to(db: &Connection, gate: &GateState, request: &StoredRequest) -> Attempt<(Table, String)> {
    let next_sha256 = request.frozen.members().args.member("next_sha256").and_then(Json::as_str).unwrap_or_default();
    let text = find(db, "SELECT toml FROM effect_tables WHERE table_sha256 = ?1", [next_sha256], |row| row.get::<_, String>(0))?;
    let Some(text) = text else { return refuse(Code::TableChangeInvalid, "the proposed text is gone; propose the table again") };
    let (next, _) = decision::proposed_table(&request.frozen, &gate.table, &text)?;
    Ok((next, text))
}

/// Brings the approved table into force.
pub(crate) fn apply(tx: &mut Tx<'_>, request: &StoredRequest) -> Attempt<Json> {
    let gate = tx.gate()?;
    let (next, toml) = leads_to(tx.db, &gate, request)?;
    let previous_sha256 = gate.table_view.table_sha256;
    tx.execute_one(
        "UPDATE gate SET table_sha256 = ?1 WHERE table_sha256 = ?2 AND table_signed = 1",
        params![next.digest().to_string(), previous_sha256.to_string()],
    )?;
    let view = TableView { toml, table_sha256: next.digest(), signed: true };
    let (in_force, table) = (view.clone(), Arc::new(next));
    let next_sha256 = table.digest();
    tx.change_gate(|gate| (gate.table, gate.table_view) = (table, in_force))?;
    stage_table(tx, &view, approvals(tx, &request.request)?, Some((&request.frozen, previous_sha256)))?;
    Ok(Json::object([("table_sha256", next_sha256.into())]))
}

/// Stages the record of a version of the table, with the signatures that brought it.
pub(crate) fn stage_table(
    tx: &mut Tx<'_>,
    table: &TableView,
    envelopes: Vec<Envelope>,
    change: Option<(&FrozenRequest, Digest)>,
) -> Result<(), StoreError> {
    // With the frozen change, every reader recomputes from signed bytes what it leads to.
    let frozen = change.map(|(frozen, _)| String::from_utf8(frozen.bytes().to_vec())).transpose();
    let frozen = frozen.map_err(|_| StoreError::corrupt("a frozen request that is not text"))?;
    let claims = Json::object([
        ("table_sha256", text(table.table_sha256)),
        ("previous_sha256", change.map(|(_, previous)| previous.to_string()).into()),
    ]);
    let entry = Entry::new(RecordType::TableChanged, claims)
        .readable_by(vec![Name::parse(EVERYONE)?])
        .with_envelopes(envelopes)
        .with_body(Json::object([("table", table.toml.as_str().into()), ("frozen", frozen.into())]));
    tx.stage(Entry { request: change.map(|(frozen, _)| frozen.members().request), ..entry })?;
    Ok(())
}

/// Everything that waits for what is no longer in force is stale: what rests on a row that changed or is gone, and every
/// other change of the table that was before.
pub(crate) fn follow(tx: &mut Tx<'_>) -> Attempt<()> {
    let gate = tx.gate()?;
    let waiting: Vec<RequestId> =
        tx.list("SELECT request FROM requests WHERE state IN ('pending', 'approved') ORDER BY position", [], |row| parsed(row, "request"))?;
    for request in waiting {
        let stored = StoredRequest::load(tx.db, &request)?.ok_or_else(|| StoreError::corrupt("a request that vanished"))?;
        if let Some(why) = rests_on_what_was(&gate, &stored.frozen) {
            requests::make_stale(tx, &stored, &why)?;
        }
    }
    Ok(())
}

/// Why a request does not stand under the table in force.
fn rests_on_what_was(gate: &GateState, frozen: &FrozenRequest) -> Option<Refusal> {
    let members = frozen.members();
    if gate.table.row(&members.tool).is_none_or(|row| row.digest() != members.row_sha256) {
        return Some(Refusal::new(Code::RowStale, "the tool's row has changed since the call was frozen; nothing runs"));
    }
    let other_table = members.tool.as_str() == TABLE_CHANGE
        && members.args.member("previous_sha256").and_then(Json::as_str) != Some(gate.table_view.table_sha256.to_string().as_str());
    other_table.then(|| Refusal::new(Code::TableStale, "the change was made for another version of the effect table; propose it again"))
}
