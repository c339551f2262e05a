//! What each tool does, counts and refuses, and to whom.

use reqwest::{Method, StatusCode};
use serde_json::json;
use vidimus_tests::company::{Credential, Tool, limits, sha256_hex};

use super::{CHANGES, Fixture, REFUND, TOKEN};

#[tokio::test]
async fn every_change_is_counted_once_with_the_bytes_received() {
    let fixture = Fixture::open().await;
    for (method, path, body, tool) in CHANGES {
        let before = fixture.inspector.counts().await.unwrap();
        let (status, _) = fixture.send(method.clone(), path, body).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let mut expected = before;
        *expected.get_mut(tool).unwrap() += 1;
        assert_eq!(fixture.inspector.counts().await.unwrap(), expected, "{path}");
        let effects = fixture.inspector.effects(*tool).await.unwrap();
        assert_eq!(effects.last().unwrap().args, *body);
        assert_eq!(effects.last().unwrap().args_sha256, sha256_hex(body.as_bytes()));
    }
}

#[tokio::test]
async fn bytes_are_recorded_as_they_came_even_when_unusual() {
    let fixture = Fixture::open().await;
    let body = "{ \"reason\": \"br\\u006fken \u{202e}\", \"invoice\":\"invoice_842\",\n\"currency\":\"EUR\",\"amount_minor\":8990 }";
    assert_eq!(fixture.refund("key-1", body).await.unwrap().status(), StatusCode::OK);
    assert_eq!(fixture.inspector.effects(Tool::Refund).await.unwrap()[0].args, body);
}

