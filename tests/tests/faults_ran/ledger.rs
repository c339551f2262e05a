//! The ledger, written into between approval and execution.

use rusqlite::{Connection, params};
use vidimus_api::call::CallStatus;
use vidimus_api::request::DenialKind;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::sign::SecretKey;
use vidimus_core::table::Table;
use vidimus_tests::approver::raw;

use crate::ROLE;
use crate::faults::{House, WAIT_S, WITHIN, call, pending, refund_args, request_of, until};

/// A delay between the quorum and the token, so that what is written into the ledger lies between the two.
fn delayed(table: String) -> String {
    table.replace("key_valid_s = 86400", "key_valid_s = 86400\ndelay_s = 5")
}

struct Ledger {
    db: Connection,
    /// What was taken out of its schema.
    triggers: Vec<String>,
}

impl Ledger {
    /// Opens the ledger as somebody who got at its disk: without the triggers that keep it straight.
    fn broken_open(house: &House) -> Ledger {
        let db = Connection::open(house.database()).expect("the ledger");
        db.busy_timeout(WITHIN).expect("a wait");
        let mut query = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").expect("a query");
        let triggers: Vec<(String, String)> =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows").collect::<Result<_, _>>().expect("triggers");
        drop(query);
        for (name, _) in &triggers {
            db.execute_batch(&format!("DROP TRIGGER {name}")).expect("dropped");
        }
        db.execute_batch("PRAGMA foreign_keys = OFF").expect("switched off");
        Ledger { db, triggers: triggers.into_iter().map(|(_, sql)| sql).collect() }
    }

    /// Puts the triggers back: a gate compares the schema too.
    fn mended_close(self) {
        for sql in &self.triggers {
            self.db.execute_batch(sql).expect("put back");
        }
    }

    fn frozen(&self, request: RequestId) -> String {
        self.db.query_row("SELECT frozen FROM requests WHERE request = ?1", [request.to_string()], |row| row.get(0)).expect("a request")
    }

    /// Other frozen bytes, with every digest beside them made to fit. Gives the operation's key that fits too.
    fn freeze_again(&self, request: RequestId, frozen: &str) -> FrozenRequest {
        let frozen = FrozenRequest::parse(frozen.as_bytes()).expect("a frozen request");
        let changed = self
            .db
            .execute(
                "UPDATE requests SET frozen = ?2, request_sha256 = ?3, args_sha256 = ?4, tool = ?5, row_sha256 = ?6 WHERE request = ?1",
                params![
                    request.to_string(),
                    std::str::from_utf8(frozen.bytes()).expect("text"),
                    frozen.request_sha256().to_string(),
                    frozen.args_sha256().to_string(),
                    frozen.members().tool.as_str(),
                    frozen.members().row_sha256.to_string(),
                ],
            )
            .expect("written");
        assert_eq!(changed, 1);
        frozen
    }

    /// The reserved operation, moved to the key, tool and row of these frozen bytes.
    fn move_operation(&self, request: RequestId, frozen: &FrozenRequest) {
        let members = frozen.members();
        let key = OperationKey::money(&members.tool, &members.request, &frozen.args_sha256());
        let changed = self
            .db
            .execute(
                "UPDATE operations SET operation = ?2, tool = ?3, row_sha256 = ?4, payload_sha256 = ?5 WHERE request = ?1",
                params![
                    request.to_string(),
                    key.to_string(),
                    members.tool.as_str(),
                    members.row_sha256.to_string(),
                    Digest::of(frozen.canonical_args()).to_string()
                ],
            )
            .expect("written");
        assert_eq!(changed, 1);
    }

