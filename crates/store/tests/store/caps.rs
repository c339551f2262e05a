//! Caps: a first look when a call is frozen, reserved by the transaction that decides, given back when nothing happened.

use proptest::prelude::*;
use rusqlite::Connection;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{RequestId, RunId};
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::reconciliation::{Answer as Said, ReconciliationStatement};
use vidimus_store::*;

use crate::fixture::{Approver, Gate};
use crate::forged::forge;
use crate::reconciliations::say;

const ROLE: &str = "billing-approver";

fn run(number: u8) -> RunId {
    RunId::from_random([number; 16])
}

/// A call of a voucher; every one is another business effect.
async fn ask(gate: &Gate, agent: &str, run_number: u8, amount_minor: i64, currency: &str) -> Result<RequestId, (Code, String)> {
    let received = CallReceived { run: Some(run(run_number)), ..gate.received(agent, "voucher", None) };
    let customer = received.call.to_string();
    let args = format!(r#"{{"amount_minor":{amount_minor},"currency":"{currency}","customer":"{customer}"}}"#);
    match gate.freeze(received, &args).await {
        FreezeOutcome::Created { request, .. } => Ok(request),
        FreezeOutcome::Refused(refusal) => Err((refusal.code, refusal.message)),
        FreezeOutcome::Joined(joined) => panic!("{joined:?}"),
    }
}

async fn asked(gate: &Gate, agent: &str, run_number: u8, amount_minor: i64) -> RequestId {
    ask(gate, agent, run_number, amount_minor, "EUR").await.expect("within the caps")
}

/// Approves; gives the operation, or the words of the cap.
async fn approve(gate: &Gate, approver: &Approver, request: RequestId) -> Result<OperationKey, String> {
    match gate.decide(approver, request, DecisionKind::Approve, ROLE).await {
        DecisionOutcome::Recorded(receipt) => Ok(receipt.operation.expect("a quorum of one")),
        DecisionOutcome::Refused(refusal) if refusal.code == Code::CapReached => Err(refusal.message),
        outcome => panic!("{outcome:?}"),
    }
}

async fn end(gate: &Gate, operation: OperationKey, answer: Answer) -> OperationState {
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let answer = RecordAnswer { operation, attempt, answer, result: None, detail: "an answer".to_owned() };
    match gate.store.record_answer(gate.moment(), answer).await.expect("an outcome") {
        AnswerOutcome::Applied(state) => state,
        outcome => panic!("{outcome:?}"),
    }
}

/// What counts today by the database, in minor units of euros.
fn counted(gate: &Gate) -> i64 {
    let db = Connection::open(gate.path()).expect("a database");
    let sql = "SELECT coalesce(sum(kept_minor), 0) FROM reservations WHERE counts = 1 AND currency = 'EUR'";
    db.query_row(sql, [], |row| row.get(0)).expect("a sum")
}

#[tokio::test]
async fn a_call_beyond_a_cap_is_refused_when_it_is_frozen_and_says_what_is_left() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let refused = async |run, amount, currency| ask(&gate, "billing", run, amount, currency).await.expect_err("refused");
    let (code, words) = refused(1, 5001, "EUR").await;
    assert_eq!(code, Code::CapReached);
    assert!(words.contains("`EUR 50.00`"), "{words}");
    assert_eq!(refused(1, 1, "USD").await.0, Code::CapReached, "a currency that no cap names");
    assert_eq!(refused(1, -1, "EUR").await.0, Code::CapReached, "an amount that cannot be counted");
    let first = asked(&gate, "billing", 1, 5000).await;
    approve(&gate, &bea, first).await.expect("within the caps");
    let (_, words) = refused(1, 3001, "EUR").await;
    assert!(words.contains("limit of one run of `EUR 80.00`") && words.contains("`EUR 30.00` left"), "{words}");
    // Another run of another agent still has the rest of the day.
    let second = asked(&gate, "support", 2, 5000).await;
    approve(&gate, &bea, second).await.expect("the rest of the day");
    let (_, words) = refused(3, 1, "EUR").await;
    assert!(words.contains("daily limit of `EUR 100.00` is reached (`EUR 100.00` used, `EUR 0.00` left)"), "{words}");
    // A day is one in UTC: the clock of the fixture stands at 22:13.
    gate.advance_s(3600 + 48 * 60);
    assert!(ask(&gate, "support", 3, 5000, "EUR").await.is_ok());
}

