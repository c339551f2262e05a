//! The gate: routes tool calls, holds money until people have signed it, executes once, keeps the ledger and the log.
//!
//! Owns the use cases, the executors, the HTTP face and the command line. It must not know a window system; SQL is the
//! store's, the rules and the signed bytes are the core's.

pub mod admin;
mod at_once;
pub mod bell;
pub mod calls;
pub mod checkpoints;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod decisions;
#[cfg(feature = "demo")]
pub mod demo;
pub mod entropy;
pub mod executions;
pub mod executor;
pub mod failures;
pub mod gate;
pub mod http;
pub mod kept_bytes;
pub mod keys;
pub mod limits;
pub mod logging;
pub mod metrics;
pub mod paging;
mod reconciliations;
pub mod referents;
pub mod refusals;
pub mod seams;
pub mod serving;
pub mod status;
pub mod workers;
