//! The schema of a tool's arguments: loaded without any input or output, compiled once, asked for each call.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};

use super::work::{Unbounded, most_work};
use crate::json::{Json, Limits, parse, pointer_token};
use crate::limits::{SCHEMA_FAULTS_MAX, SCHEMA_PATTERN_BYTES_MAX, SCHEMA_REFERENCES_MAX, SCHEMA_TOLD_MAX, SCHEMA_WORK_MAX};
use crate::template::ArgPath;

/// The only dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What is wrong with an argument, in words that a model can correct itself by. No value of the arguments is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// JSON pointer of the argument.
    pub path: String,
    /// The rule that it breaks.
    pub message: String,
}

/// Why a text is no schema of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SchemaRefused {
    /// No JSON, or no JSON Schema 2020-12.
    Malformed(String),
    /// It refers to something outside itself.
    NotSelfContained(String),
}

/// A JSON Schema of dialect 2020-12 that refers to nothing but itself.
#[derive(Clone)]
pub struct Schema {
    json: Json,
    validator: Arc<Validator>,
    /// The most that is asked about one value.
    work: usize,
}

impl Schema {
    /// Reads and compiles a schema.
    ///
    /// Patterns run on the linear-time engine: the arguments come from the agent, and must not buy time with them.
    pub(super) fn parse(text: &str) -> Result<Schema, SchemaRefused> {
        let json = parse(text.as_bytes(), &Limits::MONEY).map_err(|refusal| {
            let path = refusal.path.as_deref().unwrap_or_default();
            SchemaRefused::Malformed(format!("at `{path}`: {refusal}"))
        })?;
        refuse_outside_references(&json, "")?;
        let work = most_work(&json).map_err(|unbounded| {
            SchemaRefused::Malformed(match unbounded {
                Unbounded::TooMuch => {
                    format!("for more than {SCHEMA_WORK_MAX} comparisons of one value, its references followed; say it with fewer")
                }
                Unbounded::Unfollowed(reference) => {
                    let shown: String = reference.chars().take(80).collect();
                    format!("for the reference `{}`, which leads nowhere; write a JSON pointer or an anchor of it", shown.escape_debug())
                }
            })
        })?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(SCHEMA_PATTERN_BYTES_MAX).dfa_size_limit(SCHEMA_PATTERN_BYTES_MAX))
            .build(&json.to_schema_value())
            .map_err(|error| SchemaRefused::Malformed(format!("at `{}`: {error}", error.instance_path())))?;
        Ok(Schema { json, validator: Arc::new(validator), work })
    }

    /// How many comparisons arguments of so many values cost at the most.
    pub fn comparisons(&self, values: usize) -> usize {
        self.work.saturating_mul(values)
    }

    /// The schema as a document.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// Judges arguments.
    ///
    /// *Errors*: the first faults, at most [`SCHEMA_FAULTS_MAX`]; one that names no place where arguments are too long for that.
    pub fn validate(&self, args: &Json) -> Result<(), Vec<SchemaFault>> {
        let value = args.to_schema_value();
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        if self.comparisons(values(args)) > SCHEMA_TOLD_MAX {
            let message = "the arguments are not valid, and too long to say where; send fewer at once to learn it".to_owned();
            return Err(vec![SchemaFault { path: String::new(), message }]);
        }
        let faults: Vec<SchemaFault> = self
            .validator
            .iter_errors(&value)
            .take(SCHEMA_FAULTS_MAX)
            .map(|error| SchemaFault { path: error.instance_path().to_string(), message: error.masked_with("the value").to_string() })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Whether the schema asks for an object.
    pub(super) fn is_of_object(&self) -> bool {
        self.json.member("type").and_then(Json::as_str) == Some("object")
    }

    /// Whether arguments that the schema does not name are refused at the top.
    pub(super) fn is_closed(&self) -> bool {
        is_closed(&self.json)
    }

    /// JSON pointers, into the schema, of objects below the top that let unnamed members through.
    pub(super) fn open_below(&self) -> Vec<String> {
        let mut open = Vec::new();
        each_below(&self.json, "", &mut |node, place| {
            if !place.is_empty() && allows(node, "object") && node.member("properties").is_some() && !is_closed(node) {
                open.push(place.to_owned());
            }
        });
        open
    }

    /// The names of the arguments.
    pub(super) fn names(&self) -> Vec<&str> {
        let properties = self.json.member("properties").and_then(Json::as_object).unwrap_or_default();
        properties.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Whether every member on the way to this place is required.
    pub(super) fn requires(&self, path: &ArgPath) -> bool {
        let mut nodes = vec![&self.json];
        for name in path.names() {
            let branches = self.branches(&nodes);
            let listed = |node: &&Json| {
                let required = node.member("required").and_then(Json::as_array).unwrap_or_default();
                required.iter().any(|required| required.as_str() == Some(name))
            };
            if !branches.iter().any(listed) {
                return false;
            }
            nodes = step(&branches, name);
        }
        true
    }

    /// The subschemas that describe this place; none where no property is named so.
    pub(super) fn find(&self, path: &ArgPath) -> Vec<&Json> {
        let mut nodes = vec![&self.json];
        for name in path.names() {
            nodes = step(&self.branches(&nodes), name);
        }
        self.branches(&nodes)
    }

    /// Whether the value at a JSON pointer, or one that it lies in, is marked `writeOnly`.
    ///
    /// *Source*: JSON Schema Validation 2020-12, section 9.4.
    pub(super) fn hides(&self, pointer: &str) -> bool {
        let mut nodes = vec![&self.json];
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            let branches = self.branches(&nodes);
            nodes = step(&branches, &name);
            if let Ok(index) = name.parse::<usize>() {
                let listed = |node: &&Json| node.member("prefixItems").and_then(Json::as_array).map_or(0, <[Json]>::len);
                nodes.extend(branches.iter().filter_map(|node| node.member("prefixItems")?.as_array()?.get(index)));
                nodes.extend(branches.iter().filter(|node| index >= listed(node)).filter_map(|node| node.member("items")));
            }
            nodes = self.branches(&nodes);
            if nodes.iter().any(|node| node.member("writeOnly") == Some(&Json::Bool(true))) {
                return true;
            }
        }
        false
    }

    /// These nodes, and whatever they apply to the same value.
    fn branches<'s>(&'s self, nodes: &[&'s Json]) -> Vec<&'s Json> {
        let mut all: Vec<&Json> = nodes.to_vec();
        let mut next = 0;
        while next < all.len() && all.len() < SCHEMA_REFERENCES_MAX {
            let node = all[next];
            next += 1;
            for keyword in ["allOf", "anyOf", "oneOf"] {
                all.extend(node.member(keyword).and_then(Json::as_array).unwrap_or_default());
            }
            all.extend(["then", "else", "if"].iter().filter_map(|keyword| node.member(keyword)));
            let target = node.member("$ref").and_then(Json::as_str).and_then(|reference| self.json.pointer(reference.strip_prefix('#')?));
            all.extend(target.filter(|target| !all.iter().any(|known| std::ptr::eq(*known, *target))));
        }
        all
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.json).finish()
    }
}

