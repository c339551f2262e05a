//! The single writer with group commit, and the connections that read.
//!
//! All queued use cases go into one transaction, each under a savepoint of its own: one that fails takes back only
//! itself. Then the sequencer numbers what they staged, then everything is committed at once, and only then anybody is answered.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;
use vidimus_core::seal::{SealKey, Sealed};

use crate::Moment;
use crate::alone::{Alone, Batch};
use crate::error::{OpenError, StoreError};
use crate::foreign_heads::ForeignHead;
use crate::gate::GateInForce;
use crate::limits::{ALONG_MAX, BATCH_MAX, QUEUE_MAX, READERS_MAX};
use crate::log::{self, Head, Staging};
use crate::open::{self, FileLock};
use crate::sealing::{self, Found};
use crate::tx::{Cache, Tx, prepared};

/// Which use cases of a batch go first. In one batch, whoever stops something wins over whoever lets it go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rank {
    /// Stops something: a denial, a revocation, a withdrawal.
    Stop,
    /// Anything else.
    Plain,
}

/// Answers the caller of a use case once the fate of its transaction is known.
type Settle = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// What is left of a use case that has run: whether it is kept, and its answer.
struct Ran {
    kept: bool,
    settle: Settle,
}

pub(crate) struct Job {
    moment: Moment,
    rank: Rank,
    run: Box<dyn FnOnce(&mut Tx<'_>) -> Ran + Send>,
}

/// What goes into the next batch, without making one.
type Along = Arc<Mutex<Vec<Job>>>;

pub(crate) struct Engine {
    along: Along,
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    heads: watch::Receiver<Head>,
    readers: Readers,
    failed: watch::Receiver<bool>,
    /// The writer's own, which ends with it.
    fail: Weak<watch::Sender<bool>>,
    alone: Option<Arc<Alone>>,
    seal: SealKey,
    commits: Arc<AtomicU64>,
    gate: GateInForce,
    foreign_head: ForeignHead,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A use case on its way to the writer, and where its outcome comes out.
fn job<T, F>(moment: Moment, rank: Rank, use_case: F) -> (Job, oneshot::Receiver<Result<T, StoreError>>)
where
    T: Send + 'static,
    F: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let run = Box::new(move |tx: &mut Tx<'_>| {
        let outcome = use_case(tx);
        let kept = outcome.is_ok();
        // A caller that has gone away changes nothing: the outcome is in the database.
        let settle: Settle = Box::new(move |commit| drop(reply.send(commit.and(outcome))));
        Ran { kept, settle }
    });
    (Job { moment, rank, run }, answer)
}

impl Engine {
    pub(crate) fn open(path: &Path, seal: SealKey) -> Result<Engine, OpenError> {
        let lock = open::lock(path)?;
        let db = open::writer(path)?;
        let readers = Readers::open(path)?;
        let (mut engine, writer) = Engine::around(db, readers, seal, Some(lock))?;
        // Whoever else writes is found from here on.
        engine.alone = Some(Arc::clone(&writer.alone));
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        engine.thread = Mutex::new(Some(thread));
        Ok(engine)
    }

    /// An engine without a thread of its own: whoever holds the writer commits, and readings run where they are asked for.
    /// Nobody else can know of its database.
    pub(crate) fn stepped(db: Connection, reader: Connection, seal: SealKey) -> Result<(Engine, Writer), StoreError> {
        Engine::around(db, Readers::of(vec![reader], Where::Here), seal, None)
    }

