//! Execution tokens: minted after every check, redeemed once, worth nothing otherwise.

use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::record::AuditRecord;
use vidimus_core::request::RequestState;
use vidimus_core::token::VerifiedToken;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name};

const ROLE: &str = "billing-approver";

async fn approved(gate: &Gate, bea: &Approver, invoice: &str) -> (RequestId, OperationKey) {
    let (_, request) = gate.refund(invoice).await;
    let operation = gate.approve(bea, request, ROLE).await.operation.expect("a quorum");
    (request, operation)
}

/// The operation and the request that the newest record is about.
async fn last_named(gate: &Gate) -> (Option<OperationKey>, Option<RequestId>) {
    let records = gate.log().await;
    let last = AuditRecord::parse(records.last().expect("a record").leaf.as_bytes()).expect("a leaf");
    (last.operation, last.request)
}

async fn refused(gate: &Gate, token: VerifiedToken) -> Code {
    let size = gate.size().await;
    let named = (Some(token.claims().operation), Some(token.claims().request));
    match gate.redeem(token).await {
        RedeemOutcome::Refused(refusal) => {
            assert_eq!(gate.told_since(size).await, [format!("token_refused:{}", refusal.code)]);
            assert_eq!(last_named(gate).await, named, "whoever looks at the operation or the request finds it");
            refusal.code
        }
        RedeemOutcome::Redeemed(redeemed) => panic!("{redeemed:?}"),
    }
}

#[tokio::test]
async fn a_token_is_redeemed_once() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (request, operation) = approved(&gate, &bea, "842").await;
    let size = gate.size().await;
    let token = gate.token(operation).await;
    let RedeemOutcome::Redeemed(redeemed) = gate.redeem(token.clone()).await else { panic!("redeemed") };
    assert_eq!(redeemed, Redeemed { operation, attempt: 1, lease_until: gate.now().plus_s(30) });
    assert_eq!(gate.told_since(size).await, ["token_minted", "token_redeemed", "operation_changed"]);
    let view = gate.view(request).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Consumed, OperationState::Executing));
    assert_eq!(refused(&gate, token).await, Code::TokenAlreadyRedeemed);
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::OperationStateWrong));
    // The next due sweep has nothing to mint.
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep"), Due::default());
}

#[tokio::test]
async fn a_new_token_kills_the_old_and_time_kills_the_new() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, operation) = approved(&gate, &bea, "842").await;
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation]);
    let old = gate.token(operation).await;
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, []);
    let new = gate.token(operation).await;
    assert_eq!(refused(&gate, old).await, Code::TokenUnknown);
    gate.advance_s(60);
    assert_eq!(refused(&gate, new).await, Code::TokenExpired);
    // An expired token leaves the operation reserved, so it is due again.
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation]);
    assert_eq!(gate.redeem_new_token(operation).await.attempt, 1);
}

/// What was minted and what was signed are two statements of the same end: where they differ, nothing runs after the first.
#[tokio::test]
async fn a_token_ends_as_it_was_minted_and_as_it_was_signed() {
    for (signed_s, ends_s) in [(30, 30), (60, 60), (90, 60)] {
        for over in [false, true] {
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, operation) = approved(&gate, &bea, "842").await;
            let (outcome, jti) = gate.mint(operation).await;
            let MintOutcome::Minted(minted) = outcome else { panic!("{outcome:?}") };
            let token = gate.sign_token(&Minted { expires_at: minted.issued_at.plus_s(signed_s), ..*minted }, jti);
            gate.advance_ms(ends_s * 1000 - i64::from(!over));
            if over {
                assert_eq!(refused(&gate, token).await, Code::TokenExpired, "{signed_s}");
            } else {
                assert!(matches!(gate.redeem(token).await, RedeemOutcome::Redeemed(_)), "{signed_s}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_that_was_never_minted_is_unknown() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, operation) = approved(&gate, &bea, "842").await;
    let (outcome, _) = gate.mint(operation).await;
    let MintOutcome::Minted(minted) = outcome else { panic!("{outcome:?}") };
    let invented = gate.sign_token(&minted, gate.nonce());
    assert_eq!(refused(&gate, invented).await, Code::TokenUnknown);
}

#[tokio::test]
async fn a_token_whose_claims_were_not_minted_is_refused_and_not_burnt() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, operation) = approved(&gate, &bea, "842").await;
    let (other_request, other) = approved(&gate, &bea, "843").await;
    let (outcome, jti) = gate.mint(operation).await;
    let MintOutcome::Minted(minted) = outcome else { panic!("{outcome:?}") };
    let twisted = [
        Minted { operation: other, ..*minted.clone() },
        Minted { attempt: 2, ..*minted.clone() },
        Minted { args_sha256: Digest::of(b"other arguments"), ..*minted.clone() },
        Minted { audience: "exe".to_owned(), ..*minted.clone() },
        Minted { request: other_request, ..*minted.clone() },
    ];
    for claims in twisted {
        assert_eq!(refused(&gate, gate.sign_token(&claims, jti)).await, Code::TokenUnknown);
    }
    let elsewhere = Minted { tool: name("wire"), ..*minted.clone() };
    assert_eq!(refused(&gate, gate.sign_token(&elsewhere, jti)).await, Code::BytesDiffer);
    assert!(matches!(gate.redeem(gate.sign_token(&minted, jti)).await, RedeemOutcome::Redeemed(_)));
}

#[tokio::test]
async fn a_forged_token_is_recorded_without_the_database_knowing_it() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (request, operation) = approved(&gate, &bea, "842").await;
    let size = gate.size().await;
    let refusal = Refusal::new(Code::SignatureInvalid, "forged");
    gate.store
        .refuse_token(gate.moment(), TokenRefused { operation: Some(operation), request: Some(request), refusal })
        .await
        .expect("recorded");
    assert_eq!(gate.told_since(size).await, ["token_refused:signature_invalid"]);
    assert_eq!(last_named(&gate).await, (Some(operation), Some(request)));
    assert_eq!(gate.view(request).await.state, RequestState::Approved);
}

