//! A change of the effect table, from the proposal over HTTP to the calls that it makes stale, also when the gate is killed.

mod house;

use house::{House, WITHIN, code_of, refund, until};
use reqwest::{Client, StatusCode};
use vidimus_api::call::CallStatus;
use vidimus_api::client::ClientError;
use vidimus_api::problem::Problem;
use vidimus_api::table::TableProposal;
use vidimus_gate::seams::Seam;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;

/// The table in force with one thing of the refund's row replaced.
async fn edited(person: &Approver, from: &str, to: &str) -> String {
    let table = person.client().expect("a session").table().await.expect("a table").table;
    let start = table.find("tool = \"refund\"").expect("the refund's row");
    format!("{}{}", &table[..start], table[start..].replacen(from, to, 1))
}

async fn in_force(person: &Approver) -> String {
    person.client().expect("a session").table().await.expect("a table").table_sha256.to_string()
}

async fn wait_for_table(person: &Approver, table_sha256: &str) {
    until("the change", async || (in_force(person).await == table_sha256).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_change_is_in_force_and_what_waited_is_stale() {
    let house = House::open().await;
    let admin = house.admin().await;
    let bea = house.person(&admin, "Bea Example", &["billing-approver"], 2).await;
    let billing = house.agent("billing", &[]);
    let waiting = billing.call(&refund("before"), 0).await.expect("a pending call");

    let text = edited(&admin, "undo = \"charge", "undo = \"kindly charge").await;
    let body = TableProposal { table: text.clone() };
    let proposed = bea.client().expect("a session").propose_table(&body).await.expect("a proposal");
    assert_eq!((proposed.tools.as_slice(), proposed.agents.len()), (["refund".to_owned()].as_slice(), 0));
    assert_eq!((proposed.needs[0].role.as_str(), proposed.needs[0].quorum), ("billing-approver", 1));
    admin.approve(proposed.request, "billing-approver").await.expect("a decision");
    wait_for_table(&admin, &proposed.table_sha256.to_string()).await;
    let outcome = billing.outcome(&waiting.call, 5).await.expect("an outcome");
    assert_eq!(outcome.status, CallStatus::Stale);

    // The same call again is a new request, under the row in force.
    let again = billing.call(&refund("before"), 0).await.expect("a pending call");
    assert_eq!(again.status, CallStatus::Pending);
    assert_ne!(again.request, waiting.request);
    let shown = house.command(&["table", "show"]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout).trim_end(), text.trim_end());
    let metrics = Client::new().get(format!("{}/metrics", house.url)).send().await.expect("an answer").text().await.expect("text");
    assert!(metrics.contains("vidimus_changes_total{of=\"table\"} 1\n"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_change_is_refused_with_every_fault() {
    let house = House::open().await;
    let admin = house.admin().await;
    let client = admin.client().expect("a session");
    let table = client.table().await.expect("a table").table;
    let propose = async |table: &str| client.propose_table(&TableProposal { table: table.to_owned() }).await;
    assert_eq!(code_of(propose(&format!("# words\n{table}")).await), "table_unchanged");
    let owners = table.replace("summary = \"Wire", "summary = \"Please wire").replace("undo = \"charge", "undo = \"kindly charge");
    assert_eq!(code_of(propose(&owners).await), "table_change_owners");
    let faulty = table.replacen("effect = \"read\"", "effect = \"reads\"", 1).replacen("quorum = 1", "quorum = 0", 1);
    let Err(ClientError::Refused(problem)) = propose(&faulty).await else { panic!("faulty") };
    assert_eq!((problem.code.as_str(), problem.status, problem.path.as_deref()), ("table_faulty", 422, Some("/table")));
    let told: Vec<(Option<u64>, Option<&str>)> = problem.errors.iter().map(|fault| (fault.line, fault.rule.as_deref())).collect();
    assert!(told.contains(&(Some(11), Some("value_malformed"))), "{told:?}");
    assert!(told.iter().any(|(_, rule)| *rule == Some("number_out_of_range")), "{told:?}");

    let send = async |session: &str, body: String| {
        let ask = || Client::new().post(format!("{}/v1/table/proposals", house.url)).bearer_auth(session).body(body.clone()).send();
        // A body that is too long is refused before all of it is read: whether the sender still reads the answer then is chance.
        let answer = until("an answer", async || ask().await.ok()).await;
        (answer.status(), answer.json::<Problem>().await.expect("a problem").code)
    };
    let agent = house.credential("billing", &[]);
    assert_eq!(send(&agent, r#"{"table":"v = 1"}"#.to_owned()).await, (StatusCode::UNAUTHORIZED, "credential_invalid".to_owned()));
    let session = admin.new_session().await.expect("a session").session;
    let cases = [
        ("{}".to_owned(), "field_missing"),
        (r#"{"table":1}"#.to_owned(), "field_malformed"),
        (r#"{"table":"v = 1","table":"v = 1"}"#.to_owned(), "json_duplicate_key"),
        (r#"{"table":"v = 1","owner":"me"}"#.to_owned(), "field_unknown"),
        (format!(r#"{{"table":"{}"}}"#, "#".repeat(5 << 20)), "json_too_large"),
    ];
    for (body, code) in cases {
        assert_eq!(send(&session, body).await.1, code);
    }
    assert_eq!(client.requests(None).await.expect("a list").requests.len(), 0, "nothing waits");
}

/// Killed after the token of a change was minted, and after it came into force: it is in force once, and nobody is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_outlives_the_gate_at_every_seam() {
    for seam in [Seam::AfterMint, Seam::AfterRecord] {
        let mut house = House::open().await;
        let admin = house.admin().await;
        house.set("VIDIMUS_SEAM", seam.as_str());
        house.end();
        house.start();
        let admin = admin.at(&house.url).await.expect("a session");
        let table = admin.client().expect("a session").table().await.expect("a table").table;
        let text = table.replacen("pending_max = 20", "pending_max = 2", 1);
        let proposed = admin.client().expect("a session").propose_table(&TableProposal { table: text }).await.expect("a proposal");
        assert_eq!(proposed.needs[0].role, "admin", "a list alone is the admin's");
        // The only admin decides their own; the gate is gone before it says so, or after.
        let _ = admin.approve(proposed.request, "admin").await;
        house.process().wait(WITHIN).expect("the gate ends at the seam");
        house.set("VIDIMUS_SEAM", "");
        house.start();
        let admin = admin.at(&house.url).await.expect("a session");
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(90);
        while in_force(&admin).await != proposed.table_sha256.to_string() {
            assert!(tokio::time::Instant::now() < deadline, "the change is not in force after {}", seam.as_str());
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let detail = admin.client().expect("a session").request_detail(&proposed.request).await.expect("the request");
        let operation = detail.operation.expect("an operation");
        assert_eq!((operation.state.as_str(), operation.attempt), ("succeeded", 1), "{}", seam.as_str());
        assert_eq!(house.inspector.count(Tool::Refund).await.expect("a count"), 0);
    }
}
