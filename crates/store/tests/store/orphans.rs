//! Requests whose agent is gone without having had the call's id.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;
use vidimus_store::limits::ORPHAN_S;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Gate, name};
use crate::forged::forge;

const ROLE: &str = "billing-approver";
const REFUND: &str = r#"{"invoice":"1","amount_minor":1500,"currency":"EUR"}"#;

async fn orphan(gate: &Gate, call: vidimus_core::ids::CallId) -> bool {
    gate.store.orphan_call(gate.moment(), name("billing"), call).await.expect("an outcome")
}

#[tokio::test]
async fn an_orphan_is_not_approved_until_the_same_call_comes_again() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.refund("1").await;
    let size = gate.size().await;
    assert!(orphan(&gate, call).await);
    assert!(!orphan(&gate, call).await, "once");
    assert_eq!(gate.told_since(size).await, ["request_orphaned"]);
    assert!(gate.view(request).await.orphaned);
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, ROLE).await), Code::RequestOrphaned);
    // Somebody who clears the column clears nothing.
    let signed = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    let mut gate = gate;
    forge(&mut gate, "UPDATE requests SET orphaned_until = NULL");
    assert_eq!(refused_decision(gate.record(signed).await), Code::RequestOrphaned);
    let until = gate.now().plus_s(ORPHAN_S).as_ms();
    forge(&mut gate, &format!("UPDATE requests SET orphaned_until = {until}"));
    // The same call joins, and is told what it has not been told.
    match gate.freeze(gate.received("billing", "refund", None), REFUND).await {
        FreezeOutcome::Joined(joined) => assert_eq!((joined.call, joined.was_orphaned), (call, true)),
        other => panic!("{other:?}"),
    }
    match gate.freeze(gate.received("billing", "refund", None), REFUND).await {
        FreezeOutcome::Joined(joined) => assert!(!joined.was_orphaned),
        other => panic!("{other:?}"),
    }
    assert_eq!(gate.approve(&bea, request, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn whoever_asks_by_the_id_has_it() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.refund("1").await;
    assert!(orphan(&gate, call).await);
    assert!(!gate.store.hear_of_call(gate.moment(), name("support"), call).await.expect("an outcome"), "another agent's");
    assert!(gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert!(!gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert_eq!(gate.approve(&bea, request, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn a_denial_needs_no_agent() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.refund("1").await;
    assert!(orphan(&gate, call).await);
    assert!(matches!(gate.decide(&bea, request, DecisionKind::Deny, ROLE).await, DecisionOutcome::Recorded(_)));
    assert!(!orphan(&gate, call).await, "what has ended goes its way");
}

#[tokio::test]
async fn an_orphan_that_nobody_asks_for_again_is_withdrawn_in_time_and_not_a_millisecond_earlier() {
    let (gate, ..) = Gate::with_people().await;
    let (call, request) = gate.wait_for("refund", REFUND).await;
    // A request that lives longer than its agent may be gone.
    let more = gate.view(request).await.waits_until;
    assert!(orphan(&gate, call).await);
    assert!(more < gate.now().plus_s(ORPHAN_S), "the row's time is shorter here, so it ends first");
    gate.advance_s(600);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(gate.view(request).await.end_code, Some(Code::RequestExpired));

    let (gate, _, bea, cem) = Gate::with_people().await;
    let (call, request) = gate.wait_for("refund", REFUND).await;
    for _ in 0..2 {
        assert!(matches!(gate.decide(&bea, request, DecisionKind::MoreTime, ROLE).await, DecisionOutcome::Recorded(_)));
    }
    assert!(orphan(&gate, call).await);
    gate.advance_ms(i64::try_from(ORPHAN_S).expect("small") * 1000 - 1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 0);
    let size = gate.size().await;
    gate.advance_ms(1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(gate.told_since(size).await, ["request_withdrawn:request_orphaned"]);
    let view = gate.view(request).await;
    assert_eq!((view.state, view.end_code), (RequestState::Withdrawn, Some(Code::RequestOrphaned)));
    let (_, again) = gate.wait_for("refund", REFUND).await;
    assert_ne!(again, request);
    assert_eq!(gate.approve(&cem, again, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn what_was_approved_before_its_agent_went_is_not_minted_and_ends_stale() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.wait_for("refund", REFUND).await;
    for _ in 0..2 {
        assert!(matches!(gate.decide(&bea, request, DecisionKind::MoreTime, ROLE).await, DecisionOutcome::Recorded(_)));
    }
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    assert!(orphan(&gate, call).await);
    gate.advance_s(61);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, Vec::new());
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::NotDue(_)));
    gate.advance_s(-61);
    let refused = gate.redeem(token.clone()).await;
    assert!(
        matches!(&refused, RedeemOutcome::Refused(refusal) if matches!(refusal.code, Code::RequestOrphaned | Code::TokenExpired)),
        "{refused:?}"
    );
    gate.advance_s(i64::try_from(ORPHAN_S).expect("small"));
    gate.store.due(gate.moment()).await.expect("a sweep");
    let view = gate.view(request).await;
    assert_eq!((view.state, view.end_code), (RequestState::Stale, Some(Code::RequestOrphaned)));
    assert_eq!(view.operation.expect("an operation").state, OperationState::NotStarted);
}

#[tokio::test]
async fn a_token_of_an_orphan_is_refused_and_not_burned() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.wait_for("refund", REFUND).await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    assert!(orphan(&gate, call).await);
    assert!(matches!(gate.redeem(token.clone()).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::RequestOrphaned));
    assert!(gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Redeemed(_)));
}
