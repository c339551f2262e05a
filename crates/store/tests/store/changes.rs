//! What was valid and no longer is: the table or the roster changed under a request, an approval, a token, a doubt.
//!
//! The changes are put into the database directly, as the use cases of other versions would leave it.

use rusqlite::params;
use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::{Answer, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::roster::{KeyUse, Roster};
use vidimus_core::sign::PublicKey;
use vidimus_core::table::Table;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Gate, TABLE};

const ROLE: &str = "billing-approver";

/// Brings another table into force, in which the refund's row says something else.
async fn change_table(gate: &mut Gate) {
    let toml = TABLE.replace("charge the card again", "ask the customer to pay again");
    let table = Table::parse(&toml).unwrap_or_else(|faults| panic!("{faults:?}"));
    gate.store.close();
    let db = rusqlite::Connection::open(gate.path()).expect("a database");
    db.execute("INSERT INTO effect_tables (table_sha256, toml) VALUES (?1, ?2)", params![table.digest().to_string(), toml])
        .expect("a table");
    db.execute("UPDATE gate SET table_sha256 = ?1", [table.digest().to_string()]).expect("in force");
    drop(db);
    gate.reopen();
}

/// Brings a version of the roster into force in which this key is stopped.
pub async fn stop_key(gate: &mut Gate, key: PublicKey) {
    let before = gate.roster().await;
    let mut next = Roster { version: before.version + 1, previous_sha256: Some(before.digest().expect("a digest")), ..before };
    for stopped in next.persons.iter_mut().flat_map(|person| &mut person.keys).filter(|held| held.key == key) {
        stopped.stopped_at = Some(gate.now());
    }
    let text = String::from_utf8(next.to_json().canonical().expect("canonical")).expect("text");
    gate.store.close();
    let db = rusqlite::Connection::open(gate.path()).expect("a database");
    let row = params![next.version, Digest::of(text.as_bytes()).to_string(), text];
    db.execute("INSERT INTO rosters (version, roster_sha256, text) VALUES (?1, ?2, ?3)", row).expect("a roster");
    db.execute("UPDATE gate SET roster_version = ?1", [next.version]).expect("in force");
    drop(db);
    gate.reopen();
}

#[tokio::test]
async fn a_changed_row_refuses_the_decision_and_makes_the_approval_stale() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, pending) = gate.refund("1").await;
    let (_, approved) = gate.refund("2").await;
    let operation = gate.approve(&bea, approved, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    let signed = gate.decision(&bea, pending, DecisionKind::Approve, ROLE, &|_| {}).await;
    change_table(&mut gate).await;
    // The console showed the row that was frozen; the gate renders by the one in force.
    assert_eq!(refused_decision(gate.record(signed).await), Code::RowStale);
    let size = gate.size().await;
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::RowStale));
    assert_eq!(gate.told_since(size).await, ["token_refused:row_stale", "operation_changed", "request_stale:row_stale"]);
    let view = gate.view(approved).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Stale, OperationState::NotStarted));
    assert!(
        matches!(gate.decide(&bea, pending, DecisionKind::Deny, ROLE).await, DecisionOutcome::Refused(refusal) if refusal.code == Code::RowStale)
    );
}

#[tokio::test]
async fn a_doubt_whose_row_changed_goes_to_a_person() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
    gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
    change_table(&mut gate).await;
    gate.advance_s(2);
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((due.moved, due.to_mint), (1, Vec::new()));
    let state = gate.store.operation(operation).await.expect("a reading").expect("an operation").state;
    assert_eq!(state, OperationState::NeedsReconciliation);
}

#[tokio::test]
async fn a_stopped_approval_key_neither_decides_nor_stands() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, pending) = gate.refund("1").await;
    let (_, approved) = gate.refund("2").await;
    let operation = gate.approve(&bea, approved, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    let signed = gate.decision(&bea, pending, DecisionKind::Approve, ROLE, &|_| {}).await;
    stop_key(&mut gate, bea.approval.public()).await;
    assert_eq!(refused_decision(gate.record(signed).await), Code::KeyStopped);
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::KeyStopped));
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestStale));
    assert_eq!(gate.view(approved).await.state, RequestState::Stale);
    let ask = DecisionChallenge { request: pending, person: bea.person, key_sha256: bea.approval.public().digest() };
    let refused = gate.store.decision_challenge(gate.moment(), ask).await.expect("an outcome");
    assert!(matches!(refused, DecisionChallengeOutcome::Refused(refusal) if refusal.code == Code::KeyStopped));
}

#[tokio::test]
async fn a_stopped_device_key_ends_its_sessions() {
    let (mut gate, ada, ..) = Gate::with_people().await;
    let bearer = gate.open_session(&ada).await;
    assert!(gate.store.authenticate_session(gate.now(), bearer).await.expect("a reading").is_some());
    stop_key(&mut gate, ada.device.public()).await;
    assert_eq!(gate.store.authenticate_session(gate.now(), bearer).await.expect("a reading"), None);
    let ask = SessionChallenge { key_sha256: ada.device.public().digest(), challenge: gate.nonce() };
    let refused = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
    assert!(matches!(refused, SessionChallengeOutcome::Refused(refusal) if refusal.code == Code::KeyStopped));
    let held = gate.roster().await.key(&ada.device.public().digest()).map(|holder| holder.key.key_use);
    assert_eq!(held, Some(KeyUse::Device), "a stopped key stays on record");
}
