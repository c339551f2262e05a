//! `recover`: signs an admission with the offline key, here, and hands the gate the statement. The key goes nowhere else.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use vidimus_core::bytes::base64url_decode;
use vidimus_core::json::{Limits, parse_canonical};
use vidimus_core::recovery::{Recovery, admission_from_json};
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
    let key = key(&recover.key)?;
    let waiting = match admin::ask(&recover.data, AdminCommand::WaitingAdmission { request: recover.request }).await? {
        AdminReply::Admission(waiting) => waiting,
        AdminReply::Refused { code, message } => return refused(&code, &message),
        _ => return Err(RecoverError::OtherAnswer.into()),
    };
    let envelope = sign(&waiting, &key)?;
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

fn sign(waiting: &WaitingAdmission, key: &SecretKey) -> Result<String, Box<dyn std::error::Error>> {
    let admission = admission_from_json(&parse_canonical(waiting.admission.as_bytes(), &Limits::STATEMENT)?)?;
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
}
