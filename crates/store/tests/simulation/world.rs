//! One course of events: the gate's process with its store, the clocks, the network, and the driver that takes step after step.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;

use vidimus_core::bytes::{Digest, Nonce, tagged};
use vidimus_core::operation::OperationKey;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_store::stepped::{Commits, Memory};
use vidimus_store::{Head, Moment, Store, StoreError};

use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::house::{BEGINNING_MS, House, auditor};
use crate::invariants;
use crate::provider::Provider;
use crate::tasks::{Home, Slot, Tasks};
use crate::witness::{News, Witness};
use crate::{agents, approvers, desk, operators, workers};

/// Steps in which anything may happen. *Unit*: steps.
const STEPS: u32 = 400;

/// Steps in which everything must come to its end. *Unit*: steps. Far more than an end takes.
const LAST_STEPS: u32 = 20_000;

/// How often the wall clock may be set back. *Unit*: times. A step that a start does not notice hides as much time as passed
/// since the last record, a minute or so; what a provider remembers longer than its row says must cover that.
const SET_BACK_MAX: u32 = 2;

/// What is deliberately wrong, to prove that it is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    ProviderIgnoresKeys,
    WorkerSendsWithoutRedeeming,
    WorkerLooksAtNoLease,
    WorkerSendsOtherArguments,
    WorkerCallsATimeOutFailed,
    GateTellsBeforeTheCommit,
    GateAnswersForAnyPayload,
    GateNeverSweeps,
}

/// The connection ended before an answer came: whoever asked knows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut;

/// The gate's process.
struct Process {
    store: Store,
    commits: Commits,
    /// How far its clock is ahead of the true time, which the machine counts, at the most so far. *Unit*: milliseconds.
    ahead_ms: Cell<i64>,
}

pub struct World {
    pub tasks: Rc<Tasks>,
    pub dice: Dice,
    pub house: Rc<House>,
    pub defect: Option<Defect>,
    pub provider: Provider,
    pub witness: RefCell<Witness>,
    coverage: RefCell<Coverage>,
    process: RefCell<Option<Process>>,
    disk: RefCell<Option<Memory>>,
    /// Counts the processes.
    epoch: Cell<u32>,
    /// How far the wall clock is from the true time. *Unit*: milliseconds.
    wall_ms: Cell<i64>,
    set_back: Cell<u32>,
    /// The table in force, as its readers know it.
    table: RefCell<Rc<Table>>,
    /// Operations that a task of this process works on.
    pub busy: RefCell<BTreeSet<OperationKey>>,
    pub nudge: RefCell<Slot<()>>,
    /// No further faults and no new calls: everything must end by itself.
    calm: Cell<bool>,
    trace: Cell<Digest>,
    told: bool,
}

impl World {
    pub fn begin(house: &Rc<House>, seed: u64, defect: Option<Defect>, told: bool) -> Rc<World> {
        let world = Rc::new(World {
            tasks: Rc::new(Tasks::default()),
            dice: Dice::of(seed),
            house: Rc::clone(house),
            defect,
            provider: Provider::default(),
            witness: RefCell::new(Witness::from(house.leaves.clone())),
            coverage: RefCell::new(Coverage::default()),
            process: RefCell::new(None),
            disk: RefCell::new(Some(house.memory.copy().expect("a copy of the database"))),
            epoch: Cell::new(0),
            wall_ms: Cell::new(0),
            set_back: Cell::new(0),
            table: RefCell::new(Rc::clone(&house.tables[0])),
            busy: RefCell::new(BTreeSet::new()),
            nudge: RefCell::new(Slot::default()),
            calm: Cell::new(false),
            trace: Cell::new(Digest::of(&seed.to_be_bytes())),
            told,
        });
        world.start_gate();
        agents::begin(&world);
        operators::begin(&world);
        world
    }

    /// The whole course, and what it came to: the digest of its trace.
    pub fn run(self: &Rc<Self>) -> Digest {
        for _ in 0..STEPS {
            if !self.step() || (self.tasks.outside() == 0 && self.witness.borrow().is_over()) {
                break;
            }
        }
        self.calm.set(true);
        self.reach("calm");
        if self.process.borrow().is_none() {
            self.start_gate();
        }
        let mut steps = 0;
        loop {
            while steps < LAST_STEPS && !self.witness.borrow().is_over() && self.step() {
                steps += 1;
            }
            self.settle();
            if steps >= LAST_STEPS || self.witness.borrow().is_over() {
                break;
            }
        }
        // A last restart: whatever state it ended in, the gate starts from it.
        self.crash();
        self.start_gate();
        self.settle();
        invariants::at_the_end(self);
        self.tasks.clear();
        self.trace.get()
    }

