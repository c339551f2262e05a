//! What changes between the making of a token and its redemption: role, key, agent, row, list, name. Nothing runs, the request
//! ends in the transaction that finds it, and the agent may ask again at once.

use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::roster::RosterProposal;
use vidimus_api::table::TableProposal;
use vidimus_core::ids::{Effect, Name};
use vidimus_core::record::RecordType;
use vidimus_core::table::Table;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::{House, WAIT_S, call, json, pending, request_of, until};

const OTHER_ACCOUNT: &str = "FR1420041010050500013M02606";

/// A house in which Bea and Cem approve refunds beside the founder, and wires take one person and no delay.
async fn open() -> (House, Approver, AgentClient) {
    let house = House::open_with(
        |table| {
            let row = table.split("tool = \"wire_transfer\"").nth(1).expect("the row").split("schema").next().expect("its head").to_owned();
            let quick = row.replace("quorum = 2", "quorum = 1").replace("delay_s = 60", "delay_s = 0");
            table.replace(&row, &quick.replace("\"treasury\", quorum", "\"billing-approver\", quorum"))
        },
        &[],
    )
    .await;
    let bea = house.person("Bea Example", &[ROLE], 21).await;
    let billing = house.agent("billing", &[]);
    (house, bea, billing)
}

fn refund(number: usize) -> CallRequest {
    let args = format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"INV-1001"}}"#);
    call("refund", &args, &format!("changed-{number}"))
}

/// Approved by Bea, and held with its token at the point before it is redeemed, while `change` happens.
async fn held<F: Future<Output = ()>>(
    house: &House,
    log: &mut Log,
    bea: &Approver,
    agent: &AgentClient,
    (wanted, number): (&CallRequest, usize),
    change: F,
) -> CallAnswer {
    house.order(&[&format!("hold after_mint {number}")]);
    let waiting = pending(agent, wanted).await;
    bea.approve(request_of(&waiting), ROLE).await.expect("it counts");
    log.wait_for(RecordType::TokenMinted, request_of(&waiting)).await;
    change.await;
    house.order(&[]);
    waiting
}

/// A table with one thing replaced, proposed by Dan and brought into force by those who decide it.
async fn change_table(house: &House, dan: &Approver, from: &str, to: &str) {
    let admin = house.admin.client().expect("a session");
    let text = admin.table().await.expect("a table").table;
    let table = text.replacen(from, to, 1);
    assert_ne!(table, text, "no `{from}` in the table");
    let proposed = dan.client().expect("a session").propose_table(&TableProposal { table }).await.expect("proposed");
    let [need] = proposed.needs.as_slice() else { panic!("{:?}", proposed.needs) };
    house.admin.approve(proposed.request, &need.role).await.expect("it counts");
    until("the table", || async { (admin.table().await.expect("a table").table_sha256 == proposed.table_sha256).then_some(()) }).await;
}

