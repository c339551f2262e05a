//! Faults seen elsewhere: an approval that was applied to the wrong call. Calls that wait side by side, answers in any
//! order, one answer for many.

mod faults;

use std::collections::BTreeMap;

use faults::log::Log;
use faults::wire::{decision_body, post};
use faults::{House, MONEY, MoneyCall, WAIT_S, call, json, pending, problem_of, refund_args, refused, request_of};
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::request::DenialKind;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::OperationState;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::approver::raw;
use vidimus_tests::company::Tool;

const ROLE: &str = "billing-approver";

fn waiting(agent: &AgentClient, answer: &CallAnswer) -> tokio::task::JoinHandle<CallAnswer> {
    let (agent, call) = (agent.clone(), answer.call);
    tokio::spawn(async move { agent.outcome(&call, WAIT_S).await.expect("an outcome") })
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_reverse_order_reach_the_call_that_they_are_about() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    // The same tool, in the same turn, under keys that differ in their last character.
    let small = pending(&billing, &call("refund", &refund_args(1500), "turn-1-a")).await;
    let large = pending(&billing, &call("refund", &refund_args(90_000), "turn-1-b")).await;
    assert_ne!((small.call, small.request, small.request_sha256), (large.call, large.request, large.request_sha256));
    let (small_told, large_told) = (waiting(&billing, &small), waiting(&billing, &large));
    house.admin.deny(request_of(&large), ROLE, DenialKind::WrongPayee, "not this one").await.expect("it counts");
    house.admin.approve(request_of(&small), ROLE).await.expect("it counts");
    let (small_told, large_told) = (small_told.await.expect("told"), large_told.await.expect("told"));
    assert_eq!((small_told.call, small_told.status), (small.call, CallStatus::Executed), "{}", small_told.words);
    assert_eq!((large_told.call, large_told.status), (large.call, CallStatus::Denied), "{}", large_told.words);
    assert_eq!(large_told.denial.expect("a reason").note, "not this one");
    assert!(large_told.result.is_none() && large_told.operation.is_none());

    // And the other way round, too late: with the statements that were honest for the other outcome.
    for (answer, decision, state) in [(&large, DecisionKind::Approve, "denied"), (&small, DecisionKind::Deny, "consumed")] {
        // A decided request gives no challenge any more.
        let late = house.admin.statement(request_of(answer), decision, ROLE).await.expect_err("too late");
        assert_eq!(late.code(), Some("request_already_decided"), "{late}");
        assert_eq!(house.detail(request_of(answer)).await.state.as_str(), state);
    }
    assert_eq!(house.operation(request_of(&small)).await, Some(OperationState::Succeeded));
    assert_eq!(house.operation(request_of(&large)).await, None);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.iter().map(|effect| effect.args.as_str()).collect::<Vec<_>>(), [refund_args(1500)]);
    assert_eq!(log.rest(&house).await, []);
    assert_eq!(log.of(RecordType::TokenRedeemed).map(|record| record.request).collect::<Vec<_>>(), [small.request]);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_that_were_made_before_the_other_answer_do_not_turn_it_round() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    let small = pending(&billing, &call("refund", &refund_args(1500), "before-a")).await;
    let large = pending(&billing, &call("refund", &refund_args(90_000), "before-b")).await;
    let (small, large) = (request_of(&small), request_of(&large));
    // Signed while both waited: the repeats of the fault, approve B and deny A.
    let approve_large = house.admin.statement(large, DecisionKind::Approve, ROLE).await.expect("a statement");
    let deny_small = house.admin.statement(small, DecisionKind::Deny, ROLE).await.expect("a statement");
    house.admin.deny(large, ROLE, DenialKind::NotExpected, "").await.expect("it counts");
    house.admin.approve(small, ROLE).await.expect("it counts");
    for (request, statement) in [(large, approve_large), (small, deny_small)] {
        let problem = refused(house.admin.hand_in(request, &statement).await);
        assert_eq!((problem.status, problem.code.as_str()), (409, "request_already_decided"));
        assert_eq!(problem.request, Some(request), "the loser learns who won");
        let state = problem.state.expect("the outcome");
        assert!(if request == large { state == "denied" } else { state != "denied" }, "{state}");
    }
    faults::until("the effect", || async { (house.operation(small).await == Some(OperationState::Succeeded)).then_some(()) }).await;
    assert_eq!(house.count(Tool::Refund).await, 1);
    let found = log.refusals(2).await;
    assert_eq!(found.iter().map(|refused| refused.request).collect::<Vec<_>>(), [Some(large), Some(small)]);
    assert!(found.iter().all(|refused| refused.record_type == RecordType::DecisionRefused && refused.code == "request_already_decided"));
    assert_eq!(log.rest(&house).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_of_many_tools_and_agents_each_get_their_own_answer() {
    let house = House::open().await;
    let agents: BTreeMap<&str, AgentClient> = ["billing", "support"].into_iter().map(|name| (name, house.agent(name, &[]))).collect();
    let mut log = Log::follow(&house).await;
    // Refunds that differ in the amount only, and one call of every other tool between them.
    let mut calls: Vec<(&str, &str, String)> = (0..8).map(|step| ("billing", ROLE, refund_args(1000 + step))).collect();
    let mut told = Vec::new();
    for (index, (agent, role, args)) in calls.drain(..).enumerate() {
        let answer = pending(&agents[agent], &call("refund", &args, &format!("many-{index}"))).await;
        told.push((index, role, Tool::Refund, args, answer.clone(), waiting(&agents[agent], &answer)));
    }
    for (index, MoneyCall { agent, role, tool, args, .. }) in MONEY.iter().enumerate().skip(1) {
        // For the other agent, the call key of one of the refunds: keys belong to their agent.
        let key = if *agent == "billing" { format!("many-tool-{index}") } else { format!("many-{index}") };
        let index = index + 8;
        let answer = pending(&agents[agent], &call(tool.name(), args, &key)).await;
        told.push((index, role, *tool, (*args).to_owned(), answer.clone(), waiting(&agents[agent], &answer)));
    }
    // Decided all at once, in an order that has nothing to do with theirs; every third is denied.
    let decisions = told.iter().map(|(index, role, _, _, answer, _)| {
        let (house, request) = (&house, request_of(answer));
        async move {
            match index % 3 {
                2 => house.admin.deny(request, role, DenialKind::Other, &format!("denied {index}")).await,
                _ => house.admin.approve(request, role).await,
            }
        }
    });
    for decided in futures_of(decisions.rev().collect()).await {
        decided.expect("it counts");
    }
    let mut approved: BTreeMap<Tool, Vec<String>> = BTreeMap::new();
    for (index, _, tool, args, answer, outcome) in told {
        let outcome = outcome.await.expect("told");
        assert_eq!((outcome.call, outcome.request, outcome.request_sha256), (answer.call, answer.request, answer.request_sha256));
        if index % 3 == 2 {
            assert_eq!(outcome.status, CallStatus::Denied);
            assert_eq!(outcome.denial.expect("a reason").note, format!("denied {index}"));
            continue;
        }
        assert_eq!(outcome.status, CallStatus::Executed, "{index}: {}", outcome.words);
        let result = outcome.result.expect("a result").get().to_owned();
        if tool == Tool::Refund {
            let amount = format!("\"amount_minor\":{}", 1000 + index);
            assert!(result.contains(&amount), "{result} is not the answer to {args}");
        }
        approved.entry(tool).or_default().push(args);
    }
    for tool in MONEY.iter().map(|money| money.tool) {
        let mut ran: Vec<String> = house.inspector.effects(tool).await.expect("effects").into_iter().map(|effect| effect.args).collect();
        ran.sort();
        let mut expected = approved.remove(&tool).unwrap_or_default();
        expected.sort();
        assert_eq!(ran, expected, "{}", tool.name());
    }
    assert_eq!(log.rest(&house).await, []);
}

/// All at once.
async fn futures_of<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut pinned: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut done: Vec<Option<T>> = pinned.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in pinned.iter_mut().zip(&mut done) {
            if let Some(running) = future
                && let std::task::Poll::Ready(value) = running.as_mut().poll(context)
            {
                *done = Some(value);
                *future = None;
            }
        }
        if pinned.iter().any(Option::is_some) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_on_one_call_is_worth_nothing_for_any_other() {
    let house = House::open().await;
    let agents: BTreeMap<&str, AgentClient> = ["billing", "support"].into_iter().map(|name| (name, house.agent(name, &[]))).collect();
    let mut log = Log::follow(&house).await;
    let mut requests: Vec<(RequestId, &str)> = Vec::new();
    for (index, money) in MONEY.iter().enumerate() {
        let agent = &agents[money.agent];
        for args in [money.args, money.changed] {
            let key = format!("cross-{index}-{}", args.len());
            let answer = agent.call(&call(money.tool.name(), args, &format!("{key}-{}", requests.len())), 0).await;
            // A cancelled subscription is one effect, whatever the date.
            let Ok(answer) = answer else { continue };
            requests.push((request_of(&answer), money.role));
        }
    }
    assert_eq!(requests.len(), 9);
    assert_eq!(log.codes(RecordType::CallRefused, 1).await, ["business_effect_open"]);
    // Each one's honest approval, handed in for each other one.
    let mut tried = 0;
    for (about, role) in &requests {
        let statement = house.admin.statement(*about, DecisionKind::Approve, role).await.expect("a statement");
        for (request, _) in requests.iter().filter(|(request, _)| request != about) {
            let problem = refused(house.admin.hand_in(*request, &statement).await);
            assert_eq!((problem.status, problem.code.as_str()), (422, "request_wrong"));
            tried += 1;
        }
        // With the request's id changed too, it is not what was signed over the challenge and the bytes.
        for (request, _) in requests.iter().filter(|(request, _)| request != about).take(2) {
            let mut moved = statement.clone();
            moved.request = *request;
            let code = refused(house.admin.hand_in(*request, &moved).await).code;
            assert!(["bytes_differ", "tool_wrong"].contains(&code.as_str()), "{code}");
            tried += 1;
        }
    }
    let found = log.codes(RecordType::DecisionRefused, tried).await;
    assert_eq!(found.iter().filter(|code| *code == "request_wrong").count(), requests.len() * (requests.len() - 1));
    for (request, _) in &requests {
        assert_eq!(house.detail(*request).await.state, RequestState::Pending);
    }
    assert_eq!(house.effects().await, 0);
    assert_eq!(log.rest(&house).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_for_many_does_not_exist_and_what_arrived_after_the_look_is_untouched() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    let mut shown = Vec::new();
    for step in 0..3 {
        shown.push(request_of(&pending(&billing, &call("refund", &refund_args(1500 + step), &format!("shown-{step}"))).await));
    }
    // What the approver saw and signed: one statement for each hash.
    let mut envelopes = Vec::new();
    for request in &shown {
        let statement = house.admin.statement(*request, DecisionKind::Approve, ROLE).await.expect("a statement");
        envelopes.push(statement.sign(&house.admin.approval).expect("signed"));
    }
    // Between the look and the click.
    let late = request_of(&pending(&billing, &call("refund", &refund_args(90_000), "late")).await);

    let texts: Vec<String> = envelopes.iter().map(|envelope| raw(envelope).expect("an envelope").get().to_owned()).collect();
    let signatures: Vec<String> = envelopes
        .iter()
        .map(|envelope| format!(r#"{{"keyid":"{}","sig":"{}"}}"#, envelope.key_digest(), envelope.signature().to_base64()))
        .collect();
    let payload = &texts[0][..texts[0].find(r#""signatures""#).expect("signatures")];
    let hashes: Vec<String> = shown.iter().map(ToString::to_string).collect();
    let all = [
        format!("[{}]", texts.iter().map(|text| format!(r#"{{"envelope":{text}}}"#)).collect::<Vec<_>>().join(",")),
        format!(r#"{{"envelope":[{}]}}"#, texts.join(",")),
        format!(r#"{{"envelopes":[{}]}}"#, texts.join(",")),
        format!(r#"{{"envelope":{payload}"signatures":[{}]}}}}"#, signatures.join(",")),
        format!(r#"{{"envelope":{},"requests":["{}"]}}"#, texts[0], hashes.join("\",\"")),
        format!(r#"{{"envelope":{},"all":true}}"#, texts[0]),
        format!(r#"{{"envelope":{},"envelope":{}}}"#, texts[0], texts[1]),
        format!(r#"{{"envelope":{}}}{{"envelope":{}}}"#, texts[0], texts[1]),
    ];
    let requests = [shown.as_slice(), &[late]].concat();
    for body in &all {
        for request in &requests {
            let answer = post(&format!("{}/v1/requests/{request}/decisions", house.url), &session, body.as_bytes()).await;
            assert!(answer.is_client_error(), "{}: {}", answer.status, answer.text);
        }
    }
    let refusals = log.refusals(all.len() * requests.len()).await;
    assert!(refusals.iter().all(|refused| refused.record_type == RecordType::DecisionRefused
        && refused.approver.as_deref() == Some(&house.admin.person.to_string())));
    // No place takes more than one, under whatever name.
    for path in ["/v1/decisions", "/v1/requests/decisions", "/v1/requests/approve-all", "/v1/batches", "/v1/requests/*/decisions"] {
        let answer = post(&format!("{}{path}", house.url), &session, decision_body(&envelopes[0])).await;
        assert!([404, 405].contains(&answer.status), "{path}: {}", answer.status);
    }
    // A signature for another of the shown ones does not reach the late one.
    for envelope in &envelopes {
        assert_eq!(refused(house.admin.hand_in_envelope(late, envelope).await).code, "request_wrong");
    }
    for request in &requests {
        assert_eq!(house.detail(*request).await.state, RequestState::Pending);
    }
    assert_eq!(house.effects().await, 0);

    // The three that were shown, by the three signatures; the fourth waits on.
    for (request, envelope) in shown.iter().zip(&envelopes) {
        house.admin.hand_in_envelope(*request, envelope).await.expect("it counts");
    }
    for request in &shown {
        faults::until("the effect", || async { (house.operation(*request).await == Some(OperationState::Succeeded)).then_some(()) }).await;
    }
    assert_eq!(house.detail(late).await.state, RequestState::Pending);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.len(), 3);
    assert!(effects.iter().all(|effect| !effect.args.contains("90000")));
    let rest = log.rest(&house).await;
    assert_eq!(rest.iter().filter(|refused| refused.code == "request_wrong" && refused.request == Some(late)).count(), 3);
    // A `*` that stands for an id is a look at what is not there, and on record as one.
    assert!(rest.iter().all(|refused| refused.code == "request_wrong" || refused.code == "not_found"), "{rest:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_call_of_another_agent_gets_neither_the_approval_nor_the_result() {
    let house = House::open_with(
        // A second agent that may refund.
        |table| table.replace("tools = [\"get_payee\", \"wire_transfer\"]", "tools = [\"get_payee\", \"wire_transfer\", \"refund\"]"),
        &[],
    )
    .await;
    let (billing, treasury) = (house.agent("billing", &[]), house.agent("treasury", &[]));
    let mut log = Log::follow(&house).await;
    let asked = call("refund", &refund_args(1500), "the same key");
    let first = pending(&billing, &asked).await;
    // Equal in everything, but from somebody else: told that it is open, and nothing about whose it is.
    for again in [asked.clone(), CallRequest::new("refund", json(&refund_args(1500)))] {
        let problem = problem_of(treasury.call(&again, 0).await);
        assert_eq!((problem.status, problem.code.as_str()), (409, "business_effect_open"));
        let shown = format!("{problem:?}");
        for secret in [first.call.to_string(), request_of(&first).to_string(), "billing".to_owned()] {
            assert!(!shown.contains(&secret), "{shown}");
        }
    }
    assert_eq!(problem_of(treasury.outcome(&first.call, 0).await).code, "not_found");
    assert_eq!(problem_of(treasury.withdraw(&first.call).await).code, "not_found");
    house.admin.approve(request_of(&first), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&first.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 1);
    // After it ran, the other's equal call is a card of its own, and says what ran before.
    let second = pending(&treasury, &asked).await;
    assert!(second.result.is_none() && second.call != first.call);
    assert_eq!(second.earlier, [request_of(&first)]);
    assert_eq!(house.count(Tool::Refund).await, 1);
    let found: Vec<(String, Option<String>)> = log.rest(&house).await.into_iter().map(|refused| (refused.code, refused.agent)).collect();
    let treasury = Some("treasury".to_owned());
    let expected =
        ["business_effect_open", "business_effect_open", "not_found", "not_found"].map(|code| (code.to_owned(), treasury.clone()));
    assert_eq!(found, expected);
}
