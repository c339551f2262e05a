//! Whole flows by the keyboard alone: no pointer moves or presses in this file.
//!
//! What has the focus is always in sight: nothing lies over it, wherever Tab leads.

use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, REFUND, Scene, ask, check, play, until_status};
use crate::second_person::HELD;

const TAB: &str = "\u{e004}";
const RETURN: &str = "\u{e007}";
const DOWN: &str = "\u{e015}";
const CONTROL: char = '\u{e009}';
const ROLES: &[&str] = &["billing-approver", "support-lead"];
/// More presses of Tab than any window has controls.
const TABS_MAX: usize = 60;
/// From the pasted invitation to the first signed decision.
const FIRST_DECISION_WITHIN: Duration = Duration::from_secs(180);

/// Tab until this has the focus, and nothing lies over it.
async fn tab_to(console: &Console, css: &str) -> Outcome {
    const WHERE: &str = "const at = document.activeElement; if (at === null || at === document.body) return 'nowhere';\
        const box = at.getBoundingClientRect(); const x = box.left + Math.min(box.width / 2, 40), y = box.top + Math.min(box.height / 2, 20);\
        const top = document.elementFromPoint(x, y);\
        if (at !== top && !at.contains(top) && !(top !== null && top.contains(at) && at.matches('input'))) return `covered: ${at.outerHTML.slice(0, 90)}`;\
        return at.matches(arguments[0]) ? 'there' : 'on';";
    for _ in 0..TABS_MAX {
        let at = console.driver.execute(WHERE, vec![css.into()]).await?;
        match at.as_str().unwrap_or_default() {
            "there" => return Ok(()),
            covered if covered.starts_with("covered") => return Err(format!("on the way to `{css}` the focus is {covered}").into()),
            _ => console.driver.keys(TAB).await?,
        }
    }
    Err(format!("Tab never leads to `{css}`").into())
}

/// To this by Tab, and pressed by Return.
async fn press(console: &Console, css: &str) -> Outcome {
    tab_to(console, css).await?;
    Ok(console.driver.keys(RETURN).await?)
}

/// To this by Tab, and typed into.
async fn type_into(console: &Console, css: &str, text: &str) -> Outcome {
    tab_to(console, css).await?;
    Ok(console.driver.keys(text).await?)
}

async fn held(console: &Console, key: char) -> Outcome {
    let actions = KeyActions::new("keyboard".to_owned())
        .then(KeyAction::Down { value: key })
        .then(KeyAction::Pause { duration: HELD })
        .then(KeyAction::Up { value: key });
    Ok(console.driver.client()?.perform_actions(actions).await?)
}

async fn with_control(console: &Console, key: char) -> Outcome {
    let actions = KeyActions::new("keyboard".to_owned())
        .then(KeyAction::Down { value: CONTROL })
        .then(KeyAction::Down { value: key })
        .then(KeyAction::Up { value: key })
        .then(KeyAction::Up { value: CONTROL });
    Ok(console.driver.client()?.perform_actions(actions).await?)
}

/// What has the focus, as a selector would name it.
pub async fn focus(console: &Console) -> Outcome<String> {
    let at = "const at = document.activeElement; return at === null ? '' : `${at.localName}#${at.id} ${at.textContent.slice(0, 60)}`";
    Ok(console.driver.execute(at, vec![]).await?.as_str().unwrap_or_default().to_owned())
}

