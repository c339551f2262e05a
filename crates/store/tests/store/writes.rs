//! Writes: the intent before the sending, once for each call key, unknown when the end never came.

use vidimus_core::code::Code;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::time::Timestamp;
use vidimus_store::limits::SWEEP_ROWS_MAX;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, TABLE, name};
use crate::forged::forge;
use crate::operations::{answer, at_work, state};

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
        IntentOutcome::Send { operation, attempt: 1, .. } => operation,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_write_is_recorded_before_and_after() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    // Numbers that have no exact canonical form are allowed here, and go out as they came.
    let intended = intent(&gate, None, r#"{"ticket":9007199254740993}"#).await;
    // Whoever sends it looks at the end of the lease once more before the first byte.
    assert!(matches!(&intended, IntentOutcome::Send { lease_until, .. } if *lease_until == gate.now().plus_s(30)), "{intended:?}");
    let operation = sent(intended);
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
    assert_eq!(intent(&gate, Some(KEY), ARGS).await, IntentOutcome::Joined(Joined { call, untold: false }));
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

/// A gate whose `tag` row says that its provider knows keys for an hour, and takes three attempts.
async fn keyed() -> (Gate, vidimus_core::table::Table) {
    let (gate, table, ..) = keyed_with_people().await;
    (gate, table)
}

async fn keyed_with_people() -> (Gate, vidimus_core::table::Table, Approver, Approver) {
    let toml = TABLE.replacen(
        "receipt = \"/id\"\n[row.executor]\nkind = \"http\"\nmethod = \"PUT\"\nurl = \"http://127.0.0.1:9/tags\"\n",
        "receipt = \"/id\"\nidempotency = \"key\"\nkey_valid_s = 3600\nattempts_max = 3\n[row.executor]\nkind = \"http\"\nmethod = \"PUT\"\nurl = \"http://127.0.0.1:9/tags\"\nidempotency_header = \"Idempotency-Key\"\n",
        1,
    );
    let table = vidimus_core::table::Table::parse(&toml).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    assert_ne!(table.digest(), gate.table.digest());
    let (digest, text) = (table.digest(), toml.replace('\'', "''"));
    forge(
        &mut gate,
        &format!("INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{text}'); UPDATE gate SET table_sha256 = '{digest}'"),
    );
    gate.table = table.clone();
    (gate, table, bea, cem)
}

async fn ended(gate: &Gate, operation: OperationKey, attempt: u32, answer: Answer) -> AnswerOutcome {
    let end = WriteEnd { operation, attempt, answer, result: None, receipt: None, after: None, detail: "504".to_owned() };
    gate.store.write_end(gate.moment(), end).await.expect("an outcome")
}

async fn again(gate: &Gate, operation: OperationKey) -> Option<WriteAgain> {
    gate.store.write_again(gate.moment(), operation, 30).await.expect("an outcome")
}

async fn at(gate: &Gate, operation: OperationKey) -> (OperationState, u32) {
    let view = gate.store.operation(operation).await.expect("a reading").expect("an operation");
    (view.state, view.attempt)
}

#[tokio::test]
async fn a_write_with_a_key_is_sent_again_as_often_as_its_row_says_and_then_is_its_owners() {
    let (mut gate, _) = keyed().await;
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    assert_eq!(again(&gate, operation).await, None, "it is on its way");
    assert_eq!(ended(&gate, operation, 1, Answer::Unclear).await, AnswerOutcome::Applied(OperationState::Unknown));
    let due = |due: Due| (due.moved, due.to_mint.len(), due.to_send_again, due.to_ask.len());
    assert_eq!(due(gate.store.due(gate.moment()).await.expect("a sweep")), (0, 0, Vec::new(), 0), "not at once");
    for attempt in [2, 3] {
        gate.advance_s(10);
        assert_eq!(due(gate.store.due(gate.moment()).await.expect("a sweep")), (0, 0, vec![operation], 0));
        let size = gate.size().await;
        let next = again(&gate, operation).await.expect("the row allows it");
        assert_eq!((next.attempt, next.args.as_str()), (attempt, ARGS));
        assert_eq!(gate.told_since(size).await, ["write_intended"]);
        assert_eq!(again(&gate, operation).await, None, "once");
        // Late answers of an earlier attempt overwrite nothing, and no later attempt proves that nothing happened.
        assert_eq!(ended(&gate, operation, attempt - 1, Answer::Done).await, AnswerOutcome::Evidence(OperationState::Executing));
        assert_eq!(ended(&gate, operation, attempt, Answer::NoEffect).await, AnswerOutcome::Applied(OperationState::Unknown));
    }
    gate.advance_s(10);
    assert_eq!(due(gate.store.due(gate.moment()).await.expect("a sweep")), (1, 0, Vec::new(), 0));
    assert_eq!(at(&gate, operation).await, (OperationState::NeedsReconciliation, 3));
    assert_eq!(again(&gate, operation).await, None);
    // A restart finds the log and the ledger saying the same, attempts included.
    gate.reopen();
    assert_eq!(gate.store.recover_at_start(gate.moment()).await.expect("a start"), 0);
    assert_eq!(at(&gate, operation).await, (OperationState::NeedsReconciliation, 3));
}

#[tokio::test]
async fn a_write_in_doubt_is_not_sent_again_for_whoever_may_no_more_nor_after_its_key_nor_from_its_columns() {
    // The key is over.
    let (gate, _) = keyed().await;
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    ended(&gate, operation, 1, Answer::Unclear).await;
    gate.advance_ms(3_590_000 - 1);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_send_again, [operation], "a millisecond before");
    let last = again(&gate, operation).await.expect("in time");
    assert_eq!(last.lease_until, Timestamp::from_ms(gate.now().as_ms() + 1).expect("a time"), "no attempt outlives its key");
    ended(&gate, operation, 2, Answer::Unclear).await;
    gate.advance_ms(1);
    assert_eq!(again(&gate, operation).await, None);
    gate.advance_s(10);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(at(&gate, operation).await, (OperationState::NeedsReconciliation, 2));
    // The agent is revoked, although its name is given out anew.
    let (gate, _) = keyed().await;
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    ended(&gate, operation, 1, Answer::Unclear).await;
    gate.advance_s(10);
    assert!(matches!(gate.store.revoke_agent(gate.moment(), name("billing")).await.expect("an outcome"), AgentRevoked::Revoked { .. }));
    let anew = AddAgent { agent: name("billing"), owner: None, parent: None, credential_sha256: vidimus_core::bytes::Digest::of(b"anew") };
    assert_eq!(gate.store.add_agent(gate.moment(), anew).await.expect("an outcome"), AgentAdded::Added);
    assert_eq!(again(&gate, operation).await, None);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    // Who answers for the agent has left.
    let (gate, _) = keyed().await;
    let (ada, cem) = (gate.approver("Ada Example"), gate.approver("Cem Example"));
    assert!(matches!(gate.store.revoke_agent(gate.moment(), name("billing")).await.expect("an outcome"), AgentRevoked::Revoked { .. }));
    let credential_sha256 = vidimus_core::bytes::Digest::of(b"of Cem");
    let of_cem = AddAgent { agent: name("billing"), owner: Some(cem.person), parent: None, credential_sha256 };
    assert_eq!(gate.store.add_agent(gate.moment(), of_cem).await.expect("an outcome"), AgentAdded::Added);
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    ended(&gate, operation, 1, Answer::Unclear).await;
    gate.advance_s(10);
    let removal = gate.ask_for(&ada, ProposedChange::Remove { person: cem.person }).await.expect("asked");
    gate.carry_out_admission(&ada, removal).await;
    assert_eq!(again(&gate, operation).await, None);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    // What is sent again is what was sent, and an outcome that the log has elsewhere is nobody's to send.
    let (mut gate, _) = keyed().await;
    let operation = sent(intent(&gate, Some(KEY), ARGS).await);
    ended(&gate, operation, 1, Answer::Unclear).await;
    forge(&mut gate, "UPDATE operations SET args = '{\"ticket\":\"8\",\"tags\":[\"vip\"]}' WHERE kind = 'write'");
    gate.advance_s(10);
    assert_eq!(again(&gate, operation).await.expect("the row allows it").args, ARGS);
    ended(&gate, operation, 2, Answer::Done).await;
    forge(&mut gate, "UPDATE operations SET state = 'unknown', next_at = 0, ended_at = NULL WHERE kind = 'write'");
    assert_eq!(again(&gate, operation).await, None, "the log has it done");
}

