//! A company, a gate in a process of its own, people and agents in front of it, and everything that the gate's log says
//! about what it refused. The fault tests and the torture share it.
#![allow(dead_code, reason = "each of the test programs uses its own part")]

pub mod log;
pub mod wire;
pub mod wiring;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use vidimus_api::RawJson;
use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::{AgentClient, ClientError};
use vidimus_api::problem::Problem;
use vidimus_api::request::{Receipt, RequestDetail};
use vidimus_core::ids::RequestId;
use vidimus_core::operation::OperationState;
use vidimus_tests::approver::{Approver, ApproverError};
use vidimus_tests::company::{Company, Inspector, Options, Tool, credential_variables, effect_table};
use vidimus_tests::gate::{COMPANY_TOKEN, Gate, GateHome};
use vidimus_tests::processes::Binary;

/// How long anything may take that the gate does by itself.
pub const WITHIN: Duration = Duration::from_secs(30);

/// The longest that an agent may wait for a call in one request. *Unit*: seconds.
pub const WAIT_S: u64 = 25;

/// The file of orders to the gate's seams.
const ORDERS: &str = "orders";

/// What names it to the gate.
const ORDERS_VARIABLE: &str = "VIDIMUS_SEAM_FILE";

/// What the first admin decides in, beside `admin`.
pub const ROLES: &[&str] = &["billing-approver", "support-lead"];

pub struct House {
    pub inspector: Inspector,
    pub home: GateHome,
    pub url: String,
    pub admin: Approver,
    program: PathBuf,
    gate: Option<Gate>,
    folder: TempDir,
    _company: Company,
}

impl House {
    /// A gate that runs, with its first admin, who holds [`ROLES`] too.
    pub async fn open() -> House {
        House::open_with(|table| table, &[]).await
    }

    /// The same with an effect table that the test has changed, and variables for the gate.
    pub async fn open_with(change: impl FnOnce(String) -> String, variables: &[(&str, &str)]) -> House {
        let company = Company::start(Options::new(COMPANY_TOKEN)).await.expect("a company");
        let inspector = company.inspector().expect("an inspector");
        let folder = TempDir::new().expect("a folder");
        let program = Binary::path("vidimus-gate").expect("the gate's program");
        let table = change(effect_table(&company.url));
        let (home, invite) = GateHome::init(&program, folder.path(), &table, "test", "Ada Example", ROLES).expect("a gate");
        let orders = folder.path().join(ORDERS);
        let orders = orders.display().to_string();
        let variables = [&[(ORDERS_VARIABLE, orders.as_str())], variables].concat();
        let gate = home.serve(&variables).expect("a gate that serves");
        let admin = Approver::enrol(&home.url(), &invite, 1).await.expect("the first admin");
        House { inspector, url: home.url(), home, admin, program, gate: Some(gate), folder, _company: company }
    }

    /// Kills the gate as a crash would.
    pub fn kill(&mut self) {
        self.gate.take().expect("a running gate").process.kill().expect("killed");
    }

    /// Waits for a gate that ends by itself at a seam.
    pub fn ended(&mut self) {
        let mut gate = self.gate.take().expect("a running gate");
        let status = gate.process.wait(WITHIN).expect("an end");
        assert!(!status.success(), "the gate ended in good order, not at its seam");
    }

    /// Starts the gate again, at the same address.
    pub fn start(&mut self) {
        let orders = self.path(ORDERS).display().to_string();
        self.gate = Some(self.home.serve(&[(ORDERS_VARIABLE, &orders)]).expect("a gate that serves"));
    }

    /// Ends the gate in good order.
    pub fn end(&mut self) {
        let status = self.gate.take().expect("a running gate").process.end().expect("an end");
        assert!(status.success(), "the gate did not end in good order");
    }

    /// Orders to the running gate and to each later one, in the place of the earlier ones: see the gate's `seams`.
    pub fn order(&self, lines: &[&str]) {
        let next = self.path("orders.next");
        std::fs::write(&next, lines.join("\n")).expect("orders are written");
        std::fs::rename(next, self.path(ORDERS)).expect("orders are in place");
    }

    /// The id of the gate's process.
    pub fn id(&self) -> u32 {
        self.gate.as_ref().expect("a running gate").process.id()
    }

