//! Carrying calls out. Owns the sending and the reading of answers; has no handle on the store.

pub mod credential;
pub mod http;
pub mod money;

pub use credential::{CredentialError, Credentials, CredentialsError, Secret};
pub use http::{Outbound, Outgoing, Reply};
