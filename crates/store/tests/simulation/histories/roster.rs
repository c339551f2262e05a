//! A roster that nobody signed, or that leaves nobody.

use std::rc::Rc;

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;

use super::History;
use super::making::{REFUND, WIRE, at, bea, frozen, roster_of, stopped};
use crate::house::{House, TREASURY};
use crate::invariants::*;
use crate::roster_seen::RosterSeen;

const DAY_S: u64 = 24 * 3600;

pub const HISTORIES: &[History] = &[
    ("invariant_the_roster_is_what_was_signed", a_stopped_key_that_counts),
    ("invariant_the_roster_is_what_was_signed", a_role_that_nobody_gave),
    ("invariant_the_roster_is_what_was_signed", a_version_of_nothing),
    ("invariant_somebody_can_change_the_roster", no_admin_left),
    ("invariant_a_stop_is_its_persons_or_an_admins", stopped_by_a_colleague),
    ("invariant_a_stop_is_its_persons_or_an_admins", stopped_by_an_admins_device),
    ("invariant_a_recovery_is_neither_early_nor_vetoed", recovered_too_early),
    ("invariant_a_recovery_is_neither_early_nor_vetoed", recovered_after_a_veto),
    ("invariant_a_recovery_brings_one_person_and_takes_nothing", recovered_and_a_key_stopped),
    ("invariant_a_recovery_brings_one_person_and_takes_nothing", recovered_and_a_role_given),
    ("invariant_a_recovery_brings_one_person_and_takes_nothing", recovered_with_one_key),
    ("invariant_whoever_is_recovered_can_stop_a_lost_key", recovered_for_nothing),
    ("invariant_somebody_can_decide", asked_of_too_few),
    ("invariant_somebody_can_decide", asked_of_one_for_two_needs),
    ("invariant_the_table_in_force_is_the_one_on_record", another_table_in_force),
    ("invariant_somebody_can_decide", asked_of_the_requester),
];

fn a_stopped_key_that_counts(house: &Rc<House>, broken: bool) {
    let shown = if broken { roster_of(house, &house.roster) } else { roster_of(house, &stopped(house, bea(house))) };
    invariant_the_roster_is_what_was_signed(&stopped(house, bea(house)), &shown);
}

fn a_role_that_nobody_gave(house: &Rc<House>, broken: bool) {
    let mut shown = roster_of(house, &house.roster);
    if broken {
        shown.persons[0].roles.insert(crate::house::name("auditor"));
    }
    invariant_the_roster_is_what_was_signed(&house.roster, &shown);
}

fn a_version_of_nothing(house: &Rc<House>, broken: bool) {
    let mut shown = roster_of(house, &house.roster);
    shown.version += u32::from(broken);
    invariant_the_roster_is_what_was_signed(&house.roster, &shown);
}

fn no_admin_left(house: &Rc<House>, broken: bool) {
    let mut roster = stopped(house, &house.people[0]);
    if broken {
        roster.keys.get_mut(&house.people[5].device.public().digest()).expect("a key").stopped = true;
    }
    invariant_somebody_can_change_the_roster(&roster);
}

fn stopped_by_a_colleague(house: &Rc<House>, broken: bool) {
    let signer = if broken { &house.people[3].approval } else { &bea(house).device };
    invariant_a_stop_is_its_persons_or_an_admins(&house.roster, &signer.public().digest(), &bea(house).person);
}

fn stopped_by_an_admins_device(house: &Rc<House>, broken: bool) {
    let signer = if broken { &house.people[0].device } else { &house.people[0].approval };
    invariant_a_stop_is_its_persons_or_an_admins(&house.roster, &signer.public().digest(), &bea(house).person);
}

fn recovered_too_early(house: &Rc<House>, broken: bool) {
    let (mut roster, recovery) = (house.roster.clone(), Digest::of(b"a recovery"));
    roster.announce(recovery, at(10));
    invariant_a_recovery_is_neither_early_nor_vetoed(&roster, &recovery, at(DAY_S + if broken { 9 } else { 10 }));
}

fn recovered_after_a_veto(house: &Rc<House>, broken: bool) {
    let (mut roster, recovery) = (house.roster.clone(), Digest::of(b"a recovery"));
    roster.announce(recovery, at(0));
    if broken {
        roster.over.insert(recovery);
    }
    invariant_a_recovery_is_neither_early_nor_vetoed(&roster, &recovery, at(2 * DAY_S));
}

/// Fay came in by a recovery: the roster without her, and the one that the house has.
fn recovered(house: &Rc<House>, broken: bool, change: impl FnOnce(&mut RosterSeen)) {
    let fay = house.people[5].person;
    let mut before = house.roster.clone();
    before.persons.remove(&fay);
    before.keys.retain(|_, key| key.person != fay);
    let mut after = house.roster.clone();
    if broken {
        change(&mut after);
    }
    invariant_a_recovery_brings_one_person_and_takes_nothing(&before, &after, &fay);
}

fn recovered_and_a_key_stopped(house: &Rc<House>, broken: bool) {
    let key = house.people[0].approval.public().digest();
    recovered(house, broken, |after| after.keys.get_mut(&key).expect("a key").stopped = true);
}

fn recovered_and_a_role_given(house: &Rc<House>, broken: bool) {
    let dov = house.people[3].person;
    recovered(house, broken, |after| {
        after.persons.get_mut(&dov).expect("a person").roles.insert("admin".to_owned());
    });
}

fn recovered_with_one_key(house: &Rc<House>, broken: bool) {
    let key = house.people[5].device.public().digest();
    recovered(house, broken, |after| {
        after.keys.remove(&key);
    });
}

fn recovered_for_nothing(house: &Rc<House>, broken: bool) {
    let [signer, lost] = [5, 0].map(|person: usize| house.people[person].approval.public().digest());
    let refused = broken.then_some(Code::RoleNotHeld);
    invariant_whoever_is_recovered_can_stop_a_lost_key(&house.roster, &house.roster, &signer, &lost, refused);
}

fn asked_of_too_few(house: &Rc<House>, broken: bool) {
    let mut roster = house.roster.clone();
    for person in house.people.iter().take(if broken { 4 } else { 3 }) {
        if let Some(known) = roster.persons.get_mut(&person.person) {
            known.roles.remove(TREASURY);
        }
    }
    invariant_somebody_can_decide(&roster, &frozen(house, WIRE, |draft| draft.needs[0].quorum = 2));
}

fn asked_of_the_requester(house: &Rc<House>, broken: bool) {
    let mut roster = house.roster.clone();
    for person in [1, 4] {
        roster.persons.remove(&house.people[person].person);
    }
    let owner = house.people[if broken { 2 } else { 1 }].person;
    let frozen = frozen(house, REFUND, |draft| draft.agents[0].owner = Some(owner));
    invariant_somebody_can_decide(&roster, &frozen);
}

/// Cem alone could be billing approver and treasurer, and counts for one of them.
fn asked_of_one_for_two_needs(house: &Rc<House>, broken: bool) {
    let mut roster = house.roster.clone();
    for person in if broken { &[2, 3, 4][..] } else { &[2, 4] } {
        roster.persons.remove(&house.people[*person].person);
    }
    let call = ("payout", r#"{"account":"1","amount_minor":1500,"currency":"EUR"}"#);
    invariant_somebody_can_decide(&roster, &frozen(house, call, |_| {}));
}

fn another_table_in_force(house: &Rc<House>, broken: bool) {
    let (one, other) = (house.tables[0].table.digest(), house.tables[1].table.digest());
    invariant_the_table_in_force_is_the_one_on_record(&one, if broken { &other } else { &one });
}
