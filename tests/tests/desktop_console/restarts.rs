//! The gate and the console end and come back while a request waits.

use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::scene::{Outcome, PIN, REASON, REFUND, SOON, Scene, ask, check, play, until_status};

/// What a window says of the request's identity and its end.
async fn identity(console: &Console, request: &str) -> Outcome<(String, String)> {
    console.review(request).await?;
    let hash = console.driver.attribute("html", "data-hash").await?.unwrap_or_default();
    let facts = console.driver.text("[data-part=facts]").await?;
    let until = facts.lines().skip_while(|line| !line.contains("Waits until")).take(2).collect::<Vec<_>>().join(" ");
    check(!hash.is_empty() && !until.is_empty(), || format!("no identity in the window: {facts}"))?;
    Ok((hash, until))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_outlives_the_gate_and_the_console() {
    let scene = Scene::set("a_request_outlives_the_gate_and_the_console", &["billing-approver"], Options::default()).await;
    play(scene, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        // Who looks at the inbox is told there.
        scene.desktop.look_away()?;
        let (asked, request) = ask(&billing, "refund", REFUND, "outlives").await?;
        let request = request.to_string();
        scene.desktop.wait_for_notification(SOON, |sent| sent.summary.contains("Approval needed"))?;
        let before = identity(&console, &request).await?;
        check(Some(before.0.as_str()) == asked.request_sha256.map(|digest| digest.to_string()).as_deref(), || {
            format!("the window's digest is {}", before.0)
        })?;

        scene.end_gate()?;
        console.open_panel(Panel::Approve).await?;
        console.driver.wait_for_text("#hard-locks", "E-NET-1").await?;
        scene.say("without its gate the window says so and locks");
        console.driver.click("#approve h2").await?;
        scene.serve_gate()?;
        console.gone("#hard-locks:not([hidden])").await?;
        console.driver.keys("\u{e00c}").await?;
        console.close_review_by_key().await?;
        check(identity(&console, &request).await? == before, || "the request is another one after the gate's restart".to_owned())?;
        scene.say("after the gate's restart the digest and the last moment are the same");

        scene.close(console).await?;
        let console = scene.open_console().await?;
        check(identity(&console, &request).await? == before, || "the request is another one after the console's restart".to_owned())?;
        let sent: Vec<_> = scene.desktop.notifications()?.into_iter().filter(|sent| sent.summary.contains("Approval needed")).collect();
        check(sent.len() == 1, || format!("there were {} notifications: {sent:?}", sent.len()))?;
        scene.say("after the console's restart too, and there was one notification in all");

        console.read_all().await?;
        console.open_panel(Panel::Approve).await?;
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        scene.count(Tool::Refund, 1).await?;
        until_status(&billing, &asked, "executed").await?;
        scene.close(console).await
    })
    .await;
}

/// A console that starts without its gate says so, and goes on by itself when the gate comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_without_its_gate_says_so() {
    play(Scene::set("a_console_without_its_gate_says_so", &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        scene.close(console).await?;
        scene.end_gate()?;
        let console = scene.open_console().await?;
        let notice = console.notice("E-NET-1").await?;
        check(notice.contains("Requests may be waiting that you cannot see"), || format!("the notice says: {notice}"))?;
        scene.serve_gate()?;
        console.gone("[data-error='E-NET-1']").await?;
        console.key_says("active").await?;
        scene.say("the console started without its gate, said so, and found it by itself");
        scene.close(console).await
    })
    .await;
}
