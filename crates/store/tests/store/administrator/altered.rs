//! What the administrator does to one value.

use std::fmt;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use vidimus_core::bytes::Digest;

/// One change of one row.
pub struct Alteration {
    table: String,
    column: String,
    row: i64,
    /// None deletes the row.
    value: Option<Value>,
    from: Value,
}

impl fmt::Display for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &Value| format!("{value:?}").chars().take(100).collect::<String>();
        match &self.value {
            Some(value) => write!(f, "{}.{} of row {}: {} -> {}", self.table, self.column, self.row, short(&self.from), short(value)),
            None => write!(f, "row {} of {} deleted", self.row, self.table),
        }
    }
}

/// Opens the database as anybody can who gets at the file.
pub fn open_as_administrator(database: &Path) -> Connection {
    Connection::open(database).expect("a database")
}

/// Does something with nothing in the way that the schema puts there, and puts it back: a gate compares the schema too.
pub fn disarmed<T>(db: &Connection, act: impl FnOnce() -> T) -> T {
    let mut query = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").expect("a query");
    let triggers: Vec<(String, String)> =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows").collect::<Result<_, _>>().expect("triggers");
    drop(query);
    for (name, _) in &triggers {
        db.execute_batch(&format!("DROP TRIGGER {name}")).expect("dropped");
    }
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").expect("switched off");
    let done = act();
    for (_, sql) in &triggers {
        db.execute_batch(sql).expect("put back");
    }
    done
}

impl Alteration {
    /// Makes the change. False where the value is not another one, or what cannot be dropped forbids it (a key, NOT NULL).
    pub fn apply(&self, db: &Connection) -> bool {
        disarmed(db, || self.write(db))
    }

    fn write(&self, db: &Connection) -> bool {
        let Some(value) = &self.value else {
            return db.execute(&format!("DELETE FROM {} WHERE rowid = ?1", self.table), [self.row]).expect("deleted") == 1;
        };
        let (table, column) = (&self.table, &self.column);
        let set = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2");
        if db.execute(&set, params![value, self.row]).is_ok() {
            return true;
        }
        // Another row has the value already: the two change places.
        let other = format!("SELECT rowid FROM {table} WHERE {column} = ?1");
        let Ok(other) = db.query_row(&other, [value], |row| row.get::<_, i64>(0)) else { return false };
        let parked = db.execute(&format!("UPDATE {table} SET {column} = 'parked' WHERE rowid = ?1"), [other]).is_ok();
        parked && db.execute(&set, params![value, self.row]).is_ok() && db.execute(&set, params![self.from, other]).is_ok()
    }
}

fn rows(db: &Connection, table: &str, column: &str) -> Vec<(i64, Value)> {
    let mut statement = db.prepare(&format!("SELECT rowid, {column} FROM {table} ORDER BY 1")).expect("a query");
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows").collect::<Result<_, _>>().expect("values")
}

/// Every change of every row of one column: wrong values of the same type, another row's, nothing.
pub fn alterations(db: &Connection, table: &str, column: &str) -> Vec<Alteration> {
    let rows = rows(db, table, column);
    let words = words_of_check(db, table, column);
    let mut found = Vec::new();
    for (index, (row, from)) in rows.iter().enumerate() {
        let mut values = others_of(from);
        values.extend(words.iter().map(|word| Value::Text(word.clone())));
        values.extend(rows.get((index + 1) % rows.len()).map(|(_, value)| value.clone()));
        values.push(Value::Null);
        values.retain(|value| value != from);
        let mut different: Vec<Value> = Vec::new();
        for value in values {
            if !different.contains(&value) {
                different.push(value);
            }
        }
        found.extend(different.into_iter().map(|value| Alteration {
            table: table.to_owned(),
            column: column.to_owned(),
            row: *row,
            value: Some(value),
            from: from.clone(),
        }));
    }
    found
}

/// Each row deleted.
pub fn deletions(db: &Connection, table: &str) -> Vec<Alteration> {
    let mut statement = db.prepare(&format!("SELECT rowid FROM {table} ORDER BY 1")).expect("a query");
    let ids: Vec<i64> = statement.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("ids");
    ids.into_iter().map(|row| Alteration { table: table.to_owned(), column: String::new(), row, value: None, from: Value::Null }).collect()
}

/// The far end of what a time may be.
const FAR_FUTURE_MS: i64 = 4_102_444_800_000;

fn others_of(from: &Value) -> Vec<Value> {
    match from {
        Value::Null => vec![Value::Integer(0), Value::Integer(FAR_FUTURE_MS), Value::Text(Digest::of(b"another").to_string())],
        Value::Integer(number) => [number + 1, number - 1, 0, 1, FAR_FUTURE_MS].map(Value::Integer).into(),
        Value::Real(number) => vec![Value::Real(number + 1.0)],
        Value::Text(text) => texts_beside(text).into_iter().map(Value::Text).collect(),
        Value::Blob(bytes) => {
            let mut flipped = bytes.clone();
            if let Some(first) = flipped.first_mut() {
                *first ^= 1;
            }
            vec![Value::Blob(flipped), Value::Blob(vec![0; bytes.len()]), Value::Blob(Vec::new())]
        }
    }
}

/// Texts of the same kind: a digest, an id with another last character, a document with another number in it.
fn texts_beside(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    if text.parse::<Digest>().is_ok() {
        found.push(Digest::of(b"another").to_string());
        return found;
    }
    if let Some(last) = text.chars().next_back() {
        let other = if last == '0' { '1' } else { '0' };
        found.push(format!("{}{other}", &text[..text.len() - last.len_utf8()]));
    }
    for (from, to) in [("1500", "9500"), ("billing", "support"), ("\"approve\"", "\"deny\""), ("Bea", "Eve")] {
        if text.contains(from) {
            found.push(text.replacen(from, to, 1));
        }
    }
    found
}

/// The words that a column's CHECK allows, where it is a list of words.
fn words_of_check(db: &Connection, table: &str, column: &str) -> Vec<String> {
    let sql: String = db
        .query_row("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1", [table], |row| row.get(0))
        .expect("a table of the schema");
    let Some((_, rest)) = sql.split_once(&format!("CHECK ({column} IN")) else { return Vec::new() };
    let list = rest.split("))").next().unwrap_or_default();
    list.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}
