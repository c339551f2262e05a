//! A gate of its own: a data folder made by the real `init`, served by the real program, ended and killed at will.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::company::credential_variables;
use crate::processes::{Process, ProcessError};

/// The provider's credential, which the effect tables of these tests name.
pub const COMPANY_TOKEN: &str = "company-credential-of-the-gate";

/// How long a gate may take to answer.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// Why a gate could not be had.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A program failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file of the gate.
    #[error("cannot use `{path}`: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// A command of the gate refused.
    #[error("`vidimus-gate {command}` failed: {detail}")]
    Command { command: String, detail: String },
}

/// A gate's data folder and the program that serves it.
#[derive(Debug)]
pub struct GateHome {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
}

/// A gate that serves. Dropping it ends it.
#[derive(Debug)]
pub struct Gate {
    /// Its process.
    pub process: Process,
    /// Where it listens.
    pub url: String,
}

impl GateHome {
    /// Makes a gate in `folder` for this effect table. Gives the home and the first admin's invitation.
    ///
    /// The port is chosen here, since it stands in invitations; the first admin holds `roles` beside `admin`.
    pub fn init(
        program: &Path,
        folder: &Path,
        table: &str,
        environment: &str,
        name: &str,
        roles: &[&str],
    ) -> Result<(GateHome, String), GateError> {
        let file = |path: &Path, source| GateError::File { path: path.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(|source| file(folder, source))?;
        let table_path = folder.join("effects.toml");
        std::fs::write(&table_path, table).map_err(|source| file(&table_path, source))?;
        let port = free_port().map_err(|source| file(folder, source))?;
        let home = GateHome { program: program.to_owned(), folder: folder.to_owned(), port };
        let mut command = home.command("init");
        command.arg("--data").arg(home.data()).arg("--table").arg(&table_path);
        command.args(["--environment", environment, "--url", &home.url(), "--admin-name", name]);
        command.args(roles.iter().flat_map(|role| ["--admin-role", role]));
        let output = home.output_of("init", command)?;
        let word = |prefix| word_in("init", &output, prefix);
        let (invite, recovery) = (word("vidimus-invite-")?, word("vidimus-recovery-")?);
        let key = home.recovery_key();
        std::fs::write(&key, recovery).map_err(|source| file(&key, source))?;
        Ok((home, invite))
    }

    /// Where the gate listens when it serves.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where these tests keep what an operator keeps on paper.
    pub fn recovery_key(&self) -> PathBuf {
        self.folder.join("recovery-key")
    }

    /// The gate's data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Adds an agent and gives its credential.
    pub fn add_agent(&self, name: &str, owner: Option<&str>) -> Result<String, GateError> {
        let mut command = self.command("agent");
        command.args(["add", name]).arg("--data").arg(self.data());
        match owner {
            Some(owner) => command.args(["--owner", owner]),
            None => command.arg("--no-owner"),
        };
        self.word_of("agent add", command, "vda_")
    }

    /// Invites a person and gives the invitation.
    pub fn invite(&self, name: &str, roles: &[&str]) -> Result<String, GateError> {
        let mut command = self.command("approver");
        command.args(["invite", name]).arg("--data").arg(self.data());
        command.args(roles.iter().flat_map(|role| ["--role", role]));
        self.word_of("approver invite", command, "vidimus-invite-")
    }

    /// Invites another desktop of a person and gives the invitation.
    pub fn invite_device(&self, person: &str) -> Result<String, GateError> {
        let mut command = self.command("approver");
        command.args(["device", person]).arg("--data").arg(self.data());
        self.word_of("approver device", command, "vidimus-invite-")
    }

    /// What the command says of a waiting admission, without signing anything.
    pub fn show_recovery(&self, request: &str) -> Result<String, GateError> {
        let mut command = self.command("recover");
        command.args(["--request", request]).arg("--data").arg(self.data());
        self.output_of("recover", command)
    }

    /// Announces a recovery by a waiting admission, its keys and roles named as the command shows them, and gives what it says.
    pub fn recover(&self, request: &str) -> Result<String, GateError> {
        let shown = self.show_recovery(request)?;
        let of = |part: &str| shown.lines().find_map(|line| line.strip_prefix(part)).unwrap_or_default().trim().to_owned();
        let roles = of("roles");
        self.recover_naming(request, &[of("approval key"), of("device key")], &roles.split(", ").collect::<Vec<_>>())
    }

    /// Announces a recovery by a waiting admission with these keys and roles, and gives what the command says.
    pub fn recover_naming(&self, request: &str, fingerprints: &[String], roles: &[&str]) -> Result<String, GateError> {
        let mut command = self.command("recover");
        command.args(["--request", request]).arg("--data").arg(self.data()).arg("--key").arg(self.recovery_key());
        command.args(fingerprints.iter().flat_map(|fingerprint| ["--fingerprint", fingerprint]));
        command.args(roles.iter().flat_map(|role| ["--role", role]));
        self.output_of("recover", command)
    }

    /// Serves, and waits until the gate answers. `variables` are for its process alone.
    pub fn serve(&self, variables: &[(&str, &str)]) -> Result<Gate, GateError> {
        let mut command = self.command("serve");
        command.arg("--data").arg(self.data()).args(["--listen", &format!("127.0.0.1:{}", self.port)]);
        command.envs(variables.iter().copied());
        let output = self.folder.join("gate.log");
        // The file is appended to: a line of an earlier gate must not pass for this one's.
        std::fs::write(&output, "").map_err(|source| GateError::File { path: output.clone(), source })?;
        let mut process = Process::start("vidimus-gate", &mut command, &output)?;
        let line = process.wait_for_line("the line that it listens", READY_WITHIN, |line| line.contains("listening http"))?;
        let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap_or_default().trim_matches('"').to_owned();
        Ok(Gate { process, url })
    }

    fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(subcommand).envs(credential_variables(COMPANY_TOKEN));
        command
    }

    /// Runs a command to its end and gives the word of its output that begins with `prefix`.
    fn word_of(&self, name: &str, command: Command, prefix: &str) -> Result<String, GateError> {
        word_in(name, &self.output_of(name, command)?, prefix)
    }

    /// Runs a command to its end and gives its output.
    fn output_of(&self, name: &str, mut command: Command) -> Result<String, GateError> {
        let failed = |detail: String| GateError::Command { command: name.to_owned(), detail };
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(failed(format!("{}; {text}{}", output.status, String::from_utf8_lossy(&output.stderr))))
    }
}

/// The word of an output that begins with `prefix`.
fn word_in(name: &str, output: &str, prefix: &str) -> Result<String, GateError> {
    let word = output.split_whitespace().map(|word| word.trim_matches('"')).find(|word| word.starts_with(prefix));
    word.map(str::to_owned).ok_or_else(|| GateError::Command { command: name.to_owned(), detail: output.to_owned() })
}

/// A port that nobody listens on now. Another process may take it first; a gate then says so and does not start.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
