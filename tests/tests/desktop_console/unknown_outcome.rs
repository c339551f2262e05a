//! An outcome that nobody knows: people are told, look, ask, and answer in a window of its own.

use std::sync::Arc;

use serde_json::{Value, json};
use vidimus_api::call::CallAnswer;
use vidimus_api::client::AgentClient;
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::Answer;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Mode, Order, StatusQuery, Tool};
use vidimus_tests::console::Console;
use vidimus_tests::desktop::{Options, Urgency};

use crate::scene::{Outcome, PIN, REASON, SOON, Scene, admit_console_in, admit_person, ask, check, play, read_and_start, until_status};
use crate::second_person::{HELD, WIRE};
use crate::windows::invoke;

pub const ANSWER: &str = "vidimus-answer://";

/// Robin and Lou at the API, Kim at the console, all of the treasury; and a wire whose answer was lost.
pub struct InDoubt {
    pub robin: Approver,
    pub lou: Approver,
    pub console: Arc<Console>,
    pub agent: AgentClient,
    pub asked: CallAnswer,
    pub operation: OperationKey,
}

/// A wire that runs at once after the second approval.
pub fn without_delay(table: String) -> String {
    table.replace("delay_s = 60\n", "")
}

pub async fn in_doubt(scene: &Scene) -> Outcome<InDoubt> {
    in_doubt_in(scene, "light").await
}

/// The same in a theme.
pub async fn in_doubt_in(scene: &Scene, theme: &str) -> Outcome<InDoubt> {
    let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
    let console = admit_console_in(scene, &robin, "Kim Example", &["treasury"], theme).await?;
    let lou = admit_person(scene, &robin, "Lou Example", &["treasury"], 11).await?;
    let agent = scene.agent("treasury")?;
    scene.inspector.order(Order::of(Tool::WireTransfer).mode(Mode::DropAfterEffect).times(1)).await?;
    let (asked, request) = ask(&agent, "wire_transfer", WIRE, "answer-lost").await?;
    robin.approve(request, "treasury").await?;
    lou.approve(request, "treasury").await?;
    let told = until_status(&agent, &asked, "needs_reconciliation").await?;
    scene.count(Tool::WireTransfer, 1).await?;
    let operation = told.operation.ok_or("the call names no operation")?;
    Ok(InDoubt { robin, lou, console, agent, asked, operation })
}

/// Opens the desk by keys, and the operation by the first of its rows.
pub async fn open_desk(console: &Console) -> Outcome {
    console.main().await?;
    console.driver.wait_for("nav button[aria-label^='Reconcile, 1']").await?;
    console.driver.keys("gr").await?;
    console.driver.wait_for("[data-operation]").await?;
    console.driver.keys("j").await?;
    console.driver.wait_for("[data-part=known] li").await?;
    Ok(())
}

/// Opens the answer by its key, and reads what was sent.
pub async fn open_answer(console: &Console, operation: &OperationKey) -> Outcome {
    console.driver.wait_for("[data-part=answer][aria-disabled=false], [data-part=answer]:not([aria-disabled=true])").await?;
    console.driver.keys("a").await?;
    console.driver.window_with_url(&format!("{ANSWER}localhost/{operation}")).await?;
    console.driver.wait_for("#start-answering[aria-disabled=false]").await?;
    console.read_all().await?;
    Ok(())
}

/// Answers that it happened, with the provider's reference and a file, and holds.
async fn say_happened(scene: &Scene, console: &Console) -> Outcome<String> {
    console.driver.keys("a").await?;
    console.driver.wait_for("#answer-panel:not([hidden]) h2").await?;
    console.driver.click("#answer-happened").await?;
    console.driver.type_text("#reference", "F99-22810").await?;
    let file = scene.folder.path().join("statement.txt");
    std::fs::write(&file, "booked: EUR 4,200.00 to payee_makebelieve")?;
    console.driver.type_text("#file", &file.to_string_lossy()).await?;
    console.driver.wait_for_text("#files", "statement.txt").await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    console.driver.hold("#hold", std::time::Duration::from_millis(500)).await?;
    console.settled().await?;
    check(!console.shows("#receipt").await?, || "half a second was enough".to_owned())?;
    console.driver.hold("#hold", HELD).await?;
    Ok(console.receipt().await?)
}

