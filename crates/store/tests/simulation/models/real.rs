//! The same commands on the real store.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, RequestId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, VerifiedToken};
use vidimus_store::stepped::Commits;
use vidimus_store::*;

use super::{Command, Outcome, Tool};
use crate::approvers::DENIAL;
use crate::dice::Dice;
use crate::house::{BEGINNING_MS, BILLING, House, TREASURY, auditor, name, recognise};
use crate::world::ready;

pub struct Real {
    house: Rc<House>,
    process: Option<(Store, Commits)>,
    dice: Dice,
    now_ms: i64,
    role: &'static str,
    call: CallId,
    request: RequestId,
    tokens: Vec<VerifiedToken>,
}

impl Real {
    pub fn begin(house: &Rc<House>, tool: Tool) -> Real {
        let (tool, args, role) = match tool {
            Tool::Refund => ("refund", r#"{"amount_minor":1500,"currency":"EUR","invoice":"1"}"#, BILLING),
            Tool::Cancel => ("cancel", r#"{"subscription":"1"}"#, BILLING),
            Tool::Wire => ("wire", r#"{"account":"1","amount_minor":1500,"currency":"EUR"}"#, TREASURY),
        };
        let dice = Dice::of(7);
        let (call, request) = (CallId::from_random(dice.id()), RequestId::from_random(dice.id()));
        let process = Some(house.memory.copy().expect("a copy").open().expect("it opens"));
        let mut real = Real { house: Rc::clone(house), process, dice, now_ms: BEGINNING_MS, role, call, request, tokens: Vec::new() };
        let freeze = FreezeCall {
            received: CallReceived {
                call,
                agent: name("billing"),
                run: None,
                call_key: None,
                tool: name(tool),
                says: None,
                refusal_on_record: true,
            },
            request,
            salt: Salt::from_bytes(real.dice.bytes()),
            row_sha256: house.tables[0].rows[&name(tool)],
            args: parse(args.as_bytes(), &Limits::MONEY).expect("arguments"),
            referents: Some(Json::object([])),
        };
        let outcome = real.carry_out(|store, moment| async move { store.freeze_call(moment, freeze).await });
        assert_eq!(outcome, FreezeOutcome::Created { call, request });
        real.carry_out(|store, moment| async move { store.tell_call(moment, call).await });
        real
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms).expect("a time")
    }

    fn carry_out<T, F: Future<Output = Result<T, StoreError>>>(&mut self, use_case: impl FnOnce(Store, Moment) -> F) -> T {
        let moment = Moment { now: self.now(), again: None, entropy: Nonce::from_bytes(self.dice.bytes()) };
        let (store, commits) = self.process.as_mut().expect("a process");
        let mut future = pin!(use_case(store.clone(), moment));
        loop {
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return outcome.expect("an outcome");
            }
            commits.commit();
        }
    }

    fn view(&self) -> RequestView {
        let (store, _) = self.process.as_ref().expect("a process");
        ready(store.request(self.request, auditor())).expect("a reading").expect("a request")
    }

    fn operation(&self) -> Option<OperationKey> {
        self.view().operation.map(|operation| operation.operation)
    }

    pub fn stands(&self) -> String {
        let view = self.view();
        let operation = view.operation.map_or(("none".to_owned(), 0), |operation| (operation.state.to_string(), operation.attempt));
        format!("{} {} {}", view.state, operation.0, operation.1)
    }

    pub fn apply(&mut self, command: Command) -> Outcome {
        match command {
            Command::Decide(who, kind) => self.decide(who, kind),
            Command::Withdraw => self.withdraw(),
            Command::Sweep => self.sweep(),
            Command::Mint => self.mint(),
            Command::Redeem(back) => self.redeem(back),
            Command::Answer(back, answer) => self.answer(back, answer),
            Command::Renew(back) => self.renew(back),
            Command::StatusFound => self.status(StatusAnswer::Found { result: "{}".to_owned() }),
            Command::StatusNotFound => self.status(StatusAnswer::NotFound { detail: "404".to_owned() }),
            Command::Restart => self.restart(),
            Command::Wait(ms) => {
                self.now_ms += i64::try_from(ms).expect("a wait");
                "waited".to_owned()
            }
        }
    }

    fn decide(&mut self, who: usize, kind: DecisionKind) -> Outcome {
        let house = Rc::clone(&self.house);
        // The third and the fifth hold both roles, and own no agent.
        let approver = &house.people[if who == 0 { 2 } else { 4 }];
        let (request, key_sha256) = (self.request, approver.approval.public().digest());
        let ask = DecisionChallenge { request, person: approver.person, key_sha256 };
        let issued = self.carry_out(|store, moment| async move { store.decision_challenge(moment, ask).await });
        let (issued_at, expires_at, roster_sha256, head) = match issued {
            DecisionChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) => {
                (issued_at, expires_at, roster_sha256, head)
            }
            DecisionChallengeOutcome::Refused(refusal) => return format!("no challenge: {}", refusal.code),
            DecisionChallengeOutcome::NotFound => return "not found".to_owned(),
        };
        let frozen = FrozenRequest::parse(self.view().frozen.as_bytes()).expect("frozen bytes");
        let mut statement = DecisionStatement {
            roster_sha256,
            challenge: house.challenge_key.issue(self.dice.id(), &request.to_string(), &key_sha256, issued_at),
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..house.statement(approver, &frozen, kind, self.role)
        };
        let (mut reason, mut reason_salt) = (None, None);
        if kind == DecisionKind::Deny {
            let salt = Salt::from_bytes(self.dice.bytes());
            statement.reason_sha256 = Some(reason_sha256(&salt, DENIAL));
            (reason, reason_salt) = (Some(DENIAL.to_owned()), Some(salt));
        }
        let challenge = recognise(&house.challenge_key, &statement);
        let envelope = statement.sign(&approver.approval).expect("a decision is signed");
        let decision = RecordDecision { request, envelope, challenge, reason, reason_salt, context: None, refusal_on_record: true };
        match self.carry_out(|store, moment| async move { store.record_decision(moment, decision).await }) {
            DecisionOutcome::Recorded(receipt) => format!("recorded: {}", receipt.state),
            DecisionOutcome::Refused(refusal) => format!("refused: {}", refusal.code),
            other => format!("{other:?}"),
        }
    }

