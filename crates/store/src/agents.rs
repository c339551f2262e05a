//! Agents: who answers for them, who sent them, and the credential that they show.

use rusqlite::params;
use vidimus_core::bytes::{Digest, tagged};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::{Name, PersonId, RequestId, RunId};
use vidimus_core::json::Json;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use crate::codec::{optional_text, parsed, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateState;
use crate::kept;
use crate::limits::CHAIN_MAX;
use crate::on_record::LogView;
use crate::operations::load_request;
use crate::proposals::run_of;
use crate::requests;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Entry, Tx, find, list, refuse};
use crate::{Moment, Store};

/// An agent that is to be given a credential.
#[derive(Debug, Clone)]
pub struct AddAgent {
    /// Its name, as in the table's lists.
    pub agent: Name,
    /// The person who answers for it.
    pub owner: Option<PersonId>,
    /// The agent that sends it.
    pub parent: Option<Name>,
    /// Digest of the credential; the credential itself is never stored.
    pub credential_sha256: Digest,
}

/// What became of an agent that was to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAdded {
    /// Its credential works.
    Added,
    /// A rule says no; nothing changed.
    Refused(Refusal),
}

/// What became of an agent whose credential is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRevoked {
    /// Its credential works no more, and neither do those of the agents that it sent.
    Revoked {
        /// Its waiting and its approved, unused requests, which are stale now.
        ended: usize,
    },
    /// A rule says no; nothing changed.
    Refused(Refusal),
}

/// Who shows a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    /// Its name.
    pub agent: Name,
    /// The person who answers for it.
    pub owner: Option<PersonId>,
    /// Itself first, then the ones that sent it.
    pub chain: Vec<ChainLink>,
    /// The run of its calls that name none.
    pub run: RunId,
}

impl Store {
    /// Gives an agent its credential.
    pub async fn add_agent(&self, moment: Moment, agent: AddAgent) -> Result<AgentAdded, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                Ok(match tx.attempt(|tx| add_agent(tx, &agent))? {
                    Ok(()) => AgentAdded::Added,
                    Err(refusal) => AgentAdded::Refused(refusal),
                })
            })
            .await
    }

    /// Takes an agent's credential back; what it asked for and nothing has used yet is stale with it.
    pub async fn revoke_agent(&self, moment: Moment, agent: Name) -> Result<AgentRevoked, StoreError> {
        self.engine
            .write(moment, Rank::Stop, move |tx| {
                Ok(match tx.attempt(|tx| revoke_agent(tx, &agent))? {
                    Ok(ended) => AgentRevoked::Revoked { ended },
                    Err(refusal) => AgentRevoked::Refused(refusal),
                })
            })
            .await
    }

    /// Who shows this credential; `None` for nobody. The column only finds the agent: the log says whether the credential is
    /// the one that was given out, and stands.
    pub async fn authenticate_agent(&self, credential_sha256: Digest) -> Result<Option<AgentIdentity>, StoreError> {
        self.engine
            .look(move |db| {
                let agent: Option<Name> =
                    find(db, "SELECT agent FROM agents WHERE credential_sha256 = ?1", [credential_sha256.to_string()], |row| {
                        parsed(row, "agent")
                    })?;
                let Some(agent) = agent else { return Ok(None) };
                let log = LogView::of(db);
                let shown = log.agent(&agent)?.is_some_and(|on_record| on_record.credential_sha256 == credential_sha256);
                if shown { identity(log, &agent) } else { Ok(None) }
            })
            .await
    }
}

/// An agent as the log has it.
pub(crate) struct AgentOnRecord {
    pub(crate) owner: Option<PersonId>,
    pub(crate) parent: Option<Name>,
    pub(crate) credential_sha256: Digest,
    /// When it was given this credential.
    pub(crate) added_at: Timestamp,
    pub(crate) revoked: bool,
}

