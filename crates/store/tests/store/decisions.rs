//! Decisions: what counts, what does not, and that a refused one leaves its record and nothing else.

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::Code;
use vidimus_core::decision::{DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::deciding::{Twist, refused_decision};
use crate::fixture::{Gate, name, secret};

const ROLE: &str = "billing-approver";
const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;

#[tokio::test]
async fn an_approval_reserves_the_operation_in_the_same_transaction() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let size = gate.size().await;
    let receipt = gate.approve(&bea, request, ROLE).await;
    let view = gate.view(request).await;
    let operation = view.operation.expect("an operation");
    assert_eq!((receipt.state, receipt.given, receipt.needed), (RequestState::Approved, 1, 1));
    assert_eq!(receipt.operation, Some(OperationKey::money(&name("refund"), &request, &view.args_sha256)));
    assert_eq!((Some(operation.operation), operation.state, operation.attempt), (receipt.operation, OperationState::Reserved, 0));
    assert_eq!(gate.told_since(size).await, ["decision_recorded", "operation_changed"]);
    assert_eq!(receipt.position, size);
}

#[tokio::test]
async fn the_same_envelope_again_gets_the_same_receipt() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    let DecisionOutcome::Recorded(receipt) = gate.record(decision.clone()).await else { panic!("recorded") };
    gate.redeem_new_token(receipt.operation.expect("an operation")).await;
    gate.advance_s(4000);
    let size = gate.size().await;
    assert_eq!(gate.record(decision).await, DecisionOutcome::Stored(receipt));
    assert_eq!(gate.size().await, size);
}

#[tokio::test]
async fn a_forged_foreign_or_late_decision_is_refused_with_its_code() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let (_, other) = gate.refund("843").await;
    let foreign_gate = GateId::of(&secret("another gate").public());
    let cases: [(&str, Twist<'_>, Code); 14] = [
        ("gate", &|s: &mut DecisionStatement| s.gate = foreign_gate, Code::GateWrong),
        ("gate_key_sha256", &|s: &mut DecisionStatement| s.gate_key_sha256 = Digest::of(b"x"), Code::GateWrong),
        ("environment", &|s: &mut DecisionStatement| s.environment = Environment::Live, Code::EnvironmentWrong),
        ("request", &|s: &mut DecisionStatement| s.request = other, Code::RequestWrong),
        ("request_sha256", &|s: &mut DecisionStatement| s.request_sha256 = Digest::of(b"x"), Code::BytesDiffer),
        ("args_sha256", &|s: &mut DecisionStatement| s.args_sha256 = Digest::of(b"x"), Code::BytesDiffer),
        ("tool", &|s: &mut DecisionStatement| s.tool = name("wire"), Code::ToolWrong),
        ("approver", &|s: &mut DecisionStatement| s.approver = cem.person, Code::ApproverWrong),
        ("key_sha256", &|s: &mut DecisionStatement| s.key_sha256 = Digest::of(b"x"), Code::KeyUnknown),
        ("row_sha256", &|s: &mut DecisionStatement| s.row_sha256 = Digest::of(b"x"), Code::RowStale),
        ("roster_sha256", &|s: &mut DecisionStatement| s.roster_sha256 = Digest::of(b"x"), Code::RosterStale),
        ("shown_sha256", &|s: &mut DecisionStatement| s.shown_sha256 = Digest::of(b"x"), Code::ShownDiffers),
        ("challenge", &|s: &mut DecisionStatement| s.challenge = Nonce::from_bytes([7; 32]), Code::ChallengeInvalid),
        ("expires_at", &|s: &mut DecisionStatement| s.expires_at = s.issued_at.plus_s(301), Code::DecisionExpired),
    ];
    for (member, twist, code) in cases {
        let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, twist).await;
        let size = gate.size().await;
        assert_eq!(refused_decision(gate.record(decision).await), code, "{member}");
        assert_eq!(gate.told_since(size).await, [format!("decision_refused:{code}")], "{member}");
    }
    // The wrong role, a role not held, and an admin who is no approver.
    for (who, role, code) in
        [(&bea, "treasury", Code::RoleNotNeeded), (&ada, ROLE, Code::RoleNotHeld), (&ada, "admin", Code::RoleNotNeeded)]
    {
        assert_eq!(refused_decision(gate.decide(who, request, DecisionKind::Approve, role).await), code, "{role}");
    }
    // Too late by one millisecond.
    let decision = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    gate.advance_s(300);
    assert_eq!(refused_decision(gate.record(decision).await), Code::DecisionExpired);
    let view = gate.view(request).await;
    assert_eq!((view.state, view.decisions.len(), view.operation), (RequestState::Pending, 0, None));
}

