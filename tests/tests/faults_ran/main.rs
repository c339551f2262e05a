//! Faults seen elsewhere: what ran was not what was approved. Other arguments, another tool, no decision at all, a denial
//! that was forgotten, a document that two readers read differently.

mod copies;
mod decided;
mod documents;
#[path = "../faults/mod.rs"]
mod faults;
mod ledger;
mod resumed;

use std::collections::BTreeMap;

use faults::House;
use vidimus_api::client::AgentClient;

const ROLE: &str = "billing-approver";

fn agents(house: &House) -> BTreeMap<&'static str, AgentClient> {
    ["billing", "support"].into_iter().map(|name| (name, house.agent(name, &[]))).collect()
}
