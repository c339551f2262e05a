//! What people answer to unknown outcomes, who is paged about them, and what becomes known meanwhile.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::CheckpointRef;
use vidimus_core::evidence::{Evidence, evidence_sha256};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Environment, GateId, PersonId, RequestId};
use vidimus_core::operation::{Answer as Attempted, OperationKey, OperationState};
use vidimus_core::page::{PageChannel, PageOutcome, PageReason};
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::render;
use vidimus_core::time::Timestamp;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, name, names};
use crate::operations::{answer, at_work, due, state};

const TREASURY: &[&str] = &["treasury"];

/// What a test may change about an answer before it is signed.
pub type Twist<'a> = &'a (dyn Fn(&mut ReconciliationStatement) + Sync);

pub fn plain(_: &mut ReconciliationStatement) {}

fn evidence_of(answer: Answer, now: Timestamp) -> Evidence {
    let looked = Some("looked at the bank's own list of transfers".to_owned());
    match answer {
        Answer::StillUnknown => Evidence { look_again_at: Some(now.plus_s(3600)), ..Evidence::default() },
        Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note => Evidence { evidence: looked, ..Evidence::default() },
    }
}

pub async fn challenge(
    gate: &Gate,
    person: &Approver,
    operation: OperationKey,
    roles: &[&str],
) -> (AskChallenge, OperationChallengeOutcome) {
    let ask = AskChallenge {
        operation,
        person: person.person,
        roles: names(roles),
        key_sha256: person.approval.public().digest(),
        challenge: gate.nonce(),
    };
    let outcome = gate.store.operation_challenge(gate.moment(), ask.clone()).await.expect("an outcome");
    (ask, outcome)
}

/// An answer as the console makes it, twisted before it is signed.
pub async fn signed(
    gate: &Gate,
    person: &Approver,
    operation: OperationKey,
    said: Answer,
    role: &str,
    twist: Twist<'_>,
) -> RecordReconciliation {
    let (ask, outcome) = challenge(gate, person, operation, &[role]).await;
    let OperationChallengeOutcome::Issued(ToSign { issued_at, expires_at, roster_sha256, head }) = outcome else { panic!("{outcome:?}") };
    let detail = detail(gate, operation).await;
    let frozen = match detail.request {
        Some(request) => Some(FrozenRequest::parse(gate.view(request).await.frozen.as_bytes()).expect("a stored request")),
        None => None,
    };
    let shown = frozen.as_ref().map(|frozen| {
        let members = frozen.members();
        let row = gate.table.row(&members.tool).expect("a row");
        render::shown_sha256(&row.tool, &render::render(&members.args, row).expect("nodes")).expect("a digest")
    });
    let (salt, evidence) = (gate.salt(), evidence_of(said, issued_at).to_text().expect("text"));
    let mut statement = ReconciliationStatement {
        gate: GateId::of(&gate.log_key.public()),
        gate_key_sha256: gate.log_key.public().digest(),
        environment: Environment::Test,
        operation,
        request: detail.request,
        request_sha256: frozen.as_ref().map(FrozenRequest::request_sha256),
        attempt: detail.attempt,
        answer: said,
        amount_minor: None,
        approver: person.person,
        key_sha256: ask.key_sha256,
        role: name(role),
        roster_sha256,
        shown_sha256: shown,
        evidence_sha256: evidence_sha256(&salt, &evidence),
        challenge: ask.challenge,
        checkpoint: CheckpointRef { size: head.size, root: head.root },
        app_version: "0.1.0".to_owned(),
        issued_at,
        expires_at,
    };
    twist(&mut statement);
    let envelope = statement.sign(&person.approval).expect("signed");
    RecordReconciliation { operation, roles: names(&[role]), envelope, evidence, evidence_salt: salt, refusal_on_record: true }
}

async fn record(gate: &Gate, sent: RecordReconciliation) -> ReconciliationOutcome {
    gate.store.record_reconciliation(gate.moment(), sent).await.expect("an outcome")
}

