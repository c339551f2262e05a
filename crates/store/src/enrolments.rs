//! How people and their desktops come in: the first admin by genesis, everyone else by a proposal that others decide.

use rusqlite::params;
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::chain::RosterCause;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, Name, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::roster::{Admission, EVERYONE, KeyUse, NewKeys, Roster, RosterChange};
use vidimus_core::statement::{Enrolment, Genesis, same_gate};

use crate::codec::text;
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::{GateState, RosterState, RosterView};
use crate::people::{InviteKind, InviteOnRecord, usable_invite};
use crate::proposals::{Proposal, propose, refuse_too_many};
use crate::table_changes::stage_table;
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::{Moment, Store};

/// The first admin's enrolment.
#[derive(Debug, Clone)]
pub struct EnrolGenesis {
    /// Digest of the code.
    pub code_sha256: Digest,
    /// The desktop's name.
    pub label: String,
    /// The approval key's proof of possession.
    pub approval: Envelope,
    /// The device key's proof of possession.
    pub device: Envelope,
    /// The first roster and the first table, signed.
    pub genesis: Envelope,
}

/// A further person's enrolment: a proposal that others decide.
#[derive(Debug, Clone)]
pub struct ProposeAdmission {
    /// Digest of the code.
    pub code_sha256: Digest,
    /// The desktop's name.
    pub label: String,
    /// The approval key's proof of possession.
    pub approval: Envelope,
    /// The device key's proof of possession.
    pub device: Envelope,
    /// A fresh id for the call.
    pub call: CallId,
    /// A fresh id for the request.
    pub request: RequestId,
    /// A fresh salt for the arguments' digest.
    pub salt: Salt,
}

/// What became of an enrolment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// The person may open sessions and decide.
    Active {
        /// Who.
        person: PersonId,
    },
    /// An admin must decide first.
    Waiting {
        /// Who.
        person: PersonId,
        /// The request to admit them.
        request: RequestId,
    },
    /// A rule says no, nothing changed; to be recorded by `refuse_enrolment`.
    Refused(Refusal),
}

/// A change of the roster that a person asks for in a session.
#[derive(Debug, Clone)]
pub struct ProposeChange {
    /// The person of the session.
    pub proposer: PersonId,
    /// What is asked for.
    pub change: ProposedChange,
    /// A fresh id for the call.
    pub call: CallId,
    /// A fresh id for the request.
    pub request: RequestId,
    /// A fresh salt for the arguments' digest.
    pub salt: Salt,
}

/// What a person may ask for in a session.
#[derive(Debug, Clone)]
pub enum ProposedChange {
    /// Two more keys of one's own: a rotation.
    AddKeys {
        /// The desktop's name.
        label: String,
        /// The approval key's proof of possession.
        approval: Box<Envelope>,
        /// The device key's proof of possession.
        device: Box<Envelope>,
    },
    /// Other roles for a person.
    SetRoles {
        /// Who.
        person: PersonId,
        /// All roles held afterwards.
        roles: Vec<Name>,
    },
    /// A person goes.
    Remove {
        /// Who.
        person: PersonId,
    },
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposedOutcome {
    /// The request waits for an admin.
    Waiting(RequestId),
    /// A rule says no, nothing changed; to be recorded by `refuse_statement`.
    Refused(Refusal),
}

impl Store {
    /// Proposes a change of the roster for a person with a session.
    pub async fn propose_roster_change(&self, moment: Moment, propose: ProposeChange) -> Result<ProposedOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| propose_change(tx, &propose))? {
                Ok(()) => Ok(ProposedOutcome::Waiting(propose.request)),
                Err(refusal) => Ok(ProposedOutcome::Refused(refusal)),
            })
            .await
    }

    /// Enrols the first admin: the first roster and the first table come into force.
    pub async fn enrol_genesis(&self, moment: Moment, enrol: EnrolGenesis) -> Result<EnrolOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| enrol_genesis(tx, &enrol))? {
                Ok(person) => Ok(EnrolOutcome::Active { person }),
                Err(refusal) => Ok(EnrolOutcome::Refused(refusal)),
            })
            .await
    }

    /// Uses an invite to propose the admission of its person, as a `gate.roster.change` that somebody else decides.
    pub async fn propose_admission(&self, moment: Moment, propose: ProposeAdmission) -> Result<EnrolOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| propose_admission(tx, &propose))? {
                Ok(person) => Ok(EnrolOutcome::Waiting { person, request: propose.request }),
                Err(refusal) => Ok(EnrolOutcome::Refused(refusal)),
            })
            .await
    }
}

/// Who two keys are to belong to, as whoever asked for them is known.
struct Claimant<'a> {
    /// Digest of the invite's code; none for a session.
    invite_sha256: Option<Digest>,
    person: PersonId,
    name: &'a str,
    label: &'a str,
}

