//! The rules of one row: what its effect needs, and what it must not say.

use super::address::check_urls;
use super::capped::check_caps;
use super::fault::{Report, Rule};
use super::parse::ReadRow;
use super::row::{Declaration, Executor, Format, Given, Idempotency};
use super::schema::{allows, float_amounts};
use super::status::check_matches;
use crate::ids::{Effect, Reversibility};
use crate::template::{ArgPath, Part, Template};

/// Keys that mean nothing for a read.
const NOT_FOR_READ: &[&str] = &[
    "reversibility",
    "undo",
    "needs",
    "request_ttl_s",
    "request_ttl_max_s",
    "delay_s",
    "escalate_after_s",
    "caps",
    "idempotency",
    "key_valid_s",
    "attempts_max",
    "settle_s",
    "status",
    "no_effect_statuses",
    "summary",
    "business",
    "salient",
    "fields",
    "facts",
    "referents",
    "state",
    "receipt",
    "log_full_body",
];

/// Keys that mean nothing for a write. Above all `needs`: nobody is asked about a write, and a row must not look as if.
const NOT_FOR_WRITE: &[&str] = &[
    "needs",
    "request_ttl_s",
    "request_ttl_max_s",
    "delay_s",
    "escalate_after_s",
    "caps",
    "summary",
    "business",
    "salient",
    "fields",
    "facts",
    "referents",
    "hits",
];

/// Keys that mean nothing for money.
const NOT_FOR_MONEY: &[&str] = &["state", "receipt", "log_full_body", "hits"];

/// Checks one row by itself.
pub(super) fn check_row(row: &ReadRow, report: &mut Report) {
    let foreign = match row.declared.effect {
        Effect::Read => NOT_FOR_READ,
        Effect::Write => NOT_FOR_WRITE,
        Effect::Money => NOT_FOR_MONEY,
    };
    for key in foreign.iter().filter(|key| row.keys.iter().any(|have| have == *key)) {
        let words = format!("`{key}` means nothing for a tool labelled `{}`; remove it or mend the label", row.declared.effect);
        report.fault(&row.at(key), Rule::KeyNotForEffect, words);
    }
    match row.declared.effect {
        Effect::Read => {}
        Effect::Write => {
            check_reversibility(row, report);
            check_write(row, report);
        }
        Effect::Money => {
            check_reversibility(row, report);
            check_money(row, report);
        }
    }
    check_schema(row, report);
    if row.has_schema {
        check_places(row, report);
        if let Idempotency::Status(status) = &row.declared.idempotency {
            check_matches(status, row, report);
        }
    }
    check_caps(row, report);
    check_idempotency(row, report);
    check_urls(row, report);
}

impl ReadRow {
    pub(super) fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|have| have == key)
    }

    fn require(&self, key: &str, why: &str, report: &mut Report) {
        if !self.has(key) {
            let words = format!("`{}` is labelled `{}` and lacks `{key}`; {why}", self.declared.tool, self.declared.effect);
            report.fault(&self.at(key), Rule::KeyMissing, words);
        }
    }
}

fn check_reversibility(row: &ReadRow, report: &mut Report) {
    row.require("reversibility", "write `reversible`, `compensable` or `irreversible`", report);
    match row.declared.reversibility {
        Some(Reversibility::Irreversible) if row.has("undo") => {
            report.fault(
                &row.at("undo"),
                Rule::UndoOnIrreversible,
                "`undo` says how to take back what is labelled `irreversible`; remove one of them",
            );
        }
        Some(Reversibility::Reversible | Reversibility::Compensable) => row.require("undo", "say in words how it is taken back", report),
        Some(Reversibility::Irreversible) | None => {}
    }
}

fn check_write(row: &ReadRow, report: &mut Report) {
    let tool = &row.declared.tool;
    match (row.has("state"), row.has("receipt")) {
        (false, false) => {
            let words = format!("`{tool}` writes and leaves no evidence; name the `state` read, or the `receipt` in its result");
            report.fault(&row.at("state"), Rule::EvidenceMissing, words);
        }
        (true, true) => {
            report.fault(
                &row.at("receipt"),
                Rule::EvidenceTwice,
                format!("`{tool}` names both `state` and `receipt`; keep the one that shows what changed"),
            );
        }
        (true, false) | (false, true) => {}
    }
    if row.declared.reversibility == Some(Reversibility::Irreversible) {
        if row.declared.log_full_body {
            let words =
                format!("`{tool}` is an irreversible write, which nobody is asked about; label it `money` if a person should see it first");
            report.warn(&row.at("log_full_body"), Rule::IrreversibleWrite, words);
        } else {
            let words = format!(
                "`{tool}` cannot be undone and is no `money`; label it `money`, or set `log_full_body = true` and have the admin sign it"
            );
            report.fault(&row.at("reversibility"), Rule::IrreversibleWrite, words);
        }
    }
}

