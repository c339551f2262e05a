//! Somebody writes into the database between two use cases: what the log and the signatures say still decides.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::fixture::Gate;

const ROLE: &str = "billing-approver";
const UNDO: &str = "UPDATE operations SET state = 'reserved', attempt = 0, first_sent_at = NULL, ended_at = NULL, result = NULL,
        result_sha256 = NULL WHERE tool = 'refund';
    UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1 WHERE tool = 'refund';
    DELETE FROM tokens;";

/// Writes into the closed database as somebody who got at its disk: without the triggers that keep it straight.
pub fn forge(gate: &mut Gate, sql: &str) {
    gate.store.close();
    {
        let db = rusqlite::Connection::open(gate.path()).expect("a database");
        let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").expect("a query");
        let triggers: Vec<String> = names.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("names");
        drop(names);
        for trigger in triggers {
            db.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
        }
        db.execute_batch("PRAGMA foreign_keys = OFF").expect("switched off");
        db.execute_batch(sql).expect(sql);
    }
    gate.reopen();
}

async fn attempted(gate: &Gate, operation: OperationKey, answer: Answer) {
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let result = (answer == Answer::Done).then(|| "{}".to_owned());
    let brought = RecordAnswer { operation, attempt, answer, result, detail: "answered".to_owned() };
    assert!(matches!(gate.store.record_answer(gate.moment(), brought).await.expect("an outcome"), AnswerOutcome::Applied(_)));
}

async fn mint_refused(gate: &Gate, operation: OperationKey) -> Code {
    match gate.mint(operation).await.0 {
        MintOutcome::Refused(refusal) => refusal.code,
        outcome => panic!("{outcome:?}"),
    }
}

async fn operation_at(gate: &Gate, operation: OperationKey) -> (OperationState, u32) {
    let view = gate.store.operation(operation).await.expect("a reading").expect("an operation");
    (view.state, view.attempt)
}

#[tokio::test]
async fn an_operation_that_was_redeemed_is_not_made_new_by_its_columns() {
    for answer in [Answer::Done, Answer::NoEffect, Answer::Unclear] {
        let (mut gate, _, bea, _) = Gate::with_people().await;
        let (_, request) = gate.refund("1").await;
        let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
        attempted(&gate, operation, answer).await;
        forge(&mut gate, UNDO);
        let size = gate.size().await;
        assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation], "the columns say so");
        assert_eq!(mint_refused(&gate, operation).await, Code::LedgerContradicted);
        assert_eq!(gate.told_since(size).await, ["token_refused:ledger_contradicted", "operation_changed"]);
        assert_eq!(operation_at(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
        assert_eq!(gate.view(request).await.state, RequestState::Consumed);
        assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep"), Due::default());
        assert_eq!(mint_refused(&gate, operation).await, Code::OperationStateWrong);
    }
}

#[tokio::test]
async fn a_token_that_is_out_is_not_redeemed_for_an_operation_that_the_log_has_elsewhere() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    let first = gate.token(operation).await;
    assert!(matches!(gate.redeem(first.clone()).await, RedeemOutcome::Redeemed(_)));
    let undo = UNDO.replace("DELETE FROM tokens", "UPDATE tokens SET state = 'minted', redeemed_at = NULL");
    forge(&mut gate, &undo.replace("attempt = 0,", "attempt = 0, lease_until = NULL,"));
    assert!(matches!(gate.redeem(first).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::LedgerContradicted));
}

