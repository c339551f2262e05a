//! The command line, as it is read.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use vidimus_core::ids::{Environment, Name, PersonId, RequestId};

use crate::paging::SecretPlace;

/// Routes tool calls, holds what spends or commits until people have signed it, executes once.
#[derive(Debug, Parser)]
#[command(name = "vidimus-gate", version, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the gate's program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a gate: its keys, its database, the invite of its first admin
    Init(Init),
    /// Run the gate
    Serve(Serve),
    /// Agents and their credentials
    Agent {
        /// What to do.
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// People who decide
    Approver {
        /// What to do.
        #[command(subcommand)]
        command: ApproverCommand,
    },
    /// The main job, end to end: a fixture company, a gate, an agent, the console
    #[cfg(feature = "demo")]
    Demo(crate::demo::Demo),
    /// Admit a person by the recovery key, a day after everybody was told, unless an admin objects
    Recover(Recover),
    /// The effect table
    Table {
        /// What to do.
        #[command(subcommand)]
        command: TableCommand,
    },
}

/// `init`
#[derive(Debug, Args)]
pub struct Init {
    /// The folder of the gate's data; made if it is absent
    #[arg(long)]
    pub data: PathBuf,
    /// The effect table, TOML
    #[arg(long)]
    pub table: PathBuf,
    /// Whether the tools touch the real world: `live` or `test`; for ever
    #[arg(long)]
    pub environment: Environment,
    /// Where consoles reach the gate: `https://…`, or `http://127.0.0.1:PORT`
    #[arg(long)]
    pub url: String,
    /// The first admin's name
    #[arg(long, default_value = "First admin")]
    pub admin_name: String,
    /// A role of the first admin beside `admin`; may be given several times
    #[arg(long = "admin-role")]
    pub admin_roles: Vec<Name>,
}

/// `serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
    /// The folder of the files that rows may name as `credential = "file:NAME"`; without it, `credentials` in the data folder
    #[arg(long)]
    pub credentials: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:7340")]
    pub listen: SocketAddr,
    /// The certificate chain, PEM
    #[arg(long, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM
    #[arg(long, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A proxy in front of the gate speaks TLS, and nobody else reaches this address
    #[arg(long, conflicts_with = "tls_cert")]
    pub trusted_proxy: bool,
    /// Seconds after which people are told again of what waits for them and nobody has opened
    #[arg(long, default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub page_repeat_s: u64,
    /// An address that is told too, by signed requests (Standard Webhooks): `https://…`, or on this machine
    #[arg(long, requires = "page_webhook_secret")]
    pub page_webhook: Option<String>,
    /// Where the webhook's secret is found: `env:NAME` or `file:PATH`; the secret itself is `whsec_…`
    #[arg(long, requires = "page_webhook")]
    pub page_webhook_secret: Option<SecretPlace>,
    /// A program that gets each page as JSON on its standard input, as one that sends a mail
    #[arg(long)]
    pub page_command: Option<PathBuf>,
}

/// `agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Give an agent its credential, which is printed once
    Add(AgentAdd),
    /// Take an agent's credential back; what it asked for and nothing has used yet does not run
    Revoke(AgentRevoke),
}

/// `agent revoke`
#[derive(Debug, Args)]
pub struct AgentRevoke {
    /// The agent's name
    pub name: Name,
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
}

/// `agent add`
#[derive(Debug, Args)]
pub struct AgentAdd {
    /// The agent's name, as in the effect table's lists
    pub name: Name,
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
    /// The person who answers for it, and who therefore never decides on its requests
    #[arg(long, required_unless_present = "no_owner", conflicts_with = "no_owner")]
    pub owner: Option<PersonId>,
    /// Nobody enrolled here answers for it: its requests are then nobody's own. To be said, never assumed
    #[arg(long)]
    pub no_owner: bool,
    /// The agent that sends it
    #[arg(long)]
    pub parent: Option<Name>,
}

/// `approver …`
#[derive(Debug, Subcommand)]
pub enum ApproverCommand {
    /// Make a one-time invite for a person
    Invite(ApproverInvite),
    /// Make a one-time invite for another desktop of a person in the roster
    Device(ApproverDevice),
}

/// `approver device`
#[derive(Debug, Args)]
pub struct ApproverDevice {
    /// The person's id
    pub person: PersonId,
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
}

/// `recover`
#[derive(Debug, Args)]
pub struct Recover {
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
    /// The waiting request to admit a person
    #[arg(long)]
    pub request: RequestId,
    /// The file with the recovery key that `init` printed; `-` reads it from standard input. Without it, whom the request would admit is shown, and nothing is signed
    #[arg(long, requires = "fingerprints", requires = "roles")]
    pub key: Option<PathBuf>,
    /// The fingerprint of a key, as the window of the person who enrols shows it; to be given for each of the two
    #[arg(long = "fingerprint")]
    pub fingerprints: Vec<String>,
    /// A role that the person is to hold; to be given for each
    #[arg(long = "role")]
    pub roles: Vec<Name>,
}

/// `approver invite`
#[derive(Debug, Args)]
pub struct ApproverInvite {
    /// The person's name
    pub name: String,
    /// The folder of the gate's data
    #[arg(long)]
    pub data: PathBuf,
    /// A role that the person will hold; may be given several times
    #[arg(long = "role", required = true)]
    pub roles: Vec<Name>,
}

/// `table …`
#[derive(Debug, Subcommand)]
pub enum TableCommand {
    /// Check a file; every fault is printed with its line and rule
    Check {
        /// The file
        file: PathBuf,
    },
    /// Print the table in force
    Show {
        /// The folder of the gate's data
        #[arg(long)]
        data: PathBuf,
    },
}
