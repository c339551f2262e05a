//! The store through its face: every use case, every refusal, the races between them, and what a crash leaves.

mod calls;
mod decisions;
mod engine;
mod fixture;
mod log;
mod operations;
mod people;
mod races;
mod tokens;
mod writes;
