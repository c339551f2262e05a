//! The gate's own tools: what a token permits and what it does are one transaction, so that no crash between the two leaves
//! an outcome in doubt and no person is ever asked what became of one.

use rusqlite::Connection;
use vidimus_core::code::Code;
use vidimus_core::code::Refusal;
use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::operation::{Answer, OperationInput, OperationKey};
use vidimus_core::table::TABLE_CHANGE;

use crate::engine::Rank;
use crate::error::StoreError;
use crate::gate::GateState;
use crate::operations::{self, Change, load_request};
use crate::rows::{StoredOperation, StoredRequest};
use crate::tokens::{Redeem, end_fallen, redeem_token, stage_refused_token};
use crate::tx::{Attempt, Tx, list, refuse};
use crate::{Moment, Store, roster_changes, table_changes};

/// What became of a tool of the gate's own that holds its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnToolOutcome {
    /// It is in force.
    Applied(OperationKey),
    /// Nothing of it happened; recorded. A change that cannot be made any more is stale.
    Refused(Refusal),
}

/// Which of the gate's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnTool {
    Roster,
    Table,
}

impl OwnTool {
    pub(crate) fn of(tool: &Name) -> Option<OwnTool> {
        match tool.as_str() {
            ROSTER_CHANGE => Some(OwnTool::Roster),
            TABLE_CHANGE => Some(OwnTool::Table),
            _ => None,
        }
    }

    /// Whether the change still leads from what is in force to what was approved.
    ///
    /// *Errors*: `roster_stale`, `table_stale` and the other codes of the change.
    pub(crate) fn still_leads_on(self, db: &Connection, gate: &GateState, request: &StoredRequest) -> Attempt<()> {
        match self {
            OwnTool::Roster => roster_changes::leads_to(gate, request).map(|_| ()),
            OwnTool::Table => table_changes::leads_to(db, gate, request).map(|_| ()),
        }
    }
}

impl Store {
    /// Redeems the token of a tool of the gate's own and does what it permits, in one transaction: all of it or nothing.
    pub async fn carry_out(&self, moment: Moment, redeem: Redeem) -> Result<OwnToolOutcome, StoreError> {
        self.engine.write(moment, Rank::Plain, move |tx| carry_out(tx, &redeem)).await
    }
}

fn carry_out(tx: &mut Tx<'_>, redeem: &Redeem) -> Result<OwnToolOutcome, StoreError> {
    let claims = redeem.token.claims();
    let carried = tx.attempt(|tx| {
        let Some(own) = OwnTool::of(&claims.tool) else {
            return refuse(Code::ToolWrong, "the tool is not the gate's own; redeem its token and send");
        };
        redeem_token(tx, redeem)?;
        apply(tx, own, &claims.operation)
    })?;
    let Err(refusal) = carried else { return Ok(OwnToolOutcome::Applied(claims.operation)) };
    stage_refused_token(tx, redeem, &refusal)?;
    if OwnTool::of(&claims.tool).is_some() {
        // Taken back with the redemption. What cannot be applied now never can: the request ends instead of coming back.
        end_fallen(tx, redeem, &refusal)?;
    }
    Ok(OwnToolOutcome::Refused(refusal))
}

fn apply(tx: &mut Tx<'_>, own: OwnTool, operation: &OperationKey) -> Attempt<()> {
    let stored = StoredOperation::load(tx.db, operation)?.ok_or_else(|| StoreError::corrupt("a token without its operation"))?;
    let request = match stored.kind {
        crate::rows::Kind::Money(request) => load_request(tx, &request)?,
        crate::rows::Kind::Write => return refuse(Code::ToolWrong, "a write is none of the gate's own tools"),
    };
    let (result, detail) = match own {
        OwnTool::Roster => (roster_changes::apply(tx, &request)?, "the roster is in force"),
        OwnTool::Table => (table_changes::apply(tx, &request)?, "the effect table is in force"),
    };
    let result = String::from_utf8(result.canonical()?).map_err(|_| StoreError::corrupt("a result that is not text"))?;
    let change = Change { result: Some(result), ..Change::of(detail) };
    operations::advance(tx, &stored, OperationInput::Answer(Answer::Done), change)?;
    match own {
        OwnTool::Roster => roster_changes::follow(tx),
        OwnTool::Table => table_changes::follow(tx),
    }
}

/// The signed approvals that brought a change.
pub(crate) fn approvals(tx: &Tx<'_>, request: &RequestId) -> Result<Vec<Envelope>, StoreError> {
    let texts: Vec<String> = list(
        tx.db,
        "SELECT envelope FROM decisions WHERE request = ?1 AND standing = 1 ORDER BY position",
        [request.to_string()],
        |row| row.get(0),
    )?;
    texts.iter().map(|text| Ok(Envelope::parse(text.as_bytes())?)).collect()
}
