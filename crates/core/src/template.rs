//! Sentences, URLs and keys with places for arguments: `Refund {amount_minor:money(currency)} for {invoice}`.
//!
//! Owns the grammar and the filling. A template is parsed when its table is loaded; filling it reads arguments and nothing
//! else, and hands out pieces, so that no value can pass for the template's own words. Knows nothing of rows and windows.

use std::fmt;

use crate::json::{Json, pointer_token};
use crate::limits::{JSON_DEPTH_MAX, TEMPLATE_BYTES_MAX};
use crate::money;
use crate::table::SchemaFault;

/// A place in the arguments: member names joined by dots, `creditor.name`.
///
/// *Invariant*: at least one name; no name is empty or holds a character that the grammar of templates uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgPath {
    names: Vec<String>,
}

impl ArgPath {
    /// Reads a dotted path.
    ///
    /// *Errors*: words for the table's author.
    pub fn parse(text: &str) -> Result<ArgPath, String> {
        let names: Vec<String> = text.split('.').map(str::to_owned).collect();
        let plain = |name: &String| !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || "{}():[]".contains(c));
        if names.len() > JSON_DEPTH_MAX || !names.iter().all(plain) {
            return Err(format!("`{}` is not a path into the arguments; write member names joined by dots", text.escape_debug()));
        }
        Ok(ArgPath { names })
    }

    /// The member names from the outside in.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The value at this place; `None` where a member on the way is absent or no object.
    pub fn find<'j>(&self, args: &'j Json) -> Option<&'j Json> {
        self.names.iter().try_fold(args, |value, name| value.member(name))
    }

    /// The place as a JSON pointer.
    ///
    /// *Source*: RFC 6901.
    pub fn pointer(&self) -> String {
        self.names.iter().fold(String::new(), |pointer, name| pointer + "/" + &pointer_token(name))
    }
}

impl fmt::Display for ArgPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join("."))
    }
}

/// A part of a template, as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words of the author.
    Text(String),
    /// `{path}`: a value.
    Value(ArgPath),
    /// `{amount:money(currency)}`: an amount in minor units, with its currency.
    Money {
        /// Where the amount stands.
        amount: ArgPath,
        /// Where the currency's code stands.
        currency: ArgPath,
    },
}

/// A piece of a filled template: either the author's words or a value, never both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words of the table's author.
    Text(String),
    /// What an argument says. Strings stand as they are, so this may hold any character.
    Value {
        /// JSON pointer of the argument.
        path: String,
        /// The string, the canonical number, the reading of an amount, or the canonical JSON of anything else.
        text: String,
    },
    /// The argument was not given.
    Absent {
        /// JSON pointer of the argument.
        path: String,
    },
}

/// A text with places for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

