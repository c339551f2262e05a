//! Money calls: frozen once, joined when they come again, refused without a trace but the record.

use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{RequestId, Reversibility, RunId};
use vidimus_core::operation::Answer;
use vidimus_core::request::RequestState;
use vidimus_store::limits::REQUESTS_PER_READ_MAX;
use vidimus_store::*;

use crate::fixture::{Gate, json, name, names};

const ARGS: &str = r#"{"invoice":"842","amount_minor":1500,"currency":"EUR"}"#;
const OTHER: &str = r#"{"invoice":"842","amount_minor":1501,"currency":"EUR"}"#;
const KEY: &str = "invoice-842-refund-1";

#[tokio::test]
async fn a_money_call_is_frozen_with_everything_that_was_true() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    let (call, request) = gate.refund("842").await;
    assert_eq!(gate.told_since(size).await, ["request_created"]);
    let view = gate.view(request).await;
    let frozen = FrozenRequest::parse(view.frozen.as_bytes()).expect("a frozen request");
    let members = frozen.members();
    assert_eq!((view.state, view.call, view.position), (RequestState::Pending, call, size));
    assert_eq!((members.created_at, members.expires_at), (gate.now(), gate.now().plus_s(600)));
    assert_eq!((members.friction, members.earlier.len()), (Reversibility::Compensable, 0));
    assert_eq!(view.request_sha256, frozen.request_sha256());
    assert_eq!(members.row_sha256, gate.table.row(&name("refund")).expect("a row").digest());
    assert_eq!(view.says.as_deref(), Some("please"));
}

#[track_caller]
fn code(outcome: FreezeOutcome) -> Code {
    match outcome {
        FreezeOutcome::Refused(refusal) => refusal.code,
        other => panic!("{other:?}"),
    }
}

fn joined(call: vidimus_core::ids::CallId) -> FreezeOutcome {
    FreezeOutcome::Joined(Joined { call, untold: false })
}

