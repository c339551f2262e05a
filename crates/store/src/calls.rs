//! Calls of agents: frozen or joined to an earlier one, refused, read, withdrawn.

use std::sync::Arc;

use rusqlite::params;
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, Effect, Name, RequestId, RunId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::request::{RequestInput, RequestState};
use vidimus_core::roster::AUDITOR;
use vidimus_core::standing::Standing;

use crate::agents::{self, AgentIdentity};
use crate::codec::{optional_text, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::limits::{JOIN_CANDIDATES_MAX, JOIN_S};
use crate::orphans;
use crate::proposals::payload_sha256;
use crate::requests::{self, NewRequest};
use crate::rows::{CALL_COLUMNS, StoredCall, StoredRequest};
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::{Moment, Store};

/// A call as its agent sent it, after it was routed.
#[derive(Debug, Clone)]
pub struct CallReceived {
    /// A fresh id; used if the call does not join an earlier one.
    pub call: CallId,
    /// The agent that showed its credential.
    pub agent: Name,
    /// The run that it named.
    pub run: Option<RunId>,
    /// Its own operation key.
    pub call_key: Option<String>,
    /// The tool.
    pub tool: Name,
    /// Its own words.
    pub says: Option<String>,
    /// Whether a refusal goes on record; whoever says no counts it instead.
    pub refusal_on_record: bool,
}

/// A money call that is to wait for a person.
#[derive(Debug, Clone)]
pub struct FreezeCall {
    /// The call.
    pub received: CallReceived,
    /// A fresh id for the request.
    pub request: RequestId,
    /// A fresh salt for the arguments' digest.
    pub salt: Salt,
    /// The row that the arguments were judged under.
    pub row_sha256: Digest,
    /// The arguments.
    pub args: Json,
    /// What they name, by pointer; none where it could not be read: then the call can only join an earlier one.
    pub referents: Option<Json>,
}

/// A call that came again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// The earlier call, whose state is the answer.
    pub call: CallId,
    /// Nobody is known to have been told its id: whoever is given this says in the end whether its connection was
    /// ([`Store::tell_call`]) or is gone ([`Store::orphan_call`]). Only for money.
    pub untold: bool,
}

/// What became of a money call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreezeOutcome {
    /// A request waits. Nobody was told its id: as with [`Joined::untold`].
    Created {
        /// The call.
        call: CallId,
        /// Its request.
        request: RequestId,
    },
    /// The call is an earlier one again.
    Joined(Joined),
    /// A rule says no; recorded, nothing else changed.
    Refused(Refusal),
}

/// A call that a rule refused before it reached the store.
#[derive(Debug, Clone)]
pub struct CallRefused {
    /// The agent, where a valid credential was shown.
    pub agent: Option<Name>,
    /// The tool as the agent wrote it.
    pub tool: String,
    /// Why.
    pub refusal: Refusal,
    /// Who may read the details: the owner of the row; empty means auditors.
    pub roles: Vec<Name>,
}

/// A read that was answered.
#[derive(Debug, Clone)]
pub struct ReadRecorded {
    /// The agent.
    pub agent: Name,
    /// The tool.
    pub tool: Name,
    /// The count in the result, where the row says where it is.
    pub hits: Option<u64>,
    /// How it ended, in one word or status number.
    pub status: String,
}

/// What became of a call that its agent takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withdrawal {
    /// It will not run.
    Withdrawn,
    /// There is no such call of this agent.
    NotFound,
    /// It no longer waits; nothing changed.
    Refused(Refusal),
}

/// From what waits, which is bounded, to the agent that it is of: an agent's calls only grow in number. The index is of both states,
/// so both are named.
pub(crate) const WAITING_OF_AGENT: &str = "SELECT count(*) FROM requests CROSS JOIN calls USING (call)
    WHERE requests.state IN ('pending', 'approved') AND requests.state = 'pending' AND calls.agent = ?1";

