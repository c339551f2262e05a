//! The short way: the last approval, the token and its redemption in one commit, and whatever sends a request the long way.

use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::token::{self, TokenClaims};
use vidimus_store::*;

use crate::fixture::{Approver, Gate, secret};

const ROLE: &str = "billing-approver";
const WIRE: &str = r#"{"account":"DE00","amount_minor":1500,"currency":"EUR"}"#;

/// An executor at hand; what it does wrong is in its hands.
#[derive(Clone, Copy)]
enum Hands {
    Honest,
    /// Presents nothing.
    Empty,
    /// Presents a token for another attempt than the one that was minted.
    Other,
}

struct AtHand {
    hands: Hands,
    jti: Nonce,
}

impl Executor for AtHand {
    fn order(&self, operation: OperationKey) -> Mint {
        let jti_sha256 = Digest::of(self.jti.as_bytes());
        Mint { operation, jti_sha256, audience: "gate".to_owned(), ttl_s: 60, referents: Json::object([]) }
    }

    fn present(&self, minted: &Minted) -> Result<Redeem, Refusal> {
        let attempt = match self.hands {
            Hands::Honest => minted.attempt,
            Hands::Empty => return Err(Refusal::new(Code::SignatureInvalid, "nothing to present")),
            Hands::Other => minted.attempt + 1,
        };
        let claims = TokenClaims {
            jti: self.jti,
            audience: minted.audience.clone(),
            issued_at: minted.issued_at,
            expires_at: minted.expires_at,
            request: minted.request,
            args_sha256: minted.args_sha256,
            tool: minted.tool.clone(),
            operation: minted.operation,
            attempt,
            decisions: minted.decisions.clone(),
        };
        let key = secret("token");
        let text = token::mint(&claims, &key)?;
        let token = token::verify(&text, &key.public(), "gate", &minted.tool, &minted.args_sha256, minted.issued_at)?;
        Ok(Redeem { token, lease_s: 30, referents: Json::object([]) })
    }
}

impl Gate {
    async fn decide_at_once(
        &self,
        approver: &Approver,
        request: RequestId,
        kind: DecisionKind,
        role: &str,
        hands: Hands,
    ) -> (DecisionOutcome, Option<Begun>) {
        let decision = self.decision(approver, request, kind, role, &|_| {}).await;
        let executor = Box::new(AtHand { hands, jti: self.nonce() });
        self.store.decide_and_begin(self.moment(), decision, executor).await.expect("an outcome")
    }

    async fn state_of(&self, operation: OperationKey) -> (OperationState, u32) {
        let view = self.store.operation(operation).await.expect("a reading").expect("an operation");
        (view.state, view.attempt)
    }
}

fn operation_of(outcome: &DecisionOutcome) -> Option<OperationKey> {
    let DecisionOutcome::Recorded(receipt) = outcome else { panic!("{outcome:?}") };
    receipt.operation
}

#[tokio::test]
async fn the_last_approval_begins_the_operation_in_the_commit_that_records_it() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let (size, commits) = (gate.size().await, gate.store.commits());
    let (outcome, begun) = gate.decide_at_once(&bea, request, DecisionKind::Approve, ROLE, Hands::Honest).await;
    let operation = operation_of(&outcome).expect("a quorum");
    let begun = begun.expect("begun");
    assert_eq!(begun.redeemed, Redeemed { operation, attempt: 1, lease_until: gate.now().plus_s(30) });
    assert_eq!(begun.frozen, gate.view(request).await.frozen);
    assert_eq!(gate.store.commits(), commits + 1);
    let told = ["decision_recorded", "operation_changed", "token_minted", "token_redeemed", "operation_changed"];
    assert_eq!(gate.told_since(size).await, told);
    assert_eq!(gate.state_of(operation).await, (OperationState::Executing, 1));
    assert_eq!(gate.view(request).await.state, RequestState::Consumed);
    assert!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint.is_empty(), "nobody else takes it on");
    assert!(gate.store.verify(None).await.is_ok());
}

#[tokio::test]
async fn without_a_quorum_or_with_a_delay_nothing_begins() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, wire) = gate.wait_for("wire", WIRE).await;
    let (first, begun) = gate.decide_at_once(&bea, wire, DecisionKind::Approve, "treasury", Hands::Honest).await;
    assert_eq!((operation_of(&first), begun), (None, None));
    let (second, begun) = gate.decide_at_once(&cem, wire, DecisionKind::Approve, "treasury", Hands::Honest).await;
    let operation = operation_of(&second).expect("a quorum");
    assert_eq!(begun, None, "the row's delay is not over");
    assert_eq!(gate.state_of(operation).await, (OperationState::Reserved, 0));
    let (_, refund) = gate.refund("842").await;
    let (denied, begun) = gate.decide_at_once(&bea, refund, DecisionKind::Deny, ROLE, Hands::Honest).await;
    assert_eq!((operation_of(&denied), begun), (None, None));
}

#[tokio::test]
async fn an_executor_that_presents_nothing_or_something_else_leaves_the_operation_to_the_long_way() {
    for hands in [Hands::Empty, Hands::Other] {
        let (gate, _, bea, _) = Gate::with_people().await;
        let (_, request) = gate.refund("842").await;
        let size = gate.size().await;
        let (outcome, begun) = gate.decide_at_once(&bea, request, DecisionKind::Approve, ROLE, hands).await;
        let operation = operation_of(&outcome).expect("a quorum");
        assert_eq!(begun, None);
        assert_eq!(gate.told_since(size).await, ["decision_recorded", "operation_changed"], "the token is taken back");
        assert_eq!(gate.state_of(operation).await, (OperationState::Reserved, 0));
        assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation]);
        assert_eq!(gate.redeem_new_token(operation).await.attempt, 1);
    }
}

#[tokio::test]
async fn the_same_envelope_again_begins_nothing() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    let at_hand = || Box::new(AtHand { hands: Hands::Honest, jti: gate.nonce() });
    let (_, first) = gate.store.decide_and_begin(gate.moment(), decision.clone(), at_hand()).await.expect("an outcome");
    assert!(first.is_some());
    let (outcome, again) = gate.store.decide_and_begin(gate.moment(), decision, at_hand()).await.expect("an outcome");
    assert!(matches!(outcome, DecisionOutcome::Stored(_)), "{outcome:?}");
    assert_eq!(again, None);
}