#[tokio::test]
async fn refused_calls_leave_their_record_and_nothing_else() {
    let (gate, ..) = Gate::with_people().await;
    let wire = r#"{"account":"DE89370400440532013000","amount_minor":1,"currency":"EUR"}"#;
    let cases = [
        (gate.received("support", "wire", None), wire, Code::ToolNotListed),
        (gate.received("nobody", "refund", None), ARGS, Code::CredentialInvalid),
        (gate.received("billing", "tag", None), ARGS, Code::ToolWrong),
    ];
    for (received, args, expected) in cases {
        let (size, call, agent) = (gate.size().await, received.call, received.agent.clone());
        assert_eq!(code(gate.freeze(received, args).await), expected);
        assert_eq!(gate.told_since(size).await, [format!("call_refused:{expected}")]);
        assert_eq!(gate.store.call(agent, call).await.expect("a reading"), None);
    }
    // Nobody could be shown it: each of many values has the long name in its path.
    let long =
        format!(r#"{{"invoice":"842","amount_minor":1,"currency":"EUR","meta":{{"{}":[{}0]}}}}"#, "k".repeat(100_000), "0,".repeat(99));
    let size = gate.size().await;
    assert_eq!(code(gate.freeze(gate.received("billing", "refund", None), &long).await), Code::JsonTooLarge);
    assert_eq!(gate.told_since(size).await, ["call_refused:json_too_large"]);
    let stale = FreezeCall {
        received: gate.received("billing", "refund", None),
        request: gate.request_id(),
        salt: gate.salt(),
        row_sha256: Digest::of(b"the row before"),
        args: json(ARGS),
        referents: Some(json("{}")),
    };
    assert_eq!(code(gate.store.freeze_call(gate.moment(), stale).await.expect("an outcome")), Code::RowStale);
}

#[tokio::test]
async fn nobody_waits_for_persons_who_do_not_exist() {
    let (gate, ada) = Gate::with_admin().await;
    gate.add_agent("billing", None).await;
    let freeze = async || gate.freeze(gate.received("billing", "refund", None), ARGS).await;
    assert_eq!(code(freeze().await), Code::NoEligibleApprover);
    gate.admit(&ada, "Bea Example", &["billing-approver", "treasury"]).await;
    assert!(matches!(freeze().await, FreezeOutcome::Created { .. }));
    // Two are needed for a wire, and one of them may not be the agent's own person.
    let wire = r#"{"account":"DE89370400440532013000","amount_minor":1,"currency":"EUR"}"#;
    assert_eq!(code(gate.freeze(gate.received("billing", "wire", None), wire).await), Code::NoEligibleApprover);
}

#[tokio::test]
async fn the_same_call_key_is_the_same_call() {
    let (gate, ..) = Gate::with_people().await;
    let FreezeOutcome::Created { call, .. } = gate.freeze(gate.received("billing", "refund", Some(KEY)), ARGS).await else {
        panic!("created")
    };
    let size = gate.size().await;
    let reordered = r#"{"currency":"EUR","amount_minor":1500,"invoice":"842"}"#;
    let mut in_another_run = gate.received("billing", "refund", Some(KEY));
    in_another_run.run = Some(RunId::from_random([9; 16]));
    assert_eq!(gate.freeze(in_another_run, reordered).await, joined(call));
    assert_eq!(gate.size().await, size, "a repetition is no second card");
    assert_eq!(code(gate.freeze(gate.received("billing", "refund", Some(KEY)), OTHER).await), Code::OperationKeyConflict);
    let cancel = gate.freeze(gate.received("billing", "cancel", Some(KEY)), r#"{"subscription":"77"}"#).await;
    assert_eq!(code(cancel), Code::OperationKeyConflict);
    // Another agent's key is its own, but the effect is open already.
    assert_eq!(code(gate.freeze(gate.received("support", "refund", Some(KEY)), ARGS).await), Code::BusinessEffectOpen);
    let view = gate.store.any_call(call).await.expect("a reading").expect("a call");
    assert_eq!(view.request.expect("a request").joins, 1);
}

#[tokio::test]
async fn without_a_key_an_open_call_is_joined_and_another_key_is_not() {
    let (gate, ..) = Gate::with_people().await;
    let (call, _) = gate.refund("842").await;
    let mut in_another_run = gate.received("billing", "refund", None);
    in_another_run.run = Some(RunId::from_random([9; 16]));
    assert_eq!(gate.freeze(in_another_run, ARGS).await, joined(call));
    assert_eq!(code(gate.freeze(gate.received("billing", "refund", Some(KEY)), ARGS).await), Code::BusinessEffectOpen);
    // Another amount is another effect.
    assert!(matches!(gate.freeze(gate.received("billing", "refund", None), OTHER).await, FreezeOutcome::Created { .. }));
}

#[tokio::test]
async fn a_denied_call_is_answered_and_an_expired_one_begins_anew() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (denied, request) = gate.refund("842").await;
    assert!(matches!(gate.decide(&bea, request, DecisionKind::Deny, "billing-approver").await, DecisionOutcome::Recorded(_)));
    assert_eq!(gate.freeze(gate.received("billing", "refund", None), ARGS).await, joined(denied));
    let view = gate.store.call(name("billing"), denied).await.expect("a reading").expect("a call").request.expect("a request");
    let (denial, role) = view.denial.expect("a denial");
    assert_eq!((denial.kind.as_str(), denial.note.as_str(), role.as_str()), ("wrong_amount", "too much", "billing-approver"));
    // In another run, the answer of a finished call is not taken over.
    let mut elsewhere = gate.received("billing", "refund", None);
    elsewhere.run = Some(RunId::from_random([9; 16]));
    assert!(matches!(gate.freeze(elsewhere, ARGS).await, FreezeOutcome::Created { .. }));

    let (_, expired) = gate.refund("900").await;
    gate.advance_s(600);
    gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!(gate.view(expired).await.state, RequestState::Expired);
    let (_, again) = gate.refund("900").await;
    let frozen = FrozenRequest::parse(gate.view(again).await.frozen.as_bytes()).expect("frozen");
    assert_eq!((frozen.members().earlier.as_slice(), frozen.members().friction), ([expired].as_slice(), Reversibility::Compensable));
}

#[tokio::test]
async fn whoever_is_asked_anew_within_a_day_learns_that_a_colleague_said_no() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, denied) = gate.refund("842").await;
    assert!(matches!(gate.decide(&bea, denied, DecisionKind::Deny, "billing-approver").await, DecisionOutcome::Recorded(_)));
    for (after_s, named) in [(1, true), (24 * 3600, false)] {
        gate.advance_s(after_s);
        // The agent chooses its run, so that a new one does not join the denied call.
        let mut elsewhere = gate.received("billing", "refund", None);
        elsewhere.run = Some(RunId::from_random([u8::from(named) + 1; 16]));
        let FreezeOutcome::Created { request, call, .. } = gate.freeze(elsewhere, ARGS).await else { panic!("a new request") };
        let frozen = FrozenRequest::parse(gate.view(request).await.frozen.as_bytes()).expect("frozen");
        let expected = if named { (vec![denied], Reversibility::Irreversible) } else { (Vec::new(), Reversibility::Compensable) };
        assert_eq!((frozen.members().earlier.clone(), frozen.members().friction), expected);
        gate.store.withdraw(gate.moment(), name("billing"), call).await.expect("withdrawn");
    }
}

