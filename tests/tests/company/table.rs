//! The effect table fits the company: every row reaches its tool, and its schema takes what the tool takes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use vidimus_tests::company::{Method, Tool, effect_table};

use super::CHANGES;

#[derive(Deserialize)]
struct Table {
    row: Vec<Row>,
    agent: Vec<Agent>,
}

#[derive(Deserialize)]
struct Row {
    tool: String,
    effect: String,
    reversibility: Option<String>,
    owner: String,
    idempotency: Option<String>,
    schema: String,
    executor: Executor,
}

#[derive(Deserialize)]
struct Executor {
    method: String,
    url: String,
    credential: String,
}

#[derive(Deserialize)]
struct Agent {
    agent: String,
    tools: Vec<String>,
}

fn table() -> Table {
    toml::from_str(&effect_table("http://127.0.0.1:1")).unwrap()
}

fn schema(row: &Row) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&row.schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// What the fixture's description says of each tool: effect, reversibility, idempotency.
const LABELS: &[(&str, &str, Option<&str>, Option<&str>)] = &[
    ("search", "read", None, None),
    ("get_ticket", "read", None, None),
    ("list_orders", "read", None, None),
    ("get_invoice", "read", None, None),
    ("get_customer", "read", None, None),
    ("update_ticket_tags", "write", Some("reversible"), None),
    ("create_ticket", "write", Some("reversible"), None),
    ("close_ticket", "write", Some("reversible"), None),
    ("upsert_customer", "write", Some("compensable"), None),
    ("crm_set_status", "money", Some("compensable"), Some("none")),
    ("send_email", "money", Some("irreversible"), Some("none")),
    ("refund", "money", Some("compensable"), Some("key")),
    ("cancel_subscription", "money", Some("compensable"), Some("status")),
    ("wire_transfer", "money", Some("irreversible"), Some("none")),
    ("issue_credit", "money", Some("reversible"), Some("key")),
];

#[test]
fn every_tool_has_the_label_that_the_fixture_says() {
    let rows: BTreeMap<String, Row> = table().row.into_iter().map(|row| (row.tool.clone(), row)).collect();
    for (tool, effect, reversibility, idempotency) in LABELS {
        let row = rows.get(*tool).unwrap_or_else(|| panic!("no row for {tool}"));
        let label = (row.effect.as_str(), row.reversibility.as_deref(), row.idempotency.as_deref());
        assert_eq!(label, (*effect, *reversibility, *idempotency), "{tool}");
    }
    for kept_out in ["run_shell", "get_or_create_ticket", "refund_and_mail", "get_user"] {
        assert!(!rows.contains_key(kept_out), "{kept_out}");
    }
    let owners: BTreeSet<&str> = rows.values().map(|row| row.owner.as_str()).collect();
    assert_eq!(owners, ["billing-approver", "support-lead", "treasury"].into());
}

#[test]
fn every_row_reaches_its_tool_and_no_other() {
    for row in table().row {
        let tool = Tool::ALL.iter().find(|tool| tool.name() == row.tool).unwrap_or_else(|| panic!("no tool {}", row.tool));
        let method = match tool.method() {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
        };
        assert_eq!(row.executor.method, method, "{}", row.tool);
        let path = row.executor.url.strip_prefix("http://127.0.0.1:1").unwrap().split('?').next().unwrap();
        let plain: Vec<&str> = path.split('/').map(|segment| if segment.starts_with('{') { "{id}" } else { segment }).collect();
        assert_eq!(plain.join("/"), tool.path(), "{}", row.tool);
        assert!(row.effect != "money" || !row.executor.url.contains('{'), "{}: money goes to a constant address", row.tool);
        // Whoever may change a read or a write must not reach what pays.
        let named = match (row.effect.as_str(), row.owner.as_str()) {
            ("money", "support-lead") => "env:VIDIMUS_CREDENTIAL_SUPPORT",
            ("money", "billing-approver") => "env:VIDIMUS_CREDENTIAL_BILLING",
            ("money", "treasury") => "env:VIDIMUS_CREDENTIAL_TREASURY",
            _ => "env:VIDIMUS_CREDENTIAL_COMPANY",
        };
        assert_eq!(row.executor.credential, named, "{}", row.tool);
    }
}

#[test]
fn schemas_are_closed_and_take_what_the_company_takes() {
    for row in table().row {
        let schema = schema(&row);
        for (_, _, body, tool) in CHANGES.iter().filter(|change| change.3.name() == row.tool) {
            let mut arguments: Value = serde_json::from_str(body).unwrap();
            assert!(schema.is_valid(&arguments), "{} {body}", tool.name());
            let names: Vec<String> = arguments.as_object().unwrap().keys().cloned().collect();
            for name in names {
                let mut fewer = arguments.clone();
                fewer.as_object_mut().unwrap().remove(&name);
                assert!(!schema.is_valid(&fewer), "{} without {name}", tool.name());
                let mut other = arguments.clone();
                other[&name] = Value::Null;
                assert!(!schema.is_valid(&other), "{} with {name} null", tool.name());
            }
            arguments["memo"] = Value::from("more");
            assert!(!schema.is_valid(&arguments), "{} with one more", tool.name());
        }
        assert!(!schema.is_valid(&serde_json::json!({})), "{}", row.tool);
    }
}

#[test]
fn agents_have_the_tools_of_their_desk() {
    let table = table();
    let rows: BTreeMap<&str, &Row> = table.row.iter().map(|row| (row.tool.as_str(), row)).collect();
    let agents: BTreeMap<&str, &Agent> = table.agent.iter().map(|agent| (agent.agent.as_str(), agent)).collect();
    assert_eq!(agents.keys().copied().collect::<Vec<_>>(), ["billing", "research", "support", "treasury"]);
    assert!(table.agent.iter().flat_map(|agent| &agent.tools).all(|tool| rows.contains_key(tool.as_str())));
    assert!(agents["research"].tools.iter().all(|tool| rows[tool.as_str()].effect == "read"));
    let has = |agent: &str, tool: &str| agents[agent].tools.iter().any(|listed| listed == tool);
    for (agent, tool, expected) in [
        ("support", "send_email", true),
        ("support", "refund", false),
        ("billing", "refund", true),
        ("billing", "wire_transfer", false),
        ("treasury", "wire_transfer", true),
        ("treasury", "refund", false),
        ("research", "search", true),
    ] {
        assert_eq!(has(agent, tool), expected, "{agent} {tool}");
    }
}

#[test]
fn the_gates_own_rules_accept_the_table_without_a_warning() {
    let table = vidimus_core::table::Table::parse(&effect_table("http://127.0.0.1:1")).unwrap_or_else(|faults| {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    });
    let warnings: Vec<String> = table.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, Vec::<String>::new());
}
