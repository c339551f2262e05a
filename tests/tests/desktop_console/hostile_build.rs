//! A hostile build of the main window: its bundle holds code that tries everything a page could try, from the first moment on.
//!
//! What it must not get: a signature, a record at the gate, one digit of a PIN, one changed character of what is signed.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use vidimus_api::client::AgentClient;
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::Tool;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::Options;

use crate::scene::{Outcome, PIN, REASON, REFUND, Scene, admit_by, ask, check, play, until_status};

const ROLES: &[&str] = &["billing-approver"];

/// So many calls are made in one script.
const COMMANDS_AT_A_TIME: usize = 30;

/// Commands of plugins that a main window would like to have, and that are not built in.
const ABSENT_PLUGINS: [&str; 14] = [
    "plugin:opener|open_url",
    "plugin:opener|open_path",
    "plugin:shell|execute",
    "plugin:shell|open",
    "plugin:fs|read_text_file",
    "plugin:fs|write_text_file",
    "plugin:http|fetch",
    "plugin:clipboard-manager|read_text",
    "plugin:clipboard-manager|write_text",
    "plugin:dialog|message",
    "plugin:process|exit",
    "plugin:updater|check",
    "plugin:global-shortcut|register",
    "plugin:notification|notify",
];

/// What the window system and the toolkit tell, besides what the console's own code sends.
const EVENTS_OF_TAURI: [&str; 14] = [
    "tauri://focus",
    "tauri://blur",
    "tauri://move",
    "tauri://resize",
    "tauri://close-requested",
    "tauri://destroyed",
    "tauri://theme-changed",
    "tauri://scale-change",
    "tauri://window-created",
    "tauri://webview-created",
    "tauri://drag-enter",
    "tauri://drag-over",
    "tauri://drag-drop",
    "tauri://drag-leave",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

fn read(path: &str) -> Outcome<String> {
    let path = root().join(path);
    std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()).into())
}

/// The bundle, which `cargo xtask test` builds.
fn bundle() -> Outcome<String> {
    let folder = root().join("target/hostile-ui");
    check(folder.join("index.html").is_file(), || "no hostile build: `npm run build:hostile` in `ui` makes it".to_owned())?;
    Ok(folder.to_string_lossy().into_owned())
}

/// Every string between quotes in a piece of source.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Outcome<&'a str> {
    let after = text.split_once(begin).ok_or_else(|| format!("no `{begin}`"))?.1;
    Ok(after.split_once(end).ok_or_else(|| format!("no `{end}`"))?.0)
}

/// What the console's own commands are: as its manifest declares them, and as its handler takes them.
fn own_commands() -> Outcome<BTreeSet<String>> {
    let declared = quoted(between(&read("src-tauri/build.rs")?, "let commands = &[", "];")?);
    let shell = read("src-tauri/src/shell/mod.rs")?;
    let handled: BTreeSet<String> = between(&shell, "generate_handler![", "]")?
        .split(',')
        .filter_map(|path| path.trim().rsplit_once("::"))
        .map(|(_, name)| name.to_owned())
        .collect();
    check(declared == handled, || {
        format!("declared and not handled, or the other way round: {:?}", declared.symmetric_difference(&handled))
    })?;
    Ok(declared)
}

/// Every command of the toolkit that is built in, by the lists that its own build writes.
fn commands_of_tauri() -> Outcome<BTreeSet<String>> {
    let manifests: Value = serde_json::from_str(&read("gen/schemas/acl-manifests.json")?)?;
    let mut commands = BTreeSet::new();
    for (plugin, manifest) in manifests.as_object().ok_or("no manifests")? {
        let Some(name) = plugin.strip_prefix("core:") else { continue };
        for permission in manifest["permissions"].as_object().into_iter().flatten() {
            let allowed = permission.1["commands"]["allow"].as_array().into_iter().flatten().filter_map(Value::as_str);
            commands.extend(allowed.map(|command| format!("plugin:{name}|{command}")));
        }
    }
    check(commands.len() > 100, || format!("only {} commands of the toolkit are known", commands.len()))?;
    Ok(commands)
}

/// What the main window's capability gives it.
fn allowed() -> Outcome<BTreeSet<String>> {
    let capability: Value = serde_json::from_str(&read("capabilities/main.json")?)?;
    let permissions = capability["permissions"].as_array().ok_or("no permissions")?.iter().filter_map(Value::as_str);
    let command = |permission: &str| match permission.strip_prefix("core:") {
        Some(core) => {
            let (plugin, name) = core.split_once(":allow-")?;
            Some(format!("plugin:{plugin}|{}", name.replace('-', "_")))
        }
        None => Some(permission.strip_prefix("allow-")?.replace('-', "_")),
    };
    permissions.map(|permission| command(permission).ok_or_else(|| format!("`{permission}` allows more than one command").into())).collect()
}

