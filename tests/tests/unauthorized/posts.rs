//! What people sign or ask for, sent as nobody should take it: stops, vetoes, answers to unknown outcomes, decisions of every
//! kind, proposals. Each bad one gets its own code and a record, and changes nothing.
//!
//! Every route that takes a body is in [`POSTS`], with the table that holds its bad bodies: a new route without one fails.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_api::problem::Problem;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::decision::DecisionKind;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId, Name, PersonId};
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::Answer as Said;
use vidimus_core::record::RecordType;
use vidimus_core::recovery::Veto;
use vidimus_core::sign::SecretKey;
use vidimus_core::stop::Stop;
use vidimus_core::time::Timestamp;
use vidimus_tests::approver::{Approver, raw};
use vidimus_tests::company::{Mode, Order, Tool};
use vidimus_tests::reconciling::Draft;

use crate::faults::log::Log;
use crate::faults::wire::post;
use crate::faults::{House, WAIT_S, call, pending, refund_args, request_of};
use crate::statements::{malformed, payload_of, send, signed};
use crate::{Asker, described};

/// Where the bad bodies of a route are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Table {
    /// [`super::statements`].
    Founder,
    Session,
    /// Here.
    Stop,
    Veto,
    Decision,
    Reconciliation,
    Proposal,
    /// No statement: what an agent sends is refused by its own rules (`faults_ran`, `bad_input`), a body that is none is refused here.
    Plain,
}

/// Every route that takes a body, and the table that holds its bad ones.
const POSTS: &[(&str, Table)] = &[
    ("/v1/calls", Table::Plain),
    ("/v1/calls/{call}/withdraw", Table::Plain),
    ("/v1/enrolments/offer", Table::Plain),
    ("/v1/enrolments", Table::Founder),
    ("/v1/sessions/challenges", Table::Plain),
    ("/v1/sessions", Table::Session),
    ("/v1/keys/{key_sha256}/stop", Table::Stop),
    ("/v1/recoveries/{recovery_sha256}/veto", Table::Veto),
    ("/v1/requests/{request}/challenge", Table::Plain),
    ("/v1/requests/{request}/decisions", Table::Decision),
    ("/v1/operations/{operation}/challenge", Table::Plain),
    ("/v1/operations/{operation}/reconciliations", Table::Reconciliation),
    ("/v1/operations/{operation}/status", Table::Plain),
    ("/v1/operations/{operation}/opened", Table::Plain),
    ("/v1/roster/proposals", Table::Proposal),
    ("/v1/table/proposals", Table::Proposal),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_takes_a_body_has_its_table_of_bad_ones() {
    let house = House::open().await;
    let described = described(&Asker::at(&house, 3)).await;
    let posts: BTreeSet<&str> = described.iter().filter(|(method, _)| method != "GET").map(|(_, path)| path.as_str()).collect();
    let known: BTreeMap<&str, Table> = POSTS.iter().copied().collect();
    assert_eq!(posts, known.keys().copied().collect::<BTreeSet<_>>(), "a route that takes a body needs a table of bad ones");
    let tables: BTreeSet<Table> = known.into_values().collect();
    assert_eq!(tables.len(), 8, "no table without a route");
}

/// What was done to a statement, its envelope, the codes that it may get.
type Case = (String, String, &'static [&'static str]);

fn text_of(envelope: &Envelope) -> String {
    raw(envelope).expect("an envelope").get().to_owned()
}

fn elsewhere() -> GateId {
    GateId::of(&SecretKey::from_seed(&[98; 32]).public())
}

