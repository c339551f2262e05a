//! A person without a desktop: enrols through the real enrolment, opens real sessions, signs real decisions.
//!
//! It does what the console does, with keys in memory instead of a keyring and nobody in front of it. What a test wants to
//! be wrong, it changes in the [`DecisionStatement`] before it signs.

use std::str::FromStr as _;

use vidimus_api::client::{ApproverClient, ClientError, GateClient};
use vidimus_api::enrolment::{EnrolmentRequest, EnrolmentState, Offer, OfferRequest};
use vidimus_api::invite::{Invite, InviteKind, code_sha256};
use vidimus_api::raw_json;
use vidimus_api::request::{ChallengeRequest, DecisionRequest, Denial, DenialKind, Receipt};
use vidimus_api::roster::{SignedStatement, StopAnswer};
use vidimus_api::session::{SessionAnswer, SessionChallengeRequest, SessionRequest};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::checkpoint;
use vidimus_core::code::Refusal;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Environment, GateId, Name, PersonId, RequestId};
use vidimus_core::recovery::Veto;
use vidimus_core::render;
use vidimus_core::roster::{Admission, KeyUse, Roster};
use vidimus_core::sign::{PublicKey, SecretKey};
use vidimus_core::statement::{Enrolment, Genesis, SessionStatement};
use vidimus_core::stop::Stop;
use vidimus_core::table::{Row, Table};
use vidimus_core::time::Timestamp;

/// The version that decisions name.
const APP_VERSION: &str = "approver 1";

/// Why a person could not do something.
#[derive(Debug, thiserror::Error)]
pub enum ApproverError {
    /// The gate refused, or was not reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A document of the gate's, or of ours, breaks a rule.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something that must be there is not.
    #[error("{0}")]
    Missing(&'static str),
}

impl ApproverError {
    /// The code that the gate refused with.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            ApproverError::Client(error) => error.code(),
            ApproverError::Refused(_) | ApproverError::Missing(_) => None,
        }
    }
}

/// A person with both keys.
pub struct Approver {
    /// The gate, without a session.
    pub gate: GateClient,
    /// The gate's id, pinned.
    pub gate_id: GateId,
    /// The gate's environment, pinned.
    pub environment: Environment,
    /// The gate's log key, pinned.
    pub log_key: PublicKey,
    /// Who.
    pub person: PersonId,
    /// The roles offered at enrolment.
    pub roles: Vec<String>,
    /// Whether the person may act, or the request that an admin has to sign.
    pub admission: Option<RequestId>,
    /// Signs decisions.
    pub approval: SecretKey,
    /// Signs sessions.
    pub device: SecretKey,
    session: Option<ApproverClient>,
}

impl Approver {
    /// Enrols by an invite at the gate at `url`, with keys made from `seed`. A founder's session is opened at once.
    ///
    /// # Errors
    /// When the gate refuses, or is another than the invite's.
    pub async fn enrol(url: &str, invite: &str, seed: u8) -> Result<Approver, ApproverError> {
        let invite = Invite::from_str(invite)?;
        let gate = GateClient::new(url)?;
        let offer = gate.offer(&OfferRequest { code: invite.code }).await?;
        if offer.gate != invite.gate || offer.environment != invite.environment || offer.log_key != invite.log_key {
            return Err(ApproverError::Missing("the offer is of another gate than the invite's"));
        }
        let (approval, device) = (SecretKey::from_seed(&[seed; 32]), SecretKey::from_seed(&[seed ^ 0x80; 32]));
        let label = format!("desktop {seed}");
        let body = enrolment(&invite, &offer, &label, &approval, &device)?;
        let answer = gate.enrol(&body).await?;
        let mut approver = Approver {
            gate,
            gate_id: offer.gate,
            environment: offer.environment,
            log_key: offer.log_key,
            person: answer.person,
            roles: offer.roles,
            admission: answer.request,
            approval,
            device,
            session: None,
        };
        if answer.state == EnrolmentState::Active {
            approver.open_session().await?;
        }
        Ok(approver)
    }

    /// Opens a session by a signed challenge.
    ///
    /// # Errors
    /// When the gate refuses: as long as the admission waits, with `key_waiting`.
    pub async fn open_session(&mut self) -> Result<SessionAnswer, ApproverError> {
        let session = self.new_session().await?;
        self.session = Some(self.gate.with_session(session.session.clone()));
        Ok(session)
    }

