//! The administration socket: what the command line asks of a gate that runs, and does by itself when none does.

use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use vidimus_api::invite::{Invite, InviteKind, code_sha256};
use vidimus_api::limits::INVITE_TTL_S;
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId, Name, PersonId, RequestId};
use vidimus_core::recovery::admission_to_json;
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;
use vidimus_store::{AddAgent, AgentAdded, AgentRevoked, InviteOutcome, RecoveryOutcome, StatementRefused, StoreError};

use crate::clock;
use crate::entropy::{self, Bearer, NoEntropy};
use crate::gate::{Gate, StartError};
use crate::limits::{ACCEPT_PAUSE_MS, ADMIN_LINE_BYTES_MAX, ADMIN_S_MAX};

/// What is asked, one JSON line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum AdminCommand {
    /// Give an agent its credential.
    AddAgent {
        /// Its name.
        agent: Name,
        /// The person who answers for it.
        owner: Option<PersonId>,
        /// The agent that sends it.
        parent: Option<Name>,
    },
    /// Take an agent's credential back.
    RevokeAgent {
        /// Its name.
        agent: Name,
    },
    /// Make an invite.
    Invite {
        /// The person's name.
        name: String,
        /// The roles offered.
        roles: Vec<Name>,
    },
    /// Make an invite for another desktop.
    InviteDevice {
        /// Whose desktop.
        person: PersonId,
    },
    /// Say what a waiting request to admit a person asks for.
    WaitingAdmission {
        /// The request.
        request: RequestId,
    },
    /// Announce a recovery.
    AnnounceRecovery {
        /// The `recovery` statement.
        envelope: String,
    },
    /// Say the table in force.
    ShowTable,
}

/// What comes back, one JSON line. It holds secrets that are shown once, so it has no `Debug`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum AdminReply {
    /// The agent may call.
    AgentAdded {
        /// Its name.
        agent: Name,
        /// Its credential.
        credential: String,
    },
    /// The agent may call no more.
    AgentRevoked {
        /// Its name.
        agent: Name,
        /// Its requests that are stale with it.
        ended: usize,
    },
    /// The invite works.
    Invited {
        /// The person's name.
        name: String,
        /// When it ends.
        expires_at: Timestamp,
        /// The line to hand over.
        invite: String,
    },
    /// What a waiting request asks for.
    Admission(WaitingAdmission),
    /// Everybody is told of the recovery.
    RecoveryAnnounced {
        /// Its digest.
        recovery_sha256: Digest,
        /// From when it takes effect.
        effective_at: Timestamp,
    },
    /// The table in force.
    Table {
        /// The text of its file.
        toml: String,
    },
    /// A rule says no.
    Refused {
        /// The stable code.
        code: String,
        /// Why.
        message: String,
    },
}

/// What the recovery key is to sign.
#[derive(Serialize, Deserialize)]
pub struct WaitingAdmission {
    /// The gate.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// The admission, in canonical form.
    pub admission: String,
}

