//! What a person asks and says about an operation, with a session.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::operation::{Opened, OperationDetail, ReconciliationReceipt, ReconciliationRequest, StatusReport};
use vidimus_api::request::{Challenge, ChallengeRequest};
use vidimus_core::dsse::Envelope;
use vidimus_core::operation::OperationKey;
use vidimus_store::Session;

use super::body;
use super::enrolment::envelope;
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::gate::Gate;

/// `GET /v1/operations/{operation}`.
pub async fn detail(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(operation): Path<String>,
) -> Result<Json<OperationDetail>, Rejection> {
    let operation = named(&gate, peer, &session, &operation).await?;
    let detail = gate.operation_detail(&session, operation).await?;
    seen(&gate, peer, &session, operation, detail).await
}

/// `POST /v1/operations/{operation}/challenge`.
pub async fn challenge(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(operation): Path<String>,
    body: Body,
) -> Result<Json<Challenge>, Rejection> {
    gate.refuse_while_ending()?;
    let operation = named(&gate, peer, &session, &operation).await?;
    let body = ChallengeRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let challenge = gate.operation_challenge(&session, operation, body.key_sha256).await?;
    seen(&gate, peer, &session, operation, challenge).await
}

/// `POST /v1/operations/{operation}/reconciliations`. Nothing in the body moves anything but a signed envelope.
pub async fn reconcile(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(operation): Path<String>,
    body: Body,
) -> Result<Json<ReconciliationReceipt>, Rejection> {
    gate.refuse_while_ending()?;
    let operation = named(&gate, peer, &session, &operation).await?;
    let (body, envelope) = match answer_of(body).await {
        Ok(read) => read,
        // Whose it is not learns nothing by what is wrong with it.
        Err(_) if gate.operation_detail(&session, operation).await?.is_none() => {
            return Err(unseen(&gate, peer, &session, Some(operation)).await);
        }
        // On record like an answer that does not count.
        Err(rejection) => return Err(recorded(&gate, &session, Some(operation), rejection).await),
    };
    // On a task of its own: a console that goes away must not cut what follows from its answer.
    let (task, sender) = (gate.clone(), session.clone());
    let answered = gate.in_flight.spawn(async move { task.reconcile(&sender, operation, envelope, body).await });
    let receipt = answered.await.map_err(|error| Rejection::failure(&error))??;
    seen(&gate, peer, &session, operation, receipt).await
}

/// `POST /v1/operations/{operation}/status`.
pub async fn status(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(operation): Path<String>,
) -> Result<Json<StatusReport>, Rejection> {
    gate.refuse_while_ending()?;
    let operation = named(&gate, peer, &session, &operation).await?;
    let (task, sender) = (gate.clone(), session.clone());
    let asked = gate.in_flight.spawn(async move { task.ask_for(&sender, operation).await });
    let report = asked.await.map_err(|error| Rejection::failure(&error))??;
    seen(&gate, peer, &session, operation, report).await
}

/// `POST /v1/operations/{operation}/opened`.
pub async fn opened(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(operation): Path<String>,
) -> Result<Json<Opened>, Rejection> {
    let operation = named(&gate, peer, &session, &operation).await?;
    let opened = gate.open_operation(&session, operation).await?;
    seen(&gate, peer, &session, operation, opened).await
}

async fn answer_of(body: Body) -> Result<(ReconciliationRequest, Envelope), Rejection> {
    let body = ReconciliationRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let envelope = envelope(&body.envelope, "/envelope")?;
    Ok((body, envelope))
}

/// The key in the path. One that is malformed is a guess like any other.
async fn named(gate: &Gate, peer: Peer, session: &Session, operation: &str) -> Result<OperationKey, Rejection> {
    match operation.parse() {
        Ok(operation) => Ok(operation),
        Err(_) => Err(unseen(gate, peer, session, None).await),
    }
}

/// The answer; for an operation that does not exist and for one that this person may not see, the one that both get.
async fn seen<T>(gate: &Gate, peer: Peer, session: &Session, operation: OperationKey, found: Option<T>) -> Result<Json<T>, Rejection> {
    match found {
        Some(found) => Ok(Json(found)),
        None => Err(unseen(gate, peer, session, Some(operation)).await),
    }
}

/// On record: who tries keys is seen trying them.
async fn unseen(gate: &Gate, peer: Peer, session: &Session, operation: Option<OperationKey>) -> Rejection {
    match limit_failures(gate, peer) {
        Ok(()) => recorded(gate, session, operation, body::absent()).await,
        Err(limited) => limited,
    }
}

async fn recorded(gate: &Gate, session: &Session, operation: Option<OperationKey>, rejection: Rejection) -> Rejection {
    let Some(refusal) = rejection.refusal() else { return rejection };
    match gate.record_refused_answer(session, operation, refusal).await {
        Ok(()) => rejection,
        Err(failure) => failure,
    }
}
