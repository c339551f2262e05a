//! The table of the fixture company, and each rule with a table that breaks it.

use vidimus_core::ids::{Effect, Name};
use vidimus_core::table::{RetryRule, Table};

const COMPANY: &str = include_str!("../../../tests/src/company/effects.toml");

fn company() -> Table {
    let text = COMPANY.replace("{{company}}", "http://127.0.0.1:1");
    Table::parse(&text).unwrap_or_else(|faults| panic!("{}", faults.iter().map(|fault| format!("{fault}\n")).collect::<String>()))
}

fn name(text: &str) -> Name {
    Name::parse(text).expect(text)
}

#[test]
fn the_company_loads_without_warnings() {
    let table = company();
    assert_eq!(table.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let own = table.row(&name("gate.roster.change")).expect("the gate's own row");
    assert_eq!((own.effect, own.owner.as_str(), own.request_ttl_s), (Effect::Money, "admin", 7 * 24 * 3600));
    let rules = [
        ("search", RetryRule::Repeat),
        ("create_ticket", RetryRule::Never),
        ("refund", RetryRule::SameKey),
        ("cancel_subscription", RetryRule::Ask),
        ("wire_transfer", RetryRule::Never),
    ];
    for (tool, rule) in rules {
        assert_eq!(table.row(&name(tool)).expect(tool).retry_rule(), rule, "`{tool}`");
    }
}
