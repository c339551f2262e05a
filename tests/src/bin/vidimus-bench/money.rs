//! Money: from a call to its durable execution, with a signed decision between, beside what the disk can do at all.

use std::time::Instant;

use crate::BenchError;
use crate::desk::{Desk, ROLE};
use crate::figures::{Figure, median, p95, p99};
use crate::house::{Bench, Client, House, credit, milliseconds};
use crate::load::{self, whole};
use crate::provider::Provider;
use crate::usage::{self, Usage};

/// Rounds: in each the disk, one client and many take their turns, so that a slow minute of the machine meets all three.
const ROUNDS: usize = 5;

/// Calls of the single client in one round.
const CALLS_ALONE: usize = 200;

/// Calls of each client before anything counts: connections, caches, the first pages of the database.
const CALLS_BEFORE: usize = 20;

/// The clients of the throughput figure.
const CLIENTS: usize = 32;

/// Calls of each of them in one round.
const CALLS_EACH: usize = 60;

/// Synced pages in one round.
const SYNCS: usize = 400;

/// Operations after which memory must not have grown, with `--long`.
const LONG_OPERATIONS: usize = 100_000;

/// Calls of each client between two looks at the memory, with `--long`.
const LONG_CALLS_EACH: usize = 320;

/// How long a call may wait for its end. *Unit*: seconds.
const WAIT_S: u64 = 30;

/// The tool that is called.
const TOOL: &str = "issue_credit";

/// Measures; `long` also over a hundred thousand operations.
pub async fn run(bench: &Bench, long: bool) -> Result<Vec<Figure>, BenchError> {
    println!("money: {ROUNDS} rounds of the disk, one client, {CLIENTS} clients; each call is signed for and executed");
    let provider = Provider::open().await?;
    // One agent for each client: what waits is bounded for each agent.
    let agents: Vec<String> = (0..=CLIENTS).map(|number| format!("bench_{number}")).collect();
    let house = bench.gate_before(&provider.url, "money", &agents, &[ROLE])?;
    let desk = Desk::open(house.sign_table().await?, &house.table).await?;
    let mut money = Money { desk, clients: clients(&house)?, made: 0, process: house.gate.process.id() };
    money.together(CALLS_BEFORE).await?;
    let mut measured = Measured::default();
    let warm = money.usage().await?;
    for round in 1..=ROUNDS {
        measured.syncs.push(load::syncs_per_second(&house.folder, SYNCS)?);
        let before = money.usage().await?;
        let alone = money.alone().await?;
        let between = money.usage().await?;
        let (per_second, many_ms) = money.together(CALLS_EACH).await?;
        let after = money.usage().await?;
        let line = (measured.syncs.last().copied().unwrap_or_default(), median(&alone.all_ms), per_second);
        println!("  round {round}: {:.0} syncs/s, one client {:.2} ms, {CLIENTS} clients {:.0}/s", line.0, line.1, line.2);
        measured.together.push(per_second);
        measured.many_ms.extend(many_ms);
        measured.alone.extend(alone);
        measured.used(&before, &between, &after);
    }
    let mut last = money.usage().await?;
    let mut operations = ROUNDS * (CALLS_ALONE + CLIENTS * CALLS_EACH);
    while long && operations < LONG_OPERATIONS {
        let (per_second, _) = money.together(LONG_CALLS_EACH).await?;
        operations += CLIENTS * LONG_CALLS_EACH;
        last = money.usage().await?;
        println!("  {operations} operations: {:.1} MiB resident, {per_second:.0}/s", last.resident_mib);
    }
    let made = money.made as u64;
    if provider.counts() != (made, made) {
        return Err(BenchError::Unexpected(format!("{made} calls were executed, the provider has {:?}", provider.counts())));
    }
    Ok(measured.figures(&warm, &last, operations))
}

fn clients(house: &House) -> Result<Vec<Client>, BenchError> {
    house.credentials.iter().map(|credential| Client::new(&house.gate.url, credential)).collect()
}

/// The calls of one client, in milliseconds.
#[derive(Default)]
struct Alone {
    /// From the call to the answer that it was executed.
    all_ms: Vec<f64>,
    /// To the request's record at the desk: frozen, durable, under a signed head.
    frozen_ms: Vec<f64>,
    /// From there to the challenge.
    challenge_ms: Vec<f64>,
    /// From the signed decision on its way to the agent's answer: decided, minted, redeemed, sent, recorded.
    executed_ms: Vec<f64>,
}

impl Alone {
    fn extend(&mut self, other: Alone) {
        self.all_ms.extend(other.all_ms);
        self.frozen_ms.extend(other.frozen_ms);
        self.challenge_ms.extend(other.challenge_ms);
        self.executed_ms.extend(other.executed_ms);
    }
}

/// A gate under load.
struct Money {
    desk: Desk,
    /// The first for the single client, the others for the many.
    clients: Vec<Client>,
    made: usize,
    process: u32,
}

impl Money {
    async fn usage(&self) -> Result<Usage, BenchError> {
        usage::of(self.process, &self.clients[0]).await
    }