#[tokio::test]
async fn reads_answer_and_have_no_effect() {
    let fixture = Fixture::open().await;
    let reads = [
        ("/search?q=support%20open", "/count", json!(3)),
        ("/search?q=KETTLE", "/hits/0/ticket", json!("ticket_1")),
        ("/search?q=closed", "/count", json!(1)),
        ("/tickets/ticket_1", "/intake/invoice", json!("invoice_842")),
        ("/orders?customer=customer_ada", "/count", json!(2)),
        ("/invoices/invoice_842", "/amount_minor", json!(8990)),
        ("/invoices/invoice_7", "/amount_minor", json!(10_007)),
        ("/subscriptions/sub_77", "/plan", json!("Pretend Plan Plus")),
        ("/customers/customer_ada", "/name", json!("Ada Example")),
        ("/payees/payee_fixtures", "/iban", json!("DE89370400440532013000")),
    ];
    for (path, pointer, expected) in reads {
        let (status, document) = fixture.get(path).await;
        assert_eq!((status, document.pointer(pointer)), (StatusCode::OK, Some(&expected)), "{path}: {document}");
    }
    for path in ["/tickets/ticket_9", "/invoices/invoice_007", "/customers/customer_x", "/payees/payee_x", "/billing/operations/x"] {
        assert_eq!(fixture.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(fixture.inspector.counts().await.unwrap().values().all(|count| *count == 0));
    assert_eq!(fixture.inspector.calls().await.unwrap().len(), 15);
}

#[tokio::test]
async fn a_user_read_lies() {
    let fixture = Fixture::open().await;
    for expected in [0, 1, 1] {
        assert_eq!(fixture.inspector.count(Tool::GetUser).await.unwrap(), expected);
        assert_eq!(fixture.get("/users/user_two").await.0, StatusCode::OK);
    }
    assert_eq!(fixture.get("/users/user_one").await.0, StatusCode::OK);
    assert_eq!(fixture.inspector.count(Tool::GetUser).await.unwrap(), 1);
}

#[tokio::test]
async fn a_status_that_looks_like_a_field_sets_off_a_contract_and_a_call() {
    let fixture = Fixture::open().await;
    let body = r#"{"customer":"customer_ada","status":"contract_sent"}"#;
    assert_eq!(fixture.send(Method::POST, "/crm/status", body).await.0, StatusCode::OK);
    let counts = fixture.inspector.counts().await.unwrap();
    assert_eq!((counts[&Tool::CrmSetStatus], counts[&Tool::ContractWorkflow], counts[&Tool::ScheduleCall]), (1, 1, 1));
}

#[tokio::test]
async fn changes_are_seen_by_reads() {
    let fixture = Fixture::open().await;
    for (method, path, body, _) in CHANGES {
        fixture.send(method.clone(), path, body).await;
    }
    let after = [
        ("/tickets/ticket_1", "/status", json!("closed")),
        ("/tickets/ticket_1", "/tags", json!(["damaged", "kettle"])),
        ("/tickets/ticket_103", "/subject", json!("b")),
        ("/customers/customer_new", "/email", json!("new@example.com")),
        ("/customers/customer_ada", "/status", json!("churned")),
        ("/customers/customer_ada", "/credit_minor/EUR", json!(500)),
        ("/invoices/invoice_842", "/refunds/0/amount_minor", json!(8990)),
        ("/subscriptions/sub_77", "/ends", json!("2026-12-31")),
    ];
    for (path, pointer, expected) in after {
        let (_, document) = fixture.get(path).await;
        assert_eq!(document.pointer(pointer), Some(&expected), "{path}: {document}");
    }
    let state = fixture.inspector.state().await.unwrap();
    assert_eq!(state.pointer("/mail/sent/0/to"), Some(&json!("bert@example.org")));
    assert_eq!(state.pointer("/billing/wires/0/iban"), Some(&json!("DE89370400440532013000")));
}

#[tokio::test]
async fn without_the_companys_credential_nothing_happens_and_the_attempt_is_seen() {
    let fixture = Fixture::open().await;
    let url = format!("{}/billing/refunds", fixture.company.url);
    let attempts = [None, Some("Bearer wrong"), Some("Bearer company-test-credential2"), Some("company-test-credential"), Some("Basic x")];
    for authorization in attempts {
        let mut request = fixture.client.post(&url).body(REFUND).header("x-of-the-agent", "1");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        assert_eq!(request.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{authorization:?}");
    }
    assert_eq!(fixture.refunds().await, 0);
    let calls = fixture.inspector.calls().await.unwrap();
    let seen: Vec<Credential> = calls.iter().map(|call| call.credential).collect();
    assert_eq!(seen, [Credential::Missing, Credential::Wrong, Credential::Wrong, Credential::Wrong, Credential::Wrong]);
    assert!(calls.iter().all(|call| call.headers.contains(&"x-of-the-agent".to_owned())));
    assert!(!serde_json::to_string(&calls).unwrap().contains(TOKEN));
}

#[tokio::test]
async fn every_tool_demands_the_credential() {
    let fixture = Fixture::open().await;
    for tool in Tool::ALL {
        let method = match tool.method() {
            vidimus_tests::company::Method::Get => Method::GET,
            vidimus_tests::company::Method::Post => Method::POST,
            vidimus_tests::company::Method::Put => Method::PUT,
        };
        let url = format!("{}{}", fixture.company.url, tool.path().replace("{id}", "x"));
        let response = fixture.client.request(method, url).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{}", tool.name());
    }
}

#[tokio::test]
async fn bad_arguments_are_refused_and_not_counted() {
    let fixture = Fixture::open().await;
    let cases = [
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"EUR","invoice":"invoice_842"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"EUR","invoice":"invoice_842","reason":"a","memo":"b"}"#),
        ("/billing/refunds", r#"{"amount_minor":1,"amount_minor":8990,"currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":89.9,"currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":"8990","currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":0,"currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":-1,"currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":10000000001,"currency":"EUR","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"eur","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"XXX","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"USD","invoice":"invoice_842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"EUR","invoice":"842","reason":"a"}"#),
        ("/billing/refunds", r#"{"amount_minor":8990,"currency":"EUR","invoice":"invoice_842","reason":""}"#),
        ("/billing/refunds", "[]"),
        ("/billing/refunds", ""),
        ("/billing/cancellations", r#"{"effective":"31.12.2026","reason":"a","subscription":"sub_77"}"#),
        ("/mail/messages", r#"{"body":"a","subject":"b","to":"nobody"}"#),
        ("/mail/messages", r#"{"body":"a","subject":"b","to":"one@example.org, two@example.org"}"#),
        ("/crm/status", r#"{"customer":"customer_ada","status":"Contract_Sent"}"#),
        ("/tickets/ticket_2/close", r#"{"resolution":"a","ticket":"ticket_1"}"#),
    ];
    for (path, body) in cases {
        let (status, document) = fixture.send(Method::POST, path, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path} {body}: {document}");
        assert_eq!(document["error"], "arguments_invalid");
    }
    let absent = r#"{"amount_minor":1,"currency":"EUR","invoice":"invoice_none","reason":"a"}"#;
    assert_eq!(fixture.send(Method::POST, "/billing/refunds", absent).await.0, StatusCode::NOT_FOUND);
    let too_large = "x".repeat(limits::BODY_BYTES_MAX + 1);
    assert_eq!(fixture.send(Method::POST, "/billing/refunds", &too_large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(fixture.inspector.counts().await.unwrap().values().all(|count| *count == 0));
}
