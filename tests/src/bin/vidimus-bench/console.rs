//! The console: from the agent's call to the inbox's words, its frame, and the notification. Real gate, real windows.

use std::time::Duration;

use serde_json::{Value, json};
use vidimus_tests::console::Console;
use vidimus_tests::desktop::{Desktop, Display, Keyring, NotificationServer, Options};
use vidimus_tests::processes::Binary;

use crate::BenchError;
use crate::clock::now_us;
use crate::figures::{Figure, median, p95};
use crate::house::{Answer, Bench, Client, House, credit};
use crate::inbox::Inbox;

/// The PIN of the bench's own desktop.
const PIN: &str = "480216";

/// The agent whose requests the inbox is watched for.
const AGENT: &str = "bench_asker";

/// Rounds: each has one notification of every class below and a part of the inbox's calls.
const ROUNDS: usize = 4;

/// Calls for the inbox in one round.
const CALLS: usize = 12;

/// Calls of the first round before any counts: the page's and the mirror's first are slower, and happen once a day.
const CALLS_BEFORE: usize = 3;

/// Requests that have ended before the calls of the crowded inbox: as many as the console lists.
const ENDED: usize = 300;

/// Requests that wait in the crowded inbox.
const WAITING: usize = 50;

/// Between two rounds. The first request of a class pops up at once, further ones are held together for a minute.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(62);

/// Pauses before a call, so that calls meet every phase of the timers on both sides. *Unit*: milliseconds.
const PAUSE_MS: std::ops::Range<u64> = 200..900;

/// A step that has no common factor with the length of the pauses, so that they spread evenly.
const PAUSE_STEP_MS: u64 = 137;

/// How long a notification may take.
const NOTIFIED_WITHIN: Duration = Duration::from_secs(20);

/// What was measured, in milliseconds.
#[derive(Default)]
struct Taken {
    round_trip: Vec<f64>,
    said: Vec<f64>,
    drawn: Vec<f64>,
    notified: Vec<f64>,
    said_crowded: Vec<f64>,
}

/// Measures.
pub async fn run(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    println!("console: {ROUNDS} rounds a minute apart, each with {CALLS} calls and a notification of three classes");
    let house = bench.gate("console", &[AGENT.to_owned()], &["billing-approver", "support-lead"])?;
    let display = Display::Virtual { width: 1440, height: 960 };
    let desktop = Desktop::start(Options { display, keyring: Keyring::Unlocked, notification_server: NotificationServer::Dunst })?;
    let profile = house.folder.join("console");
    std::fs::create_dir_all(&profile)?;
    let console = Console::start(&desktop, &Binary::path("vidimus")?, &profile, "light").await?;
    let taken = measure(&house, &desktop, &console).await;
    console.close().await?;
    taken.map(|taken| figures(&taken))
}

async fn measure(house: &House, desktop: &Desktop, console: &Console) -> Result<Taken, BenchError> {
    console.enrol(&house.invite, PIN).await?;
    let inbox = Inbox::observe(console).await?;
    // Who looks at the inbox gets no notification of what it says anyway.
    desktop.look_away()?;
    let credential = house.credentials.first().map(String::as_str).unwrap_or_default();
    let agent = Client::new(&house.gate.url, credential)?;
    let support = Client::new(&house.gate.url, &house.home.add_agent("support", None)?)?;
    let billing = Client::new(&house.gate.url, &house.home.add_agent("billing", None)?)?;
    let mut taken = Taken::default();
    for number in 0..CALLS_BEFORE {
        on_screen(&inbox, &agent, number, &mut Taken::default()).await?;
    }
    for round in 0..ROUNDS {
        let next = tokio::time::Instant::now() + BETWEEN_ROUNDS;
        for (client, tool, args) in notified_calls(&support, &billing, round) {
            taken.notified.push(notified(desktop, &inbox, client, tool, &args).await?);
        }
        for call in 0..CALLS {
            on_screen(&inbox, &agent, CALLS_BEFORE + round * CALLS + call, &mut taken).await?;
        }
        if round + 1 < ROUNDS {
            tokio::time::sleep_until(next).await;
        }
    }
    taken.said_crowded = crowded(console, &inbox, &agent).await?;
    Ok(taken)
}

