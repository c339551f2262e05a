//! No decision, a denial that is forgotten, a decision that changes what it decides on.

use reqwest::Method;
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::request::DenialKind;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::{DECISION_TYPE, DecisionKind};
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::company::Tool;

use crate::faults::log::Log;
use crate::faults::wire::{post, send, signed_body};
use crate::faults::{House, MONEY, MoneyCall, WAIT_S, call, json, pending, problem_of, refund_args, refused, request_of};
use crate::{ROLE, agents};

/// Whatever stands where a decision should, and whoever signed it: it decides nothing and is on record.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_decision_is_no_decision() {
    let house = House::open().await;
    let agents = agents(&house);
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    for MoneyCall { agent, role, tool, args, .. } in MONEY {
        let waiting = pending(&agents[agent], &call(tool.name(), args, tool.name())).await;
        let request = request_of(&waiting);
        let statement = house.admin.statement(request, DecisionKind::Approve, role).await.expect("a statement");
        let signed = statement.sign(&house.admin.approval).expect("signed");
        let payload = std::str::from_utf8(signed.danger_unverified_payload()).expect("text");
        let approve = r#""decision":"approve""#;
        assert!(payload.contains(approve));
        let mut bodies: Vec<Vec<u8>> = UNSIGNED.iter().map(|body| body.as_bytes().to_vec()).collect();
        // The same emptiness, but under a good signature of the right key.
        for decision in UNDECIDED {
            let payload = payload.replace(approve, decision);
            bodies.push(signed_body(DECISION_TYPE, canonical(&payload).as_bytes(), &house.admin.approval).into_bytes());
        }
        // Other encodings of a good approval.
        let good = signed_body(DECISION_TYPE, payload.as_bytes(), &house.admin.approval);
        bodies.push(good.encode_utf16().flat_map(u16::to_le_bytes).collect());
        bodies.push([b"\xef\xbb\xbf", good.as_bytes()].concat());
        bodies.push(format!("envelope={good}").into_bytes());
        bodies.push(format!("{good}\0").into_bytes());
        bodies.push(good.as_bytes()[..good.len() - 1].to_vec());
        let url = format!("{}/v1/requests/{request}/decisions", house.url);
        for body in &bodies {
            let answer = post(&url, &session, body.clone()).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
            assert!(answer.is_client_error(), "{shown}: {} {}", answer.status, answer.text);
        }
        for header in
            [("content-encoding", "gzip"), ("x-http-method-override", "PUT"), ("content-type", "application/x-www-form-urlencoded")]
        {
            let answer = send(Method::POST, &url, Some(&session), &[header], b"decision=approve".to_vec()).await;
            assert!(answer.is_client_error(), "{header:?}: {}", answer.status);
        }
        let tried = bodies.len() + 3;
        let found = log.refusals(tried).await;
        assert!(found.iter().all(|refused| refused.record_type == RecordType::DecisionRefused && refused.request == Some(request)));
        let detail = house.detail(request).await;
        assert_eq!((detail.state, detail.decisions.len()), (RequestState::Pending, 0), "{}", tool.name());
        // None of them burnt anything: the honest one still counts.
        house.admin.hand_in(request, &statement).await.expect("it counts");
        assert_eq!(agents[agent].outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
        assert_eq!(house.count(*tool).await, 1);
    }
    assert_eq!(log.rest(&house).await, []);
}

/// Bodies that hold no envelope, or not where it belongs.
const UNSIGNED: &[&str] = &[
    "",
    "null",
    "true",
    "\"approve\"",
    "{}",
    "[]",
    r#"{"decision":null}"#,
    r#"{"decision":""}"#,
    r#"{"decision":"Approve"}"#,
    r#"{"decision":"approve"}"#,
    r#"{"approved":"false"}"#,
    r#"{"approved":1}"#,
    r#"{"approved":true}"#,
    r#"{"envelope":null,"approved":true}"#,
    r#"{"envelope":{},"denial":null}"#,
    r#"{"denial":{"kind":"other","note":""}}"#,
    r#"{"type":"accept"}"#,
    r#"{"action":"accept","content":{"approve":true}}"#,
];

/// What stands in a signed statement where a decision belongs.
const UNDECIDED: &[&str] = &[
    r#""decision":null"#,
    r#""decision":"""#,
    r#""decision":"Approve""#,
    r#""decision":"approve ""#,
    r#""decision":"approved""#,
    r#""decision":"edit""#,
    r#""decision":true"#,
    r#""decision":1"#,
    r#""decision":["approve"]"#,
    r#""decision":{"approve":true}"#,
    r#""decisions":"approve""#,
    r#""decision":"approve","deny":false"#,
    r#""decision":"deny","decision":"approve""#,
];

