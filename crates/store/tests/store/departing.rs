//! A person leaves: what their agents asked for and what they proposed themselves ends with them, whatever the columns say.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, TABLE, name};
use crate::forged::forge;

const ROLE: &str = "billing-approver";

/// A gate whose agent `billing` is anew, with this owner and sent by this agent.
async fn with_billing_of(owner: impl Fn(&Approver) -> Option<&Approver>, parent: Option<&str>) -> (Gate, Approver, Approver, Approver) {
    let (gate, ada, bea, cem) = Gate::with_people().await;
    let revoked = gate.store.revoke_agent(gate.moment(), name("billing")).await.expect("an outcome");
    assert_eq!(revoked, AgentRevoked::Revoked { ended: 0 });
    if let Some(parent) = parent {
        gate.add_agent(parent, Some(cem.person)).await;
    }
    let owner = owner(&cem).map(|owner| owner.person);
    let credential_sha256 = Digest::of(b"billing, anew");
    let agent = AddAgent { agent: name("billing"), owner, parent: parent.map(name), credential_sha256 };
    assert_eq!(gate.store.add_agent(gate.moment(), agent).await.expect("an outcome"), AgentAdded::Added);
    (gate, ada, bea, cem)
}

async fn goes(gate: &Gate, admin: &Approver, gone: &Approver) {
    let request = gate.ask_for(admin, ProposedChange::Remove { person: gone.person }).await.expect("asked");
    gate.carry_out_admission(admin, request).await;
}

async fn refusal(gate: &Gate) -> Code {
    match gate.freeze(gate.received("billing", "refund", None), r#"{"invoice":"9","amount_minor":1,"currency":"EUR"}"#).await {
        FreezeOutcome::Refused(refusal) => refusal.code,
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn what_waits_of_a_person_who_left_is_stale_and_the_rest_waits_on() {
    let (mut gate, ada, bea, cem) = with_billing_of(|cem| Some(cem), None).await;
    let (_, pending) = gate.refund("1").await;
    let (_, unused) = gate.refund("2").await;
    let operation = gate.approve(&bea, unused, ROLE).await.operation.expect("a quorum");
    let token = gate.token(operation).await;
    let FreezeOutcome::Created { request: other, .. } =
        gate.freeze(gate.received("support", "refund", None), r#"{"invoice":"3","amount_minor":1,"currency":"EUR"}"#).await
    else {
        panic!("it waits")
    };
    let text = TABLE.replace("pending_max = 3", "pending_max = 4");
    let propose = ProposeTable { proposer: cem.person, text, call: gate.call_id(), request: gate.request_id(), salt: gate.salt() };
    let ProposeTableOutcome::Waiting(proposed) = gate.store.propose_table(gate.moment(), propose).await.expect("an outcome") else {
        panic!("it waits")
    };
    let size = gate.size().await;
    goes(&gate, &ada, &cem).await;
    let told = gate.told_since(size).await;
    assert_eq!(told.iter().filter(|told| *told == "request_stale:agent_owner_gone").count(), 2, "{told:?}");
    for (request, code) in [(pending, Code::AgentOwnerGone), (unused, Code::AgentOwnerGone), (proposed.request, Code::RosterStale)] {
        let view = gate.view(request).await;
        assert_eq!((view.state, view.end_code), (RequestState::Stale, Some(code)));
    }
    assert_eq!(gate.view(other).await.state, RequestState::Pending, "nobody enrolled answers for its agent, and nobody left");
    assert!(matches!(gate.redeem(token).await, RedeemOutcome::Refused(refusal) if refusal.code == Code::TokenUnknown));
    assert_eq!(gate.store.operation(operation).await.expect("a reading").expect("an operation").state, OperationState::NotStarted);
    assert_eq!(refusal(&gate).await, Code::AgentOwnerGone);
    let shown = gate.store.authenticate_agent(Digest::of(b"billing, anew")).await.expect("a reading").expect("its credential stands");
    let why = gate.store.unanswered_for(&shown).await.expect("a reading").expect("a refusal");
    assert!(why.code == Code::AgentOwnerGone && why.message.contains("`billing`"), "{why}");
    gate.reopen();
    assert_eq!(gate.store.recover_at_start(gate.moment()).await.expect("a start"), 0);
}

#[tokio::test]
async fn an_agent_that_was_sent_by_one_of_a_person_who_left_asks_for_nothing() {
    let (gate, ada, bea, cem) = with_billing_of(|_| None, Some("fleet")).await;
    let (_, pending) = gate.refund("1").await;
    goes(&gate, &ada, &bea).await;
    assert_eq!(gate.view(pending).await.state, RequestState::Pending, "somebody else left");
    goes(&gate, &ada, &cem).await;
    assert_eq!(gate.view(pending).await.end_code, Some(Code::AgentOwnerGone));
    assert_eq!(refusal(&gate).await, Code::AgentOwnerGone);
}

#[tokio::test]
async fn columns_that_hide_whose_a_request_is_bring_nothing() {
    let (mut gate, ada, bea, cem) = with_billing_of(|cem| Some(cem), None).await;
    let (_, unused) = gate.refund("1").await;
    let operation = gate.approve(&bea, unused, ROLE).await.operation.expect("a quorum");
    forge(&mut gate, "UPDATE calls SET agent = 'support' WHERE tool = 'refund'");
    goes(&gate, &ada, &cem).await;
    assert_eq!(gate.view(unused).await.state, RequestState::Approved, "it is not found among those that end");
    assert!(matches!(gate.mint(operation).await.0, MintOutcome::Refused(refusal) if refusal.code == Code::AgentOwnerGone));
}
