//! Power cuts of the console around a decision: signed and not sent, sent and not answered, answered and not looked at.

use vidimus_api::call::CallAnswer;
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{Outcome, PIN, REASON, REFUND, Scene, ask, check, is_long, play, read_and_start, until_status};

/// Rounds of each cut.
fn rounds() -> usize {
    if is_long() { 10 } else { 1 }
}

/// Opens the request, and presses what signs and sends. The press may be answered by the end of the program.
async fn press(console: &Console, request: &RequestId) -> Outcome {
    read_and_start(console, request).await?;
    console.give_reason(REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#approve-commit").await?;
    let _ = console.driver.click("#approve-commit").await;
    Ok(())
}

async fn asked_for(scene: &Scene, billing: &AgentClient, number: &mut usize) -> Outcome<(CallAnswer, RequestId)> {
    *number += 1;
    let args = REFUND.replace("invoice_842", &format!("invoice_{}", 1000 + *number));
    let (asked, request) = ask(billing, "refund", &args, &format!("cut-{number}")).await?;
    scene.say(&format!("round {number}"));
    Ok((asked, request))
}

/// What the console shows of a request whose decision is on record: it is not asked for again.
async fn shows_decided(console: &Console, request: &RequestId) -> Outcome {
    console.main().await?;
    console.key_says("active").await?;
    console.driver.wait_for_text("[data-part=mirror]", "verified").await?;
    console.settled().await?;
    console.driver.keys("n").await?;
    let waits = "const row = document.querySelector(arguments[0]); return row !== null && !row.textContent.includes('approved')";
    let row = format!("[data-request='{request}']");
    check(console.driver.execute(waits, vec![row.into()]).await? == false, || "what is decided is asked for again".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_is_cut_around_a_decision_tells_the_truth_and_sends_nothing_by_itself() {
    let name = "a_console_that_is_cut_around_a_decision";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        scene.serve_gate_under(&[])?;
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        scene.close(console).await?;
        let mut number = 0;
        let mut effects = 0;
        for _ in 0..rounds() {
            signed_and_not_sent(scene, &billing, &mut number).await?;
            answered_and_not_looked_at(scene, &billing, &mut number).await?;
            sent_and_not_answered(scene, &billing, &mut number, "before_decide").await?;
            sent_and_not_answered(scene, &billing, &mut number, "after_decide").await?;
            effects += 4;
            scene.count(Tool::Refund, effects).await?;
        }
        Ok(())
    })
    .await;
}

async fn signed_and_not_sent(scene: &Scene, billing: &AgentClient, number: &mut usize) -> Outcome {
    let (asked, request) = asked_for(scene, billing, number).await?;
    let console = scene.open_console_cut_at("decision_signed").await?;
    press(&console, &request).await?;
    scene.cleared(console).await?;
    let console = scene.open_console().await?;
    console.key_says("active").await?;
    console.settled().await?;
    console.settled().await?;
    // Given time, it sent nothing; the request stands to be decided, from its beginning.
    let told = billing.outcome(&asked.call, 0).await?;
    check(told.status.as_str() == "pending", || format!("a decision that nobody sent: the call is `{}`", told.status.as_str()))?;
    console.review(&request.to_string()).await?;
    check(!console.shows("#receipt").await?, || "a receipt of what was never sent".to_owned())?;
    console.read_all().await?;
    console.open_panel(vidimus_tests::console::Panel::Approve).await?;
    console.approve_with_reason(REASON, PIN).await?;
    console.receipt().await?;
    until_status(billing, &asked, "executed").await?;
    scene.say("signed and not sent: it was asked again, and sent by the person's press alone");
    scene.close(console).await
}

async fn answered_and_not_looked_at(scene: &Scene, billing: &AgentClient, number: &mut usize) -> Outcome {
    let (asked, request) = asked_for(scene, billing, number).await?;
    let console = scene.open_console_cut_at("decision_answered").await?;
    press(&console, &request).await?;
    scene.cleared(console).await?;
    until_status(billing, &asked, "executed").await?;
    let console = scene.open_console().await?;
    shows_decided(&console, &request).await?;
    scene.say("answered and not looked at: the decision stands, and is not asked for again");
    scene.close(console).await
}

/// The gate holds the decision before or after it is on record; the console is killed meanwhile.
async fn sent_and_not_answered(scene: &mut Scene, billing: &AgentClient, number: &mut usize, held: &str) -> Outcome {
    let (asked, request) = asked_for(scene, billing, number).await?;
    let console = scene.open_console().await?;
    let order = format!("hold {held} {number}");
    scene.order(&[&order])?;
    press(&console, &request).await?;
    // The window says that it is on its way; nothing has answered it.
    console.driver.wait_for_text("#progress", "Sent").await?;
    console.settled().await?;
    console.driver.kill_application()?;
    scene.order(&[])?;
    scene.cleared(console).await?;
    let console = scene.open_console().await?;
    console.key_says("active").await?;
    console.settled().await?;
    let told = billing.outcome(&asked.call, 2).await?;
    if told.status.as_str() == "pending" {
        // The gate gave it up with its connection: it was never on record, and nothing sent it again.
        console.review(&request.to_string()).await?;
        console.read_all().await?;
        console.open_panel(vidimus_tests::console::Panel::Approve).await?;
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        until_status(billing, &asked, "executed").await?;
        check(held == "before_decide", || "a decision that was on record is lost".to_owned())?;
        scene.say("sent and not answered: it is not on record, and was asked again");
    } else {
        until_status(billing, &asked, "executed").await?;
        shows_decided(&console, &request).await?;
        scene.say("sent and not answered: it is on record, and is not asked for again");
    }
    scene.close(console).await
}
