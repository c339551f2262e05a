//! The ledger's file: copied while the gate runs and put back, and a disk that gives back other bytes than it was given.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use vidimus_api::call::CallStatus;
use vidimus_tests::company::Tool;

use crate::ROLE;
use crate::faults::{House, WAIT_S, WITHIN, call, pending, refund_args, request_of, until};

/// A connection to the ledger that cannot write.
fn reading(house: &House) -> Connection {
    let db = Connection::open_with_flags(house.database(), OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the ledger");
    db.busy_timeout(WITHIN).expect("a wait");
    db
}

/// `.backup` of SQLite's shell.
fn back_up(house: &House, to: &Path) {
    let mut copy = Connection::open(to).expect("a new file");
    let ledger = reading(house);
    Backup::new(&ledger, &mut copy).expect("a backup").run_to_completion(64, std::time::Duration::ZERO, None).expect("a whole copy");
}

/// The disk is lost, and this copy is put in the place of the ledger.
fn put_back(house: &House, copy: &Path) {
    for lost in ["gate.db", "gate.db-wal", "gate.db-shm"] {
        let _ = fs::remove_file(house.home.data().join(lost));
    }
    fs::copy(copy, house.database()).expect("the copy");
}

async fn ready(house: &House) -> (u16, String) {
    let answer = reqwest::get(format!("{}/readyz", house.url)).await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("a text"))
}

/// What `docs/operations.md` says of copies: one is made while the gate runs and goes on; one that holds everything that the
/// gate has signed is served again, as if nothing had been; one that does not is refused, whatever it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_served_again_unless_it_lacks_what_was_signed_since() {
    let mut house = House::open().await;
    let billing = house.agent("billing", &[]);
    let [older, newest] = ["older.db", "newest.db"].map(|name| house.path(name));
    let first = pending(&billing, &call("refund", &refund_args(1500), "first")).await;
    back_up(&house, &older);
    assert_eq!(billing.outcome(&first.call, 0).await.expect("an answer").status, CallStatus::Pending, "it goes on");
    house.admin.approve(request_of(&first), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&first.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    let second = pending(&billing, &call("refund", &refund_args(1600), "second")).await;
    house.end();
    back_up(&house, &newest);

    // The older one knows an approved call and not that it was paid.
    put_back(&house, &older);
    let refused = house.home.serve(&[]).err().map(|error| error.to_string()).expect("no gate serves from it");
    assert!(refused.contains("log_behind_head"), "{refused}");

    put_back(&house, &newest);
    house.start();
    let again = billing.call(&call("refund", &refund_args(1500), "first"), 0).await.expect("the stored result");
    assert_eq!((again.call, again.status, again.stored), (first.call, CallStatus::Executed, true));
    house.admin.approve(request_of(&second), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&second.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 2);
}

/// Zeros where the frozen bytes of the only large request were, written past SQLite into the file of a gate that runs: what a
/// failing disk does, and the only way in which a row changes under a gate without ending it.
fn lose_a_sector(house: &House, marker: &str) {
    let ledger = reading(house);
    let page_bytes: u32 = ledger.pragma_query_value(None, "page_size", |row| row.get(0)).expect("a size");
    let mut query = ledger.prepare("SELECT pageno FROM dbstat WHERE name = 'requests' AND pagetype = 'overflow'").expect("pages");
    let pages: Vec<u32> = query.query_map([], |row| row.get(0)).expect("pages").collect::<Result<_, _>>().expect("pages");
    let offset_of = |page: u32| u64::from(page - 1) * u64::from(page_bytes);
    let file = fs::OpenOptions::new().read(true).write(true).open(house.database()).expect("the file");
    let lost = pages.iter().find(|page| {
        let mut bytes = vec![0; page_bytes as usize];
        file.read_exact_at(&mut bytes, offset_of(**page)).expect("a page");
        bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
    });
    let lost = *lost.expect("a page full of the request's arguments");
    // Beyond the four bytes by which the next page is found.
    file.write_all_at(&[0; 512], offset_of(lost) + 1024).expect("zeros");
    file.sync_all().expect("on the disk");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_a_disk_has_lost_is_named_and_the_others_go_on() {
    let mut house = House::open().await;
    let [billing, support] = ["billing", "support"].map(|name| house.agent(name, &[]));
    let text = "lorem ipsum ".repeat(1_500);
    let mail = format!(r#"{{"body":"{text}","subject":"Your fan","to":"bert@example.org"}}"#);
    let lost = pending(&support, &call("send_email", &mail, "lost")).await;
    let late = pending(&billing, &call("refund", &refund_args(1500), "late")).await;
    // What the gate has in memory is not read from the disk.
    house.end();
    house.start();
    lose_a_sector(&house, &text[..600]);
    assert_eq!(ready(&house).await.0, 200, "nobody has read it yet");

    // Both are over. The sweep finds that it cannot read the one, says so, and ends the other.
    house.order(&["clock_ms 1900000"]);
    let said = until("naming it", || async {
        let (status, said) = ready(&house).await;
        (status == 503).then_some(said)
    })
    .await;
    let request = request_of(&lost);
    assert!(said.contains("\"gate_failed\"") && said.contains(&format!("request `{request}`")), "{said}");
    let metrics = reqwest::get(format!("{}/metrics", house.url)).await.expect("an answer").text().await.expect("a text");
    assert!(metrics.lines().any(|line| line == "vidimus_rows_corrupt 1"), "{metrics}");
    let output = fs::read_to_string(house.path("gate.log")).expect("its output");
    assert_eq!(output.matches("row_corrupt").count(), 1, "said once, not at every sweep: {output}");
    assert_eq!(billing.outcome(&late.call, WAIT_S).await.expect("an outcome").status, CallStatus::Expired);
    let next = pending(&billing, &call("refund", &refund_args(1600), "next")).await;
    house.admin.approve(request_of(&next), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&next.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!((house.count(Tool::Refund).await, house.effects().await), (1, 1), "and of the lost one nothing is sent");

    // A start reads everything, and serves from nothing that it cannot compare.
    house.end();
    let refused = house.home.serve(&[]).err().map(|error| error.to_string()).expect("no gate serves from it");
    assert!(refused.contains("ledger_contradicted") || refused.contains("corrupt"), "{refused}");
}
