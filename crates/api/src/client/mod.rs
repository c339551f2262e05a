//! The typed client. It never repeats a request by itself, follows no redirect, and uses no proxy of the environment.

mod agent;
mod approver;
mod stream;

pub use agent::AgentClient;
pub use approver::{ApproverClient, GateClient};
pub use stream::{LogStream, StreamParser};

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{ANSWER_BYTES_MAX, ANSWER_S_MAX, CONNECT_S_MAX, IDLE_S_MAX, STREAM_SILENCE_S_MAX};
use crate::problem::{PROBLEM_MEDIA_TYPE, Problem};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The gate refused, and said why.
    #[error("the gate refused with `{}`: {}", .0.code, .0.detail)]
    Refused(Box<Problem>),
    /// The gate was not reached, or the answer was cut: whether it acted is not known.
    #[error("the gate was not reached; check its address and that it runs")]
    Unreachable(#[source] reqwest::Error),
    /// The answer is not one of this version.
    #[error("the gate's answer cannot be read ({detail}); check that the address is a gate's")]
    Unreadable {
        /// The HTTP status number.
        status: u16,
        /// What is wrong with it.
        detail: String,
    },
    /// The address is not one.
    #[error("`{url}` is not the address of a gate; write it as `http://127.0.0.1:PORT` or `https://…`")]
    AddressMalformed {
        /// What was given.
        url: String,
    },
}

impl ClientError {
    /// The code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused(problem) => Some(&problem.code),
            ClientError::Unreachable(_) | ClientError::Unreadable { .. } | ClientError::AddressMalformed { .. } => None,
        }
    }
}

/// The connection to one gate, without a credential.
#[derive(Clone)]
pub(crate) struct Wire {
    url: String,
    http: reqwest::Client,
    /// For answers that never end: no time-out over the whole, one over each silence.
    streaming: reqwest::Client,
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(CONNECT_S_MAX))
        .pool_idle_timeout(Duration::from_secs(IDLE_S_MAX))
}

impl Wire {
    pub(crate) fn new(url: &str) -> Result<Wire, ClientError> {
        let malformed = || ClientError::AddressMalformed { url: url.to_owned() };
        let parsed: reqwest::Url = url.parse().map_err(|_| malformed())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() || parsed.query().is_some() {
            return Err(malformed());
        }
        let http = builder().build().map_err(ClientError::Unreachable)?;
        let streaming = builder().read_timeout(Duration::from_secs(STREAM_SILENCE_S_MAX)).build().map_err(ClientError::Unreachable)?;
        Ok(Wire { url: parsed.as_str().trim_end_matches('/').to_owned(), http, streaming })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).timeout(Duration::from_secs(ANSWER_S_MAX))
    }

    pub(crate) fn stream(&self, path: &str) -> RequestBuilder {
        self.streaming.get(format!("{}{path}", self.url))
    }
}

/// The body as JSON, written by the type.
pub(crate) fn with_body<T: Serialize>(request: RequestBuilder, body: &T) -> Result<RequestBuilder, ClientError> {
    let bytes = serde_json::to_vec(body).map_err(|error| ClientError::Unreadable { status: 0, detail: error.to_string() })?;
    Ok(request.header(reqwest::header::CONTENT_TYPE, "application/json").body(bytes))
}

/// Sends once and reads the answer.
pub(crate) async fn answer<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, ClientError> {
    let (status, bytes) = bytes_of(accepted(request).await?).await?;
    read_json(status, &bytes)
}

/// Sends once and reads the answer as text.
pub(crate) async fn text(request: RequestBuilder) -> Result<String, ClientError> {
    let (status, bytes) = bytes_of(accepted(request).await?).await?;
    String::from_utf8(bytes).map_err(|_| ClientError::Unreadable { status, detail: "it is not UTF-8".to_owned() })
}

/// Sends once; an answer that says no becomes the refusal.
pub(crate) async fn accepted(request: RequestBuilder) -> Result<Response, ClientError> {
    let response = request.send().await.map_err(ClientError::Unreachable)?;
    if response.status().is_success() {
        return Ok(response);
    }
    let is_problem = response
        .headers()
        .get(reqwest::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with(PROBLEM_MEDIA_TYPE));
    let (status, bytes) = bytes_of(response).await?;
    if is_problem {
        Err(ClientError::Refused(Box::new(read_json(status, &bytes)?)))
    } else {
        Err(ClientError::Unreadable { status, detail: format!("status {status} without a problem document") })
    }
}

async fn bytes_of(response: Response) -> Result<(u16, Vec<u8>), ClientError> {
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(ClientError::Unreachable)?;
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(ClientError::Unreadable { status, detail: format!("it is longer than {ANSWER_BYTES_MAX} bytes") });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((status, bytes))
}

fn read_json<T: DeserializeOwned>(status: u16, bytes: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(bytes).map_err(|error| ClientError::Unreadable { status, detail: error.to_string() })
}
