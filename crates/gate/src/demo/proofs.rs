//! The proofs at the end of the demo, on the real executor and the real store of the gate that has just been ended: the
//! frozen bytes with one byte changed, and a token that was redeemed before.

use std::path::Path;

use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::token::VerifiedToken;
use vidimus_store::{Redeem as RedeemToken, RedeemOutcome};

use super::DemoError;
use crate::clock;
use crate::executor::money::{Order, Permit, Redeem, attempt};
use crate::gate::Gate;
use crate::limits::LEASE_S;

/// What the executor said to something that must not run.
pub struct Refused {
    /// What was tried.
    pub what: &'static str,
    /// The code of the refusal.
    pub code: Code,
    /// Its words.
    pub words: String,
}

/// Redeems in the store, as the gate's own workers do, and finds no credential.
struct StoreRedeem<'a>(&'a Gate);

impl Redeem for StoreRedeem<'_> {
    async fn redeem(&self, token: VerifiedToken) -> Result<Permit, Refusal> {
        let failed = || Refusal::new(Code::TokenUnknown, "the store failed");
        let redeem = RedeemToken { token, lease_s: LEASE_S, referents: Json::object([]) };
        match self.0.store.redeem(self.0.moment().map_err(|_| failed())?, redeem).await {
            Ok(RedeemOutcome::Redeemed(redeemed)) => Ok(Permit {
                operation: redeemed.operation,
                attempt: redeemed.attempt,
                lease_until: redeemed.lease_until,
                credential: None,
                ledger: None,
            }),
            Ok(RedeemOutcome::Refused(refusal)) => Err(refusal),
            Err(_) => Err(failed()),
        }
    }

    async fn covered(&self) -> bool {
        self.0.checkpoints.cover_now().await
    }
}

/// Opens the ended gate's folder and tries what must be refused, with a token that was minted for this request.
///
/// *Errors*: the folder cannot be opened, the token is not there, or something was not refused.
pub async fn present(data: &Path, tokens: &Path, request: RequestId) -> Result<[Refused; 2], DemoError> {
    let gate = Gate::open(data, None).await?;
    let view = gate
        .store
        .request(request, super::everything()?)
        .await?
        .ok_or(DemoError::Unexpected("the approved request is not in the ledger"))?;
    let token = token_of(&gate, tokens, view.frozen.as_bytes())?;
    let table = gate.table().await?.ok_or(DemoError::Unexpected("the gate has no table"))?;
    let row = table.row(&view.tool).ok_or(DemoError::Unexpected("the tool has no row"))?;
    let changed = change_one_byte(&view.frozen)?;
    let mut refused = Vec::new();
    for (what, frozen) in [("one byte of the arguments changed", changed.as_str()), ("the same token again", view.frozen.as_str())] {
        let order = Order { frozen: frozen.as_bytes(), token: &token, row, audience: &gate.audience, token_key: gate.keys.token.public() };
        match attempt(order, clock::now, &gate.outbound, &StoreRedeem(&gate)).await {
            Ok(_) => return Err(DemoError::Unexpected("a token was accepted that must be refused")),
            Err(refusal) => refused.push(Refused { what, code: refusal.code, words: refusal.message }),
        }
    }
    <[Refused; 2]>::try_from(refused).map_err(|_| DemoError::Unexpected("two refusals were due"))
}

/// The token that was minted for these bytes: the one whose signature holds over them.
fn token_of(gate: &Gate, tokens: &Path, frozen: &[u8]) -> Result<String, DemoError> {
    let frozen = FrozenRequest::parse(frozen).map_err(DemoError::Refused)?;
    let kept = std::fs::read_to_string(tokens)?;
    let audience: &Name = &gate.audience;
    let fits = |token: &&str| {
        let found = vidimus_core::token::verify(
            token,
            &gate.keys.token.public(),
            audience.as_str(),
            &frozen.members().tool,
            &frozen.args_sha256(),
            frozen.members().created_at,
        );
        found.is_ok()
    };
    kept.lines().find(fits).map(str::to_owned).ok_or(DemoError::Unexpected("no token was minted for the approved request"))
}

/// The frozen bytes with the last digit of the amount changed.
fn change_one_byte(frozen: &str) -> Result<String, DemoError> {
    let marker = "\"amount_minor\":";
    let from = frozen.find(marker).ok_or(DemoError::Unexpected("the request has no amount"))? + marker.len();
    let digits = frozen[from..].bytes().take_while(u8::is_ascii_digit).count();
    let last = from + digits.checked_sub(1).ok_or(DemoError::Unexpected("the amount has no digit"))?;
    let other = if &frozen[last..=last] == "9" { "8" } else { "9" };
    Ok(format!("{}{other}{}", &frozen[..last], &frozen[last + 1..]))
}
