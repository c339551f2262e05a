//! The gate killed at each seam of an execution: after the restart the provider's count is what was approved.

mod house;

use house::{House, json, request_of};
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_gate::seams::Seam;
use vidimus_tests::company::Tool;

/// Approves a call of a gate that ends at the seam, starts it again, and returns what the agent is told in the end.
async fn crash(house: &mut House, seam: Seam, tool: &str, args: &str, role: &str, agent: &str) -> CallAnswer {
    let admin = house.admin().await;
    let credential = house.credential(agent, &[]);
    house.end();
    house.set("VIDIMUS_SEAM", seam.as_str());
    house.start();
    let client = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let admin = admin.at(&house.url).await.expect("a session");
    let call = CallRequest::new(tool, json(args));
    let pending = client.call(&call, 0).await.expect("a pending call");
    // The gate may be gone before the receipt is out: the decision is on record all the same.
    let _ = admin.approve(request_of(&pending), role).await;
    house.process().wait(house::WITHIN).expect("the gate ends at the seam");
    house.set("VIDIMUS_SEAM", "");
    house.start();
    let client = AgentClient::new(&house.url, credential).expect("a client");
    let mut answer = client.outcome(&pending.call, 30).await.expect("an outcome");
    for _ in 0..10 {
        if answer.status.has_ended() {
            break;
        }
        answer = client.outcome(&pending.call, 30).await.expect("an outcome");
    }
    answer
}

const SEAMS: &[Seam] = &[Seam::AfterMint, Seam::AfterRedeem, Seam::BeforeSend, Seam::AfterAnswer, Seam::BeforeRecord, Seam::AfterRecord];

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_every_crash_ends_in_one_effect() {
    for seam in SEAMS {
        let mut house = House::open().await;
        let answer = crash(&mut house, *seam, "refund", house::REFUND, "billing-approver", "billing").await;
        assert_eq!(answer.status, CallStatus::Executed, "{}: {}", seam.as_str(), answer.words);
        assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1, "{}", seam.as_str());
        let again = matches!(seam, Seam::AfterRedeem | Seam::BeforeSend | Seam::AfterAnswer | Seam::BeforeRecord);
        assert_eq!(answer.attempt, Some(1 + u32::from(again)), "{}", seam.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_a_crash_never_sends_twice() {
    const MAIL: &str = r#"{"to":"ada@example.com","subject":"Your kettle","body":"It is on its way."}"#;
    for seam in SEAMS {
        let mut house = House::open().await;
        let answer = crash(&mut house, *seam, "send_email", MAIL, "support-lead", "support").await;
        let count = house.inspector.count(Tool::SendEmail).await.expect("a count");
        let (status, expected) = match seam {
            Seam::AfterMint | Seam::AfterRecord => (CallStatus::Executed, 1),
            Seam::AfterRedeem | Seam::BeforeSend => (CallStatus::NeedsReconciliation, 0),
            Seam::AfterAnswer | Seam::BeforeRecord | Seam::AfterIntent => (CallStatus::NeedsReconciliation, 1),
        };
        assert_eq!((answer.status, count), (status, expected), "{}: {}", seam.as_str(), answer.words);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_cut_is_reported_and_never_sent_again() {
    for (seam, count) in [(Seam::AfterIntent, 0), (Seam::BeforeSend, 0), (Seam::AfterAnswer, 1), (Seam::BeforeRecord, 1)] {
        let mut house = House::open().await;
        let _admin = house.admin().await;
        let credential = house.credential("support", &[]);
        house.end();
        house.set("VIDIMUS_SEAM", seam.as_str());
        house.start();
        let client = AgentClient::new(&house.url, credential.clone()).expect("a client");
        let args = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
        let create = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0001");
        assert!(client.call(&create, 0).await.is_err(), "{}", seam.as_str());
        house.process().wait(house::WITHIN).expect("the gate ends at the seam");
        house.set("VIDIMUS_SEAM", "");
        house.start();
        let client = AgentClient::new(&house.url, credential).expect("a client");
        let told = client.call(&create, 0).await.expect("the same call");
        assert!(matches!(told.status, CallStatus::Unknown | CallStatus::NeedsReconciliation), "{}: {}", seam.as_str(), told.words);
        assert_eq!(house.inspector.count(Tool::CreateTicket).await.expect("a count"), count, "{}", seam.as_str());
    }
}
