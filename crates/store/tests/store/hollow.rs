//! A database whose tables are what the log says, and whose indices are not: a statement that reads by such an index finds
//! what nobody wrote, or misses what stands in the table. Nobody serves from it.

use std::path::Path;

use rusqlite::Connection;
use vidimus_core::decision::DecisionKind;
use vidimus_store::*;

use crate::fixture::Gate;
use crate::verification::{busy, found};

/// Changes the texts that a database describes itself by, as anybody can who gets at its file.
fn describe_anew(path: impl AsRef<Path>, sql: &str) {
    let db = Connection::open(path).expect("a database");
    db.execute_batch(&format!("PRAGMA writable_schema = ON; {sql}; PRAGMA writable_schema = RESET")).expect(sql);
}

fn act(path: impl AsRef<Path>, sql: &str) {
    Connection::open(path).expect("a database").execute_batch(sql).expect(sql);
}

fn ask<T: rusqlite::types::FromSql>(path: impl AsRef<Path>, sql: &str) -> Vec<T> {
    let db = Connection::open(path).expect("a database");
    let mut statement = db.prepare(sql).expect(sql);
    statement.query_map([], |row| row.get(0)).expect(sql).collect::<Result<_, _>>().expect(sql)
}

/// Makes an index anew under a narrower condition and puts its old text back.
fn starve(path: &Path, index: &str, condition: &str) {
    let text: String = ask(path, &format!("SELECT sql FROM sqlite_schema WHERE name = '{index}'")).remove(0);
    let word = if text.contains("WHERE") { "AND" } else { "WHERE" };
    let quoted = |text: &str| text.replace('\'', "''");
    describe_anew(path, &format!("UPDATE sqlite_schema SET sql = '{} {word} {}' WHERE name = '{index}'", quoted(&text), quoted(condition)));
    act(path, &format!("REINDEX {index}"));
    describe_anew(path, &format!("UPDATE sqlite_schema SET sql = '{}' WHERE name = '{index}'", quoted(&text)));
}

/// What an index has: as many entries as its condition finds rows.
fn is_empty(path: &Path, index: &str) -> bool {
    let table: String = ask(path, &format!("SELECT tbl_name FROM sqlite_schema WHERE name = '{index}'")).remove(0);
    let text: String = ask(path, &format!("SELECT sql FROM sqlite_schema WHERE name = '{index}'")).remove(0);
    let condition = text.split_once("WHERE").map_or("1", |(_, condition)| condition);
    ask::<i64>(path, &format!("SELECT count(*) FROM {table} NOT INDEXED WHERE {condition}")) == [0]
}

