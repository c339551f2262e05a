//! Decisions that must not count: each refused with its own code, recorded, nothing minted, nothing run.

mod house;

use house::{House, REFUND, json, request_of};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::{AgentClient, GateClient};
use vidimus_api::log::LogEvent;
use vidimus_api::request::{DecisionRequest, DenialKind};
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::checkpoint;
use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId, Name, PersonId, RequestId};
use vidimus_core::sign::SecretKey;
use vidimus_core::tree;
use vidimus_gate::limits::{REFUSAL_REFILL_S, REFUSALS_BURST_MAX};
use vidimus_tests::approver::{Approver, ApproverError, raw};
use vidimus_tests::company::Tool;

async fn pending(billing: &AgentClient, key: &str, amount: u32) -> CallAnswer {
    let args = REFUND.replace("8990", &amount.to_string());
    let call = CallRequest::new("refund", json(&args)).with_call_key(format!("{key:0>16}"));
    let answer = billing.call(&call, 0).await.expect("a pending call");
    assert_eq!(answer.status, CallStatus::Pending);
    answer
}

fn code(result: Result<vidimus_api::request::Receipt, ApproverError>) -> String {
    let error = result.expect_err("a refusal");
    error.code().unwrap_or_else(|| panic!("no problem document: {error}")).to_owned()
}

/// The log from its beginning, up to the first checkpoint at which `enough` holds.
async fn leaves(approver: &Approver, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut leaves = Vec::new();
    let read = async {
        let mut stream = approver.client().expect("a session").log_stream(0).await.expect("a stream");
        loop {
            match stream.next().await.expect("an event").expect("an open stream") {
                LogEvent::Record(record) => leaves.push(record.leaf),
                LogEvent::Checkpoint(_) if enough(&leaves) => return,
                LogEvent::Checkpoint(_) => {}
            }
        }
    };
    let in_time = tokio::time::timeout(house::WITHIN, read).await;
    assert!(in_time.is_ok(), "the log has only {leaves:#?}");
    leaves
}

