//! Every last moment by the store's one time: a millisecond before it and at it, and after the clock was set forth and back.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{Environment, GateId, RequestId};
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::statement::SessionStatement;
use vidimus_store::limits::{SESSION_CHALLENGE_TTL_S, SESSION_TTL_S};
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Approver, Gate, code_of};

const ROLE: &str = "billing-approver";
const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;

/// How the clock comes to a moment.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// It goes there.
    Straight,
    /// It is set an hour forth by mistake, something is recorded, and it is set back: what was recorded stands.
    ForthAndBack,
}

/// Lets the clock come to `ms` after now.
async fn come_to(gate: &Gate, ms: i64, way: Way) {
    match way {
        Way::Straight => gate.advance_ms(ms),
        Way::ForthAndBack => {
            gate.advance_ms(ms);
            gate.store.heartbeat(gate.moment()).await.expect("recorded");
            gate.advance_s(-3600);
        }
    }
}

const WAYS: [Way; 2] = [Way::Straight, Way::ForthAndBack];

async fn approved(gate: &Gate, approver: &Approver) -> (RequestId, OperationKey) {
    let (_, request) = gate.refund("1").await;
    (request, gate.approve(approver, request, ROLE).await.operation.expect("a quorum"))
}

async fn state(gate: &Gate, operation: OperationKey) -> OperationState {
    gate.store.operation(operation).await.expect("a reading").expect("an operation").state
}

#[tokio::test]
async fn a_pending_request_ends_at_its_last_moment() {
    for way in WAYS {
        for (ms, code) in [(-1, None), (0, Some(Code::RequestExpired)), (1, Some(Code::RequestExpired))] {
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, request) = gate.refund("1").await;
            gate.advance_s(590);
            let signed = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
            come_to(&gate, 10_000 + ms, way).await;
            match (gate.record(signed).await, code) {
                (DecisionOutcome::Recorded(receipt), None) => assert_eq!(receipt.state, RequestState::Approved),
                (outcome, Some(code)) => assert_eq!(refused_decision(outcome), code, "{way:?} {ms}"),
                (outcome, None) => panic!("{way:?} {ms}: {outcome:?}"),
            }
            let swept = gate.store.due(gate.moment()).await.expect("a sweep");
            assert_eq!(swept.moved, usize::from(code.is_some()), "{way:?} {ms}");
            assert_eq!(gate.view(request).await.state == RequestState::Expired, code.is_some(), "{way:?} {ms}");
        }
    }
}

