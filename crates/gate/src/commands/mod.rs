//! The commands. Answers go to standard output, faults with their whole chain to standard error.

mod init;
mod recover;
mod serve;
mod table;

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::admin::{self, AdminCommand, AdminReply};
use crate::cli::{AgentCommand, ApproverCommand, Arguments, Command, TableCommand};
use crate::logging::chain;

type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Runs a command to its end.
pub fn run(arguments: Arguments) -> ExitCode {
    // Whatever the gate writes, database and log included, is its own user's alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(carry_out(arguments.command)) {
        Ok(code) => code,
        Err(error) => fail(error.as_ref()),
    }
}

async fn carry_out(command: Command) -> Outcome {
    match command {
        Command::Init(init) => init::run(init).await,
        Command::Serve(serve) => serve::run(serve).await,
        #[cfg(feature = "demo")]
        Command::Demo(demo) => Ok(crate::demo::run(demo).await?),
        Command::Agent { command: AgentCommand::Add(add) } => {
            let command = AdminCommand::AddAgent { agent: add.name, owner: add.owner, parent: add.parent };
            administer(&add.data, command).await
        }
        Command::Agent { command: AgentCommand::Revoke(revoke) } => {
            administer(&revoke.data, AdminCommand::RevokeAgent { agent: revoke.name }).await
        }
        Command::Approver { command: ApproverCommand::Invite(invite) } => {
            let command = AdminCommand::Invite { name: invite.name, roles: invite.roles };
            administer(&invite.data, command).await
        }
        Command::Approver { command: ApproverCommand::Device(device) } => {
            administer(&device.data, AdminCommand::InviteDevice { person: device.person }).await
        }
        Command::Recover(recover) => recover::run(recover).await,
        Command::Table { command: TableCommand::Check { file } } => table::check(&file),
        Command::Table { command: TableCommand::Show { data } } => administer(&data, AdminCommand::ShowTable).await,
    }
}

async fn administer(data: &Path, command: AdminCommand) -> Outcome {
    match admin::ask(data, command).await? {
        AdminReply::AgentAdded { agent, credential } => {
            say(&format!("the agent `{agent}` may call; its credential is printed this once:\n{credential}"))?;
        }
        AdminReply::AgentRevoked { agent, ended } => {
            say(&format!("the agent `{agent}` may call no more; {ended} of its requests are stale, nothing of them runs"))?;
        }
        AdminReply::Invited { name, expires_at, invite } => {
            say(&format!("the invite for `{name}` works once, until {expires_at}:\n{invite}"))?;
        }
        AdminReply::Admission(_) | AdminReply::RecoveryAnnounced { .. } => say("done")?,
        AdminReply::Table { toml } => say(toml.trim_end())?,
        AdminReply::Refused { code, message } => return refused(&code, &message),
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(code: &str, message: &str) -> Outcome {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "vidimus-gate: {message} [{code}]")?;
    Ok(ExitCode::FAILURE)
}

fn say(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

fn fail(error: &dyn Error) -> ExitCode {
    let mut stderr = std::io::stderr().lock();
    // Nowhere is left to report that this failed.
    let _ = writeln!(stderr, "vidimus-gate: {}", chain(error));
    ExitCode::FAILURE
}
