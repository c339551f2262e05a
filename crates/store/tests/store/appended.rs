//! Somebody appends to the log of a gate that is down, tree and head included, and makes every column fit: what cannot follow is
//! named by the replay, and what could follow carries no seal of the gate.

use vidimus_core::bytes::Digest;
use vidimus_core::json::Json;
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_store::*;

use crate::fixture::Gate;
use crate::forged::forge;
use crate::verification::{append, append_with, busy, found};

async fn on_record(gate: &Gate, record_type: RecordType) -> Vec<AuditRecord> {
    let log = gate.log().await;
    let records = log.iter().map(|record| AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf"));
    records.filter(|record| record.record_type == record_type).collect()
}

fn bare(record: AuditRecord, claims: Json) -> AuditRecord {
    AuditRecord { claims, body_sha256: None, ..record }
}

/// Leases end in a start as they would in the gate's own.
const SET_BACK: &str = "PRAGMA ignore_check_constraints = ON; UPDATE operations SET state = 'reserved', ended_at = NULL, lease_until = NULL WHERE tool = 'refund';
    UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1 WHERE state = 'consumed' AND tool = 'refund'";

#[tokio::test]
async fn the_same_approval_again_and_the_operation_set_back_do_not_follow() {
    let (mut gate, head) = busy().await;
    let last = on_record(&gate, RecordType::DecisionRecorded).await;
    let approval = last.iter().rev().find(|record| record.claim("decision") == Some("approve")).expect("an approval").clone();
    append(&mut gate, &AuditRecord { body_sha256: None, ..approval.clone() });
    let position = gate.size().await - 1;
    let again = format!(
        "CREATE TABLE forged AS SELECT * FROM decisions; DROP TABLE decisions; ALTER TABLE forged RENAME TO decisions;
         INSERT INTO decisions SELECT request, decision_sha256, decision, approver, role, key_sha256, envelope, standing, {position}, state_after,
         given, needed FROM decisions WHERE request = '{}'; {SET_BACK}",
        approval.request.expect("a request")
    );
    forge(&mut gate, &again);
    let told = found(&gate, Some(head)).await;
    assert!(told.starts_with("ledger_contradicted: ") && told.contains("was used before"), "{told}");

    let (mut gate, head) = busy().await;
    let last = on_record(&gate, RecordType::OperationChanged).await.pop().expect("a change");
    let from = last.claim("state").expect("a state").to_owned();
    for state in ["reserved", "succeeded_not", "executing"] {
        let claims = Json::object([
            ("from", from.as_str().into()),
            ("state", state.into()),
            ("attempt", 1_u32.into()),
            ("result_sha256", Json::Null),
        ]);
        append(&mut gate, &bare(last.clone(), claims));
        let told = found(&gate, Some(head)).await;
        assert!(told.starts_with("ledger_contradicted: "), "{state}: {told}");
    }
}

/// A record that may follow, and whose columns fit, is believed by whoever believes the log: the seal says that it is nobody's.
#[tokio::test]
async fn what_could_follow_is_the_gates_own_only_with_its_seal() {
    let (mut gate, head) = busy().await;
    let credential = Digest::of(b"a credential of theirs");
    let first = on_record(&gate, RecordType::AgentAdded).await.remove(0);
    let Json::Object(claims) = first.claims.clone() else { panic!("claims") };
    let claims = claims.into_iter().map(|(key, value)| match key.as_str() {
        "agent" => (key, "theirs".into()),
        "credential_sha256" => (key, credential.into()),
        _ => (key, value),
    });
    append(&mut gate, &bare(first.clone(), Json::Object(claims.collect())));
    let run = vidimus_core::ids::RunId::from_random(
        vidimus_core::bytes::tagged("vidimus.agent.run.v1", [credential.as_bytes()]).as_bytes()[..16].try_into().expect("16"),
    );
    forge(
        &mut gate,
        &format!(
            "INSERT INTO agents (agent, owner, parent, credential_sha256, run, created_at)
             SELECT 'theirs', owner, parent, '{credential}', '{run}', created_at FROM agents LIMIT 1"
        ),
    );
    let size = gate.size().await;
    let told = found(&gate, Some(head)).await;
    let expected = format!("seal_broken: the records from {} to {size}", head.size);
    assert!(told.starts_with(&expected) || told.contains("the agent `theirs`"), "{told}");

    // The outcome of a provider's status query, which nobody asked.
    let (mut gate, head) = in_doubt().await;
    let last = on_record(&gate, RecordType::OperationChanged).await.pop().expect("a change");
    let claims =
        Json::object([("from", "unknown".into()), ("state", "succeeded".into()), ("attempt", 1_u32.into()), ("result_sha256", Json::Null)]);
    let body = Body { salt: gate.salt(), text: r#"{"detail":"asked","result":null}"#.to_owned() };
    append_with(&mut gate, &AuditRecord { claims, body_sha256: Some(body.digest()), ..last.clone() }, Some(&body));
    let at = last.at.as_ms();
    forge(
        &mut gate,
        &format!(
            "UPDATE operations SET state = 'succeeded', ended_at = {at}, next_at = NULL, detail = 'asked' WHERE state = 'unknown';
             UPDATE reservations SET counts = 1; UPDATE requests SET effect_open = 0 WHERE state = 'consumed'"
        ),
    );
    let told = found(&gate, Some(head)).await;
    assert!(told.starts_with("seal_broken: "), "{told}");

    // A sign of life, and nothing else.
    let (mut gate, head) = busy().await;
    let claims = Json::object([("size", Json::integer(gate.size().await).expect("a size"))]);
    append(
        &mut gate,
        &AuditRecord { record_type: RecordType::Heartbeat, request: None, operation: None, envelopes: Vec::new(), ..bare(first, claims) },
    );
    assert!(found(&gate, Some(head)).await.starts_with("seal_broken: "));
    // And whoever serves without having looked finds it at its first commit.
    assert!(matches!(gate.store.heartbeat(gate.moment()).await, Err(StoreError::Disturbed)));
    assert!(gate.store.has_failed());
}

/// A refund that was sent and whose outcome nobody knows.
async fn in_doubt() -> (Gate, Head) {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    let operation = gate.approve(&bea, request, "billing-approver").await.operation.expect("a quorum");
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let answer = vidimus_core::operation::Answer::Unclear;
    let brought = RecordAnswer { operation, attempt, answer, result: None, detail: "cut".to_owned() };
    gate.store.record_answer(gate.moment(), brought).await.expect("an outcome");
    let head = gate.store.head().await.expect("a reading");
    (gate, head)
}

#[tokio::test]
async fn a_clock_that_was_set_on_is_not_the_gates() {
    for sql in [
        "UPDATE clock SET now_ms = now_ms + 86460000",
        "UPDATE clock SET now_ms = now_ms + 601000",
        "UPDATE clock SET now_ms = now_ms + 1",
        "UPDATE clock SET seal = NULL",
        "UPDATE clock SET seal = zeroblob(32)",
    ] {
        let (mut gate, head) = busy().await;
        forge(&mut gate, sql);
        assert!(found(&gate, Some(head)).await.starts_with("seal_broken: "), "{sql}");
        assert!(gate.store.heartbeat(gate.moment()).await.is_err(), "{sql}");
        assert!(gate.store.heartbeat(gate.moment()).await.is_err(), "{sql}: and nothing heals it");
        gate.reopen();
        assert!(found(&gate, Some(head)).await.starts_with("seal_broken: "), "{sql}");
    }
}

/// A gate that was killed between a commit and the signature under its head goes on.
#[tokio::test]
async fn records_behind_the_signed_head_are_the_gates_own_where_it_sealed_them() {
    let (mut gate, head) = busy().await;
    for round in 0..3 {
        gate.advance_s(1);
        gate.store.heartbeat(gate.moment()).await.expect("recorded");
        gate.refund(&format!("8{round}")).await;
        gate.reopen();
        assert_eq!(found(&gate, Some(head)).await, "nothing");
    }
}

#[tokio::test]
async fn a_schema_without_what_keeps_it_straight_is_named() {
    for sql in [
        "SELECT 1",
        "DROP INDEX one_standing_approval",
        "CREATE TABLE beside (one INTEGER)",
        "CREATE TRIGGER theirs AFTER INSERT ON records BEGIN UPDATE operations SET mint_at = 0; END",
    ] {
        // Its triggers are gone in each.
        let (mut gate, head) = busy().await;
        forge(&mut gate, sql);
        assert!(found(&gate, Some(head)).await.contains("the schema is not the one"), "{sql}");
    }
}
