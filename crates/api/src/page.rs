//! A page on the wire: what people's other programs are told of something that waits for them. It holds no argument.

use serde::{Deserialize, Serialize};
use vidimus_core::ids::RequestId;
use vidimus_core::operation::OperationKey;
use vidimus_core::time::Timestamp;

/// A page, as a webhook receives it and a command reads it.
///
/// *Source*: Standard Webhooks 1.0.0, payload structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageDocument {
    /// `page.` and the reason.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was sent.
    pub timestamp: Timestamp,
    /// What waits.
    pub data: PageData,
}

/// What waits for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageData {
    /// The gate.
    pub gate: String,
    /// Its environment.
    pub environment: String,
    /// `needs_reconciliation`, `write_unknown`, `request_escalated` or `recovery_announced`.
    pub reason: String,
    /// The approval request.
    pub request: Option<RequestId>,
    /// The operation.
    pub operation: Option<OperationKey>,
    /// The tool.
    pub tool: Option<String>,
    /// Where the request or the operation stands.
    pub state: Option<String>,
    /// The roles that are asked; `everyone` for all enrolled persons.
    pub roles: Vec<String>,
    /// Since when it waits.
    pub since: Timestamp,
    /// Which time this is, from 1.
    pub count: u32,
}
