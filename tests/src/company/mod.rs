//! The fixture company: a small support and billing team with three systems (tickets and customers, mail, billing) that
//! count their effects, can be inspected, and misbehave on request. The demo, the end-to-end tests and the torture run
//! on it. It knows nothing of the gate: a caller with the right credential is served.
//!
//! State belongs to a run: the header `Vidimus-Run`, or `/runs/NAME` before the address, or `default`.

pub mod agent;
mod answer;
mod arguments;
mod behaviour;
mod billing;
mod control;
mod desk;
mod door;
mod http;
mod inspector;
mod ledger;
pub mod limits;
mod mail;
mod run;
mod seed;
mod tool;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use behaviour::{Keys, Mode, Order, StatusQuery};
pub use control::{Calls, Effects};
pub use http::{RUN_DEFAULT, RUN_HEADER};
pub use inspector::{InspectionError, Inspector};
pub use ledger::{Credential, Effect, ReceivedCall, sha256_hex};
pub use tool::{Method, Tool};

use door::{Door, Peer};
use http::House;

/// How a company is opened.
#[derive(Clone)]
pub struct Options {
    /// The bearer credential that callers must show. The gate holds it; agents do not.
    pub credential: String,
    /// A loopback address; port 0 takes a free one.
    pub address: SocketAddr,
}

impl Options {
    /// On a free loopback port.
    pub fn new(credential: &str) -> Options {
        Options { credential: credential.to_owned(), address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) }
    }
}

/// A company that is open. Dropping it closes it.
pub struct Company {
    /// Where it listens, without a slash at the end.
    pub url: String,
    serving: JoinHandle<()>,
}

impl Company {
    /// Opens a company on the current tokio runtime.
    ///
    /// # Errors
    /// When the credential is empty, the address is not a loopback one, or it cannot be had.
    pub async fn start(options: Options) -> io::Result<Company> {
        if options.credential.is_empty() || !options.address.ip().is_loopback() {
            let message = "the fixture company needs a credential and a loopback address";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (orders, ordered) = mpsc::channel(1);
        let door = Door::open(options.address, ordered)?;
        let url = format!("http://{}", door.address());
        let house = House { credential: options.credential, runs: Mutex::default(), door: orders };
        let service = http::routes(Arc::new(house)).into_make_service_with_connect_info::<Peer>();
        let serving = tokio::spawn(async move {
            // Never returns by itself: accepting goes on until the task is aborted.
            let _ = axum::serve(door, service).await;
        });
        Ok(Company { url, serving })
    }

    /// The URL of one run: what an effect table is filled in with, so that a gate's calls belong to that run.
    pub fn run_url(&self, run: &str) -> String {
        format!("{}/runs/{run}", self.url)
    }

    /// An inspector of the default run.
    ///
    /// # Errors
    /// When no HTTP client can be made on this machine.
    pub fn inspector(&self) -> Result<Inspector, InspectionError> {
        Inspector::new(&self.url)
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The company's effect table, with its rows pointing at `url`.
pub fn effect_table(url: &str) -> String {
    include_str!("effects.toml").replace("{{company}}", url)
}

/// The company's table with a further tool, `pay_invoice`, on the list of the agent `billing`: it takes any payee, long texts,
/// lists and deep structures, for what windows must show of them.
pub fn with_pay_invoice(table: &str) -> String {
    let elsewhere = table.split("url = \"").find_map(|rest| rest.split_once("/billing/wires\"")).map_or("", |(url, _)| url);
    let row = include_str!("pay_invoice.toml").replace("{{company}}", elsewhere);
    let listed = table.replace(r#""cancel_subscription", "issue_credit"]"#, r#""cancel_subscription", "issue_credit", "pay_invoice"]"#);
    match listed.split_once("[[agent]]") {
        Some((rows, agents)) => format!("{rows}{row}[[agent]]{agents}"),
        None => listed,
    }
}

/// The variables that the rows of [`effect_table`] name.
const CREDENTIAL_VARIABLES: &[&str] =
    &["VIDIMUS_CREDENTIAL_COMPANY", "VIDIMUS_CREDENTIAL_SUPPORT", "VIDIMUS_CREDENTIAL_BILLING", "VIDIMUS_CREDENTIAL_TREASURY"];

/// What the gate's environment has to hold, so that the rows of [`effect_table`] find the company's credential: one name for
/// reads and writes, one for the money of each owner, since no row of another may name that.
pub fn credential_variables(credential: &str) -> impl Iterator<Item = (&'static str, &str)> {
    CREDENTIAL_VARIABLES.iter().map(move |variable| (*variable, credential))
}

/// An HTTP client that does what it is told, once: no proxy, no redirects, no retries.
fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).build()
}
