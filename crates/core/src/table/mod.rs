//! The effect table: what each tool can do to the world, who owns it, who decides, and how it is carried out.
//!
//! Owns the rows, their rules, their digests and the lists of agents. A table loads as a whole or not at all, and an empty
//! or absent entry never means everything. Knows nothing of calls, requests and stores: they read rows.

mod across;
mod address;
mod canonical;
mod capped;
mod change;
mod check;
mod fault;
mod parse;
mod reach;
mod read;
mod row;
mod schema;
mod status;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

pub use change::{ChangeKind, EntryChange, MemberChange, TABLE_CHANGE, TableChange, next_table};
pub use fault::{Rule, TableFault};
pub use row::{
    Agent, CREDENTIAL_VARIABLE_PREFIX, Credential, Declaration, Executor, Fact, Field, Format, Given, HttpExecutor, Idempotency, Method,
    Need, Referent, ToolRead,
};
pub use schema::{Schema, SchemaFault};
pub use status::{StatusMatch, StatusRead};

use crate::bytes::Digest;
use crate::ids::{Effect, Name};
use crate::json::Json;
use crate::money;
use crate::template::{ArgPath, Template};
use fault::Report;
use parse::{ReadRow, ReadTable};

/// The gate's own rows.
const GATE_ROWS: &str = include_str!("gate.toml");

/// A row of the effect table.
///
/// *Invariant*: the declaration cannot be changed through a row, so its digest stays true.
#[derive(Debug, Clone)]
pub struct Row {
    declared: Declaration,
    canonical: Json,
    digest: Digest,
}

impl Deref for Row {
    type Target = Declaration;

    fn deref(&self) -> &Declaration {
        &self.declared
    }
}

impl Row {
    /// The object that is hashed: every member, `null` where there is none.
    pub fn canonical(&self) -> &Json {
        &self.canonical
    }

    /// SHA-256 of the canonical form: the `row_sha256` of frozen requests and decisions.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether the value at a JSON pointer is kept from an approver's eyes: only where the schema marks it `writeOnly`, and never
    /// what the row itself names for people. No name of an argument hides anything.
    pub fn hides(&self, pointer: &str) -> bool {
        let fields = self.fields.iter().map(|field| field.path.pointer());
        let paths = self.summary.iter().flat_map(Template::paths).chain(&self.business).chain(&self.salient).map(ArgPath::pointer);
        self.schema.hides(pointer) && !fields.chain(paths).any(|named| named == pointer)
    }

    /// Judges arguments under the schema; for money also that each amount is a whole number of an active currency.
    ///
    /// *Errors*: what is wrong, with the path of each argument.
    pub fn validate(&self, args: &Json) -> Result<(), Vec<SchemaFault>> {
        self.schema.validate(args)?;
        let faults: Vec<SchemaFault> = self.fields.iter().filter_map(|field| amount_fault(field, args)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// What an agent's loop may do when an answer did not come.
    pub fn retry_rule(&self) -> RetryRule {
        match (self.effect, &self.idempotency) {
            (Effect::Read, _) => RetryRule::Repeat,
            (Effect::Write | Effect::Money, Idempotency::Key { .. }) => RetryRule::SameKey,
            (Effect::Write | Effect::Money, Idempotency::Status(_)) => RetryRule::Ask,
            (Effect::Write | Effect::Money, Idempotency::None) => RetryRule::Never,
        }
    }
}

/// How a tool may be retried. The label decides it, not the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryRule {
    /// It changes nothing.
    Repeat,
    /// The provider knows the operation's key.
    SameKey,
    /// The provider can be asked what became of it.
    Ask,
    /// Nothing makes it safe.
    Never,
}

impl RetryRule {
    /// Every rule.
    pub const ALL: &'static [RetryRule] = &[RetryRule::Repeat, RetryRule::SameKey, RetryRule::Ask, RetryRule::Never];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            RetryRule::Repeat => "repeat",
            RetryRule::SameKey => "same_key",
            RetryRule::Ask => "ask",
            RetryRule::Never => "never",
        }
    }

    /// The rule in words, for an agent and for the documents.
    pub const fn words(self) -> &'static str {
        match self {
            RetryRule::Repeat => "safe to repeat; the gate retries it on a timeout, with growing pauses",
            RetryRule::SameKey => {
                "the gate alone retries it, with the same key to the provider; send the call again only with the same call_key"
            }
            RetryRule::Ask => "sent once; after a lost answer the gate asks the provider, and never sends it again",
            RetryRule::Never => "sent once; after a lost answer nobody sends it again, and a person finds out what happened",
        }
    }
}

impl fmt::Display for RetryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

