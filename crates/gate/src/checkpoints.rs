//! Signs the head of the log after it is durable, and tells those who follow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vidimus_core::bytes::Digest;
use vidimus_core::checkpoint::{self, Checkpoint};
use vidimus_core::code::Refusal;
use vidimus_core::ids::GateId;
use vidimus_core::sign::PublicKey;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::verify_consistency;
use vidimus_store::{Head, Moment, Store, StoreError, StoredCheckpoint, VerifyError};

use crate::entropy::NoEntropy;
use crate::gate::moment;
use crate::keys::{HeadFile, Keys, KeysError};
use crate::limits::{CHECKPOINT_WAIT_S_MAX, HEAD_BEFORE_SEND_S_MAX, HEAD_LATE_MS_MAX, HEAD_RETRY_MS};

/// A signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Records under it.
    pub size: u64,
    /// Their root.
    pub root: Digest,
    /// The signed note.
    pub note: String,
}

/// Why the log cannot go on from its head.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// The head file is not a head of this gate.
    #[error("the head beside the keys is not one of this gate; restore the keys' folder as a whole")]
    Foreign(#[source] Refusal),
    /// There is no head, though one was signed.
    #[error(
        "log_behind_head: the database has signed checkpoints, and the head beside the keys is gone; restore the keys' folder as a whole"
    )]
    Missing,
    /// The database is older than the head.
    #[error(
        "log_behind_head: the database holds {found} records, the head beside the keys has {signed}; it is an older copy, restore the newest one"
    )]
    Behind {
        /// What the database holds.
        found: u64,
        /// What was signed.
        signed: u64,
    },
    /// The database holds another history.
    #[error("log_behind_head: the database does not lead on from the head beside the keys; it is another copy, restore the right one")]
    Forked(#[source] Refusal),
    /// The head file cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The database contradicts its log or a signature.
    #[error(transparent)]
    Contradicted(#[from] VerifyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The head cannot be signed.
    #[error("the head of the log cannot be signed")]
    Sign(#[source] Refusal),
}

/// The newest signed head, for all who follow.
pub struct Checkpoints {
    newest: watch::Sender<Arc<Signed>>,
    /// The size of the newest one that the ledger keeps.
    kept: watch::Sender<u64>,
    /// Whether the last attempt to write one failed.
    failing: watch::Sender<bool>,
    /// What the store has made durable.
    durable: watch::Receiver<Head>,
    behind: Mutex<Option<Behind>>,
    failures: AtomicU64,
}

/// The newest head was seen to cover less than what is durable.
#[derive(Clone, Copy)]
struct Behind {
    /// The size of that head.
    size: u64,
    /// When this was first seen of it.
    since: Instant,
}

impl Checkpoints {
    /// Checks the database against the head beside the keys and against its own log, and signs its present head.
    ///
    /// *Errors*: `Missing`, `Behind`, `Forked` and `Contradicted`: the gate must not start.
    pub async fn begin(store: &Store, keys: &Keys, head_file: &HeadFile) -> Result<Checkpoints, HeadError> {
        let head = store.head().await?;
        let behind = match head_file.read()? {
            Some(note) => Some(check_history(store, head, &note, &keys.gate(), &keys.log.public()).await?),
            // Whoever enrolled did so at a gate that ran, and a gate that runs signs heads.
            None if store.newest_checkpoint().await?.is_some() || store.roster().await?.is_some() => return Err(HeadError::Missing),
            None => None,
        };
        store.verify(behind).await?;
        let signed = sign(keys, head)?;
        head_file.write(&signed.note)?;
        // At no time of its own: until the start has looked how long nobody was there, nothing may say that it is later.
        let at_no_time = Moment { now: Timestamp::MIN, again: None, ..moment()? };
        keep(store, &signed, at_no_time).await?;
        Ok(Checkpoints {
            kept: watch::Sender::new(signed.size),
            newest: watch::Sender::new(Arc::new(signed)),
            failing: watch::Sender::new(false),
            durable: store.heads(),
            behind: Mutex::default(),
            failures: AtomicU64::new(0),
        })
    }

    /// Whether heads are signed as records come: only then may anything begin that has an effect, since a copy of the database
    /// from before it would otherwise pass for the whole. False while the last attempt failed, and while no new one came
    /// in time though records wait for it.
    pub fn stand(&self) -> bool {
        let size = self.newest.borrow().size;
        let waits = self.durable.borrow().size > size;
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if !waits {
            *behind = None;
        } else if behind.is_none_or(|behind| behind.size != size) {
            *behind = Some(Behind { size, since: Instant::now() });
        }
        let late = behind.is_some_and(|behind| behind.since.elapsed() > Duration::from_millis(HEAD_LATE_MS_MAX));
        !late && !*self.failing.borrow()
    }

    /// Returns once the head file covers every record that is durable now; false when that does not come in time. Whoever
    /// waits shares the next head with all the others who do.
    pub async fn cover_now(&self) -> bool {
        let size = self.durable.borrow().size;
        let mut newest = self.follow();
        let covering = newest.wait_for(|signed| signed.size >= size);
        tokio::time::timeout(Duration::from_secs(HEAD_BEFORE_SEND_S_MAX), covering).await.is_ok_and(|covered| covered.is_ok())
    }

    /// Attempts to write a head that failed, since the start.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Durable records that no head in its file covers.
    pub fn uncovered(&self) -> u64 {
        let size = self.newest.borrow().size;
        self.durable.borrow().size.saturating_sub(size)
    }

    /// The newest signed head.
    pub fn newest(&self) -> Arc<Signed> {
        self.newest.borrow().clone()
    }

    /// Follows the signed heads.
    pub fn follow(&self) -> watch::Receiver<Arc<Signed>> {
        self.newest.subscribe()
    }

    /// A signed head over at least `size` records; none when it does not come in time.
    pub async fn covering(&self, size: u64) -> Option<Arc<Signed>> {
        let mut newest = self.follow();
        let covering = newest.wait_for(|signed| signed.size >= size);
        let signed = self.unless_failing(covering).await?.ok()?.clone();
        Some(signed)
    }

    /// What is waited for, as long as heads can be written: people learn at once that theirs will be late.
    async fn unless_failing<T>(&self, waited_for: impl Future<Output = T>) -> Option<T> {
        let mut failing = self.failing.subscribe();
        let fails = async { failing.wait_for(|failing| *failing).await.map(drop) };
        tokio::select! {
            biased;
            came = waited_for => Some(came),
            _ = fails => None,
            () = tokio::time::sleep(Duration::from_secs(CHECKPOINT_WAIT_S_MAX)) => None,
        }
    }

    /// Returns once the ledger keeps a signed head over at least `size` records; none when that does not come in time.
    pub async fn kept(&self, size: u64) -> Option<()> {
        let mut kept = self.kept.subscribe();
        let keeps = kept.wait_for(|kept| *kept >= size);
        self.unless_failing(keeps).await?.ok().map(drop)
    }

    /// Signs each head that the store makes durable, the newest only when several came meanwhile. Ends with the token.
    ///
    /// A head is in its file before anyone sees it: what the file holds is durable already, so it is never ahead of the
    /// database. The ledger's own copy, which receipts name, follows with its next commit. One that cannot be written is tried
    /// again until it can.
    pub async fn run(&self, store: &Store, keys: &Keys, head_file: &HeadFile, ending: &CancellationToken) {
        let mut heads = store.heads();
        let mut keeping = JoinSet::new();
        loop {
            let head = *heads.borrow_and_update();
            if head.size > self.newest().size {
                match sign(keys, head).and_then(|signed| head_file.write(&signed.note).map(|()| signed).map_err(HeadError::from)) {
                    Ok(signed) => {
                        self.newest.send_replace(Arc::new(signed.clone()));
                        self.failing.send_if_modified(|failing| std::mem::replace(failing, false));
                        self.keep(store, signed, &mut keeping);
                    }
                    Err(error) => {
                        self.failures.fetch_add(1, Ordering::Relaxed);
                        if !self.failing.send_replace(true) {
                            crate::logging::failure("a head was not written; nothing with an effect begins until one is", &error);
                        }
                    }
                }
            }
            while keeping.try_join_next().is_some() {}
            let failing = *self.failing.borrow();
            tokio::select! {
                () = ending.cancelled() => break,
                () = tokio::time::sleep(Duration::from_millis(HEAD_RETRY_MS)), if failing => {}
                changed = heads.changed(), if !failing => if changed.is_err() { break },
            }
        }
        while keeping.join_next().await.is_some() {}
    }

    /// Hands a head to the ledger, in the order in which they are signed.
    fn keep(&self, store: &Store, signed: Signed, keeping: &mut JoinSet<()>) {
        let kept = self.kept.clone();
        match moment().map(|moment| keep(store, &signed, moment)) {
            Ok(keeps) => drop(keeping.spawn(async move {
                match keeps.await {
                    Ok(()) => drop(kept.send_if_modified(|size| signed.size > std::mem::replace(size, signed.size.max(*size)))),
                    Err(error) => crate::logging::failure("a signed head was not kept", &error),
                }
            })),
            Err(error) => crate::logging::failure("a signed head was not kept", &error),
        }
    }
}

async fn check_history(store: &Store, head: Head, note: &str, gate: &GateId, key: &PublicKey) -> Result<Head, HeadError> {
    let signed = checkpoint::parse_verify(note, &gate.to_string(), key).map_err(HeadError::Foreign)?;
    let signed = signed.checkpoint();
    if head.size < signed.size() {
        return Err(HeadError::Behind { found: head.size, signed: signed.size() });
    }
    let behind = Head { size: signed.size(), root: *signed.root() };
    if signed.size() == 0 {
        return Ok(behind);
    }
    let proof = store.consistency(signed.size(), head.size).await?;
    verify_consistency(signed.size(), signed.root(), head.size, &head.root, &proof).map_err(HeadError::Forked)?;
    Ok(behind)
}

fn sign(keys: &Keys, head: Head) -> Result<Signed, HeadError> {
    let origin = keys.gate().to_string();
    let checkpoint = Checkpoint::new(&origin, head.size, head.root).map_err(HeadError::Sign)?;
    let note = checkpoint.sign(&keys.log, &origin).map_err(HeadError::Sign)?;
    Ok(Signed { size: head.size, root: head.root, note })
}

/// Queues the ledger's copy of a head; the future ends when it is durable.
fn keep(store: &Store, signed: &Signed, moment: Moment) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
    let kept = StoredCheckpoint { size: signed.size, note: signed.note.clone() };
    store.store_checkpoint(moment, kept)
}
