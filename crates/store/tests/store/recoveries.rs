//! Recoveries: a day after everybody was told, unless an admin objects; read from the log, so that no column brings one in.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::limits::RECOVERY_DELAY_S;
use vidimus_core::recovery::{Recovery, Veto};
use vidimus_core::sign::SecretKey;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, secret};
use crate::forged::forge;

const DAY_S: i64 = RECOVERY_DELAY_S as i64;

impl Gate {
    fn recovery(&self, of: &Approver) -> Recovery {
        let gate = GateId::of(&self.log_key.public());
        Recovery { gate, environment: Environment::Test, admission: self.admission(of, &["admin"]), issued_at: self.now() }
    }

    pub async fn announce(&self, of: &Approver, key: &SecretKey) -> Result<Digest, Code> {
        let envelope = self.recovery(of).sign(key).expect("signed");
        match self.store.announce_recovery(self.moment(), envelope).await.expect("an outcome") {
            RecoveryOutcome::Announced { recovery_sha256, .. } => Ok(recovery_sha256),
            RecoveryOutcome::Refused(refusal) => Err(refusal.code),
        }
    }

    async fn veto(&self, recovery_sha256: Digest, key: &SecretKey) -> Option<Code> {
        let gate = GateId::of(&self.log_key.public());
        let veto = Veto { gate, environment: Environment::Test, recovery_sha256, issued_at: self.now() };
        let envelope = veto.sign(key).expect("signed");
        match self.store.veto_recovery(self.moment(), recovery_sha256, envelope).await.expect("an outcome") {
            VetoOutcome::Vetoed(_) => None,
            VetoOutcome::Refused(refusal) => Some(refusal.code),
        }
    }

    async fn sweep(&self) {
        self.store.due(self.moment()).await.expect("a sweep");
    }

    async fn is_there(&self, approver: &Approver) -> bool {
        self.roster().await.person(&approver.person).is_some()
    }
}

