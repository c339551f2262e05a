//! The company that every course of events begins with: its people and their keys, its table, its gate, made once.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use vidimus_core::bytes::{Digest, Nonce, Salt, tagged};
use vidimus_core::challenge::{ChallengeKey, OwnChallenge};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, Environment, GateId, Name, PersonId, RequestId};
use vidimus_core::render;
use vidimus_core::roster::{Admission, KeyUse, Roster};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::{Enrolment, Genesis};
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, TokenClaims};
use vidimus_core::tree::leaf_hash;
use vidimus_store::stepped::{Commits, Memory};
use vidimus_store::*;

const TABLE: &str = include_str!("effects.toml");

/// When every course of events begins, by every clock. *Unit*: milliseconds since 1970.
pub const BEGINNING_MS: i64 = 1_700_000_000_000;

pub fn name(text: &str) -> Name {
    Name::parse(text).expect(text)
}

pub fn auditor() -> Vec<Name> {
    vec![name("auditor")]
}

/// A person with both keys of one desktop.
pub struct Approver {
    pub person: PersonId,
    pub name: &'static str,
    pub roles: &'static [&'static str],
    pub approval: SecretKey,
    pub device: SecretKey,
}

pub const BILLING: &str = "billing-approver";
pub const TREASURY: &str = "treasury";

/// The first is the admin who begins; the second owns the agent `support`, so they may not decide for it.
const PEOPLE: &[(&str, &[&str])] = &[
    ("Ada Example", &["admin"]),
    ("Cem Example", &[BILLING, TREASURY]),
    ("Bea Example", &[BILLING, TREASURY]),
    ("Dov Example", &[TREASURY]),
    ("Eva Example", &[BILLING, TREASURY]),
];

pub struct House {
    pub people: Vec<Approver>,
    /// The first table, and one that differs from it in the row of `refund`.
    pub tables: [Rc<Table>; 2],
    pub log_key: SecretKey,
    pub token_key: SecretKey,
    pub challenge_key: ChallengeKey,
    pub memory: Memory,
    /// The leaves of its log so far.
    pub leaves: Vec<Digest>,
}

fn secret(seed: &str) -> SecretKey {
    SecretKey::from_seed(tagged("vidimus.test.key", [seed.as_bytes()]).as_bytes())
}

fn first_bits(digest: &Digest) -> [u8; 16] {
    let mut bits = [0; 16];
    bits.copy_from_slice(&digest.as_bytes()[..16]);
    bits
}

impl House {
    pub fn build() -> House {
        let people = PEOPLE.iter().map(|(who, roles)| Approver {
            person: PersonId::from_random(first_bits(&tagged("vidimus.test.person", [who.as_bytes()]))),
            name: who,
            roles,
            approval: secret(&format!("{who} approval")),
            device: secret(&format!("{who} device")),
        });
        let memory = Memory::new().expect("a database in memory");
        let (store, commits) = memory.open().expect("it opens");
        let mut building = Building {
            people: people.collect(),
            table: Table::parse(TABLE).unwrap_or_else(|faults| panic!("{faults:?}")),
            log_key: secret("log"),
            token_key: secret("token"),
            store,
            commits,
            count: 0,
        };
        building.furnish();
        let records = building.carry_out(|store, _| async move { store.records(0, 1000, auditor()).await });
        let leaves = records.iter().map(|record| leaf_hash(record.leaf.as_bytes())).collect();
        let Building { people, table, log_key, token_key, commits, .. } = building;
        let other = Table::parse(&other_text()).unwrap_or_else(|faults| panic!("{faults:?}"));
        let tables = [Rc::new(table), Rc::new(other)];
        House {
            people,
            tables,
            log_key,
            token_key,
            challenge_key: challenge_key(),
            memory: commits.crash().expect("nothing is queued"),
            leaves,
        }
    }

    pub fn approver(&self, person: &PersonId) -> Option<&Approver> {
        self.people.iter().find(|approver| approver.person == *person)
    }

    /// A decision as a console makes it: over what it computed itself from the frozen bytes.
    pub fn statement(&self, approver: &Approver, frozen: &FrozenRequest, decision: DecisionKind, role: &str) -> DecisionStatement {
        statement(&self.table_of(frozen), &self.log_key, approver, frozen, decision, role)
    }

    pub fn shown_sha256(&self, frozen: &FrozenRequest) -> Digest {
        shown_sha256(&self.table_of(frozen), frozen)
    }

    /// The table that a request was frozen on, which a console keeps.
    fn table_of(&self, frozen: &FrozenRequest) -> Rc<Table> {
        let members = frozen.members();
        let found = self.tables.iter().find(|table| table.digest() == members.table_sha256);
        Rc::clone(found.expect("a table of the house"))
    }

    /// The text of the table that is not this one.
    pub fn other_text(&self, table: &Table) -> String {
        if table.digest() == self.tables[0].digest() { other_text() } else { TABLE.to_owned() }
    }

    pub fn sign_token(&self, minted: &Minted, jti: Nonce) -> String {
        sign_token(&self.token_key, minted, jti)
    }
}

fn shown_sha256(table: &Table, frozen: &FrozenRequest) -> Digest {
    let row = table.row(&frozen.members().tool).expect("a row of the table");
    render::frozen_shown_sha256(frozen, row).expect("frozen arguments are rendered")
}

