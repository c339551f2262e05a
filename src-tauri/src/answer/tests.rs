use vidimus_core::decision::DecisionKind;
use vidimus_core::evidence::Evidence;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::reconciliation::Answer;
use vidimus_core::record::RecordType;
use vidimus_core::sign::SecretKey;

use super::attach::attach;
use super::form::{Form, Said, read};
use super::page::draw;
use super::state::{self, AnswerState};
use super::*;
use crate::console::Console;
use crate::desk;
use crate::mirror::MirrorFault;
use crate::review::page::View;
use crate::strings;
use crate::testing::{Log, NOW_MS, at, operation_of};

const WIRE: &str = r#"{"payee":"payee_acme","amount_minor":420000,"currency":"EUR","reference":"INV-1001"}"#;

fn wired(roles: &[&str]) -> (Log, FrozenRequest, String) {
    let mut log = Log::founded(roles);
    let frozen = log.freeze("wire_transfer", WIRE);
    log.create(&frozen);
    log.decide(&frozen, DecisionKind::Approve, None);
    let operation = log.in_doubt(&frozen);
    (log, frozen, operation)
}

fn answering(console: &Console, operation: &str) -> Answering {
    Answering::new(&desk::matter(console, operation).unwrap(), "nonce".to_owned(), NOW_MS)
}

fn form(answer: &str) -> Form {
    Form {
        nonce: "nonce".to_owned(),
        answer: answer.to_owned(),
        reference: String::new(),
        evidence: String::new(),
        amount: String::new(),
        look_again: String::new(),
        pin: String::new(),
        held_ms: 0,
        two_presses: false,
    }
}

fn evidence(words: &str) -> Evidence {
    Evidence { evidence: Some(words.to_owned()), ..Evidence::default() }
}

#[test]
fn the_desk_tells_what_is_known_of_an_outcome_in_doubt() {
    let (log, _, operation) = wired(&["treasury"]);
    let (console, _directory) = log.console();
    let page = desk::page(&console);
    assert_eq!((page.items.len(), page.count.as_str()), (1, "1"));
    let item = &page.items[0];
    assert_eq!((item.operation.as_str(), item.late, item.eligible), (operation.as_str(), false, true));
    assert!(item.headline.contains("EUR 4,200.00") && item.since_text.starts_with("unknown since "), "{item:?}");
    let detail = desk::detail(&console, &operation).unwrap();
    let lines: Vec<&str> = detail.known.iter().map(|known| known.text.as_str()).collect();
    assert!(lines[0].starts_with("requested by billing") && lines[1].starts_with("approved by Robin Example"), "{lines:?}");
    assert!(lines[2].starts_with("sent, attempt 1, idempotency key ") && lines[2].ends_with(&operation), "{lines:?}");
    assert!(lines[3].contains("no certain answer came: the connection was lost") && lines[4].contains("only people can tell"), "{lines:?}");
    assert!(detail.can_answer && !detail.can_ask && detail.ask_note.is_some());
    assert_eq!(detail.needs_text, "Needs 2 different people with the role treasury.");
}

#[test]
fn another_roles_outcome_is_read_and_not_answered_and_what_is_still_tried_waits() {
    let (log, _, operation) = wired(&["support-lead"]);
    let (console, _directory) = log.console();
    let detail = desk::detail(&console, &operation).unwrap();
    assert!(!detail.can_answer && detail.answer_note.is_some_and(|note| note.contains("E-DEC-2")));

    let mut log = Log::founded(&["treasury"]);
    let frozen = log.freeze("wire_transfer", WIRE);
    log.create(&frozen);
    log.operation(&frozen, "executing", "unknown", at(7));
    let (console, _directory) = log.console();
    let detail = desk::detail(&console, &operation_of(&frozen).to_string()).unwrap();
    assert!(!detail.can_answer);
    assert_eq!((detail.answer_note.as_deref(), desk::counts(&console)), (Some(strings::STILL_TRYING), (0, 0)));
}

