//! The steps from one version of the roster to the next, whoever asked for them.

use super::{ADMIN, Admission, EVERYONE, KeyUse, NewKeys, Person, Roster, RosterKey, readable};
use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::ids::{Name, PersonId};
use crate::limits::{KEYS_ACTIVE_PER_PERSON_MAX, KEYS_PER_PERSON_MAX, PERSONS_MAX};
use crate::sign::PublicKey;
use crate::time::Timestamp;
use std::collections::BTreeSet;

impl Roster {
    /// The version that follows from an admission.
    ///
    /// *Errors*: `roster_change_invalid` for a person, key or name that is there already and for a role that nobody may hold.
    pub fn with_admission(&self, admission: &Admission) -> Result<Roster, Refusal> {
        self.following(|next| next.admit(admission))
    }

    /// The version in which a person has two more keys.
    ///
    /// *Errors*: `roster_change_invalid` for a person who is not there, a key that is, and more keys than a person may have.
    pub fn with_keys(&self, keys: &NewKeys) -> Result<Roster, Refusal> {
        self.following(|next| next.add_keys(keys))
    }

    /// The version in which a person holds exactly these roles.
    ///
    /// *Errors*: `roster_change_invalid` for a person who is not there, the roles already held, and a role that nobody may
    /// hold; `last_admin`.
    pub fn with_roles(&self, person: &PersonId, roles: &BTreeSet<Name>) -> Result<Roster, Refusal> {
        self.following(|next| {
            real_roles(roles)?;
            let held = next.member(person)?;
            if held.roles == *roles {
                return Err(invalid("/roles", format!("`{}` holds these roles already; nothing would change", held.name)));
            }
            held.roles.clone_from(roles);
            next.keeps_an_admin()
        })
    }

    /// The version without a person.
    ///
    /// *Errors*: `roster_change_invalid` for a person who is not there, `last_admin`.
    pub fn without_person(&self, person: &PersonId) -> Result<Roster, Refusal> {
        self.following(|next| {
            next.member(person)?;
            next.persons.retain(|known| known.person != *person);
            next.keeps_an_admin()
        })
    }

    /// The version in which these keys of a person count for nothing; none where each of them is stopped already.
    ///
    /// *Errors*: `key_unknown` for a key that is not this person's, `last_admin`.
    pub fn with_stopped(&self, person: &PersonId, keys: &[Digest], at: Timestamp) -> Result<Option<Roster>, Refusal> {
        for (index, key) in keys.iter().enumerate() {
            if self.key(key).is_none_or(|holder| holder.person.person != *person) {
                let message = format!("the key `{key}` is not one of `{person}`; name keys of the person whose they are");
                return Err(Refusal::new(Code::KeyUnknown, message).at(format!("/keys/{index}")));
            }
        }
        let active = |key: &Digest| self.key(key).is_some_and(|holder| holder.key.stopped_at.is_none());
        if !keys.iter().any(active) {
            return Ok(None);
        }
        let next = self.following(|next| {
            let named = next.member(person)?.keys.iter_mut().filter(|key| keys.contains(&key.key.digest()));
            named.for_each(|key| key.stopped_at = key.stopped_at.or(Some(at)));
            next.keeps_an_admin()
        })?;
        Ok(Some(next))
    }

    /// The next version, made by a step. One that no reader could read is none.
    fn following(&self, step: impl FnOnce(&mut Roster) -> Result<(), Refusal>) -> Result<Roster, Refusal> {
        let mut next = self.clone();
        step(&mut next)?;
        next.version = self.version.checked_add(1).ok_or_else(|| invalid("/version", "the roster has no further version".to_owned()))?;
        next.previous_sha256 = Some(self.digest()?);
        // What every reader will have of it.
        let read = next.to_json().canonical().and_then(|bytes| Roster::parse(&bytes));
        read.map_err(|_| invalid("", "the roster would be larger than any reader takes; remove persons first".to_owned()))
    }