#[tokio::test]
async fn a_decision_arrives_in_its_time() {
    for way in WAYS {
        for (ms, code) in [(-1, None), (0, Some(Code::DecisionExpired)), (1, Some(Code::DecisionExpired))] {
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, request) = gate.refund("1").await;
            let signed = gate.decision(&bea, request, DecisionKind::Approve, ROLE, &|_| {}).await;
            come_to(&gate, 300_000 + ms, way).await;
            match (gate.record(signed).await, code) {
                (DecisionOutcome::Recorded(_), None) => {}
                (outcome, Some(code)) => assert_eq!(refused_decision(outcome), code, "{way:?} {ms}"),
                (outcome, None) => panic!("{way:?} {ms}: {outcome:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_approved_request_is_minted_and_redeemed_before_its_last_moment() {
    for way in WAYS {
        for ms in [-1, 0, 1] {
            let over = ms >= 0;
            // At mint.
            let (gate, _, bea, _) = Gate::with_people().await;
            let (request, operation) = approved(&gate, &bea).await;
            come_to(&gate, 600_000 + ms, way).await;
            match gate.mint(operation).await.0 {
                MintOutcome::Minted(_) => assert!(!over, "{way:?} {ms}"),
                MintOutcome::Refused(refusal) => assert_eq!((over, refusal.code), (true, Code::RequestExpired), "{way:?} {ms}"),
                MintOutcome::NotDue(at) => panic!("{at}"),
            }
            assert_eq!(gate.view(request).await.state == RequestState::Expired, over, "{way:?} {ms}");
            // At redeem: the token is younger than the request's end.
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, operation) = approved(&gate, &bea).await;
            gate.advance_s(570);
            let token = gate.token(operation).await;
            come_to(&gate, 30_000 + ms, way).await;
            match gate.redeem(token).await {
                RedeemOutcome::Redeemed(_) => assert!(!over, "{way:?} {ms}"),
                RedeemOutcome::Refused(refusal) => assert_eq!((over, refusal.code), (true, Code::RequestExpired), "{way:?} {ms}"),
            }
        }
    }
}

#[tokio::test]
async fn a_delay_is_over_and_a_token_ends_to_the_millisecond() {
    for way in WAYS {
        for ms in [-1, 0, 1] {
            let (gate, _, bea, cem) = Gate::with_people().await;
            let (_, request) = gate.wait_for("wire", WIRE).await;
            gate.approve(&bea, request, "treasury").await;
            let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
            come_to(&gate, 30_000 + ms, way).await;
            let due = gate.store.due(gate.moment()).await.expect("a sweep").to_mint;
            assert_eq!(due.is_empty(), ms < 0, "{way:?} {ms}");
            assert_eq!(matches!(gate.mint(operation).await.0, MintOutcome::NotDue(_)), ms < 0, "{way:?} {ms}");

            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, operation) = approved(&gate, &bea).await;
            let token = gate.token(operation).await;
            come_to(&gate, 60_000 + ms, way).await;
            match gate.redeem(token).await {
                RedeemOutcome::Redeemed(_) => assert!(ms < 0, "{way:?} {ms}"),
                RedeemOutcome::Refused(refusal) => assert_eq!((ms >= 0, refusal.code), (true, Code::TokenExpired), "{way:?} {ms}"),
            }
        }
    }
}

#[tokio::test]
async fn a_lease_ends_to_the_millisecond_and_is_not_renewed_after_it() {
    for way in WAYS {
        for ms in [-1, 0, 1] {
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, operation) = approved(&gate, &bea).await;
            let redeemed = gate.redeem_new_token(operation).await;
            come_to(&gate, 30_000 + ms, way).await;
            let renewed = gate.store.renew_lease(gate.moment(), operation, redeemed.attempt, 1).await.expect("an outcome");
            assert_eq!(matches!(renewed, LeaseOutcome::Renewed(_)), ms < 0, "{way:?} {ms}");
            gate.store.due(gate.moment()).await.expect("a sweep");
            let expected = if ms < 0 { OperationState::Executing } else { OperationState::Unknown };
            assert_eq!(state(&gate, operation).await, expected, "{way:?} {ms}");
        }
    }
}

#[tokio::test]
async fn a_key_is_good_for_as_long_as_the_row_says() {
    for way in WAYS {
        for ms in [-1, 0, 1] {
            let (gate, _, bea, _) = Gate::with_people().await;
            let (_, operation) = approved(&gate, &bea).await;
            let attempt = gate.redeem_new_token(operation).await.attempt;
            let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
            gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
            come_to(&gate, 3_590_000 + ms, way).await;
            let due = gate.store.due(gate.moment()).await.expect("a sweep");
            assert_eq!(due.to_mint.is_empty(), ms >= 0, "{way:?} {ms}");
            let expected = if ms < 0 { OperationState::Unknown } else { OperationState::NeedsReconciliation };
            assert_eq!(state(&gate, operation).await, expected, "{way:?} {ms}");
        }
    }
}

#[tokio::test]
async fn sessions_their_challenges_and_invites_end_to_the_millisecond() {
    for way in WAYS {
        for ms in [-1, 0, 1] {
            let (gate, ada) = Gate::with_admin().await;
            let session = gate.open_session(&ada).await;
            come_to(&gate, i64::try_from(SESSION_TTL_S).expect("small") * 1000 + ms, way).await;
            let found = gate.store.authenticate_session(gate.now(), session).await.expect("a reading");
            assert_eq!(found.is_some(), ms < 0, "{way:?} {ms}");

            let (gate, ada) = Gate::with_admin().await;
            let key_sha256 = ada.device.public().digest();
            let ask = SessionChallenge { key_sha256, challenge: gate.nonce() };
            let issued = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
            let SessionChallengeOutcome::Issued { issued_at, .. } = issued else { panic!("{issued:?}") };
            come_to(&gate, i64::try_from(SESSION_CHALLENGE_TTL_S).expect("small") * 1000 + ms, way).await;
            let id = GateId::of(&gate.log_key.public());
            let statement = SessionStatement { gate: id, environment: Environment::Test, key_sha256, challenge: ask.challenge, issued_at };
            let open = OpenSession { envelope: statement.sign(&ada.device).expect("signed"), session_sha256: Digest::of(b"a bearer") };
            let opened = gate.store.open_session(gate.moment(), open).await.expect("an outcome");
            assert_eq!(matches!(opened, SessionOutcome::Opened(_)), ms < 0, "{way:?} {ms}: {opened:?}");

            let (gate, _) = Gate::with_admin().await;
            assert_eq!(gate.invite("Bea Example", &[ROLE]).await, InviteOutcome::Created);
            come_to(&gate, 3_600_000 + ms, way).await;
            let offer = gate.store.offer(gate.moment(), code_of("Bea Example")).await.expect("an outcome");
            assert_eq!(matches!(offer, OfferOutcome::Offer(_)), ms < 0, "{way:?} {ms}: {offer:?}");
        }
    }
}

