//! Who can sign: nobody but a person in a trusted window. Not a script, not a held key; `hostile_build` tries the main window.

use serde_json::{Value, json};
use vidimus_tests::company::Tool;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, Outcome, PIN, SOON, Scene, ask, check, play};

/// How long Return is held from the inbox on.
const HELD_FOR: std::time::Duration = std::time::Duration::from_secs(5);

/// Calls a command from the current page's own script: `null` when it was refused, else its answer.
pub async fn invoke(console: &Console, command: &str, arguments: Value) -> Outcome<Result<Value, String>> {
    const CALL: &str = "const done = arguments[arguments.length - 1];\
        window.__TAURI_INTERNALS__.invoke(arguments[0], arguments[1]).then(\
        (answer) => done({ answer: answer === undefined ? null : answer }), (error) => done({ refused: JSON.stringify(error) }));";
    let answer = console.driver.execute_async(CALL, vec![command.into(), arguments]).await?;
    Ok(match answer.get("refused") {
        Some(refused) => Err(refused.as_str().unwrap_or_default().to_owned()),
        None => Ok(answer),
    })
}

/// Script in the review window itself, as a fault of its page would be: it opens no panel and decides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_the_review_window_decides_nothing() {
    play(Scene::set("a_script_in_the_review_window_decides_nothing", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "issue_credit", CREDIT, "by-a-script").await?;
        console.review(&request.to_string()).await?;
        for script in [
            "document.querySelector('#start-approving').click()",
            "document.querySelector('#start-denying').click()",
            "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }))",
            "document.querySelector('#approve-commit').click()",
            "document.querySelector('#deny-commit').click()",
            "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))",
        ] {
            console.driver.execute(script, vec![]).await?;
            let open = console.shows("#approve").await? || console.shows("#deny").await?;
            check(!open, || format!("a scripted event opened a panel: `{script}`"))?;
        }
        // Straight to the core, with the page's own nonce: nothing was read, and no panel is open.
        let nonce = console.driver.attribute("html", "data-nonce").await?.unwrap_or_default();
        let decision = json!({ "kind": "approve", "nonce": nonce, "answer": "", "reasonKind": "other",
            "reason": "a reason that is long enough", "pin": PIN, "heldMs": 5000, "twoPresses": false });
        let answer = invoke(&console, "review_decide", json!({ "decision": decision })).await?;
        scene.say(&format!("the core says: {answer:?}"));
        console.settled().await?;
        let told = billing.outcome(&asked.call, 0).await?;
        check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
        // The commands of other windows are not this one's either.
        for command in [
            "enrolment_act",
            "keys_act",
            "answer_sign",
            "answer_state",
            "ask_provider",
            "open_answer",
            "inbox_open",
            "inbox_page",
            "open_review",
            "save_settings",
        ] {
            let arguments = json!({ "nonce": nonce, "action": "discard", "fields": {}, "request": request.to_string() });
            check(invoke(&console, command, arguments).await?.is_err(), || format!("a review window may call `{command}`"))?;
        }
        scene.say("scripted clicks and keys, and a direct call of the core, decided nothing");
        scene.close(console).await
    })
    .await;
}

/// Return held from the inbox into the window: it opens, and nothing more. Held on the armed control: nothing either.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_key_decides_nothing() {
    play(Scene::set("a_held_key_decides_nothing", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (asked, _) = ask(&billing, "issue_credit", CREDIT, "by-a-held-key").await?;
        console.show_rows(1).await?;
        console.driver.execute("document.querySelector('[data-request]').focus()", vec![]).await?;
        scene.desktop.run("xdotool", &["keydown", "Return"])?;
        let began = std::time::Instant::now();
        let opened = console.driver.window_with_url("vidimus-review://").await;
        let held = console.unlocked_or_not("#approve-commit").await;
        tokio::time::sleep(HELD_FOR.saturating_sub(began.elapsed())).await;
        scene.desktop.run("xdotool", &["keyup", "Return"])?;
        opened?;
        held?;
        check(!console.shows("#approve").await? && !console.shows("#deny").await?, || "a panel is open".to_owned())?;
        scene.say("a key held in the inbox opened the window and went no further");

        // The PIN has to be typed once, so that a press of this control would decide.
        console.read_all().await?;
        console.open_panel(vidimus_tests::console::Panel::Approve).await?;
        console.type_pin("#pin", PIN).await?;
        console.unlocked("#approve-commit").await?;
        console.driver.execute("document.querySelector('#approve-commit').focus()", vec![]).await?;
        let count = "window.held = 0; document.addEventListener('keydown', (event) => { if (event.repeat) window.held += 1; }, true);";
        console.driver.execute(count, vec![]).await?;
        scene.desktop.run("xdotool", &["keydown", "Return"])?;
        let repeated = async {
            let deadline = std::time::Instant::now() + SOON;
            loop {
                let held = console.driver.execute("return window.held", vec![]).await?;
                if held.as_u64().unwrap_or_default() >= 5 {
                    return Outcome::Ok(());
                }
                check(std::time::Instant::now() < deadline, || format!("the held key repeated {held} times only"))?;
                console.settled().await?;
            }
        };
        let repeated = repeated.await;
        let told = billing.outcome(&asked.call, 0).await?;
        // Focus goes elsewhere before the key comes up: that press counts for nothing.
        console.driver.execute("document.querySelector('#approve h2').focus()", vec![]).await?;
        scene.desktop.run("xdotool", &["keyup", "Return"])?;
        repeated?;
        check(told.status.as_str() == "pending", || format!("the call is `{}` while the key is held", told.status.as_str()))?;
        console.settled().await?;
        let told = billing.outcome(&asked.call, 0).await?;
        check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
        scene.count(Tool::IssueCredit, 0).await?;
        scene.say("a key held on the armed control decided nothing");
        scene.close(console).await
    })
    .await;
}
