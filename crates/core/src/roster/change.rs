//! The change of the roster that an admin decides: the arguments of `gate.roster.change`, one form for each kind.

use std::collections::BTreeSet;

use super::{Admission, Roster, roles_from_json, roles_to_json};
use crate::code::{Code, Refusal};
use crate::ids::{Name, PersonId, words};
use crate::json::{Fields, Json};
use crate::sign::PublicKey;

words!(
    /// What a change does.
    ChangeKind {
        /// A person comes in.
        Admit = "admit",
        /// A person has one more desktop.
        AddKeys = "add_keys",
        /// A person holds other roles.
        SetRoles = "set_roles",
        /// A person goes.
        Remove = "remove",
    }
);

/// Two more keys of a person: a second desktop, or one in place of a lost one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKeys {
    /// Whose they are.
    pub person: PersonId,
    /// The key for decisions.
    pub approval_key: PublicKey,
    /// The key for sessions.
    pub device_key: PublicKey,
    /// The desktop's name.
    pub label: String,
}

/// A change of the roster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RosterChange {
    /// A person comes in.
    Admit(Admission),
    /// A person has one more desktop.
    AddKeys(NewKeys),
    /// A person holds other roles.
    SetRoles {
        /// Who.
        person: PersonId,
        /// All roles held afterwards.
        roles: BTreeSet<Name>,
    },
    /// A person goes.
    Remove {
        /// Who.
        person: PersonId,
    },
}

impl RosterChange {
    /// What it does.
    pub const fn kind(&self) -> ChangeKind {
        match self {
            RosterChange::Admit(_) => ChangeKind::Admit,
            RosterChange::AddKeys(_) => ChangeKind::AddKeys,
            RosterChange::SetRoles { .. } => ChangeKind::SetRoles,
            RosterChange::Remove { .. } => ChangeKind::Remove,
        }
    }

    /// Who is changed.
    pub const fn person(&self) -> &PersonId {
        match self {
            RosterChange::Admit(admission) => &admission.person,
            RosterChange::AddKeys(keys) => &keys.person,
            RosterChange::SetRoles { person, .. } | RosterChange::Remove { person } => person,
        }
    }

    /// Whether only the person themself may ask for it, and so may not decide it: it brings keys that they hold.
    pub const fn is_asked_by_its_person(&self) -> bool {
        match self {
            RosterChange::Admit(_) | RosterChange::AddKeys(_) => true,
            RosterChange::SetRoles { .. } | RosterChange::Remove { .. } => false,
        }
    }

    /// The version that follows.
    ///
    /// *Errors*: `roster_change_invalid`, `last_admin`.
    pub fn next(&self, previous: &Roster) -> Result<Roster, Refusal> {
        match self {
            RosterChange::Admit(admission) => previous.with_admission(admission),
            RosterChange::AddKeys(keys) => previous.with_keys(keys),
            RosterChange::SetRoles { person, roles } => previous.with_roles(person, roles),
            RosterChange::Remove { person } => previous.without_person(person),
        }
    }

