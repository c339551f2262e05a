//! The decision: what an approver signs (`statement`), and the rule that says whether it counts. Knows no store, no clock and no
//! screen.

mod statement;

use std::collections::BTreeSet;

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::dsse::Envelope;
use crate::frozen::{Draft, FrozenRequest, Need};
use crate::ids::{Name, PersonId, RequestId};
use crate::limits::DECISION_TTL_S_MAX;
use crate::request::{self, RequestInput, RequestState};
use crate::roster::{ADMIN, KeyUse, Person, Roster, RosterChange};
use crate::sign::PublicKey;
use crate::statement::same_gate;
use crate::table::{TABLE_CHANGE, Table, TableChange, next_table};
use crate::time::Timestamp;

pub(crate) use statement::app_version;
pub use statement::{CheckpointRef, DECISION_TYPE, DecisionKind, DecisionStatement, reason_sha256};

/// The tool by which the gate changes its roster.
pub const ROSTER_CHANGE: &str = "gate.roster.change";

/// A decision whose signature an enrolled approval key made. Only [`verify`] makes one; whether it counts is [`judge`]'s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedDecision {
    statement: DecisionStatement,
    envelope: Envelope,
    key: PublicKey,
}

impl VerifiedDecision {
    /// What was signed.
    pub const fn statement(&self) -> &DecisionStatement {
        &self.statement
    }

    /// The envelope, for the record.
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The key that signed.
    pub const fn key(&self) -> &PublicKey {
        &self.key
    }

    /// SHA-256 of the signed payload: how tokens and receipts name the decision.
    pub fn digest(&self) -> Digest {
        Digest::of(self.envelope.danger_unverified_payload())
    }
}

/// Checks the signature against the roster: the key is an approval key, is not stopped, and belongs to the person named.
///
/// *Errors*: `key_unknown`, `key_stopped`, `key_use_wrong`, `approver_wrong`, `gate_wrong`, `environment_wrong`,
/// `signature_invalid`, and those of a strict document.
pub fn verify(envelope: &Envelope, roster: &Roster) -> Result<VerifiedDecision, Refusal> {
    let statement = DecisionStatement::parse(envelope.danger_unverified_payload())?;
    let holder = roster.active_key(&statement.key_sha256, KeyUse::Approval)?;
    envelope.clone().verify(DECISION_TYPE, &holder.key.key)?;
    if holder.person.person != statement.approver {
        return Err(Refusal::new(Code::ApproverWrong, "the key belongs to another person than the statement names; sign as its holder")
            .at("/approver"));
    }
    same_gate(&statement.gate, statement.environment, roster)?;
    Ok(VerifiedDecision { key: holder.key.key, statement, envelope: envelope.clone() })
}

/// A challenge that the gate issued for one request and one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IssuedChallenge {
    /// The request it is for.
    pub request: RequestId,
    /// The key it was given to.
    pub key_sha256: Digest,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Whether a decision used it.
    pub used: bool,
}

/// An approval on record that was not retracted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Who approved.
    pub approver: PersonId,
    /// In which role.
    pub role: Name,
    /// With which key.
    pub key_sha256: Digest,
}

/// Everything that the rule looks at, read in the transaction that records the decision.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The request's frozen bytes and members.
    pub frozen: &'a FrozenRequest,
    /// Where the request stands.
    pub state: RequestState,
    /// Until when it waits, with the time that was added.
    pub waits_until: Timestamp,
    /// Whether its agent is gone without having had the call's id.
    pub orphaned: bool,
    /// Whether it was passed on: holders of a need's `escalate_to` may decide from then on.
    pub escalated: bool,
    /// Digest of today's row of the tool; none where the row is gone.
    pub row_sha256: Option<Digest>,
    /// Digest of the nodes, rendered by the gate.
    pub shown_sha256: Digest,
    /// Today's roster.
    pub roster: &'a Roster,
    /// The challenge that the statement names, if the gate issued it.
    pub challenge: Option<IssuedChallenge>,
    /// Approvals on record.
    pub approvals: &'a [Approval],
    /// The store's time.
    pub now: Timestamp,
}

/// What a decision does, once it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The input for the request's state.
    pub input: RequestInput,
    /// The state that follows.
    pub state: RequestState,
    /// Distinct persons who have approved, this decision included.
    pub given: u32,
    /// Distinct persons needed.
    pub needed: u32,
    /// The approver was the only admin and decided what they had proposed.
    pub sole_admin: bool,
}

