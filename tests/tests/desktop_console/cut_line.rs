//! The network pulled while a decision is on its way: the window says that it is not confirmed, offers no second one, and tells the
//! truth once the line is back.

use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::hostile::behind_a_proxy;
use crate::proxy::{Cut, Proxy};
use crate::scene::{Outcome, PIN, REASON, REFUND, Scene, approves_nothing, ask, check, play, read_and_start, until_status};

const DECISION: &str = "/decisions HTTP";

/// Approves, while the line is cut at the decision.
async fn approve_into_the_cut(console: &Console, proxy: &Proxy, request: &RequestId, cut: Cut) -> Outcome {
    read_and_start(console, request).await?;
    proxy.cut(cut);
    console.approve_with_reason(REASON, PIN).await?;
    let said = console.driver.wait_for_text("#approve [data-part=message]", "E-NET-2").await?;
    check(proxy.is_cut(), || "the line was never cut".to_owned())?;
    check(said.contains("not confirmed yet") && said.contains("Do not decide again"), || format!("the window says: {said}"))?;
    console.driver.wait_for("#hard-locks:not([hidden])").await?;
    approves_nothing(console).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_whose_answer_is_lost_is_told_as_it_is() {
    let name = "a_decision_whose_answer_is_lost_is_told_as_it_is";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        let billing = scene.agent("billing")?;

        let (asked, request) = ask(&billing, "refund", REFUND, "after").await?;
        approve_into_the_cut(&console, &proxy, &request, Cut::After(DECISION)).await?;
        until_status(&billing, &asked, "executed").await?;
        scene.say("the decision arrived and its answer did not: not confirmed, and no second one is offered");
        proxy.mend();
        let said = console.driver.wait_for_text("#hard-locks", "E-DEC-1").await?;
        check(said.contains("approved"), || format!("with the line back the window says: {said}"))?;
        approves_nothing(&console).await?;
        scene.count(Tool::Refund, 1).await?;
        scene.say("with the line back the window tells that it was approved, and it happened once");
        leave(&console).await?;

        let (asked, request) = ask(&billing, "refund", &REFUND.replace("842", "851"), "before").await?;
        approve_into_the_cut(&console, &proxy, &request, Cut::Before(DECISION)).await?;
        proxy.mend();
        // It could still be on its way: the next approval waits, denying does not.
        console.driver.wait_for_text("#hard-locks", "E-NET-2").await?;
        approves_nothing(&console).await?;
        let told = billing.outcome(&asked.call, 0).await?;
        check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
        console.driver.keys("\u{e00c}").await?;
        console.driver.click("#discard-yes").await?;
        console.open_panel(Panel::Deny).await?;
        console.deny("other", "the line was cut, so rather not", PIN).await?;
        console.receipt().await?;
        until_status(&billing, &asked, "denied").await?;
        scene.count(Tool::Refund, 1).await?;
        scene.say("a decision that never arrived is not given again while it could arrive, and denying worked");
        scene.close(console).await
    })
    .await;
}

/// Leaves the window, whose panel may hold text.
async fn leave(console: &Console) -> Outcome {
    console.driver.keys("\u{e00c}").await?;
    if console.shows("#discard").await? {
        console.driver.click("#discard-yes").await?;
    }
    Ok(console.close_review_by_key().await?)
}
