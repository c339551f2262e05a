//! What is wrong with a table: the rule, the line and the key, and words for its author.

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::words;

words!(
    /// A rule that a table broke. Names are stable: editors and continuous integration react to them.
    Rule {
        /// The text is no TOML.
        Syntax = "syntax",
        /// The text is larger than the limit, or has more rows.
        TableTooLarge = "table_too_large",
        /// `v` is not a version that this program knows.
        VersionUnknown = "version_unknown",
        /// The key is none of this version.
        KeyUnknown = "key_unknown",
        /// A key that the row needs is absent.
        KeyMissing = "key_missing",
        /// A list that must name something is empty.
        ListEmpty = "list_empty",
        /// A list names the same thing twice.
        ListDuplicate = "list_duplicate",
        /// The value has another type.
        TypeWrong = "type_wrong",
        /// The value has another form.
        ValueMalformed = "value_malformed",
        /// The number is outside its bounds.
        NumberOutOfRange = "number_out_of_range",
        /// A template does not follow the grammar.
        TemplateMalformed = "template_malformed",
        /// The key means nothing for this effect.
        KeyNotForEffect = "key_not_for_effect",
        /// The key means nothing for this kind of idempotency.
        KeyNotForIdempotency = "key_not_for_idempotency",
        /// The key means nothing for this kind of executor.
        KeyNotForExecutor = "key_not_for_executor",
        /// The name is reserved for the gate's own tools.
        ToolReserved = "tool_reserved",
        /// Two rows have one tool.
        ToolDuplicate = "tool_duplicate",
        /// Two tools have names that a reader takes for one.
        ToolLookAlike = "tool_look_alike",
        /// One tool both reads and creates.
        ToolMixesEffects = "tool_mixes_effects",
        /// One tool does two things.
        ToolDoesTwoThings = "tool_does_two_things",
        /// The named tool has no row.
        ToolUnknown = "tool_unknown",
        /// The named tool is not a read.
        ToolNotRead = "tool_not_read",
        /// Two lists have one agent.
        AgentDuplicate = "agent_duplicate",
        /// What cannot be undone says how to undo it.
        UndoOnIrreversible = "undo_on_irreversible",
        /// The longest life of a request is shorter than its first.
        TtlMaxBelowTtl = "ttl_max_below_ttl",
        /// A request is never passed on, although its row names to whom or when.
        EscalationIncomplete = "escalation_incomplete",
        /// A request would be over before its delay is.
        DelayBeyondTtl = "delay_beyond_ttl",
        /// A write has neither a state read nor a receipt.
        EvidenceMissing = "evidence_missing",
        /// A write has both a state read and a receipt.
        EvidenceTwice = "evidence_twice",
        /// A write cannot be undone.
        IrreversibleWrite = "irreversible_write",
        /// An irreversible effect has nothing that an approver could be asked for.
        SalientMissing = "salient_missing",
        /// A kind of idempotency lacks what it needs.
        IdempotencyIncomplete = "idempotency_incomplete",
        /// A URL has another form than the executor sends.
        UrlMalformed = "url_malformed",
        /// A URL depends on arguments where it must not.
        UrlNotConstant = "url_not_constant",
        /// A URL would carry credentials and arguments in the clear.
        UrlNotTls = "url_not_tls",
        /// A row has the credential with which another owner's, or a money row, pays.
        CredentialShared = "credential_shared",
        /// The method does not fit the effect.
        MethodNotForEffect = "method_not_for_effect",
        /// A tool sets off something that does more harm than its own label says.
        LabelTooLow = "label_too_low",
        /// A schema is no JSON, or no JSON Schema 2020-12.
        SchemaMalformed = "schema_malformed",
        /// A schema refers to something outside itself.
        SchemaNotSelfContained = "schema_not_self_contained",
        /// A schema does not ask for an object.
        SchemaNotObject = "schema_not_object",
        /// A schema lets arguments through that it does not name.
        SchemaOpen = "schema_open",
        /// A limit that an agent could get around by itself stands alone.
        CapIncomplete = "cap_incomplete",
        /// A path leads to no property of the schema.
        PathUnknown = "path_unknown",
        /// A path leads to a list or an object where one value is due.
        PathNotScalar = "path_not_scalar",
        /// A path leads to a property that may be absent.
        PathOptional = "path_optional",
        /// An amount is not an integer of minor units.
        MoneyNotInteger = "money_not_integer",
        /// A tool's name says read, its label does not.
        NameSaysRead = "name_says_read",
        /// A tool's name says write, its label says read.
        NameSaysWrite = "name_says_write",
        /// An argument is never sent.
        ArgumentUnused = "argument_unused",
    }
);

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFault {
    /// The line of the file, from 1.
    pub line: usize,
    /// The key, as a dotted path: `row[2].needs[0].quorum`. Rows are counted from 0.
    pub key: String,
    /// The rule.
    pub rule: Rule,
    /// A lowercase clause: what is wrong, then what the author can do.
    pub message: String,
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableFault { line, key, rule, message } = self;
        write!(f, "line {line}: {key}: {message} [{rule}]")
    }
}

/// Faults and warnings as they are found, and where each key of the file stands.
pub(super) struct Report {
    line_ends: Vec<usize>,
    lines: BTreeMap<String, usize>,
    pub(super) faults: Vec<TableFault>,
    pub(super) warnings: Vec<TableFault>,
}

impl Report {
    pub(super) fn new(text: &str) -> Report {
        let line_ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(offset, _)| offset).collect();
        Report { line_ends, lines: BTreeMap::new(), faults: Vec::new(), warnings: Vec::new() }
    }

    /// Remembers that `key` stands at this byte of the file.
    pub(super) fn place(&mut self, key: &str, offset: usize) {
        let line = self.line_of(offset);
        self.lines.entry(key.to_owned()).or_insert(line);
    }

    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|end| *end < offset) + 1
    }

    pub(super) fn fault(&mut self, key: &str, rule: Rule, message: impl Into<String>) {
        let fault = self.locate(key, rule, message.into());
        self.faults.push(fault);
    }

    pub(super) fn warn(&mut self, key: &str, rule: Rule, message: impl Into<String>) {
        let warning = self.locate(key, rule, message.into());
        self.warnings.push(warning);
    }

    /// An absent key is blamed on the nearest part of the file that should have held it.
    fn locate(&self, key: &str, rule: Rule, message: String) -> TableFault {
        let mut known = key;
        let line = loop {
            if let Some(line) = self.lines.get(known) {
                break *line;
            }
            match known.rfind(['.', '[']) {
                Some(cut) => known = &known[..cut],
                None => break 1,
            }
        };
        TableFault { line, key: key.to_owned(), rule, message }
    }
}
