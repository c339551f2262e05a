//! What the window shows is what is signed: long values, many of them, hostile text, exact numbers, and the bytes themselves.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::company::with_pay_invoice;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::{Display, Options};

use crate::looks::Gallery;
use crate::scene::{Outcome, PIN, REASON, SOON, Scene, ask, call, check, play, themes};

const IBAN: &str = "DE89370400440532013000";

/// Arguments of `pay_invoice`.
fn invoice(name: &str, purpose: &str, more: &str) -> String {
    format!(
        r#"{{"amount_minor":420000,"creditor":{{"iban":"{IBAN}","name":"{name}"}},"currency":"EUR","execute_at":"2026-12-31T14:35:00Z","purpose":"{purpose}"{more}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_all_of_it_and_exactly_that() {
    for (theme, _) in themes() {
        exactly(theme).await;
    }
}

async fn exactly(theme: &'static str) {
    let name = "what_is_shown_is_all_of_it_and_exactly_that";
    let options = Options { display: Display::Virtual { width: 1440, height: 960 }, ..Options::default() };
    play(Scene::set_with(name, &["billing-approver"], options, |table| with_pay_invoice(&table)).await, async |scene| {
        let console = scene.founder_in(theme).await?;
        let agent = scene.agent("billing")?;
        let mut gallery = Gallery::open(theme)?;
        numbers(scene, &console, &agent, &mut gallery).await?;
        saved_bytes(scene, &console).await?;
        paid_before(scene, &console, &agent, &mut gallery).await?;
        hostile(scene, &console, &agent, &mut gallery).await?;
        long(scene, &console, &agent, &mut gallery).await?;
        many(scene, &console, &agent, &mut gallery).await?;
        gallery.close(scene)?;
        scene.close(console).await
    })
    .await;
}

/// The driver tells no spaces between the boxes of a page.
fn packed(text: &str) -> String {
    text.split_whitespace().collect()
}

async fn arguments(console: &Console) -> Outcome<String> {
    let text = console.driver.text("[data-part=arguments]").await?;
    Ok(packed(&text))
}

/// A number that would change is refused; others are shown as they came, money and accounts with their readings.
async fn numbers(scene: &Scene, console: &Console, agent: &AgentClient, gallery: &mut Gallery) -> Outcome {
    for inexact in ["9007199254740993", "0.30000000000000000001"] {
        let args = invoice("ACME GmbH", "inexact", "").replace("420000", inexact);
        let refused = match agent.call(&call("pay_invoice", &args, "inexact")?, 0).await {
            Ok(answer) => return Err(format!("`{inexact}` became `{}`: {}", answer.status.as_str(), answer.words).into()),
            Err(error) => error,
        };
        check(refused.code() == Some("json_number_inexact"), || format!("`{inexact}` was refused with {refused}"))?;
    }
    scene.say("an amount that canonical form would change is refused at the gate");
    let (_, request) =
        ask(agent, "pay_invoice", &invoice("ACME GmbH", "Invoice 2026-1188", r#","net":19.99,"rate":0.1"#), "numbers").await?;
    console.review(&request.to_string()).await?;
    let shown = arguments(console).await?;
    for part in
        ["420000 = EUR 4,200.00", "net 19.99", "rate 0.1", &format!("{IBAN} = DE89 3704 0044 0532 0130 00 check digits right"), "9 of 9"]
    {
        check(shown.contains(&packed(part)), || format!("`{part}` is not in: {shown}"))?;
    }
    gallery.look(scene, console, "exact-numbers").await
}

/// The file that the window saves has the digest that it shows, by another program.
async fn saved_bytes(scene: &Scene, console: &Console) -> Outcome {
    console.driver.click("#save-bytes").await?;
    let said = console.driver.wait_for_text("[data-part=saved]", "sha256sum ").await?;
    let file = said.rsplit_once("sha256sum ").map_or("", |(_, file)| file.trim()).replace('\n', "");
    let told = Command::new("sha256sum").arg(&file).output()?;
    let told = String::from_utf8_lossy(&told.stdout).split_whitespace().next().unwrap_or_default().to_owned();
    let shown = console.driver.text("[data-part=hash]").await?.replace([' ', '\n'], "");
    check(shown.len() == 64 && told == shown, || format!("sha256sum says {told} of {file}, the window {shown}"))?;
    let bytes = std::fs::read_to_string(Path::new(&file))?;
    check(bytes.contains("\"net\":19.99") && bytes.starts_with('{'), || format!("the file holds {bytes}"))?;
    scene.say(&format!("sha256sum of the saved bytes is the digest in the window: {told}"));
    // Space on a button presses it; from elsewhere it reads on.
    console.driver.execute("document.querySelector('#title').focus()", vec![]).await?;
    read_on_and_approve(scene, console).await
}

/// A payee that was paid before: at another account, and the same amount once more.
async fn paid_before(scene: &Scene, console: &Console, agent: &AgentClient, gallery: &mut Gallery) -> Outcome {
    let other = invoice("ACME GmbH", "Invoice 2026-1190", "").replace(IBAN, "DE02120300000000202051");
    for (args, key, warning, words) in [
        (other, "other-account", "account", "The account of Payee \"ACME GmbH\" is not the one of its last approved request"),
        (
            invoice("ACME GmbH", "Invoice 2026-1191", ""),
            "once-more",
            "repeated",
            "The same amount to the same payee was asked for once in the 30 days before",
        ),
    ] {
        let (_, request) = ask(agent, "pay_invoice", &args, key).await?;
        console.review(&request.to_string()).await?;
        let said = console.driver.text(&format!("[data-warning={warning}]")).await?;
        check(packed(&said).contains(&packed(words)), || format!("the window says: {said}"))?;
        if warning == "account" {
            for account in [IBAN, "DE02120300000000202051"] {
                check(packed(&said).contains(account), || format!("`{account}` is not in: {said}"))?;
            }
        }
        gallery.look(scene, console, &format!("warned-{warning}")).await?;
        scene.say(&format!("the window warns: {said}"));
        console.close_review_by_key().await?;
    }
    Ok(())
}

/// The payee of this one is known from now on.
async fn read_on_and_approve(scene: &Scene, console: &Console) -> Outcome {
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    console.approve_with_reason(REASON, PIN).await?;
    console.receipt().await?;
    scene.say("the first payee is approved");
    Ok(console.close_review().await?)
}

async fn chips(console: &Console) -> Outcome<Vec<String>> {
    let all = "return [...document.querySelectorAll('[data-part=arguments] .hidden-character')].map((chip) => chip.textContent)";
    let found = console.driver.execute(all, vec![]).await?;
    Ok(found.as_array().into_iter().flatten().filter_map(|chip| chip.as_str().map(ToOwned::to_owned)).collect())
}

/// What cannot be seen and what looks like something else is a chip, and the payee that it looks like is named.
async fn hostile(scene: &Scene, console: &Console, agent: &AgentClient, gallery: &mut Gallery) -> Outcome {
    let purpose = r"invoice \u202e0051 RUE\u202c, AC\u200bME, caf\u0065\u0301, 273 \u212a, \u05e9\u05dc\u05d5\u05dd  \u001b[2K ok   ";
    let (_, request) = ask(agent, "pay_invoice", &invoice(r"A\u0421ME GmbH", purpose, ""), "hostile").await?;
    console.review(&request.to_string()).await?;
    let chips = chips(console).await?;
    for chip in [
        "\u{421} U+0421",
        "direction override U+202E",
        "direction override U+202C",
        "zero-width space U+200B",
        "combining mark U+0301",
        "\u{212a} U+212A",
        "right-to-left text",
        "space x2",
        "control U+001B",
        "space x3",
    ] {
        check(chips.iter().any(|found| found == chip), || format!("no chip `{chip}` among {chips:?}"))?;
    }
    let stray = "return [...document.documentElement.outerHTML].filter((letter) => /[\\p{Cf}\\p{Cc}\\p{Co}\\p{Cn}\\u2028\\u2029]/u.test(letter) \
        && letter !== '\\n').map((letter) => letter.codePointAt(0).toString(16))";
    let stray = console.driver.execute(stray, vec![]).await?;
    check(stray == serde_json::json!([]), || format!("these stand in the page as themselves: {stray}"))?;
    let warned = console.driver.text("[data-warning=known]").await?;
    check(warned.contains("ACME GmbH") && warned.contains("U+0421"), || format!("the look-alike is told so: {warned}"))?;
    let heading = console.driver.text("[data-part=sentence]").await?;
    check(heading.contains("U+0421"), || format!("the heading is: {heading}"))?;
    gallery.look(scene, console, "exact-hostile").await?;
    console.driver.keys("2").await?;
    console.driver.wait_for("pre[data-part=raw]").await?;
    gallery.look(scene, console, "exact-hostile-raw").await?;
    scene.say(&format!("{} chips, and the payee that it looks like is named", chips.len()));
    Ok(console.close_review_by_key().await?)
}

/// Where the end of the text is on the screen whole.
const END_IN_VIEW: &str = "const pane = document.querySelector('main').getBoundingClientRect();\
    return [...document.querySelectorAll('[data-part=argument]')].some((part) => { const box = part.getBoundingClientRect();\
    return part.textContent.includes('EVIL') && box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1 })";
/// How far it is read, and whether approving is locked, at one moment.
const STANDING: &str =
    "return [document.querySelector('[data-live=seen]').textContent, document.querySelector('#approve-commit').ariaDisabled]";
const SEEN: &str = "return document.querySelector('[data-live=seen]').textContent";

/// Twenty thousand characters: nothing unlocks before the last of them was on the screen, and nothing is cut.
async fn long(scene: &Scene, console: &Console, agent: &AgentClient, gallery: &mut Gallery) -> Outcome {
    let purpose: String = "All of this has to be read, word by word. ".repeat(500).chars().take(19_996).chain("EVIL".chars()).collect();
    let (_, request) = ask(agent, "pay_invoice", &invoice("ACME GmbH", &purpose, ""), "long").await?;
    console.review(&request.to_string()).await?;
    gallery.look(scene, console, "exact-long").await?;
    let (mut pages, mut end_seen) = (0, false);
    let deadline = Instant::now() + 6 * SOON;
    loop {
        let text = console.driver.text("body").await?;
        check(!text.contains('\u{2026}') && !text.to_lowercase().contains("show more"), || format!("something is cut in: {text}"))?;
        end_seen |= console.driver.execute(END_IN_VIEW, vec![]).await? == true;
        let standing = console.driver.execute(STANDING, vec![]).await?;
        let seen = standing[0].clone();
        if is_whole(&seen) {
            break;
        }
        check(standing[1] == "true", || format!("it unlocks while unread: {standing}"))?;
        check(Instant::now() < deadline, || format!("it is not read to its end: {seen}"))?;
        console.driver.keys(" ").await?;
        pages += 1;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    check(end_seen, || "all counts as seen, and the end was never on the screen".to_owned())?;
    console.open_panel(Panel::Approve).await?;
    console.give_reason(REASON).await?;
    console.unlocked("#approve-commit").await?;
    gallery.look(scene, console, "exact-long-read").await?;
    scene.say(&format!("20,000 characters were read in {pages} steps, and only then it unlocked"));
    leave(console).await
}

/// `seen 3 of 5` with both numbers the same.
fn is_whole(seen: &serde_json::Value) -> bool {
    let numbers: Vec<u64> = seen.as_str().unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    matches!(numbers[..], [seen, count] if seen == count)
}

/// Leaves a panel that holds text, and then the window.
async fn leave(console: &Console) -> Outcome {
    console.driver.keys("\u{e00c}").await?;
    console.driver.click("#discard-yes").await?;
    Ok(console.close_review_by_key().await?)
}

/// Three hundred entries: after the first page approving is inert, and says which pages are missing.
async fn many(scene: &Scene, console: &Console, agent: &AgentClient, gallery: &mut Gallery) -> Outcome {
    let entries: Vec<String> = (0..300).map(|number| format!(r#"{{"sku":"item {number}","price":{number}}}"#)).collect();
    let deep = format!("{}\"here\"{}", "{\"a\":".repeat(40), "}".repeat(40));
    let more = format!(r#","line_items":[{}],"metadata":{deep}"#, entries.join(","));
    let (_, request) = ask(agent, "pay_invoice", &invoice("ACME GmbH", "300 entries", &more), "many").await?;
    console.review(&request.to_string()).await?;
    gallery.look(scene, console, "exact-many").await?;
    let first = first_page(console, &request).await?;
    console.driver.keys("a").await?;
    console.driver.wait_for("#approve:not([hidden]) h2").await?;
    let locks = console.driver.wait_for_text("#locks", "on pages 2-16").await?;
    console.give_reason(REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked_or_not("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.driver.wait_for_text("#approve [data-part=message]", "on pages 2-16").await?;
    check(!console.shows("#receipt").await?, || "it was approved after one page".to_owned())?;
    scene.say(&format!("after page 1 ({first}) approving is inert: {locks}"));
    gallery.look(scene, console, "exact-many-locked").await?;
    leave(console).await
}

/// Reads the first page to its end.
async fn first_page(console: &Console, request: &RequestId) -> Outcome<String> {
    let unread = "return document.querySelector('[data-part-number]:not(.seen)') !== null";
    let deadline = Instant::now() + 2 * SOON;
    while console.driver.execute(unread, vec![]).await? == true {
        check(Instant::now() < deadline, || format!("the first page of {request} is not read"))?;
        let next = "document.querySelector('[data-part-number]:not(.seen)').scrollIntoView({ block: 'center' })";
        console.driver.execute(next, vec![]).await?;
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    Ok(console.driver.execute(SEEN, vec![]).await?.as_str().unwrap_or_default().to_owned())
}
