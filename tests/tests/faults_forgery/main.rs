//! Faults seen elsewhere: approvals that nobody gave. Forged, borrowed and self-made ones, and every door that might take
//! them: the agent's, another person's, another gate's, the operator's, nobody's.

mod brought;
mod chain;
mod doors;
mod elsewhere;
mod enrolled;
#[path = "../faults/mod.rs"]
mod faults;
mod signed;

const ROLE: &str = "billing-approver";
