//! What keeps approving, or deciding at all, from being possible now; each in words.

use crate::console::{Console, GateState, KeyState, Standing};
use crate::errors::Told;
use crate::limits::ARM_MS;
use crate::review::acts;
use crate::review::card::Card;
use crate::review::decide::UNCONFIRMED;
use crate::review::{GateSays, Panel, Review};
use crate::review::{permission, sections};
use crate::strings;
use crate::text::time;

use vidimus_core::ids::Reversibility;

/// The locks on one request at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locks {
    /// Nothing on this page opens these.
    pub hard: Vec<String>,
    /// These open by reading, waiting or answering.
    pub soft: Vec<String>,
    /// What keeps even denying from being possible.
    pub deny: Vec<String>,
    /// The request is no longer waiting.
    pub ended: bool,
}

impl Locks {
    pub fn can_approve(&self) -> bool {
        self.hard.is_empty() && self.soft.is_empty() && !self.ended
    }

    pub fn can_deny(&self) -> bool {
        self.deny.is_empty() && !self.ended
    }
}

/// Looks at everything that approving and denying depend on.
pub fn of(console: &Console, review: &Review, now_ms: i64) -> Locks {
    let mut locks = Locks::default();
    let mut deny: Vec<Told> = Vec::new();
    let mut hard: Vec<Told> = Vec::new();
    let listed = &review.card.listed;
    let state = console.read(|mirror| mirror.request(&listed.request)).flatten();
    let (state, waits_until_ms) = state.map_or(("gone".to_owned(), 0), |row| (row.state, row.waits_until_ms));
    locks.ended = state != "pending" || now_ms >= waits_until_ms;
    if state != "pending" {
        deny.push(Told::new(strings::ended_id(&state), ended(console, &listed.request, &state)));
    } else if now_ms >= waits_until_ms {
        deny.push(Told::new("E-EXP-1", strings::expired(&time::hour_minute(waits_until_ms, &console.zone))));
    }
    deny.extend(standing_locks(console, &review.card));
    hard.extend(deny.iter().cloned());
    if let Some(told) = review.card.fault_told() {
        hard.push(told);
    }
    if let GateSays::Differs(_) = review.gate_says {
        hard.push(Told::new("E-REQ-1", strings::BYTES_DIFFER));
    }
    hard.extend(own_approval(console, review));
    hard.extend(unconfirmed(console, review, now_ms));
    hard.extend(orphaned(console, review));
    hard.extend(log_locks(console));
    if review.wrong_answers >= crate::limits::WRONG_ANSWERS_MAX && now_ms < review.answer_wait_until_ms {
        hard.push(Told::new("E-DEC-6", strings::answers_paused(&time::left(review.answer_wait_until_ms, now_ms))));
    }
    hard.dedup();
    locks.hard = hard.iter().map(Told::line).collect();
    locks.deny = deny.iter().map(Told::line).collect();
    locks.soft = soft(review, now_ms);
    locks
}

/// How it ended, by whom and when, as far as the log tells.
pub fn ended(console: &Console, request: &str, state: &str) -> String {
    let decisions = console.read(|mirror| mirror.decisions(request)).unwrap_or_default();
    let decided = |kind: &str| {
        let found = decisions.iter().rfind(|found| found.decision == kind)?;
        let name = found.approver.parse().map_or_else(|_| found.approver.clone(), |id| sections::person_name(console, &id));
        Some((name, time::hour_minute(found.at_ms, &console.zone)))
    };
    let words = match state {
        "approved" => decided("approve").map(|(name, at)| strings::approved_already(&name, &at)),
        "consumed" => decided("approve").map(|(name, at)| strings::sent_after(&strings::approved_already(&name, &at))),
        "denied" => decided("deny").map(|(name, at)| strings::denied_by(&name, &at)),
        "revoked" => decided("revoke").map(|(name, at)| strings::revoked_by(&name, &at)),
        "withdrawn" => {
            let ended_at_ms = console.read(|mirror| mirror.request(request)).flatten().and_then(|listed| listed.ended_at_ms);
            ended_at_ms.map(|at_ms| strings::withdrawn_at(&time::hour_minute(at_ms, &console.zone)))
        }
        _ => None,
    };
    words.unwrap_or_else(|| strings::ended(state).to_owned())
}

/// The connection, the key, and whether this person may decide.
pub fn standing_locks(console: &Console, card: &Card) -> Vec<Told> {
    let mut found = connection_locks(console);
    if let Some(standing) = console.standing()
        && let Err(told) = card.role_of(&standing)
    {
        found.push(with_who_can(told, card, &standing, &[]));
    }
    found
}

/// The same with the names of those who may decide instead: nobody is left to guess whom to ask.
fn with_who_can(told: Told, card: &Card, standing: &Standing, given: &[String]) -> Told {
    let Some(frozen) = &card.frozen else { return told };
    let names = permission::who_can(frozen, card.listed.escalated, standing, given);
    Told::new(told.id, format!("{} {}", told.text, strings::who_can(&names)))
}

