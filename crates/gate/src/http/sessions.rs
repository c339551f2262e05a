//! How a person's console opens a session: a challenge, signed by its device key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::session::{SessionAnswer, SessionChallenge, SessionChallengeRequest, SessionRequest};
use vidimus_core::code::Refusal;
use vidimus_store::{OpenSession, SessionChallengeOutcome, SessionOutcome};

use super::body;
use super::enrolment::envelope;
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::entropy::{self, Bearer};
use crate::gate::Gate;

/// `POST /v1/sessions/challenges`.
pub async fn challenge(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Json<SessionChallenge>, Rejection> {
    let body = SessionChallengeRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let moment = gate.moment()?;
    let challenge = entropy::nonce()?;
    let asked = vidimus_store::SessionChallenge { key_sha256: body.key_sha256, challenge };
    match gate.store.session_challenge(moment, asked).await? {
        SessionChallengeOutcome::Issued { issued_at, expires_at } => Ok(Json(SessionChallenge { challenge, issued_at, expires_at })),
        SessionChallengeOutcome::Refused(refusal) => Err(refused(&gate, peer, refusal)),
    }
}

/// `POST /v1/sessions`.
pub async fn open(State(gate): State<Arc<Gate>>, Extension(peer): Extension<Peer>, body: Body) -> Result<Json<SessionAnswer>, Rejection> {
    let body = SessionRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let bearer = Bearer::of_session()?;
    let moment = gate.moment()?;
    let asked = OpenSession { envelope: envelope(&body.envelope, "/envelope")?, session_sha256: bearer.digest() };
    match gate.store.open_session(moment, asked).await? {
        SessionOutcome::Opened(session) => Ok(Json(SessionAnswer {
            session: bearer.reveal(),
            expires_at: session.expires_at,
            person: session.person,
            name: session.name,
            roles: session.roles.iter().map(ToString::to_string).collect(),
            now: session.now,
        })),
        SessionOutcome::Refused(refusal) => Err(refused(&gate, peer, refusal)),
    }
}

/// The refusal, always with the status of a failed authentication. The store has recorded it.
fn refused(gate: &Gate, peer: Peer, refusal: Refusal) -> Rejection {
    match limit_failures(gate, peer) {
        Ok(()) => Rejection::from(refusal).with_status(StatusCode::UNAUTHORIZED),
        Err(limited) => limited,
    }
}
