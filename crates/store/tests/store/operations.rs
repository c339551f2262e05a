//! What became of an attempt: answers, leases, doubts, restarts.

use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_store::*;

use crate::fixture::{Approver, Gate};

const ROLE: &str = "billing-approver";
const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;

/// An operation of this tool whose first attempt is at work.
pub async fn at_work(gate: &Gate, bea: &Approver, cem: &Approver, tool: &str) -> (RequestId, OperationKey) {
    let (args, role) = match tool {
        "refund" => (r#"{"invoice":"842","amount_minor":1500,"currency":"EUR"}"#, ROLE),
        "cancel" => (r#"{"subscription":"77"}"#, ROLE),
        _ => (WIRE, "treasury"),
    };
    let (_, request) = gate.wait_for(tool, args).await;
    let mut receipt = gate.approve(bea, request, role).await;
    if receipt.operation.is_none() {
        receipt = gate.approve(cem, request, role).await;
        gate.advance_s(30);
    }
    let operation = receipt.operation.expect("a quorum");
    gate.redeem_new_token(operation).await;
    (request, operation)
}

pub async fn answer(gate: &Gate, operation: OperationKey, attempt: u32, answer: Answer) -> AnswerOutcome {
    let result = (answer == Answer::Done).then(|| format!(r#"{{"attempt":{attempt}}}"#));
    let answer = RecordAnswer { operation, attempt, answer, result, detail: "an answer".to_owned() };
    gate.store.record_answer(gate.moment(), answer).await.expect("an outcome")
}

pub async fn state(gate: &Gate, operation: OperationKey) -> (OperationState, u32) {
    let view = gate.store.operation(operation).await.expect("a reading").expect("an operation");
    (view.state, view.attempt)
}

pub async fn due(gate: &Gate) -> Due {
    gate.store.due(gate.moment()).await.expect("a sweep")
}

#[tokio::test]
async fn a_first_answer_ends_the_operation_as_the_table_says() {
    let cases = [
        (Answer::Done, OperationState::Succeeded),
        (Answer::NothingSent, OperationState::Failed),
        (Answer::NoEffect, OperationState::Failed),
        (Answer::Unclear, OperationState::Unknown),
    ];
    let (gate, _, bea, cem) = Gate::with_people().await;
    for (given, expected) in cases {
        let (_, operation) = at_work(&gate, &bea, &cem, "refund").await;
        let size = gate.size().await;
        assert_eq!(answer(&gate, operation, 1, given).await, AnswerOutcome::Applied(expected));
        assert_eq!(gate.told_since(size).await, ["operation_changed"]);
        let view = gate.store.operation(operation).await.expect("a reading").expect("an operation");
        assert_eq!((view.state, view.result.is_some(), view.lease_until), (expected, given == Answer::Done, None));
        assert_eq!(view.result_sha256, view.result.as_ref().map(|result| Digest::of(result.as_bytes())));
        if expected != OperationState::Unknown {
            // A final operation frees its business effect, in another run at once.
            gate.advance_s(24 * 3600);
        }
    }
}

#[tokio::test]
async fn an_answer_of_an_older_attempt_is_evidence_only() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, operation) = at_work(&gate, &bea, &cem, "refund").await;
    assert_eq!(answer(&gate, operation, 1, Answer::Unclear).await, AnswerOutcome::Applied(OperationState::Unknown));
    gate.advance_s(2);
    assert_eq!(due(&gate).await.to_mint, [operation]);
    assert_eq!(gate.redeem_new_token(operation).await.attempt, 2);
    let size = gate.size().await;
    assert_eq!(answer(&gate, operation, 1, Answer::Done).await, AnswerOutcome::Evidence(OperationState::Executing));
    assert_eq!(answer(&gate, operation, 3, Answer::Done).await, AnswerOutcome::Evidence(OperationState::Executing));
    assert_eq!(gate.told_since(size).await, ["evidence_recorded"; 2], "on record, and nothing else");
    assert_eq!(answer(&gate, operation, 2, Answer::Done).await, AnswerOutcome::Applied(OperationState::Succeeded));
    assert_eq!(answer(&gate, operation, 2, Answer::Unclear).await, AnswerOutcome::Evidence(OperationState::Succeeded));
    let view = gate.store.operation(operation).await.expect("a reading").expect("an operation");
    assert_eq!(view.result.as_deref(), Some(r#"{"attempt":2}"#));
}

#[tokio::test]
async fn a_key_is_tried_again_until_its_attempts_or_its_life_are_used_up() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (request, operation) = at_work(&gate, &bea, &cem, "refund").await;
    answer(&gate, operation, 1, Answer::Unclear).await;
    assert_eq!(due(&gate).await, Due::default(), "the next attempt waits a moment");
    // The request's own end does not matter after the first redeem.
    gate.advance_s(700);
    assert_eq!(due(&gate).await.to_mint, [operation]);
    gate.redeem_new_token(operation).await;
    // No effect proves nothing at the second attempt.
    assert_eq!(answer(&gate, operation, 2, Answer::NoEffect).await, AnswerOutcome::Applied(OperationState::Unknown));
    gate.advance_s(4);
    let swept = due(&gate).await;
    assert_eq!((swept.moved, swept.to_mint.len()), (1, 0));
    assert_eq!(state(&gate, operation).await, (OperationState::NeedsReconciliation, 2));
    // The effect stays open: nobody pays it again by accident.
    let refused = gate.freeze(gate.received("support", "refund", None), r#"{"invoice":"842","amount_minor":1500,"currency":"EUR"}"#).await;
    assert!(matches!(refused, FreezeOutcome::Refused(refusal) if refusal.code.as_str() == "business_effect_open"));
    assert_eq!(gate.view(request).await.state.as_str(), "consumed");
}

#[tokio::test]
async fn a_key_that_the_provider_may_have_forgotten_is_not_tried_again() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, operation) = at_work(&gate, &bea, &cem, "refund").await;
    answer(&gate, operation, 1, Answer::Unclear).await;
    gate.advance_s(3600);
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(_)));
    due(&gate).await;
    assert_eq!(state(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
}

#[tokio::test]
async fn a_status_is_asked_after_it_settled_and_absence_is_no_proof() {
    for found in [true, false] {
        let (gate, _, bea, cem) = Gate::with_people().await;
        let (_, operation) = at_work(&gate, &bea, &cem, "cancel").await;
        answer(&gate, operation, 1, Answer::Unclear).await;
        assert_eq!(due(&gate).await, Due::default());
        gate.advance_s(60);
        assert_eq!(due(&gate).await, Due { to_ask: vec![operation], ..Due::default() });
        assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(_)), "it is never sent again");
        let (said, expected) = if found {
            (StatusAnswer::Found { result: r#"{"id":"c1"}"#.to_owned() }, OperationState::Succeeded)
        } else {
            (StatusAnswer::NotFound { detail: "404".to_owned() }, OperationState::NeedsReconciliation)
        };
        let outcome = gate.store.record_status(gate.moment(), operation, StatusAsked::InTurn, said.clone()).await.expect("an outcome");
        assert_eq!(outcome, AnswerOutcome::Applied(expected));
        let again = gate.store.record_status(gate.moment(), operation, StatusAsked::InTurn, said).await.expect("an outcome");
        assert_eq!(again, AnswerOutcome::Evidence(expected));
    }
}

#[tokio::test]
async fn without_key_or_status_a_person_must_look() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, operation) = at_work(&gate, &bea, &cem, "wire").await;
    answer(&gate, operation, 1, Answer::Unclear).await;
    due(&gate).await;
    assert_eq!(state(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
}

#[tokio::test]
async fn a_lease_is_renewed_by_its_own_attempt_and_its_end_is_permission_to_look() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, operation) = at_work(&gate, &bea, &cem, "refund").await;
    let renew = async |attempt| gate.store.renew_lease(gate.moment(), operation, attempt, 30).await.expect("an outcome");
    gate.advance_s(20);
    assert_eq!(renew(1).await, LeaseOutcome::Renewed(gate.now().plus_s(30)));
    assert_eq!(renew(2).await, LeaseOutcome::Lost);
    gate.advance_s(29);
    assert_eq!(due(&gate).await.moved, 0);
    gate.advance_s(1);
    assert_eq!(renew(1).await, LeaseOutcome::Lost);
    assert_eq!(due(&gate).await.moved, 1);
    assert_eq!(state(&gate, operation).await, (OperationState::Unknown, 1));
    assert_eq!(answer(&gate, operation, 1, Answer::Done).await, AnswerOutcome::Evidence(OperationState::Unknown));
}