impl Store {
    /// Freezes a money call and creates its request, or joins it to the earlier call that it repeats.
    pub async fn freeze_call(&self, moment: Moment, freeze: FreezeCall) -> Result<FreezeOutcome, StoreError> {
        let untold = Arc::clone(&self.untold);
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let mut outcome = match tx.attempt(|tx| freeze_call(tx, &freeze))? {
                    Ok(outcome) => outcome,
                    Err(refusal) => FreezeOutcome::Refused(record_call_refusal(tx, &freeze.received, refusal)?),
                };
                // In the order of the use cases: between this connection's joining and its waiting no other can be the last one.
                match &mut outcome {
                    FreezeOutcome::Created { call, .. } => {
                        untold.awaits(*call);
                    }
                    FreezeOutcome::Joined(joined) => joined.untold = !orphans::is_told(tx, &joined.call)? && untold.awaits(joined.call),
                    FreezeOutcome::Refused(_) => {}
                }
                Ok(outcome)
            })
            .await
    }

    /// Records a call that was refused before it reached the store.
    pub async fn refuse_call(&self, moment: Moment, refused: CallRefused) -> Result<(), StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| stage_refused(tx, refused)).await
    }

    /// Records a read.
    pub async fn record_read(&self, moment: Moment, read: ReadRecorded) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                // A provider says how many there are: a number that no record holds must not cost the record.
                let hits = read.hits.and_then(|hits| Json::integer(hits).ok());
                let claims = Json::object([
                    ("agent", text(&read.agent)),
                    ("tool", text(&read.tool)),
                    ("hits", hits.into()),
                    ("status", read.status.into()),
                ]);
                tx.stage(Entry::new(RecordType::ReadExecuted, claims))?;
                Ok(())
            })
            .await
    }

    /// Takes a waiting call back, for its own agent only.
    pub async fn withdraw(&self, moment: Moment, agent: Name, call: CallId) -> Result<Withdrawal, StoreError> {
        self.engine
            .write(moment, Rank::Stop, move |tx| {
                Ok(match tx.attempt(|tx| withdraw(tx, &agent, &call))? {
                    Ok(()) => Withdrawal::Withdrawn,
                    Err(refusal) if refusal.code == Code::NotFound => Withdrawal::NotFound,
                    Err(refusal) => Withdrawal::Refused(refusal),
                })
            })
            .await
    }
}

/// What a call turns out to be.
pub(crate) enum Join {
    /// An earlier one again.
    To(CallId),
    /// A new one, perhaps after an earlier one that came to nothing.
    New(Option<RequestId>),
}

/// The agent of a call, if the table in force still lets it call this tool by this row.
pub(crate) fn permitted(tx: &mut Tx<'_>, received: &CallReceived, row_sha256: &Digest) -> Attempt<AgentIdentity> {
    let gate = tx.gate()?;
    if !gate.table_view.signed {
        return refuse(Code::ToolUnknown, "the effect table is not signed yet, so nothing runs; the first admin must enrol");
    }
    let Some(identity) = agents::identity(tx.log(), &received.agent)? else {
        return refuse(Code::CredentialInvalid, "the agent is not known to this gate; add it");
    };
    agents::owners_are_here(&identity.chain, &gate.roster()?.roster)?;
    if !gate.table.agent(&received.agent).is_some_and(|list| list.may_call(&received.tool)) {
        return refuse(Code::ToolNotListed, format!("the tool is not on the list of the agent `{}`; use a listed one", received.agent));
    }
    if gate.table.row(&received.tool).is_none_or(|row| row.digest() != *row_sha256) {
        return refuse(Code::RowStale, "the tool's row changed while the call came in; send the call again");
    }
    Ok(identity)
}

fn freeze_call(tx: &mut Tx<'_>, freeze: &FreezeCall) -> Attempt<FreezeOutcome> {
    let received = &freeze.received;
    let identity = permitted(tx, received, &freeze.row_sha256)?;
    let payload = payload_sha256(&received.tool, &freeze.args.canonical()?);
    let run = received.run.unwrap_or(identity.run);
    let prior = match join(tx, &identity, received, run, &payload)? {
        Join::To(call) => return Ok(FreezeOutcome::Joined(count_join(tx, call)?)),
        Join::New(prior) => prior,
    };
    let gate = tx.gate()?;
    let row = gate.table.row(&received.tool).filter(|row| row.effect == Effect::Money);
    let row = row.ok_or_else(|| Refusal::new(Code::ToolWrong, "the tool's row is not money; route the call again"))?;
    let waiting: u32 = tx.find(WAITING_OF_AGENT, [received.agent.as_str()], |row| row.get(0))?.unwrap_or(0);
    let pending_max = gate.table.agent(&received.agent).map_or(0, |list| list.pending_max);
    if waiting >= pending_max {
        return refuse(Code::PendingLimitReached, format!("`{waiting}` requests of this agent wait already; wait for decisions first"));
    }
    let Some(referents) = &freeze.referents else {
        return refuse(
            Code::ReferentUnreadable,
            "what the arguments name cannot be read, so nobody can be asked; send the call again later",
        );
    };
    insert_call(tx, &identity, received, run, Effect::Money, &payload)?;
    let new = NewRequest {
        referents: referents.clone(),
        row,
        request: freeze.request,
        call: received.call,
        run,
        on_behalf_of: on_behalf_of(&identity),
        agents: identity.chain,
        proposer: None,
        salt: freeze.salt,
        args: freeze.args.clone(),
        needs: None,
        says: received.says.as_deref(),
        call_key: received.call_key.as_deref(),
        invite_sha256: None,
        prior,
    };
    requests::create(tx, &gate, new)?;
    Ok(FreezeOutcome::Created { call: received.call, request: freeze.request })
}

/// For whom an agent acts, from its credential alone.
fn on_behalf_of(identity: &AgentIdentity) -> Option<String> {
    identity.owner.map(|owner| owner.to_string())
}

