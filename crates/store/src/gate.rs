//! The gate as the database knows it: identity, the table and the roster in force.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Row};
use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::roster::Roster;
use vidimus_core::sign::PublicKey;
use vidimus_core::table::Table;

use crate::codec::{optional_parsed, parsed};
use crate::error::StoreError;
use crate::limits::PARSED_TABLES_MAX;
use crate::roster_changes::Unfollowed;
use crate::tx::find;

/// Who the gate is. Fixed by `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateIdentity {
    /// Its id: the digest of its log key.
    pub gate: GateId,
    /// Live or test.
    pub environment: Environment,
    /// Signs checkpoints.
    pub log_key: PublicKey,
    /// Signs execution tokens.
    pub token_key: PublicKey,
    /// Signs rosters when all else is lost.
    pub recovery_key: Option<PublicKey>,
}

/// A version of the roster, as text and as its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterView {
    /// Counts from 1.
    pub version: u32,
    /// Canonical JSON.
    pub text: String,
    /// SHA-256 of the text.
    pub roster_sha256: Digest,
}

/// A version of the effect table, as text and as its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableView {
    /// TOML.
    pub toml: String,
    /// Digest of the canonical table.
    pub table_sha256: Digest,
    /// Whether an admin has signed it; before that, no call runs.
    pub signed: bool,
}

/// A roster together with its text.
#[derive(Debug, Clone)]
pub(crate) struct RosterState {
    pub(crate) roster: Roster,
    pub(crate) view: RosterView,
}

/// What a use case looks things up in.
#[derive(Debug, Clone)]
pub(crate) struct GateState {
    pub(crate) identity: GateIdentity,
    pub(crate) table: Arc<Table>,
    pub(crate) table_view: TableView,
    pub(crate) roster: Option<RosterState>,
    /// How far what rests on rosters was looked through since the one in force came; none when all of it was.
    pub(crate) unfollowed: Option<Unfollowed>,
}

impl GateState {
    /// The gate in force; none before `init`.
    pub(crate) fn load(db: &Connection) -> Result<Option<GateState>, StoreError> {
        let Some((identity, table_view)) = read_gate(db)? else { return Ok(None) };
        let table = parsed_table(&table_view.toml)?;
        // What people signed is the digest: text that does not lead to it is nobody's.
        if table.digest() != table_view.table_sha256 {
            return Err(StoreError::corrupt("effect_tables.toml"));
        }
        let roster = match read_roster(db)? {
            Some(view) if Digest::of(view.text.as_bytes()) == view.roster_sha256 => {
                Some(RosterState { roster: Roster::parse(view.text.as_bytes())?, view })
            }
            Some(_) => return Err(StoreError::corrupt("rosters.text")),
            None => None,
        };
        Ok(Some(GateState { identity, table, table_view, roster, unfollowed: None }))
    }

    /// The roster, which every use case after genesis has.
    pub(crate) fn roster(&self) -> Result<&RosterState, StoreError> {
        self.roster.as_ref().ok_or(StoreError::NotInitialised)
    }
}

/// The gate in force, as this process read it at its start, or brought it into force since.
///
/// The database is asked once, before anybody can be served: what is written into its row of the gate while this process
/// runs changes nothing that it does, and contradicts the log at the next start.
#[derive(Clone, Default)]
pub(crate) struct GateInForce(Arc<Mutex<Option<Arc<GateState>>>>);

impl GateInForce {
    /// The gate in force; none before `init`.
    pub(crate) fn gate(&self, db: &Connection) -> Result<Option<Arc<GateState>>, StoreError> {
        let mut known = self.lock();
        if known.is_none() {
            *known = GateState::load(db)?.map(Arc::new);
        }
        Ok(known.clone())
    }

    /// The same where it is known already.
    pub(crate) fn known(&self) -> Option<Arc<GateState>> {
        self.lock().clone()
    }

    /// To be called when a change of the gate is durable.
    pub(crate) fn follow(&self, gate: &Arc<GateState>) {
        *self.lock() = Some(Arc::clone(gate));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<GateState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The texts that were parsed last in this process, and what they led to: nothing but the text decides that, and reading it
/// takes longer than all the rest of a use case.
static PARSED: Mutex<VecDeque<(String, Arc<Table>)>> = Mutex::new(VecDeque::new());

pub(crate) fn parsed_table(toml: &str) -> Result<Arc<Table>, StoreError> {
    let known = |parsed: &VecDeque<(String, Arc<Table>)>| parsed.iter().find(|(text, _)| text == toml).map(|(_, table)| Arc::clone(table));
    if let Some(table) = known(&PARSED.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(table);
    }
    let table = Arc::new(Table::parse(toml).map_err(|_| StoreError::corrupt("effect_tables.toml"))?);
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    parsed.push_front((toml.to_owned(), Arc::clone(&table)));
    parsed.truncate(PARSED_TABLES_MAX);
    Ok(table)
}

fn read_gate(db: &Connection) -> Result<Option<(GateIdentity, TableView)>, StoreError> {
    find(db, "SELECT gate.*, toml FROM gate JOIN effect_tables USING (table_sha256)", [], |row| {
        let identity = identity(row)?;
        let table = TableView { toml: row.get("toml")?, table_sha256: parsed(row, "table_sha256")?, signed: row.get("table_signed")? };
        Ok((identity, table))
    })
}

fn read_roster(db: &Connection) -> Result<Option<RosterView>, StoreError> {
    find(db, "SELECT version, text, roster_sha256 FROM rosters JOIN gate ON roster_version = version", [], |row| {
        Ok(RosterView { version: row.get("version")?, text: row.get("text")?, roster_sha256: parsed(row, "roster_sha256")? })
    })
}

fn identity(row: &Row<'_>) -> rusqlite::Result<GateIdentity> {
    Ok(GateIdentity {
        gate: parsed(row, "gate")?,
        environment: parsed(row, "environment")?,
        log_key: parsed(row, "log_key")?,
        token_key: parsed(row, "token_key")?,
        recovery_key: optional_parsed(row, "recovery_key")?,
    })
}