/// The canonical form of a payload that has one; else as it is.
fn canonical(payload: &str) -> String {
    use vidimus_core::json::{Limits, parse};
    match parse(payload.as_bytes(), &Limits::STATEMENT).and_then(|json| json.canonical()) {
        Ok(bytes) => String::from_utf8(bytes).expect("text"),
        Err(_) => payload.to_owned(),
    }
}

/// A denial is remembered across a crash, for every tool, and everything that comes after it learns that it was denied.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_outlives_the_gate_and_whatever_comes_after_it() {
    let mut house = House::open().await;
    let agents = agents(&house);
    let mut log = Log::follow(&house).await;
    let mut denied = Vec::new();
    for money in MONEY {
        let waiting = pending(&agents[money.agent], &call(money.tool.name(), money.args, money.tool.name())).await;
        let request = request_of(&waiting);
        let mut late = Vec::new();
        for decision in [DecisionKind::Approve, DecisionKind::Retract, DecisionKind::Revoke, DecisionKind::MoreTime] {
            late.push(house.admin.statement(request, decision, money.role).await.expect("a statement"));
        }
        house.admin.deny(request, money.role, DenialKind::WrongPayee, "wrong payee").await.expect("it counts");
        denied.push((money, waiting, late));
    }
    house.kill();
    house.start();
    log.follow_on(&house).await;
    for (money, waiting, late) in &denied {
        let (agent, request) = (&agents[money.agent], request_of(waiting));
        for _ in 0..3 {
            let polled = agent.outcome(&waiting.call, 0).await.expect("an outcome");
            let resumed = agent.call(&call(money.tool.name(), money.args, money.tool.name()), 1).await.expect("the answer");
            // Without its key too: an equal call of the same run is the same call.
            let unkeyed = agent.call(&CallRequest::new(money.tool.name(), json(money.args)), 1).await.expect("the answer");
            for told in [polled, resumed, unkeyed] {
                assert_eq!((told.call, told.status, told.code.as_str()), (waiting.call, CallStatus::Denied, "denied"));
                assert!(!told.words.contains("approved") && told.result.is_none() && told.operation.is_none());
                assert_eq!(told.denial.expect("a reason").note, "wrong payee");
            }
        }
        for statement in late {
            let problem = refused(house.admin.hand_in(request, statement).await);
            assert_eq!((problem.status, problem.code.as_str()), (409, "request_already_decided"), "{}", statement.decision);
            assert_eq!((problem.request, problem.state.as_deref()), (Some(request), Some("denied")));
        }
        let fresh = house.admin.approve(request, money.role).await.expect_err("too late");
        assert_eq!(fresh.code(), Some("request_already_decided"));
        assert_eq!(problem_of(agent.withdraw(&waiting.call).await).code, "request_already_decided");
        let detail = house.detail(request).await;
        assert_eq!((detail.state, detail.decisions.len()), (RequestState::Denied, 1));
        assert_eq!(log.codes(RecordType::DecisionRefused, late.len()).await, vec!["request_already_decided"; late.len()]);
    }
    assert_eq!(log.rest(&house).await, []);
    assert_eq!(log.of(RecordType::TokenMinted).count(), 0);
    assert_eq!(house.effects().await, 0);
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0);
}

