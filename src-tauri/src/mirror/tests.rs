use vidimus_core::decision::DecisionKind;
use vidimus_core::sign::SecretKey;
use vidimus_core::tree::{Frontier, leaf_hash};

use super::*;
use crate::testing::Log;

const REFUND: &str = r#"{"invoice":"invoice_842","amount_minor":4200,"currency":"EUR","reason":"charged twice"}"#;

fn broken_by(mirror: &mut Mirror, records: &[vidimus_api::log::RecordEvent], head: &str) -> String {
    let mut batch = Batch::default();
    for record in records {
        batch.push(record.clone());
    }
    match batch.settle(mirror, head) {
        Err(MirrorFault::Broken { what, .. }) => what,
        other => panic!("not broken: {other:?}"),
    }
}

fn waiting(mirror: &Mirror) -> Vec<RequestRow> {
    let mut found = Vec::new();
    mirror
        .touched(None, |row| {
            found.push(row);
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn a_log_is_verified_and_projected() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", REFUND);
    let request = log.create(&frozen).to_string();
    let mut mirror = log.mirror();
    assert_eq!(waiting(&mirror).len(), 1);
    assert_eq!(mirror.request(&request).unwrap().unwrap().request_sha256, frozen.request_sha256().to_string());
    log.decide(&frozen, DecisionKind::Approve, None);
    let applied = log.settle(&mut mirror).unwrap();
    assert_eq!(applied.changed, std::slice::from_ref(&request));
    assert_eq!(mirror.request(&request).unwrap().unwrap().state, "approved");
    assert_eq!(mirror.decisions(&request).unwrap().len(), 1);
    assert_eq!(mirror.root().to_string().len(), 64);
    assert!(mirror.broken().is_none());
}

#[test]
fn the_copy_goes_on_where_it_stood() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mirror.sqlite");
    let mut log = Log::founded(&[]);
    let mut mirror = Mirror::open(&file, log.identity()).unwrap();
    log.settle(&mut mirror).unwrap();
    let (size, root) = (mirror.size(), mirror.root());
    drop(mirror);
    let mut mirror = Mirror::open(&file, log.identity()).unwrap();
    assert_eq!((mirror.size(), mirror.root()), (size, root));
    let request = log.request("refund", REFUND);
    assert_eq!(log.settle(&mut mirror).unwrap().created, [request.to_string()]);
}

#[test]
fn records_beyond_the_checkpoint_wait_for_the_next() {
    let mut log = Log::founded(&[]);
    let mut mirror = log.mirror();
    let mut batch = Batch::default();
    log.request("refund", REFUND);
    let first_head = log.head();
    log.request("refund", REFUND);
    for record in &log.records[3..] {
        batch.push(record.clone());
    }
    assert_eq!(batch.settle(&mut mirror, &first_head).unwrap().records, 1);
    assert_eq!(batch.settle(&mut mirror, &log.head()).unwrap().records, 1);
    assert_eq!(mirror.size(), 5);
}

#[test]
fn a_checkpoint_ahead_of_the_records_is_waited_for() {
    let mut log = Log::founded(&[]);
    let mut mirror = log.mirror();
    log.request("refund", REFUND);
    assert_eq!(Batch::default().settle(&mut mirror, &log.head()).unwrap(), Applied::default());
    assert_eq!(mirror.size(), 3);
}

#[test]
fn a_log_that_shrinks_is_refused_for_good() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mirror.sqlite");
    let short = Log::founded(&[]).head();
    let mut log = Log::founded(&[]);
    log.request("refund", REFUND);
    let mut mirror = Mirror::open(&file, log.identity()).unwrap();
    log.settle(&mut mirror).unwrap();
    assert!(broken_by(&mut mirror, &[], &short).contains("shrank"));
    drop(mirror);
    let mirror = Mirror::open(&file, log.identity()).unwrap();
    assert!(mirror.broken().is_some(), "a restart does not heal it");
    let evidence = mirror.save_evidence(directory.path()).unwrap().unwrap();
    assert!(std::fs::read_to_string(evidence).unwrap().contains("shrank"));
}

#[test]
fn a_log_that_forks_is_refused() {
    let mut log = Log::founded(&[]);
    let mut other = Log::founded(&[]);
    log.request("refund", REFUND);
    other.request("refund", &REFUND.replace("4200", "9900"));
    let mut mirror = log.mirror();
    assert!(matches!(mirror.check_head(&other.head()), Err(MirrorFault::Broken { .. })), "same size, other root");
    let mut mirror = log.mirror();
    other.request("refund", REFUND);
    assert!(broken_by(&mut mirror, &other.records[4..], &other.head()).contains("root"));
    assert_eq!(mirror.size(), 4, "nothing of it was kept");
}

