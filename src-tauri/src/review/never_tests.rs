//! What must never happen, where a window cannot easily be brought to it: a receipt that is not the gate's, a clock that is wrong, a
//! request of the other environment.

use vidimus_api::request::{Quorum, Receipt};
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::{Draft, FrozenRequest};
use vidimus_core::ids::{Environment, RequestId};
use vidimus_core::record::AuditRecord;
use vidimus_core::request::RequestState;
use vidimus_core::sign::SecretKey;
use vidimus_core::tree::{Frontier, leaf_hash};

use crate::clock;
use crate::review::{locks, receipt};
use crate::testing::{Log, NOW_MS, review};

const ARGS: &str = r#"{"amount_minor":4200,"currency":"EUR","invoice":"invoice_842","reason":"charged twice"}"#;

#[test]
fn approved_is_said_only_under_the_gates_own_signature() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", ARGS);
    let request = log.create(&frozen);
    log.decide(&frozen, DecisionKind::Approve, None);
    let (console, _directory) = log.console();
    // A log of this one record is proven by its head alone; the copy here is put aside, so that only the proof speaks.
    *console.mirror() = None;
    let leaf = log.records.last().unwrap().leaf.clone();
    let envelope = AuditRecord::parse(leaf.as_bytes()).unwrap().envelopes[0].clone();
    let head = |leaf: &str, key: u8| {
        let mut alone = Frontier::from_parts(0, Vec::new()).unwrap();
        alone.append(leaf_hash(leaf.as_bytes()));
        Log::head_of(&log.identity().gate.to_string(), &alone, &SecretKey::from_seed(&[key; 32]))
    };
    let receipt = |request: RequestId, leaf: &str, checkpoint: String| Receipt {
        request,
        state: RequestState::Approved,
        position: 0,
        leaf: leaf.to_owned(),
        checkpoint,
        proof: Vec::new(),
        quorum: Quorum { given: 1, needed: 1 },
        operation: None,
    };
    let said =
        |receipt: &Receipt, kind: DecisionKind| receipt::verify(&console, &request, &envelope, receipt, kind).map_err(|told| told.id);

    let true_one = receipt(request, &leaf, head(&leaf, 1));
    assert!(said(&true_one, DecisionKind::Approve).unwrap().heading.contains("Approved"));
    let forged = receipt(request, &leaf, head(&leaf, 9));
    assert_eq!(said(&forged, DecisionKind::Approve), Err("E-DEC-9"), "a signature of another key");
    let spoilt = receipt(request, &leaf, head(&leaf, 1).replace("\n\n", "\nx\n\n"));
    assert_eq!(said(&spoilt, DecisionKind::Approve), Err("E-DEC-9"), "a head that was not signed so");
    let other_leaf = leaf.replace("\"approve\"", "\"deny\"");
    assert_ne!(other_leaf, leaf);
    let unproven = receipt(request, &other_leaf, head(&leaf, 1));
    assert_eq!(said(&unproven, DecisionKind::Deny), Err("E-DEC-9"), "a record that the head does not prove");
    assert_eq!(said(&true_one, DecisionKind::Deny), Err("E-DEC-9"), "another decision than the one that was signed");
    let of_another = receipt(RequestId::from_random([3; 16]), &leaf, head(&leaf, 1));
    assert_eq!(said(&of_another, DecisionKind::Approve), Err("E-DEC-9"), "a receipt of another request");
}

/// The last moment is the gate's; what this computer's clock says alone ends nothing and keeps nothing open.
#[test]
fn the_end_is_counted_by_the_gates_time() {
    let mut log = Log::founded(&["billing-approver"]);
    let request = log.request("refund", ARGS);
    let (console, _directory) = log.console();
    let review = review(&console, &request);
    let ended_at = |gate_ms: i64| {
        console.shared().clock_offset_ms = gate_ms - clock::now_ms();
        locks::of(&console, &review, console.now_ms()).ended
    };
    // This computer's clock reads the same throughout; the request waits for 1800 s of the gate's.
    assert!(!ended_at(NOW_MS + 60_000));
    assert!(ended_at(NOW_MS + 1_801_000));
    assert!(!ended_at(NOW_MS + 1_700_000));
}

#[test]
fn a_request_of_the_other_environment_cannot_be_approved() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", ARGS);
    let live = FrozenRequest::freeze(Draft { environment: Environment::Live, ..frozen.members().clone() }).unwrap();
    let request = log.create(&live);
    let (console, _directory) = log.console();
    let found = locks::of(&console, &review(&console, &request), NOW_MS);
    assert!(!found.can_approve() && found.can_deny());
    assert!(found.hard.iter().any(|line| line.contains("E-REQ-1")), "{:?}", found.hard);
}
