//! The lists of the inbox, over logs made by hand.

use vidimus_core::json::Json;
use vidimus_core::record::RecordType;

use super::*;
use crate::testing::Log;

const REFUND: &str = r#"{"invoice":"invoice_842","amount_minor":4200,"currency":"EUR","reason":"charged twice"}"#;
const MAIL: &str = r#"{"to":"bert@example.org","subject":"Your fan","body":"It ships on Friday."}"#;

fn query(view: View, search: &str, sort: Sort) -> InboxQuery {
    InboxQuery { view, search: search.to_owned(), sort }
}

fn waiting(search: &str) -> InboxQuery {
    query(View::Waiting, search, Sort::Newest)
}

#[test]
fn a_list_keeps_its_order_and_tells_what_it_lacks() {
    let mut log = Log::founded(&["billing-approver"]);
    let first = log.request("refund", REFUND).to_string();
    let (console, _directory) = log.console();
    let opened = open(&console, waiting(""));
    assert_eq!(opened.requests, [first.as_str()]);
    assert!(opened.page.fresh.is_none());
    let second = log.request("refund", REFUND);
    log.append(RecordType::RequestExpired, &[], Some(first.parse().unwrap()), Vec::new(), None);
    log.bring(&console);
    let page = page(&console, &opened.list, &opened.requests).unwrap();
    assert_eq!(page.fresh.unwrap().count, "1");
    assert_eq!(page.rows.len(), 1, "what ended keeps its row: {:?}", page.rows);
    assert_eq!(page.rows[0].state, "expired");
    assert!(page.rows[0].tombstone_text.is_some());
    assert_eq!(page.counts, InboxCounts { waiting: "1".to_owned(), mine: "1".to_owned(), decided: "0".to_owned() });
    assert_eq!(open(&console, waiting("")).requests, [second.to_string()]);
}

#[test]
fn a_search_finds_every_word_of_a_row_and_nothing_else() {
    let mut log = Log::founded(&["billing-approver", "support-lead"]);
    let refund = log.request("refund", REFUND).to_string();
    let mail = log.request("send_email", MAIL).to_string();
    let (console, _directory) = log.console();
    for (words, found) in [
        ("refund", vec![&refund]),
        ("REFUND 42.00", vec![&refund]),
        ("bert@example.org", vec![&mail]),
        ("money", vec![&mail, &refund]),
        ("refund bert", vec![]),
        (&refund.to_lowercase(), vec![&refund]),
    ] {
        assert_eq!(open(&console, waiting(words)).requests.iter().collect::<Vec<_>>(), found, "{words}");
    }
}

/// Whoever may not decide sees what waits and is told why; it is none of theirs, and no news to them.
#[test]
fn what_others_decide_is_counted_apart() {
    let mut log = Log::founded(&["support-lead"]);
    let refund = log.request("refund", REFUND).to_string();
    let mail = log.request("send_email", MAIL).to_string();
    let (console, _directory) = log.console();
    assert_eq!(counts(&console), Counts { waiting: 2, mine: 1, decided: 0 });
    assert_eq!(open(&console, query(View::Mine, "", Sort::Expires)).requests, [mail.as_str()]);
    assert_eq!(decidable_of(&console, &[refund.clone(), mail.clone()]), 1);
    assert_eq!(next_after(&console, &refund).as_deref(), Some(mail.as_str()));
    assert_eq!(next_after(&console, &mail), None);
    let row = &open(&console, waiting("refund")).page.rows[0];
    assert!(!row.eligible && row.not_eligible_text.is_some());
}

#[test]
fn a_list_of_another_run_is_not_known() {
    let (console, _directory) = Log::founded(&["billing-approver"]).console();
    for list in ["1", "0", "x", ""] {
        assert_eq!(page(&console, list, &[]).unwrap_err().id, "E-REQ-11");
    }
    let oldest = open(&console, waiting("")).list;
    for _ in 0..crate::limits::LISTS_KEPT {
        open(&console, waiting(""));
    }
    assert!(page(&console, &oldest, &[]).is_err());
}

#[test]
fn words_stay_for_as_long_as_the_countdown_reads_the_same() {
    for (left_ms, stays) in [(0, 1), (999, 1_000), (1_000, 1), (61_500, 501), (299_999, 1_000), (300_000, 1), (359_999, 60_000)] {
        assert_eq!(stays_ms(left_ms), stays, "{left_ms}");
        let reads = |left_ms: i64| time::left(left_ms, 0);
        assert_eq!(reads(left_ms), reads(left_ms - i64::from(stays) + 1), "{left_ms}");
        assert!(left_ms < 1_000 || reads(left_ms) != reads(left_ms - i64::from(stays)), "{left_ms}");
    }
}

/// What nothing happened to is not read again: an index that is asked anew gives the very same summaries.
#[test]
fn only_what_the_log_touched_is_read_again() {
    let mut log = Log::founded(&["billing-approver"]);
    let (one, other) = (log.request("refund", REFUND), log.request("refund", REFUND));
    let (console, _directory) = log.console();
    let before = super::waiting(&console);
    let again = super::waiting(&console);
    assert!(before.iter().zip(&again).all(|(one, other)| Arc::ptr_eq(one, other)));
    log.append(RecordType::RequestOrphaned, &[("orphaned", Json::Bool(true))], Some(one), Vec::new(), None);
    log.bring(&console);
    let after = super::waiting(&console);
    let of = |list: &[Arc<Summary>], request: &vidimus_core::ids::RequestId| {
        Arc::clone(list.iter().find(|summary| *summary.request == *request.to_string()).unwrap())
    };
    assert!(Arc::ptr_eq(&of(&before, &other), &of(&after, &other)));
    assert!(!Arc::ptr_eq(&of(&before, &one), &of(&after, &one)));
}
