//! What the page of a review window is told, twice a second and after each act.

use serde::Serialize;
use vidimus_core::ids::Reversibility;

use crate::console::{Console, GateState, KeyState};
use crate::desktops;
use crate::errors::Told;
use crate::mirror::{Mirror, RequestRow};
use crate::review::locks::{self, Locks};
use crate::review::{GateSays, Panel, Review, acts, sections};
use crate::rotation::Rotation;
use crate::strings;
use crate::text::time;

/// Everything on the page that changes. Only strings and yes or no.
#[derive(Debug, Clone, Serialize)]
pub struct ReviewState {
    pub nonce: String,
    pub content_version: String,
    pub gate: String,
    pub clock: String,
    pub key: String,
    pub left: String,
    pub expires: String,
    pub approvals: String,
    pub why_is_hard: bool,
    pub why: String,
    pub seen: String,
    pub pin_note: String,
    pub pin_needed: bool,
    pub deny_pin_needed: bool,
    pub deny_note: String,
    pub approve_label: String,
    pub hard_locks: Vec<String>,
    pub soft_locks: Vec<String>,
    pub can_approve: bool,
    pub can_deny: bool,
    pub ended: bool,
    pub standing: String,
    pub closing: String,
    pub notice: String,
    pub can_retract: bool,
    pub can_revoke: bool,
    pub can_more_time: bool,
    pub more_time: String,
    /// The outcome is in doubt: the way to the reconcile desk is offered.
    pub in_doubt: bool,
    /// Said beside typed text of a request that ended meanwhile.
    pub kept: String,
    pub unseen: Vec<Unseen>,
    pub progress: Vec<String>,
    pub question: Option<Question>,
    pub receipt: Option<Receipt>,
}

