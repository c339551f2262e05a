//! Reading one section of the file: typed keys, each remembered with its line, and whatever nobody asked for refused.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use super::fault::{Report, Rule};
use crate::ids::Name;
use crate::limits::ROW_LIST_MAX;
use crate::template::{ArgPath, Template};

/// A table of the file while its keys are read.
pub(super) struct Section<'t> {
    table: &'t DeTable<'t>,
    path: String,
    asked: Vec<&'static str>,
}

/// A string of a list, and the key that names it in a fault.
pub(super) struct Entry<'t> {
    pub(super) key: String,
    pub(super) text: &'t str,
}

impl<'t> Section<'t> {
    pub(super) fn new(table: &'t DeTable<'t>, path: String) -> Section<'t> {
        Section { table, path, asked: Vec::new() }
    }

    /// The path of this section.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a key in this section.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Every key of the section, whether asked for or not.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'t str> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    pub(super) fn require(&self, key: &str, why: &str, report: &mut Report) {
        if !self.has(key) {
            report.fault(&self.at(key), Rule::KeyMissing, format!("`{key}` is absent; {why}"));
        }
    }

    pub(super) fn value(&mut self, key: &'static str, report: &mut Report) -> Option<&'t DeValue<'t>> {
        self.asked.push(key);
        let (spanned_key, value) = self.table.get_key_value(key)?;
        report.place(&self.at(key), spanned_key.span().start);
        Some(value.get_ref())
    }

    pub(super) fn string(&mut self, key: &'static str, report: &mut Report) -> Option<&'t str> {
        let value = self.value(key, report)?;
        expect(value.as_str(), "a string", value, &self.at(key), report)
    }

    pub(super) fn boolean(&mut self, key: &'static str, report: &mut Report) -> Option<bool> {
        let value = self.value(key, report)?;
        expect(value.as_bool(), "a boolean", value, &self.at(key), report)
    }

    pub(super) fn integer(&mut self, key: &'static str, bounds: RangeInclusive<u64>, report: &mut Report) -> Option<u64> {
        let value = self.value(key, report)?;
        read_integer(value, bounds, &self.at(key), report)
    }

    /// A word, name, digest: anything with one spelling.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, key: &'static str, report: &mut Report) -> Option<T> {
        let text = self.string(key, report)?;
        parse_text(text, &self.at(key), report)
    }

    pub(super) fn template(&mut self, key: &'static str, report: &mut Report) -> Option<Template> {
        let text = self.string(key, report)?;
        read_template(text, &self.at(key), report)
    }

    pub(super) fn arg_path(&mut self, key: &'static str, report: &mut Report) -> Option<ArgPath> {
        let text = self.string(key, report)?;
        read_arg_path(text, &self.at(key), report)
    }

    /// A JSON pointer into a result.
    pub(super) fn pointer(&mut self, key: &'static str, report: &mut Report) -> Option<String> {
        let text = self.string(key, report)?;
        if text.is_empty() || text.starts_with('/') {
            return Some(text.to_owned());
        }
        report.fault(&self.at(key), Rule::ValueMalformed, format!("`{}` is not a JSON pointer; begin it with `/`", text.escape_debug()));
        None
    }

    pub(super) fn strings(&mut self, key: &'static str, report: &mut Report) -> Vec<Entry<'t>> {
        let mut entries = Vec::new();
        for (place, value) in self.list(key, report) {
            if let Some(text) = expect(value.as_str(), "a string", value, &place, report) {
                entries.push(Entry { key: place, text });
            }
        }
        entries
    }

    pub(super) fn integers(&mut self, key: &'static str, bounds: RangeInclusive<u64>, report: &mut Report) -> Vec<u64> {
        let list = self.list(key, report);
        list.into_iter().filter_map(|(place, value)| read_integer(value, bounds.clone(), &place, report)).collect()
    }

    /// Distinct names.
    pub(super) fn names(&mut self, key: &'static str, report: &mut Report) -> Vec<Name> {
        let (mut names, mut known): (Vec<Name>, BTreeSet<Name>) = (Vec::new(), BTreeSet::new());
        for Entry { key, text } in self.strings(key, report) {
            let Some(name) = parse_text::<Name>(text, &key, report) else { continue };
            if !known.insert(name.clone()) {
                report.fault(&key, Rule::ListDuplicate, format!("`{name}` stands twice in the list; name it once"));
            } else {
                names.push(name);
            }
        }
        names
    }

    /// Distinct paths.
    pub(super) fn arg_paths(&mut self, key: &'static str, report: &mut Report) -> Vec<ArgPath> {
        let mut paths: Vec<ArgPath> = Vec::new();
        for Entry { key, text } in self.strings(key, report) {
            let Some(path) = read_arg_path(text, &key, report) else { continue };
            if paths.contains(&path) {
                report.fault(&key, Rule::ListDuplicate, format!("`{path}` stands twice in the list; name it once"));
            } else {
                paths.push(path);
            }
        }
        paths
    }

    pub(super) fn section(&mut self, key: &'static str, report: &mut Report) -> Option<Section<'t>> {
        let value = self.value(key, report)?;
        let place = self.at(key);
        expect(value.as_table(), "a table", value, &place, report).map(|table| Section::new(table, place))
    }

    pub(super) fn sections(&mut self, key: &'static str, report: &mut Report) -> Vec<Section<'t>> {
        let mut sections = Vec::new();
        for (place, value) in self.list(key, report) {
            if let Some(table) = expect(value.as_table(), "a table", value, &place, report) {
                sections.push(Section::new(table, place));
            }
        }
        sections
    }

    /// The values of an array, each with its own path and line.
    fn list(&mut self, key: &'static str, report: &mut Report) -> Vec<(String, &'t DeValue<'t>)> {
        let place = self.at(key);
        let Some(value) = self.value(key, report) else { return Vec::new() };
        let Some(array) = expect(value.as_array(), "an array", value, &place, report) else { return Vec::new() };
        // What an agent may call is as long as the table; so is the table itself, whose reader counts its rows.
        if array.len() > ROW_LIST_MAX && !self.path.is_empty() && key != "tools" {
            report.fault(&place, Rule::TableTooLarge, format!("the list has {} entries; the limit is {ROW_LIST_MAX}", array.len()));
            return Vec::new();
        }
        let list = array.iter().enumerate().map(|(index, value)| {
            let place = format!("{place}[{index}]");
            report.place(&place, value.span().start);
            (place, value.get_ref())
        });
        list.collect()
    }

    /// Refuses every key that was not asked for: a key that nobody reads is a rule that nobody keeps.
    pub(super) fn finish(self, report: &mut Report) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                let place = self.at(name);
                report.place(&place, key.span().start);
                report.fault(
                    &place,
                    Rule::KeyUnknown,
                    format!("`{}` is no key of this version; remove it or mend its name", name.escape_debug()),
                );
            }
        }
    }
}

