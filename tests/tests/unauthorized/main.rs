//! The unauthorized suite: every route, asked by whoever may not. A route that the gate's document describes and that is
//! missing from [`ROUTES`] fails it.

#[path = "../faults/mod.rs"]
mod faults;
mod posts;
mod statements;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use reqwest::{Client, Method};
use vidimus_api::call::CallStatus;
use vidimus_api::problem::Problem;
use vidimus_core::bytes::Digest;
use vidimus_core::record::RecordType;
use vidimus_tests::company::Tool;

use faults::log::Log;
use faults::{House, WAIT_S, call, pending, refund_args, request_of, until};

/// Who a route is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Actor {
    Agent,
    Person,
    /// Nobody is asked who they are: what is sent proves itself, or there is nothing to hide.
    Anyone,
    /// A program on the gate's machine.
    Operator,
}

use Actor::{Agent, Anyone, Operator, Person};

/// Every route, and who it is for.
const ROUTES: &[(&str, &str, Actor)] = &[
    ("POST", "/v1/calls", Agent),
    ("GET", "/v1/calls/{call}", Agent),
    ("POST", "/v1/calls/{call}/withdraw", Agent),
    ("GET", "/v1/tools", Agent),
    ("POST", "/v1/enrolments/offer", Anyone),
    ("POST", "/v1/enrolments", Anyone),
    ("POST", "/v1/sessions/challenges", Anyone),
    ("POST", "/v1/sessions", Anyone),
    ("POST", "/v1/keys/{key_sha256}/stop", Anyone),
    ("POST", "/v1/recoveries/{recovery_sha256}/veto", Anyone),
    ("GET", "/v1/requests", Person),
    ("GET", "/v1/requests/{request}", Person),
    ("POST", "/v1/requests/{request}/challenge", Person),
    ("POST", "/v1/requests/{request}/decisions", Person),
    ("GET", "/v1/operations/{operation}", Person),
    ("POST", "/v1/operations/{operation}/challenge", Person),
    ("POST", "/v1/operations/{operation}/reconciliations", Person),
    ("POST", "/v1/operations/{operation}/status", Person),
    ("POST", "/v1/operations/{operation}/opened", Person),
    ("GET", "/v1/log/stream", Person),
    ("GET", "/checkpoint", Person),
    ("GET", "/v1/table", Person),
    ("POST", "/v1/table/proposals", Person),
    ("GET", "/v1/roster", Person),
    ("POST", "/v1/roster/proposals", Person),
    ("GET", "/healthz", Anyone),
    ("GET", "/readyz", Anyone),
    ("GET", "/metrics", Operator),
    ("GET", "/openapi.json", Anyone),
];

/// What a route answers whoever shows nothing: these say that the gate is there, and how it is spoken to.
const OPEN: &[&str] = &["/healthz", "/readyz", "/openapi.json"];

/// An answer, without the id that each has of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Answer {
    status: u16,
    code: String,
    text: String,
}

/// Somebody at an address of their own, so that one's failures do not limit another's.
struct Asker<'a> {
    house: &'a House,
    client: Client,
}

impl<'a> Asker<'a> {
    fn at(house: &'a House, host: u8) -> Asker<'a> {
        let address = IpAddr::V4(Ipv4Addr::new(127, 0, 1, host));
        let client = Client::builder().no_proxy().retry(reqwest::retry::never()).local_address(address).build().expect("a client");
        Asker { house, client }
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.house.url)).body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => {
                let without = Problem { request_id: String::new(), ..problem.clone() };
                Answer { status, code: problem.code, text: serde_json::to_string(&without).expect("JSON") }
            }
            Err(_) => Answer { status, code: String::new(), text },
        }
    }
}

/// A path with an id in each of its places.
fn with_ids(path: &str, id: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { id } else { part }).collect::<Vec<_>>().join("/")
}

