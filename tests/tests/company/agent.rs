//! The support-queue agent, against a gate that follows a script: what it sends, again or not, and what it passes on.
//! Against the real gate it runs in the end-to-end tests and in the demo.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use vidimus_tests::company::agent::{self, AgentError, Denial, Told, work_through_queue};

use super::{Fixture, TOKEN};

/// A gate that passes reads to the company and ends each money call as the script says.
struct Script {
    company: String,
    client: reqwest::Client,
    /// How often each tool's call is answered 503 before it is taken.
    unready: Mutex<BTreeMap<String, u32>>,
    /// Bodies received for money calls, with the credential that they came under.
    proposals: Mutex<Vec<(String, Value)>>,
    waits: Mutex<BTreeMap<String, u32>>,
}

type Answered = (StatusCode, Json<Value>);

async fn serve(script: Arc<Script>) -> String {
    let router = Router::new().route("/v1/calls", post(call)).route("/v1/calls/{call}", get(wait)).with_state(script);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn answer(call: &str, tool: &str, status: &str, more: Value) -> Value {
    let mut answer = json!({
        "call": call, "tool": tool, "status": status, "code": status, "words": format!("the call is {status}"), "request": null,
        "request_sha256": null, "args_sha256": null, "operation": null, "effect": "money", "result": null, "stored": false,
        "denial": null, "earlier": [], "waits_until": null, "attempt": null,
    });
    for (name, value) in more.as_object().unwrap() {
        answer[name] = value.clone();
    }
    answer
}

async fn call(State(script): State<Arc<Script>>, headers: HeaderMap, Json(body): Json<Value>) -> Answered {
    let credential = headers["authorization"].to_str().unwrap().to_owned();
    let tool = body["tool"].as_str().unwrap().to_owned();
    if credential != "Bearer vda_support" && credential != "Bearer vda_billing" {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "code": "credential_invalid", "detail": "who is there" })));
    }
    let read = match tool.as_str() {
        "search" => Some(format!("/search?q={}", body["args"]["query"].as_str().unwrap().replace(' ', "%20"))),
        "get_ticket" => Some(format!("/tickets/{}", body["args"]["ticket"].as_str().unwrap())),
        _ => None,
    };
    if let Some(path) = read {
        let url = format!("{}{path}", script.company);
        let result: Value = script.client.get(url).bearer_auth(TOKEN).send().await.unwrap().json().await.unwrap();
        return (StatusCode::OK, Json(answer("call_read", &tool, "executed", json!({ "effect": "read", "result": result }))));
    }
    script.proposals.lock().unwrap().push((credential, body));
    let mut unready = script.unready.lock().unwrap();
    if let Some(left) = unready.get_mut(&tool).filter(|left| **left > 0) {
        *left -= 1;
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "code": "busy" })));
    }
    (StatusCode::ACCEPTED, Json(answer(&format!("call_{tool}"), &tool, "pending", json!({ "request": format!("req_{tool}") }))))
}

async fn wait(State(script): State<Arc<Script>>, Path(call): Path<String>) -> Answered {
    let tool = call.strip_prefix("call_").unwrap();
    let mut waits = script.waits.lock().unwrap();
    let asked = waits.entry(call.clone()).or_default();
    *asked += 1;
    if *asked == 1 {
        return (StatusCode::ACCEPTED, Json(answer(&call, tool, "executing", json!({}))));
    }
    let ended = match tool {
        "refund" => answer(&call, tool, "executed", json!({ "result": { "id": "refund_9" } })),
        "send_email" => {
            answer(&call, tool, "denied", json!({ "denial": { "kind": "not_expected", "note": "ask first", "role": "support-lead" } }))
        }
        _ => answer(&call, tool, "needs_reconciliation", json!({})),
    };
    (StatusCode::OK, Json(ended))
}

