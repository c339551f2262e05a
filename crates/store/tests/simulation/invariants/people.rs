//! Who decides and who answers, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionStatement;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationState;
use vidimus_core::passing::Skipped;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::roster::KeyUse;
use vidimus_core::table::Need;
use vidimus_core::time::Timestamp;

use crate::provider::Message;
use crate::roster_seen::{RosterSeen, seen_ms};
use crate::witness::{OperationSeen, RequestSeen, Witness};

/// Whether these persons, each in a role, are enough for all needs, each person for one need only: for whatever needs are taken
/// together there are as many persons as they ask for.
pub fn enough(needs: &[Need], escalated: bool, persons: &[(PersonId, &str)]) -> bool {
    let counts = |need: &Need, role: &str| {
        need.role.as_str() == role || (escalated && need.escalate_to.as_ref().is_some_and(|next| next.as_str() == role))
    };
    let taken = |together: usize| needs.iter().enumerate().filter(move |(index, _)| together >> index & 1 == 1).map(|(_, need)| need);
    !needs.is_empty()
        && (1..1_usize << needs.len()).all(|together| {
            let able: BTreeSet<PersonId> =
                persons.iter().filter(|(_, role)| taken(together).any(|need| counts(need, role))).map(|(person, _)| *person).collect();
            able.len() >= taken(together).map(|need| need.quorum as usize).sum()
        })
}

pub fn has_quorum(seen: &RequestSeen) -> bool {
    let approvals: Vec<_> = seen.standing.iter().map(|(person, approval)| (*person, approval.role.as_str())).collect();
    enough(&seen.frozen.members().needs, seen.escalated, &approvals)
}

/// Whether a request comes from this person or from somebody who acts for them, or brings them a role or keys.
pub fn is_own(roster: &RosterSeen, person: &PersonId, frozen: &FrozenRequest) -> bool {
    let members = frozen.members();
    members.agents.iter().any(|link| link.owner == Some(*person))
        || members.on_behalf_of.as_deref() == Some(&person.to_string())
        || members.proposer == Some(*person)
        || gains_by(roster, person, frozen)
}

fn gains_by(roster: &RosterSeen, person: &PersonId, frozen: &FrozenRequest) -> bool {
    let args = &frozen.members().args;
    let word = |name: &str| args.member(name).and_then(Json::as_str);
    let theirs = frozen.members().tool.as_str() == "gate.roster.change" && word("person") == Some(&person.to_string());
    let roles = || args.member("roles").and_then(Json::as_array).unwrap_or_default();
    match word("change") {
        Some("remove") | None => false,
        Some("set_roles") => theirs && roles().iter().any(|role| role.as_str().is_some_and(|role| !roster.holds(person, role))),
        Some(_) => theirs,
    }
}

/// The gate's own tools are the one thing that a person may propose and decide: as the only admin, or nobody ever could.
pub fn own_as_it_may_be(roster: &RosterSeen, person: &PersonId, role: &str, frozen: &FrozenRequest) -> bool {
    let members = frozen.members();
    let acted_for = members.agents.iter().any(|link| link.owner == Some(*person));
    members.tool.as_str().starts_with("gate.") && !acted_for && role == "admin" && roster.holders("admin") == [*person]
}

fn may_decide(roster: &RosterSeen, person: &PersonId, role: &str, key: &Digest, seen: &RequestSeen) -> bool {
    let needs = &seen.frozen.members().needs;
    let passed_on = |next: Option<&Name>| seen.escalated && next.is_some_and(|next| next.as_str() == role);
    needs.iter().any(|need| need.role.as_str() == role || passed_on(need.escalate_to.as_ref()))
        && roster.holds(person, role)
        && roster.active(person, key, KeyUse::Approval)
        && (!is_own(roster, person, &seen.frozen) || own_as_it_may_be(roster, person, role, &seen.frozen))
}

pub fn invariant_a_decision_counts_only_from_who_may_decide(
    roster: &RosterSeen,
    statement: &DecisionStatement,
    envelope: &Envelope,
    payload_type: &str,
    seen: &RequestSeen,
) {
    let (person, role) = (&statement.approver, statement.role.as_str());
    let signed = roster.keys.get(&statement.key_sha256).is_some_and(|key| envelope.clone().verify(payload_type, &key.key).is_ok());
    must!(signed, "a decision counts that nobody of the roster signed");
    let may = roster.active(person, &statement.key_sha256, KeyUse::Approval) && roster.holds(person, role);
    must!(may, "{person} decides as `{role}` with a key or a role that they do not hold");
    let needs = &seen.frozen.members().needs;
    let asked = needs
        .iter()
        .any(|need| need.role.as_str() == role || (seen.escalated && need.escalate_to.as_ref().is_some_and(|next| next.as_str() == role)));
    must!(asked, "{person} decides as `{role}`, whom nobody asked");
}

pub fn invariant_nobody_decides_on_their_own(roster: &RosterSeen, statement: &DecisionStatement, frozen: &FrozenRequest) {
    let own =
        is_own(roster, &statement.approver, frozen) && !own_as_it_may_be(roster, &statement.approver, statement.role.as_str(), frozen);
    must!(!own, "somebody decides on their own request");
}

pub fn invariant_a_redeemed_token_implies_a_quorum(roster: &RosterSeen, seen: &RequestSeen) {
    must!(has_quorum(seen) && !seen.stopped, "a token is redeemed without a quorum, or after somebody stopped the request");
    for (person, approval) in &seen.standing {
        let may = may_decide(roster, person, &approval.role, &approval.key, seen);
        must!(may, "a token is redeemed on the approval of {person}, who may not decide as `{}` any more", approval.role);
    }
}

