//! Writes whose outcome nobody knows: nobody approved them, and those who own the system behind them answer.

use vidimus_api::call::CallAnswer;
use vidimus_core::operation::OperationKey;
use vidimus_tests::company::{Mode, Order, Tool};
use vidimus_tests::console::Console;
use vidimus_tests::desktop::{Display, Options};

use crate::looks::Gallery;
use crate::scene::{Outcome, PIN, Scene, call, check, play, until_status};
use crate::unknown_outcome::ANSWER;

const TICKET: &str = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival.\nPlease call back."}"#;

/// Opens the row of an operation in the desk.
async fn pick(console: &Console, operation: &OperationKey) -> Outcome {
    console.main().await?;
    console.driver.keys("gr").await?;
    let row = format!("[data-operation='{operation}']");
    console.driver.wait_for(&row).await?;
    console.driver.click(&row).await?;
    console.driver.wait_for("[data-part=known] li").await?;
    Ok(())
}

/// The operation of a call that is said to need people.
async fn doubtful(agent: &vidimus_api::client::AgentClient, asked: &CallAnswer) -> Outcome<OperationKey> {
    let told = until_status(agent, asked, "needs_reconciliation").await?;
    Ok(told.operation.ok_or("the call names no operation")?)
}

async fn sign(console: &Console, answer: &str, field: &str, words: &str) -> Outcome<String> {
    console.driver.keys("a").await?;
    console.driver.wait_for("#answer-panel:not([hidden]) h2").await?;
    console.driver.click(&format!("#answer-{answer}")).await?;
    console.driver.type_text(field, words).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#sign").await?;
    console.driver.click("#sign").await?;
    Ok(console.receipt().await?)
}

async fn open_answer(console: &Console, operation: &OperationKey) -> Outcome {
    console.driver.wait_for("[data-part=answer][aria-disabled=false], [data-part=answer]:not([aria-disabled=true])").await?;
    console.driver.click("[data-part=answer]").await?;
    console.driver.window_with_url(&format!("{ANSWER}localhost/{operation}")).await?;
    console.driver.wait_for("#start-answering[aria-disabled=false]").await?;
    Ok(console.read_all().await?)
}

async fn written_in_doubt(theme: &'static str, name: &'static str) {
    let options = Options { display: Display::Virtual { width: 1440, height: 960 }, ..Options::default() };
    let quick = |table: String| table.replace("settle_s = 5", "settle_s = 1");
    play(Scene::set_with(name, &["support-lead"], options, quick).await, async |scene| {
        let console = scene.open_console_in(theme).await?;
        console.enrol(&scene.invite, PIN).await?;
        let support = scene.agent("support")?;
        let mut gallery = Gallery::open(theme)?;

        // Its answer was lost.
        scene.inspector.order(Order::of(Tool::CreateTicket).mode(Mode::DropAfterEffect).times(1)).await?;
        let lost = support.call(&call("create_ticket", TICKET, "ticket-lost")?, 0).await?;
        let operation = doubtful(&support, &lost).await?;
        console.driver.wait_for("nav button[aria-label^='Reconcile, 1']").await?;
        pick(&console, &operation).await?;
        let desk = console.driver.text("main").await?;
        for words in ["create_ticket", "support-lead", "unknown since"] {
            check(desk.contains(words), || format!("`{words}` is not on the desk: {desk}"))?;
        }
        check(!desk.to_lowercase().contains("retry"), || "a retry is offered".to_owned())?;
        gallery.look(scene, &console, "desk-write").await?;
        open_answer(&console, &operation).await?;
        let environment = console.driver.text("[data-part=environment]").await?;
        check(environment == "TEST", || format!("the window says of its environment: {environment}"))?;
        check(!console.driver.exists("#original").await?, || "a request is offered that there never was".to_owned())?;
        let shown = console.driver.text("main").await?;
        check(shown.contains(&operation.to_string()), || format!("the operation is not in the window: {shown}"))?;
        for value in ["customer_ada", "Kettle", "Broken on arrival.", "Please call back."] {
            check(shown.contains(value), || format!("`{value}` is not in the window: {shown}"))?;
        }
        gallery.look(scene, &console, "answer-write").await?;
        let receipt = sign(&console, "happened", "#reference", "T-4711").await?;
        check(receipt.contains("Verified here"), || format!("the receipt says: {receipt}"))?;
        gallery.look(scene, &console, "answer-write-receipt").await?;
        console.leave_by("#close").await?;
        until_status(&support, &lost, "executed").await?;
        scene.count(Tool::CreateTicket, 1).await?;
        scene.say("a write whose answer was lost was shown with all its arguments, and answered");

        // Its gate was killed between sending and recording.
        scene.serve_gate_under(&["kill before_record"])?;
        console.key_says("active").await?;
        let cut = support.call(&call("create_ticket", &TICKET.replace("Kettle", "Toaster"), "ticket-cut")?, 0).await;
        check(cut.is_err(), || format!("the gate outlived it: {cut:?}"))?;
        scene.serve_gate_under(&[])?;
        let told = support.call(&call("create_ticket", &TICKET.replace("Kettle", "Toaster"), "ticket-cut")?, 0).await?;
        let operation = doubtful(&support, &told).await?;
        console.key_says("active").await?;
        pick(&console, &operation).await?;
        open_answer(&console, &operation).await?;
        let shown = console.driver.text("main").await?;
        check(shown.contains("Toaster"), || format!("the arguments are not in the window: {shown}"))?;
        sign(&console, "happened", "#reference", "T-4712").await?;
        console.leave_by("#close").await?;
        until_status(&support, &told, "executed").await?;
        scene.count(Tool::CreateTicket, 2).await?;
        console.driver.wait_for_text("[data-operation]", "settled").await?;
        gallery.look(scene, &console, "desk-write-settled").await?;
        scene.say("a write whose gate was killed while it was being sent was shown and answered too");
        gallery.close(scene)?;
        scene.close(console).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_doubt_is_shown_and_answered() {
    written_in_doubt("dark", "a_write_in_doubt_in_dark").await;
    if crate::scene::is_long() {
        written_in_doubt("light", "a_write_in_doubt_in_light").await;
    }
}
