//! A request with everything that its page says: parsed once from the bytes of the verified log.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, Reversibility};
use vidimus_core::json::Json;
use vidimus_core::render::{self, Node, Reading};
use vidimus_core::table::Row;
use vidimus_core::template::Piece;

use crate::console::Standing;
use crate::errors::Told;
use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::review::permission;
use crate::review::warnings::{self, Warning};
use crate::strings;
use crate::tables::Tables;
use crate::text::literal::one_line;

/// Digits of a hidden value's fingerprint: enough that nobody finds another value for it by chance.
const FINGERPRINT_DIGITS: usize = 16;

/// Why the bytes cannot be approved, whatever else holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesFault {
    /// They are not the ones that the log names.
    Differ,
    /// They did not come.
    Missing,
    /// They are not in the one exact form.
    Malformed(Code, String),
    /// The signed table in force then holds no such row.
    NoRow,
}

/// One value of the arguments with its reading.
#[derive(Debug, Clone)]
pub struct Value {
    pub node: Node,
    pub reading: Option<Reading>,
    /// How deep in the arguments it stands, from 0.
    pub depth: usize,
    /// Where the schema keeps it from sight: what tells it apart from another value.
    pub hidden: Option<String>,
}

/// A request, read.
#[derive(Debug, Clone)]
pub struct Card {
    pub listed: RequestRow,
    pub fault: Option<BytesFault>,
    pub frozen: Option<FrozenRequest>,
    pub row: Option<Row>,
    /// Every value except the arguments as a whole.
    pub values: Vec<Value>,
    pub shown_sha256: Option<Digest>,
    /// The row's sentence, the owner's words apart from values.
    pub sentence: Option<Vec<Piece>>,
    /// What a person should know before reading, each a sentence with a fact.
    pub warnings: Vec<Warning>,
    /// The position of its record and the size of the log that proves it.
    pub proven_at: (u64, u64),
}

impl Card {
    /// Reads a request from the mirror. Nothing when the log holds none of this id.
    pub fn read(mirror: &Mirror, tables: &Tables, request: &str) -> Result<Option<Self>, MirrorFault> {
        mirror.request(request)?.map(|listed| Self::of(mirror, tables, listed)).transpose()
    }

    /// Reads the request of a row of the mirror.
    pub fn of(mirror: &Mirror, tables: &Tables, listed: RequestRow) -> Result<Self, MirrorFault> {
        let mut card = Self::without_warnings(mirror, tables, listed)?;
        card.warnings = warnings::of(&card, mirror)?;
        Ok(card)
    }

    /// The same without looking anything up in its history: for lists and notices, which name no warning.
    pub fn without_warnings(mirror: &Mirror, tables: &Tables, listed: RequestRow) -> Result<Self, MirrorFault> {
        let mut card = Self {
            fault: None,
            frozen: None,
            row: None,
            values: Vec::new(),
            shown_sha256: None,
            sentence: None,
            warnings: Vec::new(),
            proven_at: (listed.position, mirror.size()),
            listed,
        };
        card.fault = card.parse(mirror, tables)?.err();
        Ok(card)
    }

    /// A write, which nobody approved: its arguments as they were sent, drawn by the row in force.
    pub fn of_write(mirror: &Mirror, tables: &Tables, listed: RequestRow, args: &Json) -> Result<Self, MirrorFault> {
        let mut card = Self {
            fault: None,
            frozen: None,
            row: None,
            values: Vec::new(),
            shown_sha256: None,
            sentence: None,
            warnings: Vec::new(),
            proven_at: (listed.position, mirror.size()),
            listed,
        };
        if let Ok(tool) = Name::parse(&card.listed.tool)
            && let Some(row) = tables.newest_row(mirror, &tool)?
        {
            card.values =
                render::render(args, &row).unwrap_or_default().into_iter().skip(1).map(|node| value_of(node, args, &row, &[])).collect();
            card.sentence = row.summary.as_ref().map(|summary| summary.pieces(args));
            card.row = Some(row);
        }
        if card.row.is_none() {
            card.fault = Some(BytesFault::NoRow);
        }
        card.warnings = warnings::of(&card, mirror)?;
        Ok(card)
    }

    fn parse(&mut self, mirror: &Mirror, tables: &Tables) -> Result<Result<(), BytesFault>, MirrorFault> {
        let Some(text) = &self.listed.frozen else {
            return Ok(Err(if self.listed.body_fault.is_some() { BytesFault::Differ } else { BytesFault::Missing }));
        };
        let frozen = match FrozenRequest::parse(text.as_bytes()) {
            Ok(frozen) => frozen,
            Err(refusal) => {
                let path = refusal.path.unwrap_or_default();
                return Ok(Err(BytesFault::Malformed(refusal.code, path)));
            }
        };
        let members = frozen.members();
        let same = self.listed.body_fault.is_none()
            && frozen.request_sha256().to_string() == self.listed.request_sha256
            && members.request.to_string() == self.listed.request
            && members.gate == mirror.identity().gate
            && members.environment == mirror.identity().environment
            && members.tool.as_str() == self.listed.tool;
        let row = tables.row(mirror, &members.table_sha256, &members.tool, &members.row_sha256)?;
        if let Some(row) = &row
            && let Ok(nodes) = render::render(&members.args, row)
        {
            self.shown_sha256 = render::shown_sha256(&members.tool, &nodes).ok();
            let salt = members.salt.as_bytes();
            self.values = nodes.into_iter().skip(1).map(|node| value_of(node, &members.args, row, salt)).collect();
            self.sentence = row.summary.as_ref().map(|summary| summary.pieces(&members.args));
        }
        let known = row.is_some() && self.shown_sha256.is_some();
        self.row = row;
        self.frozen = Some(frozen);
        Ok(if !same {
            Err(BytesFault::Differ)
        } else if known {
            Ok(())
        } else {
            Err(BytesFault::NoRow)
        })
    }

