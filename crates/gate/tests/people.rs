//! Agents that are revoked, agents that go away, and what people then find.

mod house;

use house::{House, WITHIN, code_of, json, refund, request_of};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::log::LogEvent;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Mode, Order, Tool};

const ROLE: &str = "billing-approver";

/// The first record of this type at a position or after it.
async fn recorded(admin: &Approver, record_type: RecordType, from: u64) -> (u64, AuditRecord) {
    let mut stream = admin.client().expect("a session").log_stream(from).await.expect("a stream");
    let found = async {
        loop {
            if let LogEvent::Record(record) = stream.next().await.expect("the stream").expect("it goes on") {
                let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
                if leaf.record_type == record_type {
                    return (record.position, leaf);
                }
            }
        }
    };
    tokio::time::timeout(WITHIN, found).await.unwrap_or_else(|_| panic!("no `{record_type}` within {WITHIN:?}"))
}

/// Sends a call as an agent that does not stay for the answer: its connection ends when it is dropped.
async fn send_only(url: &str, credential: &str, call: &CallRequest, wait_s: u32) -> TcpStream {
    let address = url.trim_start_matches("http://");
    let body = serde_json::to_string(call).expect("a body");
    let head = format!(
        "POST /v1/calls?wait_s={wait_s} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {credential}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("sent");
    stream
}

async fn ended(agent: &AgentClient, call: &CallAnswer) -> CallAnswer {
    agent.outcome(&call.call, 20).await.expect("an outcome")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_goes_away_untold_leaves_an_orphan_until_it_asks_again() {
    let house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let gone = send_only(&house.url, &credential, &refund("orphan"), 30).await;
    let (created, record) = recorded(&admin, RecordType::RequestCreated, 0).await;
    let request = record.request.expect("a request");
    drop(gone);
    let (orphaned, record) = recorded(&admin, RecordType::RequestOrphaned, created).await;
    assert_eq!((record.request, record.claims.member("orphaned")), (Some(request), Some(&true.into())));
    let refused = admin.approve(request, ROLE).await.expect_err("its agent is gone");
    assert_eq!(refused.code(), Some("request_orphaned"));
    // The same call again is that one, and can be approved.
    let billing = AgentClient::new(&house.url, credential).expect("a client");
    let again = billing.call(&refund("orphan"), 0).await.expect("the same call");
    assert_eq!((again.request, again.status), (Some(request), CallStatus::Pending));
    let (_, record) = recorded(&admin, RecordType::RequestOrphaned, orphaned + 1).await;
    assert_eq!(record.claims.member("orphaned"), Some(&false.into()));
    admin.approve(request, ROLE).await.expect("it counts");
    assert_eq!(ended(&billing, &again).await.status, CallStatus::Executed);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_told_and_one_that_leaves_a_join_leave_no_orphan() {
    let house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    // Told: the answer was written before the connection ended.
    let told = billing.call(&refund("told"), 0).await.expect("a pending call");
    // Whoever joins and leaves takes nothing from the one who was told.
    drop(send_only(&house.url, &credential, &refund("told"), 30).await);
    let position = recorded(&admin, RecordType::RequestCreated, 0).await.0;
    admin.approve(request_of(&told), ROLE).await.expect("it counts");
    assert_eq!(ended(&billing, &told).await.status, CallStatus::Executed);
    let mut stream = admin.client().expect("a session").log_stream(position).await.expect("a stream");
    loop {
        let LogEvent::Record(record) = stream.next().await.expect("the stream").expect("it goes on") else { continue };
        assert!(!record.leaf.contains("request_orphaned"), "{}", record.leaf);
        if record.leaf.contains(r#""state":"succeeded""#) {
            break;
        }
    }
}

const WIRE: &str = r#"{"payee":"payee_fixtures","amount_minor":420000,"currency":"EUR","reference":"R-1"}"#;
const OTHER_ACCOUNT: &str = "FR1420041010050500013M02606";

/// A wire of the fixture, without its rest, by one person.
async fn wiring() -> (House, Approver, AgentClient) {
    let house = House::open_with(|table| {
        let row = table.split("tool = \"wire_transfer\"").nth(1).expect("the row").split("schema").next().expect("its head").to_owned();
        let quick = row
            .replace("quorum = 2", "quorum = 1")
            .replace("delay_s = 60", "delay_s = 0")
            .replace("\"treasury\", quorum", "\"support-lead\", quorum");
        table.replace(&row, &quick)
    })
    .await;
    let admin = house.admin().await;
    let treasury = house.agent("treasury", &[]);
    (house, admin, treasury)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_is_edited_after_the_approval_pays_nobody() {
    let (house, admin, treasury) = wiring().await;
    let wire = CallRequest::new("wire_transfer", json(WIRE));
    // Edited while it waits, and approved after that: people signed the account that it was.
    let pending = treasury.call(&wire, 0).await.expect("a pending call");
    let detail = admin.client().expect("a session").request_detail(&request_of(&pending)).await.expect("the request");
    assert!(detail.frozen.contains(r#""referents":{"/payee":"DE89370400440532013000"}"#), "{}", detail.frozen);
    house.inspector.edit_payee("payee_fixtures", OTHER_ACCOUNT).await.expect("edited");
    admin.approve(request_of(&pending), "support-lead").await.expect("it counts");
    let stale = ended(&treasury, &pending).await;
    assert_eq!((stale.status, stale.code.as_str()), (CallStatus::Stale, "referent_changed"), "{}", stale.words);
    assert_eq!(house.inspector.count(Tool::WireTransfer).await.expect("a count"), 0);
    // Asked again, the other account is shown and signed, and paid.
    let again = treasury.call(&wire, 0).await.expect("a pending call");
    assert_eq!((again.status, again.earlier.clone()), (CallStatus::Pending, vec![request_of(&pending)]));
    admin.approve(request_of(&again), "support-lead").await.expect("it counts");
    assert_eq!(ended(&treasury, &again).await.status, CallStatus::Executed);
    let paid = house.inspector.effects(Tool::WireTransfer).await.expect("effects");
    assert_eq!(paid.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_down_lets_nobody_be_asked_and_nothing_run() {
    let (house, admin, treasury) = wiring().await;
    let wire = CallRequest::new("wire_transfer", json(WIRE));
    let down = || Order::of(Tool::GetPayee).mode(Mode::ErrorBefore);
    house.inspector.order(down().times(3)).await.expect("an order");
    assert_eq!(code_of(treasury.call(&wire, 0).await), "referent_unreadable");
    let pending = treasury.call(&wire, 0).await.expect("a pending call");
    house.inspector.order(down().times(3)).await.expect("an order");
    admin.approve(request_of(&pending), "support-lead").await.expect("it counts");
    let (_, refused) = recorded(&admin, RecordType::TokenRefused, 0).await;
    assert_eq!(refused.claim("code"), Some("referent_unreadable"));
    assert_eq!(house.inspector.count(Tool::WireTransfer).await.expect("a count"), 0);
    // It is tried again, and runs once the directory answers.
    assert_eq!(ended(&treasury, &pending).await.status, CallStatus::Executed);
    assert_eq!(house.inspector.count(Tool::WireTransfer).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agent_is_nobody_and_nothing_that_it_asked_for_runs() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("revoked"), 0).await.expect("a pending call");
    let revoked = house.command(&["agent", "revoke", "billing"]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    assert!(String::from_utf8_lossy(&revoked.stdout).contains("1 of its requests"), "{}", String::from_utf8_lossy(&revoked.stdout));
    assert_eq!(code_of(billing.outcome(&pending.call, 0).await), "credential_invalid");
    assert_eq!(code_of(billing.call(&refund("another"), 0).await), "credential_invalid");
    let late = admin.approve(request_of(&pending), ROLE).await.expect_err("its agent is revoked");
    assert_eq!(late.code(), Some("request_stale"));
    let again = house.command(&["agent", "revoke", "billing"]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("agent_revoked"));
    let unknown = house.command(&["agent", "revoke", "nobody"]);
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("not_found"));
    // The name may be given out anew. It reads what became of the calls under its name, and nothing of them runs.
    let anew = house.agent("billing", &[]);
    assert_eq!(anew.call(&refund("anew"), 0).await.expect("a call of its own").status, CallStatus::Pending);
    let before = anew.outcome(&pending.call, 0).await.expect("an outcome");
    assert_eq!(before.status, CallStatus::Stale);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_revoked_while_its_call_is_in_doubt_is_not_tried_again() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("doubt"), 0).await.expect("a pending call");
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    admin.approve(request_of(&pending), ROLE).await.expect("it counts");
    recorded(&admin, RecordType::TokenRedeemed, 0).await;
    let revoked = house.command(&["agent", "revoke", "billing"]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    let reconcile = async {
        let mut from = 0;
        loop {
            let (position, record) = recorded(&admin, RecordType::OperationChanged, from).await;
            if record.claim("state") == Some("needs_reconciliation") {
                return;
            }
            assert_ne!(record.claim("state"), Some("succeeded"), "tried again");
            from = position + 1;
        }
    };
    tokio::time::timeout(WITHIN, reconcile).await.expect("a person's to find out");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}
