//! What is shown: the nodes give the arguments back, so that no change of an argument can leave them as they were.

use std::sync::LazyLock;

use proptest::prelude::*;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Effect, Name};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::render::{Node, NodeKind, Reading, nodes_json, reading, render, rendered_bytes, shown_sha256};
use vidimus_core::table::{Row, Table};

const COMPANY: &str = include_str!("../../../tests/src/company/effects.toml");

fn company() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| Table::parse(&COMPANY.replace("{{company}}", "http://127.0.0.1:1")).expect("the company's table"));
    &TABLE
}

fn row<'t>(table: &'t Table, tool: &str) -> &'t Row {
    table.row(&Name::parse(tool).expect(tool)).expect(tool)
}

fn args(text: &str) -> Json {
    parse(text.as_bytes(), &Limits::MONEY).expect(text)
}

fn canonical(json: &Json) -> Vec<u8> {
    json.canonical().expect("canonical form")
}

fn nodes(args: &Json, row: &Row) -> Vec<Node> {
    render(args, row).expect("nodes")
}

fn shown(args: &Json, row: &Row) -> Digest {
    shown_sha256(&row.tool, &nodes(args, row)).expect("a digest")
}

/// The text that a plain view of the nodes has: each on its line, strings with their escapes.
fn visible(args: &Json, row: &Row) -> String {
    let line = |node: Node| format!("{:?} {:?} {} {:?} {:?}\n", node.label, node.key, node.kind, node.literal, node.count);
    nodes(args, row).into_iter().map(line).collect()
}

/// Reads nodes back into the value that they were made of, without their paths.
fn rebuild(nodes: &mut std::slice::Iter<'_, Node>) -> Json {
    let node = nodes.next().expect("a node for each value");
    match node.kind {
        NodeKind::Null => Json::Null,
        NodeKind::True => true.into(),
        NodeKind::False => false.into(),
        NodeKind::Number => args(&node.literal),
        NodeKind::String => (&node.literal).into(),
        NodeKind::Array => Json::Array((0..node.count.expect("a count")).map(|_| rebuild(nodes)).collect()),
        NodeKind::Object => Json::Object(
            (0..node.count.expect("a count"))
                .map(|_| {
                    let key = nodes.as_slice()[0].key.clone().expect("a member's key");
                    (key, rebuild(nodes))
                })
                .collect(),
        ),
    }
}

fn any_number() -> impl Strategy<Value = Json> {
    let texts = prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        (any::<i32>(), 0..100_u32).prop_map(|(n, cents)| format!("{n}.{cents:02}")),
        Just("1e21".to_owned())
    ];
    texts.prop_map(|text| args(&text))
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any_number(),
        any::<String>().prop_map(Json::from),
        prop_oneof!["", "null", "true", "1", "\\{\\}", "a\u{202e}b", " x ", "\n"].prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map("[a-z/~\\.\u{e000}\u{1f600}]{0,3}", inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nodes_give_the_arguments_back(value in any_json()) {
        let table = company();
        let nodes = nodes(&value, row(table, "refund"));
        let mut left = nodes.iter();
        prop_assert_eq!(canonical(&rebuild(&mut left)), canonical(&value));
        prop_assert_eq!(left.len(), 0);
        for node in &nodes {
            prop_assert!(value.pointer(&node.path).is_some(), "`{}` leads nowhere", node.path);
        }
    }

    #[test]
    fn what_would_be_shown_is_counted_without_showing_it(value in any_json()) {
        let bytes = |node: &Node| {
            let string = if node.kind == NodeKind::String { node.literal.len() } else { 0 };
            node.path.len() + node.key.as_ref().map_or(0, String::len) + string
        };
        let nodes = nodes(&value, row(company(), "refund"));
        prop_assert_eq!(rendered_bytes(&value), nodes.iter().map(bytes).sum::<usize>());
    }

    #[test]
    fn a_changed_document_has_other_nodes(value in any_json()) {
        let row = row(company(), "refund");
        let (text, digest) = (visible(&value, row), shown(&value, row));
        for other in mutations(&value) {
            let same = canonical(&other) == canonical(&value);
            prop_assert_eq!(shown(&other, row) == digest, same);
            prop_assert_eq!(visible(&other, row) == text, same);
        }
    }
}