/// What only a challenge brings is left open.
fn statement(
    table: &Table,
    log_key: &SecretKey,
    approver: &Approver,
    frozen: &FrozenRequest,
    decision: DecisionKind,
    role: &str,
) -> DecisionStatement {
    let members = frozen.members();
    DecisionStatement {
        gate: members.gate,
        gate_key_sha256: log_key.public().digest(),
        environment: Environment::Test,
        request: members.request,
        request_sha256: frozen.request_sha256(),
        args_sha256: frozen.args_sha256(),
        tool: members.tool.clone(),
        decision,
        approver: approver.person,
        key_sha256: approver.approval.public().digest(),
        role: name(role),
        row_sha256: members.row_sha256,
        roster_sha256: Digest::of(b"comes with the challenge"),
        shown_sha256: shown_sha256(table, frozen),
        context_sha256: None,
        challenge: Nonce::from_bytes([0; 32]),
        checkpoint: CheckpointRef { size: 0, root: Digest::of(b"") },
        reason_sha256: None,
        app_version: "simulated".to_owned(),
        issued_at: members.created_at,
        expires_at: members.created_at,
    }
}

fn challenge_key() -> ChallengeKey {
    ChallengeKey::derive(&[3; 32])
}

/// What the gate makes of the challenge that a statement names.
pub fn recognise(key: &ChallengeKey, statement: &DecisionStatement) -> Option<OwnChallenge> {
    key.recognise(&statement.challenge, &statement.request.to_string(), &statement.key_sha256, statement.issued_at)
}

fn sign_token(token_key: &SecretKey, minted: &Minted, jti: Nonce) -> String {
    let claims = TokenClaims {
        jti,
        audience: minted.audience.clone(),
        issued_at: minted.issued_at,
        expires_at: minted.expires_at,
        request: minted.request,
        args_sha256: minted.args_sha256,
        tool: minted.tool.clone(),
        operation: minted.operation,
        attempt: minted.attempt,
        decisions: minted.decisions.clone(),
    };
    token::mint(&claims, token_key).expect("a token is signed")
}

/// A house under construction: everything happens at once, one commit for each use case.
struct Building {
    people: Vec<Approver>,
    table: Table,
    log_key: SecretKey,
    token_key: SecretKey,
    store: Store,
    commits: Commits,
    count: u64,
}

impl Building {
    fn fresh(&mut self) -> [u8; 32] {
        self.count += 1;
        *tagged("vidimus.test.random", [&self.count.to_be_bytes()]).as_bytes()
    }

    fn fresh_bits(&mut self) -> [u8; 16] {
        first_bits(&Digest::from_bytes(self.fresh()))
    }

    fn moment(&mut self) -> Moment {
        Moment { now: now(), entropy: Nonce::from_bytes(self.fresh()) }
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

    fn furnish(&mut self) {
        let init = Init {
            environment: Environment::Test,
            log_key: self.log_key.public(),
            token_key: self.token_key.public(),
            recovery_key: None,
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
        let Approver { person, name: called, roles, .. } = &self.people[who];
        Invite {
            code_sha256: code_of(called),
            kind,
            person: *person,
            name: (*called).to_owned(),
            roles: roles.iter().copied().map(name).collect(),
            expires_at: now().plus_s(3600),
        }
    }

    fn admission(&self, who: usize) -> Admission {
        let Approver { person, name: called, roles, approval, device } = &self.people[who];
        Admission {
            person: *person,
            name: (*called).to_owned(),
            roles: roles.iter().copied().map(name).collect(),
            approval_key: approval.public(),
            device_key: device.public(),
            label: "desk".to_owned(),
        }
    }

    fn enrolment(&self, who: usize, key_use: KeyUse) -> Envelope {
        let Approver { person, name: called, approval, device, .. } = &self.people[who];
        let key = match key_use {
            KeyUse::Approval => approval,
            KeyUse::Device => device,
        };
        let statement = Enrolment {
            gate: GateId::of(&self.log_key.public()),
            environment: Environment::Test,
            invite_sha256: Some(code_of(called)),
            key_use,
            key: key.public(),
            person: *person,
            name: (*called).to_owned(),
            label: "desk".to_owned(),
            issued_at: now(),
        };
        statement.sign(key).expect("an enrolment is signed")
    }

    fn genesis(&self) -> EnrolGenesis {
        let (log_key, token_key) = (self.log_key.public(), self.token_key.public());
        let roster = Roster::genesis(Environment::Test, log_key, token_key, None, &self.admission(0)).expect("a first roster");
        let invite_sha256 = code_of(self.people[0].name);
        let genesis = Genesis { roster, table_sha256: self.table.digest(), invite_sha256, issued_at: now() };
        EnrolGenesis {
            code_sha256: invite_sha256,
            label: "desk".to_owned(),
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
            code_sha256: code_of(self.people[who].name),
            label: "desk".to_owned(),
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
        let DecisionChallengeOutcome::Issued { issued_at, expires_at, roster_sha256, head } = issued else { panic!("{issued:?}") };
        let view = self.carry_out(|store, _| async move { store.request(request, auditor()).await }).expect("a request");
        let frozen = FrozenRequest::parse(view.frozen.as_bytes()).expect("a stored request");
        let statement = DecisionStatement {
            roster_sha256,
            challenge: challenge_key().issue(self.fresh_bits(), &request.to_string(), &key_sha256, issued_at),
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..statement(&self.table, &self.log_key, &self.people[0], &frozen, DecisionKind::Approve, "admin")
        };
        let envelope = statement.sign(&self.people[0].approval).expect("a decision is signed");
        let challenge = recognise(&challenge_key(), &statement);
        let decision = RecordDecision { request, envelope, challenge, reason: None, reason_salt: None, context: None };
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

fn other_text() -> String {
    TABLE.replacen("charge the card again", "ask for the money back", 1)
}

fn code_of(name: &str) -> Digest {
    Digest::of(format!("code of {name}").as_bytes())
}
