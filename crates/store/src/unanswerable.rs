//! Requests that too few distinct persons of a roster can decide: refused when they are made; where a later version leaves
//! one so, it keeps waiting, since the next version may answer it, and admins are told.

use rusqlite::params;
use vidimus_core::code::Code;
use vidimus_core::eligibility::{Unmet, unmet};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::page::PageReason;
use vidimus_core::record::RecordType;
use vidimus_core::roster::ADMIN;

use crate::codec::{count, parsed};
use crate::error::StoreError;
use crate::gate::GateState;
use crate::limits::SWEEP_ROWS_MAX;
use crate::log::to_i64;
use crate::operations::load_request;
use crate::pages::{self, Matter};
use crate::rows::StoredRequest;
use crate::tx::{Attempt, Entry, Tx, refuse};

/// Nobody should wait for persons who do not exist: enough others must be able to decide, without waiting to be passed on.
///
/// *Errors*: `no_eligible_approver`.
pub(crate) fn refuse_unanswerable(gate: &GateState, frozen: &FrozenRequest) -> Attempt<()> {
    match unmet(frozen, false, &gate.roster()?.roster) {
        None => Ok(()),
        Some(Unmet { need, able }) => refuse(
            Code::NoEligibleApprover,
            format!(
                "`{able}` persons can decide as `{}` beside those of the other roles, {} are needed; enrol approvers first",
                need.role, need.quorum
            ),
        ),
    }
}

const WAITING_FROM: &str = "SELECT request, position FROM requests
    WHERE state IN ('pending', 'approved') AND state = 'pending' AND +position >= ?1 ORDER BY +position LIMIT ?2";

/// What waits from a position on, a bounded part of it: has admins told of what waits for persons who do not exist, now and once
/// it is passed on, and ends that where it is so no more. `again`: of what they were told of already, too. Tells from where to go
/// on; none is left out, since nothing would find it later.
pub(crate) fn tell(tx: &mut Tx<'_>, from: u64, again: bool) -> Result<Option<u64>, StoreError> {
    let waiting: Vec<(RequestId, u64)> =
        tx.list(WAITING_FROM, params![to_i64(from)?, SWEEP_ROWS_MAX as i64], |row| Ok((parsed(row, "request")?, count(row, "position")?)))?;
    for (request, _) in &waiting {
        // One that cannot be read back must not keep a stolen key at work: sweeps name it to an operator.
        if let Err(error) = tx.aside(|tx| tell_of(tx, request, again))? {
            tracing::error!(%request, error = &error as &dyn std::error::Error, "whether somebody can answer a request is not known");
        }
    }
    Ok(waiting.last().filter(|_| waiting.len() == SWEEP_ROWS_MAX).map(|(_, position)| position + 1))
}

fn tell_of(tx: &mut Tx<'_>, request: &RequestId, again: bool) -> Result<(), StoreError> {
    let gate = tx.gate()?;
    let admin = Name::parse(ADMIN)?;
    let stored = load_request(tx, request)?;
    let escalated = tx.log().decisions(request)?.escalated || is_passed_on_in_time(&gate, &stored);
    let tool = Some(stored.frozen.members().tool.clone());
    let matter = Matter { request: Some(*request), operation: None, tool, roles: vec![admin.clone()] };
    let Some(Unmet { need, able }) = unmet(&stored.frozen, escalated, &gate.roster()?.roster) else {
        return pages::end(tx, PageReason::RequestUnanswerable, &matter);
    };
    if !again && pages::is_told(tx, PageReason::RequestUnanswerable, request)? {
        return Ok(());
    }
    pages::raise(tx, PageReason::RequestUnanswerable, &matter)?;
    let claims = Json::object([("role", need.role.as_str().into()), ("eligible", able.into()), ("needed", need.quorum.into())]);
    let mut roles = stored.roles();
    if !roles.contains(&admin) {
        roles.push(admin.clone());
    }
    tx.stage(Entry::new(RecordType::RequestUnanswerable, claims).of_request(*request).readable_by(roles))?;
    Ok(())
}

/// Whom to tell of a request that waits for persons who do not exist; none where they do.
pub(crate) fn matter(tx: &mut Tx<'_>, stored: &StoredRequest) -> Result<Option<Matter>, StoreError> {
    let gate = tx.gate()?;
    let escalated = tx.log().decisions(&stored.request)?.escalated || is_passed_on_in_time(&gate, stored);
    let Some(_) = unmet(&stored.frozen, escalated, &gate.roster()?.roster) else { return Ok(None) };
    let tool = Some(stored.frozen.members().tool.clone());
    Ok(Some(Matter { request: Some(stored.request), operation: None, tool, roles: vec![Name::parse(ADMIN)?] }))
}

/// Whether the row has a request passed on before it ends.
fn is_passed_on_in_time(gate: &GateState, stored: &StoredRequest) -> bool {
    let members = stored.frozen.members();
    let row = gate.table.row(&members.tool).filter(|row| row.digest() == members.row_sha256);
    row.and_then(|row| row.escalate_after_s).is_some_and(|after_s| members.created_at.plus_s(after_s) < stored.waits_until)
}
