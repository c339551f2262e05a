//! Who may answer for an outcome does not change by what is revoked or stopped later, and a start judges as the running gate did.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::ids::PersonId;
use vidimus_core::operation::OperationState;
use vidimus_core::reconciliation::Answer;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name, names};
use crate::operations::state;
use crate::reconciliations::{lost_wire, lost_write, plain, refused, say, signed};

const LEAD: &str = "support-lead";

/// A write in doubt of an agent of Emil's, who holds the owner's role; so does Dora, whose no agent is.
async fn write_of_an_agent_of_emil() -> (Gate, vidimus_core::operation::OperationKey, Approver, Approver) {
    let (gate, ada) = Gate::with_admin().await;
    let dora = gate.admit(&ada, "Dora Example", &[LEAD]).await;
    let emil = gate.admit(&ada, "Emil Example", &[LEAD]).await;
    gate.add_agent("support", Some(emil.person)).await;
    let operation = lost_write(&gate).await;
    (gate, operation, dora, emil)
}

async fn revoke(gate: &Gate) {
    let outcome = gate.store.revoke_agent(gate.moment(), name("support")).await.expect("an outcome");
    assert!(matches!(outcome, AgentRevoked::Revoked { .. }), "{outcome:?}");
}

async fn add_anew(gate: &Gate, owner: Option<PersonId>) {
    let add = AddAgent { agent: name("support"), owner, parent: None, credential_sha256: Digest::of(b"anew") };
    assert_eq!(gate.store.add_agent(gate.moment(), add).await.expect("an outcome"), AgentAdded::Added);
}

#[tokio::test]
async fn nobody_answers_for_a_write_of_their_own_agent_whatever_becomes_of_the_agent() {
    for afterwards in ["stays", "revoked", "given to nobody", "given to somebody else"] {
        let (mut gate, operation, dora, emil) = write_of_an_agent_of_emil().await;
        gate.advance_s(3600);
        if afterwards != "stays" {
            revoke(&gate).await;
        }
        match afterwards {
            "given to nobody" => add_anew(&gate, None).await,
            "given to somebody else" => add_anew(&gate, Some(dora.person)).await,
            _ => {}
        }
        let own = signed(&gate, &emil, operation, Answer::Happened, LEAD, &plain).await;
        assert_eq!(refused(&gate, own).await, Code::SelfApproval, "{afterwards}");
        let size = gate.size().await;
        gate.store.open_operation(gate.moment(), operation, emil.person, names(&[LEAD])).await.expect("an outcome");
        assert_eq!(gate.size().await, size, "{afterwards}: nobody's pages end by the look of who may not answer");
        let receipt = say(&gate, &dora, operation, Answer::Happened, LEAD, &plain).await;
        assert_eq!(receipt.state, OperationState::Succeeded, "{afterwards}");
        gate.reopen();
        gate.store.verify(None).await.unwrap_or_else(|error| panic!("{afterwards}: {error}"));
        assert_eq!(state(&gate, operation).await.0, OperationState::Succeeded);
    }
}

/// The chain that a write carries is the whole one: whoever answers for an agent that sent the one that wrote is asked as little.
#[tokio::test]
async fn the_record_of_a_write_names_everyone_who_sent_it() {
    let (gate, ada) = Gate::with_admin().await;
    let emil = gate.admit(&ada, "Emil Example", &[LEAD]).await;
    gate.add_agent("billing", Some(emil.person)).await;
    let sent = AddAgent { agent: name("support"), owner: None, parent: Some(name("billing")), credential_sha256: Digest::of(b"sent") };
    assert_eq!(gate.store.add_agent(gate.moment(), sent).await.expect("an outcome"), AgentAdded::Added);
    let operation = lost_write(&gate).await;
    let log = gate.log().await;
    let mut leaves = log.iter().map(|record| AuditRecord::parse(record.leaf.as_bytes()).expect("a leaf"));
    let intended = leaves.rfind(|leaf| leaf.record_type == RecordType::WriteIntended).expect("an intent");
    let agents = intended.claims.member("agents").expect("agents").canonical().expect("canonical");
    let expected = format!(r#"[{{"agent":"support","owner":null}},{{"agent":"billing","owner":"{}"}}]"#, emil.person);
    assert_eq!(String::from_utf8(agents).expect("text"), expected);
    let outcome = gate.store.revoke_agent(gate.moment(), name("billing")).await.expect("an outcome");
    assert!(matches!(outcome, AgentRevoked::Revoked { .. }));
    let own = signed(&gate, &emil, operation, Answer::Happened, LEAD, &plain).await;
    assert_eq!(refused(&gate, own).await, Code::SelfApproval);
}

/// Whoever exchanges the agents of a record cannot answer for their own either: without them the record is none.
#[tokio::test]
async fn a_write_whose_agents_are_gone_from_its_record_takes_no_answer() {
    let (mut gate, operation, dora, _) = write_of_an_agent_of_emil().await;
    let sent = signed(&gate, &dora, operation, Answer::Happened, LEAD, &plain).await;
    crate::forged::forge(&mut gate, "UPDATE records SET leaf = replace(leaf, '\"agents\":', '\"others\":') WHERE type = 'write_intended'");
    gate.store.record_reconciliation(gate.moment(), sent).await.expect_err("nobody knows whose it is");
    gate.store.verify(None).await.expect_err("the log is another one");
}

/// What a person said last is what they say, whichever of their keys it was said with: a key that is stopped takes its own answer
/// away, and brings no older one back.
#[tokio::test]
async fn an_older_answer_does_not_come_back_when_the_key_of_the_newer_one_is_stopped() {
    let (mut gate, operation, bea, cem) = lost_wire().await;
    let ada = gate.approver("Ada Example");
    let laptop = gate.add_desktop(&ada, &cem, "laptop").await;
    assert_eq!(say(&gate, &cem, operation, Answer::Happened, "treasury", &plain).await.given, 1);
    say(&gate, &laptop, operation, Answer::StillUnknown, "treasury", &plain).await;
    let stop = gate.stop_of(cem.person, &[&laptop.approval, &laptop.device]);
    assert!(matches!(gate.stop(&stop, &cem.approval).await, StopOutcome::Stopped { .. }));
    let receipt = say(&gate, &bea, operation, Answer::Happened, "treasury", &plain).await;
    assert_eq!((receipt.given, receipt.state), (1, OperationState::NeedsReconciliation), "Cem has taken it back");
    let receipt = say(&gate, &cem, operation, Answer::Happened, "treasury", &plain).await;
    assert_eq!((receipt.given, receipt.state), (2, OperationState::Succeeded));
    gate.reopen();
    gate.store.verify(None).await.expect("a start judges as the running gate did");
    assert_eq!(state(&gate, operation).await.0, OperationState::Succeeded);
}
