//! What an argument names is frozen with the call, and still that when it is minted and redeemed.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::token::VerifiedToken;
use vidimus_store::*;

use crate::fixture::{Gate, json};

const PAY: &str = r#"{"payee":"payee_1","amount_minor":4200,"currency":"EUR"}"#;
const BEFORE: &str = r#"{"/payee":"DE89370400440532013000"}"#;
const AFTER: &str = r#"{"/payee":"FR1420041010050500013M02606"}"#;

async fn freeze(gate: &Gate, referents: Option<&str>) -> FreezeOutcome {
    let received = gate.received("billing", "pay", None);
    let row_sha256 = gate.table.row(&received.tool).expect("a row").digest();
    let (request, salt, referents) = (gate.request_id(), gate.salt(), referents.map(json));
    let freeze = FreezeCall { received, request, salt, row_sha256, args: json(PAY), referents };
    gate.store.freeze_call(gate.moment(), freeze).await.expect("an outcome")
}

async fn mint(gate: &Gate, operation: OperationKey, referents: &str) -> Result<VerifiedToken, Code> {
    let jti = gate.nonce();
    let mint =
        Mint { operation, jti_sha256: Digest::of(jti.as_bytes()), audience: "gate".to_owned(), ttl_s: 60, referents: json(referents) };
    match gate.store.mint(gate.moment(), mint).await.expect("an outcome") {
        MintOutcome::Minted(minted) => Ok(gate.sign_token(&minted, jti)),
        MintOutcome::Refused(refusal) => Err(refusal.code),
        MintOutcome::NotDue(at) => panic!("not due before {at}"),
    }
}

async fn redeem(gate: &Gate, token: VerifiedToken, referents: &str) -> Result<u32, Code> {
    match gate.store.redeem(gate.moment(), Redeem { token, lease_s: 30, referents: json(referents) }).await.expect("an outcome") {
        RedeemOutcome::Redeemed(redeemed) => Ok(redeemed.attempt),
        RedeemOutcome::Refused(refusal) => Err(refusal.code),
    }
}

#[tokio::test]
async fn what_an_argument_names_is_signed_with_it() {
    let (gate, ..) = Gate::with_people().await;
    let FreezeOutcome::Created { request, .. } = freeze(&gate, Some(BEFORE)).await else { panic!("not created") };
    let frozen = FrozenRequest::parse(gate.view(request).await.frozen.as_bytes()).expect("a stored request");
    assert_eq!(frozen.members().referents, json(BEFORE));
    let mut other = frozen.members().clone();
    other.referents = json(AFTER);
    assert_ne!(FrozenRequest::freeze(other).expect("frozen").request_sha256(), frozen.request_sha256());
}

#[tokio::test]
async fn a_call_whose_referent_cannot_be_read_asks_nobody_but_still_joins() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    assert!(matches!(freeze(&gate, None).await, FreezeOutcome::Refused(refusal) if refusal.code == Code::ReferentUnreadable));
    assert_eq!(gate.told_since(size).await, ["call_refused:referent_unreadable"]);
    let FreezeOutcome::Created { call, .. } = freeze(&gate, Some(BEFORE)).await else { panic!("not created") };
    assert!(matches!(freeze(&gate, None).await, FreezeOutcome::Joined(joined) if joined.call == call));
    // The name may mean something else by now: it is still the same call, and will be found stale.
    assert!(matches!(freeze(&gate, Some(AFTER)).await, FreezeOutcome::Joined(joined) if joined.call == call));
    // Another number of referents than the row's is a defect of whoever resolved them.
    for wrong in ["{}", r#"{"/payee":"x","/currency":"y"}"#, r#"{"/currency":"EUR"}"#] {
        let other = json(&PAY.replace("4200", "1"));
        let received = gate.received("billing", "pay", None);
        let row_sha256 = gate.table.row(&received.tool).expect("a row").digest();
        let (request, salt, referents) = (gate.request_id(), gate.salt(), Some(json(wrong)));
        let freeze = FreezeCall { received, request, salt, row_sha256, args: other, referents };
        assert!(matches!(gate.store.freeze_call(gate.moment(), freeze).await, Err(StoreError::Corrupt(_))), "{wrong}");
    }
}