/// Another payment to the payee of one in doubt: its window says so, and which one it is.
async fn paying_again_is_warned_of(console: &Console, agent: &AgentClient, doubted: &CallAnswer) -> Outcome {
    let (again, request) = ask(agent, "wire_transfer", &WIRE.replace("INV-1001", "INV-1002"), "again").await?;
    console.review(&request.to_string()).await?;
    let said = console.driver.text("[data-warning=doubt]").await?;
    let first = doubted.request.ok_or("no request")?.to_string();
    check(said.contains("may pay twice") && said.replace(['\n', ' '], "").contains(&first), || format!("the window says: {said}"))?;
    console.close_review_by_key().await?;
    agent.withdraw(&again.call).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_told_answer_contradict_each_other_and_a_third_settles_it() {
    let name = "people_are_told_answer_contradict_each_other_and_a_third_settles_it";
    play(Scene::set_with(name, &["treasury"], Options::default(), without_delay).await, async |scene| {
        let InDoubt { robin, lou, console, agent, asked, operation } = in_doubt(scene).await?;
        let sent = scene.desktop.wait_for_notification(SOON, |sent| sent.summary.contains("Outcome unknown"))?;
        let said = format!("{} {}", sent.summary, sent.body);
        check(sent.urgency == Urgency::Normal && !said.contains("4,200") && !said.contains("payee_makebelieve"), || {
            format!("it says: {said}")
        })?;
        scene.say(&format!("the notification says: {said}"));

        paying_again_is_warned_of(&console, &agent, &asked).await?;
        scene.say("another payment to the same payee is warned of while nobody knows what became of the first");

        open_desk(&console).await?;
        let known = console.driver.text("[data-part=known]").await?;
        for line in ["approved by Robin Example", "sent, attempt 1, idempotency key", "no certain answer came"] {
            check(known.contains(line), || format!("`{line}` is not among what is known: {known}"))?;
        }
        check(!console.driver.text("main").await?.to_lowercase().contains("retry"), || "a retry is offered".to_owned())?;
        hostile(&console, &operation).await?;
        scene.say("the desk tells what is known, and the main window cannot answer");

        open_answer(&console, &operation).await?;
        let shown = console.driver.text("main").await?;
        for value in ["EUR 4,200.00", "420000", "payee_makebelieve", "INV-1001"] {
            check(shown.contains(value), || format!("`{value}` is not in the window: {shown}"))?;
        }
        let receipt = say_happened(scene, &console).await?;
        check(receipt.contains("1 of 2 people said so") && receipt.contains("Verified here"), || format!("the receipt says: {receipt}"))?;
        until_status(&agent, &asked, "needs_reconciliation").await?;
        scene.say("one person answered, and nothing moved");
        console.leave_by("#close").await?;

        // That nothing happened cannot be said yet: an attempt may still arrive.
        let early = robin.answer(operation, Answer::NotHappened, "treasury").await?;
        let refused = robin.hand_in_answer(operation, &early).await.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("reconciliation_too_early"), || format!("refused with {refused:?}"))?;
        let mut draft = robin.answer(operation, Answer::Partly, "treasury").await?;
        draft.statement.amount_minor = Some(120_000);
        let contradicted = robin.hand_in_answer(operation, &draft).await?;
        check(contradicted.conflict, || "the gate sees no contradiction".to_owned())?;
        console.main().await?;
        console.driver.wait_for_text("[data-operation]", "people contradict each other").await?;
        until_status(&agent, &asked, "needs_reconciliation").await?;
        scene.say("a second person contradicted, nothing moved, and the desk says so");

        let draft = lou.answer(operation, Answer::Happened, "treasury").await?;
        let settled = lou.hand_in_answer(operation, &draft).await?;
        check(settled.state.as_str() == "succeeded", || format!("the operation is {}", settled.state))?;
        until_status(&agent, &asked, "executed").await?;
        scene.count(Tool::WireTransfer, 1).await?;
        console.driver.wait_for_text("[data-operation]", "settled").await?;
        scene.desktop.wait_for_notification(SOON, |sent| sent.summary.contains("was answered"))?;
        scene.say("a third person said the same as the first: it is settled, and the provider counts one effect");
        scene.close(console).await
    })
    .await;
}

