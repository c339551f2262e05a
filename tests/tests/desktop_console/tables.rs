//! The effect table changes: proposed without a window, read as old → new, decided by its owner's role and an admin; what
//! waited on the changed row is stale in the window that shows it.

use std::time::{Duration, Instant};

use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::console::Panel;
use vidimus_tests::desktop::{Display, Options};

use crate::scene::{Outcome, PIN, REASON, REFUND, SOON, Scene, ask, check, pictures, play, read_and_start, until_status};

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_row_is_decided_in_the_window_and_makes_requests_stale() {
    for theme in ["light", "dark"] {
        let options = Options { display: Display::Virtual { width: 1440, height: 960 }, ..Options::default() };
        play(Scene::set("a_changed_row", &["billing-approver"], options).await, async |scene| change(scene, theme).await).await;
    }
}

async fn change(scene: &mut Scene, theme: &'static str) -> Outcome {
    let console = scene.open_console_in(theme).await?;
    console.enrol(&scene.invite, PIN).await?;
    let kim = admit(scene, &console).await?;
    let billing = scene.agent("billing")?;
    let (waiting, refund) = ask(&billing, "refund", REFUND, "stale").await?;

    let file = scene.folder.path().join("next.toml");
    let table = kim.client()?.table().await?.table;
    let start = table.find("tool = \"refund\"").ok_or("no row of the refund")?;
    let row = table[start..].replacen("request_ttl_s = 1800", "request_ttl_s = 3600", 1).replacen("undo = \"", "undo = \"Ask first; ", 1);
    // The same call, sent elsewhere.
    let row = row.replacen("/billing/refunds\"", "/billing/refunds-elsewhere\"", 1);
    std::fs::write(&file, format!("{}{row}", &table[..start]).replacen("pending_max = 20", "pending_max = 25", 1))?;
    let said = propose(scene, &file)?;
    check(said.contains("waits for 1 × billing-approver and 1 × admin"), || format!("propose-table says: {said}"))?;
    let request: RequestId = said.split(' ').next().unwrap_or_default().parse()?;

    // The proposer is the only admin, and decides in that role alone.
    let folder = pictures();
    std::fs::create_dir_all(&folder)?;
    console.review(&request.to_string()).await?;
    console.picture(&folder.join(format!("{theme}-table-change.png"))).await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    let shown = console.driver.text("body").await?;
    for words in [
        "What changes",
        "Row of refund changes",
        "How long a request waits",
        "1800 s (30 min) →",
        "3600 s (1 h)",
        "LOOSENED",
        "Loosened for refund: what carries it out; how long a request waits.",
        "refunds-elsewhere",
        "List of the agent",
        "Requests that may wait at once",
    ] {
        // Headings are drawn in capitals.
        check(shown.to_lowercase().contains(&words.to_lowercase()), || format!("`{words}` is not in the window: {shown}"))?;
    }
    let values = console.driver.text("[data-part=argument-count]").await?;
    check(values.chars().any(|c| c.is_ascii_digit()), || format!("the values are not counted: {values}"))?;
    console.approve_with_reason(REASON, PIN).await?;
    let receipt = console.receipt().await?;
    check(receipt.contains("1 of 2"), || format!("the receipt says: {receipt}"))?;
    console.close_review().await?;

    // The refund's window is open when its row changes under it.
    console.review(&refund.to_string()).await?;
    kim.approve(request, "billing-approver").await?;
    until_status(&billing, &waiting, "stale").await?;
    console.driver.wait_for_text("body", "E-REQ-9").await?;
    console.picture(&folder.join(format!("{theme}-table-stale.png"))).await?;
    let in_force = kim.client()?.table().await?.table;
    check(in_force.contains("Ask first; "), || "the table in force is the one before".to_owned())?;
    console.close_review_by_key().await?;
    let (_, again) = ask(&billing, "refund", REFUND, "stale-again").await?;
    console.review(&again.to_string()).await?;
    let shown = console.driver.text("body").await?;
    check(shown.contains("Ask first; "), || format!("the new row's words are not in the window: {shown}"))?;
    console.close_review_by_key().await?;
    scene.say("a change of the table was proposed, read, decided by two, and made the refund stale");
    scene.close(console).await
}

/// `vidimus propose-table`, beside the running console.
fn propose(scene: &Scene, file: &std::path::Path) -> Outcome<String> {
    let mut command = scene.desktop.command(&scene.console_program);
    let output = command.args(["propose-table".as_ref(), file.as_os_str(), "--profile".as_ref(), scene.profile.as_os_str()]).output()?;
    let (said, failed) = (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned());
    check(output.status.success(), || format!("propose-table failed: {failed}"))?;
    // The same again differs from nothing that is open: the gate says so, and the program does.
    let again = scene
        .desktop
        .command(&scene.console_program)
        .args(["propose-table".as_ref(), file.as_os_str(), "--profile".as_ref(), scene.profile.as_os_str()])
        .output()?;
    let words = String::from_utf8_lossy(&again.stderr).into_owned();
    check(!again.status.success() && words.contains("business_effect_open"), || format!("the second proposal says: {words}"))?;
    Ok(said)
}

async fn admit(scene: &Scene, console: &vidimus_tests::console::Console) -> Outcome<Approver> {
    let mut kim = Approver::enrol(&scene.home.url(), &scene.home.invite("Kim Example", &["billing-approver"])?, 9).await?;
    let request = kim.admission.ok_or("the enrolment made no request")?;
    read_and_start(console, &request).await?;
    console.approve_with_reason(REASON, PIN).await?;
    console.receipt().await?;
    console.driver.wait_for_text("#receipt", "Executed").await?;
    console.close_review().await?;
    let deadline = Instant::now() + SOON;
    while kim.open_session().await.is_err() {
        check(Instant::now() < deadline, || "the second person's session never opened".to_owned())?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(kim)
}