/// A change of the roster and what it makes stale are one transaction.
pub fn invariant_no_open_approval_has_fallen(witness: &Witness) {
    for (request, seen) in witness.requests.iter().filter(|(_, seen)| !seen.state.is_final()) {
        for (person, approval) in &seen.standing {
            let may = may_decide(&witness.roster, person, &approval.role, &approval.key, seen);
            must!(may, "{request} goes on with the approval of {person}, who may not decide it any more");
        }
    }
}

pub fn invariant_an_effect_implies_a_redeemed_token(witness: &Witness, message: &Message) {
    let Some(seen) = witness.operations.get(&message.operation) else { panic!("an effect of an operation that the log does not know") };
    let permitted = match seen.request {
        Some(_) => u32::try_from(seen.redeemed.len()).unwrap_or(u32::MAX),
        None => seen.attempts,
    };
    must!(message.attempt >= 1 && message.attempt <= permitted, "attempt {} was sent, {permitted} were permitted", message.attempt);
}

pub fn invariant_an_answer_counts_only_from_who_may_answer(
    roster: &RosterSeen,
    statement: &ReconciliationStatement,
    envelope: &Envelope,
    payload_type: &str,
) {
    let (person, role) = (&statement.approver, statement.role.as_str());
    let signed = roster.keys.get(&statement.key_sha256).is_some_and(|key| envelope.clone().verify(payload_type, &key.key).is_ok());
    must!(signed, "an answer counts that nobody of the roster signed");
    let may = roster.active(person, &statement.key_sha256, KeyUse::Approval) && roster.holds(person, role);
    must!(may, "{person} answers as `{role}` with a key or a role that they do not hold");
}

/// Counted here from the frozen needs: distinct persons who last said the same.
pub fn invariant_people_settle_only_what_enough_of_them_signed(request: &RequestSeen, seen: &OperationSeen, to: OperationState) {
    let said = |answer: Answer| match to {
        OperationState::Succeeded => answer == Answer::Happened,
        OperationState::Partial => answer == Answer::Partly,
        _ => answer == Answer::NotHappened,
    };
    let persons: Vec<_> =
        seen.answers.iter().filter(|(_, (answer, _))| said(*answer)).map(|(person, (_, role))| (*person, role.as_str())).collect();
    let enough = enough(&request.frozen.members().needs, request.escalated, &persons);
    must!(enough, "an operation is `{to}` without enough persons who said so: {:?}", seen.answers);
}

/// A credential that was taken back permits nothing, whatever was approved for it before.
pub fn invariant_nobody_works_for_an_agent_that_is_gone(seen: &RequestSeen, revoked: &BTreeMap<String, u64>) {
    let gone = seen.frozen.members().agents.iter().find(|link| revoked.get(link.agent.as_str()).is_some_and(|at| *at > seen.position));
    must!(gone.is_none(), "something runs for `{}`, which was revoked since", gone.map_or("", |link| link.agent.as_str()));
}

pub fn invariant_a_token_waits_for_the_delay(seen: &RequestSeen, delay_s: u64, skipped: &[Skipped], at: Timestamp) {
    let waited_ms = seen.approved_at.map(|approved| seen_ms(skipped, approved, at));
    let delay_ms = i64::try_from(delay_s * 1000).expect("small");
    must!(waited_ms.is_some_and(|waited_ms| waited_ms >= delay_ms), "a token is minted before the delay after the quorum was seen to pass");
}

/// What is decided, and what runs for the first time, is decided and runs while the request lives.
pub fn invariant_nothing_counts_after_its_time(seen: &RequestSeen, at: Timestamp) {
    must!(at < seen.waits_until, "something counts at {at}, and the request ended at {}", seen.waits_until);
}

/// Nothing leaves but under a lease that holds when it is looked at for the last time.
pub fn invariant_nothing_is_sent_after_its_lease(message: &Message) {
    must!(message.looked_at < message.lease_until, "attempt {} is sent after its lease", message.attempt);
}

/// Whoever has the rosters and the log from somewhere else than the gate finds the signatures of a quorum, over these bytes. Whether
/// their keys counted is asked when the token is redeemed: what is on its way by then arrives, whoever leaves meanwhile.
pub fn invariant_an_executor_with_its_own_roster_accepts(witness: &Witness, message: &Message) {
    let request = witness.operations.get(&message.operation).and_then(|seen| seen.request);
    let Some(seen) = request.and_then(|request| witness.requests.get(&request)) else { return };
    let mut persons = BTreeMap::new();
    for approval in seen.standing.values() {
        let Some(key) = witness.roster.ever.get(&approval.key) else { continue };
        let verified = approval.envelope.clone().verify(vidimus_core::decision::DECISION_TYPE, &key.key);
        let statement = verified.ok().and_then(|payload| DecisionStatement::parse(payload.payload()).ok());
        let same = statement.is_some_and(|statement| {
            statement.approver == key.person
                && statement.request_sha256 == seen.frozen.request_sha256()
                && statement.args_sha256 == seen.frozen.args_sha256()
        });
        if same && key.key_use == KeyUse::Approval {
            persons.insert(key.person, approval.role.as_str());
        }
    }
    let needed: u32 = seen.frozen.members().needs.iter().map(|need| need.quorum).sum();
    must!(persons.len() >= needed as usize && needed > 0, "an executor of its own would find {} signatures of {needed}", persons.len());
}
