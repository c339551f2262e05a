//! A change of the roster that leaves a waiting request without enough persons: it keeps waiting, and admins are told.

use vidimus_core::code::Code;
use vidimus_core::page::PageReason;
use vidimus_core::request::RequestState;
use vidimus_core::table::Table;
use vidimus_store::*;

use crate::changes::stop_key;
use crate::fixture::{Gate, TABLE, names};
use crate::forged::forge;

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

/// One person who holds both roles counts for one need only: nobody is asked to wait for a second who does not exist.
#[tokio::test]
async fn two_needs_that_only_one_person_could_meet_are_told_at_once() {
    let toml = TABLE.replacen(
        r#"needs = [{ role = "billing-approver", quorum = 1 }]"#,
        r#"needs = [{ role = "billing-approver", quorum = 1 }, { role = "treasury", quorum = 1 }]"#,
        1,
    );
    assert_ne!(toml, TABLE);
    let table = Table::parse(&toml).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (mut gate, ada) = Gate::with_admin().await;
    let bea = gate.admit(&ada, "Bea Example", &["billing-approver", "treasury"]).await;
    gate.add_agent("billing", None).await;
    let text = toml.replace('\'', "''");
    let digest = table.digest();
    forge(
        &mut gate,
        &format!("INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{text}'); UPDATE gate SET table_sha256 = '{digest}'"),
    );
    gate.table = table;
    const REFUND: &str = r#"{"invoice":"1","amount_minor":1500,"currency":"EUR"}"#;
    let asked = gate.freeze(gate.received("billing", "refund", None), REFUND).await;
    assert!(matches!(asked, FreezeOutcome::Refused(refusal) if refusal.code == Code::NoEligibleApprover));
    let cem = gate.admit(&ada, "Cem Example", &["treasury"]).await;
    let (_, request) = gate.wait_for("refund", REFUND).await;
    // The one who can do both may take either: the other stays for whoever is left.
    stop_key(&mut gate, cem.approval.public()).await;
    gate.admit(&ada, "Dan Example", &["auditor"]).await;
    assert_eq!(told(&gate).await.iter().map(|page| page.reason).collect::<Vec<_>>(), [PageReason::RequestUnanswerable]);
    let leaf = gate.log().await.iter().rev().find(|record| record.leaf.contains("request_unanswerable")).expect("told").leaf.clone();
    assert!(leaf.contains(r#""eligible":0,"needed":1,"role":"treasury""#), "{leaf}");
    let eva = gate.admit(&ada, "Eva Example", &["billing-approver"]).await;
    assert!(told(&gate).await.is_empty());
    gate.approve(&eva, request, "billing-approver").await;
    assert_eq!(gate.approve(&bea, request, "treasury").await.state, RequestState::Approved);
}
