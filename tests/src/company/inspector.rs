//! The caller of the inspection face, for tests and for the demo.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::behaviour::Order;
use super::control::{Calls, Effects};
use super::ledger::{Effect, ReceivedCall};
use super::tool::Tool;

/// Why the inspection face could not be asked.
#[derive(Debug)]
pub enum InspectionError {
    /// The company did not answer, or answered something unreadable.
    Unanswered(reqwest::Error),
    /// It answered with a refusal.
    Refused { status: u16, body: String },
}

impl fmt::Display for InspectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectionError::Unanswered(_) => f.write_str("the company did not answer; is it still running"),
            InspectionError::Refused { status, body } => write!(f, "the company refused with `{status}`: {body}"),
        }
    }
}

impl std::error::Error for InspectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InspectionError::Unanswered(error) => Some(error),
            InspectionError::Refused { .. } => None,
        }
    }
}

impl From<reqwest::Error> for InspectionError {
    fn from(error: reqwest::Error) -> InspectionError {
        InspectionError::Unanswered(error)
    }
}

/// Looks at one run of a company, in this process or another.
#[derive(Clone, Debug)]
pub struct Inspector {
    client: reqwest::Client,
    url: String,
}

impl Inspector {
    /// An inspector of the run at `url`: the company's own URL for the default run, or one ending in `/runs/NAME`.
    ///
    /// # Errors
    /// When no HTTP client can be made on this machine.
    pub fn new(url: &str) -> Result<Inspector, InspectionError> {
        Ok(Inspector { client: super::client()?, url: url.trim_end_matches('/').to_owned() })
    }

    /// Effects counted per tool; a tool without any is there with 0.
    ///
    /// # Errors
    /// As for every method here: the company did not answer, or refused.
    pub async fn counts(&self) -> Result<BTreeMap<Tool, usize>, InspectionError> {
        self.read("/control/effects").await
    }

    /// Effects counted for one tool.
    pub async fn count(&self, tool: Tool) -> Result<usize, InspectionError> {
        Ok(self.counts().await?.get(&tool).copied().unwrap_or_default())
    }

    /// The effects of one tool, with the bytes that caused them.
    pub async fn effects(&self, tool: Tool) -> Result<Vec<Effect>, InspectionError> {
        let answer: Effects = self.read(&format!("/control/effects/{}", tool.name())).await?;
        Ok(answer.effects)
    }

    /// Every request received, reads and refused ones too.
    pub async fn calls(&self) -> Result<Vec<ReceivedCall>, InspectionError> {
        let answer: Calls = self.read("/control/calls").await?;
        Ok(answer.calls)
    }

    /// What the three systems hold.
    pub async fn state(&self) -> Result<Value, InspectionError> {
        self.read("/control/state").await
    }

    /// Orders a behaviour.
    pub async fn order(&self, order: Order) -> Result<(), InspectionError> {
        self.send(self.client.post(format!("{}/control/behaviour", self.url)).json(&order)).await?;
        Ok(())
    }

    /// Edits the account behind a payee's name.
    pub async fn edit_payee(&self, payee: &str, iban: &str) -> Result<(), InspectionError> {
        self.send(self.client.post(format!("{}/control/payees/{payee}", self.url)).body(iban.to_owned())).await?;
        Ok(())
    }

    /// Puts the run back to its beginning.
    pub async fn reset(&self) -> Result<(), InspectionError> {
        self.send(self.client.post(format!("{}/control/reset", self.url))).await?;
        Ok(())
    }

    /// Removes the run.
    pub async fn remove(&self) -> Result<(), InspectionError> {
        self.send(self.client.delete(format!("{}/control/run", self.url))).await?;
        Ok(())
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, InspectionError> {
        let response = self.send(self.client.get(format!("{}{path}", self.url))).await?;
        Ok(response.json().await?)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, InspectionError> {
        let response = request.send().await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        Err(InspectionError::Refused { status, body: response.text().await? })
    }
}