fn amount_fault(field: &Field, args: &Json) -> Option<SchemaFault> {
    let Format::Money { currency } = &field.format else { return None };
    let amount = field.path.find(args)?;
    let fault = |path: String, message: &str| Some(SchemaFault { path, message: message.to_owned() });
    let Some(code) = currency.find(args).and_then(Json::as_str) else {
        return fault(currency.pointer(), "the amount beside it has no currency; give an ISO 4217 code");
    };
    if money::minor_units(code).is_none() {
        return fault(currency.pointer(), "the value is no active ISO 4217 code with minor units; write it in capitals, like EUR");
    }
    if money::format_amount(amount, &Json::from(code)).is_none() {
        return fault(field.path.pointer(), "the value is no whole number of minor units; 42 euros are 4200");
    }
    None
}

/// The effect table: rows by tool, lists by agent.
#[derive(Debug, Clone)]
pub struct Table {
    rows: BTreeMap<Name, Row>,
    agents: BTreeMap<Name, Agent>,
    warnings: Vec<TableFault>,
    canonical: Json,
    digest: Digest,
}

impl Table {
    /// Loads a table from its TOML text, and adds the gate's own rows.
    ///
    /// *Errors*: every fault of the text, in the order of its lines. There is never a part of a table.
    pub fn parse(text: &str) -> Result<Table, Vec<TableFault>> {
        let mut report = Report::new(text);
        let mut read = parse::read_table(text, &mut report);
        for row in &read.rows {
            if row.declared.tool.as_str().starts_with(across::RESERVED_PREFIX) {
                let words = format!("`{}` is reserved for the gate's own tools; use another name", row.declared.tool);
                report.fault(&row.at("tool"), Rule::ToolReserved, words);
            }
        }
        let mut own_report = Report::new(GATE_ROWS);
        let own = parse::read_table(GATE_ROWS, &mut own_report);
        for row in read.rows.iter() {
            check::check_row(row, &mut report);
        }
        for row in own.rows.iter() {
            check::check_row(row, &mut own_report);
        }
        across::check_table(&read, &mut report);
        read.rows.retain(|row| !row.declared.tool.as_str().starts_with(across::RESERVED_PREFIX));
        read.rows.extend(own.rows);
        report.faults.append(&mut own_report.faults);
        let table = Table::seal(read, &mut report);
        report.faults.sort_by_key(|fault| fault.line);
        report.warnings.sort_by_key(|warning| warning.line);
        match table {
            Some(table) if report.faults.is_empty() => Ok(Table { warnings: report.warnings, ..table }),
            _ => Err(report.faults),
        }
    }

    /// Makes the canonical forms. All numbers are bounded, so none lacks one; a fault says so where that fails.
    fn seal(read: ReadTable, report: &mut Report) -> Option<Table> {
        let mut rows = BTreeMap::new();
        for ReadRow { path, declared, .. } in read.rows {
            match seal_row(declared) {
                Ok(row) => {
                    rows.insert(row.tool.clone(), row);
                }
                Err(refusal) => report.fault(&path, Rule::ValueMalformed, refusal.to_string()),
            }
        }
        let agents: BTreeMap<Name, Agent> = read.agents.into_iter().map(|read| (read.agent.agent.clone(), read.agent)).collect();
        let canonical = Json::object([
            ("v", 1_u32.into()),
            ("rows", Json::Array(rows.values().map(|row| row.canonical.clone()).collect())),
            ("agents", Json::Array(agents.values().map(Agent::to_json).collect())),
        ]);
        let digest = canonical.canonical().map(|bytes| Digest::of(&bytes));
        match digest {
            Ok(digest) => Some(Table { rows, agents, warnings: Vec::new(), canonical, digest }),
            Err(refusal) => {
                report.fault("v", Rule::ValueMalformed, refusal.to_string());
                None
            }
        }
    }

    /// The row of a tool. Names compare by byte; a tool without a row does not run.
    pub fn row(&self, tool: &Name) -> Option<&Row> {
        self.rows.get(tool)
    }

    /// The list of an agent; an agent without one may call nothing.
    pub fn agent(&self, agent: &Name) -> Option<&Agent> {
        self.agents.get(agent)
    }

    /// All rows, sorted by tool, the gate's own among them.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// All lists, sorted by agent.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    /// What loads and should still be mended, in the order of lines.
    pub fn warnings(&self) -> &[TableFault] {
        &self.warnings
    }

    /// The object that is hashed: version, rows sorted by tool, lists sorted by agent.
    pub fn canonical(&self) -> &Json {
        &self.canonical
    }

    /// SHA-256 of the canonical form: the `table_sha256` that an admin signs. Comments and order in the file are no part of it.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

fn seal_row(declared: Declaration) -> Result<Row, crate::code::Refusal> {
    let canonical = declared.to_json()?;
    let digest = Digest::of(&canonical.canonical()?);
    Ok(Row { declared, canonical, digest })
}
