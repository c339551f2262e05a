//! Signs the head of the log after it is durable, and tells those who follow.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
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
        publish(store, head_file, &signed).await?;
        Ok(Checkpoints { newest: watch::Sender::new(Arc::new(signed)) })
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

    /// Signs each head that the store makes durable, the newest only when several came meanwhile. Ends with the token.
    pub async fn run(&self, store: &Store, keys: &Keys, head_file: &HeadFile, ending: &CancellationToken) {
        let mut heads = store.heads();
        loop {
            let head = *heads.borrow_and_update();
            if head.size > self.newest().size {
                let signed = async {
                    let signed = sign(keys, head)?;
                    publish(store, head_file, &signed).await?;
                    Ok::<_, HeadError>(signed)
                };
                match signed.await {
                    Ok(signed) => {
                        self.newest.send_replace(Arc::new(signed));
                    }
                    Err(error) => crate::logging::failure("a head was not signed; the next one will be", &error),
                }
            }
            tokio::select! {
                () = ending.cancelled() => return,
                changed = heads.changed() => if changed.is_err() { return },
            }
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

/// Keeps the note in both places before anyone sees it: a published head that the gate forgets would look like a fork.
/// The file first: what it holds is durable already, so it is never ahead of the database.
async fn publish(store: &Store, head_file: &HeadFile, signed: &Signed) -> Result<(), HeadError> {
    head_file.write(&signed.note)?;
    let kept = StoredCheckpoint { size: signed.size, note: signed.note.clone() };
    store.store_checkpoint(moment()?, kept).await?;
    Ok(())
}