#[tokio::test]
async fn writes_in_doubt_keep_no_payment_from_its_turn_and_none_of_themselves_for_ever() {
    let (gate, _, bea, cem) = keyed_with_people().await;
    let mut all = Vec::new();
    for number in 0..=SWEEP_ROWS_MAX {
        let args = format!(r#"{{"customer":"{number}","label":"vip"}}"#);
        let operation = sent(intent(&gate, Some(&format!("a-call-of-its-own-{number}")), &args).await);
        ended(&gate, operation, 1, Answer::Unclear).await;
        all.push(operation);
    }
    gate.advance_s(10);
    let (_, payment) = at_work(&gate, &bea, &cem, "wire").await;
    answer(&gate, payment, 1, Answer::Unclear).await;
    // Nobody takes the writes on, and the payment is handed to a person all the same.
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(state(&gate, payment).await.0, OperationState::NeedsReconciliation);
    let first = &gate.store.due_pages(gate.moment()).await.expect("pages")[0];
    assert_eq!(first.operation, Some(payment), "and its page is the first");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let due = gate.store.due(gate.moment()).await.expect("a sweep").to_send_again;
        assert_eq!(due.len(), SWEEP_ROWS_MAX);
        seen.extend(due);
    }
    assert_eq!(seen.len(), all.len(), "two rounds have looked at every one");
}
