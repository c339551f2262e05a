//! The strict reader of an object whose members a version fixes exactly.

use std::str::FromStr;

use super::{Json, pointer_token};
use crate::bytes::{Digest, Nonce, Salt};
use crate::code::{Code, Refusal};
use crate::limits::JSON_INTEGER_MAX;
use crate::time::Timestamp;

/// An object that has exactly the expected members. Each reading names the member's path when it refuses.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    members: &'a [(String, Json)],
    path: String,
}

impl<'a> Fields<'a> {
    /// The fields of a document that has exactly these names, in any order.
    ///
    /// *Errors*: `field_malformed` where it is no object, `field_missing`, `field_unknown`.
    pub fn exactly(json: &'a Json, names: &[&str]) -> Result<Fields<'a>, Refusal> {
        Fields::exactly_at(json, "", names)
    }

    /// As [`Fields::exactly`], for a value that stands at `path` of its document.
    pub fn exactly_at(json: &'a Json, path: &str, names: &[&str]) -> Result<Fields<'a>, Refusal> {
        let Json::Object(members) = json else {
            return Err(malformed(path, json, "an object"));
        };
        let fields = Fields { members, path: path.to_owned() };
        if let Some(missing) = names.iter().find(|name| fields.find(name).is_none()) {
            let message = format!("the member `{missing}` is missing; send every member of this version");
            return Err(Refusal::new(Code::FieldMissing, message).at(fields.path_of(missing)));
        }
        if let Some((unknown, _)) = members.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            let message = "a member is unknown to this version; leave it out, or compare the versions of the two sides";
            return Err(Refusal::new(Code::FieldUnknown, message).at(fields.path_of(unknown)));
        }
        Ok(fields)
    }

    /// The pointer of this object in its document.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The pointer of a member.
    pub fn path_of(&self, name: &str) -> String {
        format!("{}/{}", self.path, pointer_token(name))
    }

    /// A member as it is.
    ///
    /// *Errors*: `field_missing` for a name that was not asked for.
    pub fn value(&self, name: &str) -> Result<&'a Json, Refusal> {
        self.find(name)
            .ok_or_else(|| Refusal::new(Code::FieldMissing, format!("the member `{name}` is missing; send it")).at(self.path_of(name)))
    }

    /// A string.
    pub fn string(&self, name: &str) -> Result<&'a str, Refusal> {
        self.read(name, "a string", Json::as_str)
    }

    /// A string that must be this one, as the version or type of a statement is.
    pub fn expect(&self, name: &str, expected: &str) -> Result<(), Refusal> {
        self.read(name, &format!("`{expected}`"), |value| (value.as_str() == Some(expected)).then_some(()))
    }

    /// The version of a document, which must be this one.
    ///
    /// *Errors*: `field_malformed` for any other: an unknown version is never read as a known one.
    pub fn version(&self, expected: u64) -> Result<(), Refusal> {
        let found = self.integer("v")?;
        if found == expected {
            return Ok(());
        }
        let message = format!("the version is `{found}`, not {expected}; compare the versions of the two sides");
        Err(Refusal::new(Code::FieldMalformed, message).at(self.path_of("v")))
    }

    /// A count: an integer from 0 to 2⁵³−1, written as one (`1.0` is refused).
    pub fn integer(&self, name: &str) -> Result<u64, Refusal> {
        self.read(name, "an integer from 0 to 2^53-1", |value| {
            let lexeme = value.as_number()?.lexeme();
            lexeme.parse().ok().filter(|integer| *integer <= JSON_INTEGER_MAX)
        })
    }

    /// A boolean.
    pub fn boolean(&self, name: &str) -> Result<bool, Refusal> {
        self.read(name, "`true` or `false`", Json::as_bool)
    }

    /// An array, element by element.
    pub fn array(&self, name: &str) -> Result<&'a [Json], Refusal> {
        self.read(name, "an array", Json::as_array)
    }

    /// An array of strings.
    pub fn strings(&self, name: &str) -> Result<Vec<&'a str>, Refusal> {
        let element = |(index, value): (usize, &'a Json)| {
            value.as_str().ok_or_else(|| malformed(&format!("{}/{index}", self.path_of(name)), value, "a string"))
        };
        self.array(name)?.iter().enumerate().map(element).collect()
    }

    /// An object with exactly these names.
    pub fn object(&self, name: &str, names: &[&str]) -> Result<Fields<'a>, Refusal> {
        Fields::exactly_at(self.value(name)?, &self.path_of(name), names)
    }

    /// An array of objects, each with exactly these names.
    pub fn objects(&self, name: &str, names: &[&str]) -> Result<Vec<Fields<'a>>, Refusal> {
        let element = |(index, value)| Fields::exactly_at(value, &format!("{}/{index}", self.path_of(name)), names);
        self.array(name)?.iter().enumerate().map(element).collect()
    }

    /// A string that a type of the domain reads.
    ///
    /// *Errors*: the type's own code, with the member's path.
    pub fn parsed<T: FromStr<Err = Refusal>>(&self, name: &str) -> Result<T, Refusal> {
        self.string(name)?.parse().map_err(|refusal: Refusal| refusal.at(self.path_of(name)))
    }

    /// A digest.
    pub fn digest(&self, name: &str) -> Result<Digest, Refusal> {
        self.parsed(name)
    }

    /// A salt.
    pub fn salt(&self, name: &str) -> Result<Salt, Refusal> {
        self.parsed(name)
    }

    /// A nonce.
    pub fn nonce(&self, name: &str) -> Result<Nonce, Refusal> {
        self.parsed(name)
    }

    /// A time.
    pub fn timestamp(&self, name: &str) -> Result<Timestamp, Refusal> {
        self.parsed(name)
    }

    /// `None` where the member is `null`, else what `read` makes of it: `fields.optional("run", Fields::string)`.
    pub fn optional<T>(&self, name: &str, read: impl FnOnce(&Fields<'a>, &str) -> Result<T, Refusal>) -> Result<Option<T>, Refusal> {
        if self.value(name)?.is_null() { Ok(None) } else { read(self, name).map(Some) }
    }

    /// A string or `null`.
    pub fn optional_string(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.optional(name, Fields::string)
    }

    /// A count or `null`.
    pub fn optional_integer(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.optional(name, Fields::integer)
    }

    /// A digest or `null`.
    pub fn optional_digest(&self, name: &str) -> Result<Option<Digest>, Refusal> {
        self.optional(name, Fields::digest)
    }

    /// A time or `null`.
    pub fn optional_timestamp(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        self.optional(name, Fields::timestamp)
    }

    /// A string that a type of the domain reads, or `null`.
    pub fn optional_parsed<T: FromStr<Err = Refusal>>(&self, name: &str) -> Result<Option<T>, Refusal> {
        self.optional(name, Fields::parsed)
    }

    fn find(&self, name: &str) -> Option<&'a Json> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    fn read<T>(&self, name: &str, wanted: &str, read: impl FnOnce(&'a Json) -> Option<T>) -> Result<T, Refusal> {
        let value = self.value(name)?;
        read(value).ok_or_else(|| malformed(&self.path_of(name), value, wanted))
    }
}

