//! What bad input gets: a problem document with its code and the path, the refusal on record, nothing else.

mod house;

use house::{House, REFUND, WITHIN, code_of, json, refund};
use reqwest::{Client, Method};
use vidimus_api::call::CallRequest;
use vidimus_api::log::LogEvent;
use vidimus_api::problem::Problem;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;

fn client() -> Client {
    Client::builder().no_proxy().retry(reqwest::retry::never()).build().expect("a client")
}

async fn post(house: &House, path: &str, credential: &str, body: impl Into<reqwest::Body>) -> Problem {
    let response = client().post(format!("{}{path}", house.url)).bearer_auth(credential).body(body).send().await.expect("an answer");
    let status = response.status().as_u16();
    let media = response.headers().get("content-type").map(|value| value.to_str().expect("text").to_owned());
    let text = response.text().await.expect("a body");
    assert_eq!(media.as_deref(), Some("application/problem+json"), "{status} {text}");
    let problem: Problem = serde_json::from_str(&text).expect("a problem document");
    assert_eq!(problem.status, status);
    assert!(!problem.detail.is_empty() && !problem.request_id.is_empty());
    problem
}

/// The log from its beginning, up to the first checkpoint at which `enough` holds.
async fn records(admin: &Approver, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut leaves = Vec::new();
    let read = async {
        let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
        loop {
            match stream.next().await.expect("an event").expect("an open stream") {
                LogEvent::Record(record) => leaves.push(record.leaf),
                LogEvent::Checkpoint(_) if enough(&leaves) => return,
                LogEvent::Checkpoint(_) => {}
            }
        }
    };
    let in_time = tokio::time::timeout(WITHIN, read).await;
    assert!(in_time.is_ok(), "the log has only {leaves:#?}");
    leaves
}