/// The decision rule: not this role, not this roster, the requester itself, not these bytes → refuse.
///
/// *Errors*: one code for each broken rule, in this order of precedence: the statement's time, the request's state, its
/// bytes, its row and roster, its challenge, then who the approver is.
pub fn judge(decision: &VerifiedDecision, case: &Case<'_>) -> Result<Judgement, Refusal> {
    let statement = decision.statement();
    let frozen = case.frozen.members();
    arrives_in_time(statement.issued_at, statement.expires_at, case.now)?;
    request::apply(case.state, input_of(statement.decision, false))?;
    if case.now >= case.waits_until {
        return Err(refuse(Code::RequestExpired, "/request", "the request has expired; nothing runs, the agent may ask again"));
    }
    these_bytes(statement, case)?;
    if case.row_sha256 != Some(frozen.row_sha256) {
        return Err(refuse(
            Code::RowStale,
            "/row_sha256",
            "the tool's row has changed since the call was frozen; the agent must ask again",
        ));
    }
    if statement.roster_sha256 != case.roster.digest()? {
        return Err(refuse(Code::RosterStale, "/roster_sha256", "the roster has changed since this was signed; look again and sign anew"));
    }
    this_challenge(statement, case)?;
    let sole_admin = may_decide(&statement.approver, &statement.role, case.frozen, case.escalated, case.roster)?;
    let approved = case.approvals.iter().any(|approval| approval.approver == statement.approver);
    match statement.decision {
        DecisionKind::Approve if approved => {
            return Err(refuse(
                Code::AlreadyApproved,
                "/approver",
                "this person has approved already; a different person must give the next approval",
            ));
        }
        DecisionKind::Approve if case.orphaned => {
            return Err(refuse(
                Code::RequestOrphaned,
                "/request",
                "the agent is gone and was never told; wait until it asks again, or deny",
            ));
        }
        DecisionKind::Retract if !approved => {
            return Err(refuse(Code::ApprovalMissing, "/approver", "this person has no approval on record to take back"));
        }
        DecisionKind::Approve | DecisionKind::Deny | DecisionKind::Retract | DecisionKind::Revoke | DecisionKind::MoreTime => {}
    }
    let mut approvals = case.approvals.to_vec();
    match statement.decision {
        DecisionKind::Approve => {
            approvals.push(Approval { approver: statement.approver, role: statement.role.clone(), key_sha256: statement.key_sha256 })
        }
        DecisionKind::Retract => approvals.retain(|approval| approval.approver != statement.approver),
        DecisionKind::Deny | DecisionKind::Revoke | DecisionKind::MoreTime => {}
    }
    let Quorum { given, needed, reached } = quorum(case.frozen, case.escalated, &approvals);
    let input = input_of(statement.decision, reached);
    Ok(Judgement { input, state: request::apply(case.state, input)?, given, needed, sole_admin })
}

/// How far a request's approvals reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quorum {
    /// Distinct persons that count.
    pub given: u32,
    /// Distinct persons needed.
    pub needed: u32,
    /// All needs are met.
    pub reached: bool,
}

/// Counts approvals: a person counts once, and for one need only. Once a request was passed on, whoever decided as
/// `escalate_to` counts where the role itself falls short.
pub fn quorum(frozen: &FrozenRequest, escalated: bool, approvals: &[Approval]) -> Quorum {
    let given: Vec<(PersonId, &Name)> = approvals.iter().map(|approval| (approval.approver, &approval.role)).collect();
    count(&frozen.members().needs, escalated, &given)
}

/// The rule of [`quorum`], also for answers to unknown outcomes.
pub(crate) fn count(needs: &[Need], escalated: bool, given: &[(PersonId, &Name)]) -> Quorum {
    let mut counted = BTreeSet::new();
    let mut take = |role: &Name, missing: u32| {
        let mut taken = 0;
        for (person, _) in given.iter().filter(|(_, held)| *held == role) {
            if taken < missing && counted.insert(*person) {
                taken += 1;
            }
        }
        taken
    };
    // The role itself first, for every need: who decided as `escalate_to` must not be used up where the role suffices.
    let mut persons: Vec<u32> = needs.iter().map(|need| take(&need.role, need.quorum)).collect();
    if escalated {
        for (need, given) in needs.iter().zip(&mut persons) {
            if let Some(role) = &need.escalate_to {
                *given += take(role, need.quorum - *given);
            }
        }
    }
    let needed = needs.iter().map(|need| need.quorum).sum();
    let reached = needs.iter().zip(&persons).all(|(need, given)| *given >= need.quorum);
    Quorum { given: persons.iter().sum(), needed, reached: reached && needed > 0 }
}

