//! Challenges for approval keys: each for one request and one key, used once. Only their digests are stored.

use rusqlite::params;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{IssuedChallenge, VerifiedDecision};
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_core::limits::DECISION_TTL_S_MAX;
use vidimus_core::request::{self, RequestInput};
use vidimus_core::roster::KeyUse;
use vidimus_core::time::Timestamp;

use crate::codec::{parsed, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::limits::CHALLENGES_PER_KEY_MAX;
use crate::log::Head;
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Tx, challenge_sha256, refuse};
use crate::{Moment, Store};

/// A challenge that an approval key is to sign over.
#[derive(Debug, Clone, Copy)]
pub struct DecisionChallenge {
    /// The request.
    pub request: RequestId,
    /// The person of the session that asks.
    pub person: PersonId,
    /// Digest of the person's approval key.
    pub key_sha256: Digest,
    /// Fresh random bytes; only their digest is stored.
    pub challenge: Nonce,
}

/// What an approver who wants to decide gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionChallengeOutcome {
    /// The challenge may be signed.
    Issued {
        /// To be copied into the statement.
        issued_at: Timestamp,
        /// Until when the decision may arrive at most.
        expires_at: Timestamp,
        /// The roster in force.
        roster_sha256: Digest,
        /// The newest head that is durable.
        head: Head,
    },
    /// There is no such request.
    NotFound,
    /// The key may not sign, or the request no longer waits.
    Refused(Refusal),
}

impl Store {
    /// Issues a challenge for one request and one approval key.
    pub async fn decision_challenge(&self, moment: Moment, challenge: DecisionChallenge) -> Result<DecisionChallengeOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(request) = StoredRequest::load(tx.db, &challenge.request)? else { return Ok(DecisionChallengeOutcome::NotFound) };
                Ok(match tx.attempt(|tx| issue(tx, &request, challenge))? {
                    Ok(outcome) => outcome,
                    Err(refusal) => DecisionChallengeOutcome::Refused(refusal),
                })
            })
            .await
    }
}

fn issue(tx: &mut Tx<'_>, stored: &StoredRequest, challenge: DecisionChallenge) -> Attempt<DecisionChallengeOutcome> {
    let gate = tx.gate()?;
    let roster = gate.roster()?;
    let holder = roster.roster.active_key(&challenge.key_sha256, KeyUse::Approval)?;
    if holder.person.person != challenge.person {
        return refuse(Code::ApproverWrong, "the key belongs to another person than the session; use your own");
    }
    if stored.state.is_final() {
        // The input that is allowed longest: its refusal names why nothing can be decided any more.
        request::apply(stored.state, RequestInput::Revoke)?;
    }
    tx.execute(
        "DELETE FROM decision_challenges WHERE challenge_sha256 IN
           (SELECT challenge_sha256 FROM decision_challenges WHERE key_sha256 = ?1 AND used_at IS NULL ORDER BY issued_at DESC LIMIT -1 OFFSET ?2)",
        params![challenge.key_sha256.to_string(), CHALLENGES_PER_KEY_MAX as i64 - 1],
    )?;
    tx.execute_one(
        "INSERT INTO decision_challenges (challenge_sha256, request, key_sha256, issued_at) VALUES (?1, ?2, ?3, ?4)",
        params![
            challenge_sha256(&challenge.challenge).to_string(),
            challenge.request.to_string(),
            challenge.key_sha256.to_string(),
            tx.now.as_ms(),
        ],
    )?;
    Ok(DecisionChallengeOutcome::Issued {
        issued_at: tx.now,
        expires_at: tx.now.plus_s(DECISION_TTL_S_MAX),
        roster_sha256: roster.view.roster_sha256,
        head: tx.head_before(),
    })
}

/// The challenge that a statement names, if this gate issued it.
pub(crate) fn issued_challenge(tx: &Tx<'_>, challenge: &Nonce) -> Result<Option<IssuedChallenge>, StoreError> {
    tx.find(
        "SELECT request, key_sha256, issued_at, used_at IS NOT NULL AS used FROM decision_challenges WHERE challenge_sha256 = ?1",
        [challenge_sha256(challenge).to_string()],
        |row| {
            Ok(IssuedChallenge {
                request: parsed(row, "request")?,
                key_sha256: parsed(row, "key_sha256")?,
                issued_at: time(row, "issued_at")?,
                used: row.get("used")?,
            })
        },
    )
}

/// Uses a challenge up, together with the decision that it served.
pub(crate) fn use_challenge(tx: &Tx<'_>, verified: &VerifiedDecision) -> Result<(), StoreError> {
    tx.execute_one(
        "UPDATE decision_challenges SET used_at = ?1 WHERE challenge_sha256 = ?2 AND used_at IS NULL",
        params![tx.now.as_ms(), challenge_sha256(&verified.statement().challenge).to_string()],
    )
}