    /// The same person at the gate's new address, with a session of its own.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn at(mut self, url: &str) -> Result<Approver, ApproverError> {
        self.gate = GateClient::new(url)?;
        self.open_session().await?;
        Ok(self)
    }

    /// One more session, beside the one that is open.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn new_session(&self) -> Result<SessionAnswer, ApproverError> {
        let key_sha256 = self.device.public().digest();
        let challenge = self.gate.session_challenge(&SessionChallengeRequest { key_sha256 }).await?;
        let statement = SessionStatement {
            gate: self.gate_id,
            environment: self.environment,
            key_sha256,
            challenge: challenge.challenge,
            issued_at: challenge.issued_at,
        };
        let envelope = raw(&statement.sign(&self.device)?)?;
        Ok(self.gate.open_session(&SessionRequest { envelope }).await?)
    }

    /// Stops keys of a person, signed by a key of this one.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn stop(&self, person: PersonId, mut keys: Vec<Digest>, signer: &SecretKey) -> Result<StopAnswer, ApproverError> {
        keys.sort();
        let first = *keys.first().ok_or(ApproverError::Missing("a stop names a key"))?;
        let issued_at = Timestamp::MIN;
        let stop = Stop { gate: self.gate_id, environment: self.environment, person, keys, issued_at };
        Ok(self.gate.stop(&first, &SignedStatement { envelope: raw(&stop.sign(signer)?)? }).await?)
    }

    /// Objects to an announced recovery.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn veto(&self, recovery_sha256: Digest) -> Result<(), ApproverError> {
        let veto = Veto { gate: self.gate_id, environment: self.environment, recovery_sha256, issued_at: Timestamp::MIN };
        self.gate.veto(&recovery_sha256, &SignedStatement { envelope: raw(&veto.sign(&self.approval)?)? }).await?;
        Ok(())
    }

    /// The client with the open session.
    ///
    /// # Errors
    /// When no session was opened.
    pub fn client(&self) -> Result<&ApproverClient, ApproverError> {
        self.session.as_ref().ok_or(ApproverError::Missing("no session is open; open one first"))
    }

    /// An honest statement about a request, over a fresh challenge, not signed yet.
    ///
    /// # Errors
    /// When the gate refuses the challenge, or what it shows does not fit together.
    pub async fn statement(&self, request: RequestId, decision: DecisionKind, role: &str) -> Result<DecisionStatement, ApproverError> {
        let client = self.client()?;
        let detail = client.request_detail(&request).await?;
        let frozen = FrozenRequest::parse(detail.frozen.as_bytes())?;
        let table = Table::parse(&client.table().await?.table).map_err(|_| ApproverError::Missing("the gate's table does not load"))?;
        let row = table.row(&frozen.members().tool).ok_or(ApproverError::Missing("the tool has no row any more"))?;
        self.statement_on(&frozen, row, decision, role).await
    }

    /// The same about frozen bytes and a row that this person has already: a console has them from its copy of the log.
    ///
    /// # Errors
    /// When the gate refuses the challenge, or what it shows does not fit together.
    pub async fn statement_on(
        &self,
        frozen: &FrozenRequest,
        row: &Row,
        decision: DecisionKind,
        role: &str,
    ) -> Result<DecisionStatement, ApproverError> {
        let members = frozen.members();
        let key_sha256 = self.approval.public().digest();
        let challenge = self.client()?.challenge(&members.request, &ChallengeRequest { key_sha256 }).await?;
        let verified = checkpoint::parse_verify(&challenge.checkpoint, &self.gate_id.to_string(), &self.log_key)?;
        let head = verified.checkpoint();
        Ok(DecisionStatement {
            gate: self.gate_id,
            gate_key_sha256: self.log_key.digest(),
            environment: self.environment,
            request: members.request,
            request_sha256: frozen.request_sha256(),
            args_sha256: frozen.args_sha256(),
            tool: members.tool.clone(),
            decision,
            approver: self.person,
            key_sha256,
            role: Name::parse(role)?,
            row_sha256: row.digest(),
            roster_sha256: challenge.roster_sha256,
            shown_sha256: render::frozen_shown_sha256(frozen, row)?,
            context_sha256: None,
            challenge: challenge.challenge,
            checkpoint: CheckpointRef { size: head.size(), root: *head.root() },
            reason_sha256: None,
            app_version: APP_VERSION.to_owned(),
            issued_at: challenge.issued_at,
            expires_at: challenge.expires_at,
        })
    }

    /// Signs a statement with the approval key and hands it in as it is.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn hand_in(&self, request: RequestId, statement: &DecisionStatement) -> Result<Receipt, ApproverError> {
        self.hand_in_envelope(request, &statement.sign(&self.approval)?).await
    }

    /// Hands in an envelope, whoever signed it.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn hand_in_envelope(&self, request: RequestId, envelope: &Envelope) -> Result<Receipt, ApproverError> {
        let body = DecisionRequest { envelope: raw(envelope)?, reason: None, reason_salt: None, context: None, denial: None };
        Ok(self.client()?.decide(&request, &body).await?)
    }

    /// Approves a request in a role.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn approve(&self, request: RequestId, role: &str) -> Result<Receipt, ApproverError> {
        let statement = self.statement(request, DecisionKind::Approve, role).await?;
        self.hand_in(request, &statement).await
    }

    /// Denies a request in a role, with the words that its agent will read.
    ///
    /// # Errors
    /// When the gate refuses.
    pub async fn deny(&self, request: RequestId, role: &str, kind: DenialKind, note: &str) -> Result<Receipt, ApproverError> {
        let denial = Denial { kind, note: note.to_owned() };
        let salt = Salt::from_bytes(*Digest::of(request.to_string().as_bytes()).as_bytes());
        let mut statement = self.statement(request, DecisionKind::Deny, role).await?;
        statement.reason_sha256 = Some(reason_sha256(&salt, &denial.reason()?));
        let envelope = raw(&statement.sign(&self.approval)?)?;
        let body = DecisionRequest { envelope, reason: None, reason_salt: Some(salt), context: None, denial: Some(denial) };
        Ok(self.client()?.decide(&request, &body).await?)
    }
}

