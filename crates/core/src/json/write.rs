//! The writer: the canonical form of a tree.

use std::cmp::Ordering;

use super::{Json, pointer_token};
use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::limits::JSON_RECURSION_MAX;

impl Json {
    /// The canonical form: members sorted by UTF-16 code units, no space, shortest numbers, fewest escapes.
    ///
    /// *Errors*: `json_number_out_of_range` for a number beyond the doubles, `json_too_deep` and `json_duplicate_key` for a
    /// tree that no document can be.
    /// *Source*: RFC 8785 section 3.2.
    pub fn canonical(&self) -> Result<Vec<u8>, Refusal> {
        self.canonical_of_about(0)
    }

    /// The canonical form, with room for as many bytes as it is likely to have.
    pub(super) fn canonical_of_about(&self, bytes: usize) -> Result<Vec<u8>, Refusal> {
        let mut text = String::with_capacity(bytes);
        write(self, 0, &mut text)?;
        Ok(text.into_bytes())
    }

    /// SHA-256 of the canonical form.
    ///
    /// *Errors*: as [`Json::canonical`].
    pub fn digest(&self) -> Result<Digest, Refusal> {
        self.canonical().map(|bytes| Digest::of(&bytes))
    }
}

fn write(json: &Json, depth: usize, text: &mut String) -> Result<(), Refusal> {
    if depth > JSON_RECURSION_MAX {
        let message = format!("containers lie more than `{JSON_RECURSION_MAX}` deep; build a flatter document");
        return Err(Refusal::new(Code::JsonTooDeep, message).at(""));
    }
    match json {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) if number.is_plain() => text.push_str(number.lexeme()),
        Json::Number(number) => text.push_str(&number.canonical().map_err(|refusal| refusal.at(""))?),
        Json::String(value) => write_string(value, text),
        Json::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(value, depth + 1, text).map_err(|refusal| refusal.under(&format!("/{index}")))?;
            }
            text.push(']');
        }
        Json::Object(members) => write_object(members, depth, text)?,
    }
    Ok(())
}

fn write_object(members: &[(String, Json)], depth: usize, text: &mut String) -> Result<(), Refusal> {
    if members.array_windows().all(|[(a, _), (b, _)]| by_code_units(a, b).is_lt()) {
        return write_members(members.iter(), depth, text);
    }
    let mut sorted: Vec<&(String, Json)> = members.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| by_code_units(a, b));
    if let Some([(name, _), _]) = sorted.array_windows().find(|[(a, _), (b, _)]| a == b) {
        let message = "an object names a member twice; build it with each name once";
        return Err(Refusal::new(Code::JsonDuplicateKey, message).at(format!("/{}", pointer_token(name))));
    }
    write_members(sorted.into_iter(), depth, text)
}

/// The order of UTF-16 code units. It is that of the bytes of UTF-8, unless a character beyond U+FFFF meets one from U+E000
/// on: the former begins with a code unit below U+E000. The first bytes of both are 0xee or more.
fn by_code_units(a: &str, b: &str) -> Ordering {
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((a_byte, b_byte)) if a_byte >= 0xee && b_byte >= 0xee => a.encode_utf16().cmp(b.encode_utf16()),
        Some((a_byte, b_byte)) => a_byte.cmp(&b_byte),
        None => a.len().cmp(&b.len()),
    }
}

fn write_members<'a>(members: impl Iterator<Item = &'a (String, Json)>, depth: usize, text: &mut String) -> Result<(), Refusal> {
    text.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_string(name, text);
        text.push(':');
        write(value, depth + 1, text).map_err(|refusal| refusal.under(&format!("/{}", pointer_token(name))))?;
    }
    text.push('}');
    Ok(())
}

/// *Source*: RFC 8785 section 3.2.2.2: the two-character escapes where JSON has them, `\u00xx` for other control
/// characters, everything else as it is.
fn write_string(value: &str, text: &mut String) {
    text.push('"');
    let mut rest = value;
    // What is escaped is one byte long, so every run between ends where a character does.
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let (run, escaped) = rest.split_at(at);
        text.push_str(run);
        let (character, after) = escaped.split_at(1);
        match character {
            "\"" => text.push_str("\\\""),
            "\\" => text.push_str("\\\\"),
            "\u{8}" => text.push_str("\\b"),
            "\t" => text.push_str("\\t"),
            "\n" => text.push_str("\\n"),
            "\u{c}" => text.push_str("\\f"),
            "\r" => text.push_str("\\r"),
            control => text.extend(control.bytes().map(|byte| format!("\\u{byte:04x}"))),
        }
        rest = after;
    }
    text.push_str(rest);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    #[test]
    fn names_are_sorted_by_utf16_code_units() {
        let json = parse("{\"\u{fb33}\":1,\"\u{1f600}\":2,\"\u{20ac}\":3,\"a\":4}".as_bytes(), &Limits::CALL).expect("JSON");
        let canonical = json.canonical().expect("canonical form");
        assert_eq!(canonical, "{\"a\":4,\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}".as_bytes());
    }

    #[test]
    fn the_short_comparison_is_that_of_code_units() {
        let edges = [
            "",
            "a",
            "ab",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{fffd}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
        ];
        let names: Vec<String> = edges.iter().flat_map(|a| edges.iter().map(move |b| format!("{a}{b}"))).collect();
        for a in &names {
            for b in &names {
                assert_eq!(by_code_units(a, b), a.encode_utf16().cmp(b.encode_utf16()), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn only_what_must_be_escaped_is() {
        let json = parse(br#""\u0000\u001f\u007f\u0080\/\"\\\b\f\n\r\t\u2028""#, &Limits::CALL).expect("JSON");
        let canonical = json.canonical().expect("canonical form");
        assert_eq!(canonical, "\"\\u0000\\u001f\u{7f}\u{80}/\\\"\\\\\\b\\f\\n\\r\\t\u{2028}\"".as_bytes());
    }

    #[test]
    fn a_tree_that_no_document_can_be_is_refused() {
        let twice = Json::object([("x", Json::object([("a/b", Json::Null), ("a/b", true.into())]))]);
        let refusal = twice.canonical().expect_err("one name twice");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::JsonDuplicateKey, Some("/x/a~1b")));

        let deep = (0..=JSON_RECURSION_MAX).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        assert_eq!(deep.canonical().expect_err("too deep").code, Code::JsonTooDeep);
    }
}