#[tokio::test]
async fn the_deciding_transaction_reserves_and_a_refused_approval_leaves_the_request_waiting() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let requests = [asked(&gate, "billing", 1, 5000).await, asked(&gate, "support", 2, 5000).await, asked(&gate, "support", 3, 5000).await];
    assert_eq!(counted(&gate), 0, "what waits counts for nothing");
    let first = approve(&gate, &bea, requests[0]).await.expect("within the caps");
    approve(&gate, &bea, requests[1]).await.expect("within the caps");
    let words = approve(&gate, &cem, requests[2]).await.expect_err("the day is full");
    assert!(words.contains("daily limit"), "{words}");
    assert_eq!(gate.view(requests[2]).await.state, vidimus_core::request::RequestState::Pending);
    // What did not happen is given back, and the same approver may try again.
    assert_eq!(end(&gate, first, Answer::NoEffect).await, OperationState::Failed);
    assert_eq!(counted(&gate), 5000);
    approve(&gate, &cem, requests[2]).await.expect("room again");
    gate.reopen();
    gate.store.verify(Some(gate.store.head().await.expect("a reading"))).await.expect("the log has the same");
}

#[tokio::test]
async fn an_unknown_outcome_counts_and_a_revoked_one_does_not() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (in_doubt, revoked) = (asked(&gate, "billing", 1, 5000).await, asked(&gate, "support", 2, 5000).await);
    let operation = approve(&gate, &bea, in_doubt).await.expect("within the caps");
    assert_eq!(end(&gate, operation, Answer::Unclear).await, OperationState::Unknown);
    assert_eq!(counted(&gate), 5000, "it may have happened");
    approve(&gate, &bea, revoked).await.expect("within the caps");
    assert_eq!(counted(&gate), 10_000);
    assert!(matches!(gate.decide(&cem, revoked, DecisionKind::Revoke, ROLE).await, DecisionOutcome::Recorded(_)));
    assert_eq!(counted(&gate), 5000, "it was never begun");
}

#[tokio::test]
async fn of_a_part_only_the_part_counts_on() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let request = asked(&gate, "billing", 1, 5000).await;
    let operation = approve(&gate, &bea, request).await.expect("within the caps");
    // The provider's key is used up without an answer that says anything.
    for _ in 0..2 {
        assert_eq!(end(&gate, operation, Answer::Unclear).await, OperationState::Unknown);
        gate.advance_s(5);
    }
    gate.store.due(gate.moment()).await.expect("a sweep");
    gate.advance_s(3000);
    let part = |statement: &mut ReconciliationStatement| statement.amount_minor = Some(1200);
    let receipt = say(&gate, &bea, operation, Said::Partly, ROLE, &part).await;
    assert_eq!(receipt.state, OperationState::Partial);
    assert_eq!(counted(&gate), 1200);
    let head = gate.store.head().await.expect("a reading");
    gate.store.verify(Some(head)).await.expect("the log has the same");
    forge(&mut gate, "UPDATE reservations SET kept_minor = 0");
    let found = gate.store.verify(Some(head)).await.expect_err("less than people signed").to_string();
    assert!(found.contains("what counts under the caps"), "{found}");
}

#[tokio::test]
async fn calls_are_counted_by_run_and_by_hour() {
    let (gate, _, bea, _) = Gate::with_people().await;
    for number in 0..4 {
        let request = asked(&gate, "billing", 1, 10 + number).await;
        approve(&gate, &bea, request).await.expect("within the caps");
    }
    let (_, words) = ask(&gate, "billing", 1, 20, "EUR").await.expect_err("a fifth call of the run");
    assert!(words.contains("`4` calls for one run"), "{words}");
    for number in 0..2 {
        let request = asked(&gate, "billing", 2, 30 + number).await;
        approve(&gate, &bea, request).await.expect("within the caps");
    }
    let (_, words) = ask(&gate, "billing", 3, 40, "EUR").await.expect_err("a seventh call of the hour");
    assert!(words.contains("`6` calls for one hour"), "{words}");
    assert!(ask(&gate, "support", 4, 50, "EUR").await.is_ok(), "another agent's hour");
    gate.advance_s(3600);
    assert!(ask(&gate, "billing", 3, 60, "EUR").await.is_ok(), "an hour later");
}

#[tokio::test]
async fn an_edited_reservation_is_found_before_anything_is_served() {
    for forged in [
        "UPDATE reservations SET counts = 0",
        "UPDATE reservations SET kept_minor = 1",
        "UPDATE reservations SET amount_minor = 1, kept_minor = 1",
        "UPDATE reservations SET at_ms = at_ms - 86400000",
        "UPDATE reservations SET agent = 'support'",
        "UPDATE reservations SET tool = 'refund'",
        "DELETE FROM reservations",
    ] {
        let (mut gate, _, bea, _) = Gate::with_people().await;
        let request = asked(&gate, "billing", 1, 5000).await;
        approve(&gate, &bea, request).await.expect("within the caps");
        let head = gate.store.head().await.expect("a reading");
        gate.store.verify(Some(head)).await.expect("untouched");
        forge(&mut gate, forged);
        let found = gate.store.verify(Some(head)).await.expect_err(forged).to_string();
        assert!(found.contains("what counts under the caps"), "{forged}: {found}");
    }
}

