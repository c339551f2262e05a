//! Writes in doubt whose row says that the provider knows a key: sent again under it, counted at the provider.

use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::record::RecordType;
use vidimus_tests::company::{Keys, Mode, Order, Tool};

use crate::faults::log::Log;
use crate::faults::{House, call, until};

/// A house whose tickets are made with a key that is good for ten minutes and three attempts.
async fn open() -> House {
    House::open_with(
        |table| {
            let keyed = "tool = \"create_ticket\"\nidempotency = \"key\"\nkey_valid_s = 600\nattempts_max = 3\n";
            table.replacen("tool = \"create_ticket\"\n", keyed, 1)
        },
        &[],
    )
    .await
}

fn ticket(number: usize) -> CallRequest {
    let args = format!(r#"{{"customer":"customer_bert","subject":"Fan {number}","body":"It does not turn."}}"#);
    call("create_ticket", &args, &format!("ticket-{number}"))
}

async fn ended(agent: &AgentClient, told: &CallAnswer) -> CallAnswer {
    until("an end", || async {
        let told = agent.outcome(&told.call, 5).await.expect("an answer");
        told.status.has_ended().then_some(told)
    })
    .await
}

async fn sent(house: &House) -> usize {
    house.inspector.calls().await.expect("calls").iter().filter(|call| call.tool == Tool::CreateTicket).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_was_lost_is_sent_again_under_its_key_and_happens_once() {
    let house = open().await;
    let support = house.agent("support", &[]);
    let mut log = Log::follow(&house).await;
    let lost = |keys| Order::of(Tool::CreateTicket).mode(Mode::ErrorAfterEffect).times(1).keys(keys);
    house.inspector.order(lost(Keys::Honour)).await.expect("an order");
    let told = support.call(&ticket(1), 0).await.expect("an answer");
    assert_eq!(told.status, CallStatus::Unknown, "{}", told.words);
    // The same call meanwhile is that one.
    assert_eq!(support.call(&ticket(1), 0).await.expect("the same").call, told.call);
    let told = ended(&support, &told).await;
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(2)), "{}", told.words);
    assert_eq!((house.count(Tool::CreateTicket).await, sent(&house).await), (1, 2), "one effect, two attempts");
    log.rest(&house).await;
    assert_eq!(log.of(RecordType::WriteIntended).count(), 2);
    // What the key is for: a provider that ignores it makes two.
    house.inspector.order(lost(Keys::Ignore)).await.expect("an order");
    let told = support.call(&ticket(2), 0).await.expect("an answer");
    assert_eq!(ended(&support, &told).await.status, CallStatus::Executed);
    assert_eq!(house.count(Tool::CreateTicket).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_lost_every_time_ends_with_its_owner_after_as_many_attempts_as_its_row_says() {
    let mut house = open().await;
    let support = house.agent("support", &[]);
    house.inspector.order(Order::of(Tool::CreateTicket).mode(Mode::ErrorAfterEffect).keys(Keys::Honour)).await.expect("an order");
    let told = support.call(&ticket(1), 0).await.expect("an answer");
    let told = ended(&support, &told).await;
    assert_eq!((told.status, told.attempt), (CallStatus::NeedsReconciliation, Some(3)), "{}", told.words);
    assert_eq!((house.count(Tool::CreateTicket).await, sent(&house).await), (1, 3));
    // Over a kill and a start, whose comparison with the log finds three attempts of one write, it is the same.
    house.kill();
    house.start();
    let again = support.call(&ticket(1), 0).await.expect("the same");
    assert_eq!((again.call, again.status), (told.call, CallStatus::NeedsReconciliation));
    assert_eq!((house.count(Tool::CreateTicket).await, sent(&house).await), (1, 3));
}

/// A gate that is killed after the intent of a write is durable, before anything is sent: the next one sends it under its key.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_gate_died_after_its_intent_is_sent_by_the_next_one() {
    let mut house = open().await;
    let support = house.agent("support", &[]);
    house.inspector.order(Order::of(Tool::CreateTicket).keys(Keys::Honour)).await.expect("an order");
    house.order(&["kill after_intent"]);
    assert!(support.call(&ticket(1), 0).await.is_err_and(|error| error.code().is_none()), "no answer came");
    house.ended();
    house.order(&[]);
    house.start();
    let told = support.call(&ticket(1), 0).await.expect("the same call");
    let told = ended(&support, &told).await;
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(2)), "{}", told.words);
    assert_eq!((house.count(Tool::CreateTicket).await, sent(&house).await), (1, 1));
}
