//! Before a gate serves: what the database holds must be what its log says, the log must be the one behind the signed
//! head, and who may decide must follow from signatures alone. Whoever can write the database can sign nothing.
//!
//! Reads every record once; nothing is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, Row};
use vidimus_core::bytes::Digest;
use vidimus_core::chain::RosterChain;
use vidimus_core::code::Refusal;
use vidimus_core::decision;
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::Name;
use vidimus_core::operation::OperationState;
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::roster::Roster;
use vidimus_core::seal::SealKey;
use vidimus_core::statement::Genesis;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::{Frontier, leaf_hash};

use crate::Store;
use crate::agents::credential_run;
use crate::caps::{self, Expected};
use crate::codec::{count, names_to_text, optional_parsed, optional_time, time};
use crate::error::StoreError;
use crate::gate::{GateState, parsed_table};
use crate::ledger_verification::LedgerWalk;
use crate::limits::CHAIN_MAX;
use crate::log::{Head, read_head, read_node, to_i64};
use crate::replay::Replay;
use crate::rows::StoredRequest;
use crate::tx::{find, list};
use crate::verification_operations::Operations;
use crate::verification_people::PeopleWalk;
use crate::{migrations, sealing, soundness};

/// Why a database is not to be served from.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The database contradicts its log, its signed head or a signature.
    #[error("ledger_contradicted: {0}; somebody wrote into the database, keep it as evidence and put back a copy that lacks nothing")]
    Contradicted(String),
    /// A signature or a document on record does not hold.
    #[error("ledger_contradicted: {what}; somebody wrote into the database, keep it as evidence and put back a copy that lacks nothing")]
    Unsigned {
        /// What is not signed as it should be.
        what: String,
        /// The rule that it breaks.
        #[source]
        refusal: Refusal,
    },
    /// The end of the log or the clock is not what this gate left.
    #[error(
        "seal_broken: the records from {from} to {size} and the clock beside them carry no seal of this gate; somebody wrote into the database, or it is of a version before seals; keep it as evidence and put back a copy that lacks nothing"
    )]
    SealBroken {
        /// The size of the newest signed head.
        from: u64,
        /// Records in the log.
        size: u64,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for VerifyError {
    fn from(error: rusqlite::Error) -> VerifyError {
        VerifyError::Store(error.into())
    }
}

impl Store {
    /// Verifies the whole log against the newest signed head, and what is in force against the log.
    ///
    /// To be called before anything is written: an edited database must stay as it was found.
    /// *Errors*: `Contradicted`, `Unsigned` and `SealBroken`: the gate must not start.
    pub async fn verify(&self, signed: Option<Head>) -> Result<(), VerifyError> {
        let (in_force, seal) = (self.engine.gate_in_force(), self.engine.seal_key());
        self.engine
            .read(move |db| {
                Ok(verify(db, signed, &seal).map(|gate| {
                    // What was compared with the log is what is served from.
                    if let Some(gate) = gate {
                        in_force.follow(&Arc::new(gate));
                    }
                }))
            })
            .await?
    }
}

pub(crate) fn contradicted<T>(what: impl Into<String>) -> Result<T, VerifyError> {
    Err(VerifyError::Contradicted(what.into()))
}

pub(crate) fn unsigned(what: impl Into<String>) -> impl FnOnce(Refusal) -> VerifyError {
    move |refusal| VerifyError::Unsigned { what: what.into(), refusal }
}

fn verify(db: &Connection, signed: Option<Head>, seal: &SealKey) -> Result<Option<GateState>, VerifyError> {
    let Some(gate) = GateState::load(db)? else {
        let begun = find(db, "SELECT 1 FROM records LIMIT 1", [], |_| Ok(()))?.is_some();
        return if begun { contradicted("the gate's identity is gone") } else { Ok(None) };
    };
    soundness::holds_together(db)?;
    let mut walk = Walk {
        db,
        gate: &gate,
        rosters: RosterChain::default(),
        genesis: None,
        table: None,
        reservations: BTreeMap::new(),
        agents: BTreeMap::new(),
        operations: Operations::default(),
    };
    let mut ledger = LedgerWalk::default();
    let mut people = PeopleWalk::begin(db)?;
    let mut replay = Replay::default();
    let mut frontier = Frontier::from_parts(0, Vec::new()).map_err(StoreError::from)?;
    let mut statement =
        db.prepare("SELECT position, leaf, type, at_ms, request, operation, roles, salt, body FROM records ORDER BY position")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let position = frontier.size();
        if count(row, "position")? != position {
            return contradicted(format!("the log has no record at {position}"));
        }
        let leaf: String = row.get("leaf")?;
        let record = AuditRecord::parse(leaf.as_bytes()).map_err(unsigned(format!("the record at {position} is none of this gate's")))?;
        if !same_columns(row, &record)? {
            return contradicted(format!("the columns of the record at {position} are not those of its leaf"));
        }
        walk.take(position, &record)?;
        ledger.take(db, position, &record, row.get::<_, Option<String>>("body")?.as_deref())?;
        people.take(db, position, &record)?;
        replay.take(db, position, &record)?;
        for (node, hash) in frontier.append(leaf_hash(leaf.as_bytes())) {
            if read_node(db, node)? != hash {
                return contradicted(format!("the tree over the record at {position} is not that of its leaves"));
            }
        }
        if signed.is_some_and(|signed| signed.size == frontier.size() && signed.root != frontier.root()) {
            return contradicted("the records are not those under the signed head");
        }
    }
    let found = Head { size: frontier.size(), root: frontier.root() };
    if found != read_head(db)? || signed.is_some_and(|signed| signed.size > found.size) {
        return contradicted("the head of the log is not that of its records");
    }
    ledger.finish(db, &gate)?;
    people.finish(db, &walk.rosters)?;
    walk.finish()?;
    nothing_is_ahead(db, found.size, gate.roster.as_ref().map_or(0, |roster| roster.roster.version))?;
    // A signed head is behind the records up to it, nothing but the seal behind those that came after it.
    if !sealing::read(db)?.holds(seal) {
        return Err(VerifyError::SealBroken { from: signed.map_or(0, |signed| signed.size), size: found.size });
    }
    if !migrations::is_untouched(db)? {
        return contradicted("the schema is not the one that this gate made");
    }
    soundness::refers_to_rows(db)?;
    Ok(Some(gate))
}

