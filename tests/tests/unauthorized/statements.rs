//! Signed statements that nobody should take, of every type that reaches the gate without a session: malformed, foreign,
//! replayed, late. Each gets its own code, and a record with it. Decisions are in the forgery tests.

use std::net::Ipv4Addr;

use reqwest::Client;
use tempfile::TempDir;
use vidimus_api::client::GateClient;
use vidimus_api::enrolment::OfferRequest;
use vidimus_api::invite::Invite;
use vidimus_api::log::LogEvent;
use vidimus_api::problem::Problem;
use vidimus_api::session::SessionChallengeRequest;
use vidimus_core::bytes::{Nonce, base64_encode};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::SessionStatement;
use vidimus_tests::approver::{Approver, enrolment, raw};
use vidimus_tests::company::effect_table;
use vidimus_tests::gate::GateHome;
use vidimus_tests::processes::Binary;

use crate::faults::log::Log;
use crate::faults::{House, WITHIN};

const TYPES: &[&str] = &["decision", "session", "enrolment", "genesis", "stop", "recovery", "veto", "reconciliation"];

fn payload_type(name: &str) -> String {
    format!("application/vnd.vidimus.{name}.v1+json")
}

/// An envelope whose parts are written as they are given.
fn envelope(payload_type: &str, payload: &str, key_id: &str, signature: &str) -> String {
    let payload = base64_encode(payload);
    format!(r#"{{"payload":"{payload}","payloadType":"{payload_type}","signatures":[{{"keyid":"{key_id}","sig":"{signature}"}}]}}"#)
}

pub(crate) fn signed(name: &str, payload: &str, key: &SecretKey) -> String {
    let signed = Envelope::sign(&payload_type(name), payload.as_bytes(), key);
    envelope(&payload_type(name), payload, &key.public().digest().to_string(), &signed.signature().to_base64())
}

/// What is wrong with a statement of any type: what was done to it, the envelope, the codes that it may get.
pub(crate) fn malformed(name: &str, payload: &str, key: &SecretKey) -> Vec<(String, String, &'static [&'static str])> {
    let (kind, key_id) = (payload_type(name), key.public().digest().to_string());
    let good = Envelope::sign(&kind, payload.as_bytes(), key);
    let mut flipped = *good.signature().as_bytes();
    flipped[63] ^= 1;
    let stranger = SecretKey::from_seed(&[99; 32]);
    let by_stranger = Envelope::sign(&kind, payload.as_bytes(), &stranger).signature().to_base64();
    let sig = good.signature().to_base64();
    let changed = |from: &str, to: &str| {
        assert!(payload.contains(from), "{name} has no {from}");
        signed(name, &payload.replacen(from, to, 1), key)
    };
    let member_gone = {
        let (begin, rest) = payload.split_once("\"issued_at\"").expect("every statement has its time");
        let after = rest.split_once(',').map_or("", |(_, after)| after);
        signed(name, &format!("{begin}{after}"), key)
    };
    let mut cases: Vec<(String, String, &'static [&'static str])> = vec![
        ("a flipped signature".to_owned(), envelope(&kind, payload, &key_id, &base64_encode(flipped)), &["signature_invalid"]),
        ("a stranger's signature".to_owned(), envelope(&kind, payload, &key_id, &by_stranger), &["signature_invalid"]),
        ("no signature".to_owned(), envelope(&kind, payload, &key_id, ""), &["signature_malformed", "base64_malformed"]),
        (
            "base64 without its end".to_owned(),
            envelope(&kind, payload, &key_id, sig.trim_end_matches('=')),
            &["signature_malformed", "base64_malformed"],
        ),
        ("keyid in capitals".to_owned(), envelope(&kind, payload, &key_id.to_uppercase(), &sig), &["digest_malformed"]),
        ("a space in the payload".to_owned(), changed("{", "{ "), &["not_canonical"]),
        ("a member more".to_owned(), changed("\"v\":1", "\"v\":1,\"w\":1"), &["field_unknown", "not_canonical"]),
        ("another version".to_owned(), changed("\"v\":1", "\"v\":2"), &["field_malformed"]),
        ("a member less".to_owned(), member_gone, &["field_missing", "json_syntax"]),
        ("a member twice".to_owned(), changed("\"v\":1", "\"v\":1,\"v\":1"), &["json_duplicate_key"]),
        ("no payload".to_owned(), signed(name, "", key), &["json_syntax"]),
        ("an empty object".to_owned(), "{}".to_owned(), &["field_missing"]),
        ("no object".to_owned(), "[]".to_owned(), &["field_malformed"]),
        ("no envelope".to_owned(), "null".to_owned(), &["field_malformed"]),
    ];
    for other in TYPES.iter().filter(|other| **other != name) {
        cases.push((format!("signed as a {other}"), signed(other, payload, key), &["envelope_type_wrong"]));
        let borrowed = Envelope::sign(&payload_type(other), payload.as_bytes(), key).signature().to_base64();
        cases.push((
            format!("signed as a {other}, sent as a {name}"),
            envelope(&kind, payload, &key_id, &borrowed),
            &["signature_invalid"],
        ));
    }
    cases
}

