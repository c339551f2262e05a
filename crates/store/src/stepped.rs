//! A store in memory whose commits the caller makes one by one: for simulations. The schema, the use cases, the group commit
//! and the log are those of every other store; there is no disk and no thread, so one seed always gives one course of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use vidimus_core::seal::SealKey;

use crate::Store;
use crate::engine::{Engine, Writer};
use crate::error::{OpenError, StoreError};
use crate::open::{in_memory, memory_uri};

/// What would be on the disk: it outlives the processes that use it.
pub struct Memory {
    writer: Connection,
    reader: Connection,
}

/// Whoever could write into this memory could read a key in it as well.
const NOBODYS_SEED: [u8; 32] = [0; 32];

/// Two databases of one process never share a name.
static NAMES: AtomicU64 = AtomicU64::new(0);

fn fresh_name() -> String {
    format!("vidimus-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

impl Memory {
    /// An empty database of the newest schema.
    pub fn new() -> Result<Memory, OpenError> {
        let (writer, reader) = in_memory(&fresh_name())?;
        Ok(Memory { writer, reader })
    }

    /// A copy, so that many courses of events can begin from one state.
    pub fn copy(&self) -> Result<Memory, OpenError> {
        let name = fresh_name();
        // Without a connection that keeps it, the copy would be gone before it is opened.
        let keeper = Connection::open(memory_uri(&name))?;
        self.writer.execute("VACUUM INTO ?1", [memory_uri(&name)])?;
        let (writer, reader) = in_memory(&name)?;
        drop(keeper);
        Ok(Memory { writer, reader })
    }

    /// Starts a store on it.
    pub fn open(self) -> Result<(Store, Commits), OpenError> {
        let (engine, writer) = Engine::stepped(self.writer, self.reader, SealKey::derive(&NOBODYS_SEED))?;
        let engine = Arc::new(engine);
        Ok((Store::around(Arc::clone(&engine)), Commits { engine, writer }))
    }
}

/// The writer's side of a stepped store. A use case waits until its batch is committed here.
pub struct Commits {
    engine: Arc<Engine>,
    writer: Writer,
}

impl Commits {
    /// Commits everything that is queued as one batch, and answers it. Tells how many use cases that were.
    pub fn commit(&mut self) -> usize {
        self.writer.step()
    }

    /// Ends the process in the middle of a batch: what is queued is carried out, but not committed and not answered.
    pub fn crash(self) -> Result<Memory, StoreError> {
        let writer = self.writer.die()?;
        let reader = self.engine.take_readers().pop().ok_or(StoreError::Closed)?;
        Ok(Memory { writer, reader })
    }
}
