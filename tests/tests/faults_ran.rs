//! Faults seen elsewhere: what ran was not what was approved. Other arguments, another tool, no decision at all, a denial
//! that was forgotten, a document that two readers read differently.

mod faults;

use std::collections::BTreeMap;

use faults::log::Log;
use faults::wire::{Answer, post, send, signed_body};
use faults::{House, MONEY, MoneyCall, WAIT_S, call, call_key, json, pending, problem_of, refund_args, refused, request_of, until};
use reqwest::Method;
use rusqlite::{Connection, params};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_api::request::DenialKind;
use vidimus_core::bytes::Digest;
use vidimus_core::decision::{DECISION_TYPE, DecisionKind, DecisionStatement};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::operation::{OperationKey, OperationState};
use vidimus_core::record::RecordType;
use vidimus_core::request::RequestState;
use vidimus_core::sign::SecretKey;
use vidimus_core::table::Table;
use vidimus_tests::approver::raw;
use vidimus_tests::company::Tool;

const ROLE: &str = "billing-approver";

fn agents(house: &House) -> BTreeMap<&'static str, AgentClient> {
    ["billing", "support"].into_iter().map(|name| (name, house.agent(name, &[]))).collect()
}

/// Every money tool, at every moment of its life: a resume with other values is refused, and the approved bytes run.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_with_other_arguments_or_another_tool_never_runs() {
    let house = House::open().await;
    let agents = agents(&house);
    let mut log = Log::follow(&house).await;
    for MoneyCall { agent, role, tool, args, changed } in MONEY {
        let agent = &agents[agent];
        let first = pending(agent, &call(tool.name(), args, tool.name())).await;
        let resumes = |agent: AgentClient| async move {
            let other = MONEY.iter().find(|money| money.tool != *tool && money.agent == agent_of(*tool)).expect("a second tool");
            let spaced = changed.replacen(':', " : ", 1);
            let tried = [(tool.name(), *changed), (other.tool.name(), other.args), (tool.name(), spaced.as_str())];
            for (named, args) in tried {
                let problem = problem_of(agent.call(&call(named, args, tool.name()), 0).await);
                assert_eq!((problem.status, problem.code.as_str()), (409, "operation_key_conflict"), "{named} {args}");
            }
            tried.len()
        };
        // While it waits, after it was approved and ran.
        let mut tried = resumes(agent.clone()).await;
        assert_eq!(house.detail(request_of(&first)).await.state, RequestState::Pending);
        house.admin.approve(request_of(&first), role).await.expect("it counts");
        tried += resumes(agent.clone()).await;
        let told = agent.outcome(&first.call, WAIT_S).await.expect("an outcome");
        assert_eq!(told.status, CallStatus::Executed, "{}", told.words);
        tried += resumes(agent.clone()).await;
        let effects = house.inspector.effects(*tool).await.expect("effects");
        assert_eq!(effects.iter().map(|effect| effect.args.as_str()).collect::<Vec<_>>(), [*args], "{}", tool.name());
        assert_eq!(log.codes(RecordType::CallRefused, tried).await, vec!["operation_key_conflict"; tried]);
    }
    // The one approved call of each tool, and what it set off.
    assert_eq!(log.rest(&house).await, []);
    assert_eq!(log.of(RecordType::TokenRedeemed).count(), MONEY.len());
    assert_eq!(log.of(RecordType::RequestCreated).count(), MONEY.len());
}

fn agent_of(tool: Tool) -> &'static str {
    MONEY.iter().find(|money| money.tool == tool).expect("a money tool").agent
}

