//! The desktop's notification service (`org.freedesktop.Notifications`).
//!
//! Each slot has a thread of its own that shows, replaces and closes its one notification and waits for what the person does with
//! it. Nobody waits for these threads: a service that dies or hangs costs a thread, never the console. It must not know what a
//! request is beyond its id, and nothing that comes back can decide one.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use notify_rust::{Hint, Notification, NotificationHandle, NotificationResponse};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::limits::SERVICE_ANSWER_S;
use super::plan::{Popup, Slot, Stay, Target, Urgency};
use super::{strings, text};

const ACTION_OPEN: &str = "open";
const ACTION_LATER: &str = "later";
/// The action of a click on the notification itself.
const ACTION_DEFAULT: &str = "default";

/// What comes back from the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The notification was clicked: this is to be opened.
    Opened(Slot, Target),
    Later(Slot),
    /// It is no longer on the screen.
    Closed(Slot),
    /// The service answered.
    Served,
    /// No service answered (E-NOT-1). Where a slot is named, what it was asked to show is not on the screen.
    NoServer(Option<Slot>),
}

/// What the service can draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Capabilities {
    actions: bool,
    body_markup: bool,
}

#[derive(Debug)]
enum Order {
    Show(Box<Popup>),
    Close,
}

/// Our notifications on this desktop.
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    listener: Box<dyn Fn(Heard) + Send + Sync>,
    /// Asked once, since it does not change while a service runs.
    capabilities: Mutex<Option<Capabilities>>,
    /// The slots that a thread serves.
    slots: Mutex<BTreeMap<Slot, UnboundedSender<Order>>>,
}

