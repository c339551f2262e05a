//! Two colleagues at two computers: an approval is told to the other within two seconds, a reason is not told before the other gives
//! theirs, and what is being typed outlives a change of theme and a lost connection.

use std::time::{Duration, Instant};

use serde_json::json;
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{FOUNDER, Outcome, PIN, REASON, REFUND, Scene, approves_nothing, ask, check, play, read_and_start, until_status};
use crate::second_person::{HELD, WIRE};
use crate::two_windows::seated;
use crate::windows::invoke;

const ROLES: &[&str] = &["billing-approver", "treasury"];
/// How soon the other window has to tell what was decided elsewhere.
const SEEN_WITHIN: Duration = Duration::from_secs(2);
/// What the first of two persons gives as the reason, and nobody else writes.
const FIRST_REASON: &str = "the fence was measured by Marlow on Thursday";

/// Everything in the window's own document, also what is not on screen.
async fn document(console: &Console) -> Outcome<String> {
    let text = console.driver.execute("return document.documentElement.outerHTML", vec![]).await?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

async fn wire_approved(console: &Console, reason: &str) -> Outcome {
    let asked = console.driver.text("#question legend").await?;
    console.answer(if asked.contains("mount") { "4200.00" } else { "payee_makebelieve" }).await?;
    console.driver.type_text("#reason", reason).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    console.driver.hold("#hold", HELD).await?;
    console.receipt().await?;
    Ok(())
}

/// A colleague approves what is open here.
async fn approved_elsewhere(scene: &Scene, robin: &Console, kim: &Console, agent: &AgentClient) -> Outcome {
    let (asked, request) = ask(agent, "refund", REFUND, "approved-elsewhere").await?;
    for window in [kim, robin] {
        read_and_start(window, &request).await?;
    }
    robin.approve_with_reason(REASON, PIN).await?;
    robin.receipt().await?;
    let recorded = Instant::now();
    let said = kim.driver.wait_for_text("#hard-locks", &format!("{FOUNDER} approved this at")).await?;
    let took = recorded.elapsed();
    check(took <= SEEN_WITHIN, || format!("the other window tells it after {took:?}"))?;
    let time = said.split("approved this at ").nth(1).unwrap_or_default();
    check(time.len() > 5 && time.as_bytes()[2] == b':', || format!("no time is told: {said}"))?;
    approves_nothing(kim).await?;
    until_status(agent, &asked, "executed").await?;
    scene.count(Tool::Refund, 1).await?;
    scene.say(&format!("a colleague's approval is told in the open window after {} ms: {said}", took.as_millis()));
    kim.driver.keys("\u{e00c}").await?;
    for window in [robin, kim] {
        window.close_review_by_key().await?;
    }
    Ok(())
}

/// The first one's reason is in no part of the second one's window until theirs is on record.
async fn reason_comes_after(scene: &Scene, robin: &Console, kim: &Console) -> Outcome {
    let agent = scene.agent("treasury")?;
    let (_, request) = ask(&agent, "wire_transfer", WIRE, "reason-after").await?;
    read_and_start(robin, &request).await?;
    wire_approved(robin, FIRST_REASON).await?;
    read_and_start(kim, &request).await?;
    kim.driver.wait_for_text("#approve", FOUNDER).await?;
    check(!document(kim).await?.contains(FIRST_REASON), || "the first one's reason is in the second one's window".to_owned())?;
    wire_approved(kim, REASON).await?;
    kim.driver.wait_for_text("#receipt", "2 of 2").await?;
    let deadline = Instant::now() + crate::scene::SOON;
    while !document(kim).await?.contains(FIRST_REASON) {
        check(Instant::now() < deadline, || "after the second approval the first reason is not told".to_owned())?;
        kim.settled().await?;
    }
    scene.say("the first reason is told after the second one is on record, and not before");
    for window in [robin, kim] {
        window.close_review_by_key().await?;
    }
    Ok(())
}

async fn typed(console: &Console) -> Outcome<String> {
    let value = console.driver.execute("return document.querySelector('#reason-other')?.value ?? ''", vec![]).await?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

/// What is typed stays through another theme and a gate that is away for a while; then it is what is signed.
async fn typed_text_stays(scene: &mut Scene, kim: &Console, agent: &AgentClient) -> Outcome {
    let (asked, request) = ask(agent, "refund", &REFUND.replace("8990", "8000"), "typed-stays").await?;
    read_and_start(kim, &request).await?;
    kim.give_reason(REASON).await?;
    for theme in ["dark", "light"] {
        kim.main().await?;
        let settings = json!({ "theme": theme, "notification_privacy": "guarded", "quiet_hours": null, "autostart": false, "version": "", "build": "" });
        invoke(kim, "save_settings", json!({ "settings": settings })).await??;
        on(kim, &request).await?;
        kim.settled().await?;
        check(typed(kim).await? == REASON, || format!("{theme} took the typed reason"))?;
    }
    scene.end_gate()?;
    kim.driver.wait_for_text("#hard-locks", "E-NET-1").await?;
    check(typed(kim).await? == REASON, || "the lost connection took the typed reason".to_owned())?;
    scene.serve_gate()?;
    kim.type_pin("#pin", PIN).await?;
    kim.unlocked("#approve-commit").await?;
    check(typed(kim).await? == REASON, || "the new connection took the typed reason".to_owned())?;
    kim.driver.click("#approve-commit").await?;
    kim.receipt().await?;
    until_status(agent, &asked, "executed").await?;
    scene.count(Tool::Refund, 2).await?;
    scene.say("what was typed outlived two themes and a lost connection, and was signed");
    Ok(kim.close_review_by_key().await?)
}

async fn on(console: &Console, request: &RequestId) -> Outcome {
    console.driver.window_with_url(&format!("vidimus-review://localhost/{request}")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn colleagues_are_told_of_each_other_and_nothing_too_early() {
    let name = "colleagues_are_told_of_each_other_and_nothing_too_early";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        let robin = scene.founder().await?;
        let seat = seated(scene, &robin, &scene.home.invite("Kim Example", ROLES)?, "light").await?;
        let billing = scene.agent("billing")?;
        approved_elsewhere(scene, &robin, &seat.console, &billing).await?;
        reason_comes_after(scene, &robin, &seat.console).await?;
        typed_text_stays(scene, &seat.console, &billing).await?;
        seat.console.close().await?;
        scene.close(robin).await
    })
    .await;
}
