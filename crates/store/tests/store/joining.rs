//! The same call again: what it meets in every state of the first, by call key, run and payload.

use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{CallId, RequestId, RunId};
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_store::limits::JOIN_S;
use vidimus_store::*;

use crate::fixture::{Approver, Gate};
use crate::forged::forge;

const ROLE: &str = "billing-approver";
const KEY: &str = "a-key-of-the-workflow-1";
const OTHER_KEY: &str = "a-key-of-the-workflow-2";
const THIRD_KEY: &str = "a-key-of-the-workflow-3";
const ARGS: &str = r#"{"invoice":"1","amount_minor":1500,"currency":"EUR"}"#;
const MORE_ARGS: &str = r#"{"invoice":"1","amount_minor":1502,"currency":"EUR"}"#;
const OTHER_ARGS: &str = r#"{"invoice":"1","amount_minor":1501,"currency":"EUR"}"#;

/// Where the first stands, and what the second gets: `join`; `conflict`; `open` (an equal business effect is); a new request
/// that `names` the first, or is `fresh`. A call with the first one's key meets the same in any run.
const TABLE: &str = "
    first                | its key   its key, other args | no key, its run   no key, other run | another key
    pending              | join      conflict            | join              join              | open
    approved             | join      conflict            | join              join              | open
    executing            | join      conflict            | join              join              | open
    unknown              | join      conflict            | join              join              | open
    needs_reconciliation | join      conflict            | join              join              | open
    succeeded            | join      conflict            | join              names             | names
    partial              | join      conflict            | join              names             | names
    denied               | join      conflict            | join              names             | names
    revoked              | join      conflict            | join              names             | names
    expired              | names     conflict            | names             fresh             | fresh
    withdrawn            | names     conflict            | names             fresh             | fresh
    stale                | names     conflict            | names             fresh             | fresh
    failed               | names     conflict            | names             fresh             | fresh
    not_happened         | names     conflict            | names             names             | names
";

fn run(seed: u8) -> RunId {
    RunId::from_random([seed; 16])
}

async fn send(gate: &Gate, call_key: Option<&str>, run: RunId, args: &str) -> FreezeOutcome {
    let received = CallReceived { run: Some(run), ..gate.received("billing", "refund", call_key) };
    gate.freeze(received, args).await
}

async fn answered(gate: &Gate, operation: OperationKey, answer: Answer) {
    let attempt = gate.redeem_new_token(operation).await.attempt;
    let result = (answer == Answer::Done).then(|| "{}".to_owned());
    let brought = RecordAnswer { operation, attempt, answer, result, detail: "answered".to_owned() };
    assert!(matches!(gate.store.record_answer(gate.moment(), brought).await.expect("an outcome"), AnswerOutcome::Applied(_)));
}

/// A first call, in the run 1, brought to a state.
async fn first(state: &str) -> (Gate, CallId, RequestId) {
    let (mut gate, _, bea, _) = Gate::with_people().await;
    let FreezeOutcome::Created { call, request } = send(&gate, Some(KEY), run(1), ARGS).await else { panic!("not created") };
    bring_to(&mut gate, &bea, call, request, state).await;
    (gate, call, request)
}

async fn bring_to(gate: &mut Gate, bea: &Approver, call: CallId, request: RequestId, state: &str) {
    match state {
        "pending" => {}
        "denied" => {
            gate.decide(bea, request, DecisionKind::Deny, ROLE).await;
        }
        "expired" => {
            gate.advance_s(600);
            gate.store.due(gate.moment()).await.expect("a sweep");
        }
        "withdrawn" => {
            let withdrawn = gate.store.withdraw(gate.moment(), crate::fixture::name("billing"), call).await.expect("an outcome");
            assert_eq!(withdrawn, Withdrawal::Withdrawn);
        }
        _ => {
            let operation = gate.approve(bea, request, ROLE).await.operation.expect("a quorum");
            match state {
                "approved" => {}
                "revoked" => {
                    gate.decide(bea, request, DecisionKind::Revoke, ROLE).await;
                }
                "executing" => {
                    gate.redeem_new_token(operation).await;
                }
                "succeeded" => answered(gate, operation, Answer::Done).await,
                "failed" => answered(gate, operation, Answer::NoEffect).await,
                "unknown" => answered(gate, operation, Answer::Unclear).await,
                "needs_reconciliation" => {
                    answered(gate, operation, Answer::Unclear).await;
                    gate.advance_s(3600);
                    gate.store.due(gate.moment()).await.expect("a sweep");
                }
                // What only people bring about, as their answers leave it.
                "partial" | "not_happened" => {
                    answered(gate, operation, Answer::Unclear).await;
                    let ended = gate.now().as_ms();
                    let set = format!("state = '{state}', next_at = NULL, ended_at = {ended}");
                    forge(
                        gate,
                        &format!(
                            "UPDATE operations SET {set} WHERE tool = 'refund'; UPDATE requests SET effect_open = 0 WHERE tool = 'refund'"
                        ),
                    );
                }
                "stale" => {
                    let sql = format!(
                        "UPDATE requests SET state = 'stale', effect_open = 0, ended_at = {} WHERE tool = 'refund'",
                        gate.now().as_ms()
                    );
                    forge(gate, &format!("{sql}; UPDATE operations SET state = 'not_started', ended_at = 1 WHERE tool = 'refund'"));
                }
                other => panic!("no such state: {other}"),
            }
        }
    }
}