#[tokio::test]
async fn a_changed_signature_and_the_wrong_key_are_refused() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let good = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    let statement = DecisionStatement::parse(good.envelope.danger_unverified_payload()).expect("a statement");
    // Signed by another enrolled key, by the device key, and by nobody's key.
    for key in [&cem.approval, &bea.device, &secret("nobody")] {
        let envelope = statement.sign(key).expect("signed");
        assert_eq!(refused_decision(gate.record(RecordDecision { envelope, ..good.clone() }).await), Code::EnvelopeKeyWrong);
    }
    let device = DecisionStatement { key_sha256: bea.device.public().digest(), ..statement.clone() };
    let envelope = device.sign(&bea.device).expect("signed");
    assert_eq!(refused_decision(gate.record(RecordDecision { envelope, ..good.clone() }).await), Code::KeyUseWrong);
    assert!(matches!(gate.record(good).await, DecisionOutcome::Recorded(_)), "the good one still counts");
}

#[tokio::test]
async fn a_challenge_serves_one_decision_of_one_key() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    let first = gate.decision(&bea, request, DecisionKind::Approve, "treasury", &|_| {}).await;
    let statement = DecisionStatement::parse(first.envelope.danger_unverified_payload()).expect("a statement");
    assert!(matches!(gate.record(first).await, DecisionOutcome::Recorded(_)));
    let replayed = DecisionStatement { decision: DecisionKind::Retract, ..statement.clone() };
    assert_eq!(refused_decision(gate.record(gate.signed(&bea, request, replayed, &|_| {})).await), Code::ChallengeReplayed);
    let stolen = DecisionStatement { approver: cem.person, key_sha256: cem.approval.public().digest(), ..statement };
    assert_eq!(refused_decision(gate.record(gate.signed(&cem, request, stolen, &|_| {})).await), Code::ChallengeInvalid);
}

#[tokio::test]
async fn the_owner_of_an_agent_and_of_its_parents_may_not_decide() {
    let (gate, ada) = Gate::with_admin().await;
    let bea = gate.admit(&ada, "Bea Example", &[ROLE]).await;
    let cem = gate.admit(&ada, "Cem Example", &[ROLE]).await;
    gate.add_agent("support", Some(bea.person)).await;
    let child = AddAgent { agent: name("billing"), owner: None, parent: Some(name("support")), credential_sha256: Digest::of(b"billing") };
    gate.store.add_agent(gate.moment(), child).await.expect("an outcome");
    let (_, request) = gate.refund("842").await;
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, ROLE).await), Code::SelfApproval);
    assert_eq!(gate.approve(&cem, request, ROLE).await.state, RequestState::Approved);
}

