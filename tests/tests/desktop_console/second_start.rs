//! Starting the program again: it opens what it is asked to in the console that runs, or says that one runs; it decides nothing.

use std::process::Output;
use std::time::Duration;

use vidimus_tests::desktop::Options;

use crate::scene::{Outcome, REFUND, Scene, ask, check, play, until_status};

/// How long a second start may take to hand over and end.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Links that come from anywhere: each tries to be more than the way to a request.
fn hostile_links(request: &str) -> Vec<String> {
    vec![
        format!("vidimus://approve/{request}"),
        format!("vidimus://request/{request}/approve"),
        format!("vidimus://request/{request}?decision=approve"),
        format!("vidimus://request/{request}#hold"),
        "vidimus://request/../../etc/passwd".to_owned(),
        "vidimus://request/".to_owned(),
        "vidimus:javascript:alert(1)".to_owned(),
    ]
}

async fn second(scene: &Scene, words: &[&str], on_the_bus: bool) -> Outcome<Output> {
    let mut command = scene.desktop.command(&scene.console_program);
    command.arg("--profile").arg(&scene.profile).args(words);
    if !on_the_bus {
        // As where there is no session bus to hand over on: only the lock is left.
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    }
    let running = tokio::process::Command::from(command).kill_on_drop(true).output();
    Ok(tokio::time::timeout(ENDS_WITHIN, running).await.map_err(|_| format!("a second start with {words:?} goes on"))??)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_opens_and_decides_nothing() {
    play(Scene::set("a_second_start_opens_and_decides_nothing", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "by-a-link").await?;
        console.show_rows(1).await?;

        for link in hostile_links(&request.to_string()) {
            let ended = second(scene, &[&link], true).await?;
            check(!ended.status.success(), || format!("`{link}` was taken"))?;
            check(console.driver.windows().await? == 1, || format!("`{link}` opened a window"))?;
        }
        scene.say("links that are more than the way to a request are refused");

        let ended = second(scene, &["vidimus://request/req_00000000000000000000000000"], true).await?;
        check(ended.status.success(), || format!("a link to nothing ended with {}", ended.status))?;
        check(console.driver.windows().await? == 1, || "a link to nothing opened a window".to_owned())?;

        let ended = second(scene, &[&format!("vidimus://request/{request}")], true).await?;
        check(ended.status.success(), || format!("the link ended with {}", ended.status))?;
        console.driver.window_with_url("vidimus-review://").await?;
        console.driver.wait_for("[data-part=arguments]").await?;
        // The same again raises it.
        second(scene, &[&format!("vidimus://request/{request}")], true).await?;
        check(console.driver.windows().await? == 2, || "the same link opened a second window".to_owned())?;
        until_status(&billing, &asked, "pending").await?;
        scene.say("a link opened its request's window, once, and decided nothing");

        let ended = second(scene, &[], false).await?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        check(!ended.status.success() && said.contains("another console is running"), || {
            format!("without a bus a second console ended with {}: {said}", ended.status)
        })?;
        scene.say("without a bus the lock keeps a second console away");
        scene.close(console).await
    })
    .await;
}

/// The settings' entry for the session, the hidden start that it asks for, and the window's size from one run to the next.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_outlives_a_restart() {
    play(Scene::set("what_is_set_outlives_a_restart", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        console.driver.keys("gs").await?;
        console.driver.wait_for("[data-part=autostart] input").await?;
        console.driver.click("[data-part=autostart] input").await?;
        console.driver.wait_for("[data-part=autostart] input:checked").await?;
        let entry = scene.desktop.home().join(".config/autostart/dev.vidimus.console.desktop");
        let text = std::fs::read_to_string(&entry).map_err(|error| format!("{}: {error}", entry.display()))?;
        check(text.contains("--hidden") && text.contains(&*scene.profile.to_string_lossy()), || format!("the entry is {text}"))?;
        console.driver.click("[data-part=quiet-hours] input").await?;
        console.driver.wait_for("[data-part=quiet-hours] select").await?;
        // Until tomorrow ends later than the quiet hours do, whatever the time is now.
        console.driver.execute("document.querySelectorAll('[data-part=pause-settings] button')[2].click()", vec![]).await?;
        console.driver.wait_for_text("nav [data-part=pause]", "Notifications paused until").await?;
        scene.close(console).await?;

        let console = scene.open_console().await?;
        console.driver.wait_for_text("nav [data-part=pause]", "Notifications paused until").await?;
        scene.say("a pause outlives a restart");
        console.driver.keys("gs").await?;
        console.driver.wait_for("[data-part=autostart] input:checked").await?;
        console.driver.wait_for("[data-part=quiet-hours] input:checked").await?;
        console.driver.click("[data-part=autostart] input").await?;
        console.driver.wait_for("[data-part=autostart] input:not(:checked)").await?;
        check(!entry.exists(), || "the entry is still there".to_owned())?;
        scene.close(console).await
    })
    .await;
}
