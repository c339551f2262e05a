//! Somebody who may not, or too few of those who may.

use std::collections::BTreeMap;
use std::rc::Rc;

use vidimus_core::decision::DECISION_TYPE;
use vidimus_core::frozen::ChainLink;
use vidimus_core::operation::OperationState;
use vidimus_core::passing::Skipped;
use vidimus_core::reconciliation::{Answer, RECONCILIATION_TYPE};

use super::History;
use super::making::{REFUND, WIRE, answer_of, approve, at, bea, frozen, message, request, statement, stopped, witness};
use crate::house::{BILLING, House, LEAD, TREASURY, name};
use crate::invariants::*;
use crate::witness::RequestSeen;

pub const HISTORIES: &[History] = &[
    ("invariant_an_effect_implies_a_redeemed_token", an_attempt_without_a_token),
    ("invariant_a_redeemed_token_implies_a_quorum", one_of_two),
    ("invariant_a_redeemed_token_implies_a_quorum", after_a_denial),
    ("invariant_a_redeemed_token_implies_a_quorum", with_a_stopped_key),
    ("invariant_a_redeemed_token_implies_a_quorum", with_a_lost_role),
    ("invariant_a_redeemed_token_implies_a_quorum", by_the_next_role_too_early),
    ("invariant_a_decision_counts_only_from_who_may_decide", signed_by_the_gate),
    ("invariant_a_decision_counts_only_from_who_may_decide", signed_by_the_device),
    ("invariant_a_decision_counts_only_from_who_may_decide", decided_with_a_stopped_key),
    ("invariant_a_decision_counts_only_from_who_may_decide", decided_in_a_role_of_others),
    ("invariant_nobody_decides_on_their_own", decided_by_the_owner_of_the_agent),
    ("invariant_nobody_decides_on_their_own", decided_by_one_of_two_admins_who_proposed_it),
    ("invariant_nobody_decides_on_their_own", decided_on_a_role_of_ones_own),
    ("invariant_no_open_approval_has_fallen", waits_on_a_key_that_was_stopped),
    ("invariant_an_answer_counts_only_from_who_may_answer", answered_in_a_role_of_others),
    ("invariant_an_answer_counts_only_from_who_may_answer", answered_with_another_key),
    ("invariant_people_settle_only_what_enough_of_them_signed", settled_by_one_of_two),
    ("invariant_nobody_works_for_an_agent_that_is_gone", runs_for_a_revoked_agent),
    ("invariant_a_token_waits_for_the_delay", minted_during_the_delay),
    ("invariant_nothing_counts_after_its_time", counts_when_it_is_over),
    ("invariant_nothing_is_sent_after_its_lease", sent_when_the_lease_is_over),
    ("invariant_an_executor_with_its_own_roster_accepts", approved_by_the_gate_alone),
    ("invariant_an_executor_with_its_own_roster_accepts", approved_by_somebody_who_left),
    ("invariant_an_executor_with_its_own_roster_accepts", approved_for_other_bytes),
];

fn an_attempt_without_a_token(house: &Rc<House>, broken: bool) {
    let sent = message(&request(house, REFUND), if broken { 2 } else { 1 });
    let (witness, _) = witness(house, request(house, REFUND), |operation| {
        operation.redeemed.insert(vidimus_core::bytes::Digest::of(b"a token"));
    });
    invariant_an_effect_implies_a_redeemed_token(&witness, &sent);
}

fn one_of_two(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, WIRE);
    approve(house, &mut seen, bea(house), TREASURY);
    if !broken {
        approve(house, &mut seen, &house.people[1], TREASURY);
    }
    invariant_a_redeemed_token_implies_a_quorum(&house.roster, &seen);
}

/// A refund that Bea has approved.
fn approved(house: &House) -> RequestSeen {
    let mut seen = request(house, REFUND);
    approve(house, &mut seen, bea(house), BILLING);
    seen
}

fn after_a_denial(house: &Rc<House>, broken: bool) {
    let mut seen = approved(house);
    seen.stopped = broken;
    invariant_a_redeemed_token_implies_a_quorum(&house.roster, &seen);
}

fn with_a_stopped_key(house: &Rc<House>, broken: bool) {
    let roster = if broken { stopped(house, bea(house)) } else { house.roster.clone() };
    invariant_a_redeemed_token_implies_a_quorum(&roster, &approved(house));
}