fn malformed(path: &str, found: &Json, wanted: &str) -> Refusal {
    let message = format!("a `{}` stands where {wanted} belongs; compare with this version of the statement", found.kind());
    Refusal::new(Code::FieldMalformed, message).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn json(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::MONEY).expect(text)
    }

    #[test]
    fn exactly_the_expected_members_are_accepted() {
        let document = json(r#"{"b":2,"a":"x"}"#);
        let fields = Fields::exactly(&document, &["a", "b"]).expect("both members");
        assert_eq!((fields.string("a"), fields.integer("b")), (Ok("x"), Ok(2)));

        let refused = |names: &[&str]| Fields::exactly(&document, names).map(|_| ()).map_err(|r| (r.code, r.path));
        assert_eq!(refused(&["a", "b", "c/d"]), Err((Code::FieldMissing, Some("/c~1d".to_owned()))));
        assert_eq!(refused(&["a"]), Err((Code::FieldUnknown, Some("/b".to_owned()))));
        assert_eq!(Fields::exactly(&json("[]"), &[]).expect_err("an array").code, Code::FieldMalformed);
    }

    #[test]
    fn a_member_of_another_type_is_refused_with_its_path() {
        let document = json(r#"{"o":{"d":"00","n":1.0,"m":-1,"big":9007199254740992,"z":null,"l":["x",1]}}"#);
        let outer = Fields::exactly(&document, &["o"]).expect("one member");
        let fields = outer.object("o", &["d", "n", "m", "big", "z", "l"]).expect("six members");
        let refusals = [
            (fields.digest("d").map(|_| ()), Code::DigestMalformed, "/o/d"),
            (fields.integer("n").map(|_| ()), Code::FieldMalformed, "/o/n"),
            (fields.integer("m").map(|_| ()), Code::FieldMalformed, "/o/m"),
            (fields.integer("big").map(|_| ()), Code::FieldMalformed, "/o/big"),
            (fields.string("z").map(|_| ()), Code::FieldMalformed, "/o/z"),
            (fields.strings("l").map(|_| ()), Code::FieldMalformed, "/o/l/1"),
            (fields.objects("l", &[]).map(|_| ()), Code::FieldMalformed, "/o/l/0"),
            (fields.boolean("d").map(|_| ()), Code::FieldMalformed, "/o/d"),
            (fields.timestamp("d").map(|_| ()), Code::TimestampMalformed, "/o/d"),
            (fields.expect("d", "01"), Code::FieldMalformed, "/o/d"),
            (fields.value("absent").map(|_| ()), Code::FieldMissing, "/o/absent"),
        ];
        for (refusal, code, path) in refusals {
            let refusal = refusal.expect_err(path);
            assert_eq!((refusal.code, refusal.path.as_deref()), (code, Some(path)));
        }
        assert_eq!(fields.optional_string("z"), Ok(None));
        assert_eq!(fields.optional_string("d"), Ok(Some("00")));
        assert_eq!(fields.optional_digest("d").expect_err("not a digest").path.as_deref(), Some("/o/d"));
    }
}