/// The approval that an envelope on record stands for, read from its signed bytes and from nothing that is stored beside
/// them: whoever can write the ledger cannot make one run that nobody signed.
///
/// Asked at mint and at redeem, each time anew; the signature of one text under one roster is verified once.
/// *Errors*: those of [`verify`], `request_wrong`, `tool_wrong`, `bytes_differ`, `row_stale`, `approval_missing`.
pub fn approval_on_record(envelope: &Envelope, frozen: &FrozenRequest, roster: &Roster) -> Result<(Approval, Digest), Refusal> {
    approval_of(&verify(envelope, roster)?, frozen)
}

/// What a decision that was verified before says about this request, as an approval.
///
/// *Errors*: those of [`approval_on_record`] but for the signature's.
pub fn approval_of(verified: &VerifiedDecision, frozen: &FrozenRequest) -> Result<(Approval, Digest), Refusal> {
    let statement = verified.statement();
    if statement.decision != DecisionKind::Approve {
        return Err(refuse(Code::ApprovalMissing, "/decision", "a decision on record that counts as approval is none; nothing runs"));
    }
    same_request(statement, frozen)?;
    let approval = Approval { approver: statement.approver, role: statement.role.clone(), key_sha256: statement.key_sha256 };
    Ok((approval, verified.digest()))
}

/// Whether the recorded approvals still stand: each key is not stopped, each person holds the role and may decide.
///
/// Checked again at mint and at redeem.
/// *Errors*: `approval_stale`, those of [`may_decide`], `quorum_missing`.
pub fn still_approved(frozen: &FrozenRequest, escalated: bool, approvals: &[Approval], roster: &Roster) -> Result<(), Refusal> {
    for approval in approvals {
        let holder = roster.active_key(&approval.key_sha256, KeyUse::Approval)?;
        if holder.person.person != approval.approver {
            return Err(refuse(Code::ApproverWrong, "/approver", "the key of an approval now belongs to another person"));
        }
        may_decide(&approval.approver, &approval.role, frozen, escalated, roster)?;
    }
    if quorum(frozen, escalated, approvals).reached {
        Ok(())
    } else {
        Err(refuse(Code::QuorumMissing, "/needs", "too few approvals stand; more persons must approve"))
    }
}

/// The roster that an approved change leads to, from signed bytes alone: the frozen request, its approvals, the roster before.
///
/// What every reader of the log asks before it believes a later version, so that no gate can put another one in its place.
/// *Errors*: `tool_wrong` for another tool's request, `enrolment_wrong` for keys that somebody else asks to add, those of
/// [`approval_on_record`], [`still_approved`] and [`RosterChange::next_roster`].
pub fn approved_roster(frozen: &FrozenRequest, envelopes: &[Envelope], previous: &Roster) -> Result<Roster, Refusal> {
    let members = frozen.members();
    if members.tool.as_str() != ROSTER_CHANGE || !members.needs.iter().any(|need| need.role.as_str() == ADMIN) {
        return Err(refuse(Code::ToolWrong, "/tool", "the request is no change of the roster that an admin decides; it leads to none"));
    }
    let approvals = envelopes.iter().map(|envelope| approval_on_record(envelope, frozen, previous).map(|(approval, _)| approval));
    // No row of the gate's own is passed on.
    still_approved(frozen, false, &approvals.collect::<Result<Vec<_>, _>>()?, previous)?;
    roster_change(frozen, previous)
}

/// The roster that a frozen `gate.roster.change` leads to, whoever approved it. Whose keys it adds has asked for them, and so
/// has not decided.
///
/// *Errors*: `enrolment_wrong`, those of [`RosterChange::next_roster`].
pub fn roster_change(frozen: &FrozenRequest, previous: &Roster) -> Result<Roster, Refusal> {
    let members = frozen.members();
    let change = RosterChange::parse(&members.args)?;
    if change.is_asked_by_its_person() && members.proposer != Some(*change.person()) {
        return Err(refuse(
            Code::EnrolmentWrong,
            "/proposer",
            "keys are added at the request of the person who holds them, of nobody else",
        ));
    }
    RosterChange::next_roster(&members.args, previous)
}

