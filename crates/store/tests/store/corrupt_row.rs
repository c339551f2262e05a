//! A row that cannot be read back: it is named, and the others are swept all the same.

use vidimus_core::operation::{Answer, OperationState};
use vidimus_core::request::RequestState;
use vidimus_store::*;

use crate::fixture::Gate;
use crate::forged::forge;

const ROLE: &str = "billing-approver";

#[tokio::test]
async fn one_row_that_cannot_be_read_back_stops_no_other() {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let mut operations = Vec::new();
    for invoice in ["3", "4"] {
        let (_, request) = gate.refund(invoice).await;
        let operation = gate.approve(&bea, request, ROLE).await.operation.expect("a quorum");
        let attempt = gate.redeem_new_token(operation).await.attempt;
        let brought = RecordAnswer { operation, attempt, answer: Answer::Unclear, result: None, detail: "cut".to_owned() };
        gate.store.record_answer(gate.moment(), brought).await.expect("an outcome");
        operations.push(operation);
    }
    let [doubtful, broken] = operations[..] else { panic!("two operations") };
    let (_, poisoned) = gate.refund("1").await;
    let (_, late) = gate.refund("2").await;
    let (_, waits) = gate.refund("5").await;
    gate.advance_s(30);
    forge(
        &mut gate,
        &format!(
            "PRAGMA ignore_check_constraints = ON;
             UPDATE requests SET frozen = 'x', waits_until = 1 WHERE request = '{poisoned}';
             UPDATE requests SET waits_until = 2 WHERE request = '{late}';
             UPDATE operations SET call = 'x' WHERE operation = '{broken}'"
        ),
    );
    let due = gate.store.due(gate.moment()).await.expect("a sweep");
    let mut expected = vec![format!("operation `{broken}`"), format!("request `{poisoned}`")];
    expected.sort();
    assert_eq!(due.corrupt, expected);
    assert_eq!(gate.view(late).await.state, RequestState::Expired);
    assert_eq!(gate.view(waits).await.state, RequestState::Pending);
    assert_eq!(due.to_mint, [doubtful], "its key still holds");
    // The key's life is over: a person has to find out, whatever the other rows hold.
    gate.advance_s(3600);
    assert_eq!(gate.store.due(gate.moment()).await.expect("a sweep").corrupt, expected);
    let view = gate.store.operation(doubtful).await.expect("a reading").expect("an operation");
    assert_eq!(view.state, OperationState::NeedsReconciliation);
    // And the next sweep has nothing more to move, and names them again.
    let again = gate.store.due(gate.moment()).await.expect("a sweep");
    assert_eq!((again.moved, again.corrupt), (0, expected));
}