    /// An approval that stands in the columns, with this envelope behind it.
    fn approve(&self, request: RequestId, statement: &DecisionStatement, envelope: &str) {
        self.db
            .execute(
                "INSERT INTO decisions (decision_sha256, request, decision, approver, role, key_sha256, envelope, standing, position,
                                        state_after, given, needed)
                 VALUES (?1, ?2, 'approve', ?3, ?4, ?5, ?6, 1, ?7, 'approved', 1, 1)",
                params![
                    Digest::of(format!("invented for {request}").as_bytes()).to_string(),
                    request.to_string(),
                    statement.approver.to_string(),
                    statement.role.as_str(),
                    statement.key_sha256.to_string(),
                    envelope,
                    // A record that no decision has: the gate's own beginning.
                    0,
                ],
            )
            .expect("written");
        self.reserve(request);
    }

    /// The request approved, and its operation reserved, as if a quorum had been reached now.
    fn reserve(&self, request: RequestId) {
        let frozen = FrozenRequest::parse(self.frozen(request).as_bytes()).expect("a frozen request");
        let members = frozen.members();
        let quorum_at = members.created_at.as_ms();
        let approved = self
            .db
            .execute(
                "UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1, quorum_at = ?2,
                        denial_kind = NULL, denial_note = NULL, denial_role = NULL WHERE request = ?1",
                params![request.to_string(), quorum_at],
            )
            .expect("written");
        assert_eq!(approved, 1);
        self.db
            .execute(
                "INSERT INTO operations (operation, kind, call, request, tool, row_sha256, payload_sha256, state, attempt, mint_at)
                 VALUES (?1, 'money', ?2, ?3, ?4, ?5, ?6, 'reserved', 0, ?7)",
                params![
                    OperationKey::money(&members.tool, &members.request, &frozen.args_sha256()).to_string(),
                    members.call.to_string(),
                    request.to_string(),
                    members.tool.as_str(),
                    members.row_sha256.to_string(),
                    Digest::of(frozen.canonical_args()).to_string(),
                    quorum_at,
                ],
            )
            .expect("written");
    }

    fn replace_envelope(&self, request: RequestId, envelope: &str) {
        let changed = self
            .db
            .execute("UPDATE decisions SET envelope = ?2 WHERE request = ?1", params![request.to_string(), envelope])
            .expect("written");
        assert_eq!(changed, 1);
    }

    fn envelope(&self, request: RequestId) -> String {
        self.db.query_row("SELECT envelope FROM decisions WHERE request = ?1", [request.to_string()], |row| row.get(0)).expect("a decision")
    }
}

/// Somebody writes into the ledger of a gate that runs, between approval and execution. Whatever they write, nothing runs any more:
/// the gate ends, and the next start refuses the ledger.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_into_the_ledger_after_the_approval_does_not_run() {
    let mut house = House::open_with(delayed, &[]).await;
    let billing = house.agent("billing", &[]);
    let mut requests = Vec::new();
    for step in 0..8 {
        requests.push(request_of(&pending(&billing, &call("refund", &refund_args(1500 + step), &format!("ledger-{step}"))).await));
    }
    let [honest, amount, tool, stranger, borrowed, denied, invented, unsigned] = requests[..] else { panic!("eight requests") };
    let statement = house.admin.statement(invented, DecisionKind::Approve, ROLE).await.expect("a statement");
    house.admin.deny(denied, ROLE, DenialKind::WrongPayee, "no").await.expect("it counts");
    for request in [amount, tool, stranger, borrowed, honest] {
        let receipt = house.admin.approve(request, ROLE).await.expect("it counts");
        assert_eq!(receipt.state, RequestState::Approved);
    }
    assert_eq!(house.effects().await, 0, "the delay is not over");

    let ledger = Ledger::broken_open(&house);
    let frozen = ledger.freeze_again(amount, &ledger.frozen(amount).replace("\"amount_minor\":1501", "\"amount_minor\":90000"));
    ledger.move_operation(amount, &frozen);
    let table = Table::parse(&std::fs::read_to_string(house.path("effects.toml")).expect("a table")).expect("a table");
    let [refund, credit] = ["refund", "issue_credit"].map(|name| table.row(&Name::parse(name).expect("a name")).expect("a row"));
    let other_tool = ledger
        .frozen(tool)
        .replace("\"tool\":\"refund\"", "\"tool\":\"issue_credit\"")
        .replace("\"reversibility\":\"compensable\"", "\"reversibility\":\"reversible\"")
        .replace(&refund.digest().to_string(), &credit.digest().to_string())
        .replace("\"invoice\":\"invoice_842\",", "")
        .replace("\"currency\":\"EUR\",", "\"currency\":\"EUR\",\"customer\":\"customer_ada\",");
    let frozen = ledger.freeze_again(tool, &other_tool);
    ledger.move_operation(tool, &frozen);
    let nobody = SecretKey::from_seed(&[77; 32]);
    let signed_by = |key: &SecretKey| raw(&statement.sign(key).expect("signed")).expect("an envelope").get().to_owned();
    let by_nobody = ledger.envelope(stranger).replace(&signature_in(&ledger.envelope(stranger)), &signature_in(&signed_by(&nobody)));
    ledger.replace_envelope(stranger, &by_nobody);
    ledger.replace_envelope(borrowed, &ledger.envelope(honest));
    ledger.db.execute("UPDATE decisions SET decision = 'approve', standing = 1 WHERE request = ?1", [denied.to_string()]).expect("written");
    ledger.reserve(denied);
    ledger.approve(invented, &statement, &signed_by(&nobody));
    ledger.reserve(unsigned);
    drop(ledger);

    house.ended();
    assert!(said(&house).contains("ledger_disturbed"), "{}", said(&house));
    assert_eq!(house.effects().await, 0, "not even the one that nobody touched");
    let started = house.home.serve(&[]).err().map(|error| error.to_string()).expect("no gate serves from it");
    assert!(started.contains("ledger_contradicted"), "{started}");
}

