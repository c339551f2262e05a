//! Two gates, one person, the same keys.

use vidimus_api::call::CallStatus;
use vidimus_api::session::{SessionChallengeRequest, SessionRequest};
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::Environment;
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_core::statement::SessionStatement;
use vidimus_tests::approver::raw;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::{House, WAIT_S, call, pending, problem_of, refund_args, refused, request_of};

/// The same person, the same keys, two gates: nothing of the one counts at the other.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_signed_for_one_gate_is_worth_nothing_at_another() {
    let (here, there) = tokio::join!(House::open(), House::open());
    assert_eq!(here.admin.approval.public(), there.admin.approval.public());
    let (billing, other) = (here.agent("billing", &[]), there.agent("billing", &[]));
    let mut log = Log::follow(&here).await;
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "tenant")).await;
    let twin = pending(&other, &call("refund", &refund_args(1500), "tenant")).await;
    let (request, away) = (request_of(&waiting), request_of(&twin));
    let foreign = there.admin.statement(away, DecisionKind::Approve, ROLE).await.expect("a statement");
    // As it is, and bent towards this gate, one step after the other.
    let mut bent = vec![(foreign.clone(), &["approver_wrong", "gate_wrong"][..])];
    let mut statement = foreign.clone();
    statement.approver = here.admin.person;
    bent.push((statement.clone(), &["gate_wrong"]));
    statement.gate = here.admin.gate_id;
    bent.push((statement.clone(), &["request_wrong"]));
    statement.request = request;
    bent.push((statement.clone(), &["bytes_differ"]));
    let honest = here.admin.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    (statement.request_sha256, statement.args_sha256) = (honest.request_sha256, honest.args_sha256);
    // The two tables name different addresses, so the rows differ too.
    bent.push((statement.clone(), &["row_stale"]));
    statement.row_sha256 = honest.row_sha256;
    bent.push((statement.clone(), &["gate_wrong"]));
    statement.gate_key_sha256 = honest.gate_key_sha256;
    bent.push((statement.clone(), &["roster_stale"]));
    statement.roster_sha256 = honest.roster_sha256;
    bent.push((statement.clone(), &["challenge_invalid"]));
    let mut live = honest.clone();
    live.environment = Environment::Live;
    bent.push((live, &["environment_wrong"]));
    for (statement, codes) in &bent {
        let code = refused(here.admin.hand_in(request, statement).await).code;
        assert!(codes.contains(&code.as_str()), "{code} is not {codes:?}");
    }
    assert_eq!(log.codes(RecordType::DecisionRefused, bent.len()).await.len(), bent.len());
    // A session statement for the other gate opens none here.
    let key_sha256 = here.admin.device.public().digest();
    let challenge = there.admin.gate.session_challenge(&SessionChallengeRequest { key_sha256 }).await.expect("a challenge");
    let statement = SessionStatement {
        gate: there.admin.gate_id,
        environment: Environment::Test,
        key_sha256,
        challenge: challenge.challenge,
        issued_at: challenge.issued_at,
    };
    let mut here_instead = statement.clone();
    here_instead.gate = here.admin.gate_id;
    for (statement, code) in [(statement, "gate_wrong"), (here_instead, "challenge_invalid")] {
        let envelope = raw(&statement.sign(&here.admin.device).expect("signed")).expect("an envelope");
        let problem = problem_of(here.admin.gate.open_session(&SessionRequest { envelope }).await.map(|_| ()));
        assert_eq!((problem.status, problem.code.as_str()), (401, code));
    }
    let found = log.codes(RecordType::SessionRefused, 2).await;
    assert_eq!(found, ["gate_wrong", "challenge_invalid"]);
    for (house, request) in [(&here, request), (&there, away)] {
        assert_eq!(house.detail(request).await.state, RequestState::Pending);
        assert_eq!(house.effects().await, 0);
    }
    // At home both count.
    here.admin.hand_in(request, &honest).await.expect("it counts");
    there.admin.hand_in(away, &foreign).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(other.outcome(&twin.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
}
