//! What one person may say about one thing: bounded, so that nobody fills the log or slows down those who decide after them; but a
//! no is always taken.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::OperationState;
use vidimus_core::reconciliation::Answer;
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::Gate;
use crate::operations::state;
use crate::reconciliations::{lost_wire, plain, refused, say, signed};

const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;
const TREASURY: &str = "treasury";

fn recorded(outcome: DecisionOutcome) -> DecisionReceipt {
    match outcome {
        DecisionOutcome::Recorded(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_changes_their_mind_without_end_leaves_it_to_others_and_can_still_say_no() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    for again in 0..4 {
        if again > 0 {
            recorded(gate.decide(&bea, request, DecisionKind::Retract, TREASURY).await);
        }
        assert_eq!(recorded(gate.decide(&bea, request, DecisionKind::Approve, TREASURY).await).given, 1);
    }
    // The last one is taken back too, and none can be given anew.
    recorded(gate.decide(&bea, request, DecisionKind::Retract, TREASURY).await);
    let size = gate.size().await;
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, TREASURY).await), Code::DecisionsLimitReached);
    assert_eq!(gate.told_since(size).await, ["decision_refused:decisions_limit_reached"]);
    assert_eq!(recorded(gate.decide(&cem, request, DecisionKind::Approve, TREASURY).await).given, 1, "others are not bounded by it");
    assert_eq!(recorded(gate.decide(&bea, request, DecisionKind::Deny, TREASURY).await).state, RequestState::Denied);
    gate.store.verify(None).await.expect("a legal history");
}

#[tokio::test]
async fn nobody_gives_more_time_without_end() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    for _ in 0..32 {
        recorded(gate.decide(&bea, request, DecisionKind::MoreTime, TREASURY).await);
    }
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::MoreTime, TREASURY).await), Code::DecisionsLimitReached);
    recorded(gate.decide(&cem, request, DecisionKind::MoreTime, TREASURY).await);
    recorded(gate.decide(&bea, request, DecisionKind::Approve, TREASURY).await);
}

#[tokio::test]
async fn what_stands_beside_a_decision_is_bounded() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    for (bytes, fits) in [(64 * 1024, true), (64 * 1024 + 1, false)] {
        let context = "c".repeat(bytes);
        let context_sha256 = Some(Digest::of(context.as_bytes()));
        let mut decision =
            gate.decision(&bea, request, DecisionKind::MoreTime, TREASURY, &|statement| statement.context_sha256 = context_sha256).await;
        decision.context = Some(context);
        match gate.record(decision).await {
            DecisionOutcome::Recorded(_) => assert!(fits, "{bytes} bytes"),
            other => assert_eq!((refused_decision(other), fits), (Code::FieldMalformed, false), "{bytes} bytes"),
        }
    }
}

#[tokio::test]
async fn who_has_answered_often_enough_waits_a_day_and_nobody_waits_for_them() {
    let (gate, operation, bea, cem) = lost_wire().await;
    for _ in 0..12 {
        say(&gate, &bea, operation, Answer::StillUnknown, TREASURY, &plain).await;
        gate.advance_s(60);
    }
    let more = signed(&gate, &bea, operation, Answer::StillUnknown, TREASURY, &plain).await;
    assert_eq!(refused(&gate, more).await, Code::AnswersLimitReached);
    say(&gate, &cem, operation, Answer::Happened, TREASURY, &plain).await;
    // The first of them was a day ago.
    gate.advance_s(24 * 3600 - 12 * 60 - 1);
    let early = signed(&gate, &bea, operation, Answer::Happened, TREASURY, &plain).await;
    assert_eq!(refused(&gate, early).await, Code::AnswersLimitReached);
    gate.advance_s(1);
    say(&gate, &bea, operation, Answer::Happened, TREASURY, &plain).await;
    assert_eq!(state(&gate, operation).await.0, OperationState::Succeeded);
    gate.store.verify(None).await.expect("a legal history");
}
