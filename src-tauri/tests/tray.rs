//! The tray on a real desktop: read and clicked over the bus by a small host, and harmless without one.
//!
//! The windows' system belongs to the main thread of a process of its own: this same program, called with `speak`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tauri::{AppHandle, Manager};
use vidimus_console::tray::{GateLine, Tray, TrayAction, TrayState, has_host};
use vidimus_tests::desktop::{Desktop, DesktopError, Display, Keyring, NotificationServer, Options};
use vidimus_tests::processes::{Process, poll};

/// The entries below "Pause notifications", and that one.
const PAUSES: [&str; 5] = ["Pause notifications", "For 30 minutes", "For 1 hour", "Until tomorrow", "Resume"];

const SOON: Duration = Duration::from_secs(20);

const CASES: [(&str, fn()); 2] = [
    ("the_menu_is_read_and_clicked_over_the_bus", the_menu_is_read_and_clicked_over_the_bus),
    ("without_a_host_the_tray_is_harmless", without_a_host_the_tray_is_harmless),
];

/// A watcher and host as a panel is one; prints where each item is.
const HOST: &str = r#"
import sys
from gi.repository import Gio, GLib
NAME = 'org.kde.StatusNotifierWatcher'
NODE = Gio.DBusNodeInfo.new_for_xml('''<node><interface name="org.kde.StatusNotifierWatcher">
<method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
<property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
<property name="RegisteredStatusNotifierItems" type="as" access="read"/>
<property name="ProtocolVersion" type="i" access="read"/>
</interface></node>''')
VALUES = {'IsStatusNotifierHostRegistered': GLib.Variant('b', True), 'RegisteredStatusNotifierItems': GLib.Variant('as', []),
          'ProtocolVersion': GLib.Variant('i', 0)}
def call(bus, sender, path, interface, method, parameters, invocation):
    print('item', sender, parameters.unpack()[0], flush=True)
    invocation.return_value(None)
def value(bus, sender, path, interface, name):
    return VALUES[name]
def named(bus, name):
    print('host ready', flush=True)
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
bus.register_object('/StatusNotifierWatcher', NODE.interfaces[0], call, value, None)
Gio.bus_own_name_on_connection(bus, NAME, 0, named, None)
GLib.MainLoop().run()
"#;

