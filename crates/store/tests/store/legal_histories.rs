//! Whatever people, operators and agents may do, in whatever order: the gate starts from it again, and stands where it stood. A
//! start judges by what the log holds, the running gate judged by what it saw; this finds where the two do not agree.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{PersonId, RequestId};
use vidimus_core::limits::RECOVERY_DELAY_S;
use vidimus_core::operation::{Answer as Attempted, OperationKey};
use vidimus_core::reconciliation::Answer;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name, names, secret};
use crate::operations::answer;
use crate::reconciliations::{challenge, plain, signed};

/// Histories of a run. *Unit*: histories; so many that each fault that was ever found in this way is met several times.
const CASES: u32 = 24;
const CASES_LONG: u32 = 400;

const LEAD: &str = "support-lead";
const TREASURY: &str = "treasury";
const NEXT: &str = "finance-lead";

#[derive(Clone, Copy, Debug)]
enum Act {
    /// An agent's write whose answer is lost.
    LoseWrite,
    /// A wire that is asked for.
    AskWire,
    /// An approved wire whose answer is lost.
    LoseWire,
    Decide(usize, usize, DecisionKind),
    Answer(usize, usize, Answer),
    /// Somebody says that it happened, takes that back at a second desktop of theirs, and loses that one.
    TakeBack(usize, usize),
    Stop(usize),
    Desktop(usize),
    Roles(usize, usize),
    Remove(usize),
    Revoke,
    /// Gives the agent's name out anew, to somebody or to nobody.
    Add(Option<usize>),
    Recover,
    Wait(i64),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    let decisions = prop_oneof![
        6 => Just(DecisionKind::Approve),
        2 => Just(DecisionKind::Retract),
        1 => Just(DecisionKind::MoreTime),
        1 => Just(DecisionKind::Deny),
        1 => Just(DecisionKind::Revoke),
    ];
    let said = prop_oneof![
        6 => Just(Answer::Happened),
        2 => Just(Answer::NotHappened),
        3 => Just(Answer::StillUnknown),
        1 => Just(Answer::Note),
    ];
    prop_oneof![
        3 => Just(Act::LoseWrite),
        2 => Just(Act::AskWire),
        3 => Just(Act::LoseWire),
        5 => (any::<usize>(), any::<usize>(), decisions).prop_map(|(desk, which, kind)| Act::Decide(desk, which, kind)),
        14 => (any::<usize>(), any::<usize>(), said).prop_map(|(desk, which, said)| Act::Answer(desk, which, said)),
        4 => (any::<usize>(), any::<usize>()).prop_map(|(desk, which)| Act::TakeBack(desk, which)),
        4 => any::<usize>().prop_map(Act::Stop),
        3 => any::<usize>().prop_map(Act::Desktop),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(who, roles)| Act::Roles(who, roles)),
        1 => any::<usize>().prop_map(Act::Remove),
        2 => Just(Act::Revoke),
        2 => proptest::option::of(any::<usize>()).prop_map(Act::Add),
        1 => Just(Act::Recover),
        3 => prop::sample::select(vec![1, 40, 301, 4_000]).prop_map(Act::Wait),
        1 => Just(Act::Restart),
    ]
}

/// A gate with everybody who acts at it. The first desktop is Ada's, the admin's, which nobody takes from her.
struct Course {
    gate: Gate,
    desks: Vec<Approver>,
    requests: Vec<RequestId>,
    operations: Vec<OperationKey>,
    count: u32,
}

impl Course {
    async fn begin() -> Course {
        let (gate, ada) = Gate::with_admin().await;
        let mut desks = Vec::new();
        for (who, roles) in [
            ("Bea Example", &[TREASURY][..]),
            ("Cem Example", &[TREASURY, LEAD]),
            ("Emil Example", &[LEAD, TREASURY]),
            ("Fay Example", &[NEXT]),
        ] {
            desks.push(gate.admit(&ada, who, roles).await);
        }
        gate.add_agent("billing", None).await;
        gate.add_agent("support", Some(desks[2].person)).await;
        desks.insert(0, ada);
        Course { gate, desks, requests: Vec::new(), operations: Vec::new(), count: 0 }
    }

