//! What a log says of its operations, checked from beginning to end: a final state that only people can give has their
//! signed answers, and the ledger's rows stand where the log has them.

use std::collections::HashMap;

use rusqlite::Connection;
use vidimus_core::code::Refusal;
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::Name;
use vidimus_core::operation::{self, Operation, OperationKey, OperationState};
use vidimus_core::reconciliation::{self, GivenAnswer, Subject};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::Roster;

use crate::rows::StoredRequest;
use crate::verification::{VerifyError, contradicted, unsigned};

/// One operation, as far as the log has been read.
#[derive(Default)]
struct Known {
    state: Option<OperationState>,
    /// Owner and agent of a write.
    write: Option<(Vec<Name>, Option<String>)>,
    answers: Vec<GivenAnswer>,
}

/// The operations of a log, as far as it has been read.
#[derive(Default)]
pub(crate) struct Operations(HashMap<OperationKey, Known>);

impl Operations {
    /// Takes the next record. `chain` gives an agent with everyone who sent it.
    pub(crate) fn take(
        &mut self,
        db: &Connection,
        position: u64,
        record: &AuditRecord,
        roster: Option<&Roster>,
        chain: impl Fn(&str) -> Vec<ChainLink>,
    ) -> Result<(), VerifyError> {
        let Some(operation) = record.operation else { return Ok(()) };
        if record.record_type == RecordType::ReconciliationRecorded {
            return self.answered(position, operation, record, roster);
        }
        if record.record_type == RecordType::OperationChanged {
            return self.changed(db, position, operation, record, roster, chain);
        }
        let known = self.0.entry(operation).or_default();
        if record.record_type == RecordType::WriteIntended {
            known.state = Some(OperationState::Executing);
            known.write = Some((record.roles.clone(), record.claim("agent").map(str::to_owned)));
        } else if record.record_type == RecordType::WriteExecuted {
            known.state = Some(OperationState::Succeeded);
        } else if record.record_type == RecordType::WriteFailed {
            known.state = Some(OperationState::Failed);
        } else if record.record_type == RecordType::WriteUnknown {
            known.state = Some(OperationState::Unknown);
        }
        Ok(())
    }

    fn answered(
        &mut self,
        position: u64,
        operation: OperationKey,
        record: &AuditRecord,
        roster: Option<&Roster>,
    ) -> Result<(), VerifyError> {
        let what = || format!("the answer at {position}");
        let (Some(roster), [envelope]) = (roster, record.envelopes.as_slice()) else {
            return contradicted(format!("{} is signed by nobody", what()));
        };
        let verified = reconciliation::verify(envelope, roster).map_err(unsigned(what()))?;
        let statement = verified.statement();
        let amount = statement.amount_minor.map(|amount| amount.to_string());
        let same = statement.operation == operation
            && record.request == statement.request
            && record.claim("answer") == Some(statement.answer.as_str())
            && record.claim("amount_minor") == amount.as_deref()
            && record.claim("approver") == Some(&statement.approver.to_string())
            && record.claim("role") == Some(statement.role.as_str());
        if !same {
            return contradicted(format!("{} is not the one that was signed", what()));
        }
        self.0.entry(operation).or_default().answers.push(verified.given());
        Ok(())
    }

    fn changed(
        &mut self,
        db: &Connection,
        position: u64,
        operation: OperationKey,
        record: &AuditRecord,
        roster: Option<&Roster>,
        chain: impl Fn(&str) -> Vec<ChainLink>,
    ) -> Result<(), VerifyError> {
        let known = self.0.entry(operation).or_default();
        let state: Option<OperationState> = record.claim("state").and_then(|state| state.parse().ok());
        let Some(state) = state else { return contradicted(format!("the change at {position} leads to no state")) };
        if known.state.is_some() && record.claim("from") != known.state.map(OperationState::as_str) {
            return contradicted(format!("the change at {position} does not follow from the one before"));
        }
        let by_people = known.state == Some(OperationState::NeedsReconciliation) && state.is_final();
        if by_people || matches!(state, OperationState::Partial | OperationState::NotHappened) {
            let what = || format!("the state at {position}");
            let Some(roster) = roster else { return contradicted(format!("{} is signed by nobody", what())) };
            let request = record.request.map(|request| StoredRequest::load(db, &request)).transpose()?.flatten();
            let agents = known.write.as_ref().and_then(|(_, agent)| agent.as_deref()).map(chain).unwrap_or_default();
            let subject = match (&request, &known.write) {
                (Some(request), _) => Subject::Request(&request.frozen),
                (None, Some((roles, _))) if !roles.is_empty() => Subject::Write { owner: &roles[0], agents: &agents },
                (None, _) => return contradicted(format!("{} is of an operation that nobody asked for", what())),
            };
            let given = known.answers.last().and_then(|answer| answer.answer.input());
            let leads_here = given.is_some_and(|input| {
                let open = Operation { state: OperationState::NeedsReconciliation, attempt: 1 };
                operation::apply(open, input).is_ok_and(|next| next.state == state)
            });
            if !leads_here || !reconciliation::tally(&subject, &known.answers, roster).reached {
                return contradicted(format!("{} is one that only people can give, and too few of them signed it", what()));
            }
        }
        known.state = Some(state);
        Ok(())
    }

    /// Whether each row of the ledger stands where the log has it.
    pub(crate) fn finish(&self, db: &Connection) -> Result<(), VerifyError> {
        let mut statement = db.prepare("SELECT operation, state FROM operations")?;
        let mut rows = statement.query([])?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            let (operation, state): (String, String) = (row.get(0)?, row.get(1)?);
            let key: Result<OperationKey, Refusal> = operation.parse();
            let known = key.ok().and_then(|key| self.0.get(&key)).and_then(|known| known.state);
            if known.map(OperationState::as_str) != Some(state.as_str()) {
                return contradicted(format!("the operation `{operation}` is not where the log has it"));
            }
            found += 1;
        }
        if found == self.0.values().filter(|known| known.state.is_some()).count() {
            return Ok(());
        }
        contradicted("an operation that is on record is gone")
    }
}
