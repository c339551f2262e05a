//! One course of events: the gate's process with its store, the clocks, the network, and the driver that takes step after step.

mod outside;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::rc::Rc;

use vidimus_core::bytes::{Digest, tagged};
use vidimus_core::ids::PersonId;
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::roster::Roster;
use vidimus_store::stepped::{Commits, Memory};
use vidimus_store::{Head, Store};

use crate::coverage::Coverage;
use crate::defects;
use crate::dice::Dice;
use crate::house::{Approver, House, KnownTable, auditor};
use crate::invariants;
use crate::provider::Provider;
use crate::tasks::{Home, Slot, Tasks};
use crate::witness::{News, Witness};
use crate::{agents, approvers, changes, desk, operators, recovered, workers};

/// Steps in which anything may happen. *Unit*: steps.
const STEPS: u32 = 400;

/// Steps in which everything must come to its end. *Unit*: steps. Far more than an end takes.
const LAST_STEPS: u32 = 20_000;

/// What is deliberately wrong, to prove that it is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    ProviderIgnoresKeys,
    WorkerSendsWithoutRedeeming,
    WorkerLooksAtNoLease,
    WorkerSendsOtherArguments,
    WorkerSendsAnotherWriteAgain,
    WorkerCallsATimeOutFailed,
    GateTellsBeforeTheCommit,
    GateAnswersForAnyPayload,
    GateNeverSweeps,
    GatePagesNobody,
    WorkerReadsNoNames,
    GateForgesAnApproval,
    GateForgetsARevocation,
    GateTellsOtherTimes,
    PeopleMistakeWhatHappened,
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
    /// How far ahead it goes by what is on record; no bound before the start is. *Unit*: milliseconds.
    followed_ms: Cell<i64>,
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
    table: RefCell<Rc<KnownTable>>,
    /// Every desktop there is, enrolled or not any more.
    pub desks: RefCell<Vec<Rc<Approver>>>,
    /// What payees are called, and their accounts: anybody's to change.
    pub directory: RefCell<BTreeMap<String, String>>,
    /// What the arguments named when a token was presented, by its id.
    pub presented: RefCell<BTreeMap<Digest, Json>>,
    /// Operations that a task of this process works on.
    pub busy: RefCell<BTreeSet<OperationKey>>,
    pub nudge: RefCell<Slot<()>>,
    /// No further faults and no new calls: everything must end by itself.
    calm: Cell<bool>,
    /// Those who act although it is calm: the course waits for them.
    pub acting: Cell<u32>,
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
            witness: RefCell::new(Witness::of(house)),
            coverage: RefCell::new(Coverage::default()),
            process: RefCell::new(None),
            disk: RefCell::new(Some(house.memory.copy().expect("a copy of the database"))),
            epoch: Cell::new(0),
            wall_ms: Cell::new(0),
            set_back: Cell::new(0),
            table: RefCell::new(Rc::clone(&house.tables[0])),
            desks: RefCell::new(house.people.clone()),
            directory: RefCell::new((0..3).map(|payee| (payee.to_string(), format!("DE{payee}"))).collect()),
            presented: RefCell::new(BTreeMap::new()),
            busy: RefCell::new(BTreeSet::new()),
            nudge: RefCell::new(Slot::default()),
            calm: Cell::new(false),
            acting: Cell::new(0),
            trace: Cell::new(Digest::of(&seed.to_be_bytes())),
            told,
        });
        world.start_gate();
        agents::begin(&world);
        operators::begin(&world);
        changes::begin(&world);
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
            while steps < LAST_STEPS && !self.is_over() && self.step() {
                steps += 1;
            }
            self.settle();
            if steps >= LAST_STEPS || self.is_over() {
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

    /// Whether nothing is open, and nobody is about to open something.
    fn is_over(&self) -> bool {
        self.witness.borrow().is_over() && self.acting.get() == 0
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
        let mut gate_changed = false;
        for record in &records {
            let record = defects::planted(self, record);
            let news = self.witness.borrow_mut().take(self, &record);
            match news {
                Some(News::Request(request) | News::PassedOn(request)) => approvers::look_at(self, request),
                Some(News::NeedsPeople(operation)) => desk::page(self, operation),
                Some(News::Table(digest)) => {
                    let table = self.house.tables.iter().find(|known| known.table.digest() == digest).expect("a table of the house");
                    *self.table.borrow_mut() = Rc::clone(table);
                    gate_changed = true;
                }
                Some(News::Roster) => gate_changed = true,
                Some(News::Recovered(person)) => {
                    gate_changed = true;
                    recovered::begin(self, person);
                }
                None => {}
            }
        }
        invariants::invariant_nothing_waits_on_a_row_that_changed(&self.witness.borrow(), &self.table().rows);
        if gate_changed {
            self.compare_with_the_gate(&store);
        }
        let head = ready(store.head()).expect("a reading");
        invariants::invariant_the_log_only_grows(&self.witness.borrow(), head);
        self.note(head);
    }

    /// The gate works with the roster and the table that the log leads to, and nothing that is open rests on what was before.
    fn compare_with_the_gate(&self, store: &Store) {
        let view = ready(store.roster()).expect("a reading").expect("a roster");
        let roster = Roster::parse(view.text.as_bytes()).expect("a roster");
        let witness = self.witness.borrow();
        invariants::invariant_the_roster_is_what_was_signed(&witness.roster, &roster);
        invariants::invariant_no_open_approval_has_fallen(&witness);
        let table = ready(store.table()).expect("a reading").expect("a table");
        invariants::invariant_the_table_in_force_is_the_one_on_record(&table.table_sha256, &self.table().table.digest());
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
        *self.process.borrow_mut() = Some(Process { store, commits, ahead_ms, followed_ms: Cell::new(i64::MAX) });
        self.say(|| "the gate starts".to_owned());
        self.follow();
        self.witness.borrow_mut().reread(self);
        if let Some(store) = self.store() {
            self.compare_with_the_gate(&store);
        }
        let world = Rc::clone(self);
        self.tasks.spawn(Home::Gate, async move { workers::serve(world).await });
    }

    pub fn store(&self) -> Option<Store> {
        self.process.borrow().as_ref().map(|process| process.store.clone())
    }

    /// The effect table in force.
    pub fn table(&self) -> Rc<KnownTable> {
        Rc::clone(&self.table.borrow())
    }

    /// A desktop of a person, usually one that counts: whoever has an old one may still try.
    pub fn desk_of(&self, person: &PersonId) -> Option<Rc<Approver>> {
        let desks: Vec<_> = self.desks.borrow().iter().filter(|desk| desk.person == *person).cloned().collect();
        let any = self.dice.pick(&desks)?;
        let counts = |desk: &Rc<Approver>| {
            let key = desk.approval.public().digest();
            self.witness.borrow().roster.keys.get(&key).is_some_and(|key| !key.stopped)
        };
        if counts(any) || self.dice.percent(10) {
            return Some(Rc::clone(any));
        }
        desks.iter().find(|desk| counts(desk)).cloned()
    }

    pub fn is_calm(&self) -> bool {
        self.calm.get()
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
