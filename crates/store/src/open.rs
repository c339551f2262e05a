//! Opens the database: one process, known settings, known schema. Anything else is refused.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{FlockOperation, flock};

use crate::error::OpenError;
use crate::limits::{BUSY_TIMEOUT_MS, LOG_FILE_PAGES, READER_CACHE_KIB, STATEMENTS_MAX, WRITER_CACHE_KIB};
use crate::{migrations, soundness};

/// "VIDI": marks a file as a gate's database.
pub(crate) const APPLICATION_ID: i64 = 0x5649_4449;

/// The settings that must hold, as SQLite spells them. WAL with FULL makes a commit durable when it returns.
const PRAGMAS: &[(&str, &str)] = &[
    ("journal_mode", "wal"),
    // Fixed when a file is made. Texts would be compared in another order in another one.
    ("encoding", "UTF-8"),
    ("synchronous", "2"),
    ("foreign_keys", "1"),
    ("trusted_schema", "0"),
    ("cell_size_check", "1"),
    ("fullfsync", "1"),
    ("checkpoint_fullfsync", "1"),
    // What a savepoint may have to take back stays in memory instead of a file of its own.
    ("temp_store", "2"),
];

/// Held while the database is open; the operating system lets go of it when the process dies.
pub(crate) struct FileLock {
    _file: File,
}

pub(crate) fn lock(path: &Path) -> Result<FileLock, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let file = owner_only(&lock_path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(FileLock { _file: file }),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse(path.to_owned())),
        Err(errno) => Err(OpenError::Io { path: lock_path, source: errno.into() }),
    }
}

/// Opens a file, making it readable by its owner alone; SQLite gives its own side files the same mode.
fn owner_only(path: &Path) -> Result<File, OpenError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })
}

/// The one connection that writes, with the newest schema.
pub(crate) fn writer(path: &Path) -> Result<Connection, OpenError> {
    drop(owner_only(path)?);
    let mut db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    prepare_once(&db)?;
    refuse_foreign(&db, path)?;
    for (pragma, wanted) in PRAGMAS {
        db.pragma_update(None, pragma, wanted)?;
    }
    assert_pragmas(&db, PRAGMAS)?;
    keep_pages(&db, WRITER_CACHE_KIB)?;
    db.pragma_update(None, "wal_autocheckpoint", LOG_FILE_PAGES)?;
    migrations::migrate(&mut db)?;
    soundness::drop_statistics(&db)?;
    Ok(db)
}

/// Bounds the pages that a connection keeps; to SQLite a negative size is one in KiB.
fn keep_pages(db: &Connection, kib: i64) -> Result<(), OpenError> {
    Ok(db.pragma_update(None, "cache_size", -kib)?)
}

/// A connection that cannot write.
pub(crate) fn reader(path: &Path) -> Result<Connection, OpenError> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    prepare_once(&db)?;
    db.pragma_update(None, "query_only", "1")?;
    assert_pragmas(&db, &[("query_only", "1"), ("journal_mode", "wal")])?;
    keep_pages(&db, READER_CACHE_KIB)?;
    Ok(db)
}

/// Keeps statements prepared. Without the stability guarantee, SQLite prepares a statement anew at every value that it is given,
/// wherever a partial index could serve it.
fn prepare_once(db: &Connection) -> Result<(), OpenError> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The settings of a database in memory: those of a file, but for its journal, which only has to roll back.
const MEMORY_PRAGMAS: &[(&str, &str)] =
    &[("journal_mode", "memory"), ("foreign_keys", "1"), ("trusted_schema", "0"), ("cell_size_check", "1")];

/// The connection that writes to a database in memory, and one that reads it, by the name that both know it under.
pub(crate) fn in_memory(name: &str) -> Result<(Connection, Connection), OpenError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = memory_uri(name);
    let mut db = Connection::open_with_flags(&uri, flags)?;
    prepare_once(&db)?;
    for (pragma, wanted) in MEMORY_PRAGMAS {
        db.pragma_update(None, pragma, wanted)?;
    }
    assert_pragmas(&db, MEMORY_PRAGMAS)?;
    migrations::migrate(&mut db)?;
    let reader = Connection::open_with_flags(&uri, flags)?;
    prepare_once(&reader)?;
    reader.pragma_update(None, "query_only", "1")?;
    Ok((db, reader))
}

/// A database in memory that the connections of this process share.
pub(crate) fn memory_uri(name: &str) -> String {
    format!("file:/{name}?vfs=memdb")
}

/// A file that already holds something must say that it is ours before anything in it is changed.
fn refuse_foreign(db: &Connection, path: &Path) -> Result<(), OpenError> {
    let tables: Result<i64, rusqlite::Error> = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
    let tables = match tables {
        Ok(tables) => tables,
        Err(rusqlite::Error::SqliteFailure(failure, _)) if failure.code == rusqlite::ErrorCode::NotADatabase => {
            return Err(OpenError::Foreign(path.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let application_id: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    match (tables, application_id) {
        (_, APPLICATION_ID) | (0, 0) => Ok(()),
        (_, _) => Err(OpenError::Foreign(path.to_owned())),
    }
}

/// Reads every setting back: some are ignored in silence, such as WAL on a network disk.
fn assert_pragmas(db: &Connection, wanted: &[(&'static str, &'static str)]) -> Result<(), OpenError> {
    for (pragma, wanted) in wanted.iter().copied() {
        let found = db.pragma_query_value(None, pragma, |row| {
            Ok(match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            })
        })?;
        if found != wanted {
            return Err(OpenError::PragmaNotInForce { pragma, found, wanted });
        }
    }
    Ok(())
}