/// The table that an approved change leads to, from signed bytes alone: the frozen request, its approvals, the roster at the
/// time, the table before and the proposed text, which counts for its digest only.
///
/// What every reader of the log asks before it believes a later table, so that no gate can put another one in its place.
/// *Errors*: `tool_wrong` for another tool's request, `table_change_invalid` where fewer were asked than the change needs,
/// those of [`approval_on_record`], [`still_approved`] and [`next_table`].
pub fn approved_table(
    frozen: &FrozenRequest,
    envelopes: &[Envelope],
    roster: &Roster,
    previous: &Table,
    text: &str,
) -> Result<Table, Refusal> {
    let approvals = envelopes.iter().map(|envelope| approval_on_record(envelope, frozen, roster).map(|(approval, _)| approval));
    still_approved(frozen, false, &approvals.collect::<Result<Vec<_>, _>>()?, roster)?;
    proposed_table(frozen, previous, text).map(|(table, _)| table)
}

/// The table that a request for a change asks for, and what changes; decided or not.
///
/// *Errors*: `tool_wrong`, those of [`next_table`], `table_change_invalid` where the request waits for others than the change
/// needs: a gate must not ask fewer than the rule says.
pub fn proposed_table(frozen: &FrozenRequest, previous: &Table, text: &str) -> Result<(Table, TableChange), Refusal> {
    let members = frozen.members();
    if members.tool.as_str() != TABLE_CHANGE {
        return Err(refuse(Code::ToolWrong, "/tool", "the request is no change of the effect table; it leads to none"));
    }
    let (next, change) = next_table(&members.args, previous, text)?;
    if members.needs != change.needs() {
        return Err(refuse(Code::TableChangeInvalid, "/needs", "the request waits for others than the change needs; propose it again"));
    }
    Ok((next, change))
}

/// Whether this person may decide on this request in this role. True: as the only admin, on what they proposed or gain by.
///
/// *Errors*: `role_not_needed`, `role_not_held`, `self_approval`.
pub fn may_decide(approver: &PersonId, role: &Name, frozen: &FrozenRequest, escalated: bool, roster: &Roster) -> Result<bool, Refusal> {
    let members = frozen.members();
    let passed_on = |need: &Need| escalated && need.escalate_to.as_ref() == Some(role);
    if !members.needs.iter().any(|need| need.role == *role || passed_on(need)) {
        return Err(refuse(
            Code::RoleNotNeeded,
            "/role",
            &format!("the request does not wait for the role `{role}`; decide in a role it names"),
        ));
    }
    let person = roster.person(approver).ok_or_else(|| refuse(Code::ApproverWrong, "/approver", "the approver is not in the roster"))?;
    if !person.roles.contains(role) {
        return Err(refuse(Code::RoleNotHeld, "/role", &format!("the approver does not hold the role `{role}`; a holder must decide")));
    }
    // Changes of roster and table by the only admin are the one exception: without it, nobody could ever admit a second.
    let of_gate = [ROSTER_CHANGE, TABLE_CHANGE].contains(&members.tool.as_str());
    let own_change = of_gate && role.as_str() == ADMIN && roster.is_sole_admin(approver);
    let behalf = members.on_behalf_of.as_deref() == Some(approver.to_string().as_str());
    let of_their_own = members.proposer == Some(*approver) || gains_by(members, person, roster);
    if members.agents.iter().any(|link| link.owner == Some(*approver)) || behalf || (of_their_own && !own_change) {
        return Err(refuse(
            Code::SelfApproval,
            "/approver",
            "the request comes from this approver or an agent of theirs, brings them a role or keys, or leaves them the only admin; somebody else must decide",
        ));
    }
    Ok(own_change && of_their_own)
}

/// Whether the change of the roster brings this person a role or keys, or leaves them the only admin: whoever proposed it,
/// nobody decides on that for themselves. What only takes away may be consented to.
fn gains_by(members: &Draft, person: &Person, roster: &Roster) -> bool {
    if members.tool.as_str() != ROSTER_CHANGE {
        return false;
    }
    let Ok(change) = RosterChange::parse(&members.args) else { return false };
    let brings = *change.person() == person.person
        && match &change {
            RosterChange::Admit(_) | RosterChange::AddKeys(_) => true,
            RosterChange::SetRoles { roles, .. } => !roles.is_subset(&person.roles),
            RosterChange::Remove { .. } => false,
        };
    brings || is_left_alone(&change, members.proposer, person, roster)
}

