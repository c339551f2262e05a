//! The desktop of the end-to-end tests, against the real programs that it is made of.

use std::path::Path;
use std::time::Duration;

use vidimus_tests::desktop::{Desktop, Display, Keyring, NotificationServer, Options, Urgency, WebDriver};
use vidimus_tests::processes::{Process, poll};

const SOON: Duration = Duration::from_secs(10);

/// Stores a secret through the Secret Service and reads it back, over two connections.
const ROUND_TRIP: &str = r#"
import sys
from gi.repository import Gio, GLib
def session():
    bus = Gio.DBusConnection.new_for_address_sync(
        __import__('os').environ['DBUS_SESSION_BUS_ADDRESS'],
        Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
    def call(path, interface, method, arguments):
        return bus.call_sync('org.freedesktop.secrets', path, interface, method, arguments, None, 0, 5000, None).unpack()
    root = '/org/freedesktop/secrets'
    path = call(root, 'org.freedesktop.Secret.Service', 'OpenSession', GLib.Variant('(sv)', ('plain', GLib.Variant('s', ''))))[1]
    return call, path
call, path = session()
properties = {'org.freedesktop.Secret.Item.Label': GLib.Variant('s', 'harness'),
              'org.freedesktop.Secret.Item.Attributes': GLib.Variant('a{ss}', {'purpose': 'harness'})}
item, prompt = call('/org/freedesktop/secrets/collection/login', 'org.freedesktop.Secret.Collection', 'CreateItem',
    GLib.Variant('(a{sv}(oayays)b)', (properties, (path, b'', b'invented secret', 'text/plain'), True)))
if prompt != '/':
    sys.exit('the keyring asks')
call, path = session()
found, locked = call('/org/freedesktop/secrets', 'org.freedesktop.Secret.Service', 'SearchItems',
    GLib.Variant('(a{ss})', ({'purpose': 'harness'},)))
secrets, = call('/org/freedesktop/secrets', 'org.freedesktop.Secret.Service', 'GetSecrets', GLib.Variant('(aoo)', (found, path)))
print([bytes(secret[2]).decode() for secret in secrets.values()])
"#;

/// A notification without the questions that notify-send asks first.
const NOTIFY: [&str; 14] = [
    "call",
    "--session",
    "--dest=org.freedesktop.Notifications",
    "--object-path=/org/freedesktop/Notifications",
    "--method=org.freedesktop.Notifications.Notify",
    "--",
    "harness",
    "uint32 0",
    "",
    "A summary",
    "",
    "@as []",
    "@a{sv} {}",
    "-1",
];

fn options(keyring: Keyring, notification_server: NotificationServer) -> Options {
    Options { display: Display::Virtual { width: 640, height: 480 }, keyring, notification_server }
}

#[test]
fn a_secret_is_stored_and_read_back() {
    let desktop = Desktop::start(options(Keyring::Unlocked, NotificationServer::Absent)).expect("a desktop");
    let answer = desktop.run("/usr/bin/python3", &["-c", ROUND_TRIP]).expect("a stored secret");
    assert_eq!(answer.trim(), "['invented secret']");
    assert!(desktop.home().join(".local/share/keyrings/login.keyring").is_file(), "the keyring lies outside this desktop's home");
}

#[test]
fn a_locked_keyring_is_locked_and_an_absent_one_absent() {
    let locked = Desktop::start(options(Keyring::Locked, NotificationServer::Absent)).expect("a desktop");
    assert!(locked.keyring_is_locked().expect("an answer"));
    let refusal = locked.run("/usr/bin/python3", &["-c", ROUND_TRIP]).expect_err("a locked keyring stores nothing");
    assert!(refusal.to_string().contains("IsLocked") || refusal.to_string().contains("the keyring asks"), "{refusal}");

    let absent = Desktop::start(options(Keyring::Absent, NotificationServer::Absent)).expect("a desktop");
    let refusal = absent.run("/usr/bin/python3", &["-c", ROUND_TRIP]).expect_err("no keyring, no secret");
    assert!(refusal.to_string().contains("ServiceUnknown"), "{refusal}");
}

#[test]
fn dunst_takes_a_notification_and_its_action_reaches_the_sender() {
    let desktop = Desktop::start(options(Keyring::Absent, NotificationServer::Dunst)).expect("a desktop");
    let arguments = ["--app-name=harness", "--urgency=critical", "--action=default=Open", "--wait", "A summary", "a <b>body</b>"];
    let mut sender = desktop.spawn("notify-send", arguments).expect("a sender");
    let sent = desktop.wait_for_notification(SOON, |notification| notification.id.is_some()).expect("a notification");
    assert_eq!((sent.app.as_str(), sent.summary.as_str(), sent.body.as_str()), ("harness", "A summary", "a <b>body</b>"));
    assert_eq!((sent.urgency, sent.actions.as_slice(), sent.closed), (Urgency::Critical, ["default".to_owned()].as_slice(), false));
    assert_eq!(desktop.notifications_displayed().expect("a count"), 1);
    assert!(desktop.notification_history().expect("a history").is_empty(), "what is shown is not yet history");

    desktop.invoke_default_action().expect("an action");
    assert!(sender.wait(SOON).expect("the sender's end").success());
    assert_eq!(sender.text().expect("its output").trim(), "default");
    let invoked = |notification: &vidimus_tests::desktop::Notification| notification.invoked.as_deref() == Some("default");
    desktop.wait_for_notification(SOON, invoked).expect("the invoked action on the bus");
}

#[test]
fn closed_notifications_are_in_the_history() {
    let desktop = Desktop::start(options(Keyring::Absent, NotificationServer::Dunst)).expect("a desktop");
    desktop.run("notify-send", &["--app-name=harness", "First", "one"]).expect("a notification");
    desktop.run("notify-send", &["--app-name=harness", "Second", "two"]).expect("a notification");
    desktop.close_notifications().expect("both closed");
    let history = poll(SOON, || desktop.notification_history().ok().filter(|history| history.len() == 2)).expect("two in the history");
    let mut summaries: Vec<&str> = history.iter().map(|notification| notification.summary.as_str()).collect();
    summaries.sort_unstable();
    assert_eq!(summaries, ["First", "Second"]);
    assert!(poll(SOON, || desktop.notifications().ok().filter(|all| all.iter().all(|sent| sent.closed))).is_some());
}

#[test]
fn the_other_server_takes_a_notification_and_none_takes_none() {
    let other = Desktop::start(options(Keyring::Absent, NotificationServer::NotificationDaemon)).expect("a desktop");
    other.run("notify-send", &["--app-name=harness", "A summary"]).expect("a notification");
    assert!(other.wait_for_notification(SOON, |sent| sent.id.is_some()).is_ok());

    let none = Desktop::start(options(Keyring::Absent, NotificationServer::Absent)).expect("a desktop");
    let refusal = none.run("gdbus", &NOTIFY).expect_err("nobody takes it");
    assert!(refusal.to_string().contains("ServiceUnknown"), "{refusal}");
    let asked = poll(SOON, || none.notifications().ok().filter(|sent| !sent.is_empty())).expect("the call is on the bus all the same");
    assert_eq!(asked[0].id, None);
}

#[test]
fn a_picture_shows_what_is_drawn() {
    let desktop = Desktop::start(options(Keyring::Absent, NotificationServer::Dunst)).expect("a desktop");
    let path = desktop.logs().join("empty.png");
    desktop.screenshot(&path).expect("a picture");
    assert_eq!(desktop.colours(&path).expect("a count"), 1, "an empty display has one colour");
    desktop.run("notify-send", &["A summary"]).expect("a notification");
    desktop.notification_screenshot(&path).expect("the notification is drawn");
    assert!(desktop.colours(&path).expect("a count") > 1, "the notification is on the picture");
}

#[test]
fn everything_ends_with_the_desktop_and_several_stand_side_by_side() {
    let first = Desktop::start(Options::default()).expect("a desktop");
    let second = Desktop::start(Options::default()).expect("a second desktop");
    let home = first.home();
    let process = first.spawn("sleep", ["600"]).expect("a process");
    let id = process.id();
    second.run("notify-send", &["Only here"]).expect("a notification");
    second.wait_for_notification(SOON, |sent| sent.summary == "Only here").expect("seen on its own desktop");
    assert!(first.notifications().expect("a list").is_empty(), "the desktops share a bus");
    drop(process);
    drop(first);
    assert!(!home.exists(), "the home is left behind");
    assert!(!Path::new(&format!("/proc/{id}")).exists(), "the process is left behind");
    let users = std::fs::read_dir("/proc").expect("processes").flatten().filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(home.to_str().expect("UTF-8"))
    });
    assert_eq!(users.count(), 0, "something of the desktop still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_view_is_driven_and_ended() {
    let desktop = Desktop::start(options(Keyring::Absent, NotificationServer::Absent)).expect("a desktop");
    let page = desktop.home().join("page.html");
    let text = "<!doctype html><title>Harness</title><h1>One</h1><input id=field><button id=press \
        onclick=\"document.querySelector('h1').textContent = event.isTrusted + ' ' + document.getElementById('field').value\">Press</button>";
    std::fs::write(&page, text).expect("a page");
    let address = format!("file://{}", page.display());
    let browser = mini_browser().expect("WebKitGTK's own small browser, part of its library's package");
    let driver = WebDriver::start(&desktop, &browser, &["--automation"], &[]).await.expect("a session");
    driver.client().expect("a client").goto(&address).await.expect("the page");
    driver.window_with_url("file://").await.expect("its window");
    assert_eq!(driver.text("h1").await.expect("a text"), "One");
    driver.click("#field").await.expect("focus");
    driver.keys("abc").await.expect("keys");
    driver.type_text("#field", "def").await.expect("text");
    driver.hold("#press", Duration::from_millis(50)).await.expect("a press");
    driver.wait_for_text("h1", "true abcdef").await.expect("a trusted click with the typed text");
    assert_eq!(driver.execute("return document.title", vec![]).await.expect("a title"), "Harness");
    let picture = desktop.logs().join("page.png");
    driver.screenshot_png(&picture).await.expect("a picture");
    assert!(desktop.colours(&picture).expect("a count") > 1);
    let window = desktop.logs().join("window.png");
    desktop.window_screenshot("Harness", &window).expect("a picture of the window");
    assert!(desktop.colours(&window).expect("a count") > 1);
    let id = driver.application_id();
    assert!(Path::new(&format!("/proc/{id}")).exists());
    driver.close().await.expect("an end");
    assert!(!Path::new(&format!("/proc/{id}")).exists(), "the application outlives its session");
}

#[test]
fn a_process_is_watched_and_reaped() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "echo one; echo two; printf half; exec sleep 600"]);
    let mut process = Process::start("sh", &mut command, &directory.path().join("output")).expect("a process");
    let line = process.wait_for_line("a line", SOON, |line| line.starts_with("tw")).expect("the line");
    assert_eq!(line, "two");
    let missing = process.wait_for_line("half a line", Duration::from_millis(200), |line| line == "half");
    assert!(missing.is_err(), "a line counts only when it is whole");
    assert_eq!(process.status().expect("a status"), None);
    process.kill().expect("an end");
    let ended = process.wait_for_line("another", SOON, |line| line == "three").expect_err("it has ended");
    assert!(ended.to_string().contains("ended") && ended.to_string().contains("two"), "{ended}");
}

fn mini_browser() -> Option<std::path::PathBuf> {
    let directories = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    directories
        .chain([std::path::PathBuf::from("/usr/libexec")])
        .map(|path| path.join("webkit2gtk-4.1/MiniBrowser"))
        .find(|path| path.is_file())
}
