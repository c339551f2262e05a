//! What an operator's machinery asks.

use std::sync::Arc;

use axum::extract::State;

use super::rejection::Rejection;
use crate::gate::Gate;

/// The process runs.
pub async fn health() -> &'static str {
    "ok\n"
}

/// The process can take calls: its store answers and it is not ending.
pub async fn ready(State(gate): State<Arc<Gate>>) -> Result<&'static str, Rejection> {
    gate.refuse_while_ending()?;
    gate.store.head().await?;
    Ok("ready\n")
}
