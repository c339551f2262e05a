//! What must always hold: DESIGN.md, section 10. Each function asks for one promise, and the course ends where it is broken. They
//! know the log and the provider's own ledger, through a model of their own ([`crate::witness`], [`crate::roster_seen`]).
//!
//! 1. *The provider's count of effects per business effect is at most what was approved, whatever is killed, and when*:
//!    `invariant_effects_never_exceed_approvals`, `invariant_one_effect_for_each_operation`,
//!    `invariant_what_did_not_happen_has_no_effect`, `invariant_what_succeeded_has_happened`, `invariant_one_open_business_effect`, `invariant_caps_are_never_exceeded`,
//!    `invariant_a_cap_refuses_only_what_is_too_much`, `invariant_a_write_is_sent_again_only_under_its_key`, `invariant_no_agent_has_more_waiting_than_it_may`.
//! 2. *An effect implies a redeemed token, which implies a quorum of valid, unrevoked, distinct persons over the same digest*:
//!    `invariant_an_effect_implies_a_redeemed_token`, `invariant_a_redeemed_token_implies_a_quorum`,
//!    `invariant_a_decision_counts_only_from_who_may_decide`, `invariant_nobody_decides_on_their_own`,
//!    `invariant_an_answer_counts_only_from_who_may_answer`, `invariant_people_settle_only_what_enough_of_them_signed`,
//!    `invariant_no_open_approval_has_fallen`, `invariant_the_roster_is_what_was_signed`,
//!    `invariant_somebody_can_change_the_roster`, `invariant_a_stop_is_its_persons_or_an_admins`,
//!    `invariant_a_recovery_is_neither_early_nor_vetoed`, `invariant_a_recovery_brings_one_person_and_takes_nothing`,
//!    `invariant_whoever_is_recovered_can_stop_a_lost_key`, `invariant_nobody_works_for_an_agent_that_is_gone`,
//!    `invariant_the_table_in_force_is_the_one_on_record`, `invariant_what_runs_rests_on_the_row_that_was_signed`, `invariant_nothing_waits_on_a_row_that_changed`,
//!    `invariant_a_token_waits_for_the_delay`, `invariant_nothing_counts_after_its_time`,
//!    `invariant_nothing_is_sent_after_its_lease`.
//! 3. *A stored result is returned only for an equal payload. An older attempt never overwrites a newer one*:
//!    `invariant_a_joined_call_has_an_equal_payload`, `invariant_an_operation_moves_as_it_may`,
//!    `invariant_a_result_is_of_its_operation`.
//! 4. *What a client was told about money or a write is durable. All published checkpoints are consistent with each other*:
//!    `invariant_what_was_told_is_durable`, `invariant_what_was_told_of_keys_is_on_record`, `invariant_a_receipt_never_changes`, `invariant_the_log_only_grows`,
//!    `invariant_whoever_was_told_is_not_given_up`, `invariant_time_never_runs_back`.
//! 5. *What was shown, what was signed and what was executed are the same bytes*:
//!    `invariant_shown_and_signed_are_the_frozen_bytes`, `invariant_the_executed_bytes_are_the_frozen_ones`,
//!    `invariant_what_an_argument_names_is_what_was_signed`, `invariant_a_write_is_sent_as_it_was_first_intended`.
//! 6. *After any crash, restart needs no manual SQL. The same seed gives the same trace in the simulation*:
//!    `invariant_a_start_needs_nobody`, `invariant_the_same_seed_gives_the_same_trace`.
//! 7. *The gate alone cannot make an approval that an executor with its own copy of the roster accepts*:
//!    `invariant_an_executor_with_its_own_roster_accepts`.
//! 8. *Nothing waits forever: each request and operation has a last moment, after which its state is final or a person has been
//!    paged*: `invariant_nothing_waits_forever`, `invariant_what_only_people_can_tell_has_been_told_to_them`,
//!    `invariant_somebody_can_decide`, `invariant_a_request_is_passed_on_once_and_not_early`, `invariant_nothing_expires_early`.

/// Like `assert!`, and the words begin with the name of the invariant that is broken.
macro_rules! must {
    ($holds:expr, $($words:tt)+) => {{
        fn here() {}
        if !$holds {
            let name = std::any::type_name_of_val(&here);
            let name = name.trim_end_matches("::here").rsplit("::").next().unwrap_or(name);
            panic!("{name}: {}", format!($($words)+));
        }
    }};
}

mod bytes;
mod effects;
mod ends;
mod people;
mod roster;
mod told;

pub use bytes::*;
pub use effects::*;
pub use ends::*;
pub use people::*;
pub use roster::*;
pub use told::*;