fn with_a_lost_role(house: &Rc<House>, broken: bool) {
    let mut roster = house.roster.clone();
    let lost = if broken { BILLING } else { TREASURY };
    roster.persons.get_mut(&bea(house).person).expect("a person").roles.remove(lost);
    invariant_a_redeemed_token_implies_a_quorum(&roster, &approved(house));
}

fn by_the_next_role_too_early(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, WIRE);
    seen.escalated = !broken;
    approve(house, &mut seen, bea(house), TREASURY);
    approve(house, &mut seen, &house.people[6], LEAD);
    invariant_a_redeemed_token_implies_a_quorum(&house.roster, &seen);
}

fn signed_by_the_gate(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let statement = statement(house, bea(house), &seen, BILLING);
    let envelope = statement.sign(if broken { &house.log_key } else { &bea(house).approval }).expect("signed");
    invariant_a_decision_counts_only_from_who_may_decide(&house.roster, &statement, &envelope, DECISION_TYPE, &seen);
}

fn signed_by_the_device(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let mut statement = statement(house, bea(house), &seen, BILLING);
    let key = if broken { &bea(house).device } else { &bea(house).approval };
    statement.key_sha256 = key.public().digest();
    let envelope = statement.sign(key).expect("signed");
    invariant_a_decision_counts_only_from_who_may_decide(&house.roster, &statement, &envelope, DECISION_TYPE, &seen);
}

fn decided_with_a_stopped_key(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let statement = statement(house, bea(house), &seen, BILLING);
    let envelope = statement.sign(&bea(house).approval).expect("signed");
    let roster = if broken { stopped(house, bea(house)) } else { house.roster.clone() };
    invariant_a_decision_counts_only_from_who_may_decide(&roster, &statement, &envelope, DECISION_TYPE, &seen);
}

fn decided_in_a_role_of_others(house: &Rc<House>, broken: bool) {
    let seen = request(house, REFUND);
    let statement = statement(house, bea(house), &seen, if broken { TREASURY } else { BILLING });
    let envelope = statement.sign(&bea(house).approval).expect("signed");
    invariant_a_decision_counts_only_from_who_may_decide(&house.roster, &statement, &envelope, DECISION_TYPE, &seen);
}

fn decided_by_the_owner_of_the_agent(house: &Rc<House>, broken: bool) {
    let owner = house.people[if broken { 2 } else { 1 }].person;
    let link = ChainLink { agent: name("support"), owner: Some(owner) };
    let seen = RequestSeen::of(frozen(house, REFUND, |draft| draft.agents = vec![link]), 50);
    invariant_nobody_decides_on_their_own(&house.roster, &statement(house, bea(house), &seen, BILLING), &seen.frozen);
}

/// Ada proposes a change of the roster, and decides it: she may where there is no other admin.
fn decided_by_one_of_two_admins_who_proposed_it(house: &Rc<House>, broken: bool) {
    let ada = &house.people[0];
    let mut roster = house.roster.clone();
    if !broken {
        roster.persons.remove(&house.people[5].person);
    }
    let change = ("gate.roster.change", "{}");
    let frozen = frozen(house, change, |draft| (draft.proposer, draft.agents) = (Some(ada.person), Vec::new()));
    let mut statement = statement(house, ada, &request(house, REFUND), "admin");
    statement.request_sha256 = frozen.request_sha256();
    invariant_nobody_decides_on_their_own(&roster, &statement, &frozen);
}

