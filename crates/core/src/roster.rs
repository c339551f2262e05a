//! The roster: who may decide, with which keys, in which roles. Owns its one spelling and the steps that lead from one
//! version to the next; knows nothing of invitations, or of who may ask for a step ([`crate::chain`] does).

mod change;
mod steps;

use std::collections::BTreeSet;

pub use change::{NewKeys, RosterChange};

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::ids::{Environment, GateId, Name, PersonId, words};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::{DISPLAY_NAME_CHARS_MAX, PERSONS_MAX};
use crate::sign::PublicKey;
use crate::time::Timestamp;

/// The role whose holders change the roster and the table.
pub const ADMIN: &str = "admin";
/// The role that may read every body.
pub const AUDITOR: &str = "auditor";
/// Stands in a record's roles where every enrolled person may read the body; no person ever holds it.
pub const EVERYONE: &str = "everyone";

words!(
    /// What a key signs.
    KeyUse {
        /// Decisions and reconciliations; kept under the PIN.
        Approval = "approval",
        /// Sessions and log cosignatures; kept without a PIN.
        Device = "device",
    }
);

/// A key of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RosterKey {
    /// What it signs.
    pub key_use: KeyUse,
    /// The public key.
    pub key: PublicKey,
    /// The desktop's name for it.
    pub label: String,
    /// Since when it counts for nothing.
    pub stopped_at: Option<Timestamp>,
}

/// A person who was enrolled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    /// The person's id.
    pub person: PersonId,
    /// The name that others read.
    pub name: String,
    /// The roles held.
    pub roles: BTreeSet<Name>,
    /// The keys, in the order of enrolment.
    pub keys: Vec<RosterKey>,
}

/// One version of the roster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roster {
    /// The gate it belongs to.
    pub gate: GateId,
    /// The gate's environment.
    pub environment: Environment,
    /// Counts from 1, the genesis.
    pub version: u32,
    /// Digest of the version before; none at genesis.
    pub previous_sha256: Option<Digest>,
    /// The key that signs checkpoints; its digest is the gate's id.
    pub log_key: PublicKey,
    /// The key that signs execution tokens.
    pub token_key: PublicKey,
    /// The offline key that may sign a roster after everyone was told.
    pub recovery_key: Option<PublicKey>,
    /// The persons, by id.
    pub persons: Vec<Person>,
}

/// The admission of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The id given to the person by the invitation.
    pub person: PersonId,
    /// The name that others read.
    pub name: String,
    /// The roles to hold.
    pub roles: BTreeSet<Name>,
    /// The key for decisions.
    pub approval_key: PublicKey,
    /// The key for sessions.
    pub device_key: PublicKey,
    /// The desktop's name.
    pub label: String,
}

/// A key that was found in the roster, with whose it is.
#[derive(Clone, Copy, Debug)]
pub struct KeyHolder<'a> {
    /// The holder.
    pub person: &'a Person,
    /// The key.
    pub key: &'a RosterKey,
}

impl Roster {
    /// The first version: one person, who is admin.
    pub fn genesis(
        environment: Environment,
        log_key: PublicKey,
        token_key: PublicKey,
        recovery_key: Option<PublicKey>,
        first: &Admission,
    ) -> Result<Roster, Refusal> {
        let mut roster = Roster {
            gate: GateId::of(&log_key),
            environment,
            version: 0,
            previous_sha256: None,
            log_key,
            token_key,
            recovery_key,
            persons: Vec::new(),
        };
        if !first.roles.iter().any(|role| role.as_str() == ADMIN) {
            return Err(Refusal::new(
                Code::RosterChangeInvalid,
                "the first person is not `admin`; a roster without one could never change",
            )
            .at("/roles"));
        }
        roster.admit(first)?;
        roster.version = 1;
        Ok(roster)
    }

    /// A person by id.
    pub fn person(&self, person: &PersonId) -> Option<&Person> {
        self.persons.iter().find(|known| known.person == *person)
    }