/// The events that the console's own code sends to any window.
fn own_events() -> Outcome<BTreeSet<String>> {
    let mut events = BTreeSet::new();
    let mut folders = vec![root().join("src-tauri/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(path)?;
                for part in text.split(".emit").skip(1) {
                    events.extend(part.split(';').next().and_then(|call| call.split('"').nth(1)).map(str::to_owned));
                }
            }
        }
    }
    check(events.contains("inbox_changed"), || format!("the events are {events:?}"))?;
    Ok(events)
}

/// Has the hostile code do something, and gives what came of it.
async fn hostile(console: &Console, what: &str, arguments: Value) -> Outcome<Value> {
    const RUN: &str = "const done = arguments[arguments.length - 1];\
        Promise.resolve(window.hostile[arguments[0]](...arguments[1])).then((given) => done({ given: given ?? null }), (error) => done({ failed: String(error) }));";
    let answer = console.driver.execute_async(RUN, vec![what.into(), arguments]).await?;
    match answer.get("given") {
        Some(given) => Ok(given.clone()),
        None => Err(format!("the hostile code failed at `{what}`: {answer}").into()),
    }
}

/// Everything that the review window shows of the request: each character, but what lives with the clock.
async fn shown(console: &Console, request: &RequestId) -> Outcome<String> {
    console.driver.window_with_url(&format!("vidimus-review://localhost/{request}")).await?;
    let text = "const copy = document.body.cloneNode(true);\
        copy.querySelectorAll('[data-live], #log, #locks, #hard-locks, .top').forEach((node) => node.remove());\
        return JSON.stringify([document.title, copy.innerText, copy.querySelectorAll('*').length])";
    let text = console.driver.execute(text, vec![]).await?;
    Ok(text.as_str().ok_or("no text")?.to_owned())
}

/// Where both windows are and how large.
async fn place(console: &Console) -> Outcome<Value> {
    Ok(console.driver.execute("return [screenX, screenY, outerWidth, outerHeight]", vec![]).await?)
}

