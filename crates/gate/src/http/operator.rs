//! What an operator's machinery asks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::rejection::Rejection;
use crate::gate::Gate;

/// The process runs.
pub async fn health() -> &'static str {
    "ok\n"
}

/// The process can take calls: its store answers and it is not ending.
pub async fn ready(State(gate): State<Arc<Gate>>) -> Result<&'static str, Rejection> {
    gate.refuse_while_ending()?;
    gate.store.head().await?;
    Ok("ready\n")
}

/// The face, described for programs.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// `GET /openapi.json`.
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// `GET /metrics`.
pub async fn metrics(State(gate): State<Arc<Gate>>) -> impl IntoResponse {
    let text = gate.metrics.text(gate.identity.environment.as_str(), gate.checkpoints.newest().size, gate.in_flight.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