#[tokio::test]
async fn nothing_is_minted_or_redeemed_after_the_request_expired() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (request, operation) = approved(&gate, &bea, "842").await;
    gate.advance_s(570);
    let token = gate.token(operation).await;
    gate.advance_s(30);
    let size = gate.size().await;
    assert!(matches!(gate.redeem(token.clone()).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::RequestExpired));
    assert_eq!(
        gate.told_since(size).await,
        ["token_refused:request_expired", "operation_changed", "request_expired:request_expired"],
        "it ends where that is found, in one transaction"
    );
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestExpired));
    let view = gate.view(request).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Expired, OperationState::NotStarted));
    gate.advance_s(-300);
    assert_eq!(refused(&gate, token).await, Code::TokenUnknown);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep"), Due::default());
}

#[tokio::test]
async fn a_revocation_stops_a_token_that_is_out() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (request, operation) = approved(&gate, &bea, "842").await;
    let token = gate.token(operation).await;
    assert!(matches!(gate.decide(&cem, request, DecisionKind::Revoke, ROLE).await, DecisionOutcome::Recorded(_)));
    assert_eq!(refused(&gate, token).await, Code::TokenUnknown);
}

/// What was stopped, or ended, while its delay lasts is refused for that: nobody is told to come back later.
#[tokio::test]
async fn what_ended_during_its_delay_is_refused_for_what_ended_it() {
    const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::NotDue(at) if at > gate.now()));
    assert!(matches!(gate.decide(&cem, request, DecisionKind::Revoke, "treasury").await, DecisionOutcome::Recorded(_)));
    let size = gate.size().await;
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestRevoked));
    assert_eq!(gate.told_since(size).await, ["token_refused:request_revoked"]);
    // Revoked agents end what they asked for; what is stale is refused as stale.
    let (_, request) = gate.wait_for("wire", &WIRE.replace("4200000", "4200001")).await;
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    assert_eq!(gate.store.revoke_agent(gate.moment(), name("billing")).await.expect("an outcome"), AgentRevoked::Revoked { ended: 1 });
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestStale));
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, Vec::new());
}

#[tokio::test]
async fn there_is_no_token_without_an_approval() {
    let (gate, ..) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let args_sha256 = gate.view(request).await.args_sha256;
    let operation = OperationKey::money(&name("refund"), &request, &args_sha256);
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::NotFound));
}

#[tokio::test]
async fn a_roster_change_on_an_older_roster_is_stale_at_mint() {
    let (gate, ada) = Gate::with_admin().await;
    let mut operations = Vec::new();
    for who in ["Bea Example", "Cem Example"] {
        gate.invite(who, &[ROLE]).await;
        let EnrolOutcome::Waiting { request, .. } = gate.propose(&gate.approver(who)).await else { panic!("waits") };
        operations.push((request, gate.approve(&ada, request, "admin").await.operation.expect("a quorum")));
    }
    let first = gate.token(operations[0].1).await;
    let token = gate.token(operations[1].1).await;
    assert_eq!(gate.carry_out_with(first.clone()).await, OwnToolOutcome::Applied(operations[0].1));
    assert!(matches!(gate.redeem(token.clone()).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::ToolWrong));
    assert!(matches!(gate.carry_out_with(token).await, OwnToolOutcome::Refused(refusal) if refusal.code == Code::TokenUnknown));
    assert_eq!(gate.view(operations[1].0).await.state, RequestState::Stale);
    // It is applied once, whoever asks again.
    let again = gate.carry_out_with(first).await;
    assert!(matches!(again, OwnToolOutcome::Refused(refusal) if refusal.code == Code::TokenAlreadyRedeemed));
    assert_eq!(gate.roster().await.version, 2);
}