/// The routes that the gate says it has, from its own document, which the gate's tests compare with its policy table.
async fn described(asker: &Asker<'_>) -> BTreeSet<(String, String)> {
    let text = asker.ask("GET", "/openapi.json", &[], "").await.text;
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, methods): (&String, &serde_json::Value)| -> Vec<(String, String)> {
        methods.as_object().expect("methods").keys().map(|method| (method.to_uppercase(), path.clone())).collect()
    };
    paths.iter().flat_map(of_path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_in_this_suite() {
    let house = House::open().await;
    let described = described(&Asker::at(&house, 1)).await;
    let known: BTreeSet<(String, String)> = ROUTES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(described.difference(&known).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "missing from this suite");
    assert_eq!(known.difference(&described).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "no route of the gate any more");
}

/// The same secret but for one digit in its middle.
fn with_another_digit(secret: &str) -> String {
    let (begin, end) = secret.split_at(secret.len() / 2);
    let other = if end.starts_with('A') { 'B' } else { 'A' };
    format!("{begin}{other}{}", &end[1..])
}

/// A session that the gate has ended, since its key opened too many after it.
async fn ended_session(house: &House) -> String {
    let first = house.admin.new_session().await.expect("a session").session;
    let probe = Asker::at(house, 2);
    until("the end of the oldest session", || async {
        house.admin.new_session().await.expect("a session");
        let answer = probe.ask("GET", "/v1/requests", &[("authorization", &format!("Bearer {first}"))], "").await;
        (answer.status == 401).then_some(())
    })
    .await;
    first
}

/// No credential, one of another kind, of another gate, a made-up one, an ended and a revoked one: one answer for all of
/// them, on every route that has an owner.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_by_another_credential() {
    let (house, elsewhere) = tokio::join!(House::open(), House::open());
    let agent = house.credential("billing", &[]);
    let revoked = house.credential("support", &[]);
    let data = house.home.data().display().to_string();
    let told = house.command(&["agent", "revoke", "support", "--data", &data]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let ended = ended_session(&house).await;
    let session = house.admin.new_session().await.expect("a session").session;
    let bearer = |secret: &str| format!("Bearer {secret}");
    let of_others = [
        bearer(&elsewhere.admin.new_session().await.expect("a session").session),
        bearer(&elsewhere.credential("billing", &[])),
        bearer(&ended),
        bearer(&revoked),
        bearer(&with_another_digit(&agent)),
        bearer(&with_another_digit(&session)),
        bearer("vda_"),
        bearer("vds_"),
        bearer(""),
        format!("bearer {agent}"),
        format!("Basic {session}"),
        agent.clone(),
        session.clone(),
    ];
    let mut answers = BTreeSet::new();
    let mut asked = 0;
    for (number, (method, path, actor)) in ROUTES.iter().enumerate() {
        if ![Agent, Person].contains(actor) {
            continue;
        }
        let asker = Asker::at(&house, 10 + u8::try_from(number).expect("few routes"));
        let path = with_ids(path, "req_00000000000000000000000000");
        let wrong_kind = if *actor == Agent { bearer(&session) } else { bearer(&agent) };
        let mut tried: Vec<Vec<(&str, &str)>> = vec![Vec::new(), vec![("authorization", &wrong_kind)]];
        tried.extend(of_others.iter().map(|value| vec![("authorization", value.as_str())]));
        let (own, other) = (bearer(&agent), bearer(&session));
        // Two credentials are none, even with the right one among them; a name in a header is no credential.
        tried.push(vec![("authorization", &own), ("authorization", &other)]);
        tried.push(vec![("x-agent", "billing"), ("x-forwarded-user", "Ada Example"), ("cookie", &session)]);
        for headers in &tried {
            let answer = asker.ask(method, &path, headers, "{}").await;
            assert_eq!((answer.status, answer.code.as_str()), (401, "credential_invalid"), "{method} {path} {headers:?}");
            answers.insert((*actor as u8, answer));
            asked += 1;
        }
    }
    // What was wrong with a credential, and which route it was shown to, cannot be told from the answer.
    assert_eq!(answers.len(), 2, "{answers:#?}");
    assert!(asked > 200);
    assert_eq!(house.effects().await + elsewhere.effects().await, 0);
}

/// From this machine, without a credential, nothing is to be had but that the gate is there.
#[tokio::test(flavor = "multi_thread")]
async fn loopback_without_a_credential_gets_nothing() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "loopback")).await;
    let (request, secret) = (request_of(&waiting).to_string(), refund_args(1500));
    for (number, (method, path, actor)) in ROUTES.iter().enumerate() {
        let asker = Asker::at(&house, 100 + u8::try_from(number).expect("few routes"));
        let path = with_ids(path, &request);
        for body in ["", "{}", "[]", &secret] {
            let answer = asker.ask(method, &path, &[], body).await;
            if OPEN.contains(&path.as_str()) || *actor == Operator {
                assert_eq!(answer.status, 200, "{method} {path}");
            } else {
                assert!((400..500).contains(&answer.status) && !answer.code.is_empty(), "{method} {path} {body}: {answer:?}");
            }
            assert!(!answer.text.contains("invoice_842") && !answer.text.contains("Ada Example"), "{method} {path}: {answer:?}");
        }
    }
    // Of an operator's routes, only this machine under its own name hears.
    let asker = Asker::at(&house, 99);
    let absent = asker.ask("GET", "/nowhere", &[], "").await;
    for header in [("forwarded", "for=192.0.2.1"), ("x-forwarded-for", "192.0.2.1"), ("x-real-ip", "192.0.2.1"), ("host", "evil.example")] {
        assert_eq!(asker.ask("GET", "/metrics", &[header], "").await, absent, "{header:?}");
    }
    assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an outcome").status, CallStatus::Pending);
}

