//! A gate with its people and agents, a clock that stands still until it is moved, and keys from seeds.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tempfile::TempDir;
use vidimus_core::bytes::{Digest, Nonce, Salt, tagged};
use vidimus_core::challenge::ChallengeKey;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{CallId, Environment, Name, PersonId, RequestId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::roster::{Admission, KeyUse, Roster};
use vidimus_core::seal::SealKey;
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::{Enrolment, Genesis};
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_store::*;

pub const TABLE: &str = include_str!("effects.toml");

pub fn name(text: &str) -> Name {
    Name::parse(text).expect(text)
}

pub fn names(texts: &[&str]) -> Vec<Name> {
    texts.iter().copied().map(name).collect()
}

pub fn json(text: &str) -> Json {
    parse(text.as_bytes(), &Limits::MONEY).expect(text)
}

/// The key that a gate of these tests seals with.
pub fn seal_key() -> SealKey {
    SealKey::derive(&[2; 32])
}

pub fn secret(seed: &str) -> SecretKey {
    SecretKey::from_seed(tagged("vidimus.test.key", [seed.as_bytes()]).as_bytes())
}

/// A person with both keys of one desktop.
pub struct Approver {
    pub person: PersonId,
    pub name: String,
    pub approval: SecretKey,
    pub device: SecretKey,
}

pub struct Gate {
    pub store: Store,
    pub log_key: SecretKey,
    pub token_key: SecretKey,
    pub challenge_key: ChallengeKey,
    pub table: Table,
    clock: AtomicI64,
    counter: AtomicU64,
    dir: TempDir,
}

impl Gate {
    /// A gate whose only person is the admin Ada.
    pub async fn with_admin() -> (Gate, Approver) {
        let gate = Gate::initialised().await;
        let ada = gate.approver("Ada Example");
        let outcome = gate.enrol_genesis(&ada, |_| {}).await;
        assert_eq!(outcome, EnrolOutcome::Active { person: ada.person });
        (gate, ada)
    }

    /// A gate with the admin Ada, the approvers Bea and Cem, and the agents `billing` and `support`.
    pub async fn with_people() -> (Gate, Approver, Approver, Approver) {
        let (gate, ada) = Gate::with_admin().await;
        let bea = gate.admit(&ada, "Bea Example", &["billing-approver", "treasury"]).await;
        let cem = gate.admit(&ada, "Cem Example", &["billing-approver", "treasury"]).await;
        for agent in ["billing", "support"] {
            gate.add_agent(agent, None).await;
        }
        (gate, ada, bea, cem)
    }

    pub async fn initialised() -> Gate {
        let dir = TempDir::new().expect("a folder");
        let gate = Gate {
            store: Store::open(&dir.path().join("gate.db"), seal_key()).expect("the database opens"),
            log_key: secret("log"),
            token_key: secret("token"),
            challenge_key: ChallengeKey::derive(&[3; 32]),
            table: Table::parse(TABLE).unwrap_or_else(|faults| panic!("{faults:?}")),
            clock: AtomicI64::new(1_700_000_000_000),
            counter: AtomicU64::new(0),
            dir,
        };
        let outcome = gate.store.init(gate.moment(), gate.init()).await.expect("init");
        assert!(matches!(outcome, InitOutcome::Initialised(_)), "{outcome:?}");
        gate
    }

    pub fn init(&self) -> Init {
        Init {
            environment: Environment::Test,
            log_key: self.log_key.public(),
            token_key: self.token_key.public(),
            recovery_key: Some(secret("recovery").public()),
            table: TABLE.to_owned(),
            invite: Invite {
                code_sha256: Digest::of(b"code of Ada Example"),
                kind: InviteKind::Genesis,
                person: person_of("Ada Example"),
                name: "Ada Example".to_owned(),
                roles: names(&["admin"]),
                expires_at: self.now().plus_s(3600),
            },
        }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("gate.db")
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The same gate on a copy of a closed database, at the same moment, in a folder of its own.
    pub fn on_copy(&self, database: &Path, change: impl FnOnce(&rusqlite::Connection)) -> Result<Gate, OpenError> {
        // Where there is a disk in memory, thousands of copies cost no waiting for a real one.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder");
        let path = dir.path().join("gate.db");
        std::fs::copy(database, &path).expect("a copy");
        change(&rusqlite::Connection::open(&path).expect("a database"));
        Ok(Gate {
            store: Store::open(&path, seal_key())?,
            log_key: secret("log"),
            token_key: secret("token"),
            challenge_key: ChallengeKey::derive(&[3; 32]),
            table: self.table.clone(),
            clock: AtomicI64::new(self.clock.load(Ordering::SeqCst)),
            counter: AtomicU64::new(self.counter.load(Ordering::SeqCst)),
            dir,
        })
    }

    /// Closes the database and opens it again, as a restart does.
    pub fn reopen(&mut self) {
        self.store.close();
        self.store = Store::open(&self.path(), seal_key()).expect("the database opens again");
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.load(Ordering::SeqCst)).expect("a time")
    }

    pub fn advance_s(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub fn advance_ms(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    fn fresh(&self) -> [u8; 32] {
        let count = self.counter.fetch_add(1, Ordering::SeqCst);
        *tagged("vidimus.test.random", [&count.to_be_bytes()]).as_bytes()
    }

    pub fn fresh_bits(&self) -> [u8; 16] {
        let mut bits = [0; 16];
        bits.copy_from_slice(&self.fresh()[..16]);
        bits
    }

    pub fn nonce(&self) -> Nonce {
        Nonce::from_bytes(self.fresh())
    }

    pub fn salt(&self) -> Salt {
        Salt::from_bytes(self.fresh())
    }

    pub fn call_id(&self) -> CallId {
        CallId::from_random(self.fresh_bits())
    }

    pub fn request_id(&self) -> RequestId {
        RequestId::from_random(self.fresh_bits())
    }

    pub fn moment(&self) -> Moment {
        Moment { now: self.now(), again: None, entropy: self.nonce() }
    }

    pub fn approver(&self, name: &str) -> Approver {
        let key = |key_use: &str| secret(&format!("{name} {key_use}"));
        Approver { person: person_of(name), name: name.to_owned(), approval: key("approval"), device: key("device") }
    }

    pub async fn roster(&self) -> Roster {
        let view = self.store.roster().await.expect("a reading").expect("a roster");
        Roster::parse(view.text.as_bytes()).expect("a stored roster")
    }

    pub fn enrolment(&self, approver: &Approver, key_use: KeyUse, twist: impl Fn(&mut Enrolment)) -> Envelope {
        let key = match key_use {
            KeyUse::Approval => &approver.approval,
            KeyUse::Device => &approver.device,
        };
        let mut statement = Enrolment {
            gate: vidimus_core::ids::GateId::of(&self.log_key.public()),
            environment: Environment::Test,
            invite_sha256: Some(code_of(&approver.name)),
            key_use,
            key: key.public(),
            person: approver.person,
            name: approver.name.clone(),
            label: "desk".to_owned(),
            issued_at: self.now(),
        };
        twist(&mut statement);
        statement.sign(key).expect("an enrolment is signed")
    }

    pub async fn enrol_genesis(&self, ada: &Approver, twist: impl Fn(&mut Genesis)) -> EnrolOutcome {
        let admission = self.admission(ada, &["admin"]);
        let roster = Roster::genesis(
            Environment::Test,
            self.log_key.public(),
            self.token_key.public(),
            Some(secret("recovery").public()),
            &admission,
        )
        .expect("a first roster");
        let mut genesis = Genesis { roster, table_sha256: self.table.digest(), invite_sha256: code_of(&ada.name), issued_at: self.now() };
        twist(&mut genesis);
        let enrol = EnrolGenesis {
            code_sha256: code_of(&ada.name),
            label: "desk".to_owned(),
            approval: self.enrolment(ada, KeyUse::Approval, |_| {}),
            device: self.enrolment(ada, KeyUse::Device, |_| {}),
            genesis: genesis.sign(&ada.approval).expect("genesis is signed"),
        };
        self.store.enrol_genesis(self.moment(), enrol).await.expect("an outcome")
    }

    pub fn admission(&self, approver: &Approver, roles: &[&str]) -> Admission {
        Admission {
            person: approver.person,
            name: approver.name.clone(),
            roles: names(roles).into_iter().collect(),
            approval_key: approver.approval.public(),
            device_key: approver.device.public(),
            label: "desk".to_owned(),
        }
    }

    pub async fn invite(&self, who: &str, roles: &[&str]) -> InviteOutcome {
        let invite = Invite {
            code_sha256: code_of(who),
            kind: InviteKind::Person,
            person: person_of(who),
            name: who.to_owned(),
            roles: names(roles),
            expires_at: self.now().plus_s(3600),
        };
        self.store.create_invite(self.moment(), invite).await.expect("an outcome")
    }

    pub async fn propose(&self, approver: &Approver) -> EnrolOutcome {
        let propose = ProposeAdmission {
            code_sha256: code_of(&approver.name),
            label: "desk".to_owned(),
            approval: self.enrolment(approver, KeyUse::Approval, |_| {}),
            device: self.enrolment(approver, KeyUse::Device, |_| {}),
            call: self.call_id(),
            request: self.request_id(),
            salt: self.salt(),
        };
        self.store.propose_admission(self.moment(), propose).await.expect("an outcome")
    }

    /// Invites and admits a person, the whole way that the gate goes.
    pub async fn admit(&self, admin: &Approver, who: &str, roles: &[&str]) -> Approver {
        let approver = self.approver(who);
        assert_eq!(self.invite(who, roles).await, InviteOutcome::Created);
        let outcome = self.propose(&approver).await;
        let EnrolOutcome::Waiting { request, .. } = outcome else { panic!("{outcome:?}") };
        self.carry_out_admission(admin, request).await;
        approver
    }

    pub async fn carry_out_admission(&self, admin: &Approver, request: RequestId) {
        let operation = self.approve(admin, request, "admin").await.operation.expect("a quorum of one");
        assert_eq!(self.carry_out(operation).await, OwnToolOutcome::Applied(operation));
    }

    pub async fn add_agent(&self, agent: &str, owner: Option<PersonId>) {
        let add = AddAgent { agent: name(agent), owner, parent: None, credential_sha256: Digest::of(agent.as_bytes()) };
        assert_eq!(self.store.add_agent(self.moment(), add).await.expect("an outcome"), AgentAdded::Added);
    }

    pub fn received(&self, agent: &str, tool: &str, call_key: Option<&str>) -> CallReceived {
        CallReceived {
            call: self.call_id(),
            agent: name(agent),
            run: None,
            call_key: call_key.map(str::to_owned),
            tool: name(tool),
            says: Some("please".to_owned()),
            refusal_on_record: true,
        }
    }

    /// A money call whose agent has the answer.
    pub async fn freeze(&self, received: CallReceived, args: &str) -> FreezeOutcome {
        let outcome = self.freeze_untold(received, args).await;
        if let FreezeOutcome::Created { call, .. } | FreezeOutcome::Joined(Joined { call, .. }) = &outcome {
            // It is noted with the next commit.
            drop(self.store.tell_call(self.moment(), *call));
        }
        outcome
    }

    /// A money call whose answer is on its way.
    pub async fn freeze_untold(&self, received: CallReceived, args: &str) -> FreezeOutcome {
        let row_sha256 = self.table.row(&received.tool).map_or(Digest::of(b"no row"), |row| row.digest());
        let freeze = FreezeCall {
            received,
            request: self.request_id(),
            salt: self.salt(),
            row_sha256,
            args: json(args),
            referents: Some(Json::object([])),
        };
        self.store.freeze_call(self.moment(), freeze).await.expect("an outcome")
    }

    /// A waiting refund of this invoice.
    pub async fn refund(&self, invoice: &str) -> (CallId, RequestId) {
        let args = format!(r#"{{"invoice":"{invoice}","amount_minor":1500,"currency":"EUR"}}"#);
        self.wait_for("refund", &args).await
    }

    pub async fn wait_for(&self, tool: &str, args: &str) -> (CallId, RequestId) {
        let outcome = self.freeze(self.received("billing", tool, None), args).await;
        let FreezeOutcome::Created { call, request } = outcome else { panic!("{outcome:?}") };
        (call, request)
    }

    pub async fn view(&self, request: RequestId) -> RequestView {
        self.store.request(request, names(&["auditor"])).await.expect("a reading").expect("a request")
    }

    /// Every record of the log, bodies included.
    pub async fn log(&self) -> Vec<LogRecord> {
        let mut records: Vec<LogRecord> = Vec::new();
        loop {
            let next = self.store.records(records.len() as u64, 1000, names(&["auditor"])).await.expect("a reading");
            if next.is_empty() {
                return records;
            }
            records.extend(next);
        }
    }

    /// The types and codes of the records from a position on, as `type` or `type:code`.
    pub async fn told_since(&self, position: u64) -> Vec<String> {
        let records = self.log().await;
        let told = records.iter().skip(usize::try_from(position).expect("small")).map(|record| {
            let leaf = vidimus_core::record::AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf");
            match leaf.claim("code") {
                Some(code) => format!("{}:{code}", leaf.record_type),
                None => leaf.record_type.to_string(),
            }
        });
        told.collect()
    }

    pub async fn size(&self) -> u64 {
        self.store.head().await.expect("a reading").size
    }
}

pub fn person_of(name: &str) -> PersonId {
    let mut bits = [0; 16];
    bits.copy_from_slice(&tagged("vidimus.test.person", [name.as_bytes()]).as_bytes()[..16]);
    PersonId::from_random(bits)
}

pub fn code_of(name: &str) -> Digest {
    Digest::of(format!("code of {name}").as_bytes())
}
