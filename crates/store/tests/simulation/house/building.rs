//! The way that a house goes until its people and agents are there: the same that every gate goes.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use vidimus_core::bytes::{Digest, Nonce, Salt, tagged};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, Environment, GateId, RequestId};
use vidimus_core::roster::{Admission, KeyUse, Roster};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::Genesis;
use vidimus_core::time::Timestamp;
use vidimus_core::token;
use vidimus_store::stepped::{Commits, Memory};
use vidimus_store::*;

use super::{
    Approver, BEGINNING_MS, DESK, KnownTable, PEOPLE, TABLE, auditor, challenge_key, code_of, enrolment, first_bits, name, recognise,
    secret, sign_token, statement,
};

/// A house under construction: everything happens at once, one commit for each use case.
pub struct Building {
    pub people: Vec<Rc<Approver>>,
    table: Rc<KnownTable>,
    log_key: SecretKey,
    token_key: SecretKey,
    store: Store,
    commits: Commits,
    count: u64,
}

impl Building {
    pub fn begin(people: Vec<Rc<Approver>>, table: Rc<KnownTable>) -> Building {
        let (store, commits) = Memory::new().expect("a database in memory").open().expect("it opens");
        Building { people, table, log_key: secret("log"), token_key: secret("token"), store, commits, count: 0 }
    }

    pub fn records(&mut self) -> Vec<LogRecord> {
        self.carry_out(|store, _| async move { store.records(0, 1000, auditor()).await })
    }

    pub fn end(self) -> Memory {
        self.commits.crash().expect("nothing is queued")
    }

    fn fresh(&mut self) -> [u8; 32] {
        self.count += 1;
        *tagged("vidimus.test.random", [&self.count.to_be_bytes()]).as_bytes()
    }

    fn fresh_bits(&mut self) -> [u8; 16] {
        first_bits(&Digest::from_bytes(self.fresh()))
    }

    fn moment(&mut self) -> Moment {
        Moment { now: now(), again: None, entropy: Nonce::from_bytes(self.fresh()) }
    }

