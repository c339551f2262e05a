//! The support-queue agent of the demo: a plain client of the gate's HTTP face that reads open tickets and proposes what
//! each asks for. It follows the web form's fields, not a model; it holds the gate's credentials and none of the company's.
//!
//! Reading and mail go under the support credential, refunds and cancellations under billing's. Each proposal has a call key
//! made of its ticket and its tool, so sending it again, in this process or a later one, cannot make a second proposal.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Seconds that one request asks the gate to wait for a change.
const WAIT_S: u64 = 20;
/// Milliseconds before a request that got no answer is sent again.
const AGAIN_MS: u64 = 300;
/// Seconds beyond the wait after which a request counts as unanswered.
const ANSWER_TIMEOUT_S: u64 = 15;
/// What finds the queue's open tickets.
const QUEUE_QUERY: &str = "support open";

/// Whom the agent talks to, and as whom.
#[derive(Clone)]
pub struct Options {
    /// The gate's URL.
    pub gate: String,
    /// Credential of the agent `support`.
    pub support: String,
    /// Credential of the agent `billing`.
    pub billing: String,
    /// How long the agent waits in all before it gives up.
    pub patience: Duration,
}

/// What the agent was told about one of its proposals, word for word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Told {
    pub ticket: String,
    pub tool: String,
    pub call_key: String,
    pub call: String,
    /// The approval request that the call became.
    pub request: Option<String>,
    pub request_sha256: Option<String>,
    pub args_sha256: Option<String>,
    pub operation: Option<String>,
    pub status: String,
    pub code: String,
    pub words: String,
    pub stored: bool,
    pub denial: Option<Denial>,
    /// The result as JSON text.
    pub result: Option<String>,
}

/// Why a person refused, as far as the agent may know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Denial {
    pub kind: String,
    pub note: String,
    pub role: String,
}

/// Why the agent stopped.
#[derive(Debug)]
pub enum AgentError {
    /// No HTTP client can be made on this machine.
    NoClient(reqwest::Error),
    /// The gate refused a call with a problem document.
    Refused { tool: String, code: String, detail: String },
    /// The gate's answer cannot be read.
    Unreadable { what: &'static str },
    /// The agent's patience is over.
    Unanswered { what: String },
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentError::NoClient(_) => f.write_str("no HTTP client can be made on this machine"),
            AgentError::Refused { tool, code, detail } => write!(f, "the gate refused `{tool}` with `{code}`: {detail}"),
            AgentError::Unreadable { what } => write!(f, "the gate's {what} cannot be read; is this a gate of the same version"),
            AgentError::Unanswered { what } => write!(f, "no final answer to `{what}` in time; ask again with the same call key"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AgentError::NoClient(error) => Some(error),
            AgentError::Refused { .. } | AgentError::Unreadable { .. } | AgentError::Unanswered { .. } => None,
        }
    }
}

/// The members of a call's answer that the agent reads.
#[derive(Deserialize)]
struct CallAnswer {
    call: String,
    status: String,
    code: String,
    words: String,
    request: Option<String>,
    request_sha256: Option<String>,
    args_sha256: Option<String>,
    operation: Option<String>,
    stored: bool,
    denial: Option<Denial>,
    result: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    ticket: String,
}

#[derive(Deserialize)]
struct Ticket {
    ticket: String,
    subject: String,
    intake: Option<Intake>,
}

/// The web form's fields: what this agent can act on.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Intake {
    Refund { invoice: String, amount_minor: u64, currency: String },
    Question { reply_to: String },
    Cancellation { subscription: String, effective: String },
}

/// Which of the two credentials a call is made under.
#[derive(Clone, Copy)]
enum Desk {
    Support,
    Billing,
}

/// A call that the agent has decided on.
struct Proposal {
    ticket: String,
    desk: Desk,
    tool: &'static str,
    call_key: String,
    args: Value,
    says: String,
}

