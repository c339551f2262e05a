//! Recoveries: announced to everybody, then vetoed, or in force a day later. What waits is read from the log's own records: a
//! column could let one in that was vetoed, or before its time.

use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;
use vidimus_core::chain::{RosterCause, RosterChain};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::limits::RECOVERY_DELAY_S;
use vidimus_core::page::PageReason;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::recovery::{Recovery, Veto};
use vidimus_core::request::RequestState;
use vidimus_core::roster::{Admission, RosterChange};
use vidimus_core::time::Timestamp;

use crate::codec::{optional_text, text};
use crate::engine::Rank;
use crate::enrolments::everyone;
use crate::error::StoreError;
use crate::on_record::LogView;
use crate::pages::{self, Matter};
use crate::roster_changes::enter_into_force;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Entry, Stop, Tx, list, refuse};
use crate::{Moment, Store};

/// What became of a recovery that was to be announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// Everybody is told.
    Announced {
        /// Digest of the signed payload.
        recovery_sha256: Digest,
        /// From when it takes effect.
        effective_at: Timestamp,
    },
    /// A rule says no; to be recorded by `refuse_statement`.
    Refused(Refusal),
}

/// What became of a veto.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VetoOutcome {
    /// The recovery never takes effect; the record's position.
    Vetoed(u64),
    /// A rule says no; to be recorded by `refuse_statement`.
    Refused(Refusal),
}

impl Store {
    /// Announces a recovery.
    pub async fn announce_recovery(&self, moment: Moment, envelope: Envelope) -> Result<RecoveryOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| announce(tx, &envelope))? {
                Ok((recovery_sha256, effective_at)) => Ok(RecoveryOutcome::Announced { recovery_sha256, effective_at }),
                Err(refusal) => Ok(RecoveryOutcome::Refused(refusal)),
            })
            .await
    }

    /// Objects to the recovery of this digest.
    pub async fn veto_recovery(&self, moment: Moment, recovery_sha256: Digest, envelope: Envelope) -> Result<VetoOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Stop, move |tx| match tx.attempt(|tx| veto(tx, &recovery_sha256, &envelope))? {
                Ok(position) => Ok(VetoOutcome::Vetoed(position)),
                Err(refusal) => Ok(VetoOutcome::Refused(refusal)),
            })
            .await
    }

    /// The admission that a waiting request asks for; none for another request.
    pub async fn waiting_admission(&self, request: RequestId) -> Result<Option<Admission>, StoreError> {
        self.engine
            .read(move |db| {
                let Some(stored) = StoredRequest::load(db, &request)? else { return Ok(None) };
                let members = stored.frozen.members();
                let waits = stored.state == RequestState::Pending && members.tool.as_str() == ROSTER_CHANGE;
                Ok(match RosterChange::parse(&members.args) {
                    Ok(RosterChange::Admit(admission)) if waits => Some(admission),
                    Ok(_) | Err(_) => None,
                })
            })
            .await
    }
}

fn announce(tx: &mut Tx<'_>, envelope: &Envelope) -> Attempt<(Digest, Timestamp)> {
    let gate = tx.gate()?;
    let (recovery, recovery_sha256) = Recovery::verify(envelope, &gate.roster()?.roster)?;
    recoveries_on_record(tx.log())?.may_announce(&recovery_sha256)?;
    let effective_at = tx.now.plus_s(RECOVERY_DELAY_S);
    let admission = &recovery.admission;
    let roles: Vec<&str> = admission.roles.iter().map(Name::as_str).collect();
    let claims = Json::object([
        ("recovery_sha256", recovery_sha256.into()),
        ("person", text(admission.person)),
        ("name", admission.name.as_str().into()),
        ("roles", roles.into()),
        ("effective_at", effective_at.into()),
    ]);
    tx.stage(Entry::new(RecordType::RecoveryAnnounced, claims).readable_by(vec![everyone()?]).with_envelopes(vec![envelope.clone()]))?;
    pages::raise(tx, PageReason::RecoveryAnnounced, &matter()?)?;
    tx.execute_one(
        "INSERT INTO recoveries (recovery_sha256, effective_at, waiting) VALUES (?1, ?2, 1)",
        params![recovery_sha256.to_string(), effective_at.as_ms()],
    )?;
    Ok((recovery_sha256, effective_at))
}

fn veto(tx: &mut Tx<'_>, recovery_sha256: &Digest, envelope: &Envelope) -> Attempt<u64> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    let veto = Veto::verify(envelope, roster)?;
    if veto.recovery_sha256 != *recovery_sha256 {
        return refuse(Code::RecoveryNotWaiting, "the veto is of another recovery than the one it was sent for; send it where it belongs");
    }
    recoveries_on_record(tx.log())?.wait_of(recovery_sha256)?;
    let signer = envelope.key_digest();
    let approver = roster.key(&signer).map(|holder| holder.person.person);
    let claims = Json::object([
        ("recovery_sha256", (*recovery_sha256).into()),
        ("approver", optional_text(approver)),
        ("key_sha256", signer.into()),
    ]);
    let entry = Entry::new(RecordType::RecoveryVetoed, claims).readable_by(vec![everyone()?]).with_envelopes(vec![envelope.clone()]);
    let position = tx.stage(entry)?;
    end(tx, recovery_sha256)?;
    Ok(position)
}

