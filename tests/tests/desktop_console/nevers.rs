//! What must never happen in a window: the focus on what approves, a press that began elsewhere or too early, a window that comes
//! forward by itself, anything fetched, a secret or an amount where it has no business.

use std::path::Path;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, REFUND, SOON, Scene, ask, check, play, read_and_start, until_status};
use crate::second_person::HELD;

const ROLES: &[&str] = &["billing-approver", "support-lead"];
const ESCAPE: &str = "\u{e00c}";
/// Presses that may come too late to be too early, before the test gives up.
const TRIES_MAX: usize = 20;
/// How long windows are watched while a request arrives.
const WATCHED: Duration = Duration::from_secs(3);

/// The focus is on nothing that approves.
async fn not_on_approval(console: &Console, after: &str) -> Outcome {
    let on = "return document.activeElement?.closest('#start-approving, #approve-commit, #hold, #two-commit, [data-approve]')?.id ?? ''";
    let on = console.driver.execute(on, vec![]).await?;
    check(on == "", || format!("after {after}, the focus is on {on}"))
}

/// After opening, a panel, an alert, a dialog that closes, and a decision.
async fn focus_stays_off(scene: &Scene, console: &Console, billing: &AgentClient) -> Outcome {
    let (asked, request) = ask(billing, "refund", REFUND, "focus").await?;
    console.review(&request.to_string()).await?;
    not_on_approval(console, "opening").await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    not_on_approval(console, "opening the panel").await?;
    console.give_reason(REASON).await?;
    console.driver.keys(ESCAPE).await?;
    console.driver.wait_for("#discard:not([hidden])").await?;
    not_on_approval(console, "the question whether to discard").await?;
    console.driver.click("#keep").await?;
    not_on_approval(console, "the dialog closed").await?;
    console.type_pin("#pin", "000000").await?;
    console.unlocked("#approve-commit").await?;
    // Said by assistive technology's own way to press, which moves no focus.
    console.driver.execute("document.querySelector('#approve h2').focus()", vec![]).await?;
    billing.withdraw(&asked.call).await?;
    console.driver.wait_for_text("#hard-locks", "E-REQ-10").await?;
    not_on_approval(console, "an alert").await?;
    scene.say("after opening, a panel, a dialog and an alert the focus is on nothing that approves");
    let deadline = Instant::now() + SOON;
    let before = console.driver.windows().await?;
    while console.driver.windows().await? == before {
        // The press that closes the window may be answered by its end.
        let _ = console.driver.keys(ESCAPE).await;
        if console.driver.windows().await? == before && console.shows("#discard").await.unwrap_or(false) {
            let _ = console.driver.click("#discard-yes").await;
        }
        check(Instant::now() < deadline, || "the window stays open".to_owned())?;
    }
    Ok(console.main().await?)
}

async fn pointer(console: &Console, actions: MouseActions) -> Outcome {
    Ok(console.driver.client()?.perform_actions(actions).await?)
}

fn mouse() -> MouseActions {
    MouseActions::new("mouse".to_owned())
}

/// A press that begins on a control while it is locked, and ends when it is open.
async fn begun_too_early(console: &Console) -> Outcome {
    let note = "window.atDown = ''; document.querySelector('#approve-commit').addEventListener('pointerdown', (event) => { \
        window.atDown = event.currentTarget.ariaDisabled }, true)";
    console.driver.execute(note, vec![]).await?;
    for _ in 0..TRIES_MAX {
        console.driver.keys("a").await?;
        let element = console.driver.wait_for("#approve-commit").await?;
        let button = MOUSE_BUTTON_LEFT;
        let move_to = PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 };
        pointer(console, mouse().then(move_to).then(PointerAction::Down { button })).await?;
        let at_down = console.driver.execute("return window.atDown", vec![]).await?;
        if at_down == "true" {
            console.unlocked("#approve-commit").await?;
            pointer(console, mouse().then(PointerAction::Up { button })).await?;
            return Ok(());
        }
        // Too slow to be too early: away from it, and once more.
        let away = PointerAction::MoveTo { duration: None, x: 5.0, y: 5.0 };
        pointer(console, mouse().then(away).then(PointerAction::Up { button })).await?;
        console.driver.keys(ESCAPE).await?;
        console.driver.wait_for("#approve[hidden]").await?;
    }
    Err("no press came early enough to be too early".into())
}

