//! The console as a person uses it: its real windows, through WebDriver. Knows what a window says, nothing of how.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::desktop::{Desktop, DesktopError, WebDriver};

/// Where the main window lives.
const MAIN: &str = "tauri://";
/// Where review windows live.
const REVIEW: &str = "vidimus-review://";
/// Where the enrolment window lives.
const ENROLMENT: &str = "vidimus-enrolment://";

/// Where the window for keys lives.
const KEYS: &str = "vidimus-keys://";

/// How long a step of the console may take.
const STEP_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two looks.
const POLL: Duration = Duration::from_millis(60);
/// In so long a trusted window asks the core twice.
const SETTLE: Duration = Duration::from_millis(1_200);
/// In so long a control would have armed itself.
const UNLOCK_WITHIN: Duration = Duration::from_secs(3);

/// A panel of the review window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// The one that approves.
    Approve,
    /// The one that denies.
    Deny,
}

/// A console under WebDriver.
#[derive(Debug)]
pub struct Console {
    /// The session, for what has no method here.
    pub driver: WebDriver,
}

impl Console {
    /// Starts the console under a profile.
    ///
    /// *Errors*: as of every method here: something did not appear in time, or the window ended.
    pub async fn start(desktop: &Desktop, program: &Path, profile: &Path, theme: &str) -> Result<Console, DesktopError> {
        Console::start_under(desktop, program, profile, theme, &[]).await
    }

    /// The same with variables in its environment.
    pub async fn start_under(
        desktop: &Desktop,
        program: &Path,
        profile: &Path,
        theme: &str,
        variables: &[(&str, &str)],
    ) -> Result<Console, DesktopError> {
        let profile = profile.to_string_lossy();
        let driver = WebDriver::start(desktop, program, &["--profile", &profile, "--theme", theme], variables).await?;
        let console = Console { driver };
        console.main().await?;
        Ok(console)
    }

    /// Turns to the main window.
    pub async fn main(&self) -> Result<(), DesktopError> {
        self.driver.window_with_url(MAIN).await?;
        Ok(())
    }

    /// Enrols with an invitation and a PIN, step by step, where no admin has to confirm.
    pub async fn enrol(&self, invite: &str, pin: &str) -> Result<(), DesktopError> {
        self.enrol_and_stay(invite, pin).await?;
        self.leave_enrolment().await
    }

    /// Enrols and leaves the window open: while it has the focus, what arrives is notified.
    pub async fn enrol_and_stay(&self, invite: &str, pin: &str) -> Result<(), DesktopError> {
        self.make_keys(invite, pin).await?;
        self.expect("[data-part=enrolled]").await
    }

    /// Closes the enrolment window and turns to the main one.
    pub async fn leave_enrolment(&self) -> Result<(), DesktopError> {
        self.driver.window_with_url(ENROLMENT).await?;
        self.leave_by("#close").await
    }

    /// Enrols as far as it goes before an admin confirms.
    pub async fn enrol_waiting(&self, invite: &str, pin: &str) -> Result<(), DesktopError> {
        self.make_keys(invite, pin).await?;
        self.expect("[data-part=enrolment-waiting]").await?;
        self.leave_by("#close").await
    }

    /// Opens the enrolment and hands it the invitation.
    pub async fn begin_enrolment(&self, invite: &str) -> Result<(), DesktopError> {
        self.open_enrolment().await?;
        self.hand_invitation(invite).await
    }

    /// Opens the enrolment and turns to its window.
    pub async fn open_enrolment(&self) -> Result<(), DesktopError> {
        self.main().await?;
        self.driver.click("[data-part=open-enrolment]").await?;
        self.driver.window_with_url(ENROLMENT).await?;
        self.expect("#invite").await
    }

    /// Opens the window for keys and turns to it.
    pub async fn open_keys(&self) -> Result<(), DesktopError> {
        self.main().await?;
        self.driver.keys("gs").await?;
        self.expect("[data-part=open-keys]").await?;
        self.driver.click("[data-part=open-keys]").await?;
        self.keys().await?;
        self.expect("[data-part=this-computer]").await
    }