#[test]
fn an_answer_that_nobody_of_the_roster_signed_breaks_the_log() {
    let (mut log, frozen, _) = wired(&["treasury"]);
    let mut mirror = log.mirror();
    log.answer(&frozen, Answer::Happened, &evidence("the bank shows it as booked"), Some(&SecretKey::from_seed(&[42; 32])));
    assert!(matches!(log.settle(&mut mirror), Err(MirrorFault::Broken { what, .. }) if what.contains("not signed")));

    let (mut log, frozen, _) = wired(&["treasury"]);
    let mut mirror = log.mirror();
    log.operation(&frozen, "needs_reconciliation", "not_happened", at(9));
    assert!(matches!(log.settle(&mut mirror), Err(MirrorFault::Broken { what, .. }) if what.contains("no signed answer")));

    // Two are needed, and one answered.
    let (mut log, frozen, _) = wired(&["treasury"]);
    log.answer(&frozen, Answer::NotHappened, &evidence("the bank has no such payment"), None);
    let mut mirror = log.mirror();
    log.operation(&frozen, "needs_reconciliation", "not_happened", at(12));
    assert!(matches!(log.settle(&mut mirror), Err(MirrorFault::Broken { what, .. }) if what.contains("no signed answer")));
}

#[test]
fn an_answered_outcome_leaves_the_desk_and_takes_a_note() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", r#"{"invoice":"invoice_842","amount_minor":4200,"currency":"EUR","reason":"charged twice"}"#);
    log.create(&frozen);
    let operation = log.in_doubt(&frozen);
    log.answer(&frozen, Answer::NotHappened, &evidence("the bank has no such payment"), None);
    {
        let (console, _directory) = log.console();
        let detail = desk::detail(&console, &operation).unwrap();
        assert_eq!(detail.item.answers_text.as_deref(), Some("1 of 1 say: It did not happen"));
        assert_eq!(detail.answer_note.as_deref(), Some(strings::ANSWERED_ALREADY));
        assert_eq!(detail.answers[0].evidence, ["the bank has no such payment"]);
    }
    log.operation(&frozen, "needs_reconciliation", "not_happened", at(12));
    let (console, _directory) = log.console();
    let page = desk::page(&console);
    assert!(page.items.is_empty() && page.last_text.is_some());
    assert_eq!(page.settled.iter().map(|item| item.operation.as_str()).collect::<Vec<_>>(), [operation.as_str()]);
    assert!(desk::detail(&console, &operation).unwrap().can_answer, "a note can be added");
    let answering = answering(&console, &operation);
    let said = read(&console, &answering, &Form { evidence: "a fee of EUR 2.10 was taken".to_owned(), ..form("note") }, NOW_MS).unwrap();
    assert_eq!((said.answer, said.amount_minor), (Answer::Note, None));
    assert!(state::is_settled(desk::matter(&console, &operation).as_ref()));
}

#[test]
fn each_answer_needs_its_evidence() {
    let (log, _, operation) = wired(&["treasury"]);
    let (console, _directory) = log.console();
    let answering = answering(&console, &operation);
    let read = |form: Form| read(&console, &answering, &form, NOW_MS);
    let enough = || "the bank shows it as booked".to_owned();
    let refused = [
        (form(""), strings::PICK_ANSWER),
        (form("approve"), strings::PICK_ANSWER),
        (form("happened"), strings::EVIDENCE_OR_REFERENCE),
        (Form { evidence: "aaaaaaaaaaaaaaaaaaaa".to_owned(), ..form("not_happened") }, strings::EVIDENCE_SHORT),
        (Form { evidence: "too short".to_owned(), ..form("not_happened") }, strings::EVIDENCE_SHORT),
        (Form { evidence: enough(), ..form("partly") }, strings::AMOUNT_WRONG),
        (Form { evidence: enough(), amount: "4200.00".to_owned(), ..form("partly") }, strings::AMOUNT_WRONG),
        (Form { evidence: enough(), amount: "0".to_owned(), ..form("partly") }, strings::AMOUNT_WRONG),
        (Form { evidence: enough(), amount: "1.200".to_owned(), ..form("partly") }, strings::AMBIGUOUS),
        (Form { evidence: enough(), ..form("still_unknown") }, strings::TIME_WRONG),
        (Form { look_again: "25:00".to_owned(), ..form("still_unknown") }, strings::TIME_WRONG),
        (Form { evidence: "why ".repeat(501), ..form("not_happened") }, strings::REASON_TOO_LONG),
    ];
    for (form, words) in refused {
        let answer = form.answer.clone();
        assert_eq!(read(form).unwrap_err(), words, "{answer}");
    }
    assert!(read(Form { reference: "F99-22810".to_owned(), ..form("happened") }).is_ok());
    let part: Said = read(Form { evidence: enough(), amount: "1200.00".to_owned(), ..form("partly") }).unwrap();
    assert_eq!(part.amount_minor, Some(120_000));
    let later = read(Form { look_again: "00:00".to_owned(), ..form("still_unknown") }).unwrap();
    assert!(later.evidence.look_again_at.is_some_and(|at| at.as_ms() > NOW_MS && at.as_ms() <= NOW_MS + 86_400_000));
}