    pub(super) fn admit(&mut self, admission: &Admission) -> Result<(), Refusal> {
        if self.persons.len() >= PERSONS_MAX {
            return Err(invalid("/person", format!("the roster holds `{PERSONS_MAX}` persons, its limit; remove one first")));
        }
        if self.person(&admission.person).is_some() {
            return Err(invalid("/person", format!("`{}` is in the roster already; invite under a new id", admission.person)));
        }
        readable(&admission.name).map_err(|refusal| refusal.at("/name"))?;
        real_roles(&admission.roles)?;
        let keys = self.two_keys(&admission.approval_key, &admission.device_key, &admission.label)?;
        self.persons.push(Person {
            person: admission.person,
            name: admission.name.clone(),
            roles: admission.roles.clone(),
            keys: keys.to_vec(),
        });
        self.persons.sort_by_key(|person| person.person);
        Ok(())
    }

    fn add_keys(&mut self, new: &NewKeys) -> Result<(), Refusal> {
        let keys = self.two_keys(&new.approval_key, &new.device_key, &new.label)?;
        let person = self.member(&new.person)?;
        let active = person.keys.iter().filter(|key| key.stopped_at.is_none()).count();
        if active + keys.len() > KEYS_ACTIVE_PER_PERSON_MAX {
            let message = format!("`{}` would have more than {KEYS_ACTIVE_PER_PERSON_MAX} keys in use; stop a desktop first", person.name);
            return Err(invalid("/person", message));
        }
        if person.keys.len() + keys.len() > KEYS_PER_PERSON_MAX {
            let message =
                format!("`{}` has had {KEYS_PER_PERSON_MAX} keys, the limit; remove the person and invite them anew", person.name);
            return Err(invalid("/person", message));
        }
        person.keys.extend(keys);
        Ok(())
    }

    /// The two keys of a desktop, which nobody holds yet.
    fn two_keys(&self, approval_key: &PublicKey, device_key: &PublicKey, label: &str) -> Result<[RosterKey; 2], Refusal> {
        readable(label).map_err(|refusal| refusal.at("/label"))?;
        if approval_key == device_key {
            return Err(invalid("/device_key", "one key stands for both uses; make two".to_owned()));
        }
        for (key, path) in [(approval_key, "/approval_key"), (device_key, "/device_key")] {
            if self.key(&key.digest()).is_some() || *key == self.log_key || *key == self.token_key || Some(*key) == self.recovery_key {
                return Err(invalid(path, format!("the key `{}` is in use already; a key belongs to one holder", key.digest())));
            }
        }
        let key = |key_use, key: &PublicKey| RosterKey { key_use, key: *key, label: label.to_owned(), stopped_at: None };
        Ok([key(KeyUse::Approval, approval_key), key(KeyUse::Device, device_key)])
    }

    fn member(&mut self, person: &PersonId) -> Result<&mut Person, Refusal> {
        let found = self.persons.iter_mut().find(|known| known.person == *person);
        found.ok_or_else(|| invalid("/person", format!("`{person}` is not in the roster; name somebody who is")))
    }

    fn keeps_an_admin(&self) -> Result<(), Refusal> {
        if self.has_admin_who_can_sign() {
            return Ok(());
        }
        let message = format!("no `{ADMIN}` would be left who can sign; admit another one, or a second desktop, first");
        Err(Refusal::new(Code::LastAdmin, message).at("/person"))
    }
}

fn real_roles(roles: &BTreeSet<Name>) -> Result<(), Refusal> {
    if roles.is_empty() || roles.iter().any(|role| role.as_str() == EVERYONE) {
        return Err(invalid("/roles", format!("a person holds one role or more, and never `{EVERYONE}`; name real roles")));
    }
    Ok(())
}

fn invalid(path: &str, message: String) -> Refusal {
    Refusal::new(Code::RosterChangeInvalid, message).at(path)
}