/// A value that fits a schema's node, as far as the company's schemas go.
fn sample(schema: &Json, root: &Json) -> Json {
    if let Some(target) = schema.member("$ref").and_then(Json::as_str) {
        return sample(root.pointer(target.trim_start_matches('#')).expect("a definition"), root);
    }
    if let Some(value) = schema.member("const") {
        return value.clone();
    }
    if let Some(values) = schema.member("enum").and_then(Json::as_array) {
        return values[0].clone();
    }
    match schema.member("type").and_then(Json::as_str) {
        Some("object") => {
            let properties = schema.member("properties").and_then(Json::as_object).unwrap_or_default();
            Json::Object(properties.iter().map(|(name, property)| (name.clone(), sample(property, root))).collect())
        }
        Some("array") => Json::Array(schema.member("items").map(|items| sample(items, root)).into_iter().collect()),
        Some("integer" | "number") => 4200_u32.into(),
        Some("boolean") => true.into(),
        _ => "DE89370400440532013000".into(),
    }
}

/// Every document that differs from `value` in one place: a value, a type, a key, one more or one less.
fn mutations(value: &Json) -> Vec<Json> {
    let mut all = Vec::new();
    match value {
        Json::Null => all.push("null".into()),
        Json::Bool(truth) => all.extend([(!truth).into(), Json::from(truth.to_string())]),
        Json::Number(number) => all.extend(
            number
                .as_i64()
                .map(|number| args(&(number + 1).to_string()))
                .into_iter()
                .chain([Json::Array(vec![value.clone()]), Json::from(number.lexeme())]),
        ),
        Json::String(text) => {
            let changed = [
                format!("{text} "),
                format!(" {text}"),
                format!("{text}\u{200b}"),
                format!("\u{202e}{text}"),
                text.replacen('e', "\u{435}", 1) + "\n",
                String::new(),
            ];
            all.extend(changed.into_iter().filter(|other| other != text).map(Json::from));
            all.push(Json::Array(vec![value.clone()]));
        }
        Json::Array(values) => {
            all.push(Json::Array(values.iter().cloned().chain([Json::Null]).collect()));
            all.push(Json::Array(vec![value.clone()]));
            if !values.is_empty() {
                all.push(Json::Array(values[1..].to_vec()));
            }
        }
        Json::Object(members) => {
            all.push(Json::Object(members.iter().cloned().chain([("fee_account".to_owned(), Json::Null)]).collect()));
            for index in 0..members.len() {
                let mut fewer = members.clone();
                let (key, value) = fewer.remove(index);
                let mut renamed = fewer.clone();
                renamed.push((format!("{key}_"), value));
                all.extend([Json::Object(fewer), Json::Object(renamed)]);
            }
        }
    }
    all.push(if value.is_null() { Json::Object(Vec::new()) } else { Json::Null });
    all.extend(inside(value));
    all
}

