//! Doors and ids: who may ask, who may know, what guessing costs.

use std::collections::BTreeSet;

use reqwest::Method;
use vidimus_api::call::CallStatus;
use vidimus_api::client::AgentClient;
use vidimus_api::log::LogEvent;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_tests::approver::Approver;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::wire::{decision_body, post, send};
use crate::faults::{House, WAIT_S, call, pending, refund_args, request_of};

/// Failed authentications and wrong ids of one address that leave a record within a minute.
const RECORDED_MAX: usize = 30;

/// No door opens without its own key, an id is nothing to guess by, and guessing is limited and on record.
#[tokio::test(flavor = "multi_thread")]
async fn no_door_opens_without_its_own_key_and_no_id_can_be_guessed() {
    let (house, elsewhere) = tokio::join!(House::open(), House::open());
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let mut log = Log::follow(&house).await;
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "doors")).await;
    let request = request_of(&waiting);
    let statement = house.admin.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    let genuine = decision_body(&statement.sign(&house.admin.approval).expect("signed"));
    let foreign_session = elsewhere.admin.new_session().await.expect("a session").session;
    let bearers = [
        ("nobody", None),
        ("an agent", Some(credential.clone())),
        ("another gate's person", Some(foreign_session)),
        ("another gate's agent", Some(elsewhere.credential("billing", &[]))),
    ];
    let ask = |method: &Method, path: &str, bearer: Option<&str>, body: &str| {
        let (method, url, bearer, body) =
            (method.clone(), format!("{}{path}", house.url), bearer.map(str::to_owned), body.as_bytes().to_vec());
        async move { send(method, &url, bearer.as_deref(), &[], body).await }
    };
    let paths: Vec<(Method, String, &str)> = vec![
        (Method::GET, "/v1/requests".to_owned(), ""),
        (Method::GET, format!("/v1/requests/{request}"), ""),
        (Method::POST, format!("/v1/requests/{request}/challenge"), r#"{"key_sha256":""}"#),
        (Method::POST, format!("/v1/requests/{request}/decisions"), &genuine),
        (Method::GET, "/v1/log/stream?from=0".to_owned(), ""),
        (Method::GET, "/v1/roster".to_owned(), ""),
    ];
    let mut asked = 0;
    let mut answers = BTreeSet::new();
    for (method, path, body) in &paths {
        for (who, bearer) in &bearers {
            let answer = ask(method, path, bearer.as_deref(), body).await;
            let (status, problem) = answer.without_id();
            assert_eq!((status, problem.code.as_str()), (401, "credential_invalid"), "{who} at {path}");
            answers.insert(format!("{problem:?}"));
            asked += 1;
        }
    }
    // A missing, a wrong and a foreign credential cannot be told apart.
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let found = log.codes(RecordType::CallRefused, asked).await;
    assert!(found.iter().all(|code| code == "credential_invalid"));
    // Beyond the limit it is said, costs the log nothing more, and locks nobody out.
    let mut limited = 0;
    for _ in 0..RECORDED_MAX {
        let answer = ask(&Method::POST, &format!("/v1/requests/{request}/decisions"), None, &genuine).await;
        limited += usize::from(answer.status == 429);
        assert!([401, 429].contains(&answer.status));
    }
    assert_eq!(limited, asked);
    assert_eq!(log.rest(&house).await.len(), RECORDED_MAX - asked);
    assert_eq!(house.detail(request).await.state, RequestState::Pending);
    assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    assert_eq!((house.effects().await, elsewhere.effects().await), (0, 0));
    house.admin.hand_in(request, &statement).await.expect("the genuine one counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
}

/// An id is worth nothing: absent, malformed, another role's and another gate's get one answer, which is on record.
#[tokio::test(flavor = "multi_thread")]
async fn absent_and_foreign_get_one_answer_and_leave_a_record() {
    let house = House::open().await;
    let sue = house.person("Sue Pretend", &["support-lead"], 3).await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let support = house.credential("support", &[]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "ids")).await;
    let foreign = request_of(&waiting);
    let statement = house.admin.statement(foreign, DecisionKind::Approve, ROLE).await.expect("a statement");
    let session = sue.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;

    let genuine = decision_body(&statement.sign(&house.admin.approval).expect("signed"));
    let mut by_sue = statement.clone();
    (by_sue.approver, by_sue.key_sha256) = (sue.person, sue.approval.public().digest());
    let by_sue = decision_body(&by_sue.sign(&sue.approval).expect("signed"));
    let challenge = format!(r#"{{"key_sha256":"{}"}}"#, sue.approval.public().digest());
    let absent = RequestId::from_random([5; 16]);
    let text = foreign.to_string();
    // Foreign, absent, malformed, and spellings of the foreign one that a lax reader takes for it.
    let ids = [text.clone(), absent.to_string(), "a1".to_owned(), text.to_lowercase(), format!("{text}%00"), text.replacen("req_", "", 1)];
    let mut answers = BTreeSet::new();
    let mut asked = Vec::new();
    for id in &ids {
        let tries = [
            (Method::GET, String::new(), ""),
            (Method::POST, "/challenge".to_owned(), challenge.as_str()),
            (Method::POST, "/decisions".to_owned(), by_sue.as_str()),
        ];
        for (method, tail, body) in tries {
            let url = format!("{}/v1/requests/{id}{tail}", house.url);
            let answer = send(method, &url, Some(&session), &[], body.as_bytes().to_vec()).await;
            let (status, problem) = answer.without_id();
            assert_eq!((status, problem.code.as_str()), (404, "not_found"), "{id}{tail}");
            answers.insert(format!("{problem:?}"));
            // No route has an escape in it: such a path is nowhere, before anybody is asked who they are.
            if id.contains('%') {
                continue;
            }
            asked.push(if *id == text {
                Some(foreign)
            } else if *id == absent.to_string() {
                Some(absent)
            } else {
                None
            });
        }
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let found = log.refusals(asked.len()).await;
    assert!(found.iter().all(|refused| refused.record_type == RecordType::DecisionRefused && refused.code == "not_found"));
    assert!(found.iter().all(|refused| refused.approver.as_deref() == Some(&sue.person.to_string())));
    assert_eq!(found.iter().map(|refused| refused.request).collect::<Vec<_>>(), asked);
    // A genuine approval, through the session of somebody who may not see the request, does not count either.
    let answer = post(&format!("{}/v1/requests/{foreign}/decisions", house.url), &session, genuine.as_bytes()).await;
    assert_eq!(answer.code(), "not_found");
    others_calls_get_one_answer(&house, &waiting.call.to_string(), &support).await;
    let rest = log.rest(&house).await;
    let (decisions, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|refused| refused.record_type == RecordType::DecisionRefused);
    assert_eq!((decisions.len(), others.len()), (1, 6));
    assert!(others.iter().all(|refused| refused.code == "not_found" && refused.agent.as_deref() == Some("support")), "{others:#?}");
    // Beyond the window's limit, guessing is told so and leaves no more.
    let mut limited = 0;
    for _ in 0..10 {
        let url = format!("{}/v1/requests/{absent}", house.url);
        limited += usize::from(send(Method::GET, &url, Some(&session), &[], Vec::new()).await.status == 429);
    }
    let left = RECORDED_MAX - (asked.len() + 1 + 6);
    assert_eq!((limited, log.rest(&house).await.len()), (10 - left, left));

    nothing_of_it_is_in_what_the_person_reads(&sue, foreign).await;
    assert_eq!(house.detail(foreign).await.state, RequestState::Pending);
    assert_eq!(house.effects().await, 0);
}

/// Another agent's call, one that does not exist, and what is no id: one answer, to a look and to a withdrawal.
async fn others_calls_get_one_answer(house: &House, call: &str, credential: &str) {
    let mut calls = BTreeSet::new();
    for id in [call.to_owned(), "call_00000000000000000000000000".to_owned(), "a1".to_owned()] {
        for (method, tail) in [(Method::GET, ""), (Method::POST, "/withdraw")] {
            let answer = send(method, &format!("{}/v1/calls/{id}{tail}", house.url), Some(credential), &[], Vec::new()).await;
            calls.insert(format!("{:?}", answer.without_id()));
        }
    }
    assert_eq!(calls.len(), 1, "{calls:#?}");
}

/// Neither the list nor the log tells a person of another role more than that there was a request.
async fn nothing_of_it_is_in_what_the_person_reads(person: &Approver, request: RequestId) {
    let list = person.client().expect("a session").requests(None).await.expect("a list");
    assert!(list.requests.iter().all(|row| row.request != request));
    let mut stream = person.client().expect("a session").log_stream(0).await.expect("a stream");
    let body = loop {
        match stream.next().await.expect("an event").expect("an open stream") {
            LogEvent::Record(record) if record.leaf.contains("\"request_created\"") && record.leaf.contains(&request.to_string()) => {
                break record.body;
            }
            _ => {}
        }
    };
    assert_eq!(body, None, "the arguments of another role's request");
}
