//! Approving, at each of the three levels of care.

use std::time::Duration;

use vidimus_tests::company::Tool;
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, REFUND, Scene, ask, check, play, read_and_start, until_status};

const ROLES: &[&str] = &["billing-approver", "support-lead"];
/// Longer than the window asks for.
const HELD: Duration = Duration::from_millis(1_900);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_runs_once() {
    play(Scene::set("what_is_approved_runs_once", ROLES, Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let (billing, support) = (scene.agent("billing")?, scene.agent("support")?);
        compensable(scene, &console, &billing).await?;
        reversible(scene, &console, &billing).await?;
        held(scene, &console, &support).await?;
        pressed_twice(scene, &console, &support).await?;
        scene.close(console).await
    })
    .await;
}

type Console = vidimus_tests::console::Console;
type Agent = vidimus_api::client::AgentClient;

/// A refund: a reason and the PIN.
async fn compensable(scene: &Scene, console: &Console, agent: &Agent) -> Outcome {
    let (asked, request) = ask(agent, "refund", REFUND, "compensable").await?;
    scene.count(Tool::Refund, 0).await?;
    read_and_start(console, &request).await?;
    let shown = console.driver.text("body").await?;
    let digest = asked.request_sha256.ok_or("no digest")?.to_string();
    check(shown.replace([' ', '\n'], "").contains(&digest), || format!("the digest {digest} is not in the window: {shown}"))?;
    for value in ["EUR 89.90", "8990", "invoice_842", "arrived broken"] {
        check(shown.contains(value), || format!("`{value}` is not in the window: {shown}"))?;
    }
    console.give_reason(". . . . . . . . . . .").await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.driver.wait_for_text("#approve [data-part=message]", "15 characters").await?;
    scene.count(Tool::Refund, 0).await?;
    console.driver.clear("#reason-other").await?;
    console.approve_with_reason(REASON, PIN).await?;
    let receipt = console.receipt().await?;
    check(receipt.contains("Approved and recorded.") && receipt.contains("1 of 1"), || format!("the receipt says: {receipt}"))?;
    scene.count(Tool::Refund, 1).await?;
    let told = until_status(agent, &asked, "executed").await?;
    check(told.result.is_some(), || "the agent has no result".to_owned())?;
    console.driver.wait_for_text("#receipt", "Executed").await?;
    let decided = console.driver.text("body").await?;
    check(!decided.contains("No time left"), || format!("a decided request says that no time is left: {decided}"))?;
    scene.say("a refund was approved with a reason");
    Ok(console.close_review().await?)
}

/// A credit: the statement and one press; the PIN of the refund still serves.
async fn reversible(scene: &Scene, console: &Console, agent: &Agent) -> Outcome {
    let (asked, request) = ask(agent, "issue_credit", CREDIT, "reversible").await?;
    read_and_start(console, &request).await?;
    check(!console.shows("#pin").await?, || "the PIN is asked again within 15 minutes".to_owned())?;
    console.unlocked("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.receipt().await?;
    scene.count(Tool::IssueCredit, 1).await?;
    until_status(agent, &asked, "executed").await?;
    scene.say("a credit was approved with one press");
    Ok(console.close_review().await?)
}

/// A mail: a wrong answer first, then the right one, a hold that is too short, and one that is long enough.
async fn held(scene: &Scene, console: &Console, agent: &Agent) -> Outcome {
    let (asked, request) = ask(agent, "send_email", MAIL, "held").await?;
    read_and_start(console, &request).await?;
    let panel = console.driver.text("#approve").await?;
    check(!panel.contains("bert@example.org"), || format!("the value asked for stands in the panel: {panel}"))?;
    console.answer("bert@example.com").await?;
    console.driver.wait_for_text("#approve [data-part=message]", "E-DEC-5").await?;
    console.another_question().await?;
    console.answer("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    console.driver.hold("#hold", Duration::from_millis(500)).await?;
    console.settled().await?;
    check(!console.shows("#receipt").await?, || "half a second was enough".to_owned())?;
    scene.count(Tool::SendEmail, 0).await?;
    console.driver.hold("#hold", HELD).await?;
    console.receipt().await?;
    scene.count(Tool::SendEmail, 1).await?;
    until_status(agent, &asked, "executed").await?;
    scene.say("a mail was approved by the answer to its question and a hold");
    Ok(console.close_review().await?)
}

/// Another mail, for hands that cannot hold and cannot type: the value picked, two presses.
async fn pressed_twice(scene: &Scene, console: &Console, agent: &Agent) -> Outcome {
    let mail = MAIL.replace("Friday", "Monday");
    let (asked, request) = ask(agent, "send_email", &mail, "pressed-twice").await?;
    read_and_start(console, &request).await?;
    check(console.shows("#pin").await?, || "the PIN of before serves for something irreversible".to_owned())?;
    console.driver.click("#pick").await?;
    console.pick("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.driver.click("#two-presses").await?;
    console.unlocked("#two-commit").await?;
    console.driver.click("#two-commit").await?;
    console.driver.wait_for_text("#two-row", "Press again").await?;
    scene.count(Tool::SendEmail, 1).await?;
    // What is waited for here is the time that the window asks a person to take.
    tokio::time::sleep(HELD).await;
    console.driver.click("#two-commit").await?;
    console.receipt().await?;
    scene.count(Tool::SendEmail, 2).await?;
    until_status(agent, &asked, "executed").await?;
    scene.say("a mail was approved by picking its value and two presses");
    Ok(console.close_review().await?)
}