    /// A key by its digest, stopped or not.
    pub fn key(&self, key_sha256: &Digest) -> Option<KeyHolder<'_>> {
        self.persons.iter().find_map(|person| {
            let key = person.keys.iter().find(|key| key.key.digest() == *key_sha256)?;
            Some(KeyHolder { person, key })
        })
    }

    /// The holder of a key that may sign today, for this use.
    ///
    /// *Errors*: `key_unknown`, `key_stopped`, `key_use_wrong`.
    pub fn active_key(&self, key_sha256: &Digest, key_use: KeyUse) -> Result<KeyHolder<'_>, Refusal> {
        let holder = self
            .key(key_sha256)
            .ok_or_else(|| Refusal::new(Code::KeyUnknown, format!("the key `{key_sha256}` is not enrolled; enrol it by an invitation")))?;
        if let Some(stopped_at) = holder.key.stopped_at {
            return Err(Refusal::new(Code::KeyStopped, format!("the key `{key_sha256}` was stopped at {stopped_at}; enrol a new one")));
        }
        if holder.key.key_use != key_use {
            return Err(Refusal::new(
                Code::KeyUseWrong,
                format!("the key `{key_sha256}` is a {} key; this needs the {key_use} key", holder.key.key_use),
            ));
        }
        Ok(holder)
    }

    /// The persons who hold a role and have an approval key that is not stopped.
    pub fn eligible<'a>(&'a self, role: &'a Name) -> impl Iterator<Item = &'a Person> {
        self.persons.iter().filter(move |person| {
            person.roles.contains(role) && person.keys.iter().any(|key| key.key_use == KeyUse::Approval && key.stopped_at.is_none())
        })
    }

    /// Whether an admin has an approval key and a device key that are not stopped: without one, nothing could change the roster.
    pub fn has_admin_who_can_sign(&self) -> bool {
        let active = |person: &Person, key_use| person.keys.iter().any(|key| key.key_use == key_use && key.stopped_at.is_none());
        self.persons.iter().any(|person| {
            person.roles.iter().any(|role| role.as_str() == ADMIN) && active(person, KeyUse::Approval) && active(person, KeyUse::Device)
        })
    }

    /// Whether this person is the only admin. Another one whose keys are stopped counts still: an admin who stops the others must
    /// not thereby become the only one, and those come back by new keys of their own.
    pub fn is_sole_admin(&self, person: &PersonId) -> bool {
        let mut admins = self.persons.iter().filter(|person| person.roles.iter().any(|role| role.as_str() == ADMIN));
        admins.next().is_some_and(|first| first.person == *person) && admins.next().is_none()
    }

    /// SHA-256 of the canonical roster.
    pub fn digest(&self) -> Result<Digest, Refusal> {
        self.to_json().digest()
    }

    /// The roster as a document.
    pub fn to_json(&self) -> Json {
        let persons: Vec<Json> = self.persons.iter().map(person_to_json).collect();
        Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("version", self.version.into()),
            ("previous_sha256", self.previous_sha256.map(|digest| digest.to_string()).into()),
            ("log_key", self.log_key.to_string().into()),
            ("token_key", self.token_key.to_string().into()),
            ("recovery_key", self.recovery_key.map(|key| key.to_string()).into()),
            ("persons", persons.into()),
        ])
    }

    /// Reads a roster from its canonical bytes.
    pub fn parse(bytes: &[u8]) -> Result<Roster, Refusal> {
        Roster::from_json(&parse_canonical(bytes, &Limits::FROZEN)?)
    }

    /// Reads a roster from a document, every member of it.
    pub fn from_json(json: &Json) -> Result<Roster, Refusal> {
        let fields = Fields::exactly(
            json,
            &["v", "gate", "environment", "version", "previous_sha256", "log_key", "token_key", "recovery_key", "persons"],
        )?;
        fields.version(1)?;
        let log_key: PublicKey = fields.parsed("log_key")?;
        let gate: GateId = fields.parsed("gate")?;
        if gate != GateId::of(&log_key) {
            return Err(
                Refusal::new(Code::GateWrong, "the gate's id is not the digest of its log key; ask for the right roster").at("/gate")
            );
        }
        let persons = fields.array("persons")?;
        let persons: Vec<Person> = persons
            .iter()
            .enumerate()
            .map(|(index, person)| person_from_json(person).map_err(|refusal| refusal.under(&format!("/persons/{index}"))))
            .collect::<Result<_, _>>()?;
        if persons.len() > PERSONS_MAX || !persons.is_sorted_by(|one, next| one.person < next.person) {
            return Err(
                Refusal::new(Code::FieldMalformed, "the persons are not distinct and in the order of their ids; sort them").at("/persons")
            );
        }
        Ok(Roster {
            gate,
            environment: fields.parsed("environment")?,
            version: u32::try_from(fields.integer("version")?).map_err(|_| {
                Refusal::new(Code::FieldMalformed, "the version is beyond 32 bits; ask for the right roster").at("/version")
            })?,
            previous_sha256: fields.optional_parsed("previous_sha256")?,
            log_key,
            token_key: fields.parsed("token_key")?,
            recovery_key: fields.optional_parsed("recovery_key")?,
            persons,
        })
    }
}

