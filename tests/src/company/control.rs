//! The inspection face: what was asked, what it did, what is stored; and orders to misbehave. It needs no credential
//! and is not part of what the gate calls.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::behaviour::Order;
use super::http::{House, run_of};
use super::ledger::{Effect, ReceivedCall};
use super::run::Run;
use super::tool::Tool;

type Names = Path<BTreeMap<String, String>>;

/// Answer to `GET /control/calls`.
#[derive(Serialize, Deserialize)]
pub struct Calls {
    pub calls: Vec<ReceivedCall>,
}

/// Answer to `GET /control/effects/{tool}`.
#[derive(Serialize, Deserialize)]
pub struct Effects {
    pub effects: Vec<Effect>,
}

/// The addresses of this face.
pub fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/control/effects", get(counts))
        .route("/control/effects/{tool}", get(effects))
        .route("/control/calls", get(calls))
        .route("/control/state", get(state))
        .route("/control/behaviour", post(behaviour))
        .route("/control/payees/{payee}", post(edit_payee))
        .route("/control/reset", post(reset))
        .route("/control/run", delete(remove))
        .route("/control/runs", get(runs))
}

async fn counts(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> Result<Json<BTreeMap<Tool, usize>>, Answer> {
    let counted = |run: &mut Run| Tool::ALL.iter().map(|tool| (*tool, run.ledger.effects(*tool).len())).collect();
    house.with_run(&run_of(&path, &headers), counted).map(Json)
}

async fn effects(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> Result<Json<Effects>, Answer> {
    let name = path.get("tool").map_or("", String::as_str);
    let Some(tool) = Tool::ALL.iter().find(|tool| tool.name() == name) else {
        return Err(Answer::absent("tool", name));
    };
    let effects = house.with_run(&run_of(&path, &headers), |run| run.ledger.effects(*tool).to_vec())?;
    Ok(Json(Effects { effects }))
}

async fn calls(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> Result<Json<Calls>, Answer> {
    let calls = house.with_run(&run_of(&path, &headers), |run| run.ledger.calls().cloned().collect())?;
    Ok(Json(Calls { calls }))
}

async fn state(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> Result<Json<Value>, Answer> {
    house.with_run(&run_of(&path, &headers), |run| run.state()).map(Json)
}

async fn behaviour(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap, body: Bytes) -> Result<StatusCode, Answer> {
    let order: Order = serde_json::from_slice(&body).map_err(|error| Answer::invalid(&error.to_string()))?;
    house.with_run(&run_of(&path, &headers), |run| run.order(&order))?.map_err(|message| Answer::invalid(&message))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Somebody edits the directory: the account behind a payee's name is another one from now on.
async fn edit_payee(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap, body: Bytes) -> Result<StatusCode, Answer> {
    let payee = path.get("payee").cloned().unwrap_or_default();
    let iban = String::from_utf8(body.to_vec()).map_err(|error| Answer::invalid(&error.to_string()))?;
    let known = house.with_run(&run_of(&path, &headers), |run| {
        let found = run.billing.payees.get_mut(&payee);
        found.map(|known| known.iban = iban).is_some()
    })?;
    if known { Ok(StatusCode::NO_CONTENT) } else { Err(Answer::absent("payee", &payee)) }
}

/// Back to what a fresh run holds: state, counts, keys and orders.
async fn reset(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> Result<StatusCode, Answer> {
    house.with_run(&run_of(&path, &headers), |run| *run = Run::seeded())?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(State(house): State<Arc<House>>, Path(path): Names, headers: HeaderMap) -> StatusCode {
    house.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&run_of(&path, &headers));
    StatusCode::NO_CONTENT
}

async fn runs(State(house): State<Arc<House>>) -> Json<Vec<String>> {
    Json(house.runs.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect())
}
