//! The windows in which people have second thoughts and settle what nobody knows: a picture of each, and what axe-core finds.

use vidimus_tests::desktop::{Display, Options};

use crate::looks::Gallery;
use crate::scene::{Outcome, Scene, ask, is_long, play};
use crate::second_person::{WIRE, approve_wire};
use crate::unknown_outcome::{InDoubt, in_doubt_in, open_answer, open_desk, without_delay};

/// In the dark in every run, since its contrasts are the harder ones; in light too in the longer one.
#[tokio::test(flavor = "multi_thread")]
async fn every_window_of_people_looks_as_it_should() {
    gallery("every_window_of_people_in_dark", "dark").await;
    if is_long() {
        gallery("every_window_of_people_in_light", "light").await;
    }
}

async fn gallery(name: &'static str, theme: &'static str) {
    let options = Options { display: Display::Virtual { width: 1440, height: 960 }, ..Options::default() };
    play(Scene::set_with(name, &["treasury"], options, without_delay).await, async |scene| {
        let mut gallery = Gallery::open(theme)?;
        let InDoubt { console, operation, agent, .. } = in_doubt_in(scene, theme).await?;
        open_desk(&console).await?;
        gallery.look(scene, &console, "desk").await?;
        open_answer(&console, &operation).await?;
        gallery.look(scene, &console, "answer-window").await?;
        console.driver.keys("a").await?;
        console.driver.wait_for("#answer-panel:not([hidden]) h2").await?;
        for answer in ["happened", "partly", "still-unknown"] {
            console.driver.click(&format!("#answer-{answer}")).await?;
            gallery.look(scene, &console, &format!("answer-{answer}")).await?;
        }
        answer(scene, &mut gallery, &console).await?;
        console.main().await?;
        console.driver.wait_for_text("[data-part=answers]", "Still unknown").await?;
        gallery.look(scene, &console, "desk-answered").await?;
        second_thoughts(scene, &mut gallery, &console, &agent).await?;
        gallery.close(scene)?;
        scene.close(console).await
    })
    .await;
}

async fn answer(scene: &Scene, gallery: &mut Gallery, console: &vidimus_tests::console::Console) -> Outcome {
    console.driver.type_text("#look-again", "23:59").await?;
    console.type_pin("#pin", crate::scene::PIN).await?;
    console.unlocked("#sign").await?;
    console.driver.click("#sign").await?;
    console.receipt().await?;
    gallery.look(scene, console, "answer-receipt").await?;
    Ok(console.leave_by("#close").await?)
}

async fn second_thoughts(
    scene: &Scene,
    gallery: &mut Gallery,
    console: &vidimus_tests::console::Console,
    agent: &vidimus_api::client::AgentClient,
) -> Outcome {
    let (_, request) = ask(agent, "wire_transfer", &WIRE.replace("INV-1001", "INV-1002"), "look-wire").await?;
    console.driver.keys("gi").await?;
    approve_wire(console, &request).await?;
    gallery.look(scene, console, "one-of-two").await?;
    console.driver.click("#retract-mine").await?;
    console.driver.wait_for("#retract:not([hidden]) h2").await?;
    gallery.look(scene, console, "retract").await?;
    console.driver.keys("\u{e00c}").await?;
    console.close_review_by_key().await?;
    console.review(&request.to_string()).await?;
    gallery.look(scene, console, "waits-for-another").await?;
    console.driver.keys("e").await?;
    console.driver.wait_for("#more-time:not([hidden]) h2").await?;
    gallery.look(scene, console, "more-time").await?;
    console.driver.keys("\u{e00c}").await?;
    Ok(console.close_review_by_key().await?)
}
