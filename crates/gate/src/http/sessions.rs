//! How a person's console opens a session: a challenge, signed by its device key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::problem::FaceCode;
use vidimus_api::session::{SessionAnswer, SessionChallenge, SessionChallengeRequest, SessionRequest};
use vidimus_core::bytes::Digest;
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
    if !gate.failures.count_challenge(peer.0.ip(), crate::clock::now()) {
        let detail = "too many challenges were asked for from this address; wait a minute";
        return Err(Rejection::of_face(FaceCode::RateLimited, detail));
    }
    let moment = gate.moment()?;
    let challenge = entropy::nonce()?;
    let asked = vidimus_store::SessionChallenge { key_sha256: body.key_sha256, challenge };
    match gate.store.session_challenge(moment, asked).await? {
        SessionChallengeOutcome::Issued { issued_at, expires_at } => Ok(Json(SessionChallenge { challenge, issued_at, expires_at })),
        SessionChallengeOutcome::Refused(refusal) => Err(refused(&gate, peer, Some(body.key_sha256), refusal).await),
    }
}

/// `POST /v1/sessions`.
pub async fn open(State(gate): State<Arc<Gate>>, Extension(peer): Extension<Peer>, body: Body) -> Result<Json<SessionAnswer>, Rejection> {
    let bytes = body::read(body, BODY_BYTES_MAX).await?;
    let envelope = match SessionRequest::parse(&bytes).and_then(|body| envelope(&body.envelope, "/envelope")) {
        Ok(envelope) => envelope,
        // What cannot be read is on record too, with its own status.
        Err(refusal) => return Err(recorded(&gate, peer, None, &refusal).await.err().unwrap_or_else(|| refusal.into())),
    };
    let bearer = Bearer::of_session()?;
    let moment = gate.moment()?;
    let key_sha256 = envelope.key_digest();
    let asked = OpenSession { envelope, session_sha256: bearer.digest() };
    match gate.store.open_session(moment, asked).await? {
        SessionOutcome::Opened(session) => Ok(Json(SessionAnswer {
            session: bearer.reveal(),
            expires_at: session.expires_at,
            person: session.person,
            name: session.name,
            roles: session.roles.iter().map(ToString::to_string).collect(),
            now: session.now,
        })),
        SessionOutcome::Refused(refusal) => Err(refused(&gate, peer, Some(key_sha256), refusal).await),
    }
}

/// The refusal, always with the status of a failed authentication; on record as long as its address has not used up its window.
async fn refused(gate: &Gate, peer: Peer, key_sha256: Option<Digest>, refusal: Refusal) -> Rejection {
    match recorded(gate, peer, key_sha256, &refusal).await {
        Ok(()) => Rejection::from(refusal).with_status(StatusCode::UNAUTHORIZED),
        Err(instead) => instead,
    }
}

async fn recorded(gate: &Gate, peer: Peer, key_sha256: Option<Digest>, refusal: &Refusal) -> Result<(), Rejection> {
    limit_failures(gate, peer)?;
    Ok(gate.store.refuse_session(gate.moment()?, key_sha256, refusal.clone()).await?)
}
