//! A company, a gate in a process of its own in front of it, and people and agents who use it.
#![allow(dead_code)] // Each test binary uses its own part of the house.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;
use vidimus_api::RawJson;
use vidimus_api::call::{CallAnswer, CallRequest};
use vidimus_api::client::{AgentClient, ClientError};
use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Company, Inspector, Options, credential_variables, effect_table};
use vidimus_tests::processes::Process;

pub const WITHIN: Duration = Duration::from_secs(20);
pub const TOKEN: &str = "company-credential-of-the-tests";
const GATE: &str = env!("CARGO_BIN_EXE_vidimus-gate");

pub struct House {
    pub company: Company,
    pub inspector: Inspector,
    pub data: TempDir,
    pub gate: Option<Process>,
    pub url: String,
    pub invite: String,
    /// What `init` printed to be kept on paper.
    pub recovery_key: String,
    runs: u32,
    environment: Vec<(String, String)>,
}

impl House {
    /// A gate that is made and runs; nobody has enrolled.
    pub async fn open() -> House {
        House::open_with(|table| table).await
    }

    /// The same with an effect table that the test has changed.
    pub async fn open_with(change: impl FnOnce(String) -> String) -> House {
        let company = Company::start(Options::new(TOKEN)).await.expect("a company");
        let inspector = company.inspector().expect("an inspector");
        let data = TempDir::new().expect("a folder");
        let table = data.path().join("effects.toml");
        std::fs::write(&table, change(effect_table(&company.url))).expect("a table file");
        let roles = ["--admin-role", "billing-approver", "--admin-role", "support-lead"];
        let made = run(&[
            &["init", "--data", &data_of(&data), "--table", &table.display().to_string(), "--environment", "test"][..],
            &["--url", "http://127.0.0.1:1", "--admin-name", "Ada Example"],
            &roles,
        ]
        .concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let (invite, recovery_key) = (line_with(&made, "vidimus-invite-"), line_with(&made, "vidimus-recovery-"));
        let (gate, url, environment) = (None, String::new(), Vec::new());
        let mut house = House { company, inspector, data, gate, url, invite, recovery_key, runs: 0, environment };
        house.start();
        house
    }

    /// A variable of the gate's next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.environment.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Starts the gate on a free port.
    pub fn start(&mut self) {
        self.start_with(&["--listen", "127.0.0.1:0"]);
    }

    /// Starts the gate as the arguments say.
    pub fn start_with(&mut self, arguments: &[&str]) {
        self.runs += 1;
        let output = self.data.path().join(format!("serve.{}.out", self.runs));
        let mut command = gate_command(&[&["serve", "--data", &data_of(&self.data)], arguments].concat());
        command.envs(self.environment.iter().cloned());
        let mut process = Process::start("vidimus-gate", &mut command, &output).expect("a gate");
        let line = process.wait_for_line("the listener", WITHIN, |line| line.starts_with("listening ")).expect("a ready gate");
        self.url = line.trim_start_matches("listening ").to_owned();
        self.gate = Some(process);
    }

    /// Starts the gate where it must refuse to; what it says.
    pub fn fails_to_start(&mut self) -> String {
        self.fails_to_start_with(&[])
    }

    /// The same with more arguments.
    pub fn fails_to_start_with(&mut self, arguments: &[&str]) -> String {
        let output = self.data.path().join("refused.out");
        let mut command = gate_command(&[&["serve", "--data", &data_of(&self.data), "--listen", "127.0.0.1:0"], arguments].concat());
        command.envs(self.environment.iter().cloned());
        let mut process = Process::start("vidimus-gate", &mut command, &output).expect("a process");
        let status = process.wait(WITHIN).expect("an end");
        assert!(!status.success(), "{}", process.tail());
        process.text().expect("its output")
    }

    pub fn process(&mut self) -> &mut Process {
        self.gate.as_mut().expect("a running gate")
    }

    /// Ends the gate as a service manager does.
    pub fn end(&mut self) {
        let mut process = self.gate.take().expect("a running gate");
        let status = process.end().expect("an end");
        assert!(status.success(), "{}", process.tail());
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.gate.take().expect("a running gate").kill().expect("a kill");
    }

    pub fn data_path(&self) -> PathBuf {
        PathBuf::from(data_of(&self.data))
    }

    /// Runs a command of the gate's program on this gate's data.
    pub fn command(&self, arguments: &[&str]) -> Output {
        let data = data_of(&self.data);
        run(&[arguments, &["--data", &data]].concat())
    }

    /// Adds an agent.
    pub fn agent(&self, name: &str, more: &[&str]) -> AgentClient {
        AgentClient::new(&self.url, self.credential(name, more)).expect("a client")
    }

    pub fn credential(&self, name: &str, more: &[&str]) -> String {
        let owner: &[&str] = if more.contains(&"--owner") { &[] } else { &["--no-owner"] };
        let added = self.command(&[&["agent", "add", name], more, owner].concat());
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        line_with(&added, "vda_")
    }

    /// The first admin, enrolled with the invite that `init` printed.
    pub async fn admin(&self) -> Approver {
        Approver::enrol(&self.url, &self.invite, 1).await.expect("the first admin enrols")
    }

    /// Announces a recovery of somebody who waits for an admin; gives its digest.
    pub async fn announce_recovery(&self, name: &str, seed: u8) -> Digest {
        let invited = self.command(&["approver", "invite", name, "--role", "admin"]);
        let person = Approver::enrol(&self.url, &line_with(&invited, "vidimus-invite-"), seed).await.expect("the person enrols");
        let request = person.admission.expect("an admission to sign").to_string();
        let key = self.data.path().join("recovery-key");
        std::fs::write(&key, &self.recovery_key).expect("own file");
        let shown = self.command(&["recover", "--request", &request]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let of = |part: &str| shown.lines().find_map(|line| line.strip_prefix(part)).unwrap_or_default().trim().to_owned();
        let announced = self.command(
            &[
                &["recover", "--request", &request, "--key", &key.display().to_string(), "--role", "admin"][..],
                &["--fingerprint", &of("approval key"), "--fingerprint", &of("device key")],
            ]
            .concat(),
        );
        let said = String::from_utf8_lossy(&announced.stdout).into_owned();
        let found = said.split('`').find_map(|word| word.parse().ok());
        found.unwrap_or_else(|| panic!("no recovery: {said}{}", String::from_utf8_lossy(&announced.stderr)))
    }

    /// A second person, admitted by the admin.
    pub async fn person(&self, admin: &Approver, name: &str, roles: &[&str], seed: u8) -> Approver {
        let mut arguments = vec!["approver", "invite", name];
        for role in roles {
            arguments.extend(["--role", role]);
        }
        let invited = self.command(&arguments);
        assert!(invited.status.success(), "{}", String::from_utf8_lossy(&invited.stderr));
        let mut person = Approver::enrol(&self.url, &line_with(&invited, "vidimus-invite-"), seed).await.expect("the person enrols");
        let request = person.admission.expect("an admission to sign");
        let waiting = person.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
        assert_eq!(waiting.as_deref(), Some("key_waiting"));
        admin.approve(request, "admin").await.expect("the admission counts");
        let deadline = tokio::time::Instant::now() + WITHIN;
        while person.open_session().await.is_err() {
            assert!(tokio::time::Instant::now() < deadline, "the admission was not applied within {WITHIN:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        person
    }
}

/// Waits for something with a deadline.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let deadline = tokio::time::Instant::now() + WITHIN;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what} took longer than {WITHIN:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn data_of(data: &TempDir) -> String {
    data.path().join("gate").display().to_string()
}

fn gate_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(GATE);
    command.args(arguments).envs(credential_variables(TOKEN)).env_remove("VIDIMUS_SEAM");
    command
}

/// Runs the gate's program to its end.
pub fn run(arguments: &[&str]) -> Output {
    gate_command(arguments).output().expect("the gate's program")
}

/// The line of an output that begins like this.
pub fn line_with(output: &Output, prefix: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find(|line| line.starts_with(prefix)).unwrap_or_else(|| panic!("no `{prefix}` in:\n{text}")).to_owned()
}

pub fn json(text: &str) -> RawJson {
    vidimus_api::raw_json(text.to_owned()).expect("JSON")
}

pub const REFUND: &str = r#"{"invoice":"invoice_842","amount_minor":8990,"currency":"EUR","reason":"arrived broken"}"#;

/// A refund with a call key of its own.
pub fn refund(key: &str) -> CallRequest {
    CallRequest::new("refund", json(REFUND)).with_call_key(format!("{key:0>16}"))
}

/// The code of a refusal.
pub fn code_of<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    match result {
        Ok(answer) => panic!("not refused: {answer:?}"),
        Err(ClientError::Refused(problem)) => problem.code.clone(),
        Err(other) => panic!("no problem document: {other:?}"),
    }
}

pub fn request_of(answer: &CallAnswer) -> RequestId {
    answer.request.expect("an approval request")
}

pub fn exists(path: &Path) -> bool {
    path.exists()
}

impl Drop for House {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(gate) = &self.gate
        {
            eprintln!("the gate's last lines:\n{}", gate.tail());
        }
    }
}
