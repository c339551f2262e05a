//! Agents: who answers for them, who sent them, and the credential that they show.

use rusqlite::{Connection, Row, params};
use vidimus_core::bytes::{Digest, tagged};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::{Name, PersonId, RunId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;

use crate::codec::{optional_parsed, optional_text, parsed, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::limits::CHAIN_MAX;
use crate::proposals::run_of;
use crate::tx::{Attempt, Entry, Tx, find, refuse};
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

    /// Who shows this credential; `None` for nobody.
    pub async fn authenticate_agent(&self, credential_sha256: Digest) -> Result<Option<AgentIdentity>, StoreError> {
        self.engine
            .read(move |db| {
                let agent: Option<Name> =
                    find(db, "SELECT agent FROM agents WHERE credential_sha256 = ?1", [credential_sha256.to_string()], |row| {
                        parsed(row, "agent")
                    })?;
                agent.map_or(Ok(None), |agent| identity(db, &agent))
            })
            .await
    }
}

fn add_agent(tx: &mut Tx<'_>, agent: &AddAgent) -> Attempt<()> {
    let gate = tx.gate()?;
    let known = tx.find(
        "SELECT 1 FROM agents WHERE agent = ?1 OR credential_sha256 = ?2",
        params![agent.agent.as_str(), agent.credential_sha256.to_string()],
        |_| Ok(()),
    )?;
    if known.is_some() {
        return refuse(Code::FieldMalformed, format!("the agent `{}` has a credential already; choose another name", agent.agent));
    }
    if let Some(owner) = agent.owner
        && gate.roster.as_ref().is_none_or(|roster| roster.roster.person(&owner).is_none())
    {
        return refuse(Code::NotFound, format!("the owner `{owner}` is not in the roster; enrol the person first"));
    }
    if let Some(parent) = &agent.parent {
        match identity(tx.db, parent)? {
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
        "INSERT INTO agents (agent, owner, parent, credential_sha256, run, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
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

/// The agent of this name with everyone who sent it.
pub(crate) fn identity(db: &Connection, agent: &Name) -> Result<Option<AgentIdentity>, StoreError> {
    type Link = (ChainLink, Option<Name>, RunId);
    let read = |row: &Row<'_>| -> rusqlite::Result<Link> {
        Ok((
            ChainLink { agent: parsed(row, "agent")?, owner: optional_parsed(row, "owner")? },
            optional_parsed(row, "parent")?,
            parsed(row, "run")?,
        ))
    };
    let link = |agent: &Name| find(db, "SELECT agent, owner, parent, run FROM agents WHERE agent = ?1", [agent.as_str()], read);
    let Some((first, mut parent, run)) = link(agent)? else { return Ok(None) };
    let (agent, owner) = (first.agent.clone(), first.owner);
    let mut chain = vec![first];
    while let Some(name) = parent {
        if chain.len() >= CHAIN_MAX {
            return Err(StoreError::corrupt("a chain of agents without end"));
        }
        let (next, above, _) = link(&name)?.ok_or_else(|| StoreError::corrupt("an agent without its parent"))?;
        chain.push(next);
        parent = above;
    }
    Ok(Some(AgentIdentity { agent, owner, chain, run }))
}
