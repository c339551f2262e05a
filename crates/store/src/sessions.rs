//! Sessions of enrolled persons: a challenge, signed by the device key, opens one. Roles are never kept in a session.

use rusqlite::{Connection, params};
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::roster::{KeyUse, Roster};
use vidimus_core::standing::{Standing, standing};
use vidimus_core::statement::SessionStatement;
use vidimus_core::time::Timestamp;

use crate::codec::{optional_text, parsed, text, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateInForce;
use crate::limits::{SESSION_CHALLENGE_TTL_S, SESSION_TTL_S, SESSIONS_PER_KEY_MAX};
use crate::tx::{Attempt, Entry, Tx, challenge_sha256, find, refuse};
use crate::{Moment, Store};

/// A challenge that a device key is to sign.
#[derive(Debug, Clone, Copy)]
pub struct SessionChallenge {
    /// Digest of the device key.
    pub key_sha256: Digest,
    /// Fresh random bytes; only their digest is stored.
    pub challenge: Nonce,
}

/// What a key that wants a session gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChallengeOutcome {
    /// The challenge may be signed.
    Issued {
        /// To be copied into the statement.
        issued_at: Timestamp,
        /// From when it is worth nothing.
        expires_at: Timestamp,
    },
    /// `key_unknown`, `key_waiting`, `key_stopped`, `key_use_wrong`; to be recorded by `refuse_session`.
    Refused(Refusal),
}

/// A signed challenge, and the digest of the bearer that the caller will hand out.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// The session statement.
    pub envelope: Envelope,
    /// Digest of the bearer; the bearer itself is never stored.
    pub session_sha256: Digest,
}

/// A session in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Who.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The roles held today.
    pub roles: Vec<Name>,
    /// The device key that opened it.
    pub key_sha256: Digest,
    /// From when it is worth nothing.
    pub expires_at: Timestamp,
    /// The store's time when it was looked up.
    pub now: Timestamp,
}

/// What became of a session that was to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionOutcome {
    /// It is open.
    Opened(Session),
    /// A rule says no; to be recorded by `refuse_session`.
    Refused(Refusal),
}

impl Store {
    /// Issues a challenge for a device key.
    pub async fn session_challenge(&self, moment: Moment, challenge: SessionChallenge) -> Result<SessionChallengeOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| issue(tx, challenge))? {
                Ok((issued_at, expires_at)) => Ok(SessionChallengeOutcome::Issued { issued_at, expires_at }),
                Err(refusal) => Ok(SessionChallengeOutcome::Refused(refusal)),
            })
            .await
    }

    /// Opens a session for the holder of the device key that signed the challenge.
    pub async fn open_session(&self, moment: Moment, open: OpenSession) -> Result<SessionOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| open_session(tx, &open))? {
                Ok(session) => Ok(SessionOutcome::Opened(session)),
                Err(refusal) => Ok(SessionOutcome::Refused(refusal)),
            })
            .await
    }

    /// Records that a key got no session. Apart from the refusal itself: who sends garbage without end leaves no record without end.
    /// Of what could not be read, the key is not known.
    pub async fn refuse_session(&self, moment: Moment, key_sha256: Option<Digest>, refusal: Refusal) -> Result<(), StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let claims = Json::object([("code", text(refusal.code)), ("key_sha256", optional_text(key_sha256))]);
                tx.stage(Entry::new(RecordType::SessionRefused, claims))?;
                Ok(())
            })
            .await
    }

    /// The session of a bearer; `None` once it expired, its key was stopped or its person left.
    pub async fn authenticate_session(&self, now: Timestamp, session_sha256: Digest) -> Result<Option<Session>, StoreError> {
        let known = self.engine.gate_in_force();
        self.engine.look(move |db| authenticate(db, &known, now, &session_sha256)).await
    }
}

fn issue(tx: &mut Tx<'_>, challenge: SessionChallenge) -> Attempt<(Timestamp, Timestamp)> {
    let gate = tx.gate()?;
    let Some(roster) = &gate.roster else {
        return refuse(Code::KeyUnknown, "nobody has enrolled at this gate yet; use the first admin's invite");
    };
    if let Err(refusal) = roster.roster.active_key(&challenge.key_sha256, KeyUse::Device) {
        let told = match waiting(tx, &challenge.key_sha256)? {
            Some(waits) => Some(waits),
            None => removed(tx, &roster.roster, &challenge.key_sha256)?,
        };
        return Err(told.unwrap_or(refusal).into());
    }
    let expires_at = tx.now.plus_s(SESSION_CHALLENGE_TTL_S);
    // Whoever knows a key's digest may ask for its challenges, so one that somebody else asked for never drives out another.
    tx.execute("DELETE FROM session_challenges WHERE expires_at <= ?1", [tx.now.as_ms()])?;
    tx.execute_one(
        "INSERT INTO session_challenges (challenge_sha256, key_sha256, issued_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
        params![challenge_sha256(&challenge.challenge).to_string(), challenge.key_sha256.to_string(), tx.now.as_ms(), expires_at.as_ms()],
    )?;
    Ok((tx.now, expires_at))
}

