//! Where the webhook's secret is found: named by whoever starts the gate, not by a row, so it may lie anywhere.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::executor::{CredentialError, Secret};

/// Where a secret is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In this environment variable of the gate.
    Env(String),
    /// In this file.
    File(PathBuf),
}

/// A text that names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret is not named by `env:` or `file:`; write where it is found, never the secret")]
pub struct SecretPlaceError;

impl SecretPlace {
    /// Finds the secret.
    ///
    /// *Errors*: `Absent`, `Unusable`; never with the value.
    pub(super) fn find(&self) -> Result<Secret, CredentialError> {
        match self {
            SecretPlace::Env(name) => Secret::of_variable(name, &self.to_string()),
            SecretPlace::File(path) => Secret::of_file(path, &self.to_string()),
        }
    }
}

impl FromStr for SecretPlace {
    type Err = SecretPlaceError;

    fn from_str(text: &str) -> Result<SecretPlace, SecretPlaceError> {
        // The text is not repeated: someone may have put the secret itself here.
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && !name.contains('=') => Ok(SecretPlace::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(SecretPlace::File(path.into())),
            _ => Err(SecretPlaceError),
        }
    }
}

impl fmt::Display for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretPlace::Env(name) => write!(f, "env:{name}"),
            SecretPlace::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}