#[tokio::test]
async fn a_name_that_means_something_else_after_the_approval_runs_nothing() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let FreezeOutcome::Created { request, .. } = freeze(&gate, Some(BEFORE)).await else { panic!("not created") };
    let operation = gate.approve(&bea, request, "treasury").await.operation.expect("a quorum");
    let token = mint(&gate, operation, BEFORE).await.expect("as approved");
    let size = gate.size().await;
    assert_eq!(redeem(&gate, token.clone(), AFTER).await, Err(Code::ReferentChanged));
    assert_eq!(gate.told_since(size).await, ["token_refused:referent_changed", "operation_changed", "request_stale:referent_changed"]);
    assert_eq!(mint(&gate, operation, AFTER).await.err(), Some(Code::RequestStale));
    assert_eq!(redeem(&gate, token, BEFORE).await, Err(Code::TokenUnknown), "dead, although the name means the same again");
    let view = gate.view(request).await;
    assert_eq!((view.state, view.end_code), (RequestState::Stale, Some(Code::ReferentChanged)));
    // Asked again it is another request, of what the name means now, and it names the earlier one.
    let FreezeOutcome::Created { request: again, .. } = freeze(&gate, Some(AFTER)).await else { panic!("not created") };
    let frozen = FrozenRequest::parse(gate.view(again).await.frozen.as_bytes()).expect("a stored request");
    assert_eq!((frozen.members().earlier.clone(), &frozen.members().referents), (vec![request], &json(AFTER)));
    let operation = gate.approve(&bea, again, "treasury").await.operation.expect("a quorum");
    let token = mint(&gate, operation, AFTER).await.expect("as approved");
    assert_eq!(redeem(&gate, token, AFTER).await, Ok(1));
    assert!(gate.store.verify(None).await.is_ok());
}

/// A gate, and an operation whose first attempt was sent and whose outcome is unknown.
async fn in_doubt() -> (Gate, OperationKey) {
    let (gate, _, bea, _) = Gate::with_people().await;
    let FreezeOutcome::Created { request, .. } = freeze(&gate, Some(BEFORE)).await else { panic!("not created") };
    let operation = gate.approve(&bea, request, "treasury").await.operation.expect("a quorum");
    let token = mint(&gate, operation, BEFORE).await.expect("as approved");
    let attempt = redeem(&gate, token, BEFORE).await.expect("as approved");
    let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
    gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
    gate.advance_s(2);
    (gate, operation)
}

/// A second attempt whose name means something else by the time of its redemption is a person's, at once.
#[tokio::test]
async fn a_second_attempt_whose_name_changed_after_the_minting_goes_to_a_person() {
    let (gate, operation) = in_doubt().await;
    let token = mint(&gate, operation, BEFORE).await.expect("as approved");
    assert_eq!(redeem(&gate, token, AFTER).await, Err(Code::ReferentChanged));
    let state = gate.store.operation(operation).await.expect("a reading").expect("an operation").state;
    assert_eq!(state, OperationState::NeedsReconciliation);
}

#[tokio::test]
async fn an_outcome_in_doubt_whose_name_means_something_else_goes_to_a_person() {
    let (gate, operation) = in_doubt().await;
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation]);
    assert_eq!(mint(&gate, operation, AFTER).await.err(), Some(Code::ReferentChanged));
    let state = gate.store.operation(operation).await.expect("a reading").expect("an operation").state;
    assert_eq!(state, OperationState::NeedsReconciliation);
}

#[tokio::test]
async fn a_call_that_names_nothing_has_nothing_to_compare() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, "billing-approver").await.operation.expect("a quorum");
    assert_eq!(mint(&gate, operation, BEFORE).await.err(), Some(Code::ReferentChanged));
    let (_, request) = gate.refund("2").await;
    let frozen = FrozenRequest::parse(gate.view(request).await.frozen.as_bytes()).expect("a stored request");
    assert_eq!(frozen.members().referents, Json::object([]));
}