fn end(tx: &Tx<'_>, recovery_sha256: &Digest) -> Result<(), StoreError> {
    tx.execute_one("UPDATE recoveries SET waiting = 0 WHERE recovery_sha256 = ?1 AND waiting = 1", [recovery_sha256.to_string()])?;
    let another = tx.find("SELECT 1 FROM recoveries WHERE waiting = 1 LIMIT 1", [], |_| Ok(()))?;
    if another.is_none() {
        pages::end(tx, PageReason::RecoveryAnnounced, &matter()?)?;
    }
    Ok(())
}

/// What everybody is paged about while a recovery waits.
pub(crate) fn matter() -> Result<Matter, StoreError> {
    Ok(Matter { roles: vec![everyone()?], ..Matter::default() })
}

/// Whether a recovery waits, as the log has it.
pub(crate) fn any_waits(log: LogView<'_>) -> Result<bool, StoreError> {
    match recoveries_on_record(log) {
        Ok(chain) => Ok(!chain.waiting().is_empty()),
        Err(Stop::Refused(refusal)) => Err(StoreError::Domain(refusal)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// The chain of the log, as every reader of it finds it.
fn recoveries_on_record(log: LogView<'_>) -> Attempt<RosterChain> {
    let leaves = list(
        log.db,
        "SELECT position, leaf FROM records WHERE type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused')
         UNION ALL SELECT position, leaf FROM records WHERE type = 'time_skipped' ORDER BY position",
        [],
        |row| row.get::<_, String>("leaf"),
    )?;
    let mut chain = RosterChain::default();
    for leaf in &leaves {
        let record = AuditRecord::parse(leaf.as_bytes())?;
        if record.record_type == RecordType::RosterChanged {
            let request = record.request.map(|request| StoredRequest::load(log.db, &request)).transpose()?.flatten();
            chain.changed(&record, request.as_ref().map(|request| &*request.frozen))?;
        } else {
            chain.take_recovery(&record)?;
        }
    }
    Ok(chain)
}

const DUE: &str = "SELECT recovery_sha256 FROM recoveries WHERE waiting = 1 AND effective_at <= ?1 LIMIT 1";

pub(crate) fn any_due(db: &Connection, now: i64) -> Result<bool, StoreError> {
    Ok(db.prepare_cached(DUE)?.exists([now])?)
}

/// Brings the recoveries into force whose day is over. One that the roster no longer allows ends with its reason.
pub(crate) fn take_effect(tx: &mut Tx<'_>) -> Result<usize, StoreError> {
    let mut moved = 0;
    while let Some(named) = tx.find(DUE, [tx.now.as_ms()], |row| row.get::<_, String>("recovery_sha256"))? {
        moved += 1;
        let Ok(recovery_sha256) = named.parse::<Digest>() else {
            // Somebody wrote into the database: a row that names nothing is over.
            tx.execute("UPDATE recoveries SET waiting = 0 WHERE recovery_sha256 = ?1", [named])?;
            continue;
        };
        let taken = tx.attempt(|tx| take(tx, &recovery_sha256))?;
        let Err(refusal) = taken else { continue };
        let waits = tx.attempt(|tx| Ok(recoveries_on_record(tx.log())?.wait_of(&recovery_sha256).map(|_| ())?))?.is_ok();
        // A row that the log knows nothing of, or ended: nothing was announced, so there is nothing to tell.
        if waits {
            let claims = Json::object([("recovery_sha256", recovery_sha256.into()), ("code", text(refusal.code))]);
            tx.stage(Entry::new(RecordType::RecoveryRefused, claims).readable_by(vec![everyone()?]))?;
        }
        end(tx, &recovery_sha256)?;
    }
    Ok(moved)
}

fn take(tx: &mut Tx<'_>, recovery_sha256: &Digest) -> Attempt<()> {
    let announced = recoveries_on_record(tx.log())?.wait_of(recovery_sha256)?.clone();
    if tx.now < announced.effective_at {
        return refuse(Code::RecoveryTooEarly, format!("the recovery takes effect at {}, not before", announced.effective_at));
    }
    let envelope = announced_envelope(tx, recovery_sha256)?;
    let gate = tx.gate()?;
    let next = gate.roster()?.roster.with_admission(&announced.admission)?;
    enter_into_force(tx, &next, RosterCause::Recovery, &envelope)?;
    end(tx, recovery_sha256)?;
    Ok(())
}

fn announced_envelope(tx: &Tx<'_>, recovery_sha256: &Digest) -> Attempt<Envelope> {
    let leaves = tx.list(
        "SELECT leaf FROM records WHERE type = 'recovery_announced'
           AND type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused')",
        [],
        |row| row.get::<_, String>(0),
    )?;
    for leaf in &leaves {
        for envelope in AuditRecord::parse(leaf.as_bytes())?.envelopes {
            if Digest::of(envelope.danger_unverified_payload()) == *recovery_sha256 {
                return Ok(envelope);
            }
        }
    }
    Err(Stop::Failed(StoreError::corrupt("a recovery without its announcement")))
}
