//! Whoever decides signs over the newest head of the log that the console has verified. One that is not of this log is refused,
//! and from then on nothing with an effect is to begin.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::{CheckpointRef, DecisionKind};
use vidimus_core::operation::Answer;
use vidimus_core::reconciliation::Answer as Said;
use vidimus_core::request::RequestState;
use vidimus_core::tree::{leaf_hash, root_of};
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::Gate;
use crate::reconciliations::{refused, signed};

const ROLE: &str = "billing-approver";

async fn heads(gate: &Gate) -> Vec<CheckpointRef> {
    let leaves: Vec<Digest> = gate.log().await.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect();
    (0..=leaves.len()).map(|size| CheckpointRef { size: size as u64, root: root_of(&leaves[..size]) }).collect()
}

/// Heads that the log never had: beyond its end, and with another root at a size that it has or had.
async fn foreign(gate: &Gate) -> Vec<CheckpointRef> {
    let known = heads(gate).await;
    let (newest, middle) = (known.last().expect("a head"), &known[known.len() / 2]);
    vec![
        CheckpointRef { size: newest.size + 1, root: newest.root },
        CheckpointRef { size: 1_000_000_000, root: Digest::of(b"another") },
        CheckpointRef { size: newest.size, root: middle.root },
        CheckpointRef { size: middle.size, root: newest.root },
        CheckpointRef { size: 0, root: newest.root },
    ]
}

#[tokio::test]
async fn every_head_that_the_log_had_is_of_it() {
    let (gate, _, bea, _) = Gate::with_people().await;
    for head in heads(&gate).await {
        let (_, request) = gate.refund(&format!("at {}", head.size)).await;
        let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|statement| statement.checkpoint = head).await;
        assert!(matches!(gate.record(decision).await, DecisionOutcome::Recorded(_)), "{head:?}");
    }
    assert!(!gate.store.has_foreign_head());
}

#[tokio::test]
async fn an_approval_over_a_foreign_head_counts_for_nothing_and_is_remembered() {
    let mut count = 0;
    for index in 0..5 {
        let (gate, _, bea, cem) = Gate::with_people().await;
        let (_, request) = gate.refund("1").await;
        let head = foreign(&gate).await.swap_remove(index);
        let twist = |statement: &mut vidimus_core::decision::DecisionStatement| statement.checkpoint = head;
        // Whoever may not decide stops nothing by it.
        let wrong = gate.decision(&bea, request, DecisionKind::Approve, "treasury", &twist).await;
        assert_ne!(refused_decision(gate.record(wrong).await), Code::CheckpointForeign);
        assert!(!gate.store.has_foreign_head());
        let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &twist).await;
        assert_eq!(refused_decision(gate.record(decision).await), Code::CheckpointForeign, "{head:?}");
        // However often one person says so: they may have invented it.
        let again = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &twist).await;
        assert_eq!(refused_decision(gate.record(again).await), Code::CheckpointForeign, "{head:?}");
        assert!(!gate.store.has_foreign_head());
        let another = gate.decision(&cem, request, DecisionKind::Approve, ROLE, &twist).await;
        assert_eq!(refused_decision(gate.record(another).await), Code::CheckpointForeign, "{head:?}");
        assert!(gate.store.has_foreign_head());
        assert_eq!(gate.view(request).await.state, RequestState::Pending);
        let told = gate.log().await.iter().filter(|record| record.leaf.contains("checkpoint_foreign")).count();
        assert_eq!(told, 3, "each is on record, with the person who signed");
        // The store itself goes on, so that what takes permission away is heard.
        assert!(matches!(gate.decide(&cem, request, DecisionKind::Deny, ROLE).await, DecisionOutcome::Recorded(_)));
        count += 1;
    }
    assert_eq!(count, 5);
}

#[tokio::test]
async fn a_denial_over_a_foreign_head_counts_and_is_remembered() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let head = foreign(&gate).await.swap_remove(1);
    let denial = gate.decision(&bea, request, DecisionKind::Deny, ROLE, &|statement| statement.checkpoint = head).await;
    assert!(matches!(gate.record(denial).await, DecisionOutcome::Recorded(_)));
    assert_eq!(gate.view(request).await.state, RequestState::Denied);
    let (_, next) = gate.refund("2").await;
    let denial = gate.decision(&cem, next, DecisionKind::Deny, ROLE, &|statement| statement.checkpoint = head).await;
    assert!(matches!(gate.record(denial).await, DecisionOutcome::Recorded(_)));
    assert!(gate.store.has_foreign_head());
}

#[tokio::test]
async fn an_answer_over_a_foreign_head_counts_for_nothing() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#).await;
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    gate.advance_s(30);
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "cut".to_owned() };
    gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
    gate.store.due(gate.moment()).await.expect("a sweep");
    let head = foreign(&gate).await.swap_remove(3);
    let sent = signed(&gate, &bea, operation, Said::StillUnknown, "treasury", &|statement| statement.checkpoint = head).await;
    assert_eq!(refused(&gate, sent).await, Code::CheckpointForeign);
    assert!(!gate.store.has_foreign_head());
    let sent = signed(&gate, &cem, operation, Said::StillUnknown, "treasury", &|statement| statement.checkpoint = head).await;
    assert_eq!(refused(&gate, sent).await, Code::CheckpointForeign);
    assert!(gate.store.has_foreign_head());
}