/// A press that begins beside the control and ends on it, as one does that began in another window.
async fn begun_elsewhere(console: &Console) -> Outcome {
    console.unlocked("#approve-commit").await?;
    let element = console.driver.wait_for("#approve-commit").await?;
    let button = MOUSE_BUTTON_LEFT;
    let actions = mouse()
        .then(PointerAction::MoveTo { duration: None, x: 5.0, y: 5.0 })
        .then(PointerAction::Down { button })
        .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
        .then(PointerAction::Pause { duration: Duration::from_millis(200) })
        .then(PointerAction::Up { button });
    pointer(console, actions).await
}

/// The same with a real pointer that goes down over the main window and comes up over the review window, on its open control.
async fn begun_in_another_window(scene: &Scene, console: &Console) -> Outcome {
    console.unlocked("#approve-commit").await?;
    let at = "const box = document.querySelector('#approve-commit').getBoundingClientRect();\
        return [screenX + (outerWidth - innerWidth) / 2 + box.left + 20, screenY + (outerHeight - innerHeight) + box.top + 20].map(Math.round)";
    let at = console.driver.execute(at, vec![]).await?;
    let (x, y) = (at[0].to_string(), at[1].to_string());
    let free = "return [screenX + outerWidth + 60, screenY + 300].map(Math.round)";
    let free = console.driver.execute(free, vec![]).await?;
    let (free_x, free_y) = (free[0].to_string(), free[1].to_string());
    scene.desktop.run("xdotool", &["mousemove", &free_x, &free_y, "mousedown", "1", "mousemove", &x, &y, "mouseup", "1"])?;
    Ok(())
}

async fn presses_from_elsewhere(scene: &Scene, console: &Console, billing: &AgentClient) -> Outcome {
    // The PIN is typed with this one, so that the next needs one press only.
    let (_, first) = ask(billing, "issue_credit", CREDIT, "first-press").await?;
    read_and_start(console, &first).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.receipt().await?;
    not_on_approval(console, "a decision").await?;
    console.close_review_by_key().await?;

    let (asked, request) = ask(billing, "issue_credit", &CREDIT.replace("500", "600"), "no-press").await?;
    console.review(&request.to_string()).await?;
    console.read_all().await?;
    begun_too_early(console).await?;
    nothing_decided(console, "a press that began too early").await?;
    begun_elsewhere(console).await?;
    nothing_decided(console, "a press that began elsewhere").await?;
    begun_in_another_window(scene, console).await?;
    nothing_decided(console, "a press that began in another window").await?;
    until_status(billing, &asked, "pending").await?;
    scene.count(Tool::IssueCredit, 1).await?;
    scene.say("presses that began too early, beside the control, or in another window decided nothing");
    let there = console.driver.windows().await?;
    console.driver.keys(ESCAPE).await?;
    if console.driver.windows().await? == there {
        console.close_review_by_key().await?;
    }
    Ok(console.main().await?)
}

async fn nothing_decided(console: &Console, by: &str) -> Outcome {
    console.settled().await?;
    check(!console.shows("#receipt").await?, || format!("{by} decided"))
}

/// A person types elsewhere while a request arrives and is told: the focus stays there, and no window opens.
async fn no_window_comes_forward(scene: &Scene, console: &Console, support: &AgentClient) -> Outcome {
    let windows = console.driver.windows().await?;
    scene.desktop.look_away()?;
    let focused = |scene: &Scene| scene.desktop.run("xdotool", &["getwindowfocus", "-f"]);
    let before = focused(scene)?;
    let (_, request) = ask(support, "send_email", MAIL, "arrives").await?;
    scene.desktop.wait_for_notification(SOON, |sent| sent.id.is_some() && sent.summary.contains("Approval needed"))?;
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        let now = focused(scene)?;
        check(now == before, || format!("the focus went from {before} to {now}"))?;
        scene.desktop.run("xdotool", &["key", "a", "d", "Return"])?;
        console.settled().await?;
    }
    check(console.driver.windows().await? == windows, || "a window opened by itself".to_owned())?;
    scene.say("a request arrived while somebody typed elsewhere, and no window came forward");
    fetched_nothing(console, &request).await?;
    scene.say("no window fetched anything but its own pages");
    titles(scene, console).await
}