/// The statements of an enrolment, each signed by the key that it speaks of.
///
/// # Errors
/// When the offer does not make a roster.
pub fn enrolment(
    invite: &Invite,
    offer: &Offer,
    label: &str,
    approval: &SecretKey,
    device: &SecretKey,
) -> Result<EnrolmentRequest, ApproverError> {
    let invite_sha256 = code_sha256(&invite.code);
    let proof = |key_use: KeyUse, key: &SecretKey| {
        let statement = Enrolment {
            gate: offer.gate,
            environment: offer.environment,
            invite_sha256: Some(invite_sha256),
            key_use,
            key: key.public(),
            person: offer.person,
            name: offer.name.clone(),
            label: label.to_owned(),
            issued_at: offer.now,
        };
        raw(&statement.sign(key)?)
    };
    let genesis = match offer.kind {
        InviteKind::Person | InviteKind::Device => None,
        InviteKind::Genesis => {
            let first = Admission {
                person: offer.person,
                name: offer.name.clone(),
                roles: offer.roles.iter().map(|role| Name::parse(role)).collect::<Result<_, _>>()?,
                approval_key: approval.public(),
                device_key: device.public(),
                label: label.to_owned(),
            };
            let roster = Roster::genesis(offer.environment, offer.log_key, offer.token_key, offer.recovery_key, &first)?;
            let genesis = Genesis { roster, table_sha256: offer.table_sha256, invite_sha256, issued_at: offer.now };
            Some(raw(&genesis.sign(approval)?)?)
        }
    };
    Ok(EnrolmentRequest {
        code: invite.code,
        label: label.to_owned(),
        approval: proof(KeyUse::Approval, approval)?,
        device: proof(KeyUse::Device, device)?,
        genesis,
    })
}

/// An envelope as it stands in a body.
///
/// # Errors
/// When it has no canonical form, which one of ours always has.
pub fn raw(envelope: &Envelope) -> Result<vidimus_api::RawJson, ApproverError> {
    let text = String::from_utf8(envelope.to_json().canonical()?).map_err(|_| ApproverError::Missing("the envelope is not text"))?;
    raw_json(text).map_err(|_| ApproverError::Missing("the envelope is not JSON"))
}
