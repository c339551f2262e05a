//! A gate at the moment when most hangs on its database: calls that wait, are approved, run, are in doubt, are done. And
//! the way on from there: a start, an agent that repeats its calls, a person who decides, a provider that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use tempfile::TempDir;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, RequestId, Reversibility};
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::reconciliation::Answer as Said;
use vidimus_core::request::RequestState;
use vidimus_core::time::Timestamp;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name, secret};
use crate::reconciliations::{plain, say};

const ROLE: &str = "billing-approver";

/// What came of a start.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The gate does not start, and says why.
    Refused(String),
    /// It serves.
    Served {
        /// What is wrong with what it did.
        faults: Vec<String>,
        /// What each story was paid, by name.
        paid: BTreeMap<&'static str, usize>,
    },
}

/// A provider: what it did for each arguments, and the keys it has seen.
#[derive(Clone, Default)]
struct Provider {
    effects: BTreeMap<String, usize>,
    keys: BTreeSet<OperationKey>,
}

impl Provider {
    /// Acts. A refund's key is honoured, other tools have none.
    fn act(&mut self, tool: &str, operation: OperationKey, args: &str) {
        if tool == "refund" && !self.keys.insert(operation) {
            return;
        }
        self.keys.insert(operation);
        *self.effects.entry(args.to_owned()).or_default() += 1;
    }
}

/// One money call of the world: what it is, and the payments that were approved for it.
pub struct Story {
    pub name: &'static str,
    tool: &'static str,
    args: String,
    request: RequestId,
    approved: usize,
    /// Payments when nobody alters anything.
    pub paid: usize,
    /// An equal effect must not be asked for anew while this one is open.
    open: bool,
    /// Nothing may be paid before.
    not_before: Option<Timestamp>,
}

pub struct World {
    pub gate: Gate,
    pub database: PathBuf,
    head: Head,
    provider: Provider,
    pub stories: Vec<Story>,
    pending: RecordDecision,
    _dir: TempDir,
}

fn refund(invoice: &str) -> String {
    format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"{invoice}"}}"#)
}

