//! From arguments to the nodes that an approver sees. Version 1.
//!
//! Owns what "shown" means: one node for each value, containers and empty ones too, in the order of the canonical text, each
//! with its exact literal. Pure and without a locale; labels and formats come from the row in the reader's own copy of the
//! table. Knows no window: how a node is drawn, and what else stands beside it, is the console's.

use crate::bytes::{Digest, Hashing};
use crate::code::Refusal;
use crate::frozen::FrozenRequest;
use crate::ids::{Name, words};
use crate::json::{Json, pointer_token};
use crate::money;
use crate::table::{Field, Format, Row};

words!(
    /// What a node stands for.
    NodeKind {
        /// An object; its members follow.
        Object = "object",
        /// An array; its elements follow.
        Array = "array",
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// `true`.
        True = "true",
        /// `false`.
        False = "false",
        /// `null`.
        Null = "null",
    }
);

/// One value of the arguments.
///
/// *Invariant*: the nodes of a document give the document back, so that no change of a value, a key or a type leaves them
/// as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// JSON pointer of the value; the arguments themselves have the empty one.
    pub path: String,
    /// The member's exact name, where the value is a member. It is shown whether or not there is a label.
    pub key: Option<String>,
    /// The row's name for the argument.
    pub label: Option<String>,
    /// What the value is.
    pub kind: NodeKind,
    /// The string itself, the canonical number, or the word for `true`, `false` and `null`; empty for a container.
    pub literal: String,
    /// How many members or elements a container has.
    pub count: Option<u32>,
    /// How the row says that the value is read.
    pub format: Option<Format>,
}

/// The nodes of a call's arguments, in the order of their canonical text.
///
/// *Errors*: `json_number_out_of_range` for a number that has no canonical form; frozen arguments hold none.
pub fn render(args: &Json, row: &Row) -> Result<Vec<Node>, Refusal> {
    let mut nodes = Vec::new();
    each_node(args, row, &mut |node| {
        nodes.push(node);
        Ok(())
    })?;
    Ok(nodes)
}

/// How long the nodes of these arguments are together: the path and the key of each value, and each string. *Unit*: bytes.
///
/// Each node has its whole path, so that one long name above many values makes more of a call than it has itself.
pub fn rendered_bytes(args: &Json) -> usize {
    below(args, 0)
}

