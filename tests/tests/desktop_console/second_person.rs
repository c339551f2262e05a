//! Two persons, and second thoughts: an approval taken back, one stopped while its delay runs, more time, typed text that is kept.

use std::sync::Arc;
use std::time::Instant;

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, Outcome, PIN, REASON, REFUND, SOON, Scene, admit_console, ask, check, play, read_and_start, until_status};

pub const WIRE: &str = r#"{"payee":"payee_makebelieve","amount_minor":420000,"currency":"EUR","reference":"INV-1001"}"#;
/// Longer than the window asks for.
pub const HELD: std::time::Duration = std::time::Duration::from_millis(1_900);

/// Answers the value question of a wire, whichever it is, gives reason and PIN, and holds.
pub async fn approve_wire(console: &Console, request: &RequestId) -> Outcome<String> {
    read_and_start(console, request).await?;
    let asked = console.driver.text("#question legend").await?;
    let answer = if asked.contains("mount") { "4200.00" } else { "payee_makebelieve" };
    console.answer(answer).await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    console.driver.hold("#hold", HELD).await?;
    Ok(console.receipt().await?)
}

/// Presses what opens a panel of one press, gives the PIN where it is asked, and presses that.
async fn press(console: &Console, opens: &str, panel: &str) -> Outcome {
    console.driver.wait_for(&format!("{opens}:not([hidden])")).await?;
    console.driver.click(opens).await?;
    console.driver.wait_for(&format!("#{panel}:not([hidden]) h2")).await?;
    console.type_pin(&format!("#{panel}-pin"), PIN).await?;
    console.unlocked(&format!("#{panel}-commit")).await?;
    Ok(console.driver.click(&format!("#{panel}-commit")).await?)
}