/// Without a call key a changed call is another call: it waits for people, whatever was approved before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_call_without_a_key_waits_for_people_of_its_own() {
    let house = House::open().await;
    let agents = agents(&house);
    for MoneyCall { agent, role, tool, args, changed } in MONEY.iter().filter(|money| money.tool != Tool::CancelSubscription) {
        let agent = &agents[agent];
        let first = pending(agent, &CallRequest::new(tool.name(), json(args))).await;
        house.admin.approve(request_of(&first), role).await.expect("it counts");
        assert_eq!(agent.outcome(&first.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
        let changed = pending(agent, &CallRequest::new(tool.name(), json(changed))).await;
        assert_ne!((changed.call, changed.request_sha256), (first.call, first.request_sha256));
        assert_eq!(house.operation(request_of(&changed)).await, None);
        assert_eq!(house.count(*tool).await, 1, "{}", tool.name());
    }
}

/// A delay between the quorum and the token, so that what is written into the ledger lies between the two.
fn delayed(table: String) -> String {
    table.replace("key_valid_s = 86400", "key_valid_s = 86400\ndelay_s = 3")
}

struct Ledger {
    db: Connection,
}

impl Ledger {
    /// Opens the ledger of an ended gate as somebody who got at its disk: without the triggers that keep it straight.
    fn broken_open(house: &House) -> Ledger {
        let db = Connection::open(house.database()).expect("the ledger");
        let mut names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").expect("a query");
        let triggers: Vec<String> = names.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("names");
        drop(names);
        assert!(triggers.len() > 5);
        for trigger in triggers {
            db.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
        }
        db.execute_batch("PRAGMA foreign_keys = OFF").expect("switched off");
        Ledger { db }
    }

    fn frozen(&self, request: RequestId) -> String {
        self.db.query_row("SELECT frozen FROM requests WHERE request = ?1", [request.to_string()], |row| row.get(0)).expect("a request")
    }

    /// Other frozen bytes, with every digest beside them made to fit. Gives the operation's key that fits too.
    fn freeze_again(&self, request: RequestId, frozen: &str) -> FrozenRequest {
        let frozen = FrozenRequest::parse(frozen.as_bytes()).expect("a frozen request");
        let changed = self
            .db
            .execute(
                "UPDATE requests SET frozen = ?2, request_sha256 = ?3, args_sha256 = ?4, tool = ?5, row_sha256 = ?6 WHERE request = ?1",
                params![
                    request.to_string(),
                    std::str::from_utf8(frozen.bytes()).expect("text"),
                    frozen.request_sha256().to_string(),
                    frozen.args_sha256().to_string(),
                    frozen.members().tool.as_str(),
                    frozen.members().row_sha256.to_string(),
                ],
            )
            .expect("written");
        assert_eq!(changed, 1);
        frozen
    }

    /// The reserved operation, moved to the key, tool and row of these frozen bytes.
    fn move_operation(&self, request: RequestId, frozen: &FrozenRequest) {
        let members = frozen.members();
        let key = OperationKey::money(&members.tool, &members.request, &frozen.args_sha256());
        let changed = self
            .db
            .execute(
                "UPDATE operations SET operation = ?2, tool = ?3, row_sha256 = ?4, payload_sha256 = ?5 WHERE request = ?1",
                params![
                    request.to_string(),
                    key.to_string(),
                    members.tool.as_str(),
                    members.row_sha256.to_string(),
                    Digest::of(frozen.canonical_args()).to_string()
                ],
            )
            .expect("written");
        assert_eq!(changed, 1);
    }

    /// An approval that stands in the columns, with this envelope behind it.
    fn approve(&self, request: RequestId, statement: &DecisionStatement, envelope: &str) {
        self.db
            .execute(
                "INSERT INTO decisions (decision_sha256, request, decision, approver, role, key_sha256, envelope, standing, position,
                                        state_after, given, needed)
                 VALUES (?1, ?2, 'approve', ?3, ?4, ?5, ?6, 1, ?7, 'approved', 1, 1)",
                params![
                    Digest::of(format!("invented for {request}").as_bytes()).to_string(),
                    request.to_string(),
                    statement.approver.to_string(),
                    statement.role.as_str(),
                    statement.key_sha256.to_string(),
                    envelope,
                    // A record that no decision has: the gate's own beginning.
                    0,
                ],
            )
            .expect("written");
        self.reserve(request);
    }

    /// The request approved, and its operation reserved, as if a quorum had been reached now.
    fn reserve(&self, request: RequestId) {
        let frozen = FrozenRequest::parse(self.frozen(request).as_bytes()).expect("a frozen request");
        let members = frozen.members();
        let quorum_at = members.created_at.as_ms();
        let approved = self
            .db
            .execute(
                "UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1, quorum_at = ?2,
                        denial_kind = NULL, denial_note = NULL, denial_role = NULL WHERE request = ?1",
                params![request.to_string(), quorum_at],
            )
            .expect("written");
        assert_eq!(approved, 1);
        self.db
            .execute(
                "INSERT INTO operations (operation, kind, call, request, tool, row_sha256, payload_sha256, state, attempt, mint_at)
                 VALUES (?1, 'money', ?2, ?3, ?4, ?5, ?6, 'reserved', 0, ?7)",
                params![
                    OperationKey::money(&members.tool, &members.request, &frozen.args_sha256()).to_string(),
                    members.call.to_string(),
                    request.to_string(),
                    members.tool.as_str(),
                    members.row_sha256.to_string(),
                    Digest::of(frozen.canonical_args()).to_string(),
                    quorum_at,
                ],
            )
            .expect("written");
    }

    fn replace_envelope(&self, request: RequestId, envelope: &str) {
        let changed = self
            .db
            .execute("UPDATE decisions SET envelope = ?2 WHERE request = ?1", params![request.to_string(), envelope])
            .expect("written");
        assert_eq!(changed, 1);
    }

    fn envelope(&self, request: RequestId) -> String {
        self.db.query_row("SELECT envelope FROM decisions WHERE request = ?1", [request.to_string()], |row| row.get(0)).expect("a decision")
    }
}

