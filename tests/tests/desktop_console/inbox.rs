//! The inbox under a real pointer: what is looked at stays where it is while requests come and go.

use std::time::{Duration, Instant};

use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, Outcome, REFUND, SOON, Scene, ask, check, play};
use crate::second_person::in_row;

/// Rows that are shown before the rush, the two that expire in it among them.
const SHOWN: usize = 8;
/// Requests that arrive under the pointer.
const ARRIVING: usize = 50;
/// Seconds for which the two wait: long enough to be shown, short enough to end in the test.
const ENDING_S: u64 = 16;

/// From here on, every frame notes where the third row is and what is under the pointer.
const WATCH: &str = "const row = document.querySelectorAll('[data-request]')[2];\
    const box = row.getBoundingClientRect();\
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];\
    window.watched = { tops: new Set(), under: new Set(), frames: 0 };\
    const look = () => {\
        const { tops, under } = window.watched;\
        tops.add(row.getBoundingClientRect().top);\
        under.add(document.elementFromPoint(x, y)?.closest('[data-request]')?.dataset.request ?? 'nothing');\
        window.watched.frames += 1;\
        requestAnimationFrame(look);\
    };\
    look();\
    return [Math.round(window.screenX + x), Math.round(window.screenY + window.outerHeight - window.innerHeight + y)]";
const WATCHED: &str = "const { tops, under, frames } = window.watched; return [[...tops], [...under], frames]";
const TOMBSTONES: &str = "return document.querySelectorAll('[data-edge=ended] [data-part=tombstone]').length";

/// Check 7: the pointer rests on the third row, fifty requests arrive, two expire, and the row has not moved a pixel.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_moves_under_the_pointer() {
    let name = "nothing_moves_under_the_pointer";
    let change = |table: String| in_row(&table, "issue_credit", ENDING_S, ENDING_S).replace("pending_max = 20", "pending_max = 100");
    play(Scene::set_with(name, &["billing-approver"], Options::default(), change).await, async |scene| {
        let console = scene.founder().await?;
        let billing = scene.agent("billing")?;
        for number in 0..2 {
            ask(&billing, "issue_credit", &of_amount(CREDIT, "500", number), &format!("ending-{number}")).await?;
        }
        for number in 2..SHOWN {
            ask(&billing, "refund", &of_amount(REFUND, "8990", number), &format!("staying-{number}")).await?;
        }
        console.show_rows(SHOWN).await?;
        let third = console.driver.execute("return document.querySelectorAll('[data-request]')[2].dataset.request", vec![]).await?;
        let place = console.driver.execute(WATCH, vec![]).await?;
        scene.desktop.run("xdotool", &["mousemove", &place[0].to_string(), &place[1].to_string()])?;
        for number in 0..ARRIVING {
            ask(&billing, "refund", &of_amount(REFUND, "8990", SHOWN + number), &format!("arriving-{number}")).await?;
        }
        console.driver.wait_for_text("[data-part=new-bar]", &format!("{ARRIVING} new requests")).await?;
        until_two_ended(&console).await?;
        let watched = console.driver.execute(WATCHED, vec![]).await?;
        check(watched[0].as_array().is_some_and(|tops| tops.len() == 1), || format!("the third row was at {}", watched[0]))?;
        check(watched[1] == serde_json::json!([third]), || format!("under the pointer were {}, not only {third}", watched[1]))?;
        scene.say(&format!("over {} frames the third row did not move", watched[2]));
        says_what_waits(&console, SHOWN - 2 + ARRIVING).await?;
        console.driver.keys("n").await?;
        console.show_rows(SHOWN - 2 + ARRIVING).await?;
        scene.close(console).await
    })
    .await;
}

/// The same call for another amount: an equal one would be the same effect.
fn of_amount(args: &str, amount: &str, number: usize) -> String {
    args.replace(&format!("\"amount_minor\":{amount},"), &format!("\"amount_minor\":{},", 100 + number))
}

async fn until_two_ended(console: &Console) -> Outcome {
    let deadline = Instant::now() + SOON + Duration::from_secs(ENDING_S);
    while console.driver.execute(TOMBSTONES, vec![]).await? != 2 {
        check(Instant::now() < deadline, || "the two did not end on the screen".to_owned())?;
        console.settled().await?;
    }
    Ok(())
}

/// The navigation, the list, the title and the status line name one number, wherever they name any.
async fn says_what_waits(console: &Console, waiting: usize) -> Outcome {
    const NUMBERS: &str = "const text = (css) => document.querySelector(css)?.textContent ?? '';\
        return [text('nav [aria-current=page]'), text('.views [aria-pressed=true]'), document.title,\
            [...document.querySelectorAll('[data-part=log] > :not(.out-of-sight)')].map((line) => line.textContent).join(' ')]";
    let deadline = Instant::now() + SOON;
    loop {
        let numbers = console.driver.execute(NUMBERS, vec![]).await?;
        let says = |at: usize, words: &str| numbers[at].as_str().is_some_and(|text| text.contains(words));
        let in_words = format!("{waiting} waiting");
        let status_is_true = numbers[3] == "" || says(3, &in_words) || !says(3, "waiting");
        if says(0, &waiting.to_string()) && says(1, &waiting.to_string()) && says(2, &in_words) && status_is_true {
            return Ok(());
        }
        check(Instant::now() < deadline, || format!("of {waiting} that wait the window says: {numbers}"))?;
        console.settled().await?;
    }
}