/// Robin at the API and Kim at the console, both of the treasury.
async fn treasury(scene: &Scene) -> Outcome<(Approver, Arc<Console>)> {
    let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
    let console = admit_console(scene, &robin, "Kim Example", &["treasury"]).await?;
    Ok((robin, console))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_taken_back_given_again_and_stopped_while_its_delay_runs() {
    let name = "an_approval_is_taken_back_given_again_and_stopped_while_its_delay_runs";
    play(Scene::set(name, &["treasury"], Options::default()).await, async |scene| {
        let (robin, console) = treasury(scene).await?;
        let agent = scene.agent("treasury")?;
        let (asked, request) = ask(&agent, "wire_transfer", WIRE, "second-thoughts").await?;
        let receipt = approve_wire(&console, &request).await?;
        check(receipt.contains("1 of 2"), || format!("the receipt says: {receipt}"))?;
        console.driver.wait_for_text("[data-part=receipt-standing]", "Waiting for a second person until").await?;
        scene.say("one of two persons approved, and the window says what it waits for");

        press(&console, "#retract-mine", "retract").await?;
        console.driver.wait_for_text("[data-part=notice]", "Your approval is withdrawn").await?;
        check(!console.shows("#receipt").await?, || "the receipt of what was taken back is shown".to_owned())?;
        let approvals = robin.client()?.request_detail(&request).await?.decisions.len();
        check(approvals == 2, || format!("{approvals} decisions are on record"))?;
        until_status(&agent, &asked, "pending").await?;
        console.close_review_by_key().await?;
        scene.say("the approval was taken back in the same window");

        robin.approve(request, "treasury").await?;
        let receipt = approve_wire(&console, &request).await?;
        check(receipt.contains("2 of 2"), || format!("the receipt says: {receipt}"))?;
        console.driver.wait_for_text("[data-part=receipt-standing]", "unless somebody stops it").await?;
        let others = console.driver.execute("return document.querySelector('[data-part=others]').textContent", vec![]).await?;
        check(others.as_str().is_some_and(|others| others.contains("Robin Example approved")), || format!("the panel says: {others}"))?;
        press(&console, "#stop-it", "revoke").await?;
        console.driver.wait_for_text("#receipt", "Stopped and recorded").await?;
        until_status(&agent, &asked, "revoked").await?;
        scene.count(Tool::WireTransfer, 0).await?;
        scene.say("the quorum was reached, and one of them stopped it while the delay ran");
        scene.close(console).await
    })
    .await;
}

/// The table with other waits of one tool.
pub fn in_row(table: &str, tool: &str, ttl_s: u64, ttl_max_s: u64) -> String {
    let name = format!("tool = \"{tool}\"\neffect");
    let (before, row) = table.split_once(&name).expect("the row");
    let row = row.replacen(
        "request_ttl_s = 1800\nrequest_ttl_max_s = 7200",
        &format!("request_ttl_s = {ttl_s}\nrequest_ttl_max_s = {ttl_max_s}"),
        1,
    );
    format!("{before}{name}{row}")
}

/// What the clipboard holds: pasted into the search of the main window, as a person would paste it elsewhere.
async fn copied(console: &Console) -> Outcome<String> {
    let copied = console.driver.attribute("html", "data-copied").await?.ok_or("no words for what was copied")?;
    console.driver.wait_for_text("#log", &copied).await?;
    console.main().await?;
    console.driver.keys("/").await?;
    let paste = KeyActions::new("keyboard".to_owned())
        .then(KeyAction::Down { value: '\u{e009}' })
        .then(KeyAction::Down { value: 'v' })
        .then(KeyAction::Up { value: 'v' })
        .then(KeyAction::Up { value: '\u{e009}' });
    console.driver.client()?.perform_actions(paste).await?;
    console.settled().await?;
    let pasted = console.driver.execute("return document.activeElement?.value ?? ''", vec![]).await?;
    Ok(pasted.as_str().unwrap_or_default().to_owned())
}

/// By keys alone: `E`, the PIN, the button by Tab and Return.
#[tokio::test(flavor = "multi_thread")]
async fn more_time_is_given_by_keys_until_it_cannot_be_extended_and_typed_text_outlives_the_end() {
    let name = "more_time_is_given_by_keys_until_it_cannot_be_extended_and_typed_text_outlives_the_end";
    // A refund can be extended once; a credit ends while it is being decided.
    let change = |table: String| in_row(&in_row(&table, "refund", 100, 150), "issue_credit", 15, 15);
    play(Scene::set_with(name, &["billing-approver"], Options::default(), change).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "more-time").await?;
        let first_end = asked.waits_until.ok_or("no deadline")?;
        console.review(&request.to_string()).await?;
        console.driver.wait_for_text("[data-part=closing]", "E gives more time").await?;
        console.driver.keys("e").await?;
        console.driver.wait_for("#more-time:not([hidden]) h2").await?;
        console.driver.wait_for_text("#more-time", "The last moment that can be given").await?;
        console.driver.keys("\u{e004}").await?;
        console.driver.keys(PIN).await?;
        console.driver.keys("\u{e004}").await?;
        console.driver.keys("\u{e007}").await?;
        console.driver.wait_for_text("[data-part=notice]", "More time is given").await?;
        let told = billing.outcome(&asked.call, 0).await?;
        let end = told.waits_until.ok_or("no deadline")?;
        check(end > first_end, || format!("it still waits until {end}"))?;
        scene.say("more time was given by keys alone, and the gate waits longer");
        console.driver.keys("e").await?;
        console.driver.wait_for_text("#more-time", "E-EXP-3").await?;
        check(console.driver.attribute("#more-time-commit", "aria-disabled").await?.as_deref() == Some("true"), || {
            "more time can be pressed beyond the last moment".to_owned()
        })?;
        scene.say("at the last moment the window says that it cannot be extended");
        console.driver.keys("\u{e00c}").await?;
        console.close_review_by_key().await?;

        let (asked, request) = ask(&billing, "issue_credit", CREDIT, "too-late").await?;
        console.review(&request.to_string()).await?;
        console.open_panel(vidimus_tests::console::Panel::Deny).await?;
        console.driver.type_text("#note", REASON).await?;
        let deadline = Instant::now() + SOON;
        while !console.shows("#kept").await? {
            check(Instant::now() < deadline, || "what was typed is not kept".to_owned())?;
            console.settled().await?;
        }
        let kept = console.driver.text("#kept").await?;
        check(kept.contains(REASON) && kept.contains("E-EXP-2"), || format!("the window says: {kept}"))?;
        console.driver.click("#copy-kept").await?;
        check(copied(&console).await? == REASON, || "what was typed was not copied".to_owned())?;
        until_status(&billing, &asked, "expired").await?;
        scene.count(Tool::IssueCredit, 0).await?;
        scene.say("a request expired while it was being decided, and what was typed stays to be copied");
        scene.close(console).await
    })
    .await;
}
