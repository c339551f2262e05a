//! What those meet who read by ear, by large text, without colour or without motion.

use std::time::Instant;

use fantoccini::actions::{InputSource as _, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use serde_json::Value;
use vidimus_core::ids::RequestId;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, REFUND, SOON, Scene, ask, check, pictures, play, read_and_start};

const ROLES: &[&str] = &["billing-approver", "support-lead"];

/// The tree of the window whose title holds the first argument, as a screen reader finds it on the accessibility bus: for each node
/// its role, its name, whether it takes the focus, and how many nodes lie above it.
const TREE: &str = r"
import json, sys, gi
gi.require_version('Atspi', '2.0')
from gi.repository import Atspi
Atspi.init()
def below(node, depth, found):
    if node is None or depth > 40: return
    try:
        states = node.get_state_set()
        found.append([node.get_role_name(), node.get_name() or '', bool(states.contains(Atspi.StateType.FOCUSABLE)), bool(states.contains(Atspi.StateType.SHOWING)), depth])
        for index in range(node.get_child_count()): below(node.get_child_at_index(index), depth + 1, found)
    except Exception as error:
        print(f'gone while read: {error}', file=sys.stderr)
desktop = Atspi.get_desktop(0)
others = []
for index in range(desktop.get_child_count()):
    application = desktop.get_child_at_index(index)
    if application is None: continue
    for number in range(application.get_child_count()):
        window = application.get_child_at_index(number)
        if window is not None: others.append([f'window of {application.get_name()}', window.get_name() or '', False, False, 0])
        if window is not None and sys.argv[1] in (window.get_name() or ''):
            found = []
            below(window, 0, found)
            print(json.dumps(found))
            sys.exit(0)
print(json.dumps(others))
";

struct Node {
    role: String,
    name: String,
    takes_focus: bool,
    showing: bool,
}

fn tree(scene: &Scene, title: &str) -> Outcome<Vec<Node>> {
    let text = scene.desktop.run("/usr/bin/python3", &["-c", TREE, title])?;
    let nodes: Value = serde_json::from_str(text.trim())?;
    let node = |node: &Value| Node {
        role: node[0].as_str().unwrap_or_default().to_owned(),
        name: node[1].as_str().unwrap_or_default().to_owned(),
        takes_focus: node[2] == true,
        showing: node[3] == true,
    };
    Ok(nodes.as_array().into_iter().flatten().map(node).collect())
}

/// Waits for a window's tree that holds a node of this role with these words in its name.
async fn tree_with(scene: &Scene, console: &Console, title: &str, role: &str, words: &str) -> Outcome<Vec<Node>> {
    let deadline = Instant::now() + SOON;
    loop {
        let nodes = tree(scene, title)?;
        if nodes.iter().any(|node| node.role == role && node.name.contains(words)) {
            return Ok(nodes);
        }
        check(Instant::now() < deadline, || {
            let known: Vec<String> = nodes.iter().map(|node| format!("{}: {}", node.role, node.name)).collect();
            format!("no {role} `{words}` in the tree of `{title}`:\n{}", known.join("\n"))
        })?;
        console.settled().await?;
    }
}

/// Everything that takes the focus has a name; and these nodes are there.
fn named(nodes: &[Node], title: &str, expected: &[(&str, &str)]) -> Outcome {
    // Windows, scrolled panes and the document itself take the focus to be read on from there.
    let own = ["frame", "filler", "panel", "document web", "scroll pane", "landmark", "section"];
    let nameless: Vec<&str> = nodes
        .iter()
        .filter(|node| node.takes_focus && node.showing && node.name.trim().is_empty() && !own.contains(&node.role.as_str()))
        .map(|node| node.role.as_str())
        .collect();
    check(nameless.is_empty(), || format!("in `{title}` these take the focus and have no name: {nameless:?}"))?;
    for (role, words) in expected {
        let found = nodes.iter().any(|node| node.role == *role && node.name.contains(words));
        let of_role: Vec<&str> = nodes.iter().filter(|node| node.role == *role).map(|node| node.name.as_str()).collect();
        check(found, || format!("in `{title}` no {role} is called `{words}`, but {of_role:?}"))?;
    }
    Ok(())
}