impl LogView<'_> {
    /// The agent of this name, as it was last added; revoked or not.
    pub(crate) fn agent(&self, agent: &Name) -> Result<Option<AgentOnRecord>, StoreError> {
        // The words of the index, so that it serves.
        let sql = "SELECT leaf FROM records WHERE type IN ('agent_added', 'agent_revoked') AND json_extract(leaf, '$.claims.agent') = ?1
                   ORDER BY position";
        let leaves = list(self.db, sql, [agent.as_str()], |row| row.get::<_, String>(0))?;
        let mut found = None;
        for leaf in &leaves {
            let record = kept::record(leaf)?;
            if record.claim("agent") != Some(agent.as_str()) {
                continue;
            }
            if record.record_type == RecordType::AgentAdded {
                found = Some(AgentOnRecord::of(&record)?);
            } else if let Some(known) = &mut found {
                known.revoked = true;
            }
        }
        Ok(found)
    }
}

impl AgentOnRecord {
    fn of(record: &AuditRecord) -> Result<AgentOnRecord, StoreError> {
        let credential = record.claim("credential_sha256").ok_or_else(|| StoreError::corrupt("an agent without its credential"))?;
        Ok(AgentOnRecord {
            owner: record.claim("owner").map(str::parse).transpose()?,
            parent: record.claim("parent").map(Name::parse).transpose()?,
            credential_sha256: credential.parse()?,
            added_at: record.at,
            revoked: false,
        })
    }
}

/// Whether the agents of a frozen chain are still those that were frozen, and the first may still call the tool.
///
/// *Errors*: `agent_revoked`, `agent_owner_gone`, `tool_not_listed`.
pub(crate) fn agents_hold(log: LogView<'_>, gate: &GateState, request: &StoredRequest) -> Attempt<()> {
    let members = request.frozen.members();
    if let Some(link) = other_than_frozen(log, &members.agents, members.created_at)? {
        return refuse(Code::AgentRevoked, format!("the agent `{}` was revoked after the call was frozen; nothing runs", link.agent));
    }
    owners_are_here(&members.agents, &gate.roster()?.roster)?;
    match members.agents.first() {
        Some(first) if !gate.table.agent(&first.agent).is_some_and(|list| list.may_call(&members.tool)) => {
            refuse(Code::ToolNotListed, format!("the tool is no longer on the list of the agent `{}`; nothing runs", first.agent))
        }
        Some(_) | None => Ok(()),
    }
}

