//! Idempotency keys, and each way to misbehave.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use vidimus_tests::company::{Keys, Mode, Order, StatusQuery, Tool, limits, sha256_hex};

use super::{CANCELLATION, Fixture, OTHER_REFUND, REFUND, WIRE, read};

#[tokio::test]
async fn the_same_key_gets_the_first_answer_and_other_bytes_are_refused() {
    let fixture = Fixture::open().await;
    let first = fixture.refund("key-1", REFUND).await.unwrap();
    assert!(first.headers().get("idempotent-replay").is_none());
    let first = first.bytes().await.unwrap();

    let again = fixture.refund("key-1", REFUND).await.unwrap();
    assert_eq!(again.status(), StatusCode::OK);
    assert_eq!(again.headers()["idempotent-replay"], "true");
    assert_eq!(again.bytes().await.unwrap(), first);

    let other = fixture.refund("key-1", OTHER_REFUND).await.unwrap();
    assert_eq!(
        read(other).await,
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            json!({
                "error": "key_reused", "message": "this key was used with another payload; a changed call needs a key of its own"
            })
        )
    );
    let credit = r#"{"amount_minor":500,"currency":"EUR","customer":"customer_ada","reason":"sorry"}"#;
    let other_tool = fixture.request(Method::POST, "/billing/credits", credit).header("idempotency-key", "key-1").send().await.unwrap();
    assert_eq!(other_tool.status(), StatusCode::UNPROCESSABLE_ENTITY);

    assert_eq!(fixture.refunds().await, 1);
    assert_eq!(fixture.inspector.count(Tool::IssueCredit).await.unwrap(), 0);
    assert_eq!(fixture.inspector.effects(Tool::Refund).await.unwrap()[0].key.as_deref(), Some("key-1"));
}

#[tokio::test]
async fn a_key_sent_many_times_at_once_acts_once() {
    let fixture = Fixture::open().await;
    let calls: Vec<_> = (0..32)
        .map(|_| fixture.request(Method::POST, "/billing/refunds", REFUND).header("idempotency-key", "key-1"))
        .map(|request| tokio::spawn(async move { request.send().await.unwrap().bytes().await.unwrap() }))
        .collect();
    let mut answers = std::collections::BTreeSet::new();
    for call in calls {
        answers.insert(call.await.unwrap());
    }
    assert_eq!((answers.len(), fixture.refunds().await), (1, 1));
}

#[tokio::test]
async fn without_a_key_or_with_keys_ignored_each_call_acts() {
    let fixture = Fixture::open().await;
    for _ in 0..2 {
        assert_eq!(fixture.send(Method::POST, "/billing/refunds", REFUND).await.0, StatusCode::OK);
    }
    assert_eq!(fixture.refunds().await, 2);
    fixture.order(Order::of(Tool::Refund).keys(Keys::Ignore)).await;
    for _ in 0..2 {
        assert_eq!(fixture.refund("key-1", REFUND).await.unwrap().status(), StatusCode::OK);
    }
    assert_eq!(fixture.refunds().await, 4);
    for _ in 0..2 {
        let wire = fixture.request(Method::POST, "/billing/wires", WIRE).header("idempotency-key", "key-2").send().await.unwrap();
        assert_eq!(wire.status(), StatusCode::OK);
    }
    assert_eq!(fixture.inspector.count(Tool::WireTransfer).await.unwrap(), 2, "wires never honour keys unless ordered");
}

