//! The in-gate executor of money: gets frozen bytes and a token, believes neither until the token's signature holds over
//! the arguments that it has just digested itself, and receives the credential as what redeeming returns.

use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;
use vidimus_core::operation::OperationKey;
use vidimus_core::sign::PublicKey;
use vidimus_core::table::{Executor, HttpExecutor, Row};
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, VerifiedToken};
use vidimus_store::Store;

use super::{Outbound, Outgoing, Reply, Secret};
use crate::seams::{Seam, pass};

/// What the executor is handed.
pub struct Order<'a> {
    /// The frozen request's bytes.
    pub frozen: &'a [u8],
    /// The execution token.
    pub token: &'a str,
    /// The row that the table has now.
    pub row: &'a Row,
    /// The executor's own name: the token's audience.
    pub audience: &'a Name,
    /// The key that signs tokens.
    pub token_key: PublicKey,
}

/// What redeeming a token returns.
pub struct Permit {
    /// The operation.
    pub operation: OperationKey,
    /// The attempt that is permitted.
    pub attempt: u32,
    /// Until when; renewed by whoever redeemed.
    pub lease_until: Timestamp,
    /// The provider's credential; none where the row names none.
    pub credential: Option<Secret>,
    /// The ledger that gave the permission, looked at once more before the first byte; none for an executor that has none at hand.
    pub ledger: Option<Store>,
}

/// Redeems a verified token, once.
pub trait Redeem {
    /// Turns the token into the permission for one attempt.
    fn redeem(&self, token: VerifiedToken) -> impl Future<Output = Result<Permit, Refusal>> + Send;

    /// Returns once a signed head outside the database covers the record of what was redeemed: only then may a byte be sent, so
    /// that no older copy of the database lets the same be sent again. False when that does not come in time.
    fn covered(&self) -> impl Future<Output = bool> + Send;

    /// Redeems the token of a tool of the gate's own and does what it permits, at once: nothing stands between the two.
    ///
    /// *Errors*: `tool_wrong` from whoever redeems for providers only.
    fn carry_out(&self, _token: VerifiedToken) -> impl Future<Output = Result<(), Refusal>> + Send {
        let refusal = Refusal::new(Code::ToolWrong, "a tool of the gate's own is carried out by the gate's workers only; nothing runs");
        std::future::ready(Err(refusal))
    }
}

/// What an attempt brought.
pub enum Attempted {
    /// It was sent, or could not be: an answer to record.
    Sent {
        /// The operation.
        operation: OperationKey,
        /// The attempt.
        attempt: u32,
        /// The reply.
        reply: Reply,
    },
    /// The gate itself is the provider: it acted, and recorded it, in the transaction that redeemed the token.
    CarriedOut,
}

/// Makes one attempt.
///
/// *Errors*: whatever the token rule or the redemption refuses. Nothing was sent then.
pub async fn attempt(order: Order<'_>, now: fn() -> Timestamp, outbound: &Outbound, redeemer: &impl Redeem) -> Result<Attempted, Refusal> {
    let (frozen, verified) = examine(&order, now())?;
    if matches!(order.row.executor, Executor::Gate) {
        redeemer.carry_out(verified).await?;
        return Ok(Attempted::CarriedOut);
    }
    let permit = redeemer.redeem(verified).await?;
    Ok(send_permitted(order.row, &frozen, permit, redeemer.covered(), now, outbound).await)
}

/// Looks at what was handed over, before anything is asked of anybody.
///
/// *Errors*: whatever the token rule refuses.
pub fn examine(order: &Order<'_>, now: Timestamp) -> Result<(FrozenRequest, VerifiedToken), Refusal> {
    let frozen = FrozenRequest::parse(order.frozen)?;
    let members = frozen.members();
    // Computed here from the bytes that will be sent: with other arguments the token's signature does not verify.
    let args_sha256 = frozen.args_sha256();
    let verified = token::verify(order.token, &order.token_key, order.audience.as_str(), &members.tool, &args_sha256, now)?;
    if verified.claims().request != members.request {
        return Err(Refusal::new(Code::RequestWrong, "the token is for another request; nothing runs"));
    }
    if order.row.digest() != members.row_sha256 {
        return Err(Refusal::new(Code::RowStale, "the tool's row has changed since the call was frozen; nothing runs"));
    }
    Ok((frozen, verified))
}

/// Sends what a redeemed token permits, once, and not before a signed head covers the permission.
pub async fn send_permitted(
    row: &Row,
    frozen: &FrozenRequest,
    permit: Permit,
    covered: impl Future<Output = bool>,
    now: fn() -> Timestamp,
    outbound: &Outbound,
) -> Attempted {
    let covered = covered.await;
    pass(Seam::AfterRedeem);
    let Permit { operation, attempt, lease_until, credential, ledger } = permit;
    let reply = match &row.executor {
        _ if !covered => Reply::NothingSent { detail: "no signed head covers the permission to send; nothing was sent".to_owned() },
        Executor::Http(http) => send(http, frozen, operation, lease_until, (credential, ledger), now, outbound).await,
        Executor::Gate | Executor::Mcp { .. } | Executor::Remote { .. } => {
            Reply::NothingSent { detail: "this gate has no executor of the row's kind; nothing was sent".to_owned() }
        }
    };
    pass(Seam::AfterAnswer);
    Attempted::Sent { operation, attempt, reply }
}

async fn send(
    http: &HttpExecutor,
    frozen: &FrozenRequest,
    operation: OperationKey,
    lease_until: Timestamp,
    (credential, ledger): (Option<Secret>, Option<Store>),
    now: fn() -> Timestamp,
    outbound: &Outbound,
) -> Reply {
    // The loader lets no money row through whose address depends on arguments; one that does is not sent.
    if !http.url.is_constant() {
        return Reply::NothingSent { detail: "the row's address is not constant; nothing was sent".to_owned() };
    }
    let outgoing = Outgoing {
        method: http.method,
        url: http.url.source().to_owned(),
        body: Some(frozen.canonical_args().to_vec()),
        idempotency: http.idempotency_header.as_deref().map(|header| (header, operation.digest())),
        credential,
        timeout_s: http.timeout_s,
    };
    // The last look before the first byte: a worker that was paused here has lost its right to send.
    if now() >= lease_until {
        return Reply::NothingSent { detail: "the lease ran out before anything was sent".to_owned() };
    }
    pass(Seam::BeforeSend);
    if let Some(error) = ledger.and_then(|ledger| ledger.undisturbed().err()) {
        return Reply::NothingSent { detail: format!("nothing was sent: {error}") };
    }
    outbound.send(outgoing).await
}
