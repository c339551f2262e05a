//! What a person asks, with a session.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::log::{RosterAnswer, TableAnswer};
use vidimus_api::request::{Challenge, ChallengeRequest, DecisionRequest, Receipt, RequestDetail, RequestList};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::request::RequestState;
use vidimus_store::Session;

use super::body::{self, Query};
use super::enrolment::envelope;
use super::rejection::Rejection;
use crate::gate::Gate;

/// `GET /v1/requests`.
pub async fn requests(
    State(gate): State<Arc<Gate>>,
    Extension(session): Extension<Session>,
    uri: Uri,
) -> Result<Json<RequestList>, Rejection> {
    let state: Option<RequestState> = Query::of(&uri, &["state"])?.parsed("state")?;
    Ok(Json(gate.requests(&session, state).await?))
}

/// `GET /v1/requests/{request}`.
pub async fn request_detail(
    State(gate): State<Arc<Gate>>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
) -> Result<Json<RequestDetail>, Rejection> {
    let request = body::path_id(&request)?;
    gate.request_detail(&session, request).await?.map(Json).ok_or_else(body::absent)
}

/// `POST /v1/requests/{request}/challenge`.
pub async fn challenge(
    State(gate): State<Arc<Gate>>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Json<Challenge>, Rejection> {
    gate.refuse_while_ending()?;
    let request = body::path_id(&request)?;
    let body = ChallengeRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    gate.challenge(&session, request, body.key_sha256).await?.map(Json).ok_or_else(body::absent)
}

/// `POST /v1/requests/{request}/decisions`. Nothing in the body decides but a signed envelope.
pub async fn decide(
    State(gate): State<Arc<Gate>>,
    Extension(session): Extension<Session>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Json<Receipt>, Rejection> {
    gate.refuse_while_ending()?;
    let request = body::path_id(&request)?;
    let body = DecisionRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let envelope = envelope(&body.envelope, "/envelope")?;
    // On a task of its own: a console that goes away must not cut what follows from its decision.
    let task = gate.clone();
    let decided = gate.clone().in_flight.spawn(async move { task.decide(&session, request, envelope, body).await });
    let receipt = decided.await.map_err(|error| Rejection::failure(&error))??;
    receipt.map(Json).ok_or_else(body::absent)
}

/// `GET /checkpoint`.
pub async fn checkpoint(State(gate): State<Arc<Gate>>) -> Result<impl IntoResponse, Rejection> {
    Ok(gate.checkpoints.newest().note.clone())
}

/// `GET /v1/table`.
pub async fn table(State(gate): State<Arc<Gate>>) -> Result<Json<TableAnswer>, Rejection> {
    let table = gate.store.table().await?.ok_or_else(nothing_yet)?;
    Ok(Json(TableAnswer { table: table.toml, table_sha256: table.table_sha256 }))
}

/// `GET /v1/roster`.
pub async fn roster(State(gate): State<Arc<Gate>>) -> Result<Json<RosterAnswer>, Rejection> {
    let roster = gate.store.roster().await?.ok_or_else(nothing_yet)?;
    Ok(Json(RosterAnswer { roster: roster.text, roster_sha256: roster.roster_sha256 }))
}

fn nothing_yet() -> Refusal {
    Refusal::new(Code::NotFound, "the gate has no first admin yet; enrol with the invite that `init` printed")
}
