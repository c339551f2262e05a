//! What an operator counts, in Prometheus's text form. Every label has a closed list of values; none is an argument.
//!
//! *Source*: Prometheus exposition formats, text version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use vidimus_api::problem::FaceCode;
use vidimus_core::code::Code;
use vidimus_core::operation::{Answer, OperationState};
use vidimus_core::page::{PageChannel, PageOutcome};
use vidimus_core::table::TABLE_CHANGE;

use crate::http::places::Tally as ConnectionTally;

/// A route and a status number.
type Answered = (&'static str, u16);

/// The count and the time of answers.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    us: u64,
}

/// What the gate knows at the moment of the text.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    /// Its environment.
    pub environment: &'a str,
    /// Records under the newest signed head.
    pub log_records: u64,
    /// Durable records beyond it.
    pub uncovered: u64,
    /// Heads that could not be written.
    pub head_failures: u64,
    /// Commits of the ledger.
    pub commits: u64,
    /// Calls and executions under way.
    pub in_flight: usize,
    /// The listener's connections.
    pub connections: ConnectionTally,
    /// Open log streams.
    pub streams: u64,
    /// Operations without a final state.
    pub open: &'a [(OperationState, u64)],
}

/// The codes of answers that a limit gives, or a head that is missing or foreign.
const LIMITED: [&str; 8] = [
    FaceCode::RateLimited.as_str(),
    FaceCode::ConnectionsLimitReached.as_str(),
    FaceCode::HeadNotSigned.as_str(),
    FaceCode::HeadForeign.as_str(),
    FaceCode::CheckpointLate.as_str(),
    Code::AgentRateLimited.as_str(),
    Code::AgentBytesLimited.as_str(),
    Code::PendingLimitReached.as_str(),
];

/// The gate's counters since its start.
#[derive(Default)]
pub struct Metrics {
    answers: Mutex<BTreeMap<Answered, Tally>>,
    attempts: [AtomicU64; 4],
    changes: [AtomicU64; 2],
    reads_lost: AtomicU64,
    limited: Mutex<BTreeMap<&'static str, u64>>,
    corrupt: Mutex<Vec<String>>,
    pages: Mutex<BTreeMap<(PageChannel, PageOutcome), u64>>,
}

