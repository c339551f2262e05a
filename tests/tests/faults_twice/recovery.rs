//! A recovery over HTTP: announced, waited for, in force after its day and not a millisecond before, or vetoed and never.

use vidimus_api::call::CallStatus;
use vidimus_api::log::LogEvent;
use vidimus_core::bytes::Digest;
use vidimus_core::limits::RECOVERY_DELAY_S;
use vidimus_core::passing::Skipped;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::recovery::Veto;
use vidimus_core::time::Timestamp;
use vidimus_tests::approver::{Approver, raw};

use crate::faults::{House, call, pending, refund_args, until};

/// Rosa, who waits to be admitted, the recovery that admits her, and when it was announced.
async fn announced(house: &House) -> (Approver, Digest, Timestamp) {
    let invite = house.home.invite("Rosa Example", &["admin"]).expect("an invite");
    let rosa = Approver::enrol(&house.url, &invite, 31).await.expect("the person enrols");
    let said = house.home.recover(&rosa.admission.expect("a request").to_string()).expect("announced");
    let recovery_sha256 = said.split('`').find_map(|word| word.parse::<Digest>().ok()).expect("its digest");
    (rosa, recovery_sha256, recorded(house, RecordType::RecoveryAnnounced).await.at)
}

/// The first record of this type.
async fn recorded(house: &House, record_type: RecordType) -> AuditRecord {
    recorded_as(house, |record| record.record_type == record_type).await
}

/// The first record that is so. A session may end with the clock in between.
async fn recorded_as(house: &House, wanted: impl Fn(&AuditRecord) -> bool) -> AuditRecord {
    let wanted = &wanted;
    until("such a record", || async move {
        let session = house.admin.new_session().await.ok()?.session;
        let mut stream = house.admin.gate.with_session(session).log_stream(0).await.ok()?;
        while let LogEvent::Record(record) = stream.next().await.ok()?? {
            let record = AuditRecord::parse(record.leaf.as_bytes()).expect("a record");
            if wanted(&record) {
                return Some(record);
            }
        }
        None
    })
    .await
}

fn stand_at(house: &House, at: Timestamp, ms: i64) {
    house.order(&[&format!("clock_at_ms {}", at.as_ms() + ms)]);
}