/// Works through the queue once: reads, proposes all, then waits for each. Every step is reported as one JSON line.
///
/// # Errors
/// When the gate refuses, cannot be understood, or does not come to an end within the patience.
pub async fn work_through_queue(options: Options, report: impl FnMut(&str)) -> Result<Vec<Told>, AgentError> {
    let client = super::client().map_err(AgentError::NoClient)?;
    let until = Instant::now() + options.patience;
    let mut agent = Agent { options, client, until, report };
    let proposals = agent.read_queue().await?;
    let mut sent = Vec::new();
    for proposal in proposals {
        let (answer, is_final) = agent.propose(&proposal).await?;
        sent.push((proposal, answer, is_final));
    }
    let mut told = Vec::new();
    for (proposal, answer, is_final) in sent {
        let answer = if is_final { answer } else { agent.wait(&proposal, &answer.call).await? };
        told.push(agent.told(proposal, answer));
    }
    Ok(told)
}

struct Agent<Report> {
    options: Options,
    client: reqwest::Client,
    until: Instant,
    report: Report,
}

impl<Report: FnMut(&str)> Agent<Report> {
    fn say(&mut self, step: &Value) {
        (self.report)(&step.to_string());
    }

    async fn read_queue(&mut self) -> Result<Vec<Proposal>, AgentError> {
        let hits: Hits = self.read("search", &json!({ "query": QUEUE_QUERY })).await?;
        let mut proposals = Vec::new();
        for hit in hits.hits {
            let ticket: Ticket = self.read("get_ticket", &json!({ "ticket": hit.ticket })).await?;
            proposals.extend(proposal_for(ticket));
        }
        Ok(proposals)
    }

    /// Makes a read under the support credential and gives its result.
    async fn read<T: for<'de> Deserialize<'de>>(&mut self, tool: &'static str, args: &Value) -> Result<T, AgentError> {
        let body = json!({ "tool": tool, "args": args }).to_string();
        let (answer, _) = self.call(Desk::Support, tool, Some(body), format!("/v1/calls?wait_s={WAIT_S}")).await?;
        self.say(&json!({ "step": "read", "tool": tool, "args": args, "call": answer.call, "status": answer.status }));
        let result = answer.result.ok_or(AgentError::Unreadable { what: "result of a read" })?;
        serde_json::from_str(result.get()).map_err(|_| AgentError::Unreadable { what: "result of a read" })
    }

    async fn propose(&mut self, proposal: &Proposal) -> Result<(CallAnswer, bool), AgentError> {
        let body = json!({ "tool": proposal.tool, "args": proposal.args, "call_key": proposal.call_key, "says": proposal.says });
        let path = "/v1/calls?wait_s=0".to_owned();
        let (answer, is_final) = self.call(proposal.desk, proposal.tool, Some(body.to_string()), path).await?;
        self.say(&json!({
            "step": "proposed", "ticket": proposal.ticket, "tool": proposal.tool, "args": proposal.args, "call_key": proposal.call_key,
            "call": answer.call, "request": answer.request, "request_sha256": answer.request_sha256,
            "args_sha256": answer.args_sha256, "status": answer.status, "code": answer.code, "words": answer.words,
        }));
        Ok((answer, is_final))
    }

    async fn wait(&mut self, proposal: &Proposal, call: &str) -> Result<CallAnswer, AgentError> {
        loop {
            let path = format!("/v1/calls/{call}?wait_s={WAIT_S}");
            let (answer, is_final) = self.call(proposal.desk, proposal.tool, None, path).await?;
            if is_final {
                return Ok(answer);
            }
            if Instant::now() >= self.until {
                return Err(AgentError::Unanswered { what: proposal.call_key.clone() });
            }
        }
    }

