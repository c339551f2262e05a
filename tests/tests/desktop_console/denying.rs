//! Denying, and who may not decide at all.

use vidimus_api::request::DenialKind;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::console::Panel;
use vidimus_tests::desktop::Options;

use crate::scene::{FOUNDER, PIN, REFUND, Scene, admit_console, admit_person, ask, check, play, until_status};

const NOTE: &str = "the customer wrote that they keep it";

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_reaches_the_agent_with_its_reason() {
    let scene = Scene::set("a_denial_reaches_the_agent_with_its_reason", &["billing-approver"], Options::default()).await;
    play(scene, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "denied").await?;
        console.review(&request.to_string()).await?;
        // Nothing of the request has to be read for this.
        console.open_panel(Panel::Deny).await?;
        console.deny("not_expected", NOTE, PIN).await?;
        let receipt = console.receipt().await?;
        check(receipt.contains("Denied and recorded."), || format!("the receipt says: {receipt}"))?;
        let told = until_status(&billing, &asked, "denied").await?;
        let denial = told.denial.ok_or("the agent is told no reason")?;
        let expected = (DenialKind::NotExpected.as_str(), NOTE, "billing-approver");
        check((denial.kind.as_str(), denial.note.as_str(), denial.role.as_str()) == expected, || format!("the agent is told {denial:?}"))?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("a refund was denied, and the agent has the kind, the note and the role");
        scene.close(console).await
    })
    .await;
}

/// Kim at the console and Lou at the API approve mails, not refunds; as auditors they read every request.
#[tokio::test(flavor = "multi_thread")]
async fn who_lacks_the_role_is_told_and_the_gate_refuses_a_forged_decision() {
    let name = "who_lacks_the_role_is_told_and_the_gate_refuses_a_forged_decision";
    play(Scene::set(name, &["billing-approver"], Options::default()).await, async |scene| {
        let founder = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let billing = scene.agent("billing")?;
        let roles = ["support-lead", "auditor"];
        let console = admit_console(scene, &founder, "Kim Example", &roles).await?;
        scene.say("the second person was admitted, and their console went on by itself");
        let forger = admit_person(scene, &founder, "Lou Example", &roles, 11).await?;

        let (asked, request) = ask(&billing, "refund", REFUND, "wrong-role").await?;
        console.review(&request.to_string()).await?;
        console.open_panel(Panel::Approve).await?;
        let said = console.driver.wait_for_text("#hard-locks", "E-DEC-2").await?;
        check(said.contains("billing-approver") && said.contains("support-lead"), || format!("the window says: {said}"))?;
        check(said.contains(&format!("{FOUNDER} can.")), || format!("the window does not say who can: {said}"))?;
        check(!console.shows("#approve-form").await?, || "a form is shown to who may not decide".to_owned())?;
        scene.say("the window names the role that is needed and shows no form");

        for role in ["support-lead", "billing-approver"] {
            let refused = match forger.approve(request, role).await {
                Ok(receipt) => return Err(format!("a decision forged as `{role}` was recorded: {receipt:?}").into()),
                Err(error) => error,
            };
            let code = refused.code().unwrap_or_default();
            check(code.starts_with("role_not_"), || format!("refused as `{role}` with {refused}"))?;
            scene.say(&format!("a decision forged in the role `{role}` was refused with `{code}`"));
        }
        scene.count(Tool::Refund, 0).await?;
        let told = billing.outcome(&asked.call, 0).await?;
        check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
        scene.close(console).await
    })
    .await;
}
