//! The HTTP face: one file for each actor, one for who may do what, one for the listener.

mod agent;
mod approver;
mod body;
mod enrolment;
mod frame;
mod log_stream;
mod operations;
mod operator;
pub mod places;
pub mod policy;
mod rejection;
mod roster;
pub mod server;
mod sessions;
pub mod streams;
mod table;
mod tls;

pub use rejection::Rejection;
pub use tls::{TlsError, TlsFiles, acceptor as tls_acceptor};

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use vidimus_api::problem::FaceCode;

use crate::gate::Gate;

/// Every route of the face. What is not in [`policy::ROUTES`] is refused, whatever stands here.
pub fn router(gate: Arc<Gate>) -> Router {
    Router::new()
        .route("/v1/calls", post(agent::propose))
        .route("/v1/calls/{call}", get(agent::outcome))
        .route("/v1/calls/{call}/withdraw", post(agent::withdraw))
        .route("/v1/tools", get(agent::tools))
        .route("/v1/enrolments/offer", post(enrolment::offer))
        .route("/v1/enrolments", post(enrolment::enrol))
        .route("/v1/keys/{key_sha256}/stop", post(roster::stop))
        .route("/v1/recoveries/{recovery_sha256}/veto", post(roster::veto))
        .route("/v1/roster/proposals", post(roster::propose))
        .route("/v1/sessions/challenges", post(sessions::challenge))
        .route("/v1/sessions", post(sessions::open))
        .route("/v1/requests", get(approver::requests))
        .route("/v1/requests/{request}", get(approver::request_detail))
        .route("/v1/requests/{request}/challenge", post(approver::challenge))
        .route("/v1/requests/{request}/decisions", post(approver::decide))
        .route("/v1/operations/{operation}", get(operations::detail))
        .route("/v1/operations/{operation}/challenge", post(operations::challenge))
        .route("/v1/operations/{operation}/reconciliations", post(operations::reconcile))
        .route("/v1/operations/{operation}/status", post(operations::status))
        .route("/v1/operations/{operation}/opened", post(operations::opened))
        .route("/v1/log/stream", get(log_stream::stream))
        .route("/checkpoint", get(approver::checkpoint))
        .route("/v1/table", get(table::in_force))
        .route("/v1/table/proposals", post(table::propose))
        .route("/v1/roster", get(approver::roster))
        .route("/healthz", get(operator::health))
        .route("/readyz", get(operator::ready))
        .route("/metrics", get(operator::metrics))
        .route("/openapi.json", get(operator::openapi))
        .method_not_allowed_fallback(method_not_allowed)
        .route_layer(from_fn_with_state(gate.clone(), policy::enforce))
        .fallback(not_found)
        .layer(from_fn_with_state(gate.clone(), frame::frame))
        .with_state(gate)
}

async fn not_found() -> Rejection {
    // Whoever pipelines such requests gets one answer in each turn.
    tokio::task::yield_now().await;
    body::nowhere()
}

async fn method_not_allowed() -> Rejection {
    Rejection::of_face(FaceCode::MethodNotAllowed, "the path knows no such method; use the one that `docs/protocol.md` lists")
}
