//! A person's side: enrolment and sessions without a credential, the rest with a session.

use reqwest::Method;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::OperationKey;
use vidimus_core::request::RequestState;

use super::stream::LogStream;
use super::{ClientError, Wire, accepted, answer, text, with_body};
use crate::enrolment::{EnrolmentAnswer, EnrolmentRequest, Offer, OfferRequest};
use crate::log::{RosterAnswer, TableAnswer};
use crate::operation::{Opened, OperationDetail, ReconciliationReceipt, ReconciliationRequest, StatusReport};
use crate::request::{Challenge, ChallengeRequest, DecisionRequest, Receipt, RequestDetail, RequestList};
use crate::roster::{ProposalAnswer, RosterProposal, SignedStatement, StopAnswer, VetoAnswer};
use crate::session::{SessionAnswer, SessionChallenge, SessionChallengeRequest, SessionRequest};
use crate::table::{TableProposal, TableProposed};

/// A client without a credential.
#[derive(Clone)]
pub struct GateClient {
    wire: Wire,
}

impl GateClient {
    /// A client for the gate at `url`.
    ///
    /// *Errors*: `AddressMalformed`.
    pub fn new(url: &str) -> Result<GateClient, ClientError> {
        Ok(GateClient { wire: Wire::new(url)? })
    }

    /// What an invite offers; the invite stays usable.
    pub async fn offer(&self, body: &OfferRequest) -> Result<Offer, ClientError> {
        answer(with_body(self.wire.request(Method::POST, "/v1/enrolments/offer"), body)?).await
    }

    /// Uses an invite.
    pub async fn enrol(&self, body: &EnrolmentRequest) -> Result<EnrolmentAnswer, ClientError> {
        answer(with_body(self.wire.request(Method::POST, "/v1/enrolments"), body)?).await
    }

    /// A challenge for the device key to sign.
    pub async fn session_challenge(&self, body: &SessionChallengeRequest) -> Result<SessionChallenge, ClientError> {
        answer(with_body(self.wire.request(Method::POST, "/v1/sessions/challenges"), body)?).await
    }

    /// Opens a session.
    pub async fn open_session(&self, body: &SessionRequest) -> Result<SessionAnswer, ClientError> {
        answer(with_body(self.wire.request(Method::POST, "/v1/sessions"), body)?).await
    }

    /// Stops keys; the statement proves itself.
    pub async fn stop(&self, key_sha256: &Digest, body: &SignedStatement) -> Result<StopAnswer, ClientError> {
        answer(with_body(self.wire.request(Method::POST, &format!("/v1/keys/{key_sha256}/stop")), body)?).await
    }

    /// Objects to a recovery; the statement proves itself.
    pub async fn veto(&self, recovery_sha256: &Digest, body: &SignedStatement) -> Result<VetoAnswer, ClientError> {
        answer(with_body(self.wire.request(Method::POST, &format!("/v1/recoveries/{recovery_sha256}/veto")), body)?).await
    }

    /// The same gate with a session.
    pub fn with_session(&self, session: impl Into<String>) -> ApproverClient {
        ApproverClient { wire: self.wire.clone(), session: session.into() }
    }

    /// Whether the gate answers at all.
    pub async fn is_ready(&self) -> bool {
        accepted(self.wire.request(Method::GET, "/readyz")).await.is_ok()
    }
}

/// A client with a person's session.
#[derive(Clone)]
pub struct ApproverClient {
    wire: Wire,
    session: String,
}

