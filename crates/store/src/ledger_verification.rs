//! Before a gate serves: the ledger's columns must be what the log says of each request, decision, token and operation.
//! Whoever wrote into a column is found here, whatever the column would have moved later.
//!
//! What may differ is what nothing is decided by: counters, whether a caller was told, leases (all over at a start), and times
//! that a start sets right.

mod columns;

use std::collections::BTreeMap;

use rusqlite::Connection;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::passing::Skipped;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;

use crate::codec::{count, optional_time, parsed, time};
use crate::decisions::after_more_time;
use crate::error::StoreError;
use crate::gate::GateState;
use crate::limits::ORPHAN_S;
use crate::tx::find;
use crate::verification::{VerifyError, contradicted, unsigned};
use crate::verification_calls::{BodyOnRecord, DenialTold, WRITE_COLUMNS, same_money_call, same_write};

use columns::{RequestColumns, same_decision, same_escalation, same_operation, same_reconciliation, same_request, same_state};

/// What the log has said so far of every request and operation.
#[derive(Default)]
pub(crate) struct LedgerWalk {
    requests: BTreeMap<RequestId, RequestFacts>,
    operations: BTreeMap<OperationKey, OperationFacts>,
    decisions: u64,
    reconciliations: u64,
    minted: u64,
    redeemed: u64,
    last_at: Option<Timestamp>,
    skipped: Vec<Skipped>,
}

struct RequestFacts {
    state: RequestState,
    created_at: Timestamp,
    expires_at: Timestamp,
    expires_max_at: Timestamp,
    waits_until: Timestamp,
    quorum_at: Option<Timestamp>,
    orphaned_until: Option<Timestamp>,
    escalated_position: Option<u64>,
    end_code: Option<String>,
    ended_at: Option<Timestamp>,
    denial: DenialTold,
    /// Who has an approval that was not taken back.
    standing: Vec<PersonId>,
}

struct OperationFacts {
    request: Option<RequestId>,
    state: OperationState,
    attempt: u32,
    first_sent_at: Option<Timestamp>,
    result_sha256: Option<Digest>,
    detail: Option<String>,
    changed_at: Timestamp,
}

impl LedgerWalk {
    /// Takes the next record of the log.
    pub(crate) fn take(&mut self, db: &Connection, position: u64, record: &AuditRecord, body: Option<&str>) -> Result<(), VerifyError> {
        self.last_at = Some(record.at);
        let kind = record.record_type;
        if kind == RecordType::TimeSkipped {
            self.skipped.push(Skipped::of(record).map_err(unsigned(format!("the record at {position}")))?);
            return Ok(());
        }
        if kind == RecordType::RequestCreated {
            return self.request_created(db, position, record, body);
        }
        if kind == RecordType::DecisionRecorded {
            return self.decision_recorded(db, position, record, body);
        }
        if [RecordType::RequestExpired, RecordType::RequestWithdrawn, RecordType::RequestStale].contains(&kind) {
            let facts = self.request(position, record)?;
            facts.state = claimed(position, record, "state")?;
            facts.ended_at = Some(record.at);
            facts.end_code = record.claim("code").map(str::to_owned);
            return Ok(());
        }
        if kind == RecordType::RequestOrphaned {
            let orphaned = record.claims.member("orphaned").and_then(Json::as_bool) == Some(true);
            self.request(position, record)?.orphaned_until = orphaned.then(|| record.at.plus_s(ORPHAN_S));
            return Ok(());
        }
        if kind == RecordType::RequestEscalated {
            self.request(position, record)?.escalated_position = Some(position);
            return Ok(());
        }
        if kind == RecordType::TokenMinted {
            self.minted += 1;
            return token_minted(db, position, record);
        }
        if kind == RecordType::TokenRedeemed {
            return self.token_redeemed(db, position, record);
        }
        if kind == RecordType::OperationChanged {
            return self.operation_changed(position, record, body);
        }
        if kind == RecordType::ReconciliationRecorded {
            return self.reconciliation_recorded(db, position, record);
        }
        if kind == RecordType::WriteIntended {
            return self.write_intended(db, position, record, body);
        }
        if [RecordType::WriteExecuted, RecordType::WriteFailed, RecordType::WriteUnknown].contains(&kind) {
            let body = BodyOnRecord::of(position, body)?;
            let operation = self.operation(position, record)?;
            operation.changed_at = record.at;
            operation.result_sha256 = body.result_sha256().or(operation.result_sha256);
            operation.detail = body.text("detail").map(str::to_owned);
            operation.state = if kind == RecordType::WriteExecuted {
                OperationState::Succeeded
            } else if kind == RecordType::WriteFailed {
                OperationState::Failed
            } else {
                OperationState::Unknown
            };
        }
        Ok(())
    }

