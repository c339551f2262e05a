//! Power cuts while keys are made, handed in and taken: after the next start there is exactly one usable key, and the window says
//! what is under way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vidimus_api::client::AgentClient;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_core::request::RequestState;
use vidimus_core::roster::{KeyUse, Roster};
use vidimus_tests::approver::Approver;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{FOUNDER, Outcome, PIN, REASON, REFUND, SOON, Scene, admit_person, ask, check, play, read_and_start, until_status};

const POLL: Duration = Duration::from_millis(50);

/// The keys of a person that count, by the gate.
async fn keys_of(someone: &Approver, name: &str) -> Outcome<Vec<(KeyUse, Digest)>> {
    let roster = Roster::parse(someone.client()?.roster().await?.roster.as_bytes())?;
    let person = roster.persons.iter().find(|person| person.name == name).ok_or("nobody of this name")?;
    let counting = person.keys.iter().filter(|key| key.stopped_at.is_none());
    Ok(counting.map(|key| (key.key_use, key.key.digest())).collect())
}

/// Waits until the person has one pair of keys, and it is another than before.
async fn until_renewed(someone: &Approver, name: &str, before: &[(KeyUse, Digest)]) -> Outcome {
    let deadline = Instant::now() + SOON;
    loop {
        let now = keys_of(someone, name).await?;
        if now.len() == 2 && now.iter().all(|key| !before.contains(key)) {
            return Ok(());
        }
        check(Instant::now() < deadline, || format!("the keys that count are {now:?}, those before were {before:?}"))?;
        tokio::time::sleep(POLL).await;
    }
}

/// The request of this tool that waits, as somebody sees it who may decide it.
async fn waiting(someone: &Approver) -> Outcome<Option<RequestId>> {
    let listed = someone.client()?.requests(None).await?.requests;
    Ok(listed
        .into_iter()
        .find(|listed| listed.tool == "gate.roster.change" && listed.state == RequestState::Pending)
        .map(|listed| listed.request))
}

async fn until_waiting(someone: &Approver) -> Outcome<RequestId> {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(request) = waiting(someone).await? {
            return Ok(request);
        }
        check(Instant::now() < deadline, || "nothing was proposed".to_owned())?;
        tokio::time::sleep(POLL).await;
    }
}

/// Asks for new keys in the window for keys. The press may be answered by the end of the program.
async fn ask_for_new_keys(console: &Console) -> Outcome {
    console.open_keys().await?;
    console.driver.click("#new-keys").await?;
    console.driver.wait_for("#pin-again").await?;
    console.driver.type_text("#pin", PIN).await?;
    console.driver.type_text("#pin-again", PIN).await?;
    let _ = console.driver.click("#confirm").await;
    Ok(())
}

/// The console decides, so its key is usable.
async fn decides(billing: &AgentClient, console: &Console, invoice: &str) -> Outcome {
    let (asked, request) = ask(billing, "refund", &REFUND.replace("invoice_842", invoice), invoice).await?;
    console.main().await?;
    console.driver.keys("gi").await?;
    read_and_start(console, &request).await?;
    console.approve_with_reason(REASON, PIN).await?;
    console.receipt().await?;
    console.close_review().await?;
    until_status(billing, &asked, "executed").await?;
    Ok(())
}