fn expect<T>(found: Option<T>, kind: &str, value: &DeValue<'_>, key: &str, report: &mut Report) -> Option<T> {
    if found.is_none() {
        report.fault(key, Rule::TypeWrong, format!("the value is of type {}; write {kind}", value.type_str()));
    }
    found
}

pub(super) fn read_integer(value: &DeValue<'_>, bounds: RangeInclusive<u64>, key: &str, report: &mut Report) -> Option<u64> {
    let integer = expect(value.as_integer(), "an integer", value, key, report)?;
    let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| bounds.contains(number));
    if number.is_none() {
        let (least, most) = bounds.into_inner();
        report.fault(key, Rule::NumberOutOfRange, format!("`{integer}` is out of range; write an integer from {least} to {most}"));
    }
    number
}

pub(super) fn parse_text<T: FromStr<Err: Display>>(text: &str, key: &str, report: &mut Report) -> Option<T> {
    text.parse().map_err(|error: T::Err| report.fault(key, Rule::ValueMalformed, error.to_string())).ok()
}

pub(super) fn read_template(text: &str, key: &str, report: &mut Report) -> Option<Template> {
    Template::parse(text).map_err(|words| report.fault(key, Rule::TemplateMalformed, words)).ok()
}

pub(super) fn read_arg_path(text: &str, key: &str, report: &mut Report) -> Option<ArgPath> {
    ArgPath::parse(text).map_err(|words| report.fault(key, Rule::ValueMalformed, words)).ok()
}
