//! What waits and what has ended, page by page: what a list shows of a request, and neither its frozen text nor anything else that
//! an agent makes as long as it likes.

use rusqlite::{Row, params};
use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;

use crate::Store;
use crate::codec::{count, optional_parsed, parsed, time};
use crate::error::StoreError;
use crate::limits::{REQUESTS_LOOKED_AT_MAX, REQUESTS_PER_READ_MAX};
use crate::log::to_i64;
use crate::reads::may_read;

/// What a list shows of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    /// The request.
    pub request: RequestId,
    /// The agent that asked; none for a person's proposal.
    pub agent: Option<Name>,
    /// The tool.
    pub tool: Name,
    /// Where it stands.
    pub state: RequestState,
    /// SHA-256 of the frozen bytes.
    pub request_sha256: Digest,
    /// Until when it waits.
    pub waits_until: Timestamp,
    /// The place of its record in the log.
    pub position: u64,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPage {
    /// The requests, newest first.
    pub requests: Vec<ListedRequest>,
    /// Where older ones go on, if there are any: before this place in the log.
    pub next_before: Option<u64>,
}

const COLUMNS: &str = "requests.request, requests.tool, requests.state, requests.request_sha256, requests.waits_until,
        requests.position AS position, calls.agent, records.roles || coalesce(escalation.roles, '') AS readers";
const JOINED: &str = "JOIN calls USING (call) JOIN records ON records.position = requests.position
    LEFT JOIN records AS escalation ON escalation.position = requests.escalated_position
    AND escalation.request = requests.request AND escalation.type = 'request_escalated'";

/// Those that wait are few, and found by their state; all others by their place in the log.
fn statement(state: Option<RequestState>) -> String {
    let (index, of_state) = match state {
        Some(RequestState::Pending) => ("requests_waiting", "requests.state IN ('pending', 'approved') AND requests.state = 'pending' AND"),
        Some(RequestState::Approved) => {
            ("requests_waiting", "requests.state IN ('pending', 'approved') AND requests.state = 'approved' AND")
        }
        Some(
            RequestState::Consumed
            | RequestState::Denied
            | RequestState::Expired
            | RequestState::Withdrawn
            | RequestState::Stale
            | RequestState::Revoked,
        )
        | None => ("requests_by_position", ""),
    };
    format!(
        "SELECT {COLUMNS} FROM requests INDEXED BY {index} {JOINED} WHERE {of_state} requests.position < ?1
         ORDER BY requests.position DESC LIMIT ?2"
    )
}

impl Store {
    /// The requests that a reader with these roles may see, newest first, from before a place in the log. One that cannot be read is
    /// named in the gate's own log and left out: it must not hide the others.
    ///
    /// A page that ends early, even empty, says where the next one begins: a reader who may see little waits for no long search.
    pub async fn requests(&self, state: Option<RequestState>, before: Option<u64>, reader: Vec<Name>) -> Result<RequestPage, StoreError> {
        let before = before.map_or(Ok(i64::MAX), |before| to_i64(before.min(i64::MAX.unsigned_abs())))?;
        self.engine
            .read(move |db| {
                let mut statement = db.prepare_cached(&statement(state))?;
                let mut rows = statement.query(params![before, REQUESTS_LOOKED_AT_MAX])?;
                let (mut page, mut looked_at) = (RequestPage { requests: Vec::new(), next_before: None }, 0);
                while let Some(row) = rows.next()? {
                    looked_at += 1;
                    let readers: String = row.get("readers")?;
                    let wanted = state.is_none_or(|state| row.get_ref("state").is_ok_and(|found| found.as_str() == Ok(state.as_str())));
                    if wanted && may_read(&readers, &reader) {
                        page.requests.extend(readable(row)?);
                    }
                    if looked_at == REQUESTS_LOOKED_AT_MAX || page.requests.len() == REQUESTS_PER_READ_MAX {
                        page.next_before = Some(count(row, "position")?);
                        break;
                    }
                }
                Ok(page)
            })
            .await
    }
}

/// The row of a request, or none where a column holds what no version writes. A database that fails stays an error.
fn readable(row: &Row<'_>) -> Result<Option<ListedRequest>, StoreError> {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    match read(row) {
        Ok(listed) => Ok(Some(listed)),
        Err(error @ (FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..))) => {
            let request: String = row.get("request")?;
            tracing::error!(
                request,
                error = &error as &dyn std::error::Error,
                "the row of a request cannot be read; the others are listed"
            );
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ListedRequest> {
    Ok(ListedRequest {
        request: parsed(row, "request")?,
        agent: optional_parsed(row, "agent")?,
        tool: parsed(row, "tool")?,
        state: parsed(row, "state")?,
        request_sha256: parsed(row, "request_sha256")?,
        waits_until: time(row, "waits_until")?,
        position: count(row, "position")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::in_memory;

    /// What an agent makes as long as it likes is in no column that a list reads, nor before one: it would be read by way of it.
    #[test]
    fn a_list_reads_no_text_of_an_agent() {
        let (db, _reader) = in_memory("a_list_reads_no_text_of_an_agent").expect("a database");
        let columns = |table: &str| -> Vec<String> {
            let mut named = db.prepare(&format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid")).expect("a query");
            named.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("names")
        };
        assert_eq!(columns("requests").last().map(String::as_str), Some("frozen"));
        assert_eq!(columns("records").last().map(String::as_str), Some("body"));
        for state in RequestState::ALL.iter().copied().map(Some).chain([None]) {
            let prepared = db.prepare(&statement(state)).expect("a statement whose index serves it");
            let read = ["request", "tool", "state", "request_sha256", "waits_until", "position", "agent", "readers"];
            assert_eq!(prepared.column_names().collect::<Vec<_>>(), read, "{state:?}");
        }
    }
}
