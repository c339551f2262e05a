//! The roster as the log has it: read record by record, by rules of its own, from what people signed.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::Digest;
use vidimus_core::ids::PersonId;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::passing::Skipped;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::{KeyUse, Roster};
use vidimus_core::sign::PublicKey;
use vidimus_core::time::Timestamp;
use vidimus_store::LogRecord;

use crate::invariants;

/// Everybody has so long to object. *Unit*: seconds; a day.
pub const RECOVERY_DELAY_S: u64 = 24 * 3600;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySeen {
    pub person: PersonId,
    pub key: PublicKey,
    pub key_use: KeyUse,
    pub stopped: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonSeen {
    pub name: String,
    pub roles: BTreeSet<String>,
}

/// A recovery that everybody was told of.
#[derive(Clone, Debug)]
pub struct RecoverySeen {
    admission: Json,
    announced_at: Timestamp,
}

#[derive(Clone, Default)]
pub struct RosterSeen {
    pub version: u64,
    pub persons: BTreeMap<PersonId, PersonSeen>,
    /// Those that somebody in the roster holds or held.
    pub keys: BTreeMap<Digest, KeySeen>,
    /// Those that anybody ever held, as they were brought: whoever has every version has the keys of those who went.
    pub ever: BTreeMap<Digest, KeySeen>,
    pub recovery_key: Option<PublicKey>,
    pub waiting: BTreeMap<Digest, RecoverySeen>,
    /// Time that nobody saw pass.
    pub skipped: Vec<Skipped>,
    /// Recoveries that never count again.
    pub over: BTreeSet<Digest>,
    /// Who came in by the last recovery.
    pub recovered: Option<PersonId>,
}

fn body_of(record: &LogRecord) -> Json {
    parse(record.body.as_deref().expect("a body").as_bytes(), &Limits::FROZEN).expect("a body of JSON")
}

fn document(text: &str) -> Json {
    parse(text.as_bytes(), &Limits::FROZEN).expect("a document")
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.member(name).and_then(Json::as_str).unwrap_or_else(|| panic!("no text `{name}` in {json:?}"))
}

fn texts(json: &Json, name: &str) -> BTreeSet<String> {
    let items = json.member(name).and_then(Json::as_array).unwrap_or_else(|| panic!("no list `{name}`"));
    items.iter().map(|item| item.as_str().expect("a text").to_owned()).collect()
}

fn person_of(json: &Json) -> PersonId {
    text(json, "person").parse().expect("a person's id")
}

/// How much of the time between two moments is on no record of skipped time. *Unit*: milliseconds.
pub fn seen_ms(skipped: &[Skipped], from: Timestamp, to: Timestamp) -> i64 {
    let within = skipped.iter().filter(|stretch| from <= stretch.from && stretch.from.plus_ms(stretch.ms) <= to);
    to.as_ms() - from.as_ms() - within.map(|stretch| i64::try_from(stretch.ms).expect("small")).sum::<i64>()
}

impl RosterSeen {
    /// Takes in a record about keys and people. True where another version is in force by it.
    pub fn take(&mut self, record: &LogRecord, leaf: &AuditRecord) -> bool {
        match leaf.record_type {
            RecordType::RosterChanged => {
                self.changed(record, leaf);
                return true;
            }
            RecordType::TimeSkipped => self.skipped.push(Skipped::of(leaf).expect("a stretch of time")),
            RecordType::RecoveryAnnounced => self.announced(leaf),
            RecordType::RecoveryVetoed => self.vetoed(leaf),
            RecordType::RecoveryRefused => self.end(&text(&leaf.claims, "recovery_sha256").parse().expect("a digest")),
            _ => {}
        }
        false
    }

    fn changed(&mut self, record: &LogRecord, leaf: &AuditRecord) {
        let body = body_of(record);
        let payload = |index: usize| {
            let bytes = leaf.envelopes[index].danger_unverified_payload();
            document(std::str::from_utf8(bytes).expect("a statement is text"))
        };
        match leaf.claim("by").expect("what brought it") {
            "genesis" => self.genesis(payload(0).member("roster").expect("a roster")),
            "change" => self.change(document(text(&body, "frozen")).member("args").expect("arguments")),
            "stop" => self.stop(leaf, &payload(0)),
            "recovery" => self.recover(leaf, payload(0).member("admission").expect("an admission")),
            other => panic!("a roster by `{other}`"),
        }
        self.version += 1;
        let recorded = Roster::parse(text(&body, "roster").as_bytes()).expect("a roster");
        invariants::invariant_the_roster_is_what_was_signed(self, &recorded);
        invariants::invariant_somebody_can_change_the_roster(self);
    }

    fn genesis(&mut self, roster: &Json) {
        assert!(self.persons.is_empty(), "a roster begins twice");
        let recovery_key = roster.member("recovery_key").and_then(Json::as_str);
        self.recovery_key = recovery_key.map(|key| key.parse().expect("a key"));
        for person in roster.member("persons").and_then(Json::as_array).expect("persons") {
            let id = person_of(person);
            self.persons.insert(id, PersonSeen { name: text(person, "name").to_owned(), roles: texts(person, "roles") });
            for key in person.member("keys").and_then(Json::as_array).expect("keys") {
                self.bring(id, text(key, "key"), text(key, "use").parse().expect("a use"));
            }
        }
    }

    /// The arguments of a change that was approved.
    fn change(&mut self, args: &Json) {
        let person = person_of(args);
        match text(args, "change") {
            "admit" => self.admit(args),
            "add_keys" => self.bring_both(person, args),
            "set_roles" => self.persons.get_mut(&person).expect("a person of the roster").roles = texts(args, "roles"),
            "remove" => {
                assert!(self.persons.remove(&person).is_some(), "nobody to remove");
                self.keys.retain(|_, key| key.person != person);
            }
            other => panic!("an unknown change `{other}`"),
        }
    }

    fn admit(&mut self, admission: &Json) {
        let person = person_of(admission);
        let seen = PersonSeen { name: text(admission, "name").to_owned(), roles: texts(admission, "roles") };
        assert!(self.persons.insert(person, seen).is_none(), "somebody is admitted twice");
        self.bring_both(person, admission);
    }

    fn bring_both(&mut self, person: PersonId, keys: &Json) {
        self.bring(person, text(keys, "approval_key"), KeyUse::Approval);
        self.bring(person, text(keys, "device_key"), KeyUse::Device);
    }

    fn bring(&mut self, person: PersonId, key: &str, key_use: KeyUse) {
        let key: PublicKey = key.parse().expect("a key");
        let seen = KeySeen { person, key, key_use, stopped: false };
        self.ever.insert(key.digest(), seen.clone());
        assert!(self.keys.insert(key.digest(), seen).is_none(), "a key belongs to two");
    }

    fn stop(&mut self, leaf: &AuditRecord, stop: &Json) {
        let person = person_of(stop);
        let signer = leaf.envelopes[0].key_digest();
        invariants::invariant_a_stop_is_its_persons_or_an_admins(self, &signer, &person);
        for key in texts(stop, "keys") {
            let named = self.keys.get_mut(&key.parse().expect("a digest")).filter(|key| key.person == person);
            named.expect("a key of this person").stopped = true;
        }
    }

    fn announced(&mut self, leaf: &AuditRecord) {
        let envelope = &leaf.envelopes[0];
        let signed_by = self.recovery_key.map(|key| key.digest());
        assert_eq!(Some(envelope.key_digest()), signed_by, "a recovery that the recovery key did not sign is announced");
        let payload = document(std::str::from_utf8(envelope.danger_unverified_payload()).expect("text"));
        let admission = payload.member("admission").expect("an admission").clone();
        let recovery = Digest::of(envelope.danger_unverified_payload());
        assert!(!self.over.contains(&recovery), "a recovery that is over is announced again");
        assert!(self.waiting.insert(recovery, RecoverySeen { admission, announced_at: leaf.at }).is_none(), "it is announced twice");
    }

    fn vetoed(&mut self, leaf: &AuditRecord) {
        let signer = leaf.envelopes[0].key_digest();
        let person = self.keys.get(&signer).filter(|key| key.key_use == KeyUse::Approval && !key.stopped).map(|key| key.person);
        assert!(person.is_some_and(|person| self.holds(&person, "admin")), "somebody who is no admin objects to a recovery");
        self.end(&text(&leaf.claims, "recovery_sha256").parse().expect("a digest"));
    }

    fn recover(&mut self, leaf: &AuditRecord, admission: &Json) {
        let recovery = Digest::of(leaf.envelopes[0].danger_unverified_payload());
        invariants::invariant_a_recovery_is_neither_early_nor_vetoed(self, &recovery, leaf.at);
        let announced = self.waiting[&recovery].admission.clone();
        assert!(announced == *admission, "another person comes in than was announced");
        let before = self.clone();
        self.admit(admission);
        self.end(&recovery);
        let person = person_of(admission);
        invariants::invariant_a_recovery_brings_one_person_and_takes_nothing(&before, self, &person);
        self.recovered = Some(person);
    }

    fn end(&mut self, recovery: &Digest) {
        assert!(self.waiting.remove(recovery).is_some(), "a recovery that does not wait ends");
        self.over.insert(*recovery);
    }

    pub fn holds(&self, person: &PersonId, role: &str) -> bool {
        self.persons.get(person).is_some_and(|seen| seen.roles.contains(role))
    }

    /// Whether this person may sign with this key today.
    pub fn active(&self, person: &PersonId, key: &Digest, key_use: KeyUse) -> bool {
        self.keys.get(key).is_some_and(|seen| seen.person == *person && seen.key_use == key_use && !seen.stopped)
    }

    /// Those who hold a role, whether they can sign or not.
    pub fn holders(&self, role: &str) -> Vec<PersonId> {
        self.persons.iter().filter(|(_, seen)| seen.roles.contains(role)).map(|(person, _)| *person).collect()
    }

    /// Those who hold a role and can sign decisions.
    pub fn able(&self, role: &str) -> Vec<PersonId> {
        let signs =
            |person: &PersonId| self.keys.values().any(|key| key.person == *person && key.key_use == KeyUse::Approval && !key.stopped);
        self.persons.iter().filter(|(person, seen)| seen.roles.contains(role) && signs(person)).map(|(person, _)| *person).collect()
    }

    /// How much of the time between two moments somebody was there to see. *Unit*: milliseconds.
    pub fn seen_ms(&self, from: Timestamp, to: Timestamp) -> i64 {
        seen_ms(&self.skipped, from, to)
    }

    /// Since when a recovery waits.
    pub fn waits_since(&self, recovery: &Digest) -> Option<Timestamp> {
        self.waiting.get(recovery).map(|waits| waits.announced_at)
    }

    /// As if everybody had been told.
    pub fn announce(&mut self, recovery: Digest, announced_at: Timestamp) {
        self.waiting.insert(recovery, RecoverySeen { admission: Json::object([]), announced_at });
    }
}