impl Server {
    /// Nothing is asked of the desktop yet. `listener` is called on other threads.
    pub fn new(listener: impl Fn(Heard) + Send + Sync + 'static) -> Self {
        let shared = Shared { listener: Box::new(listener), capabilities: Mutex::default(), slots: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Asks whether a service answers; [`Heard::Served`] or [`Heard::NoServer`] comes back.
    pub fn probe(&self) {
        let shared = Arc::clone(&self.shared);
        let asked = spawn(move || {
            *held(&shared.capabilities) = None;
            let heard = shared.capabilities().map_or(Heard::NoServer(None), |_| Heard::Served);
            (shared.listener)(heard);
        });
        if !asked {
            (self.shared.listener)(Heard::NoServer(None));
        }
    }

    /// Shows a notification in its slot, in place of the one that is there.
    pub fn show(&self, popup: Popup) {
        let slot = popup.slot;
        let mut slots = held(&self.shared.slots);
        let order = Order::Show(Box::new(popup));
        let order = match slots.get(&slot) {
            Some(orders) => match orders.send(order) {
                Ok(()) => return,
                // The thread ended without saying so: the bus went away under it.
                Err(unsent) => unsent.0,
            },
            None => order,
        };
        let Order::Show(popup) = order else { return };
        let (sender, orders) = unbounded_channel();
        slots.insert(slot, sender);
        drop(slots);
        let shared = Arc::clone(&self.shared);
        if !spawn(move || shared.serve(slot, popup, orders)) {
            held(&self.shared.slots).remove(&slot);
            (self.shared.listener)(Heard::NoServer(Some(slot)));
        }
    }

    /// Takes the slot's notification off the screen, if there is one.
    pub fn close(&self, slot: Slot) {
        if let Some(orders) = held(&self.shared.slots).get(&slot) {
            // A thread that has ended has nothing on the screen.
            let _ = orders.send(Order::Close);
        }
    }
}

/// What a slot's thread woke up for.
enum Happening {
    Answered(NotificationResponse),
    Ordered(Order),
    /// The connection to the bus or the console is gone.
    Ended,
}

impl Shared {
    /// Serves one slot until nothing of it is on the screen.
    fn serve(&self, slot: Slot, popup: Box<Popup>, mut orders: UnboundedReceiver<Order>) {
        let mut due = Some(popup);
        while let Some(popup) = due {
            let Some(runtime) = tokio::runtime::Builder::new_current_thread().build().ok() else { return self.give_up(slot) };
            let Some(handle) = self.shown(&popup) else { return self.give_up(slot) };
            (self.listener)(Heard::Served);
            if !self.follow(slot, popup.target, handle, &runtime, &mut orders) {
                return self.give_up(slot);
            }
            due = self.left(slot, &mut orders);
        }
    }

    /// Follows one notification until it is off the screen; `false` when the service no longer answers.
    fn follow(
        &self,
        slot: Slot,
        mut target: Target,
        mut handle: NotificationHandle,
        runtime: &Runtime,
        orders: &mut UnboundedReceiver<Order>,
    ) -> bool {
        loop {
            match happening(runtime, &handle, orders) {
                Happening::Ordered(Order::Show(popup)) => {
                    target = popup.target;
                    let Some(replaced) = self.replaced(handle, &popup) else { return false };
                    handle = replaced;
                    (self.listener)(Heard::Served);
                }
                Happening::Ordered(Order::Close) => {
                    close(handle);
                    return true;
                }
                Happening::Answered(response) => {
                    let heard = heard(slot, target, &response);
                    if !matches!(response, NotificationResponse::Closed(_)) {
                        // Not every service closes what was answered.
                        close(handle);
                    }
                    (self.listener)(heard);
                    return true;
                }
                Happening::Ended => {
                    (self.listener)(Heard::Closed(slot));
                    return true;
                }
            }
        }
    }

    /// The newest order that came while the thread was about to end. Under the same lock as the sending, so that none is lost.
    fn left(&self, slot: Slot, orders: &mut UnboundedReceiver<Order>) -> Option<Box<Popup>> {
        let mut slots = held(&self.slots);
        let mut due = None;
        while let Ok(order) = orders.try_recv() {
            due = match order {
                Order::Show(popup) => Some(popup),
                Order::Close => None,
            };
        }
        if due.is_none() {
            slots.remove(&slot);
        }
        due
    }

    fn give_up(&self, slot: Slot) {
        // Another service may start in its place, and draw other things.
        *held(&self.capabilities) = None;
        held(&self.slots).remove(&slot);
        (self.listener)(Heard::NoServer(Some(slot)));
    }

    fn shown(&self, popup: &Popup) -> Option<NotificationHandle> {
        let notification = notification(popup, self.capabilities()?);
        within(move || notification.show().ok()).flatten()
    }

    /// On the same connection: some services tell an answer only to the connection that showed the notification.
    fn replaced(&self, mut handle: NotificationHandle, popup: &Popup) -> Option<NotificationHandle> {
        *handle = notification(popup, self.capabilities()?);
        within(move || handle.update().is_ok().then_some(handle)).flatten()
    }

    fn capabilities(&self) -> Option<Capabilities> {
        if let Some(known) = *held(&self.capabilities) {
            return Some(known);
        }
        let names = within(|| notify_rust::get_capabilities().ok()).flatten()?;
        let has = |name: &str| names.iter().any(|known| known == name);
        let capabilities = Capabilities { actions: has("actions"), body_markup: has("body-markup") };
        *held(&self.capabilities) = Some(capabilities);
        Some(capabilities)
    }
}

fn happening(runtime: &Runtime, handle: &NotificationHandle, orders: &mut UnboundedReceiver<Order>) -> Happening {
    let mut response = None;
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = handle.wait_for_action_async(|given| response = Some(given.clone())) => response.map_or(Happening::Ended, Happening::Answered),
            order = orders.recv() => order.map_or(Happening::Ended, Happening::Ordered),
        }
    })
}

/// The only three things that a notification can lead to.
fn heard(slot: Slot, target: Target, response: &NotificationResponse) -> Heard {
    match response {
        NotificationResponse::Default => Heard::Opened(slot, target),
        NotificationResponse::Action(action) if action == ACTION_OPEN => Heard::Opened(slot, target),
        NotificationResponse::Action(action) if action == ACTION_LATER => Heard::Later(slot),
        NotificationResponse::Action(_) | NotificationResponse::Reply(_) | NotificationResponse::Closed(_) => Heard::Closed(slot),
    }
}