fn wire(account: &str) -> String {
    format!(r#"{{"account":"{account}","amount_minor":1500,"currency":"EUR"}}"#)
}

/// A world that is being made.
struct Making {
    gate: Gate,
    bea: Approver,
    cem: Approver,
    provider: Provider,
    stories: Vec<Story>,
}

impl Making {
    async fn freeze(&self, tool: &str, args: &str) -> (CallId, RequestId) {
        let key = format!("key of {args:0>40}");
        match self.gate.freeze(self.gate.received("billing", tool, Some(&key)), args).await {
            FreezeOutcome::Created { call, request } => (call, request),
            other => panic!("{other:?}"),
        }
    }

    fn tell(
        &mut self,
        name: &'static str,
        tool: &'static str,
        args: &str,
        request: RequestId,
        (approved, paid, open): (usize, usize, bool),
    ) {
        let story = Story { name, tool, args: args.to_owned(), request, approved, paid, open, not_before: None };
        self.stories.push(story);
    }

    /// An approved request's operation.
    async fn approved(&self, tool: &str, args: &str) -> (RequestId, OperationKey) {
        let (_, request) = self.freeze(tool, args).await;
        let role = if tool == "wire" { "treasury" } else { ROLE };
        let mut receipt = self.gate.approve(&self.bea, request, role).await;
        if tool == "wire" {
            receipt = self.gate.approve(&self.cem, request, role).await;
        }
        (request, receipt.operation.expect("a quorum"))
    }

    /// An approved request whose token is redeemed, and whose provider has acted.
    async fn sent(&mut self, tool: &str, args: &str) -> (RequestId, Redeemed) {
        let (request, operation) = self.approved(tool, args).await;
        if tool == "wire" {
            self.gate.advance_s(31);
        }
        let redeemed = self.gate.redeem_new_token(operation).await;
        self.provider.act(tool, operation, args);
        (request, redeemed)
    }

    async fn answered(&self, redeemed: &Redeemed, answer: Answer) {
        let result = (answer == Answer::Done).then(|| r#"{"id":"done"}"#.to_owned());
        let brought =
            RecordAnswer { operation: redeemed.operation, attempt: redeemed.attempt, answer, result, detail: "answered".to_owned() };
        self.gate.store.record_answer(self.gate.moment(), brought).await.expect("an outcome");
    }

    /// Calls that are over when the administrator comes.
    async fn past(&mut self) {
        let args = refund("expired");
        let (_, request) = self.freeze("refund", &args).await;
        self.tell("expired", "refund", &args, request, (0, 0, false));
        self.gate.advance_s(601);
        self.gate.store.due(self.gate.moment()).await.expect("a sweep");

        let args = refund("succeeded");
        let (request, redeemed) = self.sent("refund", &args).await;
        self.answered(&redeemed, Answer::Done).await;
        self.tell("succeeded", "refund", &args, request, (1, 1, false));

        let args = r#"{"amount_minor":500,"currency":"EUR","customer":"limited"}"#;
        let (request, redeemed) = self.sent("voucher", args).await;
        self.answered(&redeemed, Answer::Done).await;
        self.tell("under caps", "voucher", args, request, (1, 1, false));

        let args = refund("failed");
        let (request, operation) = self.approved("refund", &args).await;
        let redeemed = self.gate.redeem_new_token(operation).await;
        self.answered(&redeemed, Answer::NoEffect).await;
        self.tell("failed", "refund", &args, request, (1, 0, false));

        let args = refund("denied");
        let (_, request) = self.freeze("refund", &args).await;
        self.gate.decide(&self.cem, request, DecisionKind::Deny, ROLE).await;
        self.tell("denied", "refund", &args, request, (0, 0, false));

        let args = refund("withdrawn");
        let (call, request) = self.freeze("refund", &args).await;
        self.gate.store.withdraw(self.gate.moment(), name("billing"), call).await.expect("an outcome");
        self.tell("withdrawn", "refund", &args, request, (0, 0, false));

        let args = wire("revoked");
        let (request, _) = self.approved("wire", &args).await;
        self.gate.decide(&self.cem, request, DecisionKind::Revoke, "treasury").await;
        self.tell("revoked", "wire", &args, request, (0, 0, false));
    }

    /// Outcomes in doubt, with their late answers.
    async fn doubts(&mut self) {
        let args = wire("needs");
        let (request, redeemed) = self.sent("wire", &args).await;
        self.answered(&redeemed, Answer::Unclear).await;
        self.gate.store.due(self.gate.moment()).await.expect("a sweep");
        self.answered(&redeemed, Answer::Done).await;
        say(&self.gate, &self.bea, redeemed.operation, Said::StillUnknown, "treasury", &plain).await;
        self.tell("needs reconciliation", "wire", &args, request, (1, 1, true));

        let args = r#"{"subscription":"asked"}"#;
        let (request, redeemed) = self.sent("cancel", args).await;
        self.answered(&redeemed, Answer::Unclear).await;
        self.tell("unknown, to ask", "cancel", args, request, (1, 1, true));

        let args = refund("unknown");
        let (request, redeemed) = self.sent("refund", &args).await;
        self.answered(&redeemed, Answer::Unclear).await;
        self.tell("unknown, with a key", "refund", &args, request, (1, 1, true));
    }

    /// Calls in the middle of their life.
    async fn present(&mut self) -> RecordDecision {
        let args = wire("retracted");
        let (_, request) = self.freeze("wire", &args).await;
        self.gate.approve(&self.bea, request, "treasury").await;
        self.gate.decide(&self.bea, request, DecisionKind::Retract, "treasury").await;
        self.tell("one of two, taken back", "wire", &args, request, (0, 0, true));

        let args = wire("delayed");
        let (request, _) = self.approved("wire", &args).await;
        self.tell("approved, in its delay", "wire", &args, request, (1, 1, true));
        self.stories.last_mut().expect("a story").not_before = Some(self.gate.now().plus_s(30));

        let args = refund("minted");
        let (request, operation) = self.approved("refund", &args).await;
        self.gate.mint(operation).await;
        self.tell("minted", "refund", &args, request, (1, 1, true));

        let args = refund("executing");
        let (request, _) = self.sent("refund", &args).await;
        self.tell("executing", "refund", &args, request, (1, 1, true));

        let args = refund("pending");
        let (_, request) = self.freeze("refund", &args).await;
        self.gate.decide(&self.cem, request, DecisionKind::MoreTime, ROLE).await;
        self.tell("pending", "refund", &args, request, (1, 1, true));
        self.gate.decision(&self.bea, request, DecisionKind::Approve, ROLE, &|_| {}).await
    }

    /// Writes, people who wait, sessions.
    async fn beside(&self, ada: &Approver) {
        let write = |key: &str| WriteIntent {
            received: self.gate.received("support", "tag", Some(key)),
            row_sha256: self.gate.table.row(&name("tag")).expect("a row").digest(),
            args: format!(r#"{{"tag":"{key}"}}"#),
            before: Some("{}".to_owned()),
            lease_s: 60,
        };
        for (key, ends) in [("a write that is done", true), ("a write under way", false)] {
            let outcome = self.gate.store.write_intent(self.gate.moment(), write(key)).await.expect("an outcome");
            let IntentOutcome::Send { operation, attempt, .. } = outcome else { panic!("{outcome:?}") };
            if ends {
                let end = WriteEnd {
                    operation,
                    attempt,
                    answer: Answer::Done,
                    result: Some("{}".to_owned()),
                    receipt: None,
                    after: None,
                    detail: "done".to_owned(),
                };
                self.gate.store.write_end(self.gate.moment(), end).await.expect("an outcome");
            }
        }
        self.gate.announce(&self.gate.approver("Eve Example"), &secret("recovery")).await.expect("a recovery waits");
        self.gate.add_agent("owned", Some(ada.person)).await;
        assert_eq!(self.gate.invite("Dan Example", &[ROLE]).await, InviteOutcome::Created);
        let dan = self.gate.approver("Dan Example");
        assert!(matches!(self.gate.propose(&dan).await, EnrolOutcome::Waiting { .. }));
        assert_eq!(self.gate.invite("Eve Example", &[ROLE]).await, InviteOutcome::Created);
        self.gate.open_session(&self.bea).await;
        let ask = SessionChallenge { key_sha256: self.cem.device.public().digest(), challenge: self.gate.nonce() };
        self.gate.store.session_challenge(self.gate.moment(), ask).await.expect("an outcome");
    }
}

impl World {
    pub async fn begin() -> World {
        let (gate, ada, bea, cem) = Gate::with_people().await;
        let mut making = Making { gate, bea, cem, provider: Provider::default(), stories: Vec::new() };
        making.past().await;
        making.doubts().await;
        making.beside(&ada).await;
        let pending = making.present().await;
        let Making { gate, provider, stories, .. } = making;
        let head = gate.store.head().await.expect("a reading");
        let note = StoredCheckpoint { size: head.size, note: "a note that consoles verify".to_owned() };
        gate.store.store_checkpoint(gate.moment(), note).await.expect("kept");
        gate.store.close();
        let dir = TempDir::new().expect("a folder");
        let database = dir.path().join("world.db");
        // In one file, without a log beside it.
        let db = rusqlite::Connection::open(gate.path()).expect("a database");
        db.execute("VACUUM INTO ?1", [database.to_str().expect("text")]).expect("a copy");
        World { gate, database, head, provider, stories, pending, _dir: dir }
    }

    /// Starts on the database and goes on until nothing more happens.
    pub async fn go_on(&self, gate: &Gate) -> Found {
        if let Err(error) = gate.store.verify(Some(self.head)).await {
            return Found::Refused(error.to_string());
        }
        if let Err(error) = gate.store.recover_at_start(gate.moment()).await {
            return Found::Refused(error.to_string());
        }
        let provider = Mutex::new(self.provider.clone());
        let mut faults = Vec::new();
        // The person's decision was on its way when the gate stopped.
        let _ = gate.store.record_decision(gate.moment(), self.pending.clone()).await;
        for seconds in [0, 3, 28, 31, 62, 700] {
            gate.advance_s(seconds);
            self.round(gate, &provider).await;
            faults.extend(self.early(gate.now(), &provider));
            faults.extend(self.anew(gate, &provider).await);
        }
        let provider = provider.into_inner().expect("nobody panics with it");
        faults.extend(self.wrong_counts(&provider));
        if gate.roster().await.person(&crate::fixture::person_of("Eve Example")).is_some() {
            faults.push("a recovery took effect before its day was over".to_owned());
        }
        faults.sort();
        faults.dedup();
        let count = |story: &Story| provider.effects.get(&story.args).copied().unwrap_or_default();
        let paid = self.stories.iter().map(|story| (story.name, count(story))).collect();
        Found::Served { faults, paid }
    }

    /// One round of the workers.
    async fn round(&self, gate: &Gate, provider: &Mutex<Provider>) {
        // An error is the gate's to report; nothing moves then.
        let Ok(due) = gate.store.due(gate.moment()).await else { return };
        for operation in due.to_mint {
            self.execute(gate, operation, provider).await;
        }
        for operation in due.to_ask.into_iter().chain(due.to_ask_of_writes) {
            let known = provider.lock().expect("nobody panics with it").keys.contains(&operation);
            let answer = if known {
                StatusAnswer::Found { result: r#"{"id":"done"}"#.to_owned() }
            } else {
                StatusAnswer::NotFound { detail: "not known".to_owned() }
            };
            let _ = gate.store.record_status(gate.moment(), operation, StatusAsked::InTurn, answer).await;
        }
    }

    async fn execute(&self, gate: &Gate, operation: OperationKey, provider: &Mutex<Provider>) {
        let jti = gate.nonce();
        let mint = Mint {
            operation,
            jti_sha256: Digest::of(jti.as_bytes()),
            audience: "gate".to_owned(),
            ttl_s: 60,
            referents: vidimus_core::json::Json::object([]),
        };
        let Ok(MintOutcome::Minted(minted)) = gate.store.mint(gate.moment(), mint).await else { return };
        let token = gate.sign_token(&minted, jti);
        let redeemed =
            gate.store.redeem(gate.moment(), Redeem { token, lease_s: 30, referents: vidimus_core::json::Json::object([]) }).await;
        let Ok(RedeemOutcome::Redeemed(redeemed)) = redeemed else { return };
        // The executor sends the frozen bytes that it was given with the token.
        let frozen = FrozenRequest::parse(minted.frozen.as_bytes()).expect("frozen bytes");
        let args = String::from_utf8(frozen.canonical_args().to_vec()).expect("text");
        provider.lock().expect("nobody panics with it").act(frozen.members().tool.as_str(), redeemed.operation, &args);
        let brought = RecordAnswer {
            operation,
            attempt: redeemed.attempt,
            answer: Answer::Done,
            result: Some(r#"{"id":"done"}"#.to_owned()),
            detail: "answered".to_owned(),
        };
        let _ = gate.store.record_answer(gate.moment(), brought).await;
    }

    /// Payments before their delay was over.
    fn early(&self, now: Timestamp, provider: &Mutex<Provider>) -> Vec<String> {
        let provider = provider.lock().expect("nobody panics with it");
        let early = self.stories.iter().filter(|story| {
            story.not_before.is_some_and(|at| now < at) && provider.effects.get(&story.args).is_some_and(|count| *count > 0)
        });
        early.map(|story| format!("`{}` was paid before its delay was over", story.name)).collect()
    }

    /// Another agent asks for each effect anew: an open one is refused, one that was paid is named.
    async fn anew(&self, gate: &Gate, provider: &Mutex<Provider>) -> Vec<String> {
        let mut faults = Vec::new();
        let paid = provider.lock().expect("nobody panics with it").effects.clone();
        for story in self.stories.iter().filter(|story| story.tool == "refund" && (story.open || story.paid > 0)) {
            let key = format!("another key {}", gate.nonce());
            let outcome = match gate.store.freeze_call(gate.moment(), self.freeze_of(gate, story, &key[..40])).await {
                Ok(outcome) => outcome,
                Err(_) => continue,
            };
            let FreezeOutcome::Created { request, call } = outcome else { continue };
            let view = gate.view(request).await;
            let frozen = FrozenRequest::parse(view.frozen.as_bytes()).expect("a frozen request");
            let members = frozen.members();
            // A clock that was set on beyond the time that cards look back is no fault of theirs.
            let looks_back = members.created_at < gate.now().plus_s(24 * 3600);
            // What expired unpaid may be asked for anew. What was paid, the new card must name.
            let open = gate.view(story.request).await.state == RequestState::Pending;
            let unnamed = (open || paid.contains_key(&story.args)) && looks_back;
            if unnamed && (members.earlier.first() != Some(&story.request) || members.friction != Reversibility::Irreversible) {
                faults.push(format!("`{}` may be asked for anew, and the card does not say that it was paid", story.name));
            }
            let _ = gate.store.withdraw(gate.moment(), name("support"), call).await;
        }
        faults
    }

    fn freeze_of(&self, gate: &Gate, story: &Story, key: &str) -> FreezeCall {
        let received = gate.received("support", story.tool, Some(key));
        FreezeCall {
            row_sha256: gate.table.row(&received.tool).expect("a row").digest(),
            received,
            request: gate.request_id(),
            salt: gate.salt(),
            args: crate::fixture::json(&story.args),
            referents: Some(vidimus_core::json::Json::object([])),
        }
    }

    fn wrong_counts(&self, provider: &Provider) -> Vec<String> {
        let mut faults = Vec::new();
        for story in &self.stories {
            let count = provider.effects.get(&story.args).copied().unwrap_or_default();
            if count > story.approved {
                faults.push(format!("`{}` was paid {count} times, approved {} times", story.name, story.approved));
            }
        }
        for args in provider.effects.keys().filter(|args| self.stories.iter().all(|story| story.args != **args)) {
            faults.push(format!("paid, and never asked for: {args}"));
        }
        faults
    }
}
