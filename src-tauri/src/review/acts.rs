//! What a person may do about a request besides approving and denying it: take an approval back, stop what is approved,
//! give more time. And what the request waits for meanwhile.

use crate::console::Console;
use crate::errors::Told;
use crate::limits::CLOSING_WITHIN_MS;
use crate::mirror::{DecisionRow, RequestRow};
use crate::review::card::Card;
use crate::review::locks;
use crate::strings;
use crate::text::time;

/// What can be done now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acts {
    /// The own approval stands and the quorum does not.
    pub retract: bool,
    /// It is approved, and nothing has been sent.
    pub revoke: bool,
    /// Until when the request would wait, or why no time can be given.
    pub more_time: Option<Result<i64, Told>>,
    /// What it waits for, where that is not the approval of the person here.
    pub standing: String,
    /// Said when little time is left.
    pub closing: String,
}

/// Looks at the request as the verified log tells it now.
pub fn of(console: &Console, card: &Card, now_ms: i64) -> Acts {
    let Some(listed) = console.read(|mirror| mirror.request(&card.listed.request)).flatten() else { return Acts::default() };
    let decisions = console.read(|mirror| mirror.decisions(&listed.request)).unwrap_or_default();
    let barred = locks::standing_locks(console, card).into_iter().next();
    let waits = listed.state == "pending" && now_ms < listed.waits_until_ms;
    let more_time = waits.then(|| match &barred {
        Some(told) => Err(told.clone()),
        None => later(console, card, &listed, now_ms),
    });
    Acts {
        retract: waits && barred.is_none() && stands(console, &decisions),
        revoke: listed.state == "approved" && barred.is_none(),
        closing: closing(console, card, &listed, more_time.as_ref(), now_ms),
        more_time,
        standing: standing(console, card, &listed, &decisions, now_ms),
    }
}

/// Whether the approval of the person here is on record and was not taken back.
pub fn stands(console: &Console, decisions: &[DecisionRow]) -> bool {
    let Some(me) = console.standing().map(|standing| standing.person.person.to_string()) else { return false };
    let mine = decisions.iter().rfind(|decision| decision.approver == me && matches!(decision.decision.as_str(), "approve" | "retract"));
    mine.is_some_and(|decision| decision.decision == "approve")
}

/// As much again as the row gave, and never beyond the last moment that was frozen.
fn later(console: &Console, card: &Card, listed: &RequestRow, now_ms: i64) -> Result<i64, Told> {
    let Some(frozen) = &card.frozen else { return Err(Told::new("E-REQ-2", strings::BYTES_MISSING)) };
    let members = frozen.members();
    let again_ms = members.expires_at.as_ms() - members.created_at.as_ms();
    let until_ms = (listed.waits_until_ms + again_ms).min(members.expires_max_at.as_ms());
    if until_ms <= listed.waits_until_ms {
        let last = time::day_and_time(listed.waits_until_ms, now_ms, &console.zone);
        return Err(Told::new("E-EXP-3", strings::no_more_time(&last)));
    }
    Ok(until_ms)
}

fn closing(console: &Console, card: &Card, listed: &RequestRow, more_time: Option<&Result<i64, Told>>, now_ms: i64) -> String {
    let left_ms = listed.waits_until_ms - now_ms;
    let mine = console.standing().is_some_and(|standing| card.role_of(&standing).is_ok());
    match more_time {
        Some(Ok(until_ms)) if left_ms <= CLOSING_WITHIN_MS && mine => {
            strings::closing(&time::left(listed.waits_until_ms, now_ms), &time::day_and_time(*until_ms, now_ms, &console.zone))
        }
        Some(Err(told)) if left_ms <= CLOSING_WITHIN_MS && told.id == "E-EXP-3" => {
            format!("{} {}", strings::time_left(&time::left(listed.waits_until_ms, now_ms)), told.text)
        }
        Some(_) | None => String::new(),
    }
}

fn standing(console: &Console, card: &Card, listed: &RequestRow, decisions: &[DecisionRow], now_ms: i64) -> String {
    let needed = card.needed();
    match listed.state.as_str() {
        "pending" if listed.given > 0 => {
            strings::waiting_for_another(listed.given, needed, &time::day_and_time(listed.waits_until_ms, now_ms, &console.zone))
        }
        "approved" => match runs_at_ms(card, decisions) {
            Some(at_ms) if now_ms < at_ms => strings::runs_in(&time::left(at_ms, now_ms)),
            Some(_) | None => strings::RUNS_NOW.to_owned(),
        },
        _ => String::new(),
    }
}

/// When the delay after the quorum is over.
fn runs_at_ms(card: &Card, decisions: &[DecisionRow]) -> Option<i64> {
    let delay_ms = i64::try_from(card.row.as_ref()?.delay_s).ok()?.checked_mul(1_000)?;
    let quorum = decisions.iter().rfind(|decision| decision.decision == "approve")?;
    quorum.at_ms.checked_add(delay_ms)
}

