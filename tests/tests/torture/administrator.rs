//! The administrator's sweep with the real program: a sample of what the store's tests do to every column. The gate is
//! killed with calls in every state, one value of its database is altered, and it is started again.

use rusqlite::Connection;
use vidimus_api::call::CallStatus;
use vidimus_tests::company::{Mode, Order, Tool};

use crate::faults::{House, pending, request_of, until};
use crate::{KEY, NONE, STATUS, counted, ended};

/// One alteration each, by somebody who has dropped the triggers and switched the checks off.
const REFUSED: &[&str] = &[
    "UPDATE operations SET state = 'reserved' WHERE state = 'succeeded'",
    "UPDATE operations SET state = 'unknown' WHERE state = 'needs_reconciliation'",
    "UPDATE operations SET state = 'failed' WHERE state = 'needs_reconciliation'",
    "UPDATE operations SET attempt = 0 WHERE state = 'succeeded'",
    "UPDATE operations SET attempt = 0 WHERE state = 'unknown'",
    "UPDATE operations SET first_sent_at = first_sent_at + 86400000 WHERE state = 'unknown'",
    "UPDATE operations SET result = '{\"id\":\"another\"}' WHERE state = 'succeeded'",
    "UPDATE operations SET mint_at = 0 WHERE state = 'reserved'",
    "DELETE FROM operations WHERE state = 'succeeded'",
    "UPDATE requests SET state = 'approved' WHERE state = 'consumed'",
    "UPDATE requests SET state = 'approved' WHERE state = 'pending'",
    "UPDATE requests SET effect_open = 0 WHERE effect_open = 1",
    "UPDATE requests SET effect_open = 2 WHERE effect_open = 1",
    "UPDATE requests SET waits_until = 4102444800000 WHERE state = 'pending'",
    "UPDATE requests SET frozen = replace(frozen, 'sub_', 'sub_9') WHERE state = 'approved'",
    "UPDATE requests SET business_sha256 = request_sha256 WHERE state = 'consumed'",
    "UPDATE decisions SET approver = 'psn_00000000000000000000000000'",
    "UPDATE decisions SET standing = 0",
    "DELETE FROM decisions",
    "UPDATE tokens SET state = 'minted', redeemed_at = NULL WHERE state = 'redeemed'",
    "DELETE FROM tokens",
    "UPDATE calls SET payload_sha256 = (SELECT row_sha256 FROM requests LIMIT 1) WHERE effect = 'money'",
    "UPDATE records SET body = NULL, salt = NULL WHERE type = 'request_created'",
    "DELETE FROM records WHERE position = (SELECT max(position) FROM records)",
    "UPDATE clock SET now_ms = now_ms - 3600000",
];

/// The database of a gate that was killed, in one file.
fn whole(house: &House) -> Vec<u8> {
    let db = Connection::open(house.database()).expect("the database");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("one file");
    drop(db);
    std::fs::read(house.database()).expect("its bytes")
}

fn alter(house: &House, sql: &str) {
    let db = Connection::open(house.database()).expect("the database");
    let mut query = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").expect("a query");
    let triggers: Vec<(String, String)> =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows").collect::<Result<_, _>>().expect("triggers");
    drop(query);
    for (name, _) in &triggers {
        db.execute_batch(&format!("DROP TRIGGER {name}")).expect("dropped");
    }
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").expect("switched off");
    assert!(db.execute(sql, []).unwrap_or_else(|error| panic!("{sql}: {error}")) > 0, "nothing to alter: {sql}");
    // A gate compares the schema too: what it refuses is the alteration.
    for (_, sql) in &triggers {
        db.execute_batch(sql).expect("put back");
    }
}

fn put_back(house: &House, whole: &[u8]) {
    for side in ["-wal", "-shm"] {
        let mut name = house.database().into_os_string();
        name.push(side);
        // There is none where nobody has opened the file since.
        let _ = std::fs::remove_file(name);
    }
    std::fs::write(house.database(), whole).expect("put back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_altered_database_is_not_served_from_and_pays_nothing() {
    let mut house = House::open_with(|table| table.replacen("settle_s = 5", "settle_s = 5\ndelay_s = 15", 1), &[]).await;
    let (billing, support) = (house.agent("billing", &[]), house.agent("support", &[]));
    // Succeeded, in doubt for a person, in doubt with a key, approved and in its delay, pending.
    let succeeded = pending(&billing, &KEY.call(1)).await;
    house.admin.approve(request_of(&succeeded), KEY.role).await.expect("it counts");
    assert_eq!(ended(&billing, &succeeded).await.status, CallStatus::Executed);
    house.inspector.order(Order::of(Tool::SendEmail).mode(Mode::DropAfterEffect)).await.expect("an order");
    let doubtful = pending(&support, &NONE.call(1)).await;
    house.admin.approve(request_of(&doubtful), NONE.role).await.expect("it counts");
    assert_eq!(ended(&support, &doubtful).await.status, CallStatus::NeedsReconciliation);
    let delayed = pending(&billing, &STATUS.call(1)).await;
    house.admin.approve(request_of(&delayed), KEY.role).await.expect("it counts");
    let waiting = pending(&billing, &KEY.call(2)).await;
    house.inspector.order(Order::of(Tool::Refund).mode(Mode::DropAfterEffect).times(1)).await.expect("an order");
    let unknown = pending(&billing, &KEY.call(3)).await;
    house.admin.approve(request_of(&unknown), KEY.role).await.expect("it counts");
    until("doubt", || async { (billing.outcome(&unknown.call, 0).await.expect("an answer").status == CallStatus::Unknown).then_some(()) })
        .await;
    house.kill();

    let database = whole(&house);
    for sql in REFUSED {
        alter(&house, sql);
        let started = house.home.serve(&[]).err().unwrap_or_else(|| panic!("a gate serves after: {sql}"));
        assert!(started.to_string().contains("ledger_contradicted"), "{sql}: {started}");
        put_back(&house, &database);
    }
    // Nothing in the log contradicts a clock that was set on, by a day or by a delay; its seal does.
    for sql in ["UPDATE clock SET now_ms = now_ms + 86460000", "UPDATE clock SET now_ms = now_ms + 15000", "UPDATE clock SET seal = NULL"] {
        alter(&house, sql);
        let started = house.home.serve(&[]).err().unwrap_or_else(|| panic!("a gate serves after: {sql}"));
        assert!(started.to_string().contains("seal_broken"), "{sql}: {started}");
        put_back(&house, &database);
    }
    assert_eq!(house.effects().await, 3, "the succeeded one, and the two in doubt");

    // Put back as it was, everything goes on to what was approved.
    house.start();
    assert_eq!(ended(&billing, &unknown).await.status, CallStatus::Executed);
    assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an answer").status, CallStatus::Pending);
    assert_eq!(ended(&billing, &delayed).await.status, CallStatus::Executed);
    counted(&house, KEY, 3, 1).await;
    assert_eq!(house.effects().await, 4);
}
