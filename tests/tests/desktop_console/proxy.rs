//! Somebody between the console and the gate who changes bytes on their way: as many as there were, so that nothing else shows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A part of an answer counts as whole when nothing more came for so long.
const WHOLE_AFTER: Duration = Duration::from_millis(25);
const BUFFER_BYTES: usize = 1 << 18;

/// One lie: in answers to requests whose first line holds `asked`, `truth` becomes `lie`.
#[derive(Clone, Debug)]
pub struct Lie {
    pub asked: &'static str,
    pub truth: Vec<u8>,
    pub lie: Vec<u8>,
}

/// Where the line is cut: the request whose first line holds this is the last thing that happens.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// It does not arrive.
    Before(&'static str),
    /// It arrives, and its answer does not.
    After(&'static str),
}

#[derive(Default)]
struct Orders {
    cut: Mutex<Option<Cut>>,
    is_cut: AtomicBool,
    target: Mutex<String>,
    lies: Mutex<Vec<Lie>>,
    told: AtomicUsize,
}

/// The one in between. Everything passes as it is until a lie is ordered.
pub struct Proxy {
    pub url: String,
    orders: Arc<Orders>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port, and passes on to the gate at `target`.
    pub async fn start(target: &str) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let orders = Arc::new(Orders::default());
        let proxy = Proxy { url, orders: orders.clone(), serving: tokio::spawn(serve(listener, orders)) };
        proxy.lead_to(target);
        Ok(proxy)
    }

    /// Passes new connections on to another gate.
    pub fn lead_to(&self, target: &str) {
        *held(&self.orders.target) = target.trim_start_matches("http://").to_owned();
    }

    /// Tells this from now on.
    pub fn tell(&self, lie: Lie) {
        assert_eq!(lie.truth.len(), lie.lie.len(), "a lie of another length shows by the length");
        held(&self.orders.lies).push(lie);
    }

    /// Cuts the line at this.
    pub fn cut(&self, cut: Cut) {
        *held(&self.orders.cut) = Some(cut);
    }

    /// Whether it came to that.
    pub fn is_cut(&self) -> bool {
        self.orders.is_cut.load(Ordering::SeqCst)
    }

    /// The line is whole again.
    pub fn mend(&self) {
        *held(&self.orders.cut) = None;
        self.orders.is_cut.store(false, Ordering::SeqCst);
    }

    /// No lies from now on.
    pub fn tell_the_truth(&self) {
        held(&self.orders.lies).clear();
    }

    /// How often a lie was told: a test whose lie was never told shows nothing.
    pub fn told(&self) -> usize {
        self.orders.told.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, orders: Arc<Orders>) {
    // Ends with the test.
    while let Ok((console, _)) = listener.accept().await {
        if orders.is_cut.load(Ordering::SeqCst) {
            continue;
        }
        let target = held(&orders.target).clone();
        // A gate that is away: the console meets a closed connection, as it would without us.
        let Ok(gate) = TcpStream::connect(target).await else { continue };
        let asked = Arc::new(Mutex::new(String::new()));
        let ((from_console, to_console), (from_gate, to_gate)) = (console.into_split(), gate.into_split());
        tokio::spawn(ask(from_console, to_gate, asked.clone(), orders.clone()));
        tokio::spawn(answer(from_gate, to_console, asked, orders.clone()));
    }
}

async fn ask(mut console: OwnedReadHalf, mut gate: OwnedWriteHalf, asked: Arc<Mutex<String>>, orders: Arc<Orders>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count) = console.read(&mut buffer).await {
        let bytes = &buffer[..count];
        let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        if line.ends_with(b"HTTP/1.1") {
            *held(&asked) = String::from_utf8_lossy(line).into_owned();
        }
        if orders.cuts(&asked, false) {
            return;
        }
        if count == 0 || gate.write_all(bytes).await.is_err() {
            return;
        }
    }
}

async fn answer(mut gate: OwnedReadHalf, mut console: OwnedWriteHalf, asked: Arc<Mutex<String>>, orders: Arc<Orders>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut whole = Vec::new();
    loop {
        let more = match whole.is_empty() {
            true => Some(gate.read(&mut buffer).await),
            false => tokio::time::timeout(WHOLE_AFTER, gate.read(&mut buffer)).await.ok(),
        };
        match more {
            Some(Ok(count)) if count > 0 => whole.extend_from_slice(&buffer[..count]),
            _ if orders.cuts(&asked, true) => return,
            Some(_) => {
                // The end: what is left is passed on, and its reader may be gone already.
                let _ = console.write_all(&orders.changed(&asked, std::mem::take(&mut whole))).await;
                return;
            }
            None => {
                if console.write_all(&orders.changed(&asked, std::mem::take(&mut whole))).await.is_err() {
                    return;
                }
            }
        }
    }
}

impl Orders {
    /// Whether the line is cut here, or was before.
    fn cuts(&self, asked: &Mutex<String>, answered: bool) -> bool {
        let asked = held(asked).clone();
        let here = match *held(&self.cut) {
            Some(Cut::Before(part)) => !answered && asked.contains(part),
            Some(Cut::After(part)) => answered && asked.contains(part),
            None => false,
        };
        self.is_cut.fetch_or(here, Ordering::SeqCst) || here
    }

    fn changed(&self, asked: &Mutex<String>, mut bytes: Vec<u8>) -> Vec<u8> {
        let asked = held(asked).clone();
        for lie in held(&self.lies).iter().filter(|lie| asked.contains(lie.asked)) {
            let mut from = 0;
            while let Some(at) = bytes[from..].windows(lie.truth.len()).position(|window| window == lie.truth) {
                bytes[from + at..from + at + lie.truth.len()].copy_from_slice(&lie.lie);
                from += at + lie.truth.len();
                self.told.fetch_add(1, Ordering::SeqCst);
            }
        }
        bytes
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
