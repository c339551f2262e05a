//! The notification server, and a witness on the bus of what was sent to it.
//!
//! dunst's own history holds only what has been closed, so the calls themselves are recorded by a monitor on the bus: it sees
//! them with every server, and also when there is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Desktop, DesktopError, NotificationServer, START_WITHIN};
use crate::processes::Process;

const NAME: &str = "org.freedesktop.Notifications";

/// Where distributions keep notification-daemon, which is not on the path.
const NOTIFICATION_DAEMON: [&str; 2] = ["/usr/lib/notification-daemon/notification-daemon", "/usr/libexec/notification-daemon"];

/// No time-outs: a notification stays until something closes it, so that tests and pictures do not race with it.
const DUNST_CONFIGURATION: &str = "[global]\nfont = DejaVu Sans 10\nfollow = none\nidle_threshold = 0\nhistory_length = 200\n\
    markup = full\nformat = \"<b>%s</b>\\n%b\"\nword_wrap = yes\n\
    [urgency_low]\ntimeout = 0\n[urgency_normal]\ntimeout = 0\n[urgency_critical]\ntimeout = 0\n";

/// How pressing a notification is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Urgency {
    /// 0 on the wire.
    Low,
    /// 1 on the wire, and what is meant where nothing is said.
    Normal,
    /// 2 on the wire.
    Critical,
}

/// A notification as a program sent it, with what became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notification {
    /// The name that the sender gave.
    pub app: String,
    /// The title.
    pub summary: String,
    /// The text, with the markup that was sent.
    pub body: String,
    /// How pressing it is.
    pub urgency: Urgency,
    /// The keys of its actions.
    pub actions: Vec<String>,
    /// The earlier notification that it takes the place of, 0 for none.
    pub replaces: u32,
    /// The server's number for it, `None` if no server took it.
    pub id: Option<u32>,
    /// When it was sent, in microseconds of the system's clock.
    pub sent_at_us: u64,
    /// Whether it has been closed, by anyone.
    pub closed: bool,
    /// The action that was invoked on it.
    pub invoked: Option<String>,
}

/// A notification as dunst has drawn and then closed it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClosedNotification {
    /// dunst's number for it.
    pub id: u32,
    /// The name that the sender gave.
    pub app: String,
    /// The title.
    pub summary: String,
    /// The text.
    pub body: String,
}

impl Desktop {
    /// Starts the witness; it must see the bus before the first program that notifies.
    pub(super) fn start_monitor(&mut self) -> Result<(), DesktopError> {
        let mut command = self.command("busctl");
        // By interface for calls that no server takes, by name for the answers of the one that does.
        command.args(["--user", "--json=short", "--match=interface='org.freedesktop.Notifications'", "monitor", NAME]);
        let output = self.monitor_output.clone();
        let mut monitor = Process::start("busctl", &mut command, &output)?;
        // Not every version says when it listens, so it is asked with a signal that means nothing to anyone else.
        let probe = ["emit", "--session", "--object-path=/", "--signal=org.freedesktop.Notifications.Probe"];
        monitor.wait_until("the monitor's first signal", START_WITHIN, |monitor| {
            // The bus answers by now; a probe that fails is followed by another.
            let _ = self.run("gdbus", &probe);
            Ok(monitor.text()?.contains("\"Probe\"").then_some(()))
        })?;
        self.processes.push(monitor);
        Ok(())
    }

    pub(super) fn start_notification_server(&mut self, server: NotificationServer) -> Result<(), DesktopError> {
        let mut command = match server {
            NotificationServer::Absent => return Ok(()),
            NotificationServer::Dunst => {
                let path = self.directory.path().join("dunstrc");
                fs::write(&path, DUNST_CONFIGURATION).map_err(|source| DesktopError::File { path: path.clone(), source })?;
                let mut command = self.command("dunst");
                command.arg("-conf").arg(path);
                command
            }
            NotificationServer::NotificationDaemon => {
                let found = NOTIFICATION_DAEMON.iter().find(|path| Path::new(path).is_file());
                self.command(found.unwrap_or(&NOTIFICATION_DAEMON[0]))
            }
        };
        let daemon = Process::start("notification server", &mut command, &self.output_file("notification-server"))?;
        self.processes.push(daemon);
        self.wait_for_name(NAME, START_WITHIN)
    }

    /// Every notification sent since the desktop stands, in order.
    pub fn notifications(&self) -> Result<Vec<Notification>, DesktopError> {
        let text =
            fs::read_to_string(&self.monitor_output).map_err(|source| DesktopError::File { path: self.monitor_output.clone(), source })?;
        Witness::read(&text)
    }

    /// Waits for a notification that `matches`.
    pub fn wait_for_notification(&self, within: Duration, matches: impl Fn(&Notification) -> bool) -> Result<Notification, DesktopError> {
        let mut unread = None;
        let found = self.wait_until("a notification", within, || match self.notifications() {
            Ok(all) => all.into_iter().find(&matches),
            Err(reason) => {
                unread = Some(reason);
                None
            }
        });
        // What could not be read says more than that time went by.
        found.map_err(|late| unread.unwrap_or(late))
    }

