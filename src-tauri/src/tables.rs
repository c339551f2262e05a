//! Effect tables that were parsed, by the digest that the log gives them.

use std::sync::{Arc, Mutex, PoisonError};

use vidimus_core::bytes::Digest;
use vidimus_core::ids::Name;
use vidimus_core::table::{Row, Table};

use crate::mirror::{Mirror, MirrorFault};

/// The newest table. Older ones are parsed when they are asked for.
#[derive(Default)]
pub struct Tables {
    newest: Mutex<Option<(String, Arc<Table>)>>,
}

impl Tables {
    /// The row that a request was frozen on: from the reader's own copy of the signed table. Nothing when
    /// the table of that digest does not hold it.
    pub fn row(&self, mirror: &Mirror, table_sha256: &Digest, tool: &Name, row_sha256: &Digest) -> Result<Option<Row>, MirrorFault> {
        let Some(table) = self.table(mirror, &table_sha256.to_string())? else { return Ok(None) };
        Ok(table.row(tool).filter(|row| row.digest() == *row_sha256).cloned())
    }

    /// The row of a tool in the table in force: for what nobody approved, and no request was frozen on.
    pub fn newest_row(&self, mirror: &Mirror, tool: &Name) -> Result<Option<Row>, MirrorFault> {
        let Some((digest, _)) = mirror.effect_table()? else { return Ok(None) };
        Ok(self.table(mirror, &digest)?.and_then(|table| table.row(tool).cloned()))
    }

    fn table(&self, mirror: &Mirror, digest: &str) -> Result<Option<Arc<Table>>, MirrorFault> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, table)) = newest.as_ref()
            && known == digest
        {
            return Ok(Some(Arc::clone(table)));
        }
        let Some(text) = mirror.effect_table_of(digest)? else { return Ok(None) };
        // The text is believed because its own digest is the signed one.
        let Some(table) = Table::parse(&text).ok().filter(|table| table.digest().to_string() == digest) else { return Ok(None) };
        let table = Arc::new(table);
        *newest = Some((digest.to_owned(), Arc::clone(&table)));
        Ok(Some(table))
    }
}