/// Bea proposes that Ada holds one role more, or one less; Ada decides it.
fn decided_on_a_role_of_ones_own(house: &Rc<House>, broken: bool) {
    let ada = &house.people[0];
    let roles = if broken { r#"["admin","treasury"]"# } else { r#"["admin"]"# };
    let args = format!(r#"{{"change":"set_roles","person":"{}","roles":{roles}}}"#, ada.person);
    let change = ("gate.roster.change", args.as_str());
    let frozen = frozen(house, change, |draft| (draft.proposer, draft.agents) = (Some(bea(house).person), Vec::new()));
    invariant_nobody_decides_on_their_own(&house.roster, &statement(house, ada, &request(house, REFUND), "admin"), &frozen);
}

fn waits_on_a_key_that_was_stopped(house: &Rc<House>, broken: bool) {
    let (mut witness, _) = witness(house, approved(house), |_| {});
    if broken {
        witness.roster = stopped(house, bea(house));
    }
    invariant_no_open_approval_has_fallen(&witness);
}

fn answered_in_a_role_of_others(house: &Rc<House>, broken: bool) {
    let operation = super::making::operation_of(&request(house, REFUND));
    let statement = answer_of(house, bea(house), if broken { LEAD } else { BILLING }, operation);
    let envelope = statement.sign(&bea(house).approval).expect("signed");
    invariant_an_answer_counts_only_from_who_may_answer(&house.roster, &statement, &envelope, RECONCILIATION_TYPE);
}

fn answered_with_another_key(house: &Rc<House>, broken: bool) {
    let operation = super::making::operation_of(&request(house, REFUND));
    let statement = answer_of(house, bea(house), BILLING, operation);
    let envelope = statement.sign(if broken { &house.token_key } else { &bea(house).approval }).expect("signed");
    invariant_an_answer_counts_only_from_who_may_answer(&house.roster, &statement, &envelope, RECONCILIATION_TYPE);
}

fn settled_by_one_of_two(house: &Rc<House>, broken: bool) {
    let seen = request(house, WIRE);
    let other = if broken { Answer::NotHappened } else { Answer::Happened };
    let said = [(&house.people[1], Answer::Happened), (&house.people[2], other)];
    let (witness, operation) = witness(house, request(house, WIRE), |operation| {
        operation.answers = said.into_iter().map(|(person, answer)| (person.person, (answer, TREASURY.to_owned()))).collect();
    });
    invariant_people_settle_only_what_enough_of_them_signed(&seen, &witness.operations[&operation], OperationState::Succeeded);
}

fn runs_for_a_revoked_agent(house: &Rc<House>, broken: bool) {
    // A name that was given out anew after a revocation is another agent's.
    let revoked = BTreeMap::from([("billing".to_owned(), if broken { 51 } else { 49 })]);
    invariant_nobody_works_for_an_agent_that_is_gone(&request(house, REFUND), &revoked);
}

fn minted_during_the_delay(house: &Rc<House>, broken: bool) {
    let mut seen = request(house, WIRE);
    seen.approved_at = Some(at(10));
    invariant_a_token_waits_for_the_delay(&seen, 30, &[], at(if broken { 39 } else { 40 }));
    let skipped = [Skipped { from: at(20), ms: 60_000 }];
    invariant_a_token_waits_for_the_delay(&seen, 30, &skipped, at(if broken { 99 } else { 100 }));
}

fn counts_when_it_is_over(house: &Rc<House>, broken: bool) {
    invariant_nothing_counts_after_its_time(&request(house, REFUND), at(if broken { 300 } else { 299 }));
}

fn sent_when_the_lease_is_over(house: &Rc<House>, broken: bool) {
    let mut sent = message(&request(house, REFUND), 1);
    sent.looked_at = at(if broken { 30 } else { 29 });
    invariant_nothing_is_sent_after_its_lease(&sent);
}

fn approved_by_the_gate_alone(house: &Rc<House>, broken: bool) {
    let mut seen = approved(house);
    if broken {
        let statement = statement(house, bea(house), &seen, BILLING);
        let approval = seen.standing.get_mut(&bea(house).person).expect("an approval");
        approval.envelope = statement.sign(&house.token_key).expect("signed");
    }
    let sent = message(&seen, 1);
    invariant_an_executor_with_its_own_roster_accepts(&witness(house, seen, |_| {}).0, &sent);
}

/// Bea has left when the message arrives, which changes nothing; a key that nobody ever held does.
fn approved_by_somebody_who_left(house: &Rc<House>, broken: bool) {
    let seen = approved(house);
    let sent = message(&seen, 1);
    let (mut witness, _) = witness(house, seen, |_| {});
    let key = bea(house).approval.public().digest();
    witness.roster.keys.remove(&key);
    if broken {
        witness.roster.ever.remove(&key);
    }
    invariant_an_executor_with_its_own_roster_accepts(&witness, &sent);
}

fn approved_for_other_bytes(house: &Rc<House>, broken: bool) {
    let mut seen = approved(house);
    if broken {
        let other = (REFUND.0, r#"{"amount_minor":1501,"currency":"EUR","invoice":"1"}"#);
        seen.frozen = frozen(house, other, |_| {});
    }
    let sent = message(&seen, 1);
    invariant_an_executor_with_its_own_roster_accepts(&witness(house, seen, |_| {}).0, &sent);
}