#[cfg(test)]
mod tests {
    use vidimus_core::decision::DecisionKind;
    use vidimus_core::json::Json;

    use super::*;
    use crate::testing::{Log, NOW_MS, at, review};

    const WIRE: &str = r#"{"payee":"payee_acme","amount_minor":420000,"currency":"EUR","reference":"INV-1001"}"#;

    /// What the gate claims of a decision.
    fn outcome(state: &str, given: u32) -> Vec<(&'static str, Json)> {
        vec![("state", state.into()), ("given", given.into()), ("needed", 2_u32.into())]
    }

    fn acts(log: &Log, request: &vidimus_core::ids::RequestId, now_ms: i64) -> Acts {
        let (console, _directory) = log.console();
        let review = review(&console, request);
        of(&console, &review.card, now_ms)
    }

    #[test]
    fn ones_own_approval_can_be_taken_back_until_the_quorum_and_then_only_stopped() {
        let mut log = Log::founded(&["treasury"]);
        let frozen = log.freeze("wire_transfer", WIRE);
        let request = log.create(&frozen);
        let found = acts(&log, &request, NOW_MS);
        assert_eq!((found.retract, found.revoke, found.standing.as_str()), (false, false, ""));

        log.decide_to(&frozen, DecisionKind::Approve, None, &outcome("pending", 1));
        let found = acts(&log, &request, NOW_MS);
        assert_eq!((found.retract, found.revoke), (true, false));
        assert!(found.standing.starts_with("1 of 2. Waiting for a second person until "), "{}", found.standing);

        log.decide_to(&frozen, DecisionKind::Retract, None, &outcome("pending", 0));
        let found = acts(&log, &request, NOW_MS);
        assert_eq!((found.retract, found.revoke, found.standing.as_str()), (false, false, ""));

        log.decide_to(&frozen, DecisionKind::Approve, None, &outcome("approved", 2));
        let found = acts(&log, &request, NOW_MS);
        assert_eq!((found.retract, found.revoke), (false, true));
        assert_eq!(found.standing, "Approved. It runs in 1 min 00 s unless somebody stops it.");
        assert_eq!(acts(&log, &request, NOW_MS + 60_000).standing, strings::RUNS_NOW);

        log.append(vidimus_core::record::RecordType::TokenRedeemed, &[], Some(request), Vec::new(), None);
        let found = acts(&log, &request, NOW_MS);
        assert_eq!((found.retract, found.revoke), (false, false), "what was sent cannot be stopped");
    }

    #[test]
    fn more_time_is_given_as_far_as_it_was_frozen_and_offered_in_words_at_the_end() {
        let mut log = Log::founded(&["treasury"]);
        let last = log.freeze("wire_transfer", WIRE);
        let extended = log.freeze_until("wire_transfer", WIRE, at(4_000));
        let (fixed, open) = (log.create(&last), log.create(&extended));
        let found = acts(&log, &fixed, NOW_MS);
        assert!(matches!(&found.more_time, Some(Err(told)) if told.id == "E-EXP-3"), "{found:?}");
        assert_eq!(found.closing, "");
        let late_ms = NOW_MS + 1_800_000 - 119_000;
        assert!(acts(&log, &fixed, late_ms).closing.contains("cannot be extended"));
        assert_eq!(acts(&log, &open, NOW_MS).more_time, Some(Ok(NOW_MS + 3_600_000)));
        assert!(acts(&log, &open, late_ms).closing.starts_with("1 min 59 s left. E gives more time"));

        log.decide_to(
            &extended,
            DecisionKind::MoreTime,
            None,
            &[("state", "pending".into()), ("waits_until", at(3_600).to_string().into())],
        );
        assert_eq!(acts(&log, &open, NOW_MS).more_time, Some(Ok(NOW_MS + 4_000_000)), "no further than what was frozen");
        assert_eq!(acts(&log, &open, late_ms).closing, "");
        assert_eq!(acts(&log, &open, NOW_MS + 3_600_000).more_time, None, "what has expired gets no more time");
    }

    #[test]
    fn who_may_not_decide_may_not_stop_or_extend_either() {
        let mut log = Log::founded(&["support-lead"]);
        let frozen = log.freeze_until("wire_transfer", WIRE, at(4_000));
        let request = log.create(&frozen);
        let found = acts(&log, &request, NOW_MS + 1_790_000);
        assert!(matches!(&found.more_time, Some(Err(told)) if told.id == "E-DEC-2"), "{found:?}");
        assert_eq!((found.retract, found.revoke, found.closing.as_str()), (false, false, ""));
    }
}
