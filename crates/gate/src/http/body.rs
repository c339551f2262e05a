//! Bodies and queries from outside, bounded in size and time.

use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::Uri;
use vidimus_api::limits::WAIT_S_MAX;
use vidimus_api::problem::FaceCode;
use vidimus_core::code::{Code, Refusal};

use super::rejection::Rejection;
use crate::limits::BODY_READ_S_MAX;

/// The whole body.
///
/// *Errors*: `json_too_large`, `body_too_slow`.
pub async fn read(body: Body, bytes_max: usize) -> Result<Bytes, Rejection> {
    let slow = || Rejection::of_face(FaceCode::BodyTooSlow, "the body did not arrive in time; send it again");
    let read = tokio::time::timeout(Duration::from_secs(BODY_READ_S_MAX), to_bytes(body, bytes_max)).await.map_err(|_| slow())?;
    read.map_err(|error| {
        use std::error::Error as _;
        let too_large = error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if too_large {
            Refusal::new(Code::JsonTooLarge, format!("the body has more than `{bytes_max}` bytes; send less")).into()
        } else {
            slow()
        }
    })
}

/// The parameters of a query; each known name at most once, and no other.
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads the query. Values are plain: no percent-encoding is needed for any that the face knows.
    ///
    /// *Errors*: `field_unknown`, `field_malformed`.
    pub fn of(uri: &Uri, known: &[&str]) -> Result<Query, Rejection> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !known.contains(&name) {
                let shown: String = name.chars().take(40).collect();
                let message = format!("the query parameter `{}` is not known here; leave it out", shown.escape_debug());
                return Err(Refusal::new(Code::FieldUnknown, message).into());
            }
            if pairs.iter().any(|(earlier, _)| earlier == name) {
                return Err(Refusal::new(Code::FieldMalformed, format!("the query parameter `{name}` stands twice; send it once")).into());
            }
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Ok(Query { pairs })
    }

    /// A parameter that its type reads.
    ///
    /// *Errors*: `field_malformed`.
    pub fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Rejection> {
        let Some((_, value)) = self.pairs.iter().find(|(known, _)| known == name) else {
            return Ok(None);
        };
        let malformed =
            || Refusal::new(Code::FieldMalformed, format!("the query parameter `{name}` has another form; see `docs/protocol.md`"));
        value.parse().map(Some).map_err(|_| malformed().into())
    }

    /// How long to wait: `wait_s`, cut to the limit.
    ///
    /// *Errors*: `field_malformed`.
    pub fn wait(&self) -> Result<Duration, Rejection> {
        let wait_s: u64 = self.parsed("wait_s")?.unwrap_or(0);
        Ok(Duration::from_secs(wait_s.min(WAIT_S_MAX)))
    }
}

/// The one answer for what does not exist and for what this caller may not see.
pub fn absent() -> Rejection {
    Refusal::new(Code::NotFound, "nothing of that id is here for this caller; check the id and the credential").into()
}

/// What no path and no method leads to. A route that is not for this sender answers the same.
pub fn nowhere() -> Rejection {
    Refusal::new(Code::NotFound, "nothing is here; look at `/v1`, as `docs/protocol.md` lists it").into()
}
