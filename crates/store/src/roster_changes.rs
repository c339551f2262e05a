//! Versions of the roster coming into force: by the gate's own tool `gate.roster.change`, whose effect and result are one
//! transaction, by a stop, by a recovery. What a key or a role could still do ends in the same transaction.

use rusqlite::params;
use vidimus_core::bytes::Digest;
use vidimus_core::chain::RosterCause;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{self, ROSTER_CHANGE, approval_on_record};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::roster::{Roster, RosterChange};

use crate::codec::parsed;
use crate::departures;
use crate::enrolments::{insert_roster, stage_roster};
use crate::error::StoreError;
use crate::gate::GateState;
use crate::limits::SWEEP_ROWS_MAX;
use crate::operations::load_request;
use crate::own_tools::approvals;
use crate::proposals::{Proposal, propose};
use crate::requests;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Tx};
use crate::unanswerable;

/// The roster that a request leads to from the one in force.
///
/// *Errors*: `roster_stale`, `roster_change_invalid`, `last_admin`, `enrolment_wrong`.
pub(crate) fn leads_to(gate: &GateState, request: &StoredRequest) -> Attempt<Roster> {
    Ok(decision::roster_change(&request.frozen, &gate.roster()?.roster)?)
}

/// Brings the approved version of the roster into force.
pub(crate) fn apply(tx: &mut Tx<'_>, request: &StoredRequest) -> Attempt<Json> {
    let gate = tx.gate()?;
    let next = leads_to(&gate, request)?;
    let envelopes = approvals(tx, &request.request)?;
    bring(tx, &next, RosterCause::Change, envelopes, Some(&request.frozen))?;
    Ok(Json::object([("roster_sha256", next.digest()?.into()), ("version", next.version.into())]))
}

/// What a new version of the roster brings along: what rested on the version before ends.
pub(crate) fn follow(tx: &mut Tx<'_>) -> Attempt<()> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    propose_again(tx, roster)?;
    departures::end_what_nobody_answers_for(tx, roster)?;
    end_approvals(tx, roster)?;
    Ok(unanswerable::tell(tx)?)
}

/// A version that has come into force, and the position of its record.
pub(crate) struct InForce {
    pub(crate) version: u32,
    pub(crate) position: u64,
}

/// Brings a version of the roster into force, with everything that it ends: sessions and challenges of keys that count no
/// more, approvals that no longer hold, proposals that were made on the version before.
pub(crate) fn enter_into_force(tx: &mut Tx<'_>, next: &Roster, cause: RosterCause, envelope: &Envelope) -> Attempt<InForce> {
    let in_force = bring(tx, next, cause, vec![envelope.clone()], None)?;
    follow(tx)?;
    Ok(in_force)
}

fn bring(tx: &mut Tx<'_>, next: &Roster, cause: RosterCause, envelopes: Vec<Envelope>, change: Option<&FrozenRequest>) -> Attempt<InForce> {
    let before = tx.gate()?;
    insert_roster(tx, next)?;
    let position = stage_roster(tx, next, cause, envelopes, change)?;
    end_keys(tx, &before.roster()?.roster, next)?;
    Ok(InForce { version: next.version, position })
}

/// Keys that counted before and no longer do lose their sessions. A challenge is worth nothing without its key.
fn end_keys(tx: &Tx<'_>, before: &Roster, next: &Roster) -> Result<(), StoreError> {
    for key in before.persons.iter().flat_map(|person| &person.keys).filter(|key| key.stopped_at.is_none()) {
        let digest: Digest = key.key.digest();
        if next.active_key(&digest, key.key_use).is_ok() {
            continue;
        }
        tx.execute("DELETE FROM sessions WHERE key_sha256 = ?1", [digest.to_string()])?;
        tx.execute("DELETE FROM session_challenges WHERE key_sha256 = ?1", [digest.to_string()])?;
    }
    Ok(())
}

/// Proposals were made on the version before, and could never be applied. Those that bring keys are made again on the new
/// version, since their invites are used; whoever asked for another change asks anew.
fn propose_again(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let waiting: Vec<RequestId> = tx.list(
        "SELECT request FROM requests WHERE tool = ?1 AND state IN ('pending', 'approved') ORDER BY created_at LIMIT ?2",
        params![ROSTER_CHANGE, SWEEP_ROWS_MAX as i64],
        |row| parsed(row, "request"),
    )?;
    let why = Refusal::new(Code::RosterStale, "the roster changed");
    for request in waiting {
        let stored = load_request(tx, &request)?;
        requests::make_stale(tx, &stored, &why)?;
        let change = RosterChange::parse(&stored.frozen.members().args).ok().filter(RosterChange::is_asked_by_its_person);
        let Some(change) = change else { continue };
        // Keys that cannot come into this version any more must be brought by a new invite.
        let Ok(args) = change.to_args(roster) else { continue };
        let again = RequestId::ascending(tx.now, tx.random_bits());
        let proposal = Proposal {
            tool: ROSTER_CHANGE,
            call: CallId::ascending(tx.now, tx.random_bits()),
            request: again,
            salt: tx.next_salt(),
            proposer: *change.person(),
            args,
            needs: None,
            // The invite was used up by the proposal that this one stands for.
            invite_sha256: None,
        };
        let gate = tx.gate()?;
        if let Err(refusal) = tx.attempt(|tx| propose(tx, &gate, proposal))? {
            tracing::warn!(code = %refusal.code, %request, "a proposal was not made again on the new roster");
            continue;
        }
        tx.execute_one("UPDATE enrolments SET request = ?1 WHERE request = ?2", params![again.to_string(), request.to_string()])?;
    }
    Ok(())
}

/// Open requests with an approval that no longer holds are stale at once: what was to be asked at mint is certain now. Beyond
/// the bound, mint finds out.
fn end_approvals(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let open: Vec<RequestId> = tx.list(
        "SELECT DISTINCT request FROM decisions JOIN requests USING (request)
         WHERE standing = 1 AND requests.state IN ('pending', 'approved') LIMIT ?1",
        [SWEEP_ROWS_MAX as i64],
        |row| parsed(row, "request"),
    )?;
    for request in open {
        let stored = load_request(tx, &request)?;
        let escalated = tx.log().decisions(&request)?.escalated;
        let fallen = approvals(tx, &request)?.iter().find_map(|envelope| {
            let held = approval_on_record(envelope, &stored.frozen, roster)
                .and_then(|(approval, _)| decision::may_decide(&approval.approver, &approval.role, &stored.frozen, escalated, roster));
            held.err()
        });
        if let Some(refusal) = fallen {
            requests::make_stale(tx, &stored, &refusal)?;
        }
    }
    Ok(())
}
