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
use crate::log::to_i64;
use crate::operations::load_request;
use crate::own_tools::approvals;
use crate::proposals::{Proposal, propose};
use crate::requests;
use crate::rows::StoredRequest;
use crate::sweeps::certain;
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

/// What is still to be looked through of everything that waited when the roster in force came. Bounded parts of it are, one in the
/// transaction that brought the roster and the others in sweeps: a stop must not take the longer, the more somebody made wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unfollowed {
    /// The position of the roster's record: changes of the roster that were proposed before it lead nowhere any more.
    brought_at: u64,
    /// Whether all of those are ended.
    proposals_ended: bool,
    /// Up to which position admins were told of what nobody can answer; none when all of it was looked at.
    told_before: Option<u64>,
    /// Whether admins hear again of what they were told of.
    again: bool,
}

/// What a new version of the roster brings along: what rested on the version before ends.
pub(crate) fn follow(tx: &mut Tx<'_>) -> Attempt<()> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    end_proposals(tx)?;
    departures::end_what_nobody_answers_for(tx, roster)?;
    end_approvals(tx, roster)?;
    // Of what is left.
    tell_admins(tx)
}

/// To be called at a start: how far the process before had come is not known.
pub(crate) fn follow_from_the_start(tx: &mut Tx<'_>) -> Attempt<()> {
    if tx.gate()?.roster.is_none() {
        return Ok(());
    }
    let brought_at = tx.find(
        "SELECT max(position) FROM records WHERE type = 'roster_changed'
           AND type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused')",
        [],
        |row| row.get::<_, Option<i64>>(0),
    )?;
    let brought_at = brought_at.flatten().and_then(|position| u64::try_from(position).ok());
    let brought_at = brought_at.ok_or_else(|| StoreError::corrupt("a roster without its record"))?;
    let all = Unfollowed { brought_at, proposals_ended: false, told_before: Some(0), again: false };
    Ok(tx.change_gate(|gate| gate.unfollowed = Some(all))?)
}

/// The next bounded part of what is still to be looked through. Tells how many requests it ended.
pub(crate) fn go_on_following(tx: &mut Tx<'_>) -> Attempt<usize> {
    let ended = end_proposals(tx)?;
    tell_admins(tx)?;
    Ok(ended)
}

fn end_proposals(tx: &mut Tx<'_>) -> Attempt<usize> {
    let gate = tx.gate()?;
    let Some(left) = gate.unfollowed.filter(|left| !left.proposals_ended) else { return Ok(0) };
    let (ended, all) = propose_again(tx, &gate.roster()?.roster, left.brought_at)?;
    go_on_with(tx, Unfollowed { proposals_ended: all, ..left })?;
    Ok(ended)
}

fn tell_admins(tx: &mut Tx<'_>) -> Attempt<()> {
    let Some(left) = tx.gate()?.unfollowed else { return Ok(()) };
    let Some(from) = left.told_before else { return Ok(()) };
    let told_before = unanswerable::tell(tx, from, left.again)?;
    go_on_with(tx, Unfollowed { told_before, ..left })
}

fn go_on_with(tx: &mut Tx<'_>, left: Unfollowed) -> Attempt<()> {
    let left = (!left.proposals_ended || left.told_before.is_some()).then_some(left);
    Ok(tx.change_gate(|gate| gate.unfollowed = left)?)
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
    let all = Unfollowed { brought_at: position, proposals_ended: false, told_before: Some(0), again: true };
    tx.change_gate(|gate| gate.unfollowed = Some(all))?;
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

/// What waits of those who asked for keys of their own: no more than invites were made and each person may propose. First, and
/// without a bound: their invites are used, and nobody else's proposals may cost them that.
const OWN_KEYS_BEFORE: &str = "SELECT request FROM requests CROSS JOIN enrolments USING (request)
    WHERE requests.state IN ('pending', 'approved') AND requests.tool = ?1 AND +requests.position < ?2 ORDER BY +requests.position";

const PROPOSED_BEFORE: &str = "SELECT request FROM requests
    WHERE state IN ('pending', 'approved') AND tool = ?1 AND +position < ?2 ORDER BY +position LIMIT ?3";

/// Proposals were made on the version before, and could never be applied. Those that bring keys are made again on the new
/// version, since their invites are used; whoever asked for another change asks anew. Tells how many it ended, and whether those were all.
fn propose_again(tx: &mut Tx<'_>, roster: &Roster, brought_at: u64) -> Attempt<(usize, bool)> {
    let before = to_i64(brought_at)?;
    let own: Vec<RequestId> = tx.list(OWN_KEYS_BEFORE, params![ROSTER_CHANGE, before], |row| parsed(row, "request"))?;
    let bound = SWEEP_ROWS_MAX as i64;
    let mut others: Vec<RequestId> = tx.list(PROPOSED_BEFORE, params![ROSTER_CHANGE, before, bound], |row| parsed(row, "request"))?;
    let all = others.len() < SWEEP_ROWS_MAX;
    others.retain(|request| !own.contains(request));
    for request in own.iter().chain(&others) {
        // One that cannot be read back must not keep a stolen key at work: sweeps name it to an operator.
        if let Err(error) = tx.aside(|tx| certain(end_and_propose_again(tx, roster, request)))? {
            tracing::error!(%request, error = &error as &dyn std::error::Error, "a proposal on the roster before was not ended");
        }
    }
    Ok((own.len() + others.len(), all))
}

fn end_and_propose_again(tx: &mut Tx<'_>, roster: &Roster, request: &RequestId) -> Attempt<()> {
    let why = Refusal::new(Code::RosterStale, "the roster changed");
    let stored = load_request(tx, request)?;
    requests::make_stale(tx, &stored, &why)?;
    let change = RosterChange::parse(&stored.frozen.members().args).ok().filter(RosterChange::is_asked_by_its_person);
    let Some(change) = change else { return Ok(()) };
    // Keys that cannot come into this version any more must be brought by a new invite.
    let Ok(args) = change.to_args(roster) else { return Ok(()) };
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
        return Ok(());
    }
    tx.execute_one("UPDATE enrolments SET request = ?1 WHERE request = ?2", params![again.to_string(), request.to_string()])?;
    Ok(())
}

/// Open requests with an approval that no longer holds are stale at once: what was to be asked at mint is certain now. Beyond
/// the bound, mint finds out.
fn end_approvals(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let open: Vec<RequestId> = tx.list(
        "SELECT DISTINCT request FROM requests CROSS JOIN decisions USING (request)
         WHERE requests.state IN ('pending', 'approved') AND decisions.standing = 1 LIMIT ?1",
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
