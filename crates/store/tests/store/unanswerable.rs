//! A change of the roster that leaves a waiting request without enough persons: it keeps waiting, and admins are told.

use vidimus_core::page::PageReason;
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::changes::stop_key;
use crate::fixture::{Gate, names};

async fn told(gate: &Gate) -> Vec<Page> {
    gate.store.due_pages(gate.moment()).await.expect("a reading")
}

#[tokio::test]
async fn admins_are_told_of_a_request_that_nobody_can_answer_any_more() {
    let (mut gate, ada, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.refund("1").await;
    stop_key(&mut gate, bea.approval.public()).await;
    let dan = gate.admit(&ada, "Dan Example", &["auditor"]).await;
    assert!(told(&gate).await.is_empty(), "one who can is enough");
    stop_key(&mut gate, cem.approval.public()).await;
    gate.admit(&ada, "Eva Example", &["auditor"]).await;
    let pages = told(&gate).await;
    assert_eq!(pages.len(), 1);
    assert_eq!(
        (pages[0].reason, pages[0].request, pages[0].roles.clone()),
        (PageReason::RequestUnanswerable, Some(request), names(&["admin"]))
    );
    assert_eq!(gate.view(request).await.state, RequestState::Pending, "it keeps waiting");
    // Somebody who can is admitted, and nobody is told any more.
    let fay = gate.admit(&ada, "Fay Example", &["billing-approver"]).await;
    assert!(told(&gate).await.is_empty());
    assert_eq!(gate.approve(&fay, request, "billing-approver").await.state, RequestState::Approved);
    assert_ne!(dan.person, fay.person);
}
