//! Reading and checking the caps of a row.

use toml::de::DeTable;

use super::check::{check_amount, check_scalar};
use super::fault::{Report, Rule};
use super::parse::ReadRow;
use super::read::{Section, read_integer};
use super::row::Format;
use crate::caps::{AmountCaps, Amounts, Caps};
use crate::limits::{CAP_CALLS_MAX, JSON_INTEGER_MAX};
use crate::money;

pub(super) fn read_caps(section: &mut Section<'_>, report: &mut Report) -> Option<Caps> {
    let place = section.at("caps");
    let mut caps = section.section("caps", report)?;
    let calls_per_run = caps.integer("calls_per_run", 1..=CAP_CALLS_MAX, report);
    let calls_per_hour = caps.integer("calls_per_hour", 1..=CAP_CALLS_MAX, report);
    let amounts = caps.section("amounts", report).and_then(|amounts| read_amounts(amounts, report));
    let empty = caps.keys().next().is_none();
    caps.finish(report);
    if empty {
        report.fault(&place, Rule::ListEmpty, "`caps` is empty and limits nothing; name a limit, or remove it");
    }
    Some(Caps { calls_per_run, calls_per_hour, amounts })
}

fn read_amounts(mut section: Section<'_>, report: &mut Report) -> Option<AmountCaps> {
    section.require("amount", "it names the path of the amount that is limited", report);
    section.require("currency", "an amount without its currency says nothing; name the path of the ISO 4217 code", report);
    let (amount, currency) = (section.arg_path("amount", report), section.arg_path("currency", report));
    let per_call = read_limits(&mut section, "per_call", report);
    let per_run = read_limits(&mut section, "per_run", report);
    let per_day = read_limits(&mut section, "per_day", report);
    if !["per_call", "per_run", "per_day"].iter().any(|key| section.has(key)) {
        let place = section.path().to_owned();
        report.fault(&place, Rule::ListEmpty, "no amount is limited; name `per_call`, `per_run` or `per_day`");
    }
    section.finish(report);
    Some(AmountCaps { amount: amount?, currency: currency?, per_call, per_run, per_day })
}

/// Minor units by currency. A currency that is not named may not be moved at all.
fn read_limits(section: &mut Section<'_>, key: &'static str, report: &mut Report) -> Option<Amounts> {
    let value = section.value(key, report)?;
    let place = section.at(key);
    let Some(table) = value.as_table() else {
        report.fault(&place, Rule::TypeWrong, format!("the value is of type {}; write `{{ EUR = 100000 }}`", value.type_str()));
        return None;
    };
    if table.is_empty() {
        report.fault(&place, Rule::ListEmpty, format!("`{key}` names no currency, so that nothing could ever run; name one"));
    }
    Some(amounts_of(table, &place, report))
}

fn amounts_of(table: &DeTable<'_>, place: &str, report: &mut Report) -> Amounts {
    let mut amounts = Amounts::new();
    for (currency, value) in table {
        let code = currency.get_ref().as_ref();
        let place = format!("{place}.{code}");
        report.place(&place, currency.span().start);
        if money::minor_units(code).is_none() {
            let words = format!("`{}` is no active ISO 4217 code with minor units; write it in capitals, like EUR", code.escape_debug());
            report.fault(&place, Rule::ValueMalformed, words);
        }
        if let Some(amount) = read_integer(value.get_ref(), 1..=JSON_INTEGER_MAX, &place, report) {
            amounts.insert(code.to_owned(), amount);
        }
    }
    amounts
}

/// What is limited must always be there to be counted, and a limit of a run must not be one that the agent sets itself.
pub(super) fn check_caps(row: &ReadRow, report: &mut Report) {
    let declared = &row.declared;
    let Some(caps) = &declared.caps else { return };
    if caps.calls_per_run.is_some() && caps.calls_per_hour.is_none() {
        let words = "an agent names its own runs, so that `calls_per_run` alone limits nothing; add `calls_per_hour`";
        report.fault(&row.at("caps.calls_per_run"), Rule::CapIncomplete, words);
    }
    let Some(amounts) = &caps.amounts else { return };
    let place = row.at("caps.amounts");
    if amounts.per_run.is_some() && amounts.per_day.is_none() {
        let words = "an agent names its own runs, so that `per_run` alone limits nothing; add `per_day`";
        report.fault(&format!("{place}.per_run"), Rule::CapIncomplete, words);
    }
    let first = declared.fields.iter().find(|field| matches!(field.format, Format::Money { .. }));
    if first.is_some_and(|field| field.path != amounts.amount) {
        let words = "people who answer for a part of it answer for the first amount of `fields`; limit that one";
        report.fault(&format!("{place}.amount"), Rule::CapIncomplete, words);
    }
    if !row.has_schema {
        return;
    }
    check_amount(declared, &amounts.amount, &format!("{place}.amount"), report);
    check_scalar(declared, &amounts.currency, &format!("{place}.currency"), report);
    for (key, path) in [("amount", &amounts.amount), ("currency", &amounts.currency)] {
        if !declared.schema.find(path).is_empty() && !declared.schema.requires(path) {
            let words = format!("`{path}` may be absent, and is what a limit counts; require it in the schema");
            report.fault(&format!("{place}.{key}"), Rule::PathOptional, words);
        }
    }
}
