//! `table check`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use vidimus_core::table::{Table, TableFault};

use super::Outcome;
use crate::limits::TABLE_BYTES_MAX;

/// Why a table file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TableFileError {
    /// The file is not there, or not text.
    #[error("`{path}` cannot be read; give the path of an effect table in TOML")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("`{path}` has more than {TABLE_BYTES_MAX} bytes; an effect table is smaller")]
    TooLarge {
        /// The file.
        path: String,
    },
}

/// The text of a table file.
///
/// *Errors*: `Unreadable`, `TooLarge`.
pub fn read(file: &Path) -> Result<String, TableFileError> {
    let path = file.display().to_string();
    let unreadable = |source| TableFileError::Unreadable { path: path.clone(), source };
    if fs::metadata(file).map_err(unreadable)?.len() > TABLE_BYTES_MAX {
        return Err(TableFileError::TooLarge { path });
    }
    fs::read_to_string(file).map_err(unreadable)
}

/// Prints faults as `FILE:LINE: KEY: WORDS [RULE]`, which editors and continuous integration read.
///
/// *Errors*: those of standard error.
pub fn print(file: &Path, kind: &str, faults: &[TableFault]) -> std::io::Result<()> {
    let mut stderr = std::io::stderr().lock();
    for TableFault { line, key, rule, message } in faults {
        writeln!(stderr, "{}:{line}: {kind}: {key}: {message} [{rule}]", file.display())?;
    }
    Ok(())
}

pub(super) fn check(file: &Path) -> Outcome {
    let text = read(file)?;
    match Table::parse(&text) {
        Ok(table) => {
            print(file, "warning", table.warnings())?;
            let rows = table.rows().count();
            super::say(&format!("{}: {rows} rows, {} warnings, table_sha256 {}", file.display(), table.warnings().len(), table.digest()))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(faults) => {
            print(file, "fault", &faults)?;
            let mut stderr = std::io::stderr().lock();
            writeln!(stderr, "{}: {} faults; the table does not load", file.display(), faults.len())?;
            Ok(ExitCode::FAILURE)
        }
    }
}