/// Where a rotation is cut, and whether an administrator has confirmed the new keys by then.
const CUTS: [(&str, bool); 7] = [
    ("rotation_keys_stored", false),
    ("rotation_kept", false),
    ("rotation_proposed", false),
    ("rotation_confirmed", true),
    ("rotation_promoted", true),
    ("rotation_taken", true),
    ("rotation_old_stopped", true),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_is_cut_anywhere_goes_on_with_one_usable_key() {
    let name = "a_rotation_that_is_cut_anywhere";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let kim = {
            let invite = scene.home.invite("Kim Example", &["admin"])?;
            let mut kim = Approver::enrol(&scene.home.url(), &invite, 9).await?;
            crate::keys::admit(&console, &kim.admission.ok_or("the enrolment made no request")?).await?;
            let deadline = Instant::now() + SOON;
            while kim.open_session().await.is_err() {
                check(Instant::now() < deadline, || "Kim was not admitted".to_owned())?;
                tokio::time::sleep(POLL).await;
            }
            kim
        };
        let billing = scene.agent("billing")?;
        scene.close(console).await?;
        for (number, (cut, confirmed)) in CUTS.into_iter().enumerate() {
            rotate_cut_at(scene, &billing, &kim, cut, confirmed, &format!("invoice_{}", 900 + number)).await?;
        }
        Ok(())
    })
    .await;
}

async fn rotate_cut_at(scene: &Scene, billing: &AgentClient, kim: &Approver, cut: &str, confirmed: bool, invoice: &str) -> Outcome {
    let before = keys_of(kim, FOUNDER).await?;
    let console = scene.open_console_cut_at(cut).await?;
    console.key_says("active").await?;
    ask_for_new_keys(&console).await?;
    if confirmed {
        kim.approve(until_waiting(kim).await?, "admin").await?;
    }
    scene.cleared(console).await?;
    let console = scene.open_console().await?;
    match cut {
        // Nothing names the new keys: they are gone, and the old ones are what they were.
        "rotation_keys_stored" => {
            console.key_says("active").await?;
            check(waiting(kim).await?.is_none(), || "keys were proposed that nobody kept".to_owned())?;
            check(keys_of(kim, FOUNDER).await? == before, || "the keys are others".to_owned())?;
            decides(billing, &console, invoice).await?;
            scene.say(&format!("cut at {cut}: the old key counts, and nothing is under way"));
            return scene.close(console).await;
        }
        "rotation_kept" | "rotation_proposed" => {
            console.key_says("rotating").await?;
            decides(billing, &console, invoice).await?;
            let request = until_waiting(kim).await?;
            check(keys_of(kim, FOUNDER).await? == before, || "the keys are others before they were confirmed".to_owned())?;
            kim.approve(request, "admin").await?;
        }
        _ => {}
    }
    until_renewed(kim, FOUNDER, &before).await?;
    console.key_says("active").await?;
    decides(billing, &console, &format!("{invoice}1")).await?;
    check(waiting(kim).await?.is_none(), || "the new keys were proposed twice".to_owned())?;
    scene.say(&format!("cut at {cut}: the new key alone counts, and decides"));
    scene.close(console).await
}

/// New keys that nobody confirms: the window says so, and the old ones count on.
#[tokio::test(flavor = "multi_thread")]
async fn new_keys_that_are_denied_are_said_and_given_up() {
    for (theme, _) in crate::scene::themes() {
        denied(theme).await;
    }
}

async fn denied(theme: &'static str) {
    play(Scene::set("new_keys_that_are_denied", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder_in(theme).await?;
        let robin_and_kim = crate::keys::kim(scene, &console, &["admin"], 9).await?;
        ask_for_new_keys(&console).await?;
        console.driver.wait_for("[data-part=rotating]").await?;
        console.leave_by("#close").await?;
        let request = until_waiting(&robin_and_kim).await?;
        robin_and_kim.deny(request, "admin", vidimus_api::request::DenialKind::NotExpected, "call me first").await?;
        let notice = console.notice("E-KEY-12").await?;
        check(notice.contains("were not confirmed"), || format!("the notice says: {notice}"))?;
        decides(&scene.agent("billing")?, &console, "invoice_842").await?;
        console.open_keys().await?;
        console.driver.wait_for_text("[data-part=rotating]", "E-KEY-12").await?;
        let mut gallery = crate::looks::Gallery::open(theme)?;
        gallery.look(scene, &console, "keys-refused").await?;
        gallery.close(scene)?;
        console.driver.execute("document.querySelector('#give-up').scrollIntoView({ block: 'center' })", vec![]).await?;
        console.driver.click("#give-up").await?;
        console.driver.wait_for_text("[data-part=said]", "given up").await?;
        console.leave_by("#close").await?;
        console.gone("[data-error='E-KEY-12']").await?;
        console.key_says("active").await?;
        scene.say("new keys that were denied are said and given up, and the old ones decide");
        scene.close(console).await
    })
    .await;
}

