//! Agents that are revoked, renamed owners and lists that shrink: checked when a call runs, not when it was frozen.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::ids::RequestId;
use vidimus_core::operation::{Answer, OperationKey, OperationState};
use vidimus_core::request::RequestState;
use vidimus_core::table::Table;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, TABLE, name};
use crate::forged::forge;

const ROLE: &str = "billing-approver";

async fn revoke(gate: &Gate, agent: &str) -> AgentRevoked {
    gate.store.revoke_agent(gate.moment(), name(agent)).await.expect("an outcome")
}

async fn approved(gate: &Gate, approver: &Approver, invoice: &str) -> (RequestId, OperationKey) {
    let (_, request) = gate.refund(invoice).await;
    (request, gate.approve(approver, request, ROLE).await.operation.expect("a quorum"))
}

async fn state(gate: &Gate, operation: OperationKey) -> OperationState {
    gate.store.operation(operation).await.expect("a reading").expect("an operation").state
}

#[tokio::test]
async fn a_revoked_agent_calls_no_more_and_nothing_of_it_runs() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, pending) = gate.refund("1").await;
    let (unused, operation) = approved(&gate, &bea, "2").await;
    let token = gate.token(operation).await;
    let shown = Digest::of(b"billing");
    assert!(gate.store.authenticate_agent(shown).await.expect("a reading").is_some());
    let size = gate.size().await;
    assert_eq!(revoke(&gate, "billing").await, AgentRevoked::Revoked { ended: 2 });
    assert_eq!(
        gate.told_since(size).await,
        ["agent_revoked", "request_stale:agent_revoked", "operation_changed", "request_stale:agent_revoked"]
    );
    assert_eq!(gate.store.authenticate_agent(shown).await.expect("a reading"), None);
    for request in [pending, unused] {
        let view = gate.view(request).await;
        assert_eq!((view.state, view.end_code), (RequestState::Stale, Some(Code::AgentRevoked)));
    }
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::TokenUnknown));
    assert_eq!(state(&gate, operation).await, OperationState::NotStarted);
    let frozen = gate.freeze(gate.received("billing", "refund", None), r#"{"invoice":"3","amount_minor":1,"currency":"EUR"}"#).await;
    assert!(matches!(frozen, FreezeOutcome::Refused(refusal) if refusal.code == Code::CredentialInvalid));
    // Once is enough, and what is not there cannot be revoked.
    assert!(matches!(revoke(&gate, "billing").await, AgentRevoked::Refused(refusal) if refusal.code == Code::AgentRevoked));
    assert!(matches!(revoke(&gate, "nobody").await, AgentRevoked::Refused(refusal) if refusal.code == Code::NotFound));
    assert!(gate.store.verify(None).await.is_ok());
}

#[tokio::test]
async fn an_outcome_in_doubt_of_a_revoked_agent_goes_to_a_person() {
    let (gate, _, bea, _) = Gate::with_people().await;
    let (_, operation) = approved(&gate, &bea, "1").await;
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let unclear = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "502".to_owned() };
    gate.store.record_answer(gate.moment(), unclear).await.expect("an outcome");
    assert_eq!(revoke(&gate, "billing").await, AgentRevoked::Revoked { ended: 0 });
    gate.advance_s(2);
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((due.moved, due.to_mint), (1, Vec::new()));
    assert_eq!(state(&gate, operation).await, OperationState::NeedsReconciliation);
}

