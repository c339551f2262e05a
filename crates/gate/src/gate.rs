//! The running gate: what its use cases share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vidimus_api::problem::FaceCode;
use vidimus_core::code::Refusal;
use vidimus_core::ids::{Name, PersonId, RequestId};
use vidimus_core::table::Table;
use vidimus_store::{CallRefused, DecisionRefused, GateIdentity, Moment, OpenError, Session, Store, StoreError};

use crate::bell::Bell;
use crate::checkpoints::{Checkpoints, HeadError};
use crate::clock;
use crate::entropy::{self, NoEntropy};
use crate::executions::Executions;
use crate::executor::{Credentials, CredentialsError, Outbound};
use crate::failures::Failures;
use crate::http::Rejection;
use crate::http::places::Places;
use crate::http::streams::Streams;
use crate::kept_bytes::KeptBytes;
use crate::keys::{HeadFile, Keys, KeysError};
use crate::limits::{READS_AT_RISK_MAX, REFUSAL_QUOTE_CHARS_MAX, STRANGERS_AT_ONCE_MAX};
use crate::metrics::Metrics;
use crate::refusals::{self, Refusals};
use crate::status::Asks;

/// Why a gate does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log does not lead on from the newest signed head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// Nobody has called `init`.
    #[error("`{}` holds no gate; run `vidimus-gate init` for it first", .0.display())]
    NotInitialised(PathBuf),
    /// The keys are of another gate than the database.
    #[error("the keys and the database in `{}` are of different gates; restore both from one copy", .0.display())]
    KeysForeign(PathBuf),
    /// The folder of credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The HTTP clients cannot be made.
    #[error("the clients for providers cannot be made; check the system's certificates")]
    Outbound(#[from] reqwest::Error),
}

/// A running gate.
pub struct Gate {
    /// The ledger.
    pub store: Store,
    /// The keys that only the gate's process holds.
    pub keys: Keys,
    /// Who the gate is.
    pub identity: GateIdentity,
    /// The in-gate executor's name: the audience of its tokens.
    pub audience: Name,
    /// Signs heads.
    pub checkpoints: Checkpoints,
    /// The newest head, outside the database.
    pub head_file: HeadFile,
    /// The credentials of tools that the operator has put in place.
    pub credentials: Credentials,
    /// The clients for providers.
    pub outbound: Outbound,
    /// Wakes those who wait for a call.
    pub bell: Bell,
    /// Wakes the workers before their next round.
    pub nudge: Notify,
    /// What people have asked providers lately.
    pub asks: Asks,
    /// What an operator counts.
    pub metrics: Metrics,
    /// The listener's connections.
    pub places: Arc<Places>,
    /// The turns of strangers who ask for what needs no credential.
    pub strangers: Semaphore,
    /// The open log streams.
    pub streams: Arc<Streams>,
    /// The refusals of each agent.
    pub refusals: Refusals<Name>,
    /// What each agent may still leave on the disk.
    pub kept_bytes: KeptBytes,
    /// The refusals of each person.
    pub refusals_of_persons: Refusals<PersonId>,
    /// Failed authentications.
    pub failures: Failures,
    /// Cancelled when the gate ends: nothing new begins.
    pub ending: CancellationToken,
    /// Work that has to be finished before the process ends.
    pub in_flight: TaskTracker,
    /// Bounds executions.
    pub executions: Executions,
    /// The turn of calls whose arguments take long to judge.
    pub long_routes: Semaphore,
    /// Bounds the reads that are answered and not on record yet.
    pub reads_at_risk: Arc<Semaphore>,
}

impl Gate {
    /// Opens the gate in a data folder: keys, database, recovery, the check against the newest head. `credentials` is the folder
    /// of its tools' credentials, if another than the default.
    ///
    /// *Errors*: each reason not to start.
    pub async fn open(data: &Path, credentials: Option<&Path>) -> Result<Gate, StartError> {
        let keys = Keys::load(data)?;
        let credentials = Credentials::of(credentials, data)?;
        let store = Store::open(&database(data), keys.seal.clone())?;
        let identity = store.identity().await?.ok_or_else(|| StartError::NotInitialised(data.to_owned()))?;
        if identity.log_key != keys.log.public() || identity.token_key != keys.token.public() {
            return Err(StartError::KeysForeign(data.to_owned()));
        }
        let head_file = HeadFile::of(data);
        // Before recovery writes anything: an older database must stay as it was found.
        let checkpoints = Checkpoints::begin(&store, &keys, &head_file).await?;
        // What the wall clock says by itself: only so it is seen that it lies behind what was recorded.
        let recorded = store.last_recorded().await?;
        let wall = Moment { now: clock::wall(), again: None, entropy: entropy::nonce()? };
        clock::begin(recorded);
        if wall.now < recorded {
            tracing::warn!(%recorded, wall = %wall.now, "the clock lies behind the last recorded time; time goes on from there");
        }
        store.recover_at_start(wall).await?;
        let audience = Name::parse(&identity.gate.to_string()).map_err(StoreError::from)?;
        Ok(Gate {
            store,
            keys,
            identity,
            audience,
            checkpoints,
            head_file,
            credentials,
            outbound: Outbound::new()?,
            bell: Bell::new(),
            nudge: Notify::new(),
            asks: Asks::default(),
            metrics: Metrics::default(),
            places: Arc::default(),
            strangers: Semaphore::new(STRANGERS_AT_ONCE_MAX),
            streams: Arc::default(),
            refusals: Refusals::default(),
            kept_bytes: KeptBytes::default(),
            refusals_of_persons: Refusals::default(),
            failures: Failures::default(),
            ending: CancellationToken::new(),
            in_flight: TaskTracker::new(),
            executions: Executions::default(),
            long_routes: Semaphore::new(1),
            reads_at_risk: Arc::new(Semaphore::new(READS_AT_RISK_MAX)),
        })
    }

