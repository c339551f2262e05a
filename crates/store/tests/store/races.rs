//! Races: many at once, exactly one wins, and the final row is what the winner was told.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::fixture::Gate;

const ROLE: &str = "billing-approver";

/// Rounds of a race; more where time was given.
fn rounds(few: usize) -> usize {
    if std::env::var_os("VIDIMUS_LONG").is_some() { few * 5 } else { few }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_redeem_one_token_and_one_succeeds() {
    let (gate, _, bea, _) = Gate::with_people().await;
    for round in 0..rounds(20) {
        let (_, request) = gate.refund(&format!("inv{round}")).await;
        let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
        let token = gate.token(operation).await;
        let barrier = Arc::new(Barrier::new(50));
        let mut tries = JoinSet::new();
        for _ in 0..50 {
            let (store, token, moment, barrier) = (gate.store.clone(), token.clone(), gate.moment(), Arc::clone(&barrier));
            tries.spawn(async move {
                barrier.wait().await;
                store
                    .redeem(moment, Redeem { token, lease_s: 30, referents: vidimus_core::json::Json::object([]) })
                    .await
                    .expect("an outcome")
            });
        }
        let outcomes = tries.join_all().await;
        let won = outcomes.iter().filter(|outcome| matches!(outcome, RedeemOutcome::Redeemed(_))).count();
        assert_eq!(won, 1, "round {round}");
        for outcome in outcomes {
            if let RedeemOutcome::Refused(refusal) = outcome {
                assert_eq!(refusal.code, Code::TokenAlreadyRedeemed);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn approve_and_deny_at_once_end_as_the_winner_was_told() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let mut won = [0, 0];
    for round in 0..rounds(300) {
        let (_, request) = gate.refund(&format!("inv{round}")).await;
        let approve = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
        let deny = gate.decision(&cem, request, DecisionKind::Deny, ROLE, &|_| {}).await;
        let barrier = Arc::new(Barrier::new(2));
        let send = |decision: RecordDecision| {
            let (store, moment, barrier) = (gate.store.clone(), gate.moment(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                store.record_decision(moment, decision).await.expect("an outcome")
            })
        };
        let (approved, denied) = (send(approve), send(deny));
        let (approved, denied) = (approved.await.expect("a task"), denied.await.expect("a task"));
        let view = gate.view(request).await;
        match (approved, denied) {
            (DecisionOutcome::Recorded(receipt), DecisionOutcome::Refused(refusal)) => {
                assert_eq!(
                    (receipt.state, view.state, refusal.code),
                    (RequestState::Approved, RequestState::Approved, Code::RequestAlreadyDecided)
                );
                // Free the agent's list for the next round.
                assert!(matches!(gate.decide(&cem, request, DecisionKind::Revoke, ROLE).await, DecisionOutcome::Recorded(_)));
                won[0] += 1;
            }
            (DecisionOutcome::Refused(refusal), DecisionOutcome::Recorded(receipt)) => {
                assert_eq!(
                    (receipt.state, view.state, refusal.code),
                    (RequestState::Denied, RequestState::Denied, Code::RequestAlreadyDecided)
                );
                assert_eq!(view.operation, None);
                won[1] += 1;
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
    println!("approve won {}, deny won {}", won[0], won[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_call_key_sent_by_many_is_one_request() {
    let (gate, ..) = Gate::with_people().await;
    let gate = Arc::new(gate);
    let mut calls = JoinSet::new();
    for _ in 0..32 {
        let gate = Arc::clone(&gate);
        calls.spawn(async move {
            let received = gate.received("billing", "refund", Some("the-same-call-key"));
            gate.freeze(received, r#"{"invoice":"842","amount_minor":1500,"currency":"EUR"}"#).await
        });
    }
    let outcomes = calls.join_all().await;
    let created: Vec<_> =
        outcomes.iter().filter_map(|outcome| if let FreezeOutcome::Created { call, .. } = outcome { Some(*call) } else { None }).collect();
    assert_eq!(created.len(), 1);
    assert!(outcomes.iter().all(
        |outcome| matches!(outcome, FreezeOutcome::Created { call, .. } | FreezeOutcome::Joined(Joined { call, .. }) if *call == created[0])
    ));
    let pending =
        gate.store.requests(Some(RequestState::Pending), None, crate::fixture::names(&["auditor"])).await.expect("a reading").requests;
    assert_eq!(pending.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_decision_sent_by_many_has_one_receipt() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    let mut sends = JoinSet::new();
    for _ in 0..16 {
        let (store, decision, moment) = (gate.store.clone(), decision.clone(), gate.moment());
        sends.spawn(async move { store.record_decision(moment, decision).await.expect("an outcome") });
    }
    let mut receipts = Vec::new();
    let mut recorded = 0;
    for outcome in sends.join_all().await {
        match outcome {
            DecisionOutcome::Recorded(receipt) => {
                recorded += 1;
                receipts.push(receipt);
            }
            DecisionOutcome::Stored(receipt) => receipts.push(receipt),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((recorded, receipts.len()), (1, 16));
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]));
}
