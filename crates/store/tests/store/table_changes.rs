//! The effect table changes: proposed as a text, decided by its owner's role, in force in one transaction with everything
//! that rests on it.

use rusqlite::Connection;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::table::{Rule, Table};
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Approver, Gate, TABLE, name, person_of};
use crate::forged::forge;

const OWNER: &str = "billing-approver";

/// Another row of the refund, one person more.
fn stricter() -> String {
    edit("tool = \"refund\"", "quorum = 1", "quorum = 2")
}

/// Another list of the agent `billing`.
fn other_list() -> String {
    TABLE.replace("pending_max = 3", "pending_max = 4")
}

fn edit(after: &str, from: &str, to: &str) -> String {
    let start = TABLE.find(after).expect(after);
    format!("{}{}", &TABLE[..start], TABLE[start..].replacen(from, to, 1))
}

async fn propose(gate: &Gate, proposer: &Approver, text: &str) -> ProposeTableOutcome {
    let propose = ProposeTable {
        proposer: proposer.person,
        text: text.to_owned(),
        call: gate.call_id(),
        request: gate.request_id(),
        salt: gate.salt(),
    };
    gate.store.propose_table(gate.moment(), propose).await.expect("an outcome")
}

async fn proposed(gate: &Gate, proposer: &Approver, text: &str) -> RequestId {
    match propose(gate, proposer, text).await {
        ProposeTableOutcome::Waiting(proposed) => proposed.request,
        outcome => panic!("{outcome:?}"),
    }
}

async fn refused(gate: &Gate, proposer: &Approver, text: &str) -> Code {
    match propose(gate, proposer, text).await {
        ProposeTableOutcome::Refused(refusal) => refusal.code,
        outcome => panic!("{outcome:?}"),
    }
}

async fn in_force(gate: &Gate) -> Table {
    let view = gate.store.table().await.expect("a reading").expect("a table");
    Table::parse(&view.toml).expect("a table in force")
}

async fn operation_state(gate: &Gate, operation: OperationKey) -> OperationState {
    gate.store.operation(operation).await.expect("a reading").expect("an operation").state
}

