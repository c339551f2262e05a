//! Before a gate serves: who was invited, whose keys were handed in, who has a session and which recoveries wait must be what
//! the log says. An invitation that nobody made would enrol somebody under another's name, a session would ask in it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::chain::RosterChain;
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::{KeyUse, RosterChange};
use vidimus_core::sign::PublicKey;
use vidimus_core::statement::Genesis;
use vidimus_core::time::Timestamp;

use crate::codec::{names_to_text, optional_time, time};
use crate::people::roles_on_record;
use crate::rows::StoredRequest;
use crate::tx::list;
use crate::verification::{VerifyError, contradicted, unsigned};

/// What the log has said so far of invitations, enrolments, sessions and recoveries.
pub(crate) struct PeopleWalk {
    /// The sessions of the ledger that no record has opened so far. Most that were ever opened are gone, so it begins with these.
    unopened: BTreeMap<String, Opened>,
    invites: BTreeMap<String, Invited>,
    enrolled: BTreeMap<String, Enrolled>,
    recoveries: BTreeSet<String>,
}

#[derive(PartialEq, Eq)]
struct Opened {
    person: String,
    key_sha256: String,
    opened_at: Timestamp,
    expires_at: String,
}

#[derive(PartialEq, Eq)]
struct Invited {
    kind: String,
    person: String,
    name: String,
    roles: String,
    created_at: Timestamp,
    expires_at: String,
    used_at: Option<Timestamp>,
}

/// The keys of one desktop, and the newest request that asks for them.
#[derive(PartialEq, Eq)]
struct Enrolled {
    person: String,
    approval_key: String,
    device_key: String,
    request: Option<String>,
}

impl PeopleWalk {
    pub(crate) fn begin(db: &Connection) -> Result<PeopleWalk, VerifyError> {
        let unopened = list(db, "SELECT * FROM sessions", [], |row| {
            let opened = Opened {
                person: row.get("person")?,
                key_sha256: row.get("key_sha256")?,
                opened_at: time(row, "opened_at")?,
                expires_at: time(row, "expires_at")?.to_string(),
            };
            Ok((row.get::<_, String>("session_sha256")?, opened))
        })?;
        let unopened = unopened.into_iter().collect();
        Ok(PeopleWalk { unopened, invites: BTreeMap::new(), enrolled: BTreeMap::new(), recoveries: BTreeSet::new() })
    }

    /// Takes the next record of the log.
    pub(crate) fn take(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        match record.record_type {
            RecordType::InviteCreated => self.invited(position, record),
            RecordType::SessionOpened => {
                self.opened(record);
                Ok(())
            }
            RecordType::RequestCreated if record.claim("tool") == Some(ROSTER_CHANGE) => self.proposed(db, position, record),
            RecordType::RosterChanged if self.enrolled.is_empty() => self.founded(position, record),
            RecordType::RecoveryAnnounced => {
                let Some(recovery) = record.claim("recovery_sha256") else {
                    return contradicted(format!("the recovery at {position} names itself nowhere"));
                };
                self.recoveries.insert(recovery.to_owned());
                Ok(())
            }
            // No other record invites or enrols anybody.
            _ => Ok(()),
        }
    }

    fn invited(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let claim = |name: &str| record.claim(name).map(str::to_owned).unwrap_or_default();
        let roles = roles_on_record(record).map_err(unsigned(format!("the invitation at {position}")))?;
        let invited = Invited {
            kind: claim("kind"),
            person: claim("person"),
            name: claim("name"),
            roles: names_to_text(&roles),
            created_at: record.at,
            expires_at: claim("expires_at"),
            used_at: None,
        };
        match self.invites.insert(claim("invite_sha256"), invited) {
            None => Ok(()),
            Some(_) => contradicted(format!("the invitation at {position} is on record twice")),
        }
    }

    fn opened(&mut self, record: &AuditRecord) {
        let claim = |name: &str| record.claim(name).map(str::to_owned).unwrap_or_default();
        let opened =
            Opened { person: claim("person"), key_sha256: claim("key_sha256"), opened_at: record.at, expires_at: claim("expires_at") };
        let session_sha256 = claim("session_sha256");
        if self.unopened.get(&session_sha256) == Some(&opened) {
            self.unopened.remove(&session_sha256);
        }
    }

    fn used(&mut self, position: u64, invite_sha256: &str, at: Timestamp) -> Result<(), VerifyError> {
        match self.invites.get_mut(invite_sha256) {
            Some(invited) if invited.used_at.is_none() => {
                invited.used_at = Some(at);
                Ok(())
            }
            Some(_) | None => contradicted(format!("the enrolment at {position} rests on no invitation that could be used")),
        }
    }

