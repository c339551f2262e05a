//! What agents ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body_util::BodyExt as _;
use vidimus_api::call::{CallAnswer, CallRequest, ToolDescription};
use vidimus_api::limits::CALL_BODY_BYTES_MAX;
use vidimus_store::AgentIdentity;

use super::body::{self, Query};
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::calls::{CallFault, Told};
use crate::executions;
use crate::gate::Gate;
use crate::kept_bytes;
use crate::limits::CALL_PLACE_S_MAX;

/// `POST /v1/calls`.
pub async fn propose(
    State(gate): State<Arc<Gate>>,
    Extension(agent): Extension<AgentIdentity>,
    uri: Uri,
    body: Body,
) -> Result<Response, Rejection> {
    gate.refuse_while_ending()?;
    gate.refuse_while_unsigned()?;
    let wait = Query::of(&uri, &["wait_s"])?.wait()?;
    let body: Bytes = body::read(body, CALL_BODY_BYTES_MAX).await?;
    let call = match CallRequest::parse(&body) {
        Ok(call) => call,
        Err(refusal) => {
            gate.record_refusal(Some(agent.agent), "", refusal.clone(), Vec::new()).await?;
            return Err(refusal.into());
        }
    };
    // Given back with the task's end, not the connection's.
    let within = Duration::from_secs(CALL_PLACE_S_MAX);
    let Some(place) = gate.executions.calls.wait_for(agent.agent.as_str(), within).await else {
        gate.refusals.count(&agent.agent, Instant::now());
        return Err(executions::too_many().into());
    };
    let may_leave = kept_bytes::of_call(body.len());
    if !gate.kept_bytes.take(&agent.agent, may_leave, Instant::now()) {
        gate.refusals.count(&agent.agent, Instant::now());
        return Err(kept_bytes::limited().into());
    }
    // On a task of its own: a client that goes away must not cut an execution before its record. Its waiting ends with it.
    let (task, sender) = (gate.clone(), agent.clone());
    let proposed = gate.in_flight.spawn(async move {
        let begun = task.clone().propose(sender.clone(), call).await;
        task.settle(&sender, may_leave, &begun);
        drop(place);
        let begun = begun?;
        // From here on somebody has to be told: whoever drops this unread leaves an orphan.
        Ok::<Told, CallFault>(Told::of(&task, &sender, begun))
    });
    let mut told = proposed.await.map_err(|error| Rejection::failure(&error))??;
    let begun = told.take().ok_or_else(body::absent)?;
    let answer = gate.answer(&agent, begun, wait).await?;
    Ok(when_written(answered(&answer), told))
}

/// Counts the answer as told when its body is handed to the connection, no earlier.
fn when_written(mut response: Response, mut told: Told) -> Response {
    // The mapped body does not know its length any more.
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response.map(|body| {
        let frames = body.map_frame(move |frame| {
            told.written();
            frame
        });
        Body::new(frames)
    })
}

/// `GET /v1/calls/{call}`.
pub async fn outcome(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(agent): Extension<AgentIdentity>,
    Path(call): Path<String>,
    uri: Uri,
) -> Result<Response, Rejection> {
    let wait = Query::of(&uri, &["wait_s"])?.wait()?;
    let found = match call.parse() {
        Ok(call) => gate.outcome(&agent, call, wait).await?,
        Err(_) => None,
    };
    match found {
        Some(answer) => Ok(answered(&answer)),
        None => Err(unseen(&gate, peer, agent).await),
    }
}

/// `POST /v1/calls/{call}/withdraw`.
pub async fn withdraw(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(agent): Extension<AgentIdentity>,
    Path(call): Path<String>,
) -> Result<Response, Rejection> {
    let found = match call.parse() {
        Ok(call) => gate.withdraw(&agent, call).await?,
        Err(_) => None,
    };
    match found {
        Some(answer) => Ok(answered(&answer)),
        None => Err(unseen(&gate, peer, agent).await),
    }
}

/// The one answer for a call that does not exist and for another agent's. It is on record: who tries ids is seen trying them.
async fn unseen(gate: &Gate, peer: Peer, agent: AgentIdentity) -> Rejection {
    if let Err(limited) = limit_failures(gate, peer) {
        return limited;
    }
    let rejection = body::absent();
    let Some(refusal) = rejection.refusal() else { return rejection };
    match gate.record_refusal(Some(agent.agent), "", refusal, Vec::new()).await {
        Ok(()) => rejection,
        Err(failure) => failure,
    }
}

/// `GET /v1/tools`.
pub async fn tools(
    State(gate): State<Arc<Gate>>,
    Extension(agent): Extension<AgentIdentity>,
) -> Result<Json<Vec<ToolDescription>>, Rejection> {
    Ok(Json(gate.tools(&agent).await?))
}

fn answered(answer: &CallAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status.http_status()).unwrap_or(StatusCode::OK);
    let mut response = (status, Json(answer)).into_response();
    if let Ok(location) = header::HeaderValue::from_str(&format!("/v1/calls/{}", answer.call)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    if let Some(after_s) = answer.status.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, after_s.into());
    }
    response
}
