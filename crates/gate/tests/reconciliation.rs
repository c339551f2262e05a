//! Unknown outcomes over HTTP, with a provider that loses its answers: what each kind of idempotency leads to, what people
//! answer, and that nothing but enough of their signatures moves anything.

mod house;

use house::{House, code_of, json, request_of, until};
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::code::Code;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::reconciliation::Answer;
use vidimus_tests::approver::{Approver, ApproverError};
use vidimus_tests::company::{Mode, Order, StatusQuery, Tool};

const ROLES: &[&str] = &["billing-approver", "support-lead", "treasury"];

/// A company whose rows give up at once and settle in a second.
async fn house() -> House {
    House::open_with(|table| {
        let quick = table
            .replace("settle_s = 5", "settle_s = 1")
            .replace("delay_s = 60", "delay_s = 0\nsettle_s = 1")
            .replace("timeout_s = 10", "timeout_s = 1");
        at_tool(at_tool(quick, "refund", "attempts_max = 1\nsettle_s = 1"), "send_email", "settle_s = 1")
    })
    .await
}

/// The table with more keys in the row of a tool, in place of those that it has.
fn at_tool(table: String, tool: &str, keys: &str) -> String {
    let mut rows: Vec<String> = table.split("[[row]]").map(str::to_owned).collect();
    let row = rows.iter_mut().find(|row| row.contains(&format!("\ntool = \"{tool}\"\n"))).expect("a row");
    let names: Vec<&str> = keys.lines().filter_map(|line| line.split(" = ").next()).collect();
    let kept: Vec<&str> = row.lines().filter(|line| !names.iter().any(|name| line.starts_with(&format!("{name} = ")))).collect();
    let first = format!("tool = \"{tool}\"");
    *row = kept.join("\n").replace(&first, &format!("{first}\n{keys}")) + "\n";
    rows.join("[[row]]")
}

struct Scene {
    house: House,
    admin: Approver,
    second: Approver,
    /// Answers for the treasurer's agent.
    third: Approver,
    billing: AgentClient,
    support: AgentClient,
    treasurer: AgentClient,
}

/// Two persons who hold every role, and the agents.
async fn scene() -> Scene {
    let house = house().await;
    let admin = house.admin().await;
    let second = house.person(&admin, "Bea Example", ROLES, 2).await;
    let third = house.person(&admin, "Cem Example", ROLES, 3).await;
    let (billing, support) = (house.agent("billing", &[]), house.agent("support", &[]));
    let treasurer = house.agent("treasury", &["--owner", &third.person.to_string()]);
    Scene { house, admin, second, third, billing, support, treasurer }
}

/// A call whose answer is lost and that ends with people.
async fn lost(scene: &Scene, tool: Tool, agent: &AgentClient, args: &str, approvers: &[(&Approver, &str)]) -> (CallAnswer, OperationKey) {
    let order = Order::of(tool).mode(Mode::DropAfterEffect).times(1).status(StatusQuery::Absent);
    scene.house.inspector.order(order).await.expect("an order");
    let pending = agent.call(&CallRequest::new(tool.name(), json(args)), 0).await.expect("a pending call");
    for (approver, role) in approvers {
        approver.approve(request_of(&pending), role).await.expect("it counts");
    }
    let answer = until("the outcome", async || {
        let answer = agent.outcome(&pending.call, 1).await.expect("an outcome");
        (answer.status == CallStatus::NeedsReconciliation).then_some(answer)
    })
    .await;
    let operation = answer.operation.expect("an operation");
    (answer, operation)
}

fn refused(result: Result<impl std::fmt::Debug, ApproverError>) -> String {
    match result {
        Err(error) => error.code().map(str::to_owned).unwrap_or_else(|| panic!("no code: {error}")),
        Ok(answer) => panic!("not refused: {answer:?}"),
    }
}

