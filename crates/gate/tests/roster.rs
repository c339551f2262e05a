//! The roster over HTTP: a stop without a session that ends what is open, its refusals on record, proposals, and a recovery
//! from the command line.

mod house;

use std::time::{Duration, Instant};

use house::{House, code_of, line_with, refund, request_of, until};
use vidimus_api::log::LogEvent;
use vidimus_api::roster::{RosterProposal, SignedStatement};
use vidimus_core::bytes::Digest;
use vidimus_core::ids::Name;
use vidimus_core::recovery::Veto;
use vidimus_core::request::RequestState;
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;
use vidimus_tests::approver::{Approver, raw};

/// How soon a stop has to be in force.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

fn keys(person: &Approver) -> Vec<Digest> {
    let mut keys = vec![person.approval.public().digest(), person.device.public().digest()];
    keys.sort();
    keys
}

async fn roster(person: &Approver) -> Roster {
    let answer = person.client().expect("a session").roster().await.expect("a roster");
    Roster::parse(answer.roster.as_bytes()).expect("canonical")
}

/// The leaves of the log, up to a checkpoint over at least one of this kind.
async fn leaves_with(admin: &Approver, kind: &str) -> Vec<String> {
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let mut leaves: Vec<String> = Vec::new();
    loop {
        match stream.next().await.expect("an event").expect("an open stream") {
            LogEvent::Record(record) => leaves.push(record.leaf),
            LogEvent::Checkpoint(_) if leaves.iter().any(|leaf| leaf.contains(kind)) => return leaves,
            LogEvent::Checkpoint(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_sessions_streams_and_approvals() {
    let house = House::open().await;
    let admin = house.admin().await;
    let kim = house.person(&admin, "Kim Example", &["support-lead"], 21).await;
    let mut stream = kim.client().expect("a session").log_stream(0).await.expect("a stream");
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("stopped"), 0).await.expect("a pending call");
    let began = Instant::now();
    let answer = kim.stop(kim.person, keys(&kim), &kim.device).await.expect("stopped");
    assert_eq!(answer.roster_version, 3);
    assert_eq!(kim.stop(kim.person, keys(&kim), &kim.approval).await.expect("the same again"), answer);
    assert_eq!(code_of(kim.client().expect("a session").roster().await), "credential_invalid");
    // The stream that was open brings no record of the stop or later, and ends.
    loop {
        match stream.next().await {
            Ok(Some(LogEvent::Record(record))) => assert!(record.position < answer.position, "{}", record.leaf),
            Ok(Some(LogEvent::Checkpoint(_))) => {}
            Ok(None) | Err(_) => break,
        }
    }
    assert!(began.elapsed() <= STOPPED_WITHIN, "{:?}", began.elapsed());
    assert_eq!(code_of(kim.new_session().await.map(|_| ()).map_err(as_client)), "key_stopped");
    admin.approve(request_of(&pending), "billing-approver").await.expect("others decide on");
}

fn as_client(error: vidimus_tests::approver::ApproverError) -> vidimus_api::client::ClientError {
    match error {
        vidimus_tests::approver::ApproverError::Client(error) => error,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_stop_is_refused_and_on_record() {
    let house = House::open().await;
    let admin = house.admin().await;
    let kim = house.person(&admin, "Kim Example", &["support-lead"], 21).await;
    assert_eq!(code_of(kim.stop(admin.person, keys(&admin), &kim.approval).await.map_err(as_client)), "role_not_held");
    assert_eq!(code_of(admin.stop(admin.person, keys(&admin), &admin.approval).await.map_err(as_client)), "last_admin");
    assert_eq!(code_of(admin.stop(kim.person, keys(&kim), &admin.device).await.map_err(as_client)), "key_use_wrong");
    let veto = Veto { gate: kim.gate_id, environment: kim.environment, recovery_sha256: Digest::of(b"x"), issued_at: Timestamp::MIN };
    let body = SignedStatement { envelope: raw(&veto.sign(&admin.approval).expect("signed")).expect("JSON") };
    assert_eq!(code_of(admin.gate.veto(&Digest::of(b"x"), &body).await), "recovery_not_waiting");
    assert_eq!(code_of(admin.gate.stop(&Digest::of(b"x"), &body).await), "field_missing", "a veto is no stop");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let malformed = client.post(format!("{}/v1/keys/nonsense/stop", house.url)).body("{}").send().await.expect("an answer");
    assert_eq!(malformed.status(), 404);
    let leaves = leaves_with(&admin, r#""statement":"veto""#).await;
    for code in ["role_not_held", "last_admin", "key_use_wrong", "recovery_not_waiting"] {
        assert!(leaves.iter().any(|leaf| leaf.contains("statement_refused") && leaf.contains(code)), "{code}");
    }
    assert!(kim.client().expect("a session").roster().await.is_ok(), "nothing was stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_proposes_and_an_admin_decides() {
    let house = House::open().await;
    let admin = house.admin().await;
    let kim = house.person(&admin, "Kim Example", &["support-lead"], 21).await;
    let roles = vec![Name::parse("auditor").expect("a name"), Name::parse("support-lead").expect("a name")];
    let client = kim.client().expect("a session");
    let request = client.propose_roster_change(&RosterProposal::SetRoles { person: kim.person, roles }).await.expect("proposed").request;
    assert_eq!(admin.approve(request, "admin").await.expect("it counts").state, RequestState::Approved);
    until("the roles", async || roster(&kim).await.person(&kim.person).filter(|person| person.roles.len() == 2).map(|_| ())).await;
    let nobody = RosterProposal::Remove { person: admin.person };
    assert_eq!(code_of(client.propose_roster_change(&nobody).await), "last_admin");
    let body = r#"{"change":"promote","person":"psn_0"}"#;
    let sent = reqwest::Client::builder().no_proxy().build().expect("a client").post(format!("{}/v1/roster/proposals", house.url));
    let session = kim.new_session().await.expect("a session").session;
    let answer = sent.bearer_auth(session).body(body).send().await.expect("an answer");
    assert_eq!(answer.status(), 400);
    let request = client.propose_roster_change(&RosterProposal::Remove { person: kim.person }).await.expect("proposed").request;
    admin.approve(request, "admin").await.expect("it counts");
    until("the removal", async || roster(&admin).await.person(&kim.person).is_none().then_some(())).await;
    assert_eq!(code_of(client.roster().await), "credential_invalid");
    assert_eq!(code_of(kim.new_session().await.map(|_| ()).map_err(as_client)), "key_removed", "no stranger: somebody who can ask why");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_desktop_comes_by_an_invite_of_its_own() {
    let house = House::open().await;
    let admin = house.admin().await;
    let person = admin.person.to_string();
    let output = house.command(&["approver", "device", &person]);
    let mut second = Approver::enrol(&house.url, &line_with(&output, "vidimus-invite-"), 31).await.expect("enrolled");
    assert_eq!(code_of(second.open_session().await.map(|_| ()).map_err(as_client)), "key_waiting");
    admin.approve(second.admission.expect("a request"), "admin").await.expect("the only admin may");
    let session = until("a session", async || second.new_session().await.ok()).await;
    assert_eq!(session.person, admin.person);
    let stranger = house.command(&["approver", "device", "psn_00000000000000000000000000"]);
    assert!(!stranger.status.success() && String::from_utf8_lossy(&stranger.stderr).contains("[invite_invalid]"));
}