#[tokio::test]
async fn an_equal_effect_after_a_success_takes_irreversible_friction() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.refund("842").await;
    let operation = gate.approve(&bea, request, "billing-approver").await.operation.expect("a quorum");
    let redeemed = gate.redeem_new_token(operation).await;
    let again = async |call_key| gate.freeze(gate.received("billing", "refund", call_key), ARGS).await;
    assert_eq!(again(None).await, joined(call), "joined while it runs");
    let answer = RecordAnswer {
        operation,
        attempt: redeemed.attempt,
        answer: Answer::Done,
        result: Some(r#"{"id":"r1"}"#.to_owned()),
        detail: "200".to_owned(),
    };
    gate.store.record_answer(gate.moment(), answer).await.expect("an outcome");
    assert_eq!(again(None).await, joined(call), "the stored result in the same run");
    let FreezeOutcome::Created { request: second, .. } = again(Some(KEY)).await else { panic!("a new request") };
    let frozen = FrozenRequest::parse(gate.view(second).await.frozen.as_bytes()).expect("frozen");
    assert_eq!((frozen.members().earlier.as_slice(), frozen.members().friction), ([request].as_slice(), Reversibility::Irreversible));
}

#[tokio::test]
async fn a_day_later_a_finished_call_is_not_joined() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (denied, request) = gate.refund("842").await;
    gate.decide(&bea, request, DecisionKind::Deny, "billing-approver").await;
    gate.advance_s(24 * 3600 - 1);
    assert_eq!(gate.freeze(gate.received("billing", "refund", None), ARGS).await, joined(denied));
    gate.advance_s(1);
    assert!(matches!(gate.freeze(gate.received("billing", "refund", None), ARGS).await, FreezeOutcome::Created { .. }));
}

#[tokio::test]
async fn an_agent_has_so_many_requests_waiting_and_no_more() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, first) = gate.refund("1").await;
    gate.refund("2").await;
    gate.refund("3").await;
    let fourth = r#"{"invoice":"4","amount_minor":1500,"currency":"EUR"}"#;
    assert_eq!(code(gate.freeze(gate.received("billing", "refund", None), fourth).await), Code::PendingLimitReached);
    gate.decide(&bea, first, DecisionKind::Deny, "billing-approver").await;
    assert!(matches!(gate.freeze(gate.received("billing", "refund", None), fourth).await, FreezeOutcome::Created { .. }));
}

#[tokio::test]
async fn an_agent_withdraws_its_own_waiting_call_only() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (call, request) = gate.refund("842").await;
    let withdraw = async |agent, call| gate.store.withdraw(gate.moment(), name(agent), call).await.expect("an outcome");
    assert_eq!(withdraw("support", call).await, Withdrawal::NotFound);
    assert_eq!(withdraw("billing", gate.call_id()).await, Withdrawal::NotFound);
    let size = gate.size().await;
    assert_eq!(withdraw("billing", call).await, Withdrawal::Withdrawn);
    assert_eq!(gate.told_since(size).await, ["request_withdrawn:request_withdrawn"]);
    assert_eq!(gate.view(request).await.state, RequestState::Withdrawn);
    assert!(matches!(withdraw("billing", call).await, Withdrawal::Refused(refusal) if refusal.code == Code::RequestWithdrawn));
    let (call, request) = gate.refund("843").await;
    gate.approve(&bea, request, "billing-approver").await;
    assert!(matches!(withdraw("billing", call).await, Withdrawal::Refused(refusal) if refusal.code == Code::RequestNotPending));
}

#[tokio::test]
async fn calls_and_requests_are_hidden_from_others() {
    let (gate, ..) = Gate::with_people().await;
    let (call, request) = gate.refund("842").await;
    assert_eq!(gate.store.call(name("support"), call).await.expect("a reading"), None);
    assert!(gate.store.call(name("billing"), call).await.expect("a reading").is_some());
    for (roles, seen) in [(&["admin"][..], false), (&["billing-approver"], true), (&["auditor"], true), (&[], false), (&["billing"], false)]
    {
        assert_eq!(gate.store.request(request, names(roles)).await.expect("a reading").is_some(), seen, "{roles:?}");
        let listed = gate.store.requests(Some(RequestState::Pending), None, names(roles)).await.expect("a reading").requests;
        assert_eq!(listed.iter().any(|view| view.request == request), seen, "{roles:?}");
    }
}