    fn around(db: Connection, readers: Readers, seal: SealKey, lock: Option<FileLock>) -> Result<(Engine, Writer), StoreError> {
        let head = log::read_head(&db)?;
        let (announce, heads) = watch::channel(head);
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let (fail, failed) = watch::channel(false);
        let fail = Arc::new(fail);
        let commits = Arc::new(AtomicU64::new(0));
        let along = Along::default();
        let (gate, foreign_head) = (GateInForce::default(), ForeignHead::default());
        let writer = Writer {
            alone: Alone::begin(db)?,
            sealed: None,
            seal: seal.clone(),
            jobs,
            along: Arc::clone(&along),
            announce,
            cache: Cache::of(gate.clone(), foreign_head.clone()),
            failed: Arc::clone(&fail),
            commits: Arc::clone(&commits),
            _lock: lock,
        };
        let queue = Mutex::new(Some(queue));
        let fail = Arc::downgrade(&fail);
        let thread = Mutex::new(None);
        let engine = Engine { along, queue, heads, readers, failed, fail, alone: None, seal, commits, gate, foreign_head, thread };
        Ok((engine, writer))
    }

    /// Gives the connections that read back; none of them reads any more.
    pub(crate) fn take_readers(&self) -> Vec<Connection> {
        std::mem::take(&mut *self.readers.free.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn heads(&self) -> watch::Receiver<Head> {
        self.heads.clone()
    }

    /// Runs one use case in the writer and returns its outcome when it is durable.
    pub(crate) async fn write<T, F>(&self, moment: Moment, rank: Rank, use_case: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, answer) = job(moment, rank, use_case);
        self.enqueue(job).await?;
        answer.await.map_err(|_| self.unanswered())?
    }

    async fn enqueue(&self, job: Job) -> Result<(), StoreError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(StoreError::Closed)?;
        queue.send(job).await.map_err(|_| self.unanswered())
    }

    /// Runs one use case in the next batch, in the order of these calls; it has a commit of its own only if none comes soon.
    /// It is queued before this returns.
    pub(crate) fn write_along<T, F>(
        engine: &Arc<Engine>,
        moment: Moment,
        wait_ms: u64,
        use_case: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, mut answer) = job(moment, Rank::Plain, use_case);
        let waits = {
            let mut along = engine.along.lock().unwrap_or_else(PoisonError::into_inner);
            along.push(job);
            engine.readers.run == Where::Aside && along.len() <= ALONG_MAX
        };
        let engine = Arc::clone(engine);
        async move {
            if waits && let Ok(answer) = timeout(Duration::from_millis(wait_ms), &mut answer).await {
                return answer.map_err(|_| engine.unanswered())?;
            }
            // A use case that does nothing, for the batch that it makes.
            let (nothing, _) = self::job(moment, Rank::Plain, |_| Ok(()));
            engine.enqueue(nothing).await?;
            answer.await.map_err(|_| engine.unanswered())?
        }
    }

    /// Commits since the start that wrote to the disk.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Whether a commit has failed.
    pub(crate) fn has_failed(&self) -> bool {
        *self.failed.borrow()
    }

    /// Whether somebody else was found to have written into the database.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.alone.as_ref().is_some_and(|alone| alone.is_disturbed())
    }

    /// Looks whether anybody else has written into the database; from then on nothing is taken and nothing is told any more.
    ///
    /// *Errors*: `Disturbed`.
    pub(crate) fn undisturbed(&self) -> Result<(), StoreError> {
        let Some(alone) = &self.alone else { return Ok(()) };
        alone.look().inspect_err(|error| {
            let Some(fail) = self.fail.upgrade().filter(|_| matches!(error, StoreError::Disturbed)) else { return };
            if fail.send_if_modified(|failed| !std::mem::replace(failed, true)) {
                report_disturbed();
            }
        })
    }

    /// What the seals of this gate are made with.
    pub(crate) fn seal_key(&self) -> SealKey {
        self.seal.clone()
    }

    /// Returns once nothing more is written: a commit has failed, or the writer has ended.
    pub(crate) async fn stopped(&self) {
        let mut failed = self.failed.clone();
        // An error says that the writer is gone, which ends the waiting as well.
        let _ = failed.wait_for(|failed| *failed).await;
    }

    /// Why the writer let a use case go without an answer.
    fn unanswered(&self) -> StoreError {
        if self.is_disturbed() {
            return StoreError::Disturbed;
        }
        if self.has_failed() { StoreError::Failed } else { StoreError::Closed }
    }

    /// Runs a reading on a connection that cannot write, in one snapshot.
    pub(crate) async fn read<T, F>(&self, reading: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let told = self.readers.read(reading).await?;
        self.undisturbed()?;
        Ok(told)
    }

    /// Works something out that needs no database and takes long, where nobody waits behind it.
    pub(crate) async fn work_out<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        match self.readers.run {
            Where::Aside => tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed),
            Where::Here => Ok(work()),
        }
    }

    /// Runs a reading of a few rows by their keys where it is asked for: handing it to another thread and back would take
    /// longer than the reading does.
    pub(crate) async fn look<T, F>(&self, reading: F) -> Result<T, StoreError>
    where
        F: FnOnce(&Connection) -> Result<T, StoreError>,
    {
        let told = self.readers.look(reading).await?;
        self.undisturbed()?;
        Ok(told)
    }

    /// The gate as everybody in this process knows it.
    pub(crate) fn gate_in_force(&self) -> GateInForce {
        self.gate.clone()
    }

    /// Whether a head that is not of this log was signed over.
    pub(crate) fn has_foreign_head(&self) -> bool {
        self.foreign_head.is_seen()
    }

    /// Lets the writer finish what is queued, and waits for it.
    pub(crate) fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the store ended with a panic");
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

