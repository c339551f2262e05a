//! From the text of a table to rows and lists. Reads as much as can be read, so that all faults are told at once.

use toml::de::{DeTable, DeValue};

use super::capped::read_caps;
use super::fault::{Report, Rule};
use super::reach::{read_agent, read_executor};
use super::read::{Entry, Section, read_template};
use super::row::{Agent, Declaration, Executor, Fact, Field, Format, Given, Idempotency, Need, Referent, ToolRead};
use super::schema::{Schema, SchemaRefused};
use super::status::read_status;
use crate::ids::{Effect, Name};
use crate::json::Json;
use crate::limits::{
    ATTEMPTS_DEFAULT, ATTEMPTS_MAX, KEY_VALID_S_DEFAULT, KEY_VALID_S_MAX, QUORUM_MAX, REQUEST_TTL_S_DEFAULT, REQUEST_TTL_S_MAX,
    SETTLE_S_DEFAULT, SETTLE_S_MAX, TABLE_BYTES_MAX, TABLE_ROWS_MAX, WORDS_BYTES_MAX,
};
use crate::roster::EVERYONE;
use crate::template::Template;

/// Statuses that mean that nothing happened, where a row names none.
const NO_EFFECT_STATUSES: &[u16] = &[400, 401, 403, 404, 422];

/// The schema of a tool that declares none: any object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A row as it was read, and where it stands in the file.
pub(super) struct ReadRow {
    pub(super) path: String,
    pub(super) declared: Declaration,
    /// The keys that the row has.
    pub(super) keys: Vec<String>,
    /// Whether the row declares a schema that could be read; without one, its paths are not judged.
    pub(super) has_schema: bool,
}

/// A list as it was read, and where it stands in the file.
pub(super) struct ReadAgent {
    pub(super) path: String,
    pub(super) agent: Agent,
    /// The tools in the order of the file, for their lines.
    pub(super) listed: Vec<Name>,
}

/// What could be read of a table.
#[derive(Default)]
pub(super) struct ReadTable {
    pub(super) rows: Vec<ReadRow>,
    pub(super) agents: Vec<ReadAgent>,
    /// The tools of rows that could not be read, so that nobody is told that they have no row.
    pub(super) unreadable: Vec<Name>,
}

/// Reads the text. Whatever is wrong stands in the report.
pub(super) fn read_table(text: &str, report: &mut Report) -> ReadTable {
    if text.len() > TABLE_BYTES_MAX {
        report.fault("", Rule::TableTooLarge, format!("the table has {} bytes; split it at {TABLE_BYTES_MAX}", text.len()));
        return ReadTable::default();
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = report.line_of(error.span().map_or(0, |span| span.start));
        let key = key_of_line(text, line);
        report.place(&key, error.span().map_or(0, |span| span.start));
        report.fault(&key, Rule::Syntax, format!("{}; mend the TOML", error.message().replace('\n', "; ")));
    }
    if !errors.is_empty() {
        // What a recovering parser makes of the rest would only add faults that are none.
        return ReadTable::default();
    }
    read_document(document.get_ref(), report)
}

/// The key that a line of TOML sets, or the line's place; good enough to find it in an editor.
fn key_of_line(text: &str, line: usize) -> String {
    let content = text.lines().nth(line - 1).unwrap_or_default().trim();
    let key = content.split('=').next().unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-[]\"'".contains(c);
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { "document".to_owned() }
}

fn read_document(document: &DeTable<'_>, report: &mut Report) -> ReadTable {
    let mut root = Section::new(document, String::new());
    let mut table = ReadTable::default();
    root.require("v", "write `v = 1`", report);
    if root.integer("v", 0..=u64::from(u32::MAX), report).is_some_and(|version| version != 1) {
        report.fault("v", Rule::VersionUnknown, "the version is unknown; this program reads version 1");
        return table;
    }
    let rows = root.sections("row", report);
    if rows.len() > TABLE_ROWS_MAX {
        report.fault("row", Rule::TableTooLarge, format!("the table has {} rows; the limit is {TABLE_ROWS_MAX}", rows.len()));
        return table;
    }
    for section in rows {
        match read_row(section, report) {
            Ok(row) => table.rows.push(row),
            Err(tool) => table.unreadable.extend(tool),
        }
    }
    for section in root.sections("agent", report) {
        table.agents.extend(read_agent(section, report));
    }
    root.finish(report);
    table
}