/// How it ended, and that its end stands in the log beside the refusal, before its token is over.
async fn ended(log: &mut Log, agent: &AgentClient, waiting: &CallAnswer, code: &str) {
    let told = agent.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
    assert_eq!((told.status, told.code.as_str()), (CallStatus::Stale, code), "{}", told.words);
    log.wait_for(RecordType::RequestStale, request_of(waiting)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_edited_between_token_and_redemption_pays_nobody_and_may_be_asked_anew_at_once() {
    let (house, bea, _) = open().await;
    let treasury = house.agent("treasury", &[]);
    let mut log = Log::follow(&house).await;
    let wire =
        CallRequest::new("wire_transfer", json(r#"{"payee":"payee_fixtures","amount_minor":420000,"currency":"EUR","reference":"R-1"}"#));
    let edit = async { house.inspector.edit_payee("payee_fixtures", OTHER_ACCOUNT).await.expect("edited") };
    let waiting = held(&house, &mut log, &bea, &treasury, (&wire, 1), edit).await;
    ended(&mut log, &treasury, &waiting, "referent_changed").await;
    assert_eq!(log.about(RecordType::TokenRefused, request_of(&waiting)).len(), 1);
    // At once, although the token would be good for most of a minute still.
    let again = treasury.call(&wire, 0).await.expect("an answer");
    assert_eq!((again.status, again.earlier.clone()), (CallStatus::Pending, vec![request_of(&waiting)]), "{}", again.words);
    bea.approve(request_of(&again), ROLE).await.expect("it counts");
    assert_eq!(treasury.outcome(&again.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::WireTransfer).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_no_more_lets_nothing_run_although_its_token_was_made() {
    let (house, bea, billing) = open().await;
    let mut log = Log::follow(&house).await;
    // The agent is revoked.
    let two = house.agent("support", &[]);
    let mail = call("send_email", r#"{"body":"It ships.","subject":"Fan","to":"bert@example.org"}"#, "mail");
    house.order(&["hold after_mint 1"]);
    let waiting = pending(&two, &mail).await;
    house.admin.approve(request_of(&waiting), "support-lead").await.expect("it counts");
    log.wait_for(RecordType::TokenMinted, request_of(&waiting)).await;
    let data = house.home.data().display().to_string();
    assert!(house.command(&["agent", "revoke", "support", "--data", &data]).status.success());
    house.order(&[]);
    log.wait_for(RecordType::RequestStale, request_of(&waiting)).await;

    // The approver loses the role.
    let auditor = vec![Name::parse("auditor").expect("a name")];
    let lose = async {
        let change = RosterProposal::SetRoles { person: bea.person, roles: auditor };
        let request = bea.client().expect("a session").propose_roster_change(&change).await.expect("proposed").request;
        house.admin.approve(request, "admin").await.expect("it counts");
        until("the roles", || async {
            let roster = house.admin.client().expect("a session").roster().await.expect("a roster").roster;
            roster.contains("\"auditor\"").then_some(())
        })
        .await;
    };
    let waiting = held(&house, &mut log, &bea, &billing, (&refund(2), 2), lose).await;
    ended(&mut log, &billing, &waiting, "role_not_held").await;

    // The approver's key is stopped: its sessions end too, and nothing that it approved runs.
    let cem = house.person("Cem Example", &[ROLE], 23).await;
    let stop = async {
        cem.stop(cem.person, vec![cem.approval.public().digest()], &cem.device).await.expect("stopped");
    };
    let waiting = held(&house, &mut log, &cem, &billing, (&refund(3), 3), stop).await;
    ended(&mut log, &billing, &waiting, "key_stopped").await;

    // The row changes under it; then the agent's list, which no longer has the tool.
    let dan = house.person("Dan Example", &[ROLE], 24).await;
    let row = change_table(&house, &dan, "undo = \"charge the customer", "undo = \"kindly charge the customer");
    let waiting = held(&house, &mut log, &house.admin, &billing, (&refund(4), 4), row).await;
    ended(&mut log, &billing, &waiting, "row_stale").await;
    let list = change_table(&house, &dan, "\"refund\", ", "");
    let waiting = held(&house, &mut log, &house.admin, &billing, (&refund(5), 5), list).await;
    ended(&mut log, &billing, &waiting, "tool_not_listed").await;
    assert_eq!(log.about(RecordType::TokenRefused, request_of(&waiting)).len(), 1, "found at the redemption");
    assert_eq!(house.effects().await, 0);
}

/// A session that has ended signs nothing by itself, and what was signed before it ended still stands: what counts is the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_takes_nothing_away_from_what_its_person_signed() {
    let (house, bea, billing) = open().await;
    let mut log = Log::follow(&house).await;
    let first = bea.new_session().await.expect("a session").session;
    let gate = bea.gate.with_session(first);
    let end = async {
        // As many new sessions as end the oldest ones of this key.
        until("the end of the oldest session", || async {
            bea.new_session().await.expect("a session");
            gate.requests(None).await.is_err().then_some(())
        })
        .await;
    };
    let waiting = held(&house, &mut log, &bea, &billing, (&refund(1), 1), end).await;
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.count(Tool::Refund).await, 1);
}

/// Somebody who can write the database puts a table in force in which a refund takes nobody, while the gate runs: no call is
/// routed by it, the gate ends, and the next start names the change.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_put_in_force_in_the_database_of_a_running_gate_changes_nothing() {
    let (mut house, _, billing) = open().await;
    let session = house.admin.client().expect("a session");
    let signed = session.table().await.expect("a table");
    let (before, row) = signed.table.split_once("tool = \"get_invoice\"").expect("a read");
    // The read's own row under the refund's name, and the refund's row gone: what was money would be read at once.
    let (own, rest) = row.split_once("[[row]]").expect("the next row");
    let (between, money) = rest.split_once("[[row]]\ntool = \"refund\"").expect("the refund's row");
    let after = money.split_once("[[row]]").expect("the next row").1;
    let lax = own.replace("\"additionalProperties\": false, ", "");
    let table = format!("{before}tool = \"get_invoice\"{own}[[row]]\ntool = \"refund\"{lax}[[row]]{between}[[row]]{after}");
    let other = Table::parse(&table).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let row = other.row(&Name::parse("refund").expect("a name"));
    assert_eq!(row.map(|row| row.effect), Some(Effect::Read), "the try is worth it");
    {
        let db = rusqlite::Connection::open(house.database()).expect("the database");
        db.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
        let digest = other.digest().to_string();
        db.execute("INSERT INTO effect_tables (table_sha256, toml) VALUES (?1, ?2)", [&digest, &table]).expect("written");
        assert_eq!(db.execute("UPDATE gate SET table_sha256 = ?1", [&digest]).expect("written"), 1);
    }
    // Nothing is routed by it and nothing is told of it: the first who looks finds that somebody else wrote, and the gate ends.
    assert!(session.table().await.is_err());
    assert!(billing.call(&refund(1), 0).await.is_err());
    assert_eq!(house.effects().await, 0);
    house.ended();
    let started = house.home.serve(&[]).err().unwrap_or_else(|| panic!("a gate serves from it"));
    assert!(started.to_string().contains("ledger_contradicted"), "{started}");
    assert_eq!(house.effects().await, 0);
}
