//! What all benches run on: the fixture company and gates of their own, as processes of their own, on the disk of the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::effect_table;
use vidimus_tests::gate::{COMPANY_TOKEN, Gate, GateHome};
use vidimus_tests::processes::{Binary, Process};

use crate::BenchError;

/// How long the company may take to open.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// How long one call may take before the bench gives up.
const CALL_WITHIN: Duration = Duration::from_secs(30);

/// Requests of one bench agent that may wait: the most that a table may say.
const PENDING_MAX: u32 = 1000;

/// The first admin of a bench's gate.
const PERSON: &str = "Robin Example";

/// The company and the folder that all benches share.
pub struct Bench {
    /// Where the company listens.
    pub company_url: String,
    _company: Process,
    folder: TempDir,
}

impl Bench {
    /// Opens the company in a folder beside this program: a temporary file system would flatter every figure of a disk.
    pub async fn open() -> Result<Bench, BenchError> {
        let own = std::env::current_exe()?;
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(own.parent().unwrap_or(Path::new(".")))?;
        let mut command = Command::new(Binary::path("vidimus-company")?);
        command.env("COMPANY_TOKEN", COMPANY_TOKEN);
        let mut company = Process::start("vidimus-company", &mut command, &folder.path().join("company.log"))?;
        let line = company.wait_for_line("its address", READY_WITHIN, |line| line.starts_with("listening "))?;
        let company_url = line.trim_start_matches("listening ").to_owned();
        Ok(Bench { company_url, _company: company, folder })
    }

    /// The folder of all data of this run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a gate and serves it. `agents` beside the company's own may use every tool of `billing`.
    pub fn gate(&self, name: &str, agents: &[String], roles: &[&str]) -> Result<House, BenchError> {
        self.gate_before(&self.company_url, name, agents, roles)
    }

    /// The same in front of another provider.
    pub fn gate_before(&self, provider_url: &str, name: &str, agents: &[String], roles: &[&str]) -> Result<House, BenchError> {
        let folder = self.folder.path().join(name);
        let mut table = effect_table(provider_url);
        for agent in agents {
            table.push_str(&format!(
                "\n[[agent]]\nagent = \"{agent}\"\ntools = [\"get_invoice\", \"refund\", \"issue_credit\"]\ncallback_hosts = []\npending_max = {PENDING_MAX}\n"
            ));
        }
        let (home, invite) = GateHome::init(&Binary::path("vidimus-gate")?, &folder, &table, "test", PERSON, roles)?;
        let credentials = agents.iter().map(|agent| home.add_agent(agent, None)).collect::<Result<_, _>>()?;
        let gate = home.serve(&[])?;
        Ok(House { table, home, gate, invite, credentials, folder })
    }
}

/// A gate that serves.
pub struct House {
    /// The effect table's text.
    pub table: String,
    pub home: GateHome,
    pub gate: Gate,
    /// The first admin's invitation.
    pub invite: String,
    /// The credentials of the bench's agents, in their order.
    pub credentials: Vec<String>,
    /// Where the gate's data is.
    pub folder: PathBuf,
}

impl House {
    /// Puts the table in force through the real enrolment, without a desktop. Gives the person who did it.
    pub async fn sign_table(&self) -> Result<Approver, BenchError> {
        Ok(Approver::enrol(&self.gate.url, &self.invite, 7).await?)
    }
}

/// A client of the gate's HTTP face, with connections that it keeps.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    credential: String,
}

/// What a bench reads of a call's answer.
#[derive(Deserialize)]
pub struct Answer {
    pub call: String,
    pub status: String,
    /// The approval request of a money call.
    pub request: Option<RequestId>,
}

impl Client {
    /// A client with this credential, no proxy, no redirects, no retries.
    pub fn new(url: &str, credential: &str) -> Result<Client, BenchError> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(CALL_WITHIN)
            .build()?;
        Ok(Client { http, url: url.to_owned(), credential: credential.to_owned() })
    }

    /// Makes a call and gives its answer with the milliseconds it took.
    pub async fn call(&self, tool: &str, args: &Value) -> Result<(Answer, f64), BenchError> {
        self.call_waiting(0, tool, args).await
    }

    /// Makes a call that waits at most `wait_s` seconds for its end.
    pub async fn call_waiting(&self, wait_s: u64, tool: &str, args: &Value) -> Result<(Answer, f64), BenchError> {
        let body = json!({ "tool": tool, "args": args }).to_string();
        let request =
            self.http.post(format!("{}/v1/calls?wait_s={wait_s}", self.url)).header("content-type", "application/json").body(body);
        let began = Instant::now();
        let text = self.text(request).await?;
        let took_ms = milliseconds(began.elapsed());
        let answer = serde_json::from_str(&text).map_err(|error| BenchError::Unexpected(format!("{error} in the answer {text}")))?;
        Ok((answer, took_ms))
    }

    /// Makes a call that has to come to this status.
    pub async fn call_expecting(&self, status: &str, tool: &str, args: &Value) -> Result<(Answer, f64), BenchError> {
        let (answer, took_ms) = self.call(tool, args).await?;
        if answer.status == status {
            Ok((answer, took_ms))
        } else {
            Err(BenchError::Unexpected(format!("`{tool}` came to `{}`, not `{status}`", answer.status)))
        }
    }

    /// Takes a call back.
    pub async fn withdraw(&self, call: &str) -> Result<(), BenchError> {
        self.text(self.http.post(format!("{}/v1/calls/{call}/withdraw", self.url))).await.map(drop)
    }

    /// What an address below the client's URL holds.
    pub async fn page(&self, path: &str) -> Result<String, BenchError> {
        self.text(self.http.get(format!("{}{path}", self.url))).await
    }

    /// Reads an address below the client's URL and gives the milliseconds it took.
    pub async fn read(&self, path: &str) -> Result<f64, BenchError> {
        let request = self.http.get(format!("{}{path}", self.url));
        let began = Instant::now();
        self.text(request).await?;
        Ok(milliseconds(began.elapsed()))
    }

    async fn text(&self, request: reqwest::RequestBuilder) -> Result<String, BenchError> {
        let response = request.bearer_auth(&self.credential).send().await?;
        let status = response.status();
        let text = response.text().await?;
        if status.is_success() { Ok(text) } else { Err(BenchError::Unexpected(format!("{status}: {text}"))) }
    }
}

/// A money call that no other equals and none waits for: each `number` is another customer.
pub fn credit(number: usize) -> Value {
    let customer = format!("customer_{number}");
    json!({ "customer": customer, "amount_minor": 1500, "currency": "EUR", "reason": "the kettle came late, as promised on the phone" })
}

/// A duration in milliseconds.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
