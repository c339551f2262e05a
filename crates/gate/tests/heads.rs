//! A gate that cannot write the signed head of its log: nothing with an effect begins, people can still say no, and it goes on
//! by itself. And a copy of the database from before a payment never pays again.

mod house;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use house::{House, WITHIN, code_of, json, refund, request_of, until};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::request::DenialKind;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_gate::seams::Seam;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Tool, credential_variables};
use vidimus_tests::processes::Process;

const ROLE: &str = "billing-approver";

fn other(key: &str, cents: u32) -> CallRequest {
    let args = format!(r#"{{"invoice":"invoice_842","amount_minor":{cents},"currency":"EUR","reason":"arrived broken"}}"#);
    CallRequest::new("refund", json(&args)).with_call_key(format!("{key:0>16}"))
}

/// What `/readyz` says: its status and its text.
async fn ready(house: &House) -> (u16, String) {
    let response = reqwest::get(format!("{}/readyz", house.url)).await.expect("an answer");
    (response.status().as_u16(), response.text().await.expect("a text"))
}

/// One metric that has no labels.
async fn metric(house: &House, name: &str) -> u64 {
    let text = reqwest::get(format!("{}/metrics", house.url)).await.expect("an answer").text().await.expect("a text");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_else(|| panic!("no {name}:\n{text}"));
    line.parse().expect("a number")
}

/// Waits until a head covers all that is on record: nobody is asked to sign about what no head covers, not even a no.
async fn all_covered(house: &House) {
    until("a head over all", async || (metric(house, "vidimus_head_uncovered_records").await == 0).then_some(())).await;
}

/// Leaves records that no head can cover, and waits until the gate has seen that.
async fn notice(house: &House) {
    let added = house.command(&["agent", "add", "support", "--no-owner"]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    until("noticing that no head is written", async || {
        let (status, text) = ready(house).await;
        (status == 503 && text.contains("\"head_not_signed\"")).then_some(())
    })
    .await;
}

/// What holds as long as no head is written: a call, an approval and a write are refused, a denial and a stop count.
async fn nothing_begins(house: &House, admin: &Approver, billing: &AgentClient, to_approve: RequestId, to_deny: RequestId) {
    assert_eq!(code_of(billing.call(&other("new", 300), 0).await), "head_not_signed");
    let ticket = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
    assert_eq!(code_of(billing.call(&CallRequest::new("create_ticket", json(ticket)), 0).await), "head_not_signed");
    let refused = admin.approve(to_approve, ROLE).await.expect_err("no approval counts");
    assert_eq!(refused.code(), Some("head_not_signed"), "{refused:?}");
    let began = Instant::now();
    let late = admin.deny(to_deny, ROLE, DenialKind::WrongPayee, "wrong payee").await.expect_err("its receipt is late");
    assert_eq!(late.code(), Some("checkpoint_late"), "{late:?}");
    assert!(began.elapsed() < Duration::from_secs(1), "said at once, not after {:?}", began.elapsed());
    let stands = admin.client().expect("a session").request_detail(&to_deny).await.expect("the request");
    assert_eq!(stands.state, RequestState::Denied);
    for tool in [Tool::Refund, Tool::CreateTicket] {
        assert_eq!(house.inspector.count(tool).await.expect("a count"), 0);
    }
}

/// What holds once heads are written again: the approval counts, and it is paid once.
async fn goes_on(house: &House, admin: &Approver, billing: &AgentClient, approved: RequestId) {
    until("going on by itself", async || (ready(house).await.0 == 200).then_some(())).await;
    admin.approve(approved, ROLE).await.expect("the approval counts");
    until("the payment", async || {
        let answer = billing.call(&refund("first"), 5).await.expect("the same call");
        (answer.status == CallStatus::Executed).then_some(())
    })
    .await;
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);
    assert_eq!(metric(house, "vidimus_head_uncovered_records").await, 0);
    assert!(metric(house, "vidimus_head_failures_total").await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_no_head_can_be_written_nothing_begins_and_people_can_say_no() {
    let house = House::open().await;
    let admin = house.admin().await;
    let thief = house.person(&admin, "Cat Example", &[ROLE], 3).await;
    let billing = house.agent("billing", &[]);
    let to_approve = request_of(&billing.call(&refund("first"), 0).await.expect("a pending call"));
    let to_deny = request_of(&billing.call(&other("second", 200), 0).await.expect("a pending call"));
    all_covered(&house).await;
    let blocked = house.data_path().join("keys/head.new");
    until("a folder in the way", async || {
        // The spare one, as it was left; the gate may be making it anew.
        let _ = fs::remove_file(&blocked);
        fs::create_dir(&blocked).ok()
    })
    .await;
    notice(&house).await;
    nothing_begins(&house, &admin, &billing, to_approve, to_deny).await;
    admin.stop(thief.person, vec![thief.device.public().digest()], &admin.approval).await.expect("a stop counts");
    fs::remove_dir(&blocked).expect("the way is free");
    goes_on(&house, &admin, &billing, to_approve).await;
}

/// A gate whose keys lie on a small file system of their own, in a mount namespace of its own.
fn on_a_small_disk(house: &mut House) {
    house.end();
    let keys = house.data_path().join("keys");
    let script = format!(
        "cp -a {keys} {keys}.kept && mount -t tmpfs -o size=64k,mode=700 tmpfs {keys} && cp -a {keys}.kept/. {keys}/ && exec {} serve --data {} --listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_vidimus-gate"),
        house.data_path().display(),
        keys = keys.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).envs(credential_variables(house::TOKEN));
    let output = house.data.path().join("small.out");
    let mut process = Process::start("vidimus-gate", &mut command, &output).expect("a gate");
    let line = process.wait_for_line("the listener", WITHIN, |line| line.starts_with("listening ")).expect("a ready gate");
    house.url = line.trim_start_matches("listening ").to_owned();
    house.gate = Some(process);
}

/// The keys' folder as the gate sees it.
fn seen_by_the_gate(house: &mut House) -> PathBuf {
    let keys = house.data_path().join("keys");
    PathBuf::from(format!("/proc/{}/root{}", house.process().id(), keys.display()))
}

fn remount(house: &mut House, how: &str) {
    let keys = house.data_path().join("keys");
    let pid = house.process().id().to_string();
    let mut command = Command::new("nsenter");
    command.args(["--target", &pid, "--user", "--mount", "--preserve-credentials", "mount", "-o", &format!("remount,{how}")]).arg(keys);
    let remounted = command.output().expect("nsenter");
    assert!(remounted.status.success(), "{}", String::from_utf8_lossy(&remounted.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_and_one_that_cannot_be_written_are_the_same() {
    for full in [true, false] {
        let mut house = House::open().await;
        let admin = house.admin().await;
        let credential = house.credential("billing", &[]);
        on_a_small_disk(&mut house);
        let admin = admin.at(&house.url).await.expect("a session");
        let billing = AgentClient::new(&house.url, credential).expect("a client");
        let to_approve = request_of(&billing.call(&refund("first"), 0).await.expect("a pending call"));
        let to_deny = request_of(&billing.call(&other("second", 200), 0).await.expect("a pending call"));
        all_covered(&house).await;
        let filler = seen_by_the_gate(&mut house).join("filler");
        if full {
            // The spare one has its place on a full disk: only without it nothing more fits.
            fs::write(&filler, vec![0; 256 * 1024]).expect_err("no room");
            let _ = fs::remove_file(seen_by_the_gate(&mut house).join("head.new"));
            let more = fs::OpenOptions::new().append(true).open(&filler).expect("own file");
            (&more).write_all(&[0; 64 * 1024]).expect_err("no room");
        } else {
            remount(&mut house, "ro");
        }
        notice(&house).await;
        nothing_begins(&house, &admin, &billing, to_approve, to_deny).await;
        if full {
            fs::remove_file(&filler).expect("room");
        } else {
            remount(&mut house, "rw");
        }
        goes_on(&house, &admin, &billing, to_approve).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_put_back_after_a_kill_never_pays_twice() {
    for (seam, paid) in [(Seam::AfterRedeem, 0), (Seam::BeforeSend, 0), (Seam::AfterAnswer, 1), (Seam::BeforeRecord, 1)] {
        let mut house = House::open().await;
        let orders = house.data.path().join("orders");
        fs::write(&orders, "").expect("own file");
        house.end();
        house.set("VIDIMUS_SEAM_FILE", &orders.display().to_string());
        house.start();
        let admin = house.admin().await;
        let billing = house.agent("billing", &[]);
        let request = request_of(&billing.call(&refund("copied"), 0).await.expect("a pending call"));
        let statement = admin.statement(request, vidimus_core::decision::DecisionKind::Approve, ROLE).await.expect("a statement");
        let database = house.data_path().join("gate.db");
        let copy = house.data.path().join("copy.db");
        let backup = rusqlite::Connection::open(&database).expect("the database");
        backup.execute("VACUUM INTO ?1", [copy.display().to_string()]).expect("a copy");
        drop(backup);
        fs::write(&orders, format!("kill {}\n", seam.as_str())).expect("own file");
        // Whether it was told before the gate dies is a race of the answer with the provider's.
        let _ = admin.hand_in(request, &statement).await;
        house.process().wait(WITHIN).expect("the gate ends at the seam");
        fs::write(&orders, "").expect("own file");
        for left in ["gate.db-wal", "gate.db-shm"] {
            let _ = fs::remove_file(house.data_path().join(left));
        }
        fs::copy(&copy, &database).expect("the older copy");
        let refused = house.fails_to_start();
        assert!(refused.contains("log_behind_head"), "{}: {refused}", seam.as_str());
        assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), paid, "{}", seam.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_while_the_gate_was_down_is_not_undone_by_an_older_copy() {
    let mut house = House::open().await;
    house.credential("billing", &[]);
    house.end();
    let database = house.data_path().join("gate.db");
    let copy = house.data.path().join("copy.db");
    let backup = rusqlite::Connection::open(&database).expect("the database");
    backup.execute("VACUUM INTO ?1", [copy.display().to_string()]).expect("a copy");
    drop(backup);
    assert!(house.command(&["agent", "revoke", "billing"]).status.success());
    for left in ["gate.db-wal", "gate.db-shm"] {
        let _ = fs::remove_file(house.data_path().join(left));
    }
    fs::copy(&copy, &database).expect("the older copy");
    let refused = house.fails_to_start();
    assert!(refused.contains("log_behind_head"), "{refused}");
}

/// Two who may decide have a head that this gate does not know: it may have lost records, what was paid among them. One alone stops nobody.
#[tokio::test(flavor = "multi_thread")]
async fn once_two_sign_over_a_head_that_is_not_of_this_log_nothing_begins_until_the_next_start() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let cat = house.person(&admin, "Cat Example", &[ROLE], 3).await;
    let billing = house.agent("billing", &[]);
    let to_approve = request_of(&billing.call(&refund("first"), 0).await.expect("a pending call"));
    let to_deny = request_of(&billing.call(&other("second", 200), 0).await.expect("a pending call"));
    let mut statement = admin.statement(to_approve, DecisionKind::Approve, ROLE).await.expect("a statement");
    statement.checkpoint.size = 1_000_000_000;
    let refused = admin.hand_in(to_approve, &statement).await.expect_err("a head of another log");
    assert_eq!(refused.code(), Some("checkpoint_foreign"), "{refused:?}");
    assert_eq!(ready(&house).await.0, 200, "one person may have invented it");
    let mut another = cat.statement(to_approve, DecisionKind::Approve, ROLE).await.expect("a statement");
    another.checkpoint.size = 1_000_000_000;
    let refused = cat.hand_in(to_approve, &another).await.expect_err("a head of another log");
    assert_eq!(refused.code(), Some("checkpoint_foreign"), "{refused:?}");
    let (status, text) = ready(&house).await;
    assert!(status == 503 && text.contains("\"head_foreign\""), "{status} {text}");
    assert_eq!(code_of(billing.call(&other("new", 300), 0).await), "head_foreign");
    let refused = admin.approve(to_approve, ROLE).await.expect_err("no approval counts");
    assert_eq!(refused.code(), Some("head_foreign"), "{refused:?}");
    admin.deny(to_deny, ROLE, DenialKind::WrongPayee, "wrong payee").await.expect("a denial counts");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);

    // An operator has compared, and starts it again.
    house.end();
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    until("the start", async || (ready(&house).await.0 == 200).then_some(())).await;
    admin.approve(to_approve, ROLE).await.expect("the approval counts");
    until("the payment", async || (house.inspector.count(Tool::Refund).await.expect("a count") == 1).then_some(())).await;
}
