//! Signs the head of the log after it is durable, and tells those who follow.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vidimus_core::bytes::Digest;
use vidimus_core::checkpoint::{self, Checkpoint};
use vidimus_core::code::Refusal;
use vidimus_core::ids::GateId;
use vidimus_core::sign::PublicKey;
use vidimus_core::tree::verify_consistency;
use vidimus_store::{Head, Store, StoreError, StoredCheckpoint, VerifyError};

use crate::entropy::NoEntropy;
use crate::gate::moment;
use crate::keys::{HeadFile, Keys, KeysError};
use crate::limits::CHECKPOINT_WAIT_S_MAX;

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
        keep(store, &signed)?.await?;
        Ok(Checkpoints { kept: watch::Sender::new(signed.size), newest: watch::Sender::new(Arc::new(signed)) })
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
        let signed = tokio::time::timeout(Duration::from_secs(CHECKPOINT_WAIT_S_MAX), covering).await.ok()?.ok()?.clone();
        Some(signed)
    }

    /// Returns once the ledger keeps a signed head over at least `size` records; none when that does not come in time.
    pub async fn kept(&self, size: u64) -> Option<()> {
        let mut kept = self.kept.subscribe();
        let keeps = kept.wait_for(|kept| *kept >= size);
        tokio::time::timeout(Duration::from_secs(CHECKPOINT_WAIT_S_MAX), keeps).await.ok()?.ok().map(drop)
    }

    /// Signs each head that the store makes durable, the newest only when several came meanwhile. Ends with the token.
    ///
    /// A head is in its file before anyone sees it: what the file holds is durable already, so it is never ahead of the
    /// database. The ledger's own copy, which receipts name, follows with its next commit.
    pub async fn run(&self, store: &Store, keys: &Keys, head_file: &HeadFile, ending: &CancellationToken) {
        let mut heads = store.heads();
        let mut keeping = JoinSet::new();
        loop {
            let head = *heads.borrow_and_update();
            if head.size > self.newest().size {
                match sign(keys, head).and_then(|signed| head_file.write(&signed.note).map(|()| signed).map_err(HeadError::from)) {
                    Ok(signed) => {
                        self.newest.send_replace(Arc::new(signed.clone()));
                        self.keep(store, signed, &mut keeping);
                    }
                    Err(error) => crate::logging::failure("a head was not signed; the next one will be", &error),
                }
            }
            while keeping.try_join_next().is_some() {}
            tokio::select! {
                () = ending.cancelled() => break,
                changed = heads.changed() => if changed.is_err() { break },
            }
        }
        while keeping.join_next().await.is_some() {}
    }

    /// Hands a head to the ledger, in the order in which they are signed.
    fn keep(&self, store: &Store, signed: Signed, keeping: &mut JoinSet<()>) {
        let kept = self.kept.clone();
        match keep(store, &signed) {
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
fn keep(store: &Store, signed: &Signed) -> Result<impl Future<Output = Result<(), StoreError>> + Send + use<>, HeadError> {
    let kept = StoredCheckpoint { size: signed.size, note: signed.note.clone() };
    Ok(store.store_checkpoint(moment()?, kept))
}
