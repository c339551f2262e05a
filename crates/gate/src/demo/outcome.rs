//! The verdict: the log as the demo leaves it, and whether the provider's counts are what was approved.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::{Value, json};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_tests::company::{Tool, agent::Told};

use super::stage::Stage;
use super::transcript::Transcript;
use super::{DemoError, everything};
use crate::gate::Gate;

/// Records that are read at once.
const PAGE: usize = 500;

/// The company's tools whose effects need a person.
const MONEY: [Tool; 6] =
    [Tool::CrmSetStatus, Tool::SendEmail, Tool::Refund, Tool::CancelSubscription, Tool::WireTransfer, Tool::IssueCredit];

/// Writes the log into the transcript, compares the counts with the log's executions, and says the verdict.
///
/// *Errors*: the ended gate's folder cannot be read, the company does not answer.
pub async fn judge(stage: &Stage, transcript: &Transcript, told: &[Told]) -> Result<ExitCode, DemoError> {
    let gate = Gate::open(&stage.home.data(), None).await?;
    let mut approvals: BTreeMap<String, usize> = BTreeMap::new();
    let mut from = 0;
    loop {
        let records = gate.store.records(from, PAGE, everything()?).await?;
        let Some(last) = records.last() else { break };
        from = last.position + 1;
        for record in &records {
            let found = AuditRecord::parse(record.leaf.as_bytes()).map_err(DemoError::Refused)?;
            write(transcript, record.position, &record.leaf, &found)?;
            if found.record_type == RecordType::DecisionRecorded && found.claim("state") == Some("approved") {
                let tool = match found.request {
                    Some(request) => {
                        gate.store.request(request, everything()?).await?.map(|view| view.tool.to_string()).unwrap_or_default()
                    }
                    None => String::new(),
                };
                *approvals.entry(tool).or_default() += 1;
            }
        }
    }
    let mut exact = true;
    for tool in MONEY {
        let counted = stage.count(tool).await?;
        let approved = approvals.get(tool.name()).copied().unwrap_or(0);
        exact &= counted == approved;
        if counted > 0 || approved > 0 {
            transcript.say(&format!("`{}`: approved {approved}, the provider counts {counted}", tool.name()));
        }
    }
    let denied = told.iter().any(|told| told.status == "denied" && told.denial.is_some());
    let approved = told.iter().filter(|told| told.status == "executed").count() == 1;
    let good = exact && denied && approved;
    transcript.line("verdict", json!({ "counts_exact": exact, "one_approved": approved, "one_denied": denied }))?;
    transcript.say(if good { "the provider's counts are exactly what was approved" } else { "NOT as it must be: see the transcript" });
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line of the transcript for a record that the demo's reader looks for.
fn write(transcript: &Transcript, position: u64, leaf: &str, record: &AuditRecord) -> Result<(), DemoError> {
    let kind = match record.record_type {
        RecordType::RequestCreated => "request",
        RecordType::DecisionRecorded | RecordType::DecisionRefused => "decision",
        RecordType::TokenMinted | RecordType::TokenRedeemed | RecordType::TokenRefused => "token",
        RecordType::OperationChanged => "execution",
        RecordType::GateInitialised
        | RecordType::RosterChanged
        | RecordType::RecoveryAnnounced
        | RecordType::RecoveryVetoed
        | RecordType::RecoveryRefused
        | RecordType::StatementRefused
        | RecordType::RequestUnanswerable
        | RecordType::TableChanged
        | RecordType::InviteCreated
        | RecordType::EnrolmentRefused
        | RecordType::AgentAdded
        | RecordType::AgentRevoked
        | RecordType::RequestOrphaned
        | RecordType::RequestEscalated
        | RecordType::SessionOpened
        | RecordType::SessionRefused
        | RecordType::CallRefused
        | RecordType::ReadExecuted
        | RecordType::WriteIntended
        | RecordType::WriteExecuted
        | RecordType::WriteFailed
        | RecordType::WriteUnknown
        | RecordType::RequestExpired
        | RecordType::RequestWithdrawn
        | RecordType::RequestStale
        | RecordType::ReconciliationRecorded
        | RecordType::ReconciliationRefused
        | RecordType::EvidenceRecorded
        | RecordType::OperationOpened
        | RecordType::PageSent
        | RecordType::TimeSkipped
        | RecordType::Heartbeat => "record",
    };
    // For people and scripts that read the transcript: the leaf itself stands in the log.
    let leaf: Value = serde_json::from_str(leaf).unwrap_or(Value::Null);
    transcript.line_at(kind, &record.at.to_string(), json!({ "position": position, "type": record.record_type.as_str(), "leaf": leaf }))?;
    Ok(())
}
