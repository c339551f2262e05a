//! Tasks and a clock of their own: everything that happens at once in the real world happens here in an order that only the
//! seed decides. A task of the gate's process dies with it; the others go on.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

type Future = Pin<Box<dyn std::future::Future<Output = ()>>>;

/// Where a task lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// In the gate's process.
    Gate,
    /// Anywhere else.
    Outside,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    home: Home,
    woken: Arc<Woken>,
    future: Option<Future>,
}

#[derive(Default)]
pub struct Tasks {
    tasks: RefCell<BTreeMap<u64, Task>>,
    timers: RefCell<BinaryHeap<Reverse<(i64, u64)>>>,
    sleepers: RefCell<BTreeMap<u64, Waker>>,
    count: Cell<u64>,
    /// The true time, which nobody inside knows. *Unit*: milliseconds since the beginning.
    now_ms: Cell<i64>,
}

impl Tasks {
    fn fresh(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    pub fn now_ms(&self) -> i64 {
        self.now_ms.get()
    }

    pub fn spawn(&self, home: Home, future: impl std::future::Future<Output = ()> + 'static) {
        let task = Task { home, woken: Arc::new(Woken(AtomicBool::new(true))), future: Some(Box::pin(future)) };
        self.tasks.borrow_mut().insert(self.fresh(), task);
    }

    /// Tasks that are not the gate's.
    pub fn outside(&self) -> usize {
        self.tasks.borrow().values().filter(|task| task.home == Home::Outside).count()
    }

    /// Ends every task of the gate's process where it stands.
    pub fn kill_gate(&self) {
        let killed: Vec<Task> = {
            let mut tasks = self.tasks.borrow_mut();
            let ids: Vec<u64> = tasks.iter().filter(|(_, task)| task.home == Home::Gate).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| tasks.remove(id)).collect()
        };
        drop(killed);
    }

    /// Lets everybody go on who can, until all wait.
    pub fn run(&self) {
        loop {
            let woken: Vec<u64> =
                self.tasks.borrow().iter().filter(|(_, task)| task.woken.0.load(Ordering::Relaxed)).map(|(id, _)| *id).collect();
            if woken.is_empty() {
                return;
            }
            for id in woken {
                self.poll(id);
            }
        }
    }

    fn poll(&self, id: u64) {
        let Some((mut future, woken)) =
            self.tasks.borrow_mut().get_mut(&id).and_then(|task| Some((task.future.take()?, Arc::clone(&task.woken))))
        else {
            return;
        };
        woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(woken);
        let done = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut tasks = self.tasks.borrow_mut();
        if done {
            tasks.remove(&id);
        } else if let Some(task) = tasks.get_mut(&id) {
            task.future = Some(future);
        }
    }

    /// Goes to the next moment at which somebody wakes; false when nobody sleeps.
    pub fn advance(&self) -> bool {
        loop {
            let Some(Reverse((at_ms, id))) = self.timers.borrow_mut().pop() else { return false };
            // Who ended before the time was up is woken no more.
            let Some(waker) = self.sleepers.borrow_mut().remove(&id) else { continue };
            self.now_ms.set(self.now_ms.get().max(at_ms));
            waker.wake();
            return true;
        }
    }

    /// Ends everybody: tasks hold the world that holds them.
    pub fn clear(&self) {
        drop(std::mem::take(&mut *self.tasks.borrow_mut()));
    }

    pub fn sleep_ms(self: &Rc<Self>, ms: u64) -> impl std::future::Future<Output = ()> + use<> {
        Sleep { tasks: Rc::clone(self), until_ms: self.now_ms() + i64::try_from(ms).unwrap_or(i64::MAX / 2), timer: None }
    }

    /// What comes first: the value, or the end of the wait.
    pub async fn within_ms<T>(self: &Rc<Self>, ms: u64, slot: &Slot<T>) -> Option<T> {
        let mut sleep = pin!(self.sleep_ms(ms));
        std::future::poll_fn(|context| match slot.take(context.waker()) {
            Some(value) => Poll::Ready(Some(value)),
            None => sleep.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

struct Sleep {
    tasks: Rc<Tasks>,
    until_ms: i64,
    timer: Option<u64>,
}

impl std::future::Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.tasks.now_ms() >= self.until_ms && self.timer.is_some() {
            return Poll::Ready(());
        }
        let id = match self.timer {
            Some(id) => id,
            None => {
                let id = self.tasks.fresh();
                self.timer = Some(id);
                self.tasks.timers.borrow_mut().push(Reverse((self.until_ms, id)));
                id
            }
        };
        self.tasks.sleepers.borrow_mut().insert(id, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(id) = self.timer {
            self.tasks.sleepers.borrow_mut().remove(&id);
        }
    }
}

/// A value that one task leaves for another.
pub struct Slot<T>(Rc<RefCell<(Option<T>, Option<Waker>)>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Slot<T> {
        Slot(Rc::clone(&self.0))
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot(Rc::new(RefCell::new((None, None))))
    }
}

impl<T> Slot<T> {
    pub fn put(&self, value: T) {
        let mut slot = self.0.borrow_mut();
        slot.0 = Some(value);
        if let Some(waker) = slot.1.take() {
            waker.wake();
        }
    }

    fn take(&self, waker: &Waker) -> Option<T> {
        let mut slot = self.0.borrow_mut();
        slot.1 = Some(waker.clone());
        slot.0.take()
    }
}