/// Owns the only connection that writes: a thread, or whoever steps through commits.
pub(crate) struct Writer {
    alone: Arc<Alone>,
    /// The end of the log and the clock as the last commit left them; none before the first.
    sealed: Option<Sealed>,
    seal: SealKey,
    jobs: mpsc::Receiver<Job>,
    along: Along,
    announce: watch::Sender<Head>,
    cache: Cache,
    failed: Arc<watch::Sender<bool>>,
    commits: Arc<AtomicU64>,
    _lock: Option<FileLock>,
}

impl Writer {
    fn run(mut self) {
        while let Some(first) = self.jobs.blocking_recv() {
            let batch = self.gather(first);
            self.commit(batch);
        }
    }

    /// What is queued behind this use case, as one batch.
    fn gather(&mut self, first: Job) -> VecDeque<Job> {
        let mut batch = VecDeque::from([first]);
        while batch.len() < BATCH_MAX
            && let Ok(next) = self.jobs.try_recv()
        {
            batch.push_back(next);
        }
        batch.extend(self.along.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        batch.make_contiguous().sort_by_key(|job| job.rank);
        batch
    }

    /// Commits what is queued as one batch; tells how many use cases that were.
    pub(crate) fn step(&mut self) -> usize {
        let Ok(first) = self.jobs.try_recv() else { return 0 };
        let batch = self.gather(first);
        let use_cases = batch.len();
        self.commit(batch);
        use_cases
    }

    /// Carries out what is queued and dies before the commit: nothing of it is kept, nobody is answered.
    pub(crate) fn die(mut self) -> Result<Connection, StoreError> {
        if let Ok(first) = self.jobs.try_recv() {
            let batch = self.gather(first);
            let alone = Arc::clone(&self.alone);
            self.transact(&mut alone.batch(), &mut { batch }, &mut Vec::new())?;
        }
        let db = Arc::into_inner(self.alone).ok_or(StoreError::Closed)?.into_writer();
        if !db.is_autocommit() {
            db.execute_batch("ROLLBACK")?;
        }
        Ok(db)
    }

    fn commit(&mut self, mut jobs: VecDeque<Job>) {
        if *self.failed.borrow() {
            // Dropping a use case answers its caller, who reads the flag.
            return;
        }
        let mut settles = Vec::with_capacity(jobs.len());
        let alone = Arc::clone(&self.alone);
        let mut batch = alone.batch();
        let changes = batch.db().total_changes();
        let committed =
            self.transact(&mut batch, &mut jobs, &mut settles).and_then(|sealed| Ok(prepared(batch.db(), "COMMIT").map(|()| sealed)?));
        match committed {
            Ok(sealed) => {
                let changed = batch.db().total_changes() > changes;
                drop(batch);
                if changed {
                    self.commits.fetch_add(1, Ordering::Relaxed);
                }
                self.sealed = Some(sealed);
                self.cache.durable();
                let head = Head { size: sealed.size, root: sealed.root };
                self.announce.send_if_modified(|known| std::mem::replace(known, head) != head);
                for settle in settles {
                    settle(Ok(()));
                }
            }
            Err(error) => {
                // Before the use cases that were not run are dropped: their callers then ask why.
                self.fail(&error);
                drop(jobs);
                if !batch.db().is_autocommit() && batch.db().execute_batch("ROLLBACK").is_err() {
                    tracing::error!("the failed transaction was not rolled back");
                }
                drop(batch);
                for settle in settles {
                    settle(Err(StoreError::Failed));
                }
            }
        }
    }

    /// Takes no more use cases.
    fn fail(&mut self, error: &StoreError) {
        let first = self.failed.send_if_modified(|failed| !std::mem::replace(failed, true));
        if matches!(error, StoreError::Held) {
            tracing::error!(code = "ledger_held", "{error}");
        } else if !matches!(error, StoreError::Disturbed) {
            tracing::error!(error = error as &dyn std::error::Error, "a commit failed; the store takes no more use cases");
        } else if first {
            report_disturbed();
        }
        self.cache.forget();
    }

    /// Carries a batch out inside one transaction, which is left open for the commit.
    fn transact(&mut self, batch: &mut Batch<'_>, jobs: &mut VecDeque<Job>, settles: &mut Vec<Settle>) -> Result<Sealed, StoreError> {
        // Before anything is believed.
        batch.holds()?;
        let db = batch.db();
        let mut staging = Staging::begin(db)?;
        let found = sealing::found(db, staging.head_before())?;
        if !self.leads_on(&found) {
            return Err(batch.disturbed());
        }
        let mut now = found.sealed.now;
        let changes = db.total_changes();
        while let Some(job) = jobs.pop_front() {
            let Job { moment, run, .. } = job;
            now = now.max(moment.again.map_or(moment.now, |clock| clock()).max(moment.now));
            let mark = (staging.mark(), self.cache.mark());
            prepared(db, "SAVEPOINT use_case")?;
            let mut tx = Tx::new(db, now, moment.entropy, &mut staging, &mut self.cache);
            // A use case that panics is a defect of one call; the others of the batch must not pay for it.
            let ran = catch_unwind(AssertUnwindSafe(|| run(&mut tx)));
            let kept = ran.as_ref().is_ok_and(|ran| ran.kept);
            if kept {
                prepared(db, "RELEASE use_case")?;
            } else {
                db.execute_batch("ROLLBACK TO use_case; RELEASE use_case")?;
                staging.take_back(mark.0);
                self.cache.take_back(mark.1);
            }
            if let Ok(ran) = ran {
                settles.push(ran.settle);
            }
        }
        // A batch that changed nothing costs no write to the disk, so it records no time either.
        if staging.mark() == 0 && db.total_changes() == changes {
            return Ok(found.sealed);
        }
        let head = log::sequence(db, staging)?;
        let sealed = Sealed { size: head.size, root: head.root, now };
        if sealed != found.sealed {
            sealing::keep(db, &self.seal, &sealed)?;
        }
        Ok(sealed)
    }

    /// Whether the end of the log and the clock are where this process left them, or, at its first commit, where an earlier one did.
    fn leads_on(&self, found: &Found) -> bool {
        match &self.sealed {
            Some(known) => *known == found.sealed,
            None => found.holds(&self.seal),
        }
    }
}

/// The line that an operator acts on.
fn report_disturbed() {
    tracing::error!(code = "ledger_disturbed", "{}", StoreError::Disturbed);
}

/// On which thread a reading runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// On one that may block.
    Aside,
    /// On the caller's, which waits for nothing else.
    Here,
}

