//! The in-gate executor, handed what no approver has seen: other arguments, another tool, another's token. Nothing is
//! redeemed, nothing is sent.

use std::sync::atomic::{AtomicU32, Ordering};

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::frozen::{ChainLink, Draft, FrozenRequest, Need, business_sha256};
use vidimus_core::ids::{CallId, Environment, GateId, Name, RequestId, RunId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::OperationKey;
use vidimus_core::sign::SecretKey;
use vidimus_core::table::Table;
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, TokenClaims, VerifiedToken};
use vidimus_gate::clock;
use vidimus_gate::executor::Outbound;
use vidimus_gate::executor::money::{Attempted, Order, Permit, Redeem, attempt};
use vidimus_tests::company::{Company, Inspector, Options, Tool, effect_table};

const REFUND: &str = r#"{"amount_minor":1500,"currency":"EUR","invoice":"invoice_842","reason":"broken"}"#;

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// Redeems as the store does: once. The company's credential is what it returns.
struct Once {
    asked: AtomicU32,
}

impl Redeem for Once {
    async fn redeem(&self, token: VerifiedToken) -> Result<Permit, Refusal> {
        if self.asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(Refusal::new(Code::TokenAlreadyRedeemed, "the token was redeemed before"));
        }
        let claims = token.claims();
        Ok(Permit {
            operation: claims.operation,
            attempt: claims.attempt,
            lease_until: clock::now().plus_s(30),
            credential: None,
            ledger: None,
        })
    }

    async fn covered(&self) -> bool {
        true
    }
}

struct Bench {
    table: Table,
    inspector: Inspector,
    _company: Company,
    key: SecretKey,
    audience: Name,
    outbound: Outbound,
    redeemer: Once,
}

impl Bench {
    async fn new() -> Bench {
        let company = Company::start(Options::new("unused")).await.expect("a company");
        // Without a credential the company refuses with 401: what counts here is whether anything arrives at all.
        let toml = effect_table(&company.url);
        let toml: String = toml.split_inclusive('\n').filter(|line| !line.starts_with("credential = ")).collect();
        Bench {
            table: Table::parse(&toml).expect("a table"),
            inspector: company.inspector().expect("an inspector"),
            _company: company,
            key: SecretKey::from_seed(&[1; 32]),
            audience: name("in-gate"),
            outbound: Outbound::new().expect("clients"),
            redeemer: Once { asked: AtomicU32::new(0) },
        }
    }

    fn frozen(&self, tool: &str, args: &str, request: u8) -> FrozenRequest {
        let row = self.table.row(&name(tool)).expect("a row");
        let now = clock::now();
        let log_key = SecretKey::from_seed(&[2; 32]).public();
        let reversibility = row.reversibility.expect("money can be taken back or not");
        FrozenRequest::freeze(Draft {
            gate: GateId::of(&log_key),
            environment: Environment::Test,
            request: RequestId::from_random([request; 16]),
            call: CallId::from_random([request; 16]),
            run: RunId::from_random([1; 16]),
            agents: vec![ChainLink { agent: name("billing"), owner: None }],
            on_behalf_of: None,
            proposer: None,
            upstream: None,
            tool: row.tool.clone(),
            definition_sha256: None,
            row_sha256: row.digest(),
            table_sha256: self.table.digest(),
            effect: row.effect,
            reversibility,
            friction: reversibility,
            needs: vec![Need { role: name("billing-approver"), quorum: 1, escalate_to: None }],
            business_sha256: business_sha256(&row.tool, vec![]).expect("a digest"),
            referents: Json::object([]),
            earlier: vec![],
            salt: Salt::from_bytes([7; 32]),
            created_at: now,
            expires_at: now.plus_s(60),
            expires_max_at: now.plus_s(60),
            args: parse(args.as_bytes(), &Limits::MONEY).expect("arguments"),
        })
        .expect("a frozen request")
    }

    fn claims(&self, frozen: &FrozenRequest) -> TokenClaims {
        let members = frozen.members();
        let now = clock::now();
        TokenClaims {
            jti: Nonce::from_bytes([3; 32]),
            audience: self.audience.to_string(),
            issued_at: now,
            expires_at: now.plus_s(60),
            request: members.request,
            args_sha256: frozen.args_sha256(),
            tool: members.tool.clone(),
            operation: OperationKey::money(&members.tool, &members.request, &frozen.args_sha256()),
            attempt: 1,
            decisions: vec![Digest::of(b"a decision")],
        }
    }

