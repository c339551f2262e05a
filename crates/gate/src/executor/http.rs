//! One request over HTTP, and what came of it. Sends once: no redirect, no proxy of the environment, no retry.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{Client, Method, Response, StatusCode, header};
use vidimus_core::bytes::Digest;
use vidimus_core::json::{Json, Limits, NumberRule, parse};
use vidimus_core::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX, RESULT_BYTES_MAX};
use vidimus_core::operation::Answer;
use vidimus_core::table;

use super::Secret;
use crate::limits::CONNECT_S_MAX;

/// What is sent.
pub struct Outgoing<'a> {
    /// The method.
    pub method: table::Method,
    /// The whole address.
    pub url: String,
    /// The body; none for a GET.
    pub body: Option<Vec<u8>>,
    /// The header that carries the operation's key, and the key.
    pub idempotency: Option<(&'a str, Digest)>,
    /// The provider's credential.
    pub credential: Option<Secret>,
    /// How long the whole may take. *Unit*: seconds.
    pub timeout_s: u64,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A whole answer.
    Whole {
        /// The status number.
        status: u16,
        /// The body, when it is one JSON document within the limits or empty; none when it cannot be read.
        result: Option<Vec<u8>>,
    },
    /// Not one byte of the request was sent.
    NothingSent {
        /// Why, in words.
        detail: String,
    },
    /// The request may have arrived: no answer, or one that was cut.
    Cut {
        /// Why, in words.
        detail: String,
    },
}

impl Reply {
    /// What the answer says about the effect. Whatever does not say done or nothing is unclear.
    pub fn judge(&self, no_effect_statuses: &[u16]) -> Answer {
        match self {
            Reply::Whole { status: 200 | 201 | 204, result: Some(_) } => Answer::Done,
            Reply::Whole { status, .. } if no_effect_statuses.contains(status) => Answer::NoEffect,
            Reply::Whole { .. } | Reply::Cut { .. } => Answer::Unclear,
            Reply::NothingSent { .. } => Answer::NothingSent,
        }
    }

    /// The result, if one came; an empty body is none.
    pub fn result(&self) -> Option<String> {
        match self {
            Reply::Whole { result: Some(result), .. } if !result.is_empty() => String::from_utf8(result.clone()).ok(),
            Reply::Whole { .. } | Reply::NothingSent { .. } | Reply::Cut { .. } => None,
        }
    }

    /// What happened, in words without any value of the call.
    pub fn detail(&self) -> String {
        match self {
            Reply::Whole { status, result: Some(_) } => format!("the provider answered with status {status}"),
            Reply::Whole { status, result: None } => format!("the provider answered with status {status} and a body that cannot be read"),
            Reply::NothingSent { detail } | Reply::Cut { detail } => detail.clone(),
        }
    }
}

/// The gate's clients.
#[derive(Clone)]
pub struct Outbound {
    /// For what has an effect: each attempt on a connection of its own, so that a refused connection proves that nothing
    /// was sent.
    once: Client,
    /// For reads, which may share connections.
    reads: Client,
}

impl Outbound {
    /// The clients.
    ///
    /// *Errors*: when the system's certificates cannot be used.
    pub fn new() -> Result<Outbound, reqwest::Error> {
        let builder = || {
            Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .http1_only()
                .tcp_nodelay(true)
                .user_agent("vidimus-gate")
                .connect_timeout(Duration::from_secs(CONNECT_S_MAX))
        };
        Ok(Outbound { once: builder().pool_max_idle_per_host(0).build()?, reads: builder().build()? })
    }

    /// Sends something with an effect, once.
    pub async fn send(&self, outgoing: Outgoing<'_>) -> Reply {
        exchange(&self.once, outgoing, End::Told).await
    }

    /// Sends a read, once.
    pub async fn ask(&self, outgoing: Outgoing<'_>) -> Reply {
        exchange(&self.reads, outgoing, End::Any).await
    }
}

/// How an answer must say where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// By its length or its last chunk: a provider that dies in the middle of it is seen to have.
    Told,
    /// By whatever ends it: what is cut is no document.
    Any,
}

async fn exchange(client: &Client, outgoing: Outgoing<'_>, end: End) -> Reply {
    let Outgoing { method, url, body, idempotency, credential, timeout_s } = outgoing;
    let method = match method {
        table::Method::Get => Method::GET,
        table::Method::Post => Method::POST,
        table::Method::Put => Method::PUT,
    };
    let mut request = client.request(method, url).timeout(Duration::from_secs(timeout_s)).header(header::ACCEPT, "application/json");
    if let Some((name, key)) = idempotency {
        request = request.header(name, key.to_string());
    }
    if let Some(secret) = &credential {
        request = request.bearer_auth(secret.reveal());
    }
    if let Some(body) = body {
        request = request.header(header::CONTENT_TYPE, "application/json").body(body);
    }
    let request = match request.build() {
        Ok(request) => request,
        Err(_) => return Reply::NothingSent { detail: "the request could not be built from the tool's row".to_owned() },
    };
    match client.execute(request).await {
        Ok(response) => read(response, end).await,
        Err(error) if error.is_connect() => Reply::NothingSent { detail: "the provider could not be reached; nothing was sent".to_owned() },
        Err(error) if error.is_timeout() => Reply::Cut { detail: format!("the provider did not answer within {timeout_s} s") },
        Err(_) => Reply::Cut { detail: "the connection to the provider was lost before its answer".to_owned() },
    }
}