impl Metrics {
    /// Counts an answer of the HTTP face.
    pub fn answered(&self, route: &'static str, status: u16, took: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = answers.entry((route, status)).or_default();
        tally.count += 1;
        tally.us = tally.us.saturating_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// Counts an answer that a limit gave, by its code.
    pub fn limited(&self, code: &str) {
        if let Some(code) = LIMITED.iter().find(|limited| **limited == code) {
            *self.limited.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
        }
    }

    /// Counts an attempt of money by what came of it.
    pub fn attempted(&self, answer: Answer) {
        let index = match answer {
            Answer::Done => 0,
            Answer::NothingSent => 1,
            Answer::NoEffect => 2,
            Answer::Unclear => 3,
        };
        self.attempts[index].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a change of the gate itself that came into force.
    pub fn changed(&self, tool: &str) {
        let index = usize::from(tool == TABLE_CHANGE);
        self.changes[index].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a read whose record was lost.
    pub fn read_lost(&self) {
        self.reads_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a read was answered whose record was lost.
    pub fn has_lost(&self) -> bool {
        self.reads_lost.load(Ordering::Relaxed) > 0
    }

    /// Keeps which rows of the ledger cannot be read back. Tells whether they are others than before.
    pub fn found_corrupt(&self, rows: Vec<String>) -> bool {
        let mut known = self.corrupt.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *known != rows;
        *known = rows;
        changed
    }

    /// The rows of the ledger that cannot be read back.
    pub fn corrupt(&self) -> Vec<String> {
        self.corrupt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a page by its way and what became of it there.
    pub fn paged(&self, channel: PageChannel, outcome: PageOutcome) {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner).entry((channel, outcome)).or_default() += 1;
    }

    /// The text, with what the gate knows besides.
    pub fn text(&self, now: &Now<'_>) -> String {
        let Now { environment, log_records, uncovered, head_failures, commits, in_flight, connections, streams, open } = *now;
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, String)]| {
            // Writing to a text cannot fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let info = format!("{{version=\"{}\",environment=\"{environment}\"}}", env!("CARGO_PKG_VERSION"));
        family("vidimus_gate_info", "gauge", "The gate's version and environment.", &[(info, "1".to_owned())]);
        family("vidimus_log_records", "gauge", "Records under the newest checkpoint.", &[(String::new(), log_records.to_string())]);
        let plain = |value: u64| [(String::new(), value.to_string())];
        family("vidimus_head_uncovered_records", "gauge", "Durable records that no signed head covers yet.", &plain(uncovered));
        family("vidimus_head_failures_total", "counter", "Attempts to write a signed head that failed.", &plain(head_failures));
        let ConnectionTally { held, made_room, turned_away, stalled } = connections;
        let held: Vec<_> =
            ["stranger", "agent", "person"].iter().zip(held).map(|(by, count)| (format!("{{by=\"{by}\"}}"), count.to_string())).collect();
        family("vidimus_connections", "gauge", "Open connections, by who has proven to be there.", &held);
        let ended: Vec<_> = [("made_room", made_room), ("stalled", stalled), ("turned_away", turned_away)]
            .iter()
            .map(|(why, count)| (format!("{{why=\"{why}\"}}"), count.to_string()))
            .collect();
        family("vidimus_connections_ended_total", "counter", "Connections that a limit ended, by why.", &ended);
        family("vidimus_log_streams", "gauge", "Open log streams.", &plain(streams));
        let limited: Vec<_> = self
            .limited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(code, count)| (format!("{{code=\"{code}\"}}"), count.to_string()))
            .collect();
        family("vidimus_limited_total", "counter", "Answers that a limit or a missing head gave, by their code.", &limited);
        family("vidimus_store_commits_total", "counter", "Durable commits of the ledger.", &[(String::new(), commits.to_string())]);
        family("vidimus_in_flight", "gauge", "Calls and executions under way.", &[(String::new(), in_flight.to_string())]);
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let labels = |(route, status): &Answered| format!("{{route=\"{route}\",status=\"{status}\"}}");
        let counts: Vec<_> = answers.iter().map(|(answered, tally)| (labels(answered), tally.count.to_string())).collect();
        family("vidimus_http_answers_total", "counter", "Answers of the HTTP face.", &counts);
        let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        let times: Vec<_> = answers.iter().map(|(answered, tally)| (labels(answered), seconds(tally.us))).collect();
        family("vidimus_http_answer_seconds_total", "counter", "Time spent on answers, waiting included.", &times);
        let attempts: Vec<_> = ["done", "nothing_sent", "no_effect", "unclear"]
            .iter()
            .zip(&self.attempts)
            .map(|(answer, count)| (format!("{{answer=\"{answer}\"}}"), count.load(Ordering::Relaxed).to_string()))
            .collect();
        family("vidimus_attempts_total", "counter", "Attempts of money, by what came of them.", &attempts);
        let changes: Vec<_> = ["roster", "table"]
            .iter()
            .zip(&self.changes)
            .map(|(of, count)| (format!("{{of=\"{of}\"}}"), count.load(Ordering::Relaxed).to_string()))
            .collect();
        family("vidimus_changes_total", "counter", "Changes of the gate itself that came into force.", &changes);
        let lost = self.reads_lost.load(Ordering::Relaxed).to_string();
        family("vidimus_reads_lost_total", "counter", "Reads that were answered and are not on record.", &[(String::new(), lost)]);
        let corrupt = self.corrupt().len().to_string();
        family("vidimus_rows_corrupt", "gauge", "Rows of the ledger that cannot be read back.", &[(String::new(), corrupt)]);
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let paged: Vec<_> = pages
            .iter()
            .map(|((channel, outcome), count)| (format!("{{channel=\"{channel}\",outcome=\"{outcome}\"}}"), count.to_string()))
            .collect();
        family("vidimus_pages_total", "counter", "Pages to people, by their way and what became of them.", &paged);
        let open: Vec<_> = open.iter().map(|(state, count)| (format!("{{state=\"{state}\"}}"), count.to_string())).collect();
        family("vidimus_operations_open", "gauge", "Operations without a final state.", &open);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_stands_under_its_family() {
        let metrics = Metrics::default();
        metrics.answered("/v1/calls", 202, Duration::from_millis(1500));
        metrics.answered("/v1/calls", 202, Duration::from_millis(500));
        metrics.attempted(Answer::Unclear);
        metrics.changed(TABLE_CHANGE);
        metrics.read_lost();
        assert!(metrics.found_corrupt(vec!["request `x`".to_owned()]) && !metrics.found_corrupt(vec!["request `x`".to_owned()]));
        metrics.paged(PageChannel::Webhook, PageOutcome::Failed);
        metrics.limited("rate_limited");
        metrics.limited("not_found");
        let connections = ConnectionTally { held: [4, 5, 6], made_room: 1, turned_away: 2, stalled: 3 };
        let text = metrics.text(&Now {
            environment: "test",
            log_records: 7,
            uncovered: 8,
            head_failures: 9,
            commits: 3,
            in_flight: 1,
            connections,
            streams: 10,
            open: &[(OperationState::NeedsReconciliation, 2)],
        });
        assert!(!text.contains("not_found"), "no code but a limit's");
        for expected in [
            "vidimus_log_records 7\n",
            "vidimus_store_commits_total 3\n",
            "vidimus_head_uncovered_records 8\n",
            "vidimus_head_failures_total 9\n",
            "vidimus_connections{by=\"stranger\"} 4\n",
            "vidimus_connections{by=\"person\"} 6\n",
            "vidimus_connections_ended_total{why=\"stalled\"} 3\n",
            "vidimus_connections_ended_total{why=\"turned_away\"} 2\n",
            "vidimus_log_streams 10\n",
            "vidimus_limited_total{code=\"rate_limited\"} 1\n",
            "vidimus_http_answers_total{route=\"/v1/calls\",status=\"202\"} 2\n",
            "vidimus_http_answer_seconds_total{route=\"/v1/calls\",status=\"202\"} 2.000000\n",
            "vidimus_attempts_total{answer=\"unclear\"} 1\n",
            "vidimus_changes_total{of=\"table\"} 1\n",
            "vidimus_reads_lost_total 1\n",
            "vidimus_rows_corrupt 1\n",
            "vidimus_pages_total{channel=\"webhook\",outcome=\"failed\"} 1\n",
            "vidimus_operations_open{state=\"needs_reconciliation\"} 2\n",
        ] {
            assert!(text.contains(expected), "{expected} in\n{text}");
        }
        let mut family = "";
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(named) => family = named.split(' ').next().unwrap_or_default(),
                None => assert!(line.starts_with("# HELP ") || line.starts_with(family), "{line}"),
            }
        }
    }
}
