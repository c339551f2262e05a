//! What a start compares of calls: what they are joined by, what was sent, what was answered. The log has it in the bodies of
//! records, whose digests stand in their leaves.

use rusqlite::Row;
use vidimus_core::bytes::Digest;
use vidimus_core::denial::Denial;
use vidimus_core::ids::Name;
use vidimus_core::json::{Json, Limits, NumberRule, parse};
use vidimus_core::record::AuditRecord;
use vidimus_core::time::Timestamp;

use crate::codec::{parsed, time};
use crate::ledger::payload_of_write;
use crate::limits::{BODY_BYTES_MAX, BODY_NODES_MAX};
use crate::verification::{VerifyError, contradicted, unsigned};

/// The body of a record: one object of texts.
pub(crate) struct BodyOnRecord(Json);

impl BodyOnRecord {
    /// The body of the record at a position, whose digest was compared with the leaf's.
    pub(crate) fn of(position: u64, body: Option<&str>) -> Result<BodyOnRecord, VerifyError> {
        let Some(body) = body else { return contradicted(format!("the record at {position} has no body")) };
        let limits = Limits { bytes: BODY_BYTES_MAX, depth: 2, nodes: BODY_NODES_MAX, numbers: NumberRule::Exact };
        parse(body.as_bytes(), &limits).map(BodyOnRecord).map_err(unsigned(format!("the body of the record at {position}")))
    }

    /// A text that it holds.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.member(name).and_then(Json::as_str)
    }

    /// Digest of the result, where there is one.
    pub(crate) fn result_sha256(&self) -> Option<Digest> {
        self.text("result").map(|result| Digest::of(result.as_bytes()))
    }

    /// Whether these columns hold what the body does under their names.
    fn has(&self, row: &Row<'_>, columns: &[&str]) -> rusqlite::Result<bool> {
        for column in columns {
            if row.get::<_, Option<String>>(*column)?.as_deref() != self.text(column) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Why people denied a request, as its agent is told.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct DenialTold {
    kind: Option<String>,
    note: Option<String>,
    role: Option<String>,
}

impl DenialTold {
    /// What a denial on record says.
    pub(crate) fn on_record(position: u64, record: &AuditRecord, body: &BodyOnRecord) -> Result<DenialTold, VerifyError> {
        let denial = Denial::parse(body.text("reason").unwrap_or_default()).map_err(unsigned(format!("the denial at {position}")))?;
        Ok(DenialTold {
            kind: Some(denial.kind.as_str().to_owned()),
            note: Some(denial.note),
            role: record.claim("role").map(str::to_owned),
        })
    }

    /// What the row of a request says.
    pub(crate) fn of_row(row: &Row<'_>) -> rusqlite::Result<DenialTold> {
        Ok(DenialTold { kind: row.get("denial_kind")?, note: row.get("denial_note")?, role: row.get("denial_role")? })
    }
}

/// Whether the row of a money call is the one whose request was created at this time.
pub(crate) fn same_money_call(row: &Row<'_>, record: &AuditRecord, body: &BodyOnRecord) -> rusqlite::Result<bool> {
    Ok(body.has(row, &["call_key", "says"])? && time(row, "called_at")? == record.at)
}

/// The columns of a write and its call, for [`same_write`].
pub(crate) const WRITE_COLUMNS: &str = "SELECT operations.call, operations.tool, kind, request, row_sha256, args, before,
        operations.payload_sha256 AS payload, agent, proposer, effect, calls.tool AS call_tool, run, on_behalf_of, call_key, says,
        calls.payload_sha256 AS call_payload, calls.created_at AS called_at
    FROM operations JOIN calls USING (call) WHERE operation = ?1";

/// When a write was called, if its rows are what this record of an intent says.
pub(crate) fn same_write(row: &Row<'_>, record: &AuditRecord, body: &BodyOnRecord) -> rusqlite::Result<Option<Timestamp>> {
    let claims =
        |column: &str, claim: &str| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.as_deref() == record.claim(claim));
    let tool: Name = parsed(row, "tool")?;
    let payload = body.text("args").and_then(|args| payload_of_write(&tool, args).ok());
    let same = claims("call", "call")?
        && claims("tool", "tool")?
        && claims("call_tool", "tool")?
        && claims("agent", "agent")?
        && claims("row_sha256", "row_sha256")?
        && body.has(row, &["args", "before", "run", "on_behalf_of", "call_key", "says"])?
        && Some(parsed(row, "payload")?) == payload
        && Some(parsed(row, "call_payload")?) == payload
        && row.get::<_, Option<String>>("proposer")?.is_none()
        && row.get::<_, String>("kind")? == "write"
        && row.get::<_, String>("effect")? == "write"
        && row.get::<_, Option<String>>("request")?.is_none();
    Ok(if same { Some(time(row, "called_at")?) } else { None })
}
