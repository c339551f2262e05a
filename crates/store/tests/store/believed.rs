//! Lies that somebody writes into the database of a gate that is down, each where an agent or a person would be told it, or
//! would act in another's name: a start finds them, or does not believe what they stand in.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::operation::Answer;
use vidimus_core::statement::SessionStatement;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, code_of, name, person_of};
use crate::forged::forge;
use crate::verification::found;

const ROLE: &str = "billing-approver";

/// A gate that has seen a payment, a denial, a write, and an invitation that nobody has used.
async fn lived() -> (Gate, Approver, Head) {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let done = RecordAnswer {
        operation,
        attempt,
        answer: Answer::Done,
        result: Some(r#"{"id":"paid"}"#.to_owned()),
        detail: "answered with 200".to_owned(),
    };
    gate.store.record_answer(gate.moment(), done).await.expect("an outcome");
    let (_, denied) = gate.refund("2").await;
    gate.decide(&cem, denied, DecisionKind::Deny, ROLE).await;
    let intent = WriteIntent {
        received: gate.received("support", "tag", Some("the key of the write")),
        row_sha256: gate.table.row(&name("tag")).expect("a row").digest(),
        args: r#"{"tag":"one"}"#.to_owned(),
        before: Some("{}".to_owned()),
        lease_s: 60,
    };
    let outcome = gate.store.write_intent(gate.moment(), intent).await.expect("an outcome");
    let IntentOutcome::Send { operation, attempt, .. } = outcome else { panic!("{outcome:?}") };
    let end = WriteEnd {
        operation,
        attempt,
        answer: Answer::Done,
        result: Some(r#"{"id":"tagged"}"#.to_owned()),
        receipt: None,
        after: None,
        detail: "answered with 201".to_owned(),
    };
    gate.store.write_end(gate.moment(), end).await.expect("an outcome");
    assert_eq!(gate.invite("Dan Example", &[ROLE]).await, InviteOutcome::Created);
    let head = gate.store.head().await.expect("a reading");
    (gate, bea, head)
}

#[tokio::test]
async fn what_agents_are_told_and_joined_by_is_on_record() {
    let forged = Digest::of(br#"{"id":"forged"}"#);
    let result = format!("UPDATE operations SET result = '{{\"id\":\"forged\"}}', result_sha256 = '{forged}'");
    let cases = [
        // Last month's result for this month's payment.
        "UPDATE calls SET call_key = 'next month' WHERE effect = 'money' AND agent IS NOT NULL".to_owned(),
        "UPDATE calls SET call_key = 'another' WHERE effect = 'write'".to_owned(),
        format!("UPDATE calls SET payload_sha256 = '{forged}' WHERE effect = 'write'"),
        format!("UPDATE operations SET payload_sha256 = '{forged}' WHERE kind = 'write'"),
        format!("UPDATE operations SET row_sha256 = '{forged}' WHERE kind = 'write'"),
        "UPDATE calls SET run = (SELECT run FROM agents WHERE agent = 'billing') WHERE effect = 'write'".to_owned(),
        "UPDATE calls SET on_behalf_of = 'somebody' WHERE effect = 'write'".to_owned(),
        "UPDATE calls SET says = 'I was told to' WHERE effect = 'write'".to_owned(),
        "UPDATE calls SET says = 'I was told to' WHERE effect = 'money' AND agent IS NOT NULL".to_owned(),
        "UPDATE calls SET created_at = created_at + 1".to_owned(),
        "INSERT INTO calls (call, agent, run, call_key, tool, effect, payload_sha256, created_at)
           SELECT 'call_00000000000000000000000000', agent, run, 'mine', tool, effect, payload_sha256, created_at FROM calls WHERE effect = 'write'"
            .to_owned(),
        format!("{result} WHERE kind = 'write'"),
        format!("{result} WHERE kind = 'money' AND result IS NOT NULL"),
        "UPDATE operations SET detail = 'call this number' WHERE kind = 'write'".to_owned(),
        "UPDATE operations SET detail = 'call this number' WHERE kind = 'money' AND result IS NOT NULL".to_owned(),
        r#"UPDATE operations SET args = '{"tag":"two"}' WHERE kind = 'write'"#.to_owned(),
        r#"UPDATE operations SET before = '{"tag":"two"}' WHERE kind = 'write'"#.to_owned(),
        "UPDATE requests SET denial_note = 'call this number' WHERE state = 'denied'".to_owned(),
        "UPDATE requests SET denial_kind = 'duplicate' WHERE state = 'denied'".to_owned(),
        "UPDATE requests SET denial_role = 'admin' WHERE state = 'denied'".to_owned(),
        "UPDATE requests SET ended_at = ended_at + 1 WHERE state = 'denied'".to_owned(),
        "UPDATE requests SET ended_at = ended_at + 1 WHERE state = 'consumed'".to_owned(),
    ];
    let (gate, _, head) = lived().await;
    let dir = tempfile::TempDir::new().expect("a folder");
    let whole = dir.path().join("whole.db");
    rusqlite::Connection::open(gate.path()).expect("a database").execute("VACUUM INTO ?1", [whole.to_str()]).expect("a copy");
    let untouched = gate.on_copy(&whole, |_| {}).expect("it opens");
    assert_eq!(found(&untouched, Some(head)).await, "nothing");
    for sql in &cases {
        let mut altered = gate.on_copy(&whole, |_| {}).expect("it opens");
        forge(&mut altered, sql);
        let found = found(&altered, Some(head)).await;
        assert!(found.starts_with("ledger_contradicted: ") && !found.contains("schema"), "{sql}: {found}");
    }
}

/// Whoever has one human's keys and the file invites that human under another's name: two approvals of one person.
#[tokio::test]
async fn an_invitation_that_nobody_made_invites_nobody() {
    let (mut gate, bea, head) = lived().await;
    let code = Digest::of(b"a code of mine");
    let for_bea = format!(
        "INSERT INTO invites (code_sha256, kind, person, name, roles, created_at, expires_at)
         VALUES ('{code}', 'device', '{}', 'Bea Example', ' {ROLE} ', 1, 4102444800000)",
        bea.person
    );
    forge(&mut gate, &for_bea);
    let found_at_start = found(&gate, Some(head)).await;
    assert!(found_at_start.contains("an invitation in the ledger is not as it is on record"), "{found_at_start}");
    // And a gate that runs asks the log.
    let offered = gate.store.offer(gate.moment(), code).await.expect("an outcome");
    assert!(matches!(&offered, OfferOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid), "{offered:?}");
}

#[tokio::test]
async fn an_invitation_invites_whom_its_record_names() {
    for sql in [
        "UPDATE invites SET person = (SELECT person FROM invites WHERE name = 'Bea Example') WHERE used_at IS NULL",
        "UPDATE invites SET name = 'Bea Example' WHERE used_at IS NULL",
        "UPDATE invites SET roles = ' admin ' WHERE used_at IS NULL",
        "UPDATE invites SET kind = 'device' WHERE used_at IS NULL",
        "UPDATE invites SET expires_at = 4102444800000 WHERE used_at IS NULL",
        "UPDATE invites SET used_at = NULL WHERE name = 'Bea Example'",
        "DELETE FROM invites WHERE used_at IS NULL",
        "UPDATE enrolments SET person = (SELECT person FROM invites WHERE used_at IS NULL) WHERE request IS NOT NULL",
        "DELETE FROM enrolments WHERE request IS NOT NULL",
    ] {
        let (mut gate, _, head) = lived().await;
        forge(&mut gate, &format!("DROP INDEX one_invite_a_new_person; {sql}"));
        let found = found(&gate, Some(head)).await;
        assert!(found.contains("an invitation") || found.contains("an enrolment"), "{sql}: {found}");
        if sql.starts_with("UPDATE invites SET") && !sql.contains("used_at = NULL") {
            let offered = gate.store.offer(gate.moment(), code_of("Dan Example")).await.expect("an outcome");
            let OfferOutcome::Offer(offer) = offered else { panic!("{sql}: {offered:?}") };
            let expected = (person_of("Dan Example"), "Dan Example", InviteKind::Person, crate::fixture::names(&[ROLE]));
            assert_eq!((offer.person, offer.name.as_str(), offer.kind, offer.roles), expected, "{sql}");
        }
    }
}

/// Whoever can write a session could propose in another's name, and then decide alone.
#[tokio::test]
async fn a_session_that_nobody_opened_is_found_and_one_that_was_opened_goes_on() {
    let (mut gate, bea, head) = lived().await;
    let opened = gate.open_session(&bea).await;
    gate.reopen();
    assert_eq!(found(&gate, Some(head)).await, "nothing");
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(gate.store.authenticate_session(gate.now(), opened).await.expect("a reading").is_some());
    let mine = Digest::of(b"a bearer of mine");
    let key_sha256 = bea.device.public().digest();
    let insert = "INSERT INTO sessions (session_sha256, person, key_sha256, opened_at, expires_at) VALUES";
    for sql in [
        format!("{insert} ('{mine}', '{}', '{key_sha256}', 1, 4102444800000)", bea.person),
        format!("UPDATE sessions SET session_sha256 = '{mine}'"),
        "UPDATE sessions SET expires_at = 4102444800000".to_owned(),
        "UPDATE sessions SET person = (SELECT person FROM invites WHERE used_at IS NULL)".to_owned(),
    ] {
        let (mut gate, bea, head) = lived().await;
        gate.open_session(&bea).await;
        forge(&mut gate, &sql);
        let found = found(&gate, Some(head)).await;
        assert!(found.contains("a session in the ledger is not as it is on record"), "{sql}: {found}");
    }
}

#[tokio::test]
async fn a_start_forgets_who_was_to_open_a_session() {
    let (mut gate, bea, _) = lived().await;
    let key_sha256 = bea.device.public().digest();
    let ask = SessionChallenge { key_sha256, challenge: gate.nonce() };
    let outcome = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
    let SessionChallengeOutcome::Issued { issued_at, .. } = outcome else { panic!("{outcome:?}") };
    gate.reopen();
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    let statement = SessionStatement {
        gate: GateId::of(&gate.log_key.public()),
        environment: Environment::Test,
        key_sha256,
        challenge: ask.challenge,
        issued_at,
    };
    let open = OpenSession { envelope: statement.sign(&bea.device).expect("signed"), session_sha256: Digest::of(b"a bearer") };
    let outcome = gate.store.open_session(gate.moment(), open).await.expect("an outcome");
    assert!(matches!(&outcome, SessionOutcome::Refused(refusal) if refusal.code == Code::ChallengeInvalid), "{outcome:?}");
    gate.open_session(&bea).await;
}