/// The values of a document, containers included.
fn values(json: &Json) -> usize {
    let inside: usize = match json {
        Json::Array(elements) => elements.iter().map(values).sum(),
        Json::Object(members) => members.iter().map(|(_, value)| values(value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    };
    1 + inside
}

/// Whether a subschema says that its value is of this type, alone or among others.
pub(super) fn allows(node: &Json, kind: &str) -> bool {
    match node.member("type") {
        Some(Json::String(only)) => only == kind,
        Some(Json::Array(kinds)) => kinds.iter().any(|one| one.as_str() == Some(kind)),
        _ => false,
    }
}

/// Whether a number that is no integer passes a property of this name below the top: the mark of money kept as a float.
pub(super) fn float_amounts(schema: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    each_below(schema.json(), "", &mut |node, place| {
        let name = place.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        if allows(node, "number") && ["amount", "price", "total", "fee"].iter().any(|word| name.contains(word)) {
            found.push(place.to_owned());
        }
    });
    found
}

fn is_closed(node: &Json) -> bool {
    ["additionalProperties", "unevaluatedProperties"].iter().any(|keyword| node.member(keyword) == Some(&Json::Bool(false)))
}

fn step<'s>(nodes: &[&'s Json], name: &str) -> Vec<&'s Json> {
    nodes.iter().filter_map(|node| node.member("properties")?.member(name)).collect()
}