/// A character that has no shape of its own, or turns the direction of others: two names that differ in it look alike.
pub(crate) fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A name or label that a person reads: one line, printable, bounded.
fn readable(text: &str) -> Result<(), Refusal> {
    let chars = text.chars().count();
    if (1..=DISPLAY_NAME_CHARS_MAX).contains(&chars) && text.trim() == text && !text.chars().any(unseen) {
        Ok(())
    } else {
        Err(Refusal::new(
            Code::RosterChangeInvalid,
            format!(
                "a name or label is empty, padded, has control or invisible characters or more than {DISPLAY_NAME_CHARS_MAX} characters; shorten it"
            ),
        ))
    }
}

fn roles_to_json(roles: &BTreeSet<Name>) -> Json {
    roles.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>().into()
}

fn roles_from_json(roles: &[Json]) -> Result<BTreeSet<Name>, Refusal> {
    let malformed = || Refusal::new(Code::FieldMalformed, "roles are not distinct names in order; sort them").at("/roles");
    let names: Vec<Name> = roles.iter().map(|role| Name::parse(role.as_str().ok_or_else(malformed)?)).collect::<Result<_, _>>()?;
    if names.is_sorted_by(|one, next| one < next) { Ok(names.into_iter().collect()) } else { Err(malformed()) }
}

fn person_to_json(person: &Person) -> Json {
    let keys: Vec<Json> = person
        .keys
        .iter()
        .map(|key| {
            Json::object([
                ("use", key.key_use.as_str().into()),
                ("key", key.key.to_string().into()),
                ("label", key.label.as_str().into()),
                ("stopped_at", key.stopped_at.map(|at| at.to_string()).into()),
            ])
        })
        .collect();
    Json::object([
        ("person", person.person.to_string().into()),
        ("name", person.name.as_str().into()),
        ("roles", roles_to_json(&person.roles)),
        ("keys", keys.into()),
    ])
}

fn person_from_json(json: &Json) -> Result<Person, Refusal> {
    let fields = Fields::exactly(json, &["person", "name", "roles", "keys"])?;
    let mut keys = Vec::new();
    for (index, key) in fields.array("keys")?.iter().enumerate() {
        keys.push(key_from_json(key).map_err(|refusal| refusal.under(&format!("/keys/{index}")))?);
    }
    Ok(Person {
        person: fields.parsed("person")?,
        name: fields.string("name")?.to_owned(),
        roles: roles_from_json(fields.array("roles")?)?,
        keys,
    })
}

fn key_from_json(json: &Json) -> Result<RosterKey, Refusal> {
    let fields = Fields::exactly(json, &["use", "key", "label", "stopped_at"])?;
    Ok(RosterKey {
        key_use: fields.parsed("use")?,
        key: fields.parsed("key")?,
        label: fields.string("label")?.to_owned(),
        stopped_at: fields.optional_parsed("stopped_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_holds_nothing_that_is_not_seen() {
        for good in ["Ada Example", "Zoë Beispiel", "例 名", "O'Neil-Example"] {
            assert_eq!(readable(good), Ok(()), "{good}");
        }
        for bad in ["", " Ada", "Ada\u{202e}", "A\u{200b}da", "Ada\u{2066}x", "A\u{ad}da", "A\u{e0041}da", "A\u{0}da", "A\nda", "\u{3164}"]
        {
            assert!(readable(bad).is_err(), "{}", bad.escape_unicode());
        }
    }
}