/// The gate is killed between approval and execution, and somebody writes into its ledger. Whatever they write, what runs
/// is what was signed, or nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_into_the_ledger_after_the_approval_does_not_run() {
    let mut house = House::open_with(delayed, &[]).await;
    let billing = house.agent("billing", &[]);
    let mut log = Log::follow(&house).await;
    let mut requests = Vec::new();
    for step in 0..8 {
        requests.push(request_of(&pending(&billing, &call("refund", &refund_args(1500 + step), &format!("ledger-{step}"))).await));
    }
    let [honest, amount, tool, stranger, borrowed, denied, invented, unsigned] = requests[..] else { panic!("eight requests") };
    let statement = house.admin.statement(invented, DecisionKind::Approve, ROLE).await.expect("a statement");
    house.admin.deny(denied, ROLE, DenialKind::WrongPayee, "no").await.expect("it counts");
    for request in [amount, tool, stranger, borrowed, honest] {
        let receipt = house.admin.approve(request, ROLE).await.expect("it counts");
        assert_eq!(receipt.state, RequestState::Approved);
    }
    house.kill();
    assert_eq!(house.effects().await, 0, "the delay is not over");

    let ledger = Ledger::broken_open(&house);
    let frozen = ledger.freeze_again(amount, &ledger.frozen(amount).replace("\"amount_minor\":1501", "\"amount_minor\":90000"));
    ledger.move_operation(amount, &frozen);
    let table = Table::parse(&std::fs::read_to_string(house.path("effects.toml")).expect("a table")).expect("a table");
    let [refund, credit] = ["refund", "issue_credit"].map(|name| table.row(&Name::parse(name).expect("a name")).expect("a row"));
    let other_tool = ledger
        .frozen(tool)
        .replace("\"tool\":\"refund\"", "\"tool\":\"issue_credit\"")
        .replace("\"reversibility\":\"compensable\"", "\"reversibility\":\"reversible\"")
        .replace(&refund.digest().to_string(), &credit.digest().to_string())
        .replace("\"invoice\":\"invoice_842\",", "")
        .replace("\"currency\":\"EUR\",", "\"currency\":\"EUR\",\"customer\":\"customer_ada\",");
    let frozen = ledger.freeze_again(tool, &other_tool);
    ledger.move_operation(tool, &frozen);
    let nobody = SecretKey::from_seed(&[77; 32]);
    let signed_by = |key: &SecretKey| raw(&statement.sign(key).expect("signed")).expect("an envelope").get().to_owned();
    let by_nobody = ledger.envelope(stranger).replace(&signature_in(&ledger.envelope(stranger)), &signature_in(&signed_by(&nobody)));
    ledger.replace_envelope(stranger, &by_nobody);
    ledger.replace_envelope(borrowed, &ledger.envelope(honest));
    ledger.db.execute("UPDATE decisions SET decision = 'approve', standing = 1 WHERE request = ?1", [denied.to_string()]).expect("written");
    ledger.reserve(denied);
    ledger.approve(invented, &statement, &signed_by(&nobody));
    ledger.reserve(unsigned);
    drop(ledger);

    house.start();
    log.follow_on(&house).await;
    let expected: &[(RequestId, &[&str])] = &[
        (amount, &["bytes_differ"]),
        (tool, &["tool_wrong", "bytes_differ"]),
        (stranger, &["signature_invalid"]),
        (borrowed, &["request_wrong"]),
        (denied, &["approval_missing"]),
        (invented, &["envelope_key_wrong", "signature_invalid"]),
        (unsigned, &["quorum_missing"]),
    ];
    for (request, codes) in expected {
        log.wait_for(RecordType::TokenRefused, *request).await;
        let found = log.about(RecordType::TokenRefused, *request);
        let found: Vec<&str> = found.iter().filter_map(|record| record.claim("code")).collect();
        assert!(found.len() == 1 && codes.contains(&found[0]), "{found:?} is not {codes:?}");
        until("an end", || async { (house.detail(*request).await.state == RequestState::Stale).then_some(()) }).await;
        assert_eq!(house.operation(*request).await, Some(OperationState::NotStarted));
        assert!(log.about(RecordType::TokenMinted, *request).is_empty());
    }
    // The one that nobody touched runs, once, and is the only one.
    until("the effect", || async { (house.operation(honest).await == Some(OperationState::Succeeded)).then_some(()) }).await;
    assert_eq!(house.effects().await, 1);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects[0].args, refund_args(1500));
    // A late try to make the written one good finds it ended.
    let late = house.admin.approve(amount, ROLE).await.expect_err("too late");
    assert_eq!(late.code(), Some("request_stale"));
}

