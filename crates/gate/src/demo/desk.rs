//! The approver's desk: the real console on a session bus of its own, with a person before it, or driven by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::{Desktop, Display, Keyring, NotificationServer, Options};
use vidimus_tests::processes::Process;

use super::stage::Stage;
use super::transcript::Transcript;
use super::{Demo, DemoError, Proposed};

/// The PIN that the demo chooses when it sits at the desk itself.
const PIN: &str = "480216";

/// Who sits at the desk.
enum Seat {
    /// Nobody: the window is driven.
    Driven(Box<Console>),
    /// A person.
    Person(Process),
}

/// The desk.
pub struct Desk {
    seat: Seat,
    desktop: Desktop,
    transcript: Arc<Transcript>,
    out: PathBuf,
}

impl Desk {
    /// Opens the console under a profile of its own.
    ///
    /// *Errors*: the desktop or the console did not start.
    pub async fn open(demo: &Demo, stage: &Stage, transcript: Arc<Transcript>) -> Result<Desk, DemoError> {
        let headless = demo.headless || !has_display();
        let display = if headless { Display::Virtual { width: 1440, height: 960 } } else { Display::Existing };
        let desktop = Desktop::start(Options { display, keyring: Keyring::Unlocked, notification_server: NotificationServer::Dunst })?;
        let profile = stage.folder("console")?;
        transcript.say("the console opens under a profile of its own, with a keyring and a notification server of its own");
        let seat = if headless {
            Seat::Driven(Box::new(Console::start(&desktop, &demo.console, &profile, &demo.theme).await?))
        } else {
            let profile = profile.to_string_lossy().into_owned();
            Seat::Person(desktop.spawn(&demo.console, ["--profile", &profile, "--theme", &demo.theme])?)
        };
        Ok(Desk { seat, desktop, transcript, out: demo.out.clone() })
    }

    /// Enrols the person through the real enrolment.
    pub async fn enrol(&self, invite: &str) -> Result<(), DemoError> {
        match &self.seat {
            Seat::Driven(console) => console.enrol_and_stay(invite, PIN).await?,
            Seat::Person(_) => {
                self.transcript.say("enrol at this gate: in the console, choose to enrol, paste this invitation, choose a PIN:");
                println!("\n{invite}\n");
            }
        }
        self.transcript.line("enrolment", json!({ "person": super::stage::PERSON }))?;
        Ok(())
    }

    /// Waits until the inbox shows this many requests, and takes its picture and the notification's.
    pub async fn see_inbox(&self, rows: usize) -> Result<(), DemoError> {
        let Seat::Driven(console) = &self.seat else {
            self.transcript.say("open the refund in the inbox, read it, approve it");
            return Ok(());
        };
        // One by one or, when they come together, in one popup.
        let told = |summary: &str| summary.contains("Approval needed") || summary.contains("waiting");
        let notification =
            self.desktop.wait_for_notification(Duration::from_secs(20), |shown| shown.id.is_some() && told(&shown.summary))?;
        self.transcript.line("notification", json!({ "summary": notification.summary, "body": notification.body }))?;
        self.desktop.notification_screenshot(&self.out.join("notification.png"))?;
        console.leave_enrolment().await?;
        console.show_rows(rows).await?;
        self.picture("inbox.png").await
    }

    /// Reviews a request and approves it.
    pub async fn approve(&self, request: &Proposed) -> Result<(), DemoError> {
        match &self.seat {
            Seat::Driven(console) => {
                console.review(&request.request).await?;
                console.read_all().await?;
                if !self.out.join("review.png").exists() {
                    self.picture("review.png").await?;
                }
                console.open_panel(Panel::Approve).await?;
                console.approve_with_reason("matches the ticket, checked against the invoice", PIN).await?;
            }
            Seat::Person(_) => self.transcript.say(&format!("waiting for you to approve `{}` ({})", request.tool, request.request)),
        }
        Ok(())
    }

    /// Takes the receipt's picture.
    pub async fn see_receipt(&self) -> Result<(), DemoError> {
        if let Seat::Driven(console) = &self.seat {
            console.driver.wait_for_text("#receipt", "Executed").await?;
            let receipt = console.receipt().await?;
            self.transcript.line("receipt", json!({ "text": receipt }))?;
            self.picture("receipt.png").await?;
            console.close_review().await?;
        }
        Ok(())
    }

    /// Denies a request; the console may have to find its gate again first.
    pub async fn deny(&self, request: &Proposed) -> Result<(), DemoError> {
        match &self.seat {
            Seat::Driven(console) => {
                console.review(&request.request).await?;
                console.open_panel(Panel::Deny).await?;
                console.deny("not_expected", "the customer wrote that they want to stay", PIN).await?;
                console.receipt().await?;
                console.close_review().await?;
            }
            Seat::Person(_) => {
                self.transcript.say(&format!("now deny `{}` ({}): the agent will be told your reason", request.tool, request.request));
            }
        }
        Ok(())
    }

    /// Keeps what the console and the desktop have printed, beside the transcript.
    pub fn keep_logs(&self) -> Result<(), DemoError> {
        self.desktop.screenshot(&self.out.join("failure.png"))?;
        for entry in std::fs::read_dir(self.desktop.logs())? {
            let entry = entry?;
            std::fs::copy(entry.path(), self.out.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// Closes the console and the desktop.
    pub async fn close(self) -> Result<(), DemoError> {
        match self.seat {
            Seat::Driven(console) => console.close().await?,
            Seat::Person(mut process) => {
                process.end().map_err(vidimus_tests::desktop::DesktopError::from)?;
            }
        }
        Ok(())
    }

    async fn picture(&self, name: &str) -> Result<(), DemoError> {
        if let Seat::Driven(console) = &self.seat {
            console.picture(&self.out.join(Path::new(name))).await?;
        }
        Ok(())
    }
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
