//! A wire that can be cut: whatever passes between two programs goes through it. While it is cut nothing arrives on either
//! side, and nobody is told so; what was on its way is lost, and connections from before never speak again.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Between two looks at whether the wire is whole again.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Default)]
struct State {
    cut: AtomicBool,
    over: AtomicBool,
    /// Counts the cuts: a connection from before one is dead.
    cuts: AtomicU64,
    target: Mutex<String>,
}

/// A wire to an address, with an address of its own.
pub struct Wire {
    pub url: String,
    state: Arc<State>,
}

impl Wire {
    /// A wire to this URL; the other end need not be there yet.
    pub fn to(url: &str) -> Wire {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        *state.target.lock().unwrap_or_else(PoisonError::into_inner) = url.trim_start_matches("http://").to_owned();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(near) = near {
                    let state = Arc::clone(&shared);
                    thread::spawn(move || join(near, &state));
                }
            }
        });
        Wire { url: format!("http://{address}"), state }
    }

    /// From now on nothing passes.
    pub fn cut(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
        self.state.cut.store(true, Ordering::SeqCst);
    }

    /// New connections pass again.
    pub fn mend(&self) {
        self.state.cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        // One more connection, so that the listener looks.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn join(near: TcpStream, state: &Arc<State>) {
    let born = state.cuts.load(Ordering::SeqCst);
    if state.cut.load(Ordering::SeqCst) {
        // Whoever connects while it is cut waits for an answer that never comes, and nothing of what was said arrives later.
        while state.cut.load(Ordering::SeqCst) && !state.over.load(Ordering::SeqCst) {
            thread::sleep(LOOK);
        }
        return;
    }
    let target = state.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Ok(far) = TcpStream::connect(target) else { return };
    let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
    let other = Arc::clone(state);
    let back = thread::spawn(move || pass(far_too, near_too, &other, born));
    pass(near, far, state, born);
    let _ = back.join();
}

/// Passes bytes on as long as the wire is whole; after a cut neither end hears of the other again.
fn pass(mut from: TcpStream, mut to: TcpStream, state: &State, born: u64) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        if state.cuts.load(Ordering::SeqCst) != born {
            while state.cut.load(Ordering::SeqCst) && !state.over.load(Ordering::SeqCst) {
                thread::sleep(LOOK);
            }
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
    }
}