impl Template {
    /// Reads a template.
    ///
    /// *Errors*: words for the table's author.
    pub fn parse(source: &str) -> Result<Template, String> {
        if source.len() > TEMPLATE_BYTES_MAX {
            return Err(format!("the template has {} bytes; write at most {TEMPLATE_BYTES_MAX}", source.len()));
        }
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(open) = rest.find(['{', '}']) {
            if !rest[open..].starts_with('{') {
                return Err("a `}` closes nothing; a template has no literal braces".to_owned());
            }
            if rest[open..].starts_with("{{") {
                return Err("`{{` begins no argument; fill in such placeholders before the table is loaded".to_owned());
            }
            let (text, opened) = rest.split_at(open);
            let Some((inside, after)) = opened[1..].split_once('}') else {
                return Err("a `{` is not closed; write `{path}`".to_owned());
            };
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            parts.push(parse_place(inside)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template { source: source.to_owned(), parts })
    }

    /// The template as its author wrote it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The parts in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether the template reads no argument.
    pub fn is_constant(&self) -> bool {
        self.paths().next().is_none()
    }

    /// Every place that the template reads, currencies included.
    pub fn paths(&self) -> impl Iterator<Item = &ArgPath> {
        self.parts.iter().flat_map(|part| {
            match part {
                Part::Text(_) => [None, None],
                Part::Value(path) => [Some(path), None],
                Part::Money { amount, currency } => [Some(amount), Some(currency)],
            }
            .into_iter()
            .flatten()
        })
    }

    /// The template filled, the author's words apart from the values.
    pub fn pieces(&self, args: &Json) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            match part {
                Part::Text(text) => pieces.push(Piece::Text(text.clone())),
                Part::Value(path) => pieces.push(value_piece(path, args)),
                Part::Money { amount, currency } => money_pieces(amount, currency, args, &mut pieces),
            }
        }
        pieces
    }

    /// The template filled, as one text. Whoever shows it must make hidden characters visible.
    pub fn fill(&self, args: &Json) -> String {
        self.pieces(args).iter().fold(String::new(), |filled, piece| {
            filled
                + match piece {
                    Piece::Text(text) | Piece::Value { text, .. } => text,
                    Piece::Absent { .. } => "(not given)",
                }
        })
    }

    /// The template filled as a value of JSON: a template that is one place gives the argument itself, any other a string.
    ///
    /// `None` where an argument was not given.
    pub fn fill_json(&self, args: &Json) -> Option<Json> {
        if let [Part::Value(path)] = self.parts.as_slice() {
            return path.find(args).cloned();
        }
        self.paths().all(|path| path.find(args).is_some()).then(|| self.fill(args).into())
    }

    /// The template filled as a key: values are percent-encoded, so that no value can forge a separator.
    ///
    /// `None` where an argument was not given.
    pub fn fill_key(&self, args: &Json) -> Option<String> {
        self.pieces(args).into_iter().try_fold(String::new(), |key, piece| match piece {
            Piece::Text(text) => Some(key + &text),
            Piece::Value { text, .. } => Some(key + &percent_encode(&text)),
            Piece::Absent { .. } => None,
        })
    }

    /// The template filled as a URL: each value is part of one path segment or one query value, percent-encoded.
    ///
    /// *Errors*: the argument that is absent, no scalar, or would make an empty or a dot segment (`..` climbs to another
    /// endpoint, an empty one often lists everything).
    /// *Source*: RFC 3986 sections 2.3, 3.3 and 5.2.4.
    pub fn fill_url(&self, args: &Json) -> Result<String, SchemaFault> {
        let mut url = String::new();
        for part in &self.parts {
            let path = match part {
                Part::Text(text) => {
                    url.push_str(text);
                    continue;
                }
                Part::Value(path) | Part::Money { amount: path, .. } => path,
            };
            let refuse = |what: &str| SchemaFault { path: path.pointer(), message: format!("the value {what}; give another one") };
            let value = path.find(args).ok_or_else(|| refuse("is absent and a part of the tool's URL"))?;
            if matches!(value, Json::Null | Json::Array(_) | Json::Object(_)) {
                return Err(refuse("is no string, number or boolean and a part of the tool's URL"));
            }
            let text = literal(value);
            if text.is_empty() && !url.contains('?') {
                return Err(refuse("is empty and a part of the tool's path"));
            }
            url.push_str(&percent_encode(&text));
        }
        if let Some(path) = self.paths().next()
            && has_dot_segment(&url)
        {
            return Err(SchemaFault {
                path: path.pointer(),
                message: "the value would climb in the tool's path; give another one".to_owned(),
            });
        }
        Ok(url)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Whether a segment of the path, before any query, is `.` or `..`.
pub(crate) fn has_dot_segment(url: &str) -> bool {
    let path = url.split_once(['?', '#']).map_or(url, |(path, _)| path);
    path.split('/').any(|segment| segment == "." || segment == "..")
}

/// The text between `{` and `}`.
fn parse_place(inside: &str) -> Result<Part, String> {
    let Some((path, format)) = inside.split_once(':') else {
        return ArgPath::parse(inside).map(Part::Value);
    };
    let Some(currency) = format.strip_prefix("money(").and_then(|rest| rest.strip_suffix(')')) else {
        return Err(format!("`{}` is not a format; write `{{path}}` or `{{path:money(currency)}}`", format.escape_debug()));
    };
    Ok(Part::Money { amount: ArgPath::parse(path)?, currency: ArgPath::parse(currency)? })
}

/// A value as text: a string as it is, a number in canonical form, anything else as canonical JSON.
fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.canonical().unwrap_or_else(|_| number.lexeme().to_owned()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => {
            // Only a number without canonical form fails, and money arguments hold none.
            value.canonical().map_or_else(|_| value.kind().to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

fn value_piece(path: &ArgPath, args: &Json) -> Piece {
    match path.find(args) {
        Some(value) => Piece::Value { path: path.pointer(), text: literal(value) },
        None => Piece::Absent { path: path.pointer() },
    }
}

fn money_pieces(amount: &ArgPath, currency: &ArgPath, args: &Json, pieces: &mut Vec<Piece>) {
    let reading = amount.find(args).zip(currency.find(args)).and_then(|(amount, currency)| money::format_amount(amount, currency));
    if let Some(text) = reading {
        pieces.push(Piece::Value { path: amount.pointer(), text });
    } else {
        // No reading is better than a wrong one: the raw amount and the raw currency stand beside each other.
        pieces.push(value_piece(amount, args));
        pieces.push(Piece::Text(" minor units of ".to_owned()));
        pieces.push(value_piece(currency, args));
    }
}

/// Percent-encodes all but the unreserved characters.
///
/// *Source*: RFC 3986 sections 2.1 and 2.3.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn args(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::MONEY).expect("arguments")
    }

    fn template(source: &str) -> Template {
        Template::parse(source).expect(source)
    }

    #[test]
    fn templates_are_filled_from_arguments_only() {
        let args = args(
            r#"{"invoice":"842","amount":420000,"cur":"EUR","payee":{"name":"{invoice}"},"n":1.50,"ok":true,"none":null,"tags":["b","a"]}"#,
        );
        let cases = [
            ("", ""),
            ("words", "words"),
            ("Refund {amount:money(cur)} for {invoice}", "Refund EUR 4,200.00 for 842"),
            // A value that looks like a place is not filled a second time.
            ("to {payee.name}", "to {invoice}"),
            ("{n} {ok} {none} {tags} {payee}", r#"1.5 true null ["b","a"] {"name":"{invoice}"}"#),
            ("{absent} {payee.absent} {invoice.deeper}", "(not given) (not given) (not given)"),
            ("{amount:money(invoice)}", "420000 minor units of 842"),
            ("{amount:money(absent)}", "420000 minor units of (not given)"),
            ("{n:money(cur)}", "1.5 minor units of EUR"),
        ];
        for (source, filled) in cases {
            assert_eq!(template(source).fill(&args), filled, "`{source}`");
        }
    }

    #[test]
    fn words_and_values_stay_apart() {
        let pieces = template("To: {payee}!").pieces(&args(r#"{"payee":"To: X!"}"#));
        let value = Piece::Value { path: "/payee".to_owned(), text: "To: X!".to_owned() };
        assert_eq!(pieces, [Piece::Text("To: ".to_owned()), value, Piece::Text("!".to_owned())]);
    }

    #[test]
    fn malformed_templates_are_refused() {
        let long = "x".repeat(TEMPLATE_BYTES_MAX + 1);
        let refused = [
            "{",
            "}",
            "{}",
            "a } b",
            "{a",
            "{a{b}}",
            "{a.}",
            "{.a}",
            "{a b}",
            "{a:date}",
            "{a:money}",
            "{a:money()}",
            "{:money(c)}",
            "{a:money(c}",
            "{{company}}/x",
            "{a[0]}",
            &long,
        ];
        for source in refused {
            assert!(Template::parse(source).is_err(), "`{source}`");
        }
    }

    #[test]
    fn a_value_stays_in_its_segment() {
        let url = template("http://127.0.0.1:1/t/{id}.json?q={q}&all={all}");
        let filled = url.fill_url(&args(r#"{"id":"a/b?c#d %é","q":"x&y=z","all":false}"#));
        assert_eq!(filled.as_deref(), Ok("http://127.0.0.1:1/t/a%2Fb%3Fc%23d%20%25%C3%A9.json?q=x%26y%3Dz&all=false"));
        assert_eq!(template("http://h/{n}").fill_url(&args(r#"{"n":12}"#)).as_deref(), Ok("http://h/12"));
        assert_eq!(template("http://h/x?q={q}").fill_url(&args(r#"{"q":""}"#)).as_deref(), Ok("http://h/x?q="));
        // Dots in a query climb nowhere.
        assert_eq!(template("http://h/x?q={q}").fill_url(&args(r#"{"q":".."}"#)).as_deref(), Ok("http://h/x?q=.."));
    }

    #[test]
    fn a_value_that_changes_the_path_is_refused() {
        let cases = [
            ("http://h/t/{id}", r#"{"id":".."}"#, "/id"),
            ("http://h/t/{id}", r#"{"id":"."}"#, "/id"),
            ("http://h/t/{id}/x", r#"{"id":""}"#, "/id"),
            ("http://h/{a}{b}", r#"{"a":".","b":"."}"#, "/a"),
            ("http://h/t/{id}", "{}", "/id"),
            ("http://h/t/{id}", r#"{"id":null}"#, "/id"),
            ("http://h/t/{p.id}", r#"{"p":{"id":["x"]}}"#, "/p/id"),
        ];
        for (source, arguments, path) in cases {
            let fault = template(source).fill_url(&args(arguments)).expect_err(arguments);
            assert_eq!(fault.path, path, "`{source}` {arguments}");
        }
    }

    #[test]
    fn keys_cannot_be_forged_and_json_keeps_its_type() {
        assert_eq!(template("invoice:{a}:{b}").fill_key(&args(r#"{"a":"x:y","b":2}"#)).as_deref(), Some("invoice:x%3Ay:2"));
        assert_eq!(template("invoice:{a}").fill_key(&args("{}")), None);
        assert_eq!(template("{a}").fill_json(&args(r#"{"a":2}"#)), Some(Json::from(2_u32)));
        assert_eq!(template("n {a}").fill_json(&args(r#"{"a":2}"#)), Some(Json::from("n 2")));
        assert_eq!(template("n {a}").fill_json(&args("{}")), None);
    }

    #[test]
    fn a_path_is_a_pointer() {
        let path = ArgPath::parse("a/b.~c").expect("a path");
        assert_eq!((path.pointer().as_str(), path.to_string().as_str()), ("/a~1b/~0c", "a/b.~c"));
        assert_eq!(path.find(&args(r#"{"a/b":{"~c":5}}"#)), Some(&Json::from(5_u32)));
    }
}
