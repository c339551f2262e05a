//! Pages as the input of a program, as of one that sends a mail.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use vidimus_core::page::PageOutcome;

use super::PagingError;
use crate::limits::PAGE_COMMAND_S_MAX;

/// What a program needs of the gate's own environment. Nothing else goes along: credentials of providers stand there.
const PASSED_ON: &[&str] = &["PATH", "HOME", "LANG", "TZ"];

/// A program that takes pages.
pub(super) struct Command {
    program: PathBuf,
}

impl Command {
    pub(super) fn new(program: PathBuf) -> Result<Command, PagingError> {
        let runs = std::fs::metadata(&program).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
        if runs && program.is_absolute() { Ok(Command { program }) } else { Err(PagingError::CommandUnusable(program)) }
    }

    /// Runs the program with the page on its standard input; it has taken it when it ends with success in time.
    pub(super) async fn deliver(&self, body: &[u8]) -> PageOutcome {
        let run = tokio::time::timeout(Duration::from_secs(PAGE_COMMAND_S_MAX), self.run(body));
        match run.await {
            Ok(Ok(true)) => PageOutcome::Delivered,
            Ok(Ok(false)) => PageOutcome::Failed,
            Ok(Err(error)) => {
                crate::logging::failure("the page command could not be run", &error);
                PageOutcome::Failed
            }
            Err(_) => {
                tracing::error!(seconds = PAGE_COMMAND_S_MAX, "the page command took too long and was ended");
                PageOutcome::Failed
            }
        }
    }

    async fn run(&self, body: &[u8]) -> std::io::Result<bool> {
        let mut command = tokio::process::Command::new(&self.program);
        command.env_clear().envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends without reading has its own way to know; its status tells.
            let _ = stdin.write_all(body).await;
            drop(stdin);
        }
        Ok(child.wait().await?.success())
    }
}
