//! A seeded simulation: agents, approvers, an executor and a provider act in any order, with restarts and lost answers in
//! between. After every step, what must always hold does.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::bytes::{Digest, tagged};
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::{CallId, RequestId};
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::request::RequestState;
use vidimus_core::token::VerifiedToken;
use vidimus_core::tree::{leaf_hash, root_of};
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name, names};

/// Numbers from a seed: SHA-256 in counter mode, so that the same seed gives the same run everywhere.
struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.thrown += 1;
        let digest = tagged("vidimus.test.dice", [&self.seed.to_be_bytes(), &self.thrown.to_be_bytes()]);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest.as_bytes()[..8]);
        u64::from_be_bytes(bytes) % sides
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(usize::try_from(self.throw(of.len() as u64)).expect("small")) }
    }
}

/// A provider that honours keys for `refund` and counts what it did for everyone else.
#[derive(Default)]
struct Provider {
    effects: BTreeMap<OperationKey, u32>,
}

impl Provider {
    fn send(&mut self, tool: &str, operation: OperationKey) {
        let count = self.effects.entry(operation).or_default();
        if tool != "refund" || *count == 0 {
            *count += 1;
        }
    }
}

struct World {
    gate: Gate,
    approvers: Vec<Approver>,
    dice: Dice,
    provider: Provider,
    requests: Vec<(CallId, RequestId, &'static str)>,
    tokens: Vec<(VerifiedToken, &'static str)>,
    at_work: Vec<(OperationKey, u32)>,
    trace: Vec<String>,
}

impl World {
    async fn of(seed: u64) -> World {
        let (gate, _, bea, cem) = Gate::with_people().await;
        World {
            gate,
            approvers: vec![bea, cem],
            dice: Dice { seed, thrown: 0 },
            provider: Provider::default(),
            requests: Vec::new(),
            tokens: Vec::new(),
            at_work: Vec::new(),
            trace: Vec::new(),
        }
    }

    async fn step(&mut self) {
        let told = match self.dice.throw(14) {
            0..=2 => self.ask().await,
            3..=6 => self.decide().await,
            7..=8 => self.work().await,
            9 => self.replay().await,
            10 => self.answer().await,
            11 => self.wait().await,
            12 => self.withdraw().await,
            _ => self.restart().await,
        };
        self.trace.push(told);
    }

    async fn ask(&mut self) -> String {
        let which = self.dice.throw(3);
        let (tool, args) = match self.dice.throw(3) {
            0 => ("refund", format!(r#"{{"invoice":"{which}","amount_minor":1500,"currency":"EUR"}}"#)),
            1 => ("cancel", format!(r#"{{"subscription":"{which}"}}"#)),
            _ => ("wire", format!(r#"{{"account":"{which}","amount_minor":1500,"currency":"EUR"}}"#)),
        };
        let key = (self.dice.throw(2) == 0).then(|| format!("a-call-key-of-{tool}-{which}"));
        let outcome = self.gate.freeze(self.gate.received("billing", tool, key.as_deref()), &args).await;
        if let FreezeOutcome::Created { call, request } = outcome {
            self.requests.push((call, request, tool));
        }
        format!("ask {tool} {outcome:?}")
    }

    async fn decide(&mut self) -> String {
        let Some((_, request, tool)) = self.dice.pick(&self.requests).copied() else { return "nothing to decide".to_owned() };
        let kinds = [
            DecisionKind::Approve,
            DecisionKind::Approve,
            DecisionKind::Approve,
            DecisionKind::Deny,
            DecisionKind::Retract,
            DecisionKind::Revoke,
        ];
        let kind = *self.dice.pick(&kinds).expect("a kind");
        let who = usize::try_from(self.dice.throw(2)).expect("small");
        let approver = &self.approvers[who];
        let ask = DecisionChallenge { request, person: approver.person, key_sha256: approver.approval.public().digest() };
        let open = self.gate.store.decision_challenge(self.gate.moment(), ask).await.expect("an outcome");
        if !matches!(open, DecisionChallengeOutcome::Issued { .. }) {
            return format!("{kind} {open:?}");
        }
        let role = if tool == "wire" { "treasury" } else { "billing-approver" };
        format!("{kind} {:?}", self.gate.decide(approver, request, kind, role).await)
    }

    /// What the gate's worker does: sweeps, mints what is due, redeems, sends, and sometimes loses the answer.
    async fn work(&mut self) -> String {
        let due = self.gate.store.due(self.gate.moment()).await.expect("a sweep");
        for operation in &due.to_ask {
            let done = self.provider.effects.contains_key(operation);
            let said =
                if done { StatusAnswer::Found { result: "{}".to_owned() } } else { StatusAnswer::NotFound { detail: "404".to_owned() } };
            self.gate.store.record_status(self.gate.moment(), *operation, StatusAsked::InTurn, said).await.expect("an outcome");
        }
        for operation in &due.to_mint {
            let (outcome, jti) = self.gate.mint(*operation).await;
            let MintOutcome::Minted(minted) = outcome else { continue };
            let tool = match minted.tool.as_str() {
                "refund" => "refund",
                "cancel" => "cancel",
                _ => "wire",
            };
            self.tokens.push((self.gate.sign_token(&minted, jti), tool));
        }
        let Some((token, tool)) = self.tokens.last().cloned() else { return format!("{due:?}") };
        self.present(token, tool).await
    }

    /// Presents any token that was ever minted once more.
    async fn replay(&mut self) -> String {
        let Some((token, tool)) = self.dice.pick(&self.tokens).cloned() else { return "no token".to_owned() };
        self.present(token, tool).await
    }

    async fn present(&mut self, token: VerifiedToken, tool: &'static str) -> String {
        let outcome = self.gate.redeem(token).await;
        if let RedeemOutcome::Redeemed(redeemed) = &outcome {
            // The connection may be refused, or the request sent; the answer comes later, or never.
            if self.dice.throw(4) > 0 {
                self.provider.send(tool, redeemed.operation);
            }
            self.at_work.push((redeemed.operation, redeemed.attempt));
        }
        format!("redeem {tool} {outcome:?}")
    }

    async fn answer(&mut self) -> String {
        let Some((operation, attempt)) = self.dice.pick(&self.at_work).copied() else { return "nothing at work".to_owned() };
        let sent = self.provider.effects.contains_key(&operation);
        let answer = match (sent, self.dice.throw(2)) {
            (true, 0) => Answer::Done,
            (false, 0) => Answer::NothingSent,
            (_, _) => Answer::Unclear,
        };
        let result = (answer == Answer::Done).then(|| "{}".to_owned());
        let record = RecordAnswer { operation, attempt, answer, result, detail: "simulated".to_owned() };
        format!("answer {:?}", self.gate.store.record_answer(self.gate.moment(), record).await.expect("an outcome"))
    }

    async fn wait(&mut self) -> String {
        let seconds = i64::try_from(self.dice.throw(400)).expect("small") - 40;
        self.gate.advance_s(seconds);
        format!("wait {seconds} s")
    }

    async fn withdraw(&mut self) -> String {
        let Some((call, _, _)) = self.dice.pick(&self.requests).copied() else { return "nothing to withdraw".to_owned() };
        format!("withdraw {:?}", self.gate.store.withdraw(self.gate.moment(), name("billing"), call).await.expect("an outcome"))
    }

    async fn restart(&mut self) -> String {
        self.gate.reopen();
        let recovered = self.gate.store.recover_at_start(self.gate.moment()).await.expect("recovered");
        format!("restart, {recovered} in doubt")
    }

    async fn check(&self) {
        let views = self.gate.store.requests(None, names(&["auditor"])).await.expect("a reading");
        let records: Vec<AuditRecord> =
            self.gate.log().await.iter().map(|record| AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf")).collect();
        invariant_one_effect_for_each_approval(&views, &self.provider);
        invariant_an_effect_implies_a_redeemed_token(&records, &self.provider);
        invariant_a_token_implies_a_quorum(&records, &views);
        invariant_one_open_business_effect(&views);
        invariant_states_agree(&views);
        self.invariant_the_log_is_whole().await;
    }

    async fn invariant_the_log_is_whole(&self) {
        let records = self.gate.log().await;
        let leaves: Vec<Digest> = records.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect();
        let head = self.gate.store.head().await.expect("a head");
        assert_eq!((head.size, head.root), (leaves.len() as u64, root_of(&leaves)));
    }
}

fn invariant_one_effect_for_each_approval(views: &[RequestView], provider: &Provider) {
    for (operation, effects) in &provider.effects {
        assert_eq!(*effects, 1, "{operation}");
        let view = views.iter().find(|view| view.operation.as_ref().is_some_and(|of| of.operation == *operation)).expect("a request");
        assert_eq!(view.state, RequestState::Consumed);
    }
}

fn invariant_an_effect_implies_a_redeemed_token(records: &[AuditRecord], provider: &Provider) {
    let redeemed: BTreeSet<_> =
        records.iter().filter(|record| record.record_type == RecordType::TokenRedeemed).filter_map(|record| record.operation).collect();
    assert!(provider.effects.keys().all(|operation| redeemed.contains(operation)));
}

fn invariant_a_token_implies_a_quorum(records: &[AuditRecord], views: &[RequestView]) {
    for record in records.iter().filter(|record| record.record_type == RecordType::TokenRedeemed) {
        let Some(view) = views.iter().find(|view| Some(view.request) == record.request) else { continue };
        let needed = if view.tool.as_str() == "wire" { 2 } else { 1 };
        assert_eq!(view.decisions.iter().filter(|decision| decision.standing).count(), needed, "{}", view.request);
    }
}

fn invariant_one_open_business_effect(views: &[RequestView]) {
    let mut open = BTreeSet::new();
    for view in views {
        let frozen = vidimus_core::frozen::FrozenRequest::parse(view.frozen.as_bytes()).expect("a frozen request");
        let waits = matches!(view.state, RequestState::Pending | RequestState::Approved);
        let runs = view.state == RequestState::Consumed && view.operation.as_ref().is_some_and(|operation| !operation.state.is_final());
        if waits || runs {
            assert!(open.insert(frozen.members().business_sha256), "{}", view.request);
        }
    }
}

fn invariant_states_agree(views: &[RequestView]) {
    for view in views {
        let operation = view.operation.as_ref().map(|operation| operation.state);
        let agree = match view.state {
            RequestState::Pending | RequestState::Denied | RequestState::Withdrawn => operation.is_none(),
            RequestState::Approved => operation == Some(OperationState::Reserved),
            RequestState::Consumed => !matches!(operation, None | Some(OperationState::Reserved | OperationState::NotStarted)),
            RequestState::Expired | RequestState::Stale => matches!(operation, None | Some(OperationState::NotStarted)),
            RequestState::Revoked => operation == Some(OperationState::NotStarted),
        };
        assert!(agree, "{} {} {operation:?}", view.request, view.state);
    }
}

async fn run(seed: u64, steps: usize) -> (Vec<String>, World) {
    let mut world = World::of(seed).await;
    for step in 0..steps {
        world.step().await;
        if step % 10 == 9 {
            world.check().await;
        }
    }
    world.check().await;
    (std::mem::take(&mut world.trace), world)
}

#[tokio::test]
async fn what_must_always_hold_holds_for_every_seed() {
    let long = std::env::var_os("VIDIMUS_LONG").is_some();
    let (mut effects, mut in_doubt) = (0, 0);
    for seed in 0..if long { 200 } else { 12 } {
        println!("seed {seed}");
        let (_, world) = run(seed, 120).await;
        effects += world.provider.effects.len();
        let views = world.gate.store.requests(None, names(&["auditor"])).await.expect("a reading");
        in_doubt +=
            views.iter().filter(|view| view.operation.as_ref().is_some_and(|of| of.state == OperationState::NeedsReconciliation)).count();
    }
    // A simulation in which nothing happens would prove nothing.
    assert!(effects > 20 && in_doubt > 2, "{effects} effects, {in_doubt} for a person");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_trace() {
    let (first, _) = run(7, 60).await;
    let (second, _) = run(7, 60).await;
    assert_eq!(first, second);
}