    fn request(&mut self, position: u64, record: &AuditRecord) -> Result<&mut RequestFacts, VerifyError> {
        let facts = record.request.and_then(|request| self.requests.get_mut(&request));
        facts.map_or_else(|| contradicted(format!("the record at {position} is about a request that the log does not know")), Ok)
    }

    fn operation(&mut self, position: u64, record: &AuditRecord) -> Result<&mut OperationFacts, VerifyError> {
        let facts = record.operation.and_then(|operation| self.operations.get_mut(&operation));
        facts.map_or_else(|| contradicted(format!("the record at {position} is about an operation that the log does not know")), Ok)
    }

    fn request_created(&mut self, db: &Connection, position: u64, record: &AuditRecord, body: Option<&str>) -> Result<(), VerifyError> {
        let body = BodyOnRecord::of(position, body)?;
        let Some(request) = record.request else { return contradicted(format!("the record at {position} names no request")) };
        let what = || format!("the request {request}");
        let frozen = find(
            db,
            "SELECT requests.*, calls.agent, calls.proposer, calls.on_behalf_of, calls.run, calls.tool AS call_tool, calls.effect,
                    calls.payload_sha256, calls.call_key, calls.says, calls.created_at AS called_at
             FROM requests JOIN calls USING (call) WHERE request = ?1",
            [request.to_string()],
            |row| {
                let same_call = same_money_call(row, record, &body)?;
                Ok((row.get::<_, String>("frozen")?, same_request(row, position, record)?.filter(|_| same_call)))
            },
        )?;
        let Some((text, Some(columns))) = frozen else { return contradicted(format!("{} is not the one that was frozen", what())) };
        let frozen = FrozenRequest::parse(text.as_bytes()).map_err(unsigned(what()))?;
        let members = frozen.members();
        let named = record.claim("request_sha256") == Some(&frozen.request_sha256().to_string()) && members.request == request;
        if !named || columns != RequestColumns::of(&frozen) {
            return contradicted(format!("{} is not the one that was frozen", what()));
        }
        let facts = RequestFacts {
            state: RequestState::Pending,
            created_at: members.created_at,
            expires_at: members.expires_at,
            expires_max_at: members.expires_max_at,
            waits_until: members.expires_at,
            quorum_at: None,
            orphaned_until: None,
            escalated_position: None,
            end_code: None,
            ended_at: None,
            denial: DenialTold::default(),
            standing: Vec::new(),
        };
        if self.requests.insert(request, facts).is_some() {
            return contradicted(format!("{} is on record twice", what()));
        }
        Ok(())
    }

    fn decision_recorded(&mut self, db: &Connection, position: u64, record: &AuditRecord, body: Option<&str>) -> Result<(), VerifyError> {
        self.decisions += 1;
        let same = find(
            db,
            "SELECT * FROM decisions WHERE position = ?1",
            [i64::try_from(position).map_err(|_| StoreError::corrupt("a position"))?],
            |row| same_decision(row, record),
        )?;
        if same != Some(true) {
            return contradicted(format!("the ledger's row of the decision at {position} is not the one on record"));
        }
        let (state, at): (RequestState, Timestamp) = (claimed(position, record, "state")?, record.at);
        let (decision, approver): (DecisionKind, PersonId) =
            (claimed(position, record, "decision")?, claimed(position, record, "approver")?);
        let facts = self.request(position, record)?;
        match decision {
            DecisionKind::Approve => facts.standing.push(approver),
            DecisionKind::Retract => facts.standing.retain(|person| *person != approver),
            DecisionKind::MoreTime => {
                facts.waits_until = after_more_time(facts.created_at, facts.expires_at, facts.waits_until, facts.expires_max_at);
            }
            DecisionKind::Deny => facts.denial = DenialTold::on_record(position, record, &BodyOnRecord::of(position, body)?)?,
            DecisionKind::Revoke => {}
        }
        if state.is_final() && !facts.state.is_final() {
            facts.ended_at = Some(at);
        }
        if state == RequestState::Approved && facts.state != state {
            facts.quorum_at = Some(at);
        }
        facts.state = state;
        Ok(())
    }

    fn reconciliation_recorded(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        self.reconciliations += 1;
        let same = find(
            db,
            "SELECT * FROM reconciliations WHERE position = ?1",
            [i64::try_from(position).map_err(|_| StoreError::corrupt("a position"))?],
            |row| same_reconciliation(row, record),
        )?;
        if same == Some(true) {
            Ok(())
        } else {
            contradicted(format!("the ledger's row of the answer at {position} is not the one on record"))
        }
    }