/// The same calls once the inbox is full of what waits and the copy of the log of what has ended.
async fn crowded(console: &Console, inbox: &Inbox<'_>, agent: &Client) -> Result<Vec<f64>, BenchError> {
    let from = CALLS_BEFORE + ROUNDS * CALLS;
    for number in from..from + ENDED + WAITING {
        let (answer, _) = agent.call_expecting("pending", "issue_credit", &credit(number)).await?;
        if number < from + ENDED {
            agent.withdraw(&answer.call).await?;
        }
    }
    console.show_rows(WAITING).await?;
    let mut taken = Taken::default();
    for call in 0..CALLS {
        on_screen(inbox, agent, from + ENDED + WAITING + call, &mut taken).await?;
    }
    Ok(taken.said)
}

/// One call of each class that the inbox's own calls are not of: all of them are the first of theirs for a minute.
fn notified_calls<'a>(support: &'a Client, billing: &'a Client, round: usize) -> [(&'a Client, &'static str, Value); 3] {
    let refund = json!({ "invoice": "invoice_842", "amount_minor": round + 1, "currency": "EUR", "reason": "the kettle arrived broken" });
    let mail =
        json!({ "to": "ada@example.com", "subject": format!("Your kettle, part {round}"), "body": "It leaves the warehouse on Thursday." });
    let cancellation =
        json!({ "subscription": format!("sub_bench_{round}"), "effective": "2026-12-31", "reason": "the customer asked for it" });
    [(billing, "refund", refund), (support, "send_email", mail), (billing, "cancel_subscription", cancellation)]
}

/// From just before a call is sent to the inbox's words, beside the round trip of the same call.
async fn on_screen(inbox: &Inbox<'_>, agent: &Client, number: usize, taken: &mut Taken) -> Result<(), BenchError> {
    let next = inbox.quiet().await?;
    pause(number).await;
    let sent_ms = milliseconds(now_us());
    let (answer, round_trip) = agent.call_expecting("pending", "issue_credit", &credit(number)).await?;
    let news = inbox.news(next).await?;
    taken.round_trip.push(round_trip);
    taken.said.push(news.said_at_ms - sent_ms);
    taken.drawn.push(news.drawn_at_ms - sent_ms);
    take_back(inbox, agent, &answer).await
}

/// From just before a call is sent to the notification server's having its notification.
async fn notified(desktop: &Desktop, inbox: &Inbox<'_>, agent: &Client, tool: &str, args: &Value) -> Result<f64, BenchError> {
    inbox.quiet().await?;
    let sent_us = now_us();
    let (answer, _) = agent.call_expecting("pending", tool, args).await?;
    let notification = desktop.wait_for_notification(NOTIFIED_WITHIN, |shown| shown.sent_at_us >= sent_us && shown.id.is_some())?;
    take_back(inbox, agent, &answer).await?;
    Ok(milliseconds(notification.sent_at_us - sent_us))
}

async fn take_back(inbox: &Inbox<'_>, agent: &Client, answer: &Answer) -> Result<(), BenchError> {
    agent.withdraw(&answer.call).await?;
    inbox.quiet().await?;
    Ok(())
}

async fn pause(number: usize) {
    let length = PAUSE_MS.end - PAUSE_MS.start;
    let offset = u64::try_from(number).unwrap_or(0) * PAUSE_STEP_MS % length;
    tokio::time::sleep(Duration::from_millis(PAUSE_MS.start + offset)).await;
}

/// *Unit*: milliseconds, exact to the microsecond for as long as there are fewer than 2^53 of those.
#[allow(clippy::cast_precision_loss)]
fn milliseconds(us: u64) -> f64 {
    us as f64 / 1000.0
}

fn figures(taken: &Taken) -> Vec<Figure> {
    let n = taken.said.len();
    let ms = |id: &str, value: f64, n: usize| Figure::new(id, value, "ms", n);
    vec![
        ms("console.request_on_screen_ms", median(&taken.said), n),
        ms("console.request_on_screen_ms_p95", p95(&taken.said), n),
        ms("console.request_drawn_ms", median(&taken.drawn), n),
        ms("console.call_round_trip_ms", median(&taken.round_trip), n),
        Figure::new("console.request_on_screen_ratio", median(&taken.said) / median(&taken.round_trip), "ratio", n),
        ms("console.request_on_screen_crowded_ms", median(&taken.said_crowded), taken.said_crowded.len()),
        ms("console.notification_ms", median(&taken.notified), taken.notified.len()),
        ms("console.notification_ms_p95", p95(&taken.notified), taken.notified.len()),
    ]
}
