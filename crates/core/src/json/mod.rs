//! JSON from bytes into an owned tree, and its canonical form.
//!
//! Owns the only reader and the only writer of anything that is frozen, hashed, signed or shown. It must never build on a
//! general library's dynamic value: with common features switched on, such a value lets two different documents hash
//! alike, keeps the last of two equal keys and rounds numbers without a word.

mod fields;
mod number;
mod parse;
mod write;

pub use fields::Fields;
pub use number::Number;
pub use parse::{Limits, NumberRule, parse, parse_canonical};

use crate::bytes::{Digest, Nonce, Salt};
use crate::code::Refusal;
use crate::sign::PublicKey;
use crate::time::Timestamp;

/// A JSON value.
///
/// *Invariant*: a parsed object holds no name twice and keeps the order of its document. Equality is that of documents:
/// numbers compare by their text, members in order. To compare meanings, compare [`Json::canonical`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as its document wrote it.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: its members in the order of the document.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object of our own, from names that the caller knows to be distinct.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// An array of our own.
    pub fn array<T: Into<Json>>(values: impl IntoIterator<Item = T>) -> Json {
        Json::Array(values.into_iter().map(Into::into).collect())
    }

    /// An integer of our own; for `u32` and smaller use `From`.
    ///
    /// *Errors*: `json_number_out_of_range` above 2⁵³−1.
    pub fn integer(value: u64) -> Result<Json, Refusal> {
        Number::from_u64(value).map(Json::Number)
    }

    /// The member of this name, if this is an object that has one.
    pub fn member(&self, name: &str) -> Option<&Json> {
        self.as_object()?.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// The value at this JSON pointer; the empty pointer is the whole value.
    ///
    /// *Source*: RFC 6901. An index has no leading zero, `-` names nothing.
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| match value {
            Json::Object(_) => value.member(&unescape_token(token)?),
            Json::Array(values) => values.get(read_index(token)?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Json::Number(value) = self { Some(value) } else { None }
    }

    /// The unescaped text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(value) = self { Some(value) } else { None }
    }

    /// The elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(values) = self { Some(values) } else { None }
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        if let Json::Object(members) = self { Some(members) } else { None }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// What this is, in the words of RFC 8259.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// The value for the JSON Schema validator, and for nothing else.
    ///
    /// Numbers become 64-bit integers or doubles here, so the result must never be frozen, hashed, sent or shown. A number
    /// beyond the doubles becomes the largest of its sign, which every `minimum` and `maximum` judges alike.
    pub fn to_schema_value(&self) -> serde_json::Value {
        match self {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => serde_json::Value::Bool(*value),
            Json::Number(number) => number.to_schema_value(),
            Json::String(text) => serde_json::Value::String(text.clone()),
            Json::Array(values) => serde_json::Value::Array(values.iter().map(Json::to_schema_value).collect()),
            Json::Object(members) => {
                serde_json::Value::Object(members.iter().map(|(name, value)| (name.clone(), value.to_schema_value())).collect())
            }
        }
    }
}

/// Writes a member's name as one token of a JSON pointer.
///
/// *Source*: RFC 6901 section 3.
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescape_token(token: &str) -> Option<String> {
    let mut text = String::with_capacity(token.len());
    let mut characters = token.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '~' => match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

fn read_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    if canonical { token.parse().ok() } else { None }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::Number(Number::from(value))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::String(text)
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Json {
        Json::String(text.clone())
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Json {
        Json::Number(number)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Json {
        Json::array(values)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

/// Implements `From` for types that stand in a document as their one text.
macro_rules! json_from_text {
    ($($name:ty),+) => {
        $(
            impl From<$name> for Json {
                fn from(value: $name) -> Json {
                    Json::String(value.to_string())
                }
            }

            impl From<&$name> for Json {
                fn from(value: &$name) -> Json {
                    Json::String(value.to_string())
                }
            }
        )+
    };
}
json_from_text!(Digest, Salt, Nonce, Timestamp, PublicKey);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    /// The example of RFC 6901 section 5.
    const EXAMPLE: &str = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;

    #[test]
    fn pointers_follow_rfc_6901() {
        let json = parse(EXAMPLE.as_bytes(), &Limits::CALL).expect("the example is JSON");
        let integer = |pointer: &str| json.pointer(pointer).and_then(Json::as_number).and_then(Number::as_u64);
        assert_eq!(json.pointer(""), Some(&json));
        assert_eq!(json.pointer("/foo/0").and_then(Json::as_str), Some("bar"));
        let expected = [("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8)];
        for (pointer, value) in expected {
            assert_eq!(integer(pointer), Some(value), "`{pointer}`");
        }
        for nothing in ["foo", "/foo/-", "/foo/00", "/foo/01", "/foo/2", "/foo/+1", "/m~2n", "/m~", "/foo/0/x", "/absent"] {
            assert_eq!(json.pointer(nothing), None, "`{nothing}`");
        }
        assert_eq!(pointer_token("m~n/o"), "m~0n~1o");
    }

    #[test]
    fn our_own_documents_have_a_canonical_form() {
        let json = Json::object([
            ("list", vec!["x", "y"].into()),
            ("count", Json::integer(9_007_199_254_740_991).expect("in range")),
            ("none", None::<String>.into()),
            ("some", Some(3_u32).into()),
            ("flag", true.into()),
        ]);
        let canonical = json.canonical().expect("canonical form");
        assert_eq!(canonical, br#"{"count":9007199254740991,"flag":true,"list":["x","y"],"none":null,"some":3}"#);
        assert_eq!(Json::integer(9_007_199_254_740_992).expect_err("above 2^53-1").code, Code::JsonNumberOutOfRange);
    }

    #[test]
    fn no_member_name_has_a_meaning_of_its_own() {
        // A general library's dynamic value reads both of these as one document.
        let digest = |text: &str| parse(text.as_bytes(), &Limits::MONEY).and_then(|json| json.digest()).expect(text);
        let special = digest(r#"{"memo":{"$serde_json::private::RawValue":"{\"x\":1}"}}"#);
        assert_ne!(special, digest(r#"{"memo":{"x":1}}"#));
        let number = digest(r#"{"memo":{"$serde_json::private::Number":"1"}}"#);
        assert_ne!(number, digest(r#"{"memo":1}"#));
    }

    #[test]
    fn the_schema_value_keeps_integers_and_order_of_magnitude() {
        let json = parse(br#"[18446744073709551615,-5,1.0,0.5,1e999,-1e999,{"a":[null,true,"x"]}]"#, &Limits::CALL).expect("JSON");
        let value = json.to_schema_value();
        assert_eq!(value[0].as_u64(), Some(u64::MAX));
        assert_eq!(value[1].as_i64(), Some(-5));
        assert_eq!(value[2].as_u64(), Some(1));
        assert_eq!(value[3].as_f64(), Some(0.5));
        assert_eq!(value[4].as_f64(), Some(f64::MAX));
        assert_eq!(value[5].as_f64(), Some(f64::MIN));
        assert_eq!(value[6], serde_json::json!({"a": [null, true, "x"]}));
    }
}
