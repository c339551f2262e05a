//! Requests that wait too long are passed on: a record that the next role may read, and from then on its holders decide too.

use rusqlite::params;
use vidimus_core::ids::Name;
use vidimus_core::json::Json;
use vidimus_core::page::PageReason;
use vidimus_core::record::RecordType;

use crate::codec::{optional_text, text};
use crate::each::{self, Swept};
use crate::error::StoreError;
use crate::log::to_i64;
use crate::pages::{self, Matter};
use crate::rows::StoredRequest;
use crate::tx::{Entry, Tx};

/// Requests that have waited as long as their rows say.
pub(crate) const TO_ESCALATE: &str = "SELECT request FROM requests WHERE escalate_at <= ?1 AND state = 'pending' LIMIT ?2";

/// Passes on what has waited too long, once each.
pub(crate) fn pass_on(tx: &mut Tx<'_>, swept: &mut Swept) -> Result<(), StoreError> {
    let late = each::keys(tx.db, TO_ESCALATE, tx.now.as_ms())?;
    let gate = tx.gate()?;
    swept.each(tx, "request", &late, |tx, key| {
        let stored = each::request(tx, key)?;
        // The column only finds the request; the signed row says when.
        let members = stored.frozen.members();
        let row = gate.table.row(&members.tool).filter(|row| row.digest() == members.row_sha256);
        let due = row.and_then(|row| row.escalate_after_s).map(|after_s| members.created_at.plus_s(after_s));
        let known = tx.log().decisions(&stored.request)?.escalated;
        let position = if due.is_some_and(|due| due <= tx.now) && !known { Some(stage(tx, &stored)?) } else { None };
        tx.execute_one(
            "UPDATE requests SET escalate_at = NULL, escalated_position = coalesce(?1, escalated_position) WHERE request = ?2",
            params![position.map(to_i64).transpose()?, key],
        )?;
        Ok(usize::from(position.is_some()))
    })
}

/// Holds what the next role needs in order to see the request: its consoles have had nothing of it so far.
fn stage(tx: &mut Tx<'_>, stored: &StoredRequest) -> Result<u64, StoreError> {
    let members = stored.frozen.members();
    let says: Option<String> = tx.find("SELECT says FROM calls WHERE call = ?1", [members.call.to_string()], |row| row.get(0))?.flatten();
    let claims = Json::object([
        ("call", text(members.call)),
        ("tool", text(&members.tool)),
        ("agent", optional_text(members.agents.first().map(|link| &link.agent))),
        ("request_sha256", stored.frozen.request_sha256().into()),
        ("row_sha256", members.row_sha256.into()),
        ("expires_at", text(stored.waits_until)),
    ]);
    let frozen = String::from_utf8(stored.frozen.bytes().to_vec()).map_err(|_| StoreError::corrupt("a frozen request that is not text"))?;
    let body = Json::object([("frozen", frozen.into()), ("says", says.into())]);
    let matter = matter(stored);
    pages::raise(tx, PageReason::RequestEscalated, &matter)?;
    tx.stage(Entry::new(RecordType::RequestEscalated, claims).of_request(stored.request).readable_by(matter.roles).with_body(body))
}

/// Whom a request is passed on to. A row that names nobody reminds those who let it wait.
pub(crate) fn matter(stored: &StoredRequest) -> Matter {
    let members = stored.frozen.members();
    let mut roles: Vec<Name> = members.needs.iter().filter_map(|need| need.escalate_to.clone()).collect();
    if roles.is_empty() {
        roles = stored.roles();
    }
    roles.sort();
    roles.dedup();
    Matter { request: Some(members.request), operation: None, tool: Some(members.tool.clone()), roles }
}
