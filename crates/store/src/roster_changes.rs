//! The gate's own tool `gate.roster.change`: its effect and its result are one transaction.

use rusqlite::params;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{CallId, PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::{Answer, OperationInput, OperationKey, OperationState};
use vidimus_core::roster::{Admission, Roster};

use crate::codec::parsed;
use crate::engine::Rank;
use crate::enrolments::{insert_roster, stage_roster};
use crate::error::StoreError;
use crate::gate::RosterView;
use crate::limits::SWEEP_ROWS_MAX;
use crate::operations::{self, Change, load_request};
use crate::proposals::{Proposal, propose};
use crate::requests;
use crate::rows::{Kind, StoredOperation, StoredRequest};
use crate::tx::{Attempt, Tx, refuse};
use crate::{Moment, Store};

/// What became of a roster change that holds its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RosterChangeOutcome {
    /// The next version is in force.
    Applied(RosterView),
    /// It cannot be applied; nothing of it happened, and the operation says so.
    Refused(Refusal),
}

impl Store {
    /// Brings the approved version of the roster into force, for the attempt that redeemed its token.
    pub async fn apply_roster_change(
        &self,
        moment: Moment,
        operation: OperationKey,
        attempt: u32,
    ) -> Result<RosterChangeOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| match tx.attempt(|tx| apply(tx, &operation, attempt))? {
                Ok(view) => Ok(RosterChangeOutcome::Applied(view)),
                Err(refusal) => {
                    let failed = tx.attempt(|tx| fail(tx, &operation, attempt, &refusal))?;
                    if let Err(error) = failed {
                        tracing::warn!(code = %error.code, "a refused roster change was not at work");
                    }
                    Ok(RosterChangeOutcome::Refused(refusal))
                }
            })
            .await
    }
}

fn at_work(tx: &Tx<'_>, operation: &OperationKey, attempt: u32) -> Attempt<(StoredOperation, StoredRequest)> {
    let Some(stored) = StoredOperation::load(tx.db, operation)? else {
        return refuse(Code::NotFound, "there is no such operation; look at its key");
    };
    let Kind::Money(request) = stored.kind else {
        return refuse(Code::ToolWrong, "the operation is not a change of the roster");
    };
    if stored.tool.as_str() != ROSTER_CHANGE {
        return refuse(Code::ToolWrong, "the operation is not a change of the roster");
    }
    if stored.now_at.state != OperationState::Executing || stored.now_at.attempt != attempt {
        return refuse(Code::OperationStateWrong, "the operation is not at work with this attempt; redeem its token first");
    }
    let request = load_request(tx, &request)?;
    Ok((stored, request))
}

fn apply(tx: &mut Tx<'_>, operation: &OperationKey, attempt: u32) -> Attempt<RosterView> {
    let (stored, request) = at_work(tx, operation, attempt)?;
    let gate = tx.gate()?;
    let next = Admission::next_roster(&request.frozen.members().args, &gate.roster()?.roster)?;
    let view = insert_roster(tx, &next)?;
    stage_roster(tx, &next, approvals(tx, &request.request)?, Some(&request.frozen))?;
    let result = Json::object([("roster_sha256", view.roster_sha256.into()), ("version", view.version.into())]);
    let result = String::from_utf8(result.canonical()?).map_err(|_| StoreError::corrupt("a result that is not text"))?;
    let change = Change { result: Some(result), ..Change::of("the roster is in force") };
    operations::advance(tx, &stored, OperationInput::Answer(Answer::Done), change)?;
    propose_again(tx, &next)?;
    Ok(view)
}

fn fail(tx: &mut Tx<'_>, operation: &OperationKey, attempt: u32, refusal: &Refusal) -> Attempt<()> {
    let (stored, _) = at_work(tx, operation, attempt)?;
    operations::advance(tx, &stored, OperationInput::Answer(Answer::NoEffect), Change::of(refusal.message.clone()))?;
    Ok(())
}

/// The signed approvals that brought a change.
fn approvals(tx: &Tx<'_>, request: &RequestId) -> Result<Vec<Envelope>, StoreError> {
    let texts: Vec<String> =
        tx.list("SELECT envelope FROM decisions WHERE request = ?1 AND standing = 1 ORDER BY position", [request.to_string()], |row| {
            row.get(0)
        })?;
    texts.iter().map(|text| Ok(Envelope::parse(text.as_bytes())?)).collect()
}

/// Everybody else who waits was proposed on the version before. Their invites are used, so their proposals are made
/// again on the new version, instead of waiting for a decision that could never be applied.
fn propose_again(tx: &mut Tx<'_>, roster: &Roster) -> Attempt<()> {
    let waiting: Vec<(PersonId, RequestId)> = tx.list(
        "SELECT person, request FROM enrolments JOIN requests USING (request) WHERE state IN ('pending', 'approved') ORDER BY created_at LIMIT ?1",
        [SWEEP_ROWS_MAX as i64],
        |row| Ok((parsed(row, "person")?, parsed(row, "request")?)),
    )?;
    let why = Refusal::new(Code::RosterStale, "the roster changed");
    for (person, request) in waiting {
        let stored = load_request(tx, &request)?;
        let args = admission_of(&stored.frozen.members().args).and_then(|admission| admission.to_args(roster));
        requests::make_stale(tx, &stored, &why)?;
        // A person who cannot be admitted to this version any more must be invited anew.
        let Ok(args) = args else { continue };
        let proposal = Proposal {
            call: CallId::from_random(tx.random_bits()),
            request: RequestId::from_random(tx.random_bits()),
            salt: tx.next_salt(),
            proposer: person,
            args,
        };
        let again = proposal.request;
        let gate = tx.gate()?;
        propose(tx, &gate, proposal)?;
        tx.execute_one(
            "UPDATE enrolments SET request = ?1 WHERE person = ?2 AND request = ?3",
            params![again.to_string(), person.to_string(), request.to_string()],
        )?;
    }
    Ok(())
}

/// The admission inside the arguments of a roster change.
fn admission_of(args: &Json) -> Result<Admission, Refusal> {
    let malformed = || Refusal::new(Code::FieldMalformed, "the arguments of a roster change are not an admission");
    let member = |name: &str| args.member(name).and_then(Json::as_str).ok_or_else(malformed);
    let roles = args.member("roles").and_then(Json::as_array).ok_or_else(malformed)?;
    Ok(Admission {
        person: member("person")?.parse()?,
        name: member("name")?.to_owned(),
        roles: roles.iter().map(|role| role.as_str().ok_or_else(malformed)?.parse()).collect::<Result<_, _>>()?,
        approval_key: member("approval_key")?.parse()?,
        device_key: member("device_key")?.parse()?,
        label: member("label")?.to_owned(),
    })
}
