//! What those can do who have no credential, or too much patience.

mod house;

use std::time::{Duration, Instant};

use house::{House, WITHIN, json, refund, request_of, until};
use tokio::task::JoinSet;
use vidimus_api::call::CallRequest;
use vidimus_api::client::GateClient;
use vidimus_api::log::LogEvent;
use vidimus_api::session::{SessionChallengeRequest, SessionRequest};
use vidimus_core::statement::SessionStatement;
use vidimus_gate::limits::{CHALLENGES_PER_WINDOW_MAX, FAILURES_PER_WINDOW_MAX, WAITS_PER_AGENT_MAX};
use vidimus_tests::approver::{Approver, raw};

/// Every leaf that is under the newest checkpoint now.
async fn leaves(admin: &Approver) -> Vec<String> {
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let mut leaves = Vec::new();
    loop {
        match stream.next().await.expect("an event").expect("a record") {
            LogEvent::Record(record) => leaves.push(record.leaf),
            LogEvent::Checkpoint(_) => return leaves,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_without_a_credential_leave_no_more_records_than_their_limit() {
    let house = House::open().await;
    let admin = house.admin().await;
    let client = reqwest::Client::new();
    let code = "A".repeat(43);
    let envelope = r#"{"payload":"e30=","payloadType":"application/vnd.vidimus.session.v1+json","signatures":[{"keyid":"","sig":""}]}"#;
    let bodies = [
        ("/v1/sessions/challenges", format!(r#"{{"key_sha256":"{}"}}"#, "0".repeat(64))),
        ("/v1/enrolments/offer", format!(r#"{{"code":"{code}"}}"#)),
        ("/v1/sessions", format!(r#"{{"envelope":{envelope}}}"#)),
    ];
    let mut limited = 0;
    for _ in 0..FAILURES_PER_WINDOW_MAX {
        for (path, body) in &bodies {
            let response = client.post(format!("{}{path}", house.url)).body(body.clone()).send().await.expect("an answer");
            assert!(response.status().is_client_error(), "{path}: {}", response.status());
            limited += u32::from(response.status() == 429);
        }
    }
    assert!(limited >= FAILURES_PER_WINDOW_MAX, "{limited}");
    let leaves = leaves(&admin).await;
    let refused = leaves.iter().filter(|leaf| leaf.contains("_refused\"")).count();
    assert_eq!(refused, usize::try_from(FAILURES_PER_WINDOW_MAX).expect("small"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_knows_a_device_key_keeps_nobody_out() {
    let house = House::open().await;
    let admin = house.admin().await;
    let gate = GateClient::new(&house.url).expect("a client");
    let asked = SessionChallengeRequest { key_sha256: admin.device.public().digest() };
    let first = gate.session_challenge(&asked).await.expect("a challenge");
    let mut refused = None;
    for _ in 0..CHALLENGES_PER_WINDOW_MAX {
        if let Err(error) = gate.session_challenge(&asked).await {
            refused = error.code().map(str::to_owned);
        }
    }
    assert_eq!(refused.as_deref(), Some("rate_limited"));
    let statement = SessionStatement {
        gate: admin.gate_id,
        environment: admin.environment,
        key_sha256: asked.key_sha256,
        challenge: first.challenge,
        issued_at: first.issued_at,
    };
    let envelope = raw(&statement.sign(&admin.device).expect("signed")).expect("an envelope");
    gate.open_session(&SessionRequest { envelope }).await.expect("the first challenge still opens a session");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_waits_in_a_bounded_number_of_places_and_in_none_after_it_has_hung_up() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("waits"), 0).await.expect("a pending call");
    const BEYOND: usize = 8;
    let mut waits = JoinSet::new();
    for index in 0..WAITS_PER_AGENT_MAX + BEYOND {
        let (agent, call) = (billing.clone(), pending.call);
        // Both ways of waiting: for a call's outcome, and for one that is sent again.
        waits.spawn(async move {
            match index % 2 {
                0 => agent.outcome(&call, 60).await.map(|_| ()),
                _ => agent.call(&refund("waits"), 60).await.map(|_| ()),
            }
        });
    }
    let waited = async |seconds: u64| {
        let began = Instant::now();
        billing.outcome(&pending.call, seconds).await.expect("where it stands");
        began.elapsed() >= Duration::from_secs(seconds)
    };
    // Those that find no place are answered at once; the others wait on.
    for _ in 0..BEYOND {
        waits.join_next().await.expect("one beyond the limit").expect("a task").expect("where it stands");
    }
    assert!(!waited(1).await);
    assert_eq!(waits.len(), WAITS_PER_AGENT_MAX);
    waits.abort_all();
    until("giving the places back", async || waited(1).await.then_some(())).await;
    admin.approve(request_of(&pending), "billing-approver").await.expect("people are let in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_name_without_end_is_recorded_with_one() {
    let house = House::open().await;
    let admin = house.admin().await;
    let auditor = house.person(&admin, "Aud Example", &["auditor"], 3).await;
    let billing = house.agent("billing", &[]);
    billing.call(&CallRequest::new("x".repeat(100_000), json("{}")), 0).await.expect_err("no such tool");
    let mut stream = auditor.client().expect("a session").log_stream(0).await.expect("a stream");
    loop {
        if let LogEvent::Record(record) = stream.next().await.expect("an event").expect("a record")
            && record.leaf.contains("\"call_refused\"")
        {
            let body = record.body.expect("an auditor reads it");
            assert!(body.contains(&"x".repeat(128)) && body.len() < 1_000, "{} bytes", body.len());
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_whose_database_takes_nothing_more_ends_and_the_next_start_goes_on() {
    let mut house = House::open().await;
    let _admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let search = CallRequest::new("search", json(r#"{"query":"kettle"}"#));
    let database = rusqlite::Connection::open(house.data_path().join("gate.db")).expect("the database");
    database.execute_batch("BEGIN IMMEDIATE").expect("the lock of a careless backup");
    // One of its own workers meets the lock at the latest.
    let _ = billing.withdraw(&vidimus_core::ids::CallId::from_random([1; 16])).await;
    let status = house.process().wait(WITHIN).expect("an end");
    assert!(!status.success(), "{status}");
    billing.call(&search, 0).await.expect_err("nobody is there to answer");
    database.execute_batch("ROLLBACK").expect("the backup ends");
    house.start();
    let again = house.agent("support", &[]);
    again.call(&search, 0).await.expect("a read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_has_no_metrics_and_every_path_gets_a_document() {
    let house = House::open().await;
    let client = reqwest::Client::new();
    let metrics = client.get(format!("{}/metrics", house.url));
    assert_eq!(metrics.try_clone().expect("a request").send().await.expect("an answer").status(), 200);
    assert_eq!(metrics.header("host", "evil.example").send().await.expect("an answer").status(), 404);
    let credential = house.credential("billing", &[]);
    for path in ["/v1/calls/%ff", "/v1/calls/%63all_1", "/v1/requests/%ff", "/%ff"] {
        let response = client.get(format!("{}{path}", house.url)).bearer_auth(&credential).send().await.expect("an answer");
        assert_eq!(response.status(), 404, "{path}");
        let kind = response.headers().get("content-type").expect("a type").to_str().expect("text").to_owned();
        assert_eq!(kind, "application/problem+json", "{path}");
    }
}
