//! The log: gapless, its root the one that its leaves have, its proofs valid, its bodies for their readers only.

use proptest::prelude::*;
use vidimus_core::bytes::Digest;
use vidimus_core::record::{AuditRecord, Body};
use vidimus_core::tree::{leaf_hash, root_of, verify_consistency, verify_inclusion};
use vidimus_store::*;

use crate::fixture::{Gate, name, names};

fn leaves(records: &[LogRecord]) -> Vec<Digest> {
    records.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect()
}

fn at(count: u64) -> usize {
    usize::try_from(count).expect("small")
}

#[tokio::test]
async fn positions_have_no_gap_and_the_root_is_that_of_the_leaves() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, request) = gate.refund("842").await;
    let operation = gate.approve(&bea, request, "billing-approver").await.operation.expect("a quorum");
    gate.redeem_new_token(operation).await;
    gate.store.heartbeat(gate.moment()).await.expect("a heartbeat");
    let records = gate.log().await;
    let head = gate.store.head().await.expect("a head");
    assert_eq!(head.size, records.len() as u64);
    assert!(records.iter().zip(0..).all(|(record, position)| record.position == position));
    assert_eq!(root_of(&leaves(&records)), head.root);
    assert_eq!(*gate.store.heads().borrow(), head);
    let mut last = None;
    for record in &records {
        let leaf = AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
        assert!(last <= Some(leaf.at), "time never runs back");
        last = Some(leaf.at);
        let body = record.body.clone().zip(record.salt).map(|(text, salt)| Body { text, salt });
        assert_eq!(leaf.body_sha256, body.map(|body| body.digest()), "{}", record.leaf);
    }
    let heartbeat = AuditRecord::parse(records.last().expect("a record").leaf.as_bytes()).expect("a leaf");
    assert_eq!(heartbeat.claims.member("size").and_then(|size| size.as_number()).and_then(|size| size.as_u64()), Some(head.size - 1));
}

#[tokio::test]
async fn every_record_is_proved_in_every_later_head() {
    let gate = Gate::initialised().await;
    for _ in 0..30 {
        gate.store.heartbeat(gate.moment()).await.expect("a heartbeat");
    }
    let leaves = leaves(&gate.log().await);
    let size = leaves.len() as u64;
    for tree in 1..=size {
        let root = root_of(&leaves[..at(tree)]);
        for position in 0..tree {
            let proof = gate.store.inclusion(position, tree).await.expect("a proof");
            verify_inclusion(&leaves[at(position)], position, tree, &proof, &root).expect("it leads to the root");
        }
        for first in 1..=tree {
            let proof = gate.store.consistency(first, tree).await.expect("a proof");
            verify_consistency(first, &root_of(&leaves[..at(first)]), tree, &root, &proof).expect("consistent");
        }
    }
    assert!(gate.store.inclusion(size, size).await.is_err());
    assert!(gate.store.inclusion(0, size + 1).await.is_err());
}

#[tokio::test]
async fn a_body_is_for_its_readers_and_the_leaf_for_everyone() {
    let (gate, ..) = Gate::with_people().await;
    let size = gate.size().await;
    gate.refund("842").await;
    let seen = async |from, roles: &[&str]| {
        let records = gate.store.records(from, 1, names(roles)).await.expect("a reading");
        (records[0].body.is_some(), records[0].salt.is_some(), records[0].leaf.contains("request_created"))
    };
    assert_eq!(seen(size, &["billing-approver"]).await, (true, true, true));
    assert_eq!(seen(size, &["auditor"]).await, (true, true, true));
    assert_eq!(seen(size, &["treasury", "billing", "approver", "admin"]).await, (false, false, true));
    assert_eq!(seen(size, &[]).await, (false, false, true));
    // The roster is for everyone: the third record, after the gate's and the invite's.
    assert_eq!(seen(2, &[]).await, (true, true, false));
}