#[tokio::test]
async fn an_index_that_does_not_have_what_its_table_has_is_found_whichever_it_is() {
    let (gate, head) = busy().await;
    let dir = tempfile::TempDir::new().expect("a folder");
    let whole = dir.path().join("whole.db");
    act(gate.path(), &format!("VACUUM INTO '{}'", whole.display()));
    let indices: Vec<String> = ask(&whole, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name");
    assert!(indices.len() > 20, "{indices:?}");
    let mut tried = 0;
    for index in &indices {
        if is_empty(&whole, index) {
            continue;
        }
        tried += 1;
        let altered = gate.on_copy(&whole, |db| starve(Path::new(db.path().expect("a file")), index, "0")).expect("it opens");
        let found = found(&altered, Some(head)).await;
        assert!(found.starts_with("ledger_contradicted: ") && found.contains("do not hold together"), "{index}: {found}");
    }
    assert!(tried > 12, "{tried} indices had something to lose");
}

/// A quorum of two from one approval that stands and one that was taken back: the table says that it was, the index of standing
/// approvals that it was not, and what the optimizer is told lets the one statement read the one and the other the other.
#[tokio::test]
async fn an_approval_that_was_taken_back_does_not_stand_in_an_index() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#).await;
    gate.approve(&bea, request, "treasury").await;
    gate.decide(&bea, request, DecisionKind::Retract, "treasury").await;
    let head = gate.store.head().await.expect("a reading");
    gate.store.close();
    let path = gate.path().to_owned();
    let triggers: Vec<String> = ask(&path, "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'decisions'");
    let names: Vec<String> = ask(&path, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'decisions'");
    for name in names {
        act(&path, &format!("DROP TRIGGER {name}"));
    }
    act(&path, &format!("UPDATE decisions SET standing = 1 WHERE decision = 'approve' AND request = '{request}'"));
    let db = Connection::open(&path).expect("a database");
    let (text, page): (String, i64) = db
        .query_row("SELECT sql, rootpage FROM sqlite_schema WHERE name = 'one_standing_approval'", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("an index");
    drop(db);
    describe_anew(&path, "DELETE FROM sqlite_schema WHERE name = 'one_standing_approval'");
    act(&path, &format!("UPDATE decisions SET standing = 0 WHERE request = '{request}'"));
    let back = format!("INSERT INTO sqlite_schema VALUES ('index', 'one_standing_approval', 'decisions', {page}, '{text}')");
    describe_anew(&path, &back);
    for trigger in triggers {
        act(&path, &trigger);
    }
    act(&path, "ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('decisions', 'one_standing_approval', '5000000 1 1')");
    let stands = |by: &str| ask::<i64>(&path, &format!("SELECT count(*) FROM decisions {by} WHERE request = '{request}' AND standing = 1"));
    assert_eq!((stands("INDEXED BY one_standing_approval"), stands("NOT INDEXED")), (vec![1], vec![0]), "the index has it");
    gate.reopen();
    let found = found(&gate, Some(head)).await;
    assert!(found.starts_with("ledger_contradicted: ") && found.contains("do not hold together"), "{found}");
}

#[tokio::test]
async fn what_somebody_counted_steers_no_statement() {
    let (mut gate, head) = busy().await;
    gate.store.close();
    act(gate.path(), "ANALYZE");
    assert_eq!(ask::<i64>(gate.path(), "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"), [1]);
    gate.reopen();
    assert_eq!(found(&gate, Some(head)).await, "nothing");
    gate.store.close();
    assert_eq!(ask::<i64>(gate.path(), "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'"), [0]);
}

#[tokio::test]
async fn nothing_stands_in_a_database_beside_what_its_gate_made() {
    let cases = [
        "CREATE VIEW seen AS SELECT * FROM requests",
        "CREATE TABLE beside (one INTEGER)",
        // Leaves the table behind that numbers are taken from.
        "CREATE TABLE counted (one INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE counted",
        "CREATE TABLE sqlitestatx (one INTEGER); CREATE TRIGGER armed BEFORE UPDATE ON sqlitestatx BEGIN SELECT 1; END",
        "CREATE TRIGGER armed AFTER INSERT ON decisions BEGIN SELECT 1; END",
        "CREATE INDEX another ON requests (tool)",
        "DROP INDEX one_open_business_effect",
        "DROP INDEX requests_by_age; CREATE INDEX requests_by_age ON requests (created_at DESC)",
        "DROP INDEX sessions_by_end; CREATE INDEX sessions_by_end ON sessions (expires_at COLLATE NOCASE)",
    ];
    for sql in cases {
        let (mut gate, head) = busy().await;
        gate.store.close();
        act(gate.path(), sql);
        gate.reopen();
        let found = found(&gate, Some(head)).await;
        assert!(found.contains("the schema is not the one that this gate made"), "{sql}: {found}");
    }
}

/// The texts say what they said; what they stand for was made under others.
#[tokio::test]
async fn a_table_that_is_not_what_its_text_says_is_found() {
    let swap = "UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('calls_by_key', 'calls_by_payload')) - rootpage
                WHERE name IN ('calls_by_key', 'calls_by_payload')";
    let (mut gate, head) = busy().await;
    gate.store.close();
    describe_anew(gate.path(), swap);
    gate.reopen();
    let found = found(&gate, Some(head)).await;
    assert!(found.contains("do not hold together"), "{found}");
    // What SQLite itself does not take, no gate opens.
    describe_anew(gate.path(), "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'requests_by_age'");
    assert!(Store::open(&gate.path(), crate::fixture::seal_key()).is_err());
}

#[tokio::test]
async fn a_reference_that_leads_nowhere_is_found() {
    let (mut gate, head) = busy().await;
    gate.store.close();
    let nowhere = "INSERT INTO operation_challenges (challenge_sha256, operation, key_sha256, issued_at) VALUES ('a', 'b', 'c', 1)";
    act(gate.path(), &format!("PRAGMA foreign_keys = OFF; {nowhere}"));
    gate.reopen();
    let found = found(&gate, Some(head)).await;
    assert!(found.contains("a row of `operation_challenges` refers to none"), "{found}");
}

#[test]
fn texts_are_compared_byte_by_byte_as_they_came() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let path = dir.path().join("gate.db");
    act(&path, "PRAGMA encoding = 'UTF-16'; CREATE TABLE beside (one INTEGER); PRAGMA application_id = 0x56494449");
    assert_eq!(ask::<String>(&path, "PRAGMA encoding"), ["UTF-16le"]);
    let opened = Store::open(&path, vidimus_core::seal::SealKey::derive(&[1; 32]));
    assert!(matches!(opened.err(), Some(OpenError::PragmaNotInForce { pragma: "encoding", .. })));
}