/// The console of a second computer, cut while its keys are made and handed in.
#[tokio::test(flavor = "multi_thread")]
async fn an_admission_that_is_cut_anywhere_goes_on_with_one_usable_key() {
    play(Scene::set("an_admission_that_is_cut_anywhere", &["billing-approver"], Options::default()).await, async |scene| {
        let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let kim = admit_person(scene, &robin, "Kim Example", &["billing-approver"], 9).await?;
        let billing = scene.agent("billing")?;
        let mut expected = keys_of(&robin, "Kim Example").await?.len();
        for (number, cut) in ["enrolment_keys_stored", "enrolment_made", "enrolment_sent"].into_iter().enumerate() {
            let mut scene_profile = scene.folder.path().join(format!("second-{number}"));
            std::fs::create_dir_all(&scene_profile)?;
            std::mem::swap(&mut scene.profile, &mut scene_profile);
            let invite = scene.home.invite_device(&kim.person.to_string())?;
            let console = enrol_cut_at(scene, cut, &invite).await?;
            check(keys_of(&robin, "Kim Example").await?.len() == expected, || "a key counts that nobody confirmed".to_owned())?;
            robin.approve(until_waiting(&robin).await?, "admin").await?;
            console.key_says("active").await?;
            expected += 2;
            let counting = keys_of(&robin, "Kim Example").await?.len();
            check(counting == expected, || format!("{counting} keys count, not {expected}"))?;
            decides(&billing, &console, &format!("invoice_{}", 950 + number)).await?;
            scene.say(&format!("cut at {cut}: the second computer came in once, and decides"));
            scene.close(console).await?;
        }
        Ok(())
    })
    .await;
}

/// Enrols, is cut, starts again, and goes on as its window says.
async fn enrol_cut_at(scene: &Scene, cut: &str, invite: &str) -> Outcome<Arc<Console>> {
    let console = scene.open_console_cut_at(cut).await?;
    console.begin_enrolment(invite).await?;
    if cut == "enrolment_keys_stored" {
        let _ = console.choose_pin(PIN).await;
    } else {
        console.choose_pin(PIN).await?;
        console.driver.wait_for("#confirm").await?;
        if cut == "enrolment_made" {
            console.driver.kill_application()?;
        } else {
            let _ = console.driver.click("#confirm").await;
        }
    }
    scene.cleared(console).await?;
    let console = scene.open_console().await?;
    match cut {
        "enrolment_keys_stored" => {
            // The invitation is still in its field, and the keys that were cut are in nobody's way.
            console.open_enrolment().await?;
            console.driver.click("#continue").await?;
            console.choose_pin(PIN).await?;
            console.driver.wait_for("#confirm").await?;
            console.driver.click("#confirm").await?;
            console.driver.wait_for("[data-part=enrolment-waiting]").await?;
            console.leave_by("#close").await?;
        }
        "enrolment_made" => {
            // What nobody confirmed is not sent: the window asks for it again.
            console.key_says("none").await?;
            console.driver.click("[data-part=open-enrolment]").await?;
            console.driver.window_with_url("vidimus-enrolment://").await?;
            console.driver.wait_for("#confirm").await?;
            console.driver.click("#confirm").await?;
            console.driver.wait_for("[data-part=enrolment-waiting]").await?;
            console.leave_by("#close").await?;
        }
        _ => {}
    }
    console.key_says("waiting").await?;
    Ok(console)
}