/// Answers to cargo's own runner and to nextest: `--list`, `--exact NAME`, or a part of a name.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["speak"] {
        speak();
        return ExitCode::SUCCESS;
    }
    let has = |option: &str| words.iter().any(|word| word == option);
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let matches =
        |name: &str| wanted.is_empty() || wanted.iter().any(|part| if has("--exact") { name == *part } else { name.contains(*part) });
    let chosen = CASES.iter().filter(|(name, _)| !has("--ignored") && matches(name));
    if has("--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, began) = (0, Instant::now());
    for (name, check) in chosen {
        // A failed assertion ends the program with the panic's own code and words.
        check();
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

// ---- in the child

fn speak() {
    let app = tauri::Builder::default()
        .setup(|app| {
            let directory = std::env::var_os("HOME").ok_or("no home")?;
            let tray = Tray::build(app.handle(), std::path::Path::new(&directory), clicked)?;
            tray.update(&state(7, Some("14:32"), GateLine::Connected("Connected to gate-eu_1 & co 14:28".to_owned())))?;
            app.manage(tray);
            println!("tray ready");
            std::thread::spawn(|| println!("host {}", has_host()));
            Ok(())
        })
        .build(tauri::generate_context!())
        .expect("an application");
    app.run(|_, _| {});
}

fn clicked(app: &AppHandle, action: TrayAction) {
    println!("{action:?}");
    let app = app.clone();
    match action {
        TrayAction::OpenInbox => drop(app.state::<Tray>().update(&state(0, None, GateLine::Connected("Connected".to_owned())))),
        // As the link does: from a thread of its own.
        TrayAction::OpenConsole => drop(std::thread::spawn(move || {
            let offline = state(12, Some("15:00"), GateLine::NotConnected("Offline since 14:20".to_owned()));
            println!("updated {}", app.state::<Tray>().update(&offline).is_ok());
        })),
        TrayAction::Pause(_) => {
            let paused = Some("Notifications paused until 15:30".to_owned());
            let state = TrayState { paused, ..state(0, None, GateLine::Connected("Connected".to_owned())) };
            drop(app.state::<Tray>().update(&state));
        }
        TrayAction::OpenDesk | TrayAction::Resume => {}
        TrayAction::Quit => app.exit(0),
    }
}

fn state(waiting: usize, next_expires: Option<&str>, gate: GateLine) -> TrayState {
    TrayState { waiting, next_expires: next_expires.map(ToOwned::to_owned), in_doubt: waiting / 6, gate, paused: None }
}

// ---- on its desktop

fn desktop() -> Desktop {
    let display = Display::Virtual { width: 640, height: 480 };
    let options = Options { display, keyring: Keyring::Absent, notification_server: NotificationServer::Absent };
    Desktop::start(options).expect("a desktop")
}

fn child(desktop: &Desktop) -> Process {
    desktop.spawn(std::env::current_exe().expect("this program"), ["speak"]).expect("the child")
}

fn line(child: &mut Process, expected: &str) {
    child.wait_for_line(expected, SOON, |line| line == expected).expect("the line");
}

struct Item {
    sender: String,
    path: String,
}

impl Item {
    fn property(&self, desktop: &Desktop, name: &str) -> String {
        let words = ["call", "--session", "--dest", &self.sender, "--object-path", &self.path, "--method"];
        let method = ["org.freedesktop.DBus.Properties.Get", "org.kde.StatusNotifierItem", name];
        desktop.run("gdbus", &[words.as_slice(), &method].concat()).expect("a property")
    }

    fn menu(&self, desktop: &Desktop, method: &str, arguments: &[&str]) -> Result<String, DesktopError> {
        let path = self.property(desktop, "Menu");
        let path = path.split('\'').nth(1).expect("a path").to_owned();
        let method = format!("com.canonical.dbusmenu.{method}");
        let words = ["call", "--session", "--dest", &self.sender, "--object-path", &path, "--method", &method];
        desktop.run("gdbus", &[words.as_slice(), arguments].concat())
    }

    /// The menu's numbers and labels, in order.
    fn entries(&self, desktop: &Desktop) -> Vec<(String, String)> {
        let layout = self.menu(desktop, "GetLayout", &["0", "--", "-1", "['label']"]).expect("a menu");
        let entry = |part: &str| {
            let number = part.split(',').next()?.to_owned();
            let label = part.split("'label': <").nth(1)?.split(['\'', '"']).nth(1)?.to_owned();
            Some((number, label))
        };
        layout.split("<(").skip(1).filter_map(entry).collect()
    }

    fn labels(&self, desktop: &Desktop) -> Vec<String> {
        let entries = self.entries(desktop).into_iter().map(|(_, label)| label);
        entries.filter(|label| !label.is_empty() && !PAUSES.contains(&label.as_str())).collect()
    }

    fn click(&self, desktop: &Desktop, label: &str) {
        let entries = self.entries(desktop);
        let number = &entries.iter().find(|(_, known)| known == label).expect("the entry").0;
        // What was asked to end answers no more; what the click did is looked at by the caller.
        let _ = self.menu(desktop, "Event", &[number, "clicked", "<0>", "0"]);
    }

    fn wait_for_labels(&self, desktop: &Desktop, expected: [&str; 5]) {
        let are_there = poll(SOON, || (self.labels(desktop) == expected).then_some(()));
        assert!(are_there.is_some(), "{:?} and not {expected:?}", self.labels(desktop));
    }
}

fn the_menu_is_read_and_clicked_over_the_bus() {
    let desktop = desktop();
    let mut host = desktop.spawn("/usr/bin/python3", ["-c", HOST]).expect("a host");
    line(&mut host, "host ready");
    let mut child = child(&desktop);
    line(&mut child, "tray ready");
    line(&mut child, "host true");
    let registered = host.wait_for_line("an item", SOON, |line| line.starts_with("item ")).expect("our item");
    let words: Vec<&str> = registered.split(' ').collect();
    let item = Item { sender: words[1].to_owned(), path: words[2].to_owned() };

    item.wait_for_labels(
        &desktop,
        ["7 waiting, next expires 14:32", "1 needs reconciliation", "Open console", "Connected to gate-eu__1 & co 14:28", "Quit..."],
    );
    let waiting = item.property(&desktop, "IconName");
    item.click(&desktop, "7 waiting, next expires 14:32");
    line(&mut child, "OpenInbox");
    item.wait_for_labels(&desktop, ["Nothing waiting", "Nothing to reconcile", "Open console", "Connected", "Quit..."]);
    item.click(&desktop, "Nothing to reconcile");
    line(&mut child, "OpenDesk");
    let idle = item.property(&desktop, "IconName");
    assert_ne!(waiting, idle, "the picture does not change");
    for (label, action) in PAUSES[1..4].iter().zip(["Pause(HalfHour)", "Pause(Hour)", "Pause(UntilTomorrow)"]) {
        item.click(&desktop, label);
        line(&mut child, action);
    }
    const RESUME: &str = "Resume: Notifications paused until 15:30";
    let told = poll(SOON, || item.entries(&desktop).iter().any(|(_, label)| label == RESUME).then_some(()));
    assert!(told.is_some(), "{:?}", item.entries(&desktop));
    item.click(&desktop, RESUME);
    line(&mut child, "Resume");
    assert_ne!(item.property(&desktop, "IconName"), idle, "the picture does not say that it is paused");
    item.click(&desktop, "Open console");
    line(&mut child, "OpenConsole");
    line(&mut child, "updated true");
    item.wait_for_labels(
        &desktop,
        ["12 waiting, next expires 15:00", "2 need reconciliation", "Open console", "Offline since 14:20", "Quit..."],
    );
    item.click(&desktop, "Quit...");
    line(&mut child, "Quit");
    assert!(child.wait(SOON).expect("its end").success());
}

fn without_a_host_the_tray_is_harmless() {
    let desktop = desktop();
    let mut child = child(&desktop);
    line(&mut child, "tray ready");
    line(&mut child, "host false");
    // A panel that starts later finds it.
    let mut host = desktop.spawn("/usr/bin/python3", ["-c", HOST]).expect("a host");
    host.wait_for_line("our item", SOON, |line| line.starts_with("item ")).expect("our item");
    assert!(child.status().expect("a status").is_none(), "{}", child.tail());
}
