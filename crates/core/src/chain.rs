//! The chain of rosters, as every reader of the log recomputes it: the gate before it starts, the console, an executor with its
//! own copy. Each statement is judged by the roster at its position in the log, never by a time that it claims.

use std::collections::{BTreeMap, BTreeSet};

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::decision::approved_roster;
use crate::frozen::FrozenRequest;
use crate::ids::words;
use crate::limits::{RECOVERIES_WAITING_MAX, RECOVERY_DELAY_S};
use crate::passing::Skipped;
use crate::record::{AuditRecord, RecordType};
use crate::recovery::{Recovery, Veto};
use crate::roster::{Admission, Roster};
use crate::statement::Genesis;
use crate::stop::stopped_roster;
use crate::time::Timestamp;

words!(
    /// What brought a version of the roster; the claim `by` of `roster_changed`.
    RosterCause {
        /// The first admin's signature.
        Genesis = "genesis",
        /// An approved `gate.roster.change`.
        Change = "change",
        /// A stop.
        Stop = "stop",
        /// A recovery that nobody objected to.
        Recovery = "recovery",
    }
);

/// A recovery that everybody was told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnnouncedRecovery {
    /// Who is to be admitted.
    pub admission: Admission,
    /// When it was announced, by the store's clock.
    pub announced_at: Timestamp,
    /// From when it takes effect: a day later, and whatever time was skipped in that day.
    pub effective_at: Timestamp,
}

/// The roster in force and the recoveries that wait, as the records read so far have brought them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RosterChain {
    roster: Option<Roster>,
    waiting: BTreeMap<Digest, AnnouncedRecovery>,
    ended: BTreeSet<Digest>,
}

impl RosterChain {
    /// A chain that was read up to here before.
    pub fn resume(roster: Option<Roster>, waiting: BTreeMap<Digest, AnnouncedRecovery>, ended: BTreeSet<Digest>) -> RosterChain {
        RosterChain { roster, waiting, ended }
    }

    /// The roster in force; none before genesis.
    pub const fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// The recoveries that wait.
    pub const fn waiting(&self) -> &BTreeMap<Digest, AnnouncedRecovery> {
        &self.waiting
    }

    /// The recoveries that were vetoed, refused or brought into force: none of them counts again.
    pub const fn ended(&self) -> &BTreeSet<Digest> {
        &self.ended
    }

    /// Takes a `roster_changed`, with the frozen request where a change brought it, and tells the first admin's statement
    /// where that is what it was.
    ///
    /// *Errors*: `field_malformed` for a record that is none, `genesis_malformed` for a second genesis, and those of the
    /// statement that brought it; the chain is then as before.
    pub fn changed(&mut self, record: &AuditRecord, frozen: Option<&FrozenRequest>) -> Result<Option<Genesis>, Refusal> {
        let cause: RosterCause = record.claim("by").ok_or_else(|| malformed("says nothing of what brought it"))?.parse()?;
        let (next, genesis) = match (cause, &self.roster) {
            (RosterCause::Genesis, None) => {
                let genesis = Genesis::verify(only_envelope(record)?)?;
                (genesis.roster.clone(), Some(genesis))
            }
            (RosterCause::Genesis, Some(_)) => {
                return Err(Refusal::new(Code::GenesisMalformed, "a roster begins once; this is a second beginning"));
            }
            (RosterCause::Change | RosterCause::Stop | RosterCause::Recovery, None) => {
                return Err(Refusal::new(Code::GenesisMalformed, "the first roster is not the first admin's"));
            }
            (RosterCause::Change, Some(previous)) => {
                let frozen = frozen.filter(|frozen| record.request == Some(frozen.members().request));
                let frozen = frozen.ok_or_else(|| malformed("has no request of its own"))?;
                (approved_roster(frozen, &record.envelopes, previous)?, None)
            }
            (RosterCause::Stop, Some(previous)) => {
                let (_, next) = stopped_roster(only_envelope(record)?, previous, record.at)?;
                (next.ok_or_else(|| malformed("stops nothing"))?, None)
            }
            (RosterCause::Recovery, Some(previous)) => (self.recovered(record, previous)?, None),
        };
        if record.claim("roster_sha256") != Some(&next.digest()?.to_string()) {
            return Err(Refusal::new(Code::RosterChangeInvalid, "the version on record is not the one that its signatures lead to"));
        }
        if cause == RosterCause::Recovery {
            self.end(&Digest::of(only_envelope(record)?.danger_unverified_payload()));
        }
        self.roster = Some(next);
        Ok(genesis)
    }

    /// The roster that a recovery brings, a day after it was announced.
    fn recovered(&self, record: &AuditRecord, previous: &Roster) -> Result<Roster, Refusal> {
        let (recovery, recovery_sha256) = Recovery::verify(only_envelope(record)?, previous)?;
        let announced = self.wait_of(&recovery_sha256)?;
        if record.at < announced.effective_at {
            return Err(Refusal::new(
                Code::RecoveryTooEarly,
                format!("the recovery takes effect at {}, not before; everybody has that time to object", announced.effective_at),
            ));
        }
        previous.with_admission(&recovery.admission)
    }