    /// How many notifications dunst shows at this moment.
    pub fn notifications_displayed(&self) -> Result<u32, DesktopError> {
        let answer = self.run("dunstctl", &["count", "displayed"])?;
        answer.trim().parse().map_err(|_| DesktopError::Answer { program: "dunstctl".to_owned(), detail: answer })
    }

    /// What dunst has put into its history: the notifications that were closed, newest first.
    pub fn notification_history(&self) -> Result<Vec<ClosedNotification>, DesktopError> {
        let answer = self.run("dunstctl", &["history"])?;
        let unreadable = |error: serde_json::Error| DesktopError::Answer { program: "dunstctl".to_owned(), detail: error.to_string() };
        let history: History = serde_json::from_str(&answer).map_err(unreadable)?;
        Ok(history.data.into_iter().flatten().map(ClosedNotification::from).collect())
    }

    /// Invokes the default action of the newest notification, as a click on it would.
    pub fn invoke_default_action(&self) -> Result<(), DesktopError> {
        self.run("dunstctl", &["action", "0"]).map(drop)
    }

    /// Closes everything that dunst shows.
    pub fn close_notifications(&self) -> Result<(), DesktopError> {
        self.run("dunstctl", &["close-all"]).map(drop)
    }
}

#[derive(Deserialize)]
struct History {
    data: Vec<Vec<HistoryFields>>,
}

#[derive(Deserialize)]
struct HistoryFields {
    appname: Variant<String>,
    summary: Variant<String>,
    body: Variant<String>,
    id: Variant<u32>,
}

#[derive(Deserialize)]
struct Variant<T> {
    data: T,
}

impl From<HistoryFields> for ClosedNotification {
    fn from(fields: HistoryFields) -> Self {
        let HistoryFields { appname, summary, body, id } = fields;
        Self { id: id.data, app: appname.data, summary: summary.data, body: body.data }
    }
}

/// One message on the bus.
#[derive(Deserialize)]
struct Message<'a> {
    r#type: String,
    cookie: u64,
    reply_cookie: Option<u64>,
    #[serde(rename = "timestamp-realtime")]
    at_us: u64,
    sender: Option<String>,
    destination: Option<String>,
    member: Option<String>,
    #[serde(borrow)]
    payload: Payload<'a>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

type NotifyArguments = (String, u32, String, String, String, Vec<String>, BTreeMap<String, Hint>, i32);

#[derive(Deserialize)]
struct Hint {
    data: Box<RawValue>,
}

/// The notifications seen on the bus, with the calls that no server has answered yet.
#[derive(Default)]
struct Witness {
    sent: Vec<Notification>,
    unanswered: BTreeMap<(String, u64), usize>,
}

impl Witness {
    fn read(text: &str) -> Result<Vec<Notification>, DesktopError> {
        let mut witness = Self::default();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines().filter(|line| line.starts_with('{')) {
            witness
                .take(line)
                .map_err(|error| DesktopError::Answer { program: "busctl".to_owned(), detail: format!("{error}: {line}") })?;
        }
        Ok(witness.sent)
    }

    fn take(&mut self, line: &str) -> Result<(), serde_json::Error> {
        let message: Message<'_> = serde_json::from_str(line)?;
        let data = message.payload.data.get();
        match (message.r#type.as_str(), message.member.as_deref()) {
            ("method_call", Some("Notify")) => {
                let key = (message.sender.unwrap_or_default(), message.cookie);
                self.unanswered.insert(key, self.sent.len());
                self.sent.push(notification(serde_json::from_str(data)?, message.at_us));
            }
            ("method_return", _) => {
                let key = (message.destination.unwrap_or_default(), message.reply_cookie.unwrap_or_default());
                if let Some(index) = self.unanswered.remove(&key) {
                    let (id,): (u32,) = serde_json::from_str(data)?;
                    self.answered(index, id);
                }
            }
            ("signal", Some("NotificationClosed")) => {
                let (id, _reason): (u32, u32) = serde_json::from_str(data)?;
                self.change(id, |notification| notification.closed = true);
            }
            ("signal", Some("ActionInvoked")) => {
                let (id, action): (u32, String) = serde_json::from_str(data)?;
                self.change(id, |notification| notification.invoked = Some(action));
            }
            _ => {}
        }
        Ok(())
    }

    /// A server reuses the number of a notification that is replaced: the earlier one is gone from the screen.
    fn answered(&mut self, index: usize, id: u32) {
        self.change(id, |notification| notification.closed = true);
        if let Some(notification) = self.sent.get_mut(index) {
            notification.id = Some(id);
        }
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut Notification)) {
        if let Some(notification) = self.sent.iter_mut().rev().find(|notification| notification.id == Some(id)) {
            change(notification);
        }
    }
}

fn notification(arguments: NotifyArguments, sent_at_us: u64) -> Notification {
    let (app, replaces, _icon, summary, body, actions, hints, _timeout) = arguments;
    let urgency = match hints.get("urgency").map(|hint| hint.data.get()) {
        Some("0") => Urgency::Low,
        Some("2") => Urgency::Critical,
        _ => Urgency::Normal,
    };
    // Keys and labels alternate.
    let actions = actions.into_iter().step_by(2).collect();
    Notification { app, summary, body, urgency, actions, replaces, id: None, sent_at_us, closed: false, invoked: None }
}
