//! The gate is killed (SIGKILL) at a point, started again, and driven to the end by the same agent and the same person.

use vidimus_api::client::AgentClient;
use vidimus_tests::company::{Keys, Mode, Order, Tool};

use crate::faults::{House, until};
use crate::{End, KEY, NONE, Points, SHORT, STATUS, Subject, and, approval, counted, end_of, ended, open};

/// Where the gate dies, and what then must come of it: DESIGN.md section 5, counted at the provider. The last three points
/// are at the provider: it has the request and acts soon, it has acted and its answer is on the way, it acts very late.
const POINTS: Points = Points(
    "
    before_freeze   executed 1 1   executed             1 1   executed             1 1
    after_freeze    executed 1 1   executed             1 1   executed             1 1
    before_decide   executed 1 1   executed             1 1   executed             1 1
    after_decide    executed 1 1   executed             1 1   executed             1 1
    before_mint     executed 1 1   executed             1 1   executed             1 1
    after_mint      executed 1 1   executed             1 1   executed             1 1
    before_redeem   executed 1 1   executed             1 1   executed             1 1
    after_redeem    executed 2 1   needs_reconciliation 1 0   needs_reconciliation 1 0
    before_send     executed 2 1   needs_reconciliation 1 0   needs_reconciliation 1 0
    provider_has_it executed 2 1   executed             1 1   needs_reconciliation 1 1
    provider_acted  executed 2 1   executed             1 1   needs_reconciliation 1 1
    provider_late   executed 2 1   needs_reconciliation 1 1   needs_reconciliation 1 1
    after_answer    executed 2 1   executed             1 1   needs_reconciliation 1 1
    before_record   executed 2 1   executed             1 1   needs_reconciliation 1 1
    after_record    executed 1 1   executed             1 1   executed             1 1
    ",
);

/// What the provider does with the call at a point of its own.
fn at_provider(point: &str) -> Option<(Mode, u64)> {
    match point {
        "provider_has_it" => Some((Mode::Delay, 600)),
        "provider_acted" => Some((Mode::DelayAfterEffect, 60_000)),
        "provider_late" => Some((Mode::Delay, 4_000)),
        _ => None,
    }
}

/// Lets the gate die at the point, in the middle of one call, and gives how the call ended.
async fn crash(house: &mut House, credential: &str, subject: Subject, point: &str, number: usize, expected: End<'_>) -> End<'static> {
    let agent = AgentClient::new(&house.url, credential).expect("a client");
    let call = subject.call(number);
    let sent = subject.sent(house).await;
    let order = format!("kill {point}");
    match at_provider(point) {
        Some((mode, delay_ms)) => {
            let order = Order::of(subject.tool).mode(mode).delay_ms(delay_ms).times(1);
            house.inspector.order(order).await.expect("an order");
        }
        None => house.order(&and(&order)),
    }
    let mut statement = None;
    if let Ok(pending) = agent.call(&call, 0).await {
        let signed = approval(house, &pending, subject.role).await;
        // The gate may be gone before its receipt is out: what is on record counts.
        let _ = house.admin.hand_in(signed.request, &signed).await;
        statement = Some(signed);
    }
    if at_provider(point).is_some() {
        until("the provider has it", || async { (subject.sent(house).await > sent).then_some(()) }).await;
        house.kill();
    } else {
        house.ended();
    }
    house.order(SHORT);
    house.start();

    let agent = AgentClient::new(&house.url, credential).expect("a client");
    let again = agent.call(&call, 0).await.expect("the same call again");
    let statement = match statement {
        Some(statement) => statement,
        None => approval(house, &again, subject.role).await,
    };
    // The same envelope again: it counts if it never did, else it gets the receipt that was lost.
    let receipt = house.admin.hand_in(statement.request, &statement).await.unwrap_or_else(|error| panic!("{point}: {error}"));
    assert_eq!(receipt.quorum.given, 1, "{point}");
    let told = ended(&agent, &again).await;
    assert_eq!(told.call, again.call);
    counted(house, subject, number, expected.effects).await;
    let joined = agent.call(&call, 0).await.expect("the same call once more");
    assert_eq!((joined.call, joined.status), (told.call, told.status), "{point}");
    end_of(&told, subject.count(house, number).await)
}

async fn at_every_point(subject: Subject) {
    let mut house = open().await;
    let credential = house.credential(subject.agent, &[]);
    let mut expected_effects = 0;
    for (number, (point, expected)) in POINTS.of(subject).enumerate() {
        let found = crash(&mut house, &credential, subject, point, number + 1, expected).await;
        assert_eq!(found, expected, "{} at {point}", subject.idempotency);
        expected_effects += expected.effects;
    }
    // Nothing comes later, whatever is started again.
    house.kill();
    house.start();
    let agent = AgentClient::new(&house.url, &credential).expect("a client");
    for (number, (point, expected)) in POINTS.of(subject).enumerate() {
        let told = agent.call(&subject.call(number + 1), 0).await.expect("the same call");
        assert_eq!(end_of(&told, subject.count(&house, number + 1).await), expected, "{point}, later");
    }
    assert_eq!(house.effects().await, expected_effects);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_point_with_a_key() {
    at_every_point(KEY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_point_with_a_status_to_ask_for() {
    at_every_point(STATUS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_point_with_nothing_to_go_by() {
    at_every_point(NONE).await;
}

/// What the key is for: a provider that ignores it is paid twice by the same crash under the same row, which says `key`.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_crash_at_a_provider_without_keys_pays_twice() {
    let mut house = open().await;
    let credential = house.credential(KEY.agent, &[]);
    for (number, point) in ["provider_acted", "after_answer", "before_record"].into_iter().enumerate() {
        let honoured = End { status: "executed", attempt: 2, effects: 1 };
        house.inspector.order(Order::of(Tool::Refund).keys(Keys::Honour)).await.expect("an order");
        assert_eq!(crash(&mut house, &credential, KEY, point, 10 + number, honoured).await, honoured, "{point}, with the key");
        let ignored = End { effects: 2, ..honoured };
        house.inspector.order(Order::of(Tool::Refund).keys(Keys::Ignore)).await.expect("an order");
        assert_eq!(crash(&mut house, &credential, KEY, point, 20 + number, ignored).await, ignored, "{point}, without it");
    }
}
