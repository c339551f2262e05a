//! A gate that runs: its listener, its workers, its socket, and their orderly end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::gate::{Gate, StartError};
use crate::http::server::Service;
use crate::http::{TlsError, TlsFiles, router, server, tls_acceptor};
use crate::limits::{DESCRIPTORS_MIN, SHUTDOWN_S_MAX};
use crate::paging::{self, Paging, PagingError};
use crate::{admin, workers};

/// How a gate is reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of its data.
    pub data: PathBuf,
    /// The folder of its tools' credentials; without one, the default in the data folder.
    pub credentials: Option<PathBuf>,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Its certificate; without one, plain HTTP.
    pub tls: Option<TlsFiles>,
    /// A proxy in front speaks TLS.
    pub trusted_proxy: bool,
    /// How people are told of what waits for them.
    pub paging: paging::Options,
}

/// Why a gate does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Plain HTTP beyond this machine.
    #[error(
        "plain HTTP is served on loopback only, `{0}` is not; give `--tls-cert` and `--tls-key`, or `--trusted-proxy` when a proxy speaks TLS"
    )]
    PlainBeyondLoopback(SocketAddr),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be listened on.
    #[error("`{address}` cannot be listened on; choose another with `--listen`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The system gives fewer descriptors than the places need.
    #[error("the gate needs {DESCRIPTORS_MIN} descriptors and may have `{0}`; raise the limit (`ulimit -n`, `LimitNOFILE=`)")]
    Descriptors(u64),
    /// The administration socket cannot be made.
    #[error("the administration socket cannot be made in the data folder; check that the folder is the gate's own")]
    Socket(#[source] std::io::Error),
    /// Pages cannot be sent as configured.
    #[error(transparent)]
    Paging(#[from] PagingError),
    /// The gate does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Takes as many descriptors as the places need, up to what the system allows this process.
fn raise_descriptors() -> Result<(), ServeError> {
    let needed = u64::try_from(DESCRIPTORS_MIN).unwrap_or(u64::MAX);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let allowed = maximum.unwrap_or(needed);
    if allowed < needed || setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).is_err() {
        return Err(ServeError::Descriptors(allowed));
    }
    Ok(())
}

/// A gate that listens.
pub struct Listening {
    gate: Arc<Gate>,
    address: SocketAddr,
    scheme: &'static str,
    socket: PathBuf,
    serving: JoinHandle<()>,
    working: JoinHandle<()>,
    telling: JoinHandle<()>,
    signing: JoinHandle<()>,
    administering: JoinHandle<()>,
    /// Ends the signing of heads: last of all, so that the last records are under a signed head.
    signing_ends: CancellationToken,
}

impl Listening {
    /// Opens the gate and listens.
    ///
    /// *Errors*: each reason not to serve.
    pub async fn begin(options: Options) -> Result<Listening, ServeError> {
        if options.tls.is_none() && !options.trusted_proxy && !options.listen.ip().is_loopback() {
            return Err(ServeError::PlainBeyondLoopback(options.listen));
        }
        raise_descriptors()?;
        let tls = options.tls.as_ref().map(tls_acceptor).transpose()?;
        let paging = Paging::new(options.paging)?;
        let listen_error = |source| ServeError::Listen { address: options.listen, source };
        let listener = server::listen(options.listen).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let gate = Arc::new(Gate::open(&options.data, options.credentials.as_deref()).await?);
        let socket = admin::socket(&options.data);
        let admin_listener = admin::bind(&socket).map_err(ServeError::Socket)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let signing_ends = CancellationToken::new();
        let signing = tokio::spawn({
            let (gate, ends) = (gate.clone(), signing_ends.clone());
            async move { gate.checkpoints.run(&gate.store, &gate.keys, &gate.head_file, &ends).await }
        });
        let working = tokio::spawn(workers::run(gate.clone()));
        let telling = tokio::spawn(paging::run(gate.clone(), paging));
        let administering = tokio::spawn(admin::serve(admin_listener, gate.clone(), options.data));
        let serving = {
            let (router, places) = (router(gate.clone()), Arc::clone(&gate.places));
            let service = Service { tls, trusted_proxy: options.trusted_proxy, router, places };
            tokio::spawn(server::serve(listener, service, gate.ending.clone()))
        };
        Ok(Listening { gate, address, scheme, socket, serving, working, telling, signing, administering, signing_ends })
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// The gate itself.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Returns once the database takes nothing more: the gate is of no use from then on.
    pub async fn stopped(&self) {
        self.gate.store.stopped().await;
    }

    /// Ends: nothing new begins, what is in flight is finished in a bounded time, the store is closed.
    pub async fn end(self) {
        let Listening { gate, address: _, scheme: _, socket, serving, working, telling, signing, administering, signing_ends } = self;
        gate.ending.cancel();
        gate.in_flight.close();
        let finishing = async {
            // A round that had begun may still have started an execution: the tracker counts it.
            let _ = working.await;
            let _ = telling.await;
            let _ = administering.await;
            let _ = serving.await;
            gate.in_flight.wait().await;
        };
        // What takes longer is left to the lease: after the next start it is looked at, not sent again blindly.
        if tokio::time::timeout(Duration::from_secs(SHUTDOWN_S_MAX), finishing).await.is_err() {
            tracing::warn!(left = gate.in_flight.len(), "some work was not finished in time; its leases tell the next start");
        }
        if let Err(rejection) = gate.record_counted(gate.refusals.rest(Instant::now())).await {
            workers::report("refusals that were counted are not on record", rejection);
        }
        if let Err(rejection) = gate.record_counted_of_persons(gate.refusals_of_persons.rest(Instant::now())).await {
            workers::report("refusals of persons that were counted are not on record", rejection);
        }
        signing_ends.cancel();
        let _ = signing.await;
        gate.store.close();
        // Gone already, or to be replaced by the next start.
        let _ = std::fs::remove_file(socket);
    }
}
