//! A read: executed at once, repeated on time-out, recorded within a moment of its answer.

use std::sync::Arc;
use std::time::Duration;

use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::Effect;
use vidimus_core::json::{Json, Number};
use vidimus_core::table::{Executor, HttpExecutor, Method, Row, Table, ToolRead};
use vidimus_store::{AgentIdentity, ReadRecorded};

use super::CallFault;
use crate::executor::{Credentials, Outgoing, Reply, http::parse_result};
use crate::gate::Gate;
use crate::limits::{READ_ATTEMPTS_MAX, READ_BACKOFF_MS};

impl Gate {
    pub(super) async fn read(
        self: &Arc<Gate>,
        agent: &AgentIdentity,
        row: &Row,
        args: &Json,
        call: &CallRequest,
    ) -> Result<CallAnswer, CallFault> {
        let received = self.received(agent, row, call)?;
        let id = received.call;
        let asked = self.ask(row, args, call.args.get().as_bytes()).await;
        let (status, hits) = match &asked {
            Ok(reply) => (reply.detail(), hits(row, reply)),
            Err(_) => ("not sent".to_owned(), None),
        };
        let recorded = ReadRecorded { agent: received.agent, tool: received.tool, hits, status };
        self.record_read(recorded).await?;
        let reply = asked?;
        let result = reply.result().map(vidimus_api::raw_json).transpose().map_err(CallFault::failed)?;
        let status = match &reply {
            Reply::Whole { status: 200..=299, result: Some(_) } => CallStatus::Executed,
            // Its answer is the provider's own: a model learns from it that there is no such invoice.
            Reply::Whole { status: 400..=499, result: Some(_) } => CallStatus::Failed,
            Reply::Whole { .. } => return Err(provider(Code::ToolFailed, &format!("{}; try again later", reply.detail()))),
            Reply::NothingSent { detail } | Reply::Cut { detail } => {
                return Err(provider(Code::ToolUnreachable, &format!("{detail}; try again later")));
            }
        };
        Ok(CallAnswer {
            call: id,
            tool: row.tool.to_string(),
            status,
            code: if status == CallStatus::Executed { status.as_str() } else { Code::ToolFailed.as_str() }.to_owned(),
            words: if status == CallStatus::Executed { status.words().to_owned() } else { reply.detail() },
            request: None,
            request_sha256: None,
            args_sha256: None,
            operation: None,
            effect: Effect::Read,
            result,
            stored: false,
            denial: None,
            earlier: Vec::new(),
            waits_until: None,
            attempt: None,
        })
    }

    /// Puts a read on record after its answer; a bounded number is at risk at a time.
    async fn record_read(self: &Arc<Gate>, read: ReadRecorded) -> Result<(), CallFault> {
        let moment = self.moment()?;
        let gate = self.clone();
        // The permit is never closed; without one the answer waits, so that no more is at risk than the limit says.
        let permit = self.reads_at_risk.clone().acquire_owned().await.map_err(CallFault::failed)?;
        self.in_flight.spawn(async move {
            if let Err(error) = gate.store.record_read(moment, read).await {
                // No further read is answered: what cannot be put on record has no answer.
                gate.metrics.read_lost();
                crate::logging::failure("the record of a read was lost; agents are refused until the gate is started again", &error);
            }
            drop(permit);
        });
        Ok(())
    }

    /// The state that a row's own read captures; none where it cannot be had.
    pub(super) async fn state(&self, table: &Table, read: &ToolRead, args: &Json) -> Result<String, CallFault> {
        let unreadable = |detail: &str| {
            provider(Code::ToolUnreachable, &format!("the state before the write cannot be captured ({detail}); try again later"))
        };
        let row = table.row(&read.tool).filter(|row| row.effect == Effect::Read).ok_or_else(|| unreadable("its read has no row"))?;
        let args = read.arguments(args);
        let reply = self.ask(row, &args, &args.canonical()?).await?;
        match &reply {
            Reply::Whole { status: 200..=299, result: Some(_) } => reply.result().ok_or_else(|| unreadable("its answer is empty")),
            Reply::Whole { .. } | Reply::NothingSent { .. } | Reply::Cut { .. } => Err(unreadable(&reply.detail())),
        }
    }

    /// The whole answer of a read that the gate makes by itself; none where there is none that can be read.
    pub(crate) async fn read_whole(&self, row: &Row, args: &Json) -> Option<String> {
        let reply = self.ask(row, args, &args.canonical().ok()?).await.ok()?;
        match &reply {
            Reply::Whole { status: 200..=299, result: Some(_) } => reply.result(),
            Reply::Whole { .. } | Reply::NothingSent { .. } | Reply::Cut { .. } => None,
        }
    }

    /// Sends a read, again while its outcome is a time-out or a failure of the provider's.
    async fn ask(&self, row: &Row, args: &Json, bytes: &[u8]) -> Result<Reply, CallFault> {
        let http = http_of(row)?;
        let mut pause = Duration::from_millis(READ_BACKOFF_MS);
        let mut attempt = 1;
        loop {
            let reply = self.outbound.ask(outgoing(&self.credentials, http, args, bytes)?).await;
            let repeat = match &reply {
                Reply::Whole { status: 408 | 429 | 500..=599, .. } | Reply::NothingSent { .. } | Reply::Cut { .. } => true,
                Reply::Whole { .. } => false,
            };
            if !repeat || attempt >= READ_ATTEMPTS_MAX {
                return Ok(reply);
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            attempt += 1;
        }
    }
}

/// The refusal of a call that its provider stands in the way of.
fn provider(code: Code, detail: &str) -> CallFault {
    Refusal::new(code, detail).into()
}

/// How a row's call is sent over HTTP.
///
/// *Errors*: `tool_unreachable` for the kinds of executor that this gate does not have.
pub(super) fn http_of(row: &Row) -> Result<&HttpExecutor, CallFault> {
    match &row.executor {
        Executor::Http(http) => Ok(http),
        Executor::Mcp { .. } | Executor::Remote { .. } | Executor::Gate => Err(provider(
            Code::ToolUnreachable,
            "the tool's row names a kind of executor that this gate does not have; its owner has to change the row",
        )),
    }
}

/// The request of a read or a write: parameters in its address, the bytes that came as its body.
pub(super) fn outgoing<'a>(
    credentials: &Credentials,
    http: &'a HttpExecutor,
    args: &Json,
    bytes: &[u8],
) -> Result<Outgoing<'a>, CallFault> {
    let url = http.url.fill_url(args).map_err(|fault| super::arguments_invalid(vec![fault]).1);
    let url = url.map_err(|problem| CallFault::Refused(Box::new(problem)))?;
    let credential = http.credential.as_ref().map(|named| credentials.find(named)).transpose();
    let credential = credential.map_err(|error| {
        crate::logging::failure("a provider's credential was not found", &error);
        provider(Code::ToolUnreachable, "the gate has no credential for the tool; its operator has to set it")
    })?;
    Ok(Outgoing {
        method: http.method,
        url,
        body: (http.method != Method::Get).then(|| bytes.to_vec()),
        idempotency: None,
        credential,
        timeout_s: http.timeout_s,
    })
}

/// The count of hits, where the row says where it stands; none where a record cannot hold it.
fn hits(row: &Row, reply: &Reply) -> Option<u64> {
    let pointer = row.hits.as_deref()?;
    let json = parse_result(reply.result()?.as_bytes())?;
    json.pointer(pointer).and_then(Json::as_number).and_then(Number::as_u64).filter(|hits| Json::integer(*hits).is_ok())
}
