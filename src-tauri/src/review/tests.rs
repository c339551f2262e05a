use vidimus_core::frozen::Need;
use vidimus_core::ids::{Effect, Name};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::record::RecordType;

use super::page::{View, draw};
use super::question::{Verdict, ask};
use super::*;
use crate::console::{Console, GateState, KeyState};
use crate::testing::{Log, NOW_MS, at, review};

/// Valid arguments of every tool of the fixture company that a person decides.
const CALLS: [(&str, &str); 7] = [
    ("refund", r#"{"amount_minor":4200,"currency":"EUR","invoice":"invoice_842","reason":"charged twice"}"#),
    ("send_email", r#"{"body":"Dear Ada,\nthe refund is on its way.","subject":"Your refund","to":"ada@example.invalid"}"#),
    ("cancel_subscription", r#"{"effective":"2026-12-31","reason":"asked by the customer","subscription":"sub_77"}"#),
    ("wire_transfer", r#"{"amount_minor":150000,"currency":"EUR","payee":"payee_acme","reference":"INV-1001"}"#),
    ("issue_credit", r#"{"amount_minor":500,"currency":"EUR","customer":"customer_ada","reason":"late delivery"}"#),
    ("crm_set_status", r#"{"customer":"customer_ada","status":"churned"}"#),
    ("contract_workflow", r#"{"customer":"customer_ada"}"#),
];

fn visible(console: &Console, review: &mut Review) -> String {
    let frame = draw(console, review, View::Rendered, 1);
    // The hash changes with anything: what must change is the text of the arguments.
    let text = frame.content.visible_text();
    let from = text.find("Arguments").unwrap();
    let to = text.find("Compared with").unwrap();
    text[from..to].to_owned()
}

#[test]
fn what_an_alias_stands_for_is_on_the_page() {
    let mut log = Log::founded(&["billing-approver", "treasury"]);
    let (wire, refund) = (log.request(CALLS[3].0, CALLS[3].1), log.request(CALLS[0].0, CALLS[0].1));
    let (console, _directory) = log.console();
    let text = visible(&console, &mut review(&console, &wire));
    assert!(text.contains(crate::strings::STANDS_FOR) && text.contains(crate::testing::REFERENT), "{text}");
    let text = visible(&console, &mut review(&console, &refund));
    assert!(!text.contains(crate::strings::STANDS_FOR), "an invoice stands for itself: {text}");
}

/// Every way to change one value of a document: another value, another type, a key, a member more or less.
fn mutations(json: &Json) -> Vec<Json> {
    let mut found = match json {
        Json::String(text) => vec![
            format!("{text} ").into(),
            format!("{text}\u{200b}").into(),
            format!("{text}\n").into(),
            text.replace('a', "\u{430}").into(),
            text.to_uppercase().into(),
            Json::Null,
            Json::Array(vec![text.as_str().into()]),
            "".into(),
        ],
        Json::Number(_) => vec![Json::integer(1).unwrap(), Json::integer(420_000).unwrap(), "4200".into(), Json::Bool(true)],
        Json::Bool(_) | Json::Null => vec!["x".into()],
        Json::Array(_) => vec![Json::Array(Vec::new())],
        Json::Object(_) => Vec::new(),
    };
    if let Json::Object(members) = json {
        for (at, (name, value)) in members.iter().enumerate() {
            for changed in mutations(value) {
                let mut members = members.clone();
                members[at].1 = changed;
                found.push(Json::Object(members));
            }
            let mut renamed = members.clone();
            renamed[at].0 = format!("{name}\u{200b}");
            found.push(Json::Object(renamed));
            let mut fewer = members.clone();
            fewer.remove(at);
            found.push(Json::Object(fewer));
        }
        let mut more = members.clone();
        more.push(("zz_on_behalf_of".to_owned(), "ACC-9".into()));
        found.push(Json::Object(more));
    }
    found.retain(|changed| changed != json);
    found
}

#[test]
fn changing_any_argument_changes_the_visible_text() {
    let mut changes = 0;
    for (tool, args) in CALLS {
        let json = parse(args.as_bytes(), &Limits::MONEY).unwrap();
        let mut log = Log::founded(&["billing-approver", "support-lead", "treasury"]);
        let original = log.request(tool, args);
        let others: Vec<_> = mutations(&json)
            .into_iter()
            .map(|changed| {
                let text = String::from_utf8(changed.canonical().unwrap()).unwrap();
                (log.request(tool, &text), text)
            })
            .collect();
        let (console, _directory) = log.console();
        let shown = visible(&console, &mut review(&console, &original));
        for (request, text) in others {
            assert_ne!(visible(&console, &mut review(&console, &request)), shown, "{tool}: {text}");
            changes += 1;
        }
    }
    assert!(changes > 100, "{changes}");
}

#[test]
fn the_calls_cover_every_money_tool_of_the_fixture() {
    let log = Log::founded(&[]);
    let tools: Vec<&str> = log
        .table
        .rows()
        .filter(|row| row.effect == Effect::Money)
        .map(|row| row.tool.as_str())
        .filter(|tool| !tool.starts_with("gate."))
        .collect();
    let mut covered: Vec<&str> = CALLS.iter().map(|(tool, _)| *tool).collect();
    covered.sort_unstable();
    assert_eq!(tools, covered);
    for (tool, args) in CALLS {
        let row = log.table.row(&Name::parse(tool).unwrap()).unwrap();
        let args = parse(args.as_bytes(), &Limits::MONEY).unwrap();
        assert_eq!(row.validate(&args).err(), None, "{tool}");
    }
}

fn opened(log: &Log, request: &vidimus_core::ids::RequestId) -> (Console, Review, tempfile::TempDir) {
    let (console, directory) = log.console();
    let mut review = review(&console, request);
    for page in 1..=review.parts.pages() {
        draw(&console, &mut review, View::Rendered, page);
    }
    review.focused_since_ms = Some(NOW_MS);
    (console, review, directory)
}

fn see_all(review: &mut Review) {
    let parts: Vec<usize> = review.parts.all().map(|(number, _)| number).collect();
    review.mark_seen(&parts);
}

#[test]
fn approving_waits_until_every_part_was_served_and_seen() {
    let mut log = Log::founded(&["support-lead"]);
    let body = "a line of text that goes on. ".repeat(400);
    let request = log.request("send_email", &CALLS[1].1.replace("the refund is on its way.", &body));
    let (console, _directory) = log.console();
    let mut review = review(&console, &request);
    review.focused_since_ms = Some(NOW_MS);
    assert!(review.parts.pages() > 1);
    draw(&console, &mut review, View::Rendered, 1);
    see_all(&mut review);
    let locks = super::locks::of(&console, &review, NOW_MS + 5_000);
    assert!(!locks.can_approve() && locks.hard.is_empty(), "parts of pages that were never served do not count: {locks:?}");
    for page in 2..=review.parts.pages() {
        draw(&console, &mut review, View::Rendered, page);
    }
    see_all(&mut review);
    assert!(super::locks::of(&console, &review, NOW_MS + 5_000).can_approve());
    assert!(!super::locks::of(&console, &review, NOW_MS + 100).can_approve(), "not within the first moments");
}

#[test]
fn each_lock_has_its_own_words_and_denying_stays_possible_where_it_is_safe() {
    let mut log = Log::founded(&["billing-approver"]);
    let request = log.request("refund", CALLS[0].1);
    let later = NOW_MS + 5_000;
    let id = |lines: &[String]| {
        lines.iter().filter_map(|line| line.rsplit_once('(')?.1.split_once(')')).map(|(id, _)| id.to_owned()).collect::<Vec<_>>()
    };
    type Change = fn(&Console, &mut Review);
    let cases: [(&str, Change, bool); 10] = [
        ("E-NET-1", |console, _| console.shared().gate = GateState::Offline, false),
        ("E-NET-4", |console, _| console.shared().gate = GateState::IdentityChanged, false),
        ("E-KEY-5", |console, _| console.shared().key = KeyState::Stopped, false),
        ("E-KEY-6", |console, _| console.shared().key = KeyState::Waiting, false),
        ("E-KEY-10", |console, _| crate::link::removed(console), false),
        ("E-REQ-1", |_, review| review.gate_says = GateSays::Differs("00".to_owned()), true),
        ("E-AUD-3", |console, _| console.shared().mirror_fault = Some(crate::errors::Told::new("E-AUD-3", "full")), true),
        ("E-AUD-1", |console, _| drop(console.mirror().as_mut().unwrap().check_head(&Log::founded(&["billing-approver"]).head())), true),
        ("E-NET-4", |console, _| drop(console.mirror().as_mut().unwrap().check_head("nothing")), true),
        ("E-DEC-6", |_, review| (review.wrong_answers, review.answer_wait_until_ms) = (2, NOW_MS + 60_000), true),
    ];
    for (expected, change, can_deny) in cases {
        let (console, mut review, _directory) = opened(&log, &request);
        see_all(&mut review);
        assert!(super::locks::of(&console, &review, later).can_approve(), "before {expected}");
        change(&console, &mut review);
        let locks = super::locks::of(&console, &review, later);
        assert!(!locks.can_approve(), "{expected}");
        assert!(id(&locks.hard).contains(&expected.to_owned()), "{expected}: {locks:?}");
        assert_eq!(locks.can_deny(), can_deny, "{expected}");
    }
    let (console, mut review, _directory) = opened(&log, &request);
    see_all(&mut review);
    let expired = super::locks::of(&console, &review, NOW_MS + 1_800_000);
    assert!(expired.ended && !expired.can_approve() && !expired.can_deny());
    assert_eq!(id(&expired.deny), ["E-EXP-1"]);
}

/// Sent, and never answered: until it can arrive no more it is not given again, then the window says that it never arrived.
#[test]
fn what_was_sent_and_not_confirmed_is_not_decided_again() {
    let mut log = Log::founded(&["billing-approver"]);
    let frozen = log.freeze("refund", CALLS[0].1);
    let request = log.create(&frozen);
    let (console, mut review, _directory) = opened(&log, &request);
    see_all(&mut review);
    review.unconfirmed_until_ms = Some(NOW_MS + 60_000);
    console.shared().level = true;
    let locks = super::locks::of(&console, &review, NOW_MS + 59_999);
    assert!(!locks.can_approve() && locks.can_deny() && locks.hard[0].contains("(E-NET-2)"), "{locks:?}");
    assert!(super::locks::undelivered(&console, &review, NOW_MS + 59_999).is_none());
    assert!(super::locks::of(&console, &review, NOW_MS + 60_000).can_approve());
    let told = super::locks::undelivered(&console, &review, NOW_MS + 60_000).unwrap();
    assert_eq!((told.id, told.text.as_str()), ("E-NET-3", crate::strings::NOT_DELIVERED));
    let page = super::state::of(&console, &review, NOW_MS + 60_000);
    assert_eq!(page.progress, [told.line()]);
    console.shared().level = false;
    assert!(super::locks::undelivered(&console, &review, NOW_MS + 60_000).is_none(), "an older state of the log tells nothing");
    let card = Card::clone(&review.card);
    review.reopen(card, "another".to_owned(), NOW_MS);
    assert!(review.unconfirmed_until_ms.is_some(), "another window does not forget it");
    log.decide(&frozen, vidimus_core::decision::DecisionKind::Approve, None);
    let (console, mut review, _directory) = opened(&log, &request);
    console.shared().level = true;
    review.unconfirmed_until_ms = Some(NOW_MS + 60_000);
    let locks = super::locks::of(&console, &review, NOW_MS + 5_000);
    assert!(locks.ended && locks.hard.iter().all(|line| !line.contains("E-NET-2")), "the log tells: {locks:?}");
    assert!(super::locks::undelivered(&console, &review, NOW_MS + 90_000).is_none());
}

#[test]
fn a_person_without_the_role_reads_and_does_not_decide() {
    let mut log = Log::founded(&["support-lead"]);
    let request = log.request("refund", CALLS[0].1);
    let (console, mut review, _directory) = opened(&log, &request);
    see_all(&mut review);
    let locks = super::locks::of(&console, &review, NOW_MS + 5_000);
    assert!(!locks.can_approve() && !locks.can_deny());
    assert!(locks.hard[0].contains("billing-approver") && locks.hard[0].contains("support-lead"), "{locks:?}");
}

#[test]
fn bytes_that_are_not_the_recorded_ones_lock_approving_only() {
    let mut log = Log::founded(&["billing-approver"]);
    let request = log.request("refund", CALLS[0].1);
    let (console, _directory) = log.console();
    let mut mirror = crate::mirror::Mirror::in_memory(log.identity());
    let mut batch = crate::mirror::Batch::default();
    for record in &log.records {
        let mut record = record.clone();
        record.body = record.body.map(|body| body.replace(":4200,", ":9900,"));
        batch.push(record);
    }
    batch.settle(&mut mirror, &log.head()).unwrap();
    *console.mirror() = Some(mirror);
    let mut review = review(&console, &request);
    draw(&console, &mut review, View::Rendered, 1);
    see_all(&mut review);
    review.focused_since_ms = Some(NOW_MS);
    let locks = super::locks::of(&console, &review, NOW_MS + 5_000);
    assert!(!locks.can_approve() && locks.can_deny(), "{locks:?}");
    assert!(locks.hard[0].contains("(E-REQ-1)"));
}

#[test]
fn the_value_question_takes_the_value_and_nothing_close() {
    let mut log = Log::founded(&["treasury", "support-lead"]);
    let wire = log.request("wire_transfer", CALLS[3].1);
    let (console, _directory) = log.console();
    let card = review(&console, &wire).card;
    let mut asked_of = BTreeSet::new();
    for seed in 0..32 {
        let asked = ask(&card, None, &[], [seed; 16]).unwrap();
        asked_of.insert(asked.path().to_owned());
        assert_eq!(asked.options.len(), 4, "{asked:?}");
        let right: Vec<&String> = asked.options.iter().filter(|option| asked.judge(option) == Verdict::Right).collect();
        assert_eq!(right.len(), 1, "{asked:?}");
        assert_eq!(asked.judge(""), Verdict::Wrong);
        let other = ask(&card, Some(&asked), &[], [seed; 16]).unwrap();
        assert_ne!(other.path(), asked.path(), "a different question follows");
    }
    assert!(asked_of.len() > 1);
    let amount = (0..64).find_map(|seed| ask(&card, None, &[], [seed; 16]).filter(|asked| asked.unit == "EUR")).unwrap();
    for (answer, verdict) in [
        ("1500.00", Verdict::Right),
        ("1.500,00", Verdict::Right),
        ("1500", Verdict::Right),
        ("1.500", Verdict::Ambiguous),
        ("150000", Verdict::Wrong),
        ("15000.00", Verdict::Wrong),
    ] {
        assert_eq!(amount.judge(answer), verdict, "{answer}");
    }
}

#[test]
fn the_pages_of_a_hostile_request_hold_no_markup_of_its_own() {
    let mut log = Log::founded(&["support-lead"]);
    let hostile = r#"{"body":"</pre><script>1</script>","subject":"\"><img src=x onerror=1>","to":"a@example.invalid"}"#;
    let request = log.request("send_email", hostile);
    let (console, _directory) = log.console();
    let mut review = review(&console, &request);
    for view in View::ALL {
        let document = draw(&console, &mut review, view, 1).document();
        assert_eq!(document.html.matches("<script").count(), 1);
        assert!(!document.html.contains("<img"));
    }
}

#[test]
fn an_orphaned_request_is_not_approved_before_its_agent_is_back() {
    let mut log = Log::founded(&["billing-approver"]);
    let request = log.request("refund", CALLS[0].1);
    for (orphaned, can_approve) in [(true, false), (false, true)] {
        log.append(RecordType::RequestOrphaned, &[("orphaned", Json::Bool(orphaned))], Some(request), Vec::new(), None);
        let (console, mut review, _directory) = opened(&log, &request);
        see_all(&mut review);
        let locks = super::locks::of(&console, &review, NOW_MS + 5_000);
        assert_eq!(locks.can_approve(), can_approve, "{locks:?}");
        assert_eq!(locks.hard.iter().any(|line| line.contains("E-REQ-12")), orphaned, "{locks:?}");
        assert!(locks.can_deny());
        let query =
            crate::inbox::InboxQuery { view: crate::inbox::View::Waiting, search: String::new(), sort: crate::inbox::Sort::Expires };
        let flags: Vec<_> = crate::inbox::open(&console, query).page.rows[0].flags.iter().map(|flag| flag.id).collect();
        assert_eq!(flags.contains(&"orphaned"), orphaned, "{flags:?}");
    }
}

#[test]
fn what_waited_too_long_is_decided_by_the_role_that_it_is_passed_on_to() {
    let mut log = Log::founded(&["support-lead"]);
    let needs = vec![Need { role: Name::parse("billing-approver").unwrap(), quorum: 1, escalate_to: Name::parse("support-lead").ok() }];
    let frozen = log.freeze_for("refund", CALLS[0].1, at(1_800), needs);
    let request = log.create(&frozen);
    let (console, _directory) = log.console();
    assert!(crate::inbox::decidable(&console).is_empty());
    log.append(RecordType::RequestEscalated, &[], Some(request), Vec::new(), None);
    let (console, _directory) = log.console();
    assert_eq!(crate::inbox::decidable(&console).len(), 1);
    let (console, mut review, _directory) = opened(&log, &request);
    see_all(&mut review);
    assert!(super::locks::of(&console, &review, NOW_MS + 5_000).can_approve());
}