/// Signs and hands in an answer; what did not happen is said again until the world has settled.
async fn say(person: &Approver, operation: OperationKey, answer: Answer, role: &str, part: Option<u64>) -> OperationState {
    until("the answer", async || {
        let mut draft = person.answer(operation, answer, role).await.expect("a challenge");
        draft.statement.amount_minor = part;
        match person.hand_in_answer(operation, &draft).await {
            Ok(receipt) => Some(receipt.state),
            Err(error) if error.code() == Some(Code::ReconciliationTooEarly.as_str()) => None,
            Err(error) => panic!("{error}"),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_idempotency_and_every_answer() {
    let scene = scene().await;
    let people = |role| [(&scene.admin, role)];
    let answers = [
        (Answer::Happened, OperationState::Succeeded, CallStatus::Executed),
        (Answer::Partly, OperationState::Partial, CallStatus::Partial),
        (Answer::NotHappened, OperationState::NotHappened, CallStatus::NotHappened),
        (Answer::StillUnknown, OperationState::NeedsReconciliation, CallStatus::NeedsReconciliation),
    ];
    for (number, (answer, state, status)) in (1_u64..).zip(answers) {
        let refund = format!(r#"{{"invoice":"invoice_842","amount_minor":{},"currency":"EUR","reason":"lost"}}"#, 100 + number);
        let cancel = format!(r#"{{"subscription":"sub_77","effective":"2026-12-31","reason":"lost {number}"}}"#);
        let mail = format!(r#"{{"to":"ada{number}@example.com","subject":"Your kettle","body":"It is on its way."}}"#);
        let cases = [
            (Tool::Refund, &scene.billing, refund, "billing-approver", Some(50)),
            (Tool::CancelSubscription, &scene.billing, cancel, "billing-approver", None),
            (Tool::SendEmail, &scene.support, mail, "support-lead", None),
        ];
        for (tool, agent, args, role, amount) in cases {
            if tool == Tool::CancelSubscription {
                scene.house.inspector.reset().await.expect("a reset");
            }
            let before = scene.house.inspector.count(tool).await.expect("a count");
            let (call, operation) = lost(&scene, tool, agent, &args, &people(role)).await;
            let part = amount.filter(|_| answer == Answer::Partly);
            assert_eq!(say(&scene.second, operation, answer, role, part).await, state, "{tool:?} {answer}");
            let after = agent.outcome(&call.call, 0).await.expect("an outcome");
            assert_eq!(after.status, status, "{tool:?} {answer}: {}", after.words);
            // The same words again: joined to what is open or answered, anew only where people signed that nothing happened.
            let again = agent.call(&CallRequest::new(tool.name(), json(&args)), 0).await.expect("an answer");
            let anew = answer == Answer::NotHappened;
            assert_eq!(
                (again.call == call.call, again.status),
                (!anew, if anew { CallStatus::Pending } else { status }),
                "{tool:?} {answer}"
            );
            assert_eq!(again.earlier.contains(&request_of(&call)), anew, "its card names the earlier one");
            assert_eq!(scene.house.inspector.count(tool).await.expect("a count"), before + 1, "{tool:?} {answer}: nobody sent it again");
            if answer == Answer::StillUnknown {
                say(&scene.second, operation, Answer::Happened, role, None).await;
            } else if anew {
                agent.withdraw(&again.call).await.expect("withdrawn");
            }
        }
    }
}

const WIRE: &str = r#"{"payee":"payee_fixtures","amount_minor":420000,"currency":"EUR","reference":"2026-1188"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn two_persons_for_two_and_nothing_else_counts() {
    let scene = scene().await;
    let (admin, second) = (&scene.admin, &scene.second);
    let outsider = scene.house.person(admin, "Dora Example", &["support-lead"], 4).await;
    let third = scene.house.person(admin, "Eli Example", ROLES, 5).await;
    let both = [(second, "treasury"), (&third, "treasury")];
    let (_, operation) = lost(&scene, Tool::WireTransfer, &scene.treasurer, WIRE, &both).await;

    let early = second.answer(operation, Answer::NotHappened, "treasury").await.expect("a challenge");
    assert_eq!(refused(second.hand_in_answer(operation, &early).await), "reconciliation_too_early");
    assert_eq!(refused(outsider.answer(operation, Answer::Happened, "support-lead").await), "not_found", "as if it were not there");
    let absent: OperationKey = "0".repeat(64).parse().expect("a key");
    assert_eq!(refused(second.answer(absent, Answer::Happened, "treasury").await), "not_found");

    // What somebody else would have to be, and what somebody else would have to have signed.
    let mut draft = second.answer(operation, Answer::Happened, "treasury").await.expect("a challenge");
    let forged = draft.statement.sign(&third.approval).expect("signed");
    assert_eq!(refused(second.hand_in_answer_envelope(operation, &forged, &draft).await), "envelope_key_wrong");
    let device = draft.statement.sign(&second.device).expect("signed");
    assert_eq!(refused(second.hand_in_answer_envelope(operation, &device, &draft).await), "envelope_key_wrong");
    draft.statement.role = vidimus_core::ids::Name::parse("billing-approver").expect("a name");
    assert_eq!(refused(second.hand_in_answer(operation, &draft).await), "role_not_needed");

    // One person is not two, and the same envelope is one answer.
    let draft = second.answer(operation, Answer::Happened, "treasury").await.expect("a challenge");
    let receipt = second.hand_in_answer(operation, &draft).await.expect("it counts");
    assert_eq!((receipt.state, receipt.quorum.given, receipt.quorum.needed), (OperationState::NeedsReconciliation, 1, 2));
    assert_eq!(second.hand_in_answer(operation, &draft).await.expect("the stored receipt"), receipt);
    let mut replayed = second.answer(operation, Answer::NotHappened, "treasury").await.expect("a challenge");
    replayed.statement.challenge = draft.statement.challenge;
    replayed.statement.issued_at = draft.statement.issued_at;
    replayed.statement.expires_at = draft.statement.expires_at;
    assert_eq!(refused(second.hand_in_answer(operation, &replayed).await), "challenge_replayed");

    // They disagree: recorded, and nothing moves. Then one of them looks again.
    assert_eq!(say(&third, operation, Answer::NotHappened, "treasury", None).await, OperationState::NeedsReconciliation);
    let detail = second.client().expect("a session").operation(&operation).await.expect("a detail");
    let told: Vec<&str> = detail.answers.iter().map(|answer| answer.answer.as_str()).collect();
    assert_eq!(told, ["happened", "not_happened"]);
    let draft = third.answer(operation, Answer::Happened, "treasury").await.expect("a challenge");
    let receipt = third.hand_in_answer(operation, &draft).await.expect("it counts");
    assert_eq!((receipt.state, receipt.conflict), (OperationState::Succeeded, false));
    // What is final takes a note, and nothing else.
    let late = third.answer(operation, Answer::NotHappened, "treasury").await.expect("a challenge");
    assert_eq!(refused(third.hand_in_answer(operation, &late).await), "operation_state_wrong");
    assert_eq!(say(second, operation, Answer::Note, "treasury", None).await, OperationState::Succeeded);
    assert_eq!(scene.house.inspector.count(Tool::WireTransfer).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_answers_for_their_own_agent_and_no_answer_is_another_operations() {
    let scene = scene().await;
    let fourth = scene.house.person(&scene.admin, "Eli Example", ROLES, 5).await;
    let both = [(&scene.second, "treasury"), (&fourth, "treasury")];
    let (_, operation) = lost(&scene, Tool::WireTransfer, &scene.treasurer, WIRE, &both).await;
    let own = scene.third.answer(operation, Answer::Happened, "treasury").await.expect("a challenge");
    assert_eq!(refused(scene.third.hand_in_answer(operation, &own).await), "self_approval");

    let mail = r#"{"to":"ada@example.com","subject":"Your kettle","body":"It is on its way."}"#;
    let (_, other) = lost(&scene, Tool::SendEmail, &scene.support, mail, &[(&scene.admin, "support-lead")]).await;
    let draft = scene.second.answer(operation, Answer::Happened, "treasury").await.expect("a challenge");
    assert_eq!(refused(scene.second.hand_in_answer(other, &draft).await), "operation_wrong", "sent for another operation");
    let mut swapped = scene.second.answer(other, Answer::Happened, "support-lead").await.expect("a challenge");
    swapped.statement.request = draft.statement.request;
    assert_eq!(refused(scene.second.hand_in_answer(other, &swapped).await), "request_wrong");
    let mut swapped = scene.second.answer(other, Answer::Happened, "support-lead").await.expect("a challenge");
    swapped.statement.request_sha256 = draft.statement.request_sha256;
    assert_eq!(refused(scene.second.hand_in_answer(other, &swapped).await), "bytes_differ");
    let mut swapped = scene.second.answer(other, Answer::Happened, "support-lead").await.expect("a challenge");
    swapped.statement.challenge = draft.statement.challenge;
    assert_eq!(refused(scene.second.hand_in_answer(other, &swapped).await), "challenge_invalid");
    let mut thin = scene.second.answer(other, Answer::Happened, "support-lead").await.expect("a challenge");
    thin.evidence = thin.evidence.replace("looked", "saw");
    assert_eq!(refused(scene.second.hand_in_answer(other, &thin).await), "evidence_invalid");
    let mut part = scene.second.answer(other, Answer::Partly, "support-lead").await.expect("a challenge");
    part.statement.amount_minor = Some(1);
    assert_eq!(refused(scene.second.hand_in_answer(other, &part).await), "amount_invalid", "a mail has no amount");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_asked_when_a_person_wants_to_know() {
    let scene = scene().await;
    let args = r#"{"subscription":"sub_77","effective":"2026-12-31","reason":"asked for it"}"#;
    let (call, operation) = lost(&scene, Tool::CancelSubscription, &scene.billing, args, &[(&scene.admin, "billing-approver")]).await;
    let client = scene.second.client().expect("a session");
    let absent = client.ask_status(&operation).await.expect("a report");
    assert_eq!((absent.answer.as_str(), absent.state), ("not_found", OperationState::NeedsReconciliation));
    assert_eq!(code_of(client.ask_status(&operation).await), "rate_limited", "each question leaves a record");
    // It turns up later: evidence for the person, who still has to sign.
    scene.house.inspector.order(Order::of(Tool::CancelSubscription).status(StatusQuery::Answer)).await.expect("an order");
    let found = until("the next question", async || client.ask_status(&operation).await.ok()).await;
    assert_eq!((found.answer.as_str(), found.state), ("found", OperationState::NeedsReconciliation));
    assert_eq!(scene.billing.outcome(&call.call, 0).await.expect("an outcome").status, CallStatus::NeedsReconciliation);

    let mail = r#"{"to":"ada@example.com","subject":"Your kettle","body":"It is on its way."}"#;
    let (_, unasked) = lost(&scene, Tool::SendEmail, &scene.support, mail, &[(&scene.admin, "support-lead")]).await;
    assert_eq!(code_of(client.ask_status(&unasked).await), "status_unavailable");
    say(&scene.second, unasked, Answer::Happened, "support-lead", None).await;
    let detail = client.operation(&operation).await.expect("a detail");
    assert!(detail.status_available && detail.settles_at.is_some());
    say(&scene.second, operation, Answer::Happened, "billing-approver", None).await;
    assert_eq!(code_of(client.ask_status(&operation).await), "operation_state_wrong", "what is final is not asked about");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_has_under_our_key_must_be_what_was_sent() {
    // The provider echoes the digest of what it got; this row says that it must be the operation's key, so nothing is ours.
    let house = House::open_with(|table| {
        table.replace("settle_s = 5", "settle_s = 1").replace("is = \"{payload_sha256}\"", "is = \"{operation}\"")
    })
    .await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    house.inspector.order(Order::of(Tool::CancelSubscription).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let args = r#"{"subscription":"sub_77","effective":"2026-12-31","reason":"asked for it"}"#;
    let pending = billing.call(&CallRequest::new("cancel_subscription", json(args)), 0).await.expect("a pending call");
    admin.approve(request_of(&pending), "billing-approver").await.expect("it counts");
    let answer = until("a person's turn", async || {
        let answer = billing.outcome(&pending.call, 1).await.expect("an outcome");
        (answer.status == CallStatus::NeedsReconciliation).then_some(answer)
    })
    .await;
    let report = admin.client().expect("a session").ask_status(&answer.operation.expect("an operation")).await.expect("a report");
    assert_eq!(report.answer, "foreign");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_doubt_is_its_owners_to_answer() {
    let scene = scene().await;
    scene.house.inspector.order(Order::of(Tool::CreateTicket).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let args = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
    let lost = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0002");
    let answer = scene.support.call(&lost, 0).await.expect("a write");
    let operation = answer.operation.expect("an operation");
    let client = scene.second.client().expect("a session");
    until("a person's turn", async || {
        let detail = client.operation(&operation).await.expect("a detail");
        (detail.state == OperationState::NeedsReconciliation && detail.request.is_none()).then_some(())
    })
    .await;
    assert_eq!(say(&scene.second, operation, Answer::Happened, "support-lead", None).await, OperationState::Succeeded);
    let again = scene.support.call(&lost, 0).await.expect("the same call");
    assert_eq!((again.call, again.status), (answer.call, CallStatus::Executed));
    assert_eq!(scene.house.inspector.count(Tool::CreateTicket).await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_doubt_whose_provider_can_be_asked_adopts_what_is_its_own() {
    let keys = "idempotency = \"status\"\nsettle_s = 1\nstatus = { url = \"{{company}}/billing/operations/{operation}\", found = \"/result\", matches = [{ at = \"/payload_sha256\", is = \"{payload_sha256}\" }] }";
    let house = House::open_with(|table| {
        let url =
            table.lines().find_map(|line| line.strip_prefix("url = \"")?.strip_suffix("/tickets\"")).expect("the row's address").to_owned();
        at_tool(table, "create_ticket", &keys.replace("{{company}}", &url))
    })
    .await;
    let _admin = house.admin().await;
    let support = house.agent("support", &[]);
    let args = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
    let order = Order::of(Tool::CreateTicket).mode(Mode::DropAfterEffect).times(1).status(StatusQuery::Answer);
    house.inspector.order(order).await.expect("an order");
    let lost = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0003");
    let answer = support.call(&lost, 0).await.expect("a write");
    assert_eq!(answer.status, CallStatus::Unknown, "{}", answer.words);
    let adopted = until("the provider's word", async || {
        let answer = support.outcome(&answer.call, 1).await.expect("an outcome");
        answer.status.has_ended().then_some(answer)
    })
    .await;
    assert_eq!(adopted.status, CallStatus::Executed, "{}", adopted.words);
    assert_eq!(house.inspector.count(Tool::CreateTicket).await.expect("a count"), 1);
}