async fn work(unready: &[(&str, u32)], support: &str) -> (Result<Vec<Told>, AgentError>, Vec<Value>, Arc<Script>) {
    let fixture = Fixture::open().await;
    let script = Arc::new(Script {
        company: fixture.company.url.clone(),
        client: fixture.client.clone(),
        unready: Mutex::new(unready.iter().map(|(tool, times)| ((*tool).to_owned(), *times)).collect()),
        proposals: Mutex::default(),
        waits: Mutex::default(),
    });
    let options = agent::Options {
        gate: serve(script.clone()).await,
        support: support.to_owned(),
        billing: "vda_billing".to_owned(),
        patience: Duration::from_secs(20),
    };
    let mut lines = Vec::new();
    let told = work_through_queue(options, |line| lines.push(serde_json::from_str(line).unwrap())).await;
    (told, lines, script)
}

#[tokio::test]
async fn the_agent_proposes_what_the_queue_asks_for_and_returns_what_it_was_told() {
    let (told, lines, script) = work(&[], "vda_support").await;
    let told = told.unwrap();
    let ends: Vec<(&str, &str, &str)> = told.iter().map(|told| (&*told.ticket, &*told.tool, &*told.status)).collect();
    assert_eq!(
        ends,
        [
            ("ticket_1", "refund", "executed"),
            ("ticket_2", "send_email", "denied"),
            ("ticket_3", "cancel_subscription", "needs_reconciliation"),
        ]
    );
    assert_eq!(told[0].result.as_deref(), Some(r#"{"id":"refund_9"}"#));
    let denial = Denial { kind: "not_expected".into(), note: "ask first".into(), role: "support-lead".into() };
    assert_eq!((&told[1].denial, told[1].words.as_str()), (&Some(denial), "the call is denied"));

    let proposals = script.proposals.lock().unwrap();
    let sent: Vec<(&str, &Value)> = proposals.iter().map(|(credential, body)| (credential.as_str(), &body["args"])).collect();
    assert_eq!(sent[0].0, "Bearer vda_billing");
    assert_eq!(
        *sent[0].1,
        json!({ "invoice": "invoice_842", "amount_minor": 8990, "currency": "EUR", "reason": "ticket_1: Kettle arrived broken" })
    );
    assert_eq!((sent[1].0, &sent[1].1["to"]), ("Bearer vda_support", &json!("bert@example.org")));
    assert_eq!((sent[2].0, &sent[2].1["subscription"]), ("Bearer vda_billing", &json!("sub_77")));

    let steps: Vec<&str> = lines.iter().map(|line| line["step"].as_str().unwrap()).collect();
    let expected = ["read", "read", "read", "read", "proposed", "proposed", "proposed", "told", "told", "told"];
    assert_eq!(steps, expected, "all are proposed before one is waited for");
}

#[tokio::test]
async fn the_agent_sends_the_same_bytes_under_the_same_key_when_unanswered() {
    let (told, lines, script) = work(&[("refund", 2)], "vda_support").await;
    assert_eq!(told.unwrap()[0].status, "executed");
    let proposals = script.proposals.lock().unwrap();
    let refunds: BTreeSet<String> =
        proposals.iter().filter(|(_, body)| body["tool"] == "refund").map(|(_, body)| body.to_string()).collect();
    assert_eq!((refunds.len(), proposals.len()), (1, 5));
    assert_eq!(lines.iter().filter(|line| line["step"] == "unanswered").count(), 2);
    let keys: BTreeSet<&str> = proposals.iter().map(|(_, body)| body["call_key"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| (16..=128).contains(&key.len())));
}

#[tokio::test]
async fn the_agent_stops_at_a_refusal_and_says_which() {
    let (told, lines, script) = work(&[], "vda_nobody").await;
    let error = told.unwrap_err();
    assert_eq!(error.to_string(), "the gate refused `search` with `credential_invalid`: who is there");
    assert_eq!(lines.last().unwrap()["code"], "credential_invalid");
    assert!(script.proposals.lock().unwrap().is_empty());
}