/// Nothing stands where the gate will write: a row there would keep the next version of the roster from coming into force, and with
/// it every stop and removal, or the next record from the log.
fn nothing_is_ahead(db: &Connection, size: u64, version: u32) -> Result<(), VerifyError> {
    let nodes: u64 = (0..u64::BITS).map(|level| size >> level).sum();
    let counts = [
        ("rosters", "SELECT count(*) AS count FROM rosters", u64::from(version)),
        ("records", "SELECT count(*) AS count FROM records", size),
        ("log_nodes", "SELECT count(*) AS count FROM log_nodes", nodes),
    ];
    for (table, sql, expected) in counts {
        if find(db, sql, [], |row| count(row, "count"))? != Some(expected) {
            return contradicted(format!("`{table}` has rows that no record brought, or lacks some"));
        }
    }
    if find(db, "SELECT size FROM checkpoints WHERE size > ?1 LIMIT 1", [to_i64(size)?], |_| Ok(()))?.is_some() {
        return contradicted("a head is kept of records that are not there");
    }
    Ok(())
}

/// Whether what is looked up by column is what the leaf says, and the body is the one of its digest.
fn same_columns(row: &Row<'_>, record: &AuditRecord) -> Result<bool, VerifyError> {
    let body = match (row.get::<_, Option<String>>("body")?, optional_parsed(row, "salt")?) {
        (Some(text), Some(salt)) => Some(Body { text, salt }.digest()),
        (None, None) => None,
        (_, _) => return Ok(false),
    };
    Ok(row.get::<_, String>("type")? == record.record_type.as_str()
        && row.get::<_, i64>("at_ms")? == record.at.as_ms()
        && row.get::<_, Option<String>>("request")? == record.request.map(|request| request.to_string())
        && row.get::<_, Option<String>>("operation")? == record.operation.map(|operation| operation.to_string())
        && row.get::<_, String>("roles")? == names_to_text(&record.roles)
        && body == record.body_sha256)
}

/// What the log has brought into force so far.
struct Walk<'a> {
    db: &'a Connection,
    gate: &'a GateState,
    rosters: RosterChain,
    genesis: Option<Genesis>,
    table: Option<Arc<Table>>,
    reservations: BTreeMap<String, Expected>,
    agents: BTreeMap<String, Agent>,
    operations: Operations,
}

/// An agent as its record or its row has it.
#[derive(PartialEq, Eq)]
struct Agent {
    owner: Option<String>,
    parent: Option<String>,
    credential_sha256: Option<String>,
    added_at: Timestamp,
    revoked_at: Option<Timestamp>,
}

