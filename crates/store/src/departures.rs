//! What ends when a person leaves the roster: what the agents they answer for have asked, and what they proposed themselves.
//! Nobody may decide on what is their own, and whoever is invited again comes back under another id.

use std::collections::BTreeMap;

use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::Draft;
use vidimus_core::ids::{Name, PersonId, RequestId};
use vidimus_core::roster::Roster;
use vidimus_core::table::TABLE_CHANGE;

use crate::agents::{identity, owners_are_here};
use crate::codec::{optional_parsed, parsed};
use crate::error::StoreError;
use crate::operations::load_request;
use crate::requests;
use crate::tx::{Attempt, Tx};

/// An open request, and whose it is by its columns.
struct Open {
    request: RequestId,
    tool: Name,
    agent: Option<Name>,
    proposer: Option<PersonId>,
}

/// To be called when a version of the roster comes into force: makes stale what nobody of it answers for.
pub(crate) fn end_what_nobody_answers_for(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let open = tx.list(
        "SELECT requests.request, requests.tool, calls.agent, calls.proposer FROM requests JOIN calls USING (call)
         WHERE requests.state IN ('pending', 'approved') ORDER BY requests.position",
        [],
        |row| {
            let (request, tool) = (parsed(row, "request")?, parsed(row, "tool")?);
            Ok(Open { request, tool, agent: optional_parsed(row, "agent")?, proposer: optional_parsed(row, "proposer")? })
        },
    )?;
    let mut here: BTreeMap<Name, bool> = BTreeMap::new();
    for open in open {
        // The columns only say where to look: most of what waits is not even read.
        if is_answered_for(tx, &open, roster, &mut here)? {
            continue;
        }
        let stored = load_request(tx, &open.request)?;
        if let Err(why) = stands(stored.frozen.members(), roster) {
            requests::make_stale(tx, &stored, &why)?;
        }
    }
    Ok(())
}

fn is_answered_for(tx: &Tx<'_>, open: &Open, roster: &Roster, here: &mut BTreeMap<Name, bool>) -> Result<bool, StoreError> {
    if open.tool.as_str() == TABLE_CHANGE {
        return Ok(open.proposer.is_some_and(|proposer| roster.person(&proposer).is_some()));
    }
    // Changes of the roster end with the version that they were made on.
    let Some(agent) = &open.agent else { return Ok(true) };
    if let Some(known) = here.get(agent) {
        return Ok(*known);
    }
    let answered = identity(tx.log(), agent)?.is_some_and(|identity| owners_are_here(&identity.chain, roster).is_ok());
    here.insert(agent.clone(), answered);
    Ok(answered)
}

/// Whether a frozen request is one that somebody of the roster answers for.
fn stands(members: &Draft, roster: &Roster) -> Result<(), Refusal> {
    let proposer_gone = members.tool.as_str() == TABLE_CHANGE && members.proposer.is_none_or(|proposer| roster.person(&proposer).is_none());
    if proposer_gone {
        return Err(Refusal::new(Code::RosterStale, "who proposed the change is not in the roster any more; propose it again"));
    }
    owners_are_here(&members.agents, roster)
}