/// What a step of the model does to one of the vouchers.
#[derive(Debug, Clone, Copy)]
enum Step {
    Ask { agent: bool, run: u8, amount: i64 },
    Approve(usize),
    Done(usize),
    Fail(usize),
    Doubt(usize),
    Revoke(usize),
    HourPasses,
}

fn step() -> impl Strategy<Value = Step> {
    let amount = prop_oneof![Just(5000_i64), Just(2500), Just(1), 1..5200_i64];
    prop_oneof![
        4 => (any::<bool>(), 0..3_u8, amount).prop_map(|(agent, run, amount)| Step::Ask { agent, run, amount }),
        5 => (0..8_usize).prop_map(Step::Approve),
        1 => (0..8_usize).prop_map(Step::Done),
        1 => (0..8_usize).prop_map(Step::Fail),
        1 => (0..8_usize).prop_map(Step::Doubt),
        1 => (0..8_usize).prop_map(Step::Revoke),
        1 => Just(Step::HourPasses),
    ]
}

/// A voucher as the model knows it: its run, its amount, whether it counts.
struct Known {
    request: RequestId,
    agent: bool,
    run: u8,
    amount: i64,
    day: i64,
    operation: Option<OperationKey>,
    counts: bool,
    begun: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is asked, approved, answered and stopped in whatever order: what counts is never above a cap, and an approval
    /// goes through exactly when the model says that there is room.
    #[test]
    fn what_is_reserved_is_never_above_a_cap(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(walk(&steps));
    }
}

async fn walk(steps: &[Step]) {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let day = |gate: &Gate| gate.now().as_ms().div_euclid(86_400_000);
    let mut known: Vec<Known> = Vec::new();
    for step in steps {
        let open = |index: usize, known: &[Known]| known.get(index).is_some_and(|voucher| voucher.counts && !voucher.begun);
        match *step {
            Step::Ask { agent, run, amount } => {
                let name = if agent { "billing" } else { "support" };
                if let Ok(request) = ask(&gate, name, run, amount, "EUR").await {
                    known.push(Known { request, agent, run, amount, day: 0, operation: None, counts: false, begun: false });
                }
            }
            Step::Approve(index) if known.get(index).is_some_and(|voucher| voucher.operation.is_none()) => {
                let (agent, run, amount) = (known[index].agent, known[index].run, known[index].amount);
                let of_run: Vec<&Known> = known.iter().filter(|other| other.counts && other.agent == agent && other.run == run).collect();
                let today: i64 = known.iter().filter(|other| other.counts && other.day == day(&gate)).map(|other| other.amount).sum();
                let run_sum: i64 = of_run.iter().map(|other| other.amount).sum();
                let fits = amount <= 5000 && run_sum + amount <= 8000 && today + amount <= 10_000 && of_run.len() < 4;
                match gate.decide(&bea, known[index].request, DecisionKind::Approve, ROLE).await {
                    DecisionOutcome::Recorded(receipt) => {
                        assert!(fits, "an approval beyond a cap: {step:?}");
                        let voucher = &mut known[index];
                        (voucher.operation, voucher.counts, voucher.day) = (receipt.operation, true, day(&gate));
                    }
                    DecisionOutcome::Refused(refusal) if refusal.code == Code::CapReached => {
                        // The hour is the one limit that the model leaves to the ledger.
                        assert!(!fits || refusal.message.contains("one hour"), "{}", refusal.message);
                    }
                    DecisionOutcome::Refused(refusal) => assert_eq!(refusal.code, Code::RequestExpired, "{}", refusal.message),
                    outcome => panic!("{outcome:?}"),
                }
            }
            Step::Done(index) | Step::Fail(index) | Step::Doubt(index) if open(index, &known) => {
                let answer = match step {
                    Step::Done(_) => Answer::Done,
                    Step::Fail(_) => Answer::NoEffect,
                    _ => Answer::Unclear,
                };
                end(&gate, known[index].operation.expect("an operation"), answer).await;
                (known[index].begun, known[index].counts) = (true, answer != Answer::NoEffect);
            }
            Step::Revoke(index) if open(index, &known) => {
                let outcome = gate.decide(&cem, known[index].request, DecisionKind::Revoke, ROLE).await;
                assert!(matches!(outcome, DecisionOutcome::Recorded(_)), "{outcome:?}");
                known[index].counts = false;
            }
            Step::HourPasses => gate.advance_s(3600),
            Step::Approve(_) | Step::Done(_) | Step::Fail(_) | Step::Doubt(_) | Step::Revoke(_) => {}
        }
        let expected: i64 = known.iter().filter(|voucher| voucher.counts).map(|voucher| voucher.amount).sum();
        assert_eq!(counted(&gate), expected, "after {step:?}");
    }
}
