//! Values of the domain as columns: text in their one spelling, times as milliseconds. Reading back is strict.

use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;
use vidimus_core::ids::Name;
use vidimus_core::json::Json;
use vidimus_core::time::Timestamp;

/// A stored text that is not in the spelling of its type.
#[derive(Debug, thiserror::Error)]
#[error("the column `{0}` holds a value that this version never writes")]
struct Unreadable(String);

fn unreadable(column: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(Unreadable(column.to_owned())))
}

/// A column that a type of the domain reads.
pub(crate) fn parsed<T: FromStr>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    row.get_ref(column)?.as_str()?.parse().map_err(|_| unreadable(column))
}

/// A column that a type of the domain reads, or NULL.
pub(crate) fn optional_parsed<T: FromStr>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    row.get_ref(column)?.as_str_or_null()?.map(str::parse).transpose().map_err(|_| unreadable(column))
}

/// A time.
pub(crate) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    Timestamp::from_ms(row.get(column)?).map_err(|_| unreadable(column))
}

/// A time or NULL.
pub(crate) fn optional_time(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column)?.map(Timestamp::from_ms).transpose().map_err(|_| unreadable(column))
}

/// A count that was stored as one.
pub(crate) fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| unreadable(column))
}

/// Names in one column, each between spaces, so that ` admin ` is found whole.
pub(crate) fn names_to_text(names: &[Name]) -> String {
    names.iter().fold(String::from(" "), |text, name| text + name.as_str() + " ")
}

/// The names of [`names_to_text`].
pub(crate) fn names(row: &Row<'_>, column: &str) -> rusqlite::Result<Vec<Name>> {
    row.get_ref(column)?.as_str()?.split_whitespace().map(Name::parse).collect::<Result<_, _>>().map_err(|_| unreadable(column))
}

/// A value of the domain in a document, as its one text.
pub(crate) fn text(value: impl ToString) -> Json {
    Json::String(value.to_string())
}

/// A value of the domain in a document, or `null`.
pub(crate) fn optional_text<T: ToString>(value: Option<T>) -> Json {
    value.map_or(Json::Null, text)
}
