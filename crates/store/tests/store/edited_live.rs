//! Somebody writes into the database of a gate that runs: it is found before anything is believed, nothing is taken or told any
//! more, and the next start names what was written. Who only reads, or copies, is not taken for a writer.

use std::time::Duration;

use rusqlite::Connection;
use vidimus_core::roster::Roster;
use vidimus_core::table::Table;
use vidimus_store::*;

use crate::fixture::{Gate, TABLE, names};
use crate::verification::{busy, found};

/// Another process of this machine, beside the gate that has the database open.
fn other(gate: &Gate) -> Connection {
    let db = Connection::open(gate.path()).expect("a database");
    db.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    db
}

fn beside(gate: &Gate, sql: &str) {
    let db = other(gate);
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").expect("switched off");
    let mut triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").expect("a query");
    let triggers: Vec<String> = triggers.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("names");
    let drops: String = triggers.iter().map(|trigger| format!("DROP TRIGGER {trigger};")).collect();
    db.execute_batch(&format!("BEGIN IMMEDIATE; {drops} {sql}; COMMIT")).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The writer, everybody who asks, and whoever is about to send.
async fn takes_and_tells_nothing(gate: &Gate, sql: &str) {
    assert!(matches!(gate.store.head().await, Err(StoreError::Disturbed)), "{sql}");
    assert!(matches!(gate.store.heartbeat(gate.moment()).await, Err(StoreError::Disturbed)), "{sql}");
    assert!(matches!(gate.store.due(gate.moment()).await, Err(StoreError::Disturbed)), "{sql}");
    assert!(matches!(gate.store.undisturbed(), Err(StoreError::Disturbed)), "{sql}");
    assert!(gate.store.is_disturbed() && gate.store.has_failed(), "{sql}");
    tokio::time::timeout(Duration::from_secs(5), gate.store.stopped()).await.expect("everybody is told");
}

async fn table_and_roster(gate: &Gate) -> [String; 2] {
    let looser = TABLE.replacen("needs = [{ role = \"treasury\", quorum = 2,", "needs = [{ role = \"treasury\", quorum = 1,", 1);
    let table = Table::parse(&looser).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (digest, toml) = (table.digest(), looser.replace('\'', "''"));
    let table =
        format!("INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{toml}'); UPDATE gate SET table_sha256 = '{digest}'");
    let before = gate.roster().await;
    let mut next = Roster { version: before.version + 1, previous_sha256: Some(before.digest().expect("a digest")), ..before };
    for person in &mut next.persons {
        person.roles = names(&["admin", "billing-approver", "treasury"]).into_iter().collect();
    }
    let text = String::from_utf8(next.to_json().canonical().expect("canonical")).expect("text");
    let (version, digest) = (next.version, next.digest().expect("a digest"));
    let roster = format!(
        "INSERT INTO rosters (version, roster_sha256, text) VALUES ({version}, '{digest}', '{text}'); UPDATE gate SET roster_version = {version}"
    );
    [table, roster]
}

#[tokio::test]
async fn whatever_is_written_beside_a_running_gate_stops_it_and_is_named_at_the_next_start() {
    let (gate, _) = busy().await;
    let forged = table_and_roster(&gate).await;
    drop(gate);
    let columns = [
        // A paid operation made new, its records blanked where the log is looked at by column.
        "UPDATE records SET operation = NULL, type = 'heartbeat' WHERE type IN ('token_redeemed', 'operation_changed');
         UPDATE tokens SET state = 'dead', redeemed_at = NULL; UPDATE operations SET state = 'reserved', attempt = 0, lease_until = NULL,
         first_sent_at = NULL, mint_at = 0; UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1 WHERE state = 'consumed'",
        "UPDATE operations SET mint_at = 0 WHERE tool = 'refund'",
        "UPDATE clock SET now_ms = now_ms + 86460000",
        "UPDATE requests SET frozen = 'x', waits_until = 1 WHERE state = 'denied'",
        "DELETE FROM decisions",
    ];
    for sql in columns.into_iter().chain(forged.iter().map(String::as_str)) {
        let (mut gate, head) = busy().await;
        beside(&gate, sql);
        takes_and_tells_nothing(&gate, sql).await;
        gate.reopen();
        let told = found(&gate, Some(head)).await;
        assert!(told.contains("ledger_contradicted") || told.contains("seal_broken"), "{sql}: {told}");
    }
}

/// Found by the writer alone, by one who reads alone, and by one who is about to send alone.
#[tokio::test]
async fn the_first_who_looks_finds_it() {
    let sql = "UPDATE agents SET created_at = created_at + 1";
    let (gate, _) = busy().await;
    beside(&gate, sql);
    assert!(matches!(gate.store.heartbeat(gate.moment()).await, Err(StoreError::Disturbed)));
    takes_and_tells_nothing(&gate, sql).await;
    let (gate, _) = busy().await;
    beside(&gate, sql);
    assert!(matches!(gate.store.table_in_force().await.map(drop).and(gate.store.undisturbed()), Err(StoreError::Disturbed)));
    takes_and_tells_nothing(&gate, sql).await;
}

/// Between the start's verification and the first commit, and between any two commits.
#[tokio::test]
async fn it_is_found_from_the_opening_on() {
    let (mut gate, head) = busy().await;
    gate.reopen();
    beside(&gate, "UPDATE clock SET now_ms = now_ms");
    assert!(matches!(gate.store.verify(Some(head)).await, Err(VerifyError::Contradicted(_) | VerifyError::Store(StoreError::Disturbed))));
    takes_and_tells_nothing(&gate, "before the verification").await;
}

#[tokio::test]
async fn who_reads_copies_or_moves_the_log_file_is_no_writer() {
    let (gate, head) = busy().await;
    let copy = gate.folder().join("copy.db");
    for round in 0..30 {
        // What the gate itself does: commits, use cases that fail, readings.
        gate.advance_s(1);
        gate.store.heartbeat(gate.moment()).await.expect("recorded");
        let beyond = StoredCheckpoint { size: u64::MAX, note: "x".to_owned() };
        assert!(matches!(gate.store.store_checkpoint(gate.moment(), beyond).await, Err(StoreError::Corrupt(_))));
        let db = other(&gate);
        let rows: i64 = db.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).expect("a count");
        assert!(rows > 0);
        for way in ["PASSIVE", "FULL", "RESTART"] {
            db.query_row(&format!("PRAGMA wal_checkpoint({way})"), [], |_| Ok(())).expect("moved");
        }
        db.query_row("PRAGMA integrity_check", [], |_| Ok(())).expect("looked at");
        if round % 10 == 0 {
            db.execute("VACUUM INTO ?1", [copy.to_str().expect("text")]).expect("a copy");
            std::fs::remove_file(&copy).expect("removed");
            std::fs::copy(gate.path(), &copy).expect("a copy of the file");
            std::fs::remove_file(&copy).expect("removed");
        }
        // A transaction that is taken back has written nothing.
        db.execute_batch("BEGIN IMMEDIATE; DELETE FROM pages; ROLLBACK").expect("taken back");
        drop(db);
        gate.store.head().await.expect("nobody wrote");
    }
    gate.store.heartbeat(gate.moment()).await.expect("nobody wrote");
    assert!(!gate.store.is_disturbed());
    gate.store.verify(Some(head)).await.expect("untouched");
}

/// Somebody who only has the lock, and writes nothing: the writer waits, and nobody else for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_holds_the_lock_keeps_nobody_from_reading_and_ends_the_gate_in_the_end() {
    let (gate, ..) = busy().await;
    let other = other(&gate);
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let (store, moment) = (gate.store.clone(), gate.moment());
    let writing = tokio::spawn(async move { store.heartbeat(moment).await });
    for _ in 0..200 {
        gate.store.requests(None, None, names(&["auditor"])).await.expect("a reading");
        gate.store.undisturbed().expect("nobody wrote");
        gate.store.identity().await.expect("a reading");
    }
    assert!(!writing.is_finished(), "the readings waited for the writer");
    other.execute_batch("ROLLBACK; BEGIN IMMEDIATE; ROLLBACK").expect("given back");
    assert!(matches!(writing.await.expect("no panic"), Ok(())), "what waited is recorded");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    assert!(matches!(gate.store.heartbeat(gate.moment()).await, Err(StoreError::Failed)), "not for ever");
    tokio::time::timeout(Duration::from_secs(5), gate.store.stopped()).await.expect("everybody is told");
    assert!(!gate.store.is_disturbed(), "nothing was written");
}
