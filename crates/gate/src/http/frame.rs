//! What surrounds every answer: its request id, its line in the gate's log, its problem document, its safe headers.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use vidimus_api::problem::PROBLEM_MEDIA_TYPE;
use vidimus_core::bytes::hex_encode;

use super::policy::label_of;
use super::rejection::Rejection;
use crate::entropy;
use crate::gate::Gate;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Runs the rest and finishes its answer. Secrets and arguments are in no line: neither path parameters nor queries are.
pub async fn frame(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    // An id only names a line in the log: without randomness it is empty, and the handlers refuse by themselves.
    let id = entropy::bytes::<8>().map(hex_encode).unwrap_or_default();
    let method = request.method().clone();
    let route = label_of(request.extensions().get::<MatchedPath>());
    let mut response = next.run(request).await;
    let mut code = String::new();
    if let Some(rejection) = response.extensions_mut().remove::<Rejection>() {
        let mut problem = rejection.into_problem();
        problem.request_id.clone_from(&id);
        code.clone_from(&problem.code);
        gate.metrics.limited(&code);
        if let Ok(document) = serde_json::to_vec(&problem) {
            *response.body_mut() = Body::from(document);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
            if let Some(after_s) = problem.retry_after_s() {
                response.headers_mut().insert(header::RETRY_AFTER, after_s.into());
            }
            if problem.status == 401 {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
        }
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    gate.metrics.answered(route, response.status().as_u16(), began.elapsed());
    tracing::info!(
        request_id = %id,
        method = %method,
        route,
        status = response.status().as_u16(),
        code,
        ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "answered"
    );
    response
}
