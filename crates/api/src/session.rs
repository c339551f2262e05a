//! Sessions on the wire: a challenge, signed by the device key.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::Refusal;
use vidimus_core::ids::PersonId;
use vidimus_core::time::Timestamp;

use crate::RawJson;
use crate::body::{members, parse_body, raw};
use crate::limits::BODY_BYTES_MAX;

/// The body of `POST /v1/sessions/challenges`.
#[derive(Debug, Clone, Serialize)]
pub struct SessionChallengeRequest {
    /// The device key, by its digest.
    pub key_sha256: Digest,
}

impl SessionChallengeRequest {
    /// Reads a body from outside.
    pub fn parse(body: &[u8]) -> Result<SessionChallengeRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["key_sha256"], &[])?;
        Ok(SessionChallengeRequest { key_sha256: json.fields()?.digest("key_sha256")? })
    }
}

/// A challenge to sign.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionChallenge {
    /// Used once.
    pub challenge: Nonce,
    /// What the statement's `issued_at` is copied from.
    pub issued_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// The body of `POST /v1/sessions`.
#[derive(Debug, Clone, Serialize)]
pub struct SessionRequest {
    /// The `session` statement.
    pub envelope: RawJson,
}

impl SessionRequest {
    /// Reads a body from outside. The envelope is judged by whoever verifies it.
    pub fn parse(body: &[u8]) -> Result<SessionRequest, Refusal> {
        let json = parse_body(body, BODY_BYTES_MAX)?;
        let json = members(&json, &["envelope"], &[])?;
        Ok(SessionRequest { envelope: raw(json.fields()?.value("envelope")?)? })
    }
}

/// An open session.
#[derive(Clone, Serialize, Deserialize)]
pub struct SessionAnswer {
    /// The bearer credential, `vds_…`; a secret.
    pub session: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Whose it is.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The person's roles now.
    pub roles: Vec<String>,
    /// The gate's clock.
    pub now: Timestamp,
}