impl ApproverClient {
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.wire.request(method, path).bearer_auth(&self.session)
    }

    /// The requests that this person may see, newest first; of one state, or all.
    pub async fn requests(&self, state: Option<RequestState>) -> Result<RequestList, ClientError> {
        let path = state.map_or_else(|| "/v1/requests".to_owned(), |state| format!("/v1/requests?state={state}"));
        answer(self.request(Method::GET, &path)).await
    }

    /// What comes after a page that said where older ones go on.
    pub async fn requests_before(&self, state: Option<RequestState>, before: u64) -> Result<RequestList, ClientError> {
        let of_state = state.map(|state| format!("&state={state}")).unwrap_or_default();
        answer(self.request(Method::GET, &format!("/v1/requests?before={before}{of_state}"))).await
    }

    /// One request.
    pub async fn request_detail(&self, request: &RequestId) -> Result<RequestDetail, ClientError> {
        answer(self.request(Method::GET, &format!("/v1/requests/{request}"))).await
    }

    /// A challenge for a decision.
    pub async fn challenge(&self, request: &RequestId, body: &ChallengeRequest) -> Result<Challenge, ClientError> {
        answer(with_body(self.request(Method::POST, &format!("/v1/requests/{request}/challenge")), body)?).await
    }

    /// Hands in a signed decision. The same envelope again gets the same receipt.
    pub async fn decide(&self, request: &RequestId, body: &DecisionRequest) -> Result<Receipt, ClientError> {
        answer(with_body(self.request(Method::POST, &format!("/v1/requests/{request}/decisions")), body)?).await
    }

    /// Where an operation stands.
    pub async fn operation(&self, operation: &OperationKey) -> Result<OperationDetail, ClientError> {
        answer(self.request(Method::GET, &format!("/v1/operations/{operation}"))).await
    }

    /// A challenge for an answer to an operation's unknown outcome.
    pub async fn operation_challenge(&self, operation: &OperationKey, body: &ChallengeRequest) -> Result<Challenge, ClientError> {
        answer(with_body(self.request(Method::POST, &format!("/v1/operations/{operation}/challenge")), body)?).await
    }

    /// Hands in a signed answer. The same envelope again gets the same receipt.
    pub async fn reconcile(&self, operation: &OperationKey, body: &ReconciliationRequest) -> Result<ReconciliationReceipt, ClientError> {
        answer(with_body(self.request(Method::POST, &format!("/v1/operations/{operation}/reconciliations")), body)?).await
    }

    /// Has the gate ask the operation's provider now.
    pub async fn ask_status(&self, operation: &OperationKey) -> Result<StatusReport, ClientError> {
        answer(self.request(Method::POST, &format!("/v1/operations/{operation}/status"))).await
    }

    /// Says that this person is looking at the operation: nobody is paged about it again until it is time to look anew.
    pub async fn opened(&self, operation: &OperationKey) -> Result<Opened, ClientError> {
        answer(self.request(Method::POST, &format!("/v1/operations/{operation}/opened"))).await
    }

    /// The effect table in force.
    pub async fn table(&self) -> Result<TableAnswer, ClientError> {
        answer(self.request(Method::GET, "/v1/table")).await
    }

    /// Proposes a table; what differs from the one in force waits for people.
    pub async fn propose_table(&self, body: &TableProposal) -> Result<TableProposed, ClientError> {
        answer(with_body(self.request(Method::POST, "/v1/table/proposals"), body)?).await
    }

    /// The roster in force.
    pub async fn roster(&self) -> Result<RosterAnswer, ClientError> {
        answer(self.request(Method::GET, "/v1/roster")).await
    }

    /// Proposes a change of the roster.
    pub async fn propose_roster_change(&self, body: &RosterProposal) -> Result<ProposalAnswer, ClientError> {
        answer(with_body(self.request(Method::POST, "/v1/roster/proposals"), body)?).await
    }

    /// The newest checkpoint, as a signed note.
    pub async fn checkpoint(&self) -> Result<String, ClientError> {
        text(self.request(Method::GET, "/checkpoint")).await
    }

    /// The log from a position on, without end.
    pub async fn log_stream(&self, from: u64) -> Result<LogStream, ClientError> {
        let request = self.wire.stream(&format!("/v1/log/stream?from={from}")).bearer_auth(&self.session);
        Ok(LogStream::new(accepted(request).await?, from))
    }
}