fn refused(leaves: &[String]) -> usize {
    leaves.iter().filter(|leaf| leaf.contains(r#""type":"call_refused""#)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_call_is_refused_with_its_code_and_path() {
    let house = House::open().await;
    let admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let with_args = |args: &str| format!(r#"{{"tool":"refund","args":{args}}}"#);
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    let deep = with_args(&format!(r#"{{"invoice":{deep}}}"#));
    let wide = with_args(&format!(r#"{{"invoice":[{}1]}}"#, "1,".repeat(10_050)));
    let long = with_args(&format!(r#"{{"invoice":"{}"}}"#, "x".repeat(300 * 1024)));
    let beyond = with_args(&format!(r#"{{"invoice":"{}"}}"#, "x".repeat(800 * 1024)));
    let cases: Vec<(String, &str, u16, Option<&str>)> = vec![
        (String::new(), "json_syntax", 400, None),
        ("{".to_owned(), "json_syntax", 400, None),
        ("[]".to_owned(), "field_malformed", 400, Some("")),
        ("{} {}".to_owned(), "json_trailing_bytes", 400, None),
        (r#"{"args":{}}"#.to_owned(), "field_missing", 400, Some("/tool")),
        (r#"{"tool":"refund","args":{},"approved":true}"#.to_owned(), "field_unknown", 400, Some("/approved")),
        (r#"{"tool":"refund","args":{},"requested_by":"someone-else"}"#.to_owned(), "field_unknown", 400, Some("/requested_by")),
        (r#"{"tool":"refund","args":[]}"#.to_owned(), "field_malformed", 400, Some("/args")),
        (r#"{"tool":"refund","args":{},"run":"run_1"}"#.to_owned(), "id_malformed", 400, Some("/run")),
        (r#"{"tool":"refund","args":{},"call_key":"short"}"#.to_owned(), "field_malformed", 400, Some("/call_key")),
        (with_args(r#"{"amount_minor":1,"amount_minor":90000}"#), "json_duplicate_key", 400, Some("/args/amount_minor")),
        (with_args(r#"{"payee":{"iban":"A","iban":"B"}}"#), "json_duplicate_key", 400, Some("/args/payee/iban")),
        (with_args(r#"{"amount_minor":1,"amount\u005fminor":90000}"#), "json_duplicate_key", 400, Some("/args/amount_minor")),
        (r#"{"tool":"refund","tool":"search","args":{}}"#.to_owned(), "json_duplicate_key", 400, Some("/tool")),
        (with_args(r#"{"reason":"\ud800"}"#), "json_lone_surrogate", 400, Some("/args/reason")),
        (with_args(r#"{"amount_minor":9007199254740993}"#), "json_number_inexact", 400, Some("/args/amount_minor")),
        (with_args(r#"{"amount_minor":1e400}"#), "json_number_out_of_range", 400, Some("/args/amount_minor")),
        (deep, "json_too_deep", 400, None),
        (wide, "json_too_many_nodes", 400, None),
        (long, "json_too_large", 413, None),
        (beyond, "json_too_large", 413, None),
        (r#"{"tool":"run_shell","args":{}}"#.to_owned(), "tool_unknown", 403, Some("/tool")),
        (r#"{"tool":"refund ","args":{}}"#.to_owned(), "tool_unknown", 403, Some("/tool")),
        (r#"{"tool":"Refund","args":{}}"#.to_owned(), "tool_unknown", 403, Some("/tool")),
        (r#"{"tool":"refund\u0000","args":{}}"#.to_owned(), "tool_unknown", 403, Some("/tool")),
        ("{\"tool\":\"r\u{0435}fund\",\"args\":{}}".to_owned(), "tool_unknown", 403, Some("/tool")),
        (r#"{"tool":"mcp__bank__refund","args":{}}"#.to_owned(), "tool_unknown", 403, Some("/tool")),
        (r#"{"tool":"send_email","args":{}}"#.to_owned(), "tool_not_listed", 403, Some("/tool")),
        (r#"{"tool":"gate.roster.change","args":{}}"#.to_owned(), "tool_not_listed", 403, Some("/tool")),
    ];
    for (body, code, status, path) in &cases {
        let problem = post(&house, "/v1/calls", &credential, body.clone()).await;
        let shown: String = body.chars().take(80).collect();
        assert_eq!((problem.code.as_str(), problem.status), (*code, *status), "{shown}: {}", problem.detail);
        if let Some(path) = path {
            assert_eq!(problem.path.as_deref(), Some(*path), "{shown}");
        }
    }
    let bytes = [br#"{"tool":"refund","args":{"reason":""#.as_slice(), &[0xff, 0xfe], br#""}}"#].concat();
    assert_eq!(post(&house, "/v1/calls", &credential, bytes).await.code, "json_invalid_utf8");

    // Each refusal is on record: all but the body that was cut off at its limit, and the one that is no UTF-8.
    let expected = cases.len() - 1 + 1;
    let leaves = records(&admin, |leaves| refused(leaves) >= expected).await;
    assert_eq!(refused(&leaves), expected);
    assert!(!leaves.iter().any(|leaf| leaf.contains(r#""type":"request_created""#)));
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_mismatch_says_each_fault_so_that_a_model_can_correct_itself() {
    let house = House::open().await;
    let _admin = house.admin().await;
    let credential = house.credential("billing", &[]);
    let body = r#"{"tool":"refund","args":{"invoice":"invoice_842","amount_minor":0,"currency":"eur","reason":"x","on_behalf_of":"me"}}"#;
    let problem = post(&house, "/v1/calls", &credential, body).await;
    assert_eq!((problem.code.as_str(), problem.status), ("arguments_invalid", 422));
    let mut paths: Vec<&str> = problem.errors.iter().map(|fault| fault.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/args", "/args/amount_minor", "/args/currency"]);
    assert!(problem.errors.iter().all(|fault| !fault.message.is_empty() && !fault.message.contains("eur")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_without_a_credential_and_with_anothers() {
    use vidimus_gate::http::policy::{Actor, ROUTES};
    let house = House::open().await;
    let mut admin = house.admin().await;
    let agent = house.credential("billing", &[]);
    let person = admin.open_session().await.expect("a session").session;
    let mut asked = 0;
    for route in ROUTES {
        let path = route.path.replace("{call}", "call_00000000000000000000000000").replace("{request}", "req_00000000000000000000000000");
        let path = path.replace("{operation}", &"0".repeat(64));
        let send = |credential: Option<&str>| {
            let method: Method = route.method.parse().expect("a method");
            let request = client().request(method, format!("{}{path}", house.url)).body("{}");
            match credential {
                Some(credential) => request.bearer_auth(credential),
                None => request,
            }
        };
        let others: &[Option<&str>] = match route.actor {
            Actor::Anyone | Actor::Operator => &[],
            Actor::Agent => &[None, Some(&person), Some("vda_guess"), Some("")],
            Actor::Person => &[None, Some(&agent), Some("vds_guess"), Some("")],
        };
        for credential in others {
            let response = send(*credential).send().await.expect("an answer");
            let status = response.status().as_u16();
            let problem: Problem = serde_json::from_str(&response.text().await.expect("a body")).expect("a problem document");
            // Beyond the window's limit, the failures are not even recorded.
            assert!(
                matches!((status, problem.code.as_str()), (401, "credential_invalid") | (429, "rate_limited")),
                "{} {path}: {status} {}",
                route.method,
                problem.code
            );
            asked += 1;
        }
    }
    assert!(asked >= 40);
    let response = client().get(format!("{}/v1/secrets", house.url)).bearer_auth(&person).send().await.expect("an answer");
    assert_eq!(response.status(), 404);
    let response = client().delete(format!("{}/v1/calls", house.url)).bearer_auth(&agent).send().await.expect("an answer");
    assert_eq!(response.status(), 405);
    // The operator's numbers are for this machine, not for what a proxy brings in.
    let metrics = client().get(format!("{}/metrics", house.url));
    let text = metrics.try_clone().expect("a request").send().await.expect("an answer").text().await.expect("a body");
    assert!(text.contains("vidimus_http_answers_total{route=\"/v1/calls\",status=\"401\"}"), "{text}");
    assert_eq!(metrics.header("x-forwarded-for", "192.0.2.1").send().await.expect("an answer").status(), 404);
    // One who guesses locks nobody out.
    let response = client().get(format!("{}/v1/tools", house.url)).bearer_auth(&agent).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_a_signed_envelope_decides() {
    let house = House::open().await;
    let mut admin = house.admin().await;
    let session = admin.open_session().await.expect("a session").session;
    let billing = house.agent("billing", &[]);
    let pending = billing.call(&refund("garbage"), 0).await.expect("a pending call");
    let path = format!("/v1/requests/{}/decisions", pending.request.expect("a request"));
    let bodies = [
        "",
        "{}",
        "[]",
        "null",
        r#"{"decision":null}"#,
        r#"{"decision":""}"#,
        r#"{"decision":"Approve"}"#,
        r#"{"decision":"approve"}"#,
        r#"{"approved":"false"}"#,
        r#"{"approved":1}"#,
        r#"{"approved":true}"#,
        r#"{"envelope":null}"#,
        r#"{"envelope":"approve"}"#,
        r#"{"envelope":{}}"#,
        r#"{"envelope":{"payload":"e30=","payloadType":"application/vnd.vidimus.decision.v1+json","signatures":[]}}"#,
        r#"{"envelope":{"payload":"e30=","payloadType":"x","signatures":[{"keyid":"","sig":""}]}}"#,
        r#"{"type":"edit","tool":"wire_transfer","args":{"amount_minor":999999,"to_account":"EVIL"}}"#,
        r#"{"envelope":{},"envelope":{}}"#,
    ];
    for body in bodies {
        let problem = post(&house, &path, &session, body).await;
        assert!((400..500).contains(&problem.status), "{body}: {}", problem.code);
        let still = billing.outcome(&pending.call, 0).await.expect("an outcome");
        assert_eq!(still.status.as_str(), "pending", "{body}");
    }
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_for_other_arguments_is_a_conflict_and_an_equal_effect_is_not_asked_twice() {
    let house = House::open().await;
    let _admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let first = billing.call(&refund("key"), 0).await.expect("a pending call");
    let other = CallRequest::new("refund", json(&REFUND.replace("8990", "8991"))).with_call_key(format!("{:0>16}", "key"));
    assert_eq!(code_of(billing.call(&other, 0).await), "operation_key_conflict");
    let credit = r#"{"customer":"customer_ada","amount_minor":100,"currency":"EUR","reason":"x"}"#;
    let other_tool = CallRequest::new("issue_credit", json(credit)).with_call_key(format!("{:0>16}", "key"));
    assert_eq!(code_of(billing.call(&other_tool, 0).await), "operation_key_conflict");
    assert_eq!(code_of(billing.call(&refund("another key"), 0).await), "business_effect_open");
    let same = billing.call(&refund("key"), 0).await.expect("the same call");
    assert_eq!(same.call, first.call);
}

#[tokio::test(flavor = "multi_thread")]
async fn before_genesis_no_tool_runs() {
    let house = House::open().await;
    let research = house.agent("research", &[]);
    assert_eq!(code_of(research.call(&CallRequest::new("search", json(r#"{"query":"kettle"}"#)), 0).await), "tool_unknown");
    assert!(research.tools().await.expect("tools").is_empty());
    let _admin = house.admin().await;
    let tools = research.tools().await.expect("tools");
    assert!(tools.iter().all(|tool| tool.tool != "refund") && tools.iter().any(|tool| tool.tool == "search"));
}
