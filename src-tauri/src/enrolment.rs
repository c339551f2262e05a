//! Who this console is at which gate: read from an invite, proven with two keys made here, kept in
//! the profile so that an interrupted enrolment goes on where it stood.
//!
//! Owns the enrolment file and its steps. It must not know windows.

use serde::{Deserialize, Serialize};
use vidimus_api::client::{ClientError, GateClient};
use vidimus_api::enrolment::{EnrolmentRequest, EnrolmentState, Offer, OfferRequest};
use vidimus_api::invite::{Invite, InviteKind};
use vidimus_api::raw_json;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::Refusal;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId, Name, PersonId};
use vidimus_core::roster::{Admission, KeyUse, Roster};
use vidimus_core::sign::{PublicKey, SecretKey};
use vidimus_core::statement::{Enrolment, Genesis};

use crate::keys::{Binding, DeviceBlob, KeyError, Keyring, Pin, SealedKey, Seed};
use crate::mirror::GateIdentity;
use crate::profile::{Profile, write_whole};
use crate::seams::{self, Seam};

/// What is kept of an enrolment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum Kept {
    /// An invite was read; no key is made yet.
    Invited { invite: String },
    /// Keys are being made: what the keyring holds for this gate is from here, and was never handed in.
    Making { invite: String, gate: GateId, device_key: PublicKey },
    /// The keys are in the keyring; the gate has them only if they were sent.
    Made {
        membership: Membership,
        hand_in: HandIn,
        /// Whether the person confirmed it, so that it is sent again until it is answered.
        #[serde(default)]
        sent: bool,
    },
    /// The gate has them; an admin has to confirm.
    Waiting { membership: Membership, request: Option<String> },
    /// The keys count.
    Active { membership: Membership },
}

/// The pinned gate, and this desktop's place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    pub url: String,
    pub gate: GateId,
    pub environment: Environment,
    pub log_key: PublicKey,
    /// The roster that was shown at enrolment, or that this person founded.
    pub roster_sha256: Option<Digest>,
    pub person: PersonId,
    pub name: String,
    pub roles: Vec<String>,
    pub label: String,
    pub approval_key: PublicKey,
    pub device_key: PublicKey,
}

