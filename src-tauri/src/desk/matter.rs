//! An operation in doubt, with what was sent, who may answer, and how far the answers reach.

use std::sync::Arc;

use vidimus_core::ids::Name;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::reconciliation::{Answer, Subject, tally};
use vidimus_core::table::Idempotency;

use crate::console::{Console, Standing};
use crate::errors::Told;
use crate::mirror::{AnswerRow, OutcomeRow, RequestRow};
use crate::review::card::Card;
use crate::strings;

/// An operation with the request behind it.
pub struct Matter {
    pub row: OutcomeRow,
    pub card: Arc<Card>,
    pub answers: Vec<AnswerRow>,
    /// The role that owns the system behind a write; none where a request was approved.
    pub owner: Option<Name>,
}

impl Matter {
    /// What the operation was made for. Which agents sent a write is the gate's to know.
    fn subject(&self) -> Option<Subject<'_>> {
        match (&self.card.frozen, &self.owner) {
            (Some(frozen), _) => Some(Subject::Request { frozen, escalated: self.card.listed.escalated }),
            (None, Some(owner)) => Some(Subject::Write { owner, agents: &[] }),
            (None, None) => None,
        }
    }

    /// The role in which the person here answers, or why they cannot.
    pub fn role_of(&self, standing: &Standing) -> Result<Name, Told> {
        if let Some(role) = self.card.answering_role_of(standing)? {
            return Ok(role);
        }
        let owner = self.owner.as_ref().ok_or_else(|| Told::new("E-REQ-2", strings::BYTES_MISSING))?;
        if standing.person.roles.contains(owner) {
            return Ok(owner.clone());
        }
        let held: Vec<&str> = standing.person.roles.iter().map(Name::as_str).collect();
        Err(Told::new("E-DEC-2", strings::role_missing(owner.as_str(), &held.join(", "))))
    }

    /// How many persons have to say the same, and the roles they hold.
    pub(super) fn needs(&self) -> (u32, String) {
        let needs = self.subject().map(|subject| subject.needs()).unwrap_or_default();
        let roles: Vec<&str> = needs.iter().map(|need| need.role.as_str()).collect();
        (needs.iter().map(|need| need.quorum).sum(), roles.join(", "))
    }

    /// How far the newest answer reaches, by the rule that the gate asks.
    pub fn tally(&self, console: &Console) -> Option<vidimus_core::reconciliation::Tally> {
        let roster = console.read(crate::mirror::Mirror::roster).flatten()?;
        let given: Vec<_> = self.answers.iter().map(|row| row.given.clone()).collect();
        Some(tally(&self.subject()?, &given, &roster))
    }

    /// Whether the person here may answer, or why not.
    pub fn eligible(&self, console: &Console) -> Result<(), Told> {
        match console.standing() {
            Some(standing) => self.role_of(&standing).map(|_| ()),
            None => Err(Told::new("E-KEY-6", strings::KEY_WAITING)),
        }
    }

    /// Whether the provider can be asked by the rule of the tool.
    pub fn is_askable(&self) -> bool {
        let row = self.card.row.as_ref();
        row.is_some_and(|row| matches!(row.idempotency, Idempotency::Status(_)))
            && matches!(self.row.state.as_str(), "unknown" | "needs_reconciliation")
    }

    /// The newest answer of the person here that is no note.
    pub fn own_answer(&self, console: &Console) -> Option<Answer> {
        let me = console.standing()?.person.person;
        self.answers.iter().rfind(|row| row.given.approver == me && row.given.answer != Answer::Note).map(|row| row.given.answer)
    }
}

/// Reads one operation; nothing where the log holds none, or it is another role's.
pub fn matter(console: &Console, operation: &str) -> Option<Matter> {
    let row = console.read(|mirror| mirror.outcome(operation)).flatten()?;
    of_row(console, row)
}

pub(super) fn of_row(console: &Console, row: OutcomeRow) -> Option<Matter> {
    let card = card_of(console, &row)?;
    let answers = console.read(|mirror| mirror.answers(&row.operation)).unwrap_or_default();
    let owner = if row.request.is_none() { row.roles.first().and_then(|role| Name::parse(role).ok()) } else { None };
    Some(Matter { row, card: Arc::new(card), answers, owner })
}

fn card_of(console: &Console, row: &OutcomeRow) -> Option<Card> {
    let Some(request) = row.request.as_deref() else { return write_card(console, row) };
    let card = console.read(|mirror| Card::read(mirror, &console.tables, request)).flatten()?;
    // Another role's request: its arguments are not for this person.
    (card.frozen.is_some() || card.listed.body_fault.is_some()).then_some(card)
}

/// A write's arguments stand in its own records, for those who own the system behind it.
fn write_card(console: &Console, row: &OutcomeRow) -> Option<Card> {
    let happenings = console.read(|mirror| mirror.happenings(&row.operation))?;
    let args = happenings.iter().find_map(|happening| match happening.body.as_ref()?.member("args")? {
        Json::String(text) => parse(text.as_bytes(), &Limits::FROZEN).ok(),
        Json::Null => None,
        other => Some(other.clone()),
    })?;
    let listed = RequestRow {
        request: row.operation.clone(),
        position: happenings.first()?.position,
        at_ms: happenings.first()?.audit.at.as_ms(),
        state: row.state.clone(),
        tool: row.tool.clone(),
        agent: row.agent.clone(),
        request_sha256: String::new(),
        roles: row.roles.clone(),
        waits_until_ms: row.since_ms,
        frozen: None,
        says: None,
        body_fault: None,
        ended_at_ms: None,
        given: 0,
        escalated: false,
        orphaned_at_ms: None,
    };
    console.read(|mirror| Card::of_write(mirror, &console.tables, listed, &args))
}

/// Everything in doubt that this person may see, the oldest first.
pub fn matters(console: &Console) -> Vec<Matter> {
    let rows = console.read(crate::mirror::Mirror::in_doubt).unwrap_or_default();
    rows.into_iter().filter_map(|row| of_row(console, row)).collect()
}
