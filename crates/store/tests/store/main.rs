//! The store through its face: every use case, every refusal, the races between them, and what a crash leaves.

mod administrator;
mod calls;
mod changes;
mod clock;
mod deciding;
mod decisions;
mod engine;
mod escalation;
mod fixture;
mod forged;
mod joining;
mod log;
mod operations;
mod orphans;
mod people;
mod races;
mod reconciliations;
mod recoveries;
mod referents;
mod revoking;
mod roster;
mod table_changes;
mod tokens;
mod unanswerable;
mod verification;
mod writes;
