//! Two persons at two computers: what one does is seen by the other, soon, and in words.

use std::time::{Duration, Instant};

use vidimus_api::call::CallAnswer;
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::keys::admit;
use crate::looks::Gallery;
use crate::scene::{
    FOUNDER, Outcome, PIN, REASON, REFUND, Scene, Seat, approves_nothing, ask, check, play, read_and_start, themes, until_status,
    waiting_in,
};
use crate::second_person::WIRE;

/// How soon the other window has to tell what was decided elsewhere.
const SEEN_WITHIN: Duration = Duration::from_secs(2);
/// How soon a stop has to be in force.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// A second computer of a person, or one of another person, admitted by the founder in the window.
pub async fn seated(scene: &Scene, founder: &Console, invite: &str, theme: &str) -> Outcome<Seat> {
    let seat = scene.seat("second", theme).await?;
    seat.console.enrol_waiting(invite, PIN).await?;
    admit(founder, &waiting_in(founder, "gate.roster.change").await?).await?;
    seat.console.key_says("active").await?;
    Ok(seat)
}

/// Leaves the review window by Esc, which closes a panel first.
async fn left_by_escape(console: &Console) -> Outcome {
    let before = console.driver.windows().await?;
    let deadline = Instant::now() + crate::scene::SOON;
    while console.driver.windows().await? == before {
        // The press that closes the window may be answered by its end.
        let _ = console.driver.keys("\u{e00c}").await;
        check(Instant::now() < deadline, || "the window stays open".to_owned())?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(console.main().await?)
}

/// Both windows have read the request and stand before the approval of it.
async fn both_read(one: &Console, other: &Console, agent: &AgentClient, args: &str, key: &str) -> Outcome<(CallAnswer, RequestId)> {
    let (asked, request) = ask(agent, "wire_transfer", args, key).await?;
    for window in [one, other] {
        read_and_start(window, &request).await?;
    }
    Ok((asked, request))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_denial_wins_and_a_withdrawal_is_told_while_the_window_is_open() {
    for (here, there) in themes() {
        denied_and_withdrawn(here, there).await;
    }
}

async fn denied_and_withdrawn(here: &'static str, there: &'static str) {
    let name = "the_first_denial_wins_in_two_windows";
    play(Scene::set(name, &["treasury"], Options::default()).await, async |scene| {
        let robin = scene.founder_in(here).await?;
        let seat = seated(scene, &robin, &scene.home.invite("Kim Example", &["treasury"])?, there).await?;
        let kim = &seat.console;
        let agent = scene.agent("treasury")?;
        let (mut first_look, mut second_look) = (Gallery::open(here)?, Gallery::open(there)?);

        let (asked, _) = both_read(&robin, kim, &agent, WIRE, "denied-first").await?;
        robin.driver.keys("\u{e00c}").await?;
        robin.open_panel(Panel::Deny).await?;
        robin.driver.click("input[name=denial][value=duplicate]").await?;
        robin.type_pin("#deny-pin", PIN).await?;
        robin.unlocked("#deny-commit").await?;
        robin.driver.click("#deny-commit").await?;
        robin.receipt().await?;
        let recorded = Instant::now();
        kim.driver.wait_for_text("#hard-locks", &format!("{FOUNDER} denied this at")).await?;
        let took = recorded.elapsed();
        check(took <= SEEN_WITHIN, || format!("the other window tells it after {took:?}"))?;
        scene.say(&format!("the denial is seen in the other window {} ms after its receipt", took.as_millis()));
        approves_nothing(kim).await?;
        second_look.look_on(&seat.desktop, kim, "denied-elsewhere").await?;
        until_status(&agent, &asked, "denied").await?;
        for window in [&*robin, kim] {
            left_by_escape(window).await?;
        }

        let (asked, _) = both_read(&robin, kim, &agent, &WIRE.replace("INV-1001", "INV-1002"), "withdrawn").await?;
        agent.withdraw(&asked.call).await?;
        let withdrawn = Instant::now();
        for window in [&*robin, kim] {
            window.driver.wait_for_text("#hard-locks", "E-REQ-10").await?;
            let took = withdrawn.elapsed();
            check(took <= SEEN_WITHIN, || format!("a window tells the withdrawal after {took:?}"))?;
            let said = window.driver.text("#hard-locks").await?;
            check(said.contains("The agent withdrew this request"), || format!("it says: {said}"))?;
        }
        scene.say("both windows tell that the agent withdrew it, and lock");
        first_look.look(scene, &robin, "withdrawn-open").await?;
        approves_nothing(&robin).await?;
        approves_nothing(kim).await?;
        until_status(&agent, &asked, "withdrawn").await?;
        scene.count(Tool::WireTransfer, 0).await?;
        first_look.close(scene)?;
        second_look.close(scene)?;
        seat.console.close().await?;
        scene.close(robin).await
    })
    .await;
}

/// From the second computer of the same person: its window, one press to it and one that confirms.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_stopped_in_one_window_and_the_other_is_locked_within_five_seconds() {
    for (here, there) in themes() {
        stopped(here, there).await;
    }
}

async fn stopped(here: &'static str, there: &'static str) {
    play(Scene::set("a_stop_from_window_to_window", &["billing-approver"], Options::default()).await, async |scene| {
        let first = scene.founder_in(here).await?;
        let kim = crate::keys::kim(scene, &first, &["support-lead"], 9).await?;
        let (person, _) = crate::keys::founders_id(scene, &kim).await?;
        let seat = seated(scene, &first, &scene.home.invite_device(&person)?, there).await?;
        let second = &seat.console;
        let billing = scene.agent("billing")?;
        let (asked, request) = ask(&billing, "refund", REFUND, "stopped").await?;
        read_and_start(&first, &request).await?;
        let (mut first_look, mut second_look) = (Gallery::open(here)?, Gallery::open(there)?);

        second.open_keys().await?;
        second.driver.click("[data-part=other-computers] button[id^=stop-]").await?;
        second.driver.wait_for("[data-part=confirm-words]").await?;
        check(!second.driver.exists("#pin").await?, || "something is asked first".to_owned())?;
        second_look.look_on(&seat.desktop, second, "stop-other-computer").await?;
        let began = Instant::now();
        second.driver.click("#confirm").await?;
        first.driver.wait_for_text("#hard-locks", "E-KEY-5").await?;
        let took = began.elapsed();
        check(took <= STOPPED_WITHIN, || format!("the stop took {took:?}"))?;
        scene.say(&format!("from the press in one window to the lock in the other: {} ms", took.as_millis()));
        approves_nothing(&first).await?;
        first.key_says("stopped").await?;
        let notice = first.notice("E-KEY-5").await?;
        check(!notice.contains(FOUNDER), || format!("it sends the only administrator to themselves: {notice}"))?;
        first_look.look(scene, &first, "stopped-main").await?;
        until_status(&billing, &asked, "pending").await?;

        // The second decides on; then it stops itself, in the window that opens on that page.
        second.driver.wait_for_text("[data-part=said]", "Stopped").await?;
        second.leave_by("#close").await?;
        second.driver.keys("gi").await?;
        read_and_start(second, &request).await?;
        second.approve_with_reason(REASON, PIN).await?;
        second.receipt().await?;
        second.close_review().await?;
        until_status(&billing, &asked, "executed").await?;
        second.open_stop().await?;
        second_look.look_on(&seat.desktop, second, "stop-this-computer").await?;
        second.driver.click("#confirm").await?;
        // It is the last key of the only administrator: that one is not stopped, and the window says so.
        second.driver.wait_for_text("#message", "No administrator would be left").await?;
        scene.say("the last administrator's last key is not stopped");
        first_look.close(scene)?;
        second_look.close(scene)?;
        seat.console.close().await?;
        scene.close(first).await
    })
    .await;
}
