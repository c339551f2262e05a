//! `serve`: runs the gate until it is told to end.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use super::{Outcome, say};
use crate::cli::Serve;
use crate::http::TlsFiles;
use crate::logging;
use crate::paging;
use crate::serving::{Listening, Options};

pub(super) async fn run(serve: Serve) -> Outcome {
    logging::begin();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let tls = serve.tls_cert.zip(serve.tls_key).map(|(certificate, key)| TlsFiles { certificate, key });
    let paging = paging::Options {
        repeat_s: serve.page_repeat_s,
        webhook: serve.page_webhook,
        webhook_secret: serve.page_webhook_secret,
        command: serve.page_command,
    };
    let Serve { data, credentials, listen, trusted_proxy, .. } = serve;
    let options = Options { data, credentials, listen, tls, trusted_proxy, paging };
    let listening = Listening::begin(options).await?;
    say(&format!("listening {}", listening.url()))?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = listening.stopped() => {
            // The next start recovers; a service manager makes it.
            tracing::error!("the database takes nothing more: the gate ends, start it again");
            listening.end().await;
            return Ok(ExitCode::FAILURE);
        }
    }
    tracing::info!("the gate ends: what is in flight is finished, nothing new begins");
    listening.end().await;
    Ok(ExitCode::SUCCESS)
}