async fn refused_session(person: &Approver) -> String {
    person.new_session().await.map(|_| ()).expect_err("not admitted").code().expect("a code").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_is_in_force_after_its_day_and_not_a_millisecond_before() {
    let house = House::open().await;
    let (rosa, _, at) = announced(&house).await;
    let due = at.plus_s(RECOVERY_DELAY_S);
    // The sweep has seen this clock once it has put out the refund that is over by it.
    let billing = house.agent("billing", &[]);
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "sweep")).await;
    stand_at(&house, due, -1);
    until("a sweep by this clock", || async {
        (billing.outcome(&waiting.call, 1).await.expect("an outcome").status == CallStatus::Expired).then_some(())
    })
    .await;
    let before = house.admin.new_session().await.expect("a session").session;
    let roster = house.admin.gate.with_session(before.clone()).roster().await.expect("a roster");
    assert!(!roster.roster.contains("Rosa Example"), "a millisecond early");
    assert!(["key_waiting", "key_unknown"].contains(&refused_session(&rosa).await.as_str()));
    stand_at(&house, due, 0);
    let session = until("her session", || async { rosa.new_session().await.ok() }).await;
    assert_eq!(session.person, rosa.person);
    let roster = house.admin.gate.with_session(before).roster().await.expect("a roster");
    assert!(roster.roster.contains("Rosa Example"));
    let changed = recorded(&house, RecordType::RosterChanged).await;
    assert!(changed.at <= due);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_that_was_vetoed_is_never_in_force() {
    let mut house = House::open().await;
    let (rosa, recovery_sha256, at) = announced(&house).await;
    let admin = &house.admin;
    let veto = Veto { gate: admin.gate_id, environment: admin.environment, recovery_sha256, issued_at: Timestamp::MIN };
    let body = vidimus_api::roster::SignedStatement { envelope: raw(&veto.sign(&admin.approval).expect("signed")).expect("JSON") };
    // In its last millisecond, by the gate's clock.
    stand_at(&house, at.plus_s(RECOVERY_DELAY_S), -1);
    assert_eq!(admin.gate.veto(&recovery_sha256, &body).await.expect("vetoed").recovery_sha256, recovery_sha256);
    stand_at(&house, at.plus_s(RECOVERY_DELAY_S), 0);
    recorded(&house, RecordType::RecoveryVetoed).await;
    let late = house.admin.gate.veto(&recovery_sha256, &body).await.expect_err("vetoed before");
    assert_eq!(late.code(), Some("recovery_not_waiting"));
    stand_at(&house, at.plus_s(2 * RECOVERY_DELAY_S), 0);
    house.kill();
    house.start();
    assert!(["key_waiting", "key_unknown"].contains(&refused_session(&rosa).await.as_str()));
    let session = house.admin.new_session().await.expect("a session").session;
    let roster = house.admin.gate.with_session(session).roster().await.expect("a roster");
    assert!(!roster.roster.contains("Rosa Example"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_is_signed_for_the_keys_and_roles_that_were_named_and_for_no_others() {
    let house = House::open().await;
    let invite = house.home.invite("Rosa Example", &["admin"]).expect("an invite");
    let rosa = Approver::enrol(&house.url, &invite, 31).await.expect("the person enrols");
    let request = rosa.admission.expect("a request").to_string();
    let shown = house.home.show_recovery(&request).expect("shown");
    let (approval, device) = (rosa.approval.public().digest().to_string(), rosa.device.public().digest().to_string());
    let digits: String = shown.split_whitespace().collect();
    for part in
        ["\"RosaExample\"", &rosa.person.to_string(), "rolesadmin", &format!("approvalkey{approval}"), &format!("devicekey{device}")]
    {
        assert!(digits.contains(part), "`{part}` is not in {shown}");
    }
    let founder = house.admin.approval.public().digest().to_string();
    let good = [approval.clone(), device.clone()];
    for (fingerprints, roles) in [
        ([founder.clone(), device.clone()], &["admin"][..]),
        ([approval.clone(), founder], &["admin"]),
        ([approval.clone(), approval.clone()], &["admin"]),
        (good.clone(), &["support-lead"]),
        (good.clone(), &["admin", "support-lead"]),
    ] {
        let said = house.home.recover_naming(&request, &fingerprints, roles).expect_err("not what was named").to_string();
        assert!(said.contains("[recovery_unconfirmed]"), "{said}");
    }
    for (fingerprints, roles) in [(&[][..], &["admin"][..]), (&good[..], &[])] {
        let said = house.home.recover_naming(&request, fingerprints, roles).expect_err("nothing is assumed").to_string();
        assert!(said.contains("required"), "{said}");
    }
    let said = house.home.recover_naming(&request, &good, &["admin"]).expect("announced");
    let recovery_sha256 = said.split('`').find_map(|word| word.parse::<Digest>().ok()).expect("its digest");
    let first = recorded(&house, RecordType::RecoveryAnnounced).await;
    assert!(
        first.envelopes.iter().any(|envelope| Digest::of(envelope.danger_unverified_payload()) == recovery_sha256),
        "what was refused before left an announcement"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_the_clock_skipped_is_nobodys_time_to_object() {
    const DAY_MS: i64 = 86_400_000;
    let mut house = House::open().await;
    let (rosa, _, announced_at) = announced(&house).await;
    house.order(&[&format!("clock_ms {}", DAY_MS + 60_000)]);
    let is_step = |record: &AuditRecord| Skipped::of(record).is_ok_and(|skipped| skipped.ms >= DAY_MS.unsigned_abs());
    let skipped = recorded_as(&house, is_step).await;
    assert!(skipped.at < announced_at.plus_s(3600), "it is on record before the clock is followed: {}", skipped.at);
    // The clock is followed: a refund of now is over by it no earlier than its own time.
    let billing = house.agent("billing", &[]);
    until("the clock being followed", || async {
        let asked = billing.call(&call("refund", &refund_args(1500), "skipped"), 0).await.ok()?;
        (asked.waits_until? > announced_at.plus_s(RECOVERY_DELAY_S)).then_some(())
    })
    .await;
    assert!(["key_waiting", "key_unknown"].contains(&refused_session(&rosa).await.as_str()), "a step brought her in");
    // Nor is the time in which no gate ran.
    house.kill();
    house.order(&[&format!("clock_ms {}", 3 * DAY_MS)]);
    house.start();
    assert!(["key_waiting", "key_unknown"].contains(&refused_session(&rosa).await.as_str()), "a gate that was down brought her in");
    // A day that passes is.
    house.order(&[&format!("clock_ms {}", 3 * DAY_MS), &format!("passed_ms {}", DAY_MS + 120_000)]);
    let session = until("her session", || async { rosa.new_session().await.ok() }).await;
    assert_eq!(session.person, rosa.person);
}
