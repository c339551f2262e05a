//! The gate's own log: JSON lines on standard error. Secrets, arguments and results are in none of them.

use std::error::Error;

use tracing_subscriber::EnvFilter;

/// Begins to log. `VIDIMUS_LOG` filters as `tracing-subscriber` reads it.
pub fn begin() {
    let filter = EnvFilter::try_from_env("VIDIMUS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    // A second subscriber in one process is a test's business, not a fault.
    let _ = tracing_subscriber::fmt().json().flatten_event(true).with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Logs a failure with the chain of its reasons.
pub fn failure(what: &str, error: &dyn Error) {
    tracing::error!(reason = %chain(error), "{what}");
}

/// A failure with its reasons, outermost first.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
