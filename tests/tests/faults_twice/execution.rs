//! Double execution, replay, resume.

use std::collections::BTreeSet;

use tokio::task::block_in_place;
use vidimus_api::call::{CallAnswer, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::decision::DecisionKind;
use vidimus_core::record::RecordType;
use vidimus_tests::company::{Mode, Order, Tool};

use crate::faults::log::Log;
use crate::faults::{House, WAIT_S, call, json, pending, problem_of, refund_args, request_of, until};
use crate::rush::{Rush, all_at_once};
use crate::{ROLE, rounds};

/// The agents of the fixture, and a second one that may refund.
fn two_that_refund(table: String) -> String {
    format!("{table}\n[[agent]]\nagent = \"billing-two\"\ntools = [\"refund\"]\ncallback_hosts = []\npending_max = 20\n")
}

fn body(args: &str, key: &str) -> String {
    format!(r#"{{"tool":"refund","args":{args},"call_key":"{key:0>16}"}}"#)
}

fn invoice(number: usize) -> String {
    format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"INV-1001"}}"#)
}

/// "Resuming the same interrupt / saved state twice executed twice", and "single-use token consumed by several parallel
/// requests": two processes of fifty resumes each, at one barrier, while the approval comes in and after it. One runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_resumes_from_two_processes_are_one_execution() {
    let house = House::open().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let mut processes = [Rush::start(&house.url, &credential, 50), Rush::start(&house.url, &credential, 50)];
    let rounds = rounds(6, 200);
    for round in 1..=rounds {
        let waiting = pending(&billing, &call("refund", &invoice(round), &format!("round-{round}"))).await;
        let statement = house.admin.statement(request_of(&waiting), DecisionKind::Approve, ROLE).await.expect("a statement");
        let decided = until("the receipt", || async {
            // A connection that the gate has just closed as idle: the same envelope again gets the same receipt.
            match house.admin.hand_in(statement.request, &statement).await {
                Err(error) if error.code().is_none() => None,
                answered => Some(answered),
            }
        });
        let resumed = async {
            block_in_place(|| all_at_once(&mut processes, "/v1/calls?wait_s=10", &body(&invoice(round), &format!("round-{round}"))))
        };
        let (decided, resumed) = tokio::join!(decided, resumed);
        decided.expect("it counts");
        assert_eq!(resumed.len(), 100);
        let mut results = BTreeSet::new();
        for (status, text) in resumed {
            let told: CallAnswer = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {status} {text}"));
            // There is a bound to how many of an agent's resumes may wait for the end; the others are told that it goes on.
            assert_eq!((told.call, status == 200), (waiting.call, told.status == CallStatus::Executed), "{text}");
            assert!(
                [CallStatus::Pending, CallStatus::Approved, CallStatus::Executing, CallStatus::Executed].contains(&told.status),
                "{text}"
            );
            results.extend(told.result.map(|result| result.get().to_owned()));
        }
        let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
        assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(1)));
        results.insert(told.result.expect("a result").get().to_owned());
        assert_eq!(results.len(), 1, "one result for all");
        assert_eq!(house.count(Tool::Refund).await, round, "round {round}");
    }
}

/// The same race in two hundred rounds, with fewer at each barrier: two processes, one gate, one database throughout.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_rounds_of_two_processes_are_one_execution_each() {
    const ROUNDS: usize = 200;
    let house = House::open().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let mut processes = [Rush::start(&house.url, &credential, 3), Rush::start(&house.url, &credential, 3)];
    for round in 1..=ROUNDS {
        let key = format!("rounds-{round}");
        let waiting = pending(&billing, &call("refund", &invoice(round), &key)).await;
        let statement = house.admin.statement(request_of(&waiting), DecisionKind::Approve, ROLE).await.expect("a statement");
        let decided = until("the receipt", || async {
            // A connection that the gate has just closed as idle: the same envelope again gets the same receipt.
            match house.admin.hand_in(statement.request, &statement).await {
                Err(error) if error.code().is_none() => None,
                answered => Some(answered),
            }
        });
        let resumed = async { block_in_place(|| all_at_once(&mut processes, "/v1/calls?wait_s=10", &body(&invoice(round), &key))) };
        let (decided, resumed) = tokio::join!(decided, resumed);
        decided.expect("it counts");
        let mut results = BTreeSet::new();
        for (status, text) in resumed {
            let told: CallAnswer = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {status} {text}"));
            assert_eq!(told.call, waiting.call, "round {round}");
            results.extend(told.result.map(|result| result.get().to_owned()));
        }
        let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
        assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(1)), "round {round}");
        results.insert(told.result.expect("a result").get().to_owned());
        assert_eq!(results.len(), 1, "round {round}: one result for all");
    }
    assert_eq!(house.count(Tool::Refund).await, ROUNDS);
    let sent = house.inspector.calls().await.expect("calls").iter().filter(|call| call.tool == Tool::Refund).count();
    assert_eq!(sent, ROUNDS, "nothing was even sent twice");
}