fn check_money(row: &ReadRow, report: &mut Report) {
    for (key, why) in [
        ("schema", "what a person signs has a shape"),
        ("summary", "it is the sentence that a person reads first"),
        ("fields", "label the arguments, or write `fields = []`"),
        ("needs", "name the role that decides, and its quorum"),
        ("business", "name the arguments that make up the business effect"),
        ("idempotency", "say what makes a repeated attempt safe: `key`, `status` or `none`"),
    ] {
        row.require(key, why, report);
    }
    let declared = &row.declared;
    for (key, empty) in [("needs", declared.needs.is_empty()), ("business", declared.business.is_empty())] {
        if row.has(key) && empty {
            report.fault(&row.at(key), Rule::ListEmpty, format!("`{key}` is empty, which never means everything; name at least one"));
        }
    }
    if declared.request_ttl_max_s < declared.request_ttl_s {
        report.fault(&row.at("request_ttl_max_s"), Rule::TtlMaxBelowTtl, "`request_ttl_max_s` is below `request_ttl_s`; raise it");
    }
    if declared.delay_s >= declared.request_ttl_s {
        report.fault(
            &row.at("delay_s"),
            Rule::DelayBeyondTtl,
            "`delay_s` reaches `request_ttl_s`, so that nothing would ever run; lower it",
        );
    }
    let named = declared.needs.iter().any(|need| need.escalate_to.is_some());
    let found = match declared.escalate_after_s {
        None if named => {
            Some(("needs", "`escalate_to` is named and `escalate_after_s` is not, so that nothing is ever passed on; say when"))
        }
        Some(after_s) if after_s >= declared.request_ttl_max_s => {
            Some(("escalate_after_s", "`escalate_after_s` reaches the request's last moment, so that nothing is ever passed on; lower it"))
        }
        None | Some(_) => None,
    };
    if let Some((key, words)) = found {
        report.warn(&row.at(key), Rule::EscalationIncomplete, words);
    }
    if declared.salient.is_empty() {
        let words = format!(
            "`{}` has no `salient` argument that an approver could be asked for; name the amount, the payee or the recipient",
            declared.tool
        );
        if declared.reversibility == Some(Reversibility::Irreversible) {
            report.fault(&row.at("salient"), Rule::SalientMissing, words);
        } else {
            report.warn(&row.at("salient"), Rule::SalientMissing, words);
        }
    }
}

fn check_schema(row: &ReadRow, report: &mut Report) {
    let (schema, place) = (&row.declared.schema, row.at("schema"));
    if !row.has_schema {
        if !row.has("schema") && row.declared.effect != Effect::Money {
            report.warn(
                &place,
                Rule::SchemaOpen,
                format!("`{}` has no schema, so that it takes any arguments; add one", row.declared.tool),
            );
        }
        return;
    }
    if !schema.is_of_object() {
        report.fault(&place, Rule::SchemaNotObject, "the schema does not ask for an object; write `\"type\": \"object\"` at its top");
    }
    if !schema.is_closed() {
        let words = "the schema lets arguments through that it does not name; write `\"additionalProperties\": false` at its top";
        match row.declared.effect {
            Effect::Money => report.fault(&place, Rule::SchemaOpen, words),
            Effect::Write | Effect::Read => report.warn(&place, Rule::SchemaOpen, words),
        }
    }
    if row.declared.effect == Effect::Money {
        for open in schema.open_below() {
            report.warn(
                &place,
                Rule::SchemaOpen,
                format!("the object at `{open}` lets members through that it does not name; close it too"),
            );
        }
        for float in float_amounts(schema) {
            report.warn(
                &place,
                Rule::MoneyNotInteger,
                format!("`{float}` looks like an amount and is a `number`; use integers of minor units"),
            );
        }
    }
}

/// Checks that each place that the row names is a property of the schema, and of a type that fits.
fn check_places(row: &ReadRow, report: &mut Report) {
    let declared = &row.declared;
    for (key, paths) in [("business", &declared.business), ("salient", &declared.salient)] {
        for (index, path) in paths.iter().enumerate() {
            let place = format!("{}[{index}]", row.at(key));
            check_scalar(declared, path, &place, report);
            if key == "business" && !declared.schema.requires(path) {
                report.warn(
                    &place,
                    Rule::PathOptional,
                    format!("`{path}` may be absent, and is part of the business effect; require it in the schema"),
                );
            }
        }
    }
    for (index, field) in declared.fields.iter().enumerate() {
        let place = format!("{}[{index}]", row.at("fields"));
        match &field.format {
            Format::Text => check_known(declared, &field.path, &format!("{place}.path"), report),
            Format::Account | Format::Date => check_scalar(declared, &field.path, &format!("{place}.path"), report),
            Format::Money { currency } => {
                check_amount(declared, &field.path, &format!("{place}.path"), report);
                check_scalar(declared, currency, &format!("{place}.currency"), report);
            }
        }
    }
    if let Some(summary) = &declared.summary {
        check_template(declared, summary, &row.at("summary"), report);
        for path in summary.paths().filter(|path| is_known(declared, path) && !declared.schema.requires(path)) {
            report.warn(
                &row.at("summary"),
                Rule::PathOptional,
                format!("`{path}` may be absent, and is part of the sentence; require it in the schema"),
            );
        }
    }
    for (index, touch) in declared.touches.iter().enumerate() {
        check_template(declared, touch, &format!("{}[{index}]", row.at("touches")), report);
    }
    let reads = declared.facts.iter().enumerate().map(|(index, fact)| (format!("{}[{index}]", row.at("facts")), &fact.read));
    let referents = declared.referents.iter().enumerate();
    for (index, referent) in referents.clone() {
        let place = format!("{}[{index}].arg", row.at("referents"));
        check_scalar(declared, &referent.arg, &place, report);
        if !declared.schema.requires(&referent.arg) {
            let words = format!("`{}` may be absent, and then names nothing; require it in the schema", referent.arg);
            report.warn(&place, Rule::PathOptional, words);
        }
    }
    let reads = reads.chain(referents.map(|(index, referent)| (format!("{}[{index}].read", row.at("referents")), &referent.read)));
    for (place, read) in reads.chain(declared.state.iter().map(|state| (row.at("state"), state))) {
        for (name, given) in &read.args {
            if let Given::Template(template) = given {
                check_template(declared, template, &format!("{place}.args.{name}"), report);
            }
        }
    }
}