/// A key whose enrolment still waits for an admin is told so.
fn waiting(tx: &Tx<'_>, key_sha256: &Digest) -> Result<Option<Refusal>, StoreError> {
    let states = tx.find(
        "SELECT requests.state AS request_state, operations.state AS operation_state
         FROM enrolments JOIN requests USING (request) LEFT JOIN operations USING (request) WHERE device_sha256 = ?1",
        [key_sha256.to_string()],
        |row| Ok((parsed(row, "request_state")?, crate::codec::optional_parsed(row, "operation_state")?)),
    )?;
    let waits = states.is_some_and(|(request, operation)| standing(Some(request), operation) == Standing::Open);
    Ok(waits.then(|| Refusal::new(Code::KeyWaiting, "the enrolment waits for an administrator; try again after it was confirmed")))
}

/// A key that an earlier roster names, and the one in force does not, is told so: its holder is no stranger, and can ask why.
fn removed(tx: &Tx<'_>, roster: &Roster, key_sha256: &Digest) -> Result<Option<Refusal>, StoreError> {
    if roster.key(key_sha256).is_some() {
        return Ok(None);
    }
    // Only a key that was once handed in is looked for in the rosters: what strangers ask costs one look into an index.
    let was_there = tx.find(
        "SELECT version FROM enrolments JOIN rosters ON instr(rosters.text, device_key) > 0 WHERE device_sha256 = ?1 LIMIT 1",
        [key_sha256.to_string()],
        |row| row.get::<_, i64>("version"),
    )?;
    let removed = || Refusal::new(Code::KeyRemoved, "the holder of this key was taken off the roster; ask an administrator");
    Ok(was_there.map(|_| removed()))
}

fn open_session(tx: &mut Tx<'_>, open: &OpenSession) -> Attempt<Session> {
    let gate = tx.gate()?;
    let Some(roster) = &gate.roster else {
        return refuse(Code::KeyUnknown, "nobody has enrolled at this gate yet; use the first admin's invite");
    };
    let (statement, holder) = SessionStatement::verify(&open.envelope, &roster.roster)?;
    let used = tx.execute(
        "UPDATE session_challenges SET used_at = ?1
         WHERE challenge_sha256 = ?2 AND key_sha256 = ?3 AND issued_at = ?4 AND used_at IS NULL AND expires_at > ?1",
        params![
            tx.now.as_ms(),
            challenge_sha256(&statement.challenge).to_string(),
            statement.key_sha256.to_string(),
            statement.issued_at.as_ms(),
        ],
    )?;
    if used != 1 {
        return refuse(Code::ChallengeInvalid, "the challenge is unknown, used, expired or another key's; ask for one and sign anew");
    }
    let expires_at = tx.now.plus_s(SESSION_TTL_S);
    tx.execute("DELETE FROM sessions WHERE expires_at <= ?1", [tx.now.as_ms()])?;
    tx.execute(
        "DELETE FROM sessions WHERE session_sha256 IN
           (SELECT session_sha256 FROM sessions WHERE key_sha256 = ?1 ORDER BY opened_at DESC, rowid DESC LIMIT -1 OFFSET ?2)",
        params![statement.key_sha256.to_string(), SESSIONS_PER_KEY_MAX - 1],
    )?;
    tx.execute_one(
        "INSERT INTO sessions (session_sha256, person, key_sha256, opened_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            open.session_sha256.to_string(),
            holder.person.person.to_string(),
            statement.key_sha256.to_string(),
            tx.now.as_ms(),
            expires_at.as_ms(),
        ],
    )?;
    // A start believes no session that is not on record.
    let claims = Json::object([
        ("person", text(holder.person.person)),
        ("key_sha256", statement.key_sha256.into()),
        ("session_sha256", open.session_sha256.into()),
        ("expires_at", expires_at.into()),
    ]);
    tx.stage(Entry::new(RecordType::SessionOpened, claims))?;
    Ok(Session {
        person: holder.person.person,
        name: holder.person.name.clone(),
        roles: holder.person.roles.iter().cloned().collect(),
        key_sha256: statement.key_sha256,
        expires_at,
        now: tx.now,
    })
}

/// To be called at a start: nothing but a row says that a challenge was given out, and whoever wants a session asks for another.
pub(crate) fn forget_challenges(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.execute("DELETE FROM session_challenges", [])?;
    Ok(())
}

fn authenticate(db: &Connection, known: &GateInForce, now: Timestamp, session_sha256: &Digest) -> Result<Option<Session>, StoreError> {
    let row = find(
        db,
        "SELECT person, key_sha256, sessions.expires_at AS expires_at, max(?2, now_ms) AS now_ms FROM sessions, clock WHERE session_sha256 = ?1",
        params![session_sha256.to_string(), now.as_ms()],
        |row| {
            Ok((parsed::<PersonId>(row, "person")?, parsed::<Digest>(row, "key_sha256")?, time(row, "expires_at")?, time(row, "now_ms")?))
        },
    );
    let Some((person, key_sha256, expires_at, now)) = row? else { return Ok(None) };
    let Some(gate) = known.gate(db)? else { return Ok(None) };
    let Some(roster) = &gate.roster else { return Ok(None) };
    let Ok(holder) = roster.roster.active_key(&key_sha256, KeyUse::Device) else { return Ok(None) };
    if now >= expires_at || holder.person.person != person {
        return Ok(None);
    }
    let roles = holder.person.roles.iter().cloned().collect();
    Ok(Some(Session { person, name: holder.person.name.clone(), roles, key_sha256, expires_at, now }))
}
