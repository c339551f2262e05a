//! The listener: accepts, bounds, and at the end lets what is in flight finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::limits::{ACCEPT_PAUSE_MS, CONNECTIONS_MAX, HANDSHAKE_S_MAX, HEAD_BYTES_MAX, HEAD_READ_S_MAX, HEADERS_MAX, SHUTDOWN_S_MAX};

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Serves until the token is cancelled, then waits a bounded time for what is in flight.
pub async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router, ending: CancellationToken) {
    let open = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = ending.cancelled() => break,
            accepted = accept(&listener, &open) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        // A connection's errors are its own: a client that goes away is no event of the gate.
        let watcher = graceful.watcher();
        let router = router.clone();
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => converse(stream, peer, router, watcher).await,
                Some(acceptor) => {
                    let handshake = tokio::time::timeout(Duration::from_secs(HANDSHAKE_S_MAX), acceptor.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        converse(stream, peer, router, watcher).await;
                    }
                }
            }
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(Duration::from_secs(SHUTDOWN_S_MAX), graceful.shutdown()).await;
}

async fn accept(listener: &TcpListener, open: &Arc<Semaphore>) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let permit = open.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are small; without this each waits for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, peer, permit))
        }
        Err(error) => {
            crate::logging::failure("a connection was not accepted", &error);
            // Out of file descriptors: trying again at once would only spin.
            tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            None
        }
    }
}

async fn converse<S>(stream: S, peer: SocketAddr, router: Router, watcher: hyper_util::server::graceful::Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = router.layer(axum::Extension(Peer(peer)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_READ_S_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .half_close(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let _ = watcher.watch(connection).await;
}