    pub fn coverage(&self) -> Coverage {
        self.coverage.borrow().clone()
    }

    /// One step; false when nobody waits for anything any more.
    fn step(self: &Rc<Self>) -> bool {
        self.tasks.run();
        let roll = self.dice.throw(1000);
        if self.process.borrow().is_some() {
            if !self.calm.get() && roll < 9 {
                self.reach("crash");
                self.crash();
                return true;
            }
            // A commit that waits gathers more use cases in one batch.
            if (self.calm.get() || roll < 800) && self.commit() {
                return true;
            }
        }
        if !self.calm.get() && roll >= 985 {
            self.set_clock();
        }
        self.tasks.advance()
    }

    /// Everything that is queued, until nobody can go on without time passing.
    fn settle(self: &Rc<Self>) {
        loop {
            self.tasks.run();
            if !self.commit() {
                return;
            }
        }
    }

    fn commit(self: &Rc<Self>) -> bool {
        let use_cases = self.process.borrow_mut().as_mut().map_or(0, |process| process.commits.commit());
        match use_cases {
            0 => return false,
            1 => self.reach("commit"),
            _ => self.reach("commit of several use cases"),
        }
        self.follow();
        true
    }

    /// Reads what was recorded since, and asks whether what must always hold does.
    fn follow(self: &Rc<Self>) {
        let Some(store) = self.store() else { return };
        let from = self.witness.borrow().size();
        let records = ready(store.records(from, 1000, auditor())).expect("a reading");
        for record in &records {
            let news = self.witness.borrow_mut().take(self, record);
            match news {
                Some(News::Request(request)) => approvers::look_at(self, request),
                Some(News::NeedsPeople(operation)) => desk::page(self, operation),
                Some(News::Table(digest)) => {
                    let table = self.house.tables.iter().find(|table| table.digest() == digest).expect("a table of the house");
                    *self.table.borrow_mut() = Rc::clone(table);
                }
                None => {}
            }
        }
        invariants::invariant_nothing_waits_on_a_row_that_changed(&self.witness.borrow(), &self.table());
        let head = ready(store.head()).expect("a reading");
        invariants::invariant_the_log_only_grows(&self.witness.borrow(), head);
        self.note(head);
    }

    /// Lets the trace go on: the true time and the head of the log, which holds everything that happened.
    fn note(&self, head: Head) {
        let (trace, now_ms) = (self.trace.get(), self.tasks.now_ms().to_be_bytes());
        let parts = [trace.as_bytes().as_slice(), &now_ms, &head.size.to_be_bytes(), head.root.as_bytes()];
        self.trace.set(tagged("vidimus.test.trace", parts));
    }

    fn crash(self: &Rc<Self>) {
        let Some(Process { store, mut commits, .. }) = self.process.borrow_mut().take() else { return };
        drop(store);
        match self.dice.throw(3) {
            0 => self.reach("crash with use cases that were not begun, or not committed"),
            1 => self.reach("crash in the middle of a batch"),
            // Durable, and nobody was told.
            _ => {
                if commits.commit() > 0 {
                    self.reach("crash after a commit and before its answers");
                }
            }
        }
        self.epoch.set(self.epoch.get() + 1);
        self.tasks.kill_gate();
        *self.disk.borrow_mut() = Some(commits.crash().expect("a rolled back database"));
        self.busy.borrow_mut().clear();
        self.say(|| "the gate dies".to_owned());
        if self.calm.get() {
            return;
        }
        let (world, down_ms) = (Rc::clone(self), self.dice.throw(40_000));
        self.tasks.spawn(Home::Outside, async move {
            world.tasks.sleep_ms(down_ms).await;
            world.start_gate();
        });
    }

    fn start_gate(self: &Rc<Self>) {
        let Some(memory) = self.disk.borrow_mut().take() else { return };
        let (store, commits) = memory.open().expect("it opens again");
        let recorded = ready(store.last_recorded()).expect("a reading");
        let ahead_ms = Cell::new(recorded.as_ms() - self.tasks.now_ms());
        *self.process.borrow_mut() = Some(Process { store, commits, ahead_ms });
        self.say(|| "the gate starts".to_owned());
        self.follow();
        self.witness.borrow_mut().reread(self);
        let world = Rc::clone(self);
        self.tasks.spawn(Home::Gate, async move { workers::serve(world).await });
    }

