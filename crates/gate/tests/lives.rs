//! The lives of a request over HTTP: passed on, prolonged, stopped, taken back; and what its agent is told each time.

mod house;

use house::{House, code_of, json, refund, request_of};
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::request::{DenialKind, Receipt};
use vidimus_core::decision::DecisionKind;
use vidimus_core::request::RequestState;
use vidimus_tests::approver::{Approver, ApproverError};
use vidimus_tests::company::{Mode, Order, Tool};

const ROLE: &str = "billing-approver";

/// A house whose refunds have these keys too, in place of a line of their row.
async fn house_with(line: &str, keys: &str) -> (House, Approver, AgentClient) {
    let house = House::open_with(|table| {
        let (before, row) = table.split_once("tool = \"refund\"\n").expect("the row");
        assert!(row.contains(line), "no `{line}` in the row");
        format!("{before}tool = \"refund\"\n{}", row.replacen(line, keys, 1))
    })
    .await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    (house, admin, billing)
}

async fn send(approver: &Approver, call: &CallAnswer, decision: DecisionKind, role: &str) -> Result<Receipt, ApproverError> {
    let statement = approver.statement(request_of(call), decision, role).await?;
    approver.hand_in(request_of(call), &statement).await
}

fn refused(result: Result<Receipt, ApproverError>) -> String {
    result.expect_err("refused").code().expect("a code").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_stopped_while_its_delay_lasts_by_anybody_who_may_decide() {
    let (house, admin, billing) = house_with("idempotency = \"key\"", "delay_s = 60\nidempotency = \"key\"").await;
    let bert = house.person(&admin, "Bert Beispiel", &[ROLE], 2).await;
    let call = billing.call(&refund("stopped"), 0).await.expect("a pending call");
    assert_eq!(refused(send(&bert, &call, DecisionKind::Revoke, ROLE).await), "request_not_approved");
    admin.approve(request_of(&call), ROLE).await.expect("it counts");
    let resting = billing.outcome(&call.call, 0).await.expect("an outcome");
    assert_eq!((resting.status, resting.attempt), (CallStatus::Approved, Some(0)));
    // Only what waits is taken back by its agent, and a denial comes too late.
    assert_eq!(code_of(billing.withdraw(&call.call).await), "request_not_pending");
    let late = bert.deny(request_of(&call), ROLE, DenialKind::Other, "no, not like this").await;
    assert_eq!(late.expect_err("too late").code(), Some("request_already_decided"));
    let receipt = send(&bert, &call, DecisionKind::Revoke, ROLE).await.expect("it counts");
    assert_eq!(receipt.state, RequestState::Revoked);
    let again = billing.call(&refund("stopped"), 0).await.expect("the same call");
    assert_eq!((again.call, again.status, again.code.as_str(), again.stored), (call.call, CallStatus::Revoked, "revoked", true));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_given_up_to_the_last_moment_and_by_those_who_may_decide() {
    let (house, admin, billing) =
        house_with("request_ttl_s = 1800\nrequest_ttl_max_s = 7200", "request_ttl_s = 600\nrequest_ttl_max_s = 1500").await;
    let support = house.person(&admin, "Suse Support", &["support-lead"], 2).await;
    let call = billing.call(&refund("longer"), 0).await.expect("a pending call");
    let first = call.waits_until.expect("a last moment");
    assert_eq!(refused(send(&support, &call, DecisionKind::MoreTime, ROLE).await), "not_found");
    for seconds in [600, 900, 900] {
        let receipt = send(&admin, &call, DecisionKind::MoreTime, ROLE).await.expect("it counts");
        assert_eq!(receipt.state, RequestState::Pending);
        let waits_until = billing.outcome(&call.call, 0).await.expect("an outcome").waits_until;
        assert_eq!(waits_until, Some(first.plus_s(seconds)));
    }
    admin.approve(request_of(&call), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&call.call, 20).await.expect("an outcome").status, CallStatus::Executed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_too_long_is_passed_on_to_whom_the_row_names() {
    let (house, admin, billing) = house_with(
        "needs = [{ role = \"billing-approver\", quorum = 1 }]",
        "needs = [{ role = \"billing-approver\", quorum = 1, escalate_to = \"treasury\" }]\nescalate_after_s = 1",
    )
    .await;
    let tess = house.person(&admin, "Tess Treasury", &["treasury"], 2).await;
    let call = billing.call(&refund("late"), 0).await.expect("a pending call");
    let client = tess.client().expect("a session");
    house::until("passing on", || async { client.request_detail(&request_of(&call)).await.ok() }).await;
    assert_eq!(refused(send(&tess, &call, DecisionKind::Approve, ROLE).await), "role_not_held");
    let receipt = send(&tess, &call, DecisionKind::Approve, "treasury").await.expect("it counts");
    assert_eq!((receipt.state, receipt.quorum.given, receipt.quorum.needed), (RequestState::Approved, 1, 1));
    assert_eq!(billing.outcome(&call.call, 20).await.expect("an outcome").status, CallStatus::Executed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_has_as_many_requests_waiting_as_its_list_says() {
    let house = House::open_with(|table| table.replace("pending_max = 20", "pending_max = 2")).await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let other = |amount: u32| CallRequest::new("refund", json(&house::REFUND.replace("8990", &amount.to_string())));
    let first = billing.call(&other(1), 0).await.expect("a pending call");
    billing.call(&other(2), 0).await.expect("a pending call");
    assert_eq!(code_of(billing.call(&other(3), 0).await), "pending_limit_reached");
    assert_eq!(billing.call(&other(2), 0).await.expect("the same call").status, CallStatus::Pending, "a repetition is none more");
    admin.approve(request_of(&first), ROLE).await.expect("it counts");
    billing.call(&other(3), 0).await.expect("there is room again");
}

/// Status, code and `Retry-After` of a call as they stand on the wire.
async fn on_the_wire(house: &House, credential: &str, call: &CallAnswer) -> (u16, String, Option<String>) {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}/v1/calls/{}", house.url, call.call);
    let response = client.get(url).bearer_auth(credential).send().await.expect("an answer");
    let retry = response.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
    let status = response.status().as_u16();
    let answer: CallAnswer = response.json().await.expect("an answer");
    (status, answer.code, retry)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_on_says_when_to_ask_again_and_each_end_has_its_own_code() {
    let house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let call = async |amount: u32| {
        let args = house::REFUND.replace("8990", &amount.to_string());
        billing.call(&CallRequest::new("refund", json(&args)), 0).await.expect("a pending call")
    };
    let wire = async |call: &CallAnswer| on_the_wire(&house, &credential, call).await;
    let ended = |code: &str| (200, code.to_owned(), None);
    let pending = call(1).await;
    assert_eq!(wire(&pending).await, (202, "pending".to_owned(), Some("10".to_owned())));
    let withdrawn = call(2).await;
    billing.withdraw(&withdrawn.call).await.expect("withdrawn");
    assert_eq!(wire(&withdrawn).await, ended("withdrawn"));
    let denied = call(3).await;
    admin.deny(request_of(&denied), ROLE, DenialKind::WrongAmount, "too little").await.expect("it counts");
    assert_eq!(wire(&denied).await, ended("denied"));
    let executed = call(4).await;
    admin.approve(request_of(&executed), ROLE).await.expect("it counts");
    billing.outcome(&executed.call, 20).await.expect("an outcome");
    assert_eq!(wire(&executed).await, ended("executed"));
    // In progress: the provider takes its time.
    let slow = call(5).await;
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::DelayAfterEffect).times(1).delay_ms(3000)).await.expect("an order");
    admin.approve(request_of(&slow), ROLE).await.expect("it counts");
    house::until("the attempt", || async { (wire(&slow).await.1 == "executing").then_some(()) }).await;
    assert_eq!(wire(&slow).await, (202, "executing".to_owned(), Some("1".to_owned())));
    // In doubt: joined, never sent again by its agent.
    let doubtful = call(6).await;
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::ErrorAfterEffect).times(3)).await.expect("an order");
    admin.approve(request_of(&doubtful), ROLE).await.expect("it counts");
    let found = house::until("the doubt", || async {
        let found = wire(&doubtful).await;
        ["unknown", "needs_reconciliation"].contains(&found.1.as_str()).then_some(found)
    })
    .await;
    assert_eq!((found.0, found.2.is_some()), (202, true));
}