    /// Opens the window for keys on its page that stops this computer's key, and turns to it.
    pub async fn open_stop(&self) -> Result<(), DesktopError> {
        self.main().await?;
        self.driver.keys("gs").await?;
        self.expect("[data-part=open-stop]").await?;
        self.driver.click("[data-part=open-stop]").await?;
        self.keys().await?;
        self.expect("[data-part=confirm-words]").await
    }

    /// Turns to the window for keys.
    pub async fn keys(&self) -> Result<(), DesktopError> {
        self.driver.window_with_url(KEYS).await?;
        Ok(())
    }

    /// Hands the enrolment its invitation.
    pub async fn hand_invitation(&self, invite: &str) -> Result<(), DesktopError> {
        self.driver.type_text("#invite", invite).await?;
        self.driver.click("#continue").await
    }

    /// Chooses a PIN, so that keys are made.
    pub async fn choose_pin(&self, pin: &str) -> Result<(), DesktopError> {
        self.expect("#pin").await?;
        self.driver.type_text("#pin", pin).await?;
        self.driver.type_text("#pin-again", pin).await?;
        self.driver.click("#continue").await
    }

    async fn make_keys(&self, invite: &str, pin: &str) -> Result<(), DesktopError> {
        self.begin_enrolment(invite).await?;
        self.choose_pin(pin).await?;
        self.expect("#confirm").await?;
        self.driver.click("#confirm").await
    }

