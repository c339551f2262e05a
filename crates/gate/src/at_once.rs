//! The short way of an approved call: the in-gate executor is at hand while the last approval is recorded, so that one commit
//! decides, mints and redeems. Only then, and on a task of its own, the effect is sent.

use std::sync::Arc;

use vidimus_core::bytes::Nonce;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::ids::CallId;
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::table::{Executor as RowExecutor, Row, Table};
use vidimus_store::{Begun, Executor, Mint, Minted, Redeem, RequestView, StoreError};

use crate::entropy;
use crate::executions::{Place, provider_of};
use crate::executor::money::{Attempted, Order, Permit, examine, send_permitted};
use crate::executor::{Credentials, Secret};
use crate::gate::Gate;
use crate::http::Rejection;
use crate::limits::LEASE_S;
use crate::seams::{Seam, Setting, awaits, pass, seconds};
use crate::workers::{Renewal, mint_order, record, report, sign};

/// What the executor needs after the commit, found before it: a gate without the credential must not use a token up.
pub struct Ready {
    table: Arc<Table>,
    credential: Option<Secret>,
    /// Its place among the executions of the gate.
    place: Place,
}

/// The executor while the decision is recorded.
struct AtHand {
    gate: Arc<Gate>,
    table: Arc<Table>,
    jti: Nonce,
}

impl Executor for AtHand {
    fn order(&self, operation: OperationKey) -> Mint {
        mint_order(&self.gate, operation, &self.jti, no_referents())
    }

    fn present(&self, minted: &Minted) -> Result<Redeem, Refusal> {
        let token = sign(&self.gate, self.jti, minted)?;
        let row = self.table.row(&minted.tool).ok_or_else(|| Refusal::new(Code::RowStale, "the tool has no row any more; nothing runs"))?;
        let order = Order {
            frozen: minted.frozen.as_bytes(),
            token: &token,
            row,
            audience: &self.gate.audience,
            token_key: self.gate.keys.token.public(),
        };
        let (_, token) = examine(&order, minted.issued_at)?;
        Ok(Redeem { token, lease_s: seconds(Setting::LeaseS, LEASE_S), referents: no_referents() })
    }
}

/// What is read again before mint and redeem: nothing, since a row that names referents takes the long way.
fn no_referents() -> Json {
    Json::object([])
}

/// The points that lie between the steps that one commit makes. A test that waits at one of them gets the long way.
const BETWEEN: [Seam; 4] = [Seam::AfterDecide, Seam::BeforeMint, Seam::AfterMint, Seam::BeforeRedeem];

impl Gate {
    /// The executor for the request of a decision, if it can be at hand; if not, the workers take what is approved on.
    ///
    /// *Errors*: those of the store and of the random source.
    pub async fn executor_at_hand(
        self: &Arc<Gate>,
        request: &RequestView,
        statement: Option<&DecisionStatement>,
    ) -> Result<Option<(Box<dyn Executor>, Ready)>, Rejection> {
        if statement.is_none_or(|statement| statement.decision != DecisionKind::Approve) || BETWEEN.into_iter().any(awaits) {
            return Ok(None);
        }
        if !self.may_begin() {
            return Ok(None);
        }
        let Some(table) = self.table().await? else { return Ok(None) };
        let Some(row) = table.row(&request.tool) else { return Ok(None) };
        let Some(credential) = sent_at_once(&self.credentials, row) else { return Ok(None) };
        let Some(place) = self.executions.payments.take(&provider_of(row)) else { return Ok(None) };
        let jti = entropy::nonce()?;
        let executor = AtHand { gate: Arc::clone(self), table: Arc::clone(&table), jti };
        Ok(Some((Box::new(executor), Ready { table, credential, place })))
    }

    /// Sends what was begun, once, and records what came of it. Whoever decided does not wait for it.
    pub fn send_begun(self: &Arc<Gate>, call: CallId, begun: Begun, ready: Ready) {
        let gate = Arc::clone(self);
        self.in_flight.spawn(async move {
            let operation = begun.redeemed.operation;
            if let Err(rejection) = finish(&gate, call, begun, ready).await {
                tracing::error!(operation = %operation, "what came of an operation was not recorded");
                report("an operation was not carried on; its lease tells", rejection);
            }
        });
    }
}

/// The credential of a row whose approved calls are sent at once, where it has one; none for any other row.
fn sent_at_once(credentials: &Credentials, row: &Row) -> Option<Option<Secret>> {
    let RowExecutor::Http(http) = &row.executor else { return None };
    if row.delay_s > 0 || !row.referents.is_empty() {
        return None;
    }
    // The workers say that it is missing, and try again.
    http.credential.as_ref().map(|named| credentials.find(named)).transpose().ok()
}

async fn finish(gate: &Arc<Gate>, call: CallId, begun: Begun, ready: Ready) -> Result<(), Rejection> {
    let Ready { table, credential, place } = ready;
    let Begun { redeemed, frozen } = begun;
    let permit = Permit {
        operation: redeemed.operation,
        attempt: redeemed.attempt,
        lease_until: redeemed.lease_until,
        credential,
        ledger: Some(gate.store.clone()),
    };
    let renewal = Renewal::begin(gate.clone(), redeemed.operation, redeemed.attempt);
    let frozen = vidimus_store::frozen(&frozen).map_err(StoreError::from)?;
    let row = table.row(&frozen.members().tool).ok_or_else(|| StoreError::Corrupt("a row that vanished from a table".to_owned()))?;
    let covered = gate.checkpoints.cover_now();
    if let Attempted::Sent { operation, attempt, reply } =
        send_permitted(row, &frozen, permit, covered, crate::clock::now, &gate.outbound).await
    {
        record(gate, row, operation, attempt, reply).await?;
    }
    drop(renewal);
    gate.bell.ring(call);
    pass(Seam::AfterRecord);
    drop(place);
    Ok(())
}