/// Looks for the earlier call that this one repeats.
///
/// *Errors*: `operation_key_conflict`: an equal key with another payload is never the same call.
pub(crate) fn join(tx: &Tx<'_>, identity: &AgentIdentity, received: &CallReceived, run: RunId, payload: &Digest) -> Attempt<Join> {
    let agent = identity.agent.as_str();
    let behalf = on_behalf_of(identity);
    if let Some(call_key) = &received.call_key {
        let sql = format!(
            "{CALL_COLUMNS} WHERE calls.agent = ?1 AND calls.on_behalf_of IS ?2 AND calls.call_key = ?3 ORDER BY calls.rowid DESC LIMIT 1"
        );
        let Some(earlier) = tx.find(&sql, params![agent, behalf, call_key], StoredCall::read)? else { return Ok(Join::New(None)) };
        if earlier.payload_sha256 != *payload {
            return refuse(
                Code::OperationKeyConflict,
                "the `call_key` was used for another tool or other arguments; use a fresh key for a new call",
            );
        }
        return Ok(match earlier.standing() {
            Standing::Open | Standing::Answered => Join::To(earlier.call),
            Standing::Over => Join::New(earlier.request),
        });
    }
    let sql = format!(
        "{CALL_COLUMNS} WHERE calls.agent = ?1 AND calls.on_behalf_of IS ?2 AND calls.payload_sha256 = ?3 ORDER BY calls.rowid DESC LIMIT ?4"
    );
    let candidates = tx.list(&sql, params![agent, behalf, payload.to_string(), JOIN_CANDIDATES_MAX], StoredCall::read)?;
    if let Some(open) = candidates.iter().find(|call| call.standing() == Standing::Open) {
        return Ok(Join::To(open.call));
    }
    let recent = |call: &&StoredCall| call.run == Some(run) && call.ended_at.is_some_and(|at| tx.now < at.plus_s(JOIN_S));
    Ok(match candidates.iter().find(recent) {
        None => Join::New(None),
        Some(earlier) => match earlier.standing() {
            Standing::Open | Standing::Answered => Join::To(earlier.call),
            Standing::Over => Join::New(earlier.request),
        },
    })
}

/// Counts a repetition on the call that it joins.
pub(crate) fn count_join(tx: &mut Tx<'_>, call: CallId) -> Result<Joined, StoreError> {
    tx.execute_one("UPDATE calls SET joins = joins + 1 WHERE call = ?1", [call.to_string()])?;
    orphans::take_back(tx, &call)?;
    Ok(Joined { call, untold: false })
}

pub(crate) fn insert_call(
    tx: &Tx<'_>,
    identity: &AgentIdentity,
    received: &CallReceived,
    run: RunId,
    effect: Effect,
    payload: &Digest,
) -> Result<(), StoreError> {
    tx.execute_one(
        "INSERT INTO calls (call, agent, on_behalf_of, run, call_key, tool, effect, payload_sha256, says, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            received.call.to_string(),
            identity.agent.as_str(),
            on_behalf_of(identity),
            run.to_string(),
            received.call_key,
            received.tool.as_str(),
            effect.as_str(),
            payload.to_string(),
            received.says,
            tx.now.as_ms(),
        ],
    )
}

/// Records a call that a rule of the store refused; its details go to the owner of the tool's row.
pub(crate) fn record_call_refusal(tx: &mut Tx<'_>, received: &CallReceived, refusal: Refusal) -> Result<Refusal, StoreError> {
    if !received.refusal_on_record {
        return Ok(refusal);
    }
    let gate = tx.gate()?;
    let roles = gate.table.row(&received.tool).map(|row| row.owner.clone()).into_iter().collect();
    stage_refused(
        tx,
        CallRefused { agent: Some(received.agent.clone()), tool: received.tool.to_string(), refusal: refusal.clone(), roles },
    )?;
    Ok(refusal)
}

fn stage_refused(tx: &mut Tx<'_>, refused: CallRefused) -> Result<(), StoreError> {
    let claims = Json::object([("agent", optional_text(refused.agent)), ("code", text(refused.refusal.code))]);
    let body =
        Json::object([("tool", refused.tool.into()), ("detail", refused.refusal.message.into()), ("path", refused.refusal.path.into())]);
    let roles = if refused.roles.is_empty() { vec![Name::parse(AUDITOR)?] } else { refused.roles };
    tx.stage(Entry::new(RecordType::CallRefused, claims).readable_by(roles).with_body(body))?;
    Ok(())
}

fn withdraw(tx: &mut Tx<'_>, agent: &Name, call: &CallId) -> Attempt<()> {
    let sql = format!("{CALL_COLUMNS} WHERE calls.call = ?1 AND calls.agent = ?2");
    let found = tx.find(&sql, params![call.to_string(), agent.as_str()], StoredCall::read)?;
    let Some(request) = found.and_then(|call| call.request) else {
        return refuse(Code::NotFound, "there is no such call of this agent; look at its id");
    };
    let stored = StoredRequest::load(tx.db, &request)?.ok_or_else(|| StoreError::corrupt("a call without its request"))?;
    requests::advance(tx, &stored, RequestInput::Withdraw)?;
    requests::stage_end(tx, &stored, RecordType::RequestWithdrawn, RequestState::Withdrawn, Code::RequestWithdrawn)
}
