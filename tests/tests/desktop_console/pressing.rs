//! Presses that count once, and presses that count for nothing: clicked twice, held on, pasted, dragged off, let go early.

use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, SOON, Scene, admit_console, ask, check, play, read_and_start, until_status};
use crate::second_person::HELD;

const ESCAPE: char = '\u{e00c}';
const CONTROL: char = '\u{e009}';
const ROLES: &[&str] = &["billing-approver", "support-lead"];
/// Long enough for any key that is held to repeat, and for whatever it set off to show.
const HELD_ON: Duration = Duration::from_secs(3);

async fn decisions(robin: &Approver, request: &RequestId) -> Outcome<usize> {
    Ok(robin.client()?.request_detail(request).await?.decisions.len())
}

async fn press(console: &Console, actions: KeyActions) -> Outcome {
    Ok(console.driver.client()?.perform_actions(actions).await?)
}

fn keys() -> KeyActions {
    KeyActions::new("keyboard".to_owned())
}

/// Reads a credit whole, opens its panel, and waits until one press would approve it.
async fn armed_credit(console: &Console, request: &RequestId) -> Outcome {
    read_and_start(console, request).await?;
    console.type_pin("#pin", PIN).await?;
    Ok(console.unlocked("#approve-commit").await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_is_one_record_and_keys_held_on_decide_nothing_else() {
    let name = "a_double_click_is_one_record_and_keys_held_on_decide_nothing_else";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let console = admit_console(scene, &robin, "Kim Example", ROLES).await?;
        let billing = scene.agent("billing")?;

        let (asked, request) = ask(&billing, "issue_credit", CREDIT, "double").await?;
        armed_credit(&console, &request).await?;
        let element = console.driver.wait_for("#approve-commit").await?;
        let button = MOUSE_BUTTON_LEFT;
        let twice = MouseActions::new("mouse".to_owned())
            .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
            .then(PointerAction::Down { button })
            .then(PointerAction::Up { button })
            .then(PointerAction::Down { button })
            .then(PointerAction::Up { button });
        console.driver.client()?.perform_actions(twice).await?;
        console.receipt().await?;
        until_status(&billing, &asked, "executed").await?;
        console.settled().await?;
        let recorded = decisions(&robin, &request).await?;
        check(recorded == 1, || format!("a double click made {recorded} records"))?;
        scene.count(Tool::IssueCredit, 1).await?;
        scene.say("a double click made one record");
        console.close_review().await?;

        let (asked, request) = ask(&billing, "issue_credit", &CREDIT.replace("500", "501"), "held-on").await?;
        let (_, next) = ask(&billing, "issue_credit", &CREDIT.replace("500", "502"), "next").await?;
        armed_credit(&console, &request).await?;
        console.driver.execute("document.querySelector('#approve h2').focus()", vec![]).await?;
        scene.desktop.run("xdotool", &["keydown", "Control_L", "keydown", "Return"])?;
        let held = held_on(scene, &console, &next).await;
        scene.desktop.run("xdotool", &["keyup", "Return", "keyup", "Control_L"])?;
        held?;
        until_status(&billing, &asked, "executed").await?;
        console.settled().await?;
        for (request, expected) in [(&request, 1), (&next, 0)] {
            let recorded = decisions(&robin, request).await?;
            check(recorded == expected, || format!("{recorded} decisions about {request}"))?;
        }
        scene.count(Tool::IssueCredit, 2).await?;
        scene.say("keys that are still held after an approval leave the next request alone");
        scene.close(console).await
    })
    .await;
}

/// The keys that approved are still down while the next request opens.
async fn held_on(scene: &Scene, console: &Console, next: &RequestId) -> Outcome {
    console.receipt().await?;
    console.driver.wait_for("#next:not([hidden])").await?;
    console.driver.click("#next").await?;
    console.driver.window_with_url(&format!("vidimus-review://localhost/{next}")).await?;
    console.driver.wait_for("#start-approving[aria-disabled]").await?;
    let count = "window.pressed = 0; document.addEventListener('keydown', () => { window.pressed += 1 }, true)";
    console.driver.execute(count, vec![]).await?;
    let until = Instant::now() + HELD_ON;
    while Instant::now() < until {
        check(!console.shows("#approve").await? && !console.shows("#receipt").await?, || "a held key went on".to_owned())?;
        console.settled().await?;
    }
    let pressed = console.driver.execute("return window.pressed", vec![]).await?.as_u64().unwrap_or_default();
    check(pressed >= 5, || format!("the held keys reached the next window {pressed} times only"))?;
    scene.say(&format!("the next request is open, the held keys reached it {pressed} times, and its panels are closed"));
    Ok(())
}