/// Enrolled: from the main window's own control through the invitation and the PIN to the end of the window.
async fn enrol(scene: &Scene, robin: &Approver, console: &Console) -> Outcome {
    press(console, "[data-part=open-enrolment]").await?;
    console.driver.window_with_url("vidimus-enrolment://").await?;
    console.driver.wait_for("#invite").await?;
    type_into(console, "#invite", &scene.home.invite("Kim Example", ROLES)?).await?;
    press(console, "#continue").await?;
    console.driver.wait_for("#pin").await?;
    type_into(console, "#pin", PIN).await?;
    type_into(console, "#pin-again", PIN).await?;
    press(console, "#continue").await?;
    console.driver.wait_for("#confirm").await?;
    press(console, "#confirm").await?;
    console.driver.wait_for("[data-part=enrolment-waiting]").await?;
    console.close_review_by_key().await?;
    let admission = robin.client()?.requests(None).await?.requests.into_iter().find(|listed| listed.tool == "gate.roster.change");
    robin.approve(admission.ok_or("no admission waits")?.request, "admin").await?;
    console.key_says("active").await?;
    scene.say("enrolled by keys alone");
    Ok(())
}

/// From the inbox into the request, read to its end.
async fn open(console: &Console, request: &RequestId) -> Outcome {
    console.main().await?;
    let row = format!("[data-request='{request}'], [data-request='{request}'] button");
    let deadline = Instant::now() + crate::scene::SOON;
    while !console.driver.exists(&row).await? {
        console.driver.keys("n").await?;
        check(Instant::now() < deadline, || format!("the inbox never showed `{request}`"))?;
    }
    press(console, &row).await?;
    console.driver.window_with_url(&format!("vidimus-review://localhost/{request}")).await?;
    console.driver.wait_for("#start-approving[aria-disabled]").await?;
    let at = focus(console).await?;
    check(at.starts_with("h1#title"), || format!("after opening, the focus is on {at}"))?;
    Ok(console.read_all().await?)
}

async fn start(console: &Console) -> Outcome {
    console.driver.keys("a").await?;
    console.driver.wait_for("#approve:not([hidden]) h2").await?;
    let at = focus(console).await?;
    check(at.starts_with("h2#"), || format!("the panel opens with the focus on {at}"))
}

/// The receipt is read first; nothing that decides has the focus.
async fn decided(console: &Console) -> Outcome {
    console.receipt().await?;
    let at = focus(console).await?;
    check(at.starts_with("h2#"), || format!("after the decision, the focus is on {at}"))?;
    Ok(console.close_review_by_key().await?)
}

async fn reversible(scene: &Scene, console: &Console, billing: &AgentClient) -> Outcome {
    let (asked, request) = ask(billing, "issue_credit", CREDIT, "keys-reversible").await?;
    open(console, &request).await?;
    start(console).await?;
    type_into(console, "#pin", PIN).await?;
    console.unlocked("#approve-commit").await?;
    with_control(console, RETURN.chars().next().unwrap_or_default()).await?;
    decided(console).await?;
    until_status(billing, &asked, "executed").await?;
    scene.say("something reversible was approved by keys alone");
    scene.count(Tool::IssueCredit, 1).await
}

async fn compensable(scene: &Scene, console: &Console, billing: &AgentClient) -> Outcome {
    let (asked, request) = ask(billing, "refund", REFUND, "keys-compensable").await?;
    open(console, &request).await?;
    start(console).await?;
    tab_to(console, "input[name=reason-kind]").await?;
    // Among the kinds the arrows lead, as in any group of choices.
    console.driver.keys(" ").await?;
    for _ in 0..TABS_MAX {
        let chosen = console.driver.execute("return document.querySelector('#reason-kind-other').checked", vec![]).await?;
        if chosen == true {
            break;
        }
        console.driver.keys(DOWN).await?;
    }
    type_into(console, "#reason-other", REASON).await?;
    console.unlocked("#approve-commit").await?;
    press(console, "#approve-commit").await?;
    decided(console).await?;
    until_status(billing, &asked, "executed").await?;
    scene.say("something compensable was approved by keys alone");
    scene.count(Tool::Refund, 1).await
}

