//! What the desktop is told, and what a click on it does.

use vidimus_tests::company::Tool;
use vidimus_tests::desktop::{NotificationServer, Options, Urgency};

use crate::scene::{PIN, REASON, REFUND, SOON, Scene, ask, check, play, read_and_start};

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_the_notification_opens_the_request_and_decides_nothing() {
    let name = "a_click_on_the_notification_opens_the_request_and_decides_nothing";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        // Who looks at the inbox is told there.
        scene.desktop.look_away()?;
        let (_, request) = ask(&billing, "refund", REFUND, "clicked").await?;
        let sent = scene.desktop.wait_for_notification(SOON, |sent| sent.id.is_some() && sent.summary.contains("Approval needed"))?;
        let said = format!("{} {}", sent.summary, sent.body);
        for value in ["8990", "89.90", "EUR", "invoice_842", "arrived broken"] {
            check(!said.contains(value), || format!("the notification names an argument: {said}"))?;
        }
        check(said.contains("billing") && said.contains("Expires"), || format!("the notification says: {said}"))?;
        let known = |action: &String| ["default", "open", "later"].contains(&action.as_str());
        check(sent.actions.iter().all(known) && sent.urgency == Urgency::Normal, || format!("the notification is {sent:?}"))?;
        scene.say(&format!("the notification says: {said}"));

        scene.desktop.invoke_default_action()?;
        console.driver.window_with_url(&format!("vidimus-review://localhost/{request}")).await?;
        console.driver.wait_for("#start-approving").await?;
        check(!console.shows("#approve").await? && !console.shows("#deny").await?, || "a panel is open".to_owned())?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("the click opened that request's window, and nothing was decided");
        scene.close(console).await
    })
    .await;
}

/// Without a notification server the console says so, and everything else works.
#[tokio::test(flavor = "multi_thread")]
async fn a_desktop_without_notifications_is_told_and_approving_works() {
    let name = "a_desktop_without_notifications_is_told_and_approving_works";
    let options = Options { notification_server: NotificationServer::Absent, ..Options::default() };
    play(Scene::set(name, &["billing-approver"], options).await, async |scene| {
        let console = scene.founder().await?;
        let notice = console.notice("E-NOT-1").await?;
        check(notice.contains("no notifications"), || format!("the notice says: {notice}"))?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "unnoticed").await?;
        read_and_start(&console, &request).await?;
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        scene.count(Tool::Refund, 1).await?;
        scene.close(console).await
    })
    .await;
}