#[tokio::test]
async fn refusals_and_reads_of_the_gate_are_recorded() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    let refusal = Refusal::new(Code::ToolUnknown, "no such tool").at("/tool");
    let refused = CallRefused { agent: Some(name("billing")), tool: "payments\u{2024}transfer".to_owned(), refusal, roles: Vec::new() };
    gate.store.refuse_call(gate.moment(), refused).await.expect("recorded");
    let read = ReadRecorded { agent: name("billing"), tool: name("search"), hits: Some(3), status: "200".to_owned() };
    gate.store.record_read(gate.moment(), read).await.expect("recorded");
    assert_eq!(gate.told_since(size).await, ["call_refused:tool_unknown", "read_executed"]);
    let body = gate.log().await[usize::try_from(size).expect("small")].body.clone().expect("a body");
    assert!(body.contains("payments\u{2024}transfer"), "{body}");
}

#[tokio::test]
async fn a_count_of_hits_that_no_record_holds_costs_the_count_and_not_the_record() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    for hits in [(1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1_000_000_000_000_000_000, u64::MAX] {
        let read = ReadRecorded { agent: name("billing"), tool: name("search"), hits: Some(hits), status: "200".to_owned() };
        gate.store.record_read(gate.moment(), read).await.expect("recorded");
    }
    let leaves: Vec<String> = gate.log().await.drain(usize::try_from(size).expect("small")..).map(|record| record.leaf).collect();
    assert_eq!(leaves.len(), 5);
    assert!(leaves[0].contains("\"hits\":9007199254740991"), "{}", leaves[0]);
    assert!(leaves[2..].iter().all(|leaf| leaf.contains("\"hits\":null")), "{leaves:#?}");
}

#[tokio::test]
async fn a_refusal_that_its_caller_counts_leaves_no_record() {
    let (gate, ..) = Gate::with_people().await;
    let received = vidimus_store::CallReceived { refusal_on_record: false, ..gate.received("billing", "refund", None) };
    let size = gate.size().await;
    let freeze = FreezeCall {
        received,
        request: vidimus_core::ids::RequestId::from_random([1; 16]),
        salt: vidimus_core::bytes::Salt::from_bytes([1; 32]),
        row_sha256: vidimus_core::bytes::Digest::of(b"another row"),
        args: vidimus_core::json::Json::object([]),
        referents: None,
    };
    let outcome = gate.store.freeze_call(gate.moment(), freeze).await.expect("an outcome");
    assert!(matches!(outcome, FreezeOutcome::Refused(refusal) if refusal.code == Code::RowStale));
    assert_eq!(gate.size().await, size);
}

/// Each page costs what it shows, and none is shown twice or left out, whoever asks while they come and go.
#[tokio::test]
async fn a_long_list_is_read_page_by_page() {
    const BEYOND: usize = 3;
    let (gate, ..) = Gate::with_people().await;
    let size = REQUESTS_PER_READ_MAX + BEYOND;
    let mut asked = Vec::new();
    for number in 0..size {
        let (call, request) = gate.refund(&number.to_string()).await;
        assert_eq!(gate.store.withdraw(gate.moment(), name("billing"), call).await.expect("an outcome"), Withdrawal::Withdrawn);
        asked.push(request);
    }
    let roles = names(&["billing-approver"]);
    for state in [None, Some(RequestState::Withdrawn)] {
        let first = gate.store.requests(state, None, roles.clone()).await.expect("a reading");
        assert_eq!(first.requests.len(), size - BEYOND, "{state:?}");
        let (_, newer) = gate.refund(&format!("newer{}", state.is_some())).await;
        let next_before = first.next_before.expect("older ones");
        let second = gate.store.requests(state, Some(next_before), roles.clone()).await.expect("a reading");
        assert_eq!(second.next_before, None);
        let listed: Vec<RequestId> = first.requests.iter().chain(&second.requests).map(|listed| listed.request).collect();
        let expected: Vec<RequestId> = asked.iter().rev().copied().filter(|request| *request != newer).collect();
        assert_eq!(listed.iter().filter(|request| asked.contains(request)).copied().collect::<Vec<_>>(), expected, "{state:?}");
        let waiting = gate.store.requests(Some(RequestState::Pending), None, roles.clone()).await.expect("a reading");
        assert_eq!(waiting.requests.first().map(|listed| listed.request), Some(newer));
    }
    let nobody = gate.store.requests(None, None, names(&["admin"])).await.expect("a reading");
    assert!(nobody.requests.iter().all(|listed| listed.tool.as_str() != "refund") && nobody.next_before.is_none());
}