    /// Waits for an element; where it does not come, the error says what the window shows instead.
    async fn expect(&self, css: &str) -> Result<(), DesktopError> {
        match self.driver.wait_for(css).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let shown = self.driver.text("body").await.unwrap_or_default();
                Err(DesktopError::WebDriver { what: error.to_string(), detail: format!("the window shows: {shown}") })
            }
        }
    }

    /// Waits until the main window says this of the key.
    pub async fn key_says(&self, word: &str) -> Result<String, DesktopError> {
        self.main().await?;
        self.driver.wait_for_text("[data-part=key]", word).await
    }

    /// Waits for a notice of the main window by its id, and gives its words.
    pub async fn notice(&self, id: &str) -> Result<String, DesktopError> {
        self.main().await?;
        self.driver.wait_for_text(&format!("[data-error='{id}']"), id).await
    }

    /// Waits until the inbox lists so many requests, asking for the new ones as they come.
    pub async fn show_rows(&self, rows: usize) -> Result<(), DesktopError> {
        self.main().await?;
        let deadline = Instant::now() + STEP_WITHIN;
        loop {
            // Only the rows near the screen are drawn; each says how many there are.
            const LISTED: &str = "return Number(document.querySelector('[role=listitem]')?.ariaSetSize ?? 0)";
            let shown = self.driver.execute(LISTED, vec![]).await?;
            if shown.as_u64() == Some(rows as u64) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(late(&format!("the inbox shows {shown} requests, not {rows}")));
            }
            self.driver.keys("n").await?;
            tokio::time::sleep(POLL).await;
        }
    }

    /// The request in the inbox's first row.
    pub async fn first_request(&self) -> Result<String, DesktopError> {
        self.main().await?;
        let found = self.driver.execute("return document.querySelector('[data-request]')?.dataset.request ?? ''", vec![]).await?;
        Ok(found.as_str().unwrap_or_default().to_owned())
    }

    /// Opens a request from the inbox and turns to its window.
    pub async fn review(&self, request: &str) -> Result<(), DesktopError> {
        self.main().await?;
        let row = format!("[data-request='{request}']");
        let deadline = Instant::now() + STEP_WITHIN;
        while !self.driver.exists(&row).await? {
            if Instant::now() >= deadline {
                return Err(late(&format!("the inbox never showed `{request}`")));
            }
            self.driver.keys("n").await?;
            tokio::time::sleep(POLL).await;
        }
        // The row is the button itself, or holds it.
        let clicked = "const row = document.querySelector(arguments[0]); return row.matches('button') ? '' : ' button';";
        let inner = self.driver.execute(clicked, vec![row.clone().into()]).await?;
        self.driver.click(&format!("{row}{}", inner.as_str().unwrap_or_default())).await?;
        self.driver.window_with_url(&format!("{REVIEW}localhost/{request}")).await?;
        // Before its first state came, the window's own script has not begun.
        self.driver.wait_for("#start-approving[aria-disabled]").await?;
        Ok(())
    }

    /// Reads every part of the open request, as far as they have to be on screen.
    pub async fn read_all(&self) -> Result<(), DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        // The core counts too, and not what was on screen before it knew the window to be in front.
        let unread = "const seen = document.querySelector('[data-live=seen]').textContent.match(/(\\d+) of (\\d+)/);\
            return document.querySelector('[data-part-number]:not(.seen)') !== null || seen === null || seen[1] !== seen[2]";
        while self.driver.execute(unread, vec![]).await?.as_bool() != Some(false) {
            if Instant::now() >= deadline {
                return Err(late("a part of the request never counted as seen"));
            }
            self.driver.keys(" ").await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }

    /// Opens a panel of the review window.
    pub async fn open_panel(&self, panel: Panel) -> Result<(), DesktopError> {
        let (control, heading) = match panel {
            Panel::Approve => ("#start-approving", "#approve h2"),
            Panel::Deny => ("#start-denying", "#deny h2"),
        };
        self.driver.click(control).await?;
        self.driver.wait_for(heading).await?;
        Ok(())
    }

    /// Gives a reason and, where it is asked, the PIN, waits until approving unlocks, and approves.
    pub async fn approve_with_reason(&self, reason: &str, pin: &str) -> Result<(), DesktopError> {
        self.give_reason(reason).await?;
        self.type_pin("#pin", pin).await?;
        self.unlocked("#approve-commit").await?;
        self.driver.click("#approve-commit").await
    }

    /// Gives a reason in one's own words.
    pub async fn give_reason(&self, reason: &str) -> Result<(), DesktopError> {
        self.driver.click("#reason-kind-other").await?;
        self.driver.type_text("#reason-other", reason).await
    }

    /// Types the answer to the value question, and leaves its field.
    pub async fn answer(&self, answer: &str) -> Result<(), DesktopError> {
        self.driver.clear("#answer").await?;
        self.driver.type_text("#answer", answer).await?;
        self.driver.click("#reason").await
    }

    /// Picks the answer to the value question among those offered.
    pub async fn pick(&self, answer: &str) -> Result<(), DesktopError> {
        let find = "const option = [...document.querySelectorAll('input[name=picked]')].find((option) => option.value === arguments[0]);\
            return option === undefined ? '' : `#${option.id}`";
        let found = self.driver.execute(find, vec![answer.into()]).await?;
        match found.as_str() {
            Some(css) if !css.is_empty() => self.driver.click(css).await,
            _ => Err(late(&format!("`{answer}` is not among the answers offered"))),
        }
    }

    /// Waits until a wrong answer is forgiven and another question is asked.
    pub async fn another_question(&self) -> Result<(), DesktopError> {
        self.until("the question to go", "return document.querySelector('#question').hidden", vec![]).await?;
        self.until("another question", "return !document.querySelector('#question').hidden", vec![]).await
    }

    /// Waits until no element of this kind is in the current window.
    pub async fn gone(&self, css: &str) -> Result<(), DesktopError> {
        self.until(&format!("`{css}` to go"), "return document.querySelector(arguments[0]) === null", vec![css.into()]).await
    }

    /// Whether the current window has such an element and shows it.
    pub async fn shows(&self, css: &str) -> Result<bool, DesktopError> {
        let shown = "const found = document.querySelector(arguments[0]); return found !== null && found.checkVisibility();";
        Ok(self.driver.execute(shown, vec![css.into()]).await?.as_bool() == Some(true))
    }

    /// Waits until the window has asked the core twice more: what a press did would show by then.
    pub async fn settled(&self) -> Result<(), DesktopError> {
        tokio::time::sleep(SETTLE).await;
        Ok(())
    }

    async fn until(&self, what: &str, script: &str, arguments: Vec<serde_json::Value>) -> Result<(), DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        while self.driver.execute(script, arguments.clone()).await?.as_bool() != Some(true) {
            if Instant::now() >= deadline {
                return Err(late(what));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Denies for a reason, with a note to the agent's owner.
    pub async fn deny(&self, kind: &str, note: &str, pin: &str) -> Result<(), DesktopError> {
        self.driver.click(&format!("input[name=denial][value={kind}]")).await?;
        self.driver.type_text("#note", note).await?;
        self.type_pin("#deny-pin", pin).await?;
        self.unlocked("#deny-commit").await?;
        self.driver.click("#deny-commit").await
    }

    /// Denies as soon as a PIN is taken again: after a wrong one the window waits.
    pub async fn deny_when_pin_is_taken(&self, pin: &str) -> Result<(), DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        loop {
            self.type_pin("#deny-pin", pin).await?;
            self.driver.click("#deny-commit").await?;
            self.settled().await?;
            if self.shows("#receipt").await? {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(late(&format!("the PIN is not taken: {}", self.driver.text("#deny").await?)));
            }
        }
    }

    /// Types the PIN where the window asks for it.
    pub async fn type_pin(&self, field: &str, pin: &str) -> Result<(), DesktopError> {
        if self.shows(field).await? {
            self.driver.clear(field).await?;
            self.driver.type_text(field, pin).await?;
        }
        Ok(())
    }

    /// Waits until a control may be pressed.
    pub async fn unlocked(&self, control: &str) -> Result<(), DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        while self.driver.attribute(control, "aria-disabled").await?.as_deref() == Some("true") {
            if Instant::now() >= deadline {
                let locks = self.driver.text("#locks").await.unwrap_or_default();
                return Err(late(&format!("`{control}` stays locked: {locks}")));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Gives a control the time in which it would unlock, whether it does or not.
    pub async fn unlocked_or_not(&self, control: &str) -> Result<(), DesktopError> {
        let deadline = Instant::now() + UNLOCK_WITHIN;
        while Instant::now() < deadline && self.driver.attribute(control, "aria-disabled").await?.as_deref() != Some("false") {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Waits for the receipt and gives its text.
    pub async fn receipt(&self) -> Result<String, DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        loop {
            let text = self.driver.text("#receipt").await?;
            if !text.trim().is_empty() {
                return Ok(text);
            }
            if Instant::now() >= deadline {
                let message = self.driver.text("body").await.unwrap_or_default();
                return Err(late(&format!("no receipt came; the window says: {message}")));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Closes the review window and turns to the main one.
    pub async fn close_review(&self) -> Result<(), DesktopError> {
        self.leave_by("#close").await
    }

    /// Leaves the review window by its key and turns to the main one.
    pub async fn close_review_by_key(&self) -> Result<(), DesktopError> {
        let before = self.driver.windows().await?;
        let pressed = self.driver.keys("\u{e00c}").await;
        self.left(before, pressed).await
    }

    /// Presses what closes the current window and turns to the main one.
    pub async fn leave_by(&self, css: &str) -> Result<(), DesktopError> {
        let before = self.driver.windows().await?;
        let pressed = self.driver.click(css).await;
        self.left(before, pressed).await
    }

    /// Waits until one window less is open. The press itself may have been answered by its end.
    async fn left(&self, before: usize, pressed: Result<(), DesktopError>) -> Result<(), DesktopError> {
        let deadline = Instant::now() + STEP_WITHIN;
        while self.driver.windows().await? >= before {
            if Instant::now() >= deadline {
                return pressed.and(Err(late("the window stays open")));
            }
            tokio::time::sleep(POLL).await;
        }
        self.main().await
    }

    /// A picture of the current window, once it stands still.
    pub async fn picture(&self, path: &Path) -> Result<(), DesktopError> {
        // A picture right after a change can show the frame before it.
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.driver.screenshot_png(path).await
    }

    /// Ends the console.
    pub async fn close(self) -> Result<(), DesktopError> {
        self.driver.close().await
    }
}

fn late(what: &str) -> DesktopError {
    DesktopError::Deadline { what: what.to_owned(), seconds: STEP_WITHIN.as_secs() }
}