/// Whether an answer says by itself where it ends. One that ends with its connection could have been longer (RFC 9112 section 6.3).
fn tells_its_end(status: StatusCode, headers: &header::HeaderMap) -> bool {
    let chunked = |value: &header::HeaderValue| value.to_str().is_ok_and(|text| text.trim().to_ascii_lowercase().ends_with("chunked"));
    status == StatusCode::NO_CONTENT
        || headers.contains_key(header::CONTENT_LENGTH)
        || headers.get(header::TRANSFER_ENCODING).is_some_and(chunked)
}

async fn read(response: Response, end: End) -> Reply {
    let status = response.status();
    if end == End::Told && !tells_its_end(status, response.headers()) {
        let detail = format!("the provider's answer with status {} does not say where it ends; it may have been cut", status.as_u16());
        return Reply::Cut { detail };
    }
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else {
            return Reply::Cut { detail: format!("the provider's answer with status {} was cut", status.as_u16()) };
        };
        if bytes.len() + chunk.len() > RESULT_BYTES_MAX {
            return Reply::Whole { status: status.as_u16(), result: None };
        }
        bytes.extend_from_slice(&chunk);
    }
    let readable = if status == StatusCode::NO_CONTENT { bytes.is_empty() } else { bytes.is_empty() || parse_result(&bytes).is_some() };
    Reply::Whole { status: status.as_u16(), result: readable.then_some(bytes) }
}

/// A result as our parser reads it; none when two readers could read it differently.
pub fn parse_result(bytes: &[u8]) -> Option<Json> {
    let limits = Limits { bytes: RESULT_BYTES_MAX, depth: JSON_DEPTH_MAX, nodes: JSON_NODES_MAX * 10, numbers: NumberRule::Any };
    parse(bytes, &limits).ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn an_answer_that_ends_with_its_connection_may_have_been_longer() {
        let headers = |pairs: &[(header::HeaderName, &'static str)]| -> header::HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), header::HeaderValue::from_static(value))).collect()
        };
        let rows = [
            (StatusCode::OK, headers(&[(header::CONTENT_LENGTH, "2")]), true),
            (StatusCode::OK, headers(&[(header::TRANSFER_ENCODING, "chunked")]), true),
            (StatusCode::OK, headers(&[(header::TRANSFER_ENCODING, "gzip, Chunked")]), true),
            (StatusCode::NO_CONTENT, headers(&[]), true),
            (StatusCode::OK, headers(&[]), false),
            (StatusCode::OK, headers(&[(header::CONNECTION, "close")]), false),
            (StatusCode::OK, headers(&[(header::TRANSFER_ENCODING, "gzip")]), false),
            (StatusCode::UNPROCESSABLE_ENTITY, headers(&[]), false),
        ];
        for (status, headers, told) in rows {
            assert_eq!(tells_its_end(status, &headers), told, "{status} {headers:?}");
        }
    }

    #[test]
    fn only_a_readable_success_says_done() {
        let whole = |status, result: Option<&str>| Reply::Whole { status, result: result.map(|text| text.as_bytes().to_vec()) };
        let rows = [
            (whole(200, Some("{}")), Answer::Done),
            (whole(201, Some("{}")), Answer::Done),
            (whole(204, Some("")), Answer::Done),
            (whole(200, None), Answer::Unclear),
            (whole(202, Some("{}")), Answer::Unclear),
            (whole(302, Some("")), Answer::Unclear),
            (whole(408, Some("")), Answer::Unclear),
            (whole(409, Some("{}")), Answer::Unclear),
            (whole(422, Some("{}")), Answer::NoEffect),
            (whole(422, None), Answer::NoEffect),
            (whole(429, Some("{}")), Answer::Unclear),
            (whole(500, Some("{}")), Answer::Unclear),
            (Reply::Cut { detail: String::new() }, Answer::Unclear),
            (Reply::NothingSent { detail: String::new() }, Answer::NothingSent),
        ];
        for (reply, expected) in rows {
            assert_eq!(reply.judge(&[400, 422]), expected, "{reply:?}");
        }
    }

    /// What a provider that says exactly this on the wire, and hangs up, is taken to have said.
    async fn replied(said: &'static str, effect: bool) -> Reply {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let provider = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.expect("a connection");
            let mut asked = [0; 4096];
            assert_ne!(connection.read(&mut asked).await.expect("a request"), 0);
            connection.write_all(said.as_bytes()).await.expect("an answer");
            connection.shutdown().await.expect("the end");
        });
        let outbound = Outbound::new().expect("clients");
        let outgoing = Outgoing { method: table::Method::Get, url, body: None, idempotency: None, credential: None, timeout_s: 30 };
        let reply = if effect { outbound.send(outgoing).await } else { outbound.ask(outgoing).await };
        provider.await.expect("the provider");
        reply
    }

    #[tokio::test]
    async fn only_what_says_where_it_ends_is_an_effects_whole_answer() {
        let whole = |result: &str| Reply::Whole { status: 200, result: Some(result.as_bytes().to_vec()) };
        let (sized, chunked) =
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
        for said in [sized, chunked] {
            assert_eq!(replied(said, true).await, whole("{}"), "{said:?}");
        }
        let closed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}";
        let died = "HTTP/1.1 200 OK\r\n\r\n";
        let old = "HTTP/1.0 200 OK\r\n\r\n{}";
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}";
        let no_last_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n";
        for said in [closed, died, old, short, no_last_chunk] {
            assert_eq!(replied(said, true).await.judge(&[422]), Answer::Unclear, "{said:?}");
        }
        // A read changes nothing, and what is cut of it is no document.
        assert_eq!(replied(closed, false).await, whole("{}"));
    }
}
