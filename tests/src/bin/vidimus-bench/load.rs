//! Many clients at a time, and the disk by itself.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::BenchError;
use crate::house::Client;

/// What one commit of a small transaction writes at least. *Unit*: bytes; a page of the database.
const PAGE_BYTES: usize = 4096;

/// Lets each client make its calls one after the other, all clients at a time, and gives the calls per second of all.
pub async fn per_second(
    clients: &[Client],
    calls_each: usize,
    status: &'static str,
    tool: &'static str,
    args: impl Fn(usize) -> Value + Clone + Send + 'static,
) -> Result<f64, BenchError> {
    let began = Instant::now();
    let mut tasks = Vec::new();
    for (index, client) in clients.iter().enumerate() {
        let (client, args) = (client.clone(), args.clone());
        tasks.push(tokio::spawn(async move {
            for call in 0..calls_each {
                client.call_expecting(status, tool, &args(index * calls_each + call)).await?;
            }
            Ok::<(), BenchError>(())
        }));
    }
    for task in tasks {
        task.await.map_err(|error| BenchError::Unexpected(format!("a client broke: {error}")))??;
    }
    Ok(whole(clients.len() * calls_each) / began.elapsed().as_secs_f64())
}

/// The disk's own rate: a page appended and made durable, `count` times, per second.
pub fn syncs_per_second(folder: &Path, count: usize) -> Result<f64, BenchError> {
    let path = folder.join("disk-probe");
    let mut file = File::create(&path)?;
    let page = [0x5a; PAGE_BYTES];
    let began = Instant::now();
    for _ in 0..count {
        file.write_all(&page)?;
        file.sync_data()?;
    }
    let took = began.elapsed();
    std::fs::remove_file(path)?;
    Ok(whole(count) / took.as_secs_f64())
}

/// A count as a number that can be divided; exact up to four thousand millions, beyond which no bench counts.
pub fn whole(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