    fn withdraw(&mut self) -> Outcome {
        let call = self.call;
        match self.carry_out(|store, moment| async move { store.withdraw(moment, name("billing"), call).await }) {
            Withdrawal::Withdrawn => "withdrawn".to_owned(),
            Withdrawal::Refused(refusal) => format!("refused: {}", refusal.code),
            Withdrawal::NotFound => "not found".to_owned(),
        }
    }

    fn sweep(&mut self) -> Outcome {
        let due = self.carry_out(|store, moment| async move { store.due(moment).await });
        format!("to mint: {}, to ask: {}", !due.to_mint.is_empty(), !due.to_ask.is_empty())
    }

    fn mint(&mut self) -> Outcome {
        let Some(operation) = self.operation() else { return "nothing to mint".to_owned() };
        let jti = Nonce::from_bytes(self.dice.bytes());
        let mint =
            Mint { operation, jti_sha256: Digest::of(jti.as_bytes()), audience: "gate".to_owned(), ttl_s: 10, referents: Json::object([]) };
        match self.carry_out(|store, moment| async move { store.mint(moment, mint).await }) {
            MintOutcome::Minted(minted) => {
                let text = self.house.sign_token(&minted, jti);
                let key = self.house.token_key.public();
                let token = token::verify(&text, &key, "gate", &minted.tool, &minted.args_sha256, minted.issued_at);
                self.tokens.push(token.expect("it verifies"));
                format!("minted for attempt {}", minted.attempt)
            }
            MintOutcome::NotDue(_) => "not due".to_owned(),
            MintOutcome::Refused(refusal) => format!("refused: {}", refusal.code),
        }
    }

    fn redeem(&mut self, back: usize) -> Outcome {
        let Some(token) = self.tokens.iter().rev().nth(back).cloned() else { return "no token".to_owned() };
        match self.carry_out(|store, moment| async move {
            store.redeem(moment, Redeem { token, lease_s: 30, referents: Json::object([]) }).await
        }) {
            RedeemOutcome::Redeemed(redeemed) => format!("redeemed for attempt {}", redeemed.attempt),
            RedeemOutcome::Refused(refusal) => format!("refused: {}", refusal.code),
        }
    }

    /// The attempt so many attempts ago; before the first there is none.
    fn attempt(&self, back: u32) -> u32 {
        self.view().operation.map_or(0, |operation| operation.attempt.saturating_sub(back))
    }

    fn answer(&mut self, back: u32, answer: Answer) -> Outcome {
        let Some(operation) = self.operation() else { return "no operation".to_owned() };
        let result = (answer == Answer::Done).then(|| "{}".to_owned());
        let record = RecordAnswer { operation, attempt: self.attempt(back), answer, result, detail: "told".to_owned() };
        match self.carry_out(|store, moment| async move { store.record_answer(moment, record).await }) {
            AnswerOutcome::Applied(_) => "applied".to_owned(),
            AnswerOutcome::Evidence(_) => "evidence".to_owned(),
            AnswerOutcome::NotFound => "not found".to_owned(),
        }
    }

    fn renew(&mut self, back: u32) -> Outcome {
        let Some(operation) = self.operation() else { return "no operation".to_owned() };
        let attempt = self.attempt(back);
        match self.carry_out(|store, moment| async move { store.renew_lease(moment, operation, attempt, 30).await }) {
            LeaseOutcome::Renewed(_) => "renewed".to_owned(),
            LeaseOutcome::Lost => "lost".to_owned(),
        }
    }

    fn status(&mut self, answer: StatusAnswer) -> Outcome {
        let Some(operation) = self.operation() else { return "no operation".to_owned() };
        match self.carry_out(|store, moment| async move { store.record_status(moment, operation, StatusAsked::InTurn, answer).await }) {
            AnswerOutcome::Applied(_) => "applied".to_owned(),
            AnswerOutcome::Evidence(_) => "evidence".to_owned(),
            AnswerOutcome::NotFound => "not found".to_owned(),
        }
    }

    fn restart(&mut self) -> Outcome {
        // What this process saw pass is on record; what nobody saw is another rule's.
        self.carry_out(|store, moment| async move { store.heartbeat(moment).await });
        let (store, commits) = self.process.take().expect("a process");
        drop(store);
        self.process = Some(commits.crash().expect("nothing is queued").open().expect("it opens again"));
        let in_doubt = self.carry_out(|store, moment| async move { store.recover_at_start(moment).await });
        format!("{in_doubt} in doubt")
    }
}
