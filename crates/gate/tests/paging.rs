//! Pages that leave the gate: a receiver that checks the signature with another implementation, and a real program.

mod house;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use house::{House, WITHIN, json, request_of, run, until};
use vidimus_api::call::CallRequest;
use vidimus_api::page::PageDocument;
use vidimus_core::bytes::base64_decode;
use vidimus_core::operation::OperationKey;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Mode, Order, Tool};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MAIL: &str = r#"{"to":"ada@example.com","subject":"Your kettle","body":"It is on its way."}"#;

/// What came, as it came.
#[derive(Clone)]
struct Received {
    id: String,
    timestamp: String,
    signature: String,
    body: Vec<u8>,
}

#[derive(Default)]
struct Receiver {
    received: Mutex<Vec<Received>>,
    /// Requests that are still answered with 503.
    to_refuse: Mutex<u32>,
}

impl Receiver {
    fn taken(&self) -> Vec<Received> {
        self.received.lock().expect("unpoisoned").clone()
    }
}

async fn receive(State(receiver): State<Arc<Receiver>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let received = Received {
        id: text("webhook-id"),
        timestamp: text("webhook-timestamp"),
        signature: text("webhook-signature"),
        body: body.to_vec(),
    };
    receiver.received.lock().expect("unpoisoned").push(received);
    let mut left = receiver.to_refuse.lock().expect("unpoisoned");
    if *left > 0 {
        *left -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    StatusCode::NO_CONTENT
}

async fn receiver(to_refuse: u32) -> (Arc<Receiver>, String) {
    let receiver = Arc::new(Receiver { to_refuse: Mutex::new(to_refuse), ..Receiver::default() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let router = Router::new().route("/hook", post(receive)).with_state(receiver.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (receiver, url)
}

/// *Source*: Standard Webhooks 1.0.0, by `ring`, which the gate does not sign with.
fn check(received: &Received) -> PageDocument {
    let secret = base64_decode(SECRET.trim_start_matches("whsec_")).expect("a secret");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
    let signed = [format!("{}.{}.", received.id, received.timestamp).as_bytes(), &received.body].concat();
    let signature = base64_decode(received.signature.strip_prefix("v1,").expect("version 1")).expect("base64");
    ring::hmac::verify(&key, &signed, &signature).expect("the signature holds");
    serde_json::from_slice(&received.body).expect("a page")
}

/// A mail whose answer is lost; the operation that people have to answer for.
async fn lost_mail(house: &House, admin: &Approver) -> OperationKey {
    let support = house.agent("support", &[]);
    house.inspector.order(Order::of(Tool::SendEmail).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let pending = support.call(&CallRequest::new("send_email", json(MAIL)), 0).await.expect("a pending call");
    admin.approve(request_of(&pending), "support-lead").await.expect("it counts");
    let answer = until("the outcome", async || {
        let answer = support.outcome(&pending.call, 1).await.expect("an outcome");
        answer.operation.filter(|_| answer.status.as_str() == "needs_reconciliation")
    });
    answer.await
}

fn program(folder: &Path, text: &str) -> String {
    let path = folder.join("page-command");
    std::fs::write(&path, text).expect("own file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("own file");
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_paged_until_somebody_looks() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    house.end();
    let (receiver, url) = receiver(1).await;
    let pages = house.data.path().join("pages");
    let script = format!("#!/bin/sh\ncat >> {0}\necho >> {0}\nenv >> {0}.env\n", pages.display());
    let command = program(house.data.path(), &script);
    house.set("PAGE_SECRET", SECRET);
    house.start_with(
        &[
            &["--listen", "127.0.0.1:0", "--page-repeat-s", "1", "--page-command", &command][..],
            &["--page-webhook", &url, "--page-webhook-secret", "env:PAGE_SECRET"],
        ]
        .concat(),
    );
    let admin = admin.at(&house.url).await.expect("the gate is back");
    let operation = lost_mail(&house, &admin).await;

    let taken = until("three pages", async || Some(receiver.taken()).filter(|taken| taken.len() >= 4)).await;
    let documents: Vec<PageDocument> = taken.iter().map(check).collect();
    assert_eq!(taken[0].id, taken[1].id, "what was refused is sent again under its id");
    let ids: BTreeSet<&str> = taken.iter().map(|received| received.id.as_str()).collect();
    assert_eq!(ids.len(), taken.len() - 1, "each repetition has its own");
    let first = &documents[0];
    assert_eq!((first.kind.as_str(), first.data.operation, first.data.count), ("page.needs_reconciliation", Some(operation), 1));
    assert_eq!((first.data.roles.clone(), first.data.tool.as_deref()), (vec!["support-lead".to_owned()], Some("send_email")));
    let text = String::from_utf8_lossy(&taken[0].body).into_owned();
    assert!(!text.contains("ada@example.com") && !text.contains("kettle"), "a page holds no argument: {text}");

    let told = until("the program's pages", async || std::fs::read_to_string(&pages).ok().filter(|told| told.lines().count() >= 2)).await;
    let by_program: PageDocument = serde_json::from_str(told.lines().next().expect("a line")).expect("a page");
    assert_eq!(by_program.data.operation, Some(operation));
    let environment = std::fs::read_to_string(pages.with_extension("env")).expect("the program's environment");
    assert!(!environment.contains("VIDIMUS_CREDENTIAL") && !environment.contains(SECRET), "no credential goes along: {environment}");

    let client = admin.client().expect("a session");
    client.opened(&operation).await.expect("somebody looks");
    let metrics = metrics_of(&house).await;
    assert!(metrics.contains("vidimus_operations_open{state=\"needs_reconciliation\"} 1"), "{metrics}");
    assert!(metrics.contains("vidimus_pages_total{channel=\"webhook\",outcome=\"delivered\"}"), "{metrics}");
    house.kill();
    let db = rusqlite::Connection::open(house.data_path().join("gate.db")).expect("a database");
    let due: Option<i64> = db.query_row("SELECT due_at FROM pages", [], |row| row.get(0)).expect("a page");
    assert_eq!(due, None, "somebody knows: it is not sent again, not even if one was under way");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_nobody_takes_is_on_record_and_comes_again() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    house.end();
    let (receiver, url) = receiver(u32::MAX).await;
    let command = program(house.data.path(), "#!/bin/sh\nexit 3\n");
    house.set("PAGE_SECRET", SECRET);
    house.start_with(
        &[
            &["--listen", "127.0.0.1:0", "--page-repeat-s", "1", "--page-command", &command][..],
            &["--page-webhook", &url, "--page-webhook-secret", "env:PAGE_SECRET"],
        ]
        .concat(),
    );
    let admin = admin.at(&house.url).await.expect("the gate is back");
    lost_mail(&house, &admin).await;
    let failed = "vidimus_pages_total{channel=\"webhook\",outcome=\"failed\"}";
    until("a page that failed", async || metrics_of(&house).await.contains(failed).then_some(())).await;
    assert!(metrics_of(&house).await.contains("vidimus_pages_total{channel=\"command\",outcome=\"failed\"}"));
    // Killed in between, the gate tells again by itself, on the log at least.
    house.kill();
    house.start_with(&["--listen", "127.0.0.1:0", "--page-repeat-s", "1"]);
    until("a page after the restart", async || {
        metrics_of(&house).await.contains("channel=\"console\",outcome=\"delivered\"").then_some(())
    })
    .await;
    assert!(receiver.taken().len() >= 4, "four attempts were made");
}

async fn metrics_of(house: &House) -> String {
    reqwest::get(format!("{}/metrics", house.url)).await.expect("metrics").text().await.expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_could_not_page_says_so_at_its_start() {
    let mut house = House::open().await;
    house.end();
    let data = house.data_path().display().to_string();
    let unreadable = house.data.path().join("not-a-program");
    std::fs::write(&unreadable, "text").expect("own file");
    let unreadable = unreadable.display().to_string();
    let cases: &[(&[&str], &str)] = &[
        (&["--page-webhook", "http://hooks.example/x", "--page-webhook-secret", "env:PATH"], "--page-webhook"),
        (&["--page-webhook", "https://hooks.example/x", "--page-webhook-secret", "env:VIDIMUS_ABSENT"], "secret"),
        (&["--page-webhook", "https://hooks.example/x", "--page-webhook-secret", "env:HOME"], "whsec_"),
        (&["--page-webhook", "https://hooks.example/x"], "--page-webhook-secret"),
        (&["--page-command", &unreadable], "not a program"),
        (&["--page-command", "mail"], "not a program"),
        (&["--page-repeat-s", "0"], "--page-repeat-s"),
    ];
    for (arguments, words) in cases {
        let refused = run(&[&["serve", "--data", &data, "--listen", "127.0.0.1:0"], *arguments].concat());
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(words), "{arguments:?} within {WITHIN:?}: {told}");
    }
}
