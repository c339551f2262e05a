//! Requests that the roster in force can no longer answer: they keep waiting, since the next version may answer them, and
//! admins are told.

use std::collections::BTreeSet;

use vidimus_core::decision::may_decide;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::page::PageReason;
use vidimus_core::roster::{ADMIN, Roster};

use crate::codec::parsed;
use crate::error::StoreError;
use crate::operations::load_request;
use crate::pages::{self, Matter};
use crate::tx::Tx;

/// To be called when a version of the roster comes into force: has admins told of what waits for persons who do not exist.
pub(crate) fn tell(tx: &mut Tx<'_>, roster: &Roster) -> Result<(), StoreError> {
    let waiting: Vec<RequestId> = tx.list("SELECT request FROM requests WHERE state = 'pending'", [], |row| parsed(row, "request"))?;
    for request in &waiting {
        let stored = load_request(tx, request)?;
        let tool = Some(stored.frozen.members().tool.clone());
        let matter = Matter { request: Some(*request), operation: None, tool, roles: vec![Name::parse(ADMIN)?] };
        if answerable(&stored.frozen, roster) {
            pages::end(tx, PageReason::RequestUnanswerable, &matter)?;
        } else {
            pages::raise(tx, PageReason::RequestUnanswerable, &matter)?;
        }
    }
    Ok(())
}

/// Whether enough others can decide for each need, now or once the request is passed on.
fn answerable(frozen: &FrozenRequest, roster: &Roster) -> bool {
    frozen.members().needs.iter().all(|need| {
        let roles = std::iter::once(&need.role).chain(&need.escalate_to);
        let able: BTreeSet<_> = roles
            .flat_map(|role| roster.eligible(role).map(move |person| (role, person.person)))
            .filter(|(role, person)| may_decide(person, role, frozen, true, roster).is_ok())
            .map(|(_, person)| person)
            .collect();
        able.len() >= need.quorum as usize
    })
}
