//! Requests whose agent is gone without having had the call's id.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;
use vidimus_store::limits::ORPHAN_S;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Gate, json, name, names};
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

/// What a gate that died had not told anybody is an orphan when the next one starts; what it had told is none.
#[tokio::test]
async fn whoever_was_not_told_before_a_crash_is_gone_at_the_next_start() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, told) = gate.refund("told").await;
    let untold = async |gate: &Gate, args: &str| {
        let received = gate.received("billing", "refund", None);
        let row_sha256 = gate.table.row(&received.tool).expect("a row").digest();
        let (request, salt, referents) = (gate.request_id(), gate.salt(), Some(json("{}")));
        let freeze = FreezeCall { received, request, salt, row_sha256, args: json(args), referents };
        let outcome = gate.store.freeze_call(gate.moment(), freeze).await.expect("an outcome");
        let FreezeOutcome::Created { call, request } = outcome else { panic!("{outcome:?}") };
        (call, request)
    };
    let (call, pending) = untold(&gate, REFUND).await;
    let (_, approved) = untold(&gate, &REFUND.replace("1500", "1501")).await;
    let operation = gate.approve(&bea, approved, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    let proposal = gate.ask_for(&bea, ProposedChange::SetRoles { person: bea.person, roles: names(&["auditor"]) }).await;
    gate.reopen();
    let size = gate.size().await;
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert_eq!(gate.told_since(size).await, ["request_orphaned", "request_orphaned"]);
    assert!(!gate.view(told).await.orphaned && gate.view(pending).await.orphaned && gate.view(approved).await.orphaned);
    assert!(!gate.view(proposal.expect("a proposal")).await.orphaned, "a person's proposal stands in every inbox");
    // Neither approved nor sent until the same call, or a question by the id, comes.
    assert_eq!(refused_decision(gate.decide(&bea, pending, DecisionKind::Approve, ROLE).await), Code::RequestOrphaned);
    assert!(matches!(gate.redeem(token.clone()).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::RequestOrphaned));
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    let orphaned = gate.told_since(size).await.into_iter().filter(|told| told == "request_orphaned").count();
    assert_eq!(orphaned, 2, "once");
    assert!(gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert_eq!(gate.approve(&bea, pending, ROLE).await.state, RequestState::Approved);
    assert!(matches!(gate.freeze(gate.received("billing", "refund", None), &REFUND.replace("1500", "1501")).await,
        FreezeOutcome::Joined(joined) if joined.was_orphaned));
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Redeemed(_)));
    // Both know their ids now, and a later start takes nobody for gone.
    gate.store.heartbeat(gate.moment()).await.expect("a commit");
    gate.reopen();
    let size = gate.size().await;
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(!gate.told_since(size).await.contains(&"request_orphaned".to_owned()));
    assert!(gate.store.verify(None).await.is_ok());
}
