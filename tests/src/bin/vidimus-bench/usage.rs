//! What a process has used: its time on a processor, its memory, its commits.

use std::fs;

use crate::BenchError;
use crate::house::Client;

/// The unit of times in `/proc/PID/stat`. *Source*: proc(5); 100 on every architecture of Linux that we build for.
const TICKS_PER_S: f64 = 100.0;

/// What the gate's process has used until now.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Time on a processor. *Unit*: seconds.
    pub cpu_s: f64,
    /// Resident memory. *Unit*: MiB.
    pub resident_mib: f64,
    /// Durable commits of the ledger.
    pub commits: f64,
}

/// Looks at a gate's process, and asks it for its commits.
pub async fn of(process: u32, gate: &Client) -> Result<Usage, BenchError> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name before it may hold anything, also blanks and brackets.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut times = after_name.split_whitespace().skip(11).map_while(|word| word.parse::<f64>().ok());
    let ticks = times.next().zip(times.next()).map(|(user, system)| user + system);
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).and_then(number);
    let metrics = gate.page("/metrics").await?;
    let commits = metrics.lines().find_map(|line| line.strip_prefix("vidimus_store_commits_total ")).and_then(number);
    match (ticks, resident, commits) {
        (Some(ticks), Some(kib), Some(commits)) => Ok(Usage { cpu_s: ticks / TICKS_PER_S, resident_mib: kib / 1024.0, commits }),
        (_, _, _) => Err(BenchError::Unexpected("the gate's process or its metrics cannot be read".to_owned())),
    }
}

fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}
