//! `recover`: shows whom a waiting request would admit; signs that with the offline key, here, once its keys and roles were named,
//! and hands the gate the statement. The key goes nowhere else.
//!
//! Whoever answers on the socket chooses what is shown. What is signed is therefore compared with what the keeper of the key has
//! from the person who enrols.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use vidimus_core::bytes::{Digest, base64url_decode};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::Name;
use vidimus_core::json::{Limits, parse_canonical};
use vidimus_core::recovery::{Recovery, admission_from_json};
use vidimus_core::roster::Admission;
use vidimus_core::sign::SecretKey;

use super::{Outcome, refused, say};
use crate::admin::{self, AdminCommand, AdminReply, WaitingAdmission};
use crate::cli::Recover;
use crate::clock;
use crate::limits::RECOVERY_LINE_BYTES_MAX;

/// How `init` prints the key.
pub const PREFIX: &str = "vidimus-recovery-";

/// Why nothing was recovered.
#[derive(Debug, thiserror::Error)]
enum RecoverError {
    #[error("`{0}` cannot be read; give the file with the recovery key, or `-` for standard input")]
    Unreadable(String, #[source] std::io::Error),
    #[error("this is no recovery key; give the one line that begins with `{PREFIX}`, as `init` printed it")]
    NoKey,
    #[error("the gate answered something else; use the program of the running gate")]
    OtherAnswer,
}

pub(super) async fn run(recover: Recover) -> Outcome {
    let key = recover.key.as_deref().map(key).transpose()?;
    let waiting = match admin::ask(&recover.data, AdminCommand::WaitingAdmission { request: recover.request }).await? {
        AdminReply::Admission(waiting) => waiting,
        AdminReply::Refused { code, message } => return refused(&code, &message),
        _ => return Err(RecoverError::OtherAnswer.into()),
    };
    let admission = admission_from_json(&parse_canonical(waiting.admission.as_bytes(), &Limits::STATEMENT)?)?;
    say(&shown(&waiting, &admission))?;
    let Some(key) = key else {
        say(
            "nothing is signed; compare the fingerprints with what stands in that person's own window, then give --key, both as --fingerprint, and each role as --role",
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Err(refusal) = confirm(&admission, &recover.fingerprints, &recover.roles) {
        return refused(refusal.code.as_str(), &refusal.message);
    }
    let envelope = sign(&waiting, admission, &key)?;
    match admin::ask(&recover.data, AdminCommand::AnnounceRecovery { envelope }).await? {
        AdminReply::RecoveryAnnounced { recovery_sha256, effective_at } => {
            say(&format!(
                "the recovery `{recovery_sha256}` is announced to everybody; `{}` is admitted at {effective_at}",
                recover.request
            ))?;
            say("any admin may object until then, in the console's window for keys")?;
            Ok(ExitCode::SUCCESS)
        }
        AdminReply::Refused { code, message } => refused(&code, &message),
        _ => Err(RecoverError::OtherAnswer.into()),
    }
}

/// Whom the request would admit. Texts are escaped: a name must not write on the terminal, or turn the line around.
fn shown(waiting: &WaitingAdmission, admission: &Admission) -> String {
    let roles: Vec<&str> = admission.roles.iter().map(Name::as_str).collect();
    format!(
        "gate          {} ({})\nperson        {:?} ({})\nroles         {}\ndesktop       {:?}\napproval key  {}\ndevice key    {}",
        waiting.gate,
        waiting.environment,
        admission.name,
        admission.person,
        roles.join(", "),
        admission.label,
        grouped(&admission.approval_key.digest()),
        grouped(&admission.device_key.digest()),
    )
}

/// As consoles write it: eight groups of eight digits.
fn grouped(fingerprint: &Digest) -> String {
    let digits: Vec<char> = fingerprint.to_string().chars().collect();
    digits.chunks(GROUP_DIGITS).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// Digits of a fingerprint that stand together. *Unit*: digits.
const GROUP_DIGITS: usize = 8;

/// Whether the keeper of the recovery key named both keys and every role of this admission, and nothing else.
///
/// *Errors*: `digest_malformed`, `recovery_unconfirmed`.
fn confirm(admission: &Admission, fingerprints: &[String], roles: &[Name]) -> Result<(), Refusal> {
    let mut named = BTreeSet::new();
    for fingerprint in fingerprints {
        let digits: String = fingerprint.chars().filter(|digit| !digit.is_whitespace()).collect();
        named.insert(digits.to_ascii_lowercase().parse::<Digest>()?);
    }
    let keys = BTreeSet::from([admission.approval_key.digest(), admission.device_key.digest()]);
    if named != keys {
        let message = "the fingerprints are not those of the two keys that this request would admit; nothing is signed: ask the person who enrols what stands in their window";
        return Err(Refusal::new(Code::RecoveryUnconfirmed, message));
    }
    if BTreeSet::from_iter(roles.iter().cloned()) != admission.roles {
        let message = "the roles are not those that this request asks for; nothing is signed: look who asks for them";
        return Err(Refusal::new(Code::RecoveryUnconfirmed, message));
    }
    Ok(())
}

fn sign(waiting: &WaitingAdmission, admission: Admission, key: &SecretKey) -> Result<String, Box<dyn std::error::Error>> {
    let recovery = Recovery { gate: waiting.gate, environment: waiting.environment, admission, issued_at: clock::now() };
    Ok(String::from_utf8(recovery.sign(key)?.to_json().canonical()?)?)
}

fn key(file: &Path) -> Result<SecretKey, RecoverError> {
    let unreadable = |source| RecoverError::Unreadable(file.display().to_string(), source);
    let mut line = String::new();
    let limit = RECOVERY_LINE_BYTES_MAX as u64;
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_string(&mut line).map_err(unreadable)?;
    } else {
        fs::File::open(file).map_err(unreadable)?.take(limit).read_to_string(&mut line).map_err(unreadable)?;
    }
    let seed = line.trim().strip_prefix(PREFIX).and_then(|encoded| base64url_decode(encoded).ok());
    let seed: [u8; 32] = seed.and_then(|seed| seed.try_into().ok()).ok_or(RecoverError::NoKey)?;
    Ok(SecretKey::from_seed(&seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vidimus_core::bytes::base64url_encode;

    #[test]
    fn the_key_is_the_line_that_init_prints() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        let public = |text: &str| {
            fs::write(&file, text).expect("written");
            key(&file).map(|key| key.public()).map_err(|error| error.to_string())
        };
        let line = format!("{PREFIX}{}", base64url_encode([7; 32]));
        assert_eq!(public(&format!(" {line}\n")), Ok(SecretKey::from_seed(&[7; 32]).public()));
        for broken in ["", PREFIX, &line[..line.len() - 2], &line.replace(PREFIX, "")] {
            assert!(public(broken).is_err(), "`{broken}`");
        }
        assert!(matches!(key(&folder.path().join("none")), Err(RecoverError::Unreadable(..))));
    }

    fn admission() -> Admission {
        Admission {
            person: "psn_00000000000000000000000001".parse().expect("an id"),
            name: "Lou \u{202e}Example".to_owned(),
            roles: BTreeSet::from(["admin", "payer"].map(name)),
            approval_key: SecretKey::from_seed(&[1; 32]).public(),
            device_key: SecretKey::from_seed(&[2; 32]).public(),
            label: "Lou's desktop".to_owned(),
        }
    }

    fn name(name: &str) -> Name {
        Name::parse(name).expect("a name")
    }

    #[test]
    fn what_is_signed_has_the_keys_and_the_roles_that_were_named() {
        let admission = admission();
        let (approval, device) = (admission.approval_key.digest(), admission.device_key.digest());
        let other = SecretKey::from_seed(&[3; 32]).public().digest();
        let roles = ["admin", "payer"].map(name);
        let code = |named: &[String], roles: &[Name]| confirm(&admission, named, roles).map_err(|refusal| refusal.code);
        let plain = [approval.to_string(), device.to_string()];
        assert_eq!(code(&plain, &roles), Ok(()));
        assert_eq!(code(&[grouped(&device).to_uppercase(), grouped(&approval)], &[roles[1].clone(), roles[0].clone()]), Ok(()));
        for named in [
            vec![],
            vec![approval],
            vec![device],
            vec![approval, approval],
            vec![approval, other],
            vec![other, device],
            vec![approval, device, other],
        ] {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            assert_eq!(code(&named, &roles), Err(Code::RecoveryUnconfirmed), "{named:?}");
        }
        for roles in [&[][..], &roles[..1], &roles[1..], &["admin", "payer", "auditor"].map(name)] {
            assert_eq!(code(&plain, roles), Err(Code::RecoveryUnconfirmed), "{roles:?}");
        }
        assert_eq!(code(&[plain[0][..63].to_owned(), plain[1].clone()], &roles), Err(Code::DigestMalformed));
    }

    #[test]
    fn a_name_does_not_write_on_the_terminal() {
        let admission = Admission { name: "Lou\u{1b}[2K\u{202e}".to_owned(), ..admission() };
        let gate = vidimus_core::ids::GateId::of(&SecretKey::from_seed(&[4; 32]).public());
        let waiting = WaitingAdmission { gate, environment: vidimus_core::ids::Environment::Test, admission: String::new() };
        let shown = shown(&waiting, &admission);
        for part in
            ["Lou\\u{1b}[2K\\u{202e}", "admin, payer", &grouped(&admission.approval_key.digest()), &grouped(&admission.device_key.digest())]
        {
            assert!(shown.contains(part), "`{part}` is not in {shown}");
        }
        assert!(!shown.contains(['\u{1b}', '\u{202e}']));
    }
}
