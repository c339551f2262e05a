//! Which columns of a row of the ledger must be what a record claims, or what came of all of them.

use rusqlite::Row;
use vidimus_core::bytes::Digest;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::passing::Skipped;
use vidimus_core::record::AuditRecord;
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;

use super::{OperationFacts, RequestFacts, integer};
use crate::codec::{count, optional_parsed, optional_time, parsed, time};
use crate::gate::GateState;
use crate::proposals::payload_sha256;
use crate::verification::{VerifyError, unsigned};
use crate::verification_calls::DenialTold;

/// What a request's columns repeat of its frozen bytes.
#[derive(PartialEq, Eq)]
pub(super) struct RequestColumns {
    args_sha256: Digest,
    business_sha256: Option<Digest>,
    expires_max_at: Timestamp,
    agent: Option<Name>,
    proposer: Option<PersonId>,
    on_behalf_of: Option<String>,
    run: Option<String>,
    payload_sha256: Digest,
}

impl RequestColumns {
    pub(super) fn of(frozen: &FrozenRequest) -> RequestColumns {
        let members = frozen.members();
        let agent = members.agents.first().map(|link| link.agent.clone());
        RequestColumns {
            args_sha256: frozen.args_sha256(),
            business_sha256: Some(members.business_sha256),
            expires_max_at: members.expires_max_at,
            // A proposer has a run in the frozen bytes only.
            run: agent.is_some().then(|| members.run.to_string()),
            agent,
            proposer: members.proposer,
            on_behalf_of: members.on_behalf_of.clone(),
            payload_sha256: payload_sha256(&members.tool, frozen.canonical_args()),
        }
    }
}

/// The columns of a request and its call, if they are what its record claims.
pub(super) fn same_request(row: &Row<'_>, position: u64, record: &AuditRecord) -> rusqlite::Result<Option<RequestColumns>> {
    let claims =
        |column: &str, claim: &str| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.as_deref() == record.claim(claim));
    let same = claims("call", "call")?
        && claims("tool", "tool")?
        && claims("call_tool", "tool")?
        && claims("effect", "effect")?
        && claims("request_sha256", "request_sha256")?
        && claims("row_sha256", "row_sha256")?
        && count(row, "position")? == position
        && time(row, "created_at")? == record.at;
    Ok(if same {
        Some(RequestColumns {
            args_sha256: parsed(row, "args_sha256")?,
            business_sha256: optional_parsed(row, "business_sha256")?,
            expires_max_at: time(row, "expires_max_at")?,
            agent: optional_parsed(row, "agent")?,
            proposer: optional_parsed(row, "proposer")?,
            on_behalf_of: row.get("on_behalf_of")?,
            run: row.get("run")?,
            payload_sha256: parsed(row, "payload_sha256")?,
        })
    } else {
        None
    })
}

pub(super) fn same_decision(row: &Row<'_>, record: &AuditRecord) -> rusqlite::Result<bool> {
    let Some(envelope) = record.envelopes.first() else { return Ok(false) };
    let claims = |column: &str, claim: &str| Ok::<_, rusqlite::Error>(Some(row.get::<_, String>(column)?.as_str()) == record.claim(claim));
    let stored: String = row.get("envelope")?;
    Ok(Envelope::parse(stored.as_bytes()).is_ok_and(|stored| stored == *envelope)
        && parsed::<Digest>(row, "decision_sha256")? == Digest::of(envelope.danger_unverified_payload())
        && Some(parsed(row, "request")?) == record.request
        && claims("decision", "decision")?
        && claims("approver", "approver")?
        && claims("role", "role")?
        && claims("key_sha256", "key_sha256")?
        && claims("state_after", "state")?
        && Some(count(row, "given")?) == integer(record, "given")
        && Some(count(row, "needed")?) == integer(record, "needed"))
}

pub(super) fn same_reconciliation(row: &Row<'_>, record: &AuditRecord) -> rusqlite::Result<bool> {
    let Some(envelope) = record.envelopes.first() else { return Ok(false) };
    let stored: String = row.get("envelope")?;
    Ok(Envelope::parse(stored.as_bytes()).is_ok_and(|stored| stored == *envelope)
        && parsed::<Digest>(row, "reconciliation_sha256")? == Digest::of(envelope.danger_unverified_payload())
        && Some(parsed(row, "operation")?) == record.operation
        && Some(row.get::<_, String>("state_after")?.as_str()) == record.claim("state")
        && Some(count(row, "given")?) == integer(record, "given")
        && Some(count(row, "needed")?) == integer(record, "needed")
        && Some(row.get::<_, i64>("conflict")?) == record.claims.member("conflict").and_then(Json::as_bool).map(i64::from))
}