    /// The arguments of `gate.roster.change` that make this change after `previous`.
    ///
    /// *Errors*: those of [`RosterChange::next`].
    pub fn to_args(&self, previous: &Roster) -> Result<Json, Refusal> {
        let next = self.next(previous)?;
        let name = match self {
            RosterChange::Admit(admission) => &admission.name,
            RosterChange::AddKeys(_) | RosterChange::SetRoles { .. } | RosterChange::Remove { .. } => name_of(self.person(), previous)?,
        };
        let mut members: Vec<(&str, Json)> =
            vec![("change", self.kind().as_str().into()), ("person", self.person().to_string().into()), ("name", name.into())];
        match self {
            RosterChange::Admit(admission) => {
                members.push(("roles", roles_to_json(&admission.roles)));
                members.extend(keys_to_json(&admission.approval_key, &admission.device_key, &admission.label));
            }
            RosterChange::AddKeys(keys) => members.extend(keys_to_json(&keys.approval_key, &keys.device_key, &keys.label)),
            RosterChange::SetRoles { roles, .. } => members.push(("roles", roles_to_json(roles))),
            RosterChange::Remove { .. } => {}
        }
        members.push(("previous_sha256", previous.digest()?.to_string().into()));
        members.push(("next_sha256", next.digest()?.to_string().into()));
        Ok(Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// The change in the arguments of a `gate.roster.change`, whatever version it was made for.
    ///
    /// *Errors*: those of a strict document.
    pub fn parse(args: &Json) -> Result<RosterChange, Refusal> {
        let kind: ChangeKind = args
            .member("change")
            .and_then(Json::as_str)
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| Refusal::new(Code::RosterChangeInvalid, "an unknown change; update this program").at("/change"))?;
        let fields = Fields::exactly(args, members_of(kind))?;
        let person: PersonId = fields.parsed("person")?;
        Ok(match kind {
            ChangeKind::Admit => RosterChange::Admit(Admission {
                person,
                name: fields.string("name")?.to_owned(),
                roles: roles_from_json(fields.array("roles")?)?,
                approval_key: fields.parsed("approval_key")?,
                device_key: fields.parsed("device_key")?,
                label: fields.string("label")?.to_owned(),
            }),
            ChangeKind::AddKeys => RosterChange::AddKeys(NewKeys {
                person,
                approval_key: fields.parsed("approval_key")?,
                device_key: fields.parsed("device_key")?,
                label: fields.string("label")?.to_owned(),
            }),
            ChangeKind::SetRoles => RosterChange::SetRoles { person, roles: roles_from_json(fields.array("roles")?)? },
            ChangeKind::Remove => RosterChange::Remove { person },
        })
    }

    /// The roster that these arguments lead to, recomputed from `previous`.
    ///
    /// *Errors*: `roster_stale` when they were made for another version, `roster_change_invalid` when they are not those that
    /// lead there: another digest of the next version, another name than the person's.
    pub fn next_roster(args: &Json, previous: &Roster) -> Result<Roster, Refusal> {
        let change = RosterChange::parse(args)?;
        let expected = previous.digest()?.to_string();
        if args.member("previous_sha256").and_then(Json::as_str) != Some(&expected) {
            return Err(Refusal::new(Code::RosterStale, "the change was made for another version of the roster; propose it again")
                .at("/previous_sha256"));
        }
        if change.to_args(previous)?.canonical()? != args.canonical()? {
            return Err(Refusal::new(Code::RosterChangeInvalid, "the change does not lead to the roster it names; propose it again")
                .at("/next_sha256"));
        }
        change.next(previous)
    }
}

const fn members_of(kind: ChangeKind) -> &'static [&'static str] {
    match kind {
        ChangeKind::Admit => {
            &["change", "person", "name", "roles", "approval_key", "device_key", "label", "previous_sha256", "next_sha256"]
        }
        ChangeKind::AddKeys => &["change", "person", "name", "approval_key", "device_key", "label", "previous_sha256", "next_sha256"],
        ChangeKind::SetRoles => &["change", "person", "name", "roles", "previous_sha256", "next_sha256"],
        ChangeKind::Remove => &["change", "person", "name", "previous_sha256", "next_sha256"],
    }
}

fn name_of<'a>(person: &PersonId, roster: &'a Roster) -> Result<&'a str, Refusal> {
    let known = roster.person(person).map(|known| known.name.as_str());
    known.ok_or_else(|| {
        Refusal::new(Code::RosterChangeInvalid, format!("`{person}` is not in the roster; name somebody who is")).at("/person")
    })
}

fn keys_to_json(approval_key: &PublicKey, device_key: &PublicKey, label: &str) -> [(&'static str, Json); 3] {
    [("approval_key", approval_key.to_string().into()), ("device_key", device_key.to_string().into()), ("label", label.into())]
}
