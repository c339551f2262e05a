//! A resume that brings other arguments, another tool, or the token itself.

use reqwest::Method;
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::company::Tool;

use crate::faults::log::Log;
use crate::faults::wire::{post, send};
use crate::faults::{House, MONEY, MoneyCall, WAIT_S, call, call_key, json, pending, problem_of, refund_args, request_of};
use crate::{ROLE, agents};

/// Every money tool, at every moment of its life: a resume with other values is refused, and the approved bytes run.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_with_other_arguments_or_another_tool_never_runs() {
    let house = House::open().await;
    let agents = agents(&house);
    let mut log = Log::follow(&house).await;
    for MoneyCall { agent, role, tool, args, changed } in MONEY {
        let agent = &agents[agent];
        let first = pending(agent, &call(tool.name(), args, tool.name())).await;
        let resumes = |agent: AgentClient| async move {
            let other = MONEY.iter().find(|money| money.tool != *tool && money.agent == agent_of(*tool)).expect("a second tool");
            let spaced = changed.replacen(':', " : ", 1);
            let tried = [(tool.name(), *changed), (other.tool.name(), other.args), (tool.name(), spaced.as_str())];
            for (named, args) in tried {
                let problem = problem_of(agent.call(&call(named, args, tool.name()), 0).await);
                assert_eq!((problem.status, problem.code.as_str()), (409, "operation_key_conflict"), "{named} {args}");
            }
            tried.len()
        };
        // While it waits, after it was approved and ran.
        let mut tried = resumes(agent.clone()).await;
        assert_eq!(house.detail(request_of(&first)).await.state, RequestState::Pending);
        house.admin.approve(request_of(&first), role).await.expect("it counts");
        tried += resumes(agent.clone()).await;
        let told = agent.outcome(&first.call, WAIT_S).await.expect("an outcome");
        assert_eq!(told.status, CallStatus::Executed, "{}", told.words);
        tried += resumes(agent.clone()).await;
        let effects = house.inspector.effects(*tool).await.expect("effects");
        assert_eq!(effects.iter().map(|effect| effect.args.as_str()).collect::<Vec<_>>(), [*args], "{}", tool.name());
        assert_eq!(log.codes(RecordType::CallRefused, tried).await, vec!["operation_key_conflict"; tried]);
    }
    // The one approved call of each tool, and what it set off.
    assert_eq!(log.rest(&house).await, []);
    assert_eq!(log.of(RecordType::TokenRedeemed).count(), MONEY.len());
    assert_eq!(log.of(RecordType::RequestCreated).count(), MONEY.len());
}

fn agent_of(tool: Tool) -> &'static str {
    MONEY.iter().find(|money| money.tool == tool).expect("a money tool").agent
}

/// Without a call key a changed call is another call: it waits for people, whatever was approved before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_call_without_a_key_waits_for_people_of_its_own() {
    let house = House::open().await;
    let agents = agents(&house);
    for MoneyCall { agent, role, tool, args, changed } in MONEY.iter().filter(|money| money.tool != Tool::CancelSubscription) {
        let agent = &agents[agent];
        let first = pending(agent, &CallRequest::new(tool.name(), json(args))).await;
        house.admin.approve(request_of(&first), role).await.expect("it counts");
        assert_eq!(agent.outcome(&first.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
        let changed = pending(agent, &CallRequest::new(tool.name(), json(changed))).await;
        assert_ne!((changed.call, changed.request_sha256), (first.call, first.request_sha256));
        assert_eq!(house.operation(request_of(&changed)).await, None);
        assert_eq!(house.count(*tool).await, 1, "{}", tool.name());
    }
}

/// The token itself in the agent's hands. It is for the executor, over the arguments that the executor digests; no place of
/// the gate's takes it from anybody else, and a try does not use it up.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_leaked_runs_nothing_anywhere() {
    let kept = tempfile::NamedTempFile::new().expect("a file");
    let path = kept.path().display().to_string();
    let variables = [("VIDIMUS_SEAM", "after_mint"), ("VIDIMUS_SEAM_TOKENS", path.as_str())];
    let mut house = House::open_with(|table| table, &variables).await;
    let mut log = Log::follow(&house).await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    // The admission of nobody: only this one token is minted, and the gate ends right after it.
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "leaked")).await;
    // The receipt may be cut by the end of the process; what counts is what is on record.
    let _ = house.admin.approve(request_of(&waiting), ROLE).await;
    house.ended();
    let token = std::fs::read_to_string(kept.path()).expect("a token").trim().to_owned();
    assert!(token.starts_with("v4.public."), "{token}");
    house.start();
    log.follow_on(&house).await;

    let operation = house.detail(request_of(&waiting)).await.operation.expect("an operation").operation;
    let session = house.admin.new_session().await.expect("a session").session;
    let big = refund_args(90_000);
    let bodies = [
        format!(r#"{{"token":"{token}","args":{big}}}"#),
        format!(r#"{{"tool":"refund","args":{big},"token":"{token}"}}"#),
        format!(r#"{{"tool":"issue_credit","args":{big},"execution_token":"{token}"}}"#),
        format!(r#"{{"envelope":"{token}"}}"#),
        token.clone(),
    ];
    let request = request_of(&waiting);
    let paths = [
        "/v1/calls".to_owned(),
        format!("/v1/calls/{}", waiting.call),
        format!("/v1/calls/{}/resume", waiting.call),
        "/v1/tokens/redeem".to_owned(),
        "/v1/executions".to_owned(),
        format!("/v1/operations/{operation}/result"),
        format!("/v1/operations/{operation}/heartbeat"),
        format!("/v1/requests/{request}/decisions"),
    ];
    for path in &paths {
        for body in &bodies {
            for bearer in [&credential, &session, &token] {
                let answer = post(&format!("{}{path}", house.url), bearer, body.as_bytes()).await;
                assert!(answer.is_client_error(), "{path}: {} {}", answer.status, answer.text);
            }
        }
    }
    let header = [("x-execution-token", token.as_str())];
    let body = format!(r#"{{"tool":"refund","args":{big},"call_key":"{}"}}"#, call_key("leaked"));
    let answer = send(Method::POST, &format!("{}/v1/calls", house.url), Some(&credential), &header, body.into_bytes()).await;
    assert_eq!(answer.code(), "operation_key_conflict");

    // The gate mints anew once the lost token is over, runs what was approved, once; the lost one never counts.
    let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(1)), "{}", told.words);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.iter().map(|effect| effect.args.clone()).collect::<Vec<_>>(), [refund_args(1500)]);
    assert_eq!(house.effects().await, 1);
    log.rest(&house).await;
    let minted: Vec<&str> = log.about(RecordType::TokenMinted, request).iter().filter_map(|record| record.claim("jti_sha256")).collect();
    let redeemed: Vec<&str> =
        log.about(RecordType::TokenRedeemed, request).iter().filter_map(|record| record.claim("jti_sha256")).collect();
    assert_eq!((minted.len(), redeemed.len()), (2, 1));
    assert_eq!(redeemed[0], minted[1]);
}
