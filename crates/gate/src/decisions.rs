//! What people do with a request: see it, ask for a challenge, hand in a signed decision.

use std::sync::Arc;
use std::time::Instant;

use vidimus_api::problem::{FaceCode, Problem};
use vidimus_api::request::{
    Challenge, DecisionOnRecord, DecisionRequest, OperationView, Quorum, Receipt, RequestDetail, RequestList, RequestSummary,
};
use vidimus_core::bytes::Digest;
use vidimus_core::challenge::OwnChallenge;
use vidimus_core::code::Refusal;
use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_store::{
    DecisionChallenge, DecisionChallengeOutcome, DecisionOutcome, DecisionReceipt, RecordDecision, RecordProof, RequestView, Session,
    ToSign,
};

use crate::entropy;
use crate::gate::Gate;
use crate::http::Rejection;
use crate::seams::{Seam, pass};

impl Gate {
    /// The requests that this person may see, from before a place in the log.
    ///
    /// *Errors*: those of the store.
    pub async fn requests(&self, session: &Session, state: Option<RequestState>, before: Option<u64>) -> Result<RequestList, Rejection> {
        let page = self.store.requests(state, before, session.roles.clone()).await?;
        let requests = page.requests.into_iter().map(|listed| RequestSummary {
            request: listed.request,
            state: listed.state,
            tool: listed.tool.to_string(),
            agent: listed.agent.map(|agent| agent.to_string()),
            request_sha256: listed.request_sha256,
            waits_until: listed.waits_until,
            position: Some(listed.position),
        });
        Ok(RequestList { requests: requests.collect(), next_before: page.next_before })
    }

    /// One request; none where it does not exist or is not this person's to see.
    ///
    /// *Errors*: those of the store.
    pub async fn request_detail(&self, session: &Session, request: RequestId) -> Result<Option<RequestDetail>, Rejection> {
        let Some(view) = self.visible(session, request).await? else { return Ok(None) };
        let mut decisions = Vec::new();
        for decision in &view.decisions {
            let envelope = vidimus_api::raw_json(decision.envelope.clone()).map_err(|error| Rejection::failure(&error))?;
            decisions.push(DecisionOnRecord { envelope, position: Some(decision.position) });
        }
        let operation = view.operation.as_ref().map(|operation| OperationView {
            operation: operation.operation,
            state: operation.state,
            attempt: operation.attempt,
            result_sha256: operation.result_sha256,
        });
        Ok(Some(RequestDetail {
            request: view.request,
            state: view.state,
            waits_until: view.waits_until,
            frozen: view.frozen,
            says: view.says,
            decisions,
            operation,
            position: Some(view.position),
        }))
    }