async fn read_by_ear(scene: &Scene, console: &Console, request: &RequestId) -> Outcome {
    let rows = tree_with(scene, console, "waiting", "push button", "").await?;
    named(&rows, "waiting", &[("heading", ""), ("landmark", "")])?;
    console.review(&request.to_string()).await?;
    let title = "Request";
    let nodes = tree_with(scene, console, title, "push button", "Start approving").await?;
    named(&nodes, title, &[("push button", "Deny"), ("heading", "Refund"), ("link", "Raw"), ("log", ""), ("landmark", "")])?;
    let text: String = nodes.iter().map(|node| format!("{} ", node.name)).collect();
    check(text.contains("invoice_842"), || format!("an argument is not in the tree: {text}"))?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    in_grey(scene, console, "review").await?;
    let nodes = tree_with(scene, console, title, "radio button", "").await?;
    named(&nodes, title, &[("push button", "Approve"), ("password text", "PIN")])?;
    scene.say(&format!("the review window's tree has {} nodes; all that takes the focus has a role and a name", nodes.len()));
    console.driver.keys("\u{e00c}").await?;
    Ok(console.close_review_by_key().await?)
}

/// What is lost in the current window: what stands beside the page or is cut, and what cannot be brought into sight to be pressed.
const LOST: &str = "const say = (node) => `${node.localName}#${node.id}.${node.className} ${node.textContent.trim().slice(0, 40)}`;\
    const all = [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility() && node.closest('pre.hex, .out-of-sight, #log') === null);\
    const beside = all.filter((node) => { const box = node.getBoundingClientRect(); return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1) });\
    const cut = all.filter((node) => ['hidden', 'clip'].includes(getComputedStyle(node).overflowX) && node.scrollWidth > node.clientWidth + 1);\
    const unreachable = all.filter((node) => node.matches('button, input, a[href], textarea')).filter((node) => {\
        node.scrollIntoView({ block: 'center' }); const box = node.getBoundingClientRect();\
        const top = document.elementFromPoint(box.left + Math.min(box.width / 2, 30), box.top + Math.min(box.height / 2, 12));\
        return top === null || (top !== node && !node.contains(top) && !(top.matches('label, span') && top.closest('label')?.contains(node))) });\
    return { beside: beside.map(say), cut: cut.map(say), unreachable: unreachable.map(say), read: document.querySelector('main').clientHeight }";

async fn nothing_lost(console: &Console, how: &str) -> Outcome {
    let lost = console.driver.execute(LOST, vec![]).await?;
    for part in ["beside", "cut", "unreachable"] {
        check(lost[part].as_array().is_some_and(Vec::is_empty), || format!("{how}: {part}: {}", lost[part]))?;
    }
    // A line of the largest text, at the least, is left of what is to be read.
    check(lost["read"].as_u64().is_some_and(|height| height >= 48), || format!("{how}: {} px are left for reading", lost["read"]))
}

/// A window of 320 CSS pixels, which is what 400 % leaves of a usual one; then text at twice its size in the usual one.
async fn read_large(scene: &Scene, console: &Console, request: &RequestId) -> Outcome {
    let folder = pictures();
    std::fs::create_dir_all(&folder)?;
    console.review(&request.to_string()).await?;
    let client = console.driver.client()?;
    let usual = client.get_window_size().await?;
    client.set_window_size(320, 480).await?;
    let deadline = Instant::now() + SOON;
    while console.driver.execute("return innerWidth", vec![]).await?.as_u64().is_none_or(|width| width > 330) {
        check(Instant::now() < deadline, || "the window does not become narrow".to_owned())?;
        console.settled().await?;
    }
    nothing_lost(console, "at 320 pixels").await?;
    console.picture(&folder.join("light-narrow-review.png")).await?;
    // The driver's way to size a window takes the focus from it; its person raises it again.
    console.review(&request.to_string()).await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    nothing_lost(console, "at 320 pixels, approving").await?;
    console.picture(&folder.join("light-narrow-approve.png")).await?;
    client.set_window_size(u32::try_from(usual.0)?, u32::try_from(usual.1)?).await?;
    scene.say("at 320 pixels everything is there, and what is pressed comes into sight");

    let doubled = "const sizes = [...document.querySelectorAll('body, body *')].map((node) => [node, 2 * parseFloat(getComputedStyle(node).fontSize)]);\
        for (const [node, size] of sizes) node.style.fontSize = `${size}px`;";
    console.driver.execute(doubled, vec![]).await?;
    nothing_lost(console, "with text twice as large").await?;
    console.picture(&folder.join("light-large-text.png")).await?;
    scene.say("with text twice as large nothing is cut or out of reach");
    console.driver.keys("\u{e00c}").await?;
    Ok(console.close_review_by_key().await?)
}

