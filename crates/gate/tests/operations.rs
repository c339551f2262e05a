//! What a provider may do, and what becomes of the operation: the effects counted are never more than what was approved.

mod house;

use house::{House, REFUND, json, request_of};
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Keys, Mode, Order, StatusQuery, Tool};

const MAIL: &str = r#"{"to":"ada@example.com","subject":"Your kettle","body":"It is on its way."}"#;

async fn approved(admin: &Approver, agent: &AgentClient, tool: &str, args: &str, role: &str) -> CallAnswer {
    let pending = agent.call(&CallRequest::new(tool, json(args)), 0).await.expect("a pending call");
    admin.approve(request_of(&pending), role).await.expect("it counts");
    let mut answer = agent.outcome(&pending.call, 30).await.expect("an outcome");
    // `unknown` is not the end: the gate still looks.
    for _ in 0..10 {
        if answer.status.has_ended() {
            break;
        }
        answer = agent.outcome(&pending.call, 30).await.expect("an outcome");
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_every_lost_answer_ends_in_one_effect() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let modes = [Mode::DropAfterEffect, Mode::ErrorAfterEffect, Mode::ErrorBefore, Mode::Redirect, Mode::Huge, Mode::Garbage];
    for (number, mode) in (1..).zip(modes) {
        house.inspector.order(Order::of(Tool::Refund).mode(mode).times(1)).await.expect("an order");
        let args = REFUND.replace("8990", &(100 + number).to_string());
        let answer = approved(&admin, &billing, "refund", &args, "billing-approver").await;
        assert_eq!(answer.status, CallStatus::Executed, "{mode:?}: {}", answer.words);
        assert_eq!(answer.attempt, Some(2), "{mode:?}");
        assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), number, "{mode:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_provider_at_the_first_attempt_is_a_failure_without_effect() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::Refuse).times(1)).await.expect("an order");
    let answer = approved(&admin, &billing, "refund", REFUND, "billing-approver").await;
    assert_eq!((answer.status, answer.attempt), (CallStatus::Failed, Some(1)), "{}", answer.words);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    // A failed call may be asked again: a new request, whose card names the earlier one.
    let again = billing.call(&CallRequest::new("refund", json(REFUND)), 0).await.expect("a new request");
    assert_eq!(again.status, CallStatus::Pending);
    assert_ne!(again.request, answer.request);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_key_and_status_a_lost_answer_is_a_persons_to_settle() {
    let house = House::open().await;
    let admin = house.admin().await;
    let support = house.agent("support", &[]);
    house.inspector.order(Order::of(Tool::SendEmail).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let answer = approved(&admin, &support, "send_email", MAIL, "support-lead").await;
    assert_eq!((answer.status, answer.attempt), (CallStatus::NeedsReconciliation, Some(1)), "{}", answer.words);
    assert_eq!(house.inspector.count(Tool::SendEmail).await.expect("a count"), 1);
    // Asked again with the same words: the same call, never a second mail.
    let again = support.call(&CallRequest::new("send_email", json(MAIL)), 0).await.expect("the same call");
    assert_eq!((again.call, again.status), (answer.call, CallStatus::NeedsReconciliation));
    let reworded = CallRequest::new("send_email", json(MAIL)).with_call_key("another-key-entirely");
    assert_eq!(house::code_of(support.call(&reworded, 0).await), "business_effect_open");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_status_query_the_providers_word_is_adopted_or_a_person_looks() {
    let house = House::open_with(|table| table.replace("settle_s = 5", "settle_s = 1")).await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let args = r#"{"subscription":"sub_77","effective":"2026-12-31","reason":"asked for it"}"#;
    house.inspector.order(Order::of(Tool::CancelSubscription).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let answer = approved(&admin, &billing, "cancel_subscription", args, "billing-approver").await;
    assert_eq!((answer.status, answer.attempt), (CallStatus::Executed, Some(1)), "{}", answer.words);
    assert_eq!(house.inspector.count(Tool::CancelSubscription).await.expect("a count"), 1);

    house.inspector.reset().await.expect("a reset");
    let absent = Order::of(Tool::CancelSubscription).mode(Mode::DropAfterEffect).times(1);
    house.inspector.order(Order { status: Some(StatusQuery::Absent), ..absent }).await.expect("an order");
    let other = r#"{"subscription":"sub_77","effective":"2026-12-31","reason":"asked for it twice"}"#;
    let answer = approved(&admin, &billing, "cancel_subscription", other, "billing-approver").await;
    assert_eq!(answer.status, CallStatus::NeedsReconciliation, "{}", answer.words);
    assert_eq!(house.inspector.count(Tool::CancelSubscription).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_ignores_keys_is_why_the_key_matters() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let order = Order::of(Tool::Refund).mode(Mode::DropAfterEffect).times(1);
    house.inspector.order(Order { keys: Some(Keys::Ignore), ..order }).await.expect("an order");
    let answer = approved(&admin, &billing, "refund", REFUND, "billing-approver").await;
    assert_eq!((answer.status, answer.attempt), (CallStatus::Executed, Some(2)));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_is_said_and_nothing_is_guessed() {
    // The provider's address is one on which nobody listens.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let move_billing = move |table: String| {
        let mut table = table;
        for path in ["billing/refunds", "invoices/{invoice}", "tickets/{ticket}/tags"] {
            let at = table.find(&format!("/{path}\"")).expect("a row");
            let from = table[..at].rfind("http://").expect("an address");
            table.replace_range(from..at, &format!("http://{nobody}"));
        }
        table
    };
    let house = House::open_with(move_billing).await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let support = house.agent("support", &[]);
    let read = CallRequest::new("get_invoice", json(r#"{"invoice":"invoice_842"}"#));
    assert_eq!(house::code_of(billing.call(&read, 0).await), "tool_unreachable");
    let tags = CallRequest::new("update_ticket_tags", json(r#"{"ticket":"ticket_1","tags":["x"]}"#));
    let written = support.call(&tags, 0).await.expect("an answer");
    assert_eq!(written.status, CallStatus::Failed, "{}", written.words);
    let answer = approved(&admin, &billing, "refund", REFUND, "billing-approver").await;
    assert_eq!(answer.status, CallStatus::Failed, "{}", answer.words);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_under_a_call_key_happens_once_and_an_unclear_one_is_never_sent_again() {
    let house = House::open().await;
    let _admin = house.admin().await;
    let support = house.agent("support", &[]);
    let args = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
    let create = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0001");
    let first = support.call(&create, 0).await.expect("a write");
    assert_eq!(first.status, CallStatus::Executed, "{}", first.words);
    let again = support.call(&create, 0).await.expect("the stored answer");
    assert_eq!((again.call, again.stored), (first.call, true));
    assert_eq!(house.inspector.count(Tool::CreateTicket).await.expect("a count"), 1);

    house.inspector.order(Order::of(Tool::CreateTicket).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let lost = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0002");
    let unknown = support.call(&lost, 0).await.expect("a write");
    assert!(matches!(unknown.status, CallStatus::Unknown | CallStatus::NeedsReconciliation), "{}", unknown.words);
    let again = support.call(&lost, 0).await.expect("the same call");
    assert_eq!(again.call, unknown.call);
    assert_eq!(house.inspector.count(Tool::CreateTicket).await.expect("a count"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_providers_credential_is_the_gates_and_an_agent_never_sees_it() {
    let mut house = House::open().await;
    let _admin = house.admin().await;
    let credential = house.credential("research", &[]);
    let research = vidimus_api::client::AgentClient::new(&house.url, credential.clone()).expect("a client");
    let answer = research.call(&CallRequest::new("search", json(r#"{"query":"kettle"}"#)), 0).await.expect("a read");
    assert_eq!(answer.status, CallStatus::Executed);
    // Neither the agent's credential nor what it asked stands in the gate's own log.
    house.end();
    let log = std::fs::read_to_string(house.data.path().join("serve.1.out")).expect("the gate's log");
    assert!(log.contains("/v1/calls"));
    for secret in [credential.as_str(), "company-credential-of-the-tests", "kettle"] {
        assert!(!log.contains(secret), "{secret}");
    }
}