/// A bounded set of connections that only read.
struct Readers {
    free: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    run: Where,
}

impl Readers {
    fn open(path: &Path) -> Result<Readers, OpenError> {
        let connections: Vec<Connection> = (0..READERS_MAX).map(|_| open::reader(path)).collect::<Result<_, _>>()?;
        Ok(Readers::of(connections, Where::Aside))
    }

    fn of(connections: Vec<Connection>, run: Where) -> Readers {
        Readers { permits: Arc::new(Semaphore::new(connections.len())), free: Arc::new(Mutex::new(connections)), run }
    }

    async fn read<T, F>(&self, reading: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let free = Arc::clone(&self.free);
        let reading = move || {
            let _permit = permit;
            let db = free.lock().unwrap_or_else(PoisonError::into_inner).pop().ok_or(StoreError::Closed)?;
            let outcome = in_snapshot(&db, reading);
            free.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            outcome
        };
        match self.run {
            Where::Aside => tokio::task::spawn_blocking(reading).await.map_err(|_| StoreError::Closed)?,
            Where::Here => reading(),
        }
    }
}

impl Readers {
    async fn look<T>(&self, reading: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let _permit = self.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let db = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop().ok_or(StoreError::Closed)?;
        let outcome = in_snapshot(&db, reading);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        outcome
    }
}