#[tokio::test]
async fn an_operation_can_be_asked_for_by_its_key() {
    let fixture = Fixture::open().await;
    let send = || fixture.request(Method::POST, "/billing/cancellations", CANCELLATION).header("idempotency-key", "key-1").send();
    let (_, result) = read(send().await.unwrap()).await;
    let (status, operation) = fixture.get("/billing/operations/key-1").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(operation["payload_sha256"], sha256_hex(CANCELLATION.as_bytes()));
    assert_eq!((&operation["result"], &operation["tool"]), (&result, &json!("cancel_subscription")));

    assert_eq!(send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(fixture.inspector.count(Tool::CancelSubscription).await.unwrap(), 2, "cancellations do not honour keys");

    fixture.order(Order::of(Tool::CancelSubscription).status(StatusQuery::Absent)).await;
    assert_eq!(fixture.get("/billing/operations/key-1").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_mode_is_for_so_many_calls_as_ordered() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Refund).mode(Mode::ErrorBefore).times(2)).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(fixture.refund("key-1", REFUND).await.unwrap().status().as_u16());
    }
    assert_eq!((statuses, fixture.refunds().await), (vec![500, 500, 200], 1));
    fixture.order(Order::of(Tool::Refund).mode(Mode::Refuse)).await;
    for _ in 0..3 {
        assert_eq!(fixture.refund("key-2", REFUND).await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
    fixture.order(Order::of(Tool::Refund).mode(Mode::Normal)).await;
    assert_eq!(fixture.refund("key-2", REFUND).await.unwrap().status(), StatusCode::OK);
    assert_eq!(fixture.refunds().await, 2);
}

#[tokio::test]
async fn an_answer_lost_after_the_effect_is_found_again_by_its_key() {
    for mode in [Mode::DropAfterEffect, Mode::ErrorAfterEffect, Mode::DieAfterEffect, Mode::Huge, Mode::Garbage] {
        let fixture = Fixture::open().await;
        fixture.order(Order::of(Tool::Refund).mode(mode).times(1)).await;
        let first = fixture.refund("key-1", REFUND).await;
        match mode {
            Mode::DropAfterEffect | Mode::DieAfterEffect => assert!(first.is_err(), "{mode:?}"),
            Mode::ErrorAfterEffect => assert_eq!(first.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR),
            Mode::Huge => assert!(first.unwrap().bytes().await.unwrap().len() > limits::HUGE_ANSWER_BYTES),
            Mode::Garbage => assert!(serde_json::from_slice::<Value>(&first.unwrap().bytes().await.unwrap()).is_err()),
            other => panic!("{other:?} is not of this test"),
        }
        until_answered(&fixture).await;
        assert_eq!(fixture.refunds().await, 1, "{mode:?}");
        let again = fixture.refund("key-1", REFUND).await.unwrap();
        assert_eq!(again.headers()["idempotent-replay"], "true", "{mode:?}");
        assert_eq!(read(again).await.1["invoice"], "invoice_842");
        assert_eq!(fixture.refunds().await, 1, "{mode:?}");
    }
}

#[tokio::test]
async fn the_same_without_a_key_is_a_second_effect() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Refund).mode(Mode::DropAfterEffect).times(1)).await;
    assert!(fixture.request(Method::POST, "/billing/refunds", REFUND).send().await.is_err());
    assert_eq!(fixture.send(Method::POST, "/billing/refunds", REFUND).await.0, StatusCode::OK);
    assert_eq!(fixture.refunds().await, 2);
}

#[tokio::test]
async fn a_dead_company_refuses_connections_and_comes_back_with_its_state() {
    let fixture = Fixture::open().await;
    let idle = fixture.get("/tickets/ticket_1").await;
    assert_eq!(idle.0, StatusCode::OK);
    for round in 1..=2 {
        fixture.order(Order::of(Tool::Refund).mode(Mode::DieAfterEffect).times(1).delay_ms(1_000)).await;
        let key = format!("key-{round}");
        assert!(fixture.refund(&key, REFUND).await.is_err());
        let refused = fixture.refund(&key, REFUND).await.unwrap_err();
        assert!(refused.is_connect(), "{refused:?}");
        until_answered(&fixture).await;
        assert_eq!(fixture.refunds().await, round);
    }
}