impl Walk<'_> {
    fn take(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        if (position == 0) != (record.record_type == RecordType::GateInitialised) {
            return contradicted("the log does not begin with this gate, and only once");
        }
        if record.record_type == RecordType::GateInitialised {
            return self.same_gate(record);
        }
        if record.record_type == RecordType::RosterChanged {
            return self.roster_changed(record);
        }
        if matches!(
            record.record_type,
            RecordType::RecoveryAnnounced | RecordType::RecoveryVetoed | RecordType::RecoveryRefused | RecordType::TimeSkipped
        ) {
            return self.recovery(position, record);
        }
        if record.record_type == RecordType::TableChanged {
            return self.table_changed(record);
        }
        if record.record_type == RecordType::DecisionRecorded {
            return self.decision_recorded(position, record);
        }
        let mut operations = std::mem::take(&mut self.operations);
        let taken = operations.take(self.db, position, record, self.rosters.roster(), |agent| self.chain(agent));
        self.operations = operations;
        taken?;
        self.reserved(record)?;
        if record.record_type == RecordType::AgentAdded {
            let claim = |name: &str| record.claim(name).map(str::to_owned);
            let agent = claim("agent").unwrap_or_default();
            let added = Agent {
                owner: claim("owner"),
                parent: claim("parent"),
                credential_sha256: claim("credential_sha256"),
                added_at: record.at,
                revoked_at: None,
            };
            if self.agents.insert(agent.clone(), added).is_some_and(|earlier| earlier.revoked_at.is_none()) {
                return contradicted(format!("the agent `{agent}` is on record twice"));
            }
        }
        if record.record_type == RecordType::AgentRevoked {
            let agent = record.claim("agent").unwrap_or_default();
            match self.agents.get_mut(agent) {
                Some(known) if known.revoked_at.is_none() => known.revoked_at = Some(record.at),
                Some(_) | None => return contradicted(format!("the agent `{agent}` was revoked without being there")),
            }
        }
        Ok(())
    }

    /// An agent with everyone who sent it, as they stand; none where one of them is revoked or not there.
    fn chain(&self, agent: &str) -> Option<Vec<ChainLink>> {
        let mut chain = Vec::new();
        let mut next = Some(agent.to_owned());
        while let Some(name) = next.take() {
            let known = self.agents.get(&name).filter(|known| known.revoked_at.is_none() && chain.len() < CHAIN_MAX)?;
            let owner = known.owner.as_ref().map(|owner| owner.parse()).transpose().ok()?;
            chain.push(ChainLink { agent: Name::parse(&name).ok()?, owner });
            next.clone_from(&known.parent);
        }
        Some(chain)
    }

    fn same_gate(&self, record: &AuditRecord) -> Result<(), VerifyError> {
        let identity = &self.gate.identity;
        let same = record.claim("gate") == Some(&identity.gate.to_string())
            && record.claim("environment") == Some(identity.environment.as_str())
            && record.claim("log_key") == Some(&identity.log_key.to_string())
            && record.claim("token_key") == Some(&identity.token_key.to_string());
        if same { Ok(()) } else { contradicted("the gate's identity or environment is not the one that `init` recorded") }
    }

    fn roster_changed(&mut self, record: &AuditRecord) -> Result<(), VerifyError> {
        let version = self.rosters.roster().map_or(1, |roster| roster.version + 1);
        let what = || format!("version {version} of the roster");
        let stored = find(self.db, "SELECT text, roster_sha256 FROM rosters WHERE version = ?1", [version], |row| {
            Ok((row.get::<_, String>("text")?, row.get::<_, String>("roster_sha256")?))
        })?;
        let Some((text, roster_sha256)) = stored else { return contradicted(format!("{} is gone", what())) };
        let digest = Digest::of(text.as_bytes()).to_string();
        if record.claim("roster_sha256") != Some(&digest) || roster_sha256 != digest {
            return contradicted(format!("{} is not the one on record", what()));
        }
        let next = Roster::parse(text.as_bytes()).map_err(unsigned(what()))?;
        let request = record.request.map(|request| StoredRequest::load(self.db, &request)).transpose()?.flatten();
        let genesis = self.rosters.changed(record, request.as_ref().map(|request| &*request.frozen)).map_err(unsigned(what()))?;
        if self.rosters.roster() != Some(&next) {
            return contradicted(format!("{} is not the one that was signed", what()));
        }
        self.genesis = self.genesis.take().or(genesis);
        Ok(())
    }

    fn recovery(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let what = unsigned(format!("the recovery at {position}"));
        self.rosters.take_recovery(record).map_err(what)
    }

    /// The first table is the one that the first admin signed; each later one follows from signed decisions.
    fn table_changed(&mut self, record: &AuditRecord) -> Result<(), VerifyError> {
        let what = "a version of the effect table";
        let named = record.claim("table_sha256").unwrap_or_default();
        let text = find(self.db, "SELECT toml FROM effect_tables WHERE table_sha256 = ?1", [named], |row| row.get::<_, String>(0))?;
        let Some(text) = text else { return contradicted(format!("{what} is gone")) };
        let (Some(genesis), Some(roster)) = (&self.genesis, self.rosters.roster()) else {
            return contradicted(format!("{what} is signed by nobody"));
        };
        let next = match &self.table {
            None if named != genesis.table_sha256.to_string() => return contradicted(format!("{what} is signed by nobody")),
            None => parsed_table(&text).map_err(|_| VerifyError::Contradicted(format!("{what} does not load")))?,
            Some(previous) => {
                let request = record.request.map(|request| StoredRequest::load(self.db, &request)).transpose()?.flatten();
                let Some(request) = request else { return contradicted(format!("{what} has no request")) };
                Arc::new(decision::approved_table(&request.frozen, &record.envelopes, roster, previous, &text).map_err(unsigned(what))?)
            }
        };
        if next.digest().to_string() != named {
            return contradicted(format!("{what} is not the one on record"));
        }
        self.table = Some(next);
        Ok(())
    }

    fn decision_recorded(&self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let what = || format!("the decision at {position}");
        let (Some(roster), [envelope]) = (self.rosters.roster(), record.envelopes.as_slice()) else {
            return contradicted(format!("{} is signed by nobody", what()));
        };
        let verified = decision::verify(envelope, roster).map_err(unsigned(what()))?;
        let statement = verified.statement();
        let same = record.request == Some(statement.request)
            && record.claim("decision") == Some(statement.decision.as_str())
            && record.claim("approver") == Some(&statement.approver.to_string())
            && record.claim("role") == Some(statement.role.as_str())
            && record.claim("request_sha256") == Some(&statement.request_sha256.to_string());
        if same { Ok(()) } else { contradicted(format!("{} is not the one that was signed", what())) }
    }

    /// An operation that was reserved under a row with caps counts under them.
    fn reserved(&mut self, record: &AuditRecord) -> Result<(), VerifyError> {
        if record.record_type == RecordType::ReconciliationRecorded && record.claim("state") == Some(OperationState::Partial.as_str()) {
            let part = record.claim("amount_minor").and_then(|amount| amount.parse().ok());
            let known = record.operation.and_then(|operation| self.reservations.get_mut(&operation.to_string()));
            if let (Some(part), Some(known)) = (part, known) {
                known.happened(part);
            }
            return Ok(());
        }
        let begins = record.record_type == RecordType::OperationChanged && record.claim("from").is_none();
        let (true, Some(operation), Some(request)) = (begins, record.operation, record.request) else { return Ok(()) };
        let Some(request) = StoredRequest::load(self.db, &request)? else { return Ok(()) };
        let row = self.table.as_ref().and_then(|table| table.row(&request.frozen.members().tool));
        if let Some(expected) = row.and_then(|row| Expected::of(row, &request.frozen, record.at)) {
            self.reservations.insert(operation.to_string(), expected);
        }
        Ok(())
    }

    fn finish(self) -> Result<(), VerifyError> {
        if let Some(operation) = caps::contradicted(self.db, &self.reservations)? {
            return contradicted(format!("what counts under the caps for the operation `{operation}` is not what the log has"));
        }
        let in_force = self.gate.roster.as_ref().map(|roster| &roster.roster);
        if in_force != self.rosters.roster() {
            return contradicted("the roster in force is not the newest one on record");
        }
        if in_force.is_some_and(|roster| roster.recovery_key != self.gate.identity.recovery_key) {
            return contradicted("the recovery key is not the one of the roster");
        }
        let signed = self.gate.table_view.signed.then_some(self.gate.table_view.table_sha256);
        if signed != self.table.as_ref().map(|table| table.digest()) {
            return contradicted("the effect table in force is not the one that was signed");
        }
        same_agents(self.db, &self.agents)
    }
}

/// Each agent is as it was added: its owner may not approve for it, its credential is the one that was given out.
fn same_agents(db: &Connection, on_record: &BTreeMap<String, Agent>) -> Result<(), VerifyError> {
    let rows = list(db, "SELECT agent, owner, parent, credential_sha256, run, created_at, revoked_at FROM agents", [], |row| {
        let agent = Agent {
            owner: row.get("owner")?,
            parent: row.get("parent")?,
            credential_sha256: row.get("credential_sha256")?,
            added_at: time(row, "created_at")?,
            revoked_at: optional_time(row, "revoked_at")?,
        };
        Ok((row.get::<_, String>("agent")?, agent, row.get::<_, String>("run")?))
    })?;
    for (name, agent, run) in &rows {
        let credential = agent.credential_sha256.as_deref().and_then(|digest| digest.parse().ok());
        let same_run = credential.is_some_and(|credential| credential_run(&credential).to_string() == *run);
        if on_record.get(name) != Some(agent) || !same_run || Name::parse(name).is_err() {
            return contradicted(format!("the agent `{name}` is not as it was added"));
        }
    }
    if rows.len() == on_record.len() { Ok(()) } else { contradicted("an agent that was added is gone") }
}
