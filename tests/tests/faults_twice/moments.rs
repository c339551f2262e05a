//! The last millisecond of everything that ends, with a clock that stands where the test says: a moment is over when the gate's
//! `now` reaches it, and no step of the clock revives what is over.

use vidimus_api::call::{CallAnswer, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::decision::DecisionKind;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;
use vidimus_tests::approver::ApproverError;
use vidimus_tests::company::Tool;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::{House, WAIT_S, call, pending, refused, request_of, until};

/// How long a request waits here, and how long with more time. A token lives longer than that.
const WAITS_S: u64 = 30;

fn invoice(number: usize) -> String {
    format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"INV-1001"}}"#)
}

/// A gate whose refunds wait half a minute, twice as long with more time, with further keys in their row.
async fn open(more: &str) -> House {
    let times = format!("request_ttl_s = {WAITS_S}\nrequest_ttl_max_s = {}\n{more}", 2 * WAITS_S);
    House::open_with(|table| table.replacen("request_ttl_s = 1800\nrequest_ttl_max_s = 7200", &times, usize::MAX), &[]).await
}

/// The clock stands still at this time, and whatever else is ordered.
fn stand_at(house: &House, at: Timestamp, more: &[&str]) {
    let clock = format!("clock_at_ms {}", at.as_ms());
    house.order(&[&[clock.as_str()], more].concat());
}

fn later(at: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_ms(at.as_ms() + ms).expect("a time")
}

/// A refund that waits, asked for while the clock stands at `at`.
async fn asked(house: &House, billing: &AgentClient, at: Timestamp, number: usize) -> (CallAnswer, Timestamp) {
    stand_at(house, at, &[]);
    let waiting = pending(billing, &call("refund", &invoice(number), &format!("moment-{number}"))).await;
    let until = waiting.waits_until.expect("a last moment");
    assert_eq!(until, at.plus_s(WAITS_S), "the clock stands");
    (waiting, until)
}

/// A time ahead of everything that was recorded so far.
#[allow(clippy::disallowed_methods, reason = "this is the edge: where the test's clock begins")]
fn beginning() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    Timestamp::from_ms(i64::try_from(now).expect("a time")).expect("a time").plus_s(3600)
}

async fn end_of(billing: &AgentClient, call: &CallAnswer) -> CallStatus {
    until("an end", || async {
        let told = billing.outcome(&call.call, 1).await.expect("an answer");
        told.status.has_ended().then_some(told.status)
    })
    .await
}

/// A millisecond before its end a decision counts and runs; at its end, and after it, nothing does.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_until_the_last_millisecond() {
    let house = open("").await;
    let billing = house.agent("billing", &[]);
    let mut at = beginning();
    for (number, (ms, counts)) in [(-1, true), (0, false), (1, false)].into_iter().enumerate() {
        let (waiting, until) = asked(&house, &billing, at, number + 1).await;
        stand_at(&house, later(until, ms), &[]);
        let decided = house.admin.approve(request_of(&waiting), ROLE).await;
        if counts {
            assert_eq!(decided.expect("in time").state, RequestState::Approved, "{ms} ms");
            assert_eq!(end_of(&billing, &waiting).await, CallStatus::Executed);
        } else {
            assert_eq!(refused(decided).code, "request_expired", "{ms} ms");
            assert_eq!(end_of(&billing, &waiting).await, CallStatus::Expired);
        }
        // A step back revives nothing, a step forward neither.
        for step in [later(until, -3_600_000), later(until, 3_600_000)] {
            stand_at(&house, step, &[]);
            let late = refused(house.admin.approve(request_of(&waiting), ROLE).await).code;
            assert_eq!(late, if counts { "request_already_decided" } else { "request_expired" });
        }
        at = later(until, 3_600_001);
    }
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// Approved in time, and at the token's making or its redemption the clock stands one millisecond to either side of the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_and_redeemed_until_the_last_millisecond() {
    let house = open("").await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    let mut at = beginning();
    let mut paid = 0;
    let mut number = 0;
    for point in ["before_mint", "before_redeem"] {
        for (ms, runs) in [(-1, true), (0, false), (1, false)] {
            number += 1;
            let (waiting, until) = asked(&house, &billing, at, number).await;
            let hold = format!("hold {point} {number}");
            stand_at(&house, at, &[&hold]);
            house.admin.approve(request_of(&waiting), ROLE).await.expect("in time");
            if point == "before_redeem" {
                log.wait_for(RecordType::TokenMinted, request_of(&waiting)).await;
            }
            // The worker is held, or not there yet: either way it goes on by this clock.
            stand_at(&house, later(until, ms), &[&hold]);
            stand_at(&house, later(until, ms), &[]);
            let ended = end_of(&billing, &waiting).await;
            assert_eq!(ended, if runs { CallStatus::Executed } else { CallStatus::Expired }, "{point}, {ms} ms");
            paid += usize::from(runs);
            assert_eq!(house.count(Tool::Refund).await, paid, "{point}, {ms} ms");
            at = later(until, 1000);
        }
    }
}

