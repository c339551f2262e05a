//! What those can do who have no credential, or too much patience.

mod house;

use house::House;
use vidimus_api::client::GateClient;
use vidimus_api::log::LogEvent;
use vidimus_api::session::{SessionChallengeRequest, SessionRequest};
use vidimus_core::statement::SessionStatement;
use vidimus_gate::limits::{CHALLENGES_PER_WINDOW_MAX, FAILURES_PER_WINDOW_MAX};
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