async fn irreversible(scene: &Scene, console: &Console, support: &AgentClient) -> Outcome {
    let (asked, request) = ask(support, "send_email", MAIL, "keys-irreversible").await?;
    open(console, &request).await?;
    start(console).await?;
    type_into(console, "#answer", "bert@example.org").await?;
    type_into(console, "#reason", REASON).await?;
    type_into(console, "#pin", PIN).await?;
    console.unlocked("#hold").await?;
    tab_to(console, "#hold").await?;
    held(console, ' ').await?;
    decided(console).await?;
    until_status(support, &asked, "executed").await?;
    scene.say("something irreversible was approved by keys alone, held");
    scene.count(Tool::SendEmail, 1).await
}

/// The same without typing the value and without holding.
async fn irreversible_otherwise(scene: &Scene, console: &Console, support: &AgentClient) -> Outcome {
    let (asked, request) = ask(support, "send_email", &MAIL.replace("Friday", "Monday"), "keys-picked").await?;
    open(console, &request).await?;
    start(console).await?;
    press(console, "#pick").await?;
    tab_to(console, "input[name=picked]").await?;
    // By the arrows, over others on the way: only where one leaves is the answer.
    let mut chosen = String::new();
    for _ in 0..TABS_MAX {
        console.driver.keys(DOWN).await?;
        let value = console.driver.execute("return document.querySelector('input[name=picked]:checked')?.value ?? ''", vec![]).await?;
        value.as_str().unwrap_or_default().clone_into(&mut chosen);
        if chosen == "bert@example.org" {
            break;
        }
    }
    check(chosen == "bert@example.org", || format!("the arrows lead to `{chosen}` only"))?;
    type_into(console, "#reason", REASON).await?;
    type_into(console, "#pin", PIN).await?;
    press(console, "#two-presses").await?;
    console.unlocked("#two-commit").await?;
    press(console, "#two-commit").await?;
    console.driver.wait_for_text("#two-row", "Press again").await?;
    // The time that the window asks a person to take.
    tokio::time::sleep(HELD).await;
    press(console, "#two-commit").await?;
    decided(console).await?;
    until_status(support, &asked, "executed").await?;
    scene.say("something irreversible was approved by keys alone, picked and pressed twice");
    scene.count(Tool::SendEmail, 2).await
}

async fn denied(scene: &Scene, console: &Console, billing: &AgentClient) -> Outcome {
    let (asked, request) = ask(billing, "refund", &REFUND.replace("8990", "8000"), "keys-denied").await?;
    open(console, &request).await?;
    console.driver.keys("d").await?;
    console.driver.wait_for("#deny:not([hidden]) h2").await?;
    console.driver.keys("1").await?;
    console.driver.keys(RETURN).await?;
    decided(console).await?;
    until_status(billing, &asked, "denied").await?;
    scene.say("denied by three keys");
    scene.count(Tool::Refund, 1).await
}

async fn stopped(scene: &Scene, console: &Console) -> Outcome {
    console.main().await?;
    console.driver.keys("gs").await?;
    console.driver.wait_for("[data-part=open-stop]").await?;
    press(console, "[data-part=open-stop]").await?;
    console.keys().await?;
    console.driver.wait_for("[data-part=confirm-words]").await?;
    press(console, "#confirm").await?;
    console.key_says("stopped").await?;
    scene.say("this computer's key was stopped by keys alone");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_done_by_the_keyboard_alone() {
    play(Scene::set("everything_is_done_by_the_keyboard_alone", ROLES, Options::default()).await, async |scene| {
        let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let console = scene.open_console().await?;
        let (billing, support) = (scene.agent("billing")?, scene.agent("support")?);
        let began = Instant::now();
        enrol(scene, &robin, &console).await?;
        reversible(scene, &console, &billing).await?;
        let took = began.elapsed();
        check(took < FIRST_DECISION_WITHIN, || format!("the first decision took {took:?}"))?;
        scene.say(&format!("from the invitation to the first signed decision: {} s", took.as_secs()));
        compensable(scene, &console, &billing).await?;
        irreversible(scene, &console, &support).await?;
        irreversible_otherwise(scene, &console, &support).await?;
        denied(scene, &console, &billing).await?;
        stopped(scene, &console).await?;
        scene.close(console).await
    })
    .await;
}
