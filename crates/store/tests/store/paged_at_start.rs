//! The queue of pages after a start: somebody may have written into it, and the log says who waits for whom.

use vidimus_core::page::{PageChannel, PageOutcome, PageReason};
use vidimus_core::reconciliation::Answer;
use vidimus_store::*;

use crate::fixture::{Gate, names};
use crate::forged::forge;
use crate::reconciliations::{lost_wire, plain, say};

async fn start(gate: &Gate) -> Vec<Page> {
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    gate.store.due_pages(gate.moment()).await.expect("a reading")
}

async fn told(gate: &Gate) {
    for page in gate.store.due_pages(gate.moment()).await.expect("a reading") {
        let deliveries = vec![(PageChannel::Console, PageOutcome::Delivered)];
        gate.store.page_sent(gate.moment(), PageSent { page, deliveries, repeat_s: 900 }).await.expect("recorded");
    }
}

#[tokio::test]
async fn nobody_keeps_an_outcome_in_doubt_from_people_by_a_column() {
    for sql in [
        "UPDATE pages SET due_at = NULL",
        "UPDATE pages SET due_at = 4102444800000, look_again_at = 4102444800000",
        "UPDATE pages SET roles = ' nobody '",
        "UPDATE pages SET tool = 'tag', since = 1, count = 4000000000",
        "UPDATE pages SET reason = 'recovery_announced'",
        "DELETE FROM pages",
    ] {
        let (mut gate, operation, ..) = lost_wire().await;
        forge(&mut gate, sql);
        let due = start(&gate).await;
        let [page] = due.as_slice() else { panic!("{sql}: {due:?}") };
        assert_eq!((page.reason, page.operation), (PageReason::NeedsReconciliation, Some(operation)), "{sql}");
        assert_eq!((page.roles.clone(), page.tool.as_ref().map(|tool| tool.as_str())), (names(&["treasury"]), Some("wire")), "{sql}");
    }
}

#[tokio::test]
async fn a_page_about_nothing_that_waits_calls_nobody() {
    let (mut gate, ..) = Gate::with_people().await;
    forge(
        &mut gate,
        "INSERT INTO pages (reason, roles, since, armed_at, due_at) VALUES ('recovery_announced', ' everyone ', 1, 1, 1);
         INSERT INTO pages (reason, request, roles, since, armed_at, due_at) VALUES ('no reason', 'no request', ' everyone ', 1, 1, 1)",
    );
    assert_eq!(start(&gate).await, []);
}

/// Who was told, has looked, or wants to look later is told no sooner for a start.
#[tokio::test]
async fn a_start_of_an_untouched_queue_changes_nothing() {
    let (mut gate, operation, bea, _) = lost_wire().await;
    told(&gate).await;
    gate.reopen();
    assert_eq!(start(&gate).await, [], "told, and not yet again");
    gate.advance_s(901);
    assert_eq!(start(&gate).await.len(), 1, "again after its time");
    gate.store.open_operation(gate.moment(), operation, bea.person, names(&["treasury"])).await.expect("an outcome");
    gate.reopen();
    gate.advance_s(100_000);
    assert_eq!(start(&gate).await, [], "somebody looks");
    say(&gate, &bea, operation, Answer::StillUnknown, "treasury", &plain).await;
    gate.reopen();
    assert_eq!(start(&gate).await, [], "later");
    gate.advance_s(3601);
    assert_eq!(start(&gate).await.len(), 1, "when they wanted to look again");
}