/// Reads one row; where it lacks a name or a label to judge it by, its tool's name.
fn read_row(mut section: Section<'_>, report: &mut Report) -> Result<ReadRow, Option<Name>> {
    for key in ["tool", "effect", "owner", "executor"] {
        section.require(key, "every row has it", report);
    }
    let path = section.path().to_owned();
    let keys = section.keys().map(str::to_owned).collect();
    let tool = section.parsed::<Name>("tool", report);
    let effect = section.parsed::<Effect>("effect", report);
    let (schema, has_schema) = read_schema(&mut section, report);
    let declared = read_declaration(&mut section, tool.as_ref(), effect, schema, report);
    section.finish(report);
    match (effect, declared) {
        (Some(_), Some(declared)) if tool.is_some() => Ok(ReadRow { path, declared, keys, has_schema }),
        _ => Err(tool),
    }
}

/// Reads every key, so that each fault of the row is told. What is absent and needed has a fault on record: the stand-ins
/// for it never leave the loader.
fn read_declaration(
    section: &mut Section<'_>,
    tool: Option<&Name>,
    effect: Option<Effect>,
    schema: Option<Schema>,
    report: &mut Report,
) -> Option<Declaration> {
    let tool = tool.cloned().or_else(|| Name::parse("unnamed").ok())?;
    let owner = read_role(section, "owner", report).unwrap_or_else(|| tool.clone());
    let executor = read_executor(section, &tool, report).unwrap_or(Executor::Gate);
    let ttl_s = section.integer("request_ttl_s", 1..=REQUEST_TTL_S_MAX, report).unwrap_or(REQUEST_TTL_S_DEFAULT);
    Some(Declaration {
        tool,
        effect: effect.unwrap_or(Effect::Money),
        owner,
        executor,
        reversibility: section.parsed("reversibility", report),
        undo: read_words(section, "undo", report),
        needs: read_needs(section, report),
        request_ttl_s: ttl_s,
        request_ttl_max_s: section.integer("request_ttl_max_s", 1..=REQUEST_TTL_S_MAX, report).unwrap_or(ttl_s),
        delay_s: section.integer("delay_s", 0..=REQUEST_TTL_S_MAX, report).unwrap_or(0),
        escalate_after_s: section.integer("escalate_after_s", 1..=REQUEST_TTL_S_MAX, report),
        caps: read_caps(section, report),
        idempotency: read_idempotency(section, report),
        settle_s: section.integer("settle_s", 0..=SETTLE_S_MAX, report).unwrap_or(SETTLE_S_DEFAULT),
        no_effect_statuses: read_statuses(section, report),
        summary: section.template("summary", report),
        business: section.arg_paths("business", report),
        salient: section.arg_paths("salient", report),
        touches: read_touches(section, report),
        triggers: section.names("triggers", report),
        fields: read_fields(section, report),
        facts: read_facts(section, report),
        referents: read_referents(section, report),
        state: section.section("state", report).and_then(|state| read_tool_read(state, report)),
        receipt: section.pointer("receipt", report),
        log_full_body: section.boolean("log_full_body", report).unwrap_or(false),
        hits: section.pointer("hits", report),
        schema: schema?,
        definition_sha256: section.parsed("definition_sha256", report),
    })
}

/// Words for people: a few lines at the most, not empty.
fn read_words(section: &mut Section<'_>, key: &'static str, report: &mut Report) -> Option<String> {
    let text = section.string(key, report)?;
    if text.trim().is_empty() || text.len() > WORDS_BYTES_MAX || text.chars().any(char::is_control) {
        let place = section.at(key);
        report.fault(
            &place,
            Rule::ValueMalformed,
            format!("the words are empty, longer than {WORDS_BYTES_MAX} bytes, or hold control characters; write one line"),
        );
        return None;
    }
    Some(text.to_owned())
}

/// A role that a person can hold. `everyone` stands for all persons in the log and would open what a row says to each of them.
fn read_role(section: &mut Section<'_>, key: &'static str, report: &mut Report) -> Option<Name> {
    let role = section.parsed::<Name>(key, report)?;
    if role.as_str() == EVERYONE {
        let place = section.at(key);
        report.fault(&place, Rule::ValueMalformed, format!("`{EVERYONE}` is no role that a person holds; name one that somebody does"));
        return None;
    }
    Some(role)
}

