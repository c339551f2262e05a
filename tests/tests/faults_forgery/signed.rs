//! Envelopes that look like an approval and are none, through the session of a person who may decide.

use vidimus_api::call::CallStatus;
use vidimus_core::bytes::{Digest, base64_encode, base64url_encode};
use vidimus_core::decision::{DECISION_TYPE, DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::{ENROLMENT_TYPE, GENESIS_TYPE, SESSION_TYPE};
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::wire::{decision_body, envelope_body, post, signed_body};
use crate::faults::{House, WAIT_S, call, pending, refund_args, request_of};

pub fn payload_of(envelope: &Envelope) -> String {
    String::from_utf8(envelope.danger_unverified_payload().to_vec()).expect("text")
}

/// The envelope's body with its signature written otherwise.
fn with_signature(envelope: &Envelope, signature: &str) -> String {
    let payload = base64_encode(envelope.danger_unverified_payload());
    envelope_body(&payload, DECISION_TYPE, &envelope.key_digest().to_string(), signature)
}

/// The order of the group, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0x10,
];

/// The same signature to a lax reader: S and the order of the group.
fn malleable(signature: &[u8; 64]) -> [u8; 64] {
    let mut changed = *signature;
    let mut carry = 0;
    for (byte, order) in changed[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    changed
}

/// Encodings of the neutral element and of other points of low order, with S = 0: good for every message to a lax reader.
pub fn small_order() -> Vec<[u8; 64]> {
    let mut points = vec![[0_u8; 32]; 4];
    points[0][0] = 1;
    points[1] = [0xff; 32];
    points[1][0] = 0xec;
    points[1][31] = 0x7f;
    points[3][31] = 0x80;
    points
        .into_iter()
        .map(|point| {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&point);
            signature
        })
        .collect()
}

/// What was tried, the body, the codes that it may get.
type Forgery = (String, String, &'static [&'static str]);

const SIGNATURE: &[&str] = &["signature_invalid"];
const SPELLING: &[&str] = &["signature_malformed", "base64_malformed"];

/// Approvals by keys that are not the approver's, or not for this.
fn by_other_keys(approver: &Approver, statement: &DecisionStatement) -> Vec<Forgery> {
    let good = statement.sign(&approver.approval).expect("signed");
    let stranger = SecretKey::from_seed(&[66; 32]);
    let by = |key: &SecretKey| statement.sign(key).expect("signed");
    let named = |key_sha256: Digest, signer: &SecretKey| {
        let statement = DecisionStatement { key_sha256, ..statement.clone() };
        decision_body(&statement.sign(signer).expect("signed"))
    };
    let borrowed = with_signature(&good, &by(&stranger).signature().to_base64());
    let cases: [(&str, String, &[&str]); 6] = [
        ("a stranger's key", decision_body(&by(&stranger)), &["envelope_key_wrong"]),
        ("a stranger's key, named so", named(stranger.public().digest(), &stranger), &["key_unknown"]),
        ("a stranger's signature under the approver's name", borrowed, SIGNATURE),
        ("the device key", decision_body(&by(&approver.device)), &["envelope_key_wrong"]),
        ("the device key, named so", named(approver.device.public().digest(), &approver.device), &["key_use_wrong"]),
        ("the gate's own key, named", named(approver.log_key.digest(), &approver.approval), &["key_unknown"]),
    ];
    cases.map(|(what, body, codes)| (what.to_owned(), body, codes)).into()
}

