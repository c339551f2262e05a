//! Requests whose agent is gone without ever having had the call's id. Nobody would learn what an approval brought about,
//! so none is given until the same call comes again; after a while the request ends.

use std::sync::Arc;

use rusqlite::params;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;
use vidimus_core::request::{RequestInput, RequestState};

use crate::codec::parsed;
use crate::each::{self, Swept};
use crate::engine::{Engine, Rank};
use crate::error::StoreError;
use crate::limits::{ORPHAN_S, TOLD_ALONG_MS};
use crate::operations::load_request;
use crate::requests;
use crate::rows::StoredRequest;
use crate::sweeps::certain;
use crate::tx::{Attempt, Entry, Tx};
use crate::{Moment, Store};

/// Orphans whose time to come back is over.
pub(crate) const OVER_ORPHANS: &str =
    "SELECT request FROM requests WHERE orphaned_until <= ?1 AND state IN ('pending', 'approved') LIMIT ?2";

impl Store {
    /// Records that a connection which waited for this call's answer was gone before it could be written. Tells whether something
    /// changed: a call that runs, or has ended, goes its way, and so does one whose id another connection was told or waits for,
    /// however late this loss is noticed.
    pub async fn orphan_call(&self, moment: Moment, agent: Name, call: CallId) -> Result<bool, StoreError> {
        let untold = Arc::clone(&self.untold);
        self.engine
            .write(moment, Rank::Stop, move |tx| {
                if untold.leave(&call) {
                    return Ok(false);
                }
                let sql = "SELECT request FROM requests JOIN calls USING (call)
                           WHERE call = ?1 AND agent = ?2 AND told = 0 AND state IN ('pending', 'approved') AND orphaned_until IS NULL";
                let found = tx.find(sql, params![call.to_string(), agent.as_str()], |row| parsed(row, "request"))?;
                let Some(request) = found else { return Ok(false) };
                let stored = load_request(tx, &request)?;
                stage(tx, &stored, true)?;
                Ok(true)
            })
            .await
    }

    /// Notes that whoever sent this call was told its id. Every later use case of this process knows it when this returns. The
    /// database says so soon, and not at once: a gate that dies before takes the agent for gone. The other way round, noted
    /// before it is told, what nobody was told could be approved and would run.
    pub fn tell_call(&self, moment: Moment, call: CallId) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        self.untold.tell(call);
        let untold = Arc::clone(&self.untold);
        Engine::write_along(&self.engine, moment, TOLD_ALONG_MS, move |tx| {
            note_told(tx, &call)?;
            untold.noted(&call);
            Ok(())
        })
    }

    /// Records that the agent of this call has shown that it has its id. Tells whether it had been given up.
    pub async fn hear_of_call(&self, moment: Moment, agent: Name, call: CallId) -> Result<bool, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let sql = "SELECT 1 FROM calls WHERE call = ?1 AND agent = ?2";
                let own = tx.find(sql, params![call.to_string(), agent.as_str()], |_| Ok(()))?.is_some();
                if !own {
                    return Ok(false);
                }
                note_told(tx, &call)?;
                take_back(tx, &call)
            })
            .await
    }
}

/// Whether the database says that an agent was told this call's id.
pub(crate) fn is_told(tx: &Tx<'_>, call: &CallId) -> Result<bool, StoreError> {
    Ok(tx.find("SELECT 1 FROM calls WHERE call = ?1 AND told = 1", [call.to_string()], |_| Ok(()))?.is_some())
}

fn note_told(tx: &Tx<'_>, call: &CallId) -> Result<(), StoreError> {
    tx.execute("UPDATE calls SET told = 1 WHERE call = ?1 AND told = 0", [call.to_string()])?;
    Ok(())
}

/// To be called at a start: no answer of an earlier process of this gate is on its way any more, so whoever was not told by
/// it is gone.
pub(crate) fn orphan_untold(tx: &mut Tx<'_>) -> Result<usize, StoreError> {
    let sql = "SELECT request FROM requests JOIN calls USING (call)
               WHERE state IN ('pending', 'approved') AND orphaned_until IS NULL AND told = 0 AND agent IS NOT NULL ORDER BY position";
    let untold: Vec<RequestId> = tx.list(sql, [], |row| parsed(row, "request"))?;
    for request in &untold {
        let stored = load_request(tx, request)?;
        stage(tx, &stored, true)?;
    }
    Ok(untold.len())
}

/// The agent is back: what it asked for may be approved again. Tells whether it had been gone.
pub(crate) fn take_back(tx: &mut Tx<'_>, call: &CallId) -> Result<bool, StoreError> {
    let sql = "SELECT request FROM requests WHERE call = ?1 AND orphaned_until IS NOT NULL AND state IN ('pending', 'approved')";
    let Some(request) = tx.find(sql, [call.to_string()], |row| parsed(row, "request"))? else { return Ok(false) };
    let stored = load_request(tx, &request)?;
    stage(tx, &stored, false)?;
    Ok(true)
}

fn stage(tx: &mut Tx<'_>, stored: &StoredRequest, orphaned: bool) -> Result<(), StoreError> {
    let until = orphaned.then(|| tx.now.plus_s(ORPHAN_S).as_ms());
    tx.execute_one("UPDATE requests SET orphaned_until = ?1 WHERE request = ?2", params![until, stored.request.to_string()])?;
    let claims = Json::object([("orphaned", orphaned.into())]);
    tx.stage(Entry::new(RecordType::RequestOrphaned, claims).of_request(stored.request).readable_by(stored.roles()))?;
    Ok(())
}

/// Ends the requests whose agents did not come back.
pub(crate) fn end(tx: &mut Tx<'_>, swept: &mut Swept) -> Result<(), StoreError> {
    let over = each::keys(tx.db, OVER_ORPHANS, tx.now.as_ms())?;
    swept.each(tx, "request", &over, |tx, key| {
        let stored = each::request(tx, key)?;
        certain(withdraw(tx, &stored))?;
        Ok(1)
    })
}

/// What nobody has decided is withdrawn. What was approved before its agent went is stale: only what waits is withdrawn.
fn withdraw(tx: &mut Tx<'_>, stored: &StoredRequest) -> Attempt<()> {
    if stored.state == RequestState::Approved {
        return requests::make_stale(tx, stored, &Refusal::new(Code::RequestOrphaned, "the agent did not come back"));
    }
    requests::advance(tx, stored, RequestInput::Withdraw)?;
    requests::stage_end(tx, stored, RecordType::RequestWithdrawn, RequestState::Withdrawn, Code::RequestOrphaned)
}