/// Signs and hands in an answer that must count.
pub async fn say(
    gate: &Gate,
    person: &Approver,
    operation: OperationKey,
    said: Answer,
    role: &str,
    twist: Twist<'_>,
) -> ReconciliationReceipt {
    match record(gate, signed(gate, person, operation, said, role, twist).await).await {
        ReconciliationOutcome::Recorded(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

pub async fn refused(gate: &Gate, sent: RecordReconciliation) -> Code {
    match record(gate, sent).await {
        ReconciliationOutcome::Refused(refusal) => refusal.code,
        other => panic!("{other:?}"),
    }
}

async fn detail(gate: &Gate, operation: OperationKey) -> OperationDetail {
    let seen = gate.store.operation_detail(operation, names(&["auditor"]), OperationSeen::ToRead).await;
    seen.expect("a reading").expect("an operation")
}

async fn pages(gate: &Gate) -> Vec<Page> {
    gate.store.due_pages(gate.moment()).await.expect("a reading")
}

async fn send(gate: &Gate, page: &Page) {
    let deliveries = vec![(PageChannel::Console, PageOutcome::Delivered)];
    gate.store.page_sent(gate.moment(), PageSent { page: page.clone(), deliveries, repeat_s: 900 }).await.expect("recorded");
}

/// A wire whose answer was lost and that only people can tell. Persons: Bea and Cem hold `treasury`.
pub async fn lost_wire() -> (Gate, OperationKey, Approver, Approver) {
    let (gate, _, bea, cem) = Gate::with_people().await;
    let (_, operation) = at_work(&gate, &bea, &cem, "wire").await;
    answer(&gate, operation, 1, Attempted::Unclear).await;
    due(&gate).await;
    assert_eq!(state(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
    (gate, operation, bea, cem)
}

/// A write on its way. Its owner's role is `support-lead`.
async fn sent_write(gate: &Gate) -> OperationKey {
    let intent = WriteIntent {
        received: gate.received("support", "tag", None),
        row_sha256: gate.table.row(&name("tag")).expect("a row").digest(),
        args: r#"{"ticket":1}"#.to_owned(),
        before: Some("[]".to_owned()),
        lease_s: 30,
    };
    let outcome = gate.store.write_intent(gate.moment(), intent).await.expect("an outcome");
    let IntentOutcome::Send { operation, .. } = outcome else { panic!("{outcome:?}") };
    operation
}

/// A write whose answer was lost.
pub async fn lost_write(gate: &Gate) -> OperationKey {
    let operation = sent_write(gate).await;
    gate.advance_s(30);
    due(gate).await;
    assert_eq!(state(gate, operation).await, (OperationState::NeedsReconciliation, 1));
    operation
}

#[tokio::test]
async fn as_many_persons_as_the_row_says_give_an_operation_its_final_state() {
    let cases = [
        (Answer::Happened, None, OperationState::Succeeded),
        (Answer::Partly, Some(1_700_000), OperationState::Partial),
        (Answer::NotHappened, None, OperationState::NotHappened),
    ];
    for (said, amount, expected) in cases {
        let (mut gate, operation, bea, cem) = lost_wire().await;
        gate.advance_s(3600);
        let twist = move |statement: &mut ReconciliationStatement| statement.amount_minor = amount;
        let first = say(&gate, &bea, operation, said, "treasury", &twist).await;
        assert_eq!((first.state, first.given, first.needed, first.conflict), (OperationState::NeedsReconciliation, 1, 2, false));
        let size = gate.size().await;
        let second = say(&gate, &cem, operation, said, "treasury", &twist).await;
        assert_eq!((second.state, second.given), (expected, 2));
        assert_eq!(gate.told_since(size).await, ["reconciliation_recorded", "operation_changed"]);
        assert_eq!(state(&gate, operation).await.0, expected);
        assert_eq!(pages(&gate).await, [], "nobody is told any more");
        // Whoever means a second deed says so with a key of its own; the same call again gets the stored answer.
        let again = gate.freeze(gate.received("billing", "wire", Some("another-key-of-the-caller")), WIRE).await;
        assert!(matches!(again, FreezeOutcome::Created { .. }), "{said}: the effect is closed: {again:?}");
        gate.reopen();
        gate.store.verify(None).await.expect("what people signed is found again");
    }
}

const WIRE: &str = r#"{"account":"DE89370400440532013000","amount_minor":4200000,"currency":"EUR"}"#;

#[tokio::test]
async fn while_it_is_unknown_the_same_effect_stays_closed() {
    let (gate, ..) = lost_wire().await;
    let again = gate.freeze(gate.received("billing", "wire", Some("another-key-of-the-caller")), WIRE).await;
    assert!(matches!(again, FreezeOutcome::Refused(refusal) if refusal.code == Code::BusinessEffectOpen));
}

#[tokio::test]
async fn answers_that_contradict_each_other_move_nothing() {
    let (gate, operation, bea, cem) = lost_wire().await;
    gate.advance_s(3600);
    say(&gate, &bea, operation, Answer::Happened, "treasury", &plain).await;
    let other = say(&gate, &cem, operation, Answer::NotHappened, "treasury", &plain).await;
    assert_eq!((other.state, other.given, other.conflict), (OperationState::NeedsReconciliation, 1, true));
    // Whoever looks again and agrees ends it.
    let agreed = say(&gate, &bea, operation, Answer::NotHappened, "treasury", &plain).await;
    assert_eq!((agreed.state, agreed.given, agreed.conflict), (OperationState::NotHappened, 2, false));
    let note = say(&gate, &bea, operation, Answer::Note, "treasury", &plain).await;
    assert_eq!(note.state, OperationState::NotHappened, "a note changes the record, never the state");
    assert_eq!(detail(&gate, operation).await.answers.len(), 4);
}

#[tokio::test]
async fn the_same_envelope_gets_the_stored_answer_and_no_other_does() {
    let (gate, operation, bea, _) = lost_wire().await;
    let sent = signed(&gate, &bea, operation, Answer::Happened, "treasury", &plain).await;
    let ReconciliationOutcome::Recorded(first) = record(&gate, sent.clone()).await else { panic!("it counts") };
    let size = gate.size().await;
    assert_eq!(record(&gate, sent.clone()).await, ReconciliationOutcome::Stored(first));
    assert_eq!(gate.size().await, size);
    // A used challenge under another statement.
    let replayed = ReconciliationStatement::parse(sent.envelope.danger_unverified_payload()).expect("a statement");
    let twist = move |statement: &mut ReconciliationStatement| {
        statement.challenge = replayed.challenge;
        statement.issued_at = replayed.issued_at;
        statement.expires_at = replayed.expires_at;
    };
    let again = signed(&gate, &bea, operation, Answer::Happened, "treasury", &twist).await;
    assert_eq!(refused(&gate, again).await, Code::ChallengeReplayed);
    assert_eq!(gate.told_since(size).await, ["reconciliation_refused:challenge_replayed"]);
    // Another operation's bytes: the same envelope, sent for another one.
    let write = lost_write(&gate).await;
    let elsewhere = RecordReconciliation { operation: write, roles: names(&["treasury", "support-lead"]), ..sent };
    assert_eq!(refused(&gate, elsewhere).await, Code::OperationWrong);
}

#[tokio::test]
async fn what_does_not_count_is_on_record_and_moves_nothing() {
    let (gate, operation, bea, _) = lost_wire().await;
    gate.advance_s(3600);
    let happened = |twist: Twist<'static>| signed(&gate, &bea, operation, Answer::Happened, "treasury", twist);
    let partly = |twist: Twist<'static>| signed(&gate, &bea, operation, Answer::Partly, "treasury", twist);
    let mut cases = vec![
        (happened(&|s| s.attempt = 2).await, Code::OperationWrong),
        (happened(&|s| s.request_sha256 = Some(Digest::of(b"other"))).await, Code::BytesDiffer),
        (happened(&|s| s.shown_sha256 = None).await, Code::ShownDiffers),
        (happened(&|s| s.roster_sha256 = Digest::of(b"other")).await, Code::RosterStale),
        (happened(&|s| s.role = name("admin")).await, Code::RoleNotNeeded),
        (happened(&|s| s.approver = PersonId::from_random([9; 16])).await, Code::ApproverWrong),
        (happened(&|s| s.evidence_sha256 = Digest::of(b"other")).await, Code::EvidenceInvalid),
        (happened(&|s| s.amount_minor = Some(1)).await, Code::AmountInvalid),
        (happened(&|s| s.answer = Answer::StillUnknown).await, Code::EvidenceInvalid),
        (partly(&plain).await, Code::AmountInvalid),
        (partly(&|s| s.amount_minor = Some(4_200_000)).await, Code::AmountInvalid),
        (signed(&gate, &bea, operation, Answer::Note, "treasury", &plain).await, Code::OperationStateWrong),
    ];
    let mut other_text = happened(&plain).await;
    other_text.evidence = other_text.evidence.replace("looked", "peered");
    cases.push((other_text, Code::EvidenceInvalid));
    let late = happened(&plain).await;
    for (sent, code) in cases {
        let size = gate.size().await;
        assert_eq!(refused(&gate, sent).await, code);
        assert_eq!(gate.told_since(size).await, [format!("reconciliation_refused:{code}")]);
    }
    gate.advance_s(300);
    assert_eq!(refused(&gate, late).await, Code::DecisionExpired);
    assert_eq!(state(&gate, operation).await, (OperationState::NeedsReconciliation, 1));
}

#[tokio::test]
async fn that_it_did_not_happen_cannot_be_said_before_it_settled() {
    let (gate, operation, bea, cem) = lost_wire().await;
    let over = gate.now();
    let settles_at = detail(&gate, operation).await.settles_at.expect("an attempt has ended");
    // The executor's time-out and the row's settling, both by default.
    assert_eq!(settles_at, over.plus_s(10 + 60));
    let ms = settles_at.as_ms() - gate.now().as_ms();
    gate.advance_ms(ms - 1);
    let early = signed(&gate, &bea, operation, Answer::NotHappened, "treasury", &plain).await;
    assert_eq!(refused(&gate, early.clone()).await, Code::ReconciliationTooEarly);
    gate.advance_ms(1);
    say(&gate, &bea, operation, Answer::NotHappened, "treasury", &plain).await;
    say(&gate, &cem, operation, Answer::NotHappened, "treasury", &plain).await;
    assert_eq!(state(&gate, operation).await.0, OperationState::NotHappened);
}

#[tokio::test]
async fn a_write_in_doubt_is_answered_by_its_owner() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let lead = gate.admit(&ada, "Dora Example", &["support-lead"]).await;
    let operation = lost_write(&gate).await;
    let told = pages(&gate).await;
    assert_eq!((told.len(), told[0].reason, told[0].roles.clone()), (1, PageReason::WriteUnknown, names(&["support-lead"])));
    let (_, outcome) = challenge(&gate, &bea, operation, TREASURY).await;
    assert_eq!(outcome, OperationChallengeOutcome::NotFound, "to others it does not exist");
    gate.advance_s(3600);
    let receipt = say(&gate, &lead, operation, Answer::NotHappened, "support-lead", &plain).await;
    assert_eq!((receipt.state, receipt.given, receipt.needed), (OperationState::NotHappened, 1, 1));
    gate.store.verify(None).await.expect("signed by its owner");
}

#[tokio::test]
async fn a_write_that_ended_takes_a_note_of_its_owner() {
    for (end, expected) in [(Attempted::Done, OperationState::Succeeded), (Attempted::NoEffect, OperationState::Failed)] {
        let (gate, ada, ..) = Gate::with_people().await;
        let lead = gate.admit(&ada, "Dora Example", &["support-lead"]).await;
        let operation = sent_write(&gate).await;
        gate.advance_s(5);
        let end = WriteEnd { operation, attempt: 1, answer: end, result: None, receipt: None, after: None, detail: "answered".to_owned() };
        assert_eq!(gate.store.write_end(gate.moment(), end).await.expect("an outcome"), AnswerOutcome::Applied(expected));
        let over = gate.now();
        assert_eq!(detail(&gate, operation).await.settles_at, Some(over.plus_s(10 + 60)), "from its end on, not from its beginning");
        assert_eq!(say(&gate, &lead, operation, Answer::Note, "support-lead", &plain).await.state, expected);
    }
}

#[tokio::test]
async fn a_provider_that_is_asked_moves_nothing_that_is_a_persons() {
    let asks = [
        (StatusAnswer::Found { result: r#"{"id":"c1"}"#.to_owned() }, "found"),
        (StatusAnswer::Foreign { detail: "other".to_owned() }, "foreign"),
        (StatusAnswer::NotFound { detail: "404".to_owned() }, "not_found"),
        (StatusAnswer::Unclear { detail: "503".to_owned() }, "unclear"),
    ];
    for (said, word) in asks {
        let (gate, _, bea, cem) = Gate::with_people().await;
        let (_, operation) = at_work(&gate, &bea, &cem, "cancel").await;
        answer(&gate, operation, 1, Attempted::Unclear).await;
        // Before it is time to ask, only what is found and ours moves it.
        let early = gate.store.record_status(gate.moment(), operation, StatusAsked::ByPerson, said.clone()).await.expect("an outcome");
        if word == "found" {
            assert_eq!(early, AnswerOutcome::Applied(OperationState::Succeeded));
            continue;
        }
        assert_eq!(early, AnswerOutcome::Evidence(OperationState::Unknown), "{word}");
        gate.advance_s(60);
        let in_turn = gate.store.record_status(gate.moment(), operation, StatusAsked::InTurn, said).await.expect("an outcome");
        assert_eq!(in_turn, AnswerOutcome::Applied(OperationState::NeedsReconciliation), "{word}");
        let found = StatusAnswer::Found { result: r#"{"id":"c1"}"#.to_owned() };
        let size = gate.size().await;
        let late = gate.store.record_status(gate.moment(), operation, StatusAsked::ByPerson, found).await.expect("an outcome");
        assert_eq!(late, AnswerOutcome::Evidence(OperationState::NeedsReconciliation), "evidence for the person, and no more");
        assert_eq!(gate.told_since(size).await, ["evidence_recorded"]);
    }
}

#[tokio::test]
async fn pages_repeat_until_somebody_looks_and_begin_again_when_it_is_time() {
    let (gate, operation, bea, _) = lost_wire().await;
    let first = pages(&gate).await;
    assert_eq!(first.len(), 1);
    let page = &first[0];
    assert_eq!((page.reason, page.operation, page.count), (PageReason::NeedsReconciliation, Some(operation), 0));
    assert_eq!((page.state.as_deref(), page.roles.clone()), (Some("needs_reconciliation"), names(TREASURY)));
    let size = gate.size().await;
    send(&gate, page).await;
    // A second worker that sends the same page counts for nothing.
    send(&gate, page).await;
    assert_eq!(gate.told_since(size).await, ["page_sent"]);
    assert_eq!(pages(&gate).await, []);
    gate.advance_s(899);
    assert_eq!(pages(&gate).await, []);
    gate.advance_s(1);
    assert_eq!(pages(&gate).await.first().map(|page| page.count), Some(1));

    let open = |person: PersonId| gate.store.open_operation(gate.moment(), operation, person, names(TREASURY));
    let size = gate.size().await;
    assert_eq!(open(bea.person).await.expect("an outcome"), Opening::Opened { look_again_at: None });
    assert_eq!(open(bea.person).await.expect("an outcome"), Opening::Opened { look_again_at: None });
    assert_eq!(gate.told_since(size).await, ["operation_opened"], "looking twice is one look");
    gate.advance_s(24 * 3600);
    assert_eq!(pages(&gate).await, [], "somebody knows");

    let receipt = say(&gate, &bea, operation, Answer::StillUnknown, "treasury", &plain).await;
    assert_eq!((receipt.state, receipt.conflict), (OperationState::NeedsReconciliation, false));
    assert_eq!(pages(&gate).await, []);
    let put_off = open(bea.person).await.expect("an outcome");
    assert!(matches!(put_off, Opening::Opened { look_again_at: Some(_) }), "a look does not cancel the next one: {put_off:?}");
    gate.advance_s(3600);
    let again = pages(&gate).await;
    assert_eq!(again.len(), 1, "it is time to look again");
    send(&gate, &again[0]).await;

    // One of two persons has answered: another is called, and the first one's looking does not end that.
    say(&gate, &bea, operation, Answer::Happened, "treasury", &plain).await;
    let size = gate.size().await;
    assert!(matches!(open(bea.person).await.expect("an outcome"), Opening::Opened { look_again_at: Some(_) }));
    assert_eq!((pages(&gate).await.len(), gate.size().await), (1, size));
    let others = gate.store.open_operation(gate.moment(), operation, bea.person, names(&["billing-approver"])).await;
    assert_eq!(others.expect("an outcome"), Opening::NotFound);
}

#[tokio::test]
async fn nobody_who_may_not_answer_ends_the_pages() {
    let (gate, ada) = Gate::with_admin().await;
    let lead = gate.admit(&ada, "Dora Example", &["support-lead"]).await;
    let behind = gate.admit(&ada, "Emil Example", &["support-lead"]).await;
    gate.add_agent("support", Some(behind.person)).await;
    let operation = lost_write(&gate).await;
    let open = |person: PersonId| gate.store.open_operation(gate.moment(), operation, person, names(&["support-lead"]));
    let size = gate.size().await;
    assert!(matches!(open(behind.person).await.expect("an outcome"), Opening::Opened { look_again_at: Some(_) }));
    assert_eq!((pages(&gate).await.len(), gate.size().await), (1, size), "the agent is theirs: others are still told");
    assert_eq!(open(lead.person).await.expect("an outcome"), Opening::Opened { look_again_at: None });
    assert_eq!(pages(&gate).await, []);
}

#[tokio::test]
async fn a_final_state_that_nobody_signed_is_found_at_the_start() {
    let forgeries = [
        (
            "UPDATE operations SET state = 'not_happened', ended_at = 1, lease_until = NULL WHERE kind = 'money'",
            "is not where the log left it",
        ),
        ("DELETE FROM operations", "the ledger has other operations than the log"),
    ];
    for (sql, words) in forgeries {
        let (mut gate, ..) = lost_wire().await;
        crate::forged::forge(&mut gate, sql);
        let found = gate.store.verify(None).await.expect_err("a forgery").to_string();
        assert!(found.contains(words), "{sql}: {found}");
    }
}

#[tokio::test]
async fn an_edited_state_takes_no_answer() {
    let (mut gate, operation, bea, _) = lost_wire().await;
    let sent = signed(&gate, &bea, operation, Answer::Note, "treasury", &plain).await;
    crate::forged::forge(&mut gate, "UPDATE operations SET state = 'succeeded', ended_at = 1 WHERE kind = 'money'");
    assert_eq!(refused(&gate, sent).await, Code::LedgerContradicted);
}

/// A refund that has come to this state, and how many attempts were made.
async fn refund_in(gate: &Gate, bea: &Approver, cem: &Approver, wanted: OperationState) -> (OperationKey, u32) {
    if matches!(wanted, OperationState::Reserved | OperationState::NotStarted) {
        let (_, request) = gate.wait_for("refund", r#"{"invoice":"842","amount_minor":1500,"currency":"EUR"}"#).await;
        let operation = gate.approve(bea, request, "billing-approver").await.operation.expect("a quorum");
        if wanted == OperationState::NotStarted {
            gate.advance_s(600);
            due(gate).await;
        }
        return (operation, 0);
    }
    let (_, operation) = at_work(gate, bea, cem, "refund").await;
    match wanted {
        OperationState::Reserved | OperationState::NotStarted | OperationState::Executing => {}
        OperationState::Succeeded => {
            answer(gate, operation, 1, Attempted::Done).await;
        }
        OperationState::Failed => {
            answer(gate, operation, 1, Attempted::NoEffect).await;
        }
        OperationState::Unknown => {
            answer(gate, operation, 1, Attempted::Unclear).await;
        }
        OperationState::NeedsReconciliation | OperationState::Partial | OperationState::NotHappened => {
            answer(gate, operation, 1, Attempted::Unclear).await;
            gate.advance_s(3600);
            due(gate).await;
            let (said, part) = match wanted {
                OperationState::Partial => (Answer::Partly, Some(700)),
                OperationState::NotHappened => (Answer::NotHappened, None),
                _ => return (operation, 1),
            };
            let twist = move |statement: &mut ReconciliationStatement| statement.amount_minor = part;
            say(gate, bea, operation, said, "billing-approver", &twist).await;
        }
    }
    (operation, 1)
}

#[tokio::test]
async fn an_answer_that_is_not_awaited_is_evidence_in_every_state() {
    for wanted in OperationState::ALL {
        let (gate, _, bea, cem) = Gate::with_people().await;
        let (operation, attempt) = refund_in(&gate, &bea, &cem, *wanted).await;
        assert_eq!(state(&gate, operation).await, (*wanted, attempt));
        // Of an attempt that is not at work: the one after it, and, once it has ended, itself.
        let mut others = vec![attempt + 1];
        if *wanted != OperationState::Executing {
            others.push(attempt);
        }
        for other in others {
            for late in [Attempted::Done, Attempted::NothingSent, Attempted::NoEffect, Attempted::Unclear] {
                let size = gate.size().await;
                assert_eq!(answer(&gate, operation, other, late).await, AnswerOutcome::Evidence(*wanted), "{wanted} {other} {late:?}");
                assert_eq!(gate.told_since(size).await, ["evidence_recorded"], "{wanted} {other} {late:?}");
            }
        }
        assert_eq!(state(&gate, operation).await, (*wanted, attempt), "nothing moved");
        gate.store.verify(None).await.expect("the log holds");
    }
}

#[tokio::test]
async fn only_an_outcome_that_waits_for_people_takes_their_answer() {
    for wanted in OperationState::ALL {
        let (gate, _, bea, cem) = Gate::with_people().await;
        let (operation, _) = refund_in(&gate, &bea, &cem, *wanted).await;
        let (_, outcome) = challenge(&gate, &bea, operation, &["billing-approver"]).await;
        let takes_one = *wanted == OperationState::NeedsReconciliation || wanted.is_final();
        assert_eq!(matches!(outcome, OperationChallengeOutcome::Issued(_)), takes_one, "{wanted}: {outcome:?}");
        if !takes_one || *wanted == OperationState::NeedsReconciliation {
            continue;
        }
        for said in [Answer::Happened, Answer::Partly, Answer::NotHappened, Answer::StillUnknown] {
            let sent = signed(&gate, &bea, operation, said, "billing-approver", &plain).await;
            assert_eq!(refused(&gate, sent).await, Code::OperationStateWrong, "{wanted} {said}");
        }
        assert_eq!(say(&gate, &bea, operation, Answer::Note, "billing-approver", &plain).await.state, *wanted);
    }
}

#[tokio::test]
async fn an_answer_stays_possible_when_its_row_is_no_longer_in_force() {
    let (mut gate, operation, bea, cem) = lost_wire().await;
    // As after a change of the table: the row of the operation is found by the table that its request was frozen on.
    crate::forged::forge(&mut gate, "UPDATE operations SET row_sha256 = replace(row_sha256, substr(row_sha256, 1, 8), '00000000')");
    let other_screen = signed(&gate, &bea, operation, Answer::Happened, "treasury", &|statement| {
        statement.shown_sha256 = Some(Digest::of(b"another screen"));
    })
    .await;
    assert_eq!(refused(&gate, other_screen).await, Code::ShownDiffers);
    say(&gate, &bea, operation, Answer::Partly, "treasury", &|statement| statement.amount_minor = Some(1)).await;
    let last = say(&gate, &cem, operation, Answer::Partly, "treasury", &|statement| statement.amount_minor = Some(1)).await;
    assert_eq!(last.state, OperationState::Partial);
}

/// Whoever exchanges what a record holds, for something that the same person signed, makes nobody's answer of it.
#[tokio::test]
async fn an_answer_on_record_counts_for_the_operation_and_the_bytes_that_were_signed() {
    let cases: [(&str, Twist<'_>, (u32, OperationState)); 4] = [
        ("as signed", &plain, (2, OperationState::Succeeded)),
        (
            "another operation",
            &|statement| statement.operation = Digest::of(b"other").to_string().parse().expect("a key"),
            (1, OperationState::NeedsReconciliation),
        ),
        (
            "another request",
            &|statement| statement.request = Some(RequestId::from_random([7; 16])),
            (1, OperationState::NeedsReconciliation),
        ),
        ("other bytes", &|statement| statement.request_sha256 = Some(Digest::of(b"other")), (1, OperationState::NeedsReconciliation)),
    ];
    for (what, twist, expected) in cases {
        let (mut gate, operation, bea, cem) = lost_wire().await;
        say(&gate, &bea, operation, Answer::Happened, "treasury", &plain).await;
        let log = gate.log().await;
        let mut answer = AuditRecord::parse(log.last().expect("a record").leaf.as_bytes()).expect("a leaf");
        assert_eq!(answer.record_type, RecordType::ReconciliationRecorded);
        answer.envelopes = vec![signed(&gate, &bea, operation, Answer::Happened, "treasury", twist).await.envelope];
        let leaf = String::from_utf8(answer.leaf().expect("a leaf")).expect("text");
        crate::forged::forge(&mut gate, &format!("UPDATE records SET leaf = '{leaf}' WHERE type = 'reconciliation_recorded'"));
        let receipt = say(&gate, &cem, operation, Answer::Happened, "treasury", &plain).await;
        assert_eq!((receipt.given, receipt.state), expected, "{what}");
    }
}
