//! What a log says of its operations, checked from beginning to end: a final state that only people can give has their
//! signed answers, and each change follows from the one before.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::ChainLink;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{self, Operation, OperationKey, OperationState};
use vidimus_core::reconciliation::{self, Subject};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::roster::Roster;

use crate::on_record::WriteOnRecord;
use crate::rows::StoredRequest;
use crate::verification::{VerifyError, contradicted, unsigned};

/// One operation, as far as the log has been read.
#[derive(Default)]
struct Known {
    state: Option<OperationState>,
    /// Who sent a write and who answers for it, as it was first intended.
    write: Option<WriteOnRecord>,
    /// What people signed, while it can still move something.
    answers: Vec<Envelope>,
}

/// The operations of a log, as far as it has been read.
#[derive(Default)]
pub(crate) struct Operations {
    known: HashMap<OperationKey, Known>,
    /// Requests that were passed on.
    escalated: HashSet<RequestId>,
    /// What answers were signed over.
    challenges: HashSet<[u8; 32]>,
}

impl Operations {
    /// Takes the next record. `chain` gives an agent with everyone who sent it, as they stand.
    pub(crate) fn take(
        &mut self,
        db: &Connection,
        position: u64,
        record: &AuditRecord,
        roster: Option<&Roster>,
        chain: impl Fn(&str) -> Option<Vec<ChainLink>>,
    ) -> Result<(), VerifyError> {
        if record.record_type == RecordType::RequestEscalated {
            self.escalated.extend(record.request);
        }
        let Some(operation) = record.operation else { return Ok(()) };
        if record.record_type == RecordType::ReconciliationRecorded {
            return self.answered(position, operation, record, roster);
        }
        if record.record_type == RecordType::OperationChanged {
            return self.changed(db, position, operation, record, roster);
        }
        let known = self.known.entry(operation).or_default();
        if record.record_type == RecordType::WriteIntended {
            known.state = Some(OperationState::Executing);
            let what = || format!("the write that was intended at {position}");
            let write = WriteOnRecord::of(record).map_err(unsigned(what()))?;
            let sent_by = record.claim("agent").and_then(chain);
            if sent_by.as_ref() != Some(&write.agents) || known.write.get_or_insert_with(|| write.clone()).agents != write.agents {
                return contradicted(format!("{} names other agents than those that stood behind it", what()));
            }
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
        if !self.challenges.insert(*statement.challenge.as_bytes()) {
            return contradicted(format!("{} rests on a challenge that was used before", what()));
        }
        self.known.entry(operation).or_default().answers.push(envelope.clone());
        Ok(())
    }

    fn changed(
        &mut self,
        db: &Connection,
        position: u64,
        operation: OperationKey,
        record: &AuditRecord,
        roster: Option<&Roster>,
    ) -> Result<(), VerifyError> {
        let known = self.known.entry(operation).or_default();
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
            let subject = match (&request, &known.write) {
                (Some(request), _) => Subject::Request { frozen: &request.frozen, escalated: self.escalated.contains(&request.request) },
                (None, Some(WriteOnRecord { roles, agents })) if !roles.is_empty() => Subject::Write { owner: &roles[0], agents },
                (None, _) => return contradicted(format!("{} is of an operation that nobody asked for", what())),
            };
            let answers = reconciliation::given_on_record(&known.answers, &operation, &subject, roster).map_err(unsigned(what()))?;
            let given = answers.last().and_then(|answer| answer.answer.input());
            let leads_here = given.is_some_and(|input| {
                let open = Operation { state: OperationState::NeedsReconciliation, attempt: 1 };
                operation::apply(open, input).is_ok_and(|next| next.state == state)
            });
            if !leads_here || !reconciliation::tally(&subject, &answers, roster).reached {
                return contradicted(format!("{} is one that only people can give, and too few of them signed it", what()));
            }
            // What is settled stays so; what is said afterwards moves nothing.
            known.answers = Vec::new();
        }
        known.state = Some(state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use vidimus_core::ids::{Environment, Name, PersonId};
    use vidimus_core::json::Json;
    use vidimus_core::operation::WriteCaller;
    use vidimus_core::roster::Admission;
    use vidimus_core::sign::SecretKey;
    use vidimus_core::time::Timestamp;

    use super::*;

    fn roster() -> Roster {
        let key = |seed| SecretKey::from_seed(&[seed; 32]).public();
        let name = |text| Name::parse(text).expect("a name");
        let first = Admission {
            person: PersonId::from_random([1; 16]),
            name: "Ada Example".to_owned(),
            roles: ["admin", "support-lead"].into_iter().map(name).collect(),
            approval_key: key(1),
            device_key: key(2),
            label: "desktop".to_owned(),
        };
        Roster::genesis(Environment::Test, key(3), key(4), None, &first).expect("a roster")
    }

    /// Whoever can rewrite a whole log, its tree included, still signs nothing.
    #[test]
    fn a_log_in_which_nobody_signed_an_outcome_is_contradicted_by_itself() {
        let name = |text: &str| Name::parse(text).expect("a name");
        let operation = OperationKey::write(&name("support"), &name("tag"), &WriteCaller::CallKey("k".repeat(16)));
        let record = |record_type, claims: &[(&str, &str)]| AuditRecord {
            record_type,
            at: Timestamp::MIN,
            request: None,
            operation: Some(operation),
            roles: vec![name("support-lead")],
            claims: Json::Object(claims.iter().map(|(name, value)| ((*name).to_owned(), Json::from(*value))).collect()),
            envelopes: Vec::new(),
            body_sha256: None,
        };
        let changed = |from, state| record(RecordType::OperationChanged, &[("from", from), ("state", state)]);
        let link = ChainLink { agent: name("support"), owner: None };
        let intended = |agents: Option<Json>| {
            let mut intended = record(RecordType::WriteIntended, &[("agent", "support")]);
            if let (Json::Object(claims), Some(agents)) = (&mut intended.claims, agents) {
                claims.push(("agents".to_owned(), agents));
            }
            intended
        };
        let begun = [intended(Some(vec![link.to_json()].into())), record(RecordType::WriteUnknown, &[])];
        let cases = [
            (vec![changed("unknown", "needs_reconciliation")], true),
            (vec![changed("unknown", "succeeded")], true),
            (vec![changed("unknown", "needs_reconciliation"), changed("needs_reconciliation", "not_happened")], false),
            (vec![changed("unknown", "needs_reconciliation"), changed("needs_reconciliation", "succeeded")], false),
            (vec![changed("unknown", "not_happened")], false),
            (vec![changed("unknown", "partial")], false),
            (vec![changed("executing", "needs_reconciliation")], false),
            (vec![record(RecordType::ReconciliationRecorded, &[("answer", "happened")])], false),
        ];
        let (db, roster) = (Connection::open_in_memory().expect("a database"), roster());
        for (index, (rest, holds)) in cases.into_iter().enumerate() {
            let mut operations = Operations::default();
            let told: Result<Vec<()>, _> = (0..)
                .zip(begun.iter().chain(&rest))
                .map(|(position, record)| operations.take(&db, position, record, Some(&roster), |_| Some(vec![link.clone()])))
                .collect();
            assert_eq!(told.is_ok(), holds, "case {index}: {:?}", told.err().map(|error| error.to_string()));
        }
        let other = ChainLink { agent: name("support"), owner: Some(PersonId::from_random([1; 16])) };
        for agents in [None, Some(Vec::<Json>::new().into()), Some(vec![other.to_json()].into()), Some(vec![link.to_json(); 2].into())] {
            let taken = Operations::default().take(&db, 0, &intended(agents), Some(&roster), |_| Some(vec![link.clone()]));
            assert!(taken.is_err(), "nobody, or somebody else, stood behind the write");
        }
        assert!(Operations::default().take(&db, 0, &begun[0], Some(&roster), |_| None).is_err(), "its agent is revoked");
    }
}
