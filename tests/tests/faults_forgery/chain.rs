//! Who stands behind a call decides nothing on it.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use reqwest::Method;
use vidimus_api::call::CallStatus;
use vidimus_api::client::AgentClient;
use vidimus_api::request::{ChallengeRequest, DenialKind};
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::approver::Approver;

use crate::ROLE;
use crate::faults::log::{Log, Refused};
use crate::faults::wire::{post, send};
use crate::faults::{House, ROLES, WAIT_S, call, call_key, pending, problem_of, refund_args, refused, request_of};

/// Whoever stands anywhere in the chain behind a call decides nothing on it: by signature, by another role, by what a body
/// or a header says, by the operator's tool.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_in_the_chain_behind_a_call_decides_on_it() {
    let house = House::open_with(
        |table| {
            table
                .replace("agent = \"treasury\"\ntools = [", "agent = \"treasury\"\ntools = [\"refund\", ")
                .replace("agent = \"research\"\ntools = [", "agent = \"research\"\ntools = [\"refund\", ")
        },
        &[],
    )
    .await;
    let bert = house.person("Bert Beispiel", ROLES, 2).await;
    let cara = house.person("Cara Pretend", ROLES, 3).await;
    let (ada_id, bert_id) = (house.admin.person.to_string(), bert.person.to_string());
    // Ada answers for the first, Bert for the one that it sends, nobody by name for the third, which asks.
    house.credential("treasury", &["--owner", &ada_id]);
    house.credential("research", &["--owner", &bert_id, "--parent", "treasury"]);
    let credential = house.credential("billing", &["--parent", "research"]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let mut log = Log::follow(&house).await;

    // Who asks is in the credential. What the caller writes about it is refused, or does nothing.
    let args = refund_args(1500);
    let claims =
        [r#""requested_by":"someone-else""#, r#""on_behalf_of":"someone-else""#, r#""owner":null"#, r#""agents":[]"#, r#""proposer":"x""#];
    for claim in claims {
        let body = format!(r#"{{"tool":"refund","args":{args},"call_key":"{}",{claim}}}"#, call_key("chain"));
        let answer = post(&format!("{}/v1/calls", house.url), &credential, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "field_unknown"), "{claim}");
    }
    assert_eq!(log.codes(RecordType::CallRefused, claims.len()).await, vec!["field_unknown"; claims.len()]);
    let headers = ["x-on-behalf-of", "x-requested-by", "x-user", "x-forwarded-user", "from"].map(|name| (name, "someone-else"));
    let body = format!(r#"{{"tool":"refund","args":{args},"call_key":"{}"}}"#, call_key("chain"));
    let answer = send(Method::POST, &format!("{}/v1/calls", house.url), Some(&credential), &headers, body.into_bytes()).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let waiting = pending(&billing, &call("refund", &args, "chain")).await;
    let request = request_of(&waiting);
    let frozen = FrozenRequest::parse(house.detail(request).await.frozen.as_bytes()).expect("a frozen request");
    let chain: Vec<(String, Option<String>)> =
        frozen.members().agents.iter().map(|link| (link.agent.to_string(), link.owner.map(|owner| owner.to_string()))).collect();
    let expected = [("billing", None), ("research", Some(bert_id)), ("treasury", Some(ada_id))];
    assert_eq!(chain, expected.map(|(agent, owner)| (agent.to_owned(), owner)));
    assert_eq!(frozen.members().on_behalf_of, None);

    for person in [&house.admin, &bert] {
        for (role, code) in [(ROLE, "self_approval"), ("support-lead", "role_not_needed"), ("admin", "role_not_needed")] {
            for decision in [DecisionKind::Approve, DecisionKind::MoreTime] {
                let statement = person.statement(request, decision, role).await.expect("a statement");
                let problem = refused(person.hand_in(request, &statement).await);
                assert_eq!((problem.status, problem.code.as_str()), (403, code), "{decision} as {role}");
            }
        }
        let denied = person.deny(request, ROLE, DenialKind::Other, "my own").await.expect_err("their own");
        assert_eq!(denied.code(), Some("self_approval"));
        // In somebody else's name, under their own signature.
        let mut statement = person.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
        statement.approver = cara.person;
        assert_eq!(refused(person.hand_in(request, &statement).await).code, "approver_wrong");
        // With somebody else's key named: they do not have it.
        let asked = ChallengeRequest { key_sha256: cara.approval.public().digest() };
        assert_eq!(problem_of(person.client().expect("a session").challenge(&request, &asked).await).code, "approver_wrong");
    }
    let found = log.refusals(16).await;
    let own: Vec<&Refused> = found.iter().filter(|refused| refused.code == "self_approval").collect();
    assert_eq!(own.len(), 6, "{found:#?}");
    let named: BTreeSet<Option<String>> = own.iter().map(|refused| refused.approver.clone()).collect();
    assert_eq!(named, [&house.admin, &bert].map(|person| Some(person.person.to_string())).into());
    operators_tools_decide_nothing(&house, request);

    assert_eq!(house.detail(request).await.state, RequestState::Pending);
    assert_eq!(house.effects().await, 0);
    assert_eq!(log.rest(&house).await, []);
    cara.approve(request, ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.effects().await, 1);
}

/// The command line and its socket know no way to decide, and no way to change who stands behind an agent.
fn operators_tools_decide_nothing(house: &House, request: RequestId) {
    let (data, request) = (house.home.data().display().to_string(), request.to_string());
    for arguments in [
        &["approve", &request, "--data", &data][..],
        &["approver", "approve", &request, "--data", &data],
        &["request", "approve", &request, "--data", &data],
        &["decide", &request, "--approve", "--data", &data],
        &["agent", "add", "billing", "--no-owner", "--data", &data],
        &["agent", "add", "treasury", "--data", &data],
        &["agent", "remove", "billing", "--data", &data],
        &["table", "sign", "--data", &data],
    ] {
        let ran = house.command(arguments);
        assert!(!ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stdout));
    }
    let commands = [
        format!(r#"{{"command":"approve","request":"{request}"}}"#),
        format!(r#"{{"command":"decide","request":"{request}","decision":"approve"}}"#),
        r#"{"command":"add_agent","agent":"billing","owner":null,"parent":null}"#.to_owned(),
        r#"{"command":"mint"}"#.to_owned(),
        "approve".to_owned(),
    ];
    for command in commands {
        let mut socket = UnixStream::connect(house.home.data().join("admin.sock")).expect("the administration socket");
        socket.write_all(format!("{command}\n").as_bytes()).expect("sent");
        let mut reply = String::new();
        // What is no command gets no reply.
        let _ = socket.read_to_string(&mut reply);
        assert!(reply.is_empty() || reply.contains(r#""reply":"refused""#), "{command}: {reply}");
    }
}

/// Who stands behind the only agent cannot be the only one who could decide: it is said at once. And a person who is not in
/// the roster yet decides nothing, least of all on their own admission.
#[tokio::test(flavor = "multi_thread")]
async fn without_another_person_nothing_waits_and_nobody_admits_themselves() {
    let house = House::open().await;
    let owner = house.admin.person.to_string();
    let billing = house.agent("billing", &["--owner", &owner]);
    let mut log = Log::follow(&house).await;
    let alone = problem_of(billing.call(&call("refund", &refund_args(1500), "alone"), 0).await);
    assert_eq!((alone.status, alone.code.as_str()), (409, "no_eligible_approver"));
    assert_eq!(log.codes(RecordType::CallRefused, 1).await, ["no_eligible_approver"]);

    let invite = house.home.invite("Dora Invented", &["admin", ROLE]).expect("an invite");
    let mut dora = Approver::enrol(&house.url, &invite, 4).await.expect("enrolled");
    let admission = dora.admission.expect("an admission to sign");
    assert_eq!(session_code(&mut dora).await, "key_waiting");
    // Ada's session, Dora's signature on Dora's own admission.
    let mut statement = house.admin.statement(admission, DecisionKind::Approve, "admin").await.expect("a statement");
    statement.approver = dora.person;
    statement.key_sha256 = dora.approval.public().digest();
    let envelope = statement.sign(&dora.approval).expect("signed");
    assert_eq!(refused(house.admin.hand_in_envelope(admission, &envelope).await).code, "key_unknown");
    let found = log.refusals(2).await;
    assert_eq!((found[0].record_type, found[0].code.as_str()), (RecordType::SessionRefused, "key_waiting"));
    assert_eq!((found[1].record_type, found[1].code.as_str()), (RecordType::DecisionRefused, "key_unknown"));
    assert_eq!(house.detail(admission).await.state, RequestState::Pending);
    assert_eq!(house.operation(admission).await, None);
    // Denied, she stays out.
    house.admin.deny(admission, "admin", DenialKind::NotExpected, "").await.expect("it counts");
    assert_eq!(session_code(&mut dora).await, "key_unknown");
    assert_eq!(house.effects().await, 0);
}

async fn session_code(person: &mut Approver) -> String {
    let refused = person.open_session().await.err().expect("no session");
    refused.code().expect("a problem document").to_owned()
}