fn in_snapshot<T>(db: &Connection, reading: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
    prepared(db, "BEGIN")?;
    let outcome = catch_unwind(AssertUnwindSafe(|| reading(db))).unwrap_or(Err(StoreError::Closed));
    prepared(db, "ROLLBACK")?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use tempfile::TempDir;
    use vidimus_core::bytes::Nonce;
    use vidimus_core::time::Timestamp;

    use super::*;

    fn engine() -> (Arc<Engine>, TempDir) {
        let dir = TempDir::new().expect("a folder");
        (Arc::new(Engine::open(&dir.path().join("gate.db"), SealKey::derive(&[1; 32])).expect("the database opens")), dir)
    }

    fn moment() -> Moment {
        Moment { now: Timestamp::MIN.plus_s(1), again: None, entropy: Nonce::from_bytes([1; 32]) }
    }

    /// Holds the writer inside a batch until the returned sender is used, so that what is queued then is one batch.
    async fn hold(engine: &Arc<Engine>) -> std::sync::mpsc::Sender<()> {
        let (begun, begins) = oneshot::channel();
        let (release, released) = channel();
        let held = Arc::clone(engine);
        tokio::spawn(async move {
            let wait = move |_: &mut Tx<'_>| {
                begun.send(()).expect("the test waits");
                released.recv().expect("the test releases");
                Ok(())
            };
            held.write(moment(), Rank::Plain, wait).await
        });
        begins.await.expect("the writer is held");
        release
    }

    /// Queues a use case without waiting for its outcome.
    async fn queue<F>(engine: &Arc<Engine>, rank: Rank, use_case: F) -> tokio::task::JoinHandle<Result<(), StoreError>>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        let queued = engine.queue.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("an open engine");
        let before = queued.capacity();
        let engine = Arc::clone(engine);
        let task = tokio::spawn(async move { engine.write(moment(), rank, use_case).await });
        while queued.capacity() == before {
            tokio::task::yield_now().await;
        }
        task
    }

    #[tokio::test]
    async fn a_use_case_is_judged_at_the_time_when_its_turn_comes() {
        fn later() -> Timestamp {
            Timestamp::MIN.plus_s(60)
        }
        let (engine, _dir) = engine();
        let asked = Moment { again: Some(later), ..moment() };
        let now = engine.write(asked, Rank::Plain, |tx| Ok(tx.now)).await.expect("a use case");
        assert_eq!(now, later(), "whoever was paused after reading the clock gains nothing by it");
        let behind = Moment { now: Timestamp::MIN.plus_s(90), ..asked };
        let now = engine.write(behind, Rank::Plain, |tx| Ok(tx.now)).await.expect("a use case");
        assert_eq!(now, behind.now, "nothing runs backwards");
    }

    #[tokio::test]
    async fn in_one_batch_whoever_stops_goes_first() {
        let (engine, _dir) = engine();
        let release = hold(&engine).await;
        let (order, ordered) = channel();
        let mut tasks = Vec::new();
        for (rank, word) in [(Rank::Plain, "approve"), (Rank::Plain, "freeze"), (Rank::Stop, "deny"), (Rank::Stop, "revoke")] {
            let order = order.clone();
            let say = move |_: &mut Tx<'_>| {
                order.send(word).expect("the test listens");
                Ok(())
            };
            tasks.push(queue(&engine, rank, say).await);
        }
        release.send(()).expect("the writer waits");
        for task in tasks {
            task.await.expect("a task").expect("an outcome");
        }
        drop(order);
        assert_eq!(ordered.into_iter().collect::<Vec<_>>(), ["deny", "revoke", "approve", "freeze"]);
    }

    #[tokio::test]
    async fn a_use_case_that_panics_or_fails_takes_back_only_itself() {
        let (engine, _dir) = engine();
        let insert =
            |tx: &mut Tx<'_>, table: &str| tx.execute_one("INSERT INTO effect_tables (table_sha256, toml) VALUES (?1, '')", [table]);
        let release = hold(&engine).await;
        let first = queue(&engine, Rank::Plain, move |tx| insert(tx, "first")).await;
        let panics = queue(&engine, Rank::Plain, move |tx| {
            insert(tx, "panics")?;
            panic!("a defect of one use case");
        })
        .await;
        let fails = queue(&engine, Rank::Plain, move |tx| {
            insert(tx, "fails")?;
            Err(StoreError::corrupt("a failure of one use case"))
        })
        .await;
        let last = queue(&engine, Rank::Plain, move |tx| insert(tx, "last")).await;
        release.send(()).expect("the writer waits");
        first.await.expect("a task").expect("kept");
        assert!(matches!(panics.await.expect("a task"), Err(StoreError::Closed)));
        assert!(matches!(fails.await.expect("a task"), Err(StoreError::Corrupt(_))));
        last.await.expect("a task").expect("kept");
        let kept = engine
            .read(|db| crate::tx::list(db, "SELECT table_sha256 FROM effect_tables ORDER BY rowid", [], |row| row.get::<_, String>(0)));
        assert_eq!(kept.await.expect("a reading"), ["first", "last"]);
    }

    #[tokio::test]
    async fn after_a_failed_commit_nothing_more_is_taken_and_nothing_of_it_is_kept() {
        let (engine, dir) = engine();
        // A foreign key that is broken at the commit: the batch as a whole cannot be made durable.
        let broken = |tx: &mut Tx<'_>| {
            let sql =
                "INSERT INTO requests (request, call, tool, state, frozen, request_sha256, args_sha256, row_sha256, effect_open, position,
                                             created_at, waits_until, expires_max_at)
                       VALUES ('r', 'c', 't', 'pending', '', '', '', '', 1, 99, 1, 2, 3)";
            tx.execute_one("INSERT INTO agents (agent, credential_sha256, run, created_at) VALUES ('a', 'x', 'x', 1)", [])?;
            let call = "INSERT INTO calls (call, agent, run, tool, effect, payload_sha256, created_at) VALUES ('c', 'a', 'x', 't', 'money', '', 1)";
            tx.execute_one(call, [])?;
            tx.execute_one(sql, [])
        };
        assert!(matches!(engine.write(moment(), Rank::Plain, broken).await, Err(StoreError::Failed)));
        assert!(matches!(engine.write(moment(), Rank::Plain, |_| Ok(())).await, Err(StoreError::Failed)));
        assert!(engine.has_failed());
        engine.stopped().await;
        engine.close();
        let again = Engine::open(&dir.path().join("gate.db"), SealKey::derive(&[1; 32])).expect("it opens again");
        let left = again.read(|db| crate::tx::find(db, "SELECT count(*) FROM requests", [], |row| row.get::<_, i64>(0))).await;
        assert_eq!(left.expect("a reading"), Some(0));
    }
}
