//! A gate's log made by hand, for the tests of this crate: real keys, real signatures, the fixture company's table.

use std::collections::BTreeSet;

use tempfile::TempDir;
use vidimus_api::log::RecordEvent;
use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::checkpoint::Checkpoint;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement};
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::frozen::{ChainLink, Draft, FrozenRequest, Need, business_sha256};
use vidimus_core::ids::{CallId, Environment, GateId, Name, PersonId, RequestId, RunId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::record::{AuditRecord, Body, RecordType};
use vidimus_core::render;
use vidimus_core::roster::{Admission, Roster};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::Genesis;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::tree::{Frontier, leaf_hash};

use crate::console::{Console, GateState, KeyState};
use crate::enrolment::{Kept, Membership};
use crate::mirror::{Applied, Batch, GateIdentity, Mirror, MirrorFault};
use crate::profile::Profile;
use crate::review::Review;
use crate::review::card::Card;

/// 30 November 2026, 12:00 UTC.
pub const NOW_MS: i64 = 1_796_040_000_000;

/// A gate as far as its log shows it.
pub struct Log {
    log_key: SecretKey,
    approval: SecretKey,
    device: SecretKey,
    pub roster: Roster,
    pub table: Table,
    pub records: Vec<RecordEvent>,
    frontier: Frontier,
}

pub fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

pub fn at(offset_s: u64) -> Timestamp {
    Timestamp::from_ms(NOW_MS).expect("a time").plus_s(offset_s)
}

/// A salted body, so that no two digests are alike by chance.
fn body(json: &Json, number: usize) -> Body {
    let mut salt = [0; 32];
    salt[0] = u8::try_from(number % 256).expect("below 256");
    Body::new(json, Salt::from_bytes(salt)).expect("a body")
}

/// What every argument that names something stands for.
pub const REFERENT: &str = "GB82WEST12345698765432";

/// Where the company would be.
const COMPANY: &str = "http://127.0.0.1:1";

impl Log {
    /// A gate whose first admin has these roles, with the roster and the table in its log.
    pub fn founded(roles: &[&str]) -> Self {
        Self::founded_under(roles, &vidimus_tests::company::effect_table(COMPANY))
    }

    /// The same with the further tool `pay_invoice`, which takes any payee and any size.
    pub fn founded_with_pay_invoice(roles: &[&str]) -> Self {
        let table = vidimus_tests::company::effect_table(COMPANY);
        Self::founded_under(roles, &vidimus_tests::company::with_pay_invoice(&table))
    }

    fn founded_under(roles: &[&str], text: &str) -> Self {
        let (log_key, token_key) = (SecretKey::from_seed(&[1; 32]), SecretKey::from_seed(&[2; 32]));
        let (approval, device) = (SecretKey::from_seed(&[3; 32]), SecretKey::from_seed(&[4; 32]));
        let table = Table::parse(text).expect("the fixture's table");
        let first = Admission {
            person: PersonId::from_random([5; 16]),
            name: "Robin Example".to_owned(),
            roles: roles.iter().chain(&["admin"]).map(|role| name(role)).collect::<BTreeSet<_>>(),
            approval_key: approval.public(),
            device_key: device.public(),
            label: "desk-1".to_owned(),
        };
        let roster = Roster::genesis(Environment::Test, log_key.public(), token_key.public(), None, &first).expect("a roster");
        let genesis =
            Genesis { roster: roster.clone(), table_sha256: table.digest(), invite_sha256: Digest::of(b"code"), issued_at: at(0) };
        let envelope = genesis.sign(&approval).expect("signed");
        let frontier = Frontier::from_parts(0, Vec::new()).expect("empty");
        let mut log = Self { log_key, approval, device, roster, table, records: Vec::new(), frontier };
        let gate = log.roster.gate.to_string();
        log.append(RecordType::GateInitialised, &[("gate", gate.as_str().into()), ("environment", "test".into())], None, Vec::new(), None);
        let roster_text = String::from_utf8(log.roster.to_json().canonical().expect("canonical")).expect("text");
        let digest = log.roster.digest().expect("a digest").to_string();
        log.append(
            RecordType::RosterChanged,
            &[("version", 1_u32.into()), ("roster_sha256", digest.into()), ("by", "genesis".into())],
            None,
            vec![envelope.clone()],
            Some(Json::object([("roster", roster_text.into())])),
        );
        let digest = log.table.digest().to_string();
        log.append(
            RecordType::TableChanged,
            &[("table_sha256", digest.into())],
            None,
            vec![envelope],
            Some(Json::object([("table", text.into())])),
        );
        log
    }

    pub fn identity(&self) -> GateIdentity {
        GateIdentity {
            gate: GateId::of(&self.log_key.public()),
            environment: Environment::Test,
            log_key: self.log_key.public(),
            roster_sha256: self.roster.digest().ok(),
        }
    }

    /// Stages a record.
    pub fn append(
        &mut self,
        record_type: RecordType,
        claims: &[(&'static str, Json)],
        request: Option<RequestId>,
        envelopes: Vec<Envelope>,
        content: Option<Json>,
    ) {
        self.append_about(record_type, claims, (request, None), envelopes, content, at(0));
    }

    /// The same about an operation, at a moment.
    pub fn append_about(
        &mut self,
        record_type: RecordType,
        claims: &[(&'static str, Json)],
        about: (Option<RequestId>, Option<OperationKey>),
        envelopes: Vec<Envelope>,
        content: Option<Json>,
        at: Timestamp,
    ) {
        let body = content.map(|content| body(&content, self.records.len()));
        let record = AuditRecord {
            record_type,
            at,
            request: about.0,
            operation: about.1,
            roles: vec![name("everyone")],
            claims: Json::Object(claims.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()),
            envelopes,
            body_sha256: body.as_ref().map(Body::digest),
        };
        let leaf = String::from_utf8(record.leaf().expect("a leaf")).expect("text");
        self.frontier.append(leaf_hash(leaf.as_bytes()));
        let position = u64::try_from(self.records.len()).expect("few");
        self.records.push(RecordEvent { position, leaf, salt: body.as_ref().map(|body| body.salt), body: body.map(|body| body.text) });
    }

    /// The signed head over everything staged.
    pub fn head(&self) -> String {
        Self::head_of(&self.identity().gate.to_string(), &self.frontier, &self.log_key)
    }

    pub fn head_of(origin: &str, frontier: &Frontier, key: &SecretKey) -> String {
        Checkpoint::new(origin, frontier.size(), frontier.root()).and_then(|checkpoint| checkpoint.sign(key, origin)).expect("signed")
    }

    /// A request for a tool with these arguments, in the log.
    pub fn request(&mut self, tool: &str, args: &str) -> RequestId {
        let frozen = self.freeze(tool, args);
        self.create(&frozen)
    }

    pub fn create(&mut self, frozen: &FrozenRequest) -> RequestId {
        self.create_with(frozen, Json::Null)
    }

    /// The same with the agent's own words.
    pub fn create_saying(&mut self, frozen: &FrozenRequest, says: &str) -> RequestId {
        self.create_with(frozen, says.into())
    }

    fn create_with(&mut self, frozen: &FrozenRequest, says: Json) -> RequestId {
        let members = frozen.members();
        let text = String::from_utf8(frozen.bytes().to_vec()).expect("text");
        let claims = [
            ("tool", members.tool.as_str().into()),
            ("agent", "billing".into()),
            ("request_sha256", frozen.request_sha256().to_string().into()),
            ("args_sha256", frozen.args_sha256().to_string().into()),
            ("row_sha256", members.row_sha256.to_string().into()),
            ("expires_at", members.expires_at.to_string().into()),
        ];
        let content = Json::object([("frozen", text.into()), ("says", says)]);
        self.append(RecordType::RequestCreated, &claims, Some(members.request), Vec::new(), Some(content));
        members.request
    }

    /// A request whose contents are for other roles than this person's.
    pub fn request_hidden(&mut self, tool: &str) {
        let number = u8::try_from(self.records.len()).expect("few");
        let digest = Digest::of(&[number]).to_string();
        let claims = [
            ("tool", tool.into()),
            ("agent", "treasury".into()),
            ("request_sha256", digest.into()),
            ("expires_at", at(1_800).to_string().into()),
        ];
        self.append(RecordType::RequestCreated, &claims, Some(RequestId::from_random([number; 16])), Vec::new(), None);
    }

    pub fn freeze(&self, tool: &str, args: &str) -> FrozenRequest {
        self.freeze_until(tool, args, at(1_800))
    }

    /// The same with another last moment.
    pub fn freeze_until(&self, tool: &str, args: &str, expires_max_at: Timestamp) -> FrozenRequest {
        let needs = self.table.row(&name(tool)).expect("a row").needs.clone();
        self.freeze_for(tool, args, expires_max_at, needs)
    }

    /// The same where every argument that names something stands for this.
    pub fn freeze_standing_for(&self, tool: &str, args: &str, referent: &str) -> FrozenRequest {
        let needs = self.table.row(&name(tool)).expect("a row").needs.clone();
        self.freeze_with(tool, args, at(1_800), needs, referent)
    }

    /// The same with other needs than the row's.
    pub fn freeze_for(&self, tool: &str, args: &str, expires_max_at: Timestamp, needs: Vec<Need>) -> FrozenRequest {
        self.freeze_with(tool, args, expires_max_at, needs, REFERENT)
    }

    fn freeze_with(&self, tool: &str, args: &str, expires_max_at: Timestamp, needs: Vec<Need>, referent: &str) -> FrozenRequest {
        let row = self.table.row(&name(tool)).expect("a row");
        let mut number = [7; 16];
        number[0] = u8::try_from(self.records.len()).expect("few");
        number[1] = u8::try_from(expires_max_at.as_ms() / 1_000 % 251).expect("below 251");
        FrozenRequest::freeze(Draft {
            gate: self.roster.gate,
            environment: Environment::Test,
            request: RequestId::from_random(number),
            call: CallId::from_random([8; 16]),
            run: RunId::from_random([9; 16]),
            agents: vec![ChainLink { agent: name("billing"), owner: None }],
            on_behalf_of: None,
            proposer: None,
            upstream: None,
            tool: name(tool),
            definition_sha256: None,
            row_sha256: row.digest(),
            table_sha256: self.table.digest(),
            effect: row.effect,
            reversibility: row.reversibility.expect("money has one"),
            friction: row.reversibility.expect("money has one"),
            needs,
            business_sha256: business_sha256(&name(tool), Vec::new()).expect("a digest"),
            referents: Json::Object(row.referents.iter().map(|named| (named.arg.pointer(), referent.into())).collect()),
            earlier: Vec::new(),
            salt: Salt::from_bytes([6; 32]),
            created_at: at(0),
            expires_at: at(1_800),
            expires_max_at,
            args: parse(args.as_bytes(), &Limits::MONEY).expect("arguments"),
        })
        .expect("frozen")
    }

    /// A decision of the first admin, in the log.
    pub fn decide(&mut self, frozen: &FrozenRequest, decision: DecisionKind, signer: Option<&SecretKey>) {
        let state = match decision {
            DecisionKind::Approve => "approved",
            DecisionKind::Deny => "denied",
            DecisionKind::Revoke => "revoked",
            DecisionKind::Retract | DecisionKind::MoreTime => "pending",
        };
        self.decide_to(frozen, decision, signer, &[("state", state.into()), ("given", 1_u32.into()), ("needed", 1_u32.into())]);
    }

    /// The same with what the gate claims of its outcome.
    pub fn decide_to(
        &mut self,
        frozen: &FrozenRequest,
        decision: DecisionKind,
        signer: Option<&SecretKey>,
        outcome: &[(&'static str, Json)],
    ) {
        let members = frozen.members();
        let row = self.table.row(&members.tool).expect("a row");
        let nodes = render::render(&members.args, row).expect("nodes");
        let person = &self.roster.persons[0];
        let statement = DecisionStatement {
            gate: members.gate,
            gate_key_sha256: self.log_key.public().digest(),
            environment: members.environment,
            request: members.request,
            request_sha256: frozen.request_sha256(),
            args_sha256: frozen.args_sha256(),
            tool: members.tool.clone(),
            decision,
            approver: person.person,
            key_sha256: self.approval.public().digest(),
            role: members.needs[0].role.clone(),
            row_sha256: members.row_sha256,
            roster_sha256: self.roster.digest().expect("a digest"),
            shown_sha256: render::shown_sha256(&members.tool, &nodes).expect("a digest"),
            context_sha256: None,
            challenge: Nonce::from_bytes([1; 32]),
            checkpoint: CheckpointRef { size: 3, root: Digest::of(b"") },
            reason_sha256: None,
            app_version: "test".to_owned(),
            issued_at: at(1),
            expires_at: at(60),
        };
        let envelope = statement.sign(signer.unwrap_or(&self.approval)).expect("signed");
        let mut claims = vec![
            ("decision", decision.as_str().into()),
            ("approver", person.person.to_string().into()),
            ("role", members.needs[0].role.as_str().into()),
            ("key_sha256", self.approval.public().digest().to_string().into()),
            ("request_sha256", frozen.request_sha256().to_string().into()),
        ];
        claims.extend(outcome.iter().cloned());
        self.append(RecordType::DecisionRecorded, &claims, Some(members.request), vec![envelope], None);
    }

    /// The operation of an approved request changes its state.
    pub fn operation(&mut self, frozen: &FrozenRequest, from: &str, state: &str, at: Timestamp) {
        let claims = [("from", from.into()), ("state", state.into()), ("attempt", 1_u32.into())];
        let content = Json::object([("result", Json::Null), ("detail", "the connection was lost".into())]);
        let about = (Some(frozen.members().request), Some(operation_of(frozen)));
        self.append_about(RecordType::OperationChanged, &claims, about, Vec::new(), Some(content), at);
    }

    /// An approved request that was sent, and of which nobody knows what became.
    pub fn in_doubt(&mut self, frozen: &FrozenRequest) -> String {
        let about = (Some(frozen.members().request), Some(operation_of(frozen)));
        self.append_about(RecordType::TokenRedeemed, &[("attempt", 1_u32.into())], about, Vec::new(), None, at(2));
        self.operation(frozen, "executing", "unknown", at(7));
        self.operation(frozen, "unknown", "needs_reconciliation", at(8));
        operation_of(frozen).to_string()
    }

    /// An answer of the first admin, in the log.
    pub fn answer(&mut self, frozen: &FrozenRequest, answer: Answer, evidence: &Evidence, signer: Option<&SecretKey>) {
        let members = frozen.members();
        let person = &self.roster.persons[0];
        let text = evidence.to_text().expect("evidence");
        let salt = Salt::from_bytes([9; 32]);
        let statement = ReconciliationStatement {
            gate: members.gate,
            gate_key_sha256: self.log_key.public().digest(),
            environment: members.environment,
            operation: operation_of(frozen),
            request: Some(members.request),
            request_sha256: Some(frozen.request_sha256()),
            attempt: 1,
            answer,
            amount_minor: None,
            approver: person.person,
            key_sha256: self.approval.public().digest(),
            role: members.needs[0].role.clone(),
            roster_sha256: self.roster.digest().expect("a digest"),
            shown_sha256: None,
            evidence_sha256: evidence_sha256(&salt, &text),
            challenge: Nonce::from_bytes([1; 32]),
            checkpoint: CheckpointRef { size: 3, root: Digest::of(b"") },
            app_version: "test".to_owned(),
            issued_at: at(10),
            expires_at: at(60),
        };
        let envelope = statement.sign(signer.unwrap_or(&self.approval)).expect("signed");
        let claims = [
            ("answer", answer.as_str().into()),
            ("approver", person.person.to_string().into()),
            ("role", members.needs[0].role.as_str().into()),
            ("conflict", Json::Bool(false)),
        ];
        let content = Json::object([("evidence", text.into()), ("evidence_salt", salt.into())]);
        let about = (Some(members.request), Some(operation_of(frozen)));
        self.append_about(RecordType::ReconciliationRecorded, &claims, about, vec![envelope], Some(content), at(11));
    }

    /// Everything staged, settled into a mirror.
    pub fn settle(&self, mirror: &mut Mirror) -> Result<Applied, MirrorFault> {
        let mut batch = Batch::default();
        for record in self.records.iter().skip(usize::try_from(mirror.size()).expect("few")) {
            batch.push(record.clone());
        }
        batch.settle(mirror, &self.head())
    }

    pub fn mirror(&self) -> Mirror {
        let mut mirror = Mirror::in_memory(self.identity());
        self.settle(&mut mirror).expect("settled");
        mirror
    }

    /// Brings what this log has by now into a console's mirror.
    pub fn bring(&self, console: &Console) {
        self.settle(console.mirror().as_mut().expect("a mirror")).expect("settled");
    }

    /// A console that is enrolled here and connected, with this log in its mirror.
    pub fn console(&self) -> (Console, TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        let console = Console::new(Profile::at(directory.path()).expect("a profile"), false);
        let person = &self.roster.persons[0];
        let membership = Membership {
            url: "http://127.0.0.1:1".to_owned(),
            gate: self.roster.gate,
            environment: Environment::Test,
            log_key: self.log_key.public(),
            roster_sha256: self.roster.digest().ok(),
            person: person.person,
            name: person.name.clone(),
            roles: Vec::new(),
            label: "desk-1".to_owned(),
            approval_key: self.approval.public(),
            device_key: self.device.public(),
        };
        console.shared().kept = Some(Kept::Active { membership });
        console.shared().gate = GateState::Connected;
        console.shared().key = KeyState::Active;
        *console.mirror() = Some(self.mirror());
        (console, directory)
    }
}

pub fn operation_of(frozen: &FrozenRequest) -> OperationKey {
    let members = frozen.members();
    OperationKey::money(&members.tool, &members.request, &frozen.args_sha256())
}

/// An open review of a request of this console.
pub fn review(console: &Console, request: &RequestId) -> Review {
    let card = console.read(|mirror| Card::read(mirror, &console.tables, &request.to_string())).flatten().expect("a card");
    Review::new(card, "nonce".to_owned(), NOW_MS)
}
