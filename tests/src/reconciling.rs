//! What a person without a desktop does about an unknown outcome: looks at it, and signs an answer with evidence.

use vidimus_api::operation::{ReconciliationReceipt, ReconciliationRequest};
use vidimus_api::request::ChallengeRequest;
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::checkpoint;
use vidimus_core::decision::CheckpointRef;
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::render;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;

use crate::approver::{Approver, ApproverError, raw};

/// An answer that is not signed yet, and what stands beside it.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What is to be signed.
    pub statement: ReconciliationStatement,
    /// The evidence, canonical.
    pub evidence: String,
    /// The salt of its digest.
    pub salt: Salt,
}

/// Evidence that suits an answer.
#[must_use]
pub fn evidence_of(answer: Answer, now: Timestamp) -> Evidence {
    match answer {
        Answer::StillUnknown => Evidence { look_again_at: Some(now.plus_s(3600)), ..Evidence::default() },
        Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note => {
            Evidence { evidence: Some("looked it up in the provider's own list".to_owned()), ..Evidence::default() }
        }
    }
}

impl Approver {
    /// An honest answer about an operation, over a fresh challenge, not signed yet.
    ///
    /// # Errors
    /// When the gate refuses the challenge, or what it shows does not fit together.
    pub async fn answer(&self, operation: OperationKey, answer: Answer, role: &str) -> Result<Draft, ApproverError> {
        let client = self.client()?;
        let detail = client.operation(&operation).await?;
        let key_sha256 = self.approval.public().digest();
        let challenge = client.operation_challenge(&operation, &ChallengeRequest { key_sha256 }).await?;
        let verified = checkpoint::parse_verify(&challenge.checkpoint, &self.gate_id.to_string(), &self.log_key)?;
        let head = verified.checkpoint();
        let frozen = match detail.request {
            Some(request) => Some(FrozenRequest::parse(client.request_detail(&request).await?.frozen.as_bytes())?),
            None => None,
        };
        let table = Table::parse(&client.table().await?.table).map_err(|_| ApproverError::Missing("the gate's table does not load"))?;
        let shown = |frozen: &FrozenRequest| {
            let row = table.row(&frozen.members().tool).ok_or(ApproverError::Missing("the tool has no row any more"))?;
            Ok::<Digest, ApproverError>(render::frozen_shown_sha256(frozen, row)?)
        };
        let evidence = evidence_of(answer, challenge.issued_at).to_text()?;
        let salt = Salt::from_bytes(*Digest::of(challenge.challenge.as_bytes()).as_bytes());
        let statement = ReconciliationStatement {
            gate: self.gate_id,
            gate_key_sha256: self.log_key.digest(),
            environment: self.environment,
            operation,
            request: detail.request,
            request_sha256: frozen.as_ref().map(FrozenRequest::request_sha256),
            attempt: detail.attempt,
            answer,
            amount_minor: None,
            approver: self.person,
            key_sha256,
            role: Name::parse(role)?,
            roster_sha256: challenge.roster_sha256,
            shown_sha256: frozen.as_ref().map(shown).transpose()?,
            evidence_sha256: evidence_sha256(&salt, &evidence),
            challenge: challenge.challenge,
            checkpoint: CheckpointRef { size: head.size(), root: *head.root() },
            app_version: "approver 1".to_owned(),
            issued_at: challenge.issued_at,
            expires_at: challenge.expires_at,
        };
        Ok(Draft { statement, evidence, salt })
    }

    /// Signs an answer with the approval key and hands it in as it is.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn hand_in_answer(&self, operation: OperationKey, draft: &Draft) -> Result<ReconciliationReceipt, ApproverError> {
        self.hand_in_answer_envelope(operation, &draft.statement.sign(&self.approval)?, draft).await
    }

    /// Hands in an envelope, whoever signed it, with the evidence of a draft.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn hand_in_answer_envelope(
        &self,
        operation: OperationKey,
        envelope: &Envelope,
        draft: &Draft,
    ) -> Result<ReconciliationReceipt, ApproverError> {
        let body = ReconciliationRequest { envelope: raw(envelope)?, evidence: draft.evidence.clone(), evidence_salt: draft.salt };
        Ok(self.client()?.reconcile(&operation, &body).await?)
    }
}