    /// A challenge for a decision on this request with this key.
    ///
    /// *Errors*: the refusal.
    pub async fn challenge(&self, session: &Session, request: RequestId, key_sha256: Digest) -> Result<Option<Challenge>, Rejection> {
        let Some(view) = self.visible(session, request).await? else { return Ok(None) };
        let asked = DecisionChallenge { request, person: session.person, key_sha256 };
        match self.store.decision_challenge(self.moment()?, asked).await? {
            DecisionChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head: _ }) => {
                let challenge = self.keys.challenges.issue(entropy::bytes()?, &request.to_string(), &key_sha256, issued_at);
                let signed = self.checkpoints.covering(view.position + 1).await.ok_or_else(late)?;
                Ok(Some(Challenge { challenge, issued_at, expires_at, roster_sha256, checkpoint: signed.note.clone() }))
            }
            DecisionChallengeOutcome::NotFound => Ok(None),
            DecisionChallengeOutcome::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// Takes a decision: judged, recorded and answered with its receipt. The same envelope again gets the same receipt.
    ///
    /// *Errors*: the refusal, which is on record unless its sender was refused too often; for one that came too late, with the request's outcome.
    pub async fn decide(
        self: &Arc<Gate>,
        session: &Session,
        request: RequestId,
        envelope: Envelope,
        decision: DecisionRequest,
    ) -> Result<Option<Receipt>, Rejection> {
        let Some(view) = self.visible(session, request).await? else { return Ok(None) };
        // A denial's reason is its kind and note in canonical form; whether it is what was signed, the store judges.
        let reason = match decision.denial {
            Some(denial) => Some(denial.reason()?),
            None => decision.reason,
        };
        let statement = DecisionStatement::parse(envelope.danger_unverified_payload()).ok();
        if statement.as_ref().is_some_and(|statement| statement.decision == DecisionKind::Approve) {
            self.refuse_while_unsigned()?;
        }
        let challenge = statement.as_ref().and_then(|statement| self.own_challenge(statement));
        let at_hand = self.executor_at_hand(&view, statement.as_ref()).await?;
        let refusal_on_record = self.refusals_of_persons.has_room(&session.person, Instant::now());
        let record = RecordDecision {
            request,
            envelope,
            challenge,
            reason,
            reason_salt: decision.reason_salt,
            context: decision.context,
            refusal_on_record,
        };
        pass(Seam::BeforeDecide);
        let (outcome, begun) = match at_hand {
            Some((executor, ready)) => {
                let (outcome, begun) = self.store.decide_and_begin(self.moment()?, record, executor).await?;
                (outcome, begun.zip(Some(ready)))
            }
            None => (self.store.record_decision(self.moment()?, record).await?, None),
        };
        let receipt = match outcome {
            DecisionOutcome::Recorded(receipt) => {
                match begun {
                    // Whoever waits for the call is woken when it has its answer.
                    Some((begun, ready)) => self.send_begun(view.call, begun, ready),
                    None => {
                        pass(Seam::AfterDecide);
                        self.nudge.notify_one();
                        self.bell.ring(view.call);
                    }
                }
                receipt
            }
            DecisionOutcome::Stored(receipt) => receipt,
            DecisionOutcome::NotFound => return Ok(None),
            DecisionOutcome::Refused(refusal) => {
                self.refused_of_person(session, refusal_on_record);
                return Err(self.with_outcome(session, request, refusal).await?);
            }
        };
        self.receipt(receipt).await.map(Some)
    }

    /// The challenge that a statement names, if this gate issued it. What cannot be read, the store refuses by its own code.
    fn own_challenge(&self, statement: &DecisionStatement) -> Option<OwnChallenge> {
        let DecisionStatement { challenge, request, key_sha256, issued_at, .. } = statement;
        self.keys.challenges.recognise(challenge, &request.to_string(), key_sha256, *issued_at)
    }

    /// The receipt of a decision.
    async fn receipt(&self, receipt: DecisionReceipt) -> Result<Receipt, Rejection> {
        let (leaf, checkpoint, proof) = self.proof_of(receipt.position).await?;
        Ok(Receipt {
            request: receipt.request,
            state: receipt.state,
            position: receipt.position,
            leaf,
            checkpoint,
            proof,
            quorum: Quorum { given: receipt.given, needed: receipt.needed },
            operation: receipt.operation,
        })
    }

    /// The leaf of a record, a signed head that covers it, and the way from one to the other.
    ///
    /// *Errors*: `checkpoint_late`.
    pub(crate) async fn proof_of(&self, position: u64) -> Result<(String, String, Vec<Digest>), Rejection> {
        self.checkpoints.kept(position + 1).await.ok_or_else(late)?;
        let RecordProof { leaf, checkpoint, path } = self.store.proof(position).await?.ok_or_else(late)?;
        Ok((leaf, checkpoint.note, path))
    }

    /// A refused decision's document says where the request stands: whoever lost a race learns who won.
    async fn with_outcome(&self, session: &Session, request: RequestId, refusal: Refusal) -> Result<Rejection, Rejection> {
        let view = self.visible(session, request).await?;
        let problem = Problem { request: Some(request), state: view.map(|view| view.state.to_string()), ..Problem::of(&refusal) };
        Ok(Rejection::of(problem))
    }

    /// The request, where one of this person's roles may see it.
    pub(crate) async fn visible(&self, session: &Session, request: RequestId) -> Result<Option<RequestView>, Rejection> {
        Ok(self.store.request(request, session.roles.clone()).await?)
    }
}

pub(crate) fn late() -> Rejection {
    Rejection::of_face(FaceCode::CheckpointLate, "the record stands, but its checkpoint is not signed yet; send the same again")
}
