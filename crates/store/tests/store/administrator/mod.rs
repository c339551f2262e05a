//! The administrator's sweep: somebody who owns the disk, and no key, alters one value of the database, whichever it is, at
//! the moment when most hangs on it, and starts the gate again.
//!
//! No second payment, nothing paid that was not approved; and the change is refused at the start, or stands in [`COLUMNS`]
//! with the reason why it does no harm. The schema is read: a column without an expectation fails.

mod altered;
mod expected;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use vidimus_store::OpenError;

use altered::{Alteration, alterations, deletions, open_as_administrator};
use expected::{COLUMNS, DELETED, Expected};
use world::{Found, World};

/// How often one column is altered; all its rows and values where time was given.
fn alterations_max() -> usize {
    if std::env::var_os("VIDIMUS_LONG").is_some() { usize::MAX } else { 2 }
}

/// Every column of every table, and every table, as the schema has them.
fn schema(db: &Connection) -> BTreeMap<String, Vec<String>> {
    let list = |sql: &str| -> Vec<String> {
        let mut statement = db.prepare(sql).expect(sql);
        statement.query_map([], |row| row.get(0)).expect(sql).collect::<Result<_, _>>().expect(sql)
    };
    let tables = list("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    tables.into_iter().map(|table| (table.clone(), list(&format!("SELECT name FROM pragma_table_info('{table}')")))).collect()
}

fn expectation(column: &str) -> Option<Expected> {
    COLUMNS.iter().chain(DELETED).find(|(known, _)| *known == column).map(|(_, expected)| *expected)
}

#[tokio::test]
async fn every_column_has_an_expectation_and_every_expectation_a_column() {
    let world = World::begin().await;
    let db = open_as_administrator(&world.database);
    let schema = schema(&db);
    let columns: BTreeSet<String> =
        schema.iter().flat_map(|(table, columns)| columns.iter().map(move |column| format!("{table}.{column}"))).collect();
    let known: BTreeSet<String> = COLUMNS.iter().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(columns.symmetric_difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    let tables: BTreeSet<String> = schema.keys().cloned().collect();
    let known: BTreeSet<String> = DELETED.iter().map(|(table, _)| (*table).to_owned()).collect();
    assert_eq!(tables.symmetric_difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    for (table, _) in schema {
        let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a count");
        assert!(rows > 0, "`{table}` has no row to alter: let something happen in the world that makes one");
    }
}

/// The world as nobody altered it: what the sweep's counts are compared with.
#[tokio::test]
async fn an_untouched_world_goes_on_to_exactly_what_was_approved() {
    let world = World::begin().await;
    let gate = world.gate.on_copy(&world.database, |_| {}).expect("it opens");
    let found = world.go_on(&gate).await;
    let exactly = world.stories.iter().map(|story| (story.name, story.paid)).collect();
    assert_eq!(found, Found::Served { faults: Vec::new(), paid: exactly });
}

async fn sweep(part: usize, parts: usize) {
    let world = World::begin().await;
    let db = open_as_administrator(&world.database);
    let mut faults = Vec::new();
    let mut tried = 0;
    let of_columns = schema(&db).into_iter().flat_map(|(table, columns)| {
        let deleted = (table.clone(), None);
        columns.into_iter().map(move |column| (table.clone(), Some(column))).chain([deleted])
    });
    for (table, column) in of_columns.skip(part).step_by(parts) {
        let (name, all) = match column {
            Some(column) => (format!("{table}.{column}"), alterations(&db, &table, &column)),
            None => (table.clone(), deletions(&db, &table)),
        };
        let expected = expectation(&name).unwrap_or_else(|| panic!("no expectation of {name}"));
        let step = all.len().div_ceil(alterations_max()).max(1);
        for alteration in all.iter().step_by(step) {
            tried += 1;
            faults.extend(try_one(&world, alteration, expected).await);
        }
    }
    println!("{tried} alterations");
    assert!(tried > 0);
    assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults.join("\n"));
}

/// Alters a copy, starts a gate on it, and says what is wrong with what came of it.
async fn try_one(world: &World, alteration: &Alteration, expected: Expected) -> Vec<String> {
    let mut took = false;
    let opened = world.gate.on_copy(&world.database, |db| took = alteration.apply(db));
    if !took {
        // The schema itself does not take the value.
        return Vec::new();
    }
    let found = match opened {
        Ok(gate) => world.go_on(&gate).await,
        Err(OpenError::Io { .. } | OpenError::InUse(_)) => panic!("the sweep's own folder fails"),
        Err(error) => Found::Refused(error.to_string()),
    };
    match (expected, found) {
        (Expected::Refused | Expected::Harmless(_), Found::Refused(_)) => Vec::new(),
        (Expected::Harmless(_), Found::Served { faults, .. }) => faults.into_iter().map(|fault| format!("{alteration}: {fault}")).collect(),
        (Expected::Refused, Found::Served { faults, .. }) => vec![format!("{alteration}: a gate serves from it; {faults:?}")],
    }
}

#[tokio::test]
async fn no_altered_value_pays_first_part() {
    sweep(0, 2).await;
}

#[tokio::test]
async fn no_altered_value_pays_second_part() {
    sweep(1, 2).await;
}