#[test]
fn what_moves_an_outcome_is_read_whole_first_and_what_moves_nothing_is_not() {
    let (log, _, operation) = wired(&["treasury"]);
    let (console, _directory) = log.console();
    let mut answering = answering(&console, &operation);
    let of = |answering: &Answering, later_ms: i64| -> AnswerState { state::of(&console, answering, NOW_MS + later_ms) };
    let found = of(&answering, 0);
    assert!(!found.can_move && found.can_note && found.holds && found.pin_needed, "{found:?}");
    for page in 1..=answering.reading.parts.pages() {
        draw(&console, &mut answering, View::Rendered, page);
    }
    answering.reading.focused_since_ms = Some(NOW_MS);
    let all: Vec<usize> = answering.reading.parts.all().map(|(number, _)| number).collect();
    answering.reading.mark_seen(&all);
    assert!(!of(&answering, 100).can_move, "armed too early");
    assert!(of(&answering, 5_000).can_move);
    answering.settles_at_ms = Some(NOW_MS + 60_000);
    assert!(of(&answering, 5_000).too_early.contains("did not happen"));
}

#[test]
fn the_page_shows_the_arguments_the_hash_and_no_script_but_the_pinned_one() {
    let (mut log, frozen, operation) = wired(&["treasury"]);
    let hostile = evidence("</main><script>alert(1)</script> was on the page");
    log.answer(&frozen, Answer::StillUnknown, &Evidence { look_again_at: Some(at(600)), ..hostile }, None);
    let about = (Some(frozen.members().request), Some(operation_of(&frozen)));
    log.append_about(RecordType::OperationOpened, &[("by", "psn_x".into())], about, Vec::new(), None, at(13));
    let (console, _directory) = log.console();
    let mut answering = answering(&console, &operation);
    let frame = draw(&console, &mut answering, View::Rendered, 1);
    let text = frame.content.visible_text();
    for value in ["payee_acme", "EUR 4,200.00", "420000", "INV-1001", "</main><script>"] {
        assert!(text.contains(value), "{value} is not in {text}");
    }
    assert!(text.replace([' ', '\n'], "").contains(&frozen.request_sha256().to_string()));
    let document = frame.document();
    assert_eq!((document.html.matches("<script").count(), document.html.matches("</script").count()), (1, 1));
    assert!(document.content_security_policy.contains("script-src 'sha256-"));
}

#[test]
fn a_file_is_kept_here_and_named_by_its_digest() {
    let (log, _, operation) = wired(&["treasury"]);
    let (console, directory) = log.console();
    let mut answering = answering(&console, &operation);
    attach(&mut answering, &console.profile, "statement.pdf", &vidimus_core::bytes::base64_encode(b"booked")).unwrap();
    let file = answering.files[0].clone();
    assert_eq!((file.name.as_str(), file.bytes), ("statement.pdf", 6));
    assert_eq!(std::fs::read(console.profile.evidence_directory().join(file.sha256.to_string())).unwrap(), b"booked");
    assert!(directory.path().exists());
    let large = vidimus_core::bytes::base64_encode(vec![0; crate::limits::ATTACHMENT_BYTES_MAX + 1]);
    for (name, content, words) in [
        ("large.png", large.as_str(), strings::FILE_TOO_LARGE),
        ("../escape", "YQ==", strings::FILE_NAME_BAD),
        ("hid\u{202e}den", "YQ==", strings::FILE_NAME_BAD),
        ("x", "not base64!", strings::FILE_TOO_LARGE),
    ] {
        assert_eq!(attach(&mut answering, &console.profile, name, content), Err(words), "{name}");
    }
    assert_eq!(answering.files.len(), 1);
}