#[tokio::test]
async fn a_parent_that_is_revoked_takes_the_agents_that_it_sent_along() {
    let (gate, _, bea, _) = Gate::with_people().await;
    assert_eq!(revoke(&gate, "billing").await, AgentRevoked::Revoked { ended: 0 });
    let parent = AddAgent { agent: name("fleet"), owner: None, parent: None, credential_sha256: Digest::of(b"fleet") };
    assert_eq!(gate.store.add_agent(gate.moment(), parent).await.expect("an outcome"), AgentAdded::Added);
    // The name is free again, under another credential and sent by somebody.
    let credential_sha256 = Digest::of(b"billing, the second");
    let child = AddAgent { agent: name("billing"), owner: None, parent: Some(name("fleet")), credential_sha256 };
    assert_eq!(gate.store.add_agent(gate.moment(), child).await.expect("an outcome"), AgentAdded::Added);
    assert!(gate.store.verify(None).await.is_ok());
    let (unused, _) = approved(&gate, &bea, "1").await;
    assert_eq!(revoke(&gate, "fleet").await, AgentRevoked::Revoked { ended: 1 });
    assert_eq!(gate.view(unused).await.state, RequestState::Stale);
    assert_eq!(gate.store.authenticate_agent(credential_sha256).await.expect("a reading"), None);
}

#[tokio::test]
async fn a_name_that_was_given_out_anew_is_another_agent() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (unused, operation) = approved(&gate, &bea, "1").await;
    gate.advance_ms(1);
    assert_eq!(revoke(&gate, "billing").await, AgentRevoked::Revoked { ended: 1 });
    let again = AddAgent { agent: name("billing"), owner: None, parent: None, credential_sha256: Digest::of(b"billing, the second") };
    assert_eq!(gate.store.add_agent(gate.moment(), again).await.expect("an outcome"), AgentAdded::Added);
    // Somebody makes the request of the first one approved again.
    forge(
        &mut gate,
        "UPDATE requests SET state = 'approved', ended_at = NULL, effect_open = 1, end_code = NULL WHERE tool = 'refund';
         UPDATE operations SET state = 'reserved', ended_at = NULL WHERE tool = 'refund';",
    );
    let refused = gate.mint(operation).await.0;
    assert!(matches!(&refused, MintOutcome::Refused(refusal) if refusal.code == Code::LedgerContradicted), "{refused:?}");
    assert_eq!(gate.view(unused).await.operation.map(|operation| operation.attempt), Some(0));
}

#[tokio::test]
async fn a_credential_is_what_the_log_gave_out_not_what_a_column_says() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    revoke(&gate, "support").await;
    let (_, operation) = approved(&gate, &bea, "1").await;
    let stolen = Digest::of(b"a credential of somebody else");
    forge(
        &mut gate,
        &format!("UPDATE agents SET revoked_at = NULL; UPDATE agents SET credential_sha256 = '{stolen}' WHERE agent = 'billing'"),
    );
    assert_eq!(gate.store.authenticate_agent(Digest::of(b"support")).await.expect("a reading"), None, "revoked on record");
    assert_eq!(gate.store.authenticate_agent(stolen).await.expect("a reading"), None, "never given out");
    assert!(gate.store.verify(None).await.is_err());
    // What was approved rests on the log as well.
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Minted(_)));
    forge(
        &mut gate,
        "UPDATE records SET leaf = replace(leaf, '\"owner\":null', '\"owner\":\"psn_00000000000000000000000000\"') WHERE type = 'agent_added'",
    );
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::AgentRevoked), "another owner");
}

#[tokio::test]
async fn a_tool_that_left_the_agents_list_does_not_run() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let (request, operation) = approved(&gate, &bea, "1").await;
    let token = gate.token(operation).await;
    let toml = TABLE.replacen(r#"tools = ["search", "tag", "refund", "#, r#"tools = ["search", "tag", "#, 1);
    assert_ne!(toml, TABLE);
    let table = Table::parse(&toml).unwrap_or_else(|faults| panic!("{faults:?}"));
    let text = toml.replace('\'', "''");
    let sql = format!(
        "INSERT INTO effect_tables (table_sha256, toml) VALUES ('{digest}', '{text}'); UPDATE gate SET table_sha256 = '{digest}'",
        digest = table.digest()
    );
    forge(&mut gate, &sql);
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::ToolNotListed));
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::RequestStale));
    let view = gate.view(request).await;
    assert_eq!((view.state, view.end_code), (RequestState::Stale, Some(Code::ToolNotListed)));
}
