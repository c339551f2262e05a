//! Our notifications against the real services: dunst, notification-daemon, and none.
//!
//! A notification goes to the bus that the process's environment names, so each case runs in a child of its own, on a desktop of
//! its own: this same program, called with `speak CASE`.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use vidimus_console::notify::plan::{Input, Notified, Popup, Slot, Standing, Stay, Target, Urgency, Waiting};
use vidimus_console::notify::server::{Heard, Server};
use vidimus_console::notify::text::{Matter, Subject, Text};
use vidimus_console::notify::{Event, Notices, Service};
use vidimus_console::settings::Privacy;
use vidimus_core::ids::{RequestId, Reversibility};
use vidimus_tests::desktop::{self, Desktop, Display, Keyring, Notification, NotificationServer, Options};
use vidimus_tests::processes::{Process, poll};

const SOON: Duration = Duration::from_secs(10);

/// What a case does: in the child, and with the child's desktop.
type Case = (&'static str, fn(), fn(&str));

const CASES: [Case; 8] = [
    ("text_arrives_escaped", speak_text, text_arrives_escaped),
    ("a_replacement_keeps_its_id", speak_replacement, a_replacement_keeps_its_id),
    ("a_click_opens_the_request", speak_once, a_click_opens_the_request),
    ("later_is_heard", speak_once, later_is_heard),
    ("a_closed_one_is_heard_and_can_be_closed_by_us", speak_closing, a_closed_one_is_heard_and_can_be_closed_by_us),
    ("without_a_service_that_is_said_at_once", speak_once, without_a_service_that_is_said_at_once),
    ("a_service_that_dies_hangs_nothing", speak_on_demand, a_service_that_dies_hangs_nothing),
    ("the_plan_runs_on_the_real_service", speak_plan, the_plan_runs_on_the_real_service),
];

/// Answers to cargo's own runner and to nextest: `--list`, `--exact NAME`, or a part of a name.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [speak, name] = words.as_slice()
        && speak == "speak"
    {
        let case = CASES.iter().find(|(case, ..)| case == name).expect("a known case");
        case.1();
        return ExitCode::SUCCESS;
    }
    let is_ignored_only = words.iter().any(|word| word == "--ignored");
    let is_exact = words.iter().any(|word| word == "--exact");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let matches = |name: &str| wanted.is_empty() || wanted.iter().any(|part| if is_exact { name == *part } else { name.contains(*part) });
    let chosen = CASES.iter().filter(|(name, ..)| !is_ignored_only && matches(name));
    if words.iter().any(|word| word == "--list") {
        chosen.for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, began) = (0, Instant::now());
    for (name, _, check) in chosen {
        // A failed assertion ends the program with the panic's own code and words.
        check(name);
        println!("test {name} ... ok");
        passed += 1;
    }
    // The line that cargo's own runner ends with, so that these count where its counts are read.
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s",
        began.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

fn request(number: u8) -> RequestId {
    RequestId::from_random([number; 16])
}

fn popup(summary: &str, body: &str, urgency: Urgency) -> Popup {
    let text = Text { summary: summary.to_owned(), body: body.to_owned() };
    Popup { slot: Slot::Waiting, text, urgency, stay: Stay::Listed, target: Target::Request(request(1)) }
}

// ---- in the child

fn server() -> (Server, Receiver<Heard>) {
    let (sender, heard) = channel();
    let tell = move |what| {
        // Nobody listens once the case is over.
        let _ = sender.send(what);
    };
    (Server::new(tell), heard)
}

/// Prints what comes back until something other than the service's answer was heard.
fn print_until_the_end(heard: &Receiver<Heard>) {
    while let Ok(what) = heard.recv_timeout(SOON) {
        println!("{what:?}");
        if what != Heard::Served {
            return;
        }
    }
}

fn speak_text() {
    let (server, heard) = server();
    server.show(popup("Approval needed: <i>&", "<b>ACME</b> & Co <a href=\"x\">y</a>", Urgency::Critical));
    print_until_the_end(&heard);
}

fn speak_once() {
    let (server, heard) = server();
    server.show(popup("Approval needed: irreversible payment", "billing-bot. Expires 14:32.", Urgency::Normal));
    print_until_the_end(&heard);
}

fn speak_replacement() {
    let (server, heard) = server();
    server.show(popup("First", "one", Urgency::Normal));
    server.show(popup("Second", "two", Urgency::Low));
    print_until_the_end(&heard);
}

fn speak_closing() {
    let (server, heard) = server();
    server.show(popup("Closed by the person", "one", Urgency::Normal));
    print_until_the_end(&heard);
    server.show(popup("Closed by us", "two", Urgency::Normal));
    // One that is closed before it is on the screen is never shown: that is another case.
    assert_eq!(heard.recv_timeout(SOON), Ok(Heard::Served));
    server.close(Slot::Waiting);
    println!("asked to close");
    // The bus connection must live until the service has closed it.
    let gone = heard.recv_timeout(SOON);
    println!("{gone:?}");
}

/// Shows one at the start, and another at each line of the file that the desktop's home holds.
fn speak_on_demand() {
    let (server, heard) = server();
    server.show(popup("Before", "one", Urgency::Normal));
    assert_eq!(heard.recv_timeout(SOON), Ok(Heard::Served));
    println!("shown");
    let home = std::path::PathBuf::from(std::env::var_os("HOME").expect("a home"));
    poll(SOON, || home.join("service-died").exists().then_some(())).expect("the sign");
    let started = Instant::now();
    server.show(popup("After", "two", Urgency::Normal));
    let answer = heard.recv_timeout(SOON).expect("an answer");
    println!("{answer:?} {}", started.elapsed() < Duration::from_secs(6));
}

fn speak_plan() {
    let (events, heard) = channel();
    let notices = Notices::start(Notified::default(), Privacy::Full, || 0, move |event| drop(events.send(event))).expect("a thread");
    let subject = Subject {
        matter: Matter::Payment,
        reversibility: Reversibility::Compensable,
        agent: "billing-bot".to_owned(),
        headline: "EUR 4,200.00 to AC\u{202e}ME & <b>Sons</b>".to_owned(),
        expires: "14:32".to_owned(),
    };
    let waiting = Waiting { request: request(7), subject, expires_at_ms: 3_600_000, standing: Standing::CanDecide };
    notices.apply(Input::Requests(vec![waiting]));
    while let Ok(event) = heard.recv_timeout(SOON) {
        match event {
            Event::Open(target) => {
                println!("open {target:?}");
                return;
            }
            Event::Service(service) => println!("service {service:?}"),
            Event::Paused(_) => {}
            Event::Remember(notified) => println!("remember {}", serde_json::to_string(&notified).expect("JSON")),
        }
    }
}

// ---- on its desktop

fn desktop(notification_server: NotificationServer) -> Desktop {
    let display = Display::Virtual { width: 640, height: 480 };
    Desktop::start(Options { display, keyring: Keyring::Absent, notification_server }).expect("a desktop")
}

fn child(desktop: &Desktop, name: &str) -> Process {
    desktop.spawn(std::env::current_exe().expect("this program"), ["speak", name]).expect("the child")
}

fn sent(desktop: &Desktop, summary: &str) -> Notification {
    desktop.wait_for_notification(SOON, |sent| sent.summary == summary && sent.id.is_some()).expect("the notification")
}

fn line(child: &mut Process, expected: &str) {
    child.wait_for_line(expected, SOON, |line| line == expected).expect("the line");
}

fn text_arrives_escaped(name: &str) {
    for service in [NotificationServer::Dunst, NotificationServer::NotificationDaemon] {
        let desktop = desktop(service);
        let _child = child(&desktop, name);
        let sent = sent(&desktop, "Approval needed: <i>&");
        assert_eq!(sent.body, "&lt;b&gt;ACME&lt;/b&gt; &amp; Co &lt;a href=\"x\"&gt;y&lt;/a&gt;", "{service:?} reads markup");
        assert_eq!((sent.app.as_str(), sent.urgency, sent.replaces), ("Vidimus", desktop::Urgency::Critical, 0));
        assert_eq!(sent.actions, ["default", "open", "later"]);
        if service == NotificationServer::Dunst {
            desktop.close_notifications().expect("closed");
            let history = poll(SOON, || desktop.notification_history().ok().filter(|history| !history.is_empty())).expect("a history");
            // What dunst kept of it is still text, not markup that it took out.
            assert_eq!(history[0].body, "&lt;b&gt;ACME&lt;/b&gt; &amp; Co &lt;a href=\"x\"&gt;y&lt;/a&gt;");
        }
    }
}

fn a_replacement_keeps_its_id(name: &str) {
    let desktop = desktop(NotificationServer::Dunst);
    let _child = child(&desktop, name);
    let (first, second) = (sent(&desktop, "First"), sent(&desktop, "Second"));
    assert_eq!((first.replaces, Some(second.replaces), second.id), (0, first.id, first.id));
    assert_eq!(second.urgency, desktop::Urgency::Low);
    assert_eq!(desktop.notifications_displayed().expect("a count"), 1);
}

fn a_click_opens_the_request(name: &str) {
    let desktop = desktop(NotificationServer::Dunst);
    let mut child = child(&desktop, name);
    sent(&desktop, "Approval needed: irreversible payment");
    line(&mut child, "Served");
    desktop.invoke_default_action().expect("a click");
    line(&mut child, &format!("Opened(Waiting, Request({}))", request(1)));
    assert!(child.wait(SOON).expect("its end").success());
}

fn later_is_heard(name: &str) {
    let desktop = desktop(NotificationServer::Dunst);
    let child = child(&desktop, name);
    let sent = sent(&desktop, "Approval needed: irreversible payment");
    // As the service says it when the button is pressed.
    let id = format!("uint32 {}", sent.id.expect("an id"));
    let signal =
        ["emit", "--session", "--object-path=/org/freedesktop/Notifications", "--signal=org.freedesktop.Notifications.ActionInvoked"];
    let press = [signal.as_slice(), &[&id, "later"]].concat();
    let is_heard = || child.text().ok().filter(|text| text.contains("Later(Waiting)"));
    let pressed = poll(SOON, || desktop.run("gdbus", &press).ok().and_then(|_| is_heard()));
    pressed.expect("the press is heard");
    let is_closed = || desktop.notifications().ok()?.iter().any(|known| known.id == sent.id && known.closed).then_some(());
    poll(SOON, is_closed).expect("what was put off is off the screen");
}

fn a_closed_one_is_heard_and_can_be_closed_by_us(name: &str) {
    let desktop = desktop(NotificationServer::Dunst);
    let mut child = child(&desktop, name);
    sent(&desktop, "Closed by the person");
    line(&mut child, "Served");
    desktop.close_notifications().expect("closed");
    line(&mut child, "Closed(Waiting)");
    let ours = sent(&desktop, "Closed by us");
    let is_closed = || desktop.notifications().ok()?.iter().any(|known| known.id == ours.id && known.closed).then_some(());
    poll(SOON, is_closed).expect("closed by us");
}

fn without_a_service_that_is_said_at_once(name: &str) {
    let desktop = desktop(NotificationServer::Absent);
    let started = Instant::now();
    let mut child = child(&desktop, name);
    line(&mut child, "NoServer(Some(Waiting))");
    assert!(started.elapsed() < Duration::from_secs(3), "an absent service is waited for");
    assert!(child.wait(SOON).expect("its end").success());
}

fn a_service_that_dies_hangs_nothing(name: &str) {
    let desktop = desktop(NotificationServer::Absent);
    let mut daemon = desktop.spawn("dunst", ["-conf", "/dev/null"]).expect("dunst");
    desktop.wait_for_name("org.freedesktop.Notifications", SOON).expect("its name");
    let mut child = child(&desktop, name);
    line(&mut child, "shown");
    daemon.kill().expect("its end");
    std::fs::write(desktop.home().join("service-died"), b"").expect("the sign");
    line(&mut child, "NoServer(Some(Waiting)) true");
    assert!(child.wait(SOON).expect("its end").success());
}

fn the_plan_runs_on_the_real_service(name: &str) {
    let desktop = desktop(NotificationServer::Dunst);
    let mut child = child(&desktop, name);
    let sent = sent(&desktop, "Approval needed: compensable payment");
    let expected = "EUR 4,200.00 to ACME &amp; &lt;b&gt;Sons&lt;/b&gt; (open to read all)\nbilling-bot. Expires 14:32.";
    assert_eq!(sent.body, expected);
    line(&mut child, &format!("service {:?}", Service::Present));
    child
        .wait_for_line("what is kept", SOON, |line| line.starts_with("remember ") && line.contains(&request(7).to_string()))
        .expect("kept");
    desktop.invoke_default_action().expect("a click");
    line(&mut child, &format!("open Request({})", request(7)));
    assert!(child.wait(SOON).expect("its end").success());
}