/// The first link of a chain that is not the agent any more that it was when the chain was frozen; none where all are.
pub(crate) fn other_than_frozen<'a>(
    log: LogView<'_>,
    chain: &'a [ChainLink],
    frozen_at: Timestamp,
) -> Result<Option<&'a ChainLink>, StoreError> {
    for (index, link) in chain.iter().enumerate() {
        let sent_by = chain.get(index + 1).map(|above| &above.agent);
        let same = log.agent(&link.agent)?.is_some_and(|known| {
            // A name that was given out anew is another agent than the one that asked.
            !known.revoked && known.owner == link.owner && known.parent.as_ref() == sent_by && known.added_at <= frozen_at
        });
        if !same {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

/// Whether each person who answers for an agent of a chain is in the roster. Who left and is invited again has another id, and
/// would decide on what their own agent asks: an agent without its owner asks for nothing.
///
/// *Errors*: `agent_owner_gone`.
pub(crate) fn owners_are_here(chain: &[ChainLink], roster: &Roster) -> Result<(), Refusal> {
    match chain.iter().find(|link| link.owner.is_some_and(|owner| roster.person(&owner).is_none())) {
        None => Ok(()),
        Some(left) => Err(Refusal::new(
            Code::AgentOwnerGone,
            format!("who answers for the agent `{}` is not in the roster any more; revoke it, and add it with an owner who is", left.agent),
        )),
    }
}

fn revoke_agent(tx: &mut Tx<'_>, agent: &Name) -> Attempt<usize> {
    match tx.log().agent(agent)? {
        None => return refuse(Code::NotFound, format!("there is no agent `{agent}`; look at its name")),
        Some(known) if known.revoked => return refuse(Code::AgentRevoked, format!("the agent `{agent}` was revoked before")),
        Some(_) => {}
    }
    tx.execute_one("UPDATE agents SET revoked_at = ?1 WHERE agent = ?2", params![tx.now.as_ms(), agent.as_str()])?;
    tx.stage(Entry::new(RecordType::AgentRevoked, Json::object([("agent", text(agent))])))?;
    let waiting: Vec<RequestId> =
        tx.list("SELECT request FROM requests WHERE state IN ('pending', 'approved') ORDER BY rowid", [], |row| parsed(row, "request"))?;
    let why = Refusal::new(Code::AgentRevoked, "the agent was revoked");
    let mut ended = 0;
    for request in &waiting {
        let stored = load_request(tx, request)?;
        if stored.frozen.members().agents.iter().any(|link| link.agent == *agent) {
            requests::make_stale(tx, &stored, &why)?;
            ended += 1;
        }
    }
    Ok(ended)
}

fn add_agent(tx: &mut Tx<'_>, agent: &AddAgent) -> Attempt<()> {
    let gate = tx.gate()?;
    let given_out =
        tx.find("SELECT 1 FROM agents WHERE credential_sha256 = ?1", [agent.credential_sha256.to_string()], |_| Ok(()))?.is_some();
    let known = tx.log().agent(&agent.agent)?;
    if given_out || known.as_ref().is_some_and(|known| !known.revoked) {
        let message = format!("the agent `{}` has a credential already; choose another name, or revoke it first", agent.agent);
        return refuse(Code::FieldMalformed, message);
    }
    if let Some(owner) = agent.owner
        && gate.roster.as_ref().is_none_or(|roster| roster.roster.person(&owner).is_none())
    {
        return refuse(Code::NotFound, format!("the owner `{owner}` is not in the roster; enrol the person first"));
    }
    if let Some(parent) = &agent.parent {
        match identity(tx.log(), parent)? {
            None => return refuse(Code::NotFound, format!("the parent `{parent}` is no agent of this gate; add it first")),
            Some(parent) if parent.chain.len() >= CHAIN_MAX => {
                return refuse(
                    Code::FieldMalformed,
                    format!("a chain of agents is at most `{CHAIN_MAX}` long; add this one nearer to its root"),
                );
            }
            Some(_) => {}
        }
    }
    let run = credential_run(&agent.credential_sha256);
    tx.execute_one(
        "INSERT INTO agents (agent, owner, parent, credential_sha256, run, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (agent) DO UPDATE SET owner = excluded.owner, parent = excluded.parent, run = excluded.run,
                credential_sha256 = excluded.credential_sha256, created_at = excluded.created_at, revoked_at = NULL",
        params![
            agent.agent.as_str(),
            agent.owner.map(|owner| owner.to_string()),
            agent.parent.as_ref().map(Name::as_str),
            agent.credential_sha256.to_string(),
            run.to_string(),
            tx.now.as_ms(),
        ],
    )?;
    let claims = Json::object([
        ("agent", text(&agent.agent)),
        ("owner", optional_text(agent.owner)),
        ("parent", optional_text(agent.parent.as_ref())),
        ("credential_sha256", text(agent.credential_sha256)),
    ]);
    tx.stage(Entry::new(RecordType::AgentAdded, claims))?;
    Ok(())
}

/// The run of the calls that name none, fixed by the credential.
pub(crate) fn credential_run(credential_sha256: &Digest) -> RunId {
    run_of(&tagged("vidimus.agent.run.v1", [credential_sha256.as_bytes()]))
}

/// The agent of this name with everyone who sent it; none where one of them was revoked.
pub(crate) fn identity(log: LogView<'_>, agent: &Name) -> Result<Option<AgentIdentity>, StoreError> {
    let mut chain: Vec<ChainLink> = Vec::new();
    let mut run = None;
    let mut next = Some(agent.clone());
    while let Some(name) = next {
        if chain.len() >= CHAIN_MAX {
            return Err(StoreError::corrupt("a chain of agents without end"));
        }
        let Some(known) = log.agent(&name)?.filter(|known| !known.revoked) else { return Ok(None) };
        run.get_or_insert_with(|| credential_run(&known.credential_sha256));
        chain.push(ChainLink { agent: name, owner: known.owner });
        next = known.parent;
    }
    let owner = chain.first().and_then(|first| first.owner);
    Ok(run.map(|run| AgentIdentity { agent: agent.clone(), owner, chain, run }))
}
