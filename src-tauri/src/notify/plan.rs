//! Which notification is shown, changed or closed, and when. A pure state machine: time is an argument.
//!
//! Two popups at most: one for what waits, one for what is irreversible and about to expire. The first request of a class pops at
//! once, later ones as an update of the same popup at most once in [`POPUP_GAP_S`]. It must not know the desktop's service, a
//! window or a file: the caller carries out the [`Command`]s in their order, and keeps [`Notified`] so that a restart repeats nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use vidimus_core::ids::{RequestId, Reversibility};

use super::limits::LATER_S;
use super::text::{self, Matter, Subject, Text};
use crate::limits::{CRITICAL_WITHIN_S, POPUP_GAP_S};
use crate::settings::Privacy;

mod outcomes;
mod pause;
mod settle;

pub use outcomes::InDoubt;
pub use pause::{Pause, QuietHours};

const GAP_MS: i64 = POPUP_GAP_S as i64 * 1_000;
const CRITICAL_WITHIN_MS: i64 = CRITICAL_WITHIN_S as i64 * 1_000;
const LATER_MS: i64 = LATER_S * 1_000;

/// A request that waits at the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub request: RequestId,
    pub subject: Subject,
    pub expires_at_ms: i64,
    pub standing: Standing,
}

/// How this person stands to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    CanDecide,
    /// Their own agent's, or proposed by them.
    Own,
    /// They gave their answer; the request waits for another person.
    HasDecided,
    LacksRole,
}

/// How a request stopped waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By the person of this name, who is not the one here.
    DecidedBy(String),
    DecidedHere,
    /// Expired, withdrawn, stale.
    Otherwise,
}

/// What the person looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    /// The main window has the focus and shows the inbox, whose live region tells what arrives.
    Inbox,
    #[default]
    Elsewhere,
}

/// One of our places on the screen. Each holds one notification at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    Waiting,
    Urgent,
    Outcome,
}

/// What a click opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Request(RequestId),
    Inbox,
    /// The reconcile desk.
    Desk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    Low,
    Normal,
    Critical,
}

/// How long a notification is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// In the desktop's list until it is closed.
    Listed,
    /// Shown once and not listed; nothing is left to do about it.
    Transient,
}

/// A notification to be shown in its slot, in place of what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popup {
    pub slot: Slot,
    pub text: Text,
    pub urgency: Urgency,
    pub stay: Stay,
    pub target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// To be kept before the next command is carried out.
    Remember(Notified),
    Show(Popup),
    Close(Slot),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Everything that waits at the gate now, whoever may decide it. Only from a log that is level with the gate: what an older
    /// state still held as waiting may be decided long since.
    Requests(Vec<Waiting>),
    /// Every outcome in doubt that this person may answer.
    Outcomes(Vec<InDoubt>),
    /// Why a request is about to leave that list.
    Ended(RequestId, Ended),
    /// The person opened the request's window.
    Opened(RequestId),
    /// "Later" was pressed on the slot's notification.
    Later(Slot),
    /// The slot's notification is no longer on the screen.
    Gone(Slot),
    View(View),
    Privacy(Privacy),
    PauseUntil(i64),
    Resume,
    /// The hours that are quiet every day, or none.
    Quiet(Option<QuietHours>),
    /// Time has passed.
    Tick,
}

/// What has been told of the requests that wait. The caller keeps it, so that neither a restart of the console nor one of the gate
/// tells anything twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notified {
    requests: BTreeMap<RequestId, Told>,
    #[serde(default)]
    outcomes: outcomes::Told,
    pause_until_ms: Option<i64>,
}

/// What has been told of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    /// A notification named or counted it.
    popped: bool,
    /// It used its one critical notification.
    critical: bool,
    /// The person looked at it.
    opened: bool,
    later_until_ms: Option<i64>,
}

/// What kind of request it is, for "the first of a class".
type Class = (Matter, Reversibility);

fn class(waiting: &Waiting) -> Class {
    (waiting.subject.matter, waiting.subject.reversibility)
}

/// What one slot shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shown {
    /// The requests that it counts; empty when nothing is on the screen.
    about: BTreeSet<RequestId>,
    /// The one that its text names.
    lead: Option<RequestId>,
}

