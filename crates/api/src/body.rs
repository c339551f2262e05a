//! Reading bodies from outside: our own parser first, so that no two readers see different documents.

use vidimus_core::code::{Code, Refusal};
use vidimus_core::json::{Fields, Json, Limits, NumberRule, parse};
use vidimus_core::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX};

use crate::RawJson;

/// Levels and values of a body around the document that it carries.
const WRAPPING_MAX: usize = 16;

/// The body as our parser reads it. What it carries has limits of its own, applied when it is used.
pub(crate) fn parse_body(body: &[u8], bytes_max: usize) -> Result<Json, Refusal> {
    let limits =
        Limits { bytes: bytes_max, depth: JSON_DEPTH_MAX + WRAPPING_MAX, nodes: JSON_NODES_MAX + WRAPPING_MAX, numbers: NumberRule::Any };
    parse(body, &limits)
}

/// An object in which optional members that were left out stand as `null`.
pub(crate) struct Members {
    json: Json,
    names: Vec<String>,
}

/// The members of a body: all of `required`, any of `optional`, nothing else.
pub(crate) fn members(json: &Json, required: &[&str], optional: &[&str]) -> Result<Members, Refusal> {
    let Some(given) = json.as_object() else {
        return Err(Refusal::new(Code::FieldMalformed, format!("the body is of kind `{}`; send an object", json.kind())).at(""));
    };
    let mut given = given.to_vec();
    for name in optional {
        if json.member(name).is_none() {
            given.push(((*name).to_owned(), Json::Null));
        }
    }
    let names = required.iter().chain(optional).map(|name| (*name).to_owned()).collect();
    Ok(Members { json: Json::Object(given), names })
}

impl Members {
    /// The strict reader of these members.
    pub(crate) fn fields(&self) -> Result<Fields<'_>, Refusal> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Fields::exactly(&self.json, &names)
    }
}

/// A text of a bounded number of characters, or none.
pub(crate) fn bounded(fields: &Fields<'_>, name: &str, min: usize, max: usize) -> Result<Option<String>, Refusal> {
    let Some(text) = fields.optional_string(name)? else {
        return Ok(None);
    };
    let length = text.chars().count();
    if (min..=max).contains(&length) {
        Ok(Some(text.to_owned()))
    } else {
        let message = format!("`{name}` has {length} characters; send {min} to {max}");
        Err(Refusal::new(Code::FieldMalformed, message).at(fields.path_of(name)))
    }
}

/// A value to pass on to the one that judges it.
pub(crate) fn raw(json: &Json) -> Result<RawJson, Refusal> {
    let text =
        String::from_utf8(json.canonical()?).map_err(|_| Refusal::new(Code::JsonInvalidUtf8, "the value is not text; send UTF-8"))?;
    crate::raw_json(text).map_err(|_| Refusal::new(Code::JsonSyntax, "the value is not one JSON document; send one"))
}