#[tokio::test]
async fn a_change_is_in_force_together_with_all_that_it_makes_stale() {
    let (mut gate, ada, bea, _) = Gate::with_people().await;
    let (_, pending) = gate.refund("1").await;
    let (_, approved) = gate.refund("2").await;
    let (_, sent) = gate.refund("3").await;
    let reserved = gate.approve(&bea, approved, OWNER).await.operation.expect("a quorum");
    let minted = gate.token(reserved).await;
    let running = gate.approve(&bea, sent, OWNER).await.operation.expect("a quorum");
    let redeemed = gate.redeem_new_token(running).await;
    let (_, other_row) = gate.wait_for("cancel", r#"{"subscription":"s1"}"#).await;

    let next = Table::parse(&stricter()).expect("a table");
    let ProposeTableOutcome::Waiting(proposed) = propose(&gate, &ada, &stricter()).await else { panic!("waits") };
    assert_eq!((proposed.table_sha256, proposed.tools, proposed.agents), (next.digest(), vec![name("refund")], Vec::new()));
    assert_eq!(proposed.needs, [(name(OWNER), 2)], "the stricter of both rows");
    let cem = gate.approver("Cem Example");
    assert_eq!(gate.approve(&bea, proposed.request, OWNER).await.operation, None);
    let change = gate.approve(&cem, proposed.request, OWNER).await.operation.expect("a quorum");
    let token = gate.token(change).await;
    let size = gate.size().await;
    assert_eq!(gate.carry_out_with(token.clone()).await, OwnToolOutcome::Applied(change));
    assert_eq!(
        gate.told_since(size).await,
        [
            "token_redeemed",
            "operation_changed",
            "table_changed",
            "operation_changed",
            "request_stale:row_stale",
            "operation_changed",
            "request_stale:row_stale"
        ]
    );
    assert_eq!(in_force(&gate).await.digest(), next.digest());
    assert_eq!(gate.view(pending).await.state, RequestState::Stale);
    let view = gate.view(approved).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Stale, OperationState::NotStarted));
    assert!(matches!(gate.redeem(minted).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::TokenUnknown));
    assert_eq!(gate.view(other_row).await.state, RequestState::Pending, "its row did not change");
    // What was sent under the row before has its answer.
    let answer = RecordAnswer {
        operation: running,
        attempt: redeemed.attempt,
        answer: Answer::Done,
        result: Some(r#"{"id":"r1"}"#.to_owned()),
        detail: "200".to_owned(),
    };
    let outcome = gate.store.record_answer(gate.moment(), answer).await.expect("an outcome");
    assert_eq!(outcome, AnswerOutcome::Applied(OperationState::Succeeded));
    // Once, whoever asks again.
    assert!(matches!(gate.carry_out_with(token).await, OwnToolOutcome::Refused(refusal) if refusal.code == Code::TokenAlreadyRedeemed));

    gate.reopen();
    gate.store.verify(Some(gate.store.head().await.expect("a reading"))).await.expect("the log says the same");
    assert_eq!(in_force(&gate).await.digest(), next.digest());
    // A call that was routed by the table before comes again; after that, two persons are needed.
    let late = gate.freeze(gate.received("billing", "refund", None), r#"{"invoice":"9","amount_minor":1,"currency":"EUR"}"#).await;
    assert!(matches!(late, FreezeOutcome::Refused(refusal) if refusal.code == Code::RowStale));
    gate.table = next;
    let (_, after) = gate.refund("9").await;
    assert_eq!(gate.approve(&bea, after, OWNER).await.needed, 2);
}

#[tokio::test]
async fn the_record_lets_every_reader_recompute_the_change() {
    let (gate, ada, ..) = Gate::with_people().await;
    let before = in_force(&gate).await;
    let request = proposed(&gate, &ada, &other_list()).await;
    let receipt = gate.approve(&ada, request, "admin").await;
    let decided = AuditRecord::parse(gate.log().await[usize::try_from(receipt.position).expect("small")].leaf.as_bytes()).expect("a leaf");
    assert_eq!(decided.claims.member("sole_admin").and_then(|sole| sole.as_bool()), Some(true));
    gate.carry_out(receipt.operation.expect("a quorum")).await;
    let log = gate.log().await;
    let record = log.iter().rev().find(|record| record.leaf.contains("\"table_changed\"")).expect("a record");
    let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
    assert_eq!((leaf.record_type, leaf.request), (RecordType::TableChanged, Some(request)));
    assert_eq!(leaf.claim("previous_sha256"), Some(before.digest().to_string().as_str()));
    let body = record.body.as_ref().map(|body| crate::fixture::json(body)).expect("a body");
    let member = |name: &str| body.member(name).and_then(|value| value.as_str()).expect("a member").to_owned();
    let frozen = vidimus_core::frozen::FrozenRequest::parse(member("frozen").as_bytes()).expect("a frozen request");
    let roster = gate.roster().await;
    let reached = vidimus_core::decision::approved_table(&frozen, &leaf.envelopes, &roster, &before, &member("table")).expect("recomputed");
    assert_eq!(Some(reached.digest().to_string().as_str()), leaf.claim("table_sha256"));
}

#[tokio::test]
async fn the_proposer_and_other_roles_decide_nothing() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let text = edit("tool = \"refund\"", "charge the card again", "ask the customer to pay again");
    let request = proposed(&gate, &bea, &text).await;
    assert_eq!(refused_decision(gate.decide(&bea, request, DecisionKind::Approve, OWNER).await), Code::SelfApproval);
    assert_eq!(refused_decision(gate.decide(&ada, request, DecisionKind::Approve, "admin").await), Code::RoleNotNeeded);
    assert_eq!(refused_decision(gate.decide(&ada, request, DecisionKind::Approve, OWNER).await), Code::RoleNotHeld);
    let operation = gate.approve(&cem, request, OWNER).await.operation.expect("a quorum");
    assert_eq!(gate.carry_out(operation).await, OwnToolOutcome::Applied(operation));

    // A row and a list: the owner's role and an admin, whoever comes first.
    let both = edit("tool = \"refund\"", "charge the card again", "write it off").replace("pending_max = 3", "pending_max = 4");
    let request = proposed(&gate, &bea, &both).await;
    let first = gate.approve(&ada, request, "admin").await;
    assert_eq!((first.given, first.needed, first.operation), (1, 2, None));
    let operation = gate.approve(&cem, request, OWNER).await.operation.expect("both");
    assert_eq!(gate.carry_out(operation).await, OwnToolOutcome::Applied(operation));
}

