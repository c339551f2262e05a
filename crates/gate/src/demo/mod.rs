//! `demo`: the main job, end to end, on real parts, with a person at the window or, without a display, by itself.
//!
//! A fixture company, a gate of its own, an agent that works through a support queue, the console under a profile of its
//! own on a session bus of its own: nothing of the user's keyring, autostart or data is touched, and all of it is removed.

mod desk;
mod outcome;
mod proofs;
mod stage;
mod transcript;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::roster::AUDITOR;
use vidimus_tests::company::{InspectionError, Tool, agent};
use vidimus_tests::desktop::DesktopError;
use vidimus_tests::gate::GateError;

use crate::gate::StartError;
use desk::Desk;
use stage::Stage;
use transcript::Transcript;

/// How long the demo waits for a person.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// What the demo is asked to do.
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// The console's program.
    #[arg(long)]
    pub console: PathBuf,
    /// Without a person: a virtual display, and the window driven through WebDriver.
    #[arg(long)]
    pub headless: bool,
    /// Where the transcript and the pictures go.
    #[arg(long, default_value = "target/demo")]
    pub out: PathBuf,
    /// How the windows look.
    #[arg(long, value_parser = ["light", "dark"], default_value = "light")]
    pub theme: String,
}

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A file or process of the demo.
    #[error("the demo could not use a file or process: {0}")]
    Io(#[from] std::io::Error),
    /// The gate's program.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The gate, opened by the demo itself.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The store, read by the demo itself.
    #[error(transparent)]
    Store(#[from] vidimus_store::StoreError),
    /// The desktop or the window.
    #[error(transparent)]
    Desktop(#[from] DesktopError),
    /// The company's counts.
    #[error(transparent)]
    Inspection(#[from] InspectionError),
    /// A call to the gate.
    #[error("the gate did not answer the demo: {0}")]
    Http(#[from] reqwest::Error),
    /// The agent.
    #[error(transparent)]
    Agent(#[from] agent::AgentError),
    /// A rule of the domain, where none should be broken.
    #[error(transparent)]
    Refused(vidimus_core::code::Refusal),
    /// Something is not as it must be.
    #[error("{0}")]
    Unexpected(&'static str),
}

/// A proposal of the agent, as it was told that it waits.
#[derive(Debug, Clone)]
pub struct Proposed {
    /// The tool.
    pub tool: String,
    /// The call.
    pub call: String,
    /// The approval request.
    pub request: String,
}

/// Plays the demo; a signal to end takes everything down that was started, like any other end.
///
/// *Errors*: each reason to end early. The exit code is 0 only if the provider's counts are what was approved.
pub async fn run(demo: Demo) -> Result<ExitCode, DemoError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut playing = tokio::spawn(whole(demo));
    tokio::select! {
        verdict = &mut playing => return verdict.unwrap_or(Err(DemoError::Unexpected("the demo broke"))),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    println!("the demo is told to end: it takes down what it started");
    playing.abort();
    // What the play holds is dropped, and with it ended and removed, before its task is over.
    let _ = playing.await;
    Err(DemoError::Unexpected("the demo was told to end"))
}

async fn whole(demo: Demo) -> Result<ExitCode, DemoError> {
    std::fs::create_dir_all(&demo.out)?;
    // What an earlier demo left here must not pass for this one's.
    for name in ["inbox.png", "review.png", "receipt.png", "notification.png", "failure.png", "gate.log"] {
        match std::fs::remove_file(demo.out.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    let transcript = Arc::new(Transcript::begin(&demo.out.join("transcript.jsonl"))?);
    transcript.say("a fixture company opens, and a gate is made for it (environment: test)");
    let mut stage = Stage::set().await?;
    let desk = Desk::open(&demo, &stage, transcript.clone()).await?;
    let verdict = play(&mut stage, &desk, &transcript).await;
    if verdict.is_err() {
        desk.keep_logs()?;
        std::fs::copy(stage.folder("gate")?.join("gate.log"), demo.out.join("gate.log"))?;
    }
    desk.close().await?;
    verdict
}

async fn play(stage: &mut Stage, desk: &Desk, transcript: &Arc<Transcript>) -> Result<ExitCode, DemoError> {
    desk.enrol(&stage.invite).await?;
    enrolled(stage).await?;
    transcript.say("the agent works through the support queue");
    let (proposals, queue) = work_through_queue(stage, transcript);
    let [refund, mail, cancellation] = three(proposals).await?;
    count(stage, transcript, "nothing is approved").await?;
    transcript.say("three money calls wait: a refund, a mail, a cancelled subscription; nothing has run");
    desk.see_inbox(3).await?;

    desk.approve(&refund).await?;
    let approved: RequestId = refund.request.parse().map_err(DemoError::Refused)?;
    executed(stage, &stage.billing, &refund.call, transcript).await?;
    desk.see_receipt().await?;
    count(stage, transcript, "one refund is approved").await?;

    transcript.say("proofs 1 and 2: the gate is ended, and its executor is given what must not run");
    stage.gate = None;
    for refused in proofs::present(&stage.home.data(), &stage.tokens, approved).await? {
        transcript.say(&format!("  {}: refused with `{}`: {}", refused.what, refused.code, refused.words));
        transcript.line("proof", json!({ "tried": refused.what, "code": refused.code.as_str(), "words": refused.words }))?;
    }
    count(stage, transcript, "after a changed byte and a replayed token").await?;

    // From here on the gate dies after the provider has answered and before anything of the answer is stored.
    stage.serve(Some("before_record"))?;
    desk.deny(&cancellation).await?;
    ended(stage, &stage.billing, &cancellation.call, transcript).await?;
    withdraw(stage, &mail, transcript).await?;
    let told = queue.await.map_err(|_| DemoError::Unexpected("the agent broke"))??;
    for told in &told {
        transcript.say(&format!("the agent is told about `{}`: {} ({})", told.tool, told.status, told.words));
    }

    transcript.say("proof 3: a second refund is approved, and the gate is killed after the provider acted, before it could record it");
    let second = second_refund(stage, transcript).await?;
    desk.approve(&second).await?;
    died(stage)?;
    count(stage, transcript, "the provider acted, the gate is dead and knows nothing of it").await?;
    stage.serve(None)?;
    executed(stage, &stage.billing, &second.call, transcript).await?;
    count(stage, transcript, "the gate is back and sent the same key again").await?;

    stage.gate = None;
    outcome::judge(stage, transcript, &told).await
}

/// Waits until the first admin has signed the table: before that no tool has a row in force.
async fn enrolled(stage: &Stage) -> Result<(), DemoError> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if stage.tools(&stage.support).await?.as_array().is_some_and(|tools| !tools.is_empty()) {
            return Ok(());
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(DemoError::Unexpected("nobody enrolled"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The roles of a reader who may read every body.
fn everything() -> Result<Vec<Name>, DemoError> {
    Ok(vec![Name::parse(AUDITOR).map_err(DemoError::Refused)?])
}

/// Starts the agent. Its proposals come through the channel as they are made, its end through the task.
fn work_through_queue(
    stage: &Stage,
    transcript: &Arc<Transcript>,
) -> (mpsc::UnboundedReceiver<Proposed>, tokio::task::JoinHandle<Result<Vec<agent::Told>, agent::AgentError>>) {
    let options =
        agent::Options { gate: stage.home.url(), support: stage.support.clone(), billing: stage.billing.clone(), patience: PATIENCE };
    let (sender, receiver) = mpsc::unbounded_channel();
    let transcript = transcript.clone();
    let queue = tokio::spawn(async move {
        let report = move |line: &str| {
            let Ok(step) = serde_json::from_str::<Value>(line) else { return };
            // A transcript that cannot be written shows at the next line of the demo itself.
            let _ = transcript.line("call", step.clone());
            let text = |name: &str| step.get(name).and_then(Value::as_str).map(str::to_owned);
            if text("step").as_deref() == Some("proposed")
                && let (Some(tool), Some(call), Some(request)) = (text("tool"), text("call"), text("request"))
            {
                let _ = sender.send(Proposed { tool, call, request });
            }
        };
        agent::work_through_queue(options, report).await
    });
    (receiver, queue)
}

/// The three proposals, by tool.
async fn three(mut proposals: mpsc::UnboundedReceiver<Proposed>) -> Result<[Proposed; 3], DemoError> {
    let mut found = Vec::new();
    while found.len() < 3 {
        let next = tokio::time::timeout(Duration::from_secs(30), proposals.recv()).await;
        found.push(next.ok().flatten().ok_or(DemoError::Unexpected("the agent did not make its three proposals"))?);
    }
    let mut take = |tool: &str| {
        let at = found.iter().position(|proposed| proposed.tool == tool).ok_or(DemoError::Unexpected("a proposal is missing"))?;
        Ok::<Proposed, DemoError>(found.swap_remove(at))
    };
    Ok([take("refund")?, take("send_email")?, take("cancel_subscription")?])
}

/// Puts the provider's counts on record and says them.
async fn count(stage: &Stage, transcript: &Transcript, when: &str) -> Result<(), DemoError> {
    let mut counts = serde_json::Map::new();
    for tool in [Tool::Refund, Tool::SendEmail, Tool::CancelSubscription] {
        counts.insert(tool.name().to_owned(), stage.count(tool).await?.into());
    }
    transcript.say(&format!("the provider counts {} ({when})", Value::Object(counts.clone())));
    transcript.line("provider_count", json!({ "when": when, "counts": counts }))?;
    Ok(())
}

/// Waits until a call has run, as its agent would.
async fn executed(stage: &Stage, credential: &str, call: &str, transcript: &Transcript) -> Result<(), DemoError> {
    match ended(stage, credential, call, transcript).await?.as_str() {
        "executed" => Ok(()),
        _ => Err(DemoError::Unexpected("a call that was to be approved ended otherwise")),
    }
}

/// Waits until a call has come to an end, and gives its status. A gate that is away is asked again.
async fn ended(stage: &Stage, credential: &str, call: &str, transcript: &Transcript) -> Result<String, DemoError> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Ok(answer) = stage.ask_call(credential, call).await {
            let status = answer.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
            if !["pending", "approved", "executing", "unknown"].contains(&status.as_str()) {
                transcript.line("answer", answer)?;
                return Ok(status);
            }
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(DemoError::Unexpected("a call did not come to an end"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The agent takes its mail back: it was never approved.
async fn withdraw(stage: &Stage, mail: &Proposed, transcript: &Transcript) -> Result<(), DemoError> {
    let answer = stage.withdraw(&stage.support, &mail.call).await?;
    transcript.say("the agent withdraws the mail that nobody decided on");
    transcript.line("answer", answer)?;
    Ok(())
}

/// The agent proposes one more refund.
async fn second_refund(stage: &Stage, transcript: &Transcript) -> Result<Proposed, DemoError> {
    let body = json!({
        "tool": "refund", "call_key": "demo-second-refund-843",
        "args": { "invoice": "invoice_843", "amount_minor": 2500, "currency": "EUR", "reason": "charged twice" },
        "says": "The customer wrote that they were charged twice.",
    });
    let answer = stage.call(&stage.billing, &body).await?;
    transcript.line("call", json!({ "step": "proposed", "tool": "refund", "answer": answer }))?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(call), Some(request)) = (text("call"), text("request")) else {
        return Err(DemoError::Unexpected("the second refund does not wait"));
    };
    Ok(Proposed { tool: "refund".to_owned(), call, request })
}

/// Waits until the gate has died at its seam.
fn died(stage: &mut Stage) -> Result<(), DemoError> {
    let gate = stage.gate.as_mut().ok_or(DemoError::Unexpected("the gate does not run"))?;
    let status = gate.process.wait(Duration::from_secs(60)).map_err(GateError::from)?;
    if status.success() {
        return Err(DemoError::Unexpected("the gate ended instead of dying"));
    }
    Ok(())
}
