//! The gate's own tool `gate.roster.change`: its effect and its result are one transaction.

use rusqlite::params;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::ids::{CallId, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::roster::{Admission, Roster};

use crate::codec::parsed;
use crate::enrolments::{insert_roster, stage_roster};
use crate::gate::GateState;
use crate::limits::SWEEP_ROWS_MAX;
use crate::operations::load_request;
use crate::own_tools::approvals;
use crate::proposals::{Proposal, propose};
use crate::requests;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Tx};

/// The roster that a request leads to from the one in force.
///
/// *Errors*: `roster_stale`, `roster_change_invalid`.
pub(crate) fn leads_to(gate: &GateState, request: &StoredRequest) -> Attempt<Roster> {
    Ok(Admission::next_roster(&request.frozen.members().args, &gate.roster()?.roster)?)
}

/// Brings the approved version of the roster into force.
pub(crate) fn apply(tx: &mut Tx<'_>, request: &StoredRequest) -> Attempt<Json> {
    let gate = tx.gate()?;
    let next = leads_to(&gate, request)?;
    let view = insert_roster(tx, &next)?;
    stage_roster(tx, &next, approvals(tx, &request.request)?, Some(&request.frozen))?;
    Ok(Json::object([("roster_sha256", view.roster_sha256.into()), ("version", view.version.into())]))
}

/// What a new version of the roster brings along.
pub(crate) fn follow(tx: &mut Tx<'_>) -> Attempt<()> {
    let gate = tx.gate()?;
    propose_again(tx, &gate.roster()?.roster)
}

/// Everybody else who waits was proposed on the version before. Their invites are used, so their proposals are made
/// again on the new version, instead of waiting for a decision that could never be applied.
fn propose_again(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let waiting: Vec<(PersonId, RequestId)> = tx.list(
        "SELECT person, request FROM enrolments JOIN requests USING (request) WHERE state IN ('pending', 'approved') ORDER BY created_at LIMIT ?1",
        [SWEEP_ROWS_MAX as i64],
        |row| Ok((parsed(row, "person")?, parsed(row, "request")?)),
    )?;
    let why = Refusal::new(Code::RosterStale, "the roster changed");
    for (person, request) in waiting {
        let stored = load_request(tx, &request)?;
        let args = admission_of(&stored.frozen.members().args).and_then(|admission| admission.to_args(roster));
        requests::make_stale(tx, &stored, &why)?;
        // A person who cannot be admitted to this version any more must be invited anew.
        let Ok(args) = args else { continue };
        let proposal = Proposal {
            tool: ROSTER_CHANGE,
            call: CallId::from_random(tx.random_bits()),
            request: RequestId::from_random(tx.random_bits()),
            salt: tx.next_salt(),
            proposer: person,
            args,
            needs: None,
        };
        let again = proposal.request;
        let gate = tx.gate()?;
        propose(tx, &gate, proposal)?;
        tx.execute_one(
            "UPDATE enrolments SET request = ?1 WHERE person = ?2 AND request = ?3",
            params![again.to_string(), person.to_string(), request.to_string()],
        )?;
    }
    Ok(())
}

/// The admission inside the arguments of a roster change.
fn admission_of(args: &Json) -> Result<Admission, Refusal> {
    let malformed = || Refusal::new(Code::FieldMalformed, "the arguments of a roster change are not an admission");
    let member = |name: &str| args.member(name).and_then(Json::as_str).ok_or_else(malformed);
    let roles = args.member("roles").and_then(Json::as_array).ok_or_else(malformed)?;
    Ok(Admission {
        person: member("person")?.parse()?,
        name: member("name")?.to_owned(),
        roles: roles.iter().map(|role| role.as_str().ok_or_else(malformed)?.parse()).collect::<Result<_, _>>()?,
        approval_key: member("approval_key")?.parse()?,
        device_key: member("device_key")?.parse()?,
        label: member("label")?.to_owned(),
    })
}
