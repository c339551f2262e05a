//! The approval request: frozen and created in one transaction, moved only by core's transition function.

use rusqlite::params;
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::{self, ChainLink, Draft, FrozenRequest};
use vidimus_core::ids::{CallId, Name, PersonId, RequestId, Reversibility, RunId};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationInput;
use vidimus_core::record::RecordType;
use vidimus_core::request::{self, RequestInput, RequestState};
use vidimus_core::table::{Need, Row};

use crate::caps;
use crate::codec::{parsed, text};
use crate::error::StoreError;
use crate::frozen_texts;
use crate::gate::GateState;
use crate::limits::{EARLIER_MAX, EARLIER_S, REFUSED_EARLIER_S};
use crate::operations::{self, Change};
use crate::rows::{StoredOperation, StoredRequest};
use crate::tx::{Attempt, Entry, Tx, refuse};
use crate::unanswerable::refuse_unanswerable;

/// A request that is to be frozen. Its call is stored already.
pub(crate) struct NewRequest<'a> {
    pub(crate) row: &'a Row,
    pub(crate) request: RequestId,
    pub(crate) call: CallId,
    pub(crate) run: RunId,
    pub(crate) agents: Vec<ChainLink>,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) proposer: Option<PersonId>,
    pub(crate) salt: Salt,
    pub(crate) args: Json,
    /// What the arguments name, by pointer.
    pub(crate) referents: Json,
    /// Who must approve, where that does not follow from the row alone.
    pub(crate) needs: Option<Vec<Need>>,
    pub(crate) says: Option<&'a str>,
    /// The caller's own key of the call.
    pub(crate) call_key: Option<&'a str>,
    /// The invite that a proposal uses up.
    pub(crate) invite_sha256: Option<Digest>,
    /// An earlier call of the same agent that came to nothing.
    pub(crate) prior: Option<RequestId>,
}

/// Freezes and stores a request.
///
/// *Errors*: `business_effect_open`, `no_eligible_approver`, those of freezing.
pub(crate) fn create(tx: &mut Tx<'_>, gate: &GateState, new: NewRequest<'_>) -> Attempt<()> {
    let (says, call_key) = (new.says.map(str::to_owned), new.call_key.map(str::to_owned));
    let invite_sha256 = new.invite_sha256;
    let row = new.row;
    let escalate_after_s = row.escalate_after_s;
    let frozen = freeze(tx, gate, new)?;
    let frozen_text = String::from_utf8(frozen.bytes().to_vec()).map_err(|_| StoreError::corrupt("a frozen request that is not text"))?;
    let frozen = frozen_texts::keep(&frozen_text, frozen);
    refuse_unanswerable(gate, &frozen)?;
    // A first look, so that nobody is asked about what could not run; it counts when it is decided.
    caps::admit(tx, row, &frozen)?;
    let members = frozen.members();
    let request_sha256 = frozen.request_sha256();
    let claims = Json::object([
        ("call", text(members.call)),
        ("tool", text(&members.tool)),
        ("agent", members.agents.first().map(|link| link.agent.to_string()).into()),
        ("request_sha256", request_sha256.into()),
        ("args_sha256", frozen.args_sha256().into()),
        ("row_sha256", members.row_sha256.into()),
        ("effect", text(members.effect)),
        ("reversibility", text(members.reversibility)),
        ("friction", text(members.friction)),
        ("expires_at", members.expires_at.into()),
        ("invite_sha256", invite_sha256.into()),
    ]);
    let body = Json::object([("frozen", frozen_text.as_str().into()), ("says", says.into()), ("call_key", call_key.into())]);
    let roles: Vec<Name> = members.needs.iter().map(|need| need.role.clone()).collect();
    let entry = Entry::new(RecordType::RequestCreated, claims).of_request(members.request).readable_by(roles).with_body(body);
    let position = tx.stage(entry)?;
    tx.execute_one(
        "INSERT INTO requests (request, call, tool, state, frozen, request_sha256, args_sha256, row_sha256, business_sha256, effect_open, position,
                               created_at, waits_until, expires_max_at, escalate_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10, ?11, ?12, ?13, ?14)",
        params![
            members.request.to_string(),
            members.call.to_string(),
            members.tool.as_str(),
            RequestState::Pending.as_str(),
            frozen_text,
            request_sha256.to_string(),
            frozen.args_sha256().to_string(),
            members.row_sha256.to_string(),
            members.business_sha256.to_string(),
            crate::log::to_i64(position)?,
            members.created_at.as_ms(),
            members.expires_at.as_ms(),
            members.expires_max_at.as_ms(),
            escalate_after_s.map(|after_s| members.created_at.plus_s(after_s).as_ms()),
        ],
    )?;
    Ok(())
}

/// So many seconds ago, as the ledger keeps times.
fn before(tx: &Tx<'_>, seconds: u64) -> i64 {
    tx.now.as_ms().saturating_sub(i64::try_from(seconds * 1000).unwrap_or(i64::MAX))
}