fn refused(leaves: &[String]) -> usize {
    leaves.iter().filter(|leaf| leaf.contains(r#""type":"decision_refused""#)).count()
}

type Change = fn(&mut DecisionStatement);

/// The signature with the order of the group added to its second half.
fn plus_order(mut signature: [u8; 64]) -> [u8; 64] {
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0x10,
    ];
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    signature
}

/// A changed member of an honest statement, signed by the right key, and the code that it gets.
const FORGED: &[(&str, Change, &str)] = &[
    ("another gate", |s| s.gate = GateId::of(&SecretKey::from_seed(&[9; 32]).public()), "gate_wrong"),
    ("another gate's key", |s| s.gate_key_sha256 = Digest::of(b"x"), "gate_wrong"),
    ("the other environment", |s| s.environment = Environment::Live, "environment_wrong"),
    ("another request", |s| s.request = RequestId::from_random([7; 16]), "request_wrong"),
    ("other bytes", |s| s.request_sha256 = Digest::of(b"x"), "bytes_differ"),
    ("other arguments", |s| s.args_sha256 = Digest::of(b"x"), "bytes_differ"),
    ("another tool", |s| s.tool = Name::parse("wire_transfer").expect("a name"), "tool_wrong"),
    ("another approver", |s| s.approver = PersonId::from_random([7; 16]), "approver_wrong"),
    ("a key that nobody has", |s| s.key_sha256 = Digest::of(b"x"), "key_unknown"),
    ("a role that is not held", |s| s.role = Name::parse("treasury").expect("a name"), "role_not_needed"),
    ("a role that is not needed", |s| s.role = Name::parse("support-lead").expect("a name"), "role_not_needed"),
    ("another row", |s| s.row_sha256 = Digest::of(b"x"), "row_stale"),
    ("another roster", |s| s.roster_sha256 = Digest::of(b"x"), "roster_stale"),
    ("other nodes on the screen", |s| s.shown_sha256 = Digest::of(b"x"), "shown_differs"),
    ("an invented challenge", |s| s.challenge = Nonce::from_bytes([7; 32]), "challenge_invalid"),
    ("an invented time", |s| s.issued_at = s.issued_at.plus_ms(1), "challenge_invalid"),
    ("a long life", |s| s.expires_at = s.issued_at.plus_s(301), "decision_expired"),
    ("no life", |s| s.expires_at = s.issued_at, "decision_expired"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_member_is_refused_with_its_own_code() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let call = pending(&billing, "forged", 8990).await;
    for (what, change, expected) in FORGED {
        let mut statement = admin.statement(request_of(&call), DecisionKind::Approve, "billing-approver").await.expect("a statement");
        change(&mut statement);
        let found = code(admin.hand_in(request_of(&call), &statement).await);
        assert_eq!(found, *expected, "{what}");
        assert_eq!(billing.outcome(&call.call, 0).await.expect("an outcome").status, CallStatus::Pending, "{what}");
    }
    let leaves = leaves(&admin, |leaves| refused(leaves) >= FORGED.len()).await;
    assert_eq!(refused(&leaves), FORGED.len());
    assert!(!leaves.iter().any(|leaf| leaf.contains(r#""type":"token_minted""#)));
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_counts_only_by_the_right_key_over_these_bytes() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let call = pending(&billing, "signature", 8990).await;
    let request = request_of(&call);
    let statement = admin.statement(request, DecisionKind::Approve, "billing-approver").await.expect("a statement");

    let stranger = statement.sign(&SecretKey::from_seed(&[9; 32])).expect("signed");
    assert!(["envelope_key_wrong", "signature_invalid"].contains(&code(admin.hand_in_envelope(request, &stranger).await).as_str()));
    let mut by_device = statement.clone();
    by_device.key_sha256 = admin.device.public().digest();
    let by_device = by_device.sign(&admin.device).expect("signed");
    assert_eq!(code(admin.hand_in_envelope(request, &by_device).await), "key_use_wrong");

    // One bit of the signature, and a payload under another's signature.
    let good = raw(&statement.sign(&admin.approval).expect("signed")).expect("an envelope");
    let envelope = Envelope::parse(good.get().as_bytes()).expect("an envelope");
    let mut signature = *envelope.signature().as_bytes();
    signature[63] ^= 1;
    let broken = vidimus_core::sign::Signature::from_bytes(signature).to_base64();
    // S plus the order of the group: the same equation, another text.
    let malleable = vidimus_core::sign::Signature::from_bytes(plus_order(*envelope.signature().as_bytes())).to_base64();
    let malleable = good.get().replace(&envelope.signature().to_base64(), &malleable);
    let empty = good.get().replace(&envelope.signature().to_base64(), "");
    let flipped = good.get().replace(&envelope.signature().to_base64(), &broken);
    for hostile in
        [flipped, malleable, empty, good.get().replace("\"sig\":\"", "\"sig\":\"="), good.get().replace("decision.v1", "session.v1")]
    {
        let body = DecisionRequest { envelope: json(&hostile), reason: None, reason_salt: None, context: None, denial: None };
        let refused = house::code_of(admin.client().expect("a session").decide(&request, &body).await);
        let known = ["signature_invalid", "signature_malformed", "envelope_malformed", "envelope_type_wrong", "base64_malformed"];
        assert!(known.contains(&refused.as_str()), "{refused}");
    }
    assert_eq!(billing.outcome(&call.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    // The untouched statement still counts: a bad try burns nothing.
    admin.hand_in(request, &statement).await.expect("it counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_is_used_once_and_only_for_its_request() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let first = pending(&billing, "one", 100).await;
    let second = pending(&billing, "two", 200).await;

    // A statement of one request, sent for another.
    let statement = admin.statement(request_of(&first), DecisionKind::Approve, "billing-approver").await.expect("a statement");
    assert_eq!(code(admin.hand_in(request_of(&second), &statement).await), "request_wrong");
    // A challenge of one request, in a statement of another.
    let mut borrowed = admin.statement(request_of(&second), DecisionKind::Approve, "billing-approver").await.expect("a statement");
    borrowed.challenge = statement.challenge;
    borrowed.issued_at = statement.issued_at;
    borrowed.expires_at = statement.expires_at;
    assert_eq!(code(admin.hand_in(request_of(&second), &borrowed).await), "challenge_invalid");

    let receipt = admin.hand_in(request_of(&first), &statement).await.expect("it counts");
    // The same envelope again: the same receipt, no second effect.
    let again = admin.hand_in(request_of(&first), &statement).await.expect("the stored receipt");
    assert_eq!(again, receipt);
    // Its challenge under other words: too late anyway, and said so.
    let mut replayed = statement.clone();
    replayed.decision = DecisionKind::Deny;
    let late = code(admin.hand_in(request_of(&first), &replayed).await);
    assert!(["request_already_decided", "challenge_replayed"].contains(&late.as_str()), "{late}");
    let executed = billing.outcome(&first.call, 20).await.expect("an outcome");
    assert_eq!(executed.status, CallStatus::Executed);
    assert_eq!(billing.outcome(&second.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 1);

    // The receipt proves that the decision is in the signed log.
    let verified = checkpoint::parse_verify(&receipt.checkpoint, &admin.gate_id.to_string(), &admin.log_key).expect("a checkpoint");
    let head = verified.checkpoint();
    let leaf = tree::leaf_hash(receipt.leaf.as_bytes());
    tree::verify_inclusion(&leaf, receipt.position, head.size(), &receipt.proof, head.root()).expect("included");
    assert!(receipt.leaf.contains(&statement.request.to_string()) && receipt.leaf.contains("decision_recorded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_go_to_the_call_that_they_are_about_in_either_order() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    for (round, approve_first) in [(0, false), (1, true)] {
        let small = pending(&billing, &format!("small{round}"), 1500 + round).await;
        let large = pending(&billing, &format!("large{round}"), 90_000 + round).await;
        if approve_first {
            admin.approve(request_of(&small), "billing-approver").await.expect("it counts");
        }
        admin.deny(request_of(&large), "billing-approver", DenialKind::NotExpected, "").await.expect("it counts");
        if !approve_first {
            admin.approve(request_of(&small), "billing-approver").await.expect("it counts");
        }
        assert_eq!(billing.outcome(&small.call, 20).await.expect("an outcome").status, CallStatus::Executed);
        assert_eq!(billing.outcome(&large.call, 20).await.expect("an outcome").status, CallStatus::Denied);
    }
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.len(), 2);
    assert!(effects.iter().all(|effect| effect.args.contains("\"amount_minor\":150")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_the_person_does_not_hold_sees_and_decides_nothing() {
    let house = House::open().await;
    let admin = house.admin().await;
    let support = house.person(&admin, "Sue Pretend", &["support-lead"], 3).await;
    let billing = house.agent("billing", &[]);
    let call = pending(&billing, "role", 8990).await;
    let request = request_of(&call);
    // Absent and foreign are the same answer.
    let client = support.client().expect("a session");
    let unknown = RequestId::from_random([3; 16]);
    assert_eq!(house::code_of(client.request_detail(&request).await), "not_found");
    assert_eq!(house::code_of(client.request_detail(&unknown).await), "not_found");
    let session = support.new_session().await.expect("a session").session;
    for guess in ["a1", "a9", "..", "%00", "req_"] {
        let url = format!("{}/v1/requests/{guess}", house.url);
        let asked = reqwest::Client::builder().no_proxy().build().expect("a client").get(url).bearer_auth(&session);
        assert_eq!(asked.send().await.expect("an answer").status(), 404, "{guess}");
    }
    assert!(client.requests(None).await.expect("a list").requests.iter().all(|row| row.request != request));
    // Through somebody else's session, the signature of a person without the role still does not count.
    let mut statement = admin.statement(request, DecisionKind::Approve, "billing-approver").await.expect("a statement");
    statement.approver = support.person;
    statement.key_sha256 = support.approval.public().digest();
    let envelope = statement.sign(&support.approval).expect("signed");
    let found = code(admin.hand_in_envelope(request, &envelope).await);
    assert!(["role_not_held", "challenge_invalid"].contains(&found.as_str()), "{found}");
    assert_eq!(billing.outcome(&call.call, 0).await.expect("an outcome").status, CallStatus::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_on_their_own_request() {
    let house = House::open().await;
    let admin = house.admin().await;
    // The admin answers for a parent agent; its sub-agent asks.
    let owner = admin.person.to_string();
    house.credential("support", &["--owner", &owner]);
    let billing = house.agent("billing", &["--parent", "support"]);
    // With nobody else to decide, it is said at once instead of waiting for ever.
    let alone = CallRequest::new("refund", json(REFUND));
    assert_eq!(house::code_of(billing.call(&alone, 0).await), "no_eligible_approver");
    let bert = house.person(&admin, "Bert Beispiel", &["billing-approver"], 2).await;
    let call = pending(&billing, "own", 8990).await;
    assert_eq!(code(admin.approve(request_of(&call), "billing-approver").await), "self_approval");
    assert_eq!(billing.outcome(&call.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    // Somebody else may.
    bert.approve(request_of(&call), "billing-approver").await.expect("it counts");
    assert_eq!(billing.outcome(&call.call, 20).await.expect("an outcome").status, CallStatus::Executed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_and_a_denial_at_once_have_one_winner() {
    let house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let mut approved = 0;
    for round in 0..20 {
        let call = pending(&billing, &format!("race{round}"), 1000 + round).await;
        let request = request_of(&call);
        let yes = admin.statement(request, DecisionKind::Approve, "billing-approver").await.expect("a statement");
        let (yes, no) = tokio::join!(admin.hand_in(request, &yes), admin.deny(request, "billing-approver", DenialKind::Other, "no"));
        assert!(yes.is_ok() != no.is_ok(), "round {round}: one winner");
        let loser = yes.as_ref().err().or(no.as_ref().err()).and_then(ApproverError::code);
        assert_eq!(loser, Some("request_already_decided"));
        let outcome = billing.outcome(&call.call, 20).await.expect("an outcome");
        let expected = if yes.is_ok() { CallStatus::Executed } else { CallStatus::Denied };
        assert_eq!(outcome.status, expected, "round {round}");
        approved += usize::from(yes.is_ok());
    }
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), approved);
}

#[tokio::test(flavor = "multi_thread")]
async fn enrolment_and_sessions_refuse_what_is_not_proven() {
    let house = House::open().await;
    let gate = GateClient::new(&house.url).expect("a client");
    let wrong = vidimus_api::enrolment::OfferRequest { code: Nonce::from_bytes([1; 32]) };
    assert_eq!(house::code_of(gate.offer(&wrong).await), "invite_invalid");
    let mut admin = house.admin().await;
    // The invite was used.
    let again = Approver::enrol(&house.url, &house.invite, 4).await.err().and_then(|error| error.code().map(str::to_owned));
    assert_eq!(again.as_deref(), Some("invite_invalid"));
    // Sessions: another key, the approval key, a stranger's.
    admin.device = SecretKey::from_seed(&[9; 32]);
    let unknown = admin.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
    assert_eq!(unknown.as_deref(), Some("key_unknown"));
    admin.device = SecretKey::from_seed(&[1; 32]);
    let wrong_use = admin.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
    assert_eq!(wrong_use.as_deref(), Some("key_use_wrong"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_expired_stays_so() {
    let table = |table: String| {
        table.replace("request_ttl_s = 1800", "request_ttl_s = 1").replace("request_ttl_max_s = 7200", "request_ttl_max_s = 2")
    };
    let house = House::open_with(table).await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let call = pending(&billing, "expiry", 8990).await;
    let statement = admin.statement(request_of(&call), DecisionKind::Approve, "billing-approver").await.expect("a statement");
    let expired = billing.outcome(&call.call, 20).await.expect("an outcome");
    assert_eq!(expired.status, CallStatus::Expired);
    let late = code(admin.hand_in(request_of(&call), &statement).await);
    assert_eq!(late, "request_expired");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    // The same call asks anew, and the new card names the earlier one.
    let anew =
        billing.call(&CallRequest::new("refund", json(REFUND)).with_call_key(format!("{:0>16}", "expiry")), 0).await.expect("a call");
    assert_ne!(anew.request, call.request);
    assert_eq!(anew.earlier, vec![request_of(&call)]);
}

/// The status line and the body of what a session's request with this body gets.
async fn posted(house: &House, bearer: &str, path: &str, body: &str) -> String {
    let address = house.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {bearer}\r\nconnection: close\r\n");
    let sent = format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(sent.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_leaves_so_many_refusals_on_record_and_decides_all_the_same() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let reader = house.person(&admin, "Rae Example", &["reader"], 9).await;
    let billing = house.agent("billing", &[]);
    let call = pending(&billing, "flood", 8990).await;
    // What is not theirs answers as if it were not there, whatever is wrong with what they send.
    let bearer = reader.new_session().await.expect("a session").session;
    let foreign = [format!("/v1/requests/{}/decisions", request_of(&call)), format!("/v1/operations/{}/reconciliations", "0".repeat(64))];
    for path in foreign {
        let answer = posted(&house, &bearer, &path, r#"{"x":1}"#).await;
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("not_found"), "{path}: {answer}");
    }
    let began = std::time::Instant::now();
    let mut statement = admin.statement(request_of(&call), DecisionKind::Approve, "billing-approver").await.expect("a statement");
    statement.tool = Name::parse("wire_transfer").expect("a name");
    for _ in 0..REFUSALS_BURST_MAX + 50 {
        assert_eq!(code(admin.hand_in(request_of(&call), &statement).await), "tool_wrong", "told, on record or not");
    }
    let denied = admin.deny(request_of(&call), "billing-approver", DenialKind::Other, "not what was agreed").await.expect("it counts");
    let all = leaves(&admin, |leaves| leaves.iter().any(|leaf| leaf.contains(r#""decision":"deny""#))).await;
    let again = usize::try_from(began.elapsed().as_secs() / REFUSAL_REFILL_S + 1).expect("small");
    let most = usize::try_from(REFUSALS_BURST_MAX).expect("small");
    // One of them is the reader's.
    let kept = refused(&all) - 1;
    assert!((most..=most + again).contains(&kept), "{kept}");
    assert_eq!(denied.state, vidimus_core::request::RequestState::Denied);
    // The others are counted, and their number is on record at the end.
    house.end();
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    let counted = |leaves: &[String]| leaves.iter().filter(|leaf| leaf.contains("person_rate_limited")).count();
    let all = leaves(&admin, |leaves| counted(leaves) > 0).await;
    assert!((1..=2).contains(&counted(&all)), "{} records of what was counted", counted(&all));
}