/// One of two approvals, then a denial: denied. An approval that was taken back counts for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_after_the_first_of_two_approvals_is_final() {
    let mut house =
        House::open_with(|table| table.replace("role = \"billing-approver\", quorum = 1", "role = \"billing-approver\", quorum = 2"), &[])
            .await;
    let second = house.person("Bert Beispiel", &[ROLE], 2).await;
    let billing = house.agent("billing", &[]);
    let denied = pending(&billing, &call("refund", &refund_args(1500), "two-denied")).await;
    let retracted = pending(&billing, &call("refund", &refund_args(1501), "two-retracted")).await;
    house.admin.approve(request_of(&denied), ROLE).await.expect("it counts");
    let late = house.admin.statement(request_of(&denied), DecisionKind::Approve, ROLE).await.expect("a statement");
    second.deny(request_of(&denied), ROLE, DenialKind::NotExpected, "").await.expect("it counts");
    house.admin.approve(request_of(&retracted), ROLE).await.expect("it counts");
    // Twice by one person is once.
    let twice = house.admin.approve(request_of(&retracted), ROLE).await.expect_err("a second approval");
    assert_eq!(twice.code(), Some("already_approved"));
    let back = house.admin.statement(request_of(&retracted), DecisionKind::Retract, ROLE).await.expect("a statement");
    house.admin.hand_in(request_of(&retracted), &back).await.expect("it counts");
    house.kill();
    house.start();
    assert_eq!(refused(house.admin.hand_in(request_of(&denied), &late).await).code, "request_already_decided");
    let receipt = second.approve(request_of(&retracted), ROLE).await.expect("it counts");
    assert_eq!((receipt.state, receipt.quorum.given, receipt.quorum.needed), (RequestState::Pending, 1, 2));
    assert_eq!(billing.outcome(&denied.call, 0).await.expect("an outcome").status, CallStatus::Denied);
    assert_eq!(billing.outcome(&retracted.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    assert_eq!(house.effects().await, 0);
    // With the second standing approval it runs.
    house.admin.approve(request_of(&retracted), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&retracted.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.effects().await, 1);
}

/// There is no edit: not in a body, not under a signature, not by an agent. The frozen bytes stay what they were.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_changes_neither_the_tool_nor_the_arguments() {
    let house = House::open().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "edit")).await;
    let request = request_of(&waiting);
    let before = house.detail(request).await;
    let statement = house.admin.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    let payload =
        String::from_utf8(statement.sign(&house.admin.approval).expect("signed").danger_unverified_payload().to_vec()).expect("text");
    let good = signed_body(DECISION_TYPE, payload.as_bytes(), &house.admin.approval);
    let beside = |member: &str| good.replacen('{', &format!("{{{member},"), 1);
    let within = |from: &str, to: &str| {
        assert!(payload.contains(from), "{from}");
        signed_body(DECISION_TYPE, canonical(&payload.replace(from, to)).as_bytes(), &house.admin.approval)
    };
    let edits = [
        r#"{"type":"edit","tool":"wire_transfer","args":{"amount_minor":999999,"to_account":"EVIL"}}"#.to_owned(),
        r#"{"decision":"edit","edited_action":{"name":"wire_transfer","args":{"amount_minor":999999}}}"#.to_owned(),
        beside(r#""args":{"amount_minor":999999}"#),
        beside(r#""tool":"wire_transfer""#),
        beside(r#""frozen":"{}""#),
        within(r#""decision":"approve""#, r#""decision":"edit""#),
        within(r#""decision":"approve""#, r#""args":{"amount_minor":999999},"decision":"approve""#),
        within(r#""tool":"refund""#, r#""tool":"wire_transfer""#),
        within(r#""tool":"refund""#, r#""tool":"issue_credit""#),
        within(r#""tool":"refund""#, r#""tool":"Refund""#),
        within(r#""tool":"refund""#, r#""tool":"gate.roster.change""#),
        within(&statement.args_sha256.to_string(), &Digest::of(b"other arguments").to_string()),
        within(&statement.request_sha256.to_string(), &Digest::of(b"other bytes").to_string()),
    ];
    let url = format!("{}/v1/requests/{request}", house.url);
    for edit in &edits {
        let answer = post(&format!("{url}/decisions"), &session, edit.as_bytes()).await;
        assert!(answer.is_client_error(), "{edit}: {} {}", answer.status, answer.text);
    }
    assert_eq!(log.refusals(edits.len()).await.iter().filter(|refused| refused.request == Some(request)).count(), edits.len());
    // No method changes a request or a call in its place.
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        for (bearer, url) in [(&session, url.clone()), (&credential, format!("{}/v1/calls/{}", house.url, waiting.call))] {
            let answer = send(method.clone(), &url, Some(bearer), &[], br#"{"args":{"amount_minor":999999}}"#.to_vec()).await;
            assert_eq!(answer.status, 405, "{method} {url}");
        }
    }
    let after = house.detail(request).await;
    assert_eq!((after.frozen, after.state), (before.frozen, RequestState::Pending));
    let again = billing.outcome(&waiting.call, 0).await.expect("an outcome");
    assert_eq!((again.tool.as_str(), again.request_sha256), ("refund", waiting.request_sha256));
    assert_eq!(house.effects().await, 0);
    assert_eq!(log.of(RecordType::RequestCreated).count(), 1, "no second request came out of an edit");
    house.admin.hand_in(request, &statement).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.iter().map(|effect| effect.args.clone()).collect::<Vec<_>>(), [refund_args(1500)]);
}
