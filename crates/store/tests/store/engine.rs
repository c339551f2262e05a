//! The database itself: one process, known settings, known schema, and nothing lost by a crash.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::task::JoinSet;
use vidimus_core::tree::{leaf_hash, root_of};
use vidimus_store::*;

use crate::fixture::{Gate, names, seal_key};

fn code(result: Result<Store, OpenError>) -> &'static str {
    match result {
        Ok(_) => "opened",
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn a_second_gate_on_the_same_file_refuses_and_a_closed_one_frees_it() {
    let gate = Gate::initialised().await;
    assert_eq!(code(Store::open(&gate.path(), seal_key())), "database_in_use");
    gate.store.close();
    assert!(matches!(gate.store.heartbeat(gate.moment()).await, Err(StoreError::Closed)));
    assert_eq!(code(Store::open(&gate.path(), seal_key())), "opened");
}

#[tokio::test]
async fn a_newer_or_older_schema_and_a_foreign_file_are_refused_untouched() {
    let gate = Gate::initialised().await;
    gate.store.close();
    for (version, expected) in [(999, "schema_newer"), (9, "schema_older"), (-1, "schema_older")] {
        let db = rusqlite::Connection::open(gate.path()).expect("a database");
        db.pragma_update(None, "user_version", version).expect("a pragma");
        drop(db);
        assert_eq!(code(Store::open(&gate.path(), seal_key())), expected);
        let db = rusqlite::Connection::open(gate.path()).expect("a database");
        let found: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a pragma");
        assert_eq!(found, version);
    }

    let other = gate.folder().join("photos.db");
    let db = rusqlite::Connection::open(&other).expect("a database");
    db.execute_batch("CREATE TABLE photos (name TEXT)").expect("a table");
    drop(db);
    assert_eq!(code(Store::open(&other, seal_key())), "database_foreign");
    let text = gate.folder().join("notes.txt");
    std::fs::write(&text, "these are notes, and not a database at all; ".repeat(100)).expect("a file");
    assert_eq!(code(Store::open(&text, seal_key())), "database_foreign");
    assert_eq!(code(Store::open(&gate.folder().join("no/such/folder.db"), seal_key())), "database_unreadable");
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let gate = Gate::initialised().await;
    for entry in std::fs::read_dir(gate.folder()).expect("a folder") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}

#[tokio::test]
async fn the_schema_refuses_what_the_code_never_does() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let (_, denied) = gate.refund("843").await;
    gate.decide(&bea, denied, vidimus_core::decision::DecisionKind::Deny, "billing-approver").await;
    gate.approve(&bea, request, "billing-approver").await;
    gate.store.close();
    let db = rusqlite::Connection::open(gate.path()).expect("a database");
    let attacks = [
        "DELETE FROM records",
        "UPDATE records SET leaf = '{}'",
        "UPDATE log_head SET size = size - 1",
        "UPDATE clock SET now_ms = 0",
        "DELETE FROM requests",
        "UPDATE requests SET frozen = '{}'",
        "UPDATE requests SET expires_max_at = expires_max_at + 1",
        "UPDATE requests SET state = 'pending', ended_at = NULL, effect_open = 1 WHERE state = 'denied'",
        "UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1, quorum_at = 1 WHERE state = 'denied'",
        "UPDATE requests SET state = 'pending' WHERE state = 'approved'",
        "UPDATE requests SET effect_open = 0 WHERE state = 'approved'",
        "UPDATE decisions SET decision = 'approve'",
        "UPDATE decisions SET envelope = '{}'",
        "DELETE FROM operations",
        "UPDATE operations SET state = 'executing'",
        "UPDATE operations SET state = 'succeeded', ended_at = 1",
        "INSERT INTO tokens SELECT request, 'x', operation, 0, 'gate', 'x', 1, 2, 'minted', NULL FROM operations",
    ];
    for attack in attacks {
        assert!(db.execute(attack, []).is_err(), "`{attack}` went through");
    }
}

#[tokio::test]
async fn one_commit_serves_many_and_a_failed_one_takes_back_only_itself() {
    let gate = Gate::initialised().await;
    let mut tasks = JoinSet::new();
    for index in 0..200_u64 {
        let (store, moment) = (gate.store.clone(), gate.moment());
        tasks.spawn(async move {
            if index % 10 == 0 {
                // The last position is beyond what can be kept: the use case fails inside the batch.
                let checkpoint = StoredCheckpoint { size: u64::MAX, note: "x".to_owned() };
                assert!(matches!(store.store_checkpoint(moment, checkpoint).await, Err(StoreError::Corrupt(_))));
            } else {
                store.heartbeat(moment).await.expect("a heartbeat");
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(gate.size().await, 2 + 180);
    let records = gate.log().await;
    let leaves: Vec<_> = records.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect();
    assert_eq!(root_of(&leaves), gate.store.head().await.expect("a head").root);
}

const CHILD: &str = "VIDIMUS_STORE_CRASH_CHILD";

/// The child of the test below: writes until it is killed, and prints each size that it was told is durable.
async fn write_until_killed(path: &Path) -> ! {
    let gate = Gate::initialised().await;
    let store = Store::open(path, seal_key()).expect("the database opens");
    assert!(matches!(store.init(gate.moment(), gate.init()).await.expect("an outcome"), InitOutcome::Initialised(_)));
    loop {
        let beats: JoinSet<_> =
            (0..8).map(|_| (store.clone(), gate.moment())).map(|(store, moment)| async move { store.heartbeat(moment).await }).collect();
        for beat in beats.join_all().await {
            beat.expect("a heartbeat");
        }
        println!("durable {}", store.head().await.expect("a head").size);
    }
}

/// The program runs this test a second time as its own child, told so by the environment.
#[tokio::test]
async fn what_was_told_survives_a_kill() {
    if let Some(path) = std::env::var_os(CHILD) {
        write_until_killed(Path::new(&path)).await;
    }
    let dir = tempfile::TempDir::new().expect("a folder");
    let path = dir.path().join("gate.db");
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "engine::what_was_told_survives_a_kill", "--nocapture"])
        .env(CHILD, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let durable = lines.map_while(Result::ok).filter_map(|line| line.split_once("durable ").and_then(|(_, size)| size.parse::<u64>().ok()));
    let told = durable.take(20).last().expect("the child wrote");
    child.kill().expect("killed");
    child.wait().expect("reaped");
    let store = Store::open(&path, seal_key()).expect("the database opens after a crash");
    let head = store.head().await.expect("a head");
    assert!(head.size >= told && told > 100, "{} < {told}", head.size);
    let mut leaves = Vec::new();
    loop {
        let records = store.records(leaves.len() as u64, 1000, names(&[])).await.expect("a reading");
        if records.is_empty() {
            break;
        }
        leaves.extend(records.iter().map(|record| leaf_hash(record.leaf.as_bytes())));
    }
    assert_eq!((leaves.len() as u64, root_of(&leaves)), (head.size, head.root));
}
