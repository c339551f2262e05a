//! Changes of the effect table on the wire.

use serde::{Deserialize, Serialize};
use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::ids::RequestId;

use crate::body::{members, parse_body};
use crate::limits::TABLE_BODY_BYTES_MAX;

/// The body of `POST /v1/table/proposals`.
#[derive(Debug, Clone, Serialize)]
pub struct TableProposal {
    /// The whole table, in TOML.
    pub table: String,
}

impl TableProposal {
    /// Reads a body from outside.
    pub fn parse(body: &[u8]) -> Result<TableProposal, Refusal> {
        let json = parse_body(body, TABLE_BODY_BYTES_MAX)?;
        let json = members(&json, &["table"], &[])?;
        Ok(TableProposal { table: json.fields()?.string("table")?.to_owned() })
    }
}

/// A role that must have approved, with how many persons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalNeed {
    /// The role.
    pub role: String,
    /// Distinct persons of it.
    pub quorum: u32,
}

/// The answer of `POST /v1/table/proposals`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableProposed {
    /// The request that people decide.
    pub request: RequestId,
    /// The position of its record in the log.
    pub position: u64,
    /// Digest of the table that it leads to.
    pub table_sha256: Digest,
    /// The tools whose rows differ.
    pub tools: Vec<String>,
    /// The agents whose lists differ.
    pub agents: Vec<String>,
    /// Who must approve.
    pub needs: Vec<ProposalNeed>,
}