/// What the second call got, in the words of the table.
async fn met(gate: &Gate, first: (CallId, RequestId), outcome: FreezeOutcome) -> &'static str {
    match outcome {
        FreezeOutcome::Joined(joined) => {
            assert_eq!(joined.call, first.0, "joined another call");
            "join"
        }
        FreezeOutcome::Refused(refusal) if refusal.code == Code::OperationKeyConflict => "conflict",
        FreezeOutcome::Refused(refusal) if refusal.code == Code::BusinessEffectOpen => "open",
        FreezeOutcome::Refused(refusal) => panic!("{refusal}"),
        FreezeOutcome::Created { request, .. } => {
            let frozen = FrozenRequest::parse(gate.view(request).await.frozen.as_bytes()).expect("a stored request");
            match frozen.members().earlier.as_slice() {
                [] => "fresh",
                [earlier] if *earlier == first.1 => "names",
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn the_same_call_again_meets_what_the_table_says() {
    let mut cells = 0;
    for line in TABLE.lines().filter(|line| line.contains('|')).skip(1) {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "|").collect();
        let [state, its_key, other_args, its_run, other_run, another_key] = words[..] else { panic!("{line}") };
        let sent = [
            (Some(KEY), 1, ARGS, its_key),
            (Some(KEY), 2, ARGS, its_key),
            (Some(KEY), 1, OTHER_ARGS, other_args),
            (Some(KEY), 2, OTHER_ARGS, other_args),
            (None, 1, ARGS, its_run),
            (None, 2, ARGS, other_run),
            (Some(OTHER_KEY), 1, ARGS, another_key),
            (None, 1, OTHER_ARGS, "fresh"),
            (Some(THIRD_KEY), 2, MORE_ARGS, "fresh"),
        ];
        let (mut gate, mut call, mut request) = first(state).await;
        let mut created = false;
        for (call_key, of_run, args, expected) in sent {
            // A new request of the same arguments would be what the next call meets.
            if created && args == ARGS {
                (gate, call, request) = first(state).await;
                created = false;
            }
            created |= args == ARGS && matches!(expected, "names" | "fresh");
            let outcome = send(&gate, call_key, run(of_run), args).await;
            assert_eq!(met(&gate, (call, request), outcome).await, expected, "{state}: {call_key:?} in run {of_run}, {args}");
            cells += 1;
        }
    }
    assert_eq!(cells, 14 * 9);
}

#[tokio::test]
async fn without_a_key_what_has_ended_is_joined_for_a_day_and_no_longer() {
    for (state, soon, late) in [("succeeded", "join", "names"), ("denied", "join", "fresh"), ("failed", "names", "fresh")] {
        for (ms, expected) in [(-1, soon), (0, late), (1, late)] {
            let (gate, call, request) = first(state).await;
            gate.advance_ms(i64::try_from(JOIN_S).expect("small") * 1000 + ms);
            let outcome = send(&gate, None, run(1), ARGS).await;
            assert_eq!(met(&gate, (call, request), outcome).await, expected, "{state} {ms}");
        }
    }
}

#[tokio::test]
async fn another_agent_and_another_owner_join_nothing() {
    let (gate, _, request) = first("pending").await;
    let foreign = gate.freeze(gate.received("support", "refund", Some(KEY)), ARGS).await;
    assert!(matches!(foreign, FreezeOutcome::Refused(refusal) if refusal.code == Code::BusinessEffectOpen));
    // The same name, given out anew on behalf of a person.
    let revoked = gate.store.revoke_agent(gate.moment(), crate::fixture::name("billing")).await.expect("an outcome");
    assert_eq!(revoked, AgentRevoked::Revoked { ended: 1 });
    let owner = crate::fixture::person_of("Ada Example");
    let add = AddAgent {
        agent: crate::fixture::name("billing"),
        owner: Some(owner),
        parent: None,
        credential_sha256: vidimus_core::bytes::Digest::of(b"anew"),
    };
    assert_eq!(gate.store.add_agent(gate.moment(), add).await.expect("an outcome"), AgentAdded::Added);
    let FreezeOutcome::Created { request: again, .. } = send(&gate, Some(KEY), run(1), ARGS).await else { panic!("not created") };
    assert_ne!(again, request);
    let frozen = FrozenRequest::parse(gate.view(again).await.frozen.as_bytes()).expect("a stored request");
    assert_eq!((frozen.members().earlier.len(), frozen.members().on_behalf_of.clone()), (0, Some(owner.to_string())));
}

#[tokio::test]
async fn a_repetition_is_counted_and_nobody_is_told_twice() {
    let (gate, _, request) = first("pending").await;
    let size = gate.size().await;
    for count in 1..=3 {
        assert!(matches!(send(&gate, Some(KEY), run(count), ARGS).await, FreezeOutcome::Joined(_)));
        assert_eq!(gate.view(request).await.joins, u32::from(count));
    }
    assert_eq!(gate.size().await, size, "no record, so no notification");
}
