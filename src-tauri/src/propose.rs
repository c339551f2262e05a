//! `vidimus propose-table FILE`: hands a table to the gate, as the person of this desktop. No window; the device key opens
//! the session, and nothing is signed but that.

use std::path::Path;

use vidimus_api::client::{ClientError, GateClient};
use vidimus_api::problem::Problem;
use vidimus_api::session::SessionChallengeRequest;
use vidimus_api::table::{TableProposal, TableProposed};
use vidimus_core::sign::SecretKey;
use vidimus_core::table::{Table, TableFault};

use crate::enrolment::Kept;
use crate::keys::{KeyError, Keyring};
use crate::link;
use crate::profile::Profile;

/// Why nothing was proposed.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    #[error("`{0}` cannot be read; give the path of an effect table in TOML")]
    Unreadable(String, #[source] std::io::Error),
    #[error("the table has {} faults; mend them first:\n{}", .0.len(), listed(.0))]
    Faulty(Vec<TableFault>),
    #[error("this console is not enrolled; enrol it first, in its window")]
    NotEnrolled,
    #[error("the keyring did not give the device key of this console")]
    Key(#[source] KeyError),
    #[error("the device key in the keyring is not the one that was enrolled; enrol this desktop again")]
    KeyForeign,
    #[error("the gate refuses: {}{}", .0.detail, faults_of(.0))]
    Refused(Box<Problem>),
    #[error("the gate cannot be reached; check its address and try again")]
    Gate(#[source] ClientError),
}

fn listed(faults: &[TableFault]) -> String {
    faults.iter().map(|fault| format!("  {fault}")).collect::<Vec<_>>().join("\n")
}

fn faults_of(problem: &Problem) -> String {
    let line = |fault: &vidimus_api::problem::Fault| {
        let (line, rule) = (fault.line.unwrap_or(0), fault.rule.as_deref().unwrap_or_default());
        format!("\n  line {line}: {}: {} [{rule}]", fault.path, fault.message)
    };
    format!(" [{}]{}", problem.code, problem.errors.iter().map(line).collect::<String>())
}

impl From<ClientError> for ProposeError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => Self::Refused(problem),
            other @ (ClientError::Unreachable(_) | ClientError::Unreadable { .. } | ClientError::AddressMalformed { .. }) => {
                Self::Gate(other)
            }
        }
    }
}

/// Proposes the table of a file. Gives what is said about it.
pub async fn table(profile: &Profile, file: &Path) -> Result<String, ProposeError> {
    let text = std::fs::read_to_string(file).map_err(|error| ProposeError::Unreadable(file.display().to_string(), error))?;
    // Here first: whoever mends a table does not need the gate for it.
    Table::parse(&text).map_err(ProposeError::Faulty)?;
    let membership = Kept::load(profile).and_then(|kept| kept.membership().cloned()).ok_or(ProposeError::NotEnrolled)?;
    let keyring = Keyring::new(profile.keyring_service());
    let seed = keyring.device_key(&membership.binding(profile)).map_err(ProposeError::Key)?;
    let device = SecretKey::from_seed(&seed);
    if device.public() != membership.device_key {
        return Err(ProposeError::KeyForeign);
    }
    let gate = GateClient::new(&membership.url)?;
    let challenge = gate.session_challenge(&SessionChallengeRequest { key_sha256: device.public().digest() }).await?;
    let request = link::session_request(&membership, &device, &challenge).ok_or(ProposeError::KeyForeign)?;
    let client = gate.with_session(gate.open_session(&request).await?.session);
    Ok(said(&client.propose_table(&TableProposal { table: text }).await?))
}

fn said(proposed: &TableProposed) -> String {
    let needs: Vec<String> = proposed.needs.iter().map(|need| format!("{} × {}", need.quorum, need.role)).collect();
    let mut lines = vec![format!("{} waits for {}", proposed.request, needs.join(" and "))];
    if !proposed.tools.is_empty() {
        lines.push(format!("rows: {}", proposed.tools.join(", ")));
    }
    if !proposed.agents.is_empty() {
        lines.push(format!("agents' lists: {}", proposed.agents.join(", ")));
    }
    lines.push(format!("table_sha256 {}", proposed.table_sha256));
    lines.join("\n")
}

/// An error with its reasons, in one line each.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        text.push_str(&format!("\n  because {reason}"));
        source = reason.source();
    }
    text
}
