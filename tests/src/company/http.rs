//! The company's own face: credential, run, standing orders, and then the tool.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{RequestPartsExt, Router};
use tokio::sync::{mpsc, oneshot};

use super::answer::Answer;
use super::behaviour::{Mode, Plan};
use super::control;
use super::door::{Peer, Shut};
use super::ledger::{Credential, ReceivedCall, sha256_hex};
use super::limits::{BODY_BYTES_MAX, HUGE_ANSWER_BYTES, RUN_NAME_BYTES_MAX, RUNS_MAX};
use super::run::{Answered, Asked, Run};
use super::tool::{Method, Tool};

/// Names the run that a call belongs to; without it, `default`.
pub const RUN_HEADER: &str = "vidimus-run";
/// The run of callers that name none.
pub const RUN_DEFAULT: &str = "default";
const KEY_HEADER: &str = "idempotency-key";
const REPLAY_HEADER: &str = "idempotent-replay";

/// What all connections share.
pub struct House {
    pub credential: String,
    pub runs: Mutex<BTreeMap<String, Run>>,
    pub door: mpsc::Sender<Shut>,
}

impl House {
    /// Does something with a run, which is made where there is none. The lock is held throughout, so that looking up
    /// a key, acting and keeping the answer are one step.
    ///
    /// # Errors
    /// An answer, when the run's name cannot be one or there are too many runs.
    pub fn with_run<T>(&self, name: &str, work: impl FnOnce(&mut Run) -> T) -> Result<T, Answer> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let full = runs.len() >= RUNS_MAX && !runs.contains_key(name);
        if full || !is_run_name(name) {
            let message = "a run is named by 1 to 64 letters, digits, `-` or `_`, and there is a limit to how many there are";
            return Err(Answer::refused(StatusCode::BAD_REQUEST, "run_refused", message));
        }
        Ok(work(runs.entry(name.to_owned()).or_insert_with(Run::seeded)))
    }

    /// Is gone for a while: returns when nobody gets in any more.
    async fn die(&self, away: Duration) {
        let (shut, gone) = oneshot::channel();
        if self.door.send(Shut { away, shut }).await.is_ok() {
            // The sender is dropped, never used: that is the signal.
            let _ = gone.await;
        }
    }
}