    pub fn store(&self) -> Option<Store> {
        self.process.borrow().as_ref().map(|process| process.store.clone())
    }

    /// The effect table in force.
    pub fn table(&self) -> Rc<Table> {
        Rc::clone(&self.table.borrow())
    }

    pub fn is_calm(&self) -> bool {
        self.calm.get()
    }

    /// What the wall clock says by itself.
    pub fn wall(&self) -> Timestamp {
        Timestamp::from_ms(BEGINNING_MS + self.tasks.now_ms() + self.wall_ms.get()).expect("a time")
    }

    /// The gate's clock: the wall's, but never slower than the time that has certainly passed since what it knew last.
    pub fn now(&self) -> Timestamp {
        let wall = self.wall();
        let counted_ms = self.tasks.now_ms();
        let process = self.process.borrow();
        let Some(process) = process.as_ref() else { return wall };
        process.ahead_ms.set(process.ahead_ms.get().max(wall.as_ms() - counted_ms));
        Timestamp::from_ms(counted_ms + process.ahead_ms.get()).expect("a time")
    }

    /// Sets the wall clock, back and forth.
    fn set_clock(&self) {
        let by_ms = match self.dice.throw(8) {
            0 if self.set_back.get() < SET_BACK_MAX => -3_000_000,
            1 | 2 if self.set_back.get() < SET_BACK_MAX => -i64::try_from(self.dice.throw(120_000)).unwrap_or_default(),
            _ => i64::try_from(self.dice.throw(120_000)).unwrap_or_default(),
        };
        if by_ms < 0 {
            self.set_back.set(self.set_back.get() + 1);
            self.reach("clock set back");
        } else {
            self.reach("clock set forth");
        }
        self.wall_ms.set(self.wall_ms.get() + by_ms);
    }

    pub fn moment(&self) -> Moment {
        Moment { now: self.now(), entropy: Nonce::from_bytes(self.dice.bytes()) }
    }

    /// A use case of the gate, whose outcome may never come.
    pub async fn at_gate<T, F>(&self, use_case: impl FnOnce(Store, Moment) -> F) -> Result<T, Cut>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let Some(store) = self.store() else { return Err(Cut) };
        let epoch = self.epoch.get();
        let outcome = use_case(store, self.moment()).await;
        if epoch != self.epoch.get() {
            return Err(Cut);
        }
        match outcome {
            Ok(told) => Ok(told),
            Err(StoreError::Closed | StoreError::Failed) => Err(Cut),
            Err(error) => panic!("the store failed: {error:?}"),
        }
    }

    /// A use case asked for over the network, which loses and delays.
    pub async fn over_network<T, F>(&self, use_case: impl FnOnce(Store, Moment) -> F) -> Result<T, Cut>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.travel().await?;
        let told = self.at_gate(use_case).await?;
        self.travel().await?;
        Ok(told)
    }

    /// A message on its way: usually there at once, sometimes late, sometimes never.
    pub async fn travel(&self) -> Result<(), Cut> {
        if self.calm.get() {
            return Ok(());
        }
        match self.dice.throw(100) {
            0..60 => {}
            60..92 => self.tasks.sleep_ms(self.dice.throw(900)).await,
            92..96 => self.tasks.sleep_ms(self.dice.throw(45_000)).await,
            _ => {
                self.reach("message lost");
                self.tasks.sleep_ms(15_000).await;
                return Err(Cut);
            }
        }
        Ok(())
    }

    /// A task that the operating system holds up: usually not, sometimes past a lease.
    pub async fn pause(&self, at: &str) {
        if self.calm.get() {
            return;
        }
        match self.dice.throw(100) {
            0..80 => {}
            80..95 => self.tasks.sleep_ms(self.dice.throw(2_000)).await,
            _ => {
                self.reach(&format!("paused {at}"));
                self.tasks.sleep_ms(self.dice.between(5_000, 45_000)).await;
            }
        }
    }

    pub fn reach(&self, event: &str) {
        self.coverage.borrow_mut().reach(event);
        self.say(|| event.to_owned());
    }

    /// Tells what happens, for who repeats a seed.
    pub fn say(&self, words: impl FnOnce() -> String) {
        if self.told {
            println!("{:>10} ms  {}", self.tasks.now_ms(), words());
        }
    }
}

/// A reading, which waits for nobody.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a reading waits"),
    }
}