    /// The digest of the bytes, computed here.
    pub fn local_sha256(&self) -> Option<String> {
        self.listed.frozen.as_ref().map(|text| Digest::of(text.as_bytes()).to_string())
    }

    /// How much care approving takes: without a readable request, the most; for a write, what its row says.
    pub fn friction(&self) -> Reversibility {
        match (&self.frozen, &self.row) {
            (Some(frozen), _) => frozen.members().friction,
            (None, Some(row)) if self.fault.is_none() => row.reversibility.unwrap_or(Reversibility::Irreversible),
            (None, Some(_) | None) => Reversibility::Irreversible,
        }
    }

    /// How many approvals it takes. One where the request cannot be read.
    pub fn needed(&self) -> u32 {
        self.frozen.as_ref().map_or(1, |frozen| frozen.members().needs.iter().map(|need| need.quorum).sum())
    }

    /// The role in which a person decides, or why they cannot.
    pub fn role_of(&self, standing: &Standing) -> Result<Option<Name>, Told> {
        self.frozen.as_ref().map(|frozen| permission::role_of(frozen, self.listed.escalated, standing)).transpose()
    }

    /// The role in which a person answers what became of it, or why they cannot: nothing is passed on there.
    pub fn answering_role_of(&self, standing: &Standing) -> Result<Option<Name>, Told> {
        self.frozen.as_ref().map(|frozen| permission::role_of(frozen, self.listed.escalated, standing)).transpose()
    }

    /// The sentence in one line, hidden characters visible.
    pub fn headline(&self) -> Option<String> {
        let pieces = self.sentence.as_ref()?;
        let text = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value { text, .. } => one_line(text),
            Piece::Absent { .. } => strings::NOT_GIVEN.to_owned(),
        });
        Some(text.collect())
    }

    /// What locks approving because of the bytes themselves.
    pub fn fault_told(&self) -> Option<Told> {
        Some(match self.fault.as_ref()? {
            BytesFault::Differ => Told::new("E-REQ-1", strings::BYTES_DIFFER),
            BytesFault::Missing => Told::new("E-REQ-2", strings::BYTES_MISSING),
            BytesFault::Malformed(Code::JsonDuplicateKey, path) => Told::new("E-REQ-4", strings::duplicate_key(&one_line(path))),
            BytesFault::Malformed(Code::JsonInvalidUtf8 | Code::JsonLoneSurrogate, path) => {
                Told::new("E-REQ-5", strings::invalid_text(&one_line(path)))
            }
            BytesFault::Malformed(..) => Told::new("E-REQ-3", strings::NOT_CANONICAL),
            BytesFault::NoRow => Told::new("E-REQ-7", strings::NO_ROW),
        })
    }

    /// The values a person reads that are text, with what they are called.
    pub fn texts(&self) -> impl Iterator<Item = (&Value, &str)> {
        let is_read = |value: &&Value| value.node.kind == render::NodeKind::String && value.hidden.is_none();
        self.values.iter().filter(is_read).map(|value| (value, value.node.literal.as_str()))
    }

    /// The value at a JSON pointer.
    pub fn value_at(&self, path: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.node.path == path)
    }
}

impl Value {
    /// What people call it: its label, else its own name.
    pub fn name(&self) -> String {
        self.node.label.clone().unwrap_or_else(|| self.path_text())
    }

    /// Where it stands, with dots and brackets: `creditor.name`, `line_items[0].sku`.
    pub fn path_text(&self) -> String {
        path_text(&self.node.path)
    }
}

/// A JSON pointer with dots and brackets.
pub fn path_text(pointer: &str) -> String {
    let mut text = String::new();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if !text.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push('[');
            text.push_str(&token);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&token);
        }
    }
    text
}

fn value_of(node: Node, args: &Json, row: &Row, salt: &[u8]) -> Value {
    let reading = render::reading(&node, args);
    let hidden = row.hides(&node.path).then(|| fingerprint(&node, salt));
    let depth = node.path.matches('/').count().saturating_sub(1);
    Value { node, reading, depth, hidden }
}

/// Another value has another one; the request's own salt keeps a value from being guessed by it elsewhere.
fn fingerprint(node: &Node, salt: &[u8]) -> String {
    let text = format!("{}\0{}\0{}", node.path, node.kind.as_str(), node.literal);
    let digest = Digest::of(&[b"vidimus.hidden.v1\0".as_slice(), salt, text.as_bytes()].concat()).to_string();
    digest.chars().take(FINGERPRINT_DIGITS).collect()
}