pub(super) fn check_template(declared: &Declaration, template: &Template, place: &str, report: &mut Report) {
    for part in template.parts() {
        match part {
            Part::Text(_) => {}
            Part::Value(path) => check_known(declared, path, place, report),
            Part::Money { amount, currency } => {
                check_amount(declared, amount, place, report);
                check_scalar(declared, currency, place, report);
            }
        }
    }
}

fn is_known(declared: &Declaration, path: &ArgPath) -> bool {
    !declared.schema.find(path).is_empty()
}

fn check_known(declared: &Declaration, path: &ArgPath, place: &str, report: &mut Report) {
    if !is_known(declared, path) {
        report.fault(place, Rule::PathUnknown, format!("`{path}` is no property of the schema of `{}`; mend the path", declared.tool));
    }
}

pub(super) fn check_scalar(declared: &Declaration, path: &ArgPath, place: &str, report: &mut Report) {
    check_known(declared, path, place, report);
    if declared.schema.find(path).iter().any(|node| allows(node, "object") || allows(node, "array")) {
        report.fault(place, Rule::PathNotScalar, format!("`{path}` is a list or an object; name one value inside it"));
    }
}

/// A float cannot hold an amount: 0.1 + 0.2 is no 0.3, and minor units leave no doubt about the decimals.
pub(super) fn check_amount(declared: &Declaration, path: &ArgPath, place: &str, report: &mut Report) {
    check_known(declared, path, place, report);
    let nodes = declared.schema.find(path);
    let integer = nodes.iter().any(|node| allows(node, "integer"));
    let other = nodes.iter().any(|node| ["number", "string", "null", "boolean", "object", "array"].iter().any(|kind| allows(node, kind)));
    if !nodes.is_empty() && (!integer || other) {
        report.fault(
            place,
            Rule::MoneyNotInteger,
            format!("`{path}` is an amount and no integer in the schema; use integers of minor units, `\"type\": \"integer\"`"),
        );
    }
}

fn check_idempotency(row: &ReadRow, report: &mut Report) {
    let timeout_s = row.declared.executor.timeout_s();
    if let Idempotency::Key { key_valid_s, attempts_max } = row.declared.idempotency
        && attempts_max > 1
        && key_valid_s <= timeout_s
    {
        let words = format!(
            "an attempt may take {timeout_s} s and the provider knows the key for {key_valid_s} s, so that no further attempt could \
             end in time; lower `timeout_s`, or write `idempotency = \"none\"`"
        );
        report.fault(&row.at("key_valid_s"), Rule::IdempotencyIncomplete, words);
    }
    let Executor::Http(http) = &row.declared.executor else {
        if let Idempotency::Status(_) = row.declared.idempotency {
            let words = "`idempotency = \"status\"` asks over HTTP, and the executor is of another kind; use `key` or `none`";
            report.fault(&row.at("idempotency"), Rule::IdempotencyIncomplete, words);
        }
        return;
    };
    let place = row.at("executor.idempotency_header");
    match (&row.declared.idempotency, &http.idempotency_header) {
        (Idempotency::Key { .. }, None) => {
            report.fault(
                &place,
                Rule::IdempotencyIncomplete,
                "`idempotency = \"key\"` lacks the header that carries the key; name `idempotency_header`",
            );
        }
        (_, Some(header)) if !is_header_name(header) => {
            report.fault(
                &place,
                Rule::ValueMalformed,
                format!(
                    "`{}` is no name for a header of our own; write `Idempotency-Key` or what the provider reads",
                    header.escape_debug()
                ),
            );
        }
        (Idempotency::Key { .. } | Idempotency::Status(_) | Idempotency::None, _) => {}
    }
    if row.declared.effect == Effect::Read && http.idempotency_header.is_some() {
        report.fault(&place, Rule::KeyNotForEffect, "a read needs no key; remove `idempotency_header`");
    }
}

/// A token of RFC 9110 section 5.1 that is no header which the client itself sets.
fn is_header_name(name: &str) -> bool {
    let taken = [
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(token) && !taken.contains(&name.to_ascii_lowercase().as_str())
}
