//! What the verified log tells of whom a request names, and what it is compared with.

use vidimus_core::decision::DecisionKind;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::RequestId;

use super::compare::{Basis, Comparison, Difference, with_last};
use super::warnings::Warning;
use crate::testing::{Log, review};

const IBAN: &str = "DE89370400440532013000";
const OTHER_IBAN: &str = "GB82WEST12345698765432";

fn invoice(name: &str, iban: &str, amount: u64, purpose: &str) -> String {
    format!(r#"{{"amount_minor":{amount},"creditor":{{"iban":"{iban}","name":"{name}"}},"currency":"EUR","purpose":"{purpose}"}}"#)
}

fn log() -> Log {
    Log::founded_with_pay_invoice(&["billing-approver", "treasury"])
}

/// A request that was approved and sent.
fn approved(log: &mut Log, tool: &str, args: &str) -> FrozenRequest {
    let frozen = log.freeze(tool, args);
    log.create(&frozen);
    log.decide(&frozen, DecisionKind::Approve, None);
    frozen
}

fn warned(log: &Log, request: &RequestId) -> Vec<Warning> {
    let (console, _directory) = log.console();
    review(&console, request).card.warnings.clone()
}

fn told(log: &mut Log, tool: &str, args: &str) -> Vec<Warning> {
    let request = log.request(tool, args);
    warned(log, &request)
}

fn of<'w>(warnings: &'w [Warning], id: &str) -> Option<&'w Warning> {
    warnings.iter().find(|warning| warning.id == id)
}

#[test]
fn the_first_payment_to_an_account_is_told_and_the_next_one_is_none() {
    let mut log = log();
    let first = told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "one"));
    let text = &of(&first, "new").expect("a first payment").text;
    assert!(text.starts_with("First payment to this account") && text.contains("records verified here."), "{text}");
    // That somebody asked for it before makes no account known; that it stands in a note does not either.
    approved(&mut log, "pay_invoice", &invoice("Fictional Fixtures GmbH", OTHER_IBAN, 4_200, IBAN));
    assert!(of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "two")), "new").is_some());
    approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "three"));
    let known = told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 100, "four"));
    assert!(of(&known, "new").is_none() && of(&known, "known").is_none() && of(&known, "account").is_none(), "{known:?}");
}

#[test]
fn what_a_role_keeps_from_a_finding_is_told() {
    let mut log = log();
    log.request_hidden("wire_transfer");
    log.request_hidden("wire_transfer");
    let text = of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "one")), "new").unwrap().text.clone();
    assert!(text.ends_with("(2 requests are hidden from your roles)."), "{text}");
}

#[test]
fn the_payee_that_it_looks_like_is_named_with_the_letter_that_differs() {
    let mut log = log();
    for purpose in ["one", "two"] {
        approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, purpose));
    }
    let cases = [
        ("A\u{421}ME GmbH", "character 2 is U+0421 here and U+0043 there"),
        ("AC\u{200b}ME GmbH", "character 3 is U+200B here and U+004D there"),
        ("Acme GmbH", "character 2 is U+0063 here and U+0043 there"),
        ("ACME GmbH\u{200b}", "character 10 is U+200B here and the end there"),
    ];
    for (name, difference) in cases {
        let warnings = told(&mut log, "pay_invoice", &invoice(name, IBAN, 100, name));
        let warning = of(&warnings, "known").unwrap_or_else(|| panic!("{name:?}: {warnings:?}"));
        assert!(warning.text.contains("looks like \"ACME GmbH\" (approved 2 times)"), "{}", warning.text);
        assert!(warning.text.contains(difference), "{}", warning.text);
        assert_eq!(warning.compared, Some(("ACME GmbH".to_owned(), name.to_owned())));
    }
    let warnings = told(&mut log, "pay_invoice", &invoice("ACNE GmbH", IBAN, 100, "another name"));
    assert!(of(&warnings, "known").is_none(), "{warnings:?}");
}

#[test]
fn another_account_of_a_known_payee_is_told_with_both() {
    let mut log = log();
    approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "one"));
    let warnings = told(&mut log, "pay_invoice", &invoice("ACME GmbH", OTHER_IBAN, 100, "two"));
    let warning = of(&warnings, "account").expect("a changed account");
    assert_eq!(warning.compared, Some((IBAN.to_owned(), OTHER_IBAN.to_owned())));
    assert!(warning.text.contains("ACME GmbH") && of(&warnings, "new").is_some(), "{warnings:?}");
    // Approved once, the new one is the last one.
    approved(&mut log, "pay_invoice", &invoice("ACME GmbH", OTHER_IBAN, 100, "three"));
    let warnings = told(&mut log, "pay_invoice", &invoice("ACME GmbH", OTHER_IBAN, 200, "four"));
    assert!(of(&warnings, "account").is_none(), "{warnings:?}");
    let back = told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 200, "five"));
    assert_eq!(of(&back, "account").unwrap().compared, Some((OTHER_IBAN.to_owned(), IBAN.to_owned())));
}

