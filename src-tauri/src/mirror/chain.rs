//! The roster's chain as the mirror keeps it: rosters, recoveries that wait, and since when each key stands.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;
use vidimus_core::chain::{AnnouncedRecovery, RosterChain};
use vidimus_core::json::{Limits, parse_canonical};
use vidimus_core::record::AuditRecord;
use vidimus_core::recovery::{admission_from_json, admission_to_json};
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use super::{Mirror, MirrorFault, read};

/// Since when a key stands in the roster, and when it last opened a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyTimes {
    pub since: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

/// The chain up to here.
pub fn load(db: &Connection) -> Result<RosterChain, rusqlite::Error> {
    let mut statement = db.prepare_cached("SELECT sha256, announced_at_ms, effective_at_ms, admission, waiting FROM recovery")?;
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?, row.get(4)?)))?;
    let (mut waiting, mut ended) = (BTreeMap::new(), BTreeSet::new());
    for row in rows {
        let (sha256, announced_at_ms, effective_at_ms, admission, waits): (String, i64, i64, String, bool) = row?;
        // They were verified before they were stored.
        let Ok(sha256) = sha256.parse::<Digest>() else { continue };
        if !waits {
            ended.insert(sha256);
            continue;
        }
        let admission = parse_canonical(admission.as_bytes(), &Limits::STATEMENT).and_then(|json| admission_from_json(&json));
        let times = (Timestamp::from_ms(announced_at_ms), Timestamp::from_ms(effective_at_ms));
        if let (Ok(admission), (Ok(announced_at), Ok(effective_at))) = (admission, times) {
            waiting.insert(sha256, AnnouncedRecovery { admission, announced_at, effective_at });
        }
    }
    Ok(RosterChain::resume(read::newest_roster(db)?, waiting, ended))
}

/// Keeps what a step of the chain left waiting and what it ended.
pub fn keep(db: &Connection, chain: &RosterChain) -> Result<(), rusqlite::Error> {
    for (sha256, announced) in chain.waiting() {
        let admission = admission_to_json(&announced.admission).canonical().unwrap_or_default();
        db.execute(
            "INSERT INTO recovery (sha256, announced_at_ms, effective_at_ms, admission) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (sha256) DO UPDATE SET effective_at_ms = ?3",
            params![
                sha256.to_string(),
                announced.announced_at.as_ms(),
                announced.effective_at.as_ms(),
                String::from_utf8_lossy(&admission)
            ],
        )?;
    }
    for sha256 in chain.ended() {
        db.execute("UPDATE recovery SET waiting = 0 WHERE sha256 = ?1", [sha256.to_string()])?;
    }
    Ok(())
}

/// Notes since when the keys of a roster stand.
pub fn note_keys(db: &Connection, roster: &Roster, at: Timestamp) -> Result<(), rusqlite::Error> {
    for key in roster.persons.iter().flat_map(|person| &person.keys) {
        db.execute(
            "INSERT INTO key_times (key_sha256, since_ms) VALUES (?1, ?2) ON CONFLICT (key_sha256) DO UPDATE SET since_ms = coalesce(since_ms, ?2)",
            params![key.key.digest().to_string(), at.as_ms()],
        )?;
    }
    Ok(())
}

/// Notes that a key opened a session.
pub fn note_use(db: &Connection, audit: &AuditRecord) -> Result<(), rusqlite::Error> {
    let Some(key_sha256) = audit.claim("key_sha256") else { return Ok(()) };
    db.execute(
        "INSERT INTO key_times (key_sha256, last_ms) VALUES (?1, ?2) ON CONFLICT (key_sha256) DO UPDATE SET last_ms = ?2",
        params![key_sha256, audit.at.as_ms()],
    )?;
    Ok(())
}

impl Mirror {
    /// The chain of rosters, with the recoveries that wait.
    pub fn chain(&self) -> Result<RosterChain, MirrorFault> {
        Ok(load(&self.db)?)
    }

    /// When a key came into the roster and when it last opened a session.
    pub fn key_times(&self, key_sha256: &Digest) -> Result<KeyTimes, MirrorFault> {
        let sql = "SELECT since_ms, last_ms FROM key_times WHERE key_sha256 = ?1";
        let found =
            self.db.query_row(sql, [key_sha256.to_string()], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)));
        match found {
            Ok((since, last)) => {
                let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_ms(ms).ok());
                Ok(KeyTimes { since: time(since), last: time(last) })
            }
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(KeyTimes::default()),
            Err(error) => Err(error.into()),
        }
    }
}
