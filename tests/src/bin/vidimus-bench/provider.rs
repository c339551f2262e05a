//! A provider that does nothing, at once: what is left of a money call's time is the gate's own.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::BenchError;

/// The keys of the effects that were asked for, and how often anything was asked for.
#[derive(Default)]
struct Received {
    keys: HashSet<String>,
    requests: u64,
}

/// A provider on loopback. Dropping it closes it.
pub struct Provider {
    /// Where it listens.
    pub url: String,
    received: Arc<Mutex<Received>>,
    serving: JoinHandle<()>,
}

impl Provider {
    /// Opens it on the current runtime.
    pub async fn open() -> Result<Provider, BenchError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let received = Arc::new(Mutex::new(Received::default()));
        let router = Router::new().route("/billing/credits", post(done)).with_state(received.clone());
        let serving = tokio::spawn(async move {
            // Never returns by itself: accepting goes on until the task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Provider { url, received, serving })
    }

    /// Distinct effects, and requests for one.
    pub fn counts(&self) -> (u64, u64) {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        (received.keys.len() as u64, received.requests)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn done(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap) -> (StatusCode, &'static str) {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.requests += 1;
    received.keys.insert(key);
    (StatusCode::CREATED, r#"{"done":true}"#)
}
