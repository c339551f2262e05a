//! A document that two readers read differently.

use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_core::record::RecordType;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::wire::{Answer, post};
use crate::faults::{House, call, pending, refund_args, request_of};

/// The spellings of one member name that a second parser may read as another.
const TWINS: &[(&str, &str)] = &[
    ("plain", r#"{"amount_minor":1,"amount_minor":90000,"currency":"EUR"}"#),
    ("escaped", r#"{"amount_minor":1,"amount\u005fminor":90000}"#),
    ("escaped in capitals", r#"{"amount_minor":1,"amount\u005Fminor":90000}"#),
    ("escaped first letter", r#"{"\u0061mount_minor":1,"amount_minor":90000}"#),
    ("both escaped", r#"{"\u0061mount_minor":1,"amount_mino\u0072":90000}"#),
    ("nested", r#"{"payee":{"iban":"A","iban":"B"}}"#),
    ("in a list", r#"{"payees":[{"iban":"A"},{"iban":"A","iban":"B"}]}"#),
    ("deep", r#"{"a":{"b":{"c":[[[{"d":1,"\u0064":2}]]]}}}"#),
    ("a slash", r#"{"a/b":1,"a\/b":2}"#),
    ("a pair of surrogates", "{\"😀\":1,\"\\ud83d\\ude00\":2}"),
    ("an empty name", r#"{"":1,"":2}"#),
    ("equal values", r#"{"amount_minor":1,"amount_minor":1}"#),
    ("a prototype", r#"{"__proto__":{"a":1},"__proto__":{"a":2}}"#),
    ("a tab", "{\"a\\t\":1,\"a\\u0009\":2}"),
];

/// Two values under one name are refused wherever they stand: money, writes, reads, and the documents around them.
#[tokio::test(flavor = "multi_thread")]
async fn two_values_under_one_name_are_refused_everywhere_and_freeze_nothing() {
    let house = House::open().await;
    let (billing, support) = (house.credential("billing", &[]), house.credential("support", &[]));
    let session = house.admin.new_session().await.expect("a session").session;
    // Of a request that is not theirs to see, people learn nothing, not even that their document is malformed.
    let approver = house.person("Dan Example", &[ROLE], 41).await;
    let approving = approver.new_session().await.expect("a session").session;
    let asked = pending(
        &AgentClient::new(&house.url, billing.clone()).expect("a client"),
        &call("refund", &refund_args(1), "a request that waits"),
    )
    .await;
    let waiting = request_of(&asked);
    let mut log = Log::follow(&house).await;
    let calls = format!("{}/v1/calls", house.url);
    let expect = |what: &str, answer: Answer| assert_eq!((answer.status, answer.code().as_str()), (400, "json_duplicate_key"), "{what}");
    // Money, a write, a read, an unknown tool: the document is judged before anything in it is.
    let tools = [(&billing, "refund"), (&support, "update_ticket_tags"), (&support, "search"), (&billing, "run_shell")];
    for (name, args) in TWINS {
        for (credential, tool) in tools {
            expect(name, post(&calls, credential, format!(r#"{{"tool":"{tool}","args":{args}}}"#)).await);
        }
    }
    let around = [
        format!(r#"{{"tool":"refund","tool":"search","args":{}}}"#, refund_args(1)),
        format!(r#"{{"tool":"refund","args":{},"args":{}}}"#, refund_args(1), refund_args(90_000)),
        format!(r#"{{"tool":"refund","args":{},"\u0061rgs":{}}}"#, refund_args(1), refund_args(90_000)),
        format!(r#"{{"tool":"refund","args":{},"run":null,"run":null}}"#, refund_args(1)),
    ];
    for body in &around {
        expect(body, post(&calls, &billing, body.as_bytes()).await);
    }
    let found = log.codes(RecordType::CallRefused, TWINS.len() * tools.len() + around.len()).await;
    assert!(found.iter().all(|code| code == "json_duplicate_key"), "{found:?}");
    // What people and strangers send is read by the same parser.
    let nobody = RequestId::from_random([9; 16]);
    for (path, bearer, body) in [
        (format!("/v1/requests/{waiting}/decisions"), &approving, r#"{"envelope":{},"envelope":{}}"#),
        (format!("/v1/requests/{waiting}/decisions"), &approving, r#"{"envelope":{"payload":"","payload":""}}"#),
        (format!("/v1/requests/{nobody}/challenge"), &session, r#"{"key_sha256":"","key_sha256":""}"#),
        ("/v1/sessions".to_owned(), &session, r#"{"envelope":{},"envelope":{}}"#),
        ("/v1/sessions/challenges".to_owned(), &session, r#"{"key_sha256":"a","key\u005fsha256":"b"}"#),
        ("/v1/enrolments".to_owned(), &session, r#"{"code":"a","code":"b"}"#),
        ("/v1/enrolments/offer".to_owned(), &session, r#"{"code":"a","code":"b"}"#),
    ] {
        expect(&path, post(&format!("{}{path}", house.url), bearer, body).await);
    }
    // Names that only look alike are two names, and the schema knows one of them.
    for args in ["{\"reason\":\"x\",\"re\\u0430son\":\"y\"}", "{\"caf\\u00e9\":1,\"cafe\\u0301\":2}", r#"{"reason":"x","Reason":"y"}"#] {
        let answer = post(&calls, &billing, format!(r#"{{"tool":"refund","args":{args}}}"#)).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "arguments_invalid"), "{args}");
    }
    let unseen = post(&format!("{}/v1/requests/{nobody}/decisions", house.url), &approving, r#"{"envelope":{},"envelope":{}}"#).await;
    assert_eq!((unseen.status, unseen.code().as_str()), (404, "not_found"));
    log.rest(&house).await;
    assert_eq!(log.of(RecordType::RequestCreated).count(), 2, "Dan's admission and the request that waits");
    assert_eq!(log.of(RecordType::WriteIntended).count() + log.of(RecordType::ReadExecuted).count(), 0);
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0);
}