#[tokio::test]
async fn a_recovery_admits_a_day_later_and_not_before() {
    let (mut gate, _) = Gate::with_admin().await;
    let new = gate.approver("Eve Example");
    assert_eq!(gate.invite(&new.name, &["admin"]).await, InviteOutcome::Created);
    let EnrolOutcome::Waiting { request, .. } = gate.propose(&new).await else { panic!("waits") };
    let admission = gate.store.waiting_admission(request).await.expect("a reading").expect("it waits");
    assert_eq!(admission, gate.admission(&new, &["admin"]));
    let size = gate.size().await;
    assert_eq!(gate.announce(&new, &secret("Ada Example approval")).await, Err(Code::EnvelopeKeyWrong));
    gate.announce(&new, &secret("recovery")).await.expect("announced");
    assert_eq!(gate.announce(&new, &secret("recovery")).await, Err(Code::RecoveryVetoed), "the same statement counts once");
    assert_eq!(gate.told_since(size).await, ["recovery_announced"]);
    gate.advance_s(DAY_S - 1);
    gate.sweep().await;
    assert!(!gate.is_there(&new).await);
    gate.reopen();
    gate.advance_s(1);
    gate.sweep().await;
    assert!(gate.is_there(&new).await);
    gate.open_session(&new).await;
    gate.sweep().await;
    assert_eq!(gate.roster().await.version, 2, "it takes effect once");
    assert!(gate.store.waiting_admission(request).await.expect("a reading").is_none(), "the proposal it began with is over");
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn an_admin_ends_a_recovery_for_ever() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let new = gate.approver("Eve Example");
    let recovery_sha256 = gate.announce(&new, &secret("recovery")).await.expect("announced");
    assert_eq!(gate.veto(recovery_sha256, &bea.approval).await, Some(Code::RoleNotHeld));
    assert_eq!(gate.veto(recovery_sha256, &ada.device).await, Some(Code::KeyUseWrong));
    assert_eq!(gate.veto(Digest::of(b"x"), &ada.approval).await, Some(Code::RecoveryNotWaiting));
    let size = gate.size().await;
    assert_eq!(gate.veto(recovery_sha256, &ada.approval).await, None);
    assert_eq!(gate.veto(recovery_sha256, &ada.approval).await, Some(Code::RecoveryNotWaiting));
    assert_eq!(gate.told_since(size).await, ["recovery_vetoed"]);
    assert_eq!(gate.announce(&new, &secret("recovery")).await, Err(Code::RecoveryVetoed));
    gate.advance_s(2 * DAY_S);
    gate.sweep().await;
    assert!(!gate.is_there(&new).await);
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn a_recovery_of_somebody_who_is_there_by_then_ends_with_its_reason() {
    let (gate, ada) = Gate::with_admin().await;
    let new = gate.approver("Eve Example");
    gate.announce(&new, &secret("recovery")).await.expect("announced");
    gate.admit(&ada, "Eve Example", &["auditor"]).await;
    gate.advance_s(DAY_S);
    let size = gate.size().await;
    gate.sweep().await;
    assert!(gate.told_since(size).await.contains(&"recovery_refused:roster_change_invalid".to_owned()));
    assert!(!gate.roster().await.person(&new.person).expect("there").roles.iter().any(|role| role.as_str() == "admin"));
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn no_column_brings_a_recovery_in() {
    for (sql, what) in [
        ("UPDATE recoveries SET effective_at = 1", "before its time"),
        ("UPDATE recoveries SET waiting = 1, effective_at = 1", "after a veto"),
        ("INSERT INTO recoveries SELECT upper(recovery_sha256), 1, 1 FROM recoveries", "announced to nobody"),
    ] {
        let (mut gate, ada) = Gate::with_admin().await;
        let new = gate.approver("Eve Example");
        let recovery_sha256 = gate.announce(&new, &secret("recovery")).await.expect("announced");
        if what == "after a veto" {
            assert_eq!(gate.veto(recovery_sha256, &ada.approval).await, None);
        }
        forge(&mut gate, sql);
        gate.store.due(gate.moment()).await.expect("a sweep");
        assert!(!gate.is_there(&new).await, "{what}");
    }
}

/// What a clock skips, and what nobody was there to see, is not of the day in which everybody may object.
#[tokio::test]
async fn a_day_that_nobody_saw_pass_brings_nobody_in() {
    let (mut gate, _) = Gate::with_admin().await;
    let new = gate.approver("Eve Example");
    gate.invite(&new.name, &["admin"]).await;
    gate.propose(&new).await;
    gate.announce(&new, &secret("recovery")).await.expect("announced");
    let (ten, five) = (10 * 3600, 5 * 3600);
    gate.advance_s(ten);
    gate.store.skip_time(gate.moment(), 2 * RECOVERY_DELAY_S * 1000).await.expect("on record");
    gate.advance_s(2 * DAY_S);
    gate.sweep().await;
    assert!(!gate.is_there(&new).await, "a clock that was set forward brought her in");
    gate.reopen();
    gate.advance_s(five);
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    gate.advance_s(DAY_S - ten - 1);
    gate.sweep().await;
    assert!(!gate.is_there(&new).await, "a gate that was down brought her in");
    gate.reopen();
    gate.advance_s(1);
    gate.sweep().await;
    assert!(gate.is_there(&new).await, "a day was seen to pass");
    let skipped = gate.log().await.iter().filter(|record| record.leaf.contains("time_skipped")).count();
    assert_eq!(skipped, 2);
    // What comes later leaves it as it is.
    gate.store.skip_time(gate.moment(), 1000).await.expect("on record");
    gate.reopen();
}

#[tokio::test]
async fn a_start_right_after_the_end_skips_nothing() {
    let (mut gate, _) = Gate::with_admin().await;
    let size = gate.size().await;
    gate.reopen();
    gate.advance_ms(999);
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(!gate.told_since(size).await.contains(&"time_skipped".to_owned()));
    gate.reopen();
    gate.advance_ms(1000);
    gate.store.recover_at_start(gate.moment()).await.expect("a start");
    assert!(gate.told_since(size).await.contains(&"time_skipped".to_owned()));
}