/// What the gate's program wrote to its operator.
fn said(house: &House) -> String {
    std::fs::read_to_string(house.path("gate.log")).expect("its output")
}

/// One edit each under a running gate, its triggers left alone: the gate ends before it acts on it, and does not start on it.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_somebody_writes_beside_ends_before_it_acts_on_it() {
    for (sql, named) in [
        ("UPDATE clock SET now_ms = now_ms + 601000", "seal_broken"),
        ("UPDATE operations SET mint_at = 0", "ledger_contradicted"),
        ("UPDATE records SET operation = NULL, type = 'heartbeat' WHERE operation IS NOT NULL", "ledger_contradicted"),
    ] {
        let mut house = House::open_with(|table| delayed(table).replace("delay_s = 5", "delay_s = 600"), &[]).await;
        let billing = house.agent("billing", &[]);
        let waiting = pending(&billing, &call("refund", &refund_args(1500), "beside")).await;
        house.admin.approve(request_of(&waiting), ROLE).await.expect("it counts");
        // What an operator does beside it, and who reads, is no edit.
        house.agent("support", &[]);
        house.home.invite("Dan Example", &["auditor"]).expect("an invitation");
        let db = Connection::open(house.database()).expect("the ledger");
        db.busy_timeout(WITHIN).expect("a wait");
        let copy = house.path("copy.db");
        db.execute("VACUUM INTO ?1", [copy.to_str().expect("text")]).expect("a copy");
        assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an answer").status, CallStatus::Approved, "{sql}");

        assert!(db.execute(sql, []).expect(sql) > 0, "{sql}");
        drop(db);
        house.ended();
        assert!(said(&house).contains("ledger_disturbed"), "{sql}: {}", said(&house));
        assert_eq!(house.effects().await, 0, "{sql}");
        let started = house.home.serve(&[]).err().map(|error| error.to_string()).unwrap_or_else(|| panic!("a gate serves after: {sql}"));
        assert!(started.contains(named), "{sql}: {started}");
    }
}

/// What is about to be sent when somebody writes is not sent, and a person finds out what happened.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_look_before_the_first_byte_finds_a_writer() {
    let mut house = House::open().await;
    let billing = house.agent("billing", &[]);
    house.order(&["hold before_send"]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "held")).await;
    house.admin.approve(request_of(&waiting), ROLE).await.expect("it counts");
    until("the redemption", || async { (house.operation(request_of(&waiting)).await == Some(OperationState::Executing)).then_some(()) })
        .await;
    let db = Connection::open(house.database()).expect("the ledger");
    db.busy_timeout(WITHIN).expect("a wait");
    assert_eq!(db.execute("UPDATE agents SET created_at = created_at + 1", []).expect("written"), 1);
    drop(db);
    house.order(&[]);
    house.ended();
    assert_eq!(house.effects().await, 0);
}

fn signature_in(envelope: &str) -> String {
    let from = envelope.find("\"sig\":\"").expect("a signature") + 7;
    envelope[from..].split('"').next().expect("an end").to_owned()
}

/// The table and the roster in the ledger lead to the digests that people signed, or the gate does not start.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_or_a_roster_that_nobody_signed_stops_the_gate() {
    let mut house = House::open().await;
    let billing = house.agent("billing", &[]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "policy")).await;
    house.kill();
    let stranger = SecretKey::from_seed(&[77; 32]).public().to_string();
    let approval = house.admin.approval.public().to_string();
    // The limit of an amount lifted, the approvals needed halved, the approver's key exchanged.
    for (table, column, from, to) in [
        ("effect_tables", "toml", "\"maximum\": 10000000000", "\"maximum\": 90000000000"),
        ("effect_tables", "toml", "\"treasury\", quorum = 2", "\"treasury\", quorum = 1"),
        ("rosters", "text", approval.as_str(), stranger.as_str()),
    ] {
        let swap = |from: &str, to: &str| {
            let ledger = Ledger::broken_open(&house);
            let sql = format!("UPDATE {table} SET {column} = replace({column}, ?1, ?2) WHERE instr({column}, ?1) > 0");
            assert_eq!(ledger.db.execute(&sql, params![from, to]).expect("written"), 1, "{from}");
            ledger.mended_close();
        };
        swap(from, to);
        let started = house.home.serve(&[]);
        assert!(started.is_err(), "a gate serves with `{to}`");
        assert!(started.err().is_some_and(|error| error.to_string().contains("never writes")), "it says why");
        swap(to, from);
    }
    house.start();
    // Killed so soon, the gate may not know that the agent was told; its question says so.
    assert_eq!(billing.outcome(&waiting.call, 0).await.expect("an answer").status, CallStatus::Pending);
    assert_eq!(house.detail(request_of(&waiting)).await.state, RequestState::Pending);
    assert_eq!(house.effects().await, 0);
    house.admin.approve(request_of(&waiting), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
}