    fn desk(&self, index: usize) -> &Approver {
        &self.desks[index % self.desks.len()]
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::LoseWrite => self.lose_write().await,
            Act::AskWire => drop(self.ask_wire().await),
            Act::LoseWire => self.lose_wire().await,
            Act::Decide(desk, which, kind) => {
                if let Some(request) = pick(&self.requests, which) {
                    self.decide(desk, request, kind).await;
                }
            }
            Act::Answer(desk, which, said) => {
                if let Some(operation) = pick(&self.operations, which) {
                    self.answer(desk, operation, said).await;
                }
            }
            Act::TakeBack(desk, which) => {
                if let Some(operation) = pick(&self.operations, which) {
                    self.take_back(desk, operation).await;
                }
            }
            Act::Stop(desk) => self.stop(desk).await,
            Act::Desktop(who) => self.second_desktop(who).await,
            Act::Roles(who, roles) => {
                let roles = [&[TREASURY][..], &[LEAD], &[LEAD, TREASURY], &[NEXT]][roles % 4];
                self.change(ProposedChange::SetRoles { person: self.desk(who).person, roles: names(roles) }).await;
            }
            Act::Remove(who) => self.change(ProposedChange::Remove { person: self.desk(who).person }).await,
            Act::Revoke => drop(self.gate.store.revoke_agent(self.gate.moment(), name("support")).await.expect("an outcome")),
            Act::Add(owner) => {
                self.count += 1;
                let owner = owner.map(|owner| self.desk(owner).person);
                let credential_sha256 = Digest::of(&self.count.to_be_bytes());
                let add = AddAgent { agent: name("support"), owner, parent: None, credential_sha256 };
                self.gate.store.add_agent(self.gate.moment(), add).await.expect("an outcome");
            }
            Act::Recover => self.recover().await,
            Act::Wait(seconds) => self.wait(seconds).await,
            Act::Restart => self.restart().await,
        }
    }

    async fn wait(&self, seconds: i64) {
        self.gate.advance_s(seconds);
        self.gate.store.due(self.gate.moment()).await.expect("a sweep");
    }

    async fn lose_write(&mut self) {
        let gate = &self.gate;
        let intent = WriteIntent {
            received: gate.received("support", "tag", None),
            row_sha256: gate.table.row(&name("tag")).expect("a row").digest(),
            args: r#"{"ticket":1}"#.to_owned(),
            before: None,
            lease_s: 30,
        };
        if let IntentOutcome::Send { operation, .. } = gate.store.write_intent(gate.moment(), intent).await.expect("an outcome") {
            self.operations.push(operation);
        }
        self.wait(30).await;
    }

    async fn ask_wire(&mut self) -> Option<RequestId> {
        self.count += 1;
        let args = format!(r#"{{"account":"DE{:020}","amount_minor":4200000,"currency":"EUR"}}"#, self.count);
        let FreezeOutcome::Created { request, .. } = self.gate.freeze(self.gate.received("billing", "wire", None), &args).await else {
            return None;
        };
        self.requests.push(request);
        Some(request)
    }

    async fn lose_wire(&mut self) {
        let Some(request) = self.ask_wire().await else { return };
        let mut reserved = None;
        for desk in 0..self.desks.len() {
            if reserved.is_none()
                && let Some(DecisionOutcome::Recorded(receipt)) = self.decide(desk, request, DecisionKind::Approve).await
            {
                reserved = receipt.operation;
            }
        }
        let Some(operation) = reserved else { return };
        self.gate.advance_s(30);
        self.gate.redeem_new_token(operation).await;
        answer(&self.gate, operation, 1, Attempted::Unclear).await;
        self.operations.push(operation);
        self.wait(1).await;
    }

    /// The roles of somebody; none once they left.
    async fn roles(&self, person: &PersonId) -> Vec<String> {
        let roster = self.gate.roster().await;
        roster.person(person).map(|person| person.roles.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    async fn decide(&self, desk: usize, request: RequestId, kind: DecisionKind) -> Option<DecisionOutcome> {
        let (gate, desk) = (&self.gate, self.desk(desk));
        let roles = self.roles(&desk.person).await;
        let role = roles.iter().find(|role| [TREASURY, NEXT].contains(&role.as_str()))?;
        let ask = DecisionChallenge { request, person: desk.person, key_sha256: desk.approval.public().digest() };
        let issued = gate.store.decision_challenge(gate.moment(), ask).await.expect("an outcome");
        if !matches!(issued, DecisionChallengeOutcome::Issued(_)) {
            return None;
        }
        Some(gate.decide(desk, request, kind, role).await)
    }

    /// True where it counts.
    async fn answer(&self, desk: usize, operation: OperationKey, said: Answer) -> bool {
        let (gate, desk) = (&self.gate, self.desk(desk));
        for role in self.roles(&desk.person).await {
            let (_, issued) = challenge(gate, desk, operation, &[&role]).await;
            if let OperationChallengeOutcome::Issued(_) = issued {
                let sent = signed(gate, desk, operation, said, &role, &plain).await;
                let outcome = gate.store.record_reconciliation(gate.moment(), sent).await.expect("an outcome");
                return matches!(outcome, ReconciliationOutcome::Recorded(_));
            }
        }
        false
    }

    async fn take_back(&mut self, desk: usize, operation: OperationKey) {
        let desks = self.desks.len();
        self.second_desktop(desk).await;
        if self.desks.len() > desks {
            self.answer(desk % desks, operation, Answer::Happened).await;
            self.answer(desks, operation, Answer::StillUnknown).await;
            self.stop(desks).await;
            // The next one agrees with what was taken back.
            for other in 1..desks {
                if self.desk(other).person != self.desk(desk % desks).person && self.answer(other, operation, Answer::Happened).await {
                    return;
                }
            }
        }
    }

    async fn stop(&self, desk: usize) {
        let (ada, desk) = (&self.desks[0], self.desk(desk));
        if desk.person != ada.person {
            let stop = self.gate.stop_of(desk.person, &[&desk.approval, &desk.device]);
            self.gate.stop(&stop, &ada.approval).await;
        }
    }

    async fn second_desktop(&mut self, who: usize) {
        self.count += 1;
        let (ada, of) = (&self.desks[0], self.desk(who));
        let roster = self.gate.roster().await;
        let theirs = self.desks.iter().filter(|desk| desk.person == of.person).count();
        if roster.is_sole_admin(&ada.person) && roster.person(&of.person).is_some() && of.person != ada.person && theirs < 6 {
            let desk = self.gate.add_desktop(ada, of, &format!("desk {}", self.count)).await;
            self.desks.push(desk);
        }
    }

    /// A change of somebody else that Ada proposes and decides, as the only admin.
    async fn change(&self, change: ProposedChange) {
        let ada = &self.desks[0];
        let person = match &change {
            ProposedChange::SetRoles { person, .. } | ProposedChange::Remove { person } => *person,
            ProposedChange::AddKeys { .. } => return,
        };
        if person == ada.person || !self.gate.roster().await.is_sole_admin(&ada.person) {
            return;
        }
        if let Ok(request) = self.gate.ask_for(ada, change).await {
            self.gate.carry_out_admission(ada, request).await;
        }
    }

    async fn recover(&mut self) {
        self.count += 1;
        let new = self.gate.approver(&format!("Rae Example {}", self.count));
        if self.gate.announce(&new, &secret("recovery")).await.is_ok() {
            self.wait(i64::try_from(RECOVERY_DELAY_S).expect("a day") + 1).await;
        }
    }

    async fn restart(&mut self) {
        let before = self.stands().await;
        self.gate.reopen();
        let verified = self.gate.store.verify(None).await;
        assert!(verified.is_ok(), "a legal history is called contradicted: {}", verified.expect_err("a fault"));
        assert_eq!(self.stands().await, before);
    }

    /// Where everything stands, as it is told.
    async fn stands(&self) -> BTreeMap<String, String> {
        let mut stands = BTreeMap::new();
        for request in &self.requests {
            let view = self.gate.view(*request).await;
            stands.insert(request.to_string(), format!("{} until {}", view.state, view.waits_until));
        }
        for operation in &self.operations {
            let view = self.gate.store.operation(*operation).await.expect("a reading").expect("an operation");
            stands.insert(operation.to_string(), format!("{} at {}", view.state, view.attempt));
        }
        stands
    }
}

fn pick<T: Copy>(of: &[T], index: usize) -> Option<T> {
    // The newest ones are those that something can still become of.
    of.iter().rev().take(3).nth(index % 3).or(of.last()).copied()
}

#[test]
fn a_gate_starts_again_from_whatever_may_happen_to_it() {
    let cases = if std::env::var_os("VIDIMUS_LONG").is_some() { CASES_LONG } else { CASES };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // The same histories each time: what is found is found again.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 50, ..Config::default() };
    let outcome = TestRunner::new_with_rng(config, rng).run(&prop::collection::vec(act(), 20..60), |acts| {
        runtime.block_on(async {
            let mut course = Course::begin().await;
            for act in acts {
                course.act(act).await;
            }
            course.restart().await;
        });
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