    fn token_redeemed(&mut self, db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
        self.redeemed += 1;
        let jti = record.claim("jti_sha256").unwrap_or_default();
        let request = record.request.map(|request| request.to_string()).unwrap_or_default();
        let same =
            find(db, "SELECT state, redeemed_at FROM tokens WHERE request = ?1 AND jti_sha256 = ?2", [request.as_str(), jti], |row| {
                Ok(row.get::<_, String>("state")? == "redeemed" && optional_time(row, "redeemed_at")? == Some(record.at))
            })?;
        if same != Some(true) {
            return contradicted(format!("the token that was redeemed at {position} is not so in the ledger"));
        }
        let at = record.at;
        let request = self.request(position, record)?;
        request.state = RequestState::Consumed;
        request.ended_at.get_or_insert(at);
        self.operation(position, record)?.first_sent_at.get_or_insert(at);
        Ok(())
    }

    fn operation_changed(&mut self, position: u64, record: &AuditRecord, body: Option<&str>) -> Result<(), VerifyError> {
        let body = BodyOnRecord::of(position, body)?;
        let Some(operation) = record.operation else { return contradicted(format!("the record at {position} names no operation")) };
        let state = claimed(position, record, "state")?;
        let attempt = integer(record, "attempt").and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(u32::MAX);
        let result_sha256 = record.claim("result_sha256").and_then(|digest| digest.parse().ok());
        // What made it is told by its request.
        let detail = record.claim("from").and_then(|_| body.text("detail")).map(str::to_owned);
        let facts = self.operations.entry(operation).or_insert(OperationFacts {
            request: record.request,
            state,
            attempt,
            first_sent_at: None,
            result_sha256: None,
            detail: None,
            changed_at: record.at,
        });
        if facts.request != record.request {
            return contradicted(format!("the record at {position} is about an operation of another request"));
        }
        (facts.state, facts.attempt, facts.changed_at) = (state, attempt, record.at);
        facts.result_sha256 = result_sha256.or(facts.result_sha256);
        facts.detail = detail;
        Ok(())
    }

    fn write_intended(&mut self, db: &Connection, position: u64, record: &AuditRecord, body: Option<&str>) -> Result<(), VerifyError> {
        let Some(operation) = record.operation else { return contradicted(format!("the record at {position} names no operation")) };
        let body = BodyOnRecord::of(position, body)?;
        let called_at = find(db, WRITE_COLUMNS, [operation.to_string()], |row| same_write(row, record, &body))?.flatten();
        let Some(called_at) = called_at else {
            return contradicted(format!("the write that was intended at {position} is not so in the ledger"));
        };
        match self.operations.get_mut(&operation) {
            // Sent again under its key, which only an outcome in doubt allows.
            Some(facts) if facts.state == OperationState::Unknown && facts.request.is_none() => {
                (facts.state, facts.attempt, facts.changed_at) = (OperationState::Executing, facts.attempt + 1, record.at);
                facts.detail = body.text("detail").map(str::to_owned);
            }
            Some(_) => return contradicted(format!("the write that was intended at {position} was not in doubt")),
            None if called_at != record.at => return contradicted(format!("the write at {position} was called at another time")),
            None => {
                let facts = OperationFacts {
                    request: None,
                    state: OperationState::Executing,
                    attempt: 1,
                    first_sent_at: Some(record.at),
                    result_sha256: None,
                    detail: None,
                    changed_at: record.at,
                };
                self.operations.insert(operation, facts);
            }
        }
        Ok(())
    }

    /// Compares what has come of everything with the ledger.
    pub(crate) fn finish(self, db: &Connection, gate: &GateState) -> Result<(), VerifyError> {
        // Every request has its call, and so has every write.
        let writes = self.operations.values().filter(|operation| operation.request.is_none()).count();
        let calls = (self.requests.len() + writes) as u64;
        let counts = [
            ("SELECT count(*) FROM requests", self.requests.len() as u64, "requests"),
            ("SELECT count(*) FROM decisions", self.decisions, "decisions"),
            ("SELECT count(*) FROM reconciliations", self.reconciliations, "answers of people"),
            ("SELECT count(*) FROM calls", calls, "calls"),
            ("SELECT count(*) FROM operations", self.operations.len() as u64, "operations"),
            ("SELECT count(*) FROM tokens", self.minted, "tokens"),
            ("SELECT count(*) FROM tokens WHERE state = 'redeemed'", self.redeemed, "redeemed tokens"),
        ];
        for (sql, on_record, what) in counts {
            let found = find(db, sql, [], |row| row.get::<_, i64>(0))?.and_then(|found| u64::try_from(found).ok());
            if found != Some(on_record) {
                return contradicted(format!("the ledger has other {what} than the log"));
            }
        }
        let now = find(db, "SELECT now_ms FROM clock", [], |row| time(row, "now_ms"))?;
        if now.is_none() || now < self.last_at {
            return contradicted("the clock stands before the last record");
        }
        self.requests(db, gate)?;
        self.operations(db, gate)
    }

