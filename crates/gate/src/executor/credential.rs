//! The credential of a provider: found at execution, held as short as possible, shown to nobody.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use vidimus_core::table::Credential;

use crate::limits::CREDENTIAL_BYTES_MAX;

/// A credential's value. It has neither `Debug` nor `Display`.
pub struct Secret(String);

impl Secret {
    /// The value, to put into a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Why a credential is not there.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The variable is not set.
    #[error("the credential `{0}` is not set; set the variable for the gate's process")]
    Absent(String),
    /// The file cannot be read, or others may read it.
    #[error("the credential `{0}` cannot be used; it must be a file of at most 16 KiB that only the gate's user can read")]
    Unusable(String),
    /// The gate has no keyring.
    #[error("the credential `{0}` is in a keyring, which a daemon without a desktop does not have; use `env:` or `file:`")]
    NoKeyring(String),
}

/// Finds the credential.
///
/// *Errors*: `Absent`, `Unusable`, `NoKeyring`; never with the value.
pub fn find(credential: &Credential) -> Result<Secret, CredentialError> {
    let named = || credential.to_string();
    let value = match credential {
        Credential::Env(name) => std::env::var(name).map_err(|_| CredentialError::Absent(named()))?,
        Credential::File(path) => {
            let unusable = |_| CredentialError::Unusable(named());
            let about = fs::metadata(path).map_err(unusable)?;
            let length = usize::try_from(about.len()).unwrap_or(usize::MAX);
            if about.permissions().mode() & 0o077 != 0 || length > CREDENTIAL_BYTES_MAX {
                return Err(CredentialError::Unusable(named()));
            }
            fs::read_to_string(path).map_err(unusable)?
        }
        Credential::Keyring(_) => return Err(CredentialError::NoKeyring(named())),
    };
    let value = value.trim();
    let usable = !value.is_empty() && value.len() <= CREDENTIAL_BYTES_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(Secret(value.to_owned())) } else { Err(CredentialError::Unusable(named())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_can_read_is_no_credential() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        fs::write(&path, "s3cret\n").expect("own file");
        let credential = Credential::File(path.display().to_string());
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
        mode(0o644);
        assert!(matches!(find(&credential), Err(CredentialError::Unusable(_))));
        mode(0o600);
        assert_eq!(find(&credential).ok().map(|secret| secret.reveal().to_owned()).as_deref(), Some("s3cret"));
        for unusable in ["", "two words", "line\nbreak"] {
            fs::write(&path, unusable).expect("own file");
            assert!(matches!(find(&credential), Err(CredentialError::Unusable(_))), "{unusable:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_named_without_a_value() {
        assert!(matches!(find(&Credential::Env("VIDIMUS_TEST_ABSENT".to_owned())), Err(CredentialError::Absent(_))));
        assert!(matches!(find(&Credential::Keyring("bank".to_owned())), Err(CredentialError::NoKeyring(_))));
    }
}
