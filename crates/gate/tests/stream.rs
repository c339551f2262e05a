//! The log as a stream: nothing lost, nothing twice, every batch under a checkpoint that leads on from the one before.

mod house;

use house::{House, json, refund, request_of};
use vidimus_api::call::CallRequest;
use vidimus_api::client::LogStream;
use vidimus_api::log::{LogEvent, RecordEvent};
use vidimus_core::checkpoint::{self, Checkpoint};
use vidimus_core::record::AuditRecord;
use vidimus_core::tree;
use vidimus_tests::approver::Approver;

/// Reads up to a checkpoint over at least `size` records, and checks every checkpoint on the way.
async fn follow(stream: &mut LogStream, admin: &Approver, records: &mut Vec<RecordEvent>, size: usize) -> Checkpoint {
    loop {
        match stream.next().await.expect("an event").expect("an open stream") {
            LogEvent::Record(record) => {
                AuditRecord::parse(record.leaf.as_bytes()).expect("a record");
                records.push(record);
            }
            LogEvent::Checkpoint(event) => {
                let verified = checkpoint::parse_verify(&event.note, &admin.gate_id.to_string(), &admin.log_key).expect("signed");
                let head = verified.checkpoint().clone();
                let leaves: Vec<_> = records.iter().map(|record| tree::leaf_hash(record.leaf.as_bytes())).collect();
                assert_eq!(head.size(), leaves.len() as u64);
                assert_eq!(*head.root(), tree::root_of(&leaves));
                if records.len() >= size {
                    return head;
                }
            }
        }
    }
}

fn count_of(records: &[RecordEvent], kind: &str) -> usize {
    records.iter().filter(|record| record.leaf.contains(&format!(r#""type":"{kind}""#))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_goes_on_where_it_was() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let research = house.agent("research", &[]);
    let client = admin.client().expect("a session");
    let mut records = Vec::new();
    let mut stream = client.log_stream(0).await.expect("a stream");
    follow(&mut stream, &admin, &mut records, 5).await;

    // Away, while things happen; back at the position, while more happens.
    drop(stream);
    let searching = tokio::spawn(async move {
        for _ in 0..30 {
            research.call(&CallRequest::new("search", json(r#"{"query":"kettle"}"#)), 0).await.expect("a read");
        }
    });
    let pending = billing.call(&refund("stream"), 0).await.expect("a pending call");
    let mut stream = client.log_stream(records.len() as u64).await.expect("a stream");
    admin.approve(request_of(&pending), "billing-approver").await.expect("it counts");
    billing.outcome(&pending.call, 20).await.expect("an outcome");
    searching.await.expect("the searches");
    // A read is on record soon after its answer.
    let is_done = |records: &[RecordEvent]| records.iter().any(|record| record.leaf.contains(r#""state":"succeeded""#));
    while count_of(&records, "read_executed") < 30 || !is_done(&records) {
        let size = records.len() + 1;
        follow(&mut stream, &admin, &mut records, size).await;
    }

    for (position, record) in (0..).zip(&records) {
        assert_eq!(record.position, position);
        // The body is there with its salt or not at all, and is what the leaf says.
        assert_eq!(record.salt.is_some(), record.body.is_some());
    }
    let types: Vec<String> = records
        .iter()
        .map(|record| AuditRecord::parse(record.leaf.as_bytes()).expect("a record").record_type.as_str().to_owned())
        .collect();
    let of_money: Vec<&str> = types
        .iter()
        .map(String::as_str)
        .filter(|kind| kind.starts_with("request") || kind.starts_with("token") || kind.starts_with("decision"))
        .collect();
    assert_eq!(of_money, ["request_created", "decision_recorded", "token_minted", "token_redeemed"]);
    assert_eq!(count_of(&records, "read_executed"), 30);

    // The browser's way to come back.
    let last = records.len() - 2;
    let session = admin.new_session().await.expect("a session").session;
    let response = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client")
        .get(format!("{}/v1/log/stream?from=0", house.url))
        .bearer_auth(session)
        .header("last-event-id", (last - 1).to_string())
        .send()
        .await
        .expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut response = response;
    let mut text = String::new();
    while !text.contains("\n\n") {
        text.push_str(&String::from_utf8_lossy(&response.chunk().await.expect("a chunk").expect("an open stream")));
    }
    assert!(text.contains(&format!("id: {last}\n")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_for_their_roles_and_the_tree_is_for_everybody() {
    let house = House::open().await;
    let admin = house.admin().await;
    let support = house.person(&admin, "Sue Pretend", &["support-lead"], 3).await;
    let billing = house.agent("billing", &[]);
    billing.call(&refund("bodies"), 0).await.expect("a pending call");
    let mut own = Vec::new();
    let mut foreign = Vec::new();
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    while count_of(&own, "request_created") < 2 {
        let size = own.len() + 1;
        follow(&mut stream, &admin, &mut own, size).await;
    }
    let mut stream = support.client().expect("a session").log_stream(0).await.expect("a stream");
    follow(&mut stream, &support, &mut foreign, own.len()).await;
    let of_refund = |records: &[RecordEvent]| {
        records
            .iter()
            .find(|record| record.leaf.contains(r#""tool":"refund""#) && record.leaf.contains("request_created"))
            .cloned()
            .expect("the request")
    };
    assert!(of_refund(&own).body.expect("the body").contains("invoice_842"));
    assert_eq!(of_refund(&foreign).body, None);
    assert!(!of_refund(&foreign).leaf.contains("invoice_842"));
    // Everyone reads the roster and the table.
    for kind in ["roster_changed", "table_changed"] {
        let record = foreign.iter().find(|record| record.leaf.contains(kind)).expect(kind);
        assert!(record.body.is_some(), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_in_the_stream_soon_after_the_call() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let mut records = Vec::new();
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    follow(&mut stream, &admin, &mut records, 1).await;
    let mut delays = Vec::new();
    for round in 0..11_u32 {
        let args = house::REFUND.replace("8990", &(100 + round).to_string());
        let began = std::time::Instant::now();
        let call = CallRequest::new("refund", json(&args));
        let calling = billing.call(&call, 0);
        let size = records.len() + 1;
        let (_, answer) = tokio::join!(follow(&mut stream, &admin, &mut records, size), calling);
        delays.push(began.elapsed());
        answer.expect("a pending call");
    }
    delays.sort();
    assert!(delays[5].as_millis() < 200, "{delays:?}");
}
