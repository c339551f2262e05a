//! Challenges for answers: who may have one, and whether one was used.

use rusqlite::params;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::OperationChallenge;

use super::made::for_answerer;
use crate::challenges::{ToSign, to_sign};
use crate::codec::{parsed, time};
use crate::engine::Rank;
use crate::error::StoreError;
use crate::limits::CHALLENGES_PER_KEY_MAX;
use crate::rows::StoredOperation;
use crate::tx::{Attempt, Tx, challenge_sha256, refuse};
use crate::{Moment, Store};

/// A challenge for an answer that an approval key is to sign.
#[derive(Debug, Clone)]
pub struct AskChallenge {
    /// The operation.
    pub operation: OperationKey,
    /// The person of the session that asks.
    pub person: PersonId,
    /// The roles of that person.
    pub roles: Vec<Name>,
    /// Digest of the person's approval key.
    pub key_sha256: Digest,
    /// Fresh random bytes; only their digest is stored.
    pub challenge: Nonce,
}

/// What a person who wants to answer gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationChallengeOutcome {
    /// The challenge may be signed.
    Issued(ToSign),
    /// There is no such operation for this person.
    NotFound,
    /// The key may not sign, or the operation takes no answer.
    Refused(Refusal),
}

impl Store {
    /// Issues a challenge for one operation and one approval key.
    pub async fn operation_challenge(&self, moment: Moment, asked: AskChallenge) -> Result<OperationChallengeOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = for_answerer(tx, &asked.operation, &asked.roles)? else {
                    return Ok(OperationChallengeOutcome::NotFound);
                };
                Ok(match tx.attempt(|tx| issue(tx, &stored, &asked))? {
                    Ok(outcome) => outcome,
                    Err(refusal) => OperationChallengeOutcome::Refused(refusal),
                })
            })
            .await
    }
}

fn issue(tx: &mut Tx<'_>, stored: &StoredOperation, asked: &AskChallenge) -> Attempt<OperationChallengeOutcome> {
    let gate = tx.gate()?;
    let to_sign = to_sign(&gate, &asked.person, &asked.key_sha256, tx.now, tx.head_before())?;
    let state = stored.now_at.state;
    if state != OperationState::NeedsReconciliation && !state.is_final() {
        return refuse(Code::OperationStateWrong, format!("the operation is `{state}`, which takes no answer of a person; wait"));
    }
    tx.execute(
        "DELETE FROM operation_challenges WHERE challenge_sha256 IN
           (SELECT challenge_sha256 FROM operation_challenges WHERE key_sha256 = ?1 AND used_at IS NULL ORDER BY issued_at DESC LIMIT -1 OFFSET ?2)",
        params![asked.key_sha256.to_string(), CHALLENGES_PER_KEY_MAX as i64 - 1],
    )?;
    tx.execute_one(
        "INSERT INTO operation_challenges (challenge_sha256, operation, key_sha256, issued_at) VALUES (?1, ?2, ?3, ?4)",
        params![challenge_sha256(&asked.challenge).to_string(), asked.operation.to_string(), asked.key_sha256.to_string(), tx.now.as_ms(),],
    )?;
    Ok(OperationChallengeOutcome::Issued(to_sign))
}

pub(super) fn issued_challenge(tx: &Tx<'_>, challenge: &Nonce) -> Result<Option<OperationChallenge>, StoreError> {
    tx.find(
        "SELECT operation, key_sha256, issued_at, used_at IS NOT NULL AS used FROM operation_challenges WHERE challenge_sha256 = ?1",
        [challenge_sha256(challenge).to_string()],
        |row| {
            Ok(OperationChallenge {
                operation: parsed(row, "operation")?,
                key_sha256: parsed(row, "key_sha256")?,
                issued_at: time(row, "issued_at")?,
                used: row.get("used")?,
            })
        },
    )
}

pub(super) fn use_challenge(tx: &Tx<'_>, challenge: &Nonce) -> Result<(), StoreError> {
    tx.execute_one(
        "UPDATE operation_challenges SET used_at = ?1 WHERE challenge_sha256 = ?2 AND used_at IS NULL",
        params![tx.now.as_ms(), challenge_sha256(challenge).to_string()],
    )
}