fn read_needs(section: &mut Section<'_>, report: &mut Report) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for mut need in section.sections("needs", report) {
        need.require("role", "a need is a role and a quorum", report);
        let role = read_role(&mut need, "role", report);
        let quorum = need.integer("quorum", 1..=u64::from(QUORUM_MAX), report).unwrap_or(1);
        let escalate_to = read_role(&mut need, "escalate_to", report);
        let place = need.at("role");
        need.finish(report);
        let Some(role) = role else { continue };
        if needs.iter().any(|known| known.role == role) {
            report.fault(&place, Rule::ListDuplicate, format!("`{role}` stands twice in `needs`; raise its quorum"));
        }
        needs.push(Need { role, quorum: u32::try_from(quorum).unwrap_or(QUORUM_MAX), escalate_to });
    }
    needs
}

fn read_idempotency(section: &mut Section<'_>, report: &mut Report) -> Idempotency {
    let kind = section.string("idempotency", report);
    let key_valid_s = section.integer("key_valid_s", 1..=KEY_VALID_S_MAX, report);
    let attempts_max = section.integer("attempts_max", 1..=u64::from(ATTEMPTS_MAX), report);
    let status = section.section("status", report).and_then(|status| read_status(status, report));
    let place = section.at("idempotency");
    let mut refuse_keys = |keys: &[&str], wanted: &str| {
        for key in keys.iter().filter(|key| section.has(key)) {
            report.fault(
                &section.at(key),
                Rule::KeyNotForIdempotency,
                format!("`{key}` belongs to `idempotency = \"{wanted}\"`; remove one of them"),
            );
        }
    };
    match kind {
        Some("key") => {
            refuse_keys(&["status"], "status");
            let attempts_max = attempts_max.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(ATTEMPTS_DEFAULT);
            Idempotency::Key { key_valid_s: key_valid_s.unwrap_or(KEY_VALID_S_DEFAULT), attempts_max }
        }
        Some("status") => {
            refuse_keys(&["key_valid_s", "attempts_max"], "key");
            if !section.has("status") {
                report.fault(
                    &place,
                    Rule::IdempotencyIncomplete,
                    "`idempotency = \"status\"` lacks `status`; name the read that asks, `status = { url, found, matches }`",
                );
            }
            status.map_or(Idempotency::None, Idempotency::Status)
        }
        Some("none") | None => {
            refuse_keys(&["key_valid_s", "attempts_max"], "key");
            refuse_keys(&["status"], "status");
            Idempotency::None
        }
        Some(other) => {
            report.fault(
                &place,
                Rule::ValueMalformed,
                format!("`{}` is no kind of idempotency; write `key`, `status` or `none`", other.escape_debug()),
            );
            Idempotency::None
        }
    }
}

