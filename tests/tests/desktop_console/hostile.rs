//! A gate, or somebody before it, that lies: approving locks and says why, denying works as long as the gate is the pinned one.

use std::sync::Arc;

use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;
use vidimus_tests::gate::GateHome;
use vidimus_tests::processes::Binary;

use crate::proxy::{Lie, Proxy};
use crate::scene::{FOUNDER, Outcome, PIN, REFUND, Scene, ask, call, check, play, until_status};

const ROLES: &[&str] = &["billing-approver", "support-lead"];
const STREAM: &str = "GET /v1/log/stream";
const DETAIL: &str = "GET /v1/requests/";

pub async fn behind_a_proxy(scene: &Scene) -> Outcome<(Proxy, Arc<Console>)> {
    let proxy = Proxy::start(&scene.home.url()).await?;
    let console = scene.open_console().await?;
    console.enrol(&scene.invite_by_way_of(&proxy.url)?, PIN).await?;
    Ok((proxy, console))
}

/// Opens the approve panel and expects it locked for this reason, without a form.
async fn expect_locked(console: &Console, request: &RequestId, id: &str) -> Outcome {
    console.review(&request.to_string()).await?;
    console.open_panel(Panel::Approve).await?;
    let said = console.driver.wait_for_text("#hard-locks", id).await?;
    check(!console.shows("#approve-form").await?, || format!("a form is shown beside: {said}"))?;
    console.driver.click("#approve h2").await?;
    console.driver.keys("\u{e00c}").await?;
    Ok(())
}

/// One byte of the arguments as the request's own page tells them; the log tells the truth.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_shows_other_bytes_than_the_log_gets_no_approval() {
    let name = "a_gate_that_shows_other_bytes_than_the_log_gets_no_approval";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        proxy.tell(Lie { asked: DETAIL, truth: b":8990,".to_vec(), lie: b":8999,".to_vec() });
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "other-detail").await?;
        console.review(&request.to_string()).await?;
        console.driver.wait_for_text("[data-part=gate-says]", "NO").await?;
        console.driver.click("#save-evidence").await?;
        console.driver.wait_for_text("#log", "Evidence saved").await?;
        let evidence = std::fs::read_to_string(scene.profile.join(format!("evidence/{request}.txt")))?;
        check(evidence.contains("amount_minor") && evidence.contains("Differs"), || format!("the evidence is: {evidence}"))?;
        scene.say("the window says that the gate holds other bytes, and keeps the evidence");
        console.close_review_by_key().await?;
        expect_locked(&console, &request, "E-REQ-1").await?;
        check(proxy.told() > 0, || "the lie was never told".to_owned())?;
        scene.say("approving is locked with E-REQ-1");
        deny(&console).await?;
        until_status(&billing, &asked, "denied").await?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("denying worked");
        scene.close(console).await
    })
    .await;
}

/// One byte of the arguments in the log's own stream: it is not the body that the signed leaf names.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_byte_in_the_log_gets_no_approval() {
    play(Scene::set("a_changed_byte_in_the_log_gets_no_approval", ROLES, Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        proxy.tell(Lie { asked: STREAM, truth: b":8990,".to_vec(), lie: b":8999,".to_vec() });
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "other-body").await?;
        expect_locked(&console, &request, "E-REQ-1").await?;
        check(proxy.told() > 0, || "the lie was never told".to_owned())?;
        scene.say("approving is locked with E-REQ-1");
        deny(&console).await?;
        until_status(&billing, &asked, "denied").await?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("denying worked, by the digest that the signed log names");
        scene.close(console).await
    })
    .await;
}

/// A digest of the signed leaf, changed: the records do not make the signed root.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_leaf_breaks_the_copy_of_the_log() {
    play(Scene::set("a_changed_leaf_breaks_the_copy_of_the_log", ROLES, Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "before-the-lie").await?;
        console.review(&request.to_string()).await?;
        // From here on every record of a request speaks of another amount of care.
        let (truth, lie) = (b"request_created".to_vec(), b"request_crEated".to_vec());
        proxy.tell(Lie { asked: STREAM, truth, lie });
        let other = REFUND.replace("invoice_842", "invoice_851");
        billing.call(&call("refund", &other, "with-the-lie")?, 0).await?;
        console.open_panel(Panel::Approve).await?;
        console.driver.wait_for_text("#hard-locks", "E-AUD-1").await?;
        check(proxy.told() > 0, || "the lie was never told".to_owned())?;
        console.main().await?;
        console.notice("E-AUD-1").await?;
        scene.say("the copy of the log is broken, in words, and approving is locked with E-AUD-1");
        console.review(&request.to_string()).await?;
        deny_from_approve(&console).await?;
        until_status(&billing, &asked, "denied").await?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("denying worked");
        scene.close(console).await
    })
    .await;
}

