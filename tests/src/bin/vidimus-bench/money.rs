//! Money: from a call to the durable answer that it waits for a person, beside what the disk can do at all.

use crate::BenchError;
use crate::figures::{Figure, median, p95};
use crate::house::{Bench, Client, credit};
use crate::load;

/// Rounds: in each the disk, one client and many take their turns, so that a slow minute of the machine meets all three.
const ROUNDS: usize = 5;

/// Calls of the single client in one round.
const CALLS_ALONE: usize = 100;

/// Calls before anything counts: connections, caches, the first pages of the database.
const CALLS_BEFORE: usize = 50;

/// The clients of the throughput figure.
const CLIENTS: usize = 32;

/// Calls of each of them in one round.
const CALLS_EACH: usize = 40;

/// Synced pages in one round.
const SYNCS: usize = 200;

/// Measures.
pub async fn run(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    println!("money: {ROUNDS} rounds of the disk, one client, {CLIENTS} clients");
    // One agent for each client: what waits is bounded for each agent.
    let agents: Vec<String> = (0..=CLIENTS).map(|number| format!("bench_{number}")).collect();
    let house = bench.gate("money", &agents, &["billing-approver"])?;
    house.sign_table().await?;
    let clients: Vec<Client> =
        house.credentials.iter().map(|credential| Client::new(&house.gate.url, credential)).collect::<Result<_, _>>()?;
    let Some((alone, many)) = clients.split_first() else { return Err(BenchError::Unexpected("there is no agent".to_owned())) };

    let mut number = 0;
    for _ in 0..CALLS_BEFORE {
        alone.call_expecting("pending", "issue_credit", &credit(number)).await?;
        number += 1;
    }
    let (mut syncs, mut alone_ms, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        syncs.push(load::syncs_per_second(&house.folder, SYNCS)?);
        for _ in 0..CALLS_ALONE {
            alone_ms.push(alone.call_expecting("pending", "issue_credit", &credit(number)).await?.1);
            number += 1;
        }
        let from = number;
        together.push(load::per_second(many, CALLS_EACH, "pending", "issue_credit", move |call| credit(from + call)).await?);
        number += CLIENTS * CALLS_EACH;
    }
    let calls = ROUNDS * CLIENTS * CALLS_EACH;
    Ok(vec![
        Figure::new("money.sqlite.p50_ms.1", median(&alone_ms), "ms", alone_ms.len()),
        Figure::new("money.sqlite.p95_ms.1", p95(&alone_ms), "ms", alone_ms.len()),
        Figure::new("money.sqlite.per_s.32", median(&together), "1/s", calls),
        Figure::new("money.fsync_per_s", median(&syncs), "1/s", ROUNDS * SYNCS),
        Figure::new("money.sqlite.per_fsync.32", median(&together) / median(&syncs), "ratio", calls),
    ])
}
