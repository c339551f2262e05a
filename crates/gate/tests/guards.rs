//! Ways around those who have to be asked: a row that names what is not its own, a row that is loosened by its owner alone, a
//! roster that is made one admin's, a person who comes back to decide on what is theirs.

mod house;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use house::{House, TOKEN, code_of, json, refund, request_of, until};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::ClientError;
use vidimus_api::roster::RosterProposal;
use vidimus_api::table::{TableProposal, TableProposed};
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::roster::Roster;
use vidimus_gate::executor::credential::default_folder;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;

/// Replaces something in one row of a table.
fn in_row(table: &str, tool: &str, from: &str, to: &str) -> String {
    let start = table.find(&format!("tool = \"{tool}\"\n")).expect(tool);
    let found = table[start..].find(from).unwrap_or_else(|| panic!("`{from}` in `{tool}`")) + start;
    format!("{}{to}{}", &table[..found], &table[found + from.len()..])
}

async fn table_of(person: &Approver) -> String {
    person.client().expect("a session").table().await.expect("a table").table
}

async fn propose(person: &Approver, table: String) -> Result<TableProposed, ClientError> {
    person.client().expect("a session").propose_table(&TableProposal { table }).await
}

/// The rules that a proposed table breaks.
async fn broken_by(person: &Approver, table: String) -> Vec<String> {
    match propose(person, table).await {
        Err(ClientError::Refused(problem)) => {
            assert_eq!(problem.code, "table_faulty");
            problem.errors.iter().filter_map(|fault| fault.rule.clone()).collect()
        }
        other => panic!("{other:?}"),
    }
}

async fn refused(approver: &Approver, request: RequestId, role: &str) -> String {
    approver.approve(request, role).await.expect_err("refused").code().expect("a code").to_owned()
}

async fn roster(person: &Approver) -> Roster {
    let view = person.client().expect("a session").roster().await.expect("a roster");
    Roster::parse(view.roster.as_bytes()).expect("a roster")
}

async fn goes(by: &Approver, gone: &Approver) -> RequestId {
    let proposal = RosterProposal::Remove { person: gone.person };
    by.client().expect("a session").propose_roster_change(&proposal).await.expect("proposed").request
}

