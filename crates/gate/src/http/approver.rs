//! What a person asks, with a session.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::log::RosterAnswer;
use vidimus_api::request::{Challenge, ChallengeRequest, DecisionRequest, Receipt, RequestDetail, RequestList};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_store::Session;

use super::body::{self, Query};
use super::enrolment::envelope;
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::gate::Gate;

/// `GET /v1/requests`.
pub async fn requests(
    State(gate): State<Arc<Gate>>,
    Extension(session): Extension<Session>,
    uri: Uri,
) -> Result<Json<RequestList>, Rejection> {
    let query = Query::of(&uri, &["state", "before"])?;
    let (state, before): (Option<RequestState>, Option<u64>) = (query.parsed("state")?, query.parsed("before")?);
    Ok(Json(gate.requests(&session, state, before).await?))
}

/// `GET /v1/requests/{request}`.
pub async fn request_detail(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
) -> Result<Json<RequestDetail>, Rejection> {
    let request = named(&gate, peer, &session, &request).await?;
    match gate.request_detail(&session, request).await? {
        Some(detail) => Ok(Json(detail)),
        None => Err(unseen(&gate, peer, &session, Some(request)).await),
    }
}

/// `POST /v1/requests/{request}/challenge`.
pub async fn challenge(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Json<Challenge>, Rejection> {
    gate.refuse_while_ending()?;
    let request = named(&gate, peer, &session, &request).await?;
    let body = ChallengeRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    match gate.challenge(&session, request, body.key_sha256).await? {
        Some(challenge) => Ok(Json(challenge)),
        None => Err(unseen(&gate, peer, &session, Some(request)).await),
    }
}

/// `POST /v1/requests/{request}/decisions`. Nothing in the body decides but a signed envelope.
pub async fn decide(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Json<Receipt>, Rejection> {
    gate.refuse_while_ending()?;
    let request = named(&gate, peer, &session, &request).await?;
    let (body, envelope) = match decision_of(body).await {
        Ok(read) => read,
        // Whose it is not learns nothing by what is wrong with it.
        Err(_) if gate.visible(&session, request).await?.is_none() => return Err(unseen(&gate, peer, &session, Some(request)).await),
        // On record like a decision that does not count.
        Err(rejection) => return Err(recorded(&gate, &session, Some(request), rejection).await),
    };
    // On a task of its own: a console that goes away must not cut what follows from its decision.
    let (task, sender) = (gate.clone(), session.clone());
    let decided = gate.in_flight.spawn(async move { task.decide(&sender, request, envelope, body).await });
    match decided.await.map_err(|error| Rejection::failure(&error))?? {
        Some(receipt) => Ok(Json(receipt)),
        None => Err(unseen(&gate, peer, &session, Some(request)).await),
    }
}

async fn decision_of(body: Body) -> Result<(DecisionRequest, Envelope), Rejection> {
    let body = DecisionRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let envelope = envelope(&body.envelope, "/envelope")?;
    Ok((body, envelope))
}

/// The id in the path. One that is malformed is a guess like any other.
async fn named(gate: &Gate, peer: Peer, session: &Session, request: &str) -> Result<RequestId, Rejection> {
    match request.parse() {
        Ok(request) => Ok(request),
        Err(_) => Err(unseen(gate, peer, session, None).await),
    }
}

/// The one answer for a request that does not exist and for one that this person may not see. It is on record: who tries
/// ids is seen trying them.
async fn unseen(gate: &Gate, peer: Peer, session: &Session, request: Option<RequestId>) -> Rejection {
    match limit_failures(gate, peer) {
        Ok(()) => recorded(gate, session, request, body::absent()).await,
        Err(limited) => limited,
    }
}

async fn recorded(gate: &Gate, session: &Session, request: Option<RequestId>, rejection: Rejection) -> Rejection {
    let Some(refusal) = rejection.refusal() else { return rejection };
    match gate.record_refused_decision(session, request, refusal).await {
        Ok(()) => rejection,
        Err(failure) => failure,
    }
}

/// `GET /checkpoint`.
pub async fn checkpoint(State(gate): State<Arc<Gate>>) -> Result<impl IntoResponse, Rejection> {
    Ok(gate.checkpoints.newest().note.clone())
}

/// `GET /v1/roster`.
pub async fn roster(State(gate): State<Arc<Gate>>) -> Result<Json<RosterAnswer>, Rejection> {
    let roster = gate.store.roster().await?.ok_or_else(nothing_yet)?;
    Ok(Json(RosterAnswer { roster: roster.text, roster_sha256: roster.roster_sha256 }))
}

pub(super) fn nothing_yet() -> Refusal {
    Refusal::new(Code::NotFound, "the gate has no first admin yet; enrol with the invite that `init` printed")
}
