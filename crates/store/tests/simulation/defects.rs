//! The simulation can fail: each deliberate defect is noticed, by the invariant that it breaks.

use std::rc::Rc;

use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::time::Timestamp;
use vidimus_store::LogRecord;

use crate::course;
use crate::house::House;
use crate::world::{Defect, World};

/// A record as a gate with a defect would have written it: what its readers get instead of what is there.
pub fn planted(world: &World, record: &LogRecord) -> LogRecord {
    let mut record = record.clone();
    let Some(defect) = world.defect else { return record };
    let Ok(mut leaf) = AuditRecord::parse(record.leaf.as_bytes()) else { return record };
    match (defect, leaf.record_type) {
        (Defect::GateForgesAnApproval, RecordType::DecisionRecorded) => {
            let Ok(statement) = DecisionStatement::parse(leaf.envelopes[0].danger_unverified_payload()) else { return record };
            if statement.decision == DecisionKind::Approve {
                leaf.envelopes = vec![statement.sign(&world.house.log_key).expect("signed")];
            }
        }
        (Defect::GateForgetsARevocation, RecordType::DecisionRecorded) if leaf.claim("decision") == Some("approve") => {
            // The key was stopped before, and what it signs counts on.
            let key = leaf.envelopes[0].key_digest();
            if let Some(key) = world.witness.borrow_mut().roster.keys.get_mut(&key) {
                key.stopped = true;
            }
        }
        (Defect::GateTellsOtherTimes, RecordType::Heartbeat) => leaf.at = Timestamp::from_ms(leaf.at.as_ms() - 1_000_000).expect("a time"),
        _ => return record,
    }
    record.leaf = String::from_utf8(leaf.leaf().expect("a leaf")).expect("text");
    record
}

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
fn a_worker_that_sends_another_write_again_is_noticed() {
    noticed(Defect::WorkerSendsAnotherWriteAgain, "invariant_a_write_is_sent_as_it_was_first_intended");
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

#[test]
fn a_gate_that_pages_nobody_is_noticed() {
    noticed(Defect::GatePagesNobody, "invariant_what_only_people_can_tell_has_been_told_to_them");
}

#[test]
fn a_worker_that_does_not_read_again_what_a_name_means_is_noticed() {
    noticed(Defect::WorkerReadsNoNames, "invariant_what_an_argument_names_is_what_was_signed");
}

#[test]
fn a_gate_that_approves_by_itself_is_noticed() {
    noticed(Defect::GateForgesAnApproval, "invariant_a_decision_counts_only_from_who_may_decide");
}

#[test]
fn a_gate_that_forgets_a_stop_is_noticed() {
    noticed(Defect::GateForgetsARevocation, "invariant_a_decision_counts_only_from_who_may_decide");
}

#[test]
fn a_gate_whose_time_runs_back_is_noticed() {
    noticed(Defect::GateTellsOtherTimes, "invariant_time_never_runs_back");
}

#[test]
fn a_person_who_settles_what_is_not_so_is_noticed() {
    noticed(Defect::PeopleMistakeWhatHappened, "invariant_what_did_not_happen_has_no_effect");
}