#[tokio::test]
async fn what_cannot_be_proposed_is_refused_with_its_code() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let ProposeTableOutcome::Faulty(faults) = propose(&gate, &ada, "v = 1\n[[row]]\ntool = \"x\"\n").await else { panic!("faulty") };
    assert!(faults.iter().all(|fault| fault.line > 0 && fault.rule == Rule::KeyMissing), "{faults:?}");
    assert_eq!(refused(&gate, &ada, &format!("# only a comment\n{TABLE}")).await, Code::TableUnchanged);
    let two_owners = stricter().replace("summary = \"Wire", "summary = \"Please wire");
    assert_eq!(refused(&gate, &ada, &two_owners).await, Code::TableChangeOwners);
    let nobody = Approver { person: person_of("Nobody Example"), ..gate.approver("Nobody Example") };
    assert_eq!(refused(&gate, &nobody, &stricter()).await, Code::ApproverWrong);
    // Two of the owner's role are needed, and one of the two proposes.
    assert_eq!(refused(&gate, &bea, &stricter()).await, Code::NoEligibleApprover);
    let size = gate.size().await;
    assert_eq!(gate.told_since(size).await.len(), 0, "a refusal leaves nothing");
    proposed(&gate, &ada, &stricter()).await;
    assert_eq!(refused(&gate, &ada, &stricter()).await, Code::BusinessEffectOpen);
    for waiting in 2..=20 {
        proposed(&gate, &ada, &TABLE.replace("pending_max = 3", &format!("pending_max = {}", waiting + 3))).await;
    }
    assert_eq!(refused(&gate, &ada, &other_list()).await, Code::PendingLimitReached);
}

#[tokio::test]
async fn of_two_changes_of_one_table_the_second_is_stale() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let first = proposed(&gate, &ada, &other_list()).await;
    let second = proposed(&gate, &ada, &edit("tool = \"refund\"", "charge the card again", "write it off")).await;
    let third = proposed(&gate, &bea, &edit("tool = \"cancel\"", "subscribe again", "perhaps")).await;
    let first = gate.approve(&ada, first, "admin").await.operation.expect("a quorum");
    let approved = gate.approve(&cem, second, OWNER).await.operation.expect("a quorum");
    let token = gate.token(approved).await;
    let size = gate.size().await;
    assert_eq!(gate.carry_out(first).await, OwnToolOutcome::Applied(first));
    assert!(gate.told_since(size).await.iter().filter(|told| *told == "request_stale:table_stale").count() == 2);
    assert!(matches!(gate.carry_out_with(token).await, OwnToolOutcome::Refused(refusal) if refusal.code == Code::TokenUnknown));
    for request in [second, third] {
        assert_eq!(gate.view(request).await.state, RequestState::Stale);
    }
    assert_eq!(operation_state(&gate, approved).await, OperationState::NotStarted);
}

#[tokio::test]
async fn a_crash_before_the_change_is_in_force_leaves_it_to_be_carried_out() {
    let (mut gate, ada, ..) = Gate::with_people().await;
    let request = proposed(&gate, &ada, &other_list()).await;
    let operation = gate.approve(&ada, request, "admin").await.operation.expect("a quorum");
    let lost = gate.token(operation).await;
    gate.reopen();
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert_eq!(operation_state(&gate, operation).await, OperationState::Reserved);
    // The token went with the process; when its time is over, another is due.
    gate.advance_s(61);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").to_mint, [operation]);
    assert_eq!(gate.carry_out(operation).await, OwnToolOutcome::Applied(operation));
    assert!(matches!(gate.carry_out_with(lost).await, OwnToolOutcome::Refused(_)));
    assert_eq!(in_force(&gate).await.digest(), Table::parse(&other_list()).expect("a table").digest());
    assert_eq!(operation_state(&gate, operation).await, OperationState::Succeeded);
}

#[tokio::test]
async fn a_change_that_cannot_be_carried_out_ends_and_asks_no_person() {
    let (mut gate, ada, ..) = Gate::with_people().await;
    let request = proposed(&gate, &ada, &other_list()).await;
    let operation = gate.approve(&ada, request, "admin").await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    forge(&mut gate, "UPDATE effect_tables SET toml = 'v = 1' WHERE table_sha256 <> (SELECT table_sha256 FROM gate)");
    let size = gate.size().await;
    assert!(matches!(gate.carry_out_with(token).await, OwnToolOutcome::Refused(refusal) if refusal.code == Code::TableChangeInvalid));
    // The token's checks say no before anything is redeemed, and end it.
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestStale));
    assert!(gate.told_since(size).await.contains(&"request_stale:table_change_invalid".to_owned()));
    let view = gate.view(request).await;
    assert_eq!((view.state, view.operation.expect("an operation").state), (RequestState::Stale, OperationState::NotStarted));
    assert_eq!(in_force(&gate).await.digest(), gate.table.digest());
}