/// "Same idempotency key with another payload replayed the first result / ran anew": refused, whatever became of the first;
/// another agent's key is its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_another_payload_never_gets_the_first_result() {
    let house = House::open_with(two_that_refund, &[]).await;
    let (billing, two) = (house.agent("billing", &[]), house.agent("billing-two", &[]));
    let first = pending(&billing, &call("refund", &invoice(1), "k")).await;
    let credit = r#"{"amount_minor":1500,"currency":"EUR","customer":"customer_ada","reason":"late"}"#;
    let others = [call("refund", &refund_args(1501), "k"), call("issue_credit", credit, "k"), call("refund", &invoice(2), "k")];
    for approved in [false, true] {
        if approved {
            house.admin.approve(request_of(&first), ROLE).await.expect("it counts");
            assert_eq!(billing.outcome(&first.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
        }
        for other in &others {
            let problem = problem_of(billing.call(other, 0).await);
            assert_eq!((problem.status, problem.code.as_str()), (409, "operation_key_conflict"));
        }
    }
    let own = pending(&two, &call("refund", &invoice(3), "k")).await;
    assert_ne!(own.call, first.call);
    house.admin.approve(request_of(&own), ROLE).await.expect("it counts");
    assert_eq!(two.outcome(&own.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 2);
}

/// "Reply lost → client took a fresh nonce and paid again; or timeout was reported as failure → second payment".
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_lost_is_not_answered_by_a_second_payment() {
    let house = House::open_with(two_that_refund, &[]).await;
    let (billing, two, support) = (house.agent("billing", &[]), house.agent("billing-two", &[]), house.agent("support", &[]));
    let mut log = Log::follow(&house).await;

    // Nothing to go by: the mail went out, its answer did not come.
    let mail = r#"{"body":"It ships on Monday.","subject":"Your fan","to":"bert@example.org"}"#;
    house.inspector.order(Order::of(Tool::SendEmail).mode(Mode::DropAfterEffect)).await.expect("an order");
    let first = pending(&support, &call("send_email", mail, "k1")).await;
    house.admin.approve(request_of(&first), "support-lead").await.expect("it counts");
    let told = support.outcome(&first.call, WAIT_S).await.expect("an outcome");
    assert_eq!((told.status, told.code.as_str()), (CallStatus::NeedsReconciliation, "needs_reconciliation"));
    assert!(told.words.contains("do not send it again"), "{}", told.words);
    let problem = problem_of(support.call(&call("send_email", mail, "k2"), 0).await);
    assert_eq!((problem.status, problem.code.as_str()), (409, "business_effect_open"));
    // Without a key of its own it is the same call: it joins, and is told the same.
    let again = support.call(&vidimus_api::call::CallRequest::new("send_email", json(mail)), 0).await.expect("joined");
    assert_eq!((again.call, again.status), (first.call, CallStatus::NeedsReconciliation));
    assert_eq!(house.count(Tool::SendEmail).await, 1);

    // With a key, while the outcome is not known yet: nobody pays the same beside it, and another agent learns nothing of it.
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let first = pending(&billing, &call("refund", &refund_args(1500), "k1")).await;
    house.admin.approve(request_of(&first), ROLE).await.expect("it counts");
    until("doubt", || async { (billing.outcome(&first.call, 0).await.expect("an answer").status == CallStatus::Unknown).then_some(()) })
        .await;
    for agent in [&billing, &two] {
        let problem = problem_of(agent.call(&call("refund", &refund_args(1500), "k2"), 0).await);
        assert_eq!(problem.code, "business_effect_open");
        assert!(problem.call.is_none() && problem.request.is_none() && !problem.detail.contains("billing"), "{problem:?}");
    }
    let told = billing.outcome(&first.call, WAIT_S).await.expect("an outcome");
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(2)));
    assert_eq!(house.count(Tool::Refund).await, 1);
    // Afterwards the same may be wanted once more: then the card names the first, and asks as for what cannot be undone.
    let second = pending(&two, &call("refund", &refund_args(1500), "k3")).await;
    assert_eq!(second.earlier, [request_of(&first)]);
    let frozen = house.detail(request_of(&second)).await.frozen;
    assert!(frozen.contains(r#""friction":"irreversible""#), "{frozen}");
    let refused = log.rest(&house).await;
    assert_eq!(refused.iter().filter(|refused| refused.code == "business_effect_open").count(), 3);
    assert_eq!(log.of(RecordType::TokenRedeemed).count(), 3);
    assert_eq!(house.count(Tool::Refund).await, 1, "nobody has approved the second");
}
