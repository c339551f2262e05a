//! The keys in a real Secret Service: there, locked, absent, foreign.
//!
//! A keyring is found through the process's environment, so each case runs in a child of its own, on a desktop of its own: this
//! same program, called with `speak CASE`.

use std::process::ExitCode;
use std::time::Duration;

use vidimus_console::keys::{Binding, DeviceBlob, KeyError, Keyring, Pin, SealedKey};
use vidimus_tests::desktop::{self, Desktop, Display, NotificationServer, Options};
use zeroize::Zeroizing;

const SERVICE: &str = "vidimus-test";

type Case = (&'static str, desktop::Keyring, fn());

const CASES: [Case; 4] = [
    ("keys_are_kept_and_given_back", desktop::Keyring::Unlocked, kept_and_given_back),
    ("nothing_is_overwritten_and_nothing_foreign_is_used", desktop::Keyring::Unlocked, foreign),
    ("a_locked_keyring_is_said_and_waited_for_no_longer_than_told", desktop::Keyring::Locked, locked),
    ("without_a_keyring_that_is_said_at_once", desktop::Keyring::Absent, absent),
];

/// Answers to cargo's own runner and to nextest: `--list`, `--exact NAME`, or a part of a name.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [speak, name] = words.as_slice()
        && speak == "speak"
    {
        CASES.iter().find(|(case, ..)| case == name).expect("a known case").2();
        return ExitCode::SUCCESS;
    }
    let is_exact = words.iter().any(|word| word == "--exact");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let matches = |name: &str| wanted.is_empty() || wanted.iter().any(|part| if is_exact { name == *part } else { name.contains(*part) });
    let is_ignored_only = words.iter().any(|word| word == "--ignored");
    let chosen: Vec<&Case> = CASES.iter().filter(|(name, ..)| !is_ignored_only && matches(name)).collect();
    if words.iter().any(|word| word == "--list") {
        chosen.iter().for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    for (name, keyring, _) in &chosen {
        let options = Options {
            display: Display::Virtual { width: 640, height: 480 },
            keyring: *keyring,
            notification_server: NotificationServer::Absent,
        };
        let desktop = Desktop::start(options).expect("a desktop");
        let program = std::env::current_exe().expect("this program");
        // A failed assertion in the child ends it with a code, and this with it.
        desktop.run(&program.to_string_lossy(), &["speak", name]).expect(name);
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", chosen.len());
    ExitCode::SUCCESS
}

fn binding() -> Binding {
    Binding::new(&[7; 32], "gate_one")
}

fn sealed(pin: &str) -> SealedKey {
    SealedKey::seal(&Zeroizing::new([9; 32]), &Pin::typed(pin.to_owned()), &binding(), [1; 16], [2; 24])
}

fn device() -> DeviceBlob {
    DeviceBlob::new(&Zeroizing::new([3; 32]), &binding())
}

fn kept_and_given_back() {
    let keyring = Keyring::new(SERVICE);
    keyring.check().expect("it answers");
    assert_eq!(keyring.approval_key(&binding()), Err(KeyError::Missing));
    keyring.store(&binding(), &sealed("271828"), &device()).expect("stored");
    let again = Keyring::new(SERVICE);
    let seed = again.approval_key(&binding()).expect("there").open(&Pin::typed("271828".to_owned()), &binding());
    assert_eq!(seed.map(|seed| *seed), Some([9; 32]));
    assert_eq!(again.device_key(&binding()).map(|seed| *seed), Ok([3; 32]));
    let other_profile = Keyring::new("vidimus-other");
    assert_eq!(other_profile.approval_key(&binding()), Err(KeyError::Missing), "profiles do not share keys");
    again.remove(&binding()).expect("removed");
    again.remove(&binding()).expect("removing nothing is no error");
    assert_eq!(again.approval_key(&binding()), Err(KeyError::Missing));
    assert_eq!(again.device_key(&binding()).err(), Some(KeyError::Missing));
}

fn foreign() {
    let keyring = Keyring::new(SERVICE);
    keyring.store(&binding(), &sealed("271828"), &device()).expect("stored");
    assert_eq!(keyring.store(&binding(), &sealed("314159"), &device()), Err(KeyError::Present));
    assert!(keyring.approval_key(&binding()).is_ok_and(|key| key == sealed("271828")), "the first one stays");
    for (account, blob) in [("approval key for gate_one", vec![0; 32]), ("device key for gate_one", b"short".to_vec())] {
        let entry = keyring::v1::Entry::new(SERVICE, account).expect("an entry");
        entry.set_secret(&blob).expect("written");
    }
    assert_eq!(keyring.approval_key(&binding()), Err(KeyError::Foreign));
    assert_eq!(keyring.device_key(&binding()).err(), Some(KeyError::Foreign));
}

fn locked() {
    let keyring = Keyring::new(SERVICE).waiting_for(Duration::from_secs(3));
    let found = keyring.store(&binding(), &sealed("271828"), &device()).err();
    assert!(matches!(found, Some(KeyError::Locked | KeyError::UnlockDismissed)), "{found:?}");
}

fn absent() {
    let keyring = Keyring::new(SERVICE).waiting_for(Duration::from_secs(5));
    assert_eq!(keyring.check(), Err(KeyError::NoService));
    assert_eq!(keyring.store(&binding(), &sealed("271828"), &device()), Err(KeyError::NoService));
    let home = std::env::var("HOME").expect("a home of its own");
    let mut left = Vec::new();
    files_below(std::path::Path::new(&home), &mut left);
    let named: Vec<_> = left.iter().filter(|path| path.to_string_lossy().contains("vidimus")).collect();
    assert!(named.is_empty(), "no file takes its place: {named:?}");
}

fn files_below(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files_below(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}