#[tokio::test]
async fn a_restart_puts_what_was_at_work_in_doubt_and_keeps_the_rest() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, at_work) = at_work(&gate, &bea, &cem, "refund").await;
    let (_, pending) = gate.refund("900").await;
    let (_, approved) = gate.refund("901").await;
    let reserved = gate.approve(&bea, approved, ROLE).await.operation.expect("a quorum");
    let (before, head) = (gate.view(pending).await, gate.store.head().await.expect("a head"));
    gate.reopen();
    assert_eq!(gate.store.head().await.expect("a head"), head);
    assert_eq!(gate.view(pending).await, before);
    assert_eq!(gate.store.recover_at_start(gate.moment()).await.expect("recovered"), 1);
    assert_eq!(state(&gate, at_work).await, (OperationState::Unknown, 1));
    assert_eq!(due(&gate).await.to_mint, [reserved]);
    gate.advance_s(2);
    assert_eq!(due(&gate).await.to_mint, [reserved, at_work]);
    assert_eq!(gate.redeem_new_token(at_work).await, Redeemed { operation: at_work, attempt: 2, lease_until: gate.now().plus_s(30) });
}

#[tokio::test]
async fn an_unknown_operation_is_told_so() {
    let (gate, ..) = Gate::with_people().await;
    let nobody: OperationKey = Digest::of(b"nobody's").to_string().parse().expect("a key");
    assert_eq!(answer(&gate, nobody, 1, Answer::Done).await, AnswerOutcome::NotFound);
    assert_eq!(gate.store.operation(nobody).await.expect("a reading"), None);
}
