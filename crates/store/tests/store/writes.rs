//! Writes: the intent before the sending, once for each call key, unknown when the end never came.

use vidimus_core::code::Code;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_store::*;

use crate::fixture::{Gate, name};

const KEY: &str = "ticket-7-tags-00001";
const ARGS: &str = r#"{"ticket":"7","tags":["vip"]}"#;

async fn intent(gate: &Gate, call_key: Option<&str>, args: &str) -> IntentOutcome {
    let intent = WriteIntent {
        received: gate.received("billing", "tag", call_key),
        row_sha256: gate.table.row(&name("tag")).expect("a row").digest(),
        args: args.to_owned(),
        before: Some("[]".to_owned()),
        lease_s: 30,
    };
    gate.store.write_intent(gate.moment(), intent).await.expect("an outcome")
}

async fn end(gate: &Gate, operation: OperationKey, answer: Answer) -> AnswerOutcome {
    let end = WriteEnd {
        operation,
        attempt: 1,
        answer,
        result: (answer == Answer::Done).then(|| r#"{"id":"w1"}"#.to_owned()),
        receipt: Some("w1".to_owned()),
        after: Some(r#"["vip"]"#.to_owned()),
        detail: "200".to_owned(),
    };
    gate.store.write_end(gate.moment(), end).await.expect("an outcome")
}

#[track_caller]
fn sent(outcome: IntentOutcome) -> OperationKey {
    match outcome {
        IntentOutcome::Send { operation, attempt: 1 } => operation,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_write_is_recorded_before_and_after() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    // Numbers that have no exact canonical form are allowed here, and go out as they came.
    let operation = sent(intent(&gate, None, r#"{"ticket":9007199254740993}"#).await);
    assert_eq!(end(&gate, operation, Answer::Done).await, AnswerOutcome::Applied(OperationState::Succeeded));
    assert_eq!(gate.told_since(size).await, ["write_intended", "write_executed"]);
    let log = gate.log().await;
    let body = log.last().and_then(|record| record.body.clone()).expect("a body");
    assert!(body.contains("9007199254740993") && body.contains(r#""before":"[]""#) && body.contains("w1"), "{body}");
}

#[tokio::test]
async fn a_call_key_writes_once_and_another_payload_conflicts() {
    let (gate, ..) = Gate::with_people().await;
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    let IntentOutcome::Joined(Joined { call, .. }) = intent(&gate, Some(KEY), r#"{ "tags": ["vip"], "ticket": "7" }"#).await else {
        panic!("joined")
    };
    end(&gate, operation, Answer::Done).await;
    assert_eq!(intent(&gate, Some(KEY), ARGS).await, IntentOutcome::Joined(Joined { call, was_orphaned: false }));
    let view = gate.store.call(name("billing"), call).await.expect("a reading").expect("a call");
    assert_eq!(view.operation.expect("an operation").result.as_deref(), Some(r#"{"id":"w1"}"#));
    assert!(matches!(intent(&gate, Some(KEY), "{}").await, IntentOutcome::Refused(refusal) if refusal.code == Code::OperationKeyConflict));
    // The key of a write is no key of a money call either.
    let money = gate.freeze(gate.received("billing", "refund", Some(KEY)), r#"{"invoice":"1","amount_minor":1,"currency":"EUR"}"#).await;
    assert!(matches!(money, FreezeOutcome::Refused(refusal) if refusal.code == Code::OperationKeyConflict));
}

#[tokio::test]
async fn without_a_call_key_every_write_is_its_own() {
    let (gate, ..) = Gate::with_people().await;
    let first = sent(intent(&gate, None, ARGS).await);
    let second = sent(intent(&gate, None, ARGS).await);
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_write_that_had_no_effect_may_be_tried_again_under_its_key() {
    let (gate, ..) = Gate::with_people().await;
    let first = sent(intent(&gate, Some(KEY), ARGS).await);
    assert_eq!(end(&gate, first, Answer::NothingSent).await, AnswerOutcome::Applied(OperationState::Failed));
    let second = sent(intent(&gate, Some(KEY), ARGS).await);
    assert_ne!(first, second);
    end(&gate, second, Answer::Done).await;
    assert!(matches!(intent(&gate, Some(KEY), ARGS).await, IntentOutcome::Joined(_)));
    let told = gate.told_since(0).await;
    assert!(told.iter().any(|told| told == "write_failed"), "{told:?}");
}

#[tokio::test]
async fn an_intent_without_an_end_is_unknown() {
    let (mut gate, ..) = Gate::with_people().await;
    let first = sent(intent(&gate, Some(KEY), ARGS).await);
    let size = gate.size().await;
    gate.advance_s(30);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 2);
    assert_eq!(gate.told_since(size).await, ["write_unknown", "operation_changed"], "unknown, and at once its owner's to tell");
    assert_eq!(end(&gate, first, Answer::Done).await, AnswerOutcome::Evidence(OperationState::NeedsReconciliation));
    assert!(matches!(intent(&gate, Some(KEY), ARGS).await, IntentOutcome::Joined(_)), "in doubt, it is not sent again");
    let second = sent(intent(&gate, None, ARGS).await);
    gate.reopen();
    assert_eq!(gate.store.recover_at_start(gate.moment()).await.expect("recovered"), 1);
    let view = gate.store.operation(second).await.expect("a reading").expect("an operation");
    assert_eq!(view.state, OperationState::Unknown);
    // A write in doubt is nobody's to repeat: the workers are not given it.
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep"), Due { moved: 1, ..Due::default() });
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep"), Due::default());
}

#[tokio::test]
async fn a_write_obeys_the_lists_and_the_row() {
    let (gate, ..) = Gate::with_people().await;
    let mut intent = WriteIntent {
        received: gate.received("nobody", "tag", None),
        row_sha256: gate.table.row(&name("tag")).expect("a row").digest(),
        args: ARGS.to_owned(),
        before: None,
        lease_s: 30,
    };
    let outcome = async |intent: &WriteIntent| match gate.store.write_intent(gate.moment(), intent.clone()).await.expect("an outcome") {
        IntentOutcome::Refused(refusal) => refusal.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(&intent).await, Code::CredentialInvalid);
    intent.received = gate.received("billing", "tag", None);
    intent.row_sha256 = vidimus_core::bytes::Digest::of(b"the row before");
    assert_eq!(outcome(&intent).await, Code::RowStale);
}