fn search() -> CallRequest {
    CallRequest::new("search", json(r#"{"query":"kettle"}"#))
}

fn secret_file(path: &Path, value: &str) {
    fs::write(path, value).expect("own file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("own file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_names_no_file_and_no_variable_of_the_gates_own() {
    let house = House::open().await;
    let admin = house.admin().await;
    let table = table_of(&admin).await;
    let keys = house.data_path().join("keys/log.key").display().to_string();
    for named in [format!("file:{keys}"), "file:../keys/log.key".to_owned(), "file:..".to_owned(), "env:PATH".to_owned()] {
        let other = in_row(&table, "update_ticket_tags", "env:VIDIMUS_CREDENTIAL_COMPANY", &named);
        assert_eq!(broken_by(&admin, other.clone()).await, ["value_malformed"], "{named}");
        let file = house.data.path().join("other.toml");
        fs::write(&file, other).expect("a file");
        let checked = house::run(&["table", "check", &file.display().to_string()]);
        let told = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(!checked.status.success() && !told.contains(&named), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_leads_to_the_keys_is_not_found_and_nothing_is_sent() {
    let house = House::open_with(|table| in_row(&table, "search", "env:VIDIMUS_CREDENTIAL_COMPANY", "file:desk")).await;
    house.admin().await;
    let support = house.agent("support", &[]);
    let folder = default_folder(&house.data_path());
    let credential = folder.join("desk");
    let key = house.data_path().join("keys/log.key");
    assert_eq!(code_of(support.call(&search(), 0).await), "tool_unreachable", "there is none");
    symlink(&key, &credential).expect("a link");
    assert_eq!(code_of(support.call(&search(), 0).await), "tool_unreachable", "by a link");
    fs::remove_file(&credential).expect("own file");
    fs::hard_link(&key, &credential).expect("a second name");
    assert_eq!(code_of(support.call(&search(), 0).await), "tool_unreachable", "by another name");
    fs::remove_file(&credential).expect("own file");
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0, "nothing was sent");
    secret_file(&credential, TOKEN);
    assert_eq!(support.call(&search(), 0).await.expect("a read").status, CallStatus::Executed);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_names_the_folder_of_credentials_and_not_that_of_the_keys() {
    let mut house = House::open_with(|table| in_row(&table, "search", "env:VIDIMUS_CREDENTIAL_COMPANY", "file:desk")).await;
    house.admin().await;
    let credential = house.credential("support", &[]);
    house.end();
    for (folder, words) in
        [("gate/keys", "holds the gate's own files"), ("gate", "holds the gate's own files"), ("absent", "cannot be used")]
    {
        let folder = house.data.path().join(folder).display().to_string();
        let told = house.fails_to_start_with(&["--credentials", &folder]);
        assert!(told.contains(words), "{told}");
    }
    let folder = house.data.path().join("desk-credentials");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("own folder");
    secret_file(&folder.join("desk"), TOKEN);
    house.start_with(&["--listen", "127.0.0.1:0", "--credentials", &folder.display().to_string()]);
    let support = vidimus_api::client::AgentClient::new(&house.url, credential).expect("a client");
    assert_eq!(support.call(&search(), 0).await.expect("a read").status, CallStatus::Executed);
}

/// The refund, owned by others than those who approve it.
fn owned_by_support(table: String) -> String {
    let table = in_row(&table, "refund", "owner = \"billing-approver\"", "owner = \"support-lead\"");
    in_row(&table, "refund", "_BILLING", "_SUPPORT")
}

/// The same as a write, which nobody is asked about.
fn as_a_write(table: &str) -> String {
    let start = table.find("tool = \"refund\"\n").expect("a row");
    let end = table[start..].find("[[row]]").expect("a row after it") + start;
    let row = &table[start..end];
    let schema = &row[row.find("schema = ").expect("a schema")..row.find("[row.executor]").expect("an executor")];
    let executor = row[row.find("[row.executor]").expect("an executor")..].replace("_SUPPORT", "_COMPANY");
    let words =
        "effect = \"write\"\nreversibility = \"compensable\"\nundo = \"charge again\"\nowner = \"support-lead\"\nreceipt = \"/id\"\n";
    format!("{}tool = \"refund\"\n{words}{schema}{executor}{}", &table[..start], &table[end..])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_alone_neither_relabels_a_payment_nor_pays_by_another_row() {
    let house = House::open_with(owned_by_support).await;
    let admin = house.admin().await;
    let bea = house.person(&admin, "Bea Example", &["billing-approver"], 2).await;
    let sue = house.person(&admin, "Sue Example", &["support-lead"], 3).await;
    let kim = house.person(&admin, "Kim Example", &["auditor"], 4).await;
    let table = table_of(&admin).await;
    for (tool, other) in [("update_ticket_tags", "env:VIDIMUS_CREDENTIAL_TREASURY"), ("search", "env:VIDIMUS_CREDENTIAL_BILLING")] {
        let borrowed = in_row(&table, tool, "env:VIDIMUS_CREDENTIAL_COMPANY", other);
        assert_eq!(broken_by(&kim, borrowed).await, ["credential_shared"], "{tool}");
    }
    let moved = in_row(&table, "update_ticket_tags", "/tickets/{ticket}/tags\"", "/billing/refunds?{ticket}\"");
    let moved = moved.replace("refunds?{ticket}", "refunds?ticket={ticket}");
    let proposed = propose(&kim, moved).await.expect("a proposal");
    assert_eq!(needs(&proposed), [("support-lead", 1), ("admin", 1)], "another address");

    let proposed = propose(&kim, as_a_write(&table)).await.expect("a proposal");
    assert_eq!(needs(&proposed), [("support-lead", 1), ("billing-approver", 1), ("admin", 1)]);
    assert_eq!(sue.approve(proposed.request, "support-lead").await.expect("it counts").state.as_str(), "pending");
    assert_eq!(refused(&sue, proposed.request, "support-lead").await, "already_approved");
    let billing = house.agent("billing", &[]);
    let waiting = billing.call(&refund("relabelled"), 0).await.expect("a call");
    assert_eq!(waiting.status, CallStatus::Pending, "it is money still");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    assert_eq!(bea.approve(proposed.request, "billing-approver").await.expect("it counts").state.as_str(), "pending");
    admin.approve(proposed.request, "admin").await.expect("it counts");
    let in_force = async || admin.client().expect("a session").table().await.expect("a table").table_sha256;
    until("the change", async || (in_force().await == proposed.table_sha256).then_some(())).await;
}

fn needs(proposed: &TableProposed) -> Vec<(&str, u32)> {
    proposed.needs.iter().map(|need| (need.role.as_str(), need.quorum)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_admin_becomes_the_only_one_by_their_own_signature() {
    let house = House::open().await;
    let ada = house.admin().await;
    let mal = house.person(&ada, "Mal Example", &["admin"], 2).await;
    let kim = house.person(&ada, "Kim Example", &["auditor"], 3).await;
    let removal = goes(&kim, &ada).await;
    assert_eq!(refused(&mal, removal, "admin").await, "self_approval");
    let roles = vec![Name::parse("support-lead").expect("a name")];
    let demotion = RosterProposal::SetRoles { person: ada.person, roles };
    let demotion = kim.client().expect("a session").propose_roster_change(&demotion).await.expect("proposed").request;
    assert_eq!(refused(&mal, demotion, "admin").await, "self_approval");
    let own = RosterProposal::SetRoles {
        person: mal.person,
        roles: vec![Name::parse("admin").expect("a name"), Name::parse("treasury").expect("a name")],
    };
    let own = mal.client().expect("a session").propose_roster_change(&own).await.expect("proposed").request;
    assert_eq!(refused(&mal, own, "admin").await, "self_approval");
    assert!(roster(&kim).await.person(&ada.person).is_some());
    // Whoever goes may consent.
    ada.approve(removal, "admin").await.expect("it counts");
    until("the removal", async || roster(&mal).await.person(&ada.person).is_none().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_for_nothing_once_its_owner_has_left_and_nobody_comes_back_to_decide() {
    let house = House::open().await;
    let admin = house.admin().await;
    let pat = house.person(&admin, "Pat Example", &["billing-approver"], 2).await;
    let billing = house.agent("billing", &["--owner", &pat.person.to_string()]);
    let waiting = billing.call(&refund("waiting"), 0).await.expect("a pending call");
    assert_eq!(refused(&pat, request_of(&waiting), "billing-approver").await, "self_approval");
    let list = table_of(&pat).await.replacen("pending_max = 20", "pending_max = 2", 1);
    let proposed = propose(&pat, list).await.expect("a proposal");

    let removal = goes(&admin, &pat).await;
    admin.approve(removal, "admin").await.expect("the only admin may");
    let stale = until("the end of what waits", async || {
        Some(billing.outcome(&waiting.call, 0).await.expect("an outcome")).filter(|outcome| outcome.status == CallStatus::Stale)
    });
    assert_eq!(stale.await.code, "agent_owner_gone");
    let detail = admin.client().expect("a session").request_detail(&proposed.request).await.expect("the request");
    assert_eq!(detail.state.as_str(), "stale", "what a person proposed who has left");
    let read = CallRequest::new("get_invoice", json(r#"{"invoice":"invoice_842"}"#));
    for call in [refund("after"), read] {
        assert_eq!(code_of(billing.call(&call, 0).await), "agent_owner_gone");
    }
    let back = house.person(&admin, "Pat Example", &["billing-approver"], 5).await;
    assert_ne!(back.person, pat.person);
    assert_eq!(code_of(billing.call(&refund("back"), 0).await), "agent_owner_gone");

    // Added again with an owner who is here, the agent asks, and its owner does not decide.
    assert!(house.command(&["agent", "revoke", "billing"]).status.success());
    let again = house.agent("billing", &["--owner", &back.person.to_string()]);
    let waiting = again.call(&refund("again"), 0).await.expect("a pending call");
    assert_eq!(refused(&back, request_of(&waiting), "billing-approver").await, "self_approval");
    assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
}