fn notification(popup: &Popup, capabilities: Capabilities) -> Notification {
    let body = if capabilities.body_markup { text::escaped(&popup.text.body) } else { popup.text.body.clone() };
    let mut notification = Notification::new();
    notification.appname(strings::APPLICATION).summary(&popup.text.summary).body(&body).hint(Hint::SuppressSound(true));
    notification.urgency(match popup.urgency {
        Urgency::Low => notify_rust::Urgency::Low,
        Urgency::Normal => notify_rust::Urgency::Normal,
        Urgency::Critical => notify_rust::Urgency::Critical,
    });
    if popup.stay == Stay::Transient {
        notification.hint(Hint::Transient(true));
    }
    if capabilities.actions {
        notification.action(ACTION_DEFAULT, strings::OPEN).action(ACTION_OPEN, strings::OPEN);
        if popup.stay == Stay::Listed {
            notification.action(ACTION_LATER, strings::LATER);
        }
    }
    notification
}

fn close(handle: NotificationHandle) {
    // With a service that does not answer there is nothing to close.
    let _ = within(move || handle.close());
}

/// Makes a call to the service on a thread of its own; nothing when it does not end in time. The thread is then left to itself.
fn within<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, answer) = sync_channel(1);
    // Nobody listens any more after the deadline.
    let is_called = spawn(move || drop(done.send(call())));
    if is_called { answer.recv_timeout(Duration::from_secs(SERVICE_ANSWER_S)).ok() } else { None }
}

/// `false` when the system has no thread left.
fn spawn(work: impl FnOnce() + Send + 'static) -> bool {
    thread::Builder::new().name("notices".to_owned()).spawn(work).is_ok()
}

/// What is held is whole between any two statements, so a panic elsewhere does not spoil it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::text::Text;
    use notify_rust::CloseReason;

    fn popup(urgency: Urgency, stay: Stay) -> Popup {
        let text = Text { summary: "A & B".to_owned(), body: "<b>ACME</b> & Co".to_owned() };
        Popup { slot: Slot::Waiting, text, urgency, stay, target: Target::Inbox }
    }

    #[test]
    fn an_answer_opens_puts_off_or_closes_and_nothing_else() {
        let action = |name: &str| NotificationResponse::Action(name.to_owned());
        let opened = Heard::Opened(Slot::Urgent, Target::Inbox);
        let cases = [
            (NotificationResponse::Default, opened),
            (action("open"), opened),
            (action("later"), Heard::Later(Slot::Urgent)),
            (action("approve"), Heard::Closed(Slot::Urgent)),
            (action("deny"), Heard::Closed(Slot::Urgent)),
            (NotificationResponse::Reply("yes".to_owned()), Heard::Closed(Slot::Urgent)),
            (NotificationResponse::Closed(CloseReason::Expired), Heard::Closed(Slot::Urgent)),
        ];
        for (response, expected) in cases {
            assert_eq!(heard(Slot::Urgent, Target::Inbox, &response), expected, "{response:?}");
        }
    }

    #[test]
    fn what_is_sent_follows_what_the_service_can_draw() {
        let full = Capabilities { actions: true, body_markup: true };
        let none = Capabilities { actions: false, body_markup: false };
        let listed = notification(&popup(Urgency::Critical, Stay::Listed), full);
        assert_eq!((listed.summary.as_str(), listed.body.as_str()), ("A & B", "&lt;b&gt;ACME&lt;/b&gt; &amp; Co"));
        assert_eq!(listed.actions, ["default", "Open", "open", "Open", "later", "Later"]);
        let transient = notification(&popup(Urgency::Low, Stay::Transient), full);
        assert_eq!(transient.actions, ["default", "Open", "open", "Open"]);
        let plain = notification(&popup(Urgency::Normal, Stay::Listed), none);
        assert_eq!((plain.body.as_str(), plain.actions.len()), ("<b>ACME</b> & Co", 0));
    }

    #[test]
    fn a_call_that_dies_is_no_answer() {
        assert_eq!(within(|| 7), Some(7));
        assert_eq!(within(|| -> u8 { std::panic::resume_unwind(Box::new("the connection is gone")) }), None);
    }
}