/// Visits every object of the schema with its JSON pointer. The parser has bounded the depth.
fn each_below(node: &Json, place: &str, visit: &mut impl FnMut(&Json, &str)) {
    match node {
        Json::Object(members) => {
            visit(node, place);
            for (name, value) in members {
                each_below(value, &format!("{place}/{}", pointer_token(name)), visit);
            }
        }
        Json::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                each_below(value, &format!("{place}/{index}"), visit);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// The compiler fetches nothing; this says so earlier and in the table's own words.
fn refuse_outside_references(json: &Json, place: &str) -> Result<(), SchemaRefused> {
    let mut refused = None;
    each_below(json, place, &mut |node, place| {
        for (name, value) in node.as_object().unwrap_or_default() {
            let Some(text) = value.as_str() else { continue };
            let words = match name.as_str() {
                "$ref" | "$dynamicRef" if !text.starts_with('#') => "refers to another document; copy what it needs into `$defs`",
                "$id" => "gives itself an address; remove `$id`",
                "$schema" if text.trim_end_matches('#') != DIALECT => "is of another dialect; write it in JSON Schema 2020-12",
                _ => continue,
            };
            let shown: String = text.chars().take(80).collect();
            refused.get_or_insert_with(|| SchemaRefused::NotSelfContained(format!("at `{place}`: `{}` {words}", shown.escape_debug())));
        }
    });
    refused.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Schema {
        Schema::parse(text).expect(text)
    }

    fn args(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::CALL).expect("arguments")
    }

    const REFUND: &str = r##"{
        "type": "object", "additionalProperties": false, "required": ["invoice", "amount_minor"],
        "properties": {
            "invoice": {"type": "string", "pattern": "^[0-9]+$", "maxLength": 8},
            "amount_minor": {"type": "integer", "minimum": 1},
            "currency": {"enum": ["EUR", "JPY"]},
            "payee": {"$ref": "#/$defs/payee"}
        },
        "$defs": {"payee": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
    }"##;

    #[test]
    fn faults_name_path_and_rule_and_no_value() {
        let schema = schema(REFUND);
        assert_eq!(schema.validate(&args(r#"{"invoice":"842","amount_minor":100,"currency":"EUR","payee":{"name":"x"}}"#)), Ok(()));
        let cases = [
            (r#"{"invoice":"secret","amount_minor":1}"#, "/invoice", "^[0-9]+$"),
            (r#"{"invoice":"842"}"#, "", "amount_minor"),
            (r#"{"invoice":"842","amount_minor":0}"#, "/amount_minor", "minimum"),
            (r#"{"invoice":"842","amount_minor":1.5}"#, "/amount_minor", "integer"),
            (r#"{"invoice":"842","amount_minor":"1"}"#, "/amount_minor", "integer"),
            (r#"{"invoice":"842","amount_minor":1,"currency":"eur"}"#, "/currency", "EUR"),
            (r#"{"invoice":"842","amount_minor":1,"fee_account":"secret"}"#, "", "fee_account"),
            (r#"{"invoice":"842","amount_minor":1,"payee":{}}"#, "/payee", "name"),
            (r#"[]"#, "", "object"),
        ];
        for (arguments, path, words) in cases {
            let faults = schema.validate(&args(arguments)).expect_err(arguments);
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!(faults[0].path, path, "{arguments}");
            assert!(faults[0].message.contains(words), "{:?}", faults[0]);
            assert!(!faults[0].message.contains("secret"), "{:?}", faults[0]);
        }
    }

    #[test]
    fn faults_are_bounded() {
        let schema = schema(r#"{"type":"array","items":{"type":"string"}}"#);
        let many = Json::Array(vec![Json::Null; 1000]);
        assert_eq!(schema.validate(&many).expect_err("no string").len(), SCHEMA_FAULTS_MAX);
    }

    #[test]
    fn where_arguments_are_long_one_fault_is_told_and_no_place() {
        let names: Vec<String> = (0..1_000).map(|name| format!("\"n{name}\"")).collect();
        let schema = schema(&format!(r#"{{"type":"array","items":{{"required":[{}]}}}}"#, names.join(",")));
        let faults = schema.validate(&Json::Array(vec![Json::object([]); 500])).expect_err("names are missing");
        assert_eq!((faults.len(), faults[0].path.as_str()), (1, ""));
        assert_eq!(schema.validate(&Json::Array(vec![Json::object([])])).expect_err("names are missing").len(), SCHEMA_FAULTS_MAX);
    }

    #[test]
    fn places_are_found_through_references_and_branches() {
        let schema = schema(REFUND);
        let path = |text: &str| ArgPath::parse(text).expect(text);
        for (place, found, required) in [
            ("invoice", true, true),
            ("currency", true, false),
            ("payee.name", true, false),
            ("payee.iban", false, false),
            ("invoice.x", false, false),
        ] {
            assert_eq!(!schema.find(&path(place)).is_empty(), found, "`{place}`");
            assert_eq!(schema.requires(&path(place)), required, "`{place}`");
        }
        assert!(allows(schema.find(&path("payee.name"))[0], "string"));
        assert_eq!(schema.open_below(), ["/$defs/payee"]);
        let recursive = Schema::parse(r##"{"type":"object","properties":{"next":{"$ref":"#"},"x":{"type":"string"}}}"##).expect("a schema");
        assert!(!recursive.find(&path("next.next.next")).is_empty());
        assert!(recursive.find(&path("x.y")).is_empty());
    }

    #[test]
    fn a_hostile_schema_is_refused_without_a_look_outside() {
        let outside = [
            r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}"#,
            r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#,
            r#"{"type":"object","properties":{"a":{"$ref":"other.json#/x"}}}"#,
            r#"{"$id":"https://example.com/","type":"object"}"#,
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}"#,
        ];
        for text in outside {
            assert!(matches!(Schema::parse(text), Err(SchemaRefused::NotSelfContained(_))), "{text}");
        }
        let deep = format!("{}{}", r#"{"not":"#.repeat(10_000), "}".repeat(10_000));
        let large = format!(r#"{{"description":"{}"}}"#, "x".repeat(1 << 20));
        let malformed = [
            "",
            "{",
            r#"{"type":"object","type":"array"}"#,
            r#"{"type":"objekt"}"#,
            r#"{"type":"object","required":"x"}"#,
            r##"{"$ref":"#/$defs/absent"}"##,
            r##"{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}"##,
            r##"{"type":"object","properties":{"next":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##,
            r#"{"properties":{"a":{"type":"string","pattern":"^(a+)+\\1$"}}}"#,
            r#"{"properties":{"a":{"type":"string","pattern":"(?=a)"}}}"#,
            r#"{"properties":{"a":{"type":"string","pattern":"a{1000}{1000}{1000}"}}}"#,
            r#"{"properties":{"a":{"type":"string","format":"no-such-format"}}}"#,
            &deep,
            &large,
        ];
        for text in malformed {
            assert!(matches!(Schema::parse(text), Err(SchemaRefused::Malformed(_))), "{}", text.chars().take(80).collect::<String>());
        }
    }

    #[test]
    fn a_catastrophic_pattern_costs_linear_time() {
        let schema = schema(r#"{"type":"string","pattern":"^(a+)+$"}"#);
        let hostile = Json::from(format!("{}!", "a".repeat(100_000)));
        assert_eq!(schema.validate(&hostile).expect_err("no match").len(), 1);
    }

    #[test]
    fn only_what_is_marked_is_hidden() {
        let schema = schema(
            r##"{
            "type": "object",
            "properties": {
                "api_key": {"type": "string"},
                "pass_on": {"type": "string", "writeOnly": true},
                "by_reference": {"$ref": "#/$defs/secret"},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"writeOnly": true}], "items": {"$ref": "#/$defs/secret"}},
                "inside": {"type": "object", "properties": {"a/b": {"writeOnly": true}, "not": {"writeOnly": false}}},
                "whole": {"type": "object", "writeOnly": true, "properties": {"x": {"type": "string"}}}
            },
            "$defs": {"secret": {"type": "string", "writeOnly": true}}
        }"##,
        );
        let hidden = ["/pass_on", "/by_reference", "/pair/1", "/pair/7", "/inside/a~1b", "/whole", "/whole/x", "/whole/unnamed"];
        let shown = ["", "/api_key", "/pair", "/pair/0", "/inside", "/inside/not", "/password", "/inside/secret"];
        assert!(hidden.iter().all(|pointer| schema.hides(pointer)), "{hidden:?}");
        assert!(shown.iter().all(|pointer| !schema.hides(pointer)), "{shown:?}");
    }
}
