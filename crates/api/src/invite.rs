//! The invite: one line that a person pastes into the console, which pins the gate before anything is sent to it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::{Digest, Nonce, base64url_decode, base64url_encode};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{Environment, GateId, PersonId};
use vidimus_core::json::{Fields, Json, Limits, parse_canonical};
use vidimus_core::sign::PublicKey;
use vidimus_core::time::Timestamp;

use crate::limits::INVITE_BYTES_MAX;

const PREFIX: &str = "vidimus-invite-";

/// How statements and the gate name an invite: SHA-256 of the code's text.
pub fn code_sha256(code: &Nonce) -> Digest {
    Digest::of(code.to_string().as_bytes())
}

/// What an invite is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InviteKind {
    /// The first admin: founds the roster.
    Genesis,
    /// A further person: joins it.
    Person,
    /// A further desktop of a person in the roster.
    Device,
}

impl InviteKind {
    /// The kind as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            InviteKind::Genesis => "genesis",
            InviteKind::Person => "person",
            InviteKind::Device => "device",
        }
    }
}

impl FromStr for InviteKind {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<InviteKind, Refusal> {
        [InviteKind::Genesis, InviteKind::Person, InviteKind::Device]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Refusal::new(Code::FieldMalformed, "the kind of the invite is unknown; update this program"))
    }
}

/// An invite, as it is handed to a person. Its code is a secret until it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct Invite {
    /// Where the gate is reached.
    pub url: String,
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// Its log key; the gate's id is this key's digest.
    pub log_key: PublicKey,
    /// The code: the gate keeps its digest only.
    pub code: Nonce,
    /// What it is for.
    pub kind: InviteKind,
    /// Whose desktop it is for; none but for a device.
    pub person: Option<PersonId>,
    /// The person's name.
    pub name: String,
    /// The roles offered.
    pub roles: Vec<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Invite {
    /// The one line.
    ///
    /// *Errors*: none for text; those of canonical form else.
    pub fn to_line(&self) -> Result<String, Refusal> {
        let json = Json::object([
            ("v", 1_u32.into()),
            ("url", self.url.as_str().into()),
            ("gate", self.gate.to_string().into()),
            ("environment", self.environment.as_str().into()),
            ("log_key", self.log_key.into()),
            ("code", self.code.into()),
            ("kind", self.kind.as_str().into()),
            ("person", self.person.map(|person| person.to_string()).into()),
            ("name", self.name.as_str().into()),
            ("roles", Json::array(self.roles.iter().map(String::as_str))),
            ("expires_at", self.expires_at.into()),
        ]);
        Ok(format!("{PREFIX}{}", base64url_encode(json.canonical()?)))
    }
}

impl FromStr for Invite {
    type Err = Refusal;

    /// Reads the one line; white space around it is ignored, since it is pasted by hand.
    ///
    /// *Errors*: `field_malformed` for a line that is no invite or whose gate id is not of its log key, and those of the
    /// document's members.
    fn from_str(line: &str) -> Result<Invite, Refusal> {
        let line = line.trim();
        let malformed =
            || Refusal::new(Code::FieldMalformed, format!("this is not an invite; copy the whole line that begins with `{PREFIX}`"));
        let encoded = line.strip_prefix(PREFIX).filter(|_| line.len() <= INVITE_BYTES_MAX).ok_or_else(malformed)?;
        let bytes = base64url_decode(encoded).map_err(|_| malformed())?;
        let json = parse_canonical(&bytes, &Limits::MONEY)?;
        let names = ["v", "url", "gate", "environment", "log_key", "code", "kind", "person", "name", "roles", "expires_at"];
        let fields = Fields::exactly(&json, &names)?;
        if fields.integer("v")? != 1 {
            return Err(
                Refusal::new(Code::FieldMalformed, "the invite is of a version that this program does not know; update it").at("/v")
            );
        }
        let invite = Invite {
            url: fields.string("url")?.to_owned(),
            gate: fields.parsed("gate")?,
            environment: fields.parsed("environment")?,
            log_key: fields.parsed("log_key")?,
            code: fields.nonce("code")?,
            kind: fields.parsed("kind")?,
            person: fields.optional_parsed("person")?,
            name: fields.string("name")?.to_owned(),
            roles: fields.strings("roles")?.into_iter().map(str::to_owned).collect(),
            expires_at: fields.timestamp("expires_at")?,
        };
        if GateId::of(&invite.log_key) != invite.gate {
            return Err(
                Refusal::new(Code::FieldMalformed, "the invite's gate is not the one of its key; ask for another invite").at("/gate")
            );
        }
        if (invite.kind == InviteKind::Device) != invite.person.is_some() {
            return Err(Refusal::new(Code::FieldMalformed, "an invite names a person exactly where it is for a desktop; ask for another")
                .at("/person"));
        }
        Ok(invite)
    }
}

impl fmt::Debug for Invite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invite").field("gate", &self.gate).field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vidimus_core::sign::SecretKey;

    fn invite() -> Invite {
        let log_key = SecretKey::from_seed(&[1; 32]).public();
        Invite {
            url: "http://127.0.0.1:1".to_owned(),
            gate: GateId::of(&log_key),
            environment: Environment::Test,
            log_key,
            code: Nonce::from_bytes([2; 32]),
            kind: InviteKind::Person,
            person: None,
            name: "Ada Example".to_owned(),
            roles: vec!["admin".to_owned()],
            expires_at: Timestamp::MIN.plus_s(60),
        }
    }

    #[test]
    fn an_invite_reads_back() {
        let line = invite().to_line().expect("an invite is text");
        assert_eq!(format!(" {line}\n").parse(), Ok(invite()));
        let device = Invite { kind: InviteKind::Device, person: Some(PersonId::from_random([4; 16])), ..invite() };
        assert_eq!(device.to_line().expect("an invite is text").parse(), Ok(device.clone()));
        let nobodys = Invite { person: None, ..device }.to_line().expect("an invite is text");
        assert_eq!(nobodys.parse::<Invite>().expect_err("nobody's desktop").path.as_deref(), Some("/person"));
    }

    #[test]
    fn another_gate_under_the_same_key_is_refused() {
        let mut other = invite();
        other.gate = GateId::of(&SecretKey::from_seed(&[3; 32]).public());
        let line = other.to_line().expect("an invite is text");
        assert_eq!(line.parse::<Invite>().expect_err("another gate").path.as_deref(), Some("/gate"));
        for broken in ["", "vidimus-invite-", "vidimus-invite-e30", &line[..line.len() - 1], &line.replace("vidimus-invite-", "")] {
            assert!(broken.parse::<Invite>().is_err(), "`{broken}`");
        }
    }
}