/// More time is given until the last millisecond, and moves that millisecond.
#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_given_until_the_last_millisecond() {
    let house = open("").await;
    let billing = house.agent("billing", &[]);
    let mut at = beginning();
    let more = async |waiting: &CallAnswer| -> Result<RequestState, ApproverError> {
        let statement = house.admin.statement(request_of(waiting), DecisionKind::MoreTime, ROLE).await?;
        Ok(house.admin.hand_in(request_of(waiting), &statement).await?.state)
    };
    for (number, ms) in [0, 1].into_iter().enumerate() {
        let (waiting, until) = asked(&house, &billing, at, number).await;
        stand_at(&house, later(until, ms), &[]);
        assert_eq!(more(&waiting).await.expect_err("too late").code(), Some("request_expired"), "{ms} ms");
        at = later(until, 1000);
    }
    let (waiting, until) = asked(&house, &billing, at, 2).await;
    stand_at(&house, later(until, -1), &[]);
    assert_eq!(more(&waiting).await.expect("in time"), RequestState::Pending);
    let moved = billing.outcome(&waiting.call, 0).await.expect("an outcome").waits_until.expect("a last moment");
    assert_eq!(moved, until.plus_s(WAITS_S));
    // Beyond the frozen last moment nobody moves it.
    stand_at(&house, later(moved, -1), &[]);
    more(&waiting).await.expect("in time");
    assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an outcome").waits_until, Some(moved));
    house.admin.approve(request_of(&waiting), ROLE).await.expect("in time");
    assert_eq!(end_of(&billing, &waiting).await, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// A quorum whose delay would end with the request, or after it, is refused and leaves no trace in the request; a millisecond
/// less is in time, and then it runs when its delay is over and not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_quorum_whose_delay_would_pass_the_end_is_refused() {
    const DELAY_S: u64 = 20;
    let house = open(&format!("delay_s = {DELAY_S}")).await;
    let billing = house.agent("billing", &[]);
    let mut at = beginning();
    for (number, ms) in [0, 1].into_iter().enumerate() {
        let (waiting, until) = asked(&house, &billing, at, number).await;
        stand_at(&house, later(until, ms - 1000 * i64::try_from(DELAY_S).expect("small")), &[]);
        let late = refused(house.admin.approve(request_of(&waiting), ROLE).await);
        assert_eq!(late.code, "request_expired", "{ms} ms");
        assert_eq!(house.detail(request_of(&waiting)).await.state, RequestState::Pending);
        // More time makes room for it.
        let more = house.admin.statement(request_of(&waiting), DecisionKind::MoreTime, ROLE).await.expect("a statement");
        house.admin.hand_in(request_of(&waiting), &more).await.expect("in time");
        house.admin.approve(request_of(&waiting), ROLE).await.expect("in time now");
        // And stopped again while the delay lasts: nothing runs when it would be over.
        let stop = house.admin.statement(request_of(&waiting), DecisionKind::Revoke, ROLE).await.expect("a statement");
        assert_eq!(house.admin.hand_in(request_of(&waiting), &stop).await.expect("stopped").state, RequestState::Revoked);
        at = later(until, 120_000);
        stand_at(&house, at, &[]);
        assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an outcome").status, CallStatus::Revoked);
    }
    let (waiting, until) = asked(&house, &billing, at, 2).await;
    let last = later(until, -1 - 1000 * i64::try_from(DELAY_S).expect("small"));
    stand_at(&house, last, &[]);
    house.admin.approve(request_of(&waiting), ROLE).await.expect("in time");
    // A millisecond before its delay is over: sweeps pass, seen by another request that expires in one.
    stand_at(&house, later(until, -2), &[]);
    let (other, _) = (pending(&billing, &call("refund", &invoice(90), "sweep")).await, ());
    billing.withdraw(&other.call).await.expect("withdrawn");
    let told = billing.outcome(&waiting.call, 1).await.expect("an outcome");
    assert_eq!((told.status, told.attempt), (CallStatus::Approved, Some(0)), "it rests");
    assert_eq!(house.count(Tool::Refund).await, 0);
    stand_at(&house, later(until, -1), &[]);
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 1);
}
