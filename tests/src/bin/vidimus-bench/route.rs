//! Routing: what the gate adds to a read, how many reads it carries, and what the decision by itself costs.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use vidimus_core::ids::Name;
use vidimus_core::route::{Route, route};
use vidimus_core::table::Table;
use vidimus_tests::gate::COMPANY_TOKEN;

use crate::BenchError;
use crate::figures::{Figure, median, p95};
use crate::house::{Bench, Client};
use crate::load::{self, whole};

/// Reads each way, in turns.
const READS: usize = 400;

/// Reads before anything counts.
const READS_BEFORE: usize = 50;

/// The clients of the throughput figure.
const CLIENTS: usize = 32;

/// Reads of each of them in one round.
const READS_EACH: usize = 40;

/// Rounds of the throughput figure.
const ROUNDS: usize = 5;

/// Decisions in one measurement: one alone is shorter than the clock is fine.
const DECISIONS: usize = 1000;

/// Measurements of the decision.
const DECISION_ROUNDS: usize = 31;

/// The agent of this bench.
const AGENT: &str = "bench_reader";

/// Measures.
pub async fn run(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    println!("route: {READS} reads direct and through the gate in turns, then {CLIENTS} clients");
    let house = bench.gate("route", &[AGENT.to_owned()], &[])?;
    house.sign_table().await?;
    let credential = house.credentials.first().map(String::as_str).unwrap_or_default();
    let gate = Client::new(&house.gate.url, credential)?;
    let company = Client::new(&bench.company_url, COMPANY_TOKEN)?;
    let args = json!({ "invoice": "invoice_842" });
    let (mut direct_ms, mut gate_ms) = (Vec::new(), Vec::new());
    for turn in 0..READS_BEFORE + READS {
        let direct = company.read("/invoices/invoice_842").await?;
        let (_, through) = gate.call_expecting("executed", "get_invoice", &args).await?;
        if turn >= READS_BEFORE {
            direct_ms.push(direct);
            gate_ms.push(through);
        }
    }
    let clients = vec![gate; CLIENTS];
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let args = args.clone();
        rates.push(load::per_second(&clients, READS_EACH, "executed", "get_invoice", move |_| args.clone()).await?);
    }
    Ok(vec![
        Figure::new("route.read_added_p50_ms", median(&gate_ms) - median(&direct_ms), "ms", READS),
        Figure::new("route.read_added_p95_ms", p95(&gate_ms) - p95(&direct_ms), "ms", READS),
        Figure::new("route.read_direct_p50_ms", median(&direct_ms), "ms", READS),
        Figure::new("route.reads_per_s", median(&rates), "1/s", ROUNDS * CLIENTS * READS_EACH),
        decide(&house.table)?,
    ])
}

/// The decision by itself: the row, the agent's list, the strict parse, the schema.
fn decide(table: &str) -> Result<Figure, BenchError> {
    let broken = |what: String| BenchError::Unexpected(format!("the table of the bench is not one: {what}"));
    let table = Table::parse(table).map_err(|faults| broken(format!("{faults:?}")))?;
    let agent = Name::parse(AGENT).map_err(|refusal| broken(refusal.message))?;
    let args = br#"{"invoice":"invoice_842","amount_minor":8990,"currency":"EUR","reason":"the kettle arrived broken"}"#;
    let mut each_us = Vec::new();
    for _ in 0..DECISION_ROUNDS {
        let began = Instant::now();
        for _ in 0..DECISIONS {
            let routed = route(black_box(&table), black_box(&agent), black_box("refund"), black_box(args));
            if !matches!(routed, Ok(Route::Money(_, _))) {
                return Err(broken("a refund is not routed as money".to_owned()));
            }
        }
        each_us.push(began.elapsed().as_secs_f64() * 1e6 / whole(DECISIONS));
    }
    Ok(Figure::new("route.decide_us", median(&each_us), "us", DECISION_ROUNDS * DECISIONS))
}
