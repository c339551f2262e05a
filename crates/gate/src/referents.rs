//! What arguments name: an alias is read before a person is asked, and again before anything runs. Whoever edits the
//! directory in between changes nothing that was approved.

use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::Effect;
use vidimus_core::json::{Json, Number};
use vidimus_core::limits::REFERENT_BYTES_MAX;
use vidimus_core::table::{Referent, Row, Table};

use crate::executor::http::parse_result;
use crate::gate::Gate;

impl Gate {
    /// What these arguments name now, by their pointers; an empty object where the row names no referents.
    ///
    /// *Errors*: `referent_unreadable`.
    pub async fn referents(&self, table: &Table, row: &Row, args: &Json) -> Result<Json, Refusal> {
        let mut named = Vec::new();
        for referent in row.referents.iter().filter(|referent| referent.arg.find(args).is_some()) {
            named.push((referent.arg.pointer(), self.referent(table, referent, args).await?));
        }
        Ok(Json::Object(named))
    }

    /// The same for what was frozen, by the row in force.
    ///
    /// *Errors*: `referent_unreadable`.
    pub async fn referents_of(&self, frozen: &str, row: &Row) -> Result<Json, Refusal> {
        if row.referents.is_empty() {
            return Ok(Json::Object(Vec::new()));
        }
        let frozen = vidimus_store::frozen(frozen)?;
        let table = self.table().await.ok().flatten().ok_or_else(|| unreadable("the effect table cannot be read"))?;
        self.referents(&table, row, &frozen.members().args).await
    }

    async fn referent(&self, table: &Table, referent: &Referent, args: &Json) -> Result<Json, Refusal> {
        let row =
            table.row(&referent.read.tool).filter(|row| row.effect == Effect::Read).ok_or_else(|| unreadable("its read has no row"))?;
        let given = referent.read.arguments(args);
        let result = self.read_whole(row, &given).await.ok_or_else(|| unreadable("its provider gave no answer that can be read"))?;
        let value = parse_result(result.as_bytes()).and_then(|json| json.pointer(&referent.value).cloned());
        value.filter(is_plain).ok_or_else(|| unreadable("the answer holds no plain value where the row says"))
    }
}

/// Whether two readers understand the value alike, and a person can read it in one line.
fn is_plain(value: &Json) -> bool {
    let one_spelling = match value {
        Json::String(text) => !text.is_empty(),
        Json::Number(number) => Number::as_u64(number).is_some(),
        Json::Bool(_) => true,
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    };
    one_spelling && value.canonical().is_ok_and(|bytes| bytes.len() <= REFERENT_BYTES_MAX)
}

fn unreadable(why: &str) -> Refusal {
    Refusal::new(Code::ReferentUnreadable, format!("what an argument names cannot be read now ({why}); nothing runs until it can"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_value_is_a_referent() {
        let long = format!("\"{}\"", "x".repeat(REFERENT_BYTES_MAX));
        for (text, plain) in [
            ("\"DE89\"", true),
            ("42", true),
            ("true", true),
            ("\"\"", false),
            ("null", false),
            ("1.5", false),
            ("-1", false),
            ("[\"DE89\"]", false),
            ("{\"iban\":\"DE89\"}", false),
            (long.as_str(), false),
        ] {
            let value = parse_result(text.as_bytes()).expect(text);
            assert_eq!(is_plain(&value), plain, "{text}");
        }
    }
}