/// Good signatures of the right key, over something else.
fn over_other_bytes(approver: &Approver, statement: &DecisionStatement, other: &DecisionStatement) -> Vec<Forgery> {
    let good = statement.sign(&approver.approval).expect("signed");
    let elsewhere = other.sign(&approver.approval).expect("signed");
    let payload = payload_of(&good);
    let of_type = |payload_type: &str| signed_body(payload_type, payload.as_bytes(), &approver.approval);
    let changed = |from: &str, to: &str| {
        assert!(payload.contains(from), "{from}");
        signed_body(DECISION_TYPE, payload.replacen(from, to, 1).as_bytes(), &approver.approval)
    };
    let cases: [(&str, String, &[&str]); 13] = [
        ("a good signature of another request", decision_body(&elsewhere), &["request_wrong"]),
        ("the signature of another request", with_signature(&good, &elsewhere.signature().to_base64()), SIGNATURE),
        ("signed as a session", of_type(SESSION_TYPE), &["envelope_type_wrong"]),
        ("signed as an enrolment", of_type(ENROLMENT_TYPE), &["envelope_type_wrong"]),
        ("signed as a genesis", of_type(GENESIS_TYPE), &["envelope_type_wrong"]),
        ("signed as a session, sent as a decision", of_type(SESSION_TYPE).replace(SESSION_TYPE, DECISION_TYPE), SIGNATURE),
        ("not canonical: a space", changed("{", "{ "), &["not_canonical"]),
        ("not canonical: an escape", changed("approve", "\\u0061pprove"), &["not_canonical"]),
        ("a member twice", changed("{", r#"{"app_version":"x","#), &["json_duplicate_key"]),
        ("a member more", changed(r#","approver""#, r#","approved":true,"approver""#), &["field_unknown"]),
        ("another version", changed(r#""v":1"#, r#""v":2"#), &["field_malformed"]),
        ("no payload", signed_body(DECISION_TYPE, b"", &approver.approval), &["json_syntax"]),
        ("an empty object", signed_body(DECISION_TYPE, b"{}", &approver.approval), &["field_missing"]),
    ];
    cases.map(|(what, body, codes)| (what.to_owned(), body, codes)).into()
}

/// The right statement by the right key, with its signature changed, or written as a lax reader would take it too.
fn spelt_otherwise(approver: &Approver, statement: &DecisionStatement) -> Vec<Forgery> {
    let good = statement.sign(&approver.approval).expect("signed");
    let bytes = *good.signature().as_bytes();
    let mut found: Vec<Forgery> = Vec::new();
    let mut add = |what: &str, body: String, codes: &'static [&'static str]| found.push((what.to_owned(), body, codes));
    for at in [0, 31, 32, 62, 63] {
        let mut flipped = bytes;
        flipped[at] ^= 1;
        add(&format!("byte {at} flipped"), with_signature(&good, &base64_encode(flipped)), SIGNATURE);
    }
    add("S beyond the order", with_signature(&good, &base64_encode(malleable(&bytes))), SIGNATURE);
    for (index, signature) in small_order().into_iter().enumerate() {
        add(&format!("small order {index}"), with_signature(&good, &base64_encode(signature)), SIGNATURE);
    }
    let text = good.signature().to_base64();
    let unpadded = text.trim_end_matches('=').to_owned();
    assert!(text.ends_with("=="), "64 bytes");
    // The last digit carries four bits that belong to no byte.
    let (begin, last) = unpadded.split_at(unpadded.len() - 1);
    let trailing = char::from(last.as_bytes()[0] + 1);
    let spellings = [
        ("empty", String::new()),
        ("without padding", unpadded.clone()),
        ("padded once", format!("{unpadded}=")),
        ("padded thrice", format!("{text}=")),
        ("bits after the end", format!("{begin}{trailing}==")),
        ("a space before", format!(" {text}")),
        ("a line break within", format!("{}\\n{}", &text[..40], &text[40..])),
        ("hexadecimal", bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ("one byte short", base64_encode(&bytes[..63])),
        ("one byte long", base64_encode([bytes.as_slice(), &[0]].concat())),
    ];
    for (what, signature) in spellings {
        add(what, with_signature(&good, &signature), SPELLING);
    }
    // The other alphabet is another text only where one of its two digits occurs.
    let other_alphabet = format!("{}==", base64url_encode(bytes));
    if other_alphabet != text {
        add("base64url", with_signature(&good, &other_alphabet), SPELLING);
    }
    let (key, payload) = (good.key_digest().to_string(), payload_of(&good));
    let encoded = base64_encode(payload.as_bytes());
    let stranger = SecretKey::from_seed(&[66; 32]).public().digest().to_string();
    add("keyid in capitals", envelope_body(&encoded, DECISION_TYPE, &key.to_uppercase(), &text), &["digest_malformed"]);
    add("no keyid", envelope_body(&encoded, DECISION_TYPE, "", &text), &["digest_malformed"]);
    add("another keyid", envelope_body(&encoded, DECISION_TYPE, &stranger, &text), &["envelope_key_wrong"]);
    add("payload spaced", envelope_body(&format!("{encoded} "), DECISION_TYPE, &key, &text), &["base64_malformed"]);
    add("payload in clear", format!(r#"{{"envelope":{payload}}}"#), &["json_too_many_nodes"]);
    found
}

/// Through the session of a person who may decide, since the agent has none: still no forgery counts, and each is on record.
#[tokio::test(flavor = "multi_thread")]
async fn no_forged_approval_counts_even_through_an_approvers_own_session() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "forged")).await;
    let other = pending(&billing, &call("refund", &refund_args(1501), "honest")).await;
    let request = request_of(&waiting);
    let statement = house.admin.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    let elsewhere = house.admin.statement(request_of(&other), DecisionKind::Approve, ROLE).await.expect("a statement");
    let forgeries = [
        by_other_keys(&house.admin, &statement),
        over_other_bytes(&house.admin, &statement, &elsewhere),
        spelt_otherwise(&house.admin, &statement),
    ]
    .concat();
    assert!(forgeries.len() > 40);
    let url = format!("{}/v1/requests/{request}/decisions", house.url);
    let mut told = Vec::new();
    for (what, body, codes) in &forgeries {
        let answer = post(&url, &session, body.as_bytes()).await;
        assert!(answer.is_client_error(), "{what}: {} {}", answer.status, answer.text);
        let code = answer.code();
        assert!(codes.contains(&code.as_str()), "{what}: {code}");
        told.push(code);
    }
    let found = log.refusals(told.len()).await;
    assert!(found.iter().all(|refused| refused.record_type == RecordType::DecisionRefused && refused.request == Some(request)));
    assert_eq!(found.into_iter().map(|refused| refused.code).collect::<Vec<_>>(), told);
    assert_eq!(house.detail(request).await.state, RequestState::Pending);
    assert_eq!(house.effects().await, 0);
    assert_eq!(log.of(RecordType::TokenMinted).count(), 0);
    // Forty forgeries have burnt nothing of the honest one.
    house.admin.hand_in(request, &statement).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 1);
}
