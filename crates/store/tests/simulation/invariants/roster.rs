//! Who is there, with which keys.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::roster::{KeyUse, Roster};
use vidimus_core::time::Timestamp;

use crate::invariants::{enough, is_own, own_as_it_may_be};
use crate::roster_seen::{KeySeen, PersonSeen, RECOVERY_DELAY_S, RosterSeen};

/// The roster on record, and the one that the gate works with, are what the signed steps lead to.
pub fn invariant_the_roster_is_what_was_signed(seen: &RosterSeen, roster: &Roster) {
    let roles = |roles: &BTreeSet<Name>| roles.iter().map(|role| role.to_string()).collect();
    let persons: BTreeMap<PersonId, PersonSeen> = roster
        .persons
        .iter()
        .map(|person| (person.person, PersonSeen { name: person.name.clone(), roles: roles(&person.roles) }))
        .collect();
    let keys: BTreeMap<Digest, KeySeen> = roster
        .persons
        .iter()
        .flat_map(|person| person.keys.iter().map(move |key| (person.person, key)))
        .map(|(person, key)| {
            let seen = KeySeen { person, key: key.key, key_use: key.key_use, stopped: key.stopped_at.is_some() };
            (key.key.digest(), seen)
        })
        .collect();
    must!(u64::from(roster.version) == seen.version, "version {} of the roster where the log has {}", roster.version, seen.version);
    must!(persons == seen.persons, "other persons are in the roster than were signed: {persons:?} {:?}", seen.persons);
    must!(keys == seen.keys, "other keys are in the roster than were signed");
}

/// Without an admin who can sign and open a session, nothing could ever change again.
pub fn invariant_somebody_can_change_the_roster(seen: &RosterSeen) {
    let opens = |person: &PersonId| seen.keys.values().any(|key| key.person == *person && key.key_use == KeyUse::Device && !key.stopped);
    must!(seen.able("admin").iter().any(opens), "no admin is left who can sign");
}

pub fn invariant_a_stop_is_its_persons_or_an_admins(seen: &RosterSeen, signer: &Digest, person: &PersonId) {
    let signer = seen.keys.get(signer).filter(|key| !key.stopped);
    let own = signer.is_some_and(|key| key.person == *person);
    let admin = signer.is_some_and(|key| key.key_use == KeyUse::Approval && seen.holds(&key.person, "admin"));
    must!(own || admin, "a key of {person} is stopped by somebody who may not");
}

pub fn invariant_a_recovery_is_neither_early_nor_vetoed(seen: &RosterSeen, recovery: &Digest, at: Timestamp) {
    must!(!seen.over.contains(recovery), "a recovery takes effect that was over");
    let day_ms = i64::try_from(RECOVERY_DELAY_S * 1000).expect("small");
    let waited_ms = seen.waits_since(recovery).map(|since| seen.seen_ms(since, at));
    must!(waited_ms.is_some_and(|waited_ms| waited_ms >= day_ms), "a recovery takes effect at {at}, after {waited_ms:?} that anybody saw");
}

/// A recovery is an admission and nothing else: no key falls by it, nobody goes, nobody gains a role but who comes.
pub fn invariant_a_recovery_brings_one_person_and_takes_nothing(before: &RosterSeen, after: &RosterSeen, person: &PersonId) {
    let mut persons = after.persons.clone();
    must!(persons.remove(person).is_some() && persons == before.persons, "a recovery of {person} changes somebody else");
    let (new, old): (Vec<_>, Vec<_>) = after.keys.iter().partition(|(_, key)| key.person == *person);
    must!(old.into_iter().eq(before.keys.iter()), "a recovery changes a key that was there");
    let uses: BTreeSet<&str> = new.iter().filter(|(_, key)| !key.stopped).map(|(_, key)| key.key_use.as_str()).collect();
    must!(new.len() == 2 && uses.len() == 2, "a recovery brings {} keys", new.len());
}

/// Whoever came in by a recovery is an admin like every other: their stop counts, before and after which they may sign it. *Refused* is
/// what the gate said instead.
pub fn invariant_whoever_is_recovered_can_stop_a_lost_key(
    before: &RosterSeen,
    after: &RosterSeen,
    signer: &Digest,
    lost: &Digest,
    refused: Option<Code>,
) {
    let may = |seen: &RosterSeen| {
        let key = seen.keys.get(signer).filter(|key| key.key_use == KeyUse::Approval && !key.stopped);
        key.is_some_and(|key| seen.holds(&key.person, "admin")) && seen.keys.get(lost).is_some_and(|key| !key.stopped)
    };
    must!(refused.is_none() || !may(before) || !may(after), "whoever was recovered cannot stop a lost key: {refused:?}");
}

/// Nobody is asked what too few persons could decide together.
pub fn invariant_somebody_can_decide(seen: &RosterSeen, frozen: &FrozenRequest) {
    let needs = &frozen.members().needs;
    let roles: BTreeSet<&str> = needs.iter().map(|need| need.role.as_str()).collect();
    let may = |person: &PersonId, role: &str| !is_own(seen, person, frozen) || own_as_it_may_be(seen, person, role, frozen);
    let persons: Vec<(PersonId, &str)> = roles
        .iter()
        .flat_map(|role| seen.able(role).into_iter().filter(|person| may(person, role)).map(|person| (person, *role)))
        .collect();
    must!(enough(needs, false, &persons), "a request waits for persons who do not exist: {needs:?} of {persons:?}");
}

/// The gate works with the table that the log has.
pub fn invariant_the_table_in_force_is_the_one_on_record(in_force: &Digest, on_record: &Digest) {
    must!(in_force == on_record, "the gate works with another table than the one on record");
}
