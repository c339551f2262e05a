//! The worked example, by one command: `cargo test -p vidimus-gate --features demo --test worked_example`.
//!
//! A refund of invoice 842 is approved. The worker dies after the provider has acted and before the result is stored. After
//! the restart the same key is sent, the provider returns the original refund, and that is what is stored.

mod house;

use house::{House, WITHIN, refund, request_of};
use vidimus_api::call::{CallAnswer, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_gate::seams::Seam;
use vidimus_tests::company::{Keys, Order, Tool};

/// The refund, its death and its resumption; what the agent is told in the end.
async fn refund_whose_worker_dies(house: &mut House) -> CallAnswer {
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    house.end();
    house.set("VIDIMUS_SEAM", Seam::BeforeRecord.as_str());
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let pending = billing.call(&refund("invoice-842"), 0).await.expect("a pending call");
    // The gate may be gone before the receipt is out: the decision is on record all the same.
    let _ = admin.approve(request_of(&pending), "billing-approver").await;
    house.process().wait(WITHIN).expect("the worker dies");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1, "the provider had acted");
    house.set("VIDIMUS_SEAM", "");
    house.start();
    let billing = AgentClient::new(&house.url, credential).expect("a client");
    billing.outcome(&pending.call, 25).await.expect("an outcome")
}

/// The key of every refund that the provider was sent.
async fn keys_sent(house: &House) -> Vec<String> {
    let calls = house.inspector.calls().await.expect("calls");
    calls.into_iter().filter(|call| call.tool == Tool::Refund).map(|call| call.key.expect("a key")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_refund_two_attempts_one_effect() {
    let mut house = House::open().await;
    let told = refund_whose_worker_dies(&mut house).await;
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(2)), "{}", told.words);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    let keys = keys_sent(&house).await;
    assert_eq!((effects.len(), keys.len()), (1, 2), "one effect, two attempts");
    assert_eq!(keys[0], keys[1]);
    let original = format!("refund_{}", effects[0].sequence);
    let result = told.result.expect("a result");
    assert!(result.get().contains(&format!("\"{original}\"")), "the original refund and no new one: {}", result.get());
    println!("with a key:    1 refund, {} attempts, {} effect: {}", keys.len(), effects.len(), result.get());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_without_a_key_two_effects() {
    let mut house = House::open().await;
    house.inspector.order(Order::of(Tool::Refund).keys(Keys::Ignore)).await.expect("an order");
    let told = refund_whose_worker_dies(&mut house).await;
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(2)), "{}", told.words);
    let effects = house.inspector.count(Tool::Refund).await.expect("a count");
    assert_eq!((effects, keys_sent(&house).await.len()), (2, 2), "the customer was paid twice");
    println!("without a key: 1 refund, 2 attempts, {effects} effects");
}