#[tokio::test]
async fn after_a_start_with_the_clock_behind_doubts_of_keyed_rows_go_to_a_person() {
    // How far the clock lies behind, what was in doubt at the start, what becomes of it.
    for (back_s, in_doubt, expected) in [
        (0, true, OperationState::Unknown),
        (0, false, OperationState::Unknown),
        (1, true, OperationState::NeedsReconciliation),
        (1, false, OperationState::NeedsReconciliation),
    ] {
        let (mut gate, _, bea, _) = Gate::with_people().await;
        let (_, keyed) = approved(&gate, &bea).await;
        let attempt = gate.redeem_new_token(keyed).await.attempt;
        let (_, request) = gate.wait_for("cancel", r#"{"subscription":"s1"}"#).await;
        let asked = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
        gate.redeem_new_token(asked).await;
        if in_doubt {
            let unclear = RecordAnswer { operation: keyed, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
            gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
        }
        let recorded = gate.now();
        gate.reopen();
        gate.advance_s(-back_s);
        assert_eq!(gate.store.last_recorded().await.expect("a reading"), recorded);
        gate.store.recover_at_start(gate.moment()).await.expect("recovered");
        assert_eq!(state(&gate, keyed).await, expected, "{back_s} {in_doubt}");
        assert_eq!(state(&gate, asked).await, OperationState::Unknown, "whoever can be asked is asked");
    }
}

#[tokio::test]
async fn time_that_was_recorded_is_never_taken_back() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    gate.advance_s(3600);
    gate.store.heartbeat(gate.moment()).await.expect("recorded");
    gate.advance_s(-3600);
    let signed = gate.statement(&bea, request, DecisionKind::Approve, ROLE).await;
    let late = gate.record(gate.signed(&bea, request, signed, &|_| {})).await;
    assert_eq!(refused_decision(late), Code::DecisionExpired, "the request and all that hangs on it is an hour old");
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").moved, 1);
    assert_eq!(gate.view(request).await.state, RequestState::Expired);
}

#[tokio::test]
async fn an_attempt_ends_with_the_key_that_it_rests_on() {
    for ms in [-1, 0] {
        let (gate, _, bea, _) = Gate::with_people().await;
        let (_, operation) = approved(&gate, &bea).await;
        let attempt = gate.redeem_new_token(operation).await.attempt;
        let first = gate.moment().now;
        let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
        gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
        // The second attempt is permitted while the key is good, and a pause passes the key's end before its redemption.
        gate.advance_ms(3_590_000 - 5_000);
        assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint.len(), 1);
        let token = gate.token(operation).await;
        gate.advance_ms(5_000 + ms);
        let redeemed = gate.redeem(token).await;
        match redeemed {
            RedeemOutcome::Redeemed(redeemed) if ms < 0 => {
                assert_eq!(redeemed.lease_until, first.plus_s(3_590), "no attempt outlives the key")
            }
            RedeemOutcome::Refused(refusal) if ms >= 0 => assert_eq!(refusal.code, Code::OperationKeyExpired),
            other => panic!("{ms}: {other:?}"),
        }
        if ms >= 0 {
            assert!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint.is_empty());
            assert_eq!(state(&gate, operation).await, OperationState::NeedsReconciliation);
        }
    }
}