/// Another's id, one that nobody has, and what is no id: one answer, to an agent and to a person of another role.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_others_answer_like_absent_ones() {
    let house = House::open().await;
    let sue = house.person("Sue Pretend", &["support-lead"], 3).await;
    let billing = house.agent("billing", &[]);
    let support = house.credential("support", &[]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "ids")).await;
    let done = pending(&billing, &call("refund", &refund_args(1600), "done")).await;
    house.admin.approve(request_of(&done), "billing-approver").await.expect("it counts");
    let done = billing.outcome(&done.call, WAIT_S).await.expect("an outcome");
    assert_eq!(done.status, CallStatus::Executed);
    let operation = done.operation.expect("an operation").to_string();
    let session = sue.new_session().await.expect("a session").session;
    let challenge = format!(r#"{{"key_sha256":"{}"}}"#, sue.approval.public().digest());
    let mut log = Log::follow(&house).await;
    let mut asked = 0;
    for (number, (method, path, actor)) in ROUTES.iter().enumerate() {
        let (foreign, absent, bearer) = match (*actor, path) {
            (Agent, path) if path.contains("{call}") => (waiting.call.to_string(), "call_00000000000000000000000000".to_owned(), &support),
            (Person, path) if path.contains("{request}") => {
                (request_of(&waiting).to_string(), "req_00000000000000000000000000".to_owned(), &session)
            }
            (Person, path) if path.contains("{operation}") => (operation.clone(), Digest::of(b"no operation").to_string(), &session),
            _ => continue,
        };
        let asker = Asker::at(&house, 50 + u8::try_from(number).expect("few routes"));
        let headers = [("authorization", &*format!("Bearer {bearer}"))];
        let body = if path.ends_with("/challenge") { challenge.as_str() } else { "" };
        let mut answers = BTreeSet::new();
        // Without a readable body, a POST is refused for that wherever its id could be one.
        let readable = *method == "GET" || !body.is_empty() || path.ends_with("/withdraw") || path.ends_with("/opened");
        let spelt = if readable { usize::MAX } else { 2 };
        for id in
            [foreign.as_str(), &absent, "a1", &foreign.to_uppercase().replace("REQ_", "req-"), &"x".repeat(300)].into_iter().take(spelt)
        {
            answers.insert(asker.ask(method, &with_ids(path, id), &headers, body).await);
            asked += 1;
        }
        assert_eq!(answers.len(), 1, "{method} {path}: {answers:#?}");
        let answer = answers.first().expect("an answer");
        // A body is looked at before an id where both are wrong: then it is the body's fault for every id alike.
        assert!([400, 404].contains(&answer.status), "{answer:?}");
        assert!(answer.status == 404 || *method == "POST" && body.is_empty(), "{method} {path}: {answer:?}");
    }
    assert!(asked >= 20);
    let refused = log.rest(&house).await;
    assert!(!refused.is_empty() && refused.iter().all(|refused| refused.record_type != RecordType::TokenRefused));
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// What no route is: unknown paths and methods, and spellings that a lax reader takes for a route.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_route_is_nowhere() {
    let house = House::open().await;
    let session = house.admin.new_session().await.expect("a session").session;
    let bearer = format!("Bearer {session}");
    let asker = Asker::at(&house, 200);
    let spelt = ["/v1/requests/", "//v1/requests", "/V1/requests", "/v1//requests", "/v1/requests%2f", "/v1/requests%00", "/v1/admin", "/"];
    let mut answers = BTreeSet::new();
    for path in spelt {
        answers.insert(asker.ask("GET", path, &[("authorization", &bearer)], "").await);
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers.first().map(|answer| answer.status), Some(404));
    for (method, path, _) in ROUTES {
        for other in ["DELETE", "PATCH", "PUT", "OPTIONS", "TRACE"].iter().filter(|other| *other != method) {
            let answer = asker.ask(other, &with_ids(path, "a1"), &[("authorization", &bearer)], "").await;
            assert!([404, 405].contains(&answer.status), "{other} {path}: {answer:?}");
        }
    }
}