/// What a window has loaded, by its own account.
async fn fetched_nothing(console: &Console, request: &RequestId) -> Outcome {
    let loaded = "return performance.getEntriesByType('resource').map((entry) => entry.name).concat(\
        [...document.querySelectorAll('img, iframe, object, embed, video, audio, link, script[src]')].map((node) => node.src ?? node.href ?? node.data ?? ''))";
    console.review(&request.to_string()).await?;
    let here = console.driver.execute(loaded, vec![]).await?;
    let foreign = |names: &serde_json::Value, own: &[&str]| -> Vec<String> {
        let names = names.as_array().into_iter().flatten().filter_map(|name| name.as_str());
        names.filter(|name| !name.is_empty() && !own.iter().any(|known| name.starts_with(known))).map(str::to_owned).collect()
    };
    let found = foreign(&here, &["ipc://localhost/"]);
    check(found.is_empty(), || format!("the review window fetched {found:?}"))?;
    console.main().await?;
    let here = console.driver.execute(loaded, vec![]).await?;
    let found = foreign(&here, &["ipc://localhost/", "tauri://localhost/"]);
    check(found.is_empty(), || format!("the main window fetched {found:?}"))
}

/// What a window is called says neither whom it is about nor how much.
async fn titles(scene: &Scene, console: &Console) -> Outcome {
    let titles = scene.desktop.run("xdotool", &["search", "--name", "Vidimus", "getwindowname", "%@"])?;
    check(titles.contains("TEST") && titles.lines().count() >= 2, || format!("the titles are: {titles}"))?;
    names_nothing(&titles, "a title")?;
    console.main().await?;
    Ok(())
}

/// Whom and how much the requests here are about, and what their person typed.
const PRIVATE: [&str; 8] = [PIN, REASON, "invoice_842", "customer_ada", "89.90", "amount_minor", "bert@example.org", "kind regards"];

fn names_nothing(text: &str, what: &str) -> Outcome {
    for private in PRIVATE {
        if let Some(at) = text.find(private) {
            let line = text[..at].rfind('\n').map_or(0, |start| start + 1);
            return Err(format!("{what} holds `{private}`: {}", &text[line..].lines().next().unwrap_or_default()).into());
        }
    }
    Ok(())
}

/// Nothing of it is in what the console and the gate print, in any log of this desktop, or, of the PIN, on this person's disk.
fn logs_are_silent(scene: &Scene) -> Outcome {
    let mut looked = 0;
    for folder in [scene.desktop.logs(), scene.folder.path().join("gate")] {
        for entry in std::fs::read_dir(folder)?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "log") {
                looked += 1;
                names_nothing(&String::from_utf8_lossy(&std::fs::read(entry.path())?), &entry.path().to_string_lossy())?;
            }
        }
    }
    check(looked >= 3, || format!("only {looked} logs were found"))?;
    let mut files = vec![scene.profile.clone()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        } else {
            check(!holds(&path, PIN.as_bytes())?, || format!("{} holds the PIN", path.display()))?;
        }
    }
    scene.say(&format!("{looked} logs name neither payee nor amount nor PIN"));
    Ok(())
}

fn holds(path: &Path, needle: &[u8]) -> Outcome<bool> {
    Ok(std::fs::read(path)?.windows(needle.len()).any(|window| window == needle))
}

/// One mail approved whole, so that every secret has passed through.
async fn mail_approved(scene: &Scene, console: &Console, support: &AgentClient) -> Outcome {
    let (_, request) = ask(support, "send_email", &MAIL.replace("Friday", "Monday"), "for-the-logs").await?;
    read_and_start(console, &request).await?;
    console.answer("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    console.driver.hold("#hold", HELD).await?;
    console.receipt().await?;
    not_on_approval(console, "a decision").await?;
    scene.count(Tool::SendEmail, 1).await?;
    Ok(console.close_review_by_key().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_never_happen_does_not() {
    play(Scene::set("what_must_never_happen_does_not", ROLES, Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let (billing, support) = (scene.agent("billing")?, scene.agent("support")?);
        focus_stays_off(scene, &console, &billing).await?;
        presses_from_elsewhere(scene, &console, &billing).await?;
        no_window_comes_forward(scene, &console, &support).await?;
        mail_approved(scene, &console, &support).await?;
        logs_are_silent(scene)?;
        scene.close(console).await
    })
    .await;
}
