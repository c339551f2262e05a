//! What the inbox says, and when: observed from inside the page, so that no question of ours stands in the measured time.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use vidimus_tests::console::Console;

use crate::BenchError;

/// How long the page may take to say something.
const SAID_WITHIN: Duration = Duration::from_secs(20);

/// Stamps each moment at which the bar begins to speak of a new request, and the frame that shows it.
const OBSERVE: &str = "
    const bar = document.querySelector('[data-part=new-bar]');
    if (bar === null) return false;
    const bench = { speaks: bar.querySelector('strong') !== null, news: [], wait: null, quiet: null };
    window.vidimusBench = bench;
    const look = () => {
        const speaks = bar.querySelector('strong') !== null;
        if (speaks === bench.speaks) return;
        bench.speaks = speaks;
        if (!speaks) {
            bench.quiet?.();
            return;
        }
        const news = { said_at_ms: Date.now(), drawn_at_ms: null };
        bench.news.push(news);
        requestAnimationFrame(() => {
            const channel = new MessageChannel();
            channel.port1.onmessage = () => {
                news.drawn_at_ms = Date.now();
                bench.wait?.();
            };
            channel.port2.postMessage(null);
        });
    };
    new MutationObserver(look).observe(bar, { subtree: true, childList: true, characterData: true });
    return true;";

/// Answers with the news of this number, once it is drawn.
const NEWS: &str = "
    const [number, done] = arguments;
    const bench = window.vidimusBench;
    const look = () => {
        const news = bench.news[number];
        if (news === undefined || news.drawn_at_ms === null) return;
        bench.wait = null;
        done(news);
    };
    bench.wait = look;
    look();";

/// Answers once the bar speaks of nothing new.
const QUIET: &str = "
    const [done] = arguments;
    const bench = window.vidimusBench;
    const look = () => {
        if (bench.speaks) return;
        bench.quiet = null;
        done(bench.news.length);
    };
    bench.quiet = look;
    look();";

/// The moments of one new request on the screen. *Unit*: milliseconds since the epoch, by the machine's clock.
#[derive(Deserialize)]
pub struct News {
    /// The page's document says it.
    pub said_at_ms: f64,
    /// The first frame that holds it has been drawn.
    pub drawn_at_ms: f64,
}

/// The inbox of a console, observed.
pub struct Inbox<'a> {
    console: &'a Console,
}

impl<'a> Inbox<'a> {
    /// Begins to observe the main window.
    pub async fn observe(console: &'a Console) -> Result<Inbox<'a>, BenchError> {
        console.main().await?;
        console.driver.wait_for("[data-part=new-bar]").await?;
        if console.driver.execute(OBSERVE, vec![]).await? == json!(true) {
            Ok(Inbox { console })
        } else {
            Err(BenchError::Unexpected("the inbox has no bar for what is new".to_owned()))
        }
    }

    /// Waits until the inbox speaks of nothing new, and gives the number that the next news will have.
    pub async fn quiet(&self) -> Result<u64, BenchError> {
        let number = self.ask("the inbox to be quiet", QUIET, vec![]).await?;
        number.as_u64().ok_or_else(|| BenchError::Unexpected(format!("`{number}` is no number of news")))
    }

    /// Waits for the news of this number.
    pub async fn news(&self, number: u64) -> Result<News, BenchError> {
        let news = self.ask("news in the inbox", NEWS, vec![json!(number)]).await?;
        serde_json::from_value(news).map_err(|error| BenchError::Unexpected(format!("the inbox's news cannot be read: {error}")))
    }

    async fn ask(&self, what: &str, script: &str, arguments: Vec<Value>) -> Result<Value, BenchError> {
        let failed = |detail: String| BenchError::Unexpected(format!("waited for {what}: {detail}"));
        let asked = self.console.driver.client()?.execute_async(script, arguments);
        match timeout(SAID_WITHIN, asked).await {
            Ok(answer) => answer.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed(format!("nothing within {} s", SAID_WITHIN.as_secs()))),
        }
    }
}
