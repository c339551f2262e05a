//! How the roster changes after admissions: desktops, stops, roles, removals; and what ends with a key or a role.

use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{Environment, GateId, PersonId, RequestId};
use vidimus_core::request::RequestState;
use vidimus_core::roster::KeyUse;
use vidimus_core::stop::Stop;
use vidimus_store::*;

use crate::deciding::refused_decision;
use crate::fixture::{Approver, Gate, code_of, names, secret};

impl Gate {
    /// Another desktop of somebody, with keys of its own.
    pub fn desktop(&self, of: &Approver, desk: &str) -> Approver {
        let key = |key_use: &str| secret(&format!("{} {desk} {key_use}", of.name));
        Approver { person: of.person, name: of.name.clone(), approval: key("approval"), device: key("device") }
    }

    pub fn stop_of(&self, person: PersonId, keys: &[&vidimus_core::sign::SecretKey]) -> Stop {
        let mut keys: Vec<Digest> = keys.iter().map(|key| key.public().digest()).collect();
        keys.sort();
        let gate = GateId::of(&self.log_key.public());
        Stop { gate, environment: Environment::Test, person, keys, issued_at: self.now() }
    }

    pub async fn stop(&self, stop: &Stop, signer: &vidimus_core::sign::SecretKey) -> StopOutcome {
        let asked = StopKeys { key_sha256: stop.keys[0], envelope: stop.sign(signer).expect("signed") };
        self.store.stop_keys(self.moment(), asked).await.expect("an outcome")
    }

    async fn stopped(&self, stop: &Stop, signer: &vidimus_core::sign::SecretKey) -> (u32, u64) {
        match self.stop(stop, signer).await {
            StopOutcome::Stopped { roster_version, position } => (roster_version, position),
            other @ StopOutcome::Refused(_) => panic!("{other:?}"),
        }
    }

    async fn invite_desktop(&self, of: &Approver, code: &str) -> InviteOutcome {
        let roster = self.roster().await;
        let roles = roster.person(&of.person).map(|person| person.roles.iter().cloned().collect()).unwrap_or(names(&["x"]));
        let invite = Invite {
            code_sha256: code_of(code),
            kind: InviteKind::Device,
            person: of.person,
            name: of.name.clone(),
            roles,
            expires_at: self.now().plus_s(3600),
        };
        self.store.create_invite(self.moment(), invite).await.expect("an outcome")
    }

    /// The proposal that uses a desktop's invite.
    async fn propose_desktop(&self, desktop: &Approver, code: &str) -> EnrolOutcome {
        let proof = |key_use| self.enrolment(desktop, key_use, |statement| statement.invite_sha256 = Some(code_of(code)));
        let propose = ProposeAdmission {
            code_sha256: code_of(code),
            label: "desk".to_owned(),
            approval: proof(KeyUse::Approval),
            device: proof(KeyUse::Device),
            call: self.call_id(),
            request: self.request_id(),
            salt: self.salt(),
        };
        self.store.propose_admission(self.moment(), propose).await.expect("an outcome")
    }

    /// Invites, proposes and admits another desktop.
    pub async fn add_desktop(&self, admin: &Approver, of: &Approver, desk: &str) -> Approver {
        let desktop = self.desktop(of, desk);
        assert_eq!(self.invite_desktop(of, desk).await, InviteOutcome::Created);
        let outcome = self.propose_desktop(&desktop, desk).await;
        let EnrolOutcome::Waiting { request, .. } = outcome else { panic!("{outcome:?}") };
        self.carry_out_admission(admin, request).await;
        desktop
    }

    pub async fn ask_for(&self, proposer: &Approver, change: ProposedChange) -> Result<RequestId, Refusal> {
        let (call, request, salt) = (self.call_id(), self.request_id(), self.salt());
        let asked = ProposeChange { proposer: proposer.person, change, call, request, salt };
        match self.store.propose_roster_change(self.moment(), asked).await.expect("an outcome") {
            ProposedOutcome::Waiting(request) => Ok(request),
            ProposedOutcome::Refused(refusal) => Err(refusal),
        }
    }

    fn rotation(&self, new: &Approver) -> ProposedChange {
        let proof = |key_use| self.enrolment(new, key_use, |statement| statement.invite_sha256 = None);
        ProposedChange::AddKeys {
            label: "desk".to_owned(),
            approval: Box::new(proof(KeyUse::Approval)),
            device: Box::new(proof(KeyUse::Device)),
        }
    }