#[tokio::test]
async fn a_watcher_sees_durable_heads_and_a_checkpoint_stays() {
    let gate = Gate::initialised().await;
    let mut heads = gate.store.heads();
    let first = *heads.borrow_and_update();
    gate.store.heartbeat(gate.moment()).await.expect("a heartbeat");
    heads.changed().await.expect("the writer lives");
    let second = *heads.borrow_and_update();
    assert_eq!((first.size, second.size), (2, 3));
    let keep = async |size, note: &str| {
        gate.store.store_checkpoint(gate.moment(), StoredCheckpoint { size, note: note.to_owned() }).await.expect("kept")
    };
    assert_eq!(gate.store.newest_checkpoint().await.expect("a reading"), None);
    keep(3, "three").await;
    keep(2, "two").await;
    keep(2, "another two").await;
    let leaves = leaves(&gate.log().await);
    let note = |checkpoint: Option<StoredCheckpoint>| checkpoint.map(|checkpoint| checkpoint.note);
    assert_eq!(note(gate.store.newest_checkpoint().await.expect("a reading")).as_deref(), Some("three"));
    for (position, expected) in [(0, Some("two")), (1, Some("two")), (2, Some("three")), (3, None)] {
        let proof = gate.store.proof(position).await.expect("a reading");
        assert_eq!(note(proof.as_ref().map(|proof| proof.checkpoint.clone())).as_deref(), expected, "position {position}");
        let Some(RecordProof { leaf, checkpoint, path }) = proof else { continue };
        let leaf = leaf_hash(leaf.as_bytes());
        assert_eq!(leaf, leaves[at(position)]);
        let root = root_of(&leaves[..at(checkpoint.size)]);
        verify_inclusion(&leaf, position, checkpoint.size, &path, &root).expect("it leads to the head");
    }
    // A head over records that are not there is nobody's.
    keep(5, "ahead").await;
    assert!(matches!(gate.store.proof(4).await, Err(StoreError::Corrupt(_))));
    // Keeping a checkpoint is no record itself: otherwise there would be no end.
    assert_eq!(gate.size().await, 3);
    assert!(!heads.has_changed().expect("the writer lives"));
}

#[tokio::test]
async fn reading_is_bounded_and_resumes_where_it_stopped() {
    let gate = Gate::initialised().await;
    let big = "x".repeat(1024 * 1024);
    for _ in 0..12 {
        let refusal = vidimus_core::code::Refusal::new(vidimus_core::code::Code::ToolUnknown, big.clone());
        let refused = CallRefused { agent: None, tool: "x".to_owned(), refusal, roles: vec![name("auditor")] };
        gate.store.refuse_call(gate.moment(), refused).await.expect("recorded");
    }
    let first = gate.store.records(0, usize::MAX, names(&["auditor"])).await.expect("a reading");
    assert!((3..14).contains(&first.len()), "{}", first.len());
    assert_eq!(gate.store.records(0, usize::MAX, Vec::new()).await.expect("a reading").len(), 14);
    assert_eq!(gate.log().await.len(), 14);
    assert_eq!(gate.store.records(14, 10, Vec::new()).await.expect("a reading"), []);
    assert_eq!(gate.store.records(u64::MAX, 10, Vec::new()).await.expect("a reading"), []);
}

fn unknown_key() -> vidimus_core::code::Refusal {
    vidimus_core::code::Refusal::new(vidimus_core::code::Code::KeyUnknown, "a key that nobody enrolled")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever mixture of kept and refused use cases is queued at once, the log stays whole.
    #[test]
    fn a_batch_of_kept_and_refused_use_cases_leaves_a_whole_log(plan in proptest::collection::vec(0_u8..4, 1..60)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let gate = Gate::initialised().await;
            let before = gate.size().await;
            let mut tasks = tokio::task::JoinSet::new();
            for (kind, index) in plan.iter().copied().zip(0_u32..) {
                let (store, moment) = (gate.store.clone(), gate.moment());
                tasks.spawn(async move {
                    match kind {
                        // Kept, with one record.
                        0 => store.heartbeat(moment).await.map(|()| 1),
                        // A refusal that is recorded.
                        1 => store.refuse_session(moment, Some(Digest::of(&index.to_be_bytes())), unknown_key()).await.map(|()| 1),
                        // A refusal that is not.
                        2 => store.withdraw(moment, name("billing"), vidimus_core::ids::CallId::from_random([1; 16])).await.map(|_| 0),
                        // A failure that takes itself back: there is no roster yet.
                        _ => {
                            let challenge = DecisionChallenge {
                                request: vidimus_core::ids::RequestId::from_random([1; 16]),
                                person: crate::fixture::person_of("x"),
                                key_sha256: Digest::of(b"x"),
                            };
                            store.decision_challenge(moment, challenge).await.map(|_| 0)
                        }
                    }
                });
            }
            let expected: u64 = tasks.join_all().await.into_iter().map(|outcome| outcome.expect("an outcome")).sum();
            let records = gate.log().await;
            assert_eq!(records.len() as u64, before + expected);
            assert_eq!(root_of(&leaves(&records)), gate.store.head().await.expect("a head").root);
        });
    }
}
