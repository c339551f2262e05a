//! A recovery in the windows of everybody: told at once, objected to from there; and one that nobody objected to.

use std::time::Instant;

use vidimus_tests::approver::Approver;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::keys::admit;
use crate::looks::Gallery;
use crate::scene::{
    FOUNDER, Outcome, PIN, REASON, REFUND, SOON, Scene, Seat, approves_nothing, ask, check, play, read_and_start, themes, until_status,
    waiting_in,
};

/// A day and an hour, in the words of the gate's clock.
const A_DAY_LATER: &str = "passed_ms 90000000";
const NOTICE: &str = "[data-error='E-KEY-11']";

/// What the notice of the recovery says, which stands in the main window without being asked for.
async fn notice(console: &Console) -> Outcome<String> {
    Ok(console.notice("E-KEY-11").await?)
}

/// A person on a computer of their own, admitted by the founder in the window.
async fn seated(scene: &Scene, founder: &Console, name: &str, roles: &[&str], theme: &str) -> Outcome<Seat> {
    let seat = scene.seat(name, theme).await?;
    seat.console.enrol_waiting(&scene.home.invite(name, roles)?, PIN).await?;
    admit(founder, &waiting_in(founder, "gate.roster.change").await?).await?;
    seat.console.key_says("active").await?;
    Ok(seat)
}

/// The person still opens no session, and each refusal is a record, with which the consoles hear of the gate's time.
async fn refused_until(person: &mut Approver, console: &Console, notice: &str) -> Outcome {
    let deadline = Instant::now() + SOON;
    console.main().await?;
    while !console.driver.exists(&format!("[data-error='{notice}']")).await? {
        let refused = person.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("key_waiting"), || format!("a day later the key meets {refused:?}"))?;
        check(Instant::now() < deadline, || format!("no notice {notice}"))?;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_is_told_to_everybody_and_an_objection_ends_it() {
    for (here, there) in themes() {
        told_and_objected_to(here, there).await;
    }
}

async fn told_and_objected_to(here: &'static str, there: &'static str) {
    play(Scene::set("a_recovery_is_told_to_everybody", &[], Options::default()).await, async |scene| {
        scene.serve_gate_under(&[])?;
        let console = scene.founder_in(here).await?;
        let kim = seated(scene, &console, "Kim Example", &["support-lead"], there).await?;
        let mut lou = Approver::enrol(&scene.home.url(), &scene.home.invite("Lou Example", &["admin"])?, 11).await?;
        let request = lou.admission.ok_or("the enrolment made no request")?;
        scene.home.recover(&request.to_string())?;

        let key = lou.approval.public().digest().to_string();
        let began = Instant::now();
        let (to_admin, to_kim) = (notice(&console).await?, notice(&kim.console).await?);
        scene.say(&format!("both windows tell it within {} ms: {to_admin}", began.elapsed().as_millis()));
        for said in [&to_admin, &to_kim] {
            for words in ["Lou Example", "admin", &key[..8], &key[56..]] {
                check(said.contains(words), || format!("`{words}` is not in the notice: {said}"))?;
            }
        }
        check(to_admin.contains("object in Keys"), || format!("the administrator reads: {to_admin}"))?;
        check(to_kim.contains(&format!("Tell one: {FOUNDER}")), || format!("who cannot object reads: {to_kim}"))?;
        let (mut first_look, mut second_look) = (Gallery::open(here)?, Gallery::open(there)?);
        first_look.look(scene, &console, "recovery-notice").await?;
        second_look.look_on(&kim.desktop, &kim.console, "recovery-notice").await?;

        console.driver.click(&format!("{NOTICE} [data-part=notice-keys]")).await?;
        console.keys().await?;
        console.driver.wait_for_text("[data-part=recovery]", "Lou Example").await?;
        first_look.look(scene, &console, "recovery-keys").await?;
        console.driver.click("#ask-object").await?;
        console.driver.wait_for("[data-part=confirm-words]").await?;
        first_look.look(scene, &console, "recovery-object").await?;
        console.type_pin("#pin", PIN).await?;
        console.driver.click("#confirm").await?;
        console.driver.wait_for_text("[data-part=said]", "objection is on record").await?;
        console.leave_by("#close").await?;
        for window in [&*console, &kim.console] {
            window.main().await?;
            window.gone(NOTICE).await?;
        }
        first_look.close(scene)?;
        second_look.close(scene)?;
        scene.say("the objection was signed in the window, and no window tells of the recovery any more");

        scene.order(&[A_DAY_LATER])?;
        for window in [&*console, &kim.console] {
            refused_until(&mut lou, window, "E-CLK-1").await?;
            check(!window.driver.exists(NOTICE).await?, || "it is told again".to_owned())?;
        }
        check(lou.open_session().await.is_err(), || "a day later the key opens a session".to_owned())?;
        console.open_keys().await?;
        let people = console.driver.text("[data-part=other-people]").await?;
        check(people.contains("Kim Example") && !people.contains("Lou Example"), || format!("the people are: {people}"))?;
        scene.say("a day later it has not taken effect");
        kim.console.close().await?;
        scene.close(console).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_that_nobody_objects_to_takes_effect_after_a_day() {
    play(Scene::set("a_recovery_takes_effect", &["billing-approver"], Options::default()).await, async |scene| {
        scene.serve_gate_under(&[])?;
        let console = scene.founder().await?;
        let kim = scene.seat("kim", "light").await?;
        kim.console.enrol_waiting(&scene.home.invite("Kim Example", &["admin", "billing-approver"])?, PIN).await?;
        console.show_rows(1).await?;
        let request = console.first_request().await?;
        scene.home.recover(&request)?;
        notice(&console).await?;
        scene.say("the recovery is told, and nobody objects");
        check(!kim.console.driver.text("[data-part=key]").await?.contains("active"), || "it is in force at once".to_owned())?;

        scene.order(&[A_DAY_LATER])?;
        kim.console.key_says("active").await?;
        console.main().await?;
        console.gone(NOTICE).await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "by-the-recovered").await?;
        read_and_start(&kim.console, &request).await?;
        kim.console.approve_with_reason(REASON, PIN).await?;
        kim.console.receipt().await?;
        kim.console.close_review().await?;
        until_status(&billing, &asked, "executed").await?;
        scene.say("a day later the new key decides, in its window");

        // Whoever lost control of the old key has it stopped by the new one, and it decides nothing any more.
        let (asked, request) = ask(&billing, "refund", &REFUND.replace("invoice_842", "invoice_843"), "by-the-old").await?;
        read_and_start(&console, &request).await?;
        kim.console.open_keys().await?;
        kim.console.driver.click("[data-part=other-people] button[id^=stop-]").await?;
        kim.console.driver.wait_for("[data-part=confirm-words]").await?;
        kim.console.type_pin("#pin", PIN).await?;
        let began = Instant::now();
        kim.console.driver.click("#confirm").await?;
        console.driver.wait_for_text("#hard-locks", "E-KEY-5").await?;
        scene.say(&format!("the old key is locked out in its window after {} ms", began.elapsed().as_millis()));
        check(began.elapsed() < SOON, || "that took long".to_owned())?;
        approves_nothing(&console).await?;
        until_status(&billing, &asked, "pending").await?;
        scene.say("the old key is refused");
        kim.console.close().await?;
        scene.close(console).await
    })
    .await;
}
