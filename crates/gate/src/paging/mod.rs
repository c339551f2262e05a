//! Tells people of what waits for them. The queue is the store's; here is how a page leaves the gate: by the log's own
//! record, by a signed webhook, by a program. A page that is cut off by a crash is sent again, under the same id.

mod command;
mod secret;
mod webhook;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use vidimus_api::page::{PageData, PageDocument};
use vidimus_core::page::{PageChannel, PageOutcome};
use vidimus_store::{Page, PageSent};

use crate::gate::Gate;
use crate::http::Rejection;
use crate::limits::{PAGE_LOOK_MS, PAGES_AT_ONCE_MAX};
use command::Command;
pub use secret::{SecretPlace, SecretPlaceError};
use webhook::Webhook;

/// Where pages go, beside the log.
#[derive(Debug, Clone)]
pub struct Options {
    /// After how long a page that nobody opened is sent again. *Unit*: seconds.
    pub repeat_s: u64,
    /// The address that receives them.
    pub webhook: Option<String>,
    /// Where the webhook's secret is found.
    pub webhook_secret: Option<SecretPlace>,
    /// The program that receives them.
    pub command: Option<PathBuf>,
}

/// Why pages cannot be sent as configured.
#[derive(Debug, thiserror::Error)]
pub enum PagingError {
    /// The address is not one that may be used.
    #[error("`--page-webhook` is not an `https` address, or one on this machine; write it as `https://…`")]
    AddressUnusable,
    /// The secret is not there or not one.
    #[error("the webhook's secret is not there, or not `whsec_` and the base64 of 24 to 64 bytes; make one and name where it is found")]
    SecretUnusable(#[source] Option<crate::executor::CredentialError>),
    /// The program is not there.
    #[error("`{}` is not a program that can be started; name its whole path", .0.display())]
    CommandUnusable(PathBuf),
    /// The client cannot be made.
    #[error("the client for the webhook cannot be made; check the system's certificates")]
    Client(#[from] reqwest::Error),
}

/// The configured ways.
pub struct Paging {
    repeat_s: u64,
    webhook: Option<Webhook>,
    command: Option<Command>,
}

impl Paging {
    /// The ways that the options name, each tried as far as it can be without sending anything.
    ///
    /// *Errors*: what is not usable: a gate that could not page must say so at its start, not at three in the morning.
    pub fn new(options: Options) -> Result<Paging, PagingError> {
        let webhook = options.webhook.map(|url| Webhook::new(&url, options.webhook_secret.as_ref())).transpose()?;
        let command = options.command.map(Command::new).transpose()?;
        Ok(Paging { repeat_s: options.repeat_s, webhook, command })
    }
}

/// Sends what is due until the gate ends.
pub async fn run(gate: Arc<Gate>, paging: Paging) {
    loop {
        tokio::select! {
            () = gate.ending.cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(PAGE_LOOK_MS)) => {}
        }
        if let Err(rejection) = round(&gate, &paging).await {
            let problem = rejection.into_problem();
            tracing::error!(code = problem.code, detail = problem.detail, "pages were not sent; the next round tries again");
        }
    }
}

async fn round(gate: &Gate, paging: &Paging) -> Result<(), Rejection> {
    let due = gate.store.due_pages(gate.moment()?).await?;
    let mut sending = futures_util::stream::iter(due).map(|page| send(gate, paging, page)).buffer_unordered(PAGES_AT_ONCE_MAX);
    while let Some(sent) = sending.next().await {
        sent?;
    }
    Ok(())
}

async fn send(gate: &Gate, paging: &Paging, page: Page) -> Result<(), Rejection> {
    let id = format!("{}.{}.{}", gate.identity.gate, page.page, page.count + 1);
    let document = document(gate, &page);
    let body = serde_json::to_vec(&document).map_err(|error| Rejection::failure(&error))?;
    let seconds = document.timestamp.as_s();
    let mut deliveries = vec![(PageChannel::Console, PageOutcome::Delivered)];
    let (webhook, command) = tokio::join!(
        async {
            match &paging.webhook {
                Some(webhook) => Some(webhook.deliver(&gate.ending, &id, seconds, &body).await),
                None => None,
            }
        },
        async {
            match &paging.command {
                Some(command) => Some(command.deliver(&body).await),
                None => None,
            }
        }
    );
    deliveries.extend(webhook.map(|outcome| (PageChannel::Webhook, outcome)));
    deliveries.extend(command.map(|outcome| (PageChannel::Command, outcome)));
    for (channel, outcome) in &deliveries {
        gate.metrics.paged(*channel, *outcome);
        if *outcome == PageOutcome::Failed {
            tracing::warn!(reason = %page.reason, %channel, "a page was not delivered; it is sent again");
        }
    }
    gate.store.page_sent(gate.moment()?, PageSent { page, deliveries, repeat_s: paging.repeat_s }).await?;
    Ok(())
}

fn document(gate: &Gate, page: &Page) -> PageDocument {
    PageDocument {
        kind: format!("page.{}", page.reason),
        timestamp: crate::clock::now(),
        data: PageData {
            gate: gate.identity.gate.to_string(),
            environment: gate.identity.environment.to_string(),
            reason: page.reason.to_string(),
            request: page.request,
            operation: page.operation,
            tool: page.tool.as_ref().map(ToString::to_string),
            state: page.state.clone(),
            roles: page.roles.iter().map(ToString::to_string).collect(),
            since: page.since,
            count: page.count + 1,
        },
    }
}