#[tokio::test]
async fn an_outcome_that_is_on_record_is_not_made_unknown_and_tried_again() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    attempted(&gate, operation, Answer::Done).await;
    forge(
        &mut gate,
        "UPDATE operations SET state = 'unknown', ended_at = NULL, next_at = 0 WHERE tool = 'refund';
         UPDATE requests SET effect_open = 1 WHERE tool = 'refund'",
    );
    let size = gate.size().await;
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((due.moved, due.to_mint), (1, Vec::new()));
    assert_eq!(gate.told_since(size).await, ["token_refused:ledger_contradicted", "operation_changed"]);
    assert_eq!(operation_at(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
}

/// Not only at the sweep: whoever mints in between is told of the contradiction, whatever the row would do with a real doubt.
#[tokio::test]
async fn nothing_is_minted_for_a_doubt_that_the_log_does_not_have() {
    for (tool, args) in [("refund", r#"{"invoice":"1","amount_minor":1500,"currency":"EUR"}"#), ("cancel", r#"{"subscription":"s1"}"#)] {
        let (mut gate, _, bea, _) = Gate::with_people().await;
        let (_, request) = gate.wait_for(tool, args).await;
        let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
        attempted(&gate, operation, Answer::Done).await;
        forge(
            &mut gate,
            &format!(
                "UPDATE operations SET state = 'unknown', ended_at = NULL, next_at = 0 WHERE tool = '{tool}';
                 UPDATE requests SET effect_open = 1 WHERE tool = '{tool}'"
            ),
        );
        assert_eq!(mint_refused(&gate, operation).await, Code::LedgerContradicted, "{tool}");
        assert_eq!(operation_at(&gate, operation).await, (OperationState::NeedsReconciliation, 1), "{tool}");
    }
}

#[tokio::test]
async fn how_long_a_key_is_remembered_counts_from_the_redeem_on_record() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    attempted(&gate, operation, Answer::Unclear).await;
    forge(&mut gate, "UPDATE operations SET first_sent_at = first_sent_at + 86400000 WHERE tool = 'refund'");
    gate.advance_s(3600);
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((due.moved, due.to_mint), (1, Vec::new()));
    assert_eq!(operation_at(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
}

#[tokio::test]
async fn a_revocation_is_not_undone_by_columns() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    assert!(matches!(gate.decide(&cem, request, DecisionKind::Revoke, ROLE).await, DecisionOutcome::Recorded(_)));
    forge(&mut gate, UNDO);
    assert_eq!(mint_refused(&gate, operation).await, Code::RequestNotApproved);
    assert_eq!(operation_at(&gate, operation).await, (OperationState::NotStarted, 0));
    assert_eq!(gate.view(request).await.state, RequestState::Stale);
}

#[tokio::test]
async fn an_approval_that_was_taken_back_does_not_stand_again() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE1","amount_minor":5,"currency":"EUR"}"#).await;
    gate.approve(&bea, request, "treasury").await;
    assert!(matches!(gate.decide(&bea, request, DecisionKind::Retract, "treasury").await, DecisionOutcome::Recorded(_)));
    forge(&mut gate, "UPDATE decisions SET standing = 1 WHERE decision = 'approve'");
    let receipt = gate.approve(&cem, request, "treasury").await;
    assert_eq!((receipt.state, receipt.given, receipt.needed), (RequestState::Pending, 1, 2));
}

#[tokio::test]
async fn approvals_that_the_log_does_not_know_mint_nothing() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE1","amount_minor":5,"currency":"EUR"}"#).await;
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    gate.advance_s(30);
    // One envelope twice is one person; a record taken away is one approval fewer in the log.
    forge(
        &mut gate,
        "UPDATE records SET type = 'heartbeat' WHERE type = 'decision_recorded' AND position = (SELECT max(position) FROM decisions)",
    );
    assert_eq!(mint_refused(&gate, operation).await, Code::LedgerContradicted);
    assert_eq!(operation_at(&gate, operation).await, (OperationState::NotStarted, 0));
}

#[tokio::test]
async fn the_last_moment_is_the_frozen_one() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    forge(&mut gate, "UPDATE requests SET waits_until = 4070908800000, expires_max_at = 4070908800000");
    gate.advance_s(1500);
    assert_eq!(mint_refused(&gate, operation).await, Code::RequestExpired);
    assert_eq!(operation_at(&gate, operation).await, (OperationState::NotStarted, 0));
    assert_eq!(gate.view(request).await.state, RequestState::Expired);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hide_the_others() {
    let (mut gate, ..) = Gate::with_people().await;
    let (_, broken) = gate.refund("1").await;
    let (_, whole) = gate.refund("2").await;
    for column in ["request_sha256 = 'garbage'", "waits_until = -9000000000000000"] {
        forge(&mut gate, &format!("PRAGMA ignore_check_constraints = ON; UPDATE requests SET {column} WHERE request = '{broken}'"));
        let listed =
            gate.store.requests(Some(RequestState::Pending), None, crate::fixture::names(&["auditor"])).await.expect("a list").requests;
        assert_eq!(listed.iter().map(|view| view.request).collect::<Vec<_>>(), [whole], "{column}");
        let alone = gate.store.request(broken, crate::fixture::names(&["auditor"])).await;
        assert!(matches!(alone, Err(StoreError::Database(_))), "{column}");
    }
}

/// The rest after a quorum is time in which somebody could say no.
#[tokio::test]
async fn a_delay_is_not_made_shorter_by_a_clock() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let wire = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;
    let (_, request) = gate.wait_for("wire", wire).await;
    gate.approve(&bea, request, "treasury").await;
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    let quorum_at = gate.now();
    gate.advance_s(10);
    gate.store.skip_time(gate.moment(), 60_000).await.expect("on record");
    gate.advance_s(60);
    assert_eq!(gate.mint(operation).await.0, MintOutcome::NotDue(quorum_at.plus_s(90)));
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [], "nor does the column find it");
    // Whatever the column says.
    forge(&mut gate, "UPDATE operations SET mint_at = 0");
    assert_eq!(gate.mint(operation).await.0, MintOutcome::NotDue(quorum_at.plus_s(90)));
    gate.advance_s(20);
    gate.redeem_new_token(operation).await;
}

/// The delay of a row is counted from the record of its quorum, whatever the column says.
#[tokio::test]
async fn a_delay_is_not_made_shorter_by_its_column() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#).await;
    gate.approve(&bea, request, "treasury").await;
    // The first approval is not yet the quorum.
    gate.advance_s(20);
    let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
    forge(&mut gate, "UPDATE operations SET mint_at = 0");
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation], "the column says so");
    assert_eq!(gate.mint(operation).await.0, MintOutcome::NotDue(gate.now().plus_s(30)));
    gate.advance_s(30);
    gate.redeem_new_token(operation).await;
}
