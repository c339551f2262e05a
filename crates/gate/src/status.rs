//! Asking a provider what became of an operation: in turn, and when a person wants to know. Only an answer that is about what
//! was sent is taken for one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use vidimus_core::ids::CallId;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::OperationKey;
use vidimus_core::table::{Executor, HttpExecutor, Idempotency, Method, StatusRead};
use vidimus_store::{OperationView, StatusAnswer, StoreError};

use crate::executor::{Outgoing, Reply, http::parse_result};
use crate::gate::Gate;
use crate::http::Rejection;
use crate::limits::{STATUS_ASK_REST_S, STATUS_ASKS_MAX};

/// When people last asked about an operation. Each question leaves a record, so that one a moment later is not put.
#[derive(Default)]
pub struct Asks(Mutex<HashMap<OperationKey, Instant>>);

impl Asks {
    /// Whether the provider may be asked about the operation now.
    pub fn begin(&self, operation: OperationKey) -> bool {
        let mut asks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = Duration::from_secs(STATUS_ASK_REST_S);
        asks.retain(|_, asked| asked.elapsed() < rest);
        if asks.contains_key(&operation) || asks.len() >= STATUS_ASKS_MAX {
            return false;
        }
        asks.insert(operation, Instant::now());
        true
    }
}

/// What was sent, as far as an answer can be compared with it.
struct Sent {
    body: Vec<u8>,
    args: Json,
}

impl Gate {
    /// What an operation's provider says of it, and the call behind it; none where its row does not say how to ask, or is not
    /// the one that it was made under.
    ///
    /// *Errors*: those of the store.
    pub async fn ask_provider(&self, operation: OperationKey) -> Result<Option<(CallId, StatusAnswer)>, Rejection> {
        let Some(view) = self.store.operation(operation).await? else { return Ok(None) };
        let table = self.table().await?;
        let row = table.as_ref().and_then(|table| table.row(&view.tool)).filter(|row| row.digest() == view.row_sha256);
        let Some(row) = row else { return Ok(None) };
        let (Idempotency::Status(status), Executor::Http(http)) = (&row.idempotency, &row.executor) else { return Ok(None) };
        let sent = self.sent(&view).await?;
        Ok(Some((view.call, self.ask_over_http(http, status, operation, &sent).await)))
    }

    async fn sent(&self, view: &OperationView) -> Result<Sent, Rejection> {
        let lost = || StoreError::Corrupt("an operation without what it sent".to_owned());
        if let Some(args) = &view.args {
            return Ok(Sent { body: args.clone().into_bytes(), args: parse(args.as_bytes(), &Limits::CALL)? });
        }
        let request = self.store.any_call(view.call).await?.and_then(|call| call.request).ok_or_else(lost)?;
        let frozen = vidimus_store::frozen(&request.frozen)?;
        Ok(Sent { body: frozen.canonical_args().to_vec(), args: frozen.members().args.clone() })
    }

    async fn ask_over_http(&self, http: &HttpExecutor, status: &StatusRead, operation: OperationKey, sent: &Sent) -> StatusAnswer {
        let Ok(credential) = http.credential.as_ref().map(|named| self.credentials.find(named)).transpose() else {
            return StatusAnswer::Unclear { detail: "the gate has no credential to ask with".to_owned() };
        };
        let outgoing = Outgoing {
            method: Method::Get,
            url: status.url_for(&operation.digest()),
            body: None,
            idempotency: None,
            credential,
            timeout_s: http.timeout_s,
        };
        let reply = self.outbound.ask(outgoing).await;
        judge(&reply, status, operation, sent)
    }
}

/// What a reply says about the operation. Nothing but a whole document, found and ours, says that it happened.
fn judge(reply: &Reply, status: &StatusRead, operation: OperationKey, sent: &Sent) -> StatusAnswer {
    let detail = reply.detail();
    let bytes = match reply {
        Reply::Whole { status: 200, result: Some(bytes) } => bytes,
        Reply::Whole { status: 404 | 410, .. } => return StatusAnswer::NotFound { detail },
        Reply::Whole { .. } | Reply::NothingSent { .. } | Reply::Cut { .. } => return StatusAnswer::Unclear { detail },
    };
    let Some(answer) = parse_result(bytes) else { return StatusAnswer::Unclear { detail } };
    let Some(found) = status.result_in(&answer) else {
        return StatusAnswer::NotFound { detail: "the provider answered, and names no result".to_owned() };
    };
    if !StatusRead::says_something(found) {
        return StatusAnswer::Unclear { detail: "the provider answered with an empty result, which may mean none".to_owned() };
    }
    if !status.is_ours(&answer, &operation.digest(), &sent.body, &sent.args) {
        let detail =
            "the provider has something under the operation's key that is not what was sent, or not in the state that counts as done"
                .to_owned();
        return StatusAnswer::Foreign { detail };
    }
    match found.canonical().ok().and_then(|text| String::from_utf8(text).ok()) {
        Some(result) => StatusAnswer::Found { result },
        None => StatusAnswer::Unclear { detail: "the provider's result has no form that can be kept".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use vidimus_core::bytes::Digest;
    use vidimus_core::table::StatusMatch;
    use vidimus_core::template::Template;

    use super::*;

    #[test]
    fn only_a_result_that_is_found_and_ours_says_that_it_happened() {
        let status = StatusRead {
            url: Template::parse("http://127.0.0.1:9/{operation}").expect("a template"),
            found: "/result".to_owned(),
            matches: vec![StatusMatch { at: "/sum".to_owned(), is: Template::parse("{args.sum}").expect("a template") }],
        };
        let operation: OperationKey = Digest::of(b"operation").to_string().parse().expect("a key");
        let body = br#"{"sum":1500}"#;
        let sent = Sent { body: body.to_vec(), args: parse(body, &Limits::MONEY).expect("arguments") };
        let whole = |status, text: &str| Reply::Whole { status, result: Some(text.as_bytes().to_vec()) };
        let cases = [
            (whole(200, r#"{"sum":1500,"result":{"id":"r1"}}"#), "found"),
            (whole(200, r#"{"sum":1501,"result":{"id":"r1"}}"#), "foreign"),
            (whole(200, r#"{"result":{"id":"r1"}}"#), "foreign"),
            (whole(200, r#"{"sum":1500,"result":null}"#), "not_found"),
            (whole(200, r#"{"sum":1500}"#), "not_found"),
            (whole(200, r#"{"sum":1500,"result":false}"#), "unclear"),
            (whole(200, r#"{"sum":1500,"result":0}"#), "unclear"),
            (whole(200, r#"{"sum":1500,"result":""}"#), "unclear"),
            (whole(200, r#"{"sum":1500,"result":[]}"#), "unclear"),
            (whole(200, r#"{"sum":1500,"result":{}}"#), "unclear"),
            (whole(200, r#"{"sum":1500,"result":true}"#), "found"),
            (whole(404, "{}"), "not_found"),
            (whole(410, ""), "not_found"),
            (whole(200, "{"), "unclear"),
            (whole(201, r#"{"sum":1500,"result":{}}"#), "unclear"),
            (whole(500, r#"{"sum":1500,"result":{}}"#), "unclear"),
            (Reply::Whole { status: 200, result: None }, "unclear"),
            (Reply::Cut { detail: "cut".to_owned() }, "unclear"),
            (Reply::NothingSent { detail: "down".to_owned() }, "unclear"),
        ];
        for (reply, expected) in cases {
            assert_eq!(judge(&reply, &status, operation, &sent).as_str(), expected, "{reply:?}");
        }
    }
}