    fn told(&mut self, proposal: Proposal, answer: CallAnswer) -> Told {
        let told = Told {
            ticket: proposal.ticket,
            tool: proposal.tool.to_owned(),
            call_key: proposal.call_key,
            call: answer.call,
            request: answer.request,
            request_sha256: answer.request_sha256,
            args_sha256: answer.args_sha256,
            operation: answer.operation,
            status: answer.status,
            code: answer.code,
            words: answer.words,
            stored: answer.stored,
            denial: answer.denial,
            result: answer.result.map(|result| result.get().to_owned()),
        };
        self.say(&json!({ "step": "told", "told": told }));
        told
    }

    /// Sends a request until the gate answers it: a body is posted, none is a question about a call. Sending again is
    /// safe: reads change nothing and a proposal carries its call key. True beside the answer when it is the last word.
    async fn call(&mut self, desk: Desk, tool: &str, body: Option<String>, path: String) -> Result<(CallAnswer, bool), AgentError> {
        loop {
            match self.send(desk, body.as_deref(), &path).await {
                Ok((status, text)) if status.is_success() => {
                    let answer = serde_json::from_str(&text).map_err(|_| AgentError::Unreadable { what: "answer to a call" })?;
                    return Ok((answer, status != reqwest::StatusCode::ACCEPTED));
                }
                Ok((status, text)) if !status.is_server_error() => {
                    let problem: Problem = serde_json::from_str(&text).map_err(|_| AgentError::Unreadable { what: "problem document" })?;
                    let detail = problem.detail.unwrap_or_default();
                    self.say(&json!({ "step": "refused", "tool": tool, "code": problem.code, "detail": detail }));
                    return Err(AgentError::Refused { tool: tool.to_owned(), code: problem.code, detail });
                }
                Ok(_) | Err(_) => {
                    self.say(&json!({ "step": "unanswered", "tool": tool }));
                    if Instant::now() >= self.until {
                        return Err(AgentError::Unanswered { what: tool.to_owned() });
                    }
                    tokio::time::sleep(Duration::from_millis(AGAIN_MS)).await;
                }
            }
        }
    }

    async fn send(&self, desk: Desk, body: Option<&str>, path: &str) -> Result<(reqwest::StatusCode, String), reqwest::Error> {
        let url = format!("{}{path}", self.options.gate.trim_end_matches('/'));
        let request = match body {
            Some(body) => self.client.post(url).header("content-type", "application/json").body(body.to_owned()),
            None => self.client.get(url),
        };
        let credential = match desk {
            Desk::Support => &self.options.support,
            Desk::Billing => &self.options.billing,
        };
        let timeout = Duration::from_secs(WAIT_S + ANSWER_TIMEOUT_S);
        let response = request.bearer_auth(credential).timeout(timeout).send().await?;
        let status = response.status();
        Ok((status, response.text().await?))
    }
}

/// What a ticket asks for. A ticket without form fields is left to a person.
fn proposal_for(ticket: Ticket) -> Option<Proposal> {
    let (desk, tool, args) = match ticket.intake? {
        Intake::Refund { invoice, amount_minor, currency } => {
            let reason = format!("{}: {}", ticket.ticket, ticket.subject);
            let args = json!({ "invoice": invoice, "amount_minor": amount_minor, "currency": currency, "reason": reason });
            (Desk::Billing, "refund", args)
        }
        Intake::Question { reply_to } => {
            let subject = format!("Re: {}", ticket.subject);
            let body = "Thank you for your patience. Your order leaves the warehouse on Thursday.\n\nThe support team";
            (Desk::Support, "send_email", json!({ "to": reply_to, "subject": subject, "body": body }))
        }
        Intake::Cancellation { subscription, effective } => {
            let reason = format!("{}: {}", ticket.ticket, ticket.subject);
            let args = json!({ "subscription": subscription, "effective": effective, "reason": reason });
            (Desk::Billing, "cancel_subscription", args)
        }
    };
    Some(Proposal {
        call_key: format!("support-queue.{}.{tool}", ticket.ticket),
        says: format!("{} asks for this: {}", ticket.ticket, ticket.subject),
        ticket: ticket.ticket,
        desk,
        tool,
        args,
    })
}
