//! What lies between the world's inhabitants: the clocks, the network, and whatever holds somebody up.

use std::future::Future;

use vidimus_core::bytes::Nonce;
use vidimus_core::time::Timestamp;
use vidimus_store::limits::SKIPPED_MS_MIN;
use vidimus_store::{Moment, Store, StoreError};

use super::{Cut, World};
use crate::house::BEGINNING_MS;

/// How often the wall clock may be set back. *Unit*: times. A step that a start does not notice hides as much time as passed
/// since the last record, a minute or so; what a provider remembers longer than its row says must cover that.
const SET_BACK_MAX: u32 = 2;

/// What the gate's clock may go forward at once without a record. *Unit*: milliseconds.
const SKIPPED_MS: i64 = SKIPPED_MS_MIN.cast_signed();

impl World {
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
        Timestamp::from_ms(counted_ms + process.ahead_ms.get().min(process.followed_ms.get())).expect("a time")
    }

    /// From here on the gate's clock goes forward at once only as far as that is on record.
    pub fn begin_clock(&self) {
        let ahead_ms = self.now().as_ms() - self.tasks.now_ms();
        if let Some(process) = self.process.borrow().as_ref() {
            process.followed_ms.set(ahead_ms + SKIPPED_MS);
        }
    }

    /// So much is not on record yet.
    pub fn skipped_ms(&self) -> Option<u64> {
        self.now();
        let process = self.process.borrow();
        let process = process.as_ref()?;
        let beyond = process.ahead_ms.get().saturating_sub(process.followed_ms.get());
        u64::try_from(beyond).ok().filter(|beyond| *beyond > 0).map(|beyond| beyond + SKIPPED_MS.unsigned_abs())
    }

    /// So much is on record.
    pub fn follow_clock(&self, skipped_ms: u64) {
        if let Some(process) = self.process.borrow().as_ref() {
            process.followed_ms.set(process.followed_ms.get() + i64::try_from(skipped_ms).expect("small"));
        }
    }

    /// Sets the wall clock, back and forth.
    pub(super) fn set_clock(&self) {
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
        Moment { now: self.now(), again: None, entropy: Nonce::from_bytes(self.dice.bytes()) }
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
}