#[test]
fn gaps_repeats_and_changed_leaves_are_refused() {
    let mut log = Log::founded(&[]);
    let base = log.records.len();
    log.request("refund", REFUND);
    log.request("issue_credit", r#"{"customer":"customer_ada","amount_minor":500,"currency":"EUR","reason":"late"}"#);
    let head = log.head();
    let [first, second] = &log.records[base..] else { panic!("two records") };
    let mut changed = first.clone();
    changed.leaf = changed.leaf.replace("refund", "refunb");
    let cases = [vec![second.clone(), first.clone()], vec![first.clone(), first.clone()], vec![changed, second.clone()]];
    for records in cases {
        let mut log = Log::founded(&[]);
        let mut mirror = log.mirror();
        log.records.clear();
        broken_by(&mut mirror, &records, &head);
        assert!(waiting(&mirror).is_empty());
    }
}

#[test]
fn only_the_pinned_key_signs_checkpoints() {
    let mut log = Log::founded(&[]);
    let mut mirror = log.mirror();
    log.request("refund", REFUND);
    let mut frontier = Frontier::from_parts(0, Vec::new()).unwrap();
    for record in &log.records {
        frontier.append(leaf_hash(record.leaf.as_bytes()));
    }
    let head = Log::head_of(&log.identity().gate.to_string(), &frontier, &SecretKey::from_seed(&[42; 32]));
    let mut batch = Batch::default();
    log.records[3..].iter().for_each(|record| batch.push(record.clone()));
    assert!(matches!(batch.settle(&mut mirror, &head), Err(MirrorFault::Unsigned(_))));
    assert!(matches!(mirror.check_head(&head), Err(MirrorFault::Unsigned(_))));
    assert_eq!(mirror.size(), 3, "nothing of it was kept");
    assert!(mirror.broken().is_none() && mirror.alarm().is_some());
}

#[test]
fn an_alarm_outlives_a_restart_and_ends_with_a_head_that_extends_the_verified_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mirror.sqlite");
    let mut log = Log::founded(&[]);
    let mut mirror = Mirror::open(&file, log.identity()).unwrap();
    log.settle(&mut mirror).unwrap();
    let unsigned = log.head().replace("— gate_", "— gatE_");
    assert!(matches!(Batch::default().settle(&mut mirror, &unsigned), Err(MirrorFault::Unsigned(_))));
    drop(mirror);
    let mut mirror = Mirror::open(&file, log.identity()).unwrap();
    assert!(mirror.alarm().is_some());
    let evidence = mirror.save_evidence(directory.path()).unwrap().unwrap();
    assert!(std::fs::read_to_string(evidence).unwrap().contains("gatE_"));
    log.request("refund", REFUND);
    assert!(mirror.check_head(&log.head()).is_ok());
    assert!(mirror.alarm().is_some(), "a longer head alone proves no extension");
    log.settle(&mut mirror).unwrap();
    assert!(mirror.alarm().is_none());
    assert!(matches!(mirror.check_head(&unsigned), Err(MirrorFault::Unsigned(_))));
    mirror.check_head(&log.head()).unwrap();
    assert!(mirror.alarm().is_none(), "the verified head itself, signed, ends it");
}

#[test]
fn a_decision_counts_only_with_its_signature() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", REFUND);
    log.create(&frozen);
    let mut mirror = log.mirror();
    log.decide(&frozen, DecisionKind::Approve, Some(&SecretKey::from_seed(&[42; 32])));
    assert!(broken_by(&mut mirror, &log.records[4..], &log.head()).contains("not signed"));
    assert_eq!(waiting(&mirror).len(), 1);
}

#[test]
fn a_body_that_is_not_the_recorded_one_is_kept_apart() {
    let mut log = Log::founded(&[]);
    let request = log.request("refund", REFUND).to_string();
    let mut mirror = Mirror::in_memory(log.identity());
    let mut batch = Batch::default();
    for record in &log.records {
        let mut record = record.clone();
        record.body = record.body.map(|body| body.replace("4200", "1"));
        batch.push(record);
    }
    batch.settle(&mut mirror, &log.head()).unwrap();
    let row = mirror.request(&request).unwrap().unwrap();
    assert_eq!(row.body_fault.as_deref(), Some("differs"));
    assert!(mirror.broken().is_none(), "the tree is whole");
}

#[test]
fn another_gates_copy_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mirror.sqlite");
    let log = Log::founded(&[]);
    Mirror::open(&file, log.identity()).unwrap();
    let mut other = log.identity();
    other.log_key = SecretKey::from_seed(&[42; 32]).public();
    other.gate = vidimus_core::ids::GateId::of(&other.log_key);
    assert!(matches!(Mirror::open(&file, other), Err(MirrorFault::Other(_))));
}