fn signature_in(envelope: &str) -> String {
    let from = envelope.find("\"sig\":\"").expect("a signature") + 7;
    envelope[from..].split('"').next().expect("an end").to_owned()
}

/// The token itself in the agent's hands. It is for the executor, over the arguments that the executor digests; no place of
/// the gate's takes it from anybody else, and a try does not use it up.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_leaked_runs_nothing_anywhere() {
    let kept = tempfile::NamedTempFile::new().expect("a file");
    let path = kept.path().display().to_string();
    let variables = [("VIDIMUS_SEAM", "after_mint"), ("VIDIMUS_SEAM_TOKENS", path.as_str())];
    let mut house = House::open_with(|table| table, &variables).await;
    let mut log = Log::follow(&house).await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    // The admission of nobody: only this one token is minted, and the gate ends right after it.
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "leaked")).await;
    // The receipt may be cut by the end of the process; what counts is what is on record.
    let _ = house.admin.approve(request_of(&waiting), ROLE).await;
    house.ended();
    let token = std::fs::read_to_string(kept.path()).expect("a token").trim().to_owned();
    assert!(token.starts_with("v4.public."), "{token}");
    house.start();
    log.follow_on(&house).await;

    let operation = house.detail(request_of(&waiting)).await.operation.expect("an operation").operation;
    let session = house.admin.new_session().await.expect("a session").session;
    let big = refund_args(90_000);
    let bodies = [
        format!(r#"{{"token":"{token}","args":{big}}}"#),
        format!(r#"{{"tool":"refund","args":{big},"token":"{token}"}}"#),
        format!(r#"{{"tool":"issue_credit","args":{big},"execution_token":"{token}"}}"#),
        format!(r#"{{"envelope":"{token}"}}"#),
        token.clone(),
    ];
    let request = request_of(&waiting);
    let paths = [
        "/v1/calls".to_owned(),
        format!("/v1/calls/{}", waiting.call),
        format!("/v1/calls/{}/resume", waiting.call),
        "/v1/tokens/redeem".to_owned(),
        "/v1/executions".to_owned(),
        format!("/v1/operations/{operation}/result"),
        format!("/v1/operations/{operation}/heartbeat"),
        format!("/v1/requests/{request}/decisions"),
    ];
    for path in &paths {
        for body in &bodies {
            for bearer in [&credential, &session, &token] {
                let answer = post(&format!("{}{path}", house.url), bearer, body.as_bytes()).await;
                assert!(answer.is_client_error(), "{path}: {} {}", answer.status, answer.text);
            }
        }
    }
    let header = [("x-execution-token", token.as_str())];
    let body = format!(r#"{{"tool":"refund","args":{big},"call_key":"{}"}}"#, call_key("leaked"));
    let answer = send(Method::POST, &format!("{}/v1/calls", house.url), Some(&credential), &header, body.into_bytes()).await;
    assert_eq!(answer.code(), "operation_key_conflict");

    // The gate mints anew once the lost token is over, runs what was approved, once; the lost one never counts.
    let told = billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome");
    assert_eq!((told.status, told.attempt), (CallStatus::Executed, Some(1)), "{}", told.words);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.iter().map(|effect| effect.args.clone()).collect::<Vec<_>>(), [refund_args(1500)]);
    assert_eq!(house.effects().await, 1);
    log.rest(&house).await;
    let minted: Vec<&str> = log.about(RecordType::TokenMinted, request).iter().filter_map(|record| record.claim("jti_sha256")).collect();
    let redeemed: Vec<&str> =
        log.about(RecordType::TokenRedeemed, request).iter().filter_map(|record| record.claim("jti_sha256")).collect();
    assert_eq!((minted.len(), redeemed.len()), (2, 1));
    assert_eq!(redeemed[0], minted[1]);
}

/// Whatever stands where a decision should, and whoever signed it: it decides nothing and is on record.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_decision_is_no_decision() {
    let house = House::open().await;
    let agents = agents(&house);
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    for MoneyCall { agent, role, tool, args, .. } in MONEY {
        let waiting = pending(&agents[agent], &call(tool.name(), args, tool.name())).await;
        let request = request_of(&waiting);
        let statement = house.admin.statement(request, DecisionKind::Approve, role).await.expect("a statement");
        let signed = statement.sign(&house.admin.approval).expect("signed");
        let payload = std::str::from_utf8(signed.danger_unverified_payload()).expect("text");
        let approve = r#""decision":"approve""#;
        assert!(payload.contains(approve));
        let mut bodies: Vec<Vec<u8>> = UNSIGNED.iter().map(|body| body.as_bytes().to_vec()).collect();
        // The same emptiness, but under a good signature of the right key.
        for decision in UNDECIDED {
            let payload = payload.replace(approve, decision);
            bodies.push(signed_body(DECISION_TYPE, canonical(&payload).as_bytes(), &house.admin.approval).into_bytes());
        }
        // Other encodings of a good approval.
        let good = signed_body(DECISION_TYPE, payload.as_bytes(), &house.admin.approval);
        bodies.push(good.encode_utf16().flat_map(u16::to_le_bytes).collect());
        bodies.push([b"\xef\xbb\xbf", good.as_bytes()].concat());
        bodies.push(format!("envelope={good}").into_bytes());
        bodies.push(format!("{good}\0").into_bytes());
        bodies.push(good.as_bytes()[..good.len() - 1].to_vec());
        let url = format!("{}/v1/requests/{request}/decisions", house.url);
        for body in &bodies {
            let answer = post(&url, &session, body.clone()).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
            assert!(answer.is_client_error(), "{shown}: {} {}", answer.status, answer.text);
        }
        for header in
            [("content-encoding", "gzip"), ("x-http-method-override", "PUT"), ("content-type", "application/x-www-form-urlencoded")]
        {
            let answer = send(Method::POST, &url, Some(&session), &[header], b"decision=approve".to_vec()).await;
            assert!(answer.is_client_error(), "{header:?}: {}", answer.status);
        }
        let tried = bodies.len() + 3;
        let found = log.refusals(tried).await;
        assert!(found.iter().all(|refused| refused.record_type == RecordType::DecisionRefused && refused.request == Some(request)));
        let detail = house.detail(request).await;
        assert_eq!((detail.state, detail.decisions.len()), (RequestState::Pending, 0), "{}", tool.name());
        // None of them burnt anything: the honest one still counts.
        house.admin.hand_in(request, &statement).await.expect("it counts");
        assert_eq!(agents[agent].outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
        assert_eq!(house.count(*tool).await, 1);
    }
    assert_eq!(log.rest(&house).await, []);
}

/// Bodies that hold no envelope, or not where it belongs.
const UNSIGNED: &[&str] = &[
    "",
    "null",
    "true",
    "\"approve\"",
    "{}",
    "[]",
    r#"{"decision":null}"#,
    r#"{"decision":""}"#,
    r#"{"decision":"Approve"}"#,
    r#"{"decision":"approve"}"#,
    r#"{"approved":"false"}"#,
    r#"{"approved":1}"#,
    r#"{"approved":true}"#,
    r#"{"envelope":null,"approved":true}"#,
    r#"{"envelope":{},"denial":null}"#,
    r#"{"denial":{"kind":"other","note":""}}"#,
    r#"{"type":"accept"}"#,
    r#"{"action":"accept","content":{"approve":true}}"#,
];

/// What stands in a signed statement where a decision belongs.
const UNDECIDED: &[&str] = &[
    r#""decision":null"#,
    r#""decision":"""#,
    r#""decision":"Approve""#,
    r#""decision":"approve ""#,
    r#""decision":"approved""#,
    r#""decision":"edit""#,
    r#""decision":true"#,
    r#""decision":1"#,
    r#""decision":["approve"]"#,
    r#""decision":{"approve":true}"#,
    r#""decisions":"approve""#,
    r#""decision":"approve","deny":false"#,
    r#""decision":"deny","decision":"approve""#,
];

/// The canonical form of a payload that has one; else as it is.
fn canonical(payload: &str) -> String {
    use vidimus_core::json::{Limits, parse};
    match parse(payload.as_bytes(), &Limits::STATEMENT).and_then(|json| json.canonical()) {
        Ok(bytes) => String::from_utf8(bytes).expect("text"),
        Err(_) => payload.to_owned(),
    }
}

/// A denial is remembered across a crash, for every tool, and everything that comes after it learns that it was denied.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_outlives_the_gate_and_whatever_comes_after_it() {
    let mut house = House::open().await;
    let agents = agents(&house);
    let mut log = Log::follow(&house).await;
    let mut denied = Vec::new();
    for money in MONEY {
        let waiting = pending(&agents[money.agent], &call(money.tool.name(), money.args, money.tool.name())).await;
        let request = request_of(&waiting);
        let mut late = Vec::new();
        for decision in [DecisionKind::Approve, DecisionKind::Retract, DecisionKind::Revoke, DecisionKind::MoreTime] {
            late.push(house.admin.statement(request, decision, money.role).await.expect("a statement"));
        }
        house.admin.deny(request, money.role, DenialKind::WrongPayee, "wrong payee").await.expect("it counts");
        denied.push((money, waiting, late));
    }
    house.kill();
    house.start();
    log.follow_on(&house).await;
    for (money, waiting, late) in &denied {
        let (agent, request) = (&agents[money.agent], request_of(waiting));
        for _ in 0..3 {
            let polled = agent.outcome(&waiting.call, 0).await.expect("an outcome");
            let resumed = agent.call(&call(money.tool.name(), money.args, money.tool.name()), 1).await.expect("the answer");
            // Without its key too: an equal call of the same run is the same call.
            let unkeyed = agent.call(&CallRequest::new(money.tool.name(), json(money.args)), 1).await.expect("the answer");
            for told in [polled, resumed, unkeyed] {
                assert_eq!((told.call, told.status, told.code.as_str()), (waiting.call, CallStatus::Denied, "denied"));
                assert!(!told.words.contains("approved") && told.result.is_none() && told.operation.is_none());
                assert_eq!(told.denial.expect("a reason").note, "wrong payee");
            }
        }
        for statement in late {
            let problem = refused(house.admin.hand_in(request, statement).await);
            assert_eq!((problem.status, problem.code.as_str()), (409, "request_already_decided"), "{}", statement.decision);
            assert_eq!((problem.request, problem.state.as_deref()), (Some(request), Some("denied")));
        }
        let fresh = house.admin.approve(request, money.role).await.expect_err("too late");
        assert_eq!(fresh.code(), Some("request_already_decided"));
        assert_eq!(problem_of(agent.withdraw(&waiting.call).await).code, "request_already_decided");
        let detail = house.detail(request).await;
        assert_eq!((detail.state, detail.decisions.len()), (RequestState::Denied, 1));
        assert_eq!(log.codes(RecordType::DecisionRefused, late.len()).await, vec!["request_already_decided"; late.len()]);
    }
    assert_eq!(log.rest(&house).await, []);
    assert_eq!(log.of(RecordType::TokenMinted).count(), 0);
    assert_eq!(house.effects().await, 0);
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0);
}

/// One of two approvals, then a denial: denied. An approval that was taken back counts for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_after_the_first_of_two_approvals_is_final() {
    let mut house =
        House::open_with(|table| table.replace("role = \"billing-approver\", quorum = 1", "role = \"billing-approver\", quorum = 2"), &[])
            .await;
    let second = house.person("Bert Beispiel", &[ROLE], 2).await;
    let billing = house.agent("billing", &[]);
    let denied = pending(&billing, &call("refund", &refund_args(1500), "two-denied")).await;
    let retracted = pending(&billing, &call("refund", &refund_args(1501), "two-retracted")).await;
    house.admin.approve(request_of(&denied), ROLE).await.expect("it counts");
    let late = house.admin.statement(request_of(&denied), DecisionKind::Approve, ROLE).await.expect("a statement");
    second.deny(request_of(&denied), ROLE, DenialKind::NotExpected, "").await.expect("it counts");
    house.admin.approve(request_of(&retracted), ROLE).await.expect("it counts");
    // Twice by one person is once.
    let twice = house.admin.approve(request_of(&retracted), ROLE).await.expect_err("a second approval");
    assert_eq!(twice.code(), Some("already_approved"));
    let back = house.admin.statement(request_of(&retracted), DecisionKind::Retract, ROLE).await.expect("a statement");
    house.admin.hand_in(request_of(&retracted), &back).await.expect("it counts");
    house.kill();
    house.start();
    assert_eq!(refused(house.admin.hand_in(request_of(&denied), &late).await).code, "request_already_decided");
    let receipt = second.approve(request_of(&retracted), ROLE).await.expect("it counts");
    assert_eq!((receipt.state, receipt.quorum.given, receipt.quorum.needed), (RequestState::Pending, 1, 2));
    assert_eq!(billing.outcome(&denied.call, 0).await.expect("an outcome").status, CallStatus::Denied);
    assert_eq!(billing.outcome(&retracted.call, 0).await.expect("an outcome").status, CallStatus::Pending);
    assert_eq!(house.effects().await, 0);
    // With the second standing approval it runs.
    house.admin.approve(request_of(&retracted), ROLE).await.expect("it counts");
    assert_eq!(billing.outcome(&retracted.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    assert_eq!(house.effects().await, 1);
}

/// There is no edit: not in a body, not under a signature, not by an agent. The frozen bytes stay what they were.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_changes_neither_the_tool_nor_the_arguments() {
    let house = House::open().await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    let waiting = pending(&billing, &call("refund", &refund_args(1500), "edit")).await;
    let request = request_of(&waiting);
    let before = house.detail(request).await;
    let statement = house.admin.statement(request, DecisionKind::Approve, ROLE).await.expect("a statement");
    let payload =
        String::from_utf8(statement.sign(&house.admin.approval).expect("signed").danger_unverified_payload().to_vec()).expect("text");
    let good = signed_body(DECISION_TYPE, payload.as_bytes(), &house.admin.approval);
    let beside = |member: &str| good.replacen('{', &format!("{{{member},"), 1);
    let within = |from: &str, to: &str| {
        assert!(payload.contains(from), "{from}");
        signed_body(DECISION_TYPE, canonical(&payload.replace(from, to)).as_bytes(), &house.admin.approval)
    };
    let edits = [
        r#"{"type":"edit","tool":"wire_transfer","args":{"amount_minor":999999,"to_account":"EVIL"}}"#.to_owned(),
        r#"{"decision":"edit","edited_action":{"name":"wire_transfer","args":{"amount_minor":999999}}}"#.to_owned(),
        beside(r#""args":{"amount_minor":999999}"#),
        beside(r#""tool":"wire_transfer""#),
        beside(r#""frozen":"{}""#),
        within(r#""decision":"approve""#, r#""decision":"edit""#),
        within(r#""decision":"approve""#, r#""args":{"amount_minor":999999},"decision":"approve""#),
        within(r#""tool":"refund""#, r#""tool":"wire_transfer""#),
        within(r#""tool":"refund""#, r#""tool":"issue_credit""#),
        within(r#""tool":"refund""#, r#""tool":"Refund""#),
        within(r#""tool":"refund""#, r#""tool":"gate.roster.change""#),
        within(&statement.args_sha256.to_string(), &Digest::of(b"other arguments").to_string()),
        within(&statement.request_sha256.to_string(), &Digest::of(b"other bytes").to_string()),
    ];
    let url = format!("{}/v1/requests/{request}", house.url);
    for edit in &edits {
        let answer = post(&format!("{url}/decisions"), &session, edit.as_bytes()).await;
        assert!(answer.is_client_error(), "{edit}: {} {}", answer.status, answer.text);
    }
    assert_eq!(log.refusals(edits.len()).await.iter().filter(|refused| refused.request == Some(request)).count(), edits.len());
    // No method changes a request or a call in its place.
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        for (bearer, url) in [(&session, url.clone()), (&credential, format!("{}/v1/calls/{}", house.url, waiting.call))] {
            let answer = send(method.clone(), &url, Some(bearer), &[], br#"{"args":{"amount_minor":999999}}"#.to_vec()).await;
            assert_eq!(answer.status, 405, "{method} {url}");
        }
    }
    let after = house.detail(request).await;
    assert_eq!((after.frozen, after.state), (before.frozen, RequestState::Pending));
    let again = billing.outcome(&waiting.call, 0).await.expect("an outcome");
    assert_eq!((again.tool.as_str(), again.request_sha256), ("refund", waiting.request_sha256));
    assert_eq!(house.effects().await, 0);
    assert_eq!(log.of(RecordType::RequestCreated).count(), 1, "no second request came out of an edit");
    house.admin.hand_in(request, &statement).await.expect("it counts");
    assert_eq!(billing.outcome(&waiting.call, WAIT_S).await.expect("an outcome").status, CallStatus::Executed);
    let effects = house.inspector.effects(Tool::Refund).await.expect("effects");
    assert_eq!(effects.iter().map(|effect| effect.args.clone()).collect::<Vec<_>>(), [refund_args(1500)]);
}

/// The spellings of one member name that a second parser may read as another.
const TWINS: &[(&str, &str)] = &[
    ("plain", r#"{"amount_minor":1,"amount_minor":90000,"currency":"EUR"}"#),
    ("escaped", r#"{"amount_minor":1,"amount\u005fminor":90000}"#),
    ("escaped in capitals", r#"{"amount_minor":1,"amount\u005Fminor":90000}"#),
    ("escaped first letter", r#"{"\u0061mount_minor":1,"amount_minor":90000}"#),
    ("both escaped", r#"{"\u0061mount_minor":1,"amount_mino\u0072":90000}"#),
    ("nested", r#"{"payee":{"iban":"A","iban":"B"}}"#),
    ("in a list", r#"{"payees":[{"iban":"A"},{"iban":"A","iban":"B"}]}"#),
    ("deep", r#"{"a":{"b":{"c":[[[{"d":1,"\u0064":2}]]]}}}"#),
    ("a slash", r#"{"a/b":1,"a\/b":2}"#),
    ("a pair of surrogates", "{\"😀\":1,\"\\ud83d\\ude00\":2}"),
    ("an empty name", r#"{"":1,"":2}"#),
    ("equal values", r#"{"amount_minor":1,"amount_minor":1}"#),
    ("a prototype", r#"{"__proto__":{"a":1},"__proto__":{"a":2}}"#),
    ("a tab", "{\"a\\t\":1,\"a\\u0009\":2}"),
];

/// Two values under one name are refused wherever they stand: money, writes, reads, and the documents around them.
#[tokio::test(flavor = "multi_thread")]
async fn two_values_under_one_name_are_refused_everywhere_and_freeze_nothing() {
    let house = House::open().await;
    let (billing, support) = (house.credential("billing", &[]), house.credential("support", &[]));
    let session = house.admin.new_session().await.expect("a session").session;
    let mut log = Log::follow(&house).await;
    let calls = format!("{}/v1/calls", house.url);
    let expect = |what: &str, answer: Answer| assert_eq!((answer.status, answer.code().as_str()), (400, "json_duplicate_key"), "{what}");
    // Money, a write, a read, an unknown tool: the document is judged before anything in it is.
    let tools = [(&billing, "refund"), (&support, "update_ticket_tags"), (&support, "search"), (&billing, "run_shell")];
    for (name, args) in TWINS {
        for (credential, tool) in tools {
            expect(name, post(&calls, credential, format!(r#"{{"tool":"{tool}","args":{args}}}"#)).await);
        }
    }
    let around = [
        format!(r#"{{"tool":"refund","tool":"search","args":{}}}"#, refund_args(1)),
        format!(r#"{{"tool":"refund","args":{},"args":{}}}"#, refund_args(1), refund_args(90_000)),
        format!(r#"{{"tool":"refund","args":{},"\u0061rgs":{}}}"#, refund_args(1), refund_args(90_000)),
        format!(r#"{{"tool":"refund","args":{},"run":null,"run":null}}"#, refund_args(1)),
    ];
    for body in &around {
        expect(body, post(&calls, &billing, body.as_bytes()).await);
    }
    let found = log.codes(RecordType::CallRefused, TWINS.len() * tools.len() + around.len()).await;
    assert!(found.iter().all(|code| code == "json_duplicate_key"), "{found:?}");
    // What people and strangers send is read by the same parser.
    let nobody = RequestId::from_random([9; 16]);
    for (path, bearer, body) in [
        (format!("/v1/requests/{nobody}/decisions"), &session, r#"{"envelope":{},"envelope":{}}"#),
        (format!("/v1/requests/{nobody}/decisions"), &session, r#"{"envelope":{"payload":"","payload":""}}"#),
        (format!("/v1/requests/{nobody}/challenge"), &session, r#"{"key_sha256":"","key_sha256":""}"#),
        ("/v1/sessions".to_owned(), &session, r#"{"envelope":{},"envelope":{}}"#),
        ("/v1/sessions/challenges".to_owned(), &session, r#"{"key_sha256":"a","key\u005fsha256":"b"}"#),
        ("/v1/enrolments".to_owned(), &session, r#"{"code":"a","code":"b"}"#),
        ("/v1/enrolments/offer".to_owned(), &session, r#"{"code":"a","code":"b"}"#),
    ] {
        expect(&path, post(&format!("{}{path}", house.url), bearer, body).await);
    }
    // Names that only look alike are two names, and the schema knows one of them.
    for args in ["{\"reason\":\"x\",\"re\\u0430son\":\"y\"}", "{\"caf\\u00e9\":1,\"cafe\\u0301\":2}", r#"{"reason":"x","Reason":"y"}"#] {
        let answer = post(&calls, &billing, format!(r#"{{"tool":"refund","args":{args}}}"#)).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "arguments_invalid"), "{args}");
    }
    log.rest(&house).await;
    assert_eq!(log.of(RecordType::RequestCreated).count(), 0);
    assert_eq!(log.of(RecordType::WriteIntended).count() + log.of(RecordType::ReadExecuted).count(), 0);
    assert_eq!(house.inspector.calls().await.expect("calls").len(), 0);
}
