//! What the log says, replayed from its beginning with the transitions of the running gate: no state is where core's tables do
//! not lead, no quorum is one that the approvals before it do not make, and nothing that is used once stands there twice.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::{self, Approval, DecisionKind, DecisionStatement, Quorum};
use vidimus_core::ids::RequestId;
use vidimus_core::json::Json;
use vidimus_core::operation::{self, Answer, Operation, OperationInput, OperationKey, OperationState};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::{self, RequestInput, RequestState};

use crate::ledger_verification::integer;
use crate::rows::StoredRequest;
use crate::verification::{VerifyError, contradicted, unsigned};

/// Everything that has a state, as far as the log has been read.
#[derive(Default)]
pub(crate) struct Replay {
    requests: BTreeMap<RequestId, Asked>,
    operations: BTreeMap<OperationKey, Operation>,
    /// The attempt that each token is for; none once it was redeemed.
    tokens: BTreeMap<String, Option<(OperationKey, u32)>>,
    /// Redeemed, and its operation has not moved yet.
    redeemed: Option<(OperationKey, u32)>,
    decisions: BTreeSet<Digest>,
    challenges: BTreeSet<[u8; 32]>,
}

struct Asked {
    state: RequestState,
    escalated: bool,
    orphaned: bool,
    standing: Vec<Approval>,
}

impl Replay {
    /// Takes the next record.
    pub(crate) fn take(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let kind = record.record_type;
        if kind == RecordType::RequestCreated {
            let asked = Asked { state: RequestState::Pending, escalated: false, orphaned: false, standing: Vec::new() };
            let fresh = record.request.is_some_and(|request| self.requests.insert(request, asked).is_none());
            return held(fresh, position, "is about a request that was there before");
        }
        if kind == RecordType::DecisionRecorded {
            return self.decided(db, position, record);
        }
        if kind == RecordType::RequestExpired {
            return self.ended(position, record, RequestInput::Expire);
        }
        if kind == RecordType::RequestWithdrawn {
            return self.ended(position, record, RequestInput::Withdraw);
        }
        if kind == RecordType::RequestStale {
            return self.ended(position, record, RequestInput::MakeStale);
        }
        if kind == RecordType::RequestOrphaned {
            let orphaned = record.claims.member("orphaned").and_then(Json::as_bool) == Some(true);
            let asked = self.asked(position, record)?;
            let leads_on = !asked.state.is_final() && asked.orphaned != orphaned;
            asked.orphaned = orphaned;
            return held(leads_on, position, "says of an agent what was known");
        }
        if kind == RecordType::RequestEscalated {
            let asked = self.asked(position, record)?;
            let leads_on = asked.state == RequestState::Pending && !asked.escalated;
            asked.escalated = true;
            return held(leads_on, position, "passes on what does not wait, or was passed on before");
        }
        if kind == RecordType::TokenMinted {
            return self.minted(position, record);
        }
        if kind == RecordType::TokenRedeemed {
            return self.redeemed(position, record);
        }
        if kind == RecordType::OperationChanged {
            return self.changed(position, record);
        }
        self.written(position, record)
    }

    fn asked(&mut self, position: u64, record: &AuditRecord) -> Result<&mut Asked, VerifyError> {
        let asked = record.request.and_then(|request| self.requests.get_mut(&request));
        asked.map_or_else(|| contradicted(format!("the record at {position} is about a request that the log does not know")), Ok)
    }

    fn ended(&mut self, position: u64, record: &AuditRecord, input: RequestInput) -> Result<(), VerifyError> {
        let asked = self.asked(position, record)?;
        let next = request::apply(asked.state, input).ok().filter(|next| record.claim("state") == Some(next.as_str()));
        asked.state = next.unwrap_or(asked.state);
        held(next.is_some(), position, "ends a request that does not end so")
    }

    fn decided(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let [envelope] = record.envelopes.as_slice() else { return held(false, position, "is signed by nobody") };
        let payload = envelope.danger_unverified_payload();
        // The signature was verified as the record was read.
        let statement = DecisionStatement::parse(payload).map_err(unsigned(format!("the decision at {position}")))?;
        let first = self.decisions.insert(Digest::of(payload)) && self.challenges.insert(*statement.challenge.as_bytes());
        held(first, position, "is a decision, or rests on a challenge, that was used before")?;
        let stored = StoredRequest::load(db, &statement.request)?;
        let Some(stored) = stored else { return held(false, position, "decides on a request that is gone") };
        let asked = self.asked(position, record)?;
        match statement.decision {
            DecisionKind::Approve => {
                let twice = asked.standing.iter().any(|approval| approval.approver == statement.approver);
                held(!twice, position, "approves what the same person has approved")?;
                let approval = Approval { approver: statement.approver, role: statement.role, key_sha256: statement.key_sha256 };
                asked.standing.push(approval);
            }
            DecisionKind::Retract => asked.standing.retain(|approval| approval.approver != statement.approver),
            DecisionKind::Deny | DecisionKind::Revoke | DecisionKind::MoreTime => {}
        }
        let Quorum { given, needed, reached } = decision::quorum(&stored.frozen, asked.escalated, &asked.standing);
        let counted = integer(record, "given") == Some(given.into()) && integer(record, "needed") == Some(needed.into());
        let input = match statement.decision {
            DecisionKind::Approve => RequestInput::Approve { quorum: reached },
            DecisionKind::Deny => RequestInput::Deny,
            DecisionKind::Retract => RequestInput::Retract,
            DecisionKind::Revoke => RequestInput::Revoke,
            DecisionKind::MoreTime => RequestInput::MoreTime,
        };
        let next = request::apply(asked.state, input).ok().filter(|next| counted && record.claim("state") == Some(next.as_str()));
        asked.state = next.unwrap_or(asked.state);
        held(next.is_some(), position, "does not follow from the decisions before it")
    }

