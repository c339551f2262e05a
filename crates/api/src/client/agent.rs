//! An agent's side.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use vidimus_core::ids::CallId;

use super::{ClientError, Wire, answer, with_body};
use crate::call::{CallAnswer, CallRequest, ToolDescription};
use crate::limits::ANSWER_S_MAX;

/// A client with an agent's credential.
#[derive(Clone)]
pub struct AgentClient {
    wire: Wire,
    credential: String,
}

impl AgentClient {
    /// A client for the gate at `url` with the credential that `agent add` printed.
    ///
    /// *Errors*: `AddressMalformed`.
    pub fn new(url: &str, credential: impl Into<String>) -> Result<AgentClient, ClientError> {
        Ok(AgentClient { wire: Wire::new(url)?, credential: credential.into() })
    }

    /// Proposes a call and waits at most `wait_s` seconds for its end.
    pub async fn call(&self, call: &CallRequest, wait_s: u64) -> Result<CallAnswer, ClientError> {
        let request = self.waiting(Method::POST, &format!("/v1/calls?wait_s={wait_s}"), wait_s);
        answer(with_body(request, call)?).await
    }

    /// Where a call stands, after at most `wait_s` seconds of waiting for its end.
    pub async fn outcome(&self, call: &CallId, wait_s: u64) -> Result<CallAnswer, ClientError> {
        answer(self.waiting(Method::GET, &format!("/v1/calls/{call}?wait_s={wait_s}"), wait_s)).await
    }

    /// Takes a pending call back.
    pub async fn withdraw(&self, call: &CallId) -> Result<CallAnswer, ClientError> {
        answer(self.waiting(Method::POST, &format!("/v1/calls/{call}/withdraw"), 0)).await
    }

    /// The tools that this agent may use.
    pub async fn tools(&self) -> Result<Vec<ToolDescription>, ClientError> {
        answer(self.waiting(Method::GET, "/v1/tools", 0)).await
    }

    fn waiting(&self, method: Method, path: &str, wait_s: u64) -> RequestBuilder {
        self.wire.request(method, path).bearer_auth(&self.credential).timeout(Duration::from_secs(ANSWER_S_MAX.saturating_add(wait_s)))
    }
}