/// Whether the change makes this person the only admin, who may decide what they themselves propose: with anybody else as
/// its proposer, one admin and one other person would be enough for all that two admins guard. Whoever goes may ask for it.
fn is_left_alone(change: &RosterChange, proposer: Option<PersonId>, person: &Person, roster: &Roster) -> bool {
    proposer != Some(*change.person())
        && !roster.is_sole_admin(&person.person)
        && change.next(roster).is_ok_and(|next| next.is_sole_admin(&person.person))
}

/// Whether a statement of a person arrives while it is worth something.
pub(crate) fn arrives_in_time(issued_at: Timestamp, expires_at: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    if expires_at <= issued_at || expires_at > issued_at.plus_s(DECISION_TTL_S_MAX) {
        let message = format!("the statement is valid for no time or for more than `{DECISION_TTL_S_MAX}` s; sign anew");
        return Err(refuse(Code::DecisionExpired, "/expires_at", &message));
    }
    if now >= expires_at {
        return Err(refuse(Code::DecisionExpired, "/expires_at", "the statement arrived too late; sign anew"));
    }
    Ok(())
}

fn these_bytes(statement: &DecisionStatement, case: &Case<'_>) -> Result<(), Refusal> {
    same_request(statement, case.frozen)?;
    if statement.shown_sha256 != case.shown_sha256 {
        return Err(refuse(
            Code::ShownDiffers,
            "/shown_sha256",
            "the console showed something else than the gate renders; compare their versions",
        ));
    }
    if statement.gate_key_sha256 != case.roster.log_key.digest() {
        return Err(refuse(Code::GateWrong, "/gate_key_sha256", "the decision pins another key than this gate's; call an administrator"));
    }
    Ok(())
}

/// The decision is on this request, this tool, these bytes and the row that they were frozen on.
fn same_request(statement: &DecisionStatement, frozen: &FrozenRequest) -> Result<(), Refusal> {
    let members = frozen.members();
    if statement.request != members.request {
        return Err(refuse(Code::RequestWrong, "/request", "the decision is on another request; sign for this one"));
    }
    if statement.tool != members.tool {
        return Err(refuse(Code::ToolWrong, "/tool", "the decision names another tool; look again"));
    }
    let same = statement.request_sha256 == frozen.request_sha256() && statement.args_sha256 == frozen.args_sha256();
    if !same {
        return Err(refuse(
            Code::BytesDiffer,
            "/request_sha256",
            "the decision is on other bytes than the gate would run; do not approve, report it",
        ));
    }
    if statement.row_sha256 != members.row_sha256 {
        return Err(refuse(Code::RowStale, "/row_sha256", "the decision was made by another row than the call was frozen on; look again"));
    }
    Ok(())
}

fn this_challenge(statement: &DecisionStatement, case: &Case<'_>) -> Result<(), Refusal> {
    let invalid = |message| Err(refuse(Code::ChallengeInvalid, "/challenge", message));
    let Some(challenge) = case.challenge else { return invalid("this gate issued no such challenge; ask for one and sign anew") };
    if challenge.request != statement.request || challenge.key_sha256 != statement.key_sha256 || challenge.issued_at != statement.issued_at
    {
        return invalid("the challenge was issued for another request, key or time; ask for one and sign anew");
    }
    if challenge.used {
        return Err(refuse(Code::ChallengeReplayed, "/challenge", "the challenge was used by another decision; ask for one and sign anew"));
    }
    Ok(())
}

const fn input_of(decision: DecisionKind, quorum: bool) -> RequestInput {
    match decision {
        DecisionKind::Approve => RequestInput::Approve { quorum },
        DecisionKind::Deny => RequestInput::Deny,
        DecisionKind::Retract => RequestInput::Retract,
        DecisionKind::Revoke => RequestInput::Revoke,
        DecisionKind::MoreTime => RequestInput::MoreTime,
    }
}

fn refuse(code: Code, path: &str, message: &str) -> Refusal {
    Refusal::new(code, message).at(path)
}

#[cfg(test)]
mod tests {
    use super::{Quorum, count};

    #[test]
    fn where_nobody_is_asked_nobody_has_agreed() {
        for escalated in [false, true] {
            assert_eq!(count(&[], escalated, &[]), Quorum { given: 0, needed: 0, reached: false });
        }
    }
}