impl From<Refusal> for AdminReply {
    fn from(refusal: Refusal) -> AdminReply {
        AdminReply::Refused { code: refusal.code.as_str().to_owned(), message: refusal.message }
    }
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The socket failed.
    #[error("the running gate did not answer on its administration socket; look at its log")]
    Socket(#[source] io::Error),
    /// It said something else.
    #[error("the running gate answered in another version's words; use the program of the running gate")]
    Words(#[source] serde_json::Error),
    /// No gate runs, and none can be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// No signed head covers what was done.
    #[error("it is done, but no signed head covers it; mend the folder of the keys and start the gate before anything else")]
    Uncovered,
    /// The address of the gate is not known.
    #[error("the gate's address is not known; write it into the file `url` of the data folder")]
    Url(#[source] io::Error),
    /// A document of the gate's own is refused.
    #[error("the invite cannot be written")]
    Invite(#[source] Refusal),
    /// A document of the gate's own cannot be read.
    #[error("a document of the gate's own cannot be read")]
    Document(#[source] Refusal),
}

/// The socket of a data folder.
pub fn socket(data: &Path) -> PathBuf {
    data.join("admin.sock")
}

/// Whether consoles could reach a gate at this address: TLS, or this machine.
pub fn reachable_url(url: &str) -> bool {
    let Ok(parsed) = url.parse::<reqwest::Url>() else { return false };
    let loopback = match parsed.host() {
        Some(host) => matches!(host.to_string().as_str(), "localhost" | "[::1]") || host.to_string().starts_with("127."),
        None => return false,
    };
    parsed.query().is_none() && parsed.fragment().is_none() && (parsed.scheme() == "https" || (parsed.scheme() == "http" && loopback))
}

/// Keeps the address that invites name.
///
/// *Errors*: those of the file.
pub fn write_url(data: &Path, url: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(data.join("url"))?;
    io::Write::write_all(&mut file, format!("{url}\n").as_bytes())
}

/// Binds the socket, for this user only. A file that an ended gate left behind is replaced: the database's lock has shown
/// that no other gate runs.
///
/// *Errors*: those of the file system.
pub fn bind(socket: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(socket) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers on the socket until the gate ends.
pub async fn serve(listener: UnixListener, gate: Arc<Gate>, data: PathBuf) {
    loop {
        let accepted = tokio::select! {
            () = gate.ending.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors: trying again at once would only spin.
            tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            continue;
        };
        // One at a time: the command line is one person.
        let exchange = tokio::time::timeout(Duration::from_secs(ADMIN_S_MAX), converse(stream, &gate, &data));
        match exchange.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => crate::logging::failure("an administration command failed", &error),
            Err(_) => tracing::warn!("an administration command took too long"),
        }
    }
}

async fn converse(stream: UnixStream, gate: &Gate, data: &Path) -> Result<(), AdminError> {
    let (read, mut write) = stream.into_split();
    let line = read_line(read).await?;
    let command = serde_json::from_str(&line).map_err(AdminError::Words)?;
    let reply = perform(gate, data, command).await?;
    let mut line = serde_json::to_string(&reply).map_err(AdminError::Words)?;
    line.push('\n');
    write.write_all(line.as_bytes()).await.map_err(AdminError::Socket)
}

/// Asks the running gate, or does it here when none runs.
///
/// *Errors*: `AdminError`.
pub async fn ask(data: &Path, command: AdminCommand) -> Result<AdminReply, AdminError> {
    match UnixStream::connect(socket(data)).await {
        Ok(stream) => {
            let (read, mut write) = stream.into_split();
            let mut line = serde_json::to_string(&command).map_err(AdminError::Words)?;
            line.push('\n');
            write.write_all(line.as_bytes()).await.map_err(AdminError::Socket)?;
            let line = tokio::time::timeout(Duration::from_secs(ADMIN_S_MAX), read_line(read));
            let line = line.await.map_err(|_| AdminError::Socket(io::ErrorKind::TimedOut.into()))??;
            serde_json::from_str(&line).map_err(AdminError::Words)
        }
        Err(_) => {
            // The database's lock decides whether really none runs.
            let gate = Gate::open(data, None).await?;
            let reply = perform(&gate, data, command).await;
            // What was done is under a signed head before it is told: an older copy of the database does not undo it.
            let at_once = CancellationToken::new();
            at_once.cancel();
            gate.checkpoints.run(&gate.store, &gate.keys, &gate.head_file, &at_once).await;
            let covered = gate.checkpoints.uncovered() == 0;
            gate.store.close();
            if covered { reply } else { Err(AdminError::Uncovered) }
        }
    }
}

async fn read_line(read: tokio::net::unix::OwnedReadHalf) -> Result<String, AdminError> {
    let mut line = String::new();
    let mut bounded = BufReader::new(read.take(ADMIN_LINE_BYTES_MAX as u64));
    bounded.read_line(&mut line).await.map_err(AdminError::Socket)?;
    if line.ends_with('\n') { Ok(line) } else { Err(AdminError::Socket(io::ErrorKind::UnexpectedEof.into())) }
}

async fn perform(gate: &Gate, data: &Path, command: AdminCommand) -> Result<AdminReply, AdminError> {
    match command {
        AdminCommand::AddAgent { agent, owner, parent } => {
            let credential = Bearer::of_agent()?;
            let add = AddAgent { agent: agent.clone(), owner, parent, credential_sha256: credential.digest() };
            Ok(match gate.store.add_agent(gate.moment()?, add).await? {
                AgentAdded::Added => AdminReply::AgentAdded { agent, credential: credential.reveal() },
                AgentAdded::Refused(refusal) => refusal.into(),
            })
        }
        AdminCommand::RevokeAgent { agent } => Ok(match gate.store.revoke_agent(gate.moment()?, agent.clone()).await? {
            AgentRevoked::Revoked { ended } => {
                gate.bell.ring_all();
                AdminReply::AgentRevoked { agent, ended }
            }
            AgentRevoked::Refused(refusal) => refusal.into(),
        }),
        AdminCommand::Invite { name, roles } => invite(gate, data, InviteKind::Person, entropy::person_id()?, name, roles).await,
        AdminCommand::InviteDevice { person } => {
            let roster = gate.store.roster().await?.map(|view| Roster::parse(view.text.as_bytes())).transpose();
            let roster = roster.map_err(AdminError::Document)?;
            let Some(known) = roster.as_ref().and_then(|roster| roster.person(&person)) else {
                let message = format!("`{person}` is not in the roster; invite a new person with `approver invite`");
                return Ok(Refusal::new(Code::InviteInvalid, message).into());
            };
            invite(gate, data, InviteKind::Device, person, known.name.clone(), known.roles.iter().cloned().collect()).await
        }
        AdminCommand::WaitingAdmission { request } => {
            let Some(admission) = gate.store.waiting_admission(request).await? else {
                return Ok(Refusal::new(Code::NotFound, "no such request waits to admit a person; look at its id").into());
            };
            let admission = admission_to_json(&admission).canonical().map_err(AdminError::Document)?;
            let admission = String::from_utf8_lossy(&admission).into_owned();
            Ok(AdminReply::Admission(WaitingAdmission { gate: gate.identity.gate, environment: gate.identity.environment, admission }))
        }
        AdminCommand::AnnounceRecovery { envelope } => {
            let envelope = match Envelope::parse(envelope.as_bytes()) {
                Ok(envelope) => envelope,
                Err(refusal) => return Ok(refusal.into()),
            };
            let key_sha256 = Some(envelope.key_digest());
            Ok(match gate.store.announce_recovery(gate.moment()?, envelope).await? {
                RecoveryOutcome::Announced { recovery_sha256, effective_at } => {
                    AdminReply::RecoveryAnnounced { recovery_sha256, effective_at }
                }
                RecoveryOutcome::Refused(refusal) => {
                    let refused = StatementRefused { statement: "recovery", key_sha256, refusal: refusal.clone() };
                    gate.store.refuse_statement(gate.moment()?, refused).await?;
                    refusal.into()
                }
            })
        }
        AdminCommand::ShowTable => {
            let table = gate.store.table().await?;
            Ok(AdminReply::Table { toml: table.map(|table| table.toml).unwrap_or_default() })
        }
    }
}

async fn invite(
    gate: &Gate,
    data: &Path,
    kind: InviteKind,
    person: PersonId,
    name: String,
    roles: Vec<Name>,
) -> Result<AdminReply, AdminError> {
    let stored_kind = match kind {
        InviteKind::Genesis => vidimus_store::InviteKind::Genesis,
        InviteKind::Person => vidimus_store::InviteKind::Person,
        InviteKind::Device => vidimus_store::InviteKind::Device,
    };
    let url = fs::read_to_string(data.join("url")).map_err(AdminError::Url)?.trim().to_owned();
    let code = entropy::nonce()?;
    let expires_at = clock::now().plus_s(INVITE_TTL_S);
    let invite = Invite {
        url,
        gate: gate.identity.gate,
        environment: gate.identity.environment,
        log_key: gate.identity.log_key,
        code,
        kind,
        person: (kind == InviteKind::Device).then_some(person),
        name: name.clone(),
        roles: roles.iter().map(ToString::to_string).collect(),
        expires_at,
    };
    let line = invite.to_line().map_err(AdminError::Invite)?;
    let stored =
        vidimus_store::Invite { code_sha256: code_sha256(&code), kind: stored_kind, person, name: name.clone(), roles, expires_at };
    Ok(match gate.store.create_invite(gate.moment()?, stored).await? {
        InviteOutcome::Created => AdminReply::Invited { name, expires_at, invite: line },
        InviteOutcome::Refused(refusal) => refusal.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_reaches_this_machine_only() {
        for url in ["https://gate.example.test", "http://127.0.0.1:7340", "http://localhost:1", "http://[::1]:1"] {
            assert!(reachable_url(url), "{url}");
        }
        for url in ["http://gate.example.test", "http://0.0.0.0:1", "ftp://127.0.0.1", "127.0.0.1:1", "", "https://x.test/?a=1"] {
            assert!(!reachable_url(url), "{url}");
        }
    }
}