fn is_run_name(name: &str) -> bool {
    (1..=RUN_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// All addresses, once by themselves and once below `/runs/{run}` for callers that cannot send a header.
pub fn routes(house: Arc<House>) -> Router {
    let tools = Tool::ALL.iter().fold(Router::new(), |router, tool| {
        let tool = *tool;
        let method = match tool.method() {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
        };
        let take = move |State(house): State<Arc<House>>, request: Request| take(tool, house, request);
        router.route(tool.path(), on(method, take))
    });
    let all = tools.merge(control::routes());
    Router::new().nest("/runs/{run}", all.clone()).merge(all).with_state(house)
}

/// The run that a request names, by its address or by its header.
pub fn run_of(path: &BTreeMap<String, String>, headers: &HeaderMap) -> String {
    let named = path.get("run").map(String::as_str);
    let header = headers.get(RUN_HEADER).map(|value| value.to_str().unwrap_or(""));
    named.or(header).unwrap_or(RUN_DEFAULT).to_owned()
}

async fn take(tool: Tool, house: Arc<House>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(Path(path)) = parts.extract::<Path<BTreeMap<String, String>>>().await else {
        return Answer::invalid("the address must be UTF-8").into_response();
    };
    let Ok(Query(query)) = parts.extract::<Query<BTreeMap<String, String>>>().await else {
        return Answer::invalid("the query must be UTF-8, each name once").into_response();
    };
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else {
        let answer = Answer::refused(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "the body is too large or was cut off");
        return answer.into_response();
    };
    let subject = match tool {
        Tool::Search => query.get("q"),
        Tool::ListOrders => query.get("customer"),
        _ => path.get("id"),
    };
    let key = parts.headers.get(KEY_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = Asked { tool, subject: subject.cloned().unwrap_or_default(), key, body: body.to_vec() };

    let credential = credential_of(&parts.headers, &house.credential);
    let call = received(&parts, &asked, credential);
    let run = run_of(&path, &parts.headers);
    let planned = house.with_run(&run, |run| {
        run.ledger.receive(call);
        (credential == Credential::Accepted).then(|| run.plan(tool))
    });
    let plan = match planned {
        Err(refused) => return refused.into_response(),
        Ok(None) => {
            let message = "the company's own credential is needed here";
            return Answer::refused(StatusCode::UNAUTHORIZED, "credential_refused", message).into_response();
        }
        Ok(Some(plan)) => plan,
    };
    let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| info.0.clone());
    let elsewhere = match path.get("run") {
        Some(run) => format!("/runs/{run}{}", Tool::Elsewhere.path()),
        None => Tool::Elsewhere.path().to_owned(),
    };
    // A task of its own: like a real provider, the company goes on when the caller hangs up.
    let work = tokio::spawn(perform(house, run, asked, plan, peer, elsewhere));
    work.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn credential_of(headers: &HeaderMap, expected: &str) -> Credential {
    match headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
        None => Credential::Missing,
        Some(value) if value.strip_prefix(b"Bearer ") == Some(expected.as_bytes()) => Credential::Accepted,
        Some(_) => Credential::Wrong,
    }
}

fn received(parts: &Parts, asked: &Asked, credential: Credential) -> ReceivedCall {
    ReceivedCall {
        sequence: 0,
        tool: asked.tool,
        target: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        credential,
        key: asked.key.clone(),
        headers: parts.headers.keys().map(|name| name.as_str().to_owned()).collect(),
        body_sha256: sha256_hex(&asked.body),
    }
}

async fn perform(house: Arc<House>, run: String, asked: Asked, plan: Plan, peer: Option<Peer>, elsewhere: String) -> Response {
    let act = || match house.with_run(&run, |run| run.act(&asked)) {
        Ok(answered) => answered,
        Err(answer) => Answered { answer, replayed: false },
    };
    match plan.mode {
        Mode::Normal => respond(act()),
        Mode::Delay => {
            tokio::time::sleep(plan.delay).await;
            respond(act())
        }
        Mode::DelayAfterEffect => {
            let answered = act();
            tokio::time::sleep(plan.delay).await;
            respond(answered)
        }
        Mode::DropAfterEffect => {
            let answered = act();
            if let Some(peer) = peer {
                peer.cut();
            }
            respond(answered)
        }
        Mode::ErrorBefore => broken(),
        Mode::ErrorAfterEffect => {
            act();
            broken()
        }
        Mode::DieAfterEffect => {
            let answered = act();
            house.die(plan.delay).await;
            respond(answered)
        }
        Mode::ForgetKeys => match house.with_run(&run, |run| run.ledger.forget_keys(asked.tool)) {
            Ok(()) => respond(act()),
            Err(refused) => refused.into_response(),
        },
        Mode::Refuse => Answer::refused(StatusCode::UNPROCESSABLE_ENTITY, "refused", "refused, as ordered").into_response(),
        Mode::Redirect => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, elsewhere)]).into_response(),
        Mode::Huge => {
            act();
            let padding = "x".repeat(HUGE_ANSWER_BYTES);
            Answer::ok(&serde_json::json!({ "padding": padding })).into_response()
        }
        Mode::Garbage => {
            act();
            Answer { status: StatusCode::OK, body: b"\xff\xfe{\"id\": ".to_vec() }.into_response()
        }
    }
}

fn respond(answered: Answered) -> Response {
    let mut response = answered.answer.into_response();
    if answered.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    response
}

fn broken() -> Response {
    Answer::refused(StatusCode::INTERNAL_SERVER_ERROR, "broken", "broken, as ordered").into_response()
}