/// The signed head with one letter of its root changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_nobody_signed_locks_everything() {
    play(Scene::set("a_head_that_nobody_signed_locks_everything", ROLES, Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "before-the-head").await?;
        console.review(&request.to_string()).await?;
        // The signature line of a note begins with a dash, its name and the key's number.
        let gate = founder_gate(scene)?;
        let (truth, lie) = (format!("— {gate} ").into_bytes(), format!("— {} ", gate.replace("gate_", "gatE_")).into_bytes());
        proxy.tell(Lie { asked: STREAM, truth, lie });
        let other = REFUND.replace("invoice_842", "invoice_851");
        billing.call(&call("refund", &other, "with-the-head")?, 0).await?;
        console.open_panel(Panel::Approve).await?;
        let said = console.driver.wait_for_text("#hard-locks", "E-NET-4").await?;
        check(proxy.told() > 0, || "the lie was never told".to_owned())?;
        check(said.contains("Everything is locked"), || format!("the window says: {said}"))?;
        scene.count(Tool::Refund, 0).await?;
        scene.say("everything is locked with E-NET-4");
        let kept = std::fs::read_dir(scene.profile.join("evidence"))?.count();
        check(kept > 0, || "no evidence is kept".to_owned())?;
        proxy.tell_the_truth();
        billing.call(&call("refund", &REFUND.replace("invoice_842", "invoice_877"), "with-the-truth")?, 0).await?;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(45);
        while console.shows("#hard-locks").await? {
            check(std::time::Instant::now() < deadline, || "it stays locked although a good head came".to_owned())?;
            console.settled().await?;
        }
        scene.say("a signed head that extends the verified one ended it");
        scene.close(console).await
    })
    .await;
}

/// Another gate at the same address.
#[tokio::test(flavor = "multi_thread")]
async fn another_gate_at_the_address_locks_everything() {
    play(Scene::set("another_gate_at_the_address_locks_everything", ROLES, Options::default()).await, async |scene| {
        let (proxy, console) = behind_a_proxy(scene).await?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "before-the-other").await?;
        console.review(&request.to_string()).await?;
        let program = Binary::path("vidimus-gate")?;
        let table = std::fs::read_to_string(scene.folder.path().join("gate/effects.toml"))?;
        let (other, _invite) = GateHome::init(&program, &scene.folder.path().join("other"), &table, "test", FOUNDER, ROLES)?;
        let _other = other.serve(&[])?;
        proxy.lead_to(&other.url());
        // The connections that stand lead to the first gate.
        scene.end_gate()?;
        console.open_panel(Panel::Approve).await?;
        console.driver.wait_for_text("#hard-locks", "E-NET-4").await?;
        console.main().await?;
        console.notice("E-NET-4").await?;
        scene.say("everything is locked with E-NET-4");
        scene.close(console).await
    })
    .await;
}

/// The pinned gate, put back to an earlier state: its signatures hold, its log has shrunk.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_shrank_breaks_the_copy_of_the_log() {
    play(Scene::set("a_log_that_shrank_breaks_the_copy_of_the_log", ROLES, Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        scene.end_gate()?;
        let (data, earlier) = (scene.home.data(), scene.folder.path().join("earlier"));
        copy(&data, &earlier)?;
        scene.serve_gate()?;
        let billing = scene.agent("billing")?;
        let (_, request) = ask(&billing, "refund", REFUND, "soon-forgotten").await?;
        console.review(&request.to_string()).await?;
        console.open_panel(Panel::Approve).await?;
        scene.end_gate()?;
        std::fs::remove_dir_all(&data)?;
        copy(&earlier, &data)?;
        scene.serve_gate()?;
        console.driver.wait_for_text("#hard-locks", "E-AUD-1").await?;
        check(!console.shows("#approve-form").await?, || "a form is shown".to_owned())?;
        scene.say("the log shrank, and approving is locked with E-AUD-1");
        scene.close(console).await
    })
    .await;
}

async fn deny(console: &Console) -> Outcome {
    console.open_panel(Panel::Deny).await?;
    console.deny("other", "this is not what I was shown", PIN).await?;
    let receipt = console.receipt().await?;
    check(receipt.contains("Denied and recorded."), || format!("the receipt says: {receipt}"))
}

async fn deny_from_approve(console: &Console) -> Outcome {
    console.driver.click("#approve h2").await?;
    console.driver.keys("\u{e00c}").await?;
    deny(console).await
}

fn founder_gate(scene: &Scene) -> Outcome<String> {
    let invite: vidimus_api::invite::Invite = scene.invite.parse()?;
    Ok(invite.gate.to_string())
}

fn copy(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
