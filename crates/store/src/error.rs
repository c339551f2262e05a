//! What can go wrong with the database itself. A broken rule of the domain is never here: it is an outcome, with its code.

use std::path::PathBuf;

use vidimus_core::code::Refusal;

/// The database could not carry out a use case; nothing of it was committed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused or failed.
    #[error("the database failed; look at its disk and at the gate's log")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored contradicts itself; nothing more is written.
    #[error("the database holds `{0}`, which this version never writes; restore a backup")]
    Corrupt(String),
    /// A document that the gate made or stored itself breaks a rule of the domain.
    #[error("a document of the gate's own is refused; report it")]
    Domain(#[source] Refusal),
    /// A commit failed earlier, so what is durable is not known any more.
    #[error("an earlier commit failed; start the gate again, it recovers by itself")]
    Failed,
    /// Somebody else wrote into the database, or into its end before this process began: nothing in it is believed any more.
    #[error(
        "ledger_disturbed: somebody else wrote into the database while the gate had it; the gate takes and tells nothing more and ends. Find out who, then start it again: it compares the database with its log"
    )]
    Disturbed,
    /// Somebody else has had the lock on the database for as long as anything waits.
    #[error(
        "ledger_held: somebody else has a transaction open on the database and has had it for 5 s, so nothing can be recorded; the gate takes nothing more and ends. End that transaction, then start the gate again"
    )]
    Held,
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
    /// Nobody has called `init` for this database.
    #[error("the gate is not initialised; run `vidimus-gate init`")]
    NotInitialised,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Database(Box::new(error))
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> StoreError {
        StoreError::Domain(refusal)
    }
}

impl StoreError {
    /// Whether one row is at fault, and not the database: it cannot be read back, or holds what the domain refuses.
    pub(crate) fn is_of_one_row(&self) -> bool {
        match self {
            StoreError::Corrupt(_) | StoreError::Domain(_) => true,
            StoreError::Database(source) => matches!(
                source.downcast_ref::<rusqlite::Error>(),
                Some(
                    rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
                        | rusqlite::Error::Utf8Error(..)
                )
            ),
            StoreError::Failed | StoreError::Disturbed | StoreError::Held | StoreError::Closed | StoreError::NotInitialised => false,
        }
    }

    /// A stored value that cannot be read back.
    pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
        StoreError::Corrupt(what.into())
    }
}

/// Why a database is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another gate holds it.
    #[error("`{}` is held by another gate; stop that one first", .0.display())]
    InUse(PathBuf),
    /// A newer version of the gate wrote it.
    #[error("the database has schema {found}, this gate knows {known}; use the newer gate")]
    SchemaNewer {
        /// The version of the schema in the file.
        found: i64,
        /// The newest version this build knows.
        known: i64,
    },
    /// A gate from before the first release wrote it.
    #[error("the database has schema {found}, from before the first release, which began with {first}; begin a new ledger")]
    SchemaOlder {
        /// The version of the schema in the file.
        found: i64,
        /// The first version that any release reads.
        first: i64,
    },
    /// The file is a database of something else.
    #[error("`{}` is not a database of this gate; name another file", .0.display())]
    Foreign(PathBuf),
    /// A setting on which durability rests is not in force.
    #[error("the database runs with `{pragma} = {found}` instead of `{wanted}`; use a local disk and an unmodified SQLite")]
    PragmaNotInForce {
        /// The setting.
        pragma: &'static str,
        /// What holds.
        found: String,
        /// What must hold.
        wanted: &'static str,
    },
    /// The file or its lock cannot be used.
    #[error("`{}` cannot be opened; look at the rights of its folder", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The database failed while it was opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// The stable name of what is wrong.
    pub const fn code(&self) -> &'static str {
        match self {
            OpenError::InUse(_) => "database_in_use",
            OpenError::SchemaNewer { .. } => "schema_newer",
            OpenError::SchemaOlder { .. } => "schema_older",
            OpenError::Foreign(_) => "database_foreign",
            OpenError::PragmaNotInForce { .. } => "pragma_not_in_force",
            OpenError::Io { .. } => "database_unreadable",
            OpenError::Store(_) => "database_failed",
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        OpenError::Store(error.into())
    }
}
