//! Delivery, notification, timeouts, over HTTP.

use std::time::Duration;

use vidimus_api::call::CallStatus;
use vidimus_api::client::AgentClient;
use vidimus_core::decision::DecisionKind;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::company::Tool;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::wire::client;
use crate::faults::{House, WAIT_S, call, call_key, pending, refund_args, refused, request_of};

fn invoice(number: usize) -> String {
    format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"INV-1001"}}"#)
}

/// "Client timed out while a human was deciding; the resume replayed the failure": the client hangs up, retries three times
/// under the same key, and gets the true result in the end. One card, one execution.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_timed_out_resumes_to_the_true_result() {
    let house = House::open().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let mut log = Log::follow(&house).await;
    let body = format!(r#"{{"tool":"refund","args":{},"call_key":"{}"}}"#, refund_args(1500), call_key("timeout"));
    for _ in 0..3 {
        let url = format!("{}/v1/calls?wait_s=20", house.url);
        let sent = client().post(url).bearer_auth(&credential).body(body.clone()).timeout(Duration::from_millis(400)).send().await;
        assert!(sent.is_err_and(|error| error.is_timeout()), "nobody has decided yet");
    }
    // What came early has the id, and says what it waits for. That the last of those who hung up is gone may be noticed after
    // that, and changes nothing.
    let waiting = billing.call(&call("refund", &refund_args(1500), "timeout"), 0).await.expect("an answer");
    assert_eq!(waiting.status, CallStatus::Pending, "{}", waiting.words);
    house.admin.approve(request_of(&waiting), ROLE).await.expect("it counts");
    let told = billing.call(&call("refund", &refund_args(1500), "timeout"), WAIT_S).await.expect("the result");
    assert_eq!((told.call, told.status), (waiting.call, CallStatus::Executed), "{}", told.words);
    log.rest(&house).await;
    assert_eq!(log.of(RecordType::RequestCreated).count(), 1, "one card");
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// "Pending approvals lost on restart": twenty of them, over a kill and a start, with the same bytes and the same end; a
/// decision that was signed while the gate was away counts; a follower of the log gets nothing twice.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_pending_ones_outlive_a_kill() {
    let mut house = House::open().await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    let mut waiting = Vec::new();
    for number in 1..=20 {
        waiting.push(pending(&billing, &call("refund", &invoice(number), &format!("kept-{number}"))).await);
    }
    let statement = house.admin.statement(request_of(&waiting[0]), DecisionKind::Approve, ROLE).await.expect("a statement");
    log.rest(&house).await;
    house.kill();
    let offline = house.admin.hand_in(statement.request, &statement).await;
    assert!(offline.is_err_and(|error| error.code().is_none()), "told at once that the gate is away");
    house.start();
    log.follow_on(&house).await;
    for before in &waiting {
        let after = billing.outcome(&before.call, 0).await.expect("an answer");
        assert_eq!(
            (after.status, after.request, after.request_sha256, after.waits_until),
            (CallStatus::Pending, before.request, before.request_sha256, before.waits_until)
        );
        assert_eq!(house.detail(request_of(before)).await.state, RequestState::Pending);
    }
    house.admin.hand_in(statement.request, &statement).await.expect("what was signed meanwhile counts");
    assert_eq!(billing.outcome(&waiting[0].call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    log.rest(&house).await;
    for answer in &waiting {
        assert_eq!(log.about(RecordType::RequestCreated, request_of(answer)).len(), 1, "told once");
    }
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// A gate that was killed after it had frozen a call and before it told its agent: nobody knows the id, so nobody approves it
/// until the same call comes again. What was told before the kill waits as it did.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_gate_died_before_it_told_anybody_is_an_orphan_until_it_comes_again() {
    let mut house = House::open().await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    let told = pending(&billing, &call("refund", &invoice(1), "told")).await;
    // What was told is noted with the next commit, which the next agent makes.
    log.rest(&house).await;
    house.order(&["kill after_freeze"]);
    let cut = billing.call(&call("refund", &invoice(2), "untold"), 0).await;
    assert!(cut.is_err_and(|error| error.code().is_none()), "no answer came");
    house.ended();
    house.order(&[]);
    house.start();
    log.follow_on(&house).await;
    log.rest(&house).await;
    let orphaned: Vec<_> = log.of(RecordType::RequestOrphaned).filter_map(|record| record.request).collect();
    assert_eq!(orphaned.len(), 1);
    assert_ne!(orphaned[0], request_of(&told));
    let refused = refused(house.admin.approve(orphaned[0], ROLE).await);
    assert_eq!((refused.status, refused.code.as_str()), (409, "request_orphaned"));
    house.admin.approve(request_of(&told), ROLE).await.expect("its agent was told");
    assert_eq!(billing.outcome(&told.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    // The same call again is that one, on the same card; then it can be approved, and runs once.
    let again = pending(&billing, &call("refund", &invoice(2), "untold")).await;
    assert_eq!(request_of(&again), orphaned[0]);
    house.admin.approve(orphaned[0], ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&again.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 2);
}
