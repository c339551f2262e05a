//! Races and terminal states.

use tokio::task::block_in_place;
use vidimus_api::call::CallStatus;
use vidimus_api::request::{DecisionRequest, Denial, DenialKind};
use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::decision::{DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_tests::approver::{Approver, raw};
use vidimus_tests::company::Tool;

use crate::faults::{House, WAIT_S, call, pending, refused, request_of, until};
use crate::rush::{Answer, Rush};
use crate::{ROLE, rounds};

fn invoice(number: usize) -> String {
    format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"INV-1001"}}"#)
}

/// The body of an approval and of a denial of the same request.
async fn both(approver: &Approver, request: RequestId) -> [String; 2] {
    let text = |statement: &DecisionStatement, denial: Option<(Salt, Denial)>| {
        let (reason_salt, denial) = denial.unzip();
        let envelope = raw(&statement.sign(&approver.approval).expect("signed")).expect("an envelope");
        let body = DecisionRequest { envelope, reason: None, reason_salt, context: None, denial };
        serde_json::to_string(&body).expect("JSON")
    };
    let approve = approver.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    let denial = Denial { kind: DenialKind::WrongAmount, note: "no".to_owned() };
    let salt = Salt::from_bytes(*Digest::of(request.to_string().as_bytes()).as_bytes());
    let mut deny = approver.statement(request, DecisionKind::Deny, ROLE).await.expect("a statement");
    deny.reason_sha256 = Some(reason_sha256(&salt, &denial.reason().expect("a reason")));
    [text(&approve, None), text(&deny, Some((salt, denial)))]
}

/// "Deny acknowledged as 'denied' while the stored row ended APPROVED (19 of 300 rounds)": two processes, at once. One of
/// the two is acknowledged; the other is told who won; what is stored, and what runs, is what was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_acknowledged_is_what_is_stored_and_what_runs() {
    let house = House::open().await;
    let billing = house.agent("billing", &[]);
    let session = house.admin.new_session().await.expect("a session").session;
    let mut processes = [Rush::start(&house.url, &session, 1), Rush::start(&house.url, &session, 1)];
    let mut paid = 0;
    for round in 1..=rounds(40, 300) {
        let waiting = pending(&billing, &call("refund", &invoice(round), &format!("race-{round}"))).await;
        let request = request_of(&waiting);
        let bodies = both(&house.admin, request).await;
        let path = format!("/v1/requests/{request}/decisions");
        let answers: Vec<Answer> = block_in_place(|| {
            // Each begins as often as the other.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                processes[which].send(&path, &bodies[which]);
            }
            processes.iter_mut().flat_map(Rush::answers).collect()
        });
        let [(approve, approved), (deny, denied)] = &answers[..] else { panic!("{answers:?}") };
        let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
        match (approve, deny) {
            (200, 409) => {
                assert!(denied.contains(r#""code":"request_already_decided""#) && denied.contains(r#""state":"#), "{denied}");
                assert_eq!(told.status, CallStatus::Executed, "round {round}");
                paid += 1;
            }
            (409, 200) => {
                assert!(approved.contains(r#""code":"request_already_decided""#) && approved.contains(r#""state":"denied""#), "{approved}");
                assert_eq!(told.status, CallStatus::Denied, "round {round}");
                assert_eq!(house.detail(request).await.state, RequestState::Denied);
            }
            other => panic!("round {round}: {other:?} {approved} {denied}"),
        }
        assert_eq!(house.count(Tool::Refund).await, paid, "round {round}");
    }
}

/// A request that waits two seconds and not longer.
fn two_seconds(table: String) -> String {
    table.replace("request_ttl_s = 1800\nrequest_ttl_max_s = 7200", "request_ttl_s = 2\nrequest_ttl_max_s = 2")
}

/// "Approved, waited in a queue past its expiry, still ran": approved in time, taken up by a worker in time, held up before
/// its token was redeemed until the time was over. It expires; a clock that is put back an hour revives nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_approved_in_time_and_taken_up_too_late_does_not_run() {
    let house = House::open_with(two_seconds, &[]).await;
    let billing = house.agent("billing", &[]);
    for (number, point) in ["before_mint", "before_redeem"].into_iter().enumerate() {
        house.order(&[&format!("hold {point} {number}")]);
        let waiting = pending(&billing, &call("refund", &invoice(number + 1), point)).await;
        let receipt = house.admin.approve(request_of(&waiting), ROLE).await.expect("in time");
        assert_eq!(receipt.state, RequestState::Approved);
        let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
        assert_eq!(told.status, CallStatus::Expired, "{point}: {}", told.words);
        // The worker comes back, an hour earlier by the wall clock.
        house.order(&["clock_ms -3600000"]);
        let late = refused(house.admin.approve(request_of(&waiting), ROLE).await);
        assert_eq!((late.status, late.code.as_str()), (409, "request_expired"), "{point}");
        assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an outcome").status, CallStatus::Expired);
    }
    assert_eq!(house.effects().await, 0);
}

/// A wall clock that is put back does not make a request wait longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_put_back_keeps_nothing_alive() {
    let mut house = House::open_with(two_seconds, &[]).await;
    let billing = house.agent("billing", &[]);
    let waiting = pending(&billing, &call("refund", &invoice(1), "back")).await;
    house.order(&["clock_ms -3600000"]);
    let told = until("the end", || async {
        let told = billing.outcome(&waiting.call, 1).await.expect("an answer");
        told.status.has_ended().then_some(told)
    })
    .await;
    assert_eq!(told.status, CallStatus::Expired);
    // Nor does a start with that clock.
    house.kill();
    house.start();
    let late = refused(house.admin.approve(request_of(&waiting), ROLE).await);
    assert_eq!(late.code, "request_expired");
    assert_eq!(house.effects().await, 0);
}
