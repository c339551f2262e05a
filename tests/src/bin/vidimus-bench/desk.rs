//! The person at the desk without a desktop: follows the log as a console does, and approves each request that comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use vidimus_api::log::{LogEvent, RecordEvent};
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;
use vidimus_core::json::{Limits, parse};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::table::Table;
use vidimus_tests::approver::Approver;

use crate::BenchError;

/// The role in which everything is approved.
pub const ROLE: &str = "billing-approver";

/// Approvals on their way at a time: the gate gives one person so many connections, and the stream of the log takes one.
const HANDS: usize = 24;

/// When a request passed the desk.
#[derive(Clone, Copy)]
pub struct Stamps {
    /// Its record came by the stream.
    pub seen: Instant,
    /// Its challenge came.
    pub challenged: Instant,
    /// Its decision was signed and is about to be sent.
    pub signed: Instant,
}

/// What the desk works with and what it notes.
struct Work {
    approver: Approver,
    table: Table,
    stamps: Mutex<HashMap<RequestId, Stamps>>,
    fault: Mutex<Option<String>>,
    hands: Semaphore,
}

/// A desk that follows. Dropping it closes it.
pub struct Desk {
    work: Arc<Work>,
    following: JoinHandle<()>,
}

impl Desk {
    /// Follows the log from its present end, and approves what comes.
    pub async fn open(approver: Approver, table: &str) -> Result<Desk, BenchError> {
        let table =
            Table::parse(table).map_err(|faults| BenchError::Unexpected(format!("the table of the bench is not one: {faults:?}")))?;
        let work = Arc::new(Work { approver, table, stamps: Mutex::default(), fault: Mutex::default(), hands: Semaphore::new(HANDS) });
        let mut stream = work.approver.client()?.log_stream(0).await.map_err(unexpected)?;
        let follower = work.clone();
        let following = tokio::spawn(async move {
            loop {
                match stream.next().await {
                    Ok(Some(LogEvent::Record(record))) => follower.clone().take(record),
                    Ok(Some(LogEvent::Checkpoint(_))) => {}
                    Ok(None) => return follower.fail("the stream of the log ended"),
                    Err(error) => return follower.fail(&error.to_string()),
                }
            }
        });
        Ok(Desk { work, following })
    }

    /// When a request passed, once.
    pub fn stamps(&self, request: &RequestId) -> Result<Stamps, BenchError> {
        let stamps = self.work.stamps.lock().unwrap_or_else(PoisonError::into_inner).remove(request);
        stamps.ok_or_else(|| BenchError::Unexpected(self.fault().unwrap_or_else(|| "a request did not pass the desk".to_owned())))
    }

    /// What went wrong first, if anything did.
    pub fn fault(&self) -> Option<String> {
        self.work.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Work {
    fn take(self: Arc<Work>, record: RecordEvent) {
        let seen = Instant::now();
        tokio::spawn(async move {
            if let Err(error) = self.approve(&record, seen).await {
                self.fail(&error.to_string());
            }
        });
    }

    /// Approves the request of a record that tells of a new one.
    async fn approve(&self, record: &RecordEvent, seen: Instant) -> Result<(), BenchError> {
        let leaf = AuditRecord::parse(record.leaf.as_bytes()).map_err(unexpected)?;
        let Some(body) = record.body.as_ref().filter(|_| leaf.record_type == RecordType::RequestCreated) else { return Ok(()) };
        let body = parse(body.as_bytes(), &Limits::FROZEN).map_err(unexpected)?;
        let frozen = body.member("frozen").and_then(|frozen| frozen.as_str()).unwrap_or_default();
        let frozen = FrozenRequest::parse(frozen.as_bytes()).map_err(unexpected)?;
        let members = frozen.members();
        let row = self.table.row(&members.tool).ok_or_else(|| BenchError::Unexpected("a request without a row".to_owned()))?;
        let _hand = self.hands.acquire().await.map_err(unexpected)?;
        let statement = self.approver.statement_on(&frozen, row, DecisionKind::Approve, ROLE).await?;
        let challenged = Instant::now();
        let envelope = statement.sign(&self.approver.approval).map_err(unexpected)?;
        let stamps = Stamps { seen, challenged, signed: Instant::now() };
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner).insert(members.request, stamps);
        self.approver.hand_in_envelope(members.request, &envelope).await?;
        Ok(())
    }

    fn fail(&self, what: &str) {
        eprintln!("desk: {what}");
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| what.to_owned());
    }
}

fn unexpected(error: impl std::fmt::Display) -> BenchError {
    BenchError::Unexpected(error.to_string())
}
