//! The listener: accepts, bounds, and at the end lets what is in flight finish.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::places::Places;
use crate::limits::{
    ACCEPT_PAUSE_MS, BACKLOG_MAX, HANDSHAKE_S_MAX, HEAD_BYTES_MAX, HEAD_READ_S_MAX, HEADERS_MAX, SEND_BUFFER_BYTES, SHUTDOWN_S_MAX,
    WRITE_STALL_S_MAX,
};

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// What whoever finds no place is told, where nothing stands between it and these bytes.
const NO_PLACE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// How a listener serves.
pub struct Service {
    /// Its certificate; without one, plain HTTP.
    pub tls: Option<TlsAcceptor>,
    /// A proxy stands in between, so that the address at the other end says nothing of who is there.
    pub trusted_proxy: bool,
    /// The face.
    pub router: Router,
    /// Its connections.
    pub places: Arc<Places>,
}

/// Listens, with bounds that every connection inherits.
///
/// *Errors*: those of the system.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG_MAX)
}

/// Serves until the token is cancelled, then waits a bounded time for what is in flight.
pub async fn serve(listener: TcpListener, service: Service, ending: CancellationToken) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = ending.cancelled() => break,
            accepted = accept(&listener) => accepted,
        };
        let Some((stream, peer)) = accepted else { continue };
        let Some(connection) = service.places.enter((!service.trusted_proxy).then(|| peer.ip())) else {
            if service.tls.is_none() {
                // Its buffer is empty: the few bytes fit, or their reader is gone.
                let _ = stream.try_write(NO_PLACE);
            }
            continue;
        };
        // A connection's errors are its own: a client that goes away is no event of the gate.
        let watcher = graceful.watcher();
        let router = service.router.clone().layer(axum::Extension(Peer(peer))).layer(axum::Extension(Arc::clone(&connection)));
        let tls = service.tls.clone();
        let places = Arc::clone(&service.places);
        tokio::spawn(async move {
            let conversation = async {
                if let Err(error) = converse(stream, tls, router, watcher).await
                    && is_stalled(error.as_ref())
                {
                    places.count_stalled();
                }
            };
            tokio::select! {
                () = conversation => {}
                () = connection.cut() => {}
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(Duration::from_secs(SHUTDOWN_S_MAX), graceful.shutdown()).await;
}

async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are small; without this each waits for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) => {
            crate::logging::failure("a connection was not accepted", &error);
            // Out of file descriptors: trying again at once would only spin.
            tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            None
        }
    }
}

async fn converse(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    watcher: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut stream = TimeoutStream::new(stream);
    // Under TLS as well as without it: what counts is whether bytes leave.
    stream.set_write_timeout(Some(Duration::from_secs(WRITE_STALL_S_MAX)));
    let stream = Box::pin(stream);
    match tls {
        None => exchange(stream, router, watcher).await,
        Some(acceptor) => {
            let stream = tokio::time::timeout(Duration::from_secs(HANDSHAKE_S_MAX), acceptor.accept(stream)).await??;
            exchange(stream, router, watcher).await
        }
    }
}

/// Answers one request after the other: the next is not read before the answer to the one before is on its way, and idle
/// connections end as those do that bring no head.
async fn exchange<S>(stream: S, router: Router, watcher: Watcher) -> Result<(), Box<dyn Error + Send + Sync>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_READ_S_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .half_close(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    Ok(watcher.watch(connection).await?)
}

/// Whether a conversation ended because nothing could be written.
fn is_stalled(error: &(dyn Error + 'static)) -> bool {
    let timed_out =
        |error: &(dyn Error + 'static)| error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    let mut reason = Some(error);
    while let Some(error) = reason {
        if timed_out(error) {
            return true;
        }
        reason = error.source();
    }
    false
}
