//! However much somebody makes wait: others' enrolments live on, and a stop looks through a bounded part of it at once.

use vidimus_core::code::Code;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_core::table::Table;
use vidimus_store::limits::{PROPOSALS_WAITING_MAX, SWEEP_ROWS_MAX};
use vidimus_store::*;

use crate::fixture::{Approver, Gate, TABLE, name};
use crate::forged::forge;

/// Roles that nobody holds yet: each is another change than every other.
async fn ask(gate: &Gate, proposer: &Approver, count: u32) -> Result<RequestId, Code> {
    let roles = vec![name(&format!("role-{count}"))];
    gate.ask_for(proposer, ProposedChange::SetRoles { person: proposer.person, roles }).await.map_err(|refusal| refusal.code)
}

async fn ask_as_often_as_possible(gate: &Gate, proposer: &Approver) {
    for count in 0..PROPOSALS_WAITING_MAX {
        ask(gate, proposer, count).await.expect("a proposal");
    }
}

async fn ended(gate: &Gate, since: u64) -> usize {
    gate.told_since(since).await.iter().filter(|told| told.starts_with("request_stale")).count()
}

#[tokio::test]
async fn a_person_has_so_many_proposals_waiting_and_no_more() {
    let (gate, _, bea, cem) = Gate::with_people().await;
    ask_as_often_as_possible(&gate, &bea).await;
    let size = gate.size().await;
    assert_eq!(ask(&gate, &bea, 99).await, Err(Code::PendingLimitReached));
    assert_eq!(gate.size().await, size, "nothing of it is kept");
    // Both kinds count together, and nobody else's count.
    let table = ProposeTable {
        proposer: bea.person,
        text: TABLE.replace("charge the card again", "ask the customer to pay again"),
        call: gate.call_id(),
        request: gate.request_id(),
        salt: gate.salt(),
    };
    let outcome = gate.store.propose_table(gate.moment(), table).await.expect("an outcome");
    assert!(matches!(&outcome, ProposeTableOutcome::Refused(refusal) if refusal.code == Code::PendingLimitReached), "{outcome:?}");
    ask(&gate, &cem, 0).await.expect("another person's");
}

#[tokio::test]
async fn a_stop_ends_a_bounded_part_of_the_junk_and_loses_nobodys_enrolment() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let mut proposers = vec![bea, cem];
    while proposers.len() * (PROPOSALS_WAITING_MAX as usize) <= SWEEP_ROWS_MAX {
        let who = format!("Person {}", proposers.len());
        let admitted = gate.admit(&ada, &who, &["reader"]).await;
        proposers.push(admitted);
    }
    for proposer in &proposers {
        ask_as_often_as_possible(&gate, proposer).await;
    }
    let junk = proposers.len() * PROPOSALS_WAITING_MAX as usize;
    // Made after all of it.
    let (bea, eva) = (&proposers[0], gate.approver("Eva Example"));
    assert_eq!(gate.invite("Eva Example", &["reader"]).await, InviteOutcome::Created);
    let EnrolOutcome::Waiting { request: first, .. } = gate.propose(&eva).await else { panic!("she waits") };
    let size = gate.size().await;
    let stop = gate.stop_of(bea.person, &[&bea.approval, &bea.device]);
    assert!(matches!(gate.stop(&stop, &ada.approval).await, StopOutcome::Stopped { .. }));
    assert_eq!(ended(&gate, size).await, SWEEP_ROWS_MAX + 1, "a part of the junk, and hers");
    assert_eq!(gate.view(first).await.state, RequestState::Stale);
    let open = gate.store.requests(Some(RequestState::Pending), None, vec![name("admin")]).await.expect("a reading").requests;
    let mut again = None;
    for listed in &open {
        let frozen = FrozenRequest::parse(gate.view(listed.request).await.frozen.as_bytes()).expect("a frozen request");
        again = again.or((frozen.members().proposer == Some(eva.person)).then_some(listed.request));
    }
    let again = again.expect("made again at once");
    // The rest goes with the next sweeps, and what was made again stays.
    gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!(ended(&gate, size).await, junk + 1);
    let (commits, before) = (gate.store.commits(), gate.size().await);
    gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((gate.store.commits(), gate.size().await), (commits, before), "nothing is left to look through");
    gate.carry_out_admission(&ada, again).await;
    assert!(gate.roster().await.person(&eva.person).is_some());
}

#[tokio::test]
async fn admins_are_told_of_all_that_nobody_can_answer_part_by_part_and_after_a_crash() {
    let (mut gate, ada, bea, cem) = Gate::with_people().await;
    let toml = TABLE.replacen("pending_max = 3", "pending_max = 500", 1);
    let table = Table::parse(&toml).unwrap_or_else(|faults| panic!("{faults:?}"));
    let (text, digest) = (toml.replace('\'', "''"), table.digest());
    forge(
        &mut gate,
        &format!("INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{text}'); UPDATE gate SET table_sha256 = '{digest}'"),
    );
    gate.table = table;
    for invoice in 0..=SWEEP_ROWS_MAX {
        gate.refund(&invoice.to_string()).await;
    }
    let stop = gate.stop_of(bea.person, &[&bea.approval]);
    assert!(matches!(gate.stop(&stop, &ada.approval).await, StopOutcome::Stopped { .. }));
    while gate.store.commits() < {
        gate.store.due(gate.moment()).await.expect("a sweep");
        gate.store.commits()
    } {}
    let size = gate.size().await;
    let stop = gate.stop_of(cem.person, &[&cem.approval]);
    assert!(matches!(gate.stop(&stop, &ada.approval).await, StopOutcome::Stopped { .. }));
    let told = async |gate: &Gate| gate.told_since(size).await.iter().filter(|told| told.starts_with("request_unanswerable")).count();
    assert_eq!(told(&gate).await, SWEEP_ROWS_MAX);
    // The process dies before the next part: the next one begins again, and says nothing twice.
    gate.reopen();
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    for _ in 0..3 {
        gate.store.due(gate.moment()).await.expect("a sweep");
    }
    assert_eq!(told(&gate).await, SWEEP_ROWS_MAX + 1);
}
