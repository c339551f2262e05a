//! Every window in light and dark: a picture of it, and what axe-core finds in it.

use std::path::PathBuf;

use vidimus_core::ids::RequestId;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::{Desktop, Display, Options};

use crate::scene::{CREDIT, MAIL, Outcome, PIN, REASON, REFUND, Scene, ask, check, is_long, pictures, play};

const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui/node_modules/axe-core/axe.min.js");

/// What axe-core found: the rule, and the element it found first.
///
/// A row of the inbox has the whole row as its name, in the order in which it is read, not as it is laid out.
const RUN_AXE: &str = "const done = arguments[arguments.length - 1];\
    axe.run({ resultTypes: ['violations'], rules: { 'label-content-name-mismatch': { enabled: false } } }).then(\
    (found) => done(found.violations.map((rule) => `${rule.id} (${rule.impact}): ${rule.nodes[0].html}`)), (error) => done([String(error)]))";

/// Takes pictures and collects what axe-core finds.
pub struct Gallery {
    axe: String,
    folder: PathBuf,
    theme: &'static str,
    found: Vec<String>,
}

impl Gallery {
    pub fn open(theme: &'static str) -> Outcome<Gallery> {
        let axe = std::fs::read_to_string(AXE).map_err(|error| format!("axe-core of the front end's packages: {error}"))?;
        let folder = pictures();
        std::fs::create_dir_all(&folder)?;
        Ok(Gallery { axe, folder, theme, found: Vec::new() })
    }

    /// Fails where axe-core found something.
    pub fn close(self, scene: &Scene) -> Outcome {
        scene.say(&format!("pictures are in {}", self.folder.display()));
        check(self.found.is_empty(), || format!("axe-core found:\n{}", self.found.join("\n")))
    }

    pub async fn look(&mut self, scene: &Scene, console: &Console, name: &str) -> Outcome {
        self.look_on(&scene.desktop, console, name).await
    }

    /// The same on another desktop than the scene's.
    pub async fn look_on(&mut self, desktop: &Desktop, console: &Console, name: &str) -> Outcome {
        let path = self.folder.join(format!("{}-{name}.png", self.theme));
        console.picture(&path).await?;
        check(desktop.colours(&path)? > 8, || format!("nothing is drawn in {}", path.display()))?;
        console.driver.execute(&self.axe, vec![]).await?;
        let found = console.driver.execute_async(RUN_AXE, vec![]).await?;
        let found: Vec<String> = found.as_array().into_iter().flatten().map(ToString::to_string).collect();
        self.found.extend(found.into_iter().map(|rule| format!("{}-{name}: {rule}", self.theme)));
        Ok(())
    }
}

/// In the dark in every run, since its contrasts are the harder ones; in light too in the longer one.
#[tokio::test(flavor = "multi_thread")]
async fn every_window_looks_as_it_should() {
    gallery("every_window_in_dark", "dark").await;
    if is_long() {
        gallery("every_window_in_light", "light").await;
    }
}

async fn gallery(name: &'static str, theme: &'static str) {
    let options = Options { display: Display::Virtual { width: 1440, height: 960 }, ..Options::default() };
    play(Scene::set(name, &["billing-approver", "support-lead"], options).await, async |scene| {
        let mut gallery = Gallery::open(theme)?;
        let console = scene.open_console_in(theme).await?;
        enrolment(scene, &console, &mut gallery).await?;
        let (billing, support) = (scene.agent("billing")?, scene.agent("support")?);
        gallery.look(scene, &console, "inbox-empty").await?;
        let (_, refund) = ask(&billing, "refund", REFUND, "look-refund").await?;
        console.driver.wait_for_text("[data-part=new-bar]", "1 new request").await?;
        let empty = console.driver.text("[data-part=empty]").await?;
        check(!empty.contains("Nothing waiting"), || format!("under news the empty list says: {empty}"))?;
        gallery.look(scene, &console, "inbox-news").await?;
        let (_, mail) = ask(&support, "send_email", MAIL, "look-mail").await?;
        let (_, credit) = ask(&billing, "issue_credit", CREDIT, "look-credit").await?;
        console.show_rows(3).await?;
        gallery.look(scene, &console, "inbox").await?;
        for (request, name) in [(&refund, "compensable"), (&mail, "irreversible"), (&credit, "reversible")] {
            review(scene, &console, &mut gallery, request, name).await?;
        }
        receipt(scene, &console, &mut gallery, &credit).await?;
        console.main().await?;
        gallery.look(scene, &console, "inbox-decided").await?;
        settings_and_keys(scene, &console, &mut gallery).await?;
        gallery.close(scene)?;
        scene.close(console).await
    })
    .await;
}