    /// The gate's database, for whoever gets at it while no gate runs.
    pub fn database(&self) -> PathBuf {
        self.home.data().join("gate.db")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command of the gate's program to its end.
    pub fn command(&self, arguments: &[&str]) -> Output {
        Command::new(&self.program).args(arguments).envs(credential_variables(COMPANY_TOKEN)).output().expect("the gate's program")
    }

    /// The credential of a new agent. `more` are options such as `--owner` and `--parent`.
    pub fn credential(&self, name: &str, more: &[&str]) -> String {
        let data = self.home.data().display().to_string();
        let owner: &[&str] = if more.contains(&"--owner") { &[] } else { &["--no-owner"] };
        let added = self.command(&[&["agent", "add", name, "--data", &data], more, owner].concat());
        let text = String::from_utf8_lossy(&added.stdout).into_owned();
        let found = text.split_whitespace().find(|word| word.starts_with("vda_")).map(str::to_owned);
        found.unwrap_or_else(|| panic!("no credential: {text}{}", String::from_utf8_lossy(&added.stderr)))
    }

    /// A new agent.
    pub fn agent(&self, name: &str, more: &[&str]) -> AgentClient {
        AgentClient::new(&self.url, self.credential(name, more)).expect("a client")
    }

    /// A further person, admitted by the first admin, with an open session.
    pub async fn person(&self, name: &str, roles: &[&str], seed: u8) -> Approver {
        let invite = self.home.invite(name, roles).expect("an invite");
        let mut person = Approver::enrol(&self.url, &invite, seed).await.expect("the person enrols");
        let request = person.admission.expect("an admission to sign");
        self.admin.approve(request, "admin").await.expect("the admission counts");
        until("the admission", || async { (self.operation(request).await == Some(OperationState::Succeeded)).then_some(()) }).await;
        person.open_session().await.expect("a session");
        person
    }

    /// The request as the first admin sees it.
    pub async fn detail(&self, request: RequestId) -> RequestDetail {
        self.admin.client().expect("a session").request_detail(&request).await.expect("the request")
    }

    pub async fn operation(&self, request: RequestId) -> Option<OperationState> {
        self.detail(request).await.operation.map(|operation| operation.state)
    }

    /// Effects that the company has counted for a tool.
    pub async fn count(&self, tool: Tool) -> usize {
        self.inspector.count(tool).await.expect("a count")
    }

    /// Effects of every kind.
    pub async fn effects(&self) -> usize {
        self.inspector.counts().await.expect("counts").values().sum()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(gate) = &self.gate
        {
            eprintln!("the gate's last lines:\n{}", gate.process.tail());
        }
    }
}

/// Waits for something with a deadline.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + WITHIN;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} took longer than {WITHIN:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

pub fn json(text: &str) -> RawJson {
    vidimus_api::raw_json(text.to_owned()).expect("JSON")
}

/// A call under a call key of its own.
pub fn call(tool: &str, args: &str, key: &str) -> CallRequest {
    CallRequest::new(tool, json(args)).with_call_key(call_key(key))
}

/// A call key that is long enough.
pub fn call_key(key: &str) -> String {
    format!("{key:0>16}")
}

/// A refund of the invoice 842 that is worth this much. T1 of the fault cases, under the fixture's schema.
pub fn refund_args(amount_minor: u64) -> String {
    format!(r#"{{"amount_minor":{amount_minor},"currency":"EUR","invoice":"invoice_842","reason":"INV-1001"}}"#)
}

/// Money calls of every tool that its agent may call, with a changed twin: the same tool, one value different.
pub struct MoneyCall {
    pub agent: &'static str,
    pub role: &'static str,
    pub tool: Tool,
    pub args: &'static str,
    pub changed: &'static str,
}

/// One of each money tool whose approval takes one person. The arguments are written in canonical form.
pub const MONEY: &[MoneyCall] = &[
    MoneyCall {
        agent: "billing",
        role: "billing-approver",
        tool: Tool::Refund,
        args: r#"{"amount_minor":1500,"currency":"EUR","invoice":"invoice_842","reason":"INV-1001"}"#,
        changed: r#"{"amount_minor":90000,"currency":"EUR","invoice":"invoice_842","reason":"INV-1001"}"#,
    },
    MoneyCall {
        agent: "billing",
        role: "billing-approver",
        tool: Tool::IssueCredit,
        args: r#"{"amount_minor":1500,"currency":"EUR","customer":"customer_ada","reason":"late"}"#,
        changed: r#"{"amount_minor":1500,"currency":"EUR","customer":"customer_bert","reason":"late"}"#,
    },
    MoneyCall {
        agent: "billing",
        role: "billing-approver",
        tool: Tool::CancelSubscription,
        args: r#"{"effective":"2026-12-31","reason":"office closed","subscription":"sub_77"}"#,
        changed: r#"{"effective":"2026-01-01","reason":"office closed","subscription":"sub_77"}"#,
    },
    MoneyCall {
        agent: "support",
        role: "support-lead",
        tool: Tool::SendEmail,
        args: r#"{"body":"It ships on Monday.","subject":"Your fan","to":"bert@example.org"}"#,
        changed: r#"{"body":"It ships on Monday.","subject":"Your fan","to":"evil@example.org"}"#,
    },
    MoneyCall {
        agent: "support",
        role: "support-lead",
        tool: Tool::CrmSetStatus,
        args: r#"{"customer":"customer_bert","status":"churned"}"#,
        changed: r#"{"customer":"customer_bert","status":"contract_sent"}"#,
    },
];

pub fn request_of(answer: &CallAnswer) -> RequestId {
    answer.request.expect("an approval request")
}

/// A call that has to wait for people.
pub async fn pending(agent: &AgentClient, request: &CallRequest) -> CallAnswer {
    let answer = agent.call(request, 0).await.expect("a pending call");
    assert_eq!(answer.status, CallStatus::Pending, "{}", answer.words);
    answer
}

/// The refusal of something.
pub fn problem_of<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Problem {
    match result {
        Ok(answer) => panic!("not refused: {answer:?}"),
        Err(ClientError::Refused(problem)) => *problem,
        Err(other) => panic!("no problem document: {other:?}"),
    }
}

/// The refusal of a decision.
pub fn refused(result: Result<Receipt, ApproverError>) -> Problem {
    match result {
        Ok(receipt) => panic!("not refused: {receipt:?}"),
        Err(ApproverError::Client(error)) => problem_of::<Receipt>(Err(error)),
        Err(other) => panic!("no problem document: {other}"),
    }
}
