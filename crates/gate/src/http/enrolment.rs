//! What the holder of an invite asks.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::{Extension, Json};
use vidimus_api::RawJson;
use vidimus_api::enrolment::{EnrolmentAnswer, EnrolmentRequest, EnrolmentState, Offer, OfferRequest};
use vidimus_api::invite::{InviteKind, code_sha256};
use vidimus_api::limits::BODY_BYTES_MAX;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_store::{EnrolGenesis, EnrolOutcome, OfferOutcome, ProposeAdmission};

use super::body;
use super::policy::limit_failures;
use super::rejection::Rejection;
use super::server::Peer;
use crate::entropy;
use crate::gate::Gate;

/// `POST /v1/enrolments/offer`.
pub async fn offer(State(gate): State<Arc<Gate>>, Extension(peer): Extension<Peer>, body: Body) -> Result<Json<Offer>, Rejection> {
    let body = OfferRequest::parse(&body::read(body, BODY_BYTES_MAX).await?)?;
    let outcome = gate.store.offer(gate.moment()?, code_sha256(&body.code)).await?;
    let offer = match outcome {
        OfferOutcome::Offer(offer) => offer,
        OfferOutcome::Refused(refusal) => return Err(refused(&gate, peer, refusal).await),
    };
    Ok(Json(Offer {
        gate: offer.identity.gate,
        environment: offer.identity.environment,
        log_key: offer.identity.log_key,
        token_key: offer.identity.token_key,
        recovery_key: offer.identity.recovery_key,
        kind: match offer.kind {
            vidimus_store::InviteKind::Genesis => InviteKind::Genesis,
            vidimus_store::InviteKind::Person => InviteKind::Person,
            vidimus_store::InviteKind::Device => InviteKind::Device,
        },
        person: offer.person,
        name: offer.name,
        roles: offer.roles.iter().map(ToString::to_string).collect(),
        roster: offer.roster.map(|roster| roster.text),
        table: offer.table.toml,
        table_sha256: offer.table.table_sha256,
        now: offer.now,
        expires_at: offer.expires_at,
    }))
}

/// `POST /v1/enrolments`.
pub async fn enrol(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Json<EnrolmentAnswer>, Rejection> {
    gate.refuse_while_ending()?;
    let bytes = body::read(body, BODY_BYTES_MAX).await?;
    let (body, envelopes) = match EnrolmentRequest::parse(&bytes).and_then(|body| envelopes(&body).map(|envelopes| (body, envelopes))) {
        Ok(read) => read,
        // What cannot be read is on record too.
        Err(refusal) => return Err(refused(&gate, peer, refusal).await),
    };
    let Envelopes { approval, device, genesis } = envelopes;
    let code_sha256 = code_sha256(&body.code);
    let moment = gate.moment()?;
    let outcome = match genesis {
        Some(genesis) => {
            let enrolment = EnrolGenesis { code_sha256, label: body.label, approval, device, genesis };
            gate.store.enrol_genesis(moment, enrolment).await?
        }
        None => {
            let (call, request, salt) = (entropy::call_id(moment.now)?, entropy::request_id(moment.now)?, entropy::salt()?);
            let admission = ProposeAdmission { code_sha256, label: body.label, approval, device, call, request, salt };
            gate.store.propose_admission(moment, admission).await?
        }
    };
    match outcome {
        EnrolOutcome::Active { person } => Ok(Json(EnrolmentAnswer { state: EnrolmentState::Active, person, request: None })),
        EnrolOutcome::Waiting { person, request } => {
            Ok(Json(EnrolmentAnswer { state: EnrolmentState::Waiting, person, request: Some(request) }))
        }
        EnrolOutcome::Refused(refusal) => Err(refused(&gate, peer, refusal).await),
    }
}

/// The signed statements of an enrolment.
struct Envelopes {
    approval: Envelope,
    device: Envelope,
    genesis: Option<Envelope>,
}

fn envelopes(body: &EnrolmentRequest) -> Result<Envelopes, Refusal> {
    Ok(Envelopes {
        approval: envelope(&body.approval, "/approval")?,
        device: envelope(&body.device, "/device")?,
        genesis: body.genesis.as_ref().map(|genesis| envelope(genesis, "/genesis")).transpose()?,
    })
}

/// The refusal; on record as long as its address has not used up its window.
async fn refused(gate: &Gate, peer: Peer, refusal: Refusal) -> Rejection {
    match recorded(gate, peer, &refusal).await {
        Ok(()) => refusal.into(),
        Err(instead) => instead,
    }
}

async fn recorded(gate: &Gate, peer: Peer, refusal: &Refusal) -> Result<(), Rejection> {
    limit_failures(gate, peer)?;
    Ok(gate.store.refuse_enrolment(gate.moment()?, refusal.clone()).await?)
}

/// An envelope out of a body.
///
/// *Errors*: those of the envelope, with the member's path.
pub fn envelope(json: &RawJson, path: &str) -> Result<Envelope, Refusal> {
    Envelope::parse(json.get().as_bytes()).map_err(|refusal| match refusal.code {
        // Which part of an envelope is malformed is its maker's business; that it is none is said with its place.
        Code::FieldMissing | Code::FieldUnknown | Code::FieldMalformed => refusal.under(path),
        _ => refusal.at(path),
    })
}