    async fn state(&self, request: RequestId) -> RequestState {
        self.view(request).await.state
    }

    async fn session_lives(&self, session: Digest) -> bool {
        self.store.authenticate_session(self.now(), session).await.expect("a reading").is_some()
    }
}

fn refused(outcome: StopOutcome) -> Code {
    match outcome {
        StopOutcome::Refused(refusal) => refusal.code,
        StopOutcome::Stopped { .. } => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn a_second_desktop_signs_like_the_first_and_each_ends_alone() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let laptop = gate.add_desktop(&ada, &bea, "laptop").await;
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
    let (_, request) = gate.refund("1").await;
    let receipt = gate.approve(&laptop, request, "billing-approver").await;
    assert_eq!(receipt.state, RequestState::Approved);
    let (first, second) = (gate.open_session(&bea).await, gate.open_session(&laptop).await);
    gate.stopped(&gate.stop_of(bea.person, &[&bea.approval, &bea.device]), &laptop.device).await;
    assert!(!gate.session_lives(first).await && gate.session_lives(second).await);
    let (_, other) = gate.refund("2").await;
    gate.approve(&laptop, other, "billing-approver").await;
}

#[tokio::test]
async fn a_desktop_is_invited_for_somebody_who_is_there_and_brings_fresh_keys() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let stranger = gate.approver("Eve Example");
    assert!(
        matches!(gate.invite_desktop(&stranger, "laptop").await, InviteOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid)
    );
    let renamed = Approver { name: "Bea Other".to_owned(), ..gate.desktop(&bea, "laptop") };
    assert!(matches!(gate.invite_desktop(&renamed, "laptop").await, InviteOutcome::Refused(_)), "under another name");
    assert_eq!(gate.invite_desktop(&bea, "one").await, InviteOutcome::Created);
    assert_eq!(gate.invite_desktop(&bea, "two").await, InviteOutcome::Created, "two desktops at a time");
    let own = Approver { person: bea.person, name: bea.name.clone(), approval: secret("Bea Example approval"), device: secret("x") };
    assert!(matches!(gate.propose_desktop(&own, "one").await, EnrolOutcome::Refused(refusal) if refusal.code == Code::RosterChangeInvalid));
    let another = Approver { person: ada.person, name: ada.name.clone(), ..gate.desktop(&bea, "laptop") };
    assert!(matches!(gate.propose_desktop(&another, "one").await, EnrolOutcome::Refused(refusal) if refusal.code == Code::EnrolmentWrong));
    let desktop = gate.desktop(&bea, "laptop");
    assert!(matches!(gate.propose_desktop(&desktop, "one").await, EnrolOutcome::Waiting { .. }));
    assert!(matches!(gate.propose_desktop(&desktop, "one").await, EnrolOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid));
    assert!(
        matches!(gate.propose_desktop(&desktop, "two").await, EnrolOutcome::Refused(refusal) if refusal.code == Code::RosterChangeInvalid)
    );
    let waiting = SessionChallenge { key_sha256: desktop.device.public().digest(), challenge: gate.nonce() };
    let asked = gate.store.session_challenge(gate.moment(), waiting).await.expect("an outcome");
    assert!(matches!(asked, SessionChallengeOutcome::Refused(refusal) if refusal.code == Code::KeyWaiting));
}

