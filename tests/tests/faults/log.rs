//! The gate's log as the first admin's console follows it: every record, in its order, verified in nothing. What is
//! asserted here is that each refusal left its record.

use vidimus_api::client::LogStream;
use vidimus_api::log::LogEvent;
use vidimus_core::ids::RequestId;
use vidimus_core::record::{AuditRecord, RecordType};

use super::{House, WITHIN};

/// A refusal on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub record_type: RecordType,
    pub code: String,
    pub request: Option<RequestId>,
    pub approver: Option<String>,
    pub agent: Option<String>,
}

/// The log so far.
pub struct Log {
    stream: LogStream,
    pub records: Vec<AuditRecord>,
    pub bodies: Vec<Option<String>>,
    taken: usize,
}

impl Log {
    /// Follows the log from its beginning, past every refusal that is in it already.
    pub async fn follow(house: &House) -> Log {
        let stream = house.admin.client().expect("a session").log_stream(0).await.expect("a stream");
        let mut log = Log { stream, records: Vec::new(), bodies: Vec::new(), taken: 0 };
        log.rest(house).await;
        log
    }

    /// Goes on where the stream ended, after a restart of the gate.
    pub async fn follow_on(&mut self, house: &House) {
        let from = self.stream.position_next();
        self.stream = house.admin.client().expect("a session").log_stream(from).await.expect("a stream");
    }

    /// Exactly the next `count` refusals.
    pub async fn refusals(&mut self, count: usize) -> Vec<Refused> {
        let from = self.taken;
        self.read_until("refusals", |records| records[from..].iter().filter(|record| refused(record).is_some()).count() >= count).await;
        self.take()
    }

    /// The codes of exactly the next `count` refusals, which all are of this type.
    pub async fn codes(&mut self, record_type: RecordType, count: usize) -> Vec<String> {
        let found = self.refusals(count).await;
        assert!(found.iter().all(|refused| refused.record_type == record_type), "{found:#?}");
        found.into_iter().map(|refused| refused.code).collect()
    }

    /// The refusals up to now that nobody has asked for yet. An agent that is added marks where now is.
    pub async fn rest(&mut self, house: &House) -> Vec<Refused> {
        let mark = format!("mark-{}", self.records.len());
        house.credential(&mark, &[]);
        let marked = |records: &[AuditRecord]| {
            records.iter().any(|record| record.record_type == RecordType::AgentAdded && record.claim("agent") == Some(&mark))
        };
        self.read_until("the mark", marked).await;
        self.take()
    }

    /// Records of this type about this request.
    pub fn about(&self, record_type: RecordType, request: RequestId) -> Vec<&AuditRecord> {
        self.of(record_type).filter(|record| record.request == Some(request)).collect()
    }

    /// Records of this type.
    pub fn of(&self, record_type: RecordType) -> impl Iterator<Item = &AuditRecord> {
        self.records.iter().filter(move |record| record.record_type == record_type)
    }

    /// Reads on until a record of this type about this request has come.
    pub async fn wait_for(&mut self, record_type: RecordType, request: RequestId) {
        let found = |records: &[AuditRecord]| records.iter().any(|r| r.record_type == record_type && r.request == Some(request));
        self.read_until(record_type.as_str(), found).await;
    }

    fn take(&mut self) -> Vec<Refused> {
        let found = self.records[self.taken..].iter().filter_map(refused).collect();
        self.taken = self.records.len();
        found
    }

    async fn read_until(&mut self, what: &str, enough: impl Fn(&[AuditRecord]) -> bool) {
        let reading = async {
            while !enough(&self.records) {
                match self.stream.next().await.expect("an event").expect("an open stream") {
                    LogEvent::Record(record) => {
                        self.records.push(AuditRecord::parse(record.leaf.as_bytes()).expect("a record of this version"));
                        self.bodies.push(record.body);
                    }
                    LogEvent::Checkpoint(_) => {}
                }
            }
        };
        let in_time = tokio::time::timeout(WITHIN, reading).await.is_ok();
        assert!(
            in_time,
            "no {what} within {WITHIN:?}; the log has {:#?}",
            self.records[self.taken..].iter().map(shown).collect::<Vec<_>>()
        );
    }
}

fn shown(record: &AuditRecord) -> String {
    format!("{} {}", record.record_type, record.claim("code").unwrap_or_default())
}

fn refused(record: &AuditRecord) -> Option<Refused> {
    let refusal = matches!(
        record.record_type,
        RecordType::DecisionRefused
            | RecordType::TokenRefused
            | RecordType::CallRefused
            | RecordType::SessionRefused
            | RecordType::EnrolmentRefused
            | RecordType::StatementRefused
            | RecordType::ReconciliationRefused
    );
    refusal.then(|| Refused {
        record_type: record.record_type,
        code: record.claim("code").expect("a refusal has its code").to_owned(),
        request: record.request,
        approver: record.claim("approver").map(str::to_owned),
        agent: record.claim("agent").map(str::to_owned),
    })
}
