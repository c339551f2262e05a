//! Requests whose agent is gone without having had the call's id.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{CallId, RequestId};
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;
use vidimus_store::limits::ORPHAN_S;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Gate, name, names};
use crate::forged::forge;

const ROLE: &str = "billing-approver";
const REFUND: &str = r#"{"invoice":"1","amount_minor":1500,"currency":"EUR"}"#;

/// A waiting refund whose answer is on its way.
async fn untold(gate: &Gate, args: &str) -> (CallId, RequestId) {
    let outcome = gate.freeze_untold(gate.received("billing", "refund", None), args).await;
    let FreezeOutcome::Created { call, request } = outcome else { panic!("{outcome:?}") };
    (call, request)
}

/// The same call by another connection, whose answer is on its way.
async fn joins(gate: &Gate, call: CallId) -> bool {
    let outcome = gate.freeze_untold(gate.received("billing", "refund", None), REFUND).await;
    let FreezeOutcome::Joined(joined) = outcome else { panic!("{outcome:?}") };
    assert_eq!(joined.call, call);
    joined.untold
}

async fn orphan(gate: &Gate, call: CallId) -> bool {
    gate.store.orphan_call(gate.moment(), name("billing"), call).await.expect("an outcome")
}

#[tokio::test]
async fn an_orphan_is_not_approved_until_the_same_call_comes_again() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
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
    let size = gate.size().await;
    assert!(joins(&gate, call).await);
    assert_eq!(gate.told_since(size).await, ["request_orphaned"]);
    drop(gate.store.tell_call(gate.moment(), call));
    assert!(!joins(&gate, call).await, "it was told");
    assert!(!orphan(&gate, call).await, "whoever joins and leaves takes nothing from the one who was told");
    assert_eq!(gate.approve(&bea, request, ROLE).await.state, RequestState::Approved);
}

/// The race that a slow network makes: a connection is lost, and that is noticed after another one was told, or joined.
#[tokio::test]
async fn a_loss_that_is_noticed_after_another_connection_was_told_orphans_nothing() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    assert!(joins(&gate, call).await && joins(&gate, call).await);
    let size = gate.size().await;
    // Lost while others wait, and after one of them was told: at once, though the mark comes later, and when it is made.
    assert!(!orphan(&gate, call).await);
    let mark = gate.store.tell_call(gate.moment(), call);
    assert!(!orphan(&gate, call).await);
    mark.await.expect("a commit");
    assert!(!orphan(&gate, call).await);
    assert_eq!(gate.told_since(size).await, Vec::<String>::new());
    assert_eq!(gate.approve(&bea, request, ROLE).await.state, RequestState::Approved);
    // Neither does a loss at a later process, nor that process's start.
    gate.reopen();
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(!orphan(&gate, call).await && !gate.view(request).await.orphaned);
}

/// Whoever joined is gone too: the last one that leaves untold leaves an orphan.
#[tokio::test]
async fn when_all_connections_of_a_call_are_lost_it_is_an_orphan() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    assert!(joins(&gate, call).await);
    assert!(!orphan(&gate, call).await, "one waits still");
    assert!(orphan(&gate, call).await);
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, ROLE).await), Code::RequestOrphaned);
}

/// In one batch whoever stops something goes first, and a mark goes last: that order must not matter here.
#[tokio::test]
async fn a_mark_and_a_loss_in_one_batch_leave_no_orphan() {
    let (gate, ..) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    let mark = gate.store.tell_call(gate.moment(), call);
    let (lost, marked) = tokio::join!(gate.store.orphan_call(gate.moment(), name("billing"), call), mark);
    marked.expect("a commit");
    assert!(!lost.expect("an outcome") && !gate.view(request).await.orphaned);
}

#[tokio::test]
async fn whoever_asks_by_the_id_has_it() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    assert!(orphan(&gate, call).await);
    assert!(!gate.store.hear_of_call(gate.moment(), name("support"), call).await.expect("an outcome"), "another agent's");
    assert!(gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert!(!gate.store.hear_of_call(gate.moment(), name("billing"), call).await.expect("an outcome"));
    assert_eq!(gate.approve(&bea, request, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn a_denial_needs_no_agent() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    assert!(orphan(&gate, call).await);
    assert!(matches!(gate.decide(&bea, request, DecisionKind::Deny, ROLE).await, DecisionOutcome::Recorded(_)));
    assert!(!orphan(&gate, call).await, "what has ended goes its way");
}

#[tokio::test]
async fn an_orphan_that_nobody_asks_for_again_is_withdrawn_in_time_and_not_a_millisecond_earlier() {
    let (gate, ..) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
    // A request that lives longer than its agent may be gone.
    let more = gate.view(request).await.waits_until;
    assert!(orphan(&gate, call).await);
    assert!(more < gate.now().plus_s(ORPHAN_S), "the row's time is shorter here, so it ends first");
    gate.advance_s(600);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(gate.view(request).await.end_code, Some(Code::RequestExpired));

    let (gate, _, bea, cem) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
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
    let (_, again) = untold(&gate, REFUND).await;
    assert_ne!(again, request);
    assert_eq!(gate.approve(&cem, again, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn what_was_approved_before_its_agent_went_is_not_minted_and_ends_stale() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = untold(&gate, REFUND).await;
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
    let (call, request) = untold(&gate, REFUND).await;
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
        FreezeOutcome::Joined(joined) if joined.untold));
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Redeemed(_)));
    // Both know their ids now, and a later start takes nobody for gone.
    gate.store.heartbeat(gate.moment()).await.expect("a commit");
    gate.reopen();
    let size = gate.size().await;
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(!gate.told_since(size).await.contains(&"request_orphaned".to_owned()));
    assert!(gate.store.verify(None).await.is_ok());
}
