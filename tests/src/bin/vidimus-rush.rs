//! Sends one request many times at once, from a process of its own: `vidimus-rush URL BEARER COUNT`. Each line of the standard
//! input is a path, a space and a body, sent `COUNT` times at one barrier; each answer becomes a line `STATUS TEXT`, then an
//! empty line.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::Arc;

use reqwest::Client;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, bearer, count] = arguments.as_slice() else {
        eprintln!("give the gate's URL, a bearer and how often each line is sent");
        return ExitCode::from(2);
    };
    let (Ok(count), Ok(client)) = (count.parse::<usize>(), Client::builder().no_proxy().retry(reqwest::retry::never()).build()) else {
        eprintln!("`{count}` is not a number, or there is no HTTP on this machine");
        return ExitCode::from(2);
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let (path, body) = line.split_once(' ').unwrap_or((&line, ""));
        for answer in rush(&client, &format!("{url}{path}"), bearer, body, count).await {
            println!("{answer}");
        }
        println!();
    }
    ExitCode::SUCCESS
}

async fn rush(client: &Client, url: &str, bearer: &str, body: &str, count: usize) -> Vec<String> {
    let barrier = Arc::new(Barrier::new(count));
    let mut sent = JoinSet::new();
    for _ in 0..count {
        let (request, barrier) = (client.post(url).bearer_auth(bearer).body(body.to_owned()), barrier.clone());
        sent.spawn(async move {
            barrier.wait().await;
            match request.send().await {
                Ok(response) => {
                    let status = response.status().as_u16();
                    format!("{status} {}", response.text().await.unwrap_or_default().replace('\n', " "))
                }
                Err(error) => format!("0 {error}"),
            }
        });
    }
    sent.join_all().await
}