    fn requests(&self, db: &Connection, gate: &GateState) -> Result<(), VerifyError> {
        let open: BTreeMap<RequestId, bool> =
            self.operations.values().filter_map(|operation| Some((operation.request?, !operation.state.is_final()))).collect();
        let mut statement = db.prepare(
            "SELECT request, state, effect_open, waits_until, quorum_at, ended_at, orphaned_until, escalated_position, end_code,
                    denial_kind, denial_note, denial_role, tool, row_sha256, escalate_at FROM requests",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let request: RequestId = parsed(row, "request")?;
            let same = match self.requests.get(&request) {
                Some(facts) => same_state(row, facts, open.get(&request).copied())? && same_escalation(row, facts, gate)?,
                None => false,
            };
            if !same {
                return contradicted(format!("the request {request} is not where the log left it"));
            }
        }
        if db.prepare("SELECT 1 FROM decisions WHERE standing NOT IN (0, 1)")?.exists([])? {
            return contradicted("a decision stands in a way that is none");
        }
        let mut statement = db.prepare("SELECT request, approver FROM decisions WHERE standing = 1 ORDER BY position")?;
        let mut standing: BTreeMap<RequestId, Vec<PersonId>> = BTreeMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            standing.entry(parsed(row, "request")?).or_default().push(parsed(row, "approver")?);
        }
        for (request, facts) in &self.requests {
            if standing.remove(request).unwrap_or_default() != facts.standing {
                return contradicted(format!("the standing approvals of {request} are not those of the log"));
            }
        }
        Ok(())
    }

    fn operations(&self, db: &Connection, gate: &GateState) -> Result<(), VerifyError> {
        let mut statement = db.prepare(
            "SELECT operations.*, frozen, quorum_at, requests.row_sha256 AS request_row, requests.call AS request_call
             FROM operations LEFT JOIN requests USING (request)",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let operation: OperationKey = parsed(row, "operation")?;
            let same = match self.operations.get(&operation) {
                Some(facts) => same_operation(row, facts, (gate, &self.skipped), &operation)?,
                None => false,
            };
            if !same {
                return contradicted(format!("the operation {operation} is not where the log left it"));
            }
        }
        Ok(())
    }
}

/// A claim that a type of the domain reads.
fn claimed<T: std::str::FromStr>(position: u64, record: &AuditRecord, name: &str) -> Result<T, VerifyError> {
    let value = record.claim(name).and_then(|text| text.parse().ok());
    value.map_or_else(|| contradicted(format!("the record at {position} has no `{name}`")), Ok)
}

/// A whole number that a record claims.
pub(crate) fn integer(record: &AuditRecord, name: &str) -> Option<u64> {
    record.claims.member(name).and_then(Json::as_number)?.as_u64()
}

fn token_minted(db: &Connection, position: u64, record: &AuditRecord) -> Result<(), VerifyError> {
    let jti = record.claim("jti_sha256").unwrap_or_default();
    let request = record.request.map(|request| request.to_string()).unwrap_or_default();
    let same = find(db, "SELECT * FROM tokens WHERE request = ?1 AND jti_sha256 = ?2", [request.as_str(), jti], |row| {
        let claims = |column: &str| Ok::<_, rusqlite::Error>(Some(row.get::<_, String>(column)?.as_str()) == record.claim(column));
        let state: String = row.get("state")?;
        Ok(["minted", "redeemed", "dead"].contains(&state.as_str())
            && claims("audience")?
            && claims("args_sha256")?
            && Some(parsed(row, "operation")?) == record.operation
            && Some(count(row, "attempt")?) == integer(record, "attempt")
            && time(row, "issued_at")? == record.at
            && Some(time(row, "expires_at")?.to_string().as_str()) == record.claim("expires_at"))
    })?;
    if same == Some(true) { Ok(()) } else { contradicted(format!("the token that was minted at {position} is not so in the ledger")) }
}