    fn founded(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let [envelope] = record.envelopes.as_slice() else { return Ok(()) };
        let genesis = Genesis::verify(envelope).map_err(unsigned(format!("the roster at {position}")))?;
        self.used(position, &genesis.invite_sha256.to_string(), record.at)?;
        for person in &genesis.roster.persons {
            let key_of = |key_use: KeyUse| person.keys.iter().find(|key| key.key_use == key_use).map(|key| key.key);
            if let (Some(approval), Some(device)) = (key_of(KeyUse::Approval), key_of(KeyUse::Device)) {
                self.enrol(person.person.to_string(), &approval, &device, None);
            }
        }
        Ok(())
    }

    fn proposed(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        if let Some(invite_sha256) = record.claim("invite_sha256") {
            self.used(position, invite_sha256, record.at)?;
        }
        let stored = record.request.map(|request| StoredRequest::load(db, &request)).transpose()?.flatten();
        let Some(stored) = stored else { return contradicted(format!("the proposal at {position} has no request")) };
        let change = RosterChange::parse(&stored.frozen.members().args).map_err(unsigned(format!("the proposal at {position}")))?;
        let request = Some(stored.request.to_string());
        match change {
            RosterChange::Admit(admission) => {
                self.enrol(admission.person.to_string(), &admission.approval_key, &admission.device_key, request);
            }
            RosterChange::AddKeys(keys) => self.enrol(keys.person.to_string(), &keys.approval_key, &keys.device_key, request),
            RosterChange::SetRoles { .. } | RosterChange::Remove { .. } => {}
        }
        Ok(())
    }

    fn enrol(&mut self, person: String, approval: &PublicKey, device: &PublicKey, request: Option<String>) {
        let enrolled = Enrolled { person, approval_key: approval.to_string(), device_key: device.to_string(), request };
        self.enrolled.insert(device.digest().to_string(), enrolled);
    }

    /// Compares what has come of everything with the tables.
    pub(crate) fn finish(self, db: &Connection, chain: &RosterChain) -> Result<(), VerifyError> {
        if !self.unopened.is_empty() {
            return contradicted("a session in the ledger is not as it is on record");
        }
        let invites = list(db, "SELECT * FROM invites", [], |row| {
            let invited = Invited {
                kind: row.get("kind")?,
                person: row.get("person")?,
                name: row.get("name")?,
                roles: row.get("roles")?,
                created_at: time(row, "created_at")?,
                expires_at: time(row, "expires_at")?.to_string(),
                used_at: optional_time(row, "used_at")?,
            };
            Ok((row.get::<_, String>("code_sha256")?, invited))
        })?;
        same(&invites, &self.invites, "an invitation")?;
        let enrolled = list(db, "SELECT * FROM enrolments", [], |row| {
            let enrolled = Enrolled {
                person: row.get("person")?,
                approval_key: row.get("approval_key")?,
                device_key: row.get("device_key")?,
                request: row.get("request")?,
            };
            Ok((row.get::<_, String>("device_sha256")?, enrolled))
        })?;
        same(&enrolled, &self.enrolled, "an enrolment")?;
        // When one that is over would have taken effect is nobody's any more.
        let waits =
            |recovery: &str| recovery.parse().ok().and_then(|digest: Digest| chain.waiting().get(&digest)).map(|it| it.effective_at);
        let announced =
            self.recoveries.into_iter().map(|recovery| (recovery.clone(), (waits(&recovery), i64::from(waits(&recovery).is_some()))));
        let recoveries = list(db, "SELECT * FROM recoveries", [], |row| {
            let (effective_at, waiting): (_, i64) = (time(row, "effective_at")?, row.get("waiting")?);
            Ok((row.get::<_, String>("recovery_sha256")?, ((waiting != 0).then_some(effective_at), waiting)))
        })?;
        same(&recoveries, &announced.collect(), "a recovery")
    }
}

fn same<T: PartialEq>(rows: &[(String, T)], on_record: &BTreeMap<String, T>, what: &str) -> Result<(), VerifyError> {
    match rows.iter().find(|(key, row)| on_record.get(key) != Some(row)) {
        Some(_) => contradicted(format!("{what} in the ledger is not as it is on record")),
        None if rows.len() != on_record.len() => contradicted(format!("{what} that is on record is gone")),
        None => Ok(()),
    }
}
