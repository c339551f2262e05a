//! What approvers and executors do at the fixture's gate: sign decisions, mint, verify and redeem tokens.

use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::Code;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, reason_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Environment, GateId, RequestId};
use vidimus_core::operation::OperationKey;
use vidimus_core::render;
use vidimus_core::statement::SessionStatement;
use vidimus_core::token::{self, TokenClaims, VerifiedToken};
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name};

/// What a test may change about a decision before it is signed.
pub type Twist<'a> = &'a (dyn Fn(&mut DecisionStatement) + Sync);

impl Gate {
    /// A decision as the console makes it, twisted before it is signed.
    pub async fn decision(
        &self,
        approver: &Approver,
        request: RequestId,
        decision: DecisionKind,
        role: &str,
        twist: Twist<'_>,
    ) -> RecordDecision {
        let key_sha256 = approver.approval.public().digest();
        let ask = DecisionChallenge { request, person: approver.person, key_sha256 };
        let outcome = self.store.decision_challenge(self.moment(), ask).await.expect("an outcome");
        let DecisionChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) = outcome else {
            panic!("{outcome:?}")
        };
        let challenge = self.challenge_key.issue(self.fresh_bits(), &request.to_string(), &key_sha256, issued_at);
        let statement = self.statement(approver, request, decision, role).await;
        let statement = DecisionStatement {
            roster_sha256,
            challenge,
            checkpoint: CheckpointRef { size: head.size, root: head.root },
            issued_at,
            expires_at,
            ..statement
        };
        self.signed(approver, request, statement, twist)
    }

    /// A statement that lacks only what a challenge brings.
    pub async fn statement(&self, approver: &Approver, request: RequestId, decision: DecisionKind, role: &str) -> DecisionStatement {
        let view = self.view(request).await;
        let frozen = FrozenRequest::parse(view.frozen.as_bytes()).expect("a stored request");
        let members = frozen.members();
        let row = self.table.row(&members.tool).expect("a row");
        let nodes = render::render(&members.args, row).expect("nodes");
        DecisionStatement {
            gate: members.gate,
            gate_key_sha256: self.log_key.public().digest(),
            environment: Environment::Test,
            request,
            request_sha256: frozen.request_sha256(),
            args_sha256: frozen.args_sha256(),
            tool: members.tool.clone(),
            decision,
            approver: approver.person,
            key_sha256: approver.approval.public().digest(),
            role: name(role),
            row_sha256: members.row_sha256,
            roster_sha256: Digest::of(b"roster"),
            shown_sha256: render::shown_sha256(&members.tool, &nodes).expect("a digest"),
            context_sha256: None,
            challenge: Nonce::from_bytes([0; 32]),
            checkpoint: CheckpointRef { size: 0, root: Digest::of(b"") },
            reason_sha256: None,
            app_version: "test".to_owned(),
            issued_at: self.now(),
            expires_at: self.now().plus_s(300),
        }
    }

    pub fn signed(&self, approver: &Approver, request: RequestId, mut statement: DecisionStatement, twist: Twist<'_>) -> RecordDecision {
        let (mut reason, mut reason_salt) = (None, None);
        if statement.decision == DecisionKind::Deny {
            let salt = self.salt();
            let text = r#"{"kind":"wrong_amount","note":"too much"}"#.to_owned();
            statement.reason_sha256 = Some(reason_sha256(&salt, &text));
            (reason, reason_salt) = (Some(text), Some(salt));
        }
        twist(&mut statement);
        let named = statement.request.to_string();
        RecordDecision {
            request,
            challenge: self.challenge_key.recognise(&statement.challenge, &named, &statement.key_sha256, statement.issued_at),
            envelope: statement.sign(&approver.approval).expect("a decision is signed"),
            reason,
            reason_salt,
            context: None,
            refusal_on_record: true,
        }
    }

    pub async fn record(&self, decision: RecordDecision) -> DecisionOutcome {
        self.store.record_decision(self.moment(), decision).await.expect("an outcome")
    }

    pub async fn decide(&self, approver: &Approver, request: RequestId, decision: DecisionKind, role: &str) -> DecisionOutcome {
        let decision = self.decision(approver, request, decision, role, &|_| {}).await;
        self.record(decision).await
    }

    pub async fn approve(&self, approver: &Approver, request: RequestId, role: &str) -> DecisionReceipt {
        let outcome = self.decide(approver, request, DecisionKind::Approve, role).await;
        let DecisionOutcome::Recorded(receipt) = outcome else { panic!("{outcome:?}") };
        receipt
    }

    /// Opens a session with the person's device key; its bearer's digest.
    pub async fn open_session(&self, approver: &Approver) -> Digest {
        let key_sha256 = approver.device.public().digest();
        let ask = SessionChallenge { key_sha256, challenge: self.nonce() };
        let outcome = self.store.session_challenge(self.moment(), ask).await.expect("an outcome");
        let SessionChallengeOutcome::Issued { issued_at, .. } = outcome else { panic!("{outcome:?}") };
        let gate = GateId::of(&self.log_key.public());
        let statement = SessionStatement { gate, environment: Environment::Test, key_sha256, challenge: ask.challenge, issued_at };
        let session_sha256 = Digest::of(self.nonce().as_bytes());
        let open = OpenSession { envelope: statement.sign(&approver.device).expect("signed"), session_sha256 };
        let outcome = self.store.open_session(self.moment(), open).await.expect("an outcome");
        assert!(matches!(outcome, SessionOutcome::Opened(_)), "{outcome:?}");
        session_sha256
    }

    pub async fn mint(&self, operation: OperationKey) -> (MintOutcome, Nonce) {
        let jti = self.nonce();
        let mint = Mint {
            operation,
            jti_sha256: Digest::of(jti.as_bytes()),
            audience: "gate".to_owned(),
            ttl_s: 60,
            referents: vidimus_core::json::Json::object([]),
        };
        (self.store.mint(self.moment(), mint).await.expect("an outcome"), jti)
    }

    /// A token of this operation, signed and verified as its executor does.
    pub async fn token(&self, operation: OperationKey) -> VerifiedToken {
        let (outcome, jti) = self.mint(operation).await;
        let MintOutcome::Minted(minted) = outcome else { panic!("{outcome:?}") };
        self.sign_token(&minted, jti)
    }

    pub fn sign_token(&self, minted: &Minted, jti: Nonce) -> VerifiedToken {
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
        let text = token::mint(&claims, &self.token_key).expect("a token is signed");
        token::verify(&text, &self.token_key.public(), &minted.audience, &minted.tool, &minted.args_sha256, minted.issued_at)
            .expect("it verifies")
    }

    pub async fn redeem(&self, token: VerifiedToken) -> RedeemOutcome {
        self.store
            .redeem(self.moment(), Redeem { token, lease_s: 30, referents: vidimus_core::json::Json::object([]) })
            .await
            .expect("an outcome")
    }

    /// Mints and carries out a tool of the gate's own.
    pub async fn carry_out(&self, operation: OperationKey) -> OwnToolOutcome {
        let token = self.token(operation).await;
        self.carry_out_with(token).await
    }

    pub async fn carry_out_with(&self, token: VerifiedToken) -> OwnToolOutcome {
        self.store
            .carry_out(self.moment(), Redeem { token, lease_s: 30, referents: vidimus_core::json::Json::object([]) })
            .await
            .expect("an outcome")
    }

    pub async fn redeem_new_token(&self, operation: OperationKey) -> Redeemed {
        let token = self.token(operation).await;
        let outcome = self.redeem(token).await;
        let RedeemOutcome::Redeemed(redeemed) = outcome else { panic!("{outcome:?}") };
        redeemed
    }
}

#[track_caller]
pub fn refused_decision(outcome: DecisionOutcome) -> Code {
    match outcome {
        DecisionOutcome::Refused(refusal) => refusal.code,
        DecisionOutcome::Recorded(_) | DecisionOutcome::Stored(_) | DecisionOutcome::NotFound => panic!("{outcome:?}"),
    }
}
