//! What an operator's machinery asks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use vidimus_api::problem::FaceCode;

use super::rejection::Rejection;
use crate::gate::Gate;
use crate::metrics::Now;

/// The process runs.
pub async fn health() -> &'static str {
    "ok\n"
}

/// The process can take calls: its store takes records and answers, their heads are signed, and it is not ending.
pub async fn ready(State(gate): State<Arc<Gate>>) -> Result<&'static str, Rejection> {
    gate.refuse_while_ending()?;
    refuse_while_failed(&gate)?;
    gate.refuse_while_unsigned()?;
    gate.store.head().await?;
    let corrupt = gate.metrics.corrupt();
    if !corrupt.is_empty() {
        let detail = format!("rows of the gate's ledger cannot be read back: {}; the others go on; check the disk", corrupt.join(", "));
        return Err(Rejection::of_face(FaceCode::GateFailed, &detail).with_status(StatusCode::SERVICE_UNAVAILABLE));
    }
    Ok("ready\n")
}

/// Refuses what could not be put on record.
///
/// *Errors*: `gate_failed` with 503: another start mends it.
pub fn refuse_while_failed(gate: &Gate) -> Result<(), Rejection> {
    if gate.store.is_disturbed() {
        let detail =
            "ledger_disturbed: somebody else wrote into the gate's database, so nothing is begun and the gate ends; its log says more";
        return Err(Rejection::of_face(FaceCode::GateFailed, detail).with_status(StatusCode::SERVICE_UNAVAILABLE));
    }
    if gate.store.has_failed() || gate.metrics.has_lost() {
        let detail = "the gate's database takes no more records, so nothing is begun; start the gate again";
        return Err(Rejection::of_face(FaceCode::GateFailed, detail).with_status(StatusCode::SERVICE_UNAVAILABLE));
    }
    Ok(())
}

/// The face, described for programs.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// `GET /openapi.json`.
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// `GET /metrics`.
pub async fn metrics(State(gate): State<Arc<Gate>>) -> Result<impl IntoResponse, Rejection> {
    let open = gate.store.operations_open().await?;
    let text = gate.metrics.text(&Now {
        environment: gate.identity.environment.as_str(),
        log_records: gate.checkpoints.newest().size,
        uncovered: gate.checkpoints.uncovered(),
        head_failures: gate.checkpoints.failures(),
        commits: gate.store.commits(),
        in_flight: gate.in_flight.len(),
        connections: gate.places.tally(),
        streams: u64::try_from(gate.streams.count()).unwrap_or(u64::MAX),
        open: &open,
    });
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}
