//! The ledger of the gate: one use case is one transaction, and its audit records are staged in the same one.
//!
//! Owns the database: its schema, its single writer, the log's positions and tree. Must not know HTTP, wire types,
//! keys that sign, or randomness: the time and 32 fresh random bytes of each use case come in as its [`Moment`].
//! Nothing of SQLite is in the face, so that another database can follow behind the same one.
#![warn(missing_docs)]

mod agents;
mod alone;
mod at_once;
mod calls;
mod caps;
mod challenges;
mod codec;
mod decisions;
mod departures;
mod each;
mod engine;
mod enrolments;
mod error;
mod escalations;
mod foreign_heads;
mod frozen_texts;
mod gate;
mod kept;
mod ledger;
mod ledger_verification;
pub mod limits;
mod listing;
mod log;
mod log_reads;
mod migrations;
mod on_record;
mod open;
mod operations;
mod orphans;
mod own_tools;
mod pages;
mod pages_at_start;
mod passing;
mod people;
mod proposals;
mod reads;
mod reconciliations;
mod recoveries;
mod replay;
mod requests;
mod roster_changes;
mod rows;
mod sealing;
mod sessions;
mod soundness;
mod statements;
mod status;
pub mod stepped;
mod stops;
mod sweeps;
mod table_changes;
mod tokens;
mod tx;
mod unanswerable;
mod untold;
mod verification;
mod verification_calls;
mod verification_operations;
mod verification_people;
mod writes_again;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use vidimus_core::bytes::Nonce;
use vidimus_core::seal::SealKey;
use vidimus_core::time::Timestamp;

pub use agents::{AddAgent, AgentAdded, AgentIdentity, AgentRevoked};
pub use at_once::{Begun, Executor};
pub use calls::{CallReceived, CallRefused, FreezeCall, FreezeOutcome, Joined, ReadRecorded, Withdrawal};
pub use challenges::{DecisionChallenge, DecisionChallengeOutcome, ToSign};
pub use decisions::{DecisionOutcome, DecisionReceipt, DecisionRefused, RecordDecision};
pub use enrolments::{EnrolGenesis, EnrolOutcome, ProposeAdmission, ProposeChange, ProposedChange, ProposedOutcome};
pub use error::{OpenError, StoreError};
pub use frozen_texts::read as frozen;
pub use gate::{GateIdentity, RosterView, TableView};
pub use ledger::{IntentOutcome, WriteEnd, WriteIntent};
pub use listing::{ListedRequest, RequestPage};
pub use log::{Head, LogRecord, StoredCheckpoint};
pub use log_reads::RecordProof;
pub use operations::{AnswerOutcome, LeaseOutcome, RecordAnswer};
pub use own_tools::OwnToolOutcome;
pub use pages::{Page, PageSent};
pub use people::{Init, InitOutcome, Invite, InviteKind, InviteOutcome, Offer, OfferOutcome};
pub use reads::{CallView, DecisionView, OperationView, RequestView};
pub use reconciliations::{
    AskChallenge, Opening, OperationAnswer, OperationChallengeOutcome, OperationDetail, OperationSeen, ReconciliationOutcome,
    ReconciliationReceipt, ReconciliationRefused, RecordReconciliation,
};
pub use recoveries::{RecoveryOutcome, VetoOutcome};
pub use sessions::{OpenSession, Session, SessionChallenge, SessionChallengeOutcome, SessionOutcome};
pub use status::{StatusAnswer, StatusAsked};
pub use stops::{StatementRefused, StopKeys, StopOutcome};
pub use sweeps::Due;
pub use table_changes::{ProposeTable, ProposeTableOutcome, TableProposed};
pub use tokens::{Mint, MintOutcome, Minted, Redeem, RedeemOutcome, Redeemed, TokenRefused};
pub use verification::VerifyError;
pub use writes_again::WriteAgain;

/// What a use case is given from the edge: the gate's clock, and 32 fresh random bytes from which the salts of its
/// records are derived.
///
/// *Invariant*: the time recorded is the larger of `now` and the last one recorded, so it never runs backwards.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The gate's clock.
    pub now: Timestamp,
    /// The same clock, read again when the use case's turn comes: whoever waited, or was paused, before that is judged by the
    /// later time. None where time is simulated.
    pub again: Option<fn() -> Timestamp>,
    /// Fresh for every use case; never stored.
    pub entropy: Nonce,
}

/// The gate's database. Cheap to clone; the last clone dropped ends the writer after what is queued is committed.
#[derive(Clone)]
pub struct Store {
    engine: Arc<engine::Engine>,
    untold: Arc<untold::Untold>,
    tables: Arc<table_changes::TablesRead>,
    turns: Arc<std::sync::Mutex<each::Turns>>,
}

impl Store {
    /// Opens the database, and makes it where there is none. What it commits is sealed with this gate's key. Blocks; call it before
    /// the runtime is busy.
    pub fn open(path: &Path, seal: SealKey) -> Result<Store, OpenError> {
        Ok(Store::around(Arc::new(engine::Engine::open(path, seal)?)))
    }

    fn around(engine: Arc<engine::Engine>) -> Store {
        Store { engine, untold: Arc::default(), tables: Arc::default(), turns: Arc::default() }
    }

    /// The newest durable head, and every change of it. A watcher may skip heads, and never sees one that a crash undoes.
    pub fn heads(&self) -> watch::Receiver<Head> {
        self.engine.heads()
    }

    /// Commits since the start that wrote to the disk: each is one flush, whatever it carries.
    pub fn commits(&self) -> u64 {
        self.engine.commits()
    }

    /// Whether a commit has failed: nothing more is written until the next start.
    pub fn has_failed(&self) -> bool {
        self.engine.has_failed()
    }

    /// Whether somebody else was found to have written into the database: nothing is taken and nothing is told any more.
    pub fn is_disturbed(&self) -> bool {
        self.engine.is_disturbed()
    }

    /// Whether two persons who may decide have signed over heads that are not of this log: nothing with an effect begins any more.
    pub fn has_foreign_head(&self) -> bool {
        self.engine.has_foreign_head()
    }

    /// The last look before something is sent: nobody else has written into the database, and it takes what comes of it.
    ///
    /// *Errors*: `Disturbed`, `Failed`.
    pub fn undisturbed(&self) -> Result<(), StoreError> {
        self.engine.undisturbed()?;
        if self.engine.has_failed() { Err(StoreError::Failed) } else { Ok(()) }
    }

    /// Returns once nothing more is written: a commit has failed, or the store was closed.
    pub async fn stopped(&self) {
        self.engine.stopped().await;
    }

    /// Lets the writer finish what is queued; later use cases are refused as closed. Blocks.
    pub fn close(&self) {
        self.engine.close();
    }
}