/// Whether a request is where the log left it. `open` is whether its operation is, if it has one.
pub(super) fn same_state(row: &Row<'_>, facts: &RequestFacts, open: Option<bool>) -> rusqlite::Result<bool> {
    let effect_open = match facts.state {
        RequestState::Pending | RequestState::Approved => true,
        RequestState::Consumed => open.unwrap_or(true),
        RequestState::Denied | RequestState::Expired | RequestState::Withdrawn | RequestState::Stale | RequestState::Revoked => false,
    };
    Ok(parsed::<RequestState>(row, "state")? == facts.state
        // Exactly: a statement that asks for 1 does not find 2.
        && row.get::<_, i64>("effect_open")? == i64::from(effect_open)
        && time(row, "waits_until")? == facts.waits_until
        && optional_time(row, "quorum_at")? == facts.quorum_at
        && optional_time(row, "orphaned_until")? == facts.orphaned_until
        && row.get::<_, Option<i64>>("escalated_position")?.map(u64::try_from).transpose().ok() == Some(facts.escalated_position)
        && row.get::<_, Option<String>>("end_code")? == facts.end_code
        && optional_time(row, "ended_at")? == facts.ended_at
        && DenialTold::of_row(row)? == facts.denial)
}

/// Whether a request that may still be passed on is when its row says. Under another row than today's it is stale anyway.
pub(super) fn same_escalation(row: &Row<'_>, facts: &RequestFacts, gate: &GateState) -> Result<bool, VerifyError> {
    let waits = matches!(facts.state, RequestState::Pending | RequestState::Approved) && facts.escalated_position.is_none();
    let (tool, row_sha256): (Name, Digest) = (parsed(row, "tool")?, parsed(row, "row_sha256")?);
    let Some(in_force) = gate.table.row(&tool).filter(|in_force| waits && in_force.digest() == row_sha256) else { return Ok(true) };
    Ok(optional_time(row, "escalate_at")? == in_force.escalate_after_s.map(|after_s| facts.created_at.plus_s(after_s)))
}

pub(super) fn same_operation(
    row: &Row<'_>,
    facts: &OperationFacts,
    (gate, skipped): (&GateState, &[Skipped]),
    operation: &OperationKey,
) -> Result<bool, VerifyError> {
    let result: Option<String> = row.get("result")?;
    let result_sha256: Option<Digest> = optional_parsed(row, "result_sha256")?;
    let ended_at = facts.state.is_final().then_some(facts.changed_at);
    let same = parsed::<OperationState>(row, "state")? == facts.state
        && Some(u64::from(facts.attempt)) == Some(count(row, "attempt")?)
        && optional_parsed(row, "request")? == facts.request
        && optional_time(row, "first_sent_at")? == facts.first_sent_at
        && optional_time(row, "ended_at")? == ended_at
        && row.get::<_, Option<String>>("detail")? == facts.detail
        && result_sha256 == facts.result_sha256
        && result.map(|text| Digest::of(text.as_bytes())) == result_sha256;
    let mint_at = optional_time(row, "mint_at")?;
    let Some(request) = facts.request else { return Ok(same && mint_at.is_none()) };
    let Some(text) = row.get::<_, Option<String>>("frozen")? else { return Ok(false) };
    let frozen = FrozenRequest::parse(text.as_bytes()).map_err(unsigned(format!("the request {request}")))?;
    let members = frozen.members();
    let tool: Name = parsed(row, "tool")?;
    let delay_s = gate.table.row(&tool).filter(|row| row.digest() == members.row_sha256).map(|row| row.delay_s);
    let rests = delay_s.zip(optional_time(row, "quorum_at")?);
    let is_due_then =
        rests.is_none_or(|(delay_s, at)| mint_at.is_some_and(|mint_at| could_be_due(mint_at, at, delay_s, skipped, facts.state)));
    Ok(same
        // What is sent is frozen; these are a write's.
        && row.get::<_, Option<String>>("args")?.is_none()
        && row.get::<_, Option<String>>("before")?.is_none()
        && tool == members.tool
        && row.get::<_, String>("kind")? == "money"
        && row.get::<_, String>("call")? == members.call.to_string()
        && parsed::<Digest>(row, "row_sha256")? == members.row_sha256
        && parsed::<Digest>(row, "payload_sha256")? == Digest::of(frozen.canonical_args())
        && *operation == OperationKey::money(&members.tool, &members.request, &frozen.args_sha256())
        // Under another row than today's it is stale anyway.
        && is_due_then)
}

/// Whether a delay ends then, by the time that was skipped while it lasted. One that nothing waits for any more was put off no further.
fn could_be_due(mint_at: Timestamp, began: Timestamp, delay_s: u64, skipped: &[Skipped], state: OperationState) -> bool {
    let mut ends = began.plus_s(delay_s);
    let since = skipped.partition_point(|stretch| stretch.from < began);
    for stretch in &skipped[since..] {
        if stretch.from >= ends || (mint_at == ends && state != OperationState::Reserved) {
            break;
        }
        ends = stretch.put_off(began, ends);
    }
    mint_at == ends
}