#[test]
fn another_account_behind_the_same_alias_is_told() {
    const WIRE: &str = r#"{"amount_minor":150000,"currency":"EUR","payee":"payee_acme","reference":"INV-1001"}"#;
    let mut log = log();
    approved(&mut log, "wire_transfer", WIRE);
    let wire = WIRE.replace("1001", "1002");
    assert!(of(&told(&mut log, "wire_transfer", &wire), "account").is_none());
    let frozen = log.freeze_standing_for("wire_transfer", &WIRE.replace("1001", "1003"), IBAN);
    let request = log.create(&frozen);
    let warnings = warned(&log, &request);
    let warning = of(&warnings, "account").expect("a changed account");
    assert_eq!(warning.compared, Some((crate::testing::REFERENT.to_owned(), IBAN.to_owned())));
}

#[test]
fn the_same_amount_to_the_same_payee_is_told_with_how_the_last_one_stands() {
    let mut log = log();
    assert!(of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "one")), "repeated").is_none());
    let waiting = told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "two"));
    let text = &of(&waiting, "repeated").expect("a repetition").text;
    assert!(text.contains("asked for once in the 30 days before") && text.ends_with("which still waits."), "{text}");
    approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "three"));
    let text = of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "four")), "repeated").unwrap().text.clone();
    assert!(text.contains("3 times") && text.ends_with("which is approved."), "{text}");
    for other in [
        invoice("ACME GmbH", IBAN, 4_201, "five"),
        invoice("ACME GmbH", OTHER_IBAN, 4_200, "six"),
        invoice("ACME GmbH", IBAN, 4_200, "seven").replace("EUR", "USD"),
    ] {
        assert!(of(&told(&mut log, "pay_invoice", &other), "repeated").is_none(), "{other}");
    }
    let denied = log.freeze("pay_invoice", &invoice("ACME GmbH", IBAN, 777, "denied"));
    log.create(&denied);
    log.decide(&denied, DecisionKind::Deny, None);
    assert!(of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 777, "eight")), "repeated").is_none());
}

#[test]
fn a_payee_whose_earlier_payment_is_in_doubt_is_told() {
    let mut log = log();
    let frozen = approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 4_200, "one"));
    assert!(of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 100, "two")), "doubt").is_none());
    log.in_doubt(&frozen);
    let text = of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 100, "three")), "doubt").unwrap().text.clone();
    assert!(text.contains(&frozen.members().request.to_string()) && text.contains("not known"), "{text}");
    assert!(of(&told(&mut log, "pay_invoice", &invoice("ACME GmbH", OTHER_IBAN, 100, "four")), "doubt").is_none());
}

fn compared(log: &mut Log, args: &str) -> Option<Comparison> {
    let request = log.request("pay_invoice", args);
    let (console, _directory) = log.console();
    let card = review(&console, &request).card;
    console.read(|mirror| with_last(&card, mirror)).flatten()
}

#[test]
fn it_is_compared_with_the_last_approved_request_to_the_same_payee() {
    let mut log = log();
    assert_eq!(compared(&mut log, &invoice("ACME GmbH", IBAN, 420_000, "one")), None);
    let same = approved(&mut log, "pay_invoice", &invoice("ACME GmbH", IBAN, 118_000, "two"));
    let other = approved(&mut log, "pay_invoice", &invoice("Fictional Fixtures GmbH", OTHER_IBAN, 1, "three"));
    let found = compared(&mut log, &invoice("ACME GmbH", IBAN, 420_000, "two")).expect("a comparison");
    assert_eq!((found.basis, found.request.as_str()), (Basis::Payee, same.members().request.to_string().as_str()));
    let amount =
        Difference::Changed { path: "amount_minor".to_owned(), there: "118000".to_owned(), here: "420000".to_owned(), times: Some(355) };
    assert_eq!(found.differences, [amount]);
    assert_eq!(found.same, ["creditor.iban", "creditor.name", "currency", "purpose"]);
    let unknown = compared(&mut log, &invoice("Third GmbH", "ACC-7", 1, "four")).expect("a comparison");
    assert_eq!((unknown.basis, unknown.request), (Basis::Agent, other.members().request.to_string()));
}

/// A text and a number of the same characters differ, and so do a member that is absent and one that is empty.
#[test]
fn a_comparison_tells_kinds_apart() {
    let mut log = log();
    let with = |more: &str| invoice("ACME GmbH", IBAN, 100, "one").replace("\"purpose\"", &format!("{more},\"purpose\""));
    approved(&mut log, "pay_invoice", &with(r#""metadata":{"a":"5","b":{},"c":null,"x.y":1}"#));
    let found = compared(&mut log, &with(r#""metadata":{"a":5,"b":[],"d":"","x":{"y":1}}"#)).expect("a comparison");
    let paths: Vec<(&str, &str)> = found
        .differences
        .iter()
        .map(|difference| match difference {
            Difference::Added { path, .. } => ("+", path.as_str()),
            Difference::Removed { path, .. } => ("-", path.as_str()),
            Difference::Changed { path, times, .. } => (if times.is_some() { "x" } else { "~" }, path.as_str()),
        })
        .collect();
    assert_eq!(
        paths,
        [("~", "metadata.a"), ("~", "metadata.b"), ("+", "metadata.d"), ("+", "metadata.x.y"), ("-", "metadata.c"), ("-", "metadata.x.y")]
    );
}
