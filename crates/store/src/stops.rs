//! "Stop this key": the next version of the roster, with everything that the key could still do ended in the same transaction.

use vidimus_core::bytes::Digest;
use vidimus_core::chain::RosterCause;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::roster::Roster;
use vidimus_core::stop::stopped_roster;

use crate::codec::{optional_text, text};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::roster_changes::{InForce, enter_into_force};
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::{Moment, Store};

/// A signed stop, as it came in.
#[derive(Debug, Clone)]
pub struct StopKeys {
    /// The key that was named where the stop was sent: one of those in it.
    pub key_sha256: Digest,
    /// The `stop` statement.
    pub envelope: Envelope,
}

/// What became of a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopOutcome {
    /// The keys count for nothing, since this version of the roster and this record.
    Stopped {
        /// The version.
        roster_version: u32,
        /// The record's position.
        position: u64,
    },
    /// A rule says no; to be recorded by `refuse_statement`.
    Refused(Refusal),
}

/// A statement about keys that was refused, for the record.
#[derive(Debug, Clone)]
pub struct StatementRefused {
    /// What it was to be: `stop`, `veto`, `recovery`, `proposal`.
    pub statement: &'static str,
    /// Who signed, as far as it can be told.
    pub key_sha256: Option<Digest>,
    /// Why.
    pub refusal: Refusal,
}

impl Store {
    /// Stops keys. The same stop again gets the same answer.
    pub async fn stop_keys(&self, moment: Moment, stop: StopKeys) -> Result<StopOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Stop, move |tx| match tx.attempt(|tx| stop_keys(tx, &stop))? {
                Ok(InForce { version, position }) => Ok(StopOutcome::Stopped { roster_version: version, position }),
                Err(refusal) => Ok(StopOutcome::Refused(refusal)),
            })
            .await
    }

    /// Records that a statement about keys was refused. Apart from the refusal itself: who sends garbage without end leaves no
    /// record without end.
    pub async fn refuse_statement(&self, moment: Moment, refused: StatementRefused) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let claims = Json::object([
                    ("statement", refused.statement.into()),
                    ("code", text(refused.refusal.code)),
                    ("key_sha256", optional_text(refused.key_sha256)),
                ]);
                tx.stage(Entry::new(RecordType::StatementRefused, claims))?;
                Ok(())
            })
            .await
    }
}

fn stop_keys(tx: &mut Tx<'_>, stop: &StopKeys) -> Attempt<InForce> {
    let gate = tx.gate()?;
    let roster = &gate.roster()?.roster;
    let (statement, next) = stopped_roster(&stop.envelope, roster, tx.now)?;
    if !statement.keys.contains(&stop.key_sha256) {
        return refuse(Code::KeyUnknown, "the stop names other keys than the one it was sent for; send it where it belongs");
    }
    match next {
        Some(next) => enter_into_force(tx, &next, RosterCause::Stop, &stop.envelope),
        None => since(tx, roster, &statement.keys),
    }
}

/// The version since which all of these keys are stopped.
fn since(tx: &Tx<'_>, roster: &Roster, keys: &[Digest]) -> Attempt<InForce> {
    let stopped = |roster: &Roster| keys.iter().all(|key| roster.key(key).is_some_and(|holder| holder.key.stopped_at.is_some()));
    let mut version = roster.version;
    while version > 1 {
        let before = tx.find("SELECT text FROM rosters WHERE version = ?1", [version - 1], |row| row.get::<_, String>(0))?;
        let Some(before) = before else { break };
        if !stopped(&Roster::parse(before.as_bytes())?) {
            break;
        }
        version -= 1;
    }
    let position = tx.find(
        "SELECT position FROM records WHERE type = 'roster_changed'
           AND type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused')
         ORDER BY position LIMIT 1 OFFSET ?1",
        [version - 1],
        |row| row.get(0),
    )?;
    let position: i64 = position.ok_or_else(|| StoreError::corrupt("a roster without its record"))?;
    Ok(InForce { version, position: u64::try_from(position).map_err(|_| StoreError::corrupt("records.position"))? })
}