fn read_statuses(section: &mut Section<'_>, report: &mut Report) -> Vec<u16> {
    if !section.has("no_effect_statuses") {
        return NO_EFFECT_STATUSES.to_vec();
    }
    // A server error, a timeout, a conflict and "try again" all leave it open whether something happened.
    let mut statuses: Vec<u16> = Vec::new();
    for status in section.integers("no_effect_statuses", 400..=499, report) {
        if [408, 409, 429].contains(&status) {
            let place = section.at("no_effect_statuses");
            report.fault(&place, Rule::ValueMalformed, format!("`{status}` does not say that nothing happened; remove it"));
        }
        statuses.extend(u16::try_from(status));
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn read_touches(section: &mut Section<'_>, report: &mut Report) -> Vec<Template> {
    let entries = section.strings("touches", report);
    entries.into_iter().filter_map(|Entry { key, text }| read_template(text, &key, report)).collect()
}

fn read_fields(section: &mut Section<'_>, report: &mut Report) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for mut field in section.sections("fields", report) {
        for key in ["path", "label", "format"] {
            field.require(key, "a field is a path, a label and a format", report);
        }
        let (path, label) = (field.arg_path("path", report), read_words(&mut field, "label", report));
        let format = read_format(&mut field, report);
        let place = field.at("path");
        field.finish(report);
        let (Some(path), Some(label), Some(format)) = (path, label, format) else { continue };
        if fields.iter().any(|known| known.path == path) {
            report.fault(&place, Rule::ListDuplicate, format!("`{path}` stands twice in `fields`; label it once"));
        }
        fields.push(Field { path, label, format });
    }
    fields
}

fn read_format(field: &mut Section<'_>, report: &mut Report) -> Option<Format> {
    let currency = field.arg_path("currency", report);
    let place = field.at("format");
    let word = field.string("format", report)?;
    if word != "money" && field.has("currency") {
        report.fault(&field.at("currency"), Rule::ValueMalformed, "`currency` belongs to the format `money`; remove one of them");
    }
    match word {
        "text" => Some(Format::Text),
        "account" => Some(Format::Account),
        "date" => Some(Format::Date),
        "money" => {
            field.require("currency", "an amount without its currency says nothing; name the path of the ISO 4217 code", report);
            currency.map(|currency| Format::Money { currency })
        }
        other => {
            report.fault(
                &place,
                Rule::ValueMalformed,
                format!("`{}` is no format; write `text`, `money`, `account` or `date`", other.escape_debug()),
            );
            None
        }
    }
}

fn read_facts(section: &mut Section<'_>, report: &mut Report) -> Vec<Fact> {
    let mut facts = Vec::new();
    for mut fact in section.sections("facts", report) {
        fact.require("label", "a fact is a label and a read", report);
        let label = read_words(&mut fact, "label", report);
        facts.extend(read_tool_read(fact, report).zip(label).map(|(read, label)| Fact { label, read }));
    }
    facts
}

fn read_referents(section: &mut Section<'_>, report: &mut Report) -> Vec<Referent> {
    let mut referents: Vec<Referent> = Vec::new();
    for mut referent in section.sections("referents", report) {
        for key in ["arg", "read", "value"] {
            referent.require(key, "a referent is an argument, the read that says what it names, and where in its result", report);
        }
        let (arg, value) = (referent.arg_path("arg", report), referent.pointer("value", report));
        let read = referent.section("read", report).and_then(|read| read_tool_read(read, report));
        let place = referent.at("arg");
        referent.finish(report);
        let (Some(arg), Some(value), Some(read)) = (arg, value, read) else { continue };
        if referents.iter().any(|known| known.arg == arg) {
            report.fault(&place, Rule::ListDuplicate, format!("`{arg}` stands twice in `referents`; an argument names one thing"));
        }
        referents.push(Referent { arg, read, value });
    }
    referents
}

fn read_tool_read(mut section: Section<'_>, report: &mut Report) -> Option<ToolRead> {
    section.require("tool", "a read names its tool", report);
    let tool = section.parsed("tool", report);
    let mut args: Vec<(String, Given)> = Vec::new();
    if let Some(value) = section.value("args", report) {
        let place = section.at("args");
        let Some(given) = value.as_table() else {
            report.fault(&place, Rule::TypeWrong, format!("the value is of type {}; write a table", value.type_str()));
            return None;
        };
        for (name, value) in given {
            let place = format!("{place}.{}", name.get_ref());
            report.place(&place, name.span().start);
            args.extend(read_given(value.get_ref(), &place, report).map(|given| (name.get_ref().to_string(), given)));
        }
    }
    args.sort_by(|(one, _), (other, _)| one.cmp(other));
    section.finish(report);
    Some(ToolRead { tool: tool?, args })
}

fn read_given(value: &DeValue<'_>, place: &str, report: &mut Report) -> Option<Given> {
    match value {
        DeValue::String(text) => read_template(text, place, report).map(Given::Template),
        DeValue::Boolean(truth) => Some(Given::Constant((*truth).into())),
        DeValue::Integer(integer) => {
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(|number| Json::integer(number).ok());
            if number.is_none() {
                report.fault(place, Rule::NumberOutOfRange, format!("`{integer}` is out of range; write it as a string"));
            }
            number.map(Given::Constant)
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            report.fault(
                place,
                Rule::TypeWrong,
                format!("the value is of type {}; write a string, an integer or a boolean", value.type_str()),
            );
            None
        }
    }
}

/// The declared schema, and whether there is one; any object where none is declared, or the declared one has a fault.
fn read_schema(section: &mut Section<'_>, report: &mut Report) -> (Option<Schema>, bool) {
    if let Some(text) = section.string("schema", report) {
        let (rule, words) = match Schema::parse(text) {
            Ok(schema) => return (Some(schema), true),
            Err(SchemaRefused::Malformed(words)) => (Rule::SchemaMalformed, words),
            Err(SchemaRefused::NotSelfContained(words)) => (Rule::SchemaNotSelfContained, words),
        };
        report.fault(&section.at("schema"), rule, format!("the schema is refused {words}"));
    }
    (Schema::parse(ANY_OBJECT).ok(), false)
}