/// What the gate is handed: signed already, so that it can be sent again without the PIN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandIn {
    code: Nonce,
    approval: String,
    device: String,
    genesis: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnrolmentFault {
    #[error(transparent)]
    Invite(#[from] Refusal),
    #[error("the gate at this address is not the one that the invite names")]
    OtherGate,
    #[error(transparent)]
    Gate(#[from] ClientError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the enrolment cannot be kept in the profile")]
    Unwritable(#[from] std::io::Error),
}

impl Membership {
    pub fn identity(&self) -> GateIdentity {
        GateIdentity { gate: self.gate, environment: self.environment, log_key: self.log_key, roster_sha256: self.roster_sha256 }
    }

    pub fn binding(&self, profile: &Profile) -> Binding {
        Binding::new(profile.digest(), &self.gate.to_string())
    }
}

impl Kept {
    /// What is kept in the profile, if an enrolment was begun.
    pub fn load(profile: &Profile) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(profile.enrolment_file()).ok()?).ok()
    }

    pub fn save(&self, profile: &Profile) -> Result<(), EnrolmentFault> {
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?;
        Ok(write_whole(&profile.enrolment_file(), &bytes)?)
    }

    pub fn discard(profile: &Profile) -> Result<(), EnrolmentFault> {
        match std::fs::remove_file(profile.enrolment_file()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Whether there is a gate to be followed: not while a person has still to say that the keys are to be handed in.
    pub fn is_followed(&self) -> bool {
        match self {
            Self::Invited { .. } | Self::Making { .. } | Self::Made { sent: false, .. } => false,
            Self::Made { sent: true, .. } | Self::Waiting { .. } | Self::Active { .. } => true,
        }
    }

    /// The gate and place, once keys are made.
    pub fn membership(&self) -> Option<&Membership> {
        match self {
            Self::Invited { .. } | Self::Making { .. } => None,
            Self::Made { membership, .. } | Self::Waiting { membership, .. } | Self::Active { membership } => Some(membership),
        }
    }
}

/// Reads an invite and asks its gate what it offers. Refuses a gate that is not the invite's.
pub async fn look_up(line: &str) -> Result<(Invite, Offer), EnrolmentFault> {
    let invite: Invite = line.parse()?;
    let offer = GateClient::new(&invite.url)?.offer(&OfferRequest { code: invite.code }).await?;
    let same = offer.gate == invite.gate
        && offer.environment == invite.environment
        && offer.log_key == invite.log_key
        && GateId::of(&offer.log_key) == offer.gate
        && offer.kind == invite.kind;
    if same { Ok((invite, offer)) } else { Err(EnrolmentFault::OtherGate) }
}

/// Fresh random bytes for two keys and a seal.
pub struct Randomness {
    pub approval: Seed,
    pub device: Seed,
    pub salt: [u8; 16],
    pub nonce: [u8; 24],
}

/// Makes both keys, keeps them in the keyring, and signs what proves that they are here.
pub fn make_keys(
    profile: &Profile,
    keyring: &Keyring,
    invite: &Invite,
    offer: &Offer,
    label: &str,
    pin: &Pin,
    random: &Randomness,
) -> Result<Kept, EnrolmentFault> {
    let binding = Binding::new(profile.digest(), &offer.gate.to_string());
    let approval = SecretKey::from_seed(&random.approval);
    let device = SecretKey::from_seed(&random.device);
    let (hand_in, roster_sha256) = hand_in(invite, offer, label, &approval, &device)?;
    let sealed = SealedKey::seal(&random.approval, pin, &binding, random.salt, random.nonce);
    keyring.vacant(&binding)?;
    Kept::Making { invite: invite.to_line()?, gate: offer.gate, device_key: device.public() }.save(profile)?;
    keyring.store(&binding, &sealed, &DeviceBlob::new(&random.device, &binding))?;
    seams::pass(Seam::EnrolmentKeysStored);
    let membership = Membership {
        url: invite.url.clone(),
        gate: offer.gate,
        environment: offer.environment,
        log_key: offer.log_key,
        roster_sha256: Some(roster_sha256),
        person: offer.person,
        name: offer.name.clone(),
        roles: offer.roles.clone(),
        label: label.to_owned(),
        approval_key: approval.public(),
        device_key: device.public(),
    };
    let kept = Kept::Made { membership, hand_in, sent: false };
    if let Err(error) = kept.save(profile) {
        // Keys that nothing names would block the next try.
        keyring.remove(&binding)?;
        return Err(error);
    }
    Ok(kept)
}

/// Removes what a making of keys that was cut left in the keyring. Keys of anybody else stay. Blocks on the keyring.
pub fn clear_unfinished(profile: &Profile, keyring: &Keyring, gate: &GateId, device_key: &PublicKey) -> Result<(), KeyError> {
    let binding = Binding::new(profile.digest(), &gate.to_string());
    match keyring.device_key(&binding) {
        Ok(seed) if SecretKey::from_seed(&seed).public() != *device_key => Ok(()),
        // The place was vacant when the making began: an approval key without its device key is of that making too.
        Ok(_) | Err(KeyError::Missing) => keyring.remove(&binding),
        Err(error) => Err(error),
    }
}

fn hand_in(
    invite: &Invite,
    offer: &Offer,
    label: &str,
    approval: &SecretKey,
    device: &SecretKey,
) -> Result<(HandIn, Digest), EnrolmentFault> {
    let invite_sha256 = Digest::of(invite.code.to_string().as_bytes());
    let statement = |key_use: KeyUse, key: &SecretKey| {
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
        statement.sign(key)
    };
    let (genesis, roster_sha256) = match offer.kind {
        InviteKind::Genesis => {
            let roles = offer.roles.iter().map(|role| Name::parse(role)).collect::<Result<_, _>>()?;
            let first = Admission {
                person: offer.person,
                name: offer.name.clone(),
                roles,
                approval_key: approval.public(),
                device_key: device.public(),
                label: label.to_owned(),
            };
            let roster = Roster::genesis(offer.environment, offer.log_key, offer.token_key, offer.recovery_key, &first)?;
            let digest = roster.digest()?;
            let genesis = Genesis { roster, table_sha256: offer.table_sha256, invite_sha256, issued_at: offer.now };
            (Some(text_of(&genesis.sign(approval)?)?), digest)
        }
        InviteKind::Person | InviteKind::Device => {
            let text = offer.roster.as_deref().ok_or(EnrolmentFault::OtherGate)?;
            (None, Roster::parse(text.as_bytes())?.digest()?)
        }
    };
    let hand_in = HandIn {
        code: invite.code,
        approval: text_of(&statement(KeyUse::Approval, approval)?)?,
        device: text_of(&statement(KeyUse::Device, device)?)?,
        genesis,
    };
    Ok((hand_in, roster_sha256))
}

fn text_of(envelope: &Envelope) -> Result<String, EnrolmentFault> {
    let bytes = envelope.to_json().canonical()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Hands the signed statements to the gate, and keeps what it answered.
pub async fn send(profile: &Profile, membership: &Membership, hand_in: &HandIn) -> Result<Kept, EnrolmentFault> {
    let raw = |text: &str| raw_json(text.to_owned()).map_err(|error| EnrolmentFault::Unwritable(error.into()));
    let body = EnrolmentRequest {
        code: hand_in.code,
        label: membership.label.clone(),
        approval: raw(&hand_in.approval)?,
        device: raw(&hand_in.device)?,
        genesis: hand_in.genesis.as_deref().map(raw).transpose()?,
    };
    let answer = GateClient::new(&membership.url)?.enrol(&body).await?;
    seams::pass(Seam::EnrolmentSent);
    let membership = membership.clone();
    let kept = match answer.state {
        EnrolmentState::Active => Kept::Active { membership },
        EnrolmentState::Waiting => Kept::Waiting { membership, request: answer.request.map(|request| request.to_string()) },
    };
    kept.save(profile)?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Log;

    #[test]
    fn only_what_a_person_confirmed_is_handed_in_by_itself() {
        let (console, _directory) = Log::founded(&[]).console();
        let membership = console.membership().unwrap();
        let hand_in = HandIn { code: Nonce::from_bytes([7; 32]), approval: "{}".to_owned(), device: "{}".to_owned(), genesis: None };
        let made = |sent| Kept::Made { membership: membership.clone(), hand_in: hand_in.clone(), sent };
        assert!(!made(false).is_followed() && made(true).is_followed());
        assert!(!Kept::Making { invite: String::new(), gate: membership.gate, device_key: membership.device_key }.is_followed());
        // As it was kept before it said whether it was sent.
        let mut text = serde_json::to_value(made(true)).unwrap();
        text.as_object_mut().unwrap().remove("sent");
        assert_eq!(serde_json::from_value::<Kept>(text).unwrap(), made(false));
    }
}