/// The two keys of an enrolment, each with its proof of possession, for this claimant and nobody else.
fn verified_keys(gate: &GateState, claimant: &Claimant<'_>, approval: &Envelope, device: &Envelope) -> Attempt<NewKeys> {
    let mut keys = Vec::with_capacity(2);
    for (envelope, key_use) in [(approval, KeyUse::Approval), (device, KeyUse::Device)] {
        let statement = Enrolment::verify(envelope)?;
        if statement.gate != gate.identity.gate {
            return refuse(Code::GateWrong, "the statement enrols at another gate; sign for this one");
        }
        if statement.environment != gate.identity.environment {
            return refuse(Code::EnvironmentWrong, "the statement enrols in another environment; sign for this one");
        }
        let same = statement.invite_sha256 == claimant.invite_sha256
            && statement.key_use == key_use
            && statement.person == claimant.person
            && statement.name == claimant.name
            && statement.label == claimant.label;
        if !same {
            return refuse(
                Code::EnrolmentWrong,
                format!("the statement of the `{key_use}` key says something else than the invite or the session; enrol again"),
            );
        }
        keys.push(statement.key);
    }
    let [approval_key, device_key] = keys[..] else { return Err(StoreError::corrupt("an enrolment without two keys").into()) };
    Ok(NewKeys { person: claimant.person, approval_key, device_key, label: claimant.label.to_owned() })
}

/// Keys that were ever brought by anybody are nobody else's, whatever became of them.
fn refuse_known_keys(tx: &Tx<'_>, keys: &NewKeys) -> Attempt<()> {
    let both = params![keys.approval_key.to_string(), keys.device_key.to_string()];
    let taken = tx.find("SELECT 1 FROM enrolments WHERE approval_key IN (?1, ?2) OR device_key IN (?1, ?2)", both, |_| Ok(()))?;
    if taken.is_some() {
        return refuse(Code::RosterChangeInvalid, "a key of this enrolment belongs to another one; make fresh keys");
    }
    Ok(())
}

fn admission_of(invite: &InviteOnRecord, keys: &NewKeys) -> Admission {
    Admission {
        person: invite.person,
        name: invite.name.clone(),
        roles: invite.roles.iter().cloned().collect(),
        approval_key: keys.approval_key,
        device_key: keys.device_key,
        label: keys.label.clone(),
    }
}

fn enrol_genesis(tx: &mut Tx<'_>, enrol: &EnrolGenesis) -> Attempt<PersonId> {
    let invite = usable_invite(tx, &enrol.code_sha256)?;
    let gate = tx.gate()?;
    if invite.kind != InviteKind::Genesis || gate.roster.is_some() {
        return refuse(Code::InviteInvalid, "the invite is not the first admin's; enrol without a genesis statement");
    }
    let claimant = Claimant { invite_sha256: Some(enrol.code_sha256), person: invite.person, name: &invite.name, label: &enrol.label };
    let keys = verified_keys(&gate, &claimant, &enrol.approval, &enrol.device)?;
    let admission = admission_of(&invite, &keys);
    let genesis = Genesis::verify(&enrol.genesis)?;
    let identity = &gate.identity;
    let expected = Roster::genesis(identity.environment, identity.log_key, identity.token_key, identity.recovery_key, &admission)?;
    same_gate(&genesis.roster.gate, genesis.roster.environment, &expected)?;
    let same =
        genesis.roster == expected && genesis.invite_sha256 == enrol.code_sha256 && genesis.table_sha256 == gate.table_view.table_sha256;
    if !same {
        return refuse(Code::GenesisMalformed, "the statement signs another roster, invite or table than this gate's; enrol again");
    }
    use_invite(tx, &enrol.code_sha256)?;
    insert_enrolment(tx, &keys, None)?;
    tx.execute_one("UPDATE gate SET table_signed = 1 WHERE table_signed = 0", [])?;
    tx.change_gate(|gate| gate.table_view.signed = true)?;
    insert_roster(tx, &expected)?;
    let envelope = vec![enrol.genesis.clone()];
    stage_roster(tx, &expected, RosterCause::Genesis, envelope.clone(), None)?;
    stage_table(tx, &gate.table_view, envelope, None)?;
    Ok(admission.person)
}

fn propose_admission(tx: &mut Tx<'_>, propose_one: &ProposeAdmission) -> Attempt<PersonId> {
    let invite = usable_invite(tx, &propose_one.code_sha256)?;
    let gate = tx.gate()?;
    if invite.kind == InviteKind::Genesis {
        return refuse(Code::InviteInvalid, "the invite is the first admin's; enrol with a genesis statement");
    }
    let claimant =
        Claimant { invite_sha256: Some(propose_one.code_sha256), person: invite.person, name: &invite.name, label: &propose_one.label };
    let keys = verified_keys(&gate, &claimant, &propose_one.approval, &propose_one.device)?;
    refuse_known_keys(tx, &keys)?;
    let change = match invite.kind {
        InviteKind::Genesis | InviteKind::Person => RosterChange::Admit(admission_of(&invite, &keys)),
        InviteKind::Device => RosterChange::AddKeys(keys.clone()),
    };
    let args = change.to_args(&gate.roster()?.roster)?;
    use_invite(tx, &propose_one.code_sha256)?;
    let proposal = Proposal {
        tool: ROSTER_CHANGE,
        call: propose_one.call,
        request: propose_one.request,
        salt: propose_one.salt,
        proposer: invite.person,
        args,
        needs: None,
        invite_sha256: Some(propose_one.code_sha256),
    };
    propose(tx, &gate, proposal)?;
    insert_enrolment(tx, &keys, Some(propose_one.request))?;
    Ok(invite.person)
}

