//! Keys in their window: a second computer, a stop from it, other people's keys, new keys, an objection to a recovery.

use std::time::{Duration, Instant};

use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_core::roster::Roster;
use vidimus_tests::approver::Approver;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{FOUNDER, Outcome, PIN, REASON, REFUND, SOON, Scene, ask, check, pictures, play, read_and_start};

/// How soon a stop has to be in force.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// The only admin approves a change of the roster in the review window.
pub async fn admit(console: &Console, request: &RequestId) -> Outcome<String> {
    read_and_start(console, request).await?;
    let shown = console.driver.text("body").await?;
    console.approve_with_reason(REASON, PIN).await?;
    console.receipt().await?;
    console.close_review().await?;
    Ok(shown)
}

/// A session as soon as the admission is in force.
async fn admitted(person: &mut Approver) -> Outcome {
    let deadline = Instant::now() + SOON;
    while person.open_session().await.is_err() {
        check(Instant::now() < deadline, || "the session never opened".to_owned())?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

pub async fn founders_id(scene: &Scene, someone: &Approver) -> Outcome<(String, Vec<Digest>)> {
    let roster = Roster::parse(someone.client()?.roster().await?.roster.as_bytes())?;
    let founder = roster.persons.iter().find(|person| person.name == FOUNDER).ok_or("the founder is not in the roster")?;
    scene.say("the roster names the founder");
    Ok((founder.person.to_string(), founder.keys.iter().map(|key| key.key.digest()).collect()))
}

/// Another person of the roster, admitted in the window.
pub async fn kim(scene: &Scene, console: &Console, roles: &[&str], seed: u8) -> Outcome<Approver> {
    let invite = scene.home.invite("Kim Example", roles)?;
    let mut kim = Approver::enrol(&scene.home.url(), &invite, seed).await?;
    admit(console, &kim.admission.ok_or("the enrolment made no request")?).await?;
    admitted(&mut kim).await?;
    Ok(kim)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_from_the_second_computer_ends_the_first_at_once() {
    let options = Options::default();
    play(Scene::set("a_stop_from_the_second_computer", &["billing-approver"], options).await, async |scene| {
        let console = scene.founder().await?;
        let kim = kim(scene, &console, &["support-lead"], 9).await?;
        let (person, keys) = founders_id(scene, &kim).await?;
        let invite = scene.home.invite_device(&person)?;
        let mut second = Approver::enrol(&scene.home.url(), &invite, 11).await?;
        let shown = admit(&console, &second.admission.ok_or("the enrolment made no request")?).await?;
        for words in ["WHAT CHANGES AMONG THE PEOPLE", "one more computer of a person who is here"] {
            check(shown.contains(words), || format!("`{words}` is not in the window: {shown}"))?;
        }
        admitted(&mut second).await?;
        let agent = scene.agent("billing")?;
        let (_, request) = ask(&agent, "refund", REFUND, "stop").await?;
        read_and_start(&console, &request).await?;
        let began = Instant::now();
        second.stop(second.person, keys, &second.device).await?;
        // The card is locked where it stands, and the bar says why.
        console.driver.wait_for_text("[data-part=key]", "stopped").await?;
        let took = began.elapsed();
        check(took <= STOPPED_WITHIN, || format!("the stop took {took:?}"))?;
        scene.say(&format!("the first computer was stopped within {} ms", took.as_millis()));
        console.key_says("stopped").await?;
        second.approve(request, "billing-approver").await?;
        scene.close(console).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_stops_another_persons_key_in_the_window() {
    play(Scene::set("an_admin_stops_another_key", &[], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let mut kim = kim(scene, &console, &["billing-approver"], 9).await?;
        console.open_keys().await?;
        let shown = console.driver.text("body").await?;
        for words in ["Kim Example", "THIS COMPUTER", "active", "Last used"] {
            check(shown.contains(words), || format!("`{words}` is not in the window: {shown}"))?;
        }
        std::fs::create_dir_all(pictures())?;
        console.picture(&pictures().join("light-keys-people.png")).await?;
        console.driver.click(&format!("#stop-{}", kim.device.public().digest())).await?;
        console.driver.wait_for("[data-part=confirm-words]").await?;
        console.picture(&pictures().join("light-keys-stop.png")).await?;
        console.type_pin("#pin", PIN).await?;
        let began = Instant::now();
        console.driver.click("#confirm").await?;
        console.driver.wait_for_text("[data-part=said]", "Stopped").await?;
        let refused = kim.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("key_stopped"), || format!("a session after the stop: {refused:?}"))?;
        check(began.elapsed() <= STOPPED_WITHIN, || format!("the stop took {:?}", began.elapsed()))?;
        scene.close(console).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_take_the_place_of_the_old_ones() {
    play(Scene::set("new_keys", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let kim = kim(scene, &console, &["support-lead"], 9).await?;
        let (_, old) = founders_id(scene, &kim).await?;
        console.open_keys().await?;
        console.driver.click("#new-keys").await?;
        console.driver.wait_for("#pin-again").await?;
        console.driver.type_text("#pin", PIN).await?;
        console.driver.type_text("#pin-again", PIN).await?;
        console.driver.click("#confirm").await?;
        console.driver.wait_for("[data-part=rotating]").await?;
        console.leave_by("#close").await?;
        console.key_says("rotating").await?;
        console.driver.keys("gi").await?;
        console.show_rows(1).await?;
        let request = console.first_request().await?.parse()?;
        admit(&console, &request).await?;
        console.key_says("active").await?;
        let deadline = Instant::now() + SOON;
        loop {
            let roster = Roster::parse(kim.client()?.roster().await?.roster.as_bytes())?;
            let stopped = old.iter().filter(|key| roster.key(key).is_some_and(|holder| holder.key.stopped_at.is_some())).count();
            if stopped == old.len() {
                break;
            }
            check(Instant::now() < deadline, || format!("{stopped} of the old keys are stopped"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        scene.say("the new keys are in force and the old ones are stopped");
        let agent = scene.agent("billing")?;
        let (_, request) = ask(&agent, "refund", REFUND, "rotated").await?;
        read_and_start(&console, &request).await?;
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        scene.close(console).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_objects_to_a_recovery_in_the_window() {
    play(Scene::set("an_objection_to_a_recovery", &[], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let invite = scene.home.invite("Kim Example", &["admin"])?;
        let kim = Approver::enrol(&scene.home.url(), &invite, 9).await?;
        let request = kim.admission.ok_or("the enrolment made no request")?;
        let said = scene.home.recover(&request.to_string())?;
        check(said.contains("announced to everybody"), || said.clone())?;
        std::fs::create_dir_all(pictures())?;
        console.open_keys().await?;
        console.driver.wait_for_text("[data-part=recovery]", "Kim Example").await?;
        console.picture(&pictures().join("light-keys-recovery.png")).await?;
        console.driver.click("#ask-object").await?;
        console.driver.wait_for("[data-part=confirm-words]").await?;
        console.type_pin("#pin", PIN).await?;
        console.driver.click("#confirm").await?;
        console.driver.wait_for_text("[data-part=said]", "objection is on record").await?;
        console.gone("[data-part=recovery]").await?;
        let again = scene.home.recover(&request.to_string());
        check(again.is_ok(), || "a recovery that is signed anew is announced anew".to_owned())?;
        scene.close(console).await
    })
    .await;
}
