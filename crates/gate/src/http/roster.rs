//! How the roster changes besides by invites: stops and vetoes, which prove themselves, and proposals of a person.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_api::roster::{ProposalAnswer, RosterProposal, SignedStatement, StopAnswer, VetoAnswer};
use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::dsse::Envelope;
use vidimus_store::{ProposeChange, ProposedChange, ProposedOutcome, Session, StatementRefused, StopKeys, StopOutcome, VetoOutcome};

use super::body::{self, absent};
use super::enrolment::envelope;
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::entropy;
use crate::gate::Gate;

/// `POST /v1/keys/{key_sha256}/stop`. Without a session, so that a stolen desktop's end waits for nothing.
pub async fn stop(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Path(key_sha256): Path<String>,
    body: Body,
) -> Result<Json<StopAnswer>, Rejection> {
    gate.refuse_while_ending()?;
    let key_sha256 = named(&gate, peer, "stop", &key_sha256).await?;
    let envelope = statement_of(&gate, peer, "stop", body).await?;
    let signer = envelope.key_digest();
    match gate.store.stop_keys(gate.moment()?, StopKeys { key_sha256, envelope }).await? {
        StopOutcome::Stopped { roster_version, position } => {
            gate.bell.ring_all();
            gate.nudge.notify_one();
            Ok(Json(StopAnswer { roster_version, position }))
        }
        StopOutcome::Refused(refusal) => Err(refused(&gate, peer, "stop", Some(signer), refusal).await),
    }
}

/// `POST /v1/recoveries/{recovery_sha256}/veto`.
pub async fn veto(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Path(recovery_sha256): Path<String>,
    body: Body,
) -> Result<Json<VetoAnswer>, Rejection> {
    gate.refuse_while_ending()?;
    let recovery_sha256 = named(&gate, peer, "veto", &recovery_sha256).await?;
    let envelope = statement_of(&gate, peer, "veto", body).await?;
    let signer = envelope.key_digest();
    match gate.store.veto_recovery(gate.moment()?, recovery_sha256, envelope).await? {
        VetoOutcome::Vetoed(position) => Ok(Json(VetoAnswer { recovery_sha256, position })),
        VetoOutcome::Refused(refusal) => Err(refused(&gate, peer, "veto", Some(signer), refusal).await),
    }
}

/// `POST /v1/roster/proposals`.
pub async fn propose(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    body: Body,
) -> Result<(StatusCode, Json<ProposalAnswer>), Rejection> {
    gate.refuse_while_ending()?;
    let bytes = body::read(body, BODY_BYTES_MAX).await?;
    let change = match RosterProposal::parse(&bytes).and_then(proposed) {
        Ok(change) => change,
        Err(refusal) => return Err(refused(&gate, peer, "proposal", Some(session.key_sha256), refusal).await),
    };
    let moment = gate.moment()?;
    let proposal = ProposeChange {
        proposer: session.person,
        change,
        call: entropy::call_id(moment.now)?,
        request: entropy::request_id(moment.now)?,
        salt: entropy::salt()?,
    };
    match gate.store.propose_roster_change(moment, proposal).await? {
        ProposedOutcome::Waiting(request) => Ok((StatusCode::CREATED, Json(ProposalAnswer { request }))),
        ProposedOutcome::Refused(refusal) => Err(refused(&gate, peer, "proposal", Some(session.key_sha256), refusal).await),
    }
}

fn proposed(change: RosterProposal) -> Result<ProposedChange, Refusal> {
    Ok(match change {
        RosterProposal::AddKeys { label, approval, device } => ProposedChange::AddKeys {
            label,
            approval: Box::new(envelope(&approval, "/approval")?),
            device: Box::new(envelope(&device, "/device")?),
        },
        RosterProposal::SetRoles { person, roles } => ProposedChange::SetRoles { person, roles },
        RosterProposal::Remove { person } => ProposedChange::Remove { person },
    })
}

/// The digest in the path. One that is malformed is a guess like any other, and on record like any other.
async fn named(gate: &Gate, peer: Peer, statement: &'static str, digest: &str) -> Result<Digest, Rejection> {
    match digest.parse() {
        Ok(digest) => Ok(digest),
        Err(_) => {
            let rejection = absent();
            let Some(refusal) = rejection.refusal() else { return Err(rejection) };
            recorded(gate, peer, StatementRefused { statement, key_sha256: None, refusal }).await?;
            Err(rejection)
        }
    }
}

/// The envelope of a body. What cannot be read is on record too.
async fn statement_of(gate: &Gate, peer: Peer, statement: &'static str, body: Body) -> Result<Envelope, Rejection> {
    let bytes = body::read(body, BODY_BYTES_MAX).await?;
    match SignedStatement::parse(&bytes).and_then(|body| envelope(&body.envelope, "/envelope")) {
        Ok(envelope) => Ok(envelope),
        Err(refusal) => Err(refused(gate, peer, statement, None, refusal).await),
    }
}

/// The refusal; on record as long as its address has not used up its window.
pub(super) async fn refused(gate: &Gate, peer: Peer, statement: &'static str, key_sha256: Option<Digest>, refusal: Refusal) -> Rejection {
    match recorded(gate, peer, StatementRefused { statement, key_sha256, refusal: refusal.clone() }).await {
        Ok(()) => refusal.into(),
        Err(instead) => instead,
    }
}

async fn recorded(gate: &Gate, peer: Peer, refused: StatementRefused) -> Result<(), Rejection> {
    limit_failures(gate, peer)?;
    Ok(gate.store.refuse_statement(gate.moment()?, refused).await?)
}