fn in_body(envelope: &str) -> String {
    format!(r#"{{"envelope":{envelope}}}"#)
}

/// Sends each case to one of the paths that prove themselves, and checks its code and its record.
async fn refused_and_recorded(house: &House, log: &mut Log, path: &str, cases: &[Case]) {
    let mut told = Vec::new();
    for (number, (what, envelope, codes)) in cases.iter().enumerate() {
        let problem = send(&house.url, number, path, in_body(envelope)).await;
        assert!(codes.contains(&problem.code.as_str()), "{what}: {} {}", problem.code, problem.detail);
        told.push(problem.code);
    }
    assert_eq!(log.codes(RecordType::StatementRefused, told.len()).await, told);
}

fn keys_of(person: &Approver) -> Vec<Digest> {
    let mut keys = vec![person.approval.public().digest(), person.device.public().digest()];
    keys.sort();
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_stop_gets_its_own_code_and_a_record() {
    let house = House::open().await;
    let kim = house.person("Kim Example", &["support-lead"], 21).await;
    let eva = house.person("Eva Example", &["support-lead"], 22).await;
    let mut log = Log::follow(&house).await;
    let keys = keys_of(&kim);
    let stop = |person: PersonId, keys: Vec<Digest>, key: &SecretKey| {
        Stop { gate: kim.gate_id, environment: kim.environment, person, keys, issued_at: Timestamp::MIN }.sign(key).expect("signed")
    };
    let good = stop(kim.person, keys.clone(), &kim.device);
    let twisted = |twist: fn(&mut Stop), key: &SecretKey| {
        let mut other =
            Stop { gate: kim.gate_id, environment: kim.environment, person: kim.person, keys: keys.clone(), issued_at: Timestamp::MIN };
        twist(&mut other);
        text_of(&other.sign(key).expect("signed"))
    };
    let path = format!("/v1/keys/{}/stop", keys[0]);
    let mut cases: Vec<Case> = malformed("stop", &payload_of(&good), &kim.device);
    let unsorted: Vec<Digest> = keys.iter().rev().copied().collect();
    let stranger = SecretKey::from_seed(&[99; 32]);
    let more: Vec<Case> = vec![
        ("another gate".to_owned(), twisted(|stop| stop.gate = elsewhere(), &kim.device), &["gate_wrong"]),
        ("the live environment".to_owned(), twisted(|stop| stop.environment = Environment::Live, &kim.device), &["environment_wrong"]),
        ("a key that nobody enrolled".to_owned(), twisted(|_| {}, &stranger), &["key_unknown"]),
        ("somebody else's keys".to_owned(), text_of(&stop(eva.person, keys_of(&eva), &kim.approval)), &["role_not_held"]),
        ("the founder's keys".to_owned(), text_of(&stop(house.admin.person, keys_of(&house.admin), &kim.approval)), &["role_not_held"]),
        ("the last admin".to_owned(), text_of(&stop(house.admin.person, keys_of(&house.admin), &house.admin.approval)), &["last_admin"]),
        ("an admin's device key".to_owned(), text_of(&stop(kim.person, keys.clone(), &house.admin.device)), &["key_use_wrong"]),
        ("no keys".to_owned(), text_of(&stop(kim.person, Vec::new(), &kim.device)), &["field_malformed"]),
        ("keys out of order".to_owned(), text_of(&stop(kim.person, unsorted, &kim.device)), &["field_malformed"]),
        ("a key of another person".to_owned(), text_of(&stop(kim.person, keys_of(&eva), &kim.device)), &["key_unknown", "approver_wrong"]),
        (
            "a person that nobody is".to_owned(),
            twisted(|stop| stop.person = PersonId::from_random([9; 16]), &kim.device),
            &["role_not_held", "approver_wrong", "key_unknown"],
        ),
    ];
    cases.extend(more);
    refused_and_recorded(&house, &mut log, &path, &cases).await;
    // Sent to another key's path, to one that nobody has, and to what is no key: the same statement stops nothing there.
    let mut answers = BTreeSet::new();
    for (number, other) in [Digest::of(b"x").to_string(), keys_of(&eva)[0].to_string()].iter().enumerate() {
        let problem = send(&house.url, 100 + number, &format!("/v1/keys/{other}/stop"), in_body(&text_of(&good))).await;
        answers.insert((problem.code.clone(), problem.detail.clone()));
    }
    assert_eq!(answers.len(), 1, "a key that is somebody's answers like one that is nobody's: {answers:?}");
    assert_eq!(send(&house.url, 110, "/v1/keys/nonsense/stop", in_body(&text_of(&good))).await.code, "not_found");
    assert_eq!(log.codes(RecordType::StatementRefused, 3).await, ["key_unknown", "key_unknown", "not_found"]);
    assert!(kim.client().expect("a session").roster().await.is_ok(), "nothing was stopped");
    // The genuine one counts, and again it gets the same answer; what the stopped key says next is refused.
    let stopped = kim.stop(kim.person, keys.clone(), &kim.device).await.expect("stopped");
    assert_eq!(kim.stop(kim.person, keys.clone(), &kim.device).await.expect("the same again"), stopped);
    let next = stop(eva.person, keys_of(&eva), &kim.approval);
    let problem = send(&house.url, 120, &format!("/v1/keys/{}/stop", keys_of(&eva)[0]), in_body(&text_of(&next))).await;
    assert!(["key_stopped", "role_not_held"].contains(&problem.code.as_str()), "{}", problem.code);
    assert!(eva.client().expect("a session").roster().await.is_ok());
}

/// A recovery that waits: its digest, and the request of the person that it admits.
async fn announced(house: &House, seed: u8) -> Digest {
    let invite = house.home.invite("Rosa Example", &["admin"]).expect("an invite");
    let rosa = Approver::enrol(&house.url, &invite, seed).await.expect("the person enrols");
    let said = house.home.recover(&rosa.admission.expect("a request").to_string()).expect("announced");
    said.split('`').find_map(|word| word.parse::<Digest>().ok()).expect("its digest")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_veto_gets_its_own_code_and_a_record() {
    let house = House::open().await;
    let kim = house.person("Kim Example", &["support-lead"], 21).await;
    let recovery_sha256 = announced(&house, 31).await;
    let mut log = Log::follow(&house).await;
    let admin = &house.admin;
    let veto = |twist: fn(&mut Veto), key: &SecretKey| {
        let mut veto = Veto { gate: admin.gate_id, environment: admin.environment, recovery_sha256, issued_at: Timestamp::MIN };
        twist(&mut veto);
        veto.sign(key).expect("signed")
    };
    let good = veto(|_| {}, &admin.approval);
    let path = format!("/v1/recoveries/{recovery_sha256}/veto");
    let mut cases: Vec<Case> = malformed("veto", &payload_of(&good), &admin.approval);
    let stranger = SecretKey::from_seed(&[99; 32]);
    let more: Vec<Case> = vec![
        ("another gate".to_owned(), text_of(&veto(|veto| veto.gate = elsewhere(), &admin.approval)), &["gate_wrong"]),
        (
            "the live environment".to_owned(),
            text_of(&veto(|veto| veto.environment = Environment::Live, &admin.approval)),
            &["environment_wrong"],
        ),
        ("a key that nobody enrolled".to_owned(), text_of(&veto(|_| {}, &stranger)), &["key_unknown"]),
        ("the device key".to_owned(), text_of(&veto(|_| {}, &admin.device)), &["key_use_wrong"]),
        ("no admin".to_owned(), text_of(&veto(|_| {}, &kim.approval)), &["role_not_held"]),
        (
            "another recovery".to_owned(),
            text_of(&veto(|veto| veto.recovery_sha256 = Digest::of(b"x"), &admin.approval)),
            &["recovery_not_waiting"],
        ),
    ];
    cases.extend(more);
    refused_and_recorded(&house, &mut log, &path, &cases).await;
    let other = format!("/v1/recoveries/{}/veto", Digest::of(b"x"));
    assert_eq!(send(&house.url, 100, &other, in_body(&text_of(&good))).await.code, "recovery_not_waiting");
    assert_eq!(send(&house.url, 101, "/v1/recoveries/nonsense/veto", in_body(&text_of(&good))).await.code, "not_found");
    assert_eq!(log.codes(RecordType::StatementRefused, 2).await, ["recovery_not_waiting", "not_found"]);
    // The genuine one counts once; a second time there is nothing that waits, and the record says so.
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let answered = client.post(format!("{}{path}", house.url)).body(in_body(&text_of(&good))).send().await.expect("an answer");
    assert_eq!(answered.status().as_u16(), 200);
    assert_eq!(send(&house.url, 102, &path, in_body(&text_of(&good))).await.code, "recovery_not_waiting");
    assert_eq!(log.codes(RecordType::StatementRefused, 1).await, ["recovery_not_waiting"]);
}

/// A mail whose answer was lost: the operation is its approvers' to tell of.
async fn lost_mail(house: &House, number: usize) -> OperationKey {
    let support = house.agent(if number == 0 { "support" } else { "support-two" }, &[]);
    house.inspector.order(Order::of(Tool::SendEmail).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let args = format!(r#"{{"body":"It ships on Monday.","subject":"Fan {number}","to":"bert@example.org"}}"#);
    let waiting = pending(&support, &call("send_email", &args, &format!("lost-{number}"))).await;
    house.admin.approve(request_of(&waiting), "support-lead").await.expect("it counts");
    support.outcome(&waiting.call, WAIT_S).await.expect("an outcome").operation.expect("an operation")
}

fn answer_body(envelope: &str, draft: &Draft) -> String {
    format!(
        r#"{{"envelope":{envelope},"evidence":{},"evidence_salt":"{}"}}"#,
        serde_json::to_string(&draft.evidence).expect("JSON"),
        draft.salt
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_answer_to_an_unknown_outcome_gets_its_own_code_and_a_record() {
    let two = "\n[[agent]]\nagent = \"support-two\"\ntools = [\"send_email\"]\ncallback_hosts = []\npending_max = 20\n";
    let house = House::open_with(|table| format!("{table}{two}"), &[]).await;
    let kim = house.person("Kim Example", &["billing-approver"], 21).await;
    let sue = house.person("Sue Example", &["support-lead"], 22).await;
    let (operation, other) = (lost_mail(&house, 0).await, lost_mail(&house, 1).await);
    let mut log = Log::follow(&house).await;
    let session = sue.new_session().await.expect("a session").session;
    let role = "support-lead";
    let draft = sue.answer(operation, Said::Happened, role).await.expect("a challenge");
    let good = draft.statement.sign(&sue.approval).expect("signed");
    let path = |operation: &str| format!("{}/v1/operations/{operation}/reconciliations", house.url);
    let twisted = |twist: &dyn Fn(&mut Draft), key: &SecretKey| {
        let mut other = draft.clone();
        twist(&mut other);
        text_of(&other.statement.sign(key).expect("signed"))
    };
    let mut cases: Vec<Case> = malformed("reconciliation", &payload_of(&good), &sue.approval);
    let of_other = house.admin.answer(other, Said::Happened, role).await.expect("a challenge");
    let stranger = SecretKey::from_seed(&[99; 32]);
    let name = |text: &str| Name::parse(text).expect("a name");
    let more: Vec<Case> = vec![
        ("another gate".to_owned(), twisted(&|d| d.statement.gate = elsewhere(), &sue.approval), &["gate_wrong"]),
        ("another gate's key".to_owned(), twisted(&|d| d.statement.gate_key_sha256 = Digest::of(b"x"), &sue.approval), &["gate_wrong"]),
        (
            "the live environment".to_owned(),
            twisted(&|d| d.statement.environment = Environment::Live, &sue.approval),
            &["environment_wrong"],
        ),
        ("another operation".to_owned(), twisted(&|d| d.statement.operation = other, &sue.approval), &["operation_wrong"]),
        ("another attempt".to_owned(), twisted(&|d| d.statement.attempt = 7, &sue.approval), &["operation_wrong"]),
        ("another request".to_owned(), twisted(&|d| d.statement.request = of_other.statement.request, &sue.approval), &["request_wrong"]),
        ("other bytes".to_owned(), twisted(&|d| d.statement.request_sha256 = Some(Digest::of(b"x")), &sue.approval), &["bytes_differ"]),
        ("another screen".to_owned(), twisted(&|d| d.statement.shown_sha256 = Some(Digest::of(b"x")), &sue.approval), &["shown_differs"]),
        ("another roster".to_owned(), twisted(&|d| d.statement.roster_sha256 = Digest::of(b"x"), &sue.approval), &["roster_stale"]),
        (
            "a made-up challenge".to_owned(),
            twisted(&|d| d.statement.challenge = Nonce::from_bytes([7; 32]), &sue.approval),
            &["challenge_invalid"],
        ),
        (
            "another's challenge".to_owned(),
            twisted(&|d| d.statement.challenge = of_other.statement.challenge, &sue.approval),
            &["challenge_invalid"],
        ),
        (
            "a role it does not hold".to_owned(),
            twisted(&|d| d.statement.role = name("billing-approver"), &sue.approval),
            &["role_not_needed"],
        ),
        ("another evidence".to_owned(), twisted(&|d| d.statement.evidence_sha256 = Digest::of(b"x"), &sue.approval), &["evidence_invalid"]),
        ("an amount for the whole".to_owned(), twisted(&|d| d.statement.amount_minor = Some(1), &sue.approval), &["amount_invalid"]),
        ("a note to what is open".to_owned(), twisted(&|d| d.statement.answer = Said::Note, &sue.approval), &["operation_state_wrong"]),
        (
            "longer than it may be valid".to_owned(),
            twisted(&|d| d.statement.expires_at = d.statement.issued_at.plus_s(301), &sue.approval),
            &["decision_expired"],
        ),
        ("another person".to_owned(), twisted(&|d| d.statement.approver = house.admin.person, &sue.approval), &["approver_wrong"]),
        ("the device key".to_owned(), twisted(&|d| d.statement.key_sha256 = sue.device.public().digest(), &sue.device), &["key_use_wrong"]),
        (
            "a key that nobody enrolled".to_owned(),
            twisted(&|d| d.statement.key_sha256 = stranger.public().digest(), &stranger),
            &["key_unknown"],
        ),
        ("a decision's type".to_owned(), signed("decision", &payload_of(&good), &sue.approval), &["envelope_type_wrong"]),
    ];
    cases.extend(more);
    let mut told = Vec::new();
    for (what, envelope, codes) in &cases {
        let answer = post(&path(&operation.to_string()), &session, answer_body(envelope, &draft)).await;
        let code = answer.code();
        assert!(codes.contains(&code.as_str()), "{what}: {code} {}", answer.text);
        told.push(code);
    }
    // To another operation, by somebody who may not see it, to one that nobody has, to what is no key.
    let sent = answer_body(&text_of(&good), &draft);
    told.push(post(&path(&other.to_string()), &session, sent.clone()).await.code());
    let foreign = kim.new_session().await.expect("a session").session;
    let mut answers = BTreeSet::new();
    for id in [operation.to_string(), Digest::of(b"nobody's").to_string(), "nonsense".to_owned(), "x".repeat(300)] {
        let answer = post(&path(&id), &foreign, sent.clone()).await;
        let problem = Problem { request_id: String::new(), ..answer.problem() };
        answers.insert((answer.status, serde_json::to_string(&problem).expect("JSON")));
        told.push(problem.code);
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    // The genuine one counts; again it gets its receipt; its challenge is used up; late is late.
    let receipt = sue.hand_in_answer(operation, &draft).await.expect("it counts");
    assert_eq!(sue.hand_in_answer(operation, &draft).await.expect("the same again"), receipt);
    let mut late = sue.answer(other, Said::Happened, role).await.expect("a challenge");
    late.statement.challenge = draft.statement.challenge;
    told.push(
        post(&path(&other.to_string()), &session, answer_body(&text_of(&late.statement.sign(&sue.approval).expect("signed")), &late))
            .await
            .code(),
    );
    let late = sue.answer(other, Said::Happened, role).await.expect("a challenge");
    house.order(&["passed_ms 300000"]);
    told.push(
        post(&path(&other.to_string()), &session, answer_body(&text_of(&late.statement.sign(&sue.approval).expect("signed")), &late))
            .await
            .code(),
    );
    // A key that was stopped answers nothing, although it was asked before.
    let stopped = house.admin.answer(other, Said::Happened, role).await.expect("a challenge");
    drop(stopped);
    let before = sue.answer(other, Said::Happened, role).await.expect("a challenge");
    sue.stop(sue.person, vec![sue.approval.public().digest()], &sue.device).await.expect("stopped");
    told.push(
        post(&path(&other.to_string()), &session, answer_body(&text_of(&before.statement.sign(&sue.approval).expect("signed")), &before))
            .await
            .code(),
    );
    let tail = &told[told.len() - 3..];
    assert_eq!(tail, ["challenge_invalid", "decision_expired", "key_stopped"], "{tail:?}");
    assert_eq!(log.codes(RecordType::ReconciliationRefused, told.len()).await, told);
    assert_eq!(house.count(Tool::SendEmail).await, 2, "nothing was sent again");
}

/// Kinds of decisions that stop, take back or prolong: by whom, on what, over which challenge.
#[tokio::test(flavor = "multi_thread")]
async fn every_bad_decision_that_takes_back_stops_or_prolongs_gets_its_own_code_and_a_record() {
    let two_of = |table: String| {
        let (before, row) = table.split_once("tool = \"refund\"\n").expect("the row");
        format!("{before}tool = \"refund\"\n{}", row.replacen("quorum = 1", "quorum = 2", 1))
    };
    let house = House::open_with(two_of, &[]).await;
    let role = "billing-approver";
    let bea = house.person("Bea Example", &[role], 21).await;
    let sue = house.person("Sue Example", &["support-lead"], 22).await;
    let billing = house.agent("billing", &[]);
    let first = request_of(&pending(&billing, &call("refund", &refund_args(1500), "first")).await);
    let second = request_of(&pending(&billing, &call("refund", &refund_args(1600), "second")).await);
    let session = bea.new_session().await.expect("a session").session;
    let path = format!("{}/v1/requests/{first}/decisions", house.url);
    let mut log = Log::follow(&house).await;
    let mut told = Vec::new();
    for kind in [DecisionKind::Retract, DecisionKind::MoreTime, DecisionKind::Revoke] {
        let statement = bea.statement(first, kind, role).await.expect("a statement");
        let good = statement.sign(&bea.approval).expect("signed");
        let mut cases: Vec<Case> = malformed("decision", &payload_of(&good), &bea.approval);
        let twisted = |twist: &dyn Fn(&mut vidimus_core::decision::DecisionStatement), key: &SecretKey| {
            let mut other = statement.clone();
            twist(&mut other);
            text_of(&other.sign(key).expect("signed"))
        };
        // What this kind does to a request that waits, or to one that this person has not approved, comes after who it is.
        let state = if kind == DecisionKind::Revoke { "request_not_approved" } else { "" };
        let or = |code: &'static str| if state.is_empty() { vec![code] } else { vec![code, "request_not_approved"] };
        let of_second = bea.statement(second, kind, role).await.expect("a statement");
        let named = |text: &str| Name::parse(text).expect("a name");
        let more: Vec<(String, String, Vec<&'static str>)> = vec![
            ("another gate".to_owned(), twisted(&|s| s.gate = elsewhere(), &bea.approval), vec!["gate_wrong"]),
            ("another environment".to_owned(), twisted(&|s| s.environment = Environment::Live, &bea.approval), vec!["environment_wrong"]),
            ("another request's".to_owned(), text_of(&of_second.sign(&bea.approval).expect("signed")), or("request_wrong")),
            ("another tool".to_owned(), twisted(&|s| s.tool = named("wire_transfer"), &bea.approval), or("tool_wrong")),
            ("other bytes".to_owned(), twisted(&|s| s.request_sha256 = Digest::of(b"x"), &bea.approval), or("bytes_differ")),
            ("another row".to_owned(), twisted(&|s| s.row_sha256 = Digest::of(b"x"), &bea.approval), or("row_stale")),
            ("another screen".to_owned(), twisted(&|s| s.shown_sha256 = Digest::of(b"x"), &bea.approval), or("shown_differs")),
            ("another roster".to_owned(), twisted(&|s| s.roster_sha256 = Digest::of(b"x"), &bea.approval), or("roster_stale")),
            (
                "a made-up challenge".to_owned(),
                twisted(&|s| s.challenge = Nonce::from_bytes([7; 32]), &bea.approval),
                or("challenge_invalid"),
            ),
            ("another's challenge".to_owned(), twisted(&|s| s.challenge = of_second.challenge, &bea.approval), or("challenge_invalid")),
            ("a role it does not need".to_owned(), twisted(&|s| s.role = named("support-lead"), &bea.approval), or("role_not_needed")),
            ("another person".to_owned(), twisted(&|s| s.approver = sue.person, &bea.approval), vec!["approver_wrong"]),
            ("the device key".to_owned(), twisted(&|s| s.key_sha256 = bea.device.public().digest(), &bea.device), vec!["key_use_wrong"]),
            ("too long".to_owned(), twisted(&|s| s.expires_at = s.issued_at.plus_s(301), &bea.approval), vec!["decision_expired"]),
        ];
        for (what, envelope, codes) in &more {
            let answer = post(&path, &session, in_body(envelope)).await;
            let code = answer.code();
            assert!(codes.contains(&code.as_str()), "{kind}, {what}: {code} {}", answer.text);
            told.push(code);
        }
        // A member less, a member more and the like are the same whatever is decided.
        cases.truncate(if kind == DecisionKind::Retract { usize::MAX } else { 3 });
        for (what, envelope, codes) in &cases {
            let code = post(&path, &session, in_body(envelope)).await.code();
            assert!(codes.contains(&code.as_str()), "{kind}, {what}: {code}");
            told.push(code);
        }
    }
    // Nothing of one's own to take back; then taken back once, and the same envelope is the same receipt.
    let early = bea.statement(first, DecisionKind::Retract, role).await.expect("a statement");
    told.push(post(&path, &session, in_body(&text_of(&early.sign(&bea.approval).expect("signed")))).await.code());
    bea.approve(first, role).await.expect("it counts");
    let retract = bea.statement(first, DecisionKind::Retract, role).await.expect("a statement");
    let receipt = bea.hand_in(first, &retract).await.expect("taken back");
    assert_eq!(bea.hand_in(first, &retract).await.expect("the same again"), receipt);
    // Its challenge is used up for every other decision.
    let mut replayed = bea.statement(first, DecisionKind::MoreTime, role).await.expect("a statement");
    (replayed.challenge, replayed.issued_at, replayed.expires_at) = (retract.challenge, retract.issued_at, retract.expires_at);
    told.push(post(&path, &session, in_body(&text_of(&replayed.sign(&bea.approval).expect("signed")))).await.code());
    // Too late by the gate's clock, and by a key that is stopped meanwhile.
    let late = bea.statement(first, DecisionKind::MoreTime, role).await.expect("a statement");
    house.order(&["passed_ms 300000"]);
    told.push(post(&path, &session, in_body(&text_of(&late.sign(&bea.approval).expect("signed")))).await.code());
    let stopped = bea.statement(first, DecisionKind::MoreTime, role).await.expect("a statement");
    bea.stop(bea.person, vec![bea.approval.public().digest()], &bea.device).await.expect("stopped");
    told.push(post(&path, &session, in_body(&text_of(&stopped.sign(&bea.approval).expect("signed")))).await.code());
    let tail = &told[told.len() - 4..];
    assert_eq!(tail, ["approval_missing", "challenge_replayed", "decision_expired", "key_stopped"], "{tail:?}");
    assert_eq!(log.codes(RecordType::DecisionRefused, told.len()).await, told);
    assert_eq!(house.effects().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_proposal_and_every_look_at_what_is_not_ones_own_gets_its_own_code_and_a_record() {
    let house = House::open().await;
    let kim = house.person("Kim Example", &["support-lead"], 21).await;
    let mut log = Log::follow(&house).await;
    let session = kim.new_session().await.expect("a session").session;
    let (roster, table) = (format!("{}/v1/roster/proposals", house.url), format!("{}/v1/table/proposals", house.url));
    let (own, nobody) = (kim.person.to_string(), "psn_00000000000000000000000000");
    let stranger = SecretKey::from_seed(&[97; 32]);
    let foreign = signed("enrolment", "{}", &stranger);
    let admin = house.admin.person;
    let cases: Vec<(&str, String, &[&str])> = vec![
        (&roster, String::new(), &["json_syntax"]),
        (&roster, "[]".to_owned(), &["field_malformed"]),
        (&roster, "{}".to_owned(), &["field_malformed"]),
        (&roster, format!(r#"{{"change":"promote","person":"{own}"}}"#), &["field_malformed"]),
        (&roster, format!(r#"{{"change":"remove","person":"{own}","person":"{own}"}}"#), &["json_duplicate_key"]),
        (&roster, r#"{"change":"remove"}"#.to_owned(), &["field_missing"]),
        (&roster, r#"{"change":"remove","person":"psn_0"}"#.to_owned(), &["id_malformed", "field_malformed"]),
        (&roster, format!(r#"{{"change":"remove","person":"{own}","why":"no"}}"#), &["field_unknown"]),
        (&roster, format!(r#"{{"change":"remove","person":"{nobody}"}}"#), &["roster_change_invalid"]),
        (&roster, format!(r#"{{"change":"remove","person":"{admin}"}}"#), &["last_admin"]),
        (&roster, format!(r#"{{"change":"set_roles","person":"{own}","roles":[]}}"#), &["roster_change_invalid"]),
        (&roster, format!(r#"{{"change":"set_roles","person":"{own}","roles":["everyone"]}}"#), &["roster_change_invalid"]),
        (&roster, format!(r#"{{"change":"set_roles","person":"{own}","roles":["No Role"]}}"#), &["name_malformed", "id_malformed"]),
        (&roster, format!(r#"{{"change":"add_keys","label":"second","approval":{foreign},"device":{foreign}}}"#), &["field_missing"]),
        (&roster, r#"{"change":"add_keys","label":"second","approval":{},"device":{}}"#.to_owned(), &["field_missing"]),
        (&table, String::new(), &["json_syntax"]),
        (&table, "{}".to_owned(), &["field_missing"]),
        (&table, r#"{"table":7}"#.to_owned(), &["field_malformed"]),
        (&table, r#"{"table":"[[row]]"}"#.to_owned(), &["table_faulty"]),
        (&table, r#"{"table":"","force":true}"#.to_owned(), &["field_unknown"]),
        (
            &table,
            serde_json::json!({ "table": house.admin.client().expect("a session").table().await.expect("a table").table }).to_string(),
            &["table_unchanged"],
        ),
    ];
    let mut told = Vec::new();
    for (path, body, codes) in &cases {
        let answer = post(path, &session, body.clone()).await;
        let code = answer.code();
        assert!(codes.contains(&code.as_str()), "{body}: {code} {}", answer.text);
        told.push(code);
    }
    assert_eq!(log.codes(RecordType::StatementRefused, told.len()).await, told);
    // Looks at an operation: another role's, nobody's, and what is none are one answer; one that waits for nobody is refused.
    let billing = house.agent("billing", &[]);
    let done = pending(&billing, &call("refund", &refund_args(1500), "done")).await;
    house.admin.approve(request_of(&done), "billing-approver").await.expect("it counts");
    let operation = billing.outcome(&done.call, WAIT_S).await.expect("an outcome").operation.expect("an operation");
    for (verb, expected) in [("opened", "operation_state_wrong"), ("status", "status_unavailable")] {
        let mut answers = BTreeSet::new();
        for id in [operation.to_string(), Digest::of(b"nobody's").to_string(), "nonsense".to_owned()] {
            let answer = post(&format!("{}/v1/operations/{id}/{verb}", house.url), &session, "").await;
            let problem = Problem { request_id: String::new(), ..answer.problem() };
            answers.insert((answer.status, serde_json::to_string(&problem).expect("JSON")));
        }
        assert_eq!(answers.len(), 1, "{verb}: {answers:#?}");
        let mine = house.admin.new_session().await.expect("a session").session;
        let answer = post(&format!("{}/v1/operations/{operation}/{verb}", house.url), &mine, "").await;
        assert_eq!(answer.code(), expected, "{verb}");
    }
    let seen = log.rest(&house).await;
    assert!(seen.iter().filter(|refused| refused.record_type == RecordType::ReconciliationRefused).count() >= 6, "{seen:#?}");
}
