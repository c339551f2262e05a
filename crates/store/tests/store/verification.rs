//! A database that somebody wrote into is not served from: each thing that decides who may do what follows from the log
//! behind the signed head, and from signatures.

use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionKind;
use vidimus_core::json::Json;
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::roster::Roster;
use vidimus_core::table::Table;
use vidimus_core::tree::{Frontier, leaf_hash};
use vidimus_store::*;

use crate::fixture::{Gate, TABLE, name};
use crate::forged::forge;

/// A gate on which everything happened once that verification looks at.
pub async fn busy() -> (Gate, Head) {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    gate.add_agent("owned", Some(ada.person)).await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, "billing-approver").await.operation.expect("a quorum");
    gate.redeem_new_token(operation).await;
    let (_, denied) = gate.refund("2").await;
    assert!(matches!(gate.decide(&cem, denied, DecisionKind::Deny, "billing-approver").await, DecisionOutcome::Recorded(_)));
    let head = gate.store.head().await.expect("a reading");
    (gate, head)
}

pub async fn found(gate: &Gate, signed: Option<Head>) -> String {
    match gate.store.verify(signed).await {
        Ok(()) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn an_untouched_database_is_what_its_log_says() {
    let gate = Gate::initialised().await;
    assert_eq!(found(&gate, None).await, "nothing");
    let (mut gate, head) = busy().await;
    for signed in [None, Some(head)] {
        assert_eq!(found(&gate, signed).await, "nothing");
    }
    gate.store.heartbeat(gate.moment()).await.expect("recorded");
    gate.reopen();
    assert_eq!(found(&gate, Some(head)).await, "nothing", "the log grew after the head was signed");
}

#[tokio::test]
async fn what_is_written_beside_the_log_is_found() {
    let cases = [
        ("UPDATE gate SET environment = 'live'", "the gate's identity or environment"),
        ("UPDATE gate SET recovery_key = token_key", "the recovery key"),
        ("UPDATE gate SET roster_version = 1", "the roster in force is not the newest"),
        ("UPDATE gate SET table_signed = 0, roster_version = NULL; DELETE FROM rosters", "version 1 of the roster is gone"),
        ("UPDATE gate SET table_signed = 0, roster_version = NULL", "the roster in force is not the newest"),
        ("UPDATE agents SET owner = NULL WHERE agent = 'owned'", "the agent `owned`"),
        ("UPDATE agents SET parent = 'support' WHERE agent = 'billing'", "the agent `billing`"),
        ("UPDATE agents SET credential_sha256 = run WHERE agent = 'billing'", "the agent `billing`"),
        ("DELETE FROM agents WHERE agent = 'support'", "an agent that was added is gone"),
        (
            "INSERT INTO agents (agent, credential_sha256, run, created_at) SELECT 'mine', upper(credential_sha256), 'run', 1 FROM agents LIMIT 1",
            "the agent `mine`",
        ),
        ("UPDATE records SET leaf = replace(leaf, 'support', 'innocent') WHERE type = 'agent_added'", "the tree over the record"),
        ("UPDATE records SET type = 'heartbeat' WHERE type = 'token_redeemed'", "the columns of the record"),
        ("UPDATE records SET operation = NULL WHERE type = 'token_redeemed'", "the columns of the record"),
        ("UPDATE records SET request = NULL WHERE type = 'decision_recorded'", "the columns of the record"),
        ("UPDATE records SET roles = ' everyone ' WHERE type = 'request_created'", "the columns of the record"),
        ("UPDATE records SET body = replace(body, '1500', '9500') WHERE type = 'request_created'", "the columns of the record"),
        ("UPDATE log_nodes SET hash = zeroblob(32) WHERE node = 2", "the tree over the record"),
        ("DELETE FROM records WHERE position = 3", "the log has no record at 3"),
        ("DELETE FROM records WHERE position = (SELECT max(position) FROM records)", "the head of the log"),
        ("INSERT INTO rosters SELECT max(version) + 1, upper(roster_sha256), 'a text' FROM rosters", "`rosters` has rows"),
        ("INSERT INTO log_nodes SELECT max(node) + 1, hash FROM log_nodes", "`log_nodes` has rows"),
        ("INSERT INTO checkpoints SELECT size + 1, 'a note' FROM log_head", "a head is kept of records"),
        ("UPDATE requests SET frozen = replace(frozen, 'Bea Example', 'Eve Example')", "is not the one that was frozen"),
    ];
    for (sql, expected) in cases {
        let (mut gate, head) = busy().await;
        forge(&mut gate, sql);
        let found = found(&gate, Some(head)).await;
        assert!(found.starts_with("ledger_contradicted: ") && found.contains(expected), "{sql}: {found}");
    }
}

#[tokio::test]
async fn a_roster_and_a_table_with_every_digest_made_to_fit_are_found() {
    let (mut gate, head) = busy().await;
    let roster = gate.roster().await;
    let mut forged = Roster { ..roster.clone() };
    for person in &mut forged.persons {
        person.roles.insert(name("admin"));
    }
    let text = String::from_utf8(forged.to_json().canonical().expect("canonical")).expect("text");
    let sha256 = Digest::of(text.as_bytes());
    forge(&mut gate, &format!("UPDATE rosters SET text = '{text}', roster_sha256 = '{sha256}' WHERE version = {}", roster.version));
    assert!(found(&gate, Some(head)).await.contains("version 3 of the roster is not the one on record"));

    let toml = TABLE.replace("charge the card again", "nothing to undo");
    let sha256 = Table::parse(&toml).expect("a table").digest();
    let quoted = toml.replace('\'', "''");
    let in_place =
        format!("UPDATE effect_tables SET toml = '{quoted}', table_sha256 = '{sha256}'; UPDATE gate SET table_sha256 = '{sha256}'");
    let beside = format!("INSERT INTO effect_tables VALUES ('{sha256}', '{quoted}'); UPDATE gate SET table_sha256 = '{sha256}'");
    for (forged, words) in
        [(in_place, "a version of the effect table is gone"), (beside, "the effect table in force is not the one that was signed")]
    {
        let (mut gate, head) = busy().await;
        forge(&mut gate, &forged);
        let found = found(&gate, Some(head)).await;
        assert!(found.contains(words), "{found}");
    }
}

/// Appends a leaf as the gate would, tree and head included.
pub fn append(gate: &mut Gate, record: &AuditRecord) {
    append_with(gate, record, None);
}

/// The same with a body, whose digest the record has.
pub fn append_with(gate: &mut Gate, record: &AuditRecord, body: Option<&Body>) {
    gate.store.close();
    let leaf = String::from_utf8(record.leaf().expect("a leaf")).expect("text");
    {
        let db = Connection::open(gate.path()).expect("a database");
        let (size, blob): (i64, Vec<u8>) =
            db.query_row("SELECT size, frontier FROM log_head", [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a head");
        let hashes = blob.as_chunks::<32>().0.iter().copied().map(Digest::from_bytes).collect();
        let mut frontier = Frontier::from_parts(u64::try_from(size).expect("small"), hashes).expect("a frontier");
        for (_, hash) in frontier.append(leaf_hash(leaf.as_bytes())) {
            let sql = "INSERT INTO log_nodes (node, hash) SELECT max(node) + 1, ?1 FROM log_nodes";
            db.execute(sql, [hash.as_bytes()]).expect("a node");
        }
        let blob: Vec<u8> = frontier.hashes().iter().flat_map(|hash| *hash.as_bytes()).collect();
        db.execute("UPDATE log_head SET size = ?1, root = ?2, frontier = ?3", params![size + 1, frontier.root().to_string(), blob])
            .expect("a head");
        let roles: String = record.roles.iter().fold(" ".to_owned(), |text, role| format!("{text}{role} "));
        db.execute(
            "INSERT INTO records (position, leaf, type, at_ms, request, operation, roles, salt, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                size,
                leaf,
                record.record_type.as_str(),
                record.at.as_ms(),
                record.request.map(|request| request.to_string()),
                record.operation.map(|operation| operation.to_string()),
                roles,
                body.map(|body| body.salt.to_string()),
                body.map(|body| body.text.as_str()),
            ],
        )
        .expect("a record");
    }
    gate.reopen();
}

#[tokio::test]
async fn a_record_that_nobody_signed_is_found_past_the_head() {
    let (mut gate, head) = busy().await;
    let log = gate.log().await;
    let signed = log.iter().map(|record| AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf"));
    let decided = signed.into_iter().find(|record| record.record_type == RecordType::DecisionRecorded).expect("a decision");
    let bare = AuditRecord { envelopes: Vec::new(), body_sha256: None, ..decided.clone() };
    append(&mut gate, &bare);
    assert!(found(&gate, Some(head)).await.contains("is signed by nobody"));

    // A signed envelope that other claims stand beside.
    let (mut gate, head) = busy().await;
    let Json::Object(members) = decided.claims.clone() else { panic!("claims") };
    let members = members.into_iter().map(|(key, value)| if key == "decision" { (key, "revoke".into()) } else { (key, value) });
    let twisted = AuditRecord { claims: Json::Object(members.collect()), body_sha256: None, ..decided.clone() };
    append(&mut gate, &twisted);
    assert!(found(&gate, Some(head)).await.contains("is not the one that was signed"));

    // A signed roster change at the wrong place, and a second beginning.
    for (record_type, expected) in [(RecordType::RosterChanged, "of the roster"), (RecordType::GateInitialised, "does not begin")] {
        let (mut gate, head) = busy().await;
        append(&mut gate, &AuditRecord { record_type, body_sha256: None, ..decided.clone() });
        let found = found(&gate, Some(head)).await;
        assert!(found.contains(expected), "{found}");
    }
}
