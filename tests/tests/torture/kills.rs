//! The gate is killed at moments that nobody has chosen, while agents call, people sign and money moves.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use vidimus_api::call::CallStatus;
use vidimus_api::client::AgentClient;

use crate::faults::House;
use crate::{KEY, NONE, SHORT, STATUS, Subject, ended, moved, open};

/// A sequence of numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn seed() -> u64 {
    let named = std::env::var("VIDIMUS_SEED").ok().and_then(|text| text.parse().ok());
    named.unwrap_or(0x5649_4449_4d55_5301)
}

fn rounds() -> usize {
    if std::env::var_os("VIDIMUS_LONG").is_some() { 60 } else { 8 }
}

/// Calls a round, of each kind.
const CALLS: usize = 4;

/// Sends a call, and approves it where it waits. Both may meet the end of the gate.
async fn go_on(house: &House, agent: AgentClient, subject: Subject, number: usize) {
    let Ok(told) = agent.call(&subject.call(number), 0).await else { return };
    if told.status == CallStatus::Pending
        && let Some(request) = told.request
    {
        let _ = house.admin.approve(request, subject.role).await;
    }
}

/// All calls up to a number, all at once.
async fn all(house: &House, credentials: &[(Subject, String)], upto: usize) {
    let mut going = Vec::new();
    for (subject, credential) in credentials {
        for number in upto.saturating_sub(2 * CALLS) + 1..=upto {
            let agent = AgentClient::new(&house.url, credential).expect("a client");
            going.push(go_on(house, agent, *subject, number));
        }
    }
    join_all(going).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_no_effect_is_made_twice() {
    let seed = seed();
    println!("VIDIMUS_SEED={seed}");
    let mut numbers = Numbers(seed);
    let mut house = open().await;
    let (billing, support) = (house.credential("billing", &[]), house.credential("support", &[]));
    let credentials = [(KEY, billing.clone()), (STATUS, billing), (NONE, support)];
    for round in 1..=rounds() {
        let after = Duration::from_millis(numbers.next(400));
        {
            let going = all(&house, &credentials, round * CALLS);
            // The moment of the kill is what this is about: whatever is under way is cut.
            let _ = tokio::time::timeout(after, going).await;
        }
        house.kill();
        house.start();
    }
    house.order(SHORT);
    all_ended(&house, &credentials, rounds() * CALLS).await;
}

/// Drives every call to its end: what is told fits the provider's count, which is one at most.
async fn all_ended(house: &House, credentials: &[(Subject, String)], upto: usize) {
    // What waits from before the last kill is decided first: an agent has so many waiting and no more.
    for (subject, credential) in credentials {
        for number in 1..=upto {
            go_on(house, AgentClient::new(&house.url, credential).expect("a client"), *subject, number).await;
        }
    }
    let mut told = JoinSet::new();
    for (subject, credential) in credentials {
        for number in 1..=upto {
            let agent = AgentClient::new(&house.url, credential).expect("a client");
            go_on(house, agent.clone(), *subject, number).await;
            let subject = *subject;
            told.spawn(async move {
                let answer = agent.call(&subject.call(number), 0).await.expect("an answer");
                (subject, number, ended(&agent, &answer).await)
            });
        }
    }
    for (subject, number, told) in told.join_all().await {
        let effects = subject.count(house, number).await;
        match told.status {
            status if moved(status) => assert_eq!(effects, 1, "{} {number}", subject.idempotency),
            CallStatus::NeedsReconciliation => assert!(effects <= 1, "{} {number}: {effects}", subject.idempotency),
            other => panic!("{} {number}: {other:?}", subject.idempotency),
        }
    }
}
