//! The read that asks a provider what became of an operation, and whether its answer is about what we sent.

use super::check::check_scalar;
use super::fault::{Report, Rule};
use super::parse::ReadRow;
use super::read::Section;
use crate::bytes::Digest;
use crate::json::Json;
use crate::template::{ArgPath, Template};

/// The read that asks a provider what became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRead {
    /// The URL, with the place `{operation}`.
    pub url: Template,
    /// JSON pointer to the result in the answer; a value there says that it happened.
    pub found: String,
    /// What in the answer must be ours, so that no other payload's result is taken for this one's: at least one. A constant beside
    /// it says in which state the provider's record counts as done.
    pub matches: Vec<StatusMatch>,
}

/// A value in a provider's answer that must be what we sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusMatch {
    /// JSON pointer to the value in the answer.
    pub at: String,
    /// What stands there: a template with the places `{operation}`, `{payload_sha256}` and `{args.…}`, or a constant.
    pub is: Template,
}

/// The places of a match beside the arguments.
const OPERATION: &str = "operation";
const PAYLOAD: &str = "payload_sha256";
const ARGS: &str = "args";

impl StatusRead {
    /// The URL that asks for this operation.
    pub fn url_for(&self, operation: &Digest) -> String {
        self.url.fill(&Json::object([(OPERATION, operation.into())]))
    }

    /// Whether an answer is about this operation with this payload. An answer that lacks what it must echo is not.
    ///
    /// `sent` are the bytes that went to the provider.
    pub fn is_ours(&self, answer: &Json, operation: &Digest, sent: &[u8], args: &Json) -> bool {
        let known = Json::object([(OPERATION, operation.into()), (PAYLOAD, Digest::of(sent).into()), (ARGS, args.clone())]);
        let same = |one: &StatusMatch| match (one.is.fill_json(&known), answer.pointer(&one.at)) {
            (Some(expected), Some(found)) => {
                expected.canonical().is_ok_and(|expected| found.canonical().is_ok_and(|found| found == expected))
            }
            (_, None) | (None, _) => false,
        };
        !self.matches.is_empty() && self.matches.iter().all(same)
    }

    /// The result in an answer. None where there is none: `null` is none.
    pub fn result_in<'a>(&self, answer: &'a Json) -> Option<&'a Json> {
        answer.pointer(&self.found).filter(|found| !found.is_null())
    }

    /// Whether a result says anything: a provider that writes `false`, `0`, an empty text or an empty list may mean that there is none.
    pub fn says_something(result: &Json) -> bool {
        match result {
            Json::Null => false,
            Json::Bool(is) => *is,
            Json::Number(number) => number.as_i64() != Some(0),
            Json::String(text) => !text.is_empty(),
            Json::Array(values) => !values.is_empty(),
            Json::Object(members) => !members.is_empty(),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let matches = self.matches.iter().map(|one| Json::object([("at", (&one.at).into()), ("is", one.is.source().into())]));
        Json::object([("url", self.url.source().into()), ("found", (&self.found).into()), ("matches", Json::Array(matches.collect()))])
    }
}

pub(super) fn read_status(mut section: Section<'_>, report: &mut Report) -> Option<StatusRead> {
    section.require("url", "it is what asks", report);
    section.require("found", "it says where the result stands in the answer", report);
    section.require("matches", "it says what in the answer shows that it is about what was sent", report);
    let (url, found) = (section.template("url", report), section.pointer("found", report));
    let mut matches = Vec::new();
    for mut one in section.sections("matches", report) {
        one.require("at", "it says where the value stands in the answer", report);
        one.require("is", "it says what stands there", report);
        let (at, is) = (one.pointer("at", report), one.template("is", report));
        one.finish(report);
        matches.extend(at.zip(is).map(|(at, is)| StatusMatch { at, is }));
    }
    if matches.is_empty() && section.has("matches") {
        report.fault(
            &section.at("matches"),
            Rule::IdempotencyIncomplete,
            "nothing in the answer is compared with what was sent; name one value, `{ at = \"/payload\", is = \"{payload_sha256}\" }`",
        );
    }
    section.finish(report);
    Some(StatusRead { url: url?, found: found?, matches })
}

