//! The simulation can fail: each deliberate defect is noticed, by the invariant that it breaks.

use std::rc::Rc;

use crate::course;
use crate::house::House;
use crate::world::Defect;

/// Within how many seeds a defect must be noticed.
const SEEDS_MAX: u64 = 400;

#[track_caller]
fn noticed(defect: Defect, invariant: &str) {
    let house = Rc::new(House::build());
    for seed in 0..SEEDS_MAX {
        if let Err(words) = course(&house, seed, Some(defect)) {
            assert!(words.starts_with(&format!("{invariant}:")), "{defect:?} at seed {seed}: {words}");
            return;
        }
    }
    panic!("{defect:?} is not noticed in {SEEDS_MAX} seeds");
}

#[test]
fn a_provider_that_ignores_keys_is_noticed() {
    noticed(Defect::ProviderIgnoresKeys, "invariant_one_effect_for_each_operation");
}

#[test]
fn a_worker_that_sends_without_redeeming_is_noticed() {
    noticed(Defect::WorkerSendsWithoutRedeeming, "invariant_an_effect_implies_a_redeemed_token");
}

#[test]
fn a_worker_that_looks_at_no_lease_is_noticed() {
    noticed(Defect::WorkerLooksAtNoLease, "invariant_nothing_is_sent_after_its_lease");
}

#[test]
fn a_worker_that_sends_other_arguments_is_noticed() {
    noticed(Defect::WorkerSendsOtherArguments, "invariant_the_executed_bytes_are_the_frozen_ones");
}

#[test]
fn a_worker_that_calls_a_time_out_failed_is_noticed() {
    noticed(Defect::WorkerCallsATimeOutFailed, "invariant_what_did_not_happen_has_no_effect");
}

#[test]
fn a_gate_that_tells_before_the_commit_is_noticed() {
    noticed(Defect::GateTellsBeforeTheCommit, "invariant_what_was_told_is_durable");
}

#[test]
fn a_gate_that_answers_for_any_payload_is_noticed() {
    noticed(Defect::GateAnswersForAnyPayload, "invariant_a_joined_call_has_an_equal_payload");
}

#[test]
fn a_gate_that_never_sweeps_is_noticed() {
    noticed(Defect::GateNeverSweeps, "invariant_nothing_waits_forever");
}