/// Counts who comes to a port of this computer: to whatever is sent there, nobody must.
fn door() -> Outcome<(String, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/taken", listener.local_addr()?);
    let visitors = Arc::new(AtomicUsize::new(0));
    let counted = visitors.clone();
    std::thread::spawn(move || {
        for _visitor in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    Ok((address, visitors))
}

/// How many records the gate's log has.
async fn records(robin: &Approver) -> Outcome<String> {
    let checkpoint = robin.client()?.checkpoint().await?;
    Ok(checkpoint.lines().nth(1).ok_or("a checkpoint without its size")?.to_owned())
}

struct Attack<'a> {
    scene: &'a Scene,
    console: &'a Console,
    robin: &'a Approver,
    request: RequestId,
    before: String,
    records: String,
}

impl Attack<'_> {
    /// After each kind of attack: nothing was recorded, and no character is another.
    async fn nothing_changed(&self, by: &str) -> Outcome {
        let now = shown(self.console, &self.request).await?;
        check(now == self.before, || format!("{by} changed what the review window shows:\n{}\n{now}", self.before))?;
        let records = records(self.robin).await?;
        check(records == self.records, || format!("{by} made records: {} became {records}", self.records))?;
        let decisions = self.robin.client()?.request_detail(&self.request).await?.decisions.len();
        check(decisions == 0, || format!("{by} made {decisions} decisions"))?;
        self.console.main().await?;
        Ok(())
    }

    /// Every command there is, with a nonce that leaked.
    async fn commands(&self, nonce: &str) -> Outcome {
        let allowed = allowed()?;
        let own = own_commands()?;
        check(allowed.iter().all(|command| own.contains(command) || command.starts_with("plugin:")), || format!("{allowed:?}"))?;
        let names: Vec<String> = own.into_iter().chain(commands_of_tauri()?).chain(ABSENT_PLUGINS.map(str::to_owned)).collect();
        let aim =
            json!({ "request": self.request.to_string(), "nonce": nonce, "url": format!("vidimus-review://localhost/{}", self.request) });
        let mut outcomes = Vec::new();
        // A driver waits for one answer only so long.
        let mut rounds: Vec<_> = names.chunks(COMMANDS_AT_A_TIME).map(|some| ("commands", json!([some, aim]))).collect();
        rounds.push(("around", json!([aim])));
        for (what, arguments) in rounds {
            let given = hostile(self.console, what, arguments).await?;
            outcomes.extend(given.as_array().ok_or("no outcomes")?.iter().cloned());
        }
        check(outcomes.len() > names.len(), || format!("{} commands were tried, {} came back", names.len(), outcomes.len()))?;
        for outcome in &outcomes {
            let command = outcome["command"].as_str().unwrap_or_default();
            // An error of our own code, or of its arguments, is an answer as well: the call came through.
            let refused = outcome["refused"].as_str();
            let reached = refused.is_none_or(|words| words.starts_with("{\"id\":") || words.starts_with("invalid args"));
            check(reached == allowed.contains(command), || format!("`{command}`: {outcome}"))?;
        }
        self.scene.say(&format!("{} calls of commands tried; the {} of its own capability work, no other", outcomes.len(), allowed.len()));
        for sheet in ["vidimus-enrolment://", "vidimus-keys://"] {
            self.console.driver.window_with_url(sheet).await?;
            self.console.leave_by("#close").await?;
        }
        self.nothing_changed("commands").await
    }

    async fn navigation(&self, address: &str) -> Outcome {
        let windows = self.console.driver.windows().await?;
        let own = self.console.driver.url().await?;
        let review = format!("vidimus-review://localhost/{}", self.request);
        let tried = hostile(self.console, "wander", json!([[review, address]])).await?;
        check(self.console.driver.url().await? == own, || format!("the main window went elsewhere: {tried}"))?;
        check(self.console.driver.windows().await? == windows, || format!("a window was opened: {tried}"))?;
        self.scene.say(&format!("{} ways to go or to open: none leads anywhere", tried.as_array().map_or(0, Vec::len)));
        self.nothing_changed("navigation").await
    }

    async fn reach(&self, address: &str) -> Outcome {
        let review = format!("vidimus-review://localhost/{}", self.request);
        let others = ["vidimus-keys://localhost/", "asset://localhost/etc/passwd", "file:///etc/passwd"];
        let tried =
            hostile(self.console, "reach", json!([[review, others[0], others[1], others[2], address, self.scene.home.url()]])).await?;
        let tried = tried.as_array().ok_or("no outcomes")?;
        for outcome in tried {
            let given = outcome["given"].as_str().unwrap_or_default();
            let nothing = ["", "silence", "undefined", "false", "[object Worker]", "[object WebSocket]", "[object EventSource]", "true"];
            check(given.starts_with("refused") || nothing.contains(&given), || format!("reached: {outcome}"))?;
        }
        self.scene.say(&format!("{} ways to take or to send something: none gives anything", tried.len()));
        self.nothing_changed("what reaches out").await
    }

    async fn tricks(&self) -> Outcome {
        let (main, windows) = (place(self.console).await?, self.console.driver.windows().await?);
        let names = hostile(self.console, "names", json!([])).await?;
        for name in names.as_array().ok_or("no names")? {
            let tried = hostile(self.console, "trick", json!([name, format!("review-{}", self.request)])).await?;
            let given = tried[0]["given"].as_str().ok_or("no outcome")?;
            let nothing = ["", "silence", "null", "undefined", "denied", "default"];
            check(given.starts_with("refused") || nothing.contains(&given), || format!("by {name} the page got `{given}`"))?;
        }
        check(self.console.driver.windows().await? == windows, || "a window was opened or closed".to_owned())?;
        check(place(self.console).await? == main, || "the main window moved or grew".to_owned())?;
        self.console.driver.window_with_url(&format!("vidimus-review://localhost/{}", self.request)).await?;
        let planted = "const read = (name) => { try { return window[name].getItem('hostile') } catch { return null } };\
            return [read('localStorage'), read('sessionStorage'), document.cookie.includes('hostile')]";
        let planted = self.console.driver.execute(planted, vec![]).await?;
        check(planted == json!([null, null, false]), || format!("the review window finds what was planted: {planted}"))?;
        self.scene.say("moving, growing, covering, the clipboard, messages, storage and scripts in text gave nothing");
        self.nothing_changed("window tricks").await
    }

    /// A PIN is typed on the real keyboard while the main window takes the focus, raises, sends and listens.
    async fn typing(&self) -> Outcome {
        // That it hears at all: its own keys.
        self.console.driver.keys("x").await?;
        let own = hostile(self.console, "heard", json!([])).await?;
        check(own.to_string().contains("key: keydown x"), || format!("the hostile code hears nothing: {own}"))?;
        self.console.review(&self.request.to_string()).await?;
        self.console.read_all().await?;
        self.console.open_panel(Panel::Approve).await?;
        self.console.give_reason(REASON).await?;
        self.console.main().await?;
        hostile(self.console, "forget", json!([])).await?;
        hostile(self.console, "harass", json!([self.request.to_string()])).await?;
        self.console.driver.window_with_url(&format!("vidimus-review://localhost/{}", self.request)).await?;
        self.console.driver.click("#pin").await?;
        for digit in PIN.chars() {
            self.scene.desktop.run("xdotool", &["key", &digit.to_string()])?;
            self.console.settled().await?;
        }
        let typed = self.console.driver.execute("return document.querySelector('#pin').value", vec![]).await?;
        let reason = self.console.driver.execute("return document.querySelector('#reason-other').value", vec![]).await?;
        self.console.main().await?;
        let rest = hostile(self.console, "rest", json!([])).await?;
        let heard = hostile(self.console, "heard", json!([])).await?;
        let heard: Vec<&str> = heard.as_array().ok_or("no list")?.iter().filter_map(Value::as_str).collect();
        check(typed == PIN && reason == REASON, || format!("the fields hold {typed} and {reason}"))?;
        check(rest["rounds"].as_u64().unwrap_or_default() > 20 && rest["typed"] == "", || format!("the hostile window says {rest}"))?;
        let keys: Vec<_> = heard.iter().filter(|line| line.starts_with("key:")).collect();
        check(keys.is_empty(), || format!("the main window heard keys: {keys:?}"))?;
        for secret in [PIN, REASON, "8990", "89.90", "invoice_842"] {
            check(heard.iter().all(|line| !line.contains(secret)), || format!("the main window heard `{secret}`: {heard:?}"))?;
        }
        self.scene.say(&format!(
            "the PIN was typed under {} rounds of harassment; {} events were heard, no key among them",
            rest["rounds"],
            heard.len()
        ));
        Ok(())
    }
}