    /// Time and fresh randomness for one use case.
    ///
    /// *Errors*: `NoEntropy`.
    pub fn moment(&self) -> Result<Moment, NoEntropy> {
        moment()
    }

    /// The effect table in force; none before its first admin signed it.
    ///
    /// *Errors*: those of the store.
    pub async fn table(&self) -> Result<Option<Arc<Table>>, StoreError> {
        self.store.table_in_force().await
    }

    /// Puts the refusal of a call on record, as long as its agent has not used up its part of the log.
    ///
    /// *Errors*: `agent_rate_limited`, and a rejection of the gate's own failure.
    pub async fn record_refusal(&self, agent: Option<Name>, tool: &str, refusal: Refusal, roles: Vec<Name>) -> Result<(), Rejection> {
        if let Some(agent) = &agent
            && !self.refusals.take(agent, Instant::now())
        {
            return Err(refusals::limited().into());
        }
        let quoted = |text: String| text.chars().take(REFUSAL_QUOTE_CHARS_MAX).collect::<String>();
        let refusal = Refusal { message: quoted(refusal.message), path: refusal.path.map(quoted), ..refusal };
        let refused = CallRefused { agent, tool: tool.to_owned(), refusal, roles };
        self.store.refuse_call(self.moment()?, refused).await?;
        Ok(())
    }

    /// Puts the numbers of refusals that were only counted on record.
    ///
    /// *Errors*: a rejection of the gate's own failure.
    pub async fn record_counted(&self, counted: Vec<(Name, u64)>) -> Result<(), Rejection> {
        for (agent, count) in counted {
            let refused = CallRefused { agent: Some(agent), tool: String::new(), refusal: refusals::counted(count), roles: Vec::new() };
            self.store.refuse_call(self.moment()?, refused).await?;
        }
        Ok(())
    }

    /// Puts on record that a decision did not get as far as the rule, or that its request is not its sender's to see, as long as its
    /// sender has not used up their part of the log.
    ///
    /// *Errors*: a rejection of the gate's own failure.
    pub async fn record_refused_decision(&self, session: &Session, request: Option<RequestId>, refusal: Refusal) -> Result<(), Rejection> {
        if !self.refusals_of_persons.take(&session.person, Instant::now()) {
            return Ok(());
        }
        let refused = DecisionRefused { request, sender: session.person, refusal };
        self.store.refuse_decision(self.moment()?, refused).await?;
        Ok(())
    }

    /// Notes that a person's decision or answer was refused by the store: it has taken a place of the log, or is counted.
    pub fn refused_of_person(&self, session: &Session, on_record: bool) {
        if on_record {
            self.refusals_of_persons.take(&session.person, Instant::now());
        } else {
            self.refusals_of_persons.count(&session.person, Instant::now());
        }
    }

    /// Puts the numbers of persons' refusals that were only counted on record.
    ///
    /// *Errors*: a rejection of the gate's own failure.
    pub async fn record_counted_of_persons(&self, counted: Vec<(PersonId, u64)>) -> Result<(), Rejection> {
        for (sender, count) in counted {
            let refused = DecisionRefused { request: None, sender, refusal: refusals::counted_of_person(count) };
            self.store.refuse_decision(self.moment()?, refused).await?;
        }
        Ok(())
    }

    /// Whether anything with an effect may begin: heads are signed as records come, and nobody has named one of another log.
    pub fn may_begin(&self) -> bool {
        self.checkpoints.stand() && !self.store.has_foreign_head()
    }

    /// Refuses whatever may have an effect, or fill the disk, while no head can be signed over it, and once somebody has named
    /// a head that is not of this log.
    ///
    /// *Errors*: `head_not_signed`, `head_foreign`.
    pub fn refuse_while_unsigned(&self) -> Result<(), Rejection> {
        if self.store.has_foreign_head() {
            let detail = "two persons who may decide signed over heads that are not of this gate's log: it may have lost records, so nothing with an effect begins; denials and stops count, an operator must compare";
            return Err(Rejection::of_face(FaceCode::HeadForeign, detail));
        }
        if self.checkpoints.stand() {
            return Ok(());
        }
        let detail = "the gate cannot write the signed head of its log, so nothing with an effect begins; denials and stops count";
        Err(Rejection::of_face(FaceCode::HeadNotSigned, detail))
    }

    /// Refuses whatever would begin something new.
    ///
    /// *Errors*: `shutting_down`.
    pub fn refuse_while_ending(&self) -> Result<(), Rejection> {
        if self.ending.is_cancelled() {
            return Err(Rejection::of_face(FaceCode::ShuttingDown, "the gate is ending and begins nothing; ask again when it is back"));
        }
        Ok(())
    }
}

/// The database of a data folder.
pub fn database(data: &Path) -> PathBuf {
    data.join("gate.db")
}

/// Time and fresh randomness for one use case.
///
/// *Errors*: `NoEntropy`.
pub fn moment() -> Result<Moment, NoEntropy> {
    Ok(Moment { now: clock::now(), again: Some(clock::now), entropy: entropy::nonce()? })
}
