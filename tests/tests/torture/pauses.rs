//! A worker that is paused past its lease, which is one second here: alone, while its gate goes on, and with the whole
//! process (SIGSTOP).

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use vidimus_api::call::CallStatus;
use vidimus_api::client::AgentClient;
use vidimus_tests::company::{Keys, Order, Tool, credential_variables};
use vidimus_tests::gate::COMPANY_TOKEN;
use vidimus_tests::processes::{Binary, Process};

use crate::faults::{House, WITHIN, pending, until};
use crate::{End, KEY, NONE, Points, SHORT, STATUS, Subject, approval, counted, end_of, ended, open};

/// One second, which is also shorter than the pause between renewals.
const LEASE: &str = "lease_s 1";
const PAST_LEASE: Duration = Duration::from_millis(1300);

/// The worker alone is paused. Whoever comes back before the first byte finds its lease gone and sends nothing; what is sent
/// after the lease all the same (paused between the last look and the first byte) is the remaining risk of `none`.
const HELD: Points = Points(
    "
    after_redeem    executed 2 1   needs_reconciliation 1 0   needs_reconciliation 1 0
    before_send     executed 2 1   executed             1 1   needs_reconciliation 1 1
    after_answer    executed 2 1   executed             1 1   needs_reconciliation 1 1
    before_record   executed 2 1   executed             1 1   needs_reconciliation 1 1
    ",
);

/// The process is paused with all that would have looked at the lease meanwhile: whichever wakes first, this or what stands
/// in [`HELD`] comes of it.
const WOKEN_FIRST: Points = Points(
    "
    after_redeem    failed   1 0   failed               1 0   failed               1 0
    before_send     executed 1 1   executed             1 1   executed             1 1
    after_answer    executed 1 1   executed             1 1   executed             1 1
    before_record   executed 1 1   executed             1 1   executed             1 1
    ",
);

fn orders(order: &str) -> Vec<&str> {
    [SHORT, &[LEASE, order]].concat()
}

/// Approves one call whose worker is held at the point until its lease is over, and gives how it ended.
async fn held(house: &House, agent: &AgentClient, subject: Subject, point: &str, number: usize, expected: End<'_>) -> End<'static> {
    house.order(&orders(&format!("hold {point} {number}")));
    let waiting = pending(agent, &subject.call(number)).await;
    let statement = approval(house, &waiting, subject.role).await;
    house.admin.hand_in(statement.request, &statement).await.expect("it counts");
    let in_doubt = [CallStatus::Unknown, CallStatus::NeedsReconciliation];
    until("the lease's end", || async {
        in_doubt.contains(&agent.outcome(&waiting.call, 0).await.expect("an answer").status).then_some(())
    })
    .await;
    house.order(&orders(""));
    let told = ended(agent, &waiting).await;
    counted(house, subject, number, expected.effects).await;
    end_of(&told, subject.count(house, number).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_comes_back_after_its_lease_overwrites_nothing() {
    for subject in [KEY, STATUS, NONE] {
        let mut house = open().await;
        let agent = house.agent(subject.agent, &[]);
        for (number, (point, expected)) in HELD.of(subject).enumerate() {
            let found = held(&house, &agent, subject, point, number + 1, expected).await;
            assert_eq!(found, expected, "{} held at {point}", subject.idempotency);
            // An end in good order waits for the worker that came back: it must not be the next one that is held.
            house.end();
            house.start();
            assert_eq!(subject.count(&house, number + 1).await, expected.effects);
        }
    }
}

/// A provider without keys gets both: the worker's that came back, and the attempt after it.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_pause_at_a_provider_without_keys_pays_twice() {
    let house = open().await;
    let agent = house.agent(KEY.agent, &[]);
    house.inspector.order(Order::of(Tool::Refund).keys(Keys::Ignore)).await.expect("an order");
    let expected = End { status: "executed", attempt: 2, effects: 2 };
    assert_eq!(held(&house, &agent, KEY, "before_send", 1, expected).await, expected);
}

/// Stops the process at the point, past the lease, lets it go on, and gives how the call ended.
async fn stopped(house: &House, agent: &AgentClient, subject: Subject, point: &str, number: usize) -> End<'static> {
    house.order(&orders(&format!("stop {point} {number}")));
    let waiting = pending(agent, &subject.call(number)).await;
    let statement = approval(house, &waiting, subject.role).await;
    // The receipt may be caught in the stopped process, so nobody waits for it here.
    let handed_in = house.admin.hand_in(statement.request, &statement);
    let stop = async {
        let id = house.id();
        until("the stop", || async { (state_of(id) == Some('T')).then_some(()) }).await;
        // Nothing is to be seen meanwhile: what passes is the lease of a process that does nothing.
        tokio::time::sleep(PAST_LEASE).await;
        // Nobody takes over from a process that is stopped: its database is its own.
        assert!(tokio::task::block_in_place(|| second_gate(house)).contains("held by another gate"), "another gate took the data");
        signal(id, Signal::CONT);
    };
    let (receipt, ()) = tokio::join!(handed_in, stop);
    receipt.expect("it counts");
    let told = ended(agent, &waiting).await;
    let effects = if told.status == CallStatus::Failed || point == "after_redeem" && told.attempt == Some(1) { 0 } else { 1 };
    counted(house, subject, number, effects).await;
    end_of(&told, subject.count(house, number).await)
}

/// What a second gate on the same data says, which ends by itself.
fn second_gate(house: &House) -> String {
    let program = Binary::path("vidimus-gate").expect("the gate's program");
    let mut serve = Command::new(program);
    serve.arg("serve").arg("--data").arg(house.home.data()).args(["--listen", "127.0.0.1:0"]).envs(credential_variables(COMPANY_TOKEN));
    let mut second = Process::start("a second gate", &mut serve, &house.path("second.log")).expect("a process");
    let status = second.wait(WITHIN).expect("an end");
    assert!(!status.success());
    second.text().expect("its words")
}

fn signal(id: u32, signal: Signal) {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("a signal");
}

/// The state letter of a process.
fn state_of(id: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

async fn stopped_at_every_point(subject: Subject) {
    let mut house = open().await;
    let agent = house.agent(subject.agent, &[]);
    let ends = HELD.of(subject).zip(WOKEN_FIRST.of(subject));
    for (number, ((point, swept), (_, woken))) in ends.enumerate() {
        let found = stopped(&house, &agent, subject, point, number + 1).await;
        assert!([swept, woken].contains(&found), "{} stopped at {point}: {found:?}", subject.idempotency);
        // Whatever woke last has passed its points when the gate has ended: it must not be what is stopped next.
        house.end();
        house.start();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_past_the_lease_with_a_key() {
    stopped_at_every_point(KEY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_past_the_lease_with_a_status_to_ask_for() {
    stopped_at_every_point(STATUS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_past_the_lease_with_nothing_to_go_by() {
    stopped_at_every_point(NONE).await;
}