/// Nothing pops up for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standstill {
    pub until_ms: i64,
    /// The person paused; else these are the quiet hours.
    pub chosen: bool,
    /// Irreversible requests that may expire before it ends.
    pub expiring: usize,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Plan {
    privacy: Privacy,
    quiet: Option<QuietHours>,
    view: View,
    notified: Notified,
    /// What this person can decide, by id.
    waiting: BTreeMap<RequestId, Waiting>,
    ended: BTreeMap<RequestId, Ended>,
    waiting_popup: Shown,
    urgent_popup: Shown,
    popped_at_ms: Option<i64>,
    class_popped_at_ms: BTreeMap<Class, i64>,
    urgent_at_ms: Option<i64>,
    outcomes: outcomes::Outcomes,
}

impl Plan {
    pub fn new(notified: Notified, privacy: Privacy) -> Self {
        Self {
            privacy,
            quiet: None,
            view: View::default(),
            notified,
            waiting: BTreeMap::new(),
            ended: BTreeMap::new(),
            waiting_popup: Shown::default(),
            urgent_popup: Shown::default(),
            popped_at_ms: None,
            class_popped_at_ms: BTreeMap::new(),
            urgent_at_ms: None,
            outcomes: outcomes::Outcomes::default(),
        }
    }

    /// Takes one input and says what is to be done.
    ///
    /// *Units*: `now_ms` is the gate's time as far as it is known, in milliseconds since the epoch.
    pub fn apply(&mut self, input: Input, now_ms: i64) -> Vec<Command> {
        let before = self.notified.clone();
        let mut commands = Vec::new();
        match input {
            Input::Requests(waiting) => self.replace(waiting, now_ms, &mut commands),
            Input::Outcomes(now) => self.outcomes.replace(now, &mut self.notified.outcomes, self.privacy, &mut commands),
            Input::Ended(request, how) => {
                self.ended.insert(request, how);
            }
            Input::Opened(request) => self.open(request, now_ms, &mut commands),
            Input::Later(Slot::Outcome) => self.outcomes.put_off(&mut self.notified.outcomes, now_ms),
            Input::Later(slot @ (Slot::Waiting | Slot::Urgent)) => self.put_off(slot, now_ms),
            Input::Gone(Slot::Outcome) => self.outcomes.gone(),
            Input::Gone(slot @ (Slot::Waiting | Slot::Urgent)) => *self.popup(slot) = Shown::default(),
            Input::View(view) => self.view = view,
            Input::Privacy(privacy) => self.change_privacy(privacy, now_ms, &mut commands),
            Input::PauseUntil(until_ms) => self.notified.pause_until_ms = Some(until_ms),
            Input::Resume => self.notified.pause_until_ms = None,
            Input::Quiet(hours) => self.quiet = hours,
            Input::Tick => {}
        }
        self.settle(now_ms, &mut commands);
        if self.notified != before {
            commands.insert(0, Command::Remember(self.notified.clone()));
        }
        commands
    }

    /// When the next [`Input::Tick`] is due, if anything waits for time to pass.
    pub fn next_at_ms(&self, now_ms: i64) -> Option<i64> {
        if let Some(until_ms) = self.paused_until_ms(now_ms) {
            return Some(until_ms);
        }
        let outcomes = self.outcomes.due_at_ms(&self.notified.outcomes);
        if self.view == View::Inbox {
            return outcomes;
        }
        let requests =
            self.waiting.values().filter(|waiting| waiting.expires_at_ms > now_ms).filter_map(|waiting| self.due_at_ms(waiting)).min();
        requests.into_iter().chain(outcomes).min()
    }

    /// The end of the pause or of the quiet hours, while there is one.
    pub fn paused_until_ms(&self, now_ms: i64) -> Option<i64> {
        self.chosen_pause_until_ms(now_ms).max(self.quiet.as_ref().and_then(|hours| hours.until_ms(now_ms)))
    }

    fn chosen_pause_until_ms(&self, now_ms: i64) -> Option<i64> {
        self.notified.pause_until_ms.filter(|until_ms| *until_ms > now_ms)
    }

    /// What there is to say of the pause, while there is one.
    pub fn standstill(&self, now_ms: i64) -> Option<Standstill> {
        let until_ms = self.paused_until_ms(now_ms)?;
        let chosen = self.chosen_pause_until_ms(now_ms) == Some(until_ms);
        Some(Standstill { until_ms, chosen, expiring: self.expiring_before(until_ms) })
    }

