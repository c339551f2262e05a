//! Somebody writes into the database of a gate that runs: what is in force in the process is what it read at its start and
//! what people signed since, so nothing is decided or routed by what they wrote, and the next start names it.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::request::RequestState;
use vidimus_core::roster::Roster;
use vidimus_core::table::Table;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Gate, TABLE, names};

const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;

/// Beside the gate that has it open, as another process of this machine can.
fn beside(gate: &Gate, sql: &str) {
    let db = rusqlite::Connection::open(gate.path()).expect("a database");
    db.busy_timeout(std::time::Duration::from_secs(5)).expect("a timeout");
    db.execute_batch("PRAGMA foreign_keys = OFF").expect("switched off");
    let mut triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").expect("a query");
    let triggers: Vec<String> = triggers.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("names");
    for trigger in triggers {
        db.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
    }
    db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[tokio::test]
async fn a_table_that_nobody_signed_is_not_in_force() {
    let (mut gate, _, bea, cem) = Gate::with_people().await;
    let (_, before) = gate.wait_for("wire", WIRE).await;
    let looser = TABLE.replacen("needs = [{ role = \"treasury\", quorum = 2,", "needs = [{ role = \"treasury\", quorum = 1,", 1);
    let table = Table::parse(&looser).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_ne!(table.digest(), gate.table.digest());
    let (digest, text) = (table.digest(), looser.replace('\'', "''"));
    let sql =
        format!("INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{text}'); UPDATE gate SET table_sha256 = '{digest}'");
    beside(&gate, &sql);
    // What calls are routed by, what they are frozen on, what decisions and tokens are checked against.
    let in_force = gate.store.table_in_force().await.expect("a reading").expect("a table");
    assert_eq!(in_force.digest(), gate.table.digest());
    assert_eq!(gate.store.table().await.expect("a reading").expect("a table").table_sha256, gate.table.digest());
    let (_, after) = gate.wait_for("wire", &WIRE.replace("4200000", "4200001")).await;
    for request in [before, after] {
        assert_eq!(gate.approve(&bea, request, "treasury").await.state, RequestState::Pending, "two are needed");
        let operation = gate.approve(&cem, request, "treasury").await.operation.expect("a quorum");
        gate.advance_s(30);
        gate.redeem_new_token(operation).await;
    }
    // A change of the roster reads the row of the gate no more than anything else.
    let admin = gate.approver("Ada Example");
    gate.admit(&admin, "Dan Example", &["auditor"]).await;
    assert_eq!(gate.store.table_in_force().await.expect("a reading").expect("a table").digest(), gate.table.digest());
    gate.reopen();
    assert!(gate.store.verify(None).await.is_err(), "and the next start names it");
}

#[tokio::test]
async fn a_roster_that_nobody_signed_is_not_in_force() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let bearer = gate.open_session(&bea).await;
    let before = gate.roster().await;
    let mut next = Roster { version: before.version + 1, previous_sha256: Some(before.digest().expect("a digest")), ..before.clone() };
    for person in &mut next.persons {
        person.roles = names(&["admin", "billing-approver", "treasury"]).into_iter().collect();
    }
    let text = String::from_utf8(next.to_json().canonical().expect("canonical")).expect("text");
    let (version, digest) = (next.version, next.digest().expect("a digest"));
    let sql = format!(
        "INSERT INTO rosters (version, roster_sha256, text) VALUES ({version}, '{digest}', '{text}'); UPDATE gate SET roster_version = {version}"
    );
    beside(&gate, &sql);
    assert_eq!(gate.roster().await, before);
    let session = gate.store.authenticate_session(gate.now(), bearer).await.expect("a reading").expect("a session");
    assert_eq!(session.roles, names(&["billing-approver", "treasury"]));
    let request = gate.ask_for(&bea, ProposedChange::SetRoles { person: bea.person, roles: names(&["auditor"]) }).await;
    let request = request.expect("proposed on the roster in force");
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, "admin").await), Code::RoleNotHeld);
    gate.reopen();
    assert!(gate.store.verify(None).await.is_err());
}