async fn enrolment(scene: &Scene, console: &Console, gallery: &mut Gallery) -> Outcome {
    console.driver.wait_for("[data-part=open-enrolment]").await?;
    gallery.look(scene, console, "not-enrolled").await?;
    console.open_enrolment().await?;
    gallery.look(scene, console, "enrolment-1").await?;
    console.hand_invitation(&scene.invite).await?;
    console.driver.wait_for("#pin").await?;
    gallery.look(scene, console, "enrolment-2").await?;
    console.choose_pin(PIN).await?;
    console.driver.wait_for("#confirm").await?;
    gallery.look(scene, console, "enrolment-3").await?;
    console.driver.click("#confirm").await?;
    console.driver.wait_for("[data-part=enrolled]").await?;
    // The first connection with the new key follows the words that it is enrolled.
    let top = console.driver.wait_for_text("[data-part=top]", "Gate: connected").await?;
    check(top.contains("(active)"), || format!("after enrolling the bar says: {top}"))?;
    gallery.look(scene, console, "enrolment-done").await?;
    Ok(console.leave_by("#close").await?)
}

async fn review(scene: &Scene, console: &Console, gallery: &mut Gallery, request: &RequestId, name: &str) -> Outcome {
    console.review(&request.to_string()).await?;
    gallery.look(scene, console, &format!("review-{name}")).await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    gallery.look(scene, console, &format!("approve-{name}")).await?;
    console.driver.keys("\u{e00c}").await?;
    console.open_panel(Panel::Deny).await?;
    gallery.look(scene, console, &format!("deny-{name}")).await?;
    console.driver.keys("\u{e00c}").await?;
    if name == "compensable" {
        for (key, view) in [("2", "raw"), ("3", "hex")] {
            console.driver.keys(key).await?;
            console.driver.wait_for(&format!("pre[data-part={view}]")).await?;
            gallery.look(scene, console, &format!("review-{view}")).await?;
        }
    }
    Ok(console.close_review_by_key().await?)
}

async fn receipt(scene: &Scene, console: &Console, gallery: &mut Gallery, request: &RequestId) -> Outcome {
    console.review(&request.to_string()).await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    console.type_pin("#pin", "000000").await?;
    console.unlocked("#approve-commit").await?;
    console.driver.click("#approve-commit").await?;
    console.driver.wait_for_text("#approve [data-part=message]", "E-KEY-8").await?;
    gallery.look(scene, console, "wrong-pin").await?;
    console.driver.keys("\u{e00c}").await?;
    console.open_panel(Panel::Deny).await?;
    console.driver.click("input[name=denial][value=duplicate]").await?;
    console.driver.type_text("#note", REASON).await?;
    // The wait after a wrong PIN is ten seconds, and the window says how long it still is.
    console.deny_when_pin_is_taken(PIN).await?;
    console.receipt().await?;
    gallery.look(scene, console, "receipt").await?;
    Ok(console.close_review().await?)
}

async fn settings_and_keys(scene: &Scene, console: &Console, gallery: &mut Gallery) -> Outcome {
    console.driver.keys("gs").await?;
    console.driver.wait_for("[data-part=open-keys]").await?;
    gallery.look(scene, console, "settings").await?;
    console.driver.click("[data-part=open-keys]").await?;
    console.driver.window_with_url("vidimus-keys://").await?;
    console.driver.wait_for("#close").await?;
    gallery.look(scene, console, "keys").await?;
    for (button, name) in [("#stop-this", "keys-stop"), ("#new-keys", "keys-new"), ("#forget", "keys-forget")] {
        console.driver.wait_for(button).await?;
        console.driver.click(button).await?;
        console.driver.wait_for("[data-part=confirm-words]").await?;
        gallery.look(scene, console, name).await?;
        console.driver.click("#back").await?;
    }
    console.driver.wait_for("#stop-this").await?;
    console.leave_by("#close").await?;
    Ok(())
}