impl ReviewState {
    /// A text by the name that the page has for its place.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(match name {
            "left" => &self.left,
            "expires" => &self.expires,
            "approvals" => &self.approvals,
            "why" => &self.why,
            "seen" => &self.seen,
            "approve_label" => &self.approve_label,
            "deny_note" => &self.deny_note,
            "standing" => &self.standing,
            "more_time" => &self.more_time,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Unseen {
    pub number: usize,
    pub page: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct Question {
    pub id: String,
    pub prompt: String,
    pub unit: String,
    pub options: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Receipt {
    pub heading: String,
    pub lines: Vec<String>,
    pub has_next: bool,
}

/// The state of one review window now.
pub fn of(console: &Console, review: &Review, now_ms: i64) -> ReviewState {
    let locks = locks::of(console, review, now_ms);
    let unseen = review.unseen();
    let top = top_line(console);
    let listed = console.read(|mirror| mirror.request(&review.card.listed.request)).flatten().unwrap_or_else(|| review.card.listed.clone());
    let needed = review.card.needed();
    let acts = acts::of(console, &review.card, now_ms);
    let pin_needed = pin_needed(console, review);
    let receipt = review.receipt.as_ref().map(|receipt| {
        let mut lines = receipt.lines.clone();
        lines.extend(sections::reasons_of_others(console, &review.card));
        lines.extend(crate::review::decide::execution_lines(console, &listed.request));
        Receipt { heading: receipt.heading.clone(), lines, has_next: crate::inbox::next_after(console, &listed.request).is_some() }
    });
    let undelivered = locks::undelivered(console, review, now_ms).filter(|_| !locks.ended);
    let progress = undelivered.map_or_else(|| review.progress.clone(), |told| vec![told.line()]);
    ReviewState {
        nonce: review.nonce.clone(),
        content_version: content_version(review).to_owned(),
        gate: top.gate,
        clock: top.clock,
        key: top.key,
        left: left(console, &locks, &listed, now_ms),
        expires: expires(console, &locks, &listed, now_ms),
        approvals: strings::approvals(needed, listed.given),
        // Who approved is told what it waits for, and can take that back: nothing is wrong.
        why_is_hard: !locks.hard.is_empty() && review.receipt.is_none() && !acts.retract,
        why: if acts.retract { String::new() } else { why(&locks, review) },
        seen: strings::seen(review.parts.count() - unseen.len(), review.parts.count()),
        pin_note: if pin_needed { strings::PIN_NEEDED.to_owned() } else { strings::PIN_NOT_NEEDED.to_owned() },
        pin_needed,
        deny_pin_needed: console.pin().seed(crate::clock::now_ms()).is_none(),
        deny_note: locks.deny.join(" "),
        approve_label: approve_label(review),
        can_approve: locks.can_approve() && !review.in_flight,
        can_deny: locks.can_deny() && !review.in_flight,
        ended: locks.ended || review.receipt.is_some(),
        kept: kept(&locks, &listed),
        hard_locks: locks.hard,
        soft_locks: locks.soft,
        in_doubt: in_doubt(console, &listed.request),
        standing: acts.standing,
        closing: acts.closing,
        notice: review.notice.clone(),
        can_retract: acts.retract && !review.in_flight,
        can_revoke: acts.revoke && !review.in_flight,
        can_more_time: matches!(acts.more_time, Some(Ok(_))) && !review.in_flight,
        more_time: more_time(console, review, acts.more_time, now_ms),
        unseen: unseen.into_iter().map(|(number, page)| Unseen { number, page }).collect(),
        progress,
        question: question(review, now_ms),
        receipt,
    }
}

fn in_doubt(console: &Console, request: &str) -> bool {
    let outcome = console.read(|mirror| mirror.outcome_of_request(request)).flatten();
    outcome.is_some_and(|outcome| matches!(outcome.state.as_str(), "unknown" | "needs_reconciliation"))
}

fn kept(locks: &Locks, listed: &RequestRow) -> String {
    match (locks.ended, listed.state.as_str()) {
        (false, _) => String::new(),
        (true, "pending" | "expired") => strings::KEPT_EXPIRED.to_owned(),
        (true, _) => strings::KEPT.to_owned(),
    }
}

/// How much time would be given, or why none can be.
fn more_time(console: &Console, review: &Review, more_time: Option<Result<i64, Told>>, now_ms: i64) -> String {
    match more_time {
        Some(Ok(until_ms)) => {
            let last_ms = review.card.frozen.as_ref().map_or(until_ms, |frozen| frozen.members().expires_max_at.as_ms());
            let at = |at_ms| time::day_and_time(at_ms, now_ms, &console.zone);
            strings::more_time_until(&at(until_ms), &at(last_ms))
        }
        Some(Err(told)) => told.line(),
        None => strings::MORE_TIME_ENDED.to_owned(),
    }
}

/// What is asked now: nothing while the wait after a wrong answer lasts, so that no answer is typed in vain.
fn question(review: &Review, now_ms: i64) -> Option<Question> {
    let asks = review.panel == Panel::Approve && now_ms >= review.answer_wait_until_ms;
    review.question.as_ref().filter(|_| asks).map(|asked| Question {
        id: asked.id.clone(),
        prompt: asked.prompt.clone(),
        unit: asked.unit.clone(),
        options: asked.options.clone(),
    })
}

/// Which drawing of the page holds: it is drawn anew once the gate was heard to hold other bytes.
fn content_version(review: &Review) -> &'static str {
    match &review.gate_says {
        GateSays::NotAsked | GateSays::Same => "1",
        GateSays::Differs(_) => "differs",
    }
}

/// How long it waits, or how it ended.
fn left(console: &Console, locks: &Locks, listed: &RequestRow, now_ms: i64) -> String {
    match (locks.ended, listed.state.as_str()) {
        (false, _) => strings::time_left(&time::left(listed.waits_until_ms, now_ms)),
        (true, "pending") => strings::NO_TIME_LEFT.to_owned(),
        (true, ended) => locks::ended(console, &listed.request, ended),
    }
}

/// What its end will mean, as long as it is to come.
fn expires(console: &Console, locks: &Locks, listed: &RequestRow, now_ms: i64) -> String {
    if locks.ended { String::new() } else { strings::expires_at(&time::day_and_time(listed.waits_until_ms, now_ms, &console.zone)) }
}

/// Every time for irreversible; else once per session.
pub fn pin_needed(console: &Console, review: &Review) -> bool {
    review.card.friction() == Reversibility::Irreversible || console.pin().seed(crate::clock::now_ms()).is_none()
}

/// The words on the approve control. For irreversible the value asked for is not among them until it was given.
pub fn approve_label(review: &Review) -> String {
    let act = review.card.headline().unwrap_or_else(|| strings::call_of(&review.card.listed.tool));
    match review.card.friction() {
        Reversibility::Reversible | Reversibility::Compensable => strings::approve(&act),
        Reversibility::Irreversible if review.question.as_ref().is_some_and(|asked| asked.answered) => strings::hold_to(&act),
        Reversibility::Irreversible => strings::HOLD_AFTER_ANSWERS.to_owned(),
    }
}

fn why(locks: &Locks, review: &Review) -> String {
    if review.receipt.is_some() {
        return String::new();
    }
    if !locks.hard.is_empty() {
        return locks.hard.join(" ");
    }
    locks.soft.first().cloned().unwrap_or_else(|| strings::READY.to_owned())
}

/// The words of the bar at the top of every window.
pub struct TopLine {
    pub gate: String,
    pub clock: String,
    pub key: String,
}

/// What the verified roster says of this desktop's key, beyond that a session opens with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyByRoster {
    Active,
    /// To be renewed by this time, in milliseconds.
    RenewalDue(i64),
    /// New keys wait; the old ones count.
    Rotating,
    /// The key that signs decisions was stopped alone.
    Stopped,
}

impl KeyByRoster {
    pub fn of(console: &Console) -> Self {
        if Rotation::load(&console.profile).is_some() {
            return Self::Rotating;
        }
        let Some(membership) = console.membership() else { return Self::Active };
        let digest = membership.approval_key.digest();
        let roster = console.read(Mirror::roster).flatten();
        if roster.as_ref().and_then(|roster| roster.key(&digest)).is_some_and(|holder| holder.key.stopped_at.is_some()) {
            return Self::Stopped;
        }
        let since = console.read(|mirror| mirror.key_times(&digest)).and_then(|times| times.since);
        match since.and_then(|since| desktops::renewal_due(since, console.now_ms())) {
            Some(until) => Self::RenewalDue(until.as_ms()),
            None => Self::Active,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Active => strings::ACTIVE,
            Self::RenewalDue(_) => strings::RENEWAL_STATE,
            Self::Rotating => strings::ROTATING_STATE,
            Self::Stopped => strings::STOPPED,
        }
    }
}

/// By when the key is to be renewed, in words.
pub fn renewal(console: &Console, until_ms: i64) -> String {
    let now_ms = console.now_ms();
    if now_ms < until_ms {
        strings::renewal_due(&time::span(until_ms - now_ms))
    } else {
        strings::renewal_overdue(&time::whole(until_ms, &console.zone))
    }
}

pub fn top_line(console: &Console) -> TopLine {
    let label = console.membership().map(|membership| membership.label).unwrap_or_default();
    let by_roster = KeyByRoster::of(console);
    let shared = console.shared();
    let since = time::hour_minute(shared.gate_since_ms, &console.zone);
    let gate = match &shared.gate {
        GateState::None => strings::GATE_NONE.to_owned(),
        GateState::Connecting => strings::GATE_CONNECTING.to_owned(),
        GateState::Connected => strings::GATE_CONNECTED.to_owned(),
        GateState::Offline => strings::gate_offline(&since),
        GateState::Refused(_) => strings::GATE_REFUSED.to_owned(),
        GateState::IdentityChanged => strings::GATE_CHANGED.to_owned(),
    };
    let key = match &shared.key {
        KeyState::None => strings::KEY_NONE.to_owned(),
        KeyState::Waiting => strings::key_state(&label, strings::WAITING),
        KeyState::Active => strings::key_state(&label, by_roster.words()),
        KeyState::Stopped => strings::key_state(&label, strings::STOPPED),
        KeyState::Removed => strings::key_state(&label, strings::TAKEN_OFF),
        KeyState::Error(_) => strings::key_state(&label, strings::UNUSABLE),
    };
    TopLine { gate, clock: clock_text(shared.clock_offset_ms), key }
}

/// Whether this computer's clock is the gate's, in words.
pub fn clock_text(offset_ms: i64) -> String {
    if offset_ms.abs() < crate::limits::CLOCK_SMALL_MS {
        return strings::CLOCK_OK.to_owned();
    }
    let seconds = offset_ms.abs() / 1000;
    if offset_ms > 0 { strings::clock_behind(seconds) } else { strings::clock_ahead(seconds) }
}
