//! Money calls that a person proposes: the gate's own tools. They take the same path as any other money call.

use rusqlite::{Connection, params};
use vidimus_core::bytes::{Digest, Salt, tagged};
use vidimus_core::code::Code;
use vidimus_core::ids::{CallId, Name, PersonId, RequestId, RunId};
use vidimus_core::json::Json;
use vidimus_core::table::Need;

use crate::error::StoreError;
use crate::gate::GateState;
use crate::limits::PROPOSALS_WAITING_MAX;
use crate::requests::{self, NewRequest};
use crate::tx::{Attempt, Tx, find, refuse};

/// A change of the gate itself that somebody asks for.
pub(crate) struct Proposal {
    pub(crate) tool: &'static str,
    pub(crate) call: CallId,
    pub(crate) request: RequestId,
    pub(crate) salt: Salt,
    pub(crate) proposer: PersonId,
    pub(crate) args: Json,
    /// Who must approve; as the tool's row says, where none is named.
    pub(crate) needs: Option<Vec<Need>>,
    /// The invite that it uses up.
    pub(crate) invite_sha256: Option<Digest>,
}

/// From what waits, which is bounded, to who proposed it: a person's proposals only grow in number. The index is of both states, so
/// both are named.
pub(crate) const WAITING_OF_PROPOSER: &str = "SELECT count(*) FROM requests CROSS JOIN calls USING (call)
    WHERE requests.state IN ('pending', 'approved') AND requests.state = 'pending' AND calls.proposer = ?1";

/// Whether a person has as many proposals waiting as others read.
///
/// *Errors*: `pending_limit_reached`.
pub(crate) fn refuse_too_many(db: &Connection, proposer: &PersonId) -> Attempt<()> {
    let waiting: u32 = find(db, WAITING_OF_PROPOSER, [proposer.to_string()], |row| row.get(0))?.unwrap_or(0);
    if waiting >= PROPOSALS_WAITING_MAX {
        return refuse(Code::PendingLimitReached, format!("`{waiting}` proposals of this person wait already; wait for decisions first"));
    }
    Ok(())
}

/// Stores the proposal's call and creates its request.
pub(crate) fn propose(tx: &mut Tx<'_>, gate: &GateState, proposal: Proposal) -> Attempt<()> {
    let tool = Name::parse(proposal.tool)?;
    let row = gate.table.row(&tool).ok_or_else(|| StoreError::corrupt("a table without the gate's own rows"))?;
    let canonical = proposal.args.canonical()?;
    tx.execute_one(
        "INSERT INTO calls (call, proposer, tool, effect, payload_sha256, created_at) VALUES (?1, ?2, ?3, 'money', ?4, ?5)",
        params![
            proposal.call.to_string(),
            proposal.proposer.to_string(),
            tool.as_str(),
            payload_sha256(&tool, &canonical).to_string(),
            tx.now.as_ms(),
        ],
    )?;
    let new = NewRequest {
        row,
        request: proposal.request,
        call: proposal.call,
        run: run_of(&tagged("vidimus.proposer.run.v1", [proposal.proposer.to_string().as_bytes()])),
        agents: Vec::new(),
        on_behalf_of: None,
        proposer: Some(proposal.proposer),
        salt: proposal.salt,
        args: proposal.args,
        referents: Json::Object(Vec::new()),
        needs: proposal.needs,
        says: None,
        call_key: None,
        invite_sha256: proposal.invite_sha256,
        prior: None,
    };
    requests::create(tx, gate, new)
}

/// Digest by which two payloads are compared. It is not salted, so it never leaves the database.
pub(crate) fn payload_sha256(tool: &Name, args: &[u8]) -> Digest {
    // A name holds no zero byte, so the parts cannot run into each other.
    tagged("vidimus.payload.v1", [tool.as_str().as_bytes(), b"\0", args])
}

/// The one run of whoever names none: the first 128 bits of a digest of them.
pub(crate) fn run_of(digest: &Digest) -> RunId {
    let mut bits = [0; 16];
    bits.copy_from_slice(&digest.as_bytes()[..16]);
    RunId::from_random(bits)
}
