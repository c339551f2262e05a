//! Requests that wait too long are passed on: once, on time, to whom the signed row says.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::record::AuditRecord;
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Approver, Gate, names};
use crate::forged::forge;

const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;
/// As the fixture's row says.
const AFTER_S: i64 = 300;

/// A gate with two holders of `treasury` and two of the role that is next.
async fn house() -> (Gate, Approver, Approver, Approver) {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let dan = gate.admit(&ada, "Dan Example", &["finance-lead"]).await;
    let eva = gate.admit(&ada, "Eva Example", &["finance-lead"]).await;
    (gate, bea, dan, eva)
}

#[tokio::test]
async fn a_request_is_passed_on_once_and_not_a_millisecond_early() {
    let (gate, bea, dan, eva) = house().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    gate.advance_ms(AFTER_S * 1000 - 1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 0);
    assert_eq!(gate.store.request(request, names(&["finance-lead"])).await.expect("a reading"), None, "not theirs to see yet");
    assert_eq!(refused_decision(gate.decide(&dan, request, DecisionKind::Deny, "finance-lead").await), Code::RoleNotNeeded);
    let size = gate.size().await;
    gate.advance_ms(1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 0, "once");
    assert_eq!(gate.told_since(size).await, ["request_escalated"]);
    // Whoever it is passed on to can read it, from the record and from the gate.
    let position = size;
    let record = gate.store.records(position, 1, names(&["finance-lead"])).await.expect("a reading").remove(0);
    let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
    assert_eq!(leaf.roles, names(&["finance-lead"]));
    assert!(record.body.expect("a body").contains("DE89370400440532013000"));
    assert!(gate.store.request(request, names(&["finance-lead"])).await.expect("a reading").expect("theirs").escalated);
    // One of each role is a quorum of two.
    assert_eq!(gate.approve(&bea, request, "treasury").await.given, 1);
    let receipt = gate.approve(&dan, request, "finance-lead").await;
    assert_eq!((receipt.state, receipt.given, receipt.needed), (RequestState::Approved, 2, 2));
    assert!(matches!(
        gate.decide(&eva, request, DecisionKind::Revoke, "finance-lead").await,
        DecisionOutcome::Recorded(receipt) if receipt.state == RequestState::Revoked
    ));
}

#[tokio::test]
async fn what_the_next_role_approved_still_stands_when_it_is_minted_and_redeemed() {
    let (mut gate, bea, dan, _) = house().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    gate.advance_s(AFTER_S);
    gate.store.due(gate.moment()).await.expect("a sweep");
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&dan, request, "finance-lead").await.operation.expect("a quorum");
    gate.advance_s(30);
    gate.redeem_new_token(operation).await;
    assert!(gate.store.verify(None).await.is_ok());
    // Whoever writes into the database passes nothing on.
    let (_, other) = gate.wait_for("wire", &WIRE.replace("4200000", "4200001")).await;
    forge(
        &mut gate,
        &format!(
            "UPDATE requests SET escalated_position = (SELECT position FROM records WHERE type = 'request_escalated'), escalate_at = 1 WHERE request = '{other}'"
        ),
    );
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 0, "the signed row says when");
    assert_eq!(gate.store.request(other, names(&["finance-lead"])).await.expect("a reading"), None, "another request's record");
    assert_eq!(refused_decision(gate.decide(&dan, other, DecisionKind::Approve, "finance-lead").await), Code::RoleNotNeeded);
}

#[tokio::test]
async fn what_is_decided_is_not_passed_on() {
    let (gate, bea, ..) = house().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    assert!(matches!(gate.decide(&bea, request, DecisionKind::Deny, "treasury").await, DecisionOutcome::Recorded(_)));
    gate.advance_s(AFTER_S);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 0);
    assert!(!gate.view(request).await.escalated);
}