fn inside(value: &Json) -> Vec<Json> {
    let with = |index: usize, changed: Json| match value {
        Json::Array(values) => {
            let mut values = values.clone();
            values[index] = changed;
            Json::Array(values)
        }
        Json::Object(members) => {
            let mut members = members.clone();
            members[index].1 = changed;
            Json::Object(members)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => changed,
    };
    let children: Vec<&Json> = match value {
        Json::Array(values) => values.iter().collect(),
        Json::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Vec::new(),
    };
    children
        .into_iter()
        .enumerate()
        .flat_map(|(index, child)| mutations(child).into_iter().map(move |changed| (index, changed)))
        .map(|(index, changed)| with(index, changed))
        .collect()
}

#[test]
fn any_change_of_any_argument_of_any_money_tool_is_seen() {
    let table = company();
    let mut tools = 0;
    for row in table.rows().filter(|row| row.effect == Effect::Money) {
        let schema = row.schema.json();
        let value = sample(schema, schema);
        let (text, digest) = (visible(&value, row), shown(&value, row));
        let changed = mutations(&value);
        assert!(changed.len() > value.as_object().expect("arguments").len() * 4, "`{}`", row.tool);
        for other in changed {
            assert_ne!(canonical(&other), canonical(&value), "`{}`: the test changes nothing", row.tool);
            assert_ne!(visible(&other, row), text, "`{}`", row.tool);
            assert_ne!(shown(&other, row), digest, "`{}`", row.tool);
        }
        // The order of members in the document is none of the meaning.
        let mut reversed = value.as_object().expect("arguments").to_vec();
        reversed.reverse();
        assert_eq!(shown(&Json::Object(reversed), row), digest, "`{}`", row.tool);
        tools += 1;
    }
    assert!(tools >= 6, "the company has {tools} money tools");
}

#[test]
fn one_tool_is_not_another() {
    let table = company();
    let value = args(r#"{"invoice":"842"}"#);
    assert_ne!(shown(&value, row(table, "refund")), shown(&value, row(table, "issue_credit")));
}

#[test]
fn each_node_says_all_of_its_value() {
    let table = company();
    let value = args(r#"{"zz":{},"amount_minor":1.50e3,"currency":"EUR","a/b":[null,""],"invoice":"842"}"#);
    let nodes = nodes(&value, row(table, "refund"));
    let told = nodes.iter().map(|node| {
        let (key, label) = (node.key.as_deref(), node.label.as_deref());
        (node.path.as_str(), key, label, node.kind.as_str(), node.literal.as_str(), node.count)
    });
    let expected = [
        ("", None, None, "object", "", Some(5)),
        ("/a~1b", Some("a/b"), None, "array", "", Some(2)),
        ("/a~1b/0", None, None, "null", "null", None),
        ("/a~1b/1", None, None, "string", "", None),
        ("/amount_minor", Some("amount_minor"), Some("Amount"), "number", "1500", None),
        ("/currency", Some("currency"), Some("Currency"), "string", "EUR", None),
        ("/invoice", Some("invoice"), Some("Invoice"), "string", "842", None),
        ("/zz", Some("zz"), None, "object", "", Some(0)),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(reading(&nodes[4], &value), Some(Reading::Money("EUR 15.00".to_owned())));
    assert_eq!(reading(&nodes[6], &value), None);
    let written = String::from_utf8(canonical(&nodes_json(&nodes[4..5]))).expect("UTF-8");
    assert_eq!(
        written,
        r#"[{"count":null,"currency":"/currency","format":"money","key":"amount_minor","kind":"number","label":"Amount","literal":"1500","path":"/amount_minor"}]"#
    );
}

#[test]
fn no_reading_is_guessed() {
    let table = company();
    let refund = row(table, "refund");
    let cases = [
        (r#"{"amount_minor":1500,"currency":"JPY"}"#, Some("JPY 1,500")),
        (r#"{"amount_minor":1500,"currency":"BHD"}"#, Some("BHD 1.500")),
        (r#"{"amount_minor":1500,"currency":"eur"}"#, None),
        (r#"{"amount_minor":1500,"currency":"XXX"}"#, None),
        (r#"{"amount_minor":1500}"#, None),
        (r#"{"amount_minor":15.5,"currency":"EUR"}"#, None),
        (r#"{"amount_minor":"1500","currency":"EUR"}"#, None),
        (r#"{"other":1500,"currency":"EUR"}"#, None),
    ];
    for (text, expected) in cases {
        let value = args(text);
        let readings: Vec<Reading> = nodes(&value, refund).iter().filter_map(|node| reading(node, &value)).collect();
        assert_eq!(readings, expected.map(|text| Reading::Money(text.to_owned())).into_iter().collect::<Vec<_>>(), "{text}");
    }
}