/// What the page of the main window tries by itself.
async fn hostile(console: &Console, operation: &OperationKey) -> Outcome {
    let form = json!({ "nonce": "x", "answer": "happened", "reference": "F99", "evidence": "", "amount": "", "lookAgain": "",
        "pin": PIN, "heldMs": 5000, "twoPresses": false });
    let commands: [(&str, Value); 6] = [
        ("answer_state", json!({ "focused": true })),
        ("answer_seen", json!({ "nonce": "x", "parts": [0] })),
        ("answer_form", json!({ "nonce": "x", "open": true })),
        ("answer_attach", json!({ "nonce": "x", "name": "a", "content": "YQ==" })),
        ("answer_sign", json!({ "form": form })),
        ("answer_original", json!({ "nonce": "x" })),
    ];
    for (command, arguments) in commands {
        check(invoke(console, command, arguments).await?.is_err(), || format!("the main window may call `{command}`"))?;
    }
    let own = console.driver.url().await?;
    let address = format!("{ANSWER}localhost/{operation}");
    let _ = console.driver.execute("location.href = arguments[0]", vec![address.into()]).await;
    console.settled().await?;
    check(console.driver.url().await? == own, || "the main window went to the answer".to_owned())
}

/// By keys alone, where one person is enough: the provider is asked first, and asked again once it can tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_asked_and_one_person_answers_by_keys_alone() {
    const CANCEL: &str = r#"{"subscription":"sub_77","effective":"2026-12-31","reason":"moving abroad"}"#;
    let name = "a_provider_is_asked_and_one_person_answers_by_keys_alone";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let order = Order::of(Tool::CancelSubscription).mode(Mode::DropAfterEffect).times(1).status(StatusQuery::Absent);
        scene.inspector.order(order).await?;
        let (asked, request) = ask(&billing, "cancel_subscription", CANCEL, "cancelled").await?;
        read_and_start(&console, &request).await?;
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        let told = until_status(&billing, &asked, "needs_reconciliation").await?;
        let operation = told.operation.ok_or("the call names no operation")?;
        console.driver.wait_for_text("#receipt", "E-EXE-2").await?;
        // What leads to the desk stands in the receipt.
        console.driver.click("#to-desk").await?;
        console.main().await?;
        console.driver.wait_for("[data-operation]").await?;
        console.driver.window_with_url("vidimus-review://").await?;
        console.close_review().await?;
        console.driver.keys("j").await?;
        console.driver.wait_for("[data-part=ask][aria-disabled=false]").await?;
        console.driver.click("[data-part=ask]").await?;
        console.driver.wait_for_text("[data-part=provider]", "The provider").await?;
        let said = console.driver.text("[data-part=provider]").await?;
        scene.say(&format!("asked while it cannot tell: {said}"));
        until_status(&billing, &asked, "needs_reconciliation").await?;

        console.driver.keys("a").await?;
        console.driver.window_with_url(&format!("{ANSWER}localhost/{operation}")).await?;
        console.driver.wait_for("#start-answering[aria-disabled=false]").await?;
        // On a desktop without a window manager nobody hands the focus on from the window that was raised.
        scene.desktop.run("xdotool", &["search", "--name", "Unknown outcome", "windowfocus"])?;
        console.read_all().await?;
        console.driver.keys("a").await?;
        console.driver.wait_for("#answer-panel:not([hidden]) h2").await?;
        for keys in ["\u{e004}", " ", "\u{e004}", "C-7719", "\u{e004}", "\u{e004}"] {
            console.driver.keys(keys).await?;
        }
        if console.shows("#pin").await? {
            console.driver.keys("\u{e004}").await?;
            console.driver.keys(PIN).await?;
        }
        console.unlocked("#sign").await?;
        console.driver.keys("\u{e004}").await?;
        console.driver.keys("\u{e007}").await?;
        let receipt = console.receipt().await?;
        check(receipt.contains("Enough people said the same"), || format!("the receipt says: {receipt}"))?;
        until_status(&billing, &asked, "executed").await?;
        scene.count(Tool::CancelSubscription, 1).await?;
        scene.say("one person was enough, and answered by keys alone");
        scene.close(console).await
    })
    .await;
}