#[tokio::test]
async fn a_stop_ends_sessions_challenges_and_approvals_in_one_transaction() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let session = gate.open_session(&bea).await;
    let (_, approved) = gate.refund("1").await;
    let operation = gate.approve(&bea, approved, "billing-approver").await.operation.expect("a quorum");
    let minted = gate.token(operation).await;
    let (_, half) = gate.wait_for("wire", r#"{"account":"DE00","amount_minor":1,"currency":"EUR"}"#).await;
    gate.approve(&bea, half, "treasury").await;
    let (_, open) = gate.refund("2").await;
    let prepared = gate.decision(&bea, open, DecisionKind::Approve, "billing-approver", &|_| {}).await;
    let size = gate.size().await;
    let stop = gate.stop_of(bea.person, &[&bea.approval, &bea.device]);
    let (version, position) = gate.stopped(&stop, &bea.device).await;
    assert_eq!((version, position), (4, size), "the stop's own record");
    assert!(!gate.session_lives(session).await);
    assert_eq!((gate.state(approved).await, gate.state(half).await), (RequestState::Stale, RequestState::Stale));
    assert_eq!(gate.state(open).await, RequestState::Pending, "nobody had approved it");
    assert_eq!(refused_decision(gate.record(prepared).await), Code::KeyStopped);
    assert!(matches!(gate.redeem(minted).await, RedeemOutcome::Refused(_)), "a token that was out already");
    let told = gate.told_since(size).await;
    assert_eq!(told.iter().filter(|told| *told == "request_stale:key_stopped").count(), 2, "{told:?}");
    assert_eq!(gate.stopped(&stop, &bea.device).await, (version, position), "the same stop, the same answer");
    assert_eq!(gate.stopped(&stop, &ada.approval).await, (version, position), "whoever asks");
    let later = gate.size().await;
    assert_eq!(gate.stopped(&stop, &bea.approval).await, (version, position));
    assert_eq!(gate.size().await, later, "nothing is written twice");
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn a_stop_that_does_not_count_changes_nothing() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let of_bea = gate.stop_of(bea.person, &[&bea.approval]);
    let size = gate.size().await;
    let cases = [
        (gate.stop(&of_bea, &cem.approval).await, Code::RoleNotHeld),
        (gate.stop(&of_bea, &ada.device).await, Code::KeyUseWrong),
        (gate.stop(&of_bea, &secret("a stranger")).await, Code::KeyUnknown),
        (gate.stop(&gate.stop_of(ada.person, &[&ada.device]), &ada.approval).await, Code::LastAdmin),
        (gate.stop(&gate.stop_of(bea.person, &[&cem.approval]), &bea.approval).await, Code::KeyUnknown),
        (gate.stop(&Stop { environment: Environment::Live, ..of_bea.clone() }, &bea.approval).await, Code::EnvironmentWrong),
    ];
    for (outcome, code) in cases {
        assert_eq!(refused(outcome), code);
    }
    let elsewhere = StopKeys { key_sha256: Digest::of(b"x"), envelope: of_bea.sign(&bea.approval).expect("signed") };
    assert_eq!(refused(gate.store.stop_keys(gate.moment(), elsewhere).await.expect("an outcome")), Code::KeyUnknown);
    assert_eq!((gate.size().await, gate.roster().await.version), (size, 3));
    let refusal = Refusal::new(Code::RoleNotHeld, "x");
    let refused = StatementRefused { statement: "stop", key_sha256: Some(cem.approval.public().digest()), refusal };
    gate.store.refuse_statement(gate.moment(), refused).await.expect("recorded");
    assert_eq!(gate.told_since(size).await, ["statement_refused:role_not_held"]);
}