fn freeze(tx: &Tx<'_>, gate: &GateState, new: NewRequest<'_>) -> Attempt<FrozenRequest> {
    let row = new.row;
    let named: Vec<String> =
        row.referents.iter().filter(|named| named.arg.find(&new.args).is_some()).map(|named| named.arg.pointer()).collect();
    let resolved = new.referents.as_object().unwrap_or_default();
    if resolved.len() != named.len() || !resolved.iter().all(|(pointer, _)| named.contains(pointer)) {
        return Err(StoreError::corrupt("referents that are not those of the row").into());
    }
    let parts: Vec<Json> = row.business.iter().map(|path| path.find(&new.args).cloned().unwrap_or(Json::Null)).collect();
    let business_sha256 = frozen::business_sha256(&row.tool, parts)?;
    let open =
        tx.find("SELECT 1 FROM requests WHERE business_sha256 = ?1 AND effect_open = 1", [business_sha256.to_string()], |_| Ok(()))?;
    if open.is_some() {
        return refuse(Code::BusinessEffectOpen, "an equal effect is open already; wait for its outcome instead of asking again");
    }
    let Some(reversibility) = row.reversibility else {
        return Err(StoreError::corrupt("a money row without reversibility").into());
    };
    let mut earlier: Vec<RequestId> = tx.list(
        "SELECT requests.request FROM requests LEFT JOIN operations USING (request)
         WHERE business_sha256 = ?1
           AND (operations.state IN ('succeeded', 'partial', 'not_happened') AND operations.ended_at >= ?2
                OR requests.state IN ('denied', 'revoked') AND requests.ended_at > ?3)
         ORDER BY coalesce(operations.ended_at, requests.ended_at) DESC LIMIT ?4",
        params![business_sha256.to_string(), before(tx, EARLIER_S), before(tx, REFUSED_EARLIER_S), EARLIER_MAX as i64],
        |row| parsed(row, "request"),
    )?;
    let friction = if earlier.is_empty() { reversibility } else { Reversibility::Irreversible };
    if let Some(prior) = new.prior.filter(|prior| !earlier.contains(prior)) {
        earlier.push(prior);
    }
    let draft = Draft {
        gate: gate.identity.gate,
        environment: gate.identity.environment,
        request: new.request,
        call: new.call,
        run: new.run,
        agents: new.agents,
        on_behalf_of: new.on_behalf_of,
        proposer: new.proposer,
        upstream: None,
        tool: row.tool.clone(),
        definition_sha256: row.definition_sha256,
        row_sha256: row.digest(),
        table_sha256: gate.table_view.table_sha256,
        effect: row.effect,
        reversibility,
        friction,
        needs: new.needs.unwrap_or_else(|| row.needs.clone()),
        business_sha256,
        referents: new.referents,
        earlier,
        salt: new.salt,
        created_at: tx.now,
        expires_at: tx.now.plus_s(row.request_ttl_s),
        expires_max_at: tx.now.plus_s(row.request_ttl_max_s),
        args: new.args,
    };
    Ok(FrozenRequest::freeze(draft)?)
}

/// Moves a request, if core allows it and nobody moved it meanwhile. Ends its operation where nothing was sent.
pub(crate) fn advance(tx: &mut Tx<'_>, stored: &StoredRequest, input: RequestInput) -> Attempt<RequestState> {
    let next = request::apply(stored.state, input)?;
    if next == stored.state {
        return Ok(next);
    }
    let ended_at = match next {
        RequestState::Pending | RequestState::Approved => None,
        RequestState::Consumed
        | RequestState::Denied
        | RequestState::Expired
        | RequestState::Withdrawn
        | RequestState::Stale
        | RequestState::Revoked => Some(tx.now.as_ms()),
    };
    let effect_open = matches!(next, RequestState::Pending | RequestState::Approved | RequestState::Consumed);
    let quorum_at = if next == RequestState::Approved { Some(tx.now) } else { stored.quorum_at };
    tx.execute_one(
        "UPDATE requests SET state = ?1, ended_at = ?2, effect_open = ?3, quorum_at = ?4 WHERE request = ?5 AND state = ?6",
        params![next.as_str(), ended_at, effect_open, quorum_at.map(|at| at.as_ms()), stored.request.to_string(), stored.state.as_str(),],
    )?;
    if stored.state == RequestState::Approved && next != RequestState::Consumed {
        end_operation(tx, stored)?;
    }
    Ok(next)
}

/// An approved request that ends before its first redeem takes its reserved operation and its tokens along.
fn end_operation(tx: &mut Tx<'_>, stored: &StoredRequest) -> Attempt<()> {
    let operation = tx.find("SELECT * FROM operations WHERE request = ?1", [stored.request.to_string()], StoredOperation::read)?;
    let operation = operation.ok_or_else(|| StoreError::corrupt("an approved request without its operation"))?;
    operations::advance(tx, &operation, OperationInput::End, Change::of("the request ended before anything was sent"))?;
    Ok(())
}

/// Ends a request whose time is over, and says so in the log.
pub(crate) fn expire(tx: &mut Tx<'_>, stored: &StoredRequest) -> Attempt<()> {
    advance(tx, stored, RequestInput::Expire)?;
    stage_end(tx, stored, RecordType::RequestExpired, RequestState::Expired, Code::RequestExpired)
}

/// Ends a request that rests on something which changed, and says so in the log.
pub(crate) fn make_stale(tx: &mut Tx<'_>, stored: &StoredRequest, why: &Refusal) -> Attempt<()> {
    advance(tx, stored, RequestInput::MakeStale)?;
    stage_end(tx, stored, RecordType::RequestStale, RequestState::Stale, why.code)
}

pub(crate) fn stage_end(tx: &mut Tx<'_>, stored: &StoredRequest, record_type: RecordType, state: RequestState, code: Code) -> Attempt<()> {
    tx.execute_one("UPDATE requests SET end_code = ?1 WHERE request = ?2", params![code.as_str(), stored.request.to_string()])?;
    let claims = Json::object([("state", text(state)), ("code", text(code))]);
    tx.stage(Entry::new(record_type, claims).of_request(stored.request).readable_by(stored.roles()))?;
    Ok(())
}
