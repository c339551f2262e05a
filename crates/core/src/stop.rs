//! "Stop this key": who may say so, and what follows. No challenge and no quorum: a stop is never too late and harms nobody
//! who sends it twice, so nothing stands between a stolen desktop and its end.

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::dsse::Envelope;
use crate::ids::{Environment, GateId, PersonId};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::STOPPED_KEYS_MAX;
use crate::roster::{ADMIN, KeyUse, Roster};
use crate::sign::SecretKey;
use crate::statement::same_gate;
use crate::time::Timestamp;

/// Payload type of a stop.
pub const STOP_TYPE: &str = "application/vnd.vidimus.stop.v1+json";

/// Keys of one person that are to count for nothing from now on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Whose keys they are.
    pub person: PersonId,
    /// The keys, in the order of their digests.
    pub keys: Vec<Digest>,
    /// When it was signed, by the signer's clock; it decides nothing.
    pub issued_at: Timestamp,
}

impl Stop {
    /// Signs the statement.
    pub fn sign(&self, key: &SecretKey) -> Result<Envelope, Refusal> {
        let keys: Vec<Json> = self.keys.iter().map(|key| key.to_string().into()).collect();
        let payload = Json::object([
            ("v", 1_u32.into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("person", self.person.to_string().into()),
            ("keys", keys.into()),
            ("issued_at", self.issued_at.to_string().into()),
        ]);
        Ok(Envelope::sign(STOP_TYPE, &payload.canonical()?, key))
    }

    fn parse(payload: &[u8]) -> Result<Stop, Refusal> {
        let json = parse_canonical(payload, &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, &["v", "gate", "environment", "person", "keys", "issued_at"])?;
        fields.version(1)?;
        let keys: Vec<Digest> = fields.strings("keys")?.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        if keys.is_empty() || keys.len() > STOPPED_KEYS_MAX || !keys.is_sorted_by(|one, next| one < next) {
            let message = format!("a stop names 1 to {STOPPED_KEYS_MAX} distinct keys in the order of their digests; sort them");
            return Err(Refusal::new(Code::FieldMalformed, message).at("/keys"));
        }
        Ok(Stop {
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            person: fields.parsed("person")?,
            keys,
            issued_at: fields.parsed("issued_at")?,
        })
    }
}

/// The stop rule: what a signed stop does to a roster at this time. No roster follows where the keys are stopped already.
///
/// *Errors*, in this order: those of a strict document, `key_unknown` (the signer), `signature_invalid` and the others of an
/// envelope, `gate_wrong`, `environment_wrong`; `role_not_held` for another person's key without being admin, `key_use_wrong` for
/// an admin's device key, `key_stopped` for a signer that counts for nothing; `key_unknown` (a key named), `last_admin`.
pub fn stopped_roster(envelope: &Envelope, roster: &Roster, at: Timestamp) -> Result<(Stop, Option<Roster>), Refusal> {
    let stop = Stop::parse(envelope.danger_unverified_payload())?;
    let signer = envelope.key_digest();
    let holder = roster
        .key(&signer)
        .ok_or_else(|| Refusal::new(Code::KeyUnknown, format!("the key `{signer}` is not enrolled; sign with one that is")))?;
    envelope.clone().verify(STOP_TYPE, &holder.key.key)?;
    same_gate(&stop.gate, stop.environment, roster)?;
    let next = roster.with_stopped(&stop.person, &stop.keys, at);
    if holder.person.person != stop.person {
        if !holder.person.roles.iter().any(|role| role.as_str() == ADMIN) {
            let message = format!("only the person whose key it is, or an `{ADMIN}`, stops a key; ask one of them");
            return Err(Refusal::new(Code::RoleNotHeld, message).at("/person"));
        }
        if holder.key.key_use != KeyUse::Approval {
            let message = "an admin stops another person's key with the approval key; sign with that one";
            return Err(Refusal::new(Code::KeyUseWrong, message));
        }
    }
    match (next, holder.key.stopped_at) {
        // Asked again after an answer that was lost: the signer may be the very key that it stopped.
        (Ok(None), _) => Ok((stop, None)),
        (Ok(Some(_)) | Err(_), Some(stopped_at)) => {
            Err(Refusal::new(Code::KeyStopped, format!("the signing key was stopped at {stopped_at}; sign with another one")))
        }
        (Ok(Some(next)), None) => Ok((stop, Some(next))),
        (Err(refusal), None) => Err(refusal),
    }
}