fn below(value: &Json, path: usize) -> usize {
    let inside: usize = match value {
        Json::Array(values) => values.iter().enumerate().map(|(index, value)| below(value, path + 1 + decimal_digits(index))).sum(),
        Json::Object(members) => members.iter().map(|(name, value)| name.len() + below(value, path + 1 + token_bytes(name))).sum(),
        Json::String(text) => text.len(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    };
    path + inside
}

fn decimal_digits(index: usize) -> usize {
    index.checked_ilog10().map_or(1, |tens| tens as usize + 1)
}

/// The length of [`pointer_token`].
fn token_bytes(name: &str) -> usize {
    name.len() + name.bytes().filter(|byte| b"~/".contains(byte)).count()
}

/// Visits each node in turn, so that whoever needs no more of it than that keeps one at a time.
fn each_node(args: &Json, row: &Row, visit: &mut impl FnMut(Node) -> Result<(), Refusal>) -> Result<(), Refusal> {
    let fields: Vec<(String, &Field)> = row.fields.iter().map(|field| (field.path.pointer(), field)).collect();
    visit_nodes(args, String::new(), None, &fields, visit)
}

/// The parser has bounded depth and count.
fn visit_nodes(
    value: &Json,
    path: String,
    key: Option<&str>,
    fields: &[(String, &Field)],
    visit: &mut impl FnMut(Node) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let field = fields.iter().find(|(pointer, _)| *pointer == path).map(|(_, field)| *field);
    let (kind, literal, count) = match value {
        Json::Null => (NodeKind::Null, "null".to_owned(), None),
        Json::Bool(true) => (NodeKind::True, "true".to_owned(), None),
        Json::Bool(false) => (NodeKind::False, "false".to_owned(), None),
        Json::Number(number) => (NodeKind::Number, number.canonical()?, None),
        Json::String(text) => (NodeKind::String, text.clone(), None),
        Json::Array(values) => (NodeKind::Array, String::new(), Some(values.len())),
        Json::Object(members) => (NodeKind::Object, String::new(), Some(members.len())),
    };
    visit(Node {
        path: path.clone(),
        key: key.map(str::to_owned),
        label: field.map(|field| field.label.clone()),
        kind,
        literal,
        count: count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        format: field.map(|field| field.format.clone()),
    })?;
    match value {
        Json::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                visit_nodes(value, format!("{path}/{index}"), None, fields, visit)?;
            }
        }
        Json::Object(members) => {
            let mut members: Vec<&(String, Json)> = members.iter().collect();
            // RFC 8785 section 3.2.3: members in the order of their UTF-16 code units.
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            for (name, value) in members {
                visit_nodes(value, format!("{path}/{}", pointer_token(name)), Some(name), fields, visit)?;
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    Ok(())
}

/// The nodes as an array of objects: `path, key, label, kind, literal, count, format, currency`, `null` where there is none.
pub fn nodes_json(nodes: &[Node]) -> Json {
    Json::Array(nodes.iter().map(Node::to_json).collect())
}

impl Node {
    fn to_json(&self) -> Json {
        let currency = match &self.format {
            Some(Format::Money { currency }) => Some(currency.pointer()),
            Some(Format::Text | Format::Account | Format::Date) | None => None,
        };
        Json::object([
            ("path", (&self.path).into()),
            ("key", self.key.clone().into()),
            ("label", self.label.clone().into()),
            ("kind", self.kind.as_str().into()),
            ("literal", (&self.literal).into()),
            ("count", self.count.into()),
            ("format", self.format.as_ref().map(Format::as_str).into()),
            ("currency", currency.into()),
        ])
    }
}

/// SHA-256 of the canonical `{v, tool, nodes}`: what console, gate and executor each compute of what was shown.
///
/// *Errors*: none for nodes that [`render`] made.
pub fn shown_sha256(tool: &Name, nodes: &[Node]) -> Result<Digest, Refusal> {
    let shown = Json::object([("v", 1_u32.into()), ("tool", tool.as_str().into()), ("nodes", nodes_json(nodes))]);
    Ok(Digest::of(&shown.canonical()?))
}

/// What an approver of this frozen request was shown, by the row in the reader's own copy of the table: the digest of
/// [`shown_sha256`], taken node by node, so that no more than one of them is ever held.
///
/// *Errors*: none for a request that this program froze.
pub fn frozen_shown_sha256(frozen: &FrozenRequest, row: &Row) -> Result<Digest, Refusal> {
    let members = frozen.members();
    let mut shown = Hashing::default();
    shown.update(br#"{"nodes":["#);
    let mut first = true;
    each_node(&members.args, row, &mut |node| {
        if !std::mem::take(&mut first) {
            shown.update(b",");
        }
        shown.update(&node.to_json().canonical()?);
        Ok(())
    })?;
    shown.update(br#"],"tool":"#);
    shown.update(&Json::from(members.tool.as_str()).canonical()?);
    shown.update(br#","v":1}"#);
    Ok(shown.finish())
}

/// A reading of a value, made by the row's format alone and never guessed from the value's look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// An amount with its currency: `EUR 4,200.00`.
    Money(String),
    /// An account number in groups of four.
    Account {
        /// The groups.
        grouped: String,
        /// Whether the check digits are right; `None` where it has not the shape of an IBAN.
        checked: Option<bool>,
    },
}

/// The reading of a node, to be shown beside its literal. `None` where the format makes none, or the value fits none.
pub fn reading(node: &Node, args: &Json) -> Option<Reading> {
    match (&node.format, node.kind) {
        (Some(Format::Money { currency }), NodeKind::Number) => {
            money::format_minor(&node.literal, currency.find(args)?.as_str()?).map(Reading::Money)
        }
        (Some(Format::Account), NodeKind::String) => {
            Some(Reading::Account { grouped: money::group4(&node.literal), checked: money::iban_check(&node.literal) })
        }
        (Some(Format::Money { .. } | Format::Account | Format::Text | Format::Date) | None, _) => None,
    }
}
