//! The three paths of a call, through a gate in a process of its own.

mod house;

use house::{House, code_of, json, refund, request_of};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::request::DenialKind;
use vidimus_core::request::RequestState;
use vidimus_tests::company::Tool;

#[tokio::test(flavor = "multi_thread")]
async fn money_waits_for_a_signature_and_runs_once() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);

    let pending = billing.call(&refund("first").saying("the kettle is broken"), 0).await.expect("a pending call");
    assert_eq!(pending.status, CallStatus::Pending);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);

    let receipt = admin.approve(request_of(&pending), "billing-approver").await.expect("the approval counts");
    assert_eq!(receipt.state, RequestState::Approved);
    let executed = billing.outcome(&pending.call, 20).await.expect("an outcome");
    assert_eq!(executed.status, CallStatus::Executed, "{}", executed.words);
    assert_eq!(executed.attempt, Some(1));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);

    // The provider got exactly the canonical bytes, under the operation's key.
    let effect = house.inspector.effects(Tool::Refund).await.expect("effects").remove(0);
    assert_eq!(effect.args, r#"{"amount_minor":8990,"currency":"EUR","invoice":"invoice_842","reason":"arrived broken"}"#);
    assert_eq!(effect.key, executed.operation.map(|operation| operation.to_string()));

    // The same call again is the same call: its stored result, no second card, no second effect.
    let again = billing.call(&refund("first"), 0).await.expect("the stored answer");
    assert_eq!((again.call, again.stored, again.status), (executed.call, true, CallStatus::Executed));
    assert_eq!(again.result.map(|result| result.get().to_owned()), executed.result.map(|result| result.get().to_owned()));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_reaches_the_agent_with_its_reason_and_nothing_runs() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("denied"), 0).await.expect("a pending call");
    admin
        .deny(request_of(&pending), "billing-approver", DenialKind::WrongAmount, "89.90 was the price with the pot")
        .await
        .expect("it counts");
    let denied = billing.outcome(&pending.call, 20).await.expect("an outcome");
    assert_eq!(denied.status, CallStatus::Denied);
    let denial = denied.denial.expect("a reason");
    assert_eq!((denial.kind.as_str(), denial.note.as_str()), ("wrong_amount", "89.90 was the price with the pot"));
    assert_eq!(denial.role, "billing-approver");
    assert!(!denied.words.contains("approved"));
    let again = billing.call(&refund("denied"), 0).await.expect("the same answer");
    assert_eq!((again.call, again.status), (denied.call, CallStatus::Denied));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    // Too late for an approval: the answer says who won.
    let late = admin.approve(request_of(&pending), "billing-approver").await.expect_err("too late");
    assert_eq!(late.code(), Some("request_already_decided"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_run_and_writes_keep_their_before_and_after() {
    let house = House::open().await;
    let admin = house.admin().await;
    let support = house.agent("support", &[]);
    let found = support.call(&CallRequest::new("search", json(r#"{"query":"kettle"}"#)), 0).await.expect("a read");
    assert_eq!(found.status, CallStatus::Executed);
    assert!(found.result.expect("hits").get().contains("\"count\""));

    let tags = CallRequest::new("update_ticket_tags", json(r#"{"ticket":"ticket_1","tags":["damaged","refund"]}"#));
    let written = support.call(&tags, 0).await.expect("a write");
    assert_eq!(written.status, CallStatus::Executed, "{}", written.words);
    assert!(written.operation.is_some());
    assert!(written.words.contains("no call_key"), "{}", written.words);
    assert_eq!(house.inspector.count(Tool::UpdateTicketTags).await.expect("a count"), 1);

    // One record holds both states, and only who may read it gets the body.
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let body = loop {
        match stream.next().await.expect("an event").expect("a record") {
            vidimus_api::log::LogEvent::Record(record) if record.leaf.contains(r#""type":"write_executed""#) => break record.body,
            vidimus_api::log::LogEvent::Record(_) | vidimus_api::log::LogEvent::Checkpoint(_) => {}
        }
    };
    let body = body.expect("the admin leads support");
    assert!(body.contains(r#"\"tags\":[\"damaged\"]"#) && body.contains("refund"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_person_decides_after_an_admin_admitted_them() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let bert = house.person(&admin, "Bert Beispiel", &["billing-approver"], 2).await;
    let pending = billing.call(&refund("second"), 0).await.expect("a pending call");
    bert.approve(request_of(&pending), "billing-approver").await.expect("it counts");
    let executed = billing.outcome(&pending.call, 20).await.expect("an outcome");
    assert_eq!(executed.status, CallStatus::Executed, "{}", executed.words);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_waits_can_be_withdrawn_and_only_by_its_agent() {
    let house = House::open().await;
    let _admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let support = house.agent("support", &[]);
    let pending = billing.call(&refund("withdrawn"), 0).await.expect("a pending call");
    assert_eq!(code_of(support.outcome(&pending.call, 0).await), "not_found");
    assert_eq!(code_of(support.withdraw(&pending.call).await), "not_found");
    assert_eq!(billing.withdraw(&pending.call).await.expect("withdrawn").status, CallStatus::Withdrawn);
    assert_eq!(code_of(billing.withdraw(&pending.call).await), "request_withdrawn");
}
