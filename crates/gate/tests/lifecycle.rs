//! A gate's beginning, its end, and its coming back.

mod house;

use std::time::{Duration, Instant};

use house::{House, json, line_with, refund, request_of, run};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::{AgentClient, ClientError, GateClient};
use vidimus_api::invite::Invite;
use vidimus_tests::company::{Mode, Order, Tool};

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_request_outlives_a_restart_with_its_bytes_and_its_deadline() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let before = billing.call(&refund("restart"), 0).await.expect("a pending call");
    let detail = admin.client().expect("a session").request_detail(&request_of(&before)).await.expect("the request");
    house.end();
    house.start();
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let after = billing.outcome(&before.call, 0).await.expect("an outcome");
    assert_eq!((after.request, after.request_sha256, after.waits_until), (before.request, before.request_sha256, before.waits_until));
    // The session is as good as before, and so is the frozen text.
    let admin = admin.at(&house.url).await.expect("a session");
    let again = admin.client().expect("a session").request_detail(&request_of(&before)).await.expect("the request");
    assert_eq!(again.frozen, detail.frozen);
    // Killed, not ended: the same.
    house.kill();
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    admin.approve(request_of(&before), "billing-approver").await.expect("it counts");
    let billing = AgentClient::new(&house.url, credential).expect("a client");
    assert_eq!(billing.outcome(&before.call, 20).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_outlives_a_kill_and_a_late_approval_does_not_count() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let call = billing.call(&refund("denied"), 0).await.expect("a pending call");
    let statement =
        admin.statement(request_of(&call), vidimus_core::decision::DecisionKind::Approve, "billing-approver").await.expect("a statement");
    admin
        .deny(request_of(&call), "billing-approver", vidimus_api::request::DenialKind::WrongPayee, "wrong payee")
        .await
        .expect("it counts");
    house.kill();
    house.start();
    let billing = AgentClient::new(&house.url, credential).expect("a client");
    for _ in 0..3 {
        assert_eq!(billing.call(&refund("denied"), 0).await.expect("the answer").status, CallStatus::Denied);
    }
    let admin = admin.at(&house.url).await.expect("a session");
    let late = admin.hand_in(request_of(&call), &statement).await.expect_err("too late");
    assert_eq!(late.code(), Some("request_already_decided"));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_waits_for_what_is_in_flight_and_lets_waiters_go() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let waiting = billing.call(&refund("waiting"), 0).await.expect("a pending call");
    let args = house::REFUND.replace("842", "851");
    let slow = billing.call(&CallRequest::new("refund", json(&args)), 0).await.expect("a pending call");
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::DelayAfterEffect).times(1).delay_ms(1500)).await.expect("an order");
    admin.approve(request_of(&slow), "billing-approver").await.expect("it counts");
    house::until("the effect", || async { (house.inspector.count(Tool::Refund).await.ok()? == 1).then_some(()) }).await;

    let polling = tokio::spawn({
        let (billing, call) = (billing.clone(), waiting.call);
        async move { billing.outcome(&call, 30).await }
    });
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let began = Instant::now();
    house.end();
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    // The waiter got an answer or was never begun; the stream ended instead of breaking.
    match polling.await.expect("the poll") {
        Ok(answer) => assert_eq!(answer.status, CallStatus::Pending),
        Err(ClientError::Unreachable(_)) => {}
        Err(other) => panic!("{other}"),
    }
    while let Ok(Some(_)) = stream.next().await {}
    // The answer that came during the end is on record.
    house.start();
    let billing = AgentClient::new(&house.url, credential).expect("a client");
    let done = billing.outcome(&slow.call, 0).await.expect("an outcome");
    assert_eq!((done.status, done.attempt), (CallStatus::Executed, Some(1)), "{}", done.words);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_database_has_one_gate_and_the_command_line_asks_it() {
    let mut house = House::open().await;
    let data = house.data_path().display().to_string();
    let second = run(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]);
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("held by another gate"), "{}", String::from_utf8_lossy(&second.stderr));
    // The running gate was not disturbed, and still answers the command line.
    let credential = house.credential("research", &[]);
    assert!(AgentClient::new(&house.url, credential).expect("a client").tools().await.is_ok());
    // A second one of the name, one that says nothing of its owner, one that has no name.
    for refused in [&["research", "--no-owner"][..], &["support"], &["Not A Name", "--no-owner"]] {
        let added = house.command(&[&["agent", "add"], refused].concat());
        assert!(!added.status.success(), "{refused:?}");
    }
    house.end();
    // Without a running gate the command does it by itself.
    house.credential("billing", &[]);
    house.start();
    assert!(GateClient::new(&house.url).expect("a client").is_ready().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_is_made_once_with_keys_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::open().await;
    let data = house.data_path();
    let table = house.data.path().join("effects.toml").display().to_string();
    let again =
        run(&["init", "--data", &data.display().to_string(), "--table", &table, "--environment", "live", "--url", "http://127.0.0.1:1"]);
    assert!(!again.status.success());
    for (file, mode) in [
        ("keys", 0o700),
        ("keys/log.key", 0o600),
        ("keys/token.key", 0o600),
        ("admin.sock", 0o600),
        ("gate.db", 0o600),
        ("keys/head", 0o600),
    ] {
        let found = std::fs::metadata(data.join(file)).expect(file).permissions().mode() & 0o777;
        assert_eq!(found, mode, "{file}: {found:o}");
    }
    let invite: Invite = house.invite.parse().expect("an invite");
    assert_eq!((invite.name.as_str(), invite.environment.as_str()), ("Ada Example", "test"));
    let bad_url =
        run(&["init", "--data", "/nonexistent/gate", "--table", &table, "--environment", "test", "--url", "http://gate.example.test"]);
    assert!(!bad_url.status.success());
    assert!(String::from_utf8_lossy(&bad_url.stderr).contains("https://"), "{}", String::from_utf8_lossy(&bad_url.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_stays_on_this_machine() {
    let mut house = House::open().await;
    house.end();
    let data = house.data_path().display().to_string();
    let open = run(&["serve", "--data", &data, "--listen", "0.0.0.0:0"]);
    assert!(!open.status.success());
    let words = String::from_utf8_lossy(&open.stderr).into_owned();
    assert!(words.contains("loopback only") && words.contains("--tls-cert"), "{words}");
    let no_certificate =
        run(&["serve", "--data", &data, "--listen", "127.0.0.1:0", "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"]);
    assert!(!no_certificate.status.success());
    let half = run(&["serve", "--data", &data, "--tls-cert", "/nonexistent"]);
    assert!(!half.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_database_does_not_start_beside_a_newer_head() {
    let mut house = House::open().await;
    house.end();
    let data = house.data_path();
    let files = ["gate.db", "gate.db-wal", "gate.db-shm"];
    let keep = house.data.path().join("yesterday");
    std::fs::create_dir(&keep).expect("a folder");
    for file in files.iter().filter(|file| data.join(file).exists()) {
        std::fs::copy(data.join(file), keep.join(file)).expect("a copy");
    }
    house.start();
    house.admin().await;
    house.end();
    for file in files {
        let _ = std::fs::remove_file(data.join(file));
        if keep.join(file).exists() {
            std::fs::copy(keep.join(file), data.join(file)).expect("a copy");
        }
    }
    let older = run(&["serve", "--data", &data.display().to_string(), "--listen", "127.0.0.1:0"]);
    assert!(!older.status.success());
    let words = String::from_utf8_lossy(&older.stderr).into_owned();
    assert!(words.contains("log_behind_head"), "{words}");
    std::fs::remove_file(data.join("keys/head")).expect("the head");
    let headless = run(&["serve", "--data", &data.display().to_string(), "--listen", "127.0.0.1:0"]);
    assert!(!headless.status.success());
    let words = String::from_utf8_lossy(&headless.stderr).into_owned();
    assert!(words.contains("log_behind_head"), "{words}");
}

#[test]
fn a_table_with_faults_is_not_taken_and_every_fault_has_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = vidimus_tests::company::effect_table("http://127.0.0.1:1");
    let file = folder.path().join("effects.toml");
    std::fs::write(&file, &good).expect("a file");
    let path = file.display().to_string();
    let checked = run(&["table", "check", &path]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(line_with(&checked, &path).contains("table_sha256"));

    let bad = good.replacen("effect = \"read\"", "effect = \"raed\"", 1).replacen("owner = \"support-lead\"\nhits", "hits", 2);
    std::fs::write(&file, bad).expect("a file");
    let checked = run(&["table", "check", &path]);
    assert_eq!(checked.status.code(), Some(1));
    let words = String::from_utf8_lossy(&checked.stderr).into_owned();
    let faults: Vec<&str> = words.lines().filter(|line| line.contains(": fault: ")).collect();
    assert!(faults.len() >= 2, "{words}");
    for fault in faults {
        let line =
            fault.strip_prefix(&format!("{path}:")).and_then(|rest| rest.split(':').next()).and_then(|line| line.parse::<usize>().ok());
        assert!(line.is_some_and(|line| line > 0) && fault.ends_with(']'), "{fault}");
    }
    let made = run(&[
        "init",
        "--data",
        &folder.path().join("gate").display().to_string(),
        "--table",
        &path,
        "--environment",
        "test",
        "--url",
        "http://127.0.0.1:1",
    ]);
    assert!(!made.status.success());
    assert!(!folder.path().join("gate").exists());
    let absent = run(&["table", "check", "/nonexistent.toml"]);
    assert_eq!(absent.status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_this_machine_the_gate_speaks_tls() {
    let mut house = House::open().await;
    house.end();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("a certificate");
    let (certificate, key) = (house.data.path().join("tls.crt"), house.data.path().join("tls.key"));
    std::fs::write(&certificate, certified.cert.pem()).expect("a file");
    std::fs::write(&key, certified.signing_key.serialize_pem()).expect("a file");
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    house.start_with(&["--listen", "0.0.0.0:0", "--tls-cert", &certificate, "--tls-key", &key]);
    assert!(house.url.starts_with("https://0.0.0.0:"), "{}", house.url);
    let url = format!("{}/readyz", house.url.replace("0.0.0.0", "127.0.0.1"));
    let root = reqwest::Certificate::from_pem(certified.cert.pem().as_bytes()).expect("a certificate");
    let trusting = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().expect("a client");
    assert_eq!(trusting.get(&url).send().await.expect("an answer").text().await.expect("a body"), "ready\n");
    let stranger = reqwest::Client::builder().no_proxy().build().expect("a client");
    assert!(stranger.get(&url).send().await.is_err(), "a certificate that nobody vouches for is not trusted");
    assert!(stranger.get(url.replace("https", "http")).send().await.is_err(), "plain HTTP is not answered");
    house.end();
}