    /// How many irreversible requests may expire before a pause ends.
    pub fn expiring_before(&self, until_ms: i64) -> usize {
        self.waiting.values().filter(|waiting| is_irreversible(waiting) && waiting.expires_at_ms <= until_ms).count()
    }

    /// The last told state, as it is to be kept.
    pub fn notified(&self) -> &Notified {
        &self.notified
    }

    fn due_at_ms(&self, waiting: &Waiting) -> Option<i64> {
        let told = self.told(&waiting.request);
        let after = |last_ms: Option<i64>| last_ms.map_or(i64::MIN, |last_ms| last_ms + GAP_MS);
        let from = told.later_until_ms.unwrap_or(i64::MIN);
        let popup = (!told.popped).then(|| after(self.popped_at_ms).max(from));
        let urgent_from = (waiting.expires_at_ms - CRITICAL_WITHIN_MS + 1).max(after(self.urgent_at_ms)).max(from);
        let urgent =
            (is_irreversible(waiting) && !told.critical && !told.opened && urgent_from < waiting.expires_at_ms).then_some(urgent_from);
        popup.into_iter().chain(urgent).min()
    }

    fn replace(&mut self, waiting: Vec<Waiting>, now_ms: i64, commands: &mut Vec<Command>) {
        let open: BTreeSet<RequestId> = waiting.iter().map(|waiting| waiting.request).collect();
        self.notified.requests.retain(|request, _| open.contains(request));
        let decidable = waiting.into_iter().filter(|waiting| waiting.standing == Standing::CanDecide);
        let now_waiting: BTreeMap<RequestId, Waiting> = decidable.map(|waiting| (waiting.request, waiting)).collect();
        let mut left = std::mem::replace(&mut self.waiting, now_waiting);
        left.retain(|request, _| !self.waiting.contains_key(request));
        for (request, gone) in &left {
            let how = self.ended.remove(request).unwrap_or(Ended::Otherwise);
            for slot in [Slot::Waiting, Slot::Urgent] {
                self.take_out(slot, request, Some((gone, &how)), now_ms, commands);
            }
        }
        self.ended.retain(|request, _| open.contains(request));
    }

    fn open(&mut self, request: RequestId, now_ms: i64, commands: &mut Vec<Command>) {
        if !self.waiting.contains_key(&request) {
            return;
        }
        let told = self.told_mut(request);
        told.opened = true;
        told.popped = true;
        self.take_out(Slot::Urgent, &request, None, now_ms, commands);
        // A count stays true while its request waits; a popup about this one alone has done its work.
        if self.waiting_popup.about.len() == 1 {
            self.take_out(Slot::Waiting, &request, None, now_ms, commands);
        }
    }

    fn put_off(&mut self, slot: Slot, now_ms: i64) {
        for request in std::mem::take(self.popup(slot)).about {
            if self.waiting.contains_key(&request) {
                let told = self.told_mut(request);
                told.popped = false;
                told.later_until_ms = Some(now_ms + LATER_MS);
            }
        }
    }

    fn change_privacy(&mut self, privacy: Privacy, now_ms: i64, commands: &mut Vec<Command>) {
        if privacy == self.privacy {
            return;
        }
        self.privacy = privacy;
        // What is on the screen may say more than is now allowed.
        for slot in [Slot::Waiting, Slot::Urgent] {
            self.show_again(slot, now_ms, commands);
        }
        self.outcomes.show_again(privacy, commands);
    }

    fn told(&self, request: &RequestId) -> Told {
        self.notified.requests.get(request).copied().unwrap_or_default()
    }

    fn told_mut(&mut self, request: RequestId) -> &mut Told {
        self.notified.requests.entry(request).or_default()
    }

    fn popup(&mut self, slot: Slot) -> &mut Shown {
        match slot {
            // Outcomes are kept apart: no request stands in their slot.
            Slot::Waiting | Slot::Outcome => &mut self.waiting_popup,
            Slot::Urgent => &mut self.urgent_popup,
        }
    }
}

fn is_irreversible(waiting: &Waiting) -> bool {
    waiting.subject.reversibility == Reversibility::Irreversible
}

#[cfg(test)]
mod tests;
