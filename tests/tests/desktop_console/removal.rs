//! A person is taken off the roster, in the windows of those who propose, decide and are removed.

use std::time::{Duration, Instant};

use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::desktop::Options;

use crate::looks::Gallery;
use crate::scene::{
    FOUNDER, PIN, REASON, Scene, admit_person, approves_nothing, ask, check, play, read_and_start, themes, until_status, waiting_in,
};
use crate::second_person::{WIRE, approve_wire};

/// How soon the removed person's window has to say so.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_removed_in_the_window_and_decides_nothing_any_more() {
    for (here, there) in themes() {
        removed(here, there).await;
    }
}

async fn removed(here: &'static str, there: &'static str) {
    let name = "a_person_is_removed_in_the_window";
    play(Scene::set(name, &["treasury"], Options::default()).await, async |scene| {
        let console = scene.founder_in(here).await?;
        let kim = scene.seat("kim", there).await?;
        kim.console.enrol_waiting(&scene.home.invite("Kim Example", &["treasury"])?, PIN).await?;
        crate::keys::admit(&console, &waiting_in(&console, "gate.roster.change").await?).await?;
        kim.console.key_says("active").await?;
        let agent = scene.agent("treasury")?;
        let (first, first_request) = ask(&agent, "wire_transfer", WIRE, "approved-before").await?;
        approve_wire(&kim.console, &first_request).await?;
        kim.console.close_review().await?;
        let (second, second_request) = ask(&agent, "wire_transfer", &WIRE.replace("INV-1001", "INV-1002"), "decided-after").await?;
        read_and_start(&kim.console, &second_request).await?;
        scene.say("Kim has approved one request, and is about to approve another");

        let (mut first_look, mut second_look) = (Gallery::open(here)?, Gallery::open(there)?);
        console.open_keys().await?;
        console.driver.click("[data-part=other-people] button[id^=remove-]").await?;
        console.driver.wait_for_text("#title", "Kim Example").await?;
        first_look.look(scene, &console, "removal-propose").await?;
        console.driver.click("#confirm").await?;
        console.driver.wait_for_text("[data-part=said]", "Proposed").await?;
        console.leave_by("#close").await?;
        console.driver.keys("gi").await?;
        let removal = waiting_in(&console, "gate.roster.change").await?;
        read_and_start(&console, &removal).await?;
        let shown = console.driver.text("main").await?;
        for words in ["a person goes, with all keys", "Kim Example", "Roles now", "treasury", "Roles after it", "none", FOUNDER] {
            check(shown.contains(words), || format!("`{words}` is not in the window: {shown}"))?;
        }
        first_look.look(scene, &console, "removal-review").await?;
        console.approve_with_reason(REASON, PIN).await?;
        let decided = Instant::now();
        console.receipt().await?;
        scene.say("the removal was read old beside new, and decided in the window");

        kim.console.driver.wait_for_text("#hard-locks", "E-KEY-10").await?;
        let took = decided.elapsed();
        check(took <= TOLD_WITHIN, || format!("Kim's window says so after {took:?}"))?;
        approves_nothing(&kim.console).await?;
        second_look.look_on(&kim.desktop, &kim.console, "removed-review").await?;
        let notice = kim.console.notice("E-KEY-10").await?;
        for words in ["taken off the people of this gate", FOUNDER] {
            check(notice.contains(words), || format!("`{words}` is not in the notice: {notice}"))?;
        }
        kim.console.key_says("removed").await?;
        second_look.look_on(&kim.desktop, &kim.console, "removed-main").await?;
        scene.say(&format!("within {} ms the removed console says why, and who to ask: {notice}", took.as_millis()));

        until_status(&agent, &first, "stale").await?;
        until_status(&agent, &second, "pending").await?;
        scene.count(Tool::WireTransfer, 0).await?;
        scene.say("what the removed person approved counts for nothing, and what they had open still waits for others");
        first_look.close(scene)?;
        second_look.close(scene)?;
        kim.console.close().await?;
        scene.close(console).await
    })
    .await;
}

/// A decision that was signed before the removal and arrives after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_on_its_way_while_its_person_is_removed_is_refused() {
    let name = "a_decision_on_its_way_while_its_person_is_removed";
    play(Scene::set(name, &["treasury"], Options::default()).await, async |scene| {
        let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let lou = admit_person(scene, &robin, "Lou Example", &["treasury"], 11).await?;
        let agent = scene.agent("treasury")?;
        let (asked, request) = ask(&agent, "wire_transfer", WIRE, "on-its-way").await?;
        let statement = lou.statement(request, vidimus_core::decision::DecisionKind::Approve, "treasury").await?;
        let session = lou.client()?.clone();
        let proposal = vidimus_api::roster::RosterProposal::Remove { person: lou.person };
        let removal = robin.client()?.propose_roster_change(&proposal).await?.request;
        robin.approve(removal, "admin").await?;
        let deadline = Instant::now() + crate::scene::SOON;
        while session.roster().await.is_ok() {
            check(Instant::now() < deadline, || "the session goes on".to_owned())?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let refused = lou.hand_in(request, &statement).await.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("credential_invalid"), || format!("in the person's own session it meets {refused:?}"))?;
        // Carried by somebody who still has a session, the signature itself is refused.
        let carried = robin.hand_in_envelope(request, &statement.sign(&lou.approval)?).await;
        let refused = carried.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("key_unknown"), || format!("carried by another it meets {refused:?}"))?;
        until_status(&agent, &asked, "pending").await?;
        scene.count(Tool::WireTransfer, 0).await?;
        scene.say("a decision that was signed before the removal is refused after it");
        Ok(())
    })
    .await;
}
