//! What people do about an outcome that only they can tell: see it, have its provider asked, answer with a signature.

use std::time::Instant;

use vidimus_api::operation::{AnswerOnRecord, Opened, OperationDetail, ReconciliationReceipt, ReconciliationRequest, StatusReport};
use vidimus_api::problem::FaceCode;
use vidimus_api::request::{Challenge, Quorum};
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_store::{
    AnswerOutcome, AskChallenge, Opening, OperationChallengeOutcome, OperationSeen, ReconciliationOutcome, ReconciliationRefused,
    RecordReconciliation, Session, StatusAsked, ToSign,
};

use crate::decisions::late;
use crate::entropy;
use crate::gate::Gate;
use crate::http::Rejection;

impl Gate {
    /// Where an operation stands; none where it does not exist or is not this person's to see.
    ///
    /// *Errors*: those of the store.
    pub async fn operation_detail(&self, session: &Session, operation: OperationKey) -> Result<Option<OperationDetail>, Rejection> {
        let seen = self.store.operation_detail(operation, session.roles.clone(), OperationSeen::ToRead).await?;
        Ok(seen.map(|detail| OperationDetail {
            operation: detail.operation,
            request: detail.request,
            tool: detail.tool.to_string(),
            state: detail.state,
            attempt: detail.attempt,
            settles_at: detail.settles_at,
            status_available: detail.status_available,
            answers: detail
                .answers
                .iter()
                .map(|answer| AnswerOnRecord {
                    approver: answer.approver.to_string(),
                    answer: answer.answer.to_string(),
                    position: answer.position,
                })
                .collect(),
        }))
    }

    /// A challenge for an answer to this operation with this key.
    ///
    /// *Errors*: the refusal.
    pub async fn operation_challenge(
        &self,
        session: &Session,
        operation: OperationKey,
        key_sha256: Digest,
    ) -> Result<Option<Challenge>, Rejection> {
        let challenge = entropy::nonce()?;
        let asked = AskChallenge { operation, person: session.person, roles: session.roles.clone(), key_sha256, challenge };
        match self.store.operation_challenge(self.moment()?, asked).await? {
            OperationChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) => {
                let signed = self.checkpoints.covering(head.size).await.ok_or_else(late)?;
                Ok(Some(Challenge { challenge, issued_at, expires_at, roster_sha256, checkpoint: signed.note.clone() }))
            }
            OperationChallengeOutcome::NotFound => Ok(None),
            OperationChallengeOutcome::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// Takes an answer: judged, recorded and answered with its receipt. The same envelope again gets the same receipt.
    ///
    /// *Errors*: the refusal, which is on record unless its sender was refused too often.
    pub async fn reconcile(
        &self,
        session: &Session,
        operation: OperationKey,
        envelope: Envelope,
        body: ReconciliationRequest,
    ) -> Result<Option<ReconciliationReceipt>, Rejection> {
        let roles = session.roles.clone();
        let refusal_on_record = self.refusals_of_persons.has_room(&session.person, Instant::now());
        let sent = RecordReconciliation {
            operation,
            roles,
            envelope,
            evidence: body.evidence,
            evidence_salt: body.evidence_salt,
            refusal_on_record,
        };
        let receipt = match self.store.record_reconciliation(self.moment()?, sent).await? {
            ReconciliationOutcome::Recorded(receipt) => {
                self.ring_operation(operation).await?;
                receipt
            }
            ReconciliationOutcome::Stored(receipt) => receipt,
            ReconciliationOutcome::NotFound => return Ok(None),
            ReconciliationOutcome::Refused(refusal) => {
                self.refused_of_person(session, refusal_on_record);
                return Err(refusal.into());
            }
        };
        let (leaf, checkpoint, proof) = self.proof_of(receipt.position).await?;
        Ok(Some(ReconciliationReceipt {
            operation,
            state: receipt.state,
            position: receipt.position,
            leaf,
            checkpoint,
            proof,
            quorum: Quorum { given: receipt.given, needed: receipt.needed },
            conflict: receipt.conflict,
        }))
    }

    /// Asks an operation's provider because a person wants to know.
    ///
    /// *Errors*: `status_unavailable`, `operation_state_wrong`, `rate_limited`.
    pub async fn ask_for(&self, session: &Session, operation: OperationKey) -> Result<Option<StatusReport>, Rejection> {
        let seen = self.store.operation_detail(operation, session.roles.clone(), OperationSeen::ToAnswer).await?;
        let Some(detail) = seen else { return Ok(None) };
        let unavailable =
            || Refusal::new(Code::StatusUnavailable, "the tool's row does not say how its provider is asked; look there yourself");
        if !detail.status_available {
            return Err(unavailable().into());
        }
        if !matches!(detail.state, OperationState::Unknown | OperationState::NeedsReconciliation) {
            let message = format!("the operation is `{}`, about which nobody has to ask; read where it stands", detail.state);
            return Err(Refusal::new(Code::OperationStateWrong, message).into());
        }
        if !self.asks.begin(operation) {
            let words = "the provider was asked about this operation a moment ago; look at its answer first";
            return Err(Rejection::of_face(FaceCode::RateLimited, words));
        }
        let (call, answer) = self.ask_provider(operation).await?.ok_or_else(unavailable)?;
        let (word, line) = (answer.as_str(), answer.detail().to_owned());
        let state = match self.store.record_status(self.moment()?, operation, StatusAsked::ByPerson, answer).await? {
            AnswerOutcome::Applied(state) | AnswerOutcome::Evidence(state) => state,
            AnswerOutcome::NotFound => return Ok(None),
        };
        self.bell.ring(call);
        Ok(Some(StatusReport { operation, state, answer: word.to_owned(), detail: line }))
    }

    /// A person looks at an operation: nobody is paged about it any more.
    ///
    /// *Errors*: `operation_state_wrong`.
    pub async fn open_operation(&self, session: &Session, operation: OperationKey) -> Result<Option<Opened>, Rejection> {
        let roles = session.roles.clone();
        match self.store.open_operation(self.moment()?, operation, session.person, roles).await? {
            Opening::Opened { look_again_at } => Ok(Some(Opened { operation, look_again_at })),
            Opening::NotFound => Ok(None),
            Opening::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// Puts on record that an answer did not get as far as the rule, or that its operation is not its sender's to see, as long as its
    /// sender has not used up their part of the log.
    ///
    /// *Errors*: a rejection of the gate's own failure.
    pub async fn record_refused_answer(
        &self,
        session: &Session,
        operation: Option<OperationKey>,
        refusal: Refusal,
    ) -> Result<(), Rejection> {
        if !self.refusals_of_persons.take(&session.person, Instant::now()) {
            return Ok(());
        }
        let refused = ReconciliationRefused { operation, sender: session.person, refusal };
        self.store.refuse_reconciliation(self.moment()?, refused).await?;
        Ok(())
    }

    async fn ring_operation(&self, operation: OperationKey) -> Result<(), Rejection> {
        if let Some(view) = self.store.operation(operation).await? {
            self.bell.ring(view.call);
        }
        Ok(())
    }
}