#[tokio::test]
async fn a_denial_is_final_and_says_why() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let silent = gate.decision(&bea, request, DecisionKind::Deny, ROLE, &|s| s.reason_sha256 = None).await;
    assert_eq!(refused_decision(gate.record(silent.clone()).await), Code::ReasonInvalid);
    let unsaid = RecordDecision { reason: None, reason_salt: None, ..silent };
    assert_eq!(refused_decision(gate.record(unsaid).await), Code::ReasonInvalid);
    let good = gate.decision(&bea, request, DecisionKind::Deny, ROLE, &|_| {}).await;
    let salted = RecordDecision { reason_salt: Some(Salt::from_bytes([1; 32])), ..good.clone() };
    assert_eq!(refused_decision(gate.record(salted).await), Code::ReasonInvalid);
    let framed = RecordDecision { context: Some("{}".to_owned()), ..good.clone() };
    assert_eq!(refused_decision(gate.record(framed).await), Code::BytesDiffer);
    let said = async |text: String| {
        let salt = Salt::from_bytes([2; 32]);
        let sealed = Some(reason_sha256(&salt, &text));
        let decision = gate.decision(&bea, request, DecisionKind::Deny, ROLE, &|s| s.reason_sha256 = sealed).await;
        gate.record(RecordDecision { reason: Some(text), reason_salt: Some(salt), ..decision }).await
    };
    assert_eq!(refused_decision(said(r#"{"kind":"made up <b>","note":""}"#.to_owned()).await), Code::FieldMalformed);
    assert_eq!(refused_decision(said(format!(r#"{{"kind":"other","note":"{}"}}"#, "n".repeat(2_001))).await), Code::ReasonInvalid);
    // As long as a note may be, and every character escaped.
    let recorded = said(format!(r#"{{"kind":"other","note":"{}"}}"#, r"\u0001".repeat(2_000))).await;
    assert!(matches!(recorded, DecisionOutcome::Recorded(_)), "{recorded:?}");
    let ask = DecisionChallenge { request, person: cem.person, key_sha256: cem.approval.public().digest() };
    let late = gate.store.decision_challenge(gate.moment(), ask).await.expect("an outcome");
    assert!(matches!(late, DecisionChallengeOutcome::Refused(refusal) if refusal.code == Code::RequestAlreadyDecided));
    let view = gate.view(request).await;
    assert_eq!((view.state, view.operation), (RequestState::Denied, None));
}

#[tokio::test]
async fn two_persons_make_a_quorum_of_two_and_one_may_take_it_back() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    let first = gate.approve(&bea, request, "treasury").await;
    assert_eq!((first.state, first.given, first.needed, first.operation), (RequestState::Pending, 1, 2, None));
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, "treasury").await), Code::AlreadyApproved);
    assert_eq!(refused_decision(gate.decide(&cem, request, DecisionKind::Retract, "treasury").await), Code::ApprovalMissing);
    assert!(
        matches!(gate.decide(&bea, request, DecisionKind::Retract, "treasury").await, DecisionOutcome::Recorded(receipt) if receipt.given == 0)
    );
    assert_eq!(gate.approve(&cem, request, "treasury").await.given, 1);
    let last = gate.approve(&bea, request, "treasury").await;
    assert_eq!((last.state, last.given), (RequestState::Approved, 2));
    // During the delay, an eligible person stops it.
    let operation = last.operation.expect("an operation");
    assert_eq!(gate.mint(operation).await.0, MintOutcome::NotDue(gate.now().plus_s(30)));
    assert!(matches!(gate.decide(&cem, request, DecisionKind::Revoke, "treasury").await, DecisionOutcome::Recorded(_)));
    let view = gate.view(request).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Revoked, OperationState::NotStarted));
    gate.advance_s(30);
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(_)));
}

#[tokio::test]
async fn a_quorum_whose_delay_would_pass_the_end_is_refused() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", WIRE).await;
    gate.approve(&bea, request, "treasury").await;
    gate.advance_s(570);
    assert_eq!(refused_decision(gate.decide(&cem, request, DecisionKind::Approve, "treasury").await), Code::RequestExpired);
    let view = gate.view(request).await;
    assert_eq!((view.state, view.decisions.len()), (RequestState::Pending, 1));
}

#[tokio::test]
async fn more_time_moves_the_end_up_to_the_frozen_last_moment() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let began = gate.now();
    for expected in [1200, 1500, 1500] {
        assert!(matches!(gate.decide(&bea, request, DecisionKind::MoreTime, ROLE).await, DecisionOutcome::Recorded(_)));
        assert_eq!(gate.view(request).await.waits_until, began.plus_s(expected));
    }
}

#[tokio::test]
async fn a_request_expires_at_its_very_moment_and_a_clock_step_back_revives_nothing() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    gate.advance_s(599);
    gate.advance_ms(999);
    let in_time = gate.decision(&bea, request, DecisionKind::MoreTime, ROLE, &|_| {}).await;
    let late = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
    gate.advance_ms(1);
    assert_eq!(refused_decision(gate.record(late.clone()).await), Code::RequestExpired);
    gate.advance_s(-3600);
    assert_eq!(refused_decision(gate.record(late.clone()).await), Code::RequestExpired);
    assert_eq!(refused_decision(gate.record(in_time).await), Code::RequestExpired);
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!(due.moved, 1);
    assert_eq!(gate.view(request).await.state, RequestState::Expired);
    assert_eq!(refused_decision(gate.record(late).await), Code::RequestExpired);
}