/// Polls until the company takes calls again.
async fn until_answered(fixture: &Fixture) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while fixture.inspector.counts().await.is_err() {
        assert!(Instant::now() < deadline, "the company did not come back");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_slow_company_acts_even_when_the_caller_has_gone() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Refund).mode(Mode::Delay).times(1).delay_ms(2_000)).await;
    let request = fixture.request(Method::POST, "/billing/refunds", REFUND).header("idempotency-key", "key-1");
    assert!(request.timeout(Duration::from_millis(100)).send().await.unwrap_err().is_timeout());
    assert_eq!(fixture.refunds().await, 0, "it acts late, not at once");
    until_refunds(&fixture, 1).await;

    fixture.order(Order::of(Tool::Refund).mode(Mode::DelayAfterEffect).times(1).delay_ms(60_000)).await;
    let request = fixture.request(Method::POST, "/billing/refunds", REFUND).header("idempotency-key", "key-2");
    assert!(request.timeout(Duration::from_millis(200)).send().await.unwrap_err().is_timeout());
    // Long before the delay is over.
    until_refunds(&fixture, 2).await;
}

/// Polls until the company has refunded so many times.
async fn until_refunds(fixture: &Fixture, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while fixture.refunds().await != count {
        assert!(Instant::now() < deadline, "it never acted");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_delayed_answer_comes_in_the_end() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Refund).mode(Mode::Delay).times(1).delay_ms(150)).await;
    let begin = Instant::now();
    assert_eq!(fixture.refund("key-1", REFUND).await.unwrap().status(), StatusCode::OK);
    assert!(begin.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn forgotten_keys_act_again() {
    let fixture = Fixture::open().await;
    assert_eq!(fixture.refund("key-1", REFUND).await.unwrap().status(), StatusCode::OK);
    fixture.order(Order::of(Tool::Refund).mode(Mode::ForgetKeys).times(1)).await;
    let again = fixture.refund("key-1", REFUND).await.unwrap();
    assert!(again.headers().get("idempotent-replay").is_none());
    assert_eq!(fixture.refunds().await, 2);
    assert_eq!(fixture.refund("key-1", REFUND).await.unwrap().headers()["idempotent-replay"], "true");
    assert_eq!(fixture.refunds().await, 2);
}

#[tokio::test]
async fn whoever_follows_a_redirect_is_caught() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Refund).mode(Mode::Redirect).times(1)).await;
    let redirected = fixture.refund("key-1", REFUND).await.unwrap();
    assert_eq!((redirected.status(), redirected.headers()["location"].to_str().unwrap()), (StatusCode::TEMPORARY_REDIRECT, "/elsewhere"));
    assert_eq!((fixture.refunds().await, fixture.inspector.count(Tool::Elsewhere).await.unwrap()), (0, 0));
    assert_eq!(fixture.send(Method::POST, "/elsewhere", REFUND).await.0, StatusCode::OK);
    assert_eq!(fixture.inspector.count(Tool::Elsewhere).await.unwrap(), 1);
}

#[tokio::test]
async fn reads_misbehave_too() {
    let fixture = Fixture::open().await;
    fixture.order(Order::of(Tool::Search).mode(Mode::ErrorBefore).times(1)).await;
    assert_eq!(fixture.get("/search?q=kettle").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(fixture.get("/search?q=kettle").await.0, StatusCode::OK);
}

#[tokio::test]
async fn orders_that_make_no_sense_are_refused() {
    let fixture = Fixture::open().await;
    let url = format!("{}/control/behaviour", fixture.company.url);
    for body in [
        json!({ "tool": "run_shell", "mode": "normal" }),
        json!({ "tool": "refund", "mode": "explode" }),
        json!({ "tool": "refund", "mode": "delay", "delay_ms": limits::DELAY_MS_MAX + 1 }),
        json!({ "tool": "refund", "mode": "normal", "time": 1 }),
    ] {
        let status = fixture.client.post(&url).json(&body).send().await.unwrap().status();
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    }
}