    async fn present(&self, frozen: &FrozenRequest, token: &str, tool: &str) -> Result<(), Code> {
        let order = Order {
            frozen: frozen.bytes(),
            token,
            row: self.table.row(&name(tool)).expect("a row"),
            audience: &self.audience,
            token_key: self.key.public(),
        };
        attempt(order, clock::now, &self.outbound, &self.redeemer).await.map(|_| ()).map_err(|refusal| refusal.code)
    }

    async fn received(&self) -> usize {
        self.inspector.calls().await.expect("calls").len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_approver_has_seen_is_neither_redeemed_nor_sent() {
    let bench = Bench::new().await;
    let good = bench.frozen("refund", REFUND, 1);
    let claims = bench.claims(&good);
    let token = token::mint(&claims, &bench.key).expect("a token");

    let larger = bench.frozen("refund", &REFUND.replace("1500", "90000"), 1);
    assert_eq!(bench.present(&larger, &token, "refund").await, Err(Code::SignatureInvalid), "other arguments");
    let credit = bench.frozen("issue_credit", REFUND, 1);
    assert_eq!(bench.present(&credit, &token, "issue_credit").await, Err(Code::ToolWrong), "another tool, the same arguments");
    let other = bench.frozen("refund", REFUND, 2);
    assert_eq!(bench.present(&other, &token, "refund").await, Err(Code::RequestWrong), "another request, the same arguments");
    assert_eq!(bench.present(&good, &token, "issue_credit").await, Err(Code::RowStale), "another row");

    let forged = token::mint(&claims, &SecretKey::from_seed(&[9; 32])).expect("a token");
    assert_eq!(bench.present(&good, &forged, "refund").await, Err(Code::SignatureInvalid), "another key");
    let elsewhere = token::mint(&TokenClaims { audience: "elsewhere".to_owned(), ..claims.clone() }, &bench.key).expect("a token");
    assert_eq!(bench.present(&good, &elsewhere, "refund").await, Err(Code::SignatureInvalid), "another executor");
    let past = Timestamp::from_ms(clock::now().as_ms() - 120_000).expect("a time");
    let expired = TokenClaims { issued_at: past, expires_at: past.plus_s(60), ..claims.clone() };
    let expired = token::mint(&expired, &bench.key).expect("a token");
    assert_eq!(bench.present(&good, &expired, "refund").await, Err(Code::TokenExpired), "an expired token");
    for broken in ["", "v4.public.", &token[..token.len() - 1], &token.replace("v4.public.", "v4.local.")] {
        assert!(bench.present(&good, broken, "refund").await.is_err(), "`{broken}`");
    }

    assert_eq!(bench.redeemer.asked.load(Ordering::SeqCst), 0, "nothing was redeemed");
    assert_eq!(bench.received().await, 0, "nothing was sent");

    // A bad try does not burn the token; a second good one does not run.
    assert_eq!(bench.present(&good, &token, "refund").await, Ok(()));
    assert_eq!(bench.received().await, 1);
    assert_eq!(bench.present(&good, &token, "refund").await, Err(Code::TokenAlreadyRedeemed));
    assert_eq!(bench.received().await, 1);
    assert_eq!(bench.inspector.count(Tool::Refund).await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_lease_is_over_sends_nothing() {
    struct Late;
    impl Redeem for Late {
        async fn redeem(&self, token: VerifiedToken) -> Result<Permit, Refusal> {
            let claims = token.claims();
            Ok(Permit { operation: claims.operation, attempt: claims.attempt, lease_until: Timestamp::MIN, credential: None, ledger: None })
        }

        async fn covered(&self) -> bool {
            true
        }
    }
    let bench = Bench::new().await;
    let good = bench.frozen("refund", REFUND, 1);
    let token = token::mint(&bench.claims(&good), &bench.key).expect("a token");
    let order = Order {
        frozen: good.bytes(),
        token: &token,
        row: bench.table.row(&name("refund")).expect("a row"),
        audience: &bench.audience,
        token_key: bench.key.public(),
    };
    let attempted = attempt(order, clock::now, &bench.outbound, &Late).await.expect("an attempt");
    let Attempted::Sent { reply, .. } = attempted else { panic!("a provider's tool is sent") };
    assert!(matches!(reply, vidimus_gate::executor::Reply::NothingSent { .. }));
    assert_eq!(bench.received().await, 0);
}
