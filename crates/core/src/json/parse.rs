//! The reader: bytes to tree, by RFC 8259, refusing what I-JSON (RFC 7493) leaves open.

use std::collections::BTreeSet;

use super::number::inexact;
use super::{Json, Number, pointer_token};
use crate::code::{Code, Refusal};
use crate::limits::{ARGS_BYTES_MAX, FROZEN_BYTES_MAX, JSON_DEPTH_MAX, JSON_NODES_MAX, JSON_RECURSION_MAX, LEAF_BYTES_MAX};

/// What a document may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Its length. *Unit*: bytes.
    pub bytes: usize,
    /// Containers inside each other; never more than [`JSON_RECURSION_MAX`], whatever stands here.
    pub depth: usize,
    /// Its values, containers included.
    pub nodes: usize,
    /// Which numbers it may hold.
    pub numbers: NumberRule,
}

/// Which numbers a document may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberRule {
    /// All that the grammar allows; one without canonical form is found when that form is asked for.
    Any,
    /// Only those whose canonical form has the same decimal value.
    Exact,
}

impl Limits {
    /// The arguments of a money call.
    pub const MONEY: Limits = Limits { bytes: ARGS_BYTES_MAX, depth: JSON_DEPTH_MAX, nodes: JSON_NODES_MAX, numbers: NumberRule::Exact };
    /// The arguments of a read or a write, which are forwarded as they came.
    pub const CALL: Limits = Limits { numbers: NumberRule::Any, ..Limits::MONEY };
    /// A signed statement or a leaf of the log.
    pub const STATEMENT: Limits = Limits { bytes: LEAF_BYTES_MAX, ..Limits::MONEY };
    /// A frozen request: arguments up to their own limits inside our members.
    pub const FROZEN: Limits =
        Limits { bytes: FROZEN_BYTES_MAX, depth: JSON_DEPTH_MAX * 3 / 2, nodes: 2 * JSON_NODES_MAX, numbers: NumberRule::Exact };
}

/// Reads one JSON document.
///
/// *Errors*: a `json_…` code with the pointer of the offending value. Duplicate names, lone surrogates, invalid UTF-8 and
/// a byte order mark are refused under every limit.
/// *Source*: RFC 8259; RFC 7493 sections 2.1 and 2.3.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Json, Refusal> {
    if bytes.len() > limits.bytes {
        let message = format!("a document of `{}` bytes exceeds {} bytes; send less", bytes.len(), limits.bytes);
        return Err(Refusal::new(Code::JsonTooLarge, message).at(""));
    }
    let mut parser = Parser { bytes, at: 0, nodes: 0, limits };
    parser.skip_space();
    let json = parser.value(0)?;
    parser.skip_space();
    if parser.at < bytes.len() {
        let message = format!("something follows the document at byte `{}`; send one document", parser.at);
        return Err(Refusal::new(Code::JsonTrailingBytes, message).at(""));
    }
    Ok(json)
}