/// Sends a body from one of this machine's addresses: each has its own count of failures.
pub(crate) async fn send(url: &str, number: usize, path: &str, body: String) -> Problem {
    let address = Ipv4Addr::new(127, 0, 2, u8::try_from(1 + number / 20).expect("few"));
    let client = Client::builder().no_proxy().retry(reqwest::retry::never()).local_address(Some(address.into())).build().expect("a client");
    let text = client.post(format!("{url}{path}")).body(body).send().await.expect("an answer").text().await.expect("a body");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn session_statement(approver: &Approver) -> SessionStatement {
    let key_sha256 = approver.device.public().digest();
    let challenge = approver.gate.session_challenge(&SessionChallengeRequest { key_sha256 }).await.expect("a challenge");
    SessionStatement {
        gate: approver.gate_id,
        environment: approver.environment,
        key_sha256,
        challenge: challenge.challenge,
        issued_at: challenge.issued_at,
    }
}

pub(crate) fn payload_of(envelope: &Envelope) -> String {
    String::from_utf8(envelope.danger_unverified_payload().to_vec()).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_session_statement_gets_its_own_code_and_a_record() {
    let house = House::open().await;
    let device = &house.admin.device;
    let mut log = Log::follow(&house).await;
    let statement = session_statement(&house.admin).await;
    let good = statement.sign(device).expect("signed");
    let elsewhere = GateId::of(&SecretKey::from_seed(&[98; 32]).public());
    let twisted = |twist: fn(&mut SessionStatement), key: &SecretKey| {
        let mut other = statement.clone();
        twist(&mut other);
        raw(&other.sign(key).expect("signed")).expect("an envelope").get().to_owned()
    };
    let mut cases = malformed("session", &payload_of(&good), device);
    let of_gate = SessionStatement { gate: elsewhere, ..statement.clone() };
    cases.push((
        "another gate".to_owned(),
        raw(&of_gate.sign(device).expect("signed")).expect("an envelope").get().to_owned(),
        &["gate_wrong"],
    ));
    cases.push(("the live environment".to_owned(), twisted(|s| s.environment = Environment::Live, device), &["environment_wrong"]));
    cases.push(("another challenge".to_owned(), twisted(|s| s.challenge = Nonce::from_bytes([7; 32]), device), &["challenge_invalid"]));
    cases.push(("another time".to_owned(), twisted(|s| s.issued_at = s.issued_at.plus_s(1), device), &["challenge_invalid"]));
    cases.push((
        "the approval key".to_owned(),
        {
            let other = SessionStatement { key_sha256: house.admin.approval.public().digest(), ..statement.clone() };
            raw(&other.sign(&house.admin.approval).expect("signed")).expect("an envelope").get().to_owned()
        },
        &["key_use_wrong"],
    ));
    let mut told = Vec::new();
    for (number, (what, envelope, codes)) in cases.iter().enumerate() {
        let problem = send(&house.url, number, "/v1/sessions", format!(r#"{{"envelope":{envelope}}}"#)).await;
        assert!(codes.contains(&problem.code.as_str()), "{what}: {}", problem.code);
        told.push(problem.code);
    }
    // The genuine one is not used up by any of them; a second time it is.
    let body = format!(r#"{{"envelope":{}}}"#, raw(&good).expect("an envelope").get());
    let client = Client::builder().no_proxy().build().expect("a client");
    let opened = client.post(format!("{}/v1/sessions", house.url)).body(body.clone()).send().await.expect("an answer");
    assert_eq!(opened.status().as_u16(), 200);
    told.push(send(&house.url, 300, "/v1/sessions", body).await.code);
    // And one that comes too late.
    let late = session_statement(&house.admin).await.sign(device).expect("signed");
    house.order(&["passed_ms 3600000"]);
    told.push(send(&house.url, 301, "/v1/sessions", format!(r#"{{"envelope":{}}}"#, raw(&late).expect("an envelope").get())).await.code);
    house.order(&[]);
    assert!(told[told.len() - 2..].iter().all(|code| ["challenge_replayed", "challenge_invalid"].contains(&code.as_str())), "{told:?}");
    assert_eq!(log.codes(RecordType::SessionRefused, told.len()).await, told);
}

/// A founder's statements, at a gate that nobody has founded yet.
#[tokio::test(flavor = "multi_thread")]
async fn every_bad_statement_of_a_founder_gets_its_own_code() {
    let folder = TempDir::new().expect("a folder");
    let program = Binary::path("vidimus-gate").expect("the gate's program");
    let table = effect_table("http://127.0.0.1:9");
    let (home, line) = GateHome::init(&program, folder.path(), &table, "test", "Ada Example", &["billing-approver"]).expect("a gate");
    let _serving = home.serve(&[]).expect("a gate that serves");
    let invite: Invite = line.parse().expect("an invite");
    let gate = GateClient::new(&home.url()).expect("a client");
    let offer = gate.offer(&OfferRequest { code: invite.code }).await.expect("an offer");
    let [approval, device] = [1, 0x81].map(|seed| SecretKey::from_seed(&[seed; 32]));
    let good = enrolment(&invite, &offer, "desktop", &approval, &device).expect("statements");
    let parts = [
        ("genesis", "genesis", good.genesis.clone().expect("a genesis statement"), &approval),
        ("approval", "enrolment", good.approval.clone(), &approval),
        ("device", "enrolment", good.device.clone(), &device),
    ];
    let mut number = 0;
    for (member, name, envelope, key) in parts {
        let payload = payload_of(&Envelope::parse(envelope.get().as_bytes()).expect("an envelope"));
        let cases = malformed(name, &payload, key).into_iter().filter(|(what, _, _)| !(member == "genesis" && what == "no envelope"));
        for (what, bad, codes) in cases {
            let whole = |at: &str, good: &vidimus_api::RawJson| if at == member { bad.clone() } else { good.get().to_owned() };
            let body = format!(
                r#"{{"code":"{}","label":"desktop","approval":{},"device":{},"genesis":{}}}"#,
                invite.code,
                whole("approval", &good.approval),
                whole("device", &good.device),
                whole("genesis", good.genesis.as_ref().expect("a genesis statement"))
            );
            number += 1;
            let problem = send(&home.url(), number, "/v1/enrolments", body).await;
            assert!(codes.contains(&problem.code.as_str()), "{member}, {what}: {}", problem.code);
        }
    }
    // None of them has used the invite up, and the log has each of them.
    let founder = Approver::enrol(&home.url(), &line, 1).await.expect("the founder enrols");
    let mut stream = founder.client().expect("a session").log_stream(0).await.expect("a stream");
    let mut on_record = 0;
    let reading = async {
        while let Some(next) = stream.next().await.expect("an event") {
            let LogEvent::Record(record) = next else { continue };
            let record = AuditRecord::parse(record.leaf.as_bytes()).expect("a record");
            on_record += usize::from(record.record_type == RecordType::EnrolmentRefused);
            if record.record_type == RecordType::SessionOpened {
                return;
            }
        }
    };
    tokio::time::timeout(WITHIN, reading).await.expect("the founder's session is on record");
    assert_eq!(on_record, number);
}