#[tokio::test]
async fn a_rotation_is_asked_for_in_a_session_and_decided_by_somebody_else() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let new = gate.desktop(&bea, "rotated");
    let by_invite = ProposedChange::AddKeys {
        label: "desk".to_owned(),
        approval: Box::new(gate.enrolment(&new, KeyUse::Approval, |_| {})),
        device: Box::new(gate.enrolment(&new, KeyUse::Device, |_| {})),
    };
    assert_eq!(gate.ask_for(&bea, by_invite).await.expect_err("an invite's proof").code, Code::EnrolmentWrong);
    assert_eq!(gate.ask_for(&ada, gate.rotation(&new)).await.expect_err("another's keys").code, Code::EnrolmentWrong);
    let request = gate.ask_for(&bea, gate.rotation(&new)).await.expect("asked");
    assert_eq!(gate.ask_for(&bea, gate.rotation(&new)).await.expect_err("the same keys").code, Code::RosterChangeInvalid);
    gate.carry_out_admission(&ada, request).await;
    gate.open_session(&new).await;
    gate.open_session(&bea).await;
    gate.stopped(&gate.stop_of(bea.person, &[&bea.approval, &bea.device]), &new.approval).await;
    let (_, refund) = gate.refund("1").await;
    gate.approve(&new, refund, "billing-approver").await;
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn roles_and_removals_are_proposed_by_anybody_and_decided_by_another_admin() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let change = ProposedChange::SetRoles { person: cem.person, roles: names(&["auditor"]) };
    let request = gate.ask_for(&bea, change).await.expect("asked");
    gate.carry_out_admission(&ada, request).await;
    let roles = gate.roster().await.person(&cem.person).expect("there").roles.clone();
    assert_eq!(roles.into_iter().collect::<Vec<_>>(), names(&["auditor"]));
    // The only admin decides what they proposed, and the record says so.
    let request = gate.ask_for(&ada, ProposedChange::Remove { person: cem.person }).await.expect("asked");
    let size = gate.size().await;
    gate.carry_out_admission(&ada, request).await;
    let records = gate.log().await;
    let decided = &records[usize::try_from(size).expect("small")];
    assert!(decided.leaf.contains(r#""sole_admin":true"#), "{}", decided.leaf);
    assert!(gate.roster().await.person(&cem.person).is_none());
    assert_eq!(gate.ask_for(&ada, ProposedChange::Remove { person: ada.person }).await.expect_err("the last").code, Code::LastAdmin);
    let nobody = ProposedChange::SetRoles { person: cem.person, roles: names(&["auditor"]) };
    assert_eq!(gate.ask_for(&ada, nobody).await.expect_err("gone").code, Code::RosterChangeInvalid);
    let gone = ProposedChange::Remove { person: bea.person };
    assert_eq!(gate.ask_for(&cem, gone).await.expect_err("removed").code, Code::ApproverWrong);
    // With two admins, neither decides alone.
    let request = gate.ask_for(&ada, ProposedChange::SetRoles { person: bea.person, roles: names(&["admin"]) }).await.expect("asked");
    gate.carry_out_admission(&ada, request).await;
    let request = gate.ask_for(&ada, ProposedChange::Remove { person: bea.person }).await.expect("asked");
    assert_eq!(refused_decision(gate.decide(&ada, request, DecisionKind::Approve, "admin").await), Code::SelfApproval);
    gate.carry_out_admission(&bea, request).await;
    assert!(gate.roster().await.is_sole_admin(&ada.person));
    assert_eq!(gate.store.verify(None).await.map_err(|error| error.to_string()), Ok(()));
}

#[tokio::test]
async fn what_was_proposed_on_another_version_is_stale_or_made_again() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let roles = gate.ask_for(&bea, ProposedChange::SetRoles { person: cem.person, roles: names(&["auditor"]) }).await.expect("asked");
    let new = gate.desktop(&bea, "rotated");
    let rotation = gate.ask_for(&bea, gate.rotation(&new)).await.expect("asked");
    let size = gate.size().await;
    gate.stopped(&gate.stop_of(cem.person, &[&cem.device]), &cem.approval).await;
    assert_eq!((gate.state(roles).await, gate.state(rotation).await), (RequestState::Stale, RequestState::Stale));
    let told = gate.told_since(size).await;
    assert_eq!(told.iter().filter(|told| *told == "request_created").count(), 1, "the keys are proposed again: {told:?}");
    let records = gate.log().await;
    let again = records.iter().rev().find_map(|record| {
        let leaf = vidimus_core::record::AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
        (leaf.record_type == vidimus_core::record::RecordType::RequestCreated).then_some(leaf.request).flatten()
    });
    gate.carry_out_admission(&ada, again.expect("a request")).await;
    gate.open_session(&new).await;
}

#[tokio::test]
async fn a_request_that_too_few_can_decide_waits_and_is_told() {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let (_, request) = gate.wait_for("wire", r#"{"account":"DE00","amount_minor":1,"currency":"EUR"}"#).await;
    let size = gate.size().await;
    gate.stopped(&gate.stop_of(cem.person, &[&cem.approval]), &ada.approval).await;
    assert_eq!(gate.state(request).await, RequestState::Pending);
    let told = gate.told_since(size).await;
    assert!(told.contains(&"request_unanswerable".to_owned()), "{told:?}");
    let leaf = gate.log().await.iter().find(|record| record.leaf.contains("request_unanswerable")).expect("told").leaf.clone();
    assert!(leaf.contains(r#""eligible":1,"needed":2,"role":"treasury""#) && leaf.contains("\"admin\""), "{leaf}");
    // A stop of somebody who could not decide it tells nothing more of other requests.
    let (_, refund) = gate.refund("1").await;
    gate.approve(&bea, refund, "billing-approver").await;
}
