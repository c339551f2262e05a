//! The short way from the last approval to the permission to send: decided, minted and redeemed in one transaction, each by
//! its own function with its own checks and its own records. What is due later, is tried again or belongs to another
//! executor takes the long way, where mint and redeem have transactions of their own.
//!
//! Must not know keys: signing the token and verifying it is the executor's, who is asked in between.

use vidimus_core::code::Refusal;
use vidimus_core::operation::OperationKey;

use crate::decisions::{DecisionOutcome, RecordDecision, rank_of, record_decision};
use crate::error::StoreError;
use crate::tokens::{Mint, MintOutcome, Minted, Redeem, Redeemed, mint_token, redeem_to_send};
use crate::tx::Tx;
use crate::{Moment, Store};

/// An executor that is at hand while the decision is recorded.
pub trait Executor: Send {
    /// The token that it asks for.
    fn order(&self, operation: OperationKey) -> Mint;

    /// Signs what was minted, verifies it as whoever is handed a token does, and presents it.
    ///
    /// *Errors*: whatever the token rule refuses. The operation then waits for the long way, as if nobody had been at hand.
    fn present(&self, minted: &Minted) -> Result<Redeem, Refusal>;
}

/// An operation that may be sent, once, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The permission.
    pub redeemed: Redeemed,
    /// The frozen bytes.
    pub frozen: String,
}

impl Store {
    /// Records a decision like [`Store::record_decision`]. Where it reaches the quorum and nothing is to be waited for, the
    /// executor at hand has its token minted and redeemed before the same commit.
    pub async fn decide_and_begin(
        &self,
        moment: Moment,
        decision: RecordDecision,
        executor: Box<dyn Executor>,
    ) -> Result<(DecisionOutcome, Option<Begun>), StoreError> {
        let rank = rank_of(&decision.envelope);
        self.engine
            .write(moment, rank, move |tx| {
                let outcome = record_decision(tx, &decision)?;
                let begun = match &outcome {
                    DecisionOutcome::Recorded(receipt) => match receipt.operation {
                        Some(operation) => begin(tx, operation, &*executor)?,
                        None => None,
                    },
                    DecisionOutcome::Stored(_) | DecisionOutcome::NotFound | DecisionOutcome::Refused(_) => None,
                };
                Ok((outcome, begun))
            })
            .await
    }
}

/// Mints and redeems. A refusal after the minting takes the token back: what is left is a reserved operation, which is due.
fn begin(tx: &mut Tx<'_>, operation: OperationKey, executor: &dyn Executor) -> Result<Option<Begun>, StoreError> {
    let begun = tx.attempt(|tx| {
        let MintOutcome::Minted(minted) = mint_token(tx, &executor.order(operation))? else { return Ok(None) };
        let presented = executor.present(&minted)?;
        let redeemed = redeem_to_send(tx, &presented)?;
        Ok(Some(Begun { redeemed, frozen: minted.frozen }))
    })?;
    Ok(begun.unwrap_or_else(|refusal| {
        tracing::warn!(code = %refusal.code, operation = %operation, "an approved operation was not begun at once");
        None
    }))
}
