//! Runs the plan against the clock and the desktop, on a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{io, thread};

use super::limits::LOOK_AGAIN_S;
use super::plan::{Command, Input, Notified, Plan, Standstill, Target};
use super::server::{Heard, Server};
use crate::settings::Privacy;

/// Whether the desktop shows notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Present,
    /// E-NOT-1.
    Absent,
}

/// What the notices need from the rest of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The person clicked: this is to be opened, and nothing more.
    Open(Target),
    /// Told at the start and at each change.
    Service(Service),
    /// Nothing pops up from now on, or again something does.
    Paused(Option<Standstill>),
    /// To be kept before this returns, and given back at the next start.
    Remember(Notified),
}

/// The console's notifications. They end when this is dropped.
#[derive(Debug)]
pub struct Notices {
    messages: Sender<Message>,
}

#[derive(Debug)]
enum Message {
    Input(Input),
    Heard(Heard),
    Probe,
    End,
}

impl Notices {
    /// Starts with what an earlier run was told to keep.
    ///
    /// `now_ms` is the gate's time as far as it is known; `tell` is called on the thread of the notices.
    ///
    /// *Errors*: the system has no thread left.
    pub fn start(
        notified: Notified,
        privacy: Privacy,
        now_ms: impl Fn() -> i64 + Send + 'static,
        tell: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, received) = channel();
        let answers = messages.clone();
        // After the end nobody listens to what the desktop still says.
        let server = Server::new(move |heard| drop(answers.send(Message::Heard(heard))));
        let mut desk = Desk { plan: Plan::new(notified, privacy), server, service: None, paused: None, now_ms, tell };
        thread::Builder::new().name("notices".to_owned()).spawn(move || desk.run(&received))?;
        Ok(Self { messages })
    }

    /// Hands an input to the plan. Never waits.
    pub fn apply(&self, input: Input) {
        self.send(Message::Input(input));
    }

    /// Asks again whether a service answers ("Test again" of E-NOT-1); an [`Event::Service`] tells a change.
    pub fn probe(&self) {
        self.send(Message::Probe);
    }

    fn send(&self, message: Message) {
        // The thread is gone only when the program ends.
        let _ = self.messages.send(message);
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.send(Message::End);
    }
}

struct Desk<Now, Tell> {
    plan: Plan,
    server: Server,
    service: Option<Service>,
    paused: Option<Standstill>,
    now_ms: Now,
    tell: Tell,
}

impl<Now: Fn() -> i64, Tell: FnMut(Event)> Desk<Now, Tell> {
    fn run(&mut self, received: &Receiver<Message>) {
        self.server.probe();
        // A pause of the run before is told at once.
        self.apply(Input::Tick);
        loop {
            match self.next(received) {
                Some(Message::Input(input)) => self.apply(input),
                Some(Message::Heard(heard)) => self.hear(heard),
                Some(Message::Probe) => self.server.probe(),
                Some(Message::End) => return,
                None => self.apply(Input::Tick),
            }
        }
    }

    /// The next message, or nothing when time has passed.
    fn next(&self, received: &Receiver<Message>) -> Option<Message> {
        let now_ms = (self.now_ms)();
        let Some(at_ms) = self.plan.next_at_ms(now_ms) else { return Some(received.recv().unwrap_or(Message::End)) };
        // The gate's time is not this timer's: look again before long.
        let wait = Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0)).min(Duration::from_secs(LOOK_AGAIN_S));
        match received.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::End),
        }
    }

    fn apply(&mut self, input: Input) {
        for command in self.plan.apply(input, (self.now_ms)()) {
            match command {
                Command::Remember(notified) => (self.tell)(Event::Remember(notified)),
                Command::Show(popup) => self.server.show(popup),
                Command::Close(slot) => self.server.close(slot),
            }
        }
        let paused = self.plan.standstill((self.now_ms)());
        if paused != self.paused {
            self.paused = paused;
            (self.tell)(Event::Paused(paused));
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Opened(slot, target) => {
                self.apply(Input::Gone(slot));
                (self.tell)(Event::Open(target));
            }
            Heard::Later(slot) => self.apply(Input::Later(slot)),
            Heard::Closed(slot) => self.apply(Input::Gone(slot)),
            Heard::Served => self.tell_service(Service::Present),
            Heard::NoServer(slot) => {
                if let Some(slot) = slot {
                    self.apply(Input::Gone(slot));
                }
                self.tell_service(Service::Absent);
            }
        }
    }

    fn tell_service(&mut self, service: Service) {
        if self.service != Some(service) {
            self.service = Some(service);
            (self.tell)(Event::Service(service));
        }
    }
}