    /// Takes a `recovery_announced`.
    ///
    /// *Errors*: `recovery_vetoed` for one that is over, `roster_change_invalid` beyond [`RECOVERIES_WAITING_MAX`], those of
    /// [`Recovery::verify`].
    pub fn announced(&mut self, record: &AuditRecord) -> Result<Digest, Refusal> {
        let roster = self.roster.as_ref().ok_or_else(|| malformed("stands before the first roster"))?;
        let (recovery, recovery_sha256) = Recovery::verify(only_envelope(record)?, roster)?;
        self.may_announce(&recovery_sha256)?;
        let effective_at = record.at.plus_s(RECOVERY_DELAY_S);
        self.waiting.insert(recovery_sha256, AnnouncedRecovery { admission: recovery.admission, announced_at: record.at, effective_at });
        Ok(recovery_sha256)
    }

    /// Whether a recovery of this digest can be announced now.
    ///
    /// *Errors*: `recovery_vetoed`, `roster_change_invalid`.
    pub fn may_announce(&self, recovery_sha256: &Digest) -> Result<(), Refusal> {
        if self.ended.contains(recovery_sha256) || self.waiting.contains_key(recovery_sha256) {
            return Err(Refusal::new(Code::RecoveryVetoed, "this recovery was announced before, and counts once; sign it anew"));
        }
        if self.waiting.len() >= RECOVERIES_WAITING_MAX {
            let message = format!("`{RECOVERIES_WAITING_MAX}` recoveries wait already; let an admin object to them first");
            return Err(Refusal::new(Code::RosterChangeInvalid, message));
        }
        Ok(())
    }

    /// Takes a `recovery_vetoed`.
    ///
    /// *Errors*: `recovery_not_waiting`, those of [`Veto::verify`].
    pub fn vetoed(&mut self, record: &AuditRecord) -> Result<Digest, Refusal> {
        let roster = self.roster.as_ref().ok_or_else(|| malformed("stands before the first roster"))?;
        let veto = Veto::verify(only_envelope(record)?, roster)?;
        self.wait_of(&veto.recovery_sha256)?;
        self.end(&veto.recovery_sha256);
        Ok(veto.recovery_sha256)
    }

    /// Takes a `recovery_refused`: the recovery's time came and the roster no longer allowed it.
    ///
    /// *Errors*: `recovery_not_waiting`.
    pub fn refused(&mut self, record: &AuditRecord) -> Result<Digest, Refusal> {
        let recovery_sha256 = record.claim("recovery_sha256").ok_or_else(|| malformed("names no recovery"))?.parse()?;
        self.wait_of(&recovery_sha256)?;
        self.end(&recovery_sha256);
        Ok(recovery_sha256)
    }

    /// Takes a `time_skipped`: nobody could object in that time, so it is not of the day that everybody has.
    ///
    /// *Errors*: `field_malformed`.
    pub fn skipped(&mut self, record: &AuditRecord) -> Result<(), Refusal> {
        let skipped = Skipped::of(record)?;
        for announced in self.waiting.values_mut() {
            announced.effective_at = skipped.put_off(announced.announced_at, announced.effective_at);
        }
        Ok(())
    }

    /// Takes a record of a recovery, announced, vetoed or refused, or of time that does not count for one.
    ///
    /// *Errors*: those of the record's kind; `field_malformed` for a record of something else.
    pub fn take_recovery(&mut self, record: &AuditRecord) -> Result<(), Refusal> {
        match record.record_type {
            RecordType::RecoveryAnnounced => self.announced(record).map(|_| ()),
            RecordType::RecoveryVetoed => self.vetoed(record).map(|_| ()),
            RecordType::RecoveryRefused => self.refused(record).map(|_| ()),
            RecordType::TimeSkipped => self.skipped(record),
            _ => Err(malformed("is of something else than a recovery")),
        }
    }

    /// A recovery that waits.
    ///
    /// *Errors*: `recovery_not_waiting`.
    pub fn wait_of(&self, recovery_sha256: &Digest) -> Result<&AnnouncedRecovery, Refusal> {
        self.waiting.get(recovery_sha256).ok_or_else(|| {
            Refusal::new(Code::RecoveryNotWaiting, format!("no recovery `{recovery_sha256}` waits; it is over, or was never announced"))
        })
    }

    fn end(&mut self, recovery_sha256: &Digest) {
        self.waiting.remove(recovery_sha256);
        self.ended.insert(*recovery_sha256);
    }
}

fn only_envelope(record: &AuditRecord) -> Result<&crate::dsse::Envelope, Refusal> {
    match record.envelopes.as_slice() {
        [envelope] => Ok(envelope),
        _ => Err(malformed("is not signed once")),
    }
}

fn malformed(what: &str) -> Refusal {
    Refusal::new(Code::FieldMalformed, format!("the record of the roster {what}; it is not of this version"))
}