/// A mail that only the hold is missing for.
async fn ready_mail(console: &Console, request: &RequestId) -> Outcome {
    read_and_start(console, request).await?;
    console.answer("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    Ok(console.unlocked("#hold").await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_irreversible_is_sent_by_half_a_gesture() {
    let name = "nothing_irreversible_is_sent_by_half_a_gesture";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let support = scene.agent("support")?;
        let (asked, request) = ask(&support, "send_email", MAIL, "half").await?;
        pasted(scene, &console, &request).await?;
        ready_mail_here(&console).await?;
        dragged_off(&console).await?;
        let_go_by_escape(&console, &request).await?;
        let told = support.outcome(&asked.call, 0).await?;
        check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
        scene.count(Tool::SendEmail, 0).await?;
        scene.say("pasted, dragged off and left by Esc: nothing was sent");

        // The same by the keyboard alone, held for its time.
        console.driver.execute("document.querySelector('#hold').focus()", vec![]).await?;
        press(
            &console,
            keys().then(KeyAction::Down { value: ' ' }).then(KeyAction::Pause { duration: HELD }).then(KeyAction::Up { value: ' ' }),
        )
        .await?;
        console.receipt().await?;
        until_status(&support, &asked, "executed").await?;
        scene.count(Tool::SendEmail, 1).await?;
        scene.say("held by a key for its time, it was sent");
        console.close_review().await?;

        let (asked, request) = ask(&support, "send_email", &MAIL.replace("Friday", "Sunday"), "wrong-twice").await?;
        wrong_twice(&console, &request).await?;
        until_status(&support, &asked, "denied").await?;
        scene.count(Tool::SendEmail, 1).await?;
        scene.say("two wrong answers paused approving, and denying worked");
        scene.close(console).await
    })
    .await;
}

async fn pasted(scene: &Scene, console: &Console, request: &RequestId) -> Outcome {
    read_and_start(console, request).await?;
    console.driver.type_text("#reason", "bert@example.org").await?;
    for letter in ['a', 'c'] {
        press(console, with_control(letter)).await?;
    }
    console.driver.execute("document.querySelector('#answer').focus()", vec![]).await?;
    press(console, with_control('v')).await?;
    console.driver.wait_for_text("#approve [data-part=message]", "pasting skips the check").await?;
    let held = console.driver.execute("return document.querySelector('#answer').value", vec![]).await?;
    check(held == "", || format!("the field holds {held}"))?;
    console.driver.clear("#reason").await?;
    scene.say("what was pasted is not taken");
    Ok(())
}

fn with_control(letter: char) -> KeyActions {
    keys()
        .then(KeyAction::Down { value: CONTROL })
        .then(KeyAction::Down { value: letter })
        .then(KeyAction::Up { value: letter })
        .then(KeyAction::Up { value: CONTROL })
}

async fn ready_mail_here(console: &Console) -> Outcome {
    console.answer("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    Ok(console.unlocked("#hold").await?)
}

/// Held for its time, and let go beside the button.
async fn dragged_off(console: &Console) -> Outcome {
    let element = console.driver.wait_for("#hold").await?;
    let button = MOUSE_BUTTON_LEFT;
    let actions = MouseActions::new("mouse".to_owned())
        .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
        .then(PointerAction::Down { button })
        .then(PointerAction::Pause { duration: HELD })
        .then(PointerAction::MoveTo { duration: None, x: 20.0, y: 60.0 })
        .then(PointerAction::Up { button });
    console.driver.client()?.perform_actions(actions).await?;
    sent_nothing(console, "dragged off").await
}

/// Held for its time, and Esc before it is let go; the panel asks before it discards, and goes on.
async fn let_go_by_escape(console: &Console, request: &RequestId) -> Outcome {
    console.driver.execute("document.querySelector('#hold').focus()", vec![]).await?;
    let actions = keys()
        .then(KeyAction::Down { value: ' ' })
        .then(KeyAction::Pause { duration: HELD })
        .then(KeyAction::Down { value: ESCAPE })
        .then(KeyAction::Up { value: ESCAPE })
        .then(KeyAction::Up { value: ' ' });
    press(console, actions).await?;
    sent_nothing(console, "left by Esc").await?;
    console.driver.wait_for("#discard:not([hidden])").await?;
    console.driver.click("#discard-yes").await?;
    console.close_review_by_key().await?;
    ready_mail(console, request).await
}

async fn sent_nothing(console: &Console, how: &str) -> Outcome {
    console.settled().await?;
    check(!console.shows("#receipt").await?, || format!("{how}, it was approved"))?;
    let progress = console.driver.text("#progress").await?;
    check(progress.trim().is_empty(), || format!("{how}, it says: {progress}"))
}

async fn wrong_twice(console: &Console, request: &RequestId) -> Outcome {
    read_and_start(console, request).await?;
    console.answer("bert@example.com").await?;
    console.driver.wait_for_text("#approve [data-part=message]", "E-DEC-5").await?;
    console.another_question().await?;
    console.answer("bert@example.net").await?;
    console.driver.wait_for_text("#hard-locks", "E-DEC-6").await?;
    check(console.driver.attribute("#hold", "aria-disabled").await?.as_deref() == Some("true"), || "the hold is open".to_owned())?;
    // Text may have been typed: leaving asks before it discards.
    let deadline = Instant::now() + SOON;
    while !console.shows("#bar").await? {
        console.driver.keys(&ESCAPE.to_string()).await?;
        if console.shows("#discard").await? {
            console.driver.click("#discard-yes").await?;
        }
        check(Instant::now() < deadline, || "the panel stays".to_owned())?;
        console.settled().await?;
    }
    console.open_panel(Panel::Deny).await?;
    console.deny("other", "two answers were wrong", PIN).await?;
    console.receipt().await?;
    Ok(())
}