    fn minted(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let jti = record.claim("jti_sha256").unwrap_or_default().to_owned();
        let attempt = integer(record, "attempt").and_then(|attempt| u32::try_from(attempt).ok());
        let Some((operation, attempt)) = record.operation.zip(attempt) else { return held(false, position, "mints a token for nothing") };
        let next = self.operations.get(&operation).and_then(|now| operation::apply(*now, OperationInput::Redeem).ok());
        let due = next.is_some_and(|next| next.attempt == attempt);
        let fresh = self.tokens.insert(jti, Some((operation, attempt))).is_none();
        held(due && fresh, position, "mints a token that was not due, or was there before")
    }

    fn redeemed(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let token = record.claim("jti_sha256").and_then(|jti| self.tokens.get_mut(jti)).and_then(Option::take);
        let attempt = integer(record, "attempt");
        let Some((operation, number)) =
            token.filter(|(operation, number)| record.operation == Some(*operation) && attempt == Some((*number).into()))
        else {
            return held(false, position, "redeems a token that was not out");
        };
        self.redeemed = Some((operation, number));
        let asked = self.asked(position, record)?;
        let next = request::apply(asked.state, RequestInput::Redeem).ok();
        let leads_on = next.is_some() && !asked.orphaned;
        asked.state = next.unwrap_or(asked.state);
        held(leads_on, position, "redeems a token of a request that was not approved")
    }

    fn changed(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let state: Option<OperationState> = record.claim("state").and_then(|state| state.parse().ok());
        let attempt = integer(record, "attempt").and_then(|attempt| u32::try_from(attempt).ok());
        let (Some(operation), Some((state, attempt))) = (record.operation, state.zip(attempt)) else {
            return held(false, position, "leads to no state");
        };
        let to = Operation { state, attempt };
        let Some(now) = self.operations.get(&operation).copied() else {
            let approved =
                record.request.and_then(|request| self.requests.get(&request)).is_some_and(|asked| asked.state == RequestState::Approved);
            let begins = to == Operation { state: OperationState::Reserved, attempt: 0 } && record.claim("from").is_none() && approved;
            self.operations.insert(operation, to);
            return held(begins, position, "begins an operation that nobody approved");
        };
        let by_token = self.redeemed == Some((operation, attempt));
        let leads_on = record.claim("from") == Some(now.state.as_str())
            && OperationInput::ALL.iter().any(|input| {
                let allowed = *input != OperationInput::Redeem || by_token;
                allowed && operation::apply(now, *input).is_ok_and(|next| next == to)
            });
        if by_token {
            self.redeemed = None;
        }
        self.operations.insert(operation, to);
        held(leads_on, position, "is a change that does not follow from the one before")
    }

    /// What a write's own sending brings.
    fn written(&mut self, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        let Some(operation) = record.operation else { return Ok(()) };
        let kind = record.record_type;
        let (input, state) = if kind == RecordType::WriteIntended {
            let Some(now) = self.operations.get(&operation).copied() else {
                self.operations.insert(operation, Operation { state: OperationState::Executing, attempt: 1 });
                return Ok(());
            };
            // Sent again under its key, which only an outcome in doubt allows.
            let again = now.state == OperationState::Unknown;
            held(again, position, "begins a write that was there before")?;
            (OperationInput::Redeem, OperationState::Executing)
        } else if kind == RecordType::WriteExecuted {
            (OperationInput::Answer(Answer::Done), OperationState::Succeeded)
        } else if kind == RecordType::WriteFailed {
            (OperationInput::Answer(Answer::NothingSent), OperationState::Failed)
        } else if kind == RecordType::WriteUnknown {
            (OperationInput::LeaseExpire, OperationState::Unknown)
        } else {
            return Ok(());
        };
        let next = self.operations.get(&operation).and_then(|now| operation::apply(*now, input).ok()).filter(|next| next.state == state);
        self.operations.extend(next.map(|next| (operation, next)));
        held(next.is_some(), position, "ends a write that was not under way")
    }
}

fn held(holds: bool, position: u64, what: &str) -> Result<(), VerifyError> {
    if holds { Ok(()) } else { contradicted(format!("the record at {position} {what}")) }
}
