//! The listening socket, which can be shut for a while without giving up its port, and whose connections can be cut.
//!
//! The port is held by a second socket that is bound and does not listen: a caller is refused, and nobody else can
//! take the port. (Two sockets may be bound to one port like this on Linux; the tests run there.)

use std::convert::Infallible;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream as BlockingTcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::limits::BACKLOG;

/// The other end of a connection, and the means to end it without a word.
#[derive(Clone, Debug)]
pub struct Peer {
    connection: Option<Arc<BlockingTcpStream>>,
}

impl Peer {
    /// Cuts the connection: what is written afterwards reaches nobody.
    pub fn cut(&self) {
        if let Some(connection) = &self.connection {
            // The caller may have gone already, and then there is nothing to cut.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Peer {
        stream.remote_addr().clone()
    }
}

/// An order to shut the door for a while. `shut` is answered when no caller gets in any more.
pub struct Shut {
    pub away: Duration,
    pub shut: oneshot::Sender<Infallible>,
}

/// The door: open with a listener, or shut with the port held.
pub struct Door {
    address: SocketAddr,
    listener: Option<TcpListener>,
    held: TcpSocket,
    orders: mpsc::Receiver<Shut>,
    away: Duration,
    open: Vec<Weak<BlockingTcpStream>>,
}

impl Door {
    /// Opens a door at an address; port 0 takes a free one.
    ///
    /// # Errors
    /// The system's, when the address cannot be had.
    pub fn open(address: SocketAddr, orders: mpsc::Receiver<Shut>) -> io::Result<Door> {
        let first = bound(address)?;
        let address = first.local_addr()?;
        // Bound before the first one listens: afterwards the system would refuse.
        let held = bound(address)?;
        let listener = first.listen(BACKLOG)?;
        Ok(Door { address, listener: Some(listener), held, orders, away: Duration::ZERO, open: Vec::new() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Refuses new callers and cuts those who are in. The answer to the order is that its sender is dropped.
    fn shut(&mut self, order: Shut) {
        self.listener = None;
        self.away = order.away;
        for connection in self.open.drain(..).filter_map(|connection| connection.upgrade()) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(order.shut);
    }

    fn reopen(&mut self) -> io::Result<()> {
        let next = bound(self.address)?;
        let held = std::mem::replace(&mut self.held, next);
        self.listener = Some(held.listen(BACKLOG)?);
        Ok(())
    }

    fn admit(&mut self, stream: TcpStream) -> io::Result<(TcpStream, Peer)> {
        stream.set_nodelay(true)?;
        let blocking = stream.into_std()?;
        let connection = Arc::new(blocking.try_clone()?);
        self.open.retain(|known| known.strong_count() > 0);
        self.open.push(Arc::downgrade(&connection));
        Ok((TcpStream::from_std(blocking)?, Peer { connection: Some(connection) }))
    }
}

impl Drop for Door {
    /// Connections are served by tasks of their own, which would outlive the door.
    fn drop(&mut self) {
        for connection in self.open.drain(..).filter_map(|connection| connection.upgrade()) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Listener for Door {
    type Io = TcpStream;
    type Addr = Peer;

    async fn accept(&mut self) -> (TcpStream, Peer) {
        loop {
            let Some(listener) = &self.listener else {
                tokio::time::sleep(self.away).await;
                // A failure (no file handles, say) is tried again: the company must come back.
                let _ = self.reopen();
                continue;
            };
            tokio::select! {
                biased;
                Some(order) = self.orders.recv() => self.shut(order),
                Ok((stream, _)) = listener.accept() => {
                    if let Ok(admitted) = self.admit(stream) {
                        return admitted;
                    }
                }
                else => tokio::task::yield_now().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { connection: None })
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