#[tokio::test]
async fn an_edited_database_brings_no_other_table() {
    // A looser text under the digest of the approved one.
    let (mut gate, ada, ..) = Gate::with_people().await;
    let request = proposed(&gate, &ada, &other_list()).await;
    let operation = gate.approve(&ada, request, "admin").await.operation.expect("a quorum");
    let looser = other_list().replace("quorum = 2", "quorum = 1").replace('\'', "''");
    forge(&mut gate, &format!("UPDATE effect_tables SET toml = '{looser}' WHERE table_sha256 <> (SELECT table_sha256 FROM gate)"));
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::TableChangeInvalid));

    // The table before, after a change: it was signed once, and is not in force.
    let (mut gate, ada, ..) = Gate::with_people().await;
    let request = proposed(&gate, &ada, &other_list()).await;
    let operation = gate.approve(&ada, request, "admin").await.operation.expect("a quorum");
    gate.carry_out(operation).await;
    let (head, first) = (gate.store.head().await.expect("a reading"), gate.table.digest());
    gate.store.verify(Some(head)).await.expect("untouched");
    forge(&mut gate, &format!("UPDATE gate SET table_sha256 = '{first}'"));
    let found = gate.store.verify(Some(head)).await.expect_err("an older table").to_string();
    assert!(found.contains("the effect table in force is not the one that was signed"), "{found}");
    forge(&mut gate, &format!("UPDATE gate SET table_sha256 = '{}'", Table::parse(&other_list()).expect("a table").digest()));
    forge(&mut gate, &format!("DELETE FROM effect_tables WHERE table_sha256 = '{first}'"));
    let found = gate.store.verify(Some(head)).await.expect_err("the first table").to_string();
    assert!(found.contains("a version of the effect table is gone"), "{found}");
}

#[tokio::test]
async fn a_stale_request_put_back_by_hand_does_not_run() {
    let (mut gate, ada, bea, cem) = Gate::with_people().await;
    let (_, approved) = gate.refund("2").await;
    let operation = gate.approve(&bea, approved, OWNER).await.operation.expect("a quorum");
    let change = proposed(&gate, &ada, &stricter()).await;
    gate.approve(&bea, change, OWNER).await;
    let change = gate.approve(&cem, change, OWNER).await.operation.expect("a quorum");
    gate.carry_out(change).await;
    assert_eq!(gate.view(approved).await.state, RequestState::Stale);
    let now_in_force = in_force(&gate).await.row(&name("refund")).expect("a row").digest();
    forge(
        &mut gate,
        &format!(
            "UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1 WHERE request = '{approved}';
             UPDATE operations SET state = 'reserved', ended_at = NULL, row_sha256 = '{now_in_force}' WHERE operation = '{operation}'"
        ),
    );
    // The row that people signed is not in force, whatever the column says.
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RowStale));
}

/// A decision, a mint, a redemption of the row's money and its change meet in every order; each ends as one of them was first.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_and_a_redemption_race() {
    for round in 0..12 {
        let (gate, ada, bea, cem) = Gate::with_people().await;
        let (_, money) = gate.refund("1").await;
        let operation = gate.approve(&bea, money, OWNER).await.operation.expect("a quorum");
        let token = gate.token(operation).await;
        let text = edit("tool = \"refund\"", "charge the card again", "write it off");
        let request = proposed(&gate, &ada, &text).await;
        let change = gate.approve(&cem, request, OWNER).await.operation.expect("a quorum");
        let change_token = gate.token(change).await;
        let (redeemed, applied) = if round % 2 == 0 {
            tokio::join!(gate.redeem(token), gate.carry_out_with(change_token))
        } else {
            let (applied, redeemed) = tokio::join!(gate.carry_out_with(change_token), gate.redeem(token));
            (redeemed, applied)
        };
        assert_eq!(applied, OwnToolOutcome::Applied(change));
        let view = gate.view(money).await;
        match redeemed {
            RedeemOutcome::Redeemed(_) => {
                assert_eq!((view.state, operation_state(&gate, operation).await), (RequestState::Consumed, OperationState::Executing));
            }
            RedeemOutcome::Refused(refusal) => {
                assert_eq!(refusal.code, Code::TokenUnknown);
                assert_eq!((view.state, operation_state(&gate, operation).await), (RequestState::Stale, OperationState::NotStarted));
            }
        }
        let db = Connection::open(gate.path()).expect("a database");
        let redeemed: i64 = db.query_row("SELECT count(*) FROM tokens WHERE state = 'redeemed'", [], |row| row.get(0)).expect("a count");
        assert!(redeemed >= 3, "the two admissions and the change");
    }
}