/// A picture of the current window without its colours, to be looked at.
async fn in_grey(scene: &Scene, console: &Console, name: &str) -> Outcome {
    let folder = pictures();
    std::fs::create_dir_all(&folder)?;
    let (colour, grey) = (folder.join(format!("light-{name}.png")), folder.join(format!("grey-{name}.png")));
    console.picture(&colour).await?;
    scene.desktop.run("convert", &[&colour.to_string_lossy(), "-colorspace", "Gray", &grey.to_string_lossy()])?;
    Ok(())
}

/// In grey, and told apart by word, sign and edge.
async fn read_without_colour(scene: &Scene, console: &Console) -> Outcome {
    console.show_rows(3).await?;
    let rows = "return [...document.querySelectorAll('[data-request]')].map((row) => row.textContent.replace(/\\s+/g, ' '))";
    let rows = console.driver.execute(rows, vec![]).await?;
    let rows: Vec<&str> = rows.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for word in ["irreversible", "compensable", " reversible"] {
        let told = rows.iter().filter(|row| format!(" {}", row.to_lowercase()).contains(word)).count();
        check(told >= 1, || format!("no row says `{word}`: {rows:?}"))?;
    }
    check(rows.iter().all(|row| row.to_lowercase().contains("money")), || format!("a row does not tell its class: {rows:?}"))?;
    let looks = "const chips = [...document.querySelectorAll('[data-request] .chip')].filter((chip) => /reversible|compensable/i.test(chip.textContent));\
        return chips.map((chip) => { const style = getComputedStyle(chip); return [chip.textContent.trim(), style.borderTopStyle, chip.querySelector('svg, .icon')?.outerHTML ?? ''] })";
    let looks = console.driver.execute(looks, vec![]).await?;
    let signs: std::collections::BTreeSet<String> = looks.as_array().into_iter().flatten().map(|look| look[2].to_string()).collect();
    check(signs.len() == 3 && !signs.contains("\"\""), || format!("the signs are not three: {looks}"))?;
    in_grey(scene, console, "rows").await?;
    scene.say("each row tells class and reversibility by word and sign; its picture in grey is kept");
    Ok(())
}

/// Where the system asks for less motion, the bar is gone and words say how far a hold is.
async fn held_without_motion(scene: &Scene, console: &Console, request: &RequestId) -> Outcome {
    let still = console.driver.execute("return matchMedia('(prefers-reduced-motion: reduce)').matches", vec![]).await?;
    check(still == true, || "the window does not know that less motion is asked for".to_owned())?;
    read_and_start(console, request).await?;
    console.answer("bert@example.org").await?;
    console.driver.type_text("#reason", REASON).await?;
    console.type_pin("#pin", PIN).await?;
    console.unlocked("#hold").await?;
    let shown = "return getComputedStyle(document.querySelector('#hold progress')).visibility";
    check(console.driver.execute(shown, vec![]).await? == "hidden", || "the bar moves all the same".to_owned())?;
    let element = console.driver.wait_for("#hold").await?;
    let button = MOUSE_BUTTON_LEFT;
    let down = MouseActions::new("mouse".to_owned())
        .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
        .then(PointerAction::Down { button });
    console.driver.client()?.perform_actions(down).await?;
    let ready = console.driver.attribute("html", "data-hold-ready").await?.ok_or("no words for it")?;
    console.driver.wait_for_text("[data-live=hold_note]", &ready).await?;
    console.driver.client()?.perform_actions(MouseActions::new("mouse".to_owned()).then(PointerAction::Up { button })).await?;
    console.receipt().await?;
    scene.say(&format!("without motion the window said: {ready}"));
    Ok(console.close_review_by_key().await?)
}

/// What the toolkit reads where a person has asked for less motion.
fn ask_for_less_motion(scene: &Scene) -> Outcome {
    let folder = scene.desktop.home().join(".config/gtk-3.0");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join("settings.ini"), "[Settings]\ngtk-enable-animations=0\n")?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_read_by_ear_by_large_text_and_without_colour_or_motion() {
    let name = "a_window_is_read_by_ear_by_large_text_and_without_colour_or_motion";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        ask_for_less_motion(scene)?;
        let console = scene.founder().await?;
        let (billing, support) = (scene.agent("billing")?, scene.agent("support")?);
        let (_, refund) = ask(&billing, "refund", REFUND, "by-ear").await?;
        read_by_ear(scene, &console, &refund).await?;
        let (_, mail) = ask(&support, "send_email", MAIL, "large").await?;
        ask(&billing, "issue_credit", CREDIT, "grey").await?;
        read_without_colour(scene, &console).await?;
        read_large(scene, &console, &mail).await?;
        held_without_motion(scene, &console, &mail).await?;
        scene.close(console).await
    })
    .await;
}
