//! Readers of bodies, invites and streams, on generated and mutated bytes. Each runs for seconds as a test, and for as long
//! as one likes with `cargo bolero test`.

use std::time::Duration;

use bolero::check;
use vidimus_api::call::CallRequest;
use vidimus_api::client::StreamParser;
use vidimus_api::enrolment::{EnrolmentRequest, OfferRequest};
use vidimus_api::invite::{Invite, InviteKind};
use vidimus_api::request::{ChallengeRequest, DecisionRequest};
use vidimus_api::session::{SessionChallengeRequest, SessionRequest};
use vidimus_core::bytes::Nonce;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::json::{Limits, parse};
use vidimus_core::sign::SecretKey;
use vidimus_core::time::Timestamp;

const TEST_TIME: Duration = Duration::from_secs(2);

const CALL: &[u8] = br#"{"tool":"refund","args":{"invoice":"invoice_842","amount_minor":1500},"call_key":"ticket-1-refund-0001","says":"broken","run":null}"#;
const DECISION: &[u8] = br#"{"envelope":{"payload":"e30=","payloadType":"x","signatures":[{"keyid":"","sig":""}]},"reason":null,"denial":{"kind":"other","note":"no"}}"#;
const STREAM: &[u8] =
    b": hello\n\nevent: record\nid: 7\ndata: {\"position\":7,\"leaf\":\"{}\",\"salt\":null,\"body\":null}\n\nevent: checkpoint\ndata: {\"note\":\"n\"}\n\n";

/// Bytes that are a small change of valid ones: two bytes replaced, and the end perhaps cut.
fn changed(valid: &[u8], change: (u16, u8, u16, u8, u16)) -> Vec<u8> {
    let (first_at, first, second_at, second, length) = change;
    let mut bytes = valid.to_vec();
    for (at, byte) in [(first_at, first), (second_at, second)] {
        let at = usize::from(at) % bytes.len();
        bytes[at] = byte;
    }
    bytes.truncate(bytes.len().min(usize::from(length)));
    bytes
}

/// A body that is taken is one document for every reader, and its arguments are those that our parser sees.
fn invariant_a_call_is_what_our_parser_reads(body: &[u8]) {
    let Ok(call) = CallRequest::parse(body) else { return };
    // Wider than any rule of the body's: whether the arguments keep to theirs is judged when they are routed.
    let wide = Limits { bytes: body.len(), depth: usize::MAX, nodes: usize::MAX, ..Limits::CALL };
    let whole = parse(body, &wide).expect("a taken body is a document");
    let args = parse(call.args.get().as_bytes(), &wide).expect("the arguments are one");
    assert_eq!(whole.member("args"), Some(&args));
    assert_eq!(whole.member("tool").and_then(|tool| tool.as_str()), Some(call.tool.as_str()));
}

#[test]
fn bodies_are_read_or_refused() {
    check!().with_type::<Vec<u8>>().with_test_time(TEST_TIME).for_each(|body| {
        invariant_a_call_is_what_our_parser_reads(body);
        let _ = (OfferRequest::parse(body), EnrolmentRequest::parse(body), ChallengeRequest::parse(body), DecisionRequest::parse(body));
        let _ = (SessionChallengeRequest::parse(body), SessionRequest::parse(body));
    });
}

#[test]
fn changed_bodies_are_read_or_refused() {
    assert!(CallRequest::parse(CALL).is_ok() && DecisionRequest::parse(DECISION).is_ok());
    check!().with_type::<(u16, u8, u16, u8, u16)>().with_test_time(TEST_TIME).for_each(|change| {
        invariant_a_call_is_what_our_parser_reads(&changed(CALL, *change));
        let _ = DecisionRequest::parse(&changed(DECISION, *change));
    });
}

#[test]
fn changed_invites_are_the_same_invite_or_refused() {
    let log_key = SecretKey::from_seed(&[1; 32]).public();
    let invite = Invite {
        url: "http://127.0.0.1:1".to_owned(),
        gate: GateId::of(&log_key),
        environment: Environment::Test,
        log_key,
        code: Nonce::from_bytes([2; 32]),
        kind: InviteKind::Genesis,
        person: None,
        name: "Ada Example".to_owned(),
        roles: vec!["admin".to_owned()],
        expires_at: Timestamp::MIN.plus_s(60),
    };
    let line = invite.to_line().expect("an invite is text");
    check!().with_type::<(u16, u8, u16, u8, u16)>().with_test_time(TEST_TIME).for_each(|change| {
        let bytes = changed(line.as_bytes(), *change);
        if let Some(read) = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<Invite>().ok()) {
            // One invite has one line.
            assert_eq!(read.to_line().expect("text").as_bytes(), bytes.trim_ascii());
        }
    });
}

#[test]
fn changed_streams_are_read_the_same_however_they_are_cut() {
    check!().with_type::<((u16, u8, u16, u8, u16), u16)>().with_test_time(TEST_TIME).for_each(|(change, cut)| {
        let bytes = changed(STREAM, *change);
        let whole = StreamParser::new().push(&bytes);
        let cut = usize::from(*cut) % (bytes.len() + 1);
        let mut parser = StreamParser::new();
        let parts = parser.push(&bytes[..cut]).and_then(|mut events| {
            events.extend(parser.push(&bytes[cut..])?);
            Ok(events)
        });
        assert_eq!(whole, parts);
    });
}
