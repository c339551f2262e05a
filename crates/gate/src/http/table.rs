//! The effect table: the one in force, and what persons propose in its place.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use vidimus_api::limits::TABLE_BODY_BYTES_MAX;
use vidimus_api::log::TableAnswer;
use vidimus_api::problem::{FaceCode, Fault, Problem};
use vidimus_api::table::{ProposalNeed, TableProposal, TableProposed};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::table::TableFault;
use vidimus_store::{ProposeTable, ProposeTableOutcome, Session};

use super::approver::nothing_yet;
use super::body;
use super::rejection::Rejection;
use super::roster::refused;
use super::server::Peer;
use crate::entropy;
use crate::gate::Gate;
use crate::limits::FAULTS_MAX;

/// `GET /v1/table`.
pub async fn in_force(State(gate): State<Arc<Gate>>) -> Result<Json<TableAnswer>, Rejection> {
    let table = gate.store.table().await?.ok_or_else(nothing_yet)?;
    Ok(Json(TableAnswer { table: table.toml, table_sha256: table.table_sha256 }))
}

/// `POST /v1/table/proposals`. Nothing is in force by it: what differs waits for the people that it needs.
pub async fn propose(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<Peer>,
    Extension(session): Extension<Session>,
    body: Body,
) -> Result<(StatusCode, Json<TableProposed>), Rejection> {
    gate.refuse_while_ending()?;
    let bytes = body::read(body, TABLE_BODY_BYTES_MAX).await?;
    let TableProposal { table } = match TableProposal::parse(&bytes) {
        Ok(proposal) => proposal,
        Err(refusal) => return Err(refused(&gate, peer, "proposal", Some(session.key_sha256), refusal).await),
    };
    // Before it is read, which is the longest that a person can have done.
    if !gate.refusals_of_persons.has_room(&session.person, Instant::now()) {
        let words =
            "so many tables and decisions of this person were refused that no further table is read; wait, and check it with `table check`";
        return Err(Rejection::of_face(FaceCode::RateLimited, words));
    }
    let moment = gate.moment()?;
    let propose = ProposeTable {
        proposer: session.person,
        text: table,
        call: entropy::call_id(moment.now)?,
        request: entropy::request_id(moment.now)?,
        salt: entropy::salt()?,
    };
    match gate.store.propose_table(moment, propose).await? {
        ProposeTableOutcome::Waiting(proposed) => Ok((StatusCode::CREATED, Json(answer(proposed)))),
        ProposeTableOutcome::Faulty(faults) => {
            gate.refusals_of_persons.take(&session.person, Instant::now());
            let refusal = faulty(&faults);
            let rejection = refused(&gate, peer, "proposal", Some(session.key_sha256), refusal.clone()).await;
            // Where too many came from its address, that is the answer.
            Err(if rejection.refusal().is_some() { with_faults(&refusal, faults) } else { rejection })
        }
        ProposeTableOutcome::Refused(refusal) => Err(refused(&gate, peer, "proposal", Some(session.key_sha256), refusal).await),
    }
}

fn answer(proposed: vidimus_store::TableProposed) -> TableProposed {
    TableProposed {
        request: proposed.request,
        position: proposed.position,
        table_sha256: proposed.table_sha256,
        tools: proposed.tools.iter().map(ToString::to_string).collect(),
        agents: proposed.agents.iter().map(ToString::to_string).collect(),
        needs: proposed.needs.into_iter().map(|(role, quorum)| ProposalNeed { role: role.to_string(), quorum }).collect(),
    }
}

fn faulty(faults: &[TableFault]) -> Refusal {
    let message = format!("the table has {} faults, so that it would never load; mend what `errors` names", faults.len());
    Refusal::new(Code::TableFaulty, message).at("/table")
}

/// Every fault with its line, its key and its rule, as `table check` prints them.
fn with_faults(refusal: &Refusal, faults: Vec<TableFault>) -> Rejection {
    let errors = faults.into_iter().take(FAULTS_MAX).map(|fault| Fault {
        path: fault.key,
        message: fault.message,
        line: u64::try_from(fault.line).ok(),
        rule: Some(fault.rule.to_string()),
    });
    Rejection::of(Problem { errors: errors.collect(), ..Problem::of(refusal) })
}