    async fn alone(&mut self) -> Result<Alone, BenchError> {
        let mut alone = Alone::default();
        for _ in 0..CALLS_ALONE {
            let began = Instant::now();
            let (answer, took_ms) = self.clients[0].call_waiting(WAIT_S, TOOL, &credit(self.made)).await?;
            let ended = Instant::now();
            self.made += 1;
            let request = answer.request.filter(|_| answer.status == "executed");
            let Some(request) = request else { return Err(self.not_executed(&answer.status)) };
            let stamps = self.desk.stamps(&request)?;
            alone.all_ms.push(took_ms);
            alone.frozen_ms.push(milliseconds(stamps.seen - began));
            alone.challenge_ms.push(milliseconds(stamps.challenged - stamps.seen));
            alone.executed_ms.push(milliseconds(ended - stamps.signed));
        }
        Ok(alone)
    }

    /// All clients at a time, each one call after the other: calls per second of all, and each one's time.
    async fn together(&mut self, calls_each: usize) -> Result<(f64, Vec<f64>), BenchError> {
        let began = Instant::now();
        let mut tasks = Vec::new();
        for client in self.clients.iter().skip(1) {
            let (client, from) = (client.clone(), self.made);
            self.made += calls_each;
            tasks.push(tokio::spawn(async move {
                let mut answers = Vec::with_capacity(calls_each);
                for number in from..from + calls_each {
                    answers.push(client.call_waiting(WAIT_S, TOOL, &credit(number)).await?);
                }
                Ok::<_, BenchError>(answers)
            }));
        }
        let mut many_ms = Vec::new();
        for task in tasks {
            for (answer, took_ms) in task.await.map_err(|error| BenchError::Unexpected(format!("a client broke: {error}")))?? {
                let request = answer.request.filter(|_| answer.status == "executed");
                self.desk.stamps(&request.ok_or_else(|| self.not_executed(&answer.status))?)?;
                many_ms.push(took_ms);
            }
        }
        Ok((whole(many_ms.len()) / began.elapsed().as_secs_f64(), many_ms))
    }

    fn not_executed(&self, status: &str) -> BenchError {
        BenchError::Unexpected(format!("a call came to `{status}`, not `executed`: {:?}", self.desk.fault()))
    }
}

/// What the rounds have measured.
#[derive(Default)]
struct Measured {
    syncs: Vec<f64>,
    together: Vec<f64>,
    many_ms: Vec<f64>,
    alone: Alone,
    /// Of the gate's process for each call: milliseconds on a processor, commits; of one client and of many.
    cpu_ms: [Vec<f64>; 2],
    commits: [Vec<f64>; 2],
}

impl Measured {
    fn used(&mut self, before: &Usage, between: &Usage, after: &Usage) {
        let parts = [(before, between, CALLS_ALONE), (between, after, CLIENTS * CALLS_EACH)];
        for (index, (from, to, calls)) in parts.into_iter().enumerate() {
            self.cpu_ms[index].push((to.cpu_s - from.cpu_s) * 1000.0 / whole(calls));
            self.commits[index].push((to.commits - from.commits) / whole(calls));
        }
    }

    fn figures(&self, warm: &Usage, last: &Usage, operations: usize) -> Vec<Figure> {
        let (one, many) = (self.alone.all_ms.len(), self.many_ms.len());
        let syncs = median(&self.syncs);
        vec![
            Figure::new("money.sqlite.p50_ms.1", median(&self.alone.all_ms), "ms", one),
            Figure::new("money.sqlite.p95_ms.1", p95(&self.alone.all_ms), "ms", one),
            Figure::new("money.sqlite.p99_ms.1", p99(&self.alone.all_ms), "ms", one),
            Figure::new("money.leg.frozen_p50_ms.1", median(&self.alone.frozen_ms), "ms", one),
            Figure::new("money.leg.challenge_p50_ms.1", median(&self.alone.challenge_ms), "ms", one),
            Figure::new("money.leg.executed_p50_ms.1", median(&self.alone.executed_ms), "ms", one),
            Figure::new("money.sqlite.per_s.32", median(&self.together), "1/s", many),
            Figure::new("money.sqlite.p50_ms.32", median(&self.many_ms), "ms", many),
            Figure::new("money.sqlite.p95_ms.32", p95(&self.many_ms), "ms", many),
            Figure::new("money.sqlite.p99_ms.32", p99(&self.many_ms), "ms", many),
            Figure::new("money.fsync_per_s", syncs, "1/s", ROUNDS * SYNCS),
            Figure::new("money.sqlite.per_fsync.32", median(&self.together) / syncs, "ratio", many),
            Figure::new("money.sqlite.fsyncs_worth.1", median(&self.alone.all_ms) * syncs / 1000.0, "ratio", one),
            Figure::new("money.commits_per_call.1", median(&self.commits[0]), "1", one),
            Figure::new("money.commits_per_call.32", median(&self.commits[1]), "1", many),
            Figure::new("money.gate_cpu_ms.1", median(&self.cpu_ms[0]), "ms", one),
            Figure::new("money.gate_cpu_ms.32", median(&self.cpu_ms[1]), "ms", many),
            Figure::new("money.memory.warm_mib", warm.resident_mib, "MiB", 1),
            Figure::new("money.memory.end_mib", last.resident_mib, "MiB", operations),
        ]
    }
}