/// Reads one JSON document that must be its own canonical form.
///
/// *Errors*: as [`parse`], and `not_canonical`.
/// *Source*: RFC 8785.
pub fn parse_canonical(bytes: &[u8], limits: &Limits) -> Result<Json, Refusal> {
    let json = parse(bytes, limits)?;
    if json.canonical_of_about(bytes.len())? != bytes {
        return Err(
            Refusal::new(Code::NotCanonical, "the bytes are not the canonical form of their document; write them per RFC 8785").at("")
        );
    }
    Ok(json)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: usize,
    limits: &'a Limits,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes the byte if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    /// Errors are made at the value and get the rest of their path from each container on the way out.
    fn value(&mut self, depth: usize) -> Result<Json, Refusal> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let message = format!("the document has more than `{}` values; send fewer", self.limits.nodes);
            return Err(Refusal::new(Code::JsonTooManyNodes, message).at(""));
        }
        match self.peek() {
            Some(b'n') => self.literal("null", Json::Null),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::String),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, Refusal> {
        let depth_max = self.limits.depth.min(JSON_RECURSION_MAX);
        if depth >= depth_max {
            let message = format!("containers lie more than `{depth_max}` deep; send a flatter document");
            return Err(Refusal::new(Code::JsonTooDeep, message).at(""));
        }
        Ok(depth + 1)
    }

    fn literal(&mut self, text: &str, value: Json) -> Result<Json, Refusal> {
        if !self.bytes[self.at..].starts_with(text.as_bytes()) {
            return Err(self.unexpected("`null`, `true` or `false`"));
        }
        self.at += text.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json, Refusal> {
        let mut values = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take(b']') {
            return Ok(Json::Array(values));
        }
        loop {
            self.skip_space();
            let value = self.value(depth).map_err(|refusal| refusal.under(&format!("/{}", values.len())))?;
            values.push(value);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::Array(values));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Refusal> {
        let mut members: Vec<(String, Json)> = Vec::new();
        // Kept from the first name on that does not follow the one before it: in ascending order none comes twice.
        let mut names: Option<BTreeSet<String>> = None;
        self.at += 1;
        self.skip_space();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a name in quotes"));
            }
            let name = self.string()?;
            let path = || format!("/{}", pointer_token(&name));
            let ascends = names.is_none() && members.last().is_none_or(|(before, _)| *before < name);
            let all = || members.iter().map(|(name, _)| name.clone()).collect();
            if !ascends && !names.get_or_insert_with(all).insert(name.clone()) {
                let message = "an object names a member twice; send each name once";
                return Err(Refusal::new(Code::JsonDuplicateKey, message).at(path()));
            }
            self.skip_space();
            if !self.take(b':') {
                return Err(self.unexpected("`:`").under(&path()));
            }
            self.skip_space();
            let value = self.value(depth).map_err(|refusal| refusal.under(&path()))?;
            members.push((name, value));
            self.skip_space();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let mut text = String::new();
        self.at += 1;
        loop {
            let start = self.at;
            let rest = &self.bytes[start..];
            self.at += rest.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\').unwrap_or(rest.len());
            // A run ends at an ASCII byte, which is never a part of a longer character, so each run stands for itself.
            let run = std::str::from_utf8(&self.bytes[start..self.at]).map_err(|error| {
                let message = format!("a string is not UTF-8 at byte `{}`; send UTF-8", start + error.valid_up_to());
                Refusal::new(Code::JsonInvalidUtf8, message).at("")
            })?;
            text.push_str(run);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.unexpected("an escape in place of a control character")),
                None => return Err(self.unexpected("the closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.unexpected("an escape of RFC 8259 section 7")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, Refusal> {
        let escape_at = self.at - 1;
        let first = self.code_unit()?;
        let second = if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 1;
            Some(self.code_unit()?)
        } else {
            None
        };
        let mut characters = char::decode_utf16(std::iter::once(first).chain(second));
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => {
                let message = format!("a string escapes half of a surrogate pair at byte `{escape_at}`; send both halves");
                Err(Refusal::new(Code::JsonLoneSurrogate, message).at(""))
            }
        }
    }

    /// Reads `uXXXX`.
    fn code_unit(&mut self) -> Result<u16, Refusal> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16)).and_then(|digit| u16::try_from(digit).ok());
            let Some(digit) = digit else {
                return Err(self.unexpected("four hexadecimal digits"));
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<Number, Refusal> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let lexeme = std::str::from_utf8(&self.bytes[start..self.at]).map_err(|_| self.unexpected("digits"))?;
        let number = Number::from_checked(lexeme);
        match self.limits.numbers {
            NumberRule::Any => Ok(number),
            NumberRule::Exact if number.is_exact() => Ok(number),
            NumberRule::Exact => Err(number.canonical().err().unwrap_or_else(|| inexact(lexeme)).at("")),
        }
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        let found = match self.peek() {
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(byte) => format!("the byte `0x{byte:02x}`"),
            None => "the end".to_owned(),
        };
        let message = format!("{found} stands at byte `{}` where {wanted} belongs; send JSON per RFC 8259", self.at);
        Refusal::new(Code::JsonSyntax, message).at("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8], limits: &Limits) -> (Code, String) {
        let refusal = parse(text, limits).expect_err(&String::from_utf8_lossy(text));
        (refusal.code, refusal.path.expect("every refusal of a document has a path"))
    }

    #[test]
    fn refusals_name_the_rule_and_the_place() {
        let cases: &[(&[u8], Code, &str)] = &[
            (b"", Code::JsonSyntax, ""),
            (b"\xef\xbb\xbf{}", Code::JsonSyntax, ""),
            (b"{} {}", Code::JsonTrailingBytes, ""),
            (br#"{"a":{"b":1,"b":1}}"#, Code::JsonDuplicateKey, "/a/b"),
            (br#"{"a":1,"\u0061":2}"#, Code::JsonDuplicateKey, "/a"),
            (br#"{"x/y":[0,"\ud800"]}"#, Code::JsonLoneSurrogate, "/x~1y/1"),
            (br#"["\udc00\ud800"]"#, Code::JsonLoneSurrogate, "/0"),
            (br#"["\ud800\ud800"]"#, Code::JsonLoneSurrogate, "/0"),
            (br#"["\ud800A"]"#, Code::JsonLoneSurrogate, "/0"),
            (b"[[\"\xff\"]]", Code::JsonInvalidUtf8, "/0/0"),
            (b"[\"\xed\xa0\x80\"]", Code::JsonInvalidUtf8, "/0"),
            (br#"{"m~n":[1,2,9007199254740993]}"#, Code::JsonNumberInexact, "/m~0n/2"),
            (br#"{"m":1e400}"#, Code::JsonNumberOutOfRange, "/m"),
            (br#"{"m":01}"#, Code::JsonSyntax, ""),
            (br#"{"m":+1}"#, Code::JsonSyntax, "/m"),
            (b"[\"a\nb\"]", Code::JsonSyntax, "/0"),
        ];
        for (text, code, path) in cases {
            assert_eq!(refused(text, &Limits::MONEY), (*code, (*path).to_owned()), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn only_money_refuses_numbers() {
        for text in ["9007199254740993", "1e400", "-1e400", "1e-400"] {
            assert!(parse(text.as_bytes(), &Limits::MONEY).is_err(), "`{text}`");
            assert!(parse(text.as_bytes(), &Limits::CALL).is_ok(), "`{text}`");
        }
        let infinite = parse(b"[1e400]", &Limits::CALL).expect("JSON");
        assert_eq!(infinite.canonical().expect_err("no canonical form").code, Code::JsonNumberOutOfRange);
    }

    #[test]
    fn each_bound_holds_at_its_edge() {
        let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(parse(&nested(JSON_DEPTH_MAX), &Limits::MONEY).is_ok());
        assert_eq!(refused(&nested(JSON_DEPTH_MAX + 1), &Limits::MONEY), (Code::JsonTooDeep, "/0".repeat(JSON_DEPTH_MAX)));
        let boundless = Limits { bytes: usize::MAX, depth: usize::MAX, nodes: usize::MAX, numbers: NumberRule::Any };
        assert_eq!(refused(&nested(100_000), &boundless).0, Code::JsonTooDeep);

        let wide = |values: usize| format!("[{}0]", "0,".repeat(values - 2)).into_bytes();
        assert!(parse(&wide(JSON_NODES_MAX), &Limits::MONEY).is_ok());
        let path = format!("/{}", JSON_NODES_MAX - 1);
        assert_eq!(refused(&wide(JSON_NODES_MAX + 1), &Limits::MONEY), (Code::JsonTooManyNodes, path));

        let long = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)).into_bytes();
        assert!(parse(&long(ARGS_BYTES_MAX), &Limits::MONEY).is_ok());
        assert_eq!(refused(&long(ARGS_BYTES_MAX + 1), &Limits::MONEY), (Code::JsonTooLarge, String::new()));
    }

    #[test]
    fn only_the_canonical_form_is_canonical() {
        assert!(parse_canonical(br#"{"a":1,"b":"\u0001"}"#, &Limits::MONEY).is_ok());
        let others: &[&[u8]] =
            &[br#"{"b":1,"a":1}"#, br#"{"a": 1}"#, br#"{"a":1.0}"#, br#"{"a":"\u0041"}"#, b"[] ", br#"{"a":-0}"#, br#"["\/"]"#];
        for text in others {
            let refusal = parse_canonical(text, &Limits::MONEY).expect_err(&String::from_utf8_lossy(text));
            assert_eq!(refusal.code, Code::NotCanonical, "{}", String::from_utf8_lossy(text));
        }
    }
}
