//! The network is cut: between the gate and its provider while an effect is on its way, and between a person and the gate.
//! Nothing is repeated that may have happened, people are told, and after the cut it is settled. Seconds by default, a minute
//! with `--long`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use vidimus_api::call::{CallAnswer, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::log::LogEvent;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::Answer as Said;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_tests::company::{Mode, Order};

use crate::faults::log::Log;
use crate::faults::wiring::Wire;
use crate::faults::{House, WAIT_S, WITHIN, pending, request_of, until};
use crate::{KEY, NONE, SHORT, STATUS, Subject, counted};

/// How long the network is away. Longer than everything that the gate tries by itself here.
fn away() -> Duration {
    Duration::from_secs(if std::env::var_os("VIDIMUS_LONG").is_some() { 60 } else { 12 })
}

/// A gate that reaches its provider by a wire, and gives up on an answer after a second.
async fn behind_a_wire() -> (House, Arc<Wire>) {
    let laid: Arc<Mutex<Option<Arc<Wire>>>> = Arc::default();
    let lay = Arc::clone(&laid);
    let house = House::open_with(
        move |table| {
            let (_, rest) = table.split_once("url = \"http://").expect("a provider");
            let company = format!("http://{}", rest.split(['/', '"']).next().expect("its address"));
            let wire = Arc::new(Wire::to(&company));
            *lay.lock().expect("nobody panics with it") = Some(Arc::clone(&wire));
            table.replace(&company, &wire.url).replace("settle_s = 5", "settle_s = 1").replace("timeout_s = 10", "timeout_s = 1")
        },
        &[],
    )
    .await;
    house.order(SHORT);
    let wire = laid.lock().expect("nobody panics with it").clone().expect("a wire");
    (house, wire)
}

/// Approves one call of this subject whose effect happens, and whose answer the cut takes.
async fn caught(house: &House, wire: &Wire, agent: &AgentClient, subject: Subject) -> CallAnswer {
    let delay = Order::of(subject.tool).mode(Mode::DelayAfterEffect).times(1).delay_ms(700);
    house.inspector.order(delay).await.expect("an order");
    let waiting = pending(agent, &subject.call(1)).await;
    house.admin.approve(request_of(&waiting), subject.role).await.expect("it counts");
    counted(house, subject, 1, 1).await;
    wire.cut();
    waiting
}

async fn answered_by_people(house: &House, operation: OperationKey, role: &str) {
    let draft = house.admin.answer(operation, Said::Happened, role).await.expect("a challenge");
    house.admin.hand_in_answer(operation, &draft).await.expect("it counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_between_gate_and_provider_repeats_nothing_pages_people_and_is_settled_afterwards() {
    for subject in [KEY, STATUS, NONE] {
        let (house, wire) = behind_a_wire().await;
        let agent = house.agent(subject.agent, &[]);
        let mut log = Log::follow(&house).await;
        let waiting = caught(&house, &wire, &agent, subject).await;
        let cut_at = Instant::now();
        // Whatever the row lets the gate try comes to nothing in the cut; then it is a person's, and people are told.
        let told = until("a person's", || async {
            let told = agent.outcome(&waiting.call, 1).await.expect("an answer");
            assert_ne!(told.status, CallStatus::Failed, "{}: a cut is no proof that nothing happened", subject.idempotency);
            (told.status == CallStatus::NeedsReconciliation).then_some(told)
        })
        .await;
        log.wait_for(RecordType::PageSent, request_of(&waiting)).await;
        assert_eq!(subject.count(&house, 1).await, 1, "{}", subject.idempotency);
        sleep(away().saturating_sub(cut_at.elapsed())).await;
        wire.mend();
        // After the cut nothing goes out by itself, and the same call again is that one.
        let again = agent.call(&subject.call(1), 0).await.expect("the same call");
        assert_eq!((again.call, again.status), (waiting.call, CallStatus::NeedsReconciliation), "{}", again.words);
        let operation = told.operation.expect("an operation");
        if subject.idempotency == "status" {
            house.admin.client().expect("a session").ask_status(&operation).await.expect("the provider is there again");
        }
        let now = agent.outcome(&waiting.call, 0).await.expect("an answer");
        if now.status == CallStatus::NeedsReconciliation {
            answered_by_people(&house, operation, subject.role).await;
        }
        let settled = agent.outcome(&waiting.call, WAIT_S).await.expect("an answer");
        assert_eq!(settled.status, CallStatus::Executed, "{}: {}", subject.idempotency, settled.words);
        assert_eq!(subject.count(&house, 1).await, 1, "{}: once", subject.idempotency);
    }
}

/// Twenty wait; the person's network is away; they are all there with the same bytes and the same end; what was signed in the cut
/// is not silently dropped; what came meanwhile comes once.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_between_a_person_and_the_gate_loses_nothing_and_tells_nothing_twice() {
    let house = crate::open().await;
    let billing = house.agent(KEY.agent, &[]);
    let wire = Wire::to(&house.url);
    let bea = house.person("Bea Example", &[KEY.role], 21).await.at(&wire.url).await.expect("by the wire");
    let mut before = Vec::new();
    for number in 1..=20 {
        if number <= 18 {
            before.push(pending(&billing, &KEY.call(number)).await);
        }
    }
    let mut stream = bea.client().expect("a session").log_stream(0).await.expect("a stream");
    let mut created: Vec<String> = Vec::new();
    let mut take = |event: LogEvent| {
        if let LogEvent::Record(record) = event {
            let audit = AuditRecord::parse(record.leaf.as_bytes()).expect("a record");
            if audit.record_type == RecordType::RequestCreated {
                created.push(audit.request.expect("a request").to_string());
            }
        }
        created.len()
    };
    while take(stream.next().await.expect("an event").expect("an open stream")) < 19 {}
    let from = stream.position_next();
    let statement = bea.statement(request_of(&before[0]), DecisionKind::Approve, KEY.role).await.expect("a statement");
    wire.cut();
    let cut_at = Instant::now();
    let meanwhile = pending(&billing, &KEY.call(20)).await;
    // Signed and sent in the cut: the person is not told that it counts.
    let sent = tokio::time::timeout(Duration::from_secs(2), bea.hand_in(statement.request, &statement)).await;
    assert!(sent.is_err() || sent.is_ok_and(|answer| answer.is_err()), "nothing passes");
    assert_eq!(house.detail(statement.request).await.state, RequestState::Pending);
    sleep(away().saturating_sub(cut_at.elapsed())).await;
    wire.mend();
    drop(stream);
    let mut stream = until("a stream", || async { bea.client().expect("a session").log_stream(from).await.ok() }).await;
    let reading = async { while take(stream.next().await.expect("an event").expect("an open stream")) < 20 {} };
    tokio::time::timeout(WITHIN, reading).await.expect("what came meanwhile");
    let mut once = created.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), created.len(), "nothing twice");
    for waiting in before.iter().chain([&meanwhile]) {
        let now = billing.outcome(&waiting.call, 0).await.expect("an answer");
        assert_eq!(
            (now.status, now.request, now.request_sha256, now.waits_until),
            (CallStatus::Pending, waiting.request, waiting.request_sha256, waiting.waits_until)
        );
    }
    // The same envelope again, once the network is there: it counts, and it runs once.
    bea.hand_in(statement.request, &statement).await.expect("it counts");
    assert_eq!(billing.outcome(&before[0].call, WAIT_S).await.expect("an answer").status, CallStatus::Executed);
    assert_eq!(KEY.count(&house, 1).await, 1);
    assert_eq!(house.effects().await, 1);
}