    fn carry_out<T, F: Future<Output = Result<T, StoreError>>>(&mut self, use_case: impl FnOnce(Store, Moment) -> F) -> T {
        let moment = self.moment();
        let mut future = pin!(use_case(self.store.clone(), moment));
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
                return outcome.expect("an outcome");
            }
            self.commits.commit();
        }
    }

    pub fn furnish(&mut self) {
        let init = Init {
            environment: Environment::Test,
            log_key: self.log_key.public(),
            token_key: self.token_key.public(),
            recovery_key: Some(secret("recovery").public()),
            table: TABLE.to_owned(),
            invite: self.invite(0, InviteKind::Genesis),
        };
        self.carry_out(|store, moment| async move { store.init(moment, init).await });
        let genesis = self.genesis();
        let outcome = self.carry_out(|store, moment| async move { store.enrol_genesis(moment, genesis).await });
        assert!(matches!(outcome, EnrolOutcome::Active { .. }), "{outcome:?}");
        for who in 1..self.people.len() {
            self.admit(who);
        }
        for (agent, owner) in [("billing", None), ("support", Some(self.people[1].person))] {
            let add = AddAgent { agent: name(agent), owner, parent: None, credential_sha256: Digest::of(agent.as_bytes()) };
            self.carry_out(|store, moment| async move { store.add_agent(moment, add).await });
        }
    }

    fn invite(&self, who: usize, kind: InviteKind) -> Invite {
        let Approver { person, name: called, .. } = &*self.people[who];
        Invite {
            code_sha256: code_of(called),
            kind,
            person: *person,
            name: called.clone(),
            roles: PEOPLE[who].1.iter().copied().map(name).collect(),
            expires_at: now().plus_s(3600),
        }
    }

    fn admission(&self, who: usize) -> Admission {
        let Approver { person, name: called, approval, device } = &*self.people[who];
        Admission {
            person: *person,
            name: called.clone(),
            roles: PEOPLE[who].1.iter().copied().map(name).collect(),
            approval_key: approval.public(),
            device_key: device.public(),
            label: DESK.to_owned(),
        }
    }

    fn enrolment(&self, who: usize, key_use: KeyUse) -> Envelope {
        let of = &self.people[who];
        enrolment(GateId::of(&self.log_key.public()), of, key_use, Some(code_of(&of.name)), now())
    }

    fn genesis(&self) -> EnrolGenesis {
        let (log_key, token_key) = (self.log_key.public(), self.token_key.public());
        let roster = Roster::genesis(Environment::Test, log_key, token_key, Some(secret("recovery").public()), &self.admission(0))
            .expect("a first roster");
        let invite_sha256 = code_of(&self.people[0].name);
        let genesis = Genesis { roster, table_sha256: self.table.table.digest(), invite_sha256, issued_at: now() };
        EnrolGenesis {
            code_sha256: invite_sha256,
            label: DESK.to_owned(),
            approval: self.enrolment(0, KeyUse::Approval),
            device: self.enrolment(0, KeyUse::Device),
            genesis: genesis.sign(&self.people[0].approval).expect("genesis is signed"),
        }
    }

    /// Invites and admits a person, the whole way that the gate goes.
    fn admit(&mut self, who: usize) {
        let invite = self.invite(who, InviteKind::Person);
        self.carry_out(|store, moment| async move { store.create_invite(moment, invite).await });
        let propose = ProposeAdmission {
            code_sha256: code_of(&self.people[who].name),
            label: DESK.to_owned(),
            approval: self.enrolment(who, KeyUse::Approval),
            device: self.enrolment(who, KeyUse::Device),
            call: CallId::from_random(self.fresh_bits()),
            request: RequestId::from_random(self.fresh_bits()),
            salt: Salt::from_bytes(self.fresh()),
        };
        let outcome = self.carry_out(|store, moment| async move { store.propose_admission(moment, propose).await });
        let EnrolOutcome::Waiting { request, .. } = outcome else { panic!("{outcome:?}") };
        self.carry_out_change(request);
    }

    fn carry_out_change(&mut self, request: RequestId) {
        let (person, key_sha256) = (self.people[0].person, self.people[0].approval.public().digest());
        let ask = DecisionChallenge { request, person, key_sha256 };
        let issued = self.carry_out(|store, moment| async move { store.decision_challenge(moment, ask).await });
        let DecisionChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) = issued else { panic!("{issued:?}") };
        let view = self.carry_out(|store, _| async move { store.request(request, auditor()).await }).expect("a request");
        let frozen = FrozenRequest::parse(view.frozen.as_bytes()).expect("a stored request");
        let statement = DecisionStatement {
            roster_sha256,
            challenge: challenge_key().issue(self.fresh_bits(), &request.to_string(), &key_sha256, issued_at),
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..statement(&self.table.table, &self.log_key, &self.people[0], &frozen, DecisionKind::Approve, "admin")
        };
        let envelope = statement.sign(&self.people[0].approval).expect("a decision is signed");
        let challenge = recognise(&challenge_key(), &statement);
        let decision =
            RecordDecision { request, envelope, challenge, reason: None, reason_salt: None, context: None, refusal_on_record: true };
        let outcome = self.carry_out(|store, moment| async move { store.record_decision(moment, decision).await });
        let DecisionOutcome::Recorded(DecisionReceipt { operation: Some(operation), .. }) = outcome else { panic!("{outcome:?}") };
        let jti = Nonce::from_bytes(self.fresh());
        let mint = Mint {
            operation,
            jti_sha256: Digest::of(jti.as_bytes()),
            audience: "gate".to_owned(),
            ttl_s: 60,
            referents: vidimus_core::json::Json::object([]),
        };
        let outcome = self.carry_out(|store, moment| async move { store.mint(moment, mint).await });
        let MintOutcome::Minted(minted) = outcome else { panic!("{outcome:?}") };
        let text = sign_token(&self.token_key, &minted, jti);
        let token = token::verify(&text, &self.token_key.public(), &minted.audience, &minted.tool, &minted.args_sha256, now())
            .expect("it verifies");
        let outcome = self.carry_out(|store, moment| async move {
            store.carry_out(moment, Redeem { token, lease_s: 30, referents: vidimus_core::json::Json::object([]) }).await
        });
        assert_eq!(outcome, OwnToolOutcome::Applied(operation));
    }
}

fn now() -> Timestamp {
    Timestamp::from_ms(BEGINNING_MS).expect("a time")
}