/// The places of each match: the operation's key, the payload's digest, an argument that the schema knows.
pub(super) fn check_matches(status: &StatusRead, row: &ReadRow, report: &mut Report) {
    if !status.matches.is_empty() && status.matches.iter().all(|one| one.is.is_constant()) {
        let words =
            "constants alone prove nothing about what was sent; compare one value with `{operation}`, `{payload_sha256}` or `{args.NAME}`";
        report.fault(&row.at("status.matches"), Rule::ValueMalformed, words);
    }
    for (index, one) in status.matches.iter().enumerate() {
        let place = row.at(&format!("status.matches[{index}].is"));
        for path in one.is.paths() {
            match path.names() {
                [only] if only == OPERATION || only == PAYLOAD => {}
                [first, rest @ ..] if first == ARGS && !rest.is_empty() => {
                    if let Ok(argument) = ArgPath::parse(&rest.join(".")) {
                        check_scalar(&row.declared, &argument, &place, report);
                    }
                }
                _ => {
                    let words = format!("`{path}` is no place of a match; use `{{operation}}`, `{{payload_sha256}}` or `{{args.NAME}}`");
                    report.fault(&place, Rule::PathUnknown, words);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn json(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::MONEY).expect(text)
    }

    #[test]
    fn an_answer_is_ours_only_where_every_value_is_what_was_sent() {
        let one = |at: &str, is: &str| StatusMatch { at: at.to_owned(), is: Template::parse(is).expect("a template") };
        let (args, sent) = (json(r#"{"amount_minor":1500,"iban":"DE89"}"#), br#"{"amount_minor":1500,"iban":"DE89"}"#);
        let operation = Digest::of(b"operation");
        let digest = Digest::of(sent);
        let status = |matches: Vec<StatusMatch>| StatusRead {
            url: Template::parse("https://bank.example/{operation}").expect("a template"),
            found: "/id".to_owned(),
            matches,
        };
        let amount = || one("/amount", "{args.amount_minor}");
        let cases = [
            (vec![amount()], r#"{"amount":1500}"#.to_owned(), true),
            (vec![amount()], r#"{"amount":15e2}"#.to_owned(), true),
            (vec![amount()], r#"{"amount":1501}"#.to_owned(), false),
            (vec![amount()], r#"{"amount":"1500"}"#.to_owned(), false),
            (vec![amount()], r#"{"amount":null}"#.to_owned(), false),
            (vec![amount()], "{}".to_owned(), false),
            (vec![amount(), one("/iban", "{args.iban}")], r#"{"amount":1500,"iban":"DE90"}"#.to_owned(), false),
            (vec![amount(), one("/iban", "{args.iban}")], r#"{"amount":1500,"iban":"DE89"}"#.to_owned(), true),
            (vec![one("/key", "{operation}")], format!(r#"{{"key":"{operation}"}}"#), true),
            (vec![one("/key", "{operation}")], format!(r#"{{"key":"{digest}"}}"#), false),
            (vec![one("/body", "sha256:{payload_sha256}")], format!(r#"{{"body":"sha256:{digest}"}}"#), true),
            (vec![one("/none", "{args.absent}")], r#"{"none":null}"#.to_owned(), false),
            (Vec::new(), r#"{"amount":1500}"#.to_owned(), false),
            (vec![amount(), one("/state", "booked")], r#"{"amount":1500,"state":"booked"}"#.to_owned(), true),
            (vec![amount(), one("/state", "booked")], r#"{"amount":1500,"state":"rejected"}"#.to_owned(), false),
            (vec![amount(), one("/state", "booked")], r#"{"amount":1500}"#.to_owned(), false),
        ];
        for (index, (matches, answer, ours)) in cases.into_iter().enumerate() {
            assert_eq!(status(matches).is_ours(&json(&answer), &operation, sent, &args), ours, "case {index}: {answer}");
        }
    }
}