fn propose_change(tx: &mut Tx<'_>, asked: &ProposeChange) -> Attempt<()> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    let Some(proposer) = roster.person(&asked.proposer) else {
        return refuse(Code::ApproverWrong, "the person is not in the roster any more; ask somebody who is");
    };
    refuse_too_many(tx.db, &asked.proposer)?;
    let mut keys = None;
    let change = match &asked.change {
        ProposedChange::AddKeys { label, approval, device } => {
            let claimant = Claimant { invite_sha256: None, person: asked.proposer, name: &proposer.name, label };
            let new = verified_keys(&gate, &claimant, approval, device)?;
            refuse_known_keys(tx, &new)?;
            keys = Some(new.clone());
            RosterChange::AddKeys(new)
        }
        ProposedChange::SetRoles { person, roles } => RosterChange::SetRoles { person: *person, roles: roles.iter().cloned().collect() },
        ProposedChange::Remove { person } => RosterChange::Remove { person: *person },
    };
    let args = change.to_args(roster)?;
    let proposal = Proposal {
        tool: ROSTER_CHANGE,
        call: asked.call,
        request: asked.request,
        salt: asked.salt,
        proposer: asked.proposer,
        args,
        needs: None,
        invite_sha256: None,
    };
    propose(tx, &gate, proposal)?;
    match keys {
        Some(keys) => Ok(insert_enrolment(tx, &keys, Some(asked.request))?),
        None => Ok(()),
    }
}

fn use_invite(tx: &Tx<'_>, code_sha256: &Digest) -> Result<(), StoreError> {
    tx.execute_one(
        "UPDATE invites SET used_at = ?1 WHERE code_sha256 = ?2 AND used_at IS NULL",
        params![tx.now.as_ms(), code_sha256.to_string()],
    )
}

fn insert_enrolment(tx: &Tx<'_>, keys: &NewKeys, request: Option<RequestId>) -> Result<(), StoreError> {
    tx.execute_one(
        "INSERT INTO enrolments (person, approval_key, device_key, device_sha256, request) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            keys.person.to_string(),
            keys.approval_key.to_string(),
            keys.device_key.to_string(),
            keys.device_key.digest().to_string(),
            request.map(|request| request.to_string()),
        ],
    )
}

/// Brings a version of the roster into force, after the one before it.
pub(crate) fn insert_roster(tx: &mut Tx<'_>, roster: &Roster) -> Result<RosterView, StoreError> {
    let bytes = roster.to_json().canonical()?;
    let roster_sha256 = Digest::of(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| StoreError::corrupt("a roster that is not text"))?;
    let version = i64::from(roster.version);
    tx.execute_one(
        "INSERT INTO rosters (version, roster_sha256, text) VALUES (?1, ?2, ?3)",
        params![version, roster_sha256.to_string(), text],
    )?;
    tx.execute_one("UPDATE gate SET roster_version = ?1 WHERE coalesce(roster_version, 0) = ?1 - 1", [version])?;
    let view = RosterView { version: roster.version, text, roster_sha256 };
    let state = RosterState { roster: roster.clone(), view: view.clone() };
    tx.change_gate(|gate| gate.roster = Some(state))?;
    Ok(view)
}

/// Stages the record of a version of the roster, with the signatures that brought it, and tells its position.
pub(crate) fn stage_roster(
    tx: &mut Tx<'_>,
    roster: &Roster,
    cause: RosterCause,
    envelopes: Vec<Envelope>,
    change: Option<&FrozenRequest>,
) -> Result<u64, StoreError> {
    let json = roster.to_json();
    let text_of_roster = String::from_utf8(json.canonical()?).map_err(|_| StoreError::corrupt("a roster that is not text"))?;
    // With the frozen change, every reader recomputes from signed bytes what it leads to.
    let frozen = change.map(|change| String::from_utf8(change.bytes().to_vec())).transpose();
    let frozen = frozen.map_err(|_| StoreError::corrupt("a frozen request that is not text"))?;
    let claims = Json::object([("version", roster.version.into()), ("roster_sha256", text(roster.digest()?)), ("by", text(cause))]);
    let entry = Entry::new(RecordType::RosterChanged, claims)
        .readable_by(vec![everyone()?])
        .with_envelopes(envelopes)
        .with_body(Json::object([("roster", text_of_roster.into()), ("frozen", frozen.into())]));
    tx.stage(Entry { request: change.map(|change| change.members().request), ..entry })
}

pub(crate) fn everyone() -> Result<Name, Refusal> {
    Name::parse(EVERYONE)
}