/// The connection and the key.
pub fn connection_locks(console: &Console) -> Vec<Told> {
    let mut found = Vec::new();
    let shared = console.shared();
    match &shared.gate {
        GateState::Connected => {}
        GateState::IdentityChanged => found.push(Told::new("E-NET-4", strings::IDENTITY_CHANGED)),
        GateState::Refused(told) => found.push(told.clone()),
        GateState::None | GateState::Connecting | GateState::Offline => {
            let since = time::hour_minute(shared.gate_since_ms, &console.zone);
            found.push(Told::new("E-NET-1", strings::offline_since(&since)));
        }
    }
    match &shared.key {
        KeyState::Active => {}
        KeyState::None => found.push(Told::new("E-KEY-4", strings::NOT_ENROLLED)),
        KeyState::Waiting => found.push(Told::new("E-KEY-6", strings::KEY_WAITING)),
        KeyState::Stopped => found.push(Told::new("E-KEY-5", strings::KEY_STOPPED)),
        // The gate refused with these words already.
        KeyState::Removed => {}
        KeyState::Error(told) => found.push(told.clone()),
    }
    let active = shared.key == KeyState::Active;
    drop(shared);
    if active && console.standing().is_none() {
        found.push(Told::new("E-KEY-5", strings::KEY_NOT_IN_ROSTER));
    }
    found
}

/// Who gave an approval does not give the next.
fn own_approval(console: &Console, review: &Review) -> Option<Told> {
    let decisions = console.read(|mirror| mirror.decisions(&review.card.listed.request))?;
    if !acts::stands(console, &decisions) {
        return None;
    }
    let told = Told::new("E-DEC-4", strings::OWN_APPROVAL);
    let given: Vec<String> =
        decisions.iter().filter(|decision| decision.decision == "approve").map(|decision| decision.approver.clone()).collect();
    Some(match console.standing() {
        Some(standing) => with_who_can(told, &review.card, &standing, &given),
        None => told,
    })
}

/// A decision that may still arrive is not given again.
fn unconfirmed(console: &Console, review: &Review, now_ms: i64) -> Option<Told> {
    let waits = review.unconfirmed_until_ms.is_some_and(|until_ms| now_ms < until_ms) && !on_record(console, review);
    waits.then(|| Told::new(UNCONFIRMED, strings::NOT_CONFIRMED))
}

/// Whether a decision of this person stands in the log.
fn on_record(console: &Console, review: &Review) -> bool {
    let decisions = console.read(|mirror| mirror.decisions(&review.card.listed.request)).unwrap_or_default();
    acts::stands(console, &decisions)
}

/// What was sent can arrive no more, and the log holds nothing of it.
pub fn undelivered(console: &Console, review: &Review, now_ms: i64) -> Option<Told> {
    let over = review.unconfirmed_until_ms.is_some_and(|until_ms| now_ms >= until_ms) && console.shared().level;
    (over && !on_record(console, review)).then(|| Told::new("E-NET-3", strings::NOT_DELIVERED))
}

/// Nobody would be told of what it does.
fn orphaned(console: &Console, review: &Review) -> Option<Told> {
    let listed = console.read(|mirror| mirror.request(&review.card.listed.request)).flatten()?;
    let waits = listed.state == "pending" && listed.orphaned_at_ms.is_some();
    waits.then(|| Told::new("E-REQ-12", strings::orphaned(&time::hour_minute(listed.waits_until_ms, &console.zone))))
}

pub fn log_locks(console: &Console) -> Vec<Told> {
    let mut found = Vec::new();
    if let Some((position, _)) = console.mirror().as_ref().and_then(|mirror| mirror.broken().map(|(at, what)| (at, what.to_owned()))) {
        found.push(Told::new("E-AUD-1", strings::log_broken(position)));
    }
    if console.mirror().as_ref().is_some_and(|mirror| mirror.alarm().is_some()) {
        found.push(Told::new("E-NET-4", strings::HEAD_UNSIGNED));
    }
    found.extend(console.shared().mirror_fault.clone());
    let pinned = console.membership().and_then(|membership| membership.roster_sha256);
    if let Some(pinned) = pinned
        && console.read(|mirror| mirror.has_roster(&pinned)) == Some(false)
    {
        found.push(Told::new("E-NET-4", strings::ROSTER_NOT_PINNED));
    }
    found
}

fn soft(review: &Review, now_ms: i64) -> Vec<String> {
    let mut found = Vec::new();
    let unseen = review.unseen();
    if !unseen.is_empty() {
        found.push(strings::unseen(unseen.len(), review.parts.count(), review.parts.pages(), &pages_of(&unseen)));
    }
    let arm_ms = i64::try_from(ARM_MS).unwrap_or(0);
    match review.focused_since_ms {
        None => found.push(strings::NOT_FOCUSED.to_owned()),
        Some(since) if now_ms - since < arm_ms => found.push(strings::ARMING.to_owned()),
        Some(_) if now_ms - review.panel_since_ms < arm_ms => found.push(strings::ARMING.to_owned()),
        Some(_) => {}
    }
    if review.panel == Panel::Approve && review.card.friction() == Reversibility::Irreversible {
        if now_ms < review.answer_wait_until_ms {
            found.push(strings::answer_wait(&time::left(review.answer_wait_until_ms, now_ms)));
        } else if review.question.as_ref().is_none_or(|asked| !asked.answered) {
            found.push(strings::ANSWER_FIRST.to_owned());
        }
    }
    found
}

pub fn pages_of(unseen: &[(usize, usize)]) -> Vec<usize> {
    let mut pages: Vec<usize> = unseen.iter().map(|(_, page)| *page).collect();
    pages.dedup();
    pages
}
