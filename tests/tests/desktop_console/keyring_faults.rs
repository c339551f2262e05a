//! A keyring that is absent, locked, emptied or holds something else: a clear refusal, no new key, nothing signed.

use vidimus_tests::company::Tool;
use vidimus_tests::desktop::{Desktop, Keyring, Options};

use crate::scene::{Outcome, PIN, REASON, REFUND, Scene, ask, check, play, read_and_start};

/// Does something to every item of the keyring whose attributes hold a word: `delete`, `shorten`, or `count`.
const ITEMS: &str = r#"
import sys, os
from gi.repository import Gio, GLib
bus = Gio.DBusConnection.new_for_address_sync(os.environ['DBUS_SESSION_BUS_ADDRESS'],
    Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
def call(path, interface, method, arguments):
    answer = bus.call_sync('org.freedesktop.secrets', path, interface, method, arguments, None, 0, 5000, None)
    return answer.unpack()
root, service = '/org/freedesktop/secrets', 'org.freedesktop.Secret.Service'
session = call(root, service, 'OpenSession', GLib.Variant('(sv)', ('plain', GLib.Variant('s', ''))))[1]
unlocked, locked = call(root, service, 'SearchItems', GLib.Variant('(a{ss})', ({},)))
count = 0
for item in list(unlocked) + list(locked):
    attributes = call(item, 'org.freedesktop.DBus.Properties', 'Get',
        GLib.Variant('(ss)', ('org.freedesktop.Secret.Item', 'Attributes')))[0]
    if not any(sys.argv[2] in value for value in attributes.values()):
        continue
    count += 1
    if sys.argv[1] == 'delete':
        call(item, 'org.freedesktop.Secret.Item', 'Delete', None)
    elif sys.argv[1] == 'shorten':
        call(item, 'org.freedesktop.Secret.Item', 'SetSecret', GLib.Variant('((oayays))', ((session, b'', b'short', 'text/plain'),)))
print(count)
"#;

fn items(desktop: &Desktop, action: &str, word: &str) -> Outcome<usize> {
    Ok(desktop.run("/usr/bin/python3", &["-c", ITEMS, action, word])?.trim().parse()?)
}

/// Enrols as far as the keys, and gives what the window then says.
async fn refused_keys(scene: &Scene, id: &str) -> Outcome<String> {
    let console = scene.open_console().await?;
    console.begin_enrolment(&scene.invite).await?;
    console.choose_pin(PIN).await?;
    let said = console.driver.wait_for_text("#message", id).await?;
    if id == "E-KEY-2" {
        // The system asks in a window of its own, and the person closes it.
        scene.desktop.run("xdotool", &["key", "Escape"])?;
        let closed = console.driver.wait_for_text("#message", "E-KEY-3").await?;
        scene.say(&format!("after its window was closed: {closed}"));
    }
    check(!scene.profile.join("enrolment.json").exists() || !enrolment(scene)?.contains("\"made\""), || {
        "keys were made without a keyring".to_owned()
    })?;
    for entry in std::fs::read_dir(&scene.profile)?.flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path())?;
        check(!bytes.windows(6).any(|window| window == b"VDMKEY" || window == b"VDMDEV"), || format!("a key lies in {entry:?}"))?;
    }
    scene.close(console).await?;
    Ok(said)
}

fn enrolment(scene: &Scene) -> Outcome<String> {
    Ok(std::fs::read_to_string(scene.profile.join("enrolment.json"))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_keyring_no_key_is_made() {
    let options = Options { keyring: Keyring::Absent, ..Options::default() };
    play(Scene::set("without_a_keyring_no_key_is_made", &["billing-approver"], options).await, async |scene| {
        let said = refused_keys(scene, "E-KEY-1").await?;
        scene.say(&format!("the window says: {said}"));
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_locked_keyring_no_key_is_made() {
    let options = Options { keyring: Keyring::Locked, ..Options::default() };
    play(Scene::set("with_a_locked_keyring_no_key_is_made", &["billing-approver"], options).await, async |scene| {
        let said = refused_keys(scene, "E-KEY-2").await?;
        scene.say(&format!("the window says: {said}"));
        Ok(())
    })
    .await;
}

/// The approval key deleted, then both: the window says so, nothing is signed, no key takes their place.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_gone_is_told_and_not_replaced() {
    let scene = Scene::set("a_key_that_is_gone_is_told_and_not_replaced", &["billing-approver"], Options::default()).await;
    play(scene, async |scene| {
        let console = scene.founder().await?;
        check(items(&scene.desktop, "count", "key for")? == 2, || "the keyring does not hold two keys".to_owned())?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "key-is-gone").await?;
        check(items(&scene.desktop, "delete", "approval key for")? == 1, || "no approval key was there".to_owned())?;
        read_and_start(&console, &request).await?;
        console.approve_with_reason(REASON, PIN).await?;
        let said = console.driver.wait_for_text("#approve [data-part=message]", "E-KEY-4").await?;
        check(said.contains("not in the keyring any more"), || format!("the window says: {said}"))?;
        scene.say(&format!("the window says: {said}"));
        check(items(&scene.desktop, "count", "key for")? == 1, || "a key was made silently".to_owned())?;
        scene.close(console).await?;

        items(&scene.desktop, "delete", "device key for")?;
        let console = scene.open_console().await?;
        console.notice("E-KEY-4").await?;
        check(items(&scene.desktop, "count", "key for")? == 0, || "a key was made silently".to_owned())?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("without the device key too, and no key took its place");
        scene.close(console).await
    })
    .await;
}

/// Something else under the name of the key: refused, and left as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_length_is_refused() {
    play(Scene::set("a_key_of_the_wrong_length_is_refused", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "wrong-length").await?;
        check(items(&scene.desktop, "shorten", "approval key for")? == 1, || "no approval key was there".to_owned())?;
        read_and_start(&console, &request).await?;
        console.approve_with_reason(REASON, PIN).await?;
        let said = console.driver.wait_for_text("#approve [data-part=message]", "E-KEY-4").await?;
        check(said.contains("something else"), || format!("the window says: {said}"))?;
        scene.count(Tool::Refund, 0).await?;
        scene.say(&format!("the window says: {said}"));
        scene.close(console).await
    })
    .await;
}