async fn eavesdrop(scene: &Scene, console: &Console, labels: &[String]) -> Outcome {
    let events: Vec<String> = own_events()?.into_iter().chain(EVENTS_OF_TAURI.map(str::to_owned)).collect();
    console.main().await?;
    let taken = hostile(console, "eavesdrop", json!([events, labels])).await?;
    check(taken.as_u64().unwrap_or_default() > 0, || "no subscription was taken".to_owned())?;
    scene.say(&format!("it listens to {} events of every window by {taken} subscriptions", events.len()));
    Ok(())
}

async fn attacked(scene: &Scene, console: &Console, robin: &Approver, billing: &AgentClient) -> Outcome {
    let (asked, request) = ask(billing, "refund", REFUND, "by-a-hostile-build").await?;
    eavesdrop(scene, console, &["main", "enrolment", "keys"].map(str::to_owned)).await?;
    eavesdrop(scene, console, &[format!("review-{request}"), "review-*".to_owned()]).await?;
    console.review(&request.to_string()).await?;
    let nonce = console.driver.attribute("html", "data-nonce").await?.unwrap_or_default();
    let attack = Attack { scene, console, robin, request, before: shown(console, &request).await?, records: records(robin).await? };
    check(attack.before.contains("8990") && attack.before.contains("invoice_842"), || format!("not the whole request: {}", attack.before))?;
    let (address, visitors) = door()?;
    console.main().await?;
    attack.commands(&nonce).await?;
    attack.navigation(&address).await?;
    attack.reach(&address).await?;
    attack.tricks().await?;
    let came = visitors.load(Ordering::SeqCst);
    check(came == 0, || format!("{came} connections came to a port of the attacker"))?;
    attack.typing().await?;
    let told = billing.outcome(&asked.call, 0).await?;
    check(told.status.as_str() == "pending", || format!("the call is `{}`", told.status.as_str()))?;
    scene.count(Tool::Refund, 0).await?;

    // Its own window is its own to close; the request stays where it is.
    let _ = hostile(console, "close", json!([])).await;

    // The person decides, as ever: what they press is what they read.
    console.driver.window_with_url(&format!("vidimus-review://localhost/{request}")).await?;
    console.unlocked("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.receipt().await?;
    until_status(billing, &asked, "executed").await?;
    scene.count(Tool::Refund, 1).await?;
    let decisions = robin.client()?.request_detail(&request).await?.decisions.len();
    check(decisions == 1, || format!("{decisions} decisions are on record"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_build_of_the_main_window_gets_nothing() {
    let name = "a_hostile_build_of_the_main_window_gets_nothing";
    play(Scene::set(name, ROLES, Options::default()).await, async |scene| {
        let robin = Approver::enrol(&scene.home.url(), &scene.invite, 7).await?;
        let console = scene.open_console_under(&[("VIDIMUS_MAIN_PAGES", &bundle()?)]).await?;
        let billing = scene.agent("billing")?;
        // The PIN is chosen while it listens, too.
        admit_by(scene, &robin, &console, "Kim Example", ROLES).await?;
        let heard = hostile(&console, "heard", json!([])).await?.to_string();
        check(!heard.contains("key: "), || format!("the main window heard keys of the enrolment: {heard}"))?;
        attacked(scene, &console, &robin, &billing).await?;
        scene.close(console).await
    })
    .await;
}
